//! A gate's outcome as JSON.

use std::io::{self, Write};

use prlx_analyze::gate::Judgement;
use prlx_analyze::report::Report;

use crate::document;

/// Changes when a key changes its meaning or is removed; a new key does not change it.
const VERSION: u32 = 1;

#[derive(serde::Serialize)]
struct Body<'a> {
    #[serde(flatten)]
    judgement: &'a Judgement,
    report: &'a Report,
}

/// Writes the judgement and its report as one JSON object and a line end.
///
/// # Errors
/// Those of `out`.
pub fn gate_json(out: &mut impl Write, judgement: &Judgement, report: &Report) -> io::Result<()> {
    document::write(out, "prlx-gate", VERSION, &Body { judgement, report })
}
