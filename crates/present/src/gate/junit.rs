//! A gate's outcome as JUnit XML, for build servers.

use std::io::{self, Write};

use prlx_analyze::gate::{GateOutcome, JudgedDifference, Judgement};
use prlx_analyze::report::Report;

use super::item::sentence;
use crate::format::{Style, clean};
use crate::report::text::text;
use crate::words;

/// `text` escaped for XML. Characters that XML cannot hold are dropped.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push(c),
            '\u{fffe}' | '\u{ffff}' => {}
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// Writes JUnit XML: one test case for each pair of launches, and one for the recordings as a whole, which
/// includes launches without a match.
///
/// # Errors
/// Those of `out`.
pub fn junit(out: &mut impl Write, j: &Judgement, r: &Report) -> io::Result<()> {
    let plain = Style { cut: false, ..Style::default() };
    let mut cases = Vec::new();
    let (mut failures, mut errors) = (0, 0);
    let failed = j.outcome == GateOutcome::Failed;
    // Within thresholds, findings fail nothing.
    let left = |launch| {
        j.remaining(launch).filter(|i| failed || i.finding.is_none()).collect::<Vec<&JudgedDifference>>()
    };
    let mut case = |name: &str, class: &str, items: &[&JudgedDifference], gaps: &[String], text: &str| {
        let mut body = String::new();
        if let [first, ..] = items {
            failures += 1;
            let all: Vec<String> = items.iter().map(|i| sentence(r, i)).collect();
            body = format!(
                "      <failure message=\"{}\">{}</failure>\n",
                xml(&sentence(r, first)),
                xml(&format!("{}\n{text}", all.join("\n")))
            );
        } else if let [first, ..] = gaps {
            errors += 1;
            body = format!(
                "      <error message=\"not everything was compared: {}\">{}</error>\n",
                xml(&clean(first)),
                xml(&gaps.join("\n"))
            );
        }
        let head = format!("    <testcase classname=\"{}\" name=\"{}\"", xml(class), xml(name));
        cases.push(if body.is_empty() {
            format!("{head}/>\n")
        } else {
            format!("{head}>\n{body}    </testcase>\n")
        });
    };
    for (i, l) in r.launches.iter().enumerate() {
        let alone = Report { launches: vec![l.clone()], gaps: Vec::new(), unpaired: Vec::new(), ..r.clone() };
        let mut shown = Vec::new();
        text(&mut shown, &Report { verdict: l.verdict, ..alone }, &plain)?;
        let name = format!("{}, {}", words::launch(&r.processes, l), words::kernel(l));
        case(&name, &clean(&l.module[0]), &left(Some(i as u64)), &l.gaps, &String::from_utf8_lossy(&shown));
    }
    case("launches and processes", "recordings", &left(None), &r.gaps, "");
    let names = r.names.each_ref().map(|n| clean(n));
    let [a, b] = names;
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    let totals = format!("tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\"", cases.len());
    writeln!(out, "<testsuites name=\"prlx\" {totals}>")?;
    writeln!(out, "  <testsuite name=\"{}\" {totals}>", xml(&format!("{b} against {a}")))?;
    for case in cases {
        out.write_all(case.as_bytes())?;
    }
    writeln!(out, "  </testsuite>\n</testsuites>")
}
