//! Any text as a probe program: it is read, and its canonical form means the same; or complaints point into it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prlx_probe::lang::parse;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match parse(text) {
        Ok(script) => {
            let printed = script.to_string();
            let again = parse(&printed).unwrap_or_else(|c| panic!("{c:?}\n{printed}"));
            assert_eq!(printed, again.to_string());
        }
        Err(complaints) => {
            assert!(!complaints.is_empty());
            for complaint in complaints {
                assert!(text.get(complaint.span.clone()).is_some(), "{complaint:?}");
                assert!(complaint.render(text, "x").starts_with("x:"));
            }
        }
    }
});
