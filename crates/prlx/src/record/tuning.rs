//! Keeps what autotuners choose, so that all runs of a comparison launch the same kernels.
//!
//! XLA (JAX) measures candidates for products and fusions and takes the fastest, and so does
//! `triton.autotune` with configurations. Two runs of one program then launch other kernels, and the
//! candidates in another order. JAX can keep the choices in a folder, Triton in its cache. A run that made
//! choices runs again with them, and then launches no candidates.
//!
//! # Invariants
//! - A folder that the user has set for JAX's caches is left alone, and so is a choice about Triton's.
//! - JAX keeps no compiled programs, so each run compiles and its PTX is seen.
//!
//! # Limitations
//! - Other users of XLA choose by time.
//! - Triton's choices stay in the user's cache, where programs find them only if they ask for them. A program
//!   that sets the folder of the cache by itself runs once, and its first run may have chosen other kernels.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use prlx_driver::triton_cache;

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

/// The variable that has `triton.autotune` keep its choices (`triton/knobs.py`; Triton 3.3 and later).
const TRITON: (&str, &str) = ("TRITON_CACHE_AUTOTUNING", "1");

/// How the names of files with Triton's choices end (`triton/runtime/autotuner.py`).
const TRITON_FILES: &str = ".autotune.json";

/// The choices of autotuners.
#[derive(Debug)]
pub struct TunerChoices {
    /// The folder that JAX is given.
    jax: PathBuf,
    /// The folder of Triton's cache, if it is known.
    triton: Option<PathBuf>,
}

impl TunerChoices {
    /// Choices of JAX that are kept below `folder`, which JAX creates, and those in Triton's cache.
    ///
    /// # Errors
    /// If the current directory is not known.
    pub fn below(folder: &Path) -> Result<TunerChoices> {
        let triton = triton_cache::folder(&|name| std::env::var_os(name));
        Ok(TunerChoices { jax: std::path::absolute(folder.join("xla-choices"))?, triton })
    }

    /// The variables to set for a program. `of` gives the value that the program would have.
    pub fn variables(&self, of: &dyn Fn(&str) -> Option<OsString>) -> Vec<(&'static str, OsString)> {
        let is_set = |name| of(name).is_some_and(|value| !value.is_empty());
        let mut all = Vec::new();
        if !is_set(FOLDER) {
            all.push((FOLDER, self.jax.clone().into_os_string()));
            all.extend(ONLY_CHOICES.map(|(name, value)| (name, OsString::from(value))));
        }
        if !is_set(TRITON.0) {
            all.push((TRITON.0, TRITON.1.into()));
        }
        all
    }

    /// How many choices there are.
    pub fn count(&self) -> usize {
        let triton = self.triton.as_deref().map_or(0, |cache| files(cache, 1, TRITON_FILES));
        files(&self.jax, DEPTH, "") + triton
    }
}

/// Files whose names end so, in a folder and in folders down to a depth.
fn files(folder: &Path, depth: usize, end: &str) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let count = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() && depth > 0 => files(&entry.path(), depth - 1, end),
        Ok(kind) => usize::from(kind.is_file() && entry.file_name().to_string_lossy().ends_with(end)),
        Err(_) => 0,
    };
    entries.map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_files_of_jax_and_of_triton() {
        let here = std::env::temp_dir().join(format!("prlx-choices-{}", std::process::id()));
        let below = TunerChoices::below(&here).unwrap();
        let choices = TunerChoices { triton: Some(here.join("triton")), ..below };
        let set = choices.variables(&|_| None);
        assert_eq!(set[0], (FOLDER, choices.jax.clone().into_os_string()));
        assert_eq!((set.len(), choices.count()), (4, 0));
        let below = choices.jax.join("xla_gpu_per_fusion_autotune_cache_dir");
        fs::create_dir_all(below.join("tmp")).unwrap();
        fs::write(below.join("one.textproto"), "x").unwrap();
        assert_eq!(choices.count(), 1);
        let kernel = here.join("triton").join("KEY");
        fs::create_dir_all(&kernel).unwrap();
        fs::write(kernel.join("matmul.ptx"), "x").unwrap();
        assert_eq!(choices.count(), 1);
        fs::write(kernel.join("matmul.autotune.json"), "x").unwrap();
        assert_eq!(choices.count(), 2);
        let mine = |name: &str| [FOLDER, TRITON.0].contains(&name).then(|| OsString::from("0"));
        assert_eq!(choices.variables(&mine), []);
        fs::remove_dir_all(here).unwrap();
    }
}
