//! External tools that some tests need. Test programs of several crates include this file with `#[path]`.
//!
//! # Invariants
//! A missing tool skips a test on a developer's machine and fails it in CI (`PRLX_REQUIRE_TOOLS=1`).

/// Reports that a test is skipped because a tool is missing.
///
/// # Panics
/// If `PRLX_REQUIRE_TOOLS` is 1, as in CI: there a missing tool is a failure.
pub fn skip(reason: &str) {
    assert!(std::env::var("PRLX_REQUIRE_TOOLS").as_deref() != Ok("1"), "a tool is missing: {reason}");
    eprintln!("skipped: {reason}");
}
