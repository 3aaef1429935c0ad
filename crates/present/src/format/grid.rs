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
    /// Prints all rows; a row that is wider than the terminal is clipped.
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
        for (ink, row) in &self.rows {
            let mut line = String::new();
            for ((cell, width), right) in row.iter().zip(&widths).zip(&self.right) {
                let fill = " ".repeat(width.saturating_sub(cell.chars().count()));
                line += "  ";
                line += &if *right { fill + cell } else { format!("{cell}{fill}") };
            }
            writeln!(out, "{}", style.ink(*ink, &clip(line.trim_end(), style.width)))?;
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
