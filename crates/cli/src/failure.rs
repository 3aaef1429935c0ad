//! The exit code of a command that fails, and the failure as JSON.
//!
//! A script must tell a kernel that faults from a file that is missing: the first is a result of its own
//! work, the second a mistake in the script.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use prlx_driver::{Error, ErrorKind};
use serde_json::{Value, json};

use crate::ui::Ui;

/// Exit code for a wrong option or file.
pub const USAGE: u8 = 2;
/// Exit code for a run that failed: the kernel faulted or did not end, or memory ran out.
pub const RUN: u8 = 4;

/// The exit code for an error.
pub fn exit_code(error: &anyhow::Error) -> u8 {
    if kind(error).is_some() { RUN } else { USAGE }
}

/// Reports a kernel that stopped after its results so far were printed. Returns the exit code.
pub fn stopped(why: &str, ui: &Ui) -> ExitCode {
    ui.error(&Error::new(ErrorKind::Fault, why).into());
    ExitCode::from(RUN)
}

/// Prints `value`, with the error under `error`, as JSON on standard output.
pub fn print_json(error: &anyhow::Error, mut value: Value) -> Result<()> {
    let help = cause(error).and_then(|e| e.help.as_deref());
    let kind = kind(error).unwrap_or("error");
    value["error"] = json!({ "kind": kind, "message": format!("{error:#}"), "help": help });
    let mut out = crate::ui::result(true, false);
    serde_json::to_writer_pretty(&mut out, &value)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// What failed in a run, as JSON names it; `None` if no run failed.
fn kind(error: &anyhow::Error) -> Option<&'static str> {
    match cause(error)?.kind {
        ErrorKind::Fault => Some("fault"),
        ErrorKind::Stuck => Some("stuck"),
        ErrorKind::Memory => Some("memory"),
        _ => None,
    }
}

/// The driver's error behind an error.
fn cause(error: &anyhow::Error) -> Option<&Error> {
    error.chain().find_map(|e| e.downcast_ref::<Error>())
}
