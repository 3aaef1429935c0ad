//! A report as one HTML page that loads nothing else: verdict, launches, findings, coverage. It contains the
//! report as JSON.
//!
//! # Invariants
//! - Every text from a trace is escaped. The page's policy forbids it to load anything.
//! - The same input gives the same bytes.
//!
//! # Limitations
//! A finding without a path view in the [`ViewModel`] has no drawings.

use std::io::{self, Write};

use prlx_analyze::report::{LaunchReport, Report, Verdict};
use prlx_analyze::view::ViewModel;

use super::{finding, output};
use crate::format::count;
use crate::format::html::{el, esc, esc_lines, pairs};
use crate::words;

/// Launches that differ and are shown in full.
const FULL: usize = 16;
/// Launches in the table.
const ROWS: usize = 10_000;

/// Writes `report` as a page.
///
/// # Errors
/// Those of `out`.
pub fn html(out: &mut impl Write, report: &Report, scene: &ViewModel) -> io::Result<()> {
    let page = ReportPage { report, scene };
    let mut json = Vec::new();
    super::super::json::json(&mut json, report, super::super::json::Sides::default())?;
    // Within a script element only `</` ends it; as an escape it is the same text.
    let json = String::from_utf8_lossy(&json).replace('<', "\\u003c");
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n{}\
         <script type=\"application/json\" id=\"report\">{json}</script>\n<script>\n{}</script>\n</body>\n</html>\n",
        esc(&format!("{}: {}", report.verdict.name(), words::headline(report))),
        include_str!("page.css"),
        page.body(),
        include_str!("page.js"),
    )
}

struct ReportPage<'a> {
    report: &'a Report,
    scene: &'a ViewModel,
}

impl ReportPage<'_> {
    fn body(&self) -> String {
        let mut out = el("header", self.report.verdict.name(), self.head());
        if self.report.launches.len() > 1 {
            out += &el("section", "", el("h2", "", "Launches") + &self.table());
        }
        let one = self.report.launches.len() == 1;
        let differ = |l: &&(usize, &LaunchReport)| one || l.1.verdict == Verdict::Differs;
        let all: Vec<(usize, &LaunchReport)> = self.report.launches.iter().enumerate().collect();
        for (i, l) in all.iter().filter(differ).take(FULL) {
            out += &format!("<section id=\"launch-{i}\">{}</section>\n", self.launch(*i, l));
        }
        let hidden = all.iter().filter(differ).count().saturating_sub(FULL);
        if hidden > 0 {
            let more = count(hidden as u64, "more launch that differs is", "more launches that differ are");
            out += &el("p", "faint", format!("{more} listed in the table only"));
        }
        el("main", "", out) + "\n"
    }

    fn head(&self) -> String {
        let r = self.report;
        let mut out = el("h1", "", el("span", "verdict", r.verdict.name()) + " " + &esc(&words::headline(r)));
        let sides =
            ["A", "B"].into_iter().zip(r.names.iter().zip(&r.producers)).map(|(side, (name, producer))| {
                let class = side.to_lowercase();
                let by = if producer.is_empty() { String::new() } else { el("span", "faint", esc(producer)) };
                (el("span", &class, side), format!("{} {by}", esc(name)))
            });
        out += &pairs(sides);
        let gaps: String = r.gaps.iter().map(|g| el("li", "", esc(g))).collect();
        if !gaps.is_empty() {
            out += &el("ul", "gaps", gaps);
        }
        if let Some(what) = words::culprit(r) {
            out += &el("p", "", el("b", "bad", "culprit") + " " + &esc(&what));
        }
        if let Some([what, why]) = words::suspect(r) {
            out += &el("p", "", el("b", "doubt", "suspect") + " " + &esc(&format!("{what} {why}")));
        }
        let unpaired: String = words::unmatched_launches(r)
            .iter()
            .chain(&words::folded_launches(r))
            .map(|line| el("li", "", esc(line)))
            .collect();
        if !unpaired.is_empty() {
            out += &el("ul", "gaps", unpaired);
        }
        out
    }

    /// All launches, to be filtered.
    fn table(&self) -> String {
        let r = self.report;
        let shown: Vec<usize> =
            (0..r.launches.len()).filter(|i| r.launches[*i].verdict == Verdict::Differs).take(FULL).collect();
        let row = |(i, l): (usize, &LaunchReport)| {
            let name = esc(&words::kernel(l));
            let name = if shown.contains(&i) { format!("<a href=\"#launch-{i}\">{name}</a>") } else { name };
            let why = match (&l.findings[..], &l.differences[..], &l.gaps[..]) {
                ([f, ..], ..) => {
                    f.location().map(|l| format!("first at {}", words::short(l))).unwrap_or_default()
                }
                (_, [d, ..], _) => format!("{} {}", d.what.name(), d.name),
                (_, _, [gap, ..]) => gap.clone(),
                _ => String::new(),
            };
            let verdict =
                el("td", "", el("span", &format!("verdict {}", l.verdict.name()), l.verdict.name()));
            let place = el("td", "", esc(&words::launch(&r.processes, l)));
            format!("<tr>{place}{verdict}<td>{name}</td><td>{}</td></tr>\n", esc(&why))
        };
        let rows: String = r.launches.iter().enumerate().take(ROWS).map(row).collect();
        let head = "<tr><th>launch</th><th>verdict</th><th>kernel</th><th>why</th></tr>";
        let more = r.launches.len().saturating_sub(ROWS);
        let more = if more > 0 { el("p", "faint", format!("and {more} more")) } else { String::new() };
        format!(
            "<input class=\"filter\" type=\"search\" placeholder=\"filter: kernel, verdict, reason\" aria-label=\"filter\">\
             <div class=\"scroll\"><table class=\"list\"><thead>{head}</thead><tbody>{rows}</tbody></table></div>{more}"
        )
    }

    fn launch(&self, i: usize, l: &LaunchReport) -> String {
        let shape =
            format!("grid {}, block {}, {}", l.grid, l.block, words::launch(&self.report.processes, l));
        let mut out = el("h2", "", esc(&words::kernel(l)) + " " + &el("small", "faint", esc(&shape)));
        out += &output::causes(l);
        for (side, fault) in ["A", "B"].iter().zip(&l.faults) {
            if let Some(f) = fault {
                out += &el("p", "bad", esc(&format!("{side} {}", words::stops(f.kind, 1))));
                out += &el("pre", "", esc_lines(&f.text));
            }
        }
        if words::other_differences(l).next().is_some() {
            let rows: String = words::other_differences(l)
                .map(|d| {
                    let cells = [d.what.name(), &d.name, &d.values[0], &d.values[1]]
                        .map(|c| el("td", "", esc(c)))
                        .concat();
                    el("tr", "", cells)
                })
                .collect();
            let head = "<tr><th>of the launch</th><th></th><th class=\"a\">A</th><th class=\"b\">B</th></tr>";
            out += &el("div", "scroll", el("table", "list", format!("{head}{rows}")));
        }
        out += &output::outputs(l);
        for (j, f) in l.findings.iter().enumerate() {
            out += &finding::card(self.scene, (i, j), l, f);
        }
        let cut = l.findings_total.saturating_sub(l.findings.len() as u64);
        if cut > 0 {
            out += &el("p", "faint", format!("and {}", words::findings_cut(cut)));
        }
        let mut seen: Vec<(String, String)> =
            words::coverage(l).into_iter().map(|(name, text)| (name.to_string(), esc(&text))).collect();
        seen.extend(words::recorded(l).map(|how| ("recorded".to_string(), esc(&how))));
        seen.extend(l.notes.iter().map(|note| ("note".to_string(), esc(note))));
        let gaps: String = l.gaps.iter().map(|g| el("li", "", esc(g))).collect();
        let gaps = if gaps.is_empty() { gaps } else { el("ul", "gaps", gaps) };
        out += &el("h3", "", "Coverage");
        let [first, then] =
            if words::nothing_compared(l) { [gaps, pairs(seen)] } else { [pairs(seen), gaps] };
        out + &first + &then
    }
}
