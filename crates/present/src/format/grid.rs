//! Text in aligned columns.

use std::io::{self, Write};

use super::layout::{clip, wrap};
use super::style::{Ink, Style};

/// Rows of cells that are printed in aligned columns.
#[derive(Default)]
pub(crate) struct Grid {
    /// For each column, whether it is aligned to the right.
    pub right: Vec<bool>,
    /// Each row: its colour and its cells, which are escaped.
    pub rows: Vec<(Ink, Vec<String>)>,
}

impl Grid {
    /// Prints all rows. On a terminal, a row that is wider is clipped, and the columns that do not fit are
    /// named below. Elsewhere only text in the last column is clipped.
    pub fn print(&self, out: &mut impl Write, style: Style) -> io::Result<()> {
        let width = |i: usize| {
            self.rows
                .iter()
                .filter_map(|(_, row)| row.get(i))
                .map(|c| c.chars().count())
                .max()
                .unwrap_or_default()
        };
        let widths: Vec<usize> = (0..self.right.len()).map(width).collect();
        let ends = widths.iter().scan(0, |end, width| {
            *end += 2 + width;
            Some(*end)
        });
        let ends: Vec<usize> = ends.collect();
        // Text at the end of rows without a heading, as that of source lines, explains what stands before it.
        let head = self.rows.first().and_then(|(_, head)| head.get(ends.len().saturating_sub(1)));
        let explains = head.is_none_or(String::is_empty);
        let values = match self.right.last() {
            Some(false) if ends.len() > 1 && explains => ends.len() - 1,
            _ => ends.len(),
        };
        let needed = values.checked_sub(1).and_then(|last| ends.get(last)).copied().unwrap_or(0);
        let room = if style.cut { style.width } else { style.width.max(needed) };
        for (ink, row) in &self.rows {
            let mut line = String::new();
            for ((cell, width), right) in row.iter().zip(&widths).zip(&self.right) {
                let fill = " ".repeat(width.saturating_sub(cell.chars().count()));
                line += "  ";
                line += &if *right { fill + cell } else { format!("{cell}{fill}") };
            }
            writeln!(out, "{}", style.ink(*ink, &clip(line.trim_end(), room)))?;
        }
        if needed > room {
            // The last character is an ellipsis.
            let kept = ends.iter().take(values).filter(|end| **end < room).count();
            let names = self.rows.first().map_or(&[][..], |(_, head)| head.as_slice());
            let names = names.get(kept..values).unwrap_or_default();
            let names: Vec<&str> = names.iter().map(|n| n.trim()).filter(|n| !n.is_empty()).collect();
            let said = format!(
                "not in full, as the terminal is too narrow: {}. Write the output to a file, or set COLUMNS",
                names.join(", ")
            );
            for line in wrap(&said, style.width.saturating_sub(2)) {
                writeln!(out, "  {}", style.ink(Ink::Faint, &line))?;
            }
        }
        Ok(())
    }

    /// Prints all rows in full. If a row is wider than the terminal and its last column is text, that column
    /// is printed on lines of its own below each row.
    pub fn print_whole(mut self, out: &mut impl Write, style: Style) -> io::Result<()> {
        let width = |i: usize| {
            self.rows.iter().filter_map(|r| r.1.get(i)).map(|c| c.chars().count()).max().unwrap_or(0)
        };
        let wide = (0..self.right.len()).map(|i| 2 + width(i)).sum::<usize>() > style.width;
        if !wide || self.right.last() != Some(&false) {
            return self.print(out, style);
        }
        self.right.pop();
        let below: Vec<String> = self.rows.iter_mut().map(|(_, row)| row.pop().unwrap_or_default()).collect();
        let mut lines = Vec::new();
        self.print(&mut lines, style)?;
        let lines = String::from_utf8_lossy(&lines);
        for ((line, below), (ink, _)) in lines.lines().zip(below).zip(&self.rows) {
            writeln!(out, "{line}")?;
            if below.is_empty() {
                continue;
            }
            for below in wrap(&below, style.width.saturating_sub(6).max(20)) {
                writeln!(out, "      {}", style.ink(*ink, &below))?;
            }
        }
        Ok(())
    }
}
