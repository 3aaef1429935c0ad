//! The outputs of a launch, a heat map of each, and their causes, as parts of the page.

use prlx_analyze::report::{DifferenceMap, LaunchReport, Output};

use crate::format::html::{el, esc, pairs};
use crate::format::{count, number};
use crate::words::{self, OutputRow};

/// Width and height of a cell, in pixels; a strip of one row is higher.
const CELL: u64 = 8;
/// Height of the row of a strip, in pixels.
const STRIP: u64 = 24;

/// The outputs that differ; empty if all outputs agree.
pub(super) fn outputs(l: &LaunchReport) -> String {
    let mut out = String::new();
    for o in l.outputs.iter().filter(|o| o.differs()) {
        let name = format!("Output {} ", esc(&o.name));
        let title = name + &el("small", "faint", esc(&words::shape(o)));
        let rows = words::output_rows(o).into_iter().map(|(name, row)| (name.to_owned(), cell(row)));
        out += &el("h3", "", title);
        out += &el("p", "bad", esc(&words::differing(o)));
        out += &pairs(rows);
        out += &o.map.as_ref().map_or_else(String::new, |map| heat(o, map));
    }
    out
}

/// The causes of outputs that differ.
pub(super) fn causes(l: &LaunchReport) -> String {
    let mut out = String::new();
    for c in &l.causes {
        let (place, [a, b]) = words::cause_element(c);
        let values = [("a", "A", a), ("b", "B", b)]
            .map(|(class, side, v)| el("span", class, esc(&format!("{side} {v}"))));
        let title = format!("Cause: {} ", esc(c.class.name()));
        out += &el("h3", "", title + &el("small", "faint", esc(&place)) + " " + &values.join(" "));
        let rows = words::cause_rows(c).into_iter().map(|(name, text)| (name.to_owned(), esc(&text)));
        out += &pairs(rows);
    }
    out
}

fn cell(row: OutputRow) -> String {
    match row {
        OutputRow::Text(text) => esc(&text),
        OutputRow::Element { place, values: [a, b] } => {
            let [a, b] = [("a", "A", a), ("b", "B", b)]
                .map(|(class, side, v)| el("span", class, esc(&format!("{side} {v}"))));
            format!("{} {a} {b}", el("code", "", esc(&place)))
        }
    }
}

/// Where elements differ: the more differ in a cell, the darker it is.
fn heat(o: &Output, map: &DifferenceMap) -> String {
    let high = if map.rows == 1 { STRIP } else { CELL };
    let (w, h) = (map.columns * CELL, map.rows * high);
    let most = map.counts.iter().copied().max().unwrap_or(0).max(1);
    let mut out = format!(
        "<svg class=\"map\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" \
         aria-label=\"differing elements of {}\"><rect class=\"s\" x=\"0\" y=\"0\" width=\"{w}\" height=\"{h}\"/>",
        esc(&o.name)
    );
    for (i, n) in (0u64..).zip(&map.counts).filter(|(_, n)| **n > 0) {
        let (x, y) = (i % map.columns.max(1) * CELL, i / map.columns.max(1) * high);
        // A single element must be visible beside cells of thousands.
        let percent = 25 + (u128::from(*n) * 75 / u128::from(most)) as u64;
        let title = count(*n, "element differs", "elements differ");
        out += &format!(
            "<rect class=\"d\" fill-opacity=\"{}.{:02}\" x=\"{x}\" y=\"{y}\" width=\"{CELL}\" height=\"{high}\">\
             <title>{title}</title></rect>",
            percent / 100,
            percent % 100
        );
    }
    out += "</svg>";
    let rows = o.shape.iter().rev().skip(1).product::<u64>();
    let columns = o.shape.last().copied().unwrap_or(1);
    let text = format!(
        "Where elements differ: {} of {} columns, in {}.",
        count(rows, "row", "rows"),
        number(columns),
        count(map.rows * map.columns, "cell", "cells")
    );
    el("div", "scroll", out) + &el("p", "faint", esc(&text))
}
