//! Shared by the tests of this crate: a deterministic random number generator, and the files of the
//! repository.

use std::path::{Path, PathBuf};

/// A deterministic random number generator: SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every PTX file below some folders of the repository, sorted.
pub fn ptx_files(folders: &[&str]) -> Vec<PathBuf> {
    let mut files = vec![];
    let mut work: Vec<PathBuf> = folders.iter().map(|f| root().join(f)).collect();
    while let Some(dir) = work.pop() {
        let Ok(entries) = std::fs::read_dir(dir) else { continue };
        for path in entries.flatten().map(|e| e.path()) {
            if path.is_dir() {
                work.push(path);
            } else if path.extension().is_some_and(|e| e == "ptx") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}
