//! Compares what the launches of two programs left in memory, and explains the first launch that differs.
//!
//! Level `path` records decisions only, and of large launches not all. So both programs run again for the
//! launches that are in doubt: all before the first one that differs. The cheapest ways come first:
//!
//! 1. Of many such launches, and of large ones, a run at level `fingerprint` tells which decide, read and
//!    store the same values.
//! 2. Digests of memory before and after tell which leave the same, unless the launch that differs is known.
//! 3. The others are captured, and compared as numbers.
//!
//! # Invariants
//! - A launch is `same` only if its numbers are equal, the digests of all its memory, or the hashes of all
//!   its decisions, loads and stores.
//! - Captured numbers and digests decide, not hashes: stored addresses and results of atomics differ in equal
//!   runs too.
//!
//! # Limitations
//! - Hashes do not hold the places of stores. Launches of other code, or with other scalar parameters, need
//!   digests or captures therefore.
//! - At most [`MAX_CAPTURED`] launches are captured; more stay `unknown`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use prlx_analyze::report::{CauseClass, HASHED_FOR_ROOM, LaunchPart, LaunchReport, Report, Verdict};
use prlx_driver::session::{NO_ROOM, Options};
use prlx_trace::Level;

use super::captured::Captures;
use super::explain::explain_launch;
use super::program_runs::Recorded;
use super::side_runs::Origin;
use crate::diff::{diff_sessions, match_processes};

/// The number of launches that are captured at most.
const MAX_CAPTURED: usize = 32;

/// The number of kernels at most that run again with checks, because the order of threads decides in them, or
/// code of one build has no match in the other.
const MAX_CHECKED: usize = 4;

/// What a report says if a launch got other memory, and nothing tells which launch left it.
const EARLIER: &str = "an earlier launch, or the host, left other memory for this launch: --digest finds the \
     first launch that does";

/// What a report says if a launch got other memory, and all earlier launches left the same.
const HOST: &str = "all earlier launches that were recorded left the same memory, so the host, or a launch that \
     was not recorded, left other memory for this launch";

/// Compares the memory of launches whose recordings do not tell it, and explains the first launch that
/// differs: the culprit, if digests name one. A launch that a program does not make again keeps its gap.
/// `captures` are launches that earlier runs have captured.
///
/// # Errors
/// If a program cannot be run again, or the user interrupts.
pub(super) fn compare_stored_values(
    report: &mut Report,
    recorded: &Recorded<'_>,
    captures: Option<&Captures<'_>>,
) -> Result<()> {
    let options = recorded.options;
    let digested = report.launches.iter().any(|l| l.culprit);
    let in_doubt = |l: &LaunchReport| {
        let differs = l.verdict == Verdict::Differs;
        let unseen = l.unseen_memory.is_some() || differs && l.order || had_no_room(l);
        options.outputs && !digested && unseen && (!differs || outputs_decide(l))
    };
    let differs = |l: &LaunchReport| {
        l.verdict == Verdict::Differs && l.skipped == [None, None] && l.culprit == digested && !in_doubt(l)
    };
    let first = report.launches.iter().position(differs);
    let before = first.unwrap_or(report.launches.len());
    let mut unseen: Vec<usize> = (0..before).filter(|i| in_doubt(&report.launches[*i])).collect();
    // What a survey has captured needs no run, and may tell which launches come too late to matter.
    let mut differing = None;
    if let Some(captures) = captures {
        let captured = |i: &usize| captures.has_whole(&report.launches[*i]);
        let mut whole: Vec<usize> = unseen.extract_if(.., |i| captured(i)).collect();
        if !whole.is_empty() {
            differing = compare_captured(report, recorded, &mut whole, None, Some(captures))?;
        }
        unseen.extend(whole);
        unseen.retain(|i| differing.is_none_or(|differing| *i < differing));
    }
    // A survey has hashed all launches.
    let hashable = recorded.session.level.in_words() && !options.survey;
    let large = unseen.iter().any(|i| had_no_room(&report.launches[*i]));
    let hashed = (unseen.len() > MAX_CAPTURED || large) && hashable;
    if hashed {
        keep_differing(&mut unseen, report, recorded, &HASHES)?;
    }
    let explained = first.filter(|_| options.explain);
    // Digests need no copies of memory. A launch that is to be explained is captured anyway.
    if unseen.len() > MAX_CAPTURED || explained.is_none() && !unseen.is_empty() {
        let undigested =
            |i: &usize| !report.launches[*i].digests_agree && !report.launches[*i].digests_differ;
        if !options.survey {
            keep_differing(&mut unseen, report, recorded, &DIGESTS)?;
        } else if unseen.iter().any(undigested) {
            keep_differing(&mut unseen, report, recorded, &MORE_DIGESTS)?;
        }
    }
    let all_captured = unseen.len() <= MAX_CAPTURED;
    unseen.truncate(MAX_CAPTURED);
    if !unseen.is_empty() || explained.is_some() {
        let earlier = compare_captured(report, recorded, &mut unseen, explained, captures)?;
        differing = earlier.or(differing);
    }
    if differing.is_none() && !unseen.is_empty() && !hashed && hashable {
        keep_differing(&mut unseen, report, recorded, &HASHES)?;
    }
    if first.is_none() && differing.is_none() {
        report.launches.iter_mut().filter(|l| in_doubt(l)).for_each(LaunchReport::leave_order_open);
    }
    if first.is_none() && differing.is_none() && options.explain {
        explain_lost(report, recorded, captures)?;
    }
    if let Some(i) = explained {
        let launch = &mut report.launches[i];
        let other_input = launch.causes.first().is_some_and(|c| c.class == CauseClass::Input);
        if other_input && !digested && differing.is_none() {
            let compared = options.outputs && all_captured && unseen.is_empty();
            launch.notes.push(if compared { HOST } else { EARLIER }.to_owned());
        }
    }
    report.conclude();
    Ok(())
}

/// Explains the first launch that one side alone lost, as to a fault that ended its context, if it was
/// captured before. What it left is not known.
fn explain_lost(report: &mut Report, recorded: &Recorded<'_>, captures: Option<&Captures<'_>>) -> Result<()> {
    let lost = |l: &&mut LaunchReport| l.skipped.iter().filter(|why| why.is_some()).count() == 1;
    let Some(launch) = report.launches.iter_mut().find(lost) else { return Ok(()) };
    let Some(pair) = captures.and_then(|c| c.read(launch)) else { return Ok(()) };
    let options = recorded.options;
    let how = (options.tolerance, options.diff.strict);
    explain_launch(launch, (&pair.jobs, Origin::Program), &options.device, how, recorded.monitor)?;
    Ok(())
}

/// Captures launches of both programs and compares them as numbers, up to the first of `unseen` that differs,
/// which is returned. Explains this one and `explained`. `unseen` keeps those that were not captured, neither
/// in these runs nor in `earlier` ones.
fn compare_captured(
    report: &mut Report,
    recorded: &Recorded<'_>,
    unseen: &mut Vec<usize>,
    explained: Option<usize>,
    earlier: Option<&Captures<'_>>,
) -> Result<Option<usize>> {
    let (options, monitor) = (recorded.options, recorded.monitor);
    let all: Vec<usize> = unseen.iter().copied().chain(explained).collect();
    let is_whole = |i: &usize| earlier.is_some_and(|c| c.has_whole(&report.launches[*i]));
    let again: Vec<usize> = all.iter().copied().filter(|i| !is_whole(i)).collect();
    let note = match (again.as_slice(), explained) {
        ([], _) => None,
        ([i], Some(_)) => {
            let [a, b] = report.launches[*i].launch;
            Some(format!(
                "running both programs again to capture launches {a} and {b}, and to find the cause"
            ))
        }
        (again, _) => Some(format!(
            "running both programs again to compare what {} stored (--no-outputs skips these runs)",
            launches(again.len())
        )),
    };
    let numbers: Vec<[u64; 2]> = again.iter().map(|i| report.launches[*i].launch).collect();
    let made = match note {
        None => None,
        Some(note) => {
            monitor.note(&note);
            Some(Captures::make(recorded, &numbers)?)
        }
    };
    let mut differing = None;
    let mut missing = Vec::new();
    let mut checked = BTreeSet::new();
    for i in all {
        // After the first launch that differs, only the one with other decisions is of interest.
        if differing.is_some() && Some(i) != explained {
            continue;
        }
        let launch = &mut report.launches[i];
        let captures = if again.contains(&i) { made.as_ref() } else { earlier };
        let Some(pair) = captures.and_then(|c| c.read(launch)) else {
            missing.push(i);
            continue;
        };
        pair.add_to(launch, options);
        if launch.verdict == Verdict::Differs && Some(i) != explained {
            differing = Some(i);
        }
        // The checks tell a race from the order of threads, and settle code of two builds without a match;
        // one launch of each kernel is enough.
        let doubtful = launch.order && launch.findings_total == 0 || launch.only_code_unmatched();
        let checks = doubtful && checked.len() < MAX_CHECKED && checked.insert(launch.kernel.clone());
        if options.explain && (launch.verdict == Verdict::Differs || Some(i) == explained || checks) {
            let how = (options.tolerance, options.diff.strict);
            explain_launch(launch, (&pair.jobs, Origin::Program), &options.device, how, monitor)?;
        }
    }
    if explained.is_some_and(|i| missing.contains(&i)) {
        monitor.warn(
            "the second runs did not make the launch again, so its cause is not known (--no-explain skips these runs)",
        );
    }
    unseen.retain(|i| missing.contains(i));
    Ok(differing)
}

/// A way to compare launches without copies of their memory.
struct Comparison {
    /// What it does with stored values.
    verb: &'static str,
    /// How the names of its recordings end.
    suffix: &'static str,
    /// How launches are recorded for it.
    options: fn(&Options) -> Options,
    /// Whether a launch agrees that was recorded so.
    agrees: fn(&LaunchReport) -> bool,
    /// Whether it tells of memory only, and nothing of decisions.
    memory_only: bool,
}

/// Hashes of decisions, loads and stores.
const HASHES: Comparison = Comparison {
    verb: "hash",
    suffix: "-hashed",
    options: |first| Options {
        level: Level::Fingerprint,
        launch_hashes: true,
        digest: None,
        ..first.clone()
    },
    agrees: |l| is_same(l) && !l.differences.iter().any(|d| d.what == LaunchPart::Input),
    memory_only: false,
};

/// Digests of memory, before and after launches.
const DIGESTS: Comparison = Comparison {
    verb: "digest",
    suffix: "-digested",
    options: |first| Options { digest: Some(DIGESTED), ..first.clone() },
    agrees: is_same,
    memory_only: false,
};

/// Digests of more memory than those of a survey, whose closer look has compared decisions.
const MORE_DIGESTS: Comparison = Comparison {
    verb: "digest",
    suffix: "-digested",
    options: |first| Options { level: Level::Fingerprint, digest: Some(DIGESTED), ..first.clone() },
    agrees: |l| l.digests_agree,
    memory_only: true,
};

fn is_same(l: &LaunchReport) -> bool {
    l.verdict == Verdict::Same && l.unseen_memory.is_none()
}

/// Bytes of a launch's memory that are digested at most.
const DIGESTED: u64 = 4 << 30;

/// Records these launches of both programs again. Those that have equal hashes or digests, and equal scalar
/// parameters, lose their gap; `unseen` keeps the others.
fn keep_differing(
    unseen: &mut Vec<usize>,
    report: &mut Report,
    recorded: &Recorded<'_>,
    by: &Comparison,
) -> Result<()> {
    recorded.monitor.note(&format!(
        "running both programs again to {} what {} stored (--no-outputs skips these runs)",
        by.verb,
        launches(unseen.len())
    ));
    let options = (by.options)(recorded.session);
    let again = |side: usize| {
        let numbers = unseen.iter().map(|i| report.launches[*i].launch[side]);
        recorded.record_launches(side, by.suffix, numbers, options.clone())
    };
    let again = [again(0)?, again(1)?];
    let compared = diff_sessions(
        &again,
        report.names.clone(),
        (&options.kernels, &options.part),
        recorded.options.diff.clone(),
        None,
        recorded.monitor,
    )?;
    let processes = match_processes(&again).pairs;
    let equal: BTreeMap<(usize, [u64; 2]), &LaunchReport> = compared
        .report
        .launches
        .iter()
        .filter(|l| (by.agrees)(l))
        .map(|l| ((l.process as usize, l.launch), l))
        .collect();
    let mut agree = BTreeSet::new();
    for i in unseen.iter().copied() {
        let launch = &mut report.launches[i];
        let file = |side: usize| recorded.file_again(side, launch.process, &again[side]);
        let Some(pair) = file(0).zip(file(1)) else { continue };
        let Some(process) = processes.iter().position(|p| *p == pair) else { continue };
        let Some(now) = equal.get(&(process, launch.launch)).filter(|l| l.kernel == launch.kernel) else {
            continue;
        };
        if by.memory_only {
            launch.digests_agreed();
        } else if had_no_room(launch) || launch.verdict == Verdict::Differs {
            // The runs that agree say more: all was recorded, or the order of threads made no difference.
            let by_hash = had_no_room(launch) && now.level == Level::Fingerprint;
            *launch = LaunchReport { process: launch.process, ..(*now).clone() };
            launch.notes.extend(by_hash.then(|| HASHED_FOR_ROOM.to_owned()));
        } else {
            launch.memory_was_compared();
            launch.conclude();
        }
        agree.insert(i);
    }
    unseen.retain(|i| !agree.contains(i));
    Ok(())
}

/// Whether the recorder's memory was too small for a launch, or for a part of it.
fn had_no_room(l: &LaunchReport) -> bool {
    let lost = l.coverage.elements.iter().any(|e| e.dropped > 0);
    lost || l.skipped.iter().flatten().any(|why| why.starts_with(NO_ROOM))
}

/// Whether equal outputs would make a launch `same` that differs: if only its geometry does, or only
/// decisions that can follow from the order of threads.
fn outputs_decide(l: &LaunchReport) -> bool {
    let differences = l.decisive_differences().all(|d| d.what == LaunchPart::Geometry);
    let stopped = l.faults.iter().any(Option::is_some);
    !stopped && differences && (l.findings_total == 0 || l.order)
}

/// A number of launches in words.
pub(super) fn launches(n: usize) -> String {
    format!("{n} {}", if n == 1 { "launch" } else { "launches" })
}
