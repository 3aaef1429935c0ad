//! JSON documents: objects that begin with the name and version of their format.

use std::io::{self, Write};

use serde::Serialize;

#[derive(Serialize)]
struct Document<'a, T> {
    format: &'a str,
    version: u32,
    #[serde(flatten)]
    body: &'a T,
}

/// Writes `format`, `version` and the fields of `body` as one JSON object and a line end.
///
/// # Errors
/// Those of `out`, and of serialising `body`.
pub(crate) fn write(
    out: &mut impl Write,
    format: &str,
    version: u32,
    body: &impl Serialize,
) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Document { format, version, body })?;
    writeln!(out)
}
