//! One difference that a gate judged, in words.

use prlx_analyze::gate::JudgedDifference;
use prlx_analyze::report::{Finding, LaunchReport, Report};

use crate::format::clean;
use crate::words;

/// The launch and the finding of the report that `i` refers to, if it refers to one.
pub(super) fn subject<'r>(
    r: &'r Report,
    i: &JudgedDifference,
) -> (Option<&'r LaunchReport>, Option<&'r Finding>) {
    let launch = i.launch.and_then(|l| r.launches.get(l as usize));
    (launch, launch.and_then(|l| l.findings.get(i.finding? as usize)))
}

/// The difference in one sentence, with its place; with its launch if the report has several.
pub(super) fn sentence(r: &Report, i: &JudgedDifference) -> String {
    let (launch, finding) = subject(r, i);
    let what =
        finding.map_or_else(|| clean(&i.what), |f| format!("{} {}", f.kind.name(), words::sentence(f)));
    let place =
        finding.and_then(Finding::location).map(|l| format!("{}: ", words::place(l))).unwrap_or_default();
    match launch.filter(|_| r.launches.len() > 1) {
        Some(l) => format!("{}, {}: {place}{what}", words::launch(&r.processes, l), words::kernel(l)),
        None => format!("{place}{what}"),
    }
}
