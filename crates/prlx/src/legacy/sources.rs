//! Finds the source files that site tables of PRLX 0.x name.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Maximum size of a source file, in bytes.
const MAX_SOURCE: u64 = 4 << 20;
/// Extensions of source files. A site table may name any file, and users share the pages that show sources,
/// so other files are not read.
const EXTENSIONS: [&str; 24] = [
    "c", "cc", "cl", "cpp", "cu", "cuh", "cxx", "f90", "h", "hh", "hip", "hpp", "hxx", "inc", "inl", "ipp",
    "jl", "ll", "mlir", "mojo", "ptx", "py", "rs", "ttir",
];
/// Times of files and of recordings within this count as equal.
const SAME_TIME: Duration = Duration::from_secs(2);

/// Reads source files, and notes which of them changed after the recordings were made.
#[derive(Debug)]
pub struct SourceFiles {
    /// By side: folders to search for a file that is not where its name says.
    pub folders: [Vec<PathBuf>; 2],
    /// By side: when the first recording was made.
    pub recorded_at: [Option<SystemTime>; 2],
    /// By file: the sides that were recorded before the file changed.
    pub changed: BTreeMap<PathBuf, [bool; 2]>,
}

impl SourceFiles {
    /// The text of a source file as a side's table spells its name.
    ///
    /// The search goes through the side's folders with the name, the working directory, and the side's
    /// folders with the last part of the name. `None` if no file is found, or if it is too large or no source
    /// file.
    pub fn text(&mut self, side: usize, name: &str) -> Option<String> {
        let name = Path::new(name);
        let below = self.folders[side].iter().map(|f| f.join(name));
        let beside = self.folders[side].iter().filter_map(|f| Some(f.join(name.file_name()?)));
        let path = below.chain([name.to_owned()]).chain(beside).find(|p| p.is_file())?;
        let real = fs::canonicalize(&path).ok()?;
        if !EXTENSIONS.contains(&real.extension()?.to_str()?.to_ascii_lowercase().as_str()) {
            return None;
        }
        let file = fs::File::open(&real).ok()?;
        let metadata = file.metadata().ok()?;
        let mut text = String::new();
        file.take(MAX_SOURCE + 1).read_to_string(&mut text).ok().filter(|n| *n as u64 <= MAX_SOURCE)?;
        if let (Ok(changed), Some(recorded)) = (metadata.modified(), self.recorded_at[side])
            && changed.duration_since(recorded).is_ok_and(|after| after > SAME_TIME)
        {
            self.changed.entry(path).or_default()[side] = true;
        }
        Some(text)
    }
}
