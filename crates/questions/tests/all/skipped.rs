//! What a test says where it cannot see what it is for. The tests of other crates take it from here, too.

use std::io::Write;

/// Says that the test that calls it has not tested what its name says, and what would let it.
pub fn skipped(why: &str) {
    let test = std::thread::current();
    let line = format!("skipped: {}: {}\n", test.name().unwrap_or("a test"), why.replace('\n', " "));
    // Not `eprintln!`: what a test prints is shown where it fails, and this one passes. `.ci/run` ends with these lines.
    std::io::stderr().lock().write_all(line.as_bytes()).expect("standard error can be written");
}
