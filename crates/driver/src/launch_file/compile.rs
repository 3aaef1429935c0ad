//! Compiles `.cu` files to PTX with the CUDA compiler on this machine.
//!
//! The compiler is `$PRLX_NVCC`, else `nvcc` (on `PATH`, in `$CUDA_HOME` or `$CUDA_PATH`), else `clang`. The
//! PTX is for `sm_80`, optimised, with source lines. For other flags, compile the file yourself and name the
//! `.ptx` file.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, ErrorKind};
use crate::temporary::temporary_folder;

const NVCC: &[&str] = &["-O3", "-lineinfo", "--ptx", "-arch=sm_80"];

/// Options for clang. `-gline-directives-only` gives `.loc` lines without disabling optimisation in `ptxas`,
/// as `-g` would.
const CLANG: &[&str] =
    &["-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_80", "-O3", "-gline-directives-only", "-S"];

/// Compiles a `.cu` file to PTX.
///
/// # Errors
/// If there is no compiler, or it reports an error.
pub fn ptx(path: &Path) -> Result<Vec<u8>, Error> {
    let (compiler, flags) = find().ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, format!("{}: no CUDA compiler is there to make PTX from it", path.display()))
            .help("install nvcc (or set PRLX_NVCC to it) or clang, or compile it elsewhere with `nvcc -O3 -lineinfo --ptx` and name the .ptx file")
    })?;
    run(&compiler, flags, path)
}

fn run(compiler: &Path, flags: &[&str], path: &Path) -> Result<Vec<u8>, Error> {
    let failed = |what: String| Error::new(ErrorKind::Module, what);
    let folder = temporary_folder().map_err(|e| failed(format!("cannot create a temporary folder: {e}")))?;
    let out = folder.path().join("kernel.ptx");
    let run = Command::new(compiler).args(flags).arg("-o").arg(&out).arg(path).output();
    let run = run.map_err(|e| failed(format!("cannot start {}: {e}", compiler.display())))?;
    if !run.status.success() {
        let output = String::from_utf8_lossy(&run.stderr);
        return Err(failed(format!(
            "{} does not compile {}:\n{}",
            compiler.display(),
            path.display(),
            output.trim_end()
        )));
    }
    std::fs::read(&out)
        .map_err(|e| failed(format!("{} gave no PTX for {}: {e}", compiler.display(), path.display())))
}

/// Finds the compiler and its options.
fn find() -> Option<(PathBuf, &'static [&'static str])> {
    if let Some(named) = env::var_os("PRLX_NVCC").filter(|v| !v.is_empty()) {
        return Some((named.into(), NVCC));
    }
    let path: OsString = env::var_os("PATH").unwrap_or_default();
    let homes =
        ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(env::var_os).map(|h| PathBuf::from(h).join("bin"));
    let nvcc = env::split_paths(&path).chain(homes).map(|dir| dir.join("nvcc")).find(|p| p.is_file());
    let clang = || env::split_paths(&path).map(|dir| dir.join("clang")).find(|p| p.is_file());
    nvcc.map(|p| (p, NVCC)).or_else(|| clang().map(|p| (p, CLANG)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::run;
    use crate::temporary::temporary_folder;
    use crate::temporary::tests::among_prepared_links;

    #[test]
    fn prepared_links_are_not_followed() {
        let folder = temporary_folder().unwrap();
        let source = folder.path().join("k.cu");
        std::fs::write(&source, "the text").unwrap();
        // The shell stands in for the compiler: `$0` is -o, `$1` the output, `$2` the source.
        let flags = ["-c", "cat \"$2\" > \"$1\""];
        let ptx = among_prepared_links(|| run(Path::new("/bin/sh"), &flags, &source));
        assert_eq!(ptx.unwrap(), b"the text");
    }
}
