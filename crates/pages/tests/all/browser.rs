//! Pages in a browser: the data are what the report says, zooming works, nothing is loaded. Skipped, and said to
//! be, where there is no Chromium: `HOPSCOPE_CHROMIUM` names one, or it is on the path.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::fixture::{Run, pages, report, study_page, waveform, waveform_page};
use crate::reading::data;
use crate::skipped::skipped;
use serde_json::{Value, json};

const NAMED_BY: &str = "HOPSCOPE_CHROMIUM";
/// A browser that takes longer hangs.
const BROWSER_MAX: Duration = Duration::from_secs(300);

fn chromium() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(NAMED_BY) {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|file| file.is_file())
}

/// The page as the browser has it after its script ran, or nothing where there is no browser.
fn in_browser(html: &str) -> Option<String> {
    let Some(chromium) = chromium() else {
        skipped(&format!("no Chromium; install one, or name it in {NAMED_BY}"));
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    std::fs::write(&file, html).unwrap();
    Some(dump(&chromium, folder.path(), &file))
}

fn dump(chromium: &Path, profile: &Path, file: &Path) -> String {
    let dumped = profile.join("dom.html");
    let mut browser = Command::new(chromium)
        // The sandbox of a browser does not work within every container; the page is our own.
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "--virtual-time-budget=60000"])
        // What is painted is looked at by nobody: no threads for it, which take a third of the time.
        .arg("--disable-threaded-compositing")
        .arg("--window-size=1200,900")
        .arg(format!("--user-data-dir={}", profile.join("profile").display()))
        .arg(format!("file://{}#selftest", file.display()))
        .stdout(std::fs::File::create(&dumped).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    // A page that opens a dialog, as a script that got into it would, waits for ever.
    while browser.try_wait().unwrap().is_none() {
        if started.elapsed() > BROWSER_MAX {
            browser.kill().unwrap();
            browser.wait().unwrap();
            panic!("the browser did not come back from the page");
        }
        sleep(Duration::from_millis(50));
    }
    std::fs::read_to_string(dumped).unwrap()
}

/// Says of a page that is open, and again when it is asked, what of its text cannot be read: what is cut by its drawing,
/// lies on other text, or is wider than its box or than the window. Measured from what was rendered.
const UNREADABLE: &str = "<script>const probe = () => {
  const found = [];
  const words = (e) => e.textContent.trim().replace(/\\s+/g, ' ').slice(0, 60);
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) found.push('the page is wider than its window');
  for (const svg of document.querySelectorAll('.drawing svg')) {
    const box = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll('text')].filter((t) => t.textContent.trim() && t.getBoundingClientRect().width > 0);
    const rects = texts.map((t) => t.getBoundingClientRect());
    const id = svg.closest('figure').id;
    rects.forEach((r, i) => {
      if (r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 2 || r.bottom > box.bottom + 2) found.push(`${id} cuts: ${words(texts[i])}`);
      rects.slice(i + 1).forEach((o, j) => {
        const x = Math.min(r.right, o.right) - Math.max(r.left, o.left);
        const y = Math.min(r.bottom, o.bottom) - Math.max(r.top, o.top);
        if (x > 1 && y > 3) found.push(`${id}: ${words(texts[i])} lies on ${words(texts[i + 1 + j])}`);
      });
    });
  }
  for (const e of document.querySelectorAll('.tile, .tile *, h1, h2, h3, h4, p, li, figcaption, nav a')) {
    if (e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1) found.push(`wider than its box: ${words(e)}`);
  }
  root.dataset.unreadable = JSON.stringify(found);
  // Which hops of the map the keyboard reaches, one stop after the other.
  const map = document.querySelector('figure[id$=map] .drawing');
  const reached = new Set();
  for (let n = map ? map.querySelectorAll('.mark').length : 0; n > 0; n -= 1) {
    map.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true, cancelable: true }));
    for (const at of map.querySelectorAll('.mark.at')) reached.add(at.dataset.hop);
  }
  parent.postMessage({ unreadable: found, errors: window.errors, requests: performance.getEntriesByType('resource').length,
    dark: matchMedia('(prefers-color-scheme: dark)').matches, reached: reached.size }, '*');
};
const soon = () => setTimeout(probe, 60);
window.addEventListener('load', soon);
window.addEventListener('message', soon);</script></body>";

/// Counts what goes wrong, from before the first script on.
const ERRORS: &str =
    "<head><script>window.errors = 0; window.addEventListener('error', () => { window.errors += 1; });</script>";

/// A page that says of itself what of it cannot be read.
pub fn probed(html: &str) -> String {
    let probed = html.replacen("<head>", ERRORS, 1).replace("</body>", UNREADABLE);
    assert!(probed.contains(ERRORS) && probed.contains(UNREADABLE), "{html:.200}");
    probed
}

/// What each page says of itself in a frame of either width, by day and by night, by name, width and theme; nothing where
/// there is no browser.
pub fn frames(pages: &[(String, String)]) -> Option<Value> {
    let Some(chromium) = chromium() else {
        skipped(&format!("no Chromium; install one, or name it in {NAMED_BY}"));
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    for (name, html) in pages {
        std::fs::write(folder.path().join(format!("{name}.html")), html).unwrap();
    }
    let names: Vec<&String> = pages.iter().map(|(name, _)| name).collect();
    let names = serde_json::to_string(&names).unwrap();
    // A browser a width: a page has another one from its beginning, and other colours while it is open.
    let seen = |width: &str| {
        let profile = folder.path().join(width);
        std::fs::create_dir(&profile).unwrap();
        let file = folder.path().join(format!("frames-{width}.html"));
        std::fs::write(&file, FRAMES.replace("NAMES", &names).replace("WIDTH", width)).unwrap();
        outcome(&dump(&chromium, &profile, &file))
    };
    let found = std::thread::scope(|scope| {
        let narrow = scope.spawn(|| seen("400"));
        [seen("1440"), narrow.join().unwrap()]
    });
    let mut all = json!({});
    for found in &found {
        all.as_object_mut().unwrap().extend(found.as_object().unwrap().clone());
    }
    Some(all)
}

/// One page after the other in a frame, by day and then by night.
const FRAMES: &str = "<!doctype html><html><body><script>
  const names = NAMES;
  const outcome = {};
  const frame = document.createElement('iframe');
  document.body.append(frame);
  const lit = (theme) => { frame.style = `width: WIDTHpx; height: 900px; border: 0; color-scheme: ${theme}`; };
  const next = () => {
    const name = names.pop();
    if (!name) {
      document.documentElement.dataset.selftest = JSON.stringify(outcome);
      return;
    }
    window.onmessage = (day) => {
      outcome[`${name} WIDTH light`] = day.data;
      window.onmessage = (night) => { outcome[`${name} WIDTH dark`] = night.data; next(); };
      lit('dark');
      frame.contentWindow.postMessage('again', '*');
    };
    lit('light');
    frame.src = `${name}.html`;
  };
  next();
</script></body></html>";

#[test]
fn no_text_is_cut_lies_on_other_text_or_is_wider_than_its_box() {
    let pages: Vec<(String, String)> =
        pages().iter().map(|(name, page)| (name.replace(' ', "-"), probed(&page.html()))).collect();
    let Some(found) = frames(&pages) else { return };
    let mut unreadable = Vec::new();
    for (name, seen) in found.as_object().unwrap() {
        assert_eq!((&seen["errors"], &seen["requests"]), (&json!(0), &json!(0)), "{name}");
        if seen["unreadable"] != json!([]) {
            unreadable.push(format!("{name}: {}", seen["unreadable"]));
        }
    }
    assert_eq!(found.as_object().unwrap().len(), 4 * pages.len());
    assert_eq!(unreadable, Vec::<String>::new());
}

/// What the page says of its own test.
fn outcome(dom: &str) -> Value {
    let text = dom.split("data-selftest=\"").nth(1).unwrap_or_else(|| panic!("the script did not end: {dom:.400}"));
    let text = text.split('"').next().unwrap().replace("&quot;", "\"").replace("&amp;", "&");
    serde_json::from_str(&text.replace("&lt;", "<").replace("&gt;", ">")).unwrap()
}

fn span(seen: &Value) -> f64 {
    seen["until_ps"].as_f64().unwrap() - seen["from_ps"].as_f64().unwrap()
}

#[test]
fn the_data_in_the_browser_are_those_of_the_report_and_nothing_is_loaded() {
    let report = report();
    let Some(dom) = in_browser(&study_page(&report).html()) else { return };
    let data = data(&dom);
    assert_eq!(data["fixture-data"], serde_json::to_value(&report).unwrap());
    let outcome = outcome(&dom);
    assert_eq!(outcome["requests"], 0, "{outcome}");
    let read = outcome["marks"]["fixture-figure-9-a"]["byKey"].as_str().unwrap();
    assert!(read.contains("published 1.000, simulated 1.030") && read.contains("+3.0 % (fitted)"), "{read}");
}

#[test]
fn a_timeline_zooms_by_key_button_and_wheel_and_comes_back() {
    let Some(dom) = in_browser(&study_page(&report()).html()) else { return };
    let outcome = outcome(&dom);
    let seen = &outcome["timelines"]["fixture-lanes"];
    let whole = 1_000_000.0;
    let near = |name: &str, expected: f64| {
        let found = span(&seen[name]);
        assert!((found - expected).abs() < 1.0, "{name}: {found} ps in view, not {expected}: {seen}");
    };
    near("first", whole);
    near("plus", whole / 2.0);
    near("right", whole / 2.0);
    assert_eq!(seen["right"]["from_ps"].as_f64().unwrap() - seen["plus"]["from_ps"].as_f64().unwrap(), whole / 10.0);
    near("minus", whole);
    near("zero", whole);
    near("button", whole / 2.0);
    near("all", 2.0 * whole);
    near("wheel", 2.0 * whole / 2f64.powf(0.5));
    near("reset", whole);
    assert_eq!(seen["reset"], seen["first"]);
    // Zoomed in by two about the middle of the first view, then dragged by a quarter of what is shown.
    near("drag", whole / 2.0);
    let moved = seen["drag"]["from_ps"].as_f64().unwrap() - seen["plus"]["from_ps"].as_f64().unwrap();
    assert!((moved - whole / 8.0).abs() < 1.0, "{moved} ps: {seen}");
    // What is drawn follows: the widest block in view is twice as wide, and more blocks come into view.
    let widest = |name: &str| seen[name]["widest"].as_f64().unwrap();
    assert!(widest("plus") > widest("first"), "{seen}");
    assert!(seen["all"]["blocks"].as_u64() > seen["first"]["blocks"].as_u64(), "{seen}");
    let ticks = seen["first"]["ticks"].as_array().unwrap();
    assert_eq!(ticks.len(), 2, "nanoseconds and clocks");
    assert_eq!(ticks[0][0], "0", "{seen}");
}

#[test]
fn a_capture_zooms_from_steps_of_all_of_it_to_what_happened_one_by_one() {
    let Some(dom) = in_browser(&waveform_page(&waveform()).html()) else { return };
    let outcome = outcome(&dom);
    let seen = &outcome["timelines"]["capture-over-time"];
    let whole = span(&seen["first"]);
    assert!((whole / 2e9 - 1.0).abs() < 0.01, "all of it is in view at first: {seen}");
    assert_eq!((&seen["first"]["oneByOne"], &seen["zero"]["oneByOne"]), (&json!(false), &json!(true)), "{seen}");
    assert!((span(&seen["plus"]) - whole / 2.0).abs() < 1.0 && (span(&seen["all"]) - whole).abs() < 1.0, "{seen}");
    // Columns of three pixels at least in most of four rows: one with little in it is there one by one.
    let marks = seen["all"]["marks"].as_u64().unwrap();
    assert!(seen["first"]["marks"].as_u64().unwrap() < marks, "what steps say is there only for a reader: {seen}");
    assert!((3 * 150..4 * 400).contains(&marks), "{seen}");
    assert!(seen["zero"]["marks"].as_u64().is_some_and(|marks| (20..200).contains(&marks)), "{seen}");
    assert_eq!(outcome["requests"], 0, "{outcome}");
}

#[test]
fn every_figure_of_an_explained_run_can_be_read_by_keyboard_and_pointer() {
    let run = Run::once();
    let Some(dom) = in_browser(&run.page().html()) else { return };
    let outcome = outcome(&dom);
    let marks = outcome["marks"].as_object().unwrap();
    assert!(marks.len() >= run.explained.account.lanes.len() + 3, "{marks:?}");
    // The request that is read is lit, until the drawing is another.
    let seen = &outcome["timelines"]["explain-piix4e-one-disk-requests-and-hops"];
    assert_eq!((&seen["next"]["lighting"], &seen["button"]["lighting"]), (&json!(true), &json!(false)), "{seen}");
    for (figure, read) in marks {
        assert!(read["byKey"].as_str().is_some_and(|words| words.len() > 10), "{figure}: {read}");
        assert_eq!(read["byKey"], read["byPointer"], "{figure}");
    }
    assert_eq!(outcome["requests"], 0, "{outcome}");
}

#[test]
fn every_figure_can_be_taken_along_with_its_colours_and_its_table() {
    for (name, page) in [("explain", Run::once().page()), ("study", study_page(&report()))] {
        let html = page.html();
        let Some(dom) = in_browser(&html) else { return };
        let taken = outcome(&dom)["taken"].clone();
        assert_eq!(taken.as_object().unwrap().len(), html.matches("<figure id=").count(), "{name}");
        for (figure, files) in taken.as_object().unwrap() {
            assert_eq!((&files["wellFormed"], &files["variables"]), (&json!(true), &json!(false)), "{name}: {figure}");
            assert!(files["texts"].as_u64().is_some_and(|texts| texts >= 3), "{name}: {figure}: {files}");
            assert!(files["lines"].as_u64().is_some_and(|lines| lines >= 2), "{name}: {figure}: {files}");
        }
    }
}
