//! What a gate says of a report: as text, as JSON, as JUnit XML for build servers, as annotations for GitHub.
//!
//! Holds: names from traces can't end an XML element or begin a workflow command. No times are written: same input, same bytes.

use std::io::{self, Write};

use prlx_analyze::gate::{GateOutcome, JudgedDifference, Judgement};
use prlx_analyze::report::{Finding, LaunchReport, Location, Report};

use crate::format::Style;
use crate::format::{Ink, clean, count, number, pad};
use crate::text::text;
use crate::words;

/// Differences that the text lists.
const LISTED: usize = 20;
/// Annotations that GitHub shows of one step, of each sort.
const ANNOTATIONS: usize = 10;

/// The number that changes when a key changes its meaning or goes; new keys do not change it.
const VERSION: u32 = 1;

#[derive(serde::Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    #[serde(flatten)]
    judgement: &'a Judgement,
    report: &'a Report,
}

/// Writes it as one JSON object and a line end.
///
/// # Errors
/// Those of `out`.
pub fn gate_json(out: &mut impl Write, judgement: &Judgement, report: &Report) -> io::Result<()> {
    let document = Document { format: "prlx-gate", version: VERSION, judgement, report };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

/// Writes it for people: the outcome, what is left and what was allowed; then the report, with at most `findings` of each launch.
///
/// # Errors
/// Those of `out`.
pub fn gate(
    out: &mut impl Write,
    j: &Judgement,
    r: &Report,
    findings: usize,
    style: &Style,
) -> io::Result<()> {
    let ink = match j.outcome {
        GateOutcome::Passed => Ink::Good,
        GateOutcome::Failed => Ink::Bad,
        GateOutcome::Unknown => Ink::Doubt,
    };
    writeln!(out, "{}  {}", style.ink(ink, j.outcome.name()), headline(j))?;
    for (left, name, ink) in [(true, "counted", Ink::Bad), (false, "allowed", Ink::Faint)] {
        let items: Vec<&JudgedDifference> = j.items.iter().filter(|i| i.rule.is_none() == left).collect();
        for i in items.iter().take(LISTED) {
            let why =
                i.rule.map_or_else(String::new, |rule| format!("  by {}", clean(&j.rules[rule as usize])));
            writeln!(out, "  {}{}{why}", style.ink(ink, &pad(name, 9)), sentence(r, i))?;
        }
        if items.len() > LISTED {
            writeln!(out, "  {:<9}and {} more", "", number((items.len() - LISTED) as u64))?;
        }
    }
    for (rule, _) in j.rules.iter().zip(&j.used).filter(|(_, n)| **n == 0) {
        writeln!(
            out,
            "  {}{}: matches no difference",
            style.ink(Ink::Faint, &pad("unused", 9)),
            clean(rule)
        )?;
    }
    writeln!(out)?;
    let mut shown = r.clone();
    shown.launches.iter_mut().for_each(|l| l.findings.truncate(findings.max(1)));
    text(out, &shown, style)
}

/// What came of it, in a sentence.
fn headline(j: &Judgement) -> String {
    let allowed = j.items.iter().filter(|i| i.rule.is_some()).count() as u64;
    let other = j.items.iter().filter(|i| i.rule.is_none() && i.finding.is_none()).count() as u64;
    let mut parts = Vec::new();
    let [findings, visits, lanes] = j.counted;
    if findings > 0 {
        let limits = [(j.most.findings, "findings"), (j.most.visits, "visits"), (j.most.lanes, "lanes")];
        let said: Vec<String> =
            limits.into_iter().filter_map(|(n, what)| Some(format!("{} {what}", number(n?)))).collect();
        let most = match said.is_empty() {
            true => String::new(),
            false => format!(" (limit: {})", said.join(", ")),
        };
        let (visits, lanes) = (count(visits, "visit", "visits"), count(lanes, "lane", "lanes"));
        parts.push(format!("{}, {visits} in {lanes}{most}", count(findings, "finding", "findings")));
    }
    if other > 0 {
        parts.push(count(other, "other difference", "other differences"));
    }
    if parts.is_empty() {
        parts.push("no difference remains".into());
    }
    if allowed > 0 {
        parts.push(format!("{} allowed", number(allowed)));
    }
    if j.outcome == GateOutcome::Unknown {
        parts.push("but not everything was compared".into());
    }
    parts.join("; ")
}

fn of<'r>(r: &'r Report, i: &JudgedDifference) -> (Option<&'r LaunchReport>, Option<&'r Finding>) {
    let launch = i.launch.and_then(|l| r.launches.get(l as usize));
    (launch, launch.and_then(|l| l.findings.get(i.finding? as usize)))
}

/// A difference, with its place.
fn sentence(r: &Report, i: &JudgedDifference) -> String {
    let (launch, finding) = of(r, i);
    let what =
        finding.map_or_else(|| clean(&i.what), |f| format!("{} {}", f.kind.name(), words::sentence(f)));
    let place =
        finding.and_then(Finding::location).map(|l| format!("{}: ", words::place(l))).unwrap_or_default();
    match launch.filter(|_| r.launches.len() > 1) {
        Some(l) => format!("{}, {}: {place}{what}", words::launch(&r.processes, l), words::kernel(l)),
        None => format!("{place}{what}"),
    }
}

/// Text as XML has it; what XML can't hold is left out.
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

/// Writes JUnit XML: a test case for each pair of launches, one for what has no partner, one for the recordings as a whole.
///
/// # Errors
/// Those of `out`.
pub fn junit(out: &mut impl Write, j: &Judgement, r: &Report) -> io::Result<()> {
    let plain = Style { color: false, width: 100 };
    let mut cases = Vec::new();
    let (mut failures, mut errors) = (0, 0);
    let failed = j.outcome == GateOutcome::Failed;
    // Within thresholds, findings fail nothing.
    let left =
        |launch| j.left(launch).filter(|i| failed || i.finding.is_none()).collect::<Vec<&JudgedDifference>>();
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

/// A message of a workflow command.
fn message(text: &str) -> String {
    clean(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of one.
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

/// Writes GitHub's annotations: errors for what is left, notices for what was allowed, a warning for what was not seen; of each the
/// first few. Paths below `root` are told from there, as GitHub knows them.
///
/// # Errors
/// Those of `out`.
pub fn github(out: &mut impl Write, j: &Judgement, r: &Report, root: &str) -> io::Result<()> {
    let failed = j.outcome == GateOutcome::Failed;
    let place = |l: &Location| {
        let file = l.file.strip_prefix(root).and_then(|f| f.strip_prefix('/')).unwrap_or(&l.file);
        let column = if l.column > 0 { format!(",col={}", l.column) } else { String::new() };
        format!("file={},line={}{column},", property(file), l.line)
    };
    for (left, sort) in [(true, if failed { "error" } else { "notice" }), (false, "notice")] {
        for i in j.items.iter().filter(|i| i.rule.is_none() == left).take(ANNOTATIONS) {
            let (launch, finding) = of(r, i);
            let at = finding.and_then(Finding::location).map(&place).unwrap_or_default();
            let title = launch.map_or_else(|| "prlx".to_owned(), |l| format!("prlx: {}", words::kernel(l)));
            let allowed =
                i.rule.map_or_else(String::new, |rule| format!(", allowed by {}", j.rules[rule as usize]));
            writeln!(
                out,
                "::{sort} {at}title={}::{}",
                property(&title),
                message(&(sentence(r, i) + &allowed))
            )?;
        }
    }
    let gaps: Vec<&str> =
        r.gaps.iter().chain(r.launches.iter().flat_map(|l| &l.gaps)).map(String::as_str).collect();
    if !gaps.is_empty() {
        writeln!(
            out,
            "::warning title=prlx::{}",
            message(&format!("not everything was compared: {}", gaps.join("; ")))
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use prlx_analyze::gate::{GateLimits, Rule, judge};
    use prlx_analyze::report::SiteInfo;

    fn hostile() -> Report {
        let name = "evil\n::error::x\r]]><!--&\"%0A\u{1b}[2J";
        let location =
            Some(Location { file: format!("/repo/{name},:"), line: 3, column: 1, ..Location::default() });
        let site = Some(SiteInfo { location, ..SiteInfo::default() });
        let finding = Finding { site: [site.clone(), site], ..Finding::default() };
        let launch = LaunchReport {
            kernel: name.into(),
            module: [name.into(), name.into()],
            findings: vec![finding],
            findings_total: 1,
            gaps: vec![name.into()],
            verdict: prlx_analyze::Verdict::Differs,
            ..LaunchReport::default()
        };
        Report {
            names: [name.into(), name.into()],
            launches: vec![launch],
            gaps: vec![name.into()],
            ..Report::default()
        }
    }

    fn written(write: impl Fn(&mut Vec<u8>) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        assert!(write(&mut out).is_ok());
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn names_stay_within_their_place() {
        let r = hostile();
        for rules in [vec![], vec![Rule::Kernel("*".into())]] {
            let j = judge(&r, &rules, GateLimits::default());
            let lines = written(|out| github(out, &j, &r, "/repo"));
            assert_eq!(lines.lines().count(), 2, "{lines}");
            assert!(
                lines
                    .lines()
                    .all(|l| ["::error ", "::warning ", "::notice "].iter().any(|s| l.starts_with(s)))
            );
            let properties = lines.split("::").nth(1).unwrap_or_default();
            assert!(
                properties.contains("file=evil\\n%3A%3Aerror%3A%3Ax") && properties.matches(',').count() == 3
            );
            let xml = written(|out| junit(out, &j, &r));
            assert!(!xml.contains('\u{1b}') && !xml.contains("]]>") && !xml.contains("<!--"), "{xml}");
            for (open, close) in [("<testcase", "</testcase>"), ("<testsuite ", "</testsuite>")] {
                let ends = xml.matches(close).count()
                    + xml.matches("\"/>").count() * usize::from(open == "<testcase");
                assert_eq!(xml.matches(open).count(), ends, "{xml}");
            }
            let text = written(|out| gate(out, &j, &r, 10, &Style::default()));
            assert!(!text.contains('\u{1b}') && !text.lines().any(|l| l.starts_with("::")), "{text}");
        }
    }
}
