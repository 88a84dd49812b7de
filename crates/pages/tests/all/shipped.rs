//! Pages of every shipped machine: they can be read on a wide and on a narrow screen, by day and by night, and say what
//! the account says.

use std::sync::Mutex;
use std::thread;

use hopscope_files::job_file::{self, Job};
use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::Options;
use hopscope_pages::explain::{Subject, came_by};
use hopscope_pages::system;
use hopscope_pages::wording::slug;
use hopscope_questions::explain::{self, EXTENT, Explained};
use serde_json::{Value, json};

use crate::browser::{frames, probed};
use crate::reading::data;

/// A page may be so large.
const LARGEST: usize = 3_000_000;

/// Pages of a machine: what it is, and where its bandwidth goes.
struct Pages {
    system: String,
    lanes: usize,
    stacks: usize,
    awaited: f64,
    htmls: [String; 2],
}

fn machine(library: &Library, name: &str) -> Blueprint {
    let mut sources = Sources::default();
    let text = library.open_system(name).unwrap();
    let file = sources.add(text.name, text.text);
    Blueprint::read(library, &mut sources, file).ok().unwrap()
}

/// A run that is as long as it takes for something to end in it.
fn explained(blueprint: &Blueprint, system: &str) -> (Vec<Job>, Explained) {
    for runtime in ["10ms", "200ms", "2"] {
        let words = ["--rw=read", "--bs=64k", "--iodepth=4", &format!("--runtime={runtime}")].map(String::from);
        let jobs = job_file::read_options(&mut Sources::default(), &words).unwrap().jobs;
        if let Ok(explained) = explain::explain(blueprint, &jobs, Options::default(), EXTENT, None) {
            return (jobs, explained);
        }
    }
    panic!("{system}: nothing ended within two seconds");
}

fn pages(library: &Library, name: &str) -> Pages {
    let blueprint = machine(library, name);
    let (jobs, explained) = explained(&blueprint, name);
    let passage = came_by(&blueprint, &jobs, Options::default(), &explained).ok().unwrap();
    let subject = Subject {
        system: name,
        job: "--rw=read --bs=64k --iodepth=4",
        blueprint: &blueprint,
        explained: &explained,
        diagnosis: None,
        measured: None,
        passage: passage.as_ref(),
    };
    let page = hopscope_pages::explain::page(&subject, "hopscope explain");
    let at_rest = system::Subject { system: name, blueprint: &blueprint, data: json!({ "name": name }) };
    let htmls = [page.html(), system::page(at_rest, "hopscope systems").html()];
    let mut pages =
        Pages { system: name.to_string(), lanes: explained.alike().lanes.len(), stacks: 0, awaited: 0.0, htmls };
    pages.stacks = stacks_open_lane_by_lane(&pages, &explained);
    pages
}

#[test]
fn a_page_says_that_lives_are_too_long_to_be_kept_and_follows_no_request() {
    let blueprint = machine(&Library::new(None).unwrap(), "gpu-server");
    let (jobs, known) = explained(&blueprint, "gpu-server");
    let told = known.latency.clone();
    for (latency, said) in [(None, "It is not said where the latency"), (told, "The stages are those of few requests")]
    {
        let explained = Explained { latency, too_long: true, ..known.clone() };
        let passage = came_by(&blueprint, &jobs, Options::default(), &explained).ok().unwrap();
        assert!(passage.is_none());
        let (system, job) = ("gpu-server", "--rw=read");
        let (blueprint, explained) = (&blueprint, &explained);
        let subject =
            Subject { system, job, blueprint, explained, diagnosis: None, measured: None, passage: passage.as_ref() };
        let html = hopscope_pages::explain::page(&subject, "hopscope explain").html();
        assert!(html.contains(said), "{said}");
    }
    assert_eq!(known.untold(), None);
}

/// The figures of the map are those of the JSON; how much of their time requests wait for its hops.
fn map_says_what_the_account_says(pages: &Pages) -> f64 {
    let data = data(&pages.htmls[0]);
    let map = data[&format!("explain-{}-map-data", pages.system)].as_array().unwrap();
    let report = &data[&format!("explain-{}-data", pages.system)];
    let hops: Vec<&Value> = report["hops"].as_array().unwrap().iter().collect();
    assert_eq!((map.len(), hops.len()), (pages.lanes, pages.lanes), "{}", pages.system);
    for (shown, hop) in map.iter().zip(hops) {
        for figure in ["lane", "time_ps", "busy_share", "delivered_bytes_per_s", "capacity_bytes_per_s"] {
            assert_eq!(shown[figure], hop[figure], "{}: {figure} of {}", pages.system, hop["lane"]);
        }
    }
    // No request waits for two hops at once.
    let awaited = map.iter().filter_map(|shown| shown["awaited_share"].as_f64()).sum::<f64>();
    assert!((0.0..1.0 + 1e-9).contains(&awaited), "{}: {awaited}", pages.system);
    awaited
}

/// Lanes that are alike are one by one where the account of them all is, the busiest first.
fn stacks_open_lane_by_lane(pages: &Pages, explained: &Explained) -> usize {
    let data = data(&pages.htmls[0]);
    let alike = explained.alike();
    let mut opened = 0;
    for hop in &alike.lanes {
        let of_hop = explained.account.lanes.iter().filter(|lane| explained.names.of(&lane.lane) == hop.lane);
        let mut busy: Vec<f64> = of_hop.map(|lane| lane.busy_share()).collect();
        busy.sort_by(|a, b| b.total_cmp(a));
        busy.truncate(32);
        let figure = |kind: &str| format!("explain-{}-{kind}-{}", pages.system, slug(&hop.lane));
        let each = data.get(&format!("{}-data", figure("each")));
        if busy.len() == 1 {
            assert_eq!(each, None, "{}", hop.lane);
            continue;
        }
        let shown = each.unwrap_or_else(|| panic!("{}: no {}", pages.system, figure("each"))).as_array().unwrap();
        let shown: Vec<f64> = shown.iter().map(|lane| lane["busy_share"].as_f64().unwrap()).collect();
        assert_eq!(shown, busy, "{} of {}", hop.lane, pages.system);
        // Behind the account and in the same fold.
        let (_, behind) = pages.htmls[0].split_once(&format!("<figure id=\"{}\"", figure("hop"))).unwrap();
        let fold = behind.split("<details class=\"one\"").next().unwrap();
        assert!(fold.contains(&format!("<figure id=\"{}\"", figure("each"))), "{} of {}", hop.lane, pages.system);
        opened += 1;
    }
    opened
}

#[test]
fn pages_of_every_shipped_machine_can_be_read_at_both_widths_by_day_and_by_night() {
    let library = Library::new(None).unwrap();
    let names: Mutex<Vec<String>> = Mutex::new(library.systems().map(String::from).collect());
    let made: Mutex<Vec<Pages>> = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let library = Library::new(None).unwrap();
                while let Some(name) = { names.lock().unwrap().pop() } {
                    let mut pages = pages(&library, &name);
                    pages.awaited = map_says_what_the_account_says(&pages);
                    made.lock().unwrap().push(pages);
                }
            });
        }
    });
    let made = made.into_inner().unwrap();
    assert!(made.len() > 50, "{} machines", made.len());
    assert!(made.iter().filter(|pages| pages.stacks > 0).count() > 10, "machines with parts that are alike");
    assert!(made.iter().filter(|pages| pages.awaited > 0.1).count() > 20, "four requests wait for each other");
    let mut htmls: Vec<(String, String)> = Vec::new();
    for pages in &made {
        for (kind, html) in ["explain", "system"].into_iter().zip(&pages.htmls) {
            assert!(html.len() < LARGEST, "{kind} of {}: {} bytes", pages.system, html.len());
            htmls.push((format!("{kind}-{}", pages.system), probed(html)));
        }
    }
    let Some(found) = frames(&htmls) else { return };
    let mut unreadable = Vec::new();
    for (name, _) in &htmls {
        for width in ["1440", "400"] {
            for theme in ["light", "dark"] {
                let seen = &found[format!("{name} {width} {theme}")];
                if seen["unreadable"] != json!([]) {
                    unreadable.push(format!("{name} at {width}, {theme}: {}", seen["unreadable"]));
                }
                assert_eq!((&seen["errors"], &seen["requests"]), (&json!(0), &json!(0)), "{name} at {width}, {theme}");
                assert_eq!(seen["dark"], theme == "dark", "{name} at {width}");
                let lanes = made.iter().find(|pages| name == &format!("explain-{}", pages.system)).map(|of| of.lanes);
                if let Some(lanes) = lanes {
                    assert_eq!(seen["reached"], lanes, "{name} at {width}: hops that the keyboard reaches");
                }
            }
        }
    }
    assert_eq!(unreadable, Vec::<String>::new());
}
