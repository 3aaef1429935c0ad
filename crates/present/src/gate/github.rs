//! A gate's outcome as GitHub annotations.

use std::io::{self, Write};

use prlx_analyze::gate::{GateOutcome, Judgement};
use prlx_analyze::report::{Finding, Location, Report};

use super::item::{sentence, subject};
use crate::format::clean;
use crate::words;

/// Annotations of one kind that GitHub shows for one step.
const ANNOTATIONS: usize = 10;

/// `text` escaped as the message of a workflow command.
fn message(text: &str) -> String {
    clean(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// `text` escaped as a property of a workflow command.
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

/// Writes GitHub's annotations, at most `ANNOTATIONS` of each kind: errors for counted differences, notices
/// for allowed ones, and a warning for what was not compared. Paths below `root` are written relative to it.
///
/// # Errors
/// Those of `out`.
pub fn github(out: &mut impl Write, j: &Judgement, r: &Report, root: &str) -> io::Result<()> {
    let failed = j.outcome == GateOutcome::Failed;
    let place = |l: &Location| {
        let l = words::own(l);
        let file = l.file.strip_prefix(root).and_then(|f| f.strip_prefix('/')).unwrap_or(&l.file);
        let column = if l.column > 0 { format!(",col={}", l.column) } else { String::new() };
        format!("file={},line={}{column},", property(file), l.line)
    };
    for (left, sort) in [(true, if failed { "error" } else { "notice" }), (false, "notice")] {
        for i in j.items.iter().filter(|i| i.rule.is_none() == left).take(ANNOTATIONS) {
            let (launch, finding) = subject(r, i);
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
