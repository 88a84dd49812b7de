//! Pages, figures and tables that commands write besides their answer.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::program::hopscope;
use serde_json::Value;

fn data(html: &str, name: &str) -> Value {
    let mark = format!("<script type=\"application/json\" id=\"{name}\">");
    let text = html.split(&mark).nth(1).unwrap_or_else(|| panic!("no {name}")).split("</script>").next().unwrap();
    serde_json::from_str(text).unwrap()
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_string()
}

#[test]
fn a_study_is_written_as_a_page_as_figures_and_as_tables() {
    let folder = tempfile::tempdir().unwrap();
    let (html, svg, csv) = (path(folder.path(), "p.html"), path(folder.path(), "f/g"), path(folder.path(), "t"));
    fs::write(&html, "what was there before").unwrap();
    let ran = hopscope(&["reproduce", "piix4e", "--json", "--html", &html, "--svg", &svg, "--csv", &csv]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let page = fs::read_to_string(&html).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.len() < 2_000_000, "{} bytes", page.len());
    assert_eq!(data(&page, "piix4e-data"), report);

    // Every cell of Figure 2 is in one of its panels, exactly once.
    let cells = |cells: &Value| -> Vec<String> { cells.as_array().unwrap().iter().map(Value::to_string).collect() };
    let panels = ["a", "b", "c", "d", "e", "f"].map(|panel| data(&page, &format!("piix4e-figure-2-{panel}-data")));
    let drawn: Vec<String> = panels.iter().flat_map(|panel| cells(&panel["cells"])).collect();
    let published = cells(&report["tables"][0]["cells"]);
    assert_eq!(drawn.len(), published.len());
    assert_eq!(drawn.iter().collect::<BTreeSet<_>>(), published.iter().collect::<BTreeSet<_>>());

    // Figure 1: both lanes without a gap, and the cycle that the report's table has.
    let timeline = data(&page, "piix4e-figure-1-data");
    let lanes = timeline["lanes"].as_array().unwrap();
    assert_eq!(lanes.len(), 2);
    for lane in lanes {
        let phases = lane["phases"].as_array().unwrap();
        assert!(phases.windows(2).all(|pair| pair[0]["until_ps"] == pair[1]["from_ps"]), "{}", lane["lane"]);
    }
    let cycle = &lanes[0]["spans"][0];
    let length_ns = (cycle["until_ps"].as_f64().unwrap() - cycle["from_ps"].as_f64().unwrap()) / 1e3;
    let table = report["tables"].as_array().unwrap().iter().find(|table| table["id"] == "timeline").unwrap();
    let row = table["cells"].as_array().unwrap().iter().find(|cell| cell["key"]["order"] == 12).unwrap();
    assert!((length_ns - row["simulated"].as_f64().unwrap()).abs() < 0.01, "{length_ns} ns, {row}");

    let files = |folder: &str| -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    assert_eq!(files(&svg).iter().filter(|file| file.starts_with("piix4e-figure-")).count(), 8);
    let table = fs::read_to_string(path(Path::new(&csv), "piix4e-sqlio.csv")).unwrap();
    assert_eq!(table.lines().count(), 109);
    assert!(
        table.starts_with("pattern,request_kib,placement,op,published,simulated,interval,error,basis\n"),
        "{table}"
    );
}

#[test]
fn an_explained_run_is_written_as_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let html = path(folder.path(), "e.html");
    let job = ["explain", "piix4e-one-disk", "--rw=write", "--bs=64k", "--size=64k", "--time_based", "--runtime=1"];
    let ran = hopscope(&[&job[..], &["--json", "--html", &html]].concat());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    let page = fs::read_to_string(&html).unwrap();
    assert_eq!(data(&page, "explain-piix4e-one-disk-data"), serde_json::from_str::<Value>(&ran.out).unwrap());
}

#[test]
fn machines_runs_and_replays_are_written_as_pages_too() {
    let folder = tempfile::tempdir().unwrap();
    let trace = crate::documents::root().join("docs/office.msr.csv").display().to_string();
    let run = ["run", "nvme-desktop", "--rw=randread", "--bs=4k", "--runtime=2ms"];
    for (words, name) in [
        (&["systems", "nvme-server"][..], "system-nvme-server"),
        (&run[..], "explain-nvme-desktop"),
        (&["replay", &trace, "piix4e-one-disk"][..], "replay-piix4e-one-disk"),
    ] {
        let (html, svg) = (path(folder.path(), "p.html"), path(folder.path(), name));
        let plain = hopscope(words);
        let ran = hopscope(&[words, &["--html", &html, "--svg", &svg]].concat());
        assert_eq!((ran.code, ran.err.as_str(), &ran.out), (0, "", &plain.out), "{words:?}");
        let page = fs::read_to_string(&html).unwrap();
        assert!(page.contains(&format!("<figure id=\"{name}-map\"")), "{words:?}");
        assert!(fs::read_to_string(Path::new(&svg).join(format!("{name}-map.svg"))).unwrap().contains("</svg>"));
    }
    let ran = hopscope(&["systems", "--html", &path(folder.path(), "all.html")]);
    assert!(ran.code == 2 && ran.err.contains("a page is of one system"), "{ran:?}");
}

#[test]
fn a_run_that_cannot_be_accounted_for_keeps_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    let html = path(folder.path(), "p.html");
    let words = ["run", "piix4e-one-disk", "--rw=read", "--bs=64k", "--size=64k", "--runtime=2"];
    let plain = hopscope(&words);
    let ran = hopscope(&[&words[..], &["--html", &html]].concat());
    assert_eq!((ran.code, &ran.out), (2, &plain.out), "{ran:?}");
    assert!(ran.err.contains("the account begins at") && !Path::new(&html).exists(), "{ran:?}");
}

#[test]
fn what_cannot_be_written_is_said_and_the_answer_stands() {
    let folder = tempfile::tempdir().unwrap();
    let file = path(folder.path(), "file");
    fs::write(&file, "").unwrap();
    let (html, svg) = (path(folder.path(), "file/p.html"), path(folder.path(), "file"));
    let job = ["explain", "piix4e-one-disk", "--rw=write", "--bs=64k", "--runtime=100ms"];
    let plain = hopscope(&job);
    let ran = hopscope(&[&job[..], &["--html", &html, "--svg", &svg]].concat());
    assert_eq!((ran.code, &ran.out), (2, &plain.out), "{ran:?}");
    let complaints: Vec<&str> = ran.err.lines().collect();
    assert_eq!(complaints.len(), 2, "{ran:?}");
    assert!(complaints[0].starts_with(&format!("error: cannot write `{html}`: ")), "{ran:?}");
    assert!(complaints[1].starts_with(&format!("error: cannot make the folder `{svg}`: ")), "{ran:?}");
}
