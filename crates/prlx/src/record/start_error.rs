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
            format!("the program {name} does not exist, or its `#!` line names a missing interpreter"),
            "check the path",
        ),
        io::ErrorKind::NotFound => (
            format!("the program {name} is not on PATH"),
            "for a program in this directory, give its path, as ./app",
        ),
        io::ErrorKind::PermissionDenied => (
            format!("{name} is not executable"),
            "make it executable with chmod +x; or name its interpreter first, as `-- python3 script.py`",
        ),
        _ if e.raw_os_error() == Some(ENOEXEC) => (
            format!(
                "{name} cannot be executed: it is a script without a `#!` line, or built for another machine"
            ),
            "name its interpreter first, as `-- bash script`",
        ),
        _ => (format!("cannot run {name}: {e}"), "see the message"),
    };
    Error::new(ErrorKind::File, what).help(help).into()
}
