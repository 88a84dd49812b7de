//! What must hold of every page: it is whole, it is readable, it says what the report says, and nothing gets out of it.

use std::collections::BTreeSet;

use crate::fixture::{
    HOSTILE, Run, comparison_page, made, outlook_page, pages, report, studies_page, study_page, waveform, waveform_page,
};
use crate::reading::{attributes, data, without_scripts};
use hopscope_observe::account::Use;
use hopscope_observe::lives::StageKind;
use hopscope_pages::charts::levels::{Levels, Measure, Row, Single, kinds};
use hopscope_signals::timeline::steps::Steps;
use hopscope_studies::report::{CellBasis, Forecast, Summary};
use roxmltree::{Document, Node};
use serde_json::Value;

fn number(node: Node, attribute: &str) -> f64 {
    node.attribute(attribute).unwrap_or_else(|| panic!("no {attribute}")).parse().unwrap()
}

#[test]
fn a_page_asks_nothing_of_the_network_and_is_small() {
    for (name, page) in pages() {
        let html = page.html();
        assert!(html.len() < 2_000_000, "{name}: {} bytes", html.len());
        assert!(html.contains("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"), "{name}");
        for attribute in ["src", "srcset", "action", "poster", "data", "background"] {
            assert_eq!(attributes(&html, attribute), Vec::<String>::new(), "{name}: {attribute}");
        }
        for href in attributes(&html, "href") {
            assert!(href.starts_with('#'), "{name}: {href}");
        }
        for outside in ["http://", "https://", "@import", "<link", "<iframe", "fetch(", "XMLHttpRequest"] {
            assert!(!html.contains(outside), "{name}: {outside}");
        }
        for rest in html.split("url(").skip(1) {
            assert!(rest.starts_with('#'), "{name}: url({}", &rest[..20]);
        }
    }
}

#[test]
fn names_are_unique_and_every_reference_has_its_goal() {
    for (name, page) in pages() {
        let html = page.html();
        let ids = attributes(&html, "id");
        let unique: BTreeSet<&String> = ids.iter().collect();
        assert_eq!(unique.len(), ids.len(), "{name}: {:?}", duplicates(&ids));
        let named = attributes(&html, "href").into_iter().map(|href| href[1..].to_string());
        let labels = attributes(&html, "aria-labelledby");
        let labels = labels.iter().flat_map(|list| list.split(' ').map(String::from));
        for goal in named.chain(labels) {
            assert!(unique.contains(&goal), "{name}: nothing is called {goal}");
        }
    }
}

fn duplicates(ids: &[String]) -> Vec<&String> {
    ids.iter().filter(|id| ids.iter().filter(|other| other == id).count() > 1).collect()
}

#[test]
fn every_figure_has_a_table_a_title_a_description_and_data() {
    for (name, page) in pages() {
        let html = page.html();
        let data = data(&html);
        let figures: Vec<&str> = html.split("<figure ").skip(1).map(|f| f.split("</figure>").next().unwrap()).collect();
        assert!(figures.len() >= 3, "{name}: {} figures", figures.len());
        for figure in figures {
            let id = figure.split('"').nth(1).unwrap();
            assert!(data.contains_key(&format!("{id}-data")), "{name}: {id} has no data");
            assert!(figure.contains("role=\"img\"") && figure.contains("<desc id="), "{name}: {id}");
            let described = figure.split("<desc id=").nth(1).unwrap().split("</desc>").next().unwrap();
            assert!(described.split('>').nth(1).is_some_and(|words| words.len() > 20), "{name}: {id}: {described}");
            let table = figure.contains("<table ") || {
                let link = figure.split("<p class=\"behind\"><a href=\"#").nth(1).unwrap().split('"').next().unwrap();
                html.contains(&format!("<table id=\"{link}\""))
            };
            assert!(table, "{name}: {id} has no table");
        }
    }
}

#[test]
fn headings_go_down_one_level_at_a_time_and_landmarks_are_there() {
    for (name, page) in pages() {
        let html = without_scripts(&page.html());
        let levels: Vec<u32> =
            html.split("<h").skip(1).filter_map(|rest| rest.chars().next().and_then(|c| c.to_digit(10))).collect();
        assert_eq!(levels.iter().filter(|level| **level == 1).count(), 1, "{name}: {levels:?}");
        assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{name}: {levels:?}");
        for landmark in ["<main ", "<nav aria-label=", "<header ", "<footer>", "lang=\"en\"", "class=\"skip\""] {
            assert!(html.contains(landmark), "{name}: {landmark}");
        }
        let tables = html.matches("<table").count();
        assert_eq!((html.matches("<caption").count(), html.matches("<thead>").count()), (tables, tables), "{name}");
    }
}

#[test]
fn every_cell_of_the_report_is_in_the_page_as_json_has_it() {
    let report = report();
    let data = data(&study_page(&report).html());
    assert_eq!(data["fixture-data"], serde_json::to_value(&report).unwrap());
    let cells = |name: &str| -> BTreeSet<String> {
        data[name]["cells"].as_array().unwrap().iter().map(Value::to_string).collect()
    };
    let published: BTreeSet<String> =
        report.tables[0].cells.iter().map(|cell| serde_json::to_value(cell).unwrap().to_string()).collect();
    assert_eq!(cells("fixture-figure-9-a-data"), published);
    assert_eq!(cells("fixture-figure-9-errors-data"), published);
}

#[test]
fn every_file_is_well_formed_and_stands_alone() {
    for (name, page) in pages() {
        let svgs = page.svgs();
        assert!(svgs.len() >= 3, "{name}: {}", svgs.len());
        for (file, svg) in svgs {
            let document = Document::parse(&svg).unwrap_or_else(|error| panic!("{file}: {error}"));
            assert!(!svg.contains("var(--"), "{file}: programs for print know no variables");
            assert!(document.descendants().all(|node| node.tag_name().name() != "script"), "{file}");
            let ids: Vec<&str> = document.descendants().filter_map(|node| node.attribute("id")).collect();
            assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{file}: {ids:?}");
            for node in document.descendants().filter(|node| node.tag_name().name() == "rect") {
                assert!(number_or(node, "width") >= 0.0 && number_or(node, "x").is_finite(), "{file}");
            }
        }
    }
}

fn number_or(node: Node, attribute: &str) -> f64 {
    node.attribute(attribute).map_or(0.0, |text| text.parse().unwrap())
}

#[test]
fn hostile_names_stay_text() {
    for (name, page) in pages() {
        let html = page.html();
        assert!(!html.contains("<img") && !html.contains("alert(1)</script>"), "{name}");
        let scripts = html.matches("<script").count();
        let own = html.matches("<script type=\"application/json\"").count() + 1;
        assert_eq!((scripts, html.matches("</script").count()), (own, own), "{name}");
        assert!(html.contains("&lt;img src=x&gt;"), "{name}: the name is shown as it is");
    }
    // What a drawing says is what it was told.
    let (_, svg) = study_page(&report()).svgs().into_iter().find(|(file, _)| file == "fixture-lanes").unwrap();
    let document = Document::parse(&svg).unwrap();
    assert!(document.descendants().filter_map(|node| node.text()).any(|text| text.contains(HOSTILE)));
}

#[test]
fn tables_are_read_back_from_csv() {
    let report = report();
    let csvs = study_page(&report).csvs();
    let names: BTreeSet<&String> = csvs.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), csvs.len(), "{names:?}");
    let (_, text) = csvs.iter().find(|(name, _)| name == "fixture-rates").unwrap();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header: Vec<String> = reader.headers().unwrap().iter().map(String::from).collect();
    assert_eq!(header, ["op", "size_kib", "disks", "published", "simulated", "interval", "error", "basis"]);
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.unwrap()).collect();
    assert_eq!(rows.len(), report.tables[0].cells.len());
    for (row, cell) in rows.iter().zip(&report.tables[0].cells) {
        assert_eq!(row[3].parse::<f64>().unwrap(), cell.published.unwrap());
        assert_eq!(row[4].parse::<f64>().ok(), cell.simulated);
        assert_eq!(row[6].parse::<f64>().ok(), cell.error);
        assert_eq!(row[1], cell.key["size_kib"].to_string());
    }
    let (_, text) = csvs.iter().find(|(name, _)| name == "fixture-claims-table").unwrap();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let claims: Vec<csv::StringRecord> = reader.records().map(|row| row.unwrap()).collect();
    assert!(claims.iter().all(|claim| &claim[0] == HOSTILE), "{claims:?}");
}

#[test]
fn published_points_lie_where_their_values_are() {
    let (_, svg) = study_page(&report()).svgs().into_iter().find(|(file, _)| file == "fixture-figure-9-a").unwrap();
    let document = Document::parse(&svg).unwrap();
    let marks = document.descendants().filter(|node| node.attribute("data-published").is_some());
    let points: Vec<(f64, f64)> = marks
        .map(|mark| {
            let hit = mark.children().find(|node| node.attribute("class") == Some("hit")).unwrap();
            (number(mark, "data-published"), number(hit, "cy"))
        })
        .collect();
    assert_eq!(points.len(), 6);
    // Two ticks say the scale.
    let tick = |value: &str| {
        let text = document
            .descendants()
            .find(|node| node.attribute("class") == Some("tick end") && node.text() == Some(value));
        number(text.unwrap(), "y") - 4.0
    };
    let (zero, two) = (tick("0"), tick("2"));
    for (published, y) in points {
        assert!((zero + (two - zero) * published / 2.0 - y).abs() < 0.02, "{published} is drawn at {y}");
    }
    let shapes = |class: &str| svg.matches(class).count();
    // Three fitted cells are circles, three seen ones diamonds; one of each in the legend.
    assert_eq!((shapes("<circle class=\"point hollow"), shapes("<path class=\"point fill")), (3 + 1, 3));
}

#[test]
fn a_waterfall_ends_at_what_arrived_and_its_bars_add_up() {
    let run = Run::once();
    let account = &run.explained.account;
    let data = data(&run.page().html());
    for lane in &account.lanes {
        let name = format!("explain-piix4e-one-disk-hop-{}", lane.lane.replace('.', "-"));
        let entries = data[&format!("{name}-data")]["entries"].as_array().unwrap();
        let sum: u64 = entries.iter().map(|entry| entry["ps"].as_u64().unwrap()).sum();
        assert_eq!(sum, account.span().as_ps(), "{name}");
        let (_, svg) = run.page().svgs().into_iter().find(|(file, _)| *file == name).unwrap();
        let document = Document::parse(&svg).unwrap();
        let amounts: Vec<f64> = document
            .descendants()
            .filter(|node| node.attribute("data-amount").is_some())
            .map(|node| number(node, "data-amount"))
            .collect();
        let (whole, parts) = amounts.split_first().unwrap();
        let sum: f64 = parts.iter().sum();
        assert!((whole - sum).abs() < 1e-6 * whole, "{name}: {whole} is not {sum}");
        if let (Some(delivered), true) = (lane.delivered(), lane.time_in(Use::Payload).as_ps() > 0) {
            let last = parts.last().unwrap();
            assert!((last * 1e6 - delivered).abs() < 1.0, "{name}: {last} MB/s, not {delivered}");
        }
    }
}

#[test]
fn the_map_has_every_hop_once_with_the_figures_of_the_account() {
    let run = Run::once();
    let (account, latency) = (run.explained.alike(), run.explained.latency_alike().unwrap());
    let mut awaited = 0.0;
    let page = run.page();
    let data = data(&page.html());
    let figures = data["explain-piix4e-one-disk-map-data"].as_array().unwrap();
    let (_, svg) = page.svgs().into_iter().find(|(file, _)| file == "explain-piix4e-one-disk-map").unwrap();
    let document = Document::parse(&svg).unwrap();
    let marks: Vec<Node> = document.descendants().filter(|node| node.attribute("data-hop").is_some()).collect();
    let mut hops: Vec<&str> = marks.iter().map(|mark| mark.attribute("data-hop").unwrap()).collect();
    assert_eq!((figures.len(), hops.len()), (account.lanes.len(), account.lanes.len()));
    for (lane, figure) in account.lanes.iter().zip(figures) {
        assert_eq!(figure["lane"], lane.lane);
        assert_eq!(figure["busy_share"].as_f64(), Some(lane.busy_share()));
        assert_eq!(figure["delivered_bytes_per_s"].as_f64(), lane.delivered());
        let hop = lane.lane.replace('.', "-");
        let mark =
            marks.iter().find(|mark| mark.attribute("data-hop") == Some(&hop)).unwrap_or_else(|| panic!("{hop}"));
        hops.retain(|known| *known != hop);
        // What a bar is filled with is how long the lane was in it: the frame is all the time.
        let rects = || mark.children().filter(|node| node.tag_name().name() == "rect");
        let width = |class: &str| {
            rects().filter(|of| of.attribute("class") == Some(class)).map(|of| number(of, "width")).sum::<f64>()
        };
        let share = lane.time_in(Use::Payload).as_ps() as f64 / account.span().as_ps() as f64;
        assert!((width("payload") / width("frame") - share).abs() < 1e-3, "{hop}");
        // Before it, what requests wait for the lane: all of their time is 36 wide.
        let begins = rects().find(|of| of.attribute("class") == Some("frame")).map(|of| number(of, "x")).unwrap();
        let before = rects().filter(|of| of.attribute("class") == Some("waiting") && number(*of, "x") < begins);
        let waits = latency.mean.stages.iter().filter(|of| of.kind == StageKind::Wait && of.lane == lane.lane);
        let waits = waits.map(|of| of.time.as_ps()).sum::<u64>() as f64 / latency.mean.sum.as_ps() as f64;
        assert!((before.map(|of| number(of, "width")).sum::<f64>() / 36.0 - waits).abs() < 1e-3, "{hop}");
        assert!((figure["awaited_share"].as_f64().unwrap() - waits).abs() < 1e-9, "{hop}");
        awaited += waits;
    }
    assert!(awaited > 0.0 && awaited <= 1.0, "{awaited}");
    assert_eq!(hops, Vec::<&str>::new());
    // A cable that carries a quarter of its bus has a line a quarter as wide, one limiting block has a frame of its own.
    assert_eq!(
        svg.matches("class=\"block limits\"").count(),
        usize::from(run.diagnosis.as_ref().and_then(|of| of.leading()).is_some())
    );
    let capacity = |name: &str| {
        account.lanes.iter().find(|of| of.lane == name).unwrap().capacity.as_ref().unwrap().bytes_per_second
    };
    let wires: Vec<f64> = document
        .descendants()
        .filter(|node| node.attribute("class") == Some("wire"))
        .map(|node| number(node, "stroke-width"))
        .collect();
    let widest =
        account.lanes.iter().filter_map(|of| of.capacity.as_ref()).map(|of| of.bytes_per_second).fold(0.0, f64::max);
    let expected = (11.0 * capacity("pci") / widest).max(1.5);
    assert!(wires.iter().any(|width| (width - expected).abs() < 0.06), "{expected}: {wires:?}");
}

#[test]
fn bars_go_as_far_as_their_effects_and_to_the_side_of_their_sign() {
    let gains = [0.3, 0.1, -0.02];
    let page = outlook_page(&gains, &[0.2, -0.05, 0.0]);
    let svgs = page.svgs();
    let bars = |name: &str| -> Vec<(f64, f64, f64, String)> {
        let (_, svg) = svgs.iter().find(|(file, _)| file == name).unwrap_or_else(|| panic!("no {name}"));
        let document = Document::parse(svg).unwrap();
        let marks = document.descendants().filter(|node| node.attribute("data-effect").is_some());
        let bar = |mark: Node| {
            let rect = mark.children().find(|node| node.tag_name().name() == "rect").unwrap();
            let class = rect.attribute("class").unwrap().to_string();
            (number(mark, "data-effect"), number(rect, "x"), number(rect, "width"), class)
        };
        marks.map(bar).collect()
    };
    let upgrades = bars("whatif-fixture-upgrades");
    assert_eq!(upgrades.iter().map(|bar| bar.0).collect::<Vec<_>>(), [30.0, 10.0, -2.0]);
    let zero = upgrades[0].1;
    assert!((upgrades[0].2 / upgrades[1].2 - 3.0).abs() < 0.01, "{upgrades:?}");
    assert!((upgrades[2].1 + upgrades[2].2 - zero).abs() < 0.02, "{upgrades:?}");
    assert_eq!(upgrades.iter().map(|bar| bar.3.as_str()).collect::<Vec<_>>(), ["better", "better", "worse"]);
    // Two of three numbers do something; each has two directions. More latency is worse.
    let (throughput, latency) = (bars("whatif-fixture-sensitivity"), bars("whatif-fixture-sensitivity-latency"));
    assert_eq!((throughput.len(), latency.len()), (4, 4));
    for (bar, better) in throughput.iter().map(|bar| (bar, bar.0 > 0.0)).chain(latency.iter().map(|b| (b, b.0 < 0.0))) {
        assert_eq!(bar.3, if better { "better" } else { "worse" }, "{bar:?}");
    }
}

#[test]
fn a_page_without_upgrades_or_effects_is_whole_too() {
    let html = outlook_page(&[], &[]).html();
    assert!(html.contains("No shipped upgrade that fits would make it faster.") && html.contains("</html>"));
    assert_eq!(duplicates(&attributes(&html, "id")), Vec::<&String>::new());
}

#[test]
fn a_comparison_has_both_sides_of_every_hop() {
    let html = comparison_page().html();
    let data = data(&html);
    for hop in ["cpu", "pci", "ide-buffer", "cable"] {
        let side = |side: &str| &data[&format!("whatif-piix4e-one-disk-{side}-hop-{hop}-data")];
        let (before, after) = (side("before"), side("after"));
        assert_eq!(before["lane"], after["lane"]);
        assert!(before["entries"] != after["entries"], "{hop}");
    }
    // On both maps the part that was changed is marked, and no other.
    for side in ["before", "after"] {
        let (_, svg) = comparison_page()
            .svgs()
            .into_iter()
            .find(|(file, _)| *file == format!("whatif-piix4e-one-disk-{side}-map"))
            .unwrap();
        let document = Document::parse(&svg).unwrap();
        let texts = document.descendants().filter(|node| node.tag_name().name() == "text");
        let texts: Vec<&str> = texts.filter_map(|node| node.text()).collect();
        let marked: Vec<usize> = (0..texts.len()).filter(|at| texts[*at].starts_with("changed")).collect();
        let [at] = marked[..] else { panic!("{side}: {} are marked", marked.len()) };
        assert_eq!(texts[at - 2], "pci", "{side}");
    }
    let pci =
        |side: &str| data[&format!("whatif-piix4e-one-disk-{side}-hop-pci-data")]["capacity_bytes_per_s"].as_f64();
    assert!((pci("after").unwrap() / pci("before").unwrap() - 66.0 / 33.5).abs() < 1e-3);
}

#[test]
fn several_studies_make_one_page() {
    let (one, html) = (report(), studies_page().html());
    let ids = attributes(&html, "id");
    assert_eq!(duplicates(&ids), Vec::<&String>::new());
    let data = data(&html);
    assert!(data.contains_key("fixture-data") && data.contains_key("another-data"));
    assert!(html.contains("<h2 id=\"another-title\">"));
    // The first of its chapters has each table of each study, with errors by basis, never added up.
    let rows: Vec<&str> = html
        .split("id=\"trust-trust-matrix\"")
        .nth(1)
        .unwrap()
        .split("</table>")
        .next()
        .unwrap()
        .split("<tr>")
        .skip(2)
        .collect();
    assert_eq!(rows.len(), 2 * one.tables.len());
    let error = |basis: CellBasis| {
        let of: Vec<f64> =
            one.tables[0].cells.iter().filter(|cell| cell.basis == basis).filter_map(|cell| cell.error).collect();
        format!("{:.1} %", 100.0 * of.iter().map(|error| error.abs()).sum::<f64>() / of.len() as f64)
    };
    assert!(rows[0].contains(&error(CellBasis::Seen)) && rows[0].contains(&error(CellBasis::Fitted)), "{}", rows[0]);
    assert!(
        rows[0].contains("20.0 %") && rows[0].contains("25.0 %") && !rows[1].contains("20.0 %"),
        "the rule: {rows:?}"
    );
    assert_eq!(data["trust-data"][1]["study"], "another");
    let alone = study_page(&one).html();
    assert!(!alone.contains("trust-matrix"), "one study says it itself");
}

#[test]
fn the_same_data_give_the_same_bytes() {
    for ((_, one), (_, two)) in made().iter().zip(pages()) {
        assert!(one.html() == two.html() && one.svgs() == two.svgs() && one.csvs() == two.csvs());
    }
}

#[test]
fn a_page_shows_forecasts_beside_what_is_simulated_now_and_says_where_a_rule_is_better() {
    let mut report = report();
    let forecast = |simulated: f64, stands: bool| Forecast {
        simulated,
        interval: 0.0,
        machine: "0123abcd".into(),
        same_machine: stands,
        in_time: true,
        stands,
    };
    let cells = &mut report.tables[0].cells;
    cells[3].forecast = Some(forecast(1.031, true));
    cells[3].basis = CellBasis::Predicted;
    cells[5].forecast = Some(forecast(9.0, false));
    cells[5].published = None;
    report.summary = Summary::of(cells, 1);
    let html = study_page(&report).html();
    for words in [
        "Forecasts",
        "1.031",
        "no longer stands",
        "others now",
        "0123abcd",
        "not yet",
        "1 more cells have no published figure yet.",
        "We lose against a a guess: mean error 20.0 %, ours 25.0 %.",
        "predicted: forecast before it was known",
    ] {
        assert!(html.contains(words), "{words}");
    }
}

/// The steps of a page as the reader sees them, against the transactions that they are made of.
#[test]
fn the_steps_of_a_waveform_are_its_transactions() {
    let waveform = waveform();
    let data = data(&waveform_page(&waveform).html());
    let levels = &data["capture-over-time-data"];
    let transactions = &waveform.bus.as_ref().unwrap().pins.decoder.transactions;
    let rows = levels["rows"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["PCI bus", "host", "ide", "IDE: cable"]);
    for (row, kind, expected_ps) in [
        (0, 1, transactions.iter().map(|one| one.stretches()[1].1 - one.stretches()[1].0).sum::<u64>()),
        (3, 0, waveform.cables[0].decoder.accesses.iter().map(|one| one.end_ps - one.start_ps).sum::<u64>()),
    ] {
        let row = &rows[row];
        let parts: f64 = row["sums"][kind].as_array().unwrap().iter().map(|sum| sum.as_f64().unwrap()).sum();
        let shown_ps = parts * row["scale"].as_f64().unwrap() * row["step_ps"].as_f64().unwrap();
        assert!((shown_ps / expected_ps as f64 - 1.0).abs() < 2e-3, "{shown_ps} of {expected_ps} ps");
    }
    let singles = levels["singles"].as_array().unwrap();
    let cable = &waveform.cables[0].decoder;
    assert_eq!(singles.len(), transactions.len() + cable.accesses.len() + cable.bursts.len());
    let mut from_ps = 0;
    let starts: BTreeSet<u64> = transactions.iter().map(|one| one.start_ps).collect();
    let mut on_bus = 0;
    for one in singles {
        from_ps += one[0].as_u64().unwrap();
        let parts: u64 = one.as_array().unwrap()[7..].chunks(2).map(|part| part[1].as_u64().unwrap()).sum();
        assert_eq!(parts, one[1].as_u64().unwrap(), "{one}");
        let of_bus = levels["row_sets"][one[3].as_u64().unwrap() as usize][0] == 0;
        assert!(!of_bus || starts.contains(&from_ps), "{one}");
        on_bus += usize::from(of_bus);
    }
    assert_eq!(on_bus, transactions.len());
    assert!(rows.iter().all(|row| row["listed_until_ps"] == levels["until_ps"]), "{names:?}");
}

/// As much as a page takes: every row that there can be, full, and unlike things one by one.
#[test]
fn the_largest_capture_makes_a_page_that_opens() {
    let kinds = kinds(&["a", "b", "c", "d", "e"], &["payload", "waiting", "width", "nothing", "protocol"]);
    let row = |number: u64| {
        let mut steps = Steps::new(kinds.len(), 0);
        for at in 0..200_000 {
            steps.spent((at % 5) as usize, at * 1_000_000, at * 1_000_000 + 1_000 * (1 + (at * 7_919 + number) % 900));
        }
        let name = format!("initiator {number}");
        Row::new(name, kinds.clone(), Measure::Share, 40.0, &steps)
    };
    let single = |at: u64| Single {
        rows: vec![0, 1 + (at % 16) as usize],
        from_ps: at * 1_000_000,
        until_ps: at * 1_000_000 + 600_000,
        words: format!("memory write, {} bytes in {at} data phases, card, ended by: disconnect with data", at * 4),
        address: Some(0xffff_0000_0000 + at * 64),
        lane: 0,
        request: None,
        parts: (0..5).map(|kind| (kind, at * 1_000_000 + 120_000 * (kind as u64 + 1))).collect(),
    };
    let rows = (0..17).map(row).collect();
    let levels = Levels::new("Over time", (0, 200_000_000_000), rows, (0..1_000_000).map(single).collect(), u64::MAX);
    assert!(levels.listed_until_ps < levels.until_ps, "not all can be there one by one");
    let size = levels.data().to_string().len() + levels.draw().body().len();
    assert!(levels.singles.len() > 5_000, "{} one by one", levels.singles.len());
    assert!(size < 2_800_000, "{size} bytes");
}
