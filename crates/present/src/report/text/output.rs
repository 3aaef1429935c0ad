//! The outputs of a launch as text.

use std::io::{self, Write};

use prlx_analyze::report::{LaunchReport, Output};

use crate::format::{Ink, Style, clean, count, pad};
use crate::words::{self, OutputRow};

/// Outputs that are shown in full.
const FULL: usize = 4;

/// Writes the outputs that differ.
pub(super) fn outputs(out: &mut impl Write, style: Style, l: &LaunchReport) -> io::Result<()> {
    let differ: Vec<&Output> = l.outputs.iter().filter(|o| o.differs()).collect();
    for o in differ.iter().take(FULL) {
        let what = style.ink(Ink::Bad, &words::differing(o));
        writeln!(out, "  output {}  {}: {what}", clean(&o.name), style.ink(Ink::Faint, &words::shape(o)))?;
        let rows = words::output_rows(o);
        let wide = |f: fn(&(&str, OutputRow)) -> usize| rows.iter().map(f).max().unwrap_or(0);
        let places = wide(|(_, row)| match row {
            OutputRow::Element { place, .. } => place.chars().count(),
            OutputRow::Text(_) => 0,
        });
        let values = wide(|(_, row)| match row {
            OutputRow::Element { values, .. } => values[0].chars().count(),
            OutputRow::Text(_) => 0,
        });
        for (name, row) in &rows {
            let text = match row {
                OutputRow::Text(text) => text.clone(),
                OutputRow::Element { place, values: [a, b] } => {
                    let b = style.ink(Ink::Bad, b);
                    format!("{}   A {}   B {b}", pad(place, places), pad(a, values))
                }
            };
            writeln!(out, "    {} {text}", style.ink(Ink::Faint, &pad(name, 9)))?;
        }
    }
    if differ.len() > FULL {
        let more = count((differ.len() - FULL) as u64, "more output differs", "more outputs differ");
        writeln!(out, "  and {more}")?;
    }
    Ok(())
}
