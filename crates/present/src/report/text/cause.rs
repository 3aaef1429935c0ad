//! The causes of differing outputs as text.

use std::io::{self, Write};

use prlx_analyze::report::LaunchReport;

use crate::format::{Ink, Style, pad, wrap};
use crate::words;

/// Where texts begin, behind their names.
const INDENT: usize = 24;

/// Writes the causes.
pub(super) fn causes(out: &mut impl Write, style: Style, l: &LaunchReport) -> io::Result<()> {
    for cause in &l.causes {
        let (place, [a, b]) = words::cause_element(cause);
        let head = style.ink(Ink::Bad, "cause");
        let b = style.ink(Ink::Bad, &b);
        match cause.output.is_empty() {
            true => writeln!(out, "  {head}  (class: {})", cause.class.name())?,
            false => writeln!(out, "  {head}  {place}   A {a}   B {b}   (class: {})", cause.class.name())?,
        }
        for (name, text) in words::cause_rows(cause) {
            for (i, part) in wrap(&text, style.width.saturating_sub(INDENT)).iter().enumerate() {
                let name = if i == 0 { name } else { "" };
                writeln!(out, "    {} {part}", style.ink(Ink::Faint, &pad(name, INDENT - 5)))?;
            }
        }
    }
    Ok(())
}
