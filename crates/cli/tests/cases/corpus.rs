//! The corpus of kernels, for tests that run all of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Folders of the corpus' kernels that have a launch file, in order.
pub fn kernels() -> Vec<PathBuf> {
    let mut all = Vec::new();
    for kind in ["cuda", "triton"] {
        let Ok(entries) = std::fs::read_dir(root().join("tests/kernels").join(kind)) else { continue };
        all.extend(entries.flatten().map(|e| e.path()).filter(|p| p.join("launch.toml").is_file()));
    }
    all.sort();
    all
}

/// A kernel's name: `kind/name`.
pub fn label(folder: &Path) -> String {
    let part = |p: Option<&Path>| {
        p.and_then(Path::file_name).and_then(|n| n.to_str()).unwrap_or_default().to_owned()
    };
    format!("{}/{}", part(folder.parent()), part(Some(folder)))
}

/// A list: by kernel (`kind/name`, or `kind/name/target`), the word that follows its name.
pub fn list(file: &str) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(root().join("tests/kernels").join(file)).unwrap_or_default();
    let lines = text.lines().filter(|l| !l.starts_with('#')).map(|l| l.split_whitespace());
    lines
        .filter_map(|mut words| Some((words.next()?.to_owned(), words.next().unwrap_or_default().to_owned())))
        .collect()
}
