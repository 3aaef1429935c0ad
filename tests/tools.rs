//! External tools that some tests need. Test programs of several crates include this file with `#[path]`.
//!
//! # Invariants
//! A missing tool skips a test on a developer's machine and fails it in CI (`PRLX_REQUIRE_TOOLS=1`).

use std::path::{Path, PathBuf};

/// A file or folder of NVIDIA's packages, by its path in the package folder `nvidia/cu13`. `cargo xtask setup`
/// installs these packages. If the file is missing, the test is skipped: see [`skip`].
#[allow(dead_code, reason = "some test programs only call `skip`")]
pub fn nvidia(path: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let venv = std::env::var_os("PRLX_VENV").map_or_else(|| root.join(".venv"), PathBuf::from);
    let entries = std::fs::read_dir(venv.join("lib")).into_iter().flatten().flatten();
    let mut all = entries.map(|e| e.path().join("site-packages/nvidia/cu13").join(path));
    let found = all.find(|p| p.exists());
    if found.is_none() {
        skip(&format!("no {path}; `cargo xtask setup` installs it"));
    }
    found
}

/// Reports that a test is skipped because a tool is missing.
///
/// # Panics
/// If `PRLX_REQUIRE_TOOLS` is 1, as in CI: there a missing tool is a failure.
pub fn skip(reason: &str) {
    assert!(std::env::var("PRLX_REQUIRE_TOOLS").as_deref() != Ok("1"), "a tool is missing: {reason}");
    eprintln!("skipped: {reason}");
}
