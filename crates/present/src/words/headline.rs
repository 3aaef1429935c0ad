//! The report in one sentence, and the launch that caused the differences.

use prlx_analyze::FindingKind;
use prlx_analyze::report::{
    Cause, DECIDED_AS_OTHERS, Finding, LaunchPart, LaunchReport, Location, Report, UNRECORDED, Verdict,
};

use super::names::{kernel, launch, short, stops};
use super::{cause, output};
use crate::format::{clean, count, number};

/// The report in one sentence, without the verdict.
pub(crate) fn headline(r: &Report) -> String {
    let stopped = r.launches.iter().find_map(|l| match &l.faults {
        [Some(f), None] => Some((l, "A", f.kind)),
        [None, Some(f)] => Some((l, "B", f.kind)),
        _ => None,
    });
    let what = match (r.verdict, r.first()) {
        (Verdict::Same, _) => agreement(r).to_owned(),
        (Verdict::Unknown, _) if !r.launches.is_empty() && r.launches.iter().all(nothing_compared) => {
            "no lane was compared".to_owned()
        }
        (Verdict::Unknown, _) => "no difference found, but not everything was compared".to_owned(),
        (_, Some((l, f))) => {
            let already_named = stopped.is_some_and(|(of, ..)| std::ptr::eq(of, l));
            let name = if already_named { String::new() } else { format!("{}: ", kernel(l)) };
            let threads = differing_threads(l, f);
            let what = match l.causes.first().filter(|c| is_elsewhere(c, f)) {
                Some(first) if cause::of_decision(first) => {
                    format!("{threads}; cause: {}", cause::brief(first))
                }
                Some(_) => format!("{}; {threads}", without_findings(l)),
                None => threads,
            };
            among_launches(r, Some(l), &format!("{name}{what}"))
        }
        (_, None) if let Some((l, ..)) = stopped => match &l.causes[..] {
            [first, ..] => format!("cause: {}", cause::brief(first)),
            [] if no_lane_compared(l) => "no branch decision was compared".to_owned(),
            [] => "no branch decision differs".to_owned(),
        },
        (_, None) if r.first_launch().is_some() => match &r.launches[..] {
            [l] => format!("{}: {}", kernel(l), without_findings(l)),
            _ => among_launches(r, None, "no branch decision differs"),
        },
        (_, None) => "one side has more launches".to_owned(),
    };
    match stopped {
        Some((l, side, kind)) => format!("{}: only {side} {}; {what}", kernel(l), stops(kind, 1)),
        None => what,
    }
}

/// What holds of a report without a difference.
fn agreement(r: &Report) -> &'static str {
    let has = |part| r.launches.iter().any(|l| l.differences.iter().any(|d| d.what == part));
    let tolerance = r.launches.iter().flat_map(|l| &l.outputs).any(|o| o.within_tolerance > 0);
    let unmatched = r.launches.iter().flat_map(|l| &l.uncompared).any(|u| u.hides);
    let notes = || r.launches.iter().flat_map(|l| &l.notes);
    let alike = notes().any(|note| note == DECIDED_AS_OTHERS || note == UNRECORDED);
    match (has(LaunchPart::Geometry), tolerance) {
        _ if alike => "no difference; of some launches only memory was compared, and not their decisions",
        _ if unmatched => "the outputs agree and the checks found no error; some decisions were not compared",
        (true, true) => "the outputs agree within the tolerance, with other launch dimensions",
        (true, false) => "the outputs agree, with other launch dimensions",
        (false, true) => "no difference beyond the tolerance, and everything was compared",
        (false, false) => "no difference, and everything was compared",
    }
}

/// What differs in a launch without findings: the first output with the first cause, or the parts that
/// differ.
fn without_findings(l: &LaunchReport) -> String {
    let what = output::first_output(l).unwrap_or_else(|| differing_parts(l));
    match &l.causes[..] {
        [first, others @ ..] => {
            let more = match others.len() as u64 {
                0 => String::new(),
                n => format!(", and {}", count(n, "other cause", "other causes")),
            };
            format!("{what}; cause: {}{more}", cause::brief(first))
        }
        [] if nothing_compared(l) => format!("{what}, and no lane was compared"),
        [] => format!("{what}, but {}", decisions_agree(l)),
    }
}

/// Whether a cause has places in the source, none of them on a line of the finding. The finding then follows
/// from it.
fn is_elsewhere(cause: &Cause, f: &Finding) -> bool {
    let own =
        |l: &&Location| f.site.iter().flatten().any(|s| s.location.as_ref().map(short) == Some(short(l)));
    let mut places = cause.places.iter().flatten().filter_map(|p| p.location.as_ref()).peekable();
    places.peek().is_some() && !places.any(|l| own(&l))
}

/// `8 of 512 threads take a different branch, first at threshold.cu:6`.
fn differing_threads(l: &LaunchReport, f: &Finding) -> String {
    let listed = l.findings.iter().fold(0u64, |n, f| n.saturating_add(f.roots));
    let n = l.differing.lanes.max(listed).max(f.lanes_total);
    let roots = || l.findings.iter().filter(|f| f.roots > 0);
    let [one, many] = if roots().all(|other| other.kind == f.kind) {
        match f.kind {
            FindingKind::Branch => ["takes a different branch", "take a different branch"],
            FindingKind::Path => ["takes a different path", "take a different path"],
            FindingKind::Value => ["has different values", "have different values"],
            FindingKind::ActiveMask => ["runs with other active lanes", "run with other active lanes"],
            FindingKind::ExtraEvents => ["executes extra code", "execute extra code"],
        }
    } else {
        ["differs", "differ"]
    };
    let verb = if n == 1 { one } else { many };
    let at = f.location().map(|l| format!(", first at {}", short(l))).unwrap_or_default();
    format!("{} of {} threads {verb}{at}", number(n), number(l.coverage.lanes.total))
}

/// What holds of the decisions of a launch whose inputs, outputs or dimensions alone differ.
pub(crate) fn decisions_agree(l: &LaunchReport) -> &'static str {
    if has_gaps(l) { "all compared branch decisions agree" } else { "all branch decisions agree" }
}

/// Whether a decision that differs could be among what was not compared or not recorded.
fn has_gaps(l: &LaunchReport) -> bool {
    !l.gaps.is_empty()
}

/// Whether no lane was compared. A report then gives the reason first.
pub(crate) fn nothing_compared(l: &LaunchReport) -> bool {
    l.coverage.warps.missing == l.coverage.warps.total && l.coverage.warps.total > 0
}

/// Whether no lane of a launch was seen to its end on both sides.
fn no_lane_compared(l: &LaunchReport) -> bool {
    let lanes = &l.coverage.lanes;
    lanes.total > 0 && lanes.in_equal_warps + lanes.same_words + lanes.compared == 0
}

/// `inputs and outputs differ`: the parts of a launch that differ as a whole.
fn differing_parts(l: &LaunchReport) -> String {
    let all = [
        (LaunchPart::Geometry, "dimensions"),
        (LaunchPart::Input, "inputs"),
        (LaunchPart::Output, "outputs"),
        (LaunchPart::Check, "errors that the checks found"),
    ];
    let has = |part| l.differences.iter().any(|d| d.what == part);
    let names: Vec<&str> = all.into_iter().filter(|(part, _)| has(*part)).map(|(_, name)| name).collect();
    if names.is_empty() { "it differs".into() } else { format!("{} differ", names.join(" and ")) }
}

/// `what`, for a report of one launch. For several launches, also how many differ and which one is first;
/// `of` is the launch that `what` describes.
fn among_launches(r: &Report, of: Option<&LaunchReport>, what: &str) -> String {
    if r.launches.len() == 1 {
        return what.to_owned();
    }
    let differ = r.launches.iter().filter(|l| l.verdict == Verdict::Differs).count() as u64;
    let verb = if differ == 1 { "differs" } else { "differ" };
    let all = count(r.launches.len() as u64, "launch", "launches");
    let first = match r.first_launch() {
        Some(l) if of.is_some_and(|of| std::ptr::eq(of, l)) => format!(", first {}", launch(&r.processes, l)),
        Some(l) => format!(", first {}, {}", launch(&r.processes, l), kernel(l)),
        None => String::new(),
    };
    format!("{} of {all} {verb}{first}; {what}", number(differ))
}

/// The launch that got the same inputs and left different outputs. A report of one launch does not name it:
/// its headline already does.
pub(crate) fn culprit(r: &Report) -> Option<String> {
    let l = r.culprit().filter(|_| r.launches.len() > 1)?;
    let which = format!("{}, {}", launch(&r.processes, l), kernel(l));
    Some(format!("{which}: same inputs, different outputs ({})", outputs(l)))
}

/// The launch that may be the culprit, and why that is uncertain.
pub(crate) fn suspect(r: &Report) -> Option<[String; 2]> {
    let (l, alike) = r.suspect()?;
    let which = format!("{}, {}", launch(&r.processes, l), kernel(l));
    let bytes = clean(l.padding.as_deref().unwrap_or_default());
    let why = match alike {
        0 => "which may be padding: PRLX cannot tell whether the kernel reads them".to_owned(),
        n => {
            let others = count(n, "other launch", "other launches");
            format!("which may be padding: they also differ in {others} of this kernel with the same outputs")
        }
    };
    Some([
        format!("{which}: different outputs ({}), and the same inputs except", outputs(l)),
        format!("{bytes}, {why}"),
    ])
}

/// The names of the outputs that differ.
fn outputs(l: &LaunchReport) -> String {
    let outputs = l.differences.iter().filter(|d| d.what == LaunchPart::Output);
    outputs.map(|d| clean(&d.name)).collect::<Vec<_>>().join(", ")
}
