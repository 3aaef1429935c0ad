//! Finds tools by environment variable, on `PATH`, and in the CUDA toolkit.

use std::env;
use std::path::PathBuf;

pub(super) fn path_from_variable(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|v| !v.is_empty()).map(PathBuf::from)
}

/// Finds a program on `PATH`, in the CUDA folder that the environment names, or in the default CUDA folder.
pub(super) fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let homes =
        ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(env::var_os).map(|h| PathBuf::from(h).join("bin"));
    let folders = env::split_paths(&path).chain(homes).chain([PathBuf::from("/usr/local/cuda/bin")]);
    folders.map(|f| f.join(name)).find(|p| p.is_file())
}
