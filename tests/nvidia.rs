//! NVIDIA's tools, for tests that need them. Test programs include this file with `#[path]`, beside `tools.rs`.

use std::path::{Path, PathBuf};

/// A file or folder of NVIDIA's packages, by its path in the package folder `nvidia/cu13`. `cargo xtask setup`
/// installs these packages. If the file is missing, the test is skipped: see [`skip`](crate::tools::skip).
pub fn nvidia(path: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let venv = std::env::var_os("PRLX_VENV").map_or_else(|| root.join(".venv"), PathBuf::from);
    let entries = std::fs::read_dir(venv.join("lib")).into_iter().flatten().flatten();
    let mut all = entries.map(|e| e.path().join("site-packages/nvidia/cu13").join(path));
    let found = all.find(|p| p.exists());
    if found.is_none() {
        crate::tools::skip(&format!("no {path}; `cargo xtask setup` installs it"));
    }
    found
}
