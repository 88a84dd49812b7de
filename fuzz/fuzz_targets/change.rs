#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)]
#[path = "../../crates/questions/tests/all/targets/mod.rs"]
mod targets;

fuzz_target!(|data: &[u8]| {
    targets::changes::change(data);
});
