//! Finds tools by environment variable, on `PATH`, in the CUDA toolkit, and beside Triton.

use std::env;
use std::path::{Path, PathBuf};

/// Environment variable with which Triton, and PyTorch for Triton, choose another `ptxas`.
const TRITON_PTXAS: &str = "TRITON_PTXAS_PATH";

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

/// The `ptxas` that Triton uses in this process, which its Python package brings along, and the one for
/// Blackwell. `maps` is the text of `/proc/self/maps`, which tells where Triton was loaded from.
pub(super) fn triton_assemblers(maps: &str) -> Vec<PathBuf> {
    let library = maps.lines().filter_map(|line| line.find('/').map(|at| Path::new(&line[at..])));
    let mut library = library.filter(|path| path.file_name().is_some_and(|name| name == "libtriton.so"));
    // TRITON/_C/libtriton.so
    let package = library.next().and_then(|path| path.parent()?.parent());
    let folder = package.map(|package| package.join("backends/nvidia/bin"));
    let own = folder.iter().flat_map(|folder| ["ptxas", "ptxas-blackwell"].map(|name| folder.join(name)));
    path_from_variable(TRITON_PTXAS).into_iter().chain(own).filter(|path| path.is_file()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triton_s_assemblers_are_beside_its_library() {
        let folder = std::env::temp_dir().join(format!("prlx-search-{}", std::process::id()));
        let bin = folder.join("backends/nvidia/bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::write(bin.join("ptxas"), "").unwrap();
        let library = folder.join("_C/libtriton.so");
        let maps = format!("7f00-7f01 r--p 0 0:1 5\n7f01-7f02 r-xp 0 0:1 6      {}\n", library.display());
        let found = triton_assemblers(&maps);
        let none = triton_assemblers("7f01-7f02 r-xp 0 0:1 6  /usr/lib/libc.so.6\n7f02-7f03 rw-p [heap]\n");
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(found.ends_with(&[bin.join("ptxas")]), "{found:?}");
        assert!(!none.contains(&bin.join("ptxas")), "{none:?}");
    }
}
