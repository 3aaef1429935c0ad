//! Drawings for a finding: its lanes over time, and its warps in the grid.

use prlx_analyze::report::{Finding, LaunchReport};
use prlx_analyze::view::PathView;

use crate::format::html::{el, esc};
use crate::format::{count, number};

/// Height of a lane's row, in pixels.
const LANE: u64 = 9;
/// Approximate width of the drawing, in pixels; cells are as wide as that allows.
const WIDE: u64 = 960;
/// Width of the lane labels, in pixels.
const LABEL: u64 = 28;
/// Maximum number of cells for warps.
const WARPS: u64 = 2048;
/// Number of cells in a row of the drawing.
const ACROSS: u64 = 128;

/// A row for each lane of the warp, from its first step to its last.
pub(super) fn lanes(look: &PathView) -> String {
    let wide = look.lanes.iter().map(|l| l.cells.len() as u64).max().unwrap_or(0);
    let cell = (WIDE / wide.max(1)).clamp(3, 32);
    let (w, h) = (LABEL + wide * cell + 1, look.lanes.len() as u64 * LANE + 14);
    let mut out = format!(
        "<svg class=\"map\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" aria-label=\"lanes over time\">"
    );
    for (row, lane) in (0u64..).zip(&look.lanes) {
        let y = row * LANE;
        if lane.lane % 4 == 0 {
            out += &format!("<text x=\"{}\" y=\"{}\">{}</text>", LABEL - 5, y + LANE - 1, lane.lane);
        }
        for (from, to, mark) in runs(&lane.cells) {
            let steps = [from * look.per_cell, (to * look.per_cell).min(lane.steps)];
            let what = match mark {
                '#' => "differs",
                'a' => "only in A",
                'b' => "only in B",
                _ => "same",
            };
            let class = match mark {
                '#' => "d",
                'a' => "oa",
                'b' => "ob",
                _ => "s",
            };
            out += &format!(
                "<rect class=\"{class}\" x=\"{}\" y=\"{y}\" width=\"{}\" height=\"{}\"><title>lane {}, steps {} to {}: {what}</title></rect>",
                LABEL + from * cell,
                (to - from) * cell,
                LANE - 1,
                lane.lane,
                steps[0],
                steps[1].saturating_sub(1),
            );
        }
    }
    let y = h - 2;
    out += &format!("<text class=\"axis\" x=\"{LABEL}\" y=\"{y}\">0</text>");
    out += &format!("<text x=\"{w}\" y=\"{y}\">{} steps</text></svg>", number(wide * look.per_cell));
    let parted = look.lanes.iter().filter(|l| l.parts.is_some()).count() as u64;
    let key = "<span class=\"key s\"></span>same <span class=\"key d\"></span>differs \
               <span class=\"key oa\"></span>only in A <span class=\"key ob\"></span>only in B";
    let text = format!(
        "{} in this warp. Each column shows {} of each lane.",
        count(parted, "lane diverges", "lanes diverge"),
        count(look.per_cell, "step", "steps")
    );
    el("div", "scroll", out) + &el("p", "faint", format!("{key}. {}", esc(&text)))
}

/// Runs of equal characters: start, end, character.
fn runs(cells: &str) -> Vec<(u64, u64, char)> {
    let mut out: Vec<(u64, u64, char)> = Vec::new();
    for (i, c) in (0u64..).zip(cells.chars()) {
        match out.last_mut().filter(|r| r.2 == c) {
            Some(run) => run.1 = i + 1,
            None => out.push((i, i + 1, c)),
        }
    }
    out
}

/// The warps of the grid that have the finding; empty for a launch of one warp.
pub(super) fn warps(l: &LaunchReport, f: &Finding) -> String {
    let total = l.coverage.warps.total;
    if total < 2 {
        return String::new();
    }
    let per = total.div_ceil(WARPS);
    let cells = total.div_ceil(per);
    // By cell: lanes that have it, and the first warp.
    let mut lanes = vec![(0u64, None); cells as usize];
    for hit in &f.warps {
        if let Some(cell) = lanes.get_mut((hit.warp / per) as usize) {
            cell.0 += u64::from(hit.lanes.0.count_ones());
            cell.1.get_or_insert(hit);
        }
    }
    let (across, down) = (cells.min(ACROSS), cells.div_ceil(ACROSS));
    let (w, h) = (across * 8 + 1, down * 8 + 1);
    let mut out = format!(
        "<svg class=\"map\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" aria-label=\"warps of the grid\">\
         <rect class=\"s\" x=\"0\" y=\"0\" width=\"{w}\" height=\"{h}\"/>"
    );
    for (i, (n, hit)) in (0u64..).zip(&lanes) {
        let Some(hit) = hit else { continue };
        let (x, y) = (i % ACROSS * 8, i / ACROSS * 8);
        let what = format!("warp {} of CTA {}: {}", hit.in_cta, hit.cta, count(*n, "lane", "lanes"));
        out += &format!(
            "<rect class=\"d\" x=\"{x}\" y=\"{y}\" width=\"7\" height=\"7\"><title>{}</title></rect>",
            esc(&what)
        );
    }
    out += "</svg>";
    let listed = f.warps.len() as u64;
    let mut text = format!("{} of {} warps have this finding", number(f.warps_total), number(total));
    if listed < f.warps_total {
        text += &format!("; the first {} are shown", number(listed));
    }
    if per > 1 {
        text += &format!("; each square is {per} warps");
    }
    el("div", "scroll", out) + &el("p", "faint", esc(&text))
}
