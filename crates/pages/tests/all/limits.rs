//! What limits is the same in the words of a page, in its tile, on its map and in its data.

use hopscope_files::job_file;
use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::Options;
use hopscope_pages::explain::{self, Subject};
use hopscope_questions::diagnosis::diagnose;
use hopscope_questions::explain::{EXTENT, explain};
use hopscope_questions::whatif::Setting;
use roxmltree::Document;

/// Blocks that are marked as limiting, and the tile, on the page of a changed machine; and the words.
fn said(system: &str, change: &str, options: &str) -> (Vec<String>, String, String) {
    let (library, mut sources) = (Library::new(None).unwrap(), Sources::default());
    let text = library.open_system(system).unwrap();
    let file = sources.add(text.name, text.text);
    let mut blueprint = Blueprint::read(&library, &mut sources, file).unwrap();
    blueprint.set(change).unwrap();
    let words: Vec<String> = options.split(' ').map(String::from).collect();
    let setting = Setting { blueprint, jobs: job_file::read_options(&mut sources, &words).unwrap().jobs };
    let Setting { blueprint, jobs } = &setting;
    let explained = explain(blueprint, jobs, Options::default(), EXTENT, None).ok().unwrap();
    let diagnosis = diagnose(&setting, 1, &explained, &|_, _| {}).ok().unwrap();
    let (diagnosis, measured, passage) = (diagnosis.as_ref(), None, None);
    let subject = Subject { system, job: options, blueprint, explained: &explained, diagnosis, measured, passage };
    let page = explain::page(&subject, "hopscope explain");
    let (_, svg) = page.svgs().into_iter().find(|(file, _)| file.ends_with("-map")).unwrap();
    let document = Document::parse(&svg).unwrap();
    let texts = document.descendants().filter(|node| node.tag_name().name() == "text");
    let texts: Vec<&str> = texts.filter_map(|node| node.text()).collect();
    let marked = (0..texts.len()).filter(|at| texts[*at] == "limits").map(|at| texts[at - 2].to_string());
    let chapter = &page.chapters[0];
    let tile = chapter.tiles.iter().find(|tile| tile.name == "Limited by").unwrap();
    let bottleneck = &chapter.data["bottleneck"];
    let lanes: Vec<&str> = bottleneck["lanes"].as_array().unwrap().iter().map(|lane| lane.as_str().unwrap()).collect();
    assert_eq!(
        lanes.first().copied().unwrap_or_default(),
        if lanes.is_empty() { "" } else { bottleneck["lane"].as_str().unwrap() }
    );
    assert!(lanes.iter().all(|lane| tile.figure.contains(lane)), "{lanes:?}: {}", tile.figure);
    (marked.collect(), tile.figure.clone(), chapter.answer[1].clone())
}

#[test]
fn words_tile_and_map_name_the_same_hops() {
    let reads = "--rw=read --bs=128k --iodepth=32 --runtime=10ms";
    let (marked, tile, why) = said("nvme-desktop", "drive.flash.channel_rate=1200MB/s", reads);
    assert_eq!((&tile[..], &marked[..]), ("link.up", &["link".to_string()][..]));
    assert!(why.contains("Limited by the capacity of link.up:"), "{why}");
    // Where the flash is as fast as the link, neither helps by itself.
    let (mut marked, tile, why) = said("nvme-desktop", "drive.flash.channel_rate=910MB/s", reads);
    marked.sort();
    assert_eq!(marked, ["drive", "link"], "{tile}");
    assert!(["link.up and drive.channel*", "drive.channel* and link.up"].contains(&&tile[..]), "{tile}");
    assert!(why.contains(&format!("Limited by the capacity of {tile} together")), "{why}");
    // A workload that thinks is limited by none of them.
    let thinks = "--rw=randread --bs=4k --iodepth=1 --thinktime=200us --runtime=10ms";
    let (marked, tile, why) = said("nvme-desktop", "drive.flash.channel_rate=1200MB/s", thinks);
    assert_eq!((&tile[..], &marked[..]), ("the workload", &[][..]));
    assert!(why.starts_with("Limited by the workload"), "{why}");
}
