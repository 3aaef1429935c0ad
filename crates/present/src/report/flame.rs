//! A flame graph of the differences: kernels, functions down to inlined ones, source lines, instructions. A
//! frame is as wide as the number of visits that differ in it.
//!
//! # Invariants
//! - A frame's width is the sum of the frames on it and of its own findings.
//! - The same report gives the same bytes. Text from traces is escaped.
//!
//! # Limitations
//! Launches that differ without a finding are not shown. The image is static.

use std::collections::BTreeMap;
use std::io::{self, Write};

use prlx_analyze::report::{Finding, LaunchReport, Location, Report};

use crate::format::html::esc;
use crate::format::{count, number, plain_name};
use crate::words;

/// Width of the picture, height of a frame, and width of a character, in pixels.
const WIDE: f64 = 1200.0;
const ROW: u64 = 20;
const LETTER: f64 = 7.0;
/// Narrower frames are not drawn.
const LEAST: f64 = 0.5;

/// A frame: its children by name, and its own visits.
#[derive(Default)]
struct Frame {
    children: BTreeMap<String, Frame>,
    own: u64,
    /// The sentences of the findings at this frame.
    findings: Vec<String>,
}

impl Frame {
    fn total(&self) -> u64 {
        self.children.values().fold(self.own, |n, f| n.saturating_add(f.total()))
    }
    fn height(&self) -> u64 {
        1 + self.children.values().map(Frame::height).max().unwrap_or(0)
    }
}

/// Writes the flame graph of a report as an SVG.
///
/// # Errors
/// Those of `out`.
pub fn flame(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let mut all = Frame::default();
    for l in &report.launches {
        for f in &l.findings {
            let frame =
                stack(l, f).into_iter().fold(&mut all, |frame, name| frame.children.entry(name).or_default());
            frame.own = frame.own.saturating_add(f.count.max(1));
            frame.findings.push(format!("{}: {}", f.kind.name(), words::sentence(f)));
        }
    }
    let total = all.total();
    let height = all.height() * ROW + 28;
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDE} {height}\" font-family=\"monospace\" font-size=\"12\">\n\
         <style>rect{{stroke:#fff;stroke-width:.5}}text{{fill:#222}}</style>\n\
         <rect width=\"{WIDE}\" height=\"{height}\" fill=\"#fff\"/>\n<text x=\"4\" y=\"16\" font-weight=\"bold\">{}</text>",
        esc(&format!("{}: {}", report.verdict.name(), words::headline(report)))
    )?;
    if total > 0 {
        let name = format!("all differences: {}", count(total, "visit", "visits"));
        draw(out, (&name, &all), (0.0, height - ROW), WIDE / total as f64, total)?;
    }
    writeln!(out, "</svg>")
}

/// The names of the frames of a finding, from the kernel to the instruction.
fn stack(l: &LaunchReport, f: &Finding) -> Vec<String> {
    let mut out = vec![words::kernel(l)];
    let function = f.shown().map_or(String::new(), |s| plain_name(&s.function));
    if !function.is_empty() && Some(&function) != out.last() {
        out.push(function);
    }
    if let Some(place) = f.location() {
        let frame = |l: &Location| match l.function.as_str() {
            "" => words::exact(l),
            name => format!("{} {}", plain_name(name), words::exact(l)),
        };
        out.extend(place.inlined.iter().rev().map(frame));
        out.push(frame(place));
    }
    out.extend(f.shown().map(|s| s.text.clone()));
    out
}

/// Draws a frame with its lower left corner at `at`, and its children on it.
fn draw(
    out: &mut impl Write,
    (name, frame): (&str, &Frame),
    at: (f64, u64),
    scale: f64,
    all: u64,
) -> io::Result<()> {
    let (x, y) = at;
    let total = frame.total();
    let wide = total as f64 * scale;
    if wide < LEAST {
        return Ok(());
    }
    let share = total as f64 / all.max(1) as f64 * 100.0;
    let mut title = format!("{name}\n{} ({share:.1} %)", count(total, "visit differs", "visits differ"));
    if frame.own > 0 && !frame.children.is_empty() {
        title += &format!(", {} here", number(frame.own));
    }
    frame.findings.iter().for_each(|s| title += &format!("\n{s}"));
    let letters = (wide - 6.0).max(0.0) / LETTER;
    let shown: String =
        if letters < 3.0 { String::new() } else { crate::format::clip(name, letters as usize) };
    // Warm colours, the same for the same name.
    let hash = name.bytes().fold(5381u32, |h, b| h.wrapping_mul(33) ^ u32::from(b));
    let color = format!("rgb({},{},{})", 225 + hash % 30, 110 + hash / 30 % 100, 70 + hash / 3000 % 40);
    let lines: Vec<String> = title.lines().map(esc).collect();
    writeln!(
        out,
        "<g><title>{}</title><rect x=\"{x:.1}\" y=\"{y}\" width=\"{wide:.1}\" height=\"{ROW}\" fill=\"{color}\"/>\
         <text x=\"{:.1}\" y=\"{}\">{}</text></g>",
        lines.join("\n"),
        x + 3.0,
        y + ROW - 6,
        esc(&shown)
    )?;
    let mut x = x;
    for (name, on) in &frame.children {
        draw(out, (name, on), (x, y.saturating_sub(ROW)), scale, all)?;
        x += on.total() as f64 * scale;
    }
    Ok(())
}
