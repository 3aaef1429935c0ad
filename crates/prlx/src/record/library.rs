//! Finds the recorder's shared library and prepares it for loading into programs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use prlx_driver::session::NVTX_LIBRARY;
use prlx_driver::{Error, ErrorKind};

/// File name of the recorder that is loaded into programs.
const LIBRARY: &str = "libprlx_preload.so";
/// Environment variable that names it, if it is neither beside `prlx` nor in `../lib`.
const VARIABLE: &str = "PRLX_PRELOAD";

/// Finds the recorder's library: named by the variable, beside this executable, or in `../lib`.
pub(super) fn find() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os(VARIABLE).map(PathBuf::from) {
        return path.canonicalize().with_context(|| format!("{VARIABLE} names {}", path.display()));
    }
    let exe =
        std::env::current_exe().and_then(|p| p.canonicalize()).context("cannot find where prlx itself is")?;
    let beside = exe.parent().unwrap_or(Path::new("."));
    let places = [beside.join(LIBRARY), beside.join("../lib").join(LIBRARY)];
    let found = places.iter().find_map(|p| p.canonicalize().ok());
    Ok(found.ok_or_else(|| {
        let what = format!("{LIBRARY} is neither in {} nor in ../lib beside it", beside.display());
        Error::new(ErrorKind::Record, what).help(format!("put it there, or set {VARIABLE} to its path"))
    })?)
}

/// Environment variable that names the library to which NVTX reports a program's ranges.
const INJECTION: &str = "NVTX_INJECTION64_PATH";

/// Lets NVTX report the program's ranges to the recorder, which passes them on to the user's own library, if
/// there is one.
pub(super) fn receive_nvtx(child: &mut Command, library: &Path) {
    let theirs = std::env::var_os(INJECTION).filter(|path| !path.is_empty() && Path::new(path) != library);
    if let Some(theirs) = theirs {
        child.env(NVTX_LIBRARY, theirs);
    }
    child.env(INJECTION, library);
}

/// The value of `LD_PRELOAD`: the recorder's library, then the user's own.
pub(super) fn ld_preload(library: &Path) -> Result<OsString> {
    if library.as_os_str().as_encoded_bytes().iter().any(|b| matches!(b, b':' | b' ')) {
        let what = format!("{} cannot be preloaded: its path has a space or a colon", library.display());
        return Err(Error::new(ErrorKind::Record, what)
            .help(format!("copy it to another place, and set {VARIABLE} to its path"))
            .into());
    }
    let mut all = library.as_os_str().to_owned();
    if let Some(theirs) = std::env::var_os("LD_PRELOAD").filter(|v| !v.is_empty()) {
        all.push(":");
        all.push(theirs);
    }
    Ok(all)
}
