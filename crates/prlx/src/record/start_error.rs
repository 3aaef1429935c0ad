//! Explains why a program did not start, and what to do about it.

use std::ffi::OsStr;
use std::io;

use prlx_driver::{Error, ErrorKind};

/// `errno` of a file that is executable but has no format that the kernel can execute.
const ENOEXEC: i32 = 8;

/// The error of a program that could not be started.
pub(super) fn explain(program: &OsStr, e: &io::Error) -> anyhow::Error {
    let name = program.to_string_lossy();
    let (what, help) = match e.kind() {
        io::ErrorKind::NotFound if name.contains('/') => (
            format!("there is no program {name}, or what its `#!` line names is missing"),
            "look at the path",
        ),
        io::ErrorKind::NotFound => {
            (format!("there is no program {name} on PATH"), "give its path, as ./app, for one in this folder")
        }
        io::ErrorKind::PermissionDenied => (
            format!("{name} may not be executed"),
            "chmod +x it; or name the program that runs it first, as `-- python3 script.py`",
        ),
        _ if e.raw_os_error() == Some(ENOEXEC) => (
            format!(
                "{name} is no program that can be executed: a script without a `#!` line, or for another machine"
            ),
            "name the program that runs it first, as `-- bash script`",
        ),
        _ => (format!("cannot run {name}: {e}"), "look at the message"),
    };
    Error::new(ErrorKind::File, what).help(help).into()
}
