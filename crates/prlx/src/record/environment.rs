//! Environment variables that make the compilers of a program keep PTX and source lines in the code that they
//! make. Without PTX a kernel cannot be recorded.
//!
//! # Invariants
//! - No variable changes what a kernel computes.
//! - Folders exist when the program starts.
//! - What the user has set is kept. A value is only added to, or the variable is left alone.
//! - Compilers get a cache folder of their own where their cache would give back code without PTX.

use std::ffi::OsString;
use std::path::PathBuf;

/// How a variable is set.
enum Setting {
    /// Words are added to the user's, unless the user's have `unless`.
    Add { words: &'static str, unless: &'static str },
    /// The value, if the user has set none.
    Default(&'static str),
    /// A folder in the user's cache, if the user has set none.
    Cache(&'static str),
}

use Setting::{Add, Cache, Default};

/// The variables, and what reads them.
const VARIABLES: &[(&str, Setting)] = &[
    // XLA (JAX, TensorFlow): PTX and lines in the cubins of its own kernels and of Pallas.
    ("XLA_FLAGS", Add { words: "--xla_gpu_generate_line_info=true", unless: "--xla_gpu_generate_line_info" }),
    // nvcc, also as PyTorch's `load_inline` and `cpp_extension` call it.
    ("NVCC_APPEND_FLAGS", Add { words: "-lineinfo", unless: "-lineinfo" }),
    // CuPy: its kernels as PTX, which the driver assembles.
    ("CUPY_COMPILE_WITH_PTX", Default("1")),
    ("CUPY_CACHE_DIR", Cache("cupy")),
    // PyTorch's jiterator, which compiles with NVRTC and keeps machine code.
    ("PYTORCH_KERNEL_CACHE_PATH", Cache("torch-kernels")),
    // CuTe DSL.
    ("CUTE_DSL_LINEINFO", Default("1")),
];

/// The variables to set for a program, with their values. `of` gives the value that the program would have.
pub fn variables(of: &dyn Fn(&str) -> Option<OsString>) -> Vec<(&'static str, OsString)> {
    let value = |name: &str, setting: &Setting| {
        let now = of(name).filter(|v| !v.is_empty());
        match (setting, now) {
            (Add { words, .. }, None) => Some((*words).into()),
            (Add { words, unless }, Some(mut now)) => {
                let has = now.to_string_lossy().contains(unless);
                now.push(" ");
                now.push(words);
                (!has).then_some(now)
            }
            (Default(value), None) => Some((*value).into()),
            (Cache(name), None) => cache(of).map(|folder| folder.join(name).into()),
            (Default(_) | Cache(_), Some(_)) => None,
        }
    };
    VARIABLES.iter().filter_map(|(name, setting)| Some((*name, value(name, setting)?))).collect()
}

/// Makes the folders that variables name. A compiler whose folder cannot be made does without a cache.
pub fn make_folders(variables: &[(&'static str, OsString)]) {
    for (name, setting) in VARIABLES {
        let set = variables.iter().find(|(n, _)| n == name);
        if let (Cache(_), Some((_, folder))) = (setting, set) {
            let _ = std::fs::create_dir_all(folder);
        }
    }
}

/// The folder for caches of programs that are recorded.
fn cache(of: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let home = || Some(PathBuf::from(of("HOME")?).join(".cache"));
    Some(of("XDG_CACHE_HOME").map(PathBuf::from).or_else(home)?.join("prlx"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(user: &[(&str, &str)]) -> Vec<(&'static str, String)> {
        let of = |name: &str| user.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v));
        variables(&of).into_iter().map(|(n, v)| (n, v.to_string_lossy().into_owned())).collect()
    }

    #[test]
    fn values_of_the_user_are_kept() {
        let all = set(&[
            ("XLA_FLAGS", "--xla_dump_to=x"),
            ("NVCC_APPEND_FLAGS", "-O2 -lineinfo"),
            ("CUPY_CACHE_DIR", "mine"),
            ("HOME", "/home/u"),
        ]);
        let expected = [
            ("XLA_FLAGS", "--xla_dump_to=x --xla_gpu_generate_line_info=true"),
            ("CUPY_COMPILE_WITH_PTX", "1"),
            ("PYTORCH_KERNEL_CACHE_PATH", "/home/u/.cache/prlx/torch-kernels"),
            ("CUTE_DSL_LINEINFO", "1"),
        ];
        assert_eq!(all, expected.map(|(n, v)| (n, v.to_owned())));
    }

    #[test]
    fn everything_is_set_where_the_user_has_set_nothing() {
        let all = set(&[("XDG_CACHE_HOME", "/cache"), ("HOME", "/home/u")]);
        assert_eq!(all.len(), VARIABLES.len());
        assert!(all.contains(&("CUPY_CACHE_DIR", "/cache/prlx/cupy".to_owned())));
        assert!(set(&[]).iter().all(|(name, _)| *name != "CUPY_CACHE_DIR"), "there is no folder for it");
    }
}
