//! Reads any text as a probe program, and as a file of Neutrino's probes. The canonical form of a valid
//! program must mean the same; diagnostics of an invalid one must point into the text.

use prlx_probe::lang::parse;
use prlx_probe::neutrino;

/// Runs the target on one input.
pub fn run(data: &[u8]) {
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
    let complaints = match neutrino::read(text) {
        Ok((_, warnings)) => warnings,
        Err(complaints) => complaints,
    };
    for complaint in complaints {
        assert!(text.get(complaint.span.clone()).is_some(), "{complaint:?}");
    }
}
