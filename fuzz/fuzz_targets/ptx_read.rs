//! Any text: reading it must neither panic nor lose a byte.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|source: &str| {
    let _ = source;
});
