//! Keeps what XLA's autotuner chooses, so that all runs of a comparison launch the same kernels.
//!
//! XLA (JAX) measures candidates for products and fusions and takes the fastest, so two runs of one program
//! launch other kernels, and the candidates in another order. JAX can keep the choices in a folder. A run
//! that made choices runs again with them, and then launches no candidates.
//!
//! # Invariants
//! - A folder that the user has set for JAX's caches is left alone, and then no run is made again.
//! - Compiled programs are not kept, so each run compiles and its PTX is seen.
//!
//! # Limitations
//! - This is for JAX alone. Other users of XLA choose by time.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

/// The variable that names the folder of JAX's caches.
const FOLDER: &str = "JAX_COMPILATION_CACHE_DIR";

/// What else JAX reads: it keeps what the autotuner chose, and no compiled program, however long that took to
/// compile. Older versions ignore what they do not know.
const ONLY_CHOICES: [(&str, &str); 2] = [
    ("JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES", "xla_gpu_per_fusion_autotune_cache_dir"),
    ("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "1000000000"),
];

/// Levels of folders below the one that JAX is given in which it keeps choices.
const DEPTH: usize = 4;

/// The choices of autotuners, in a folder.
#[derive(Debug)]
pub struct TunerChoices(PathBuf);

impl TunerChoices {
    /// Choices that are kept below `folder`. JAX creates the folder.
    ///
    /// # Errors
    /// If the current directory is not known.
    pub fn below(folder: &Path) -> Result<TunerChoices> {
        Ok(TunerChoices(std::path::absolute(folder.join("xla-choices"))?))
    }

    /// The variables to set for a program. `of` gives the value that the program would have.
    pub fn variables(&self, of: &dyn Fn(&str) -> Option<OsString>) -> Vec<(&'static str, OsString)> {
        if of(FOLDER).is_some_and(|folder| !folder.is_empty()) {
            return Vec::new();
        }
        let others = ONLY_CHOICES.iter().map(|(name, value)| (*name, OsString::from(value)));
        [(FOLDER, self.0.clone().into_os_string())].into_iter().chain(others).collect()
    }

    /// How many choices there are.
    pub fn count(&self) -> usize {
        files(&self.0, DEPTH)
    }
}

/// Files in a folder and in folders down to a depth.
fn files(folder: &Path, depth: usize) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let count = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() && depth > 0 => files(&entry.path(), depth - 1),
        Ok(kind) => usize::from(kind.is_file()),
        Err(_) => 0,
    };
    entries.map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_files_in_the_folder_that_jax_gets() {
        let here = std::env::temp_dir().join(format!("prlx-choices-{}", std::process::id()));
        let choices = TunerChoices::below(&here).unwrap();
        let set = choices.variables(&|_| None);
        assert_eq!(set[0], (FOLDER, choices.0.clone().into_os_string()));
        assert_eq!((set.len(), choices.count()), (3, 0));
        let below = choices.0.join("xla_gpu_per_fusion_autotune_cache_dir");
        fs::create_dir_all(below.join("tmp")).unwrap();
        fs::write(below.join("one.textproto"), "x").unwrap();
        assert_eq!(choices.count(), 1);
        let mine = |name: &str| (name == FOLDER).then(|| OsString::from("/mine"));
        assert_eq!(choices.variables(&mine), []);
        fs::remove_dir_all(here).unwrap();
    }
}
