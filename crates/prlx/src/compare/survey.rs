//! A first look at two programs by hashes and digests, and a closer one at the launches that these leave in
//! doubt.
//!
//! Level `path` records every decision of every launch: gigabytes for a program that launches one kernel a
//! thousand times. So both programs first run at level `fingerprint`, with digests of the memory behind
//! launches that have no hashes. Launches with equal hashes or digests are the same. If the others are too
//! many to look at each, or have no hashes, one more run digests their memory before and after each, and
//! finds what launches without PTX change there. Then the first ones of each kernel are recorded at level
//! `path`, which also captures their memory.
//!
//! # Invariants
//! - A launch is `same` only if its decisions, or those of other launches of its kernel, were compared, and
//!   its memory; or its memory alone, if its kernel cannot be recorded.
//! - Other digests are no difference: memory that no launch writes differs from run to run.
//!
//! # Limitations
//! - At most [`MOST`] launches are looked at closer, and [`MOST_WITHOUT_PTX`] without PTX. Of later launches
//!   only hashes and digests are known.
//! - A program must make the launches again, with the same numbers.
//! - Other digests of launches without PTX that no further run repeats are taken for memory that they do not
//!   write.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use prlx_analyze::outputs::Tolerance;
use prlx_analyze::report::{self as reported, LaunchDifference, LaunchReport, Verdict};
use prlx_analyze::{DiffOptions, Report};
use prlx_driver::session::{KernelPattern, LOST, LaunchPart, Options, Session};
use prlx_trace::Level;

use super::captured::Captures;
use super::changes::compare_memory_changes;
use super::launch_files::CompareOptions;
use super::program_runs::Recorded;
use super::stored_values::launches;
use crate::diff::{Compared, diff_sessions, match_processes};

/// The number of launches that are looked at closer at most.
const MOST: usize = 8;

/// The number of launches of one kernel among these, besides the culprit.
const OF_KERNEL: usize = 2;

/// The number of launches without PTX whose changes of memory are compared at most: the first ones that are
/// in doubt.
const MOST_WITHOUT_PTX: usize = 512;

/// Bytes of memory that are captured of these launches together.
const CAPTURED: u64 = 512 << 20;

/// Bytes of a launch's memory that are digested at most, if the user does not say it.
const DIGESTED: u64 = 1 << 30;

/// Bytes of memory of a launch without PTX in which changes are looked for at most. Optimisers launch kernels
/// with hundreds of pointers, of which each leads to an allocation of its own.
const CHANGES: u64 = 8 << 30;

/// What a report says of launches behind the first one that differs.
const BEHIND: &str = "an earlier launch differs, so the decisions of this one were not recorded (--level path records \
     those of all launches)";

/// What a report says of a launch that a program did not make again.
const OTHER_LAUNCH: &str = "in the run that compares what it changes in memory, the program launched something else in \
     its place";

/// What a report says of a launch that differed in the first runs, and in no further run.
const NOT_REPEATED: &str = "by hash, the first runs decided or stored something else here, and no further run did: it happens \
     in some runs only (`prlx repeat` counts them)";

/// By side: what a report says of memory whose digests alone show that a launch left something else in it.
const OTHER_CONTENT: [&str; 2] = ["one content by digest", "another one"];

/// What a survey leaves for later.
pub(super) struct Survey<'a> {
    /// Launches that were captured in the second run.
    pub(super) captures: Option<Captures<'a>>,
    /// The first launch whose memory was equal before it and differs after it, by digests of all of it.
    culprit: Option<usize>,
    /// Launches that decided or stored something else by the hashes of the first runs. Those whose hashes
    /// differ again in a further run are not among them.
    unrepeated: BTreeSet<usize>,
}

/// How the first runs are recorded.
pub(super) fn options(session: &Options) -> Options {
    Options {
        level: Level::Fingerprint,
        launch_hashes: true,
        digest: session.digest.or(Some(DIGESTED)),
        batched_digests: session.digest.is_none(),
        ..session.clone()
    }
}

/// Whether launches of a session are lost with their context, as by a fault of one of them.
pub(super) fn lost_launches(session: &Session) -> bool {
    let processes = session.index.iter().flat_map(|index| &index.processes);
    processes.flat_map(|process| process.skipped.keys()).any(|why| why.contains(LOST))
}

/// How sessions are compared that were recorded with these options.
pub(super) fn diff_options(options: &CompareOptions, session: &Options) -> DiffOptions {
    DiffOptions { digest_differences: session.digest.is_some(), ..options.diff.clone() }
}

/// Records both programs again at level `path` for the first launches in doubt, and puts what these runs tell
/// into the report.
///
/// # Errors
/// If a program cannot be run again, or the user interrupts.
pub(super) fn look_closer<'a>(
    compared: &mut Compared,
    recorded: &'a Recorded<'a>,
    (kernels, part): (&[KernelPattern], &LaunchPart),
) -> Result<Survey<'a>> {
    let report = &mut compared.report;
    let mut unrepeated = with_other_hashes(&report.launches);
    if recorded.session.digest.is_none() {
        let repeated = compare_memory_in_doubt(report, recorded, (kernels, part))?;
        unrepeated.retain(|i| !repeated.contains(i));
    }
    let culprit = report.launches.iter().position(|l| l.culprit && l.verdict != Verdict::Same);
    let chosen = choose(&report.launches, culprit);
    // Numbers decide, if they can be had: they may be within a tolerance.
    if recorded.session.digest.is_none() {
        report.launches.iter_mut().for_each(|l| l.culprit = false);
    }
    if chosen.is_empty() {
        return Ok(Survey { captures: None, culprit, unrepeated });
    }
    let (options, monitor) = (recorded.options, recorded.monitor);
    monitor
        .note(&format!("running both programs again to record the decisions of {}", launches(chosen.len())));
    let numbers: Vec<[u64; 2]> = chosen.iter().map(|i| report.launches[*i].launch).collect();
    let captures = Captures::with_streams(recorded, &numbers, CAPTURED)?;
    let again = captures.sessions();
    let names = report.names.clone();
    let closer = diff_sessions(again, names, (kernels, part), options.diff.clone(), options.views, monitor)?;
    compared.scene.sources = closer.scene.sources;
    let mut positions = BTreeMap::new();
    for &i in &chosen {
        let launch = &mut report.launches[i];
        let Some(at) = position(&closer.report.launches, launch, recorded, again) else { continue };
        let (digests_agreed, digests_differ) = (launch.digests_agree, launch.digests_differ);
        *launch =
            LaunchReport { process: launch.process, digests_differ, ..closer.report.launches[at].clone() };
        if digests_agreed {
            launch.digests_agreed();
        }
        positions.insert(at, i);
    }
    let views = closer.scene.path_views.into_iter();
    compared.scene.path_views =
        views.filter_map(|((at, finding), view)| Some(((*positions.get(&at)?, finding), view))).collect();
    settle(&mut report.launches, &positions.into_values().collect());
    report.conclude();
    Ok(Survey { captures: Some(captures), culprit, unrepeated })
}

/// The launches whose threads decided or stored something else, by hashes that the order of threads does not
/// explain.
fn with_other_hashes(launches: &[LaunchReport]) -> BTreeSet<usize> {
    let other = |l: &LaunchReport| !l.order && l.hashes.as_ref().is_some_and(|h| h.differ[0] || h.differ[2]);
    (0..launches.len()).filter(|i| other(&launches[*i])).collect()
}

/// Runs both programs again for the memory before and after the launches that their hashes, or digests
/// after several launches, leave in doubt: its digests, or of launches without PTX what they change there.
/// If all of them can be looked at closer, they need none. Returns those whose hashes differ in these runs.
fn compare_memory_in_doubt(
    report: &mut Report,
    recorded: &Recorded<'_>,
    (kernels, part): (&[KernelPattern], &LaunchPart),
) -> Result<BTreeSet<usize>> {
    let unrecorded = |l: &LaunchReport| l.skipped.iter().all(Option::is_some);
    let memory_differs = |l: &LaunchReport| l.digests_differ || l.undigested.iter().any(Option::is_some);
    let in_doubt = |l: &LaunchReport| l.verdict != Verdict::Same && (!unrecorded(l) || memory_differs(l));
    let doubtful = (0..report.launches.len()).filter(|i| in_doubt(&report.launches[*i]));
    let mut without_ptx = 0;
    let taken = |i: &usize| {
        let without = unrecorded(&report.launches[*i]);
        without_ptx += usize::from(without);
        !without || without_ptx <= MOST_WITHOUT_PTX
    };
    let doubtful: Vec<usize> = doubtful.filter(taken).collect();
    if doubtful == choose(&report.launches, None) {
        return Ok(BTreeSet::new());
    }
    let monitor = recorded.monitor;
    monitor.note(&format!(
        "running both programs again to compare the memory of {} before and after",
        launches(doubtful.len())
    ));
    let changes = !recorded.options.diff.strict;
    let memory_changes = changes.then_some(CHANGES);
    let options = Options { batched_digests: false, memory_changes, ..options(recorded.session) };
    let again = |side: usize| {
        let numbers = doubtful.iter().map(|i| report.launches[*i].launch[side]);
        recorded.record_launches(side, "-around", numbers, options.clone())
    };
    let again = [again(0)?, again(1)?];
    let how = diff_options(recorded.options, recorded.session);
    let made_again = match changes {
        true => [recorded.made_again(0, &again[0])?, recorded.made_again(1, &again[1])?],
        false => Default::default(),
    };
    let made = diff_sessions(&again, report.names.clone(), (kernels, part), how, None, monitor)?.report;
    let mut repeated = BTreeSet::new();
    for i in doubtful {
        let launch = &mut report.launches[i];
        if unrecorded(launch) && changes {
            let made = |side: usize| made_again[side].contains(&(launch.process, launch.launch[side]));
            match made(0) && made(1) {
                true => compare_memory_changes(launch, recorded, &again),
                false => launch.gaps.push(OTHER_LAUNCH.to_owned()),
            }
        } else if let Some(at) = position(&made.launches, launch, recorded, &again) {
            *launch = LaunchReport { process: launch.process, ..made.launches[at].clone() };
            repeated.extend(launch.hashes.is_some().then_some(i));
        }
    }
    report.conclude();
    Ok(repeated)
}

impl Survey<'_> {
    /// Settles what digests know and numbers do not. Says of launches behind the first one that differs why
    /// they are not settled, and of launches that differed in the first runs alone that they did.
    pub(super) fn finish(&self, report: &mut Report, tolerance: Option<Tolerance>) {
        let launches = &mut report.launches;
        if let Some(culprit) = self.culprit.and_then(|i| launches.get_mut(i)) {
            if culprit.verdict == Verdict::Unknown && tolerance.is_none() {
                let (name, values) = ("memory".to_owned(), OTHER_CONTENT.map(str::to_owned));
                culprit.differences.push(LaunchDifference {
                    what: reported::LaunchPart::Output,
                    name,
                    values,
                });
                culprit.conclude();
            }
            culprit.culprit = culprit.verdict == Verdict::Differs;
        }
        for i in &self.unrepeated {
            let Some(launch) = launches.get_mut(*i) else { continue };
            let again = launch.order || launch.outputs.iter().any(|o| o.within_tolerance > 0);
            if launch.verdict == Verdict::Same && !again {
                launch.gaps.push(NOT_REPEATED.to_owned());
                launch.conclude();
            }
        }
        let first = launches.iter().position(|l| l.verdict == Verdict::Differs);
        for launch in launches.iter_mut().skip(first.map_or(usize::MAX, |i| i + 1)) {
            let surveyed = launch.level == Level::Fingerprint && launch.skipped == [None, None];
            if surveyed && launch.verdict == Verdict::Unknown {
                launch.gaps = vec![BEHIND.to_owned()];
            }
        }
        report.conclude();
    }
}

/// The launches to look at closer: up to the culprit if there is one, the first ones of each kernel.
fn choose(launches: &[LaunchReport], culprit: Option<usize>) -> Vec<usize> {
    // A launch that faults on one side is lost there, and captured before.
    let recorded = |l: &LaunchReport| l.skipped.iter().any(Option::is_none);
    let in_doubt = |l: &LaunchReport| l.verdict != Verdict::Same && recorded(l);
    let culprit = culprit.filter(|i| in_doubt(&launches[*i]));
    let mut of_kernel: BTreeMap<&str, usize> = BTreeMap::new();
    let mut open: Vec<usize> =
        (0..culprit.unwrap_or(launches.len())).filter(|i| in_doubt(&launches[*i])).collect();
    // Other decisions tell more than other values.
    open.sort_by_key(|i| !makes_other_decisions(&launches[*i]));
    let mut chosen: Vec<usize> = Vec::new();
    for i in open {
        let n = of_kernel.entry(&launches[i].kernel).or_default();
        *n += 1;
        if *n <= OF_KERNEL {
            chosen.push(i);
        }
    }
    chosen.truncate(MOST - usize::from(culprit.is_some()));
    chosen.extend(culprit);
    chosen.sort_unstable();
    chosen
}

/// Whether hashes show that threads of one build make other decisions.
fn makes_other_decisions(launch: &LaunchReport) -> bool {
    launch.hashes.as_ref().is_some_and(|hashes| hashes.differ[0])
}

/// The position of a launch in the report of the runs `again`.
fn position(
    made: &[LaunchReport],
    launch: &LaunchReport,
    recorded: &Recorded<'_>,
    again: &[Session; 2],
) -> Option<usize> {
    let file = |side: usize| recorded.file_again(side, launch.process, &again[side]);
    let pair = (file(0)?, file(1)?);
    let process = match_processes(again).pairs.iter().position(|p| *p == pair)? as u64;
    made.iter().position(|now| {
        let same = (now.process, now.launch, &now.kernel) == (process, launch.launch, &launch.kernel);
        let recorded = now.skipped.iter().any(Option::is_none);
        same && (recorded || now.digests_agree || now.digests_differ)
    })
}

/// Takes the decisions of the other launches of a kernel for compared, if all decisions of those that were
/// looked at closer (`closer`) agree.
fn settle(launches: &mut [LaunchReport], closer: &BTreeSet<usize>) {
    let decided = |i: &usize| {
        let launch = &launches[*i];
        // All of its decisions were compared, and agree.
        launch.findings_total == 0 && launch.gaps.iter().all(|gap| Some(gap) == launch.unseen_memory.as_ref())
    };
    let (alike, other): (Vec<_>, Vec<_>) = closer.iter().copied().partition(decided);
    let kernels = |of: &[usize]| of.iter().map(|i| launches[*i].kernel.clone()).collect::<BTreeSet<_>>();
    let alike = &kernels(&alike) - &kernels(&other);
    for (i, launch) in launches.iter_mut().enumerate() {
        let stopped = launch.faults.iter().any(Option::is_some);
        let open = launch.verdict != Verdict::Same && launch.skipped == [None, None] && !stopped;
        // Other decisions are a difference in one build, and so are other values if memory differs as well.
        let equal = launch.hashes.is_none() || launch.digests_agree && !makes_other_decisions(launch);
        if open && equal && !closer.contains(&i) && alike.contains(&launch.kernel) {
            launch.decided_as_others();
        }
    }
}

#[cfg(test)]
mod tests {
    use prlx_analyze::report::HashInfo;

    use super::*;

    #[test]
    fn digests_settle_what_numbers_do_not() {
        let survey = Survey { captures: None, culprit: Some(0), unrepeated: BTreeSet::new() };
        let unknown = |level| LaunchReport {
            level,
            gaps: vec!["not all memory was copied".into()],
            verdict: Verdict::Unknown,
            ..LaunchReport::default()
        };
        let launches = vec![unknown(Level::Path), unknown(Level::Fingerprint)];
        let report = || Report { launches: launches.clone(), pairs: 2, ..Report::default() };
        let mut exact = report();
        survey.finish(&mut exact, None);
        assert_eq!((exact.verdict, exact.launches[0].culprit), (Verdict::Differs, true));
        assert_eq!(exact.launches[1].gaps, [BEHIND]);
        let mut tolerant = report();
        survey.finish(&mut tolerant, Some(Tolerance::default()));
        assert_eq!((tolerant.verdict, tolerant.launches[0].culprit), (Verdict::Unknown, false));
        assert_eq!(tolerant.launches, launches);
    }

    fn launch(kernel: &str, verdict: Verdict) -> LaunchReport {
        LaunchReport { kernel: kernel.to_owned(), verdict, ..LaunchReport::default() }
    }

    #[test]
    fn the_first_launches_of_each_kernel_and_the_culprit_are_chosen() {
        let mut launches: Vec<LaunchReport> = (0..40).map(|_| launch("k", Verdict::Unknown)).collect();
        launches[0].verdict = Verdict::Same;
        launches.push(launch("l", Verdict::Differs));
        assert_eq!(choose(&launches, None), [1, 2, 40]);
        assert_eq!(choose(&launches, Some(30)), [1, 2, 30]);
        launches[29].hashes = Some(HashInfo { differ: [true; 4], ..HashInfo::default() });
        assert_eq!(choose(&launches, None), [1, 29, 40]);
        launches.splice(..0, (0..20).map(|i| launch(&format!("m{i}"), Verdict::Unknown)));
        assert_eq!(choose(&launches, Some(50)), [0, 1, 2, 3, 4, 5, 49, 50]);
        launches.iter_mut().for_each(|l| l.skipped = [0, 1].map(|_| Some("it has no PTX".into())));
        assert!(choose(&launches, Some(3)).is_empty());
    }

    #[test]
    fn launches_are_settled_by_others_of_their_kernel() {
        let mut launches: Vec<LaunchReport> =
            ["k", "k", "k", "l"].map(|k| launch(k, Verdict::Unknown)).into();
        launches.iter_mut().for_each(|l| l.gaps = vec!["hashes cannot be compared".into()]);
        launches[2].unseen_memory = Some("what it stored".into());
        launches[0].gaps.clear();
        settle(&mut launches, &BTreeSet::from([0]));
        let verdicts: Vec<Verdict> = launches.iter().map(|l| l.verdict).collect();
        assert_eq!(verdicts[1..], [Verdict::Same, Verdict::Unknown, Verdict::Unknown]);
        assert_eq!(launches[2].gaps, ["what it stored"]);
        assert_eq!(launches[3].gaps, ["hashes cannot be compared"]);
        // Hashes show that it takes other decisions, although its memory is equal.
        launches[1] = launches[3].clone();
        launches[1].kernel = "k".to_owned();
        launches[1].digests_agree = true;
        let hashes =
            |control| Some(HashInfo { differ: [control, true, false, false], ..HashInfo::default() });
        launches[1].hashes = hashes(true);
        settle(&mut launches, &BTreeSet::from([0]));
        assert_eq!(launches[1].verdict, Verdict::Unknown);
        launches[1].hashes = hashes(false);
        settle(&mut launches, &BTreeSet::from([0]));
        assert_eq!(launches[1].verdict, Verdict::Same);
        // Elements of the launch that was looked at closer are lost.
        launches[1] = launches[3].clone();
        launches[1].kernel = "k".to_owned();
        launches[0].gaps = vec!["elements were lost".into()];
        settle(&mut launches, &BTreeSet::from([0]));
        assert_eq!(launches[1].gaps, ["hashes cannot be compared"]);
    }
}
