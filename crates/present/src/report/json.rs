//! A report as JSON: the report's own fields, under a format and version. `docs/report.md` describes the
//! keys.
//!
//! # Invariants
//! Reading what was written gives the same report, and writing that gives the same bytes. What the
//! runs of both sides gave ([`Sides`]) is written but not read.

use std::io::{self, Write};

use prlx_analyze::Report;
use prlx_trace::Printed;
use prlx_trace::check::Findings;
use serde_json::{Map, Value};

use crate::checks::checks_json;
use crate::document;

/// Changes when a key changes its meaning or is removed; a new key does not change it.
const VERSION: u32 = 1;
const FORMAT: &str = "prlx-report";

#[derive(serde::Serialize)]
struct Body<'a> {
    #[serde(flatten)]
    more: Map<String, Value>,
    #[serde(flatten)]
    report: &'a Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    checks: Option<[Value; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    printed: Option<[&'a Printed; 2]>,
}

/// What the runs of both sides gave besides their recordings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sides<'a> {
    /// The findings of checks, if they ran.
    pub checks: Option<[&'a Findings; 2]>,
    /// The text that the kernels printed, if the device keeps it.
    pub printed: Option<[&'a Printed; 2]>,
}

/// Writes `report` as one JSON object and a line end, with what the runs of both sides gave.
///
/// # Errors
/// Those of `out`.
pub fn json(out: &mut impl Write, report: &Report, sides: Sides<'_>) -> io::Result<()> {
    let checks = sides.checks.map(|both| both.map(checks_json));
    document::write(out, FORMAT, VERSION, &Body { more: Map::new(), report, checks, printed: sides.printed })
}

/// Writes `report` as [`json`] does, with the keys of `more` before its own.
///
/// # Errors
/// Those of `out`.
pub(crate) fn json_with(out: &mut impl Write, report: &Report, more: Map<String, Value>) -> io::Result<()> {
    document::write(out, FORMAT, VERSION, &Body { more, report, checks: None, printed: None })
}

#[derive(serde::Deserialize)]
struct Written {
    format: String,
    version: u32,
    #[serde(flatten)]
    report: Report,
}

/// Reads what [`json`] wrote.
///
/// # Errors
/// If the text is not JSON, not a report, or a report of another version.
pub fn read_json(text: &[u8]) -> Result<Report, String> {
    let written: Written = serde_json::from_slice(text).map_err(|e| e.to_string())?;
    match written {
        Written { format, .. } if format != FORMAT => Err(format!("it is a `{format}`, not a `{FORMAT}`")),
        Written { version, .. } if version != VERSION => {
            Err(format!("it is of version {version}; this prlx reads {VERSION}"))
        }
        Written { report, .. } => Ok(report),
    }
}
