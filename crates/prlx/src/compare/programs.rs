//! Compares two programs: records both, compares their sessions, and runs both again to see operands, to
//! compare what they stored, and to find the cause of a difference.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result};
use prlx_analyze::Report;
use prlx_analyze::report::LaunchReport;
use prlx_analyze::view::ViewModel;
use prlx_driver::session::{LaunchPart, Options, Session, Zoom};
use prlx_trace::{Level, Trace};

use super::launch_files::CompareOptions;
use super::locates_visits;
use super::program_runs::{Programs, Recorded};
use super::stored_values::compare_stored_values;
use super::survey;
use crate::Monitor;
use crate::diff::{Compared, diff_sessions, read_file};
use crate::record::{LaunchSelection, RecordingFolder, Supervisor, TunerChoices, patterns, session_options};

/// A comparison of two programs.
#[derive(Debug)]
pub struct ProgramComparison {
    /// The report of the comparison.
    pub report: Report,
    /// What viewers show.
    pub scene: ViewModel,
    /// The recordings of both sides.
    pub sides: [Session; 2],
    /// Where they are. A temporary folder goes when this value is dropped.
    pub folder: RecordingFolder,
}

/// Runs and records two programs, one after the other, and compares their sessions.
///
/// # Errors
/// If a program cannot be run or recorded, a signal asks for an end, or the sessions cannot be compared.
pub fn compare_programs(
    commands: [&[OsString]; 2],
    selection: &LaunchSelection,
    options: &CompareOptions,
    monitor: &Monitor<'_>,
) -> Result<ProgramComparison> {
    let folder = match &options.keep {
        Some(folder) => RecordingFolder::new(Some(folder), "compare"),
        None => RecordingFolder::create(None, "compare")?,
    };
    let session = &session_options(&options.recorder, selection, &folder)?;
    let supervisor = &Supervisor::new()?;
    let choices = &TunerChoices::below(&folder)?;
    let mut programs = Programs {
        commands,
        folder: &folder,
        force: options.force,
        supervisor,
        choices,
        blocking: [false; 2],
    };
    let first = &if options.survey { survey::options(session) } else { session.clone() };
    let mut sides = [programs.record(0, "", first, monitor)?, programs.record(1, "", first, monitor)?];
    for side in (0..2).filter(|_| options.survey) {
        if survey::lost_launches(&sides[side]) {
            monitor.note(&format!(
                "a fault lost launches of {}: running it again, one launch at a time",
                ["A", "B"][side]
            ));
            programs.blocking[side] = true;
            sides[side] = programs.record(side, "-blocking", first, monitor)?;
        }
    }
    let names = commands.map(|c| c.iter().map(|w| w.to_string_lossy()).collect::<Vec<_>>().join(" "));
    let recorded = Recorded { programs, sides, session, options, monitor };
    let Compared { report, scene } = compare_recorded(&recorded, names, &selection.part)?;
    let sides = recorded.sides;
    Ok(ProgramComparison { report, scene, sides, folder })
}

/// Two runs of one program that were recorded as [`first_run`] says.
#[derive(Debug)]
pub(crate) struct RunPair<'a> {
    /// The program and its arguments.
    pub(crate) command: &'a [OsString],
    /// Runs it again.
    pub(crate) supervisor: &'a Supervisor,
    /// What autotuners chose in earlier runs.
    pub(crate) choices: &'a TunerChoices,
    /// Their recordings, as sides A and B.
    pub(crate) sides: [Session; 2],
    /// What a report calls them.
    pub(crate) names: [String; 2],
    /// Where recordings of further runs go.
    pub(crate) folder: &'a Path,
}

/// How a program is recorded whose runs are compared by hashes first.
///
/// # Errors
/// Those of [`session_options`].
pub(crate) fn first_run(
    options: &CompareOptions,
    selection: &LaunchSelection,
    folder: &Path,
) -> Result<Options> {
    Ok(survey::options(&session_options(&options.recorder, selection, folder)?))
}

/// Compares two runs of one program; it runs again for launches that their hashes leave in doubt.
///
/// # Errors
/// Those of [`compare_programs`].
pub(crate) fn compare_runs(
    pair: RunPair<'_>,
    selection: &LaunchSelection,
    options: &CompareOptions,
    monitor: &Monitor<'_>,
) -> Result<Report> {
    let RunPair { command, supervisor, choices, sides, names, folder } = pair;
    let session = &session_options(&options.recorder, selection, folder)?;
    let commands = [command, command];
    let (force, blocking) = (options.force, [false; 2]);
    let programs = Programs { commands, folder, force, supervisor, choices, blocking };
    let recorded = Recorded { programs, sides, session, options, monitor };
    Ok(compare_recorded(&recorded, names, &selection.part)?.report)
}

/// Compares the first recordings of two programs, and runs them again as often as it takes.
fn compare_recorded(recorded: &Recorded<'_>, names: [String; 2], part: &LaunchPart) -> Result<Compared> {
    let Recorded { sides, session, options, monitor, .. } = recorded;
    let kernels = patterns(&options.recorder.kernels)?;
    let diff = survey::diff_options(options, session);
    let mut compared = diff_sessions(sides, names, (&kernels, part), diff, options.views, monitor)?;
    let survey = match options.survey {
        true => Some(survey::look_closer(&mut compared, recorded, (&kernels, part))?),
        false => None,
    };
    // A cause shows the operands as well, without another run of the programs.
    let zoom = options.zoom && locates_visits(session.level);
    if zoom && survey.is_none() {
        attach_operands(&mut compared.report, recorded)?;
    }
    let captures = survey.as_ref().and_then(|s| s.captures.as_ref());
    compare_stored_values(&mut compared.report, recorded, captures)?;
    if let Some(survey) = survey {
        survey.finish(&mut compared.report, options.tolerance);
        if zoom && compared.report.launches.iter().all(|l| l.causes.is_empty()) {
            attach_operands(&mut compared.report, recorded)?;
        }
    }
    Ok(compared)
}

/// Runs both programs again for all operands around the first finding of the first launch that differs. If a
/// program does not make that launch again, or takes another path there, the finding stays without operands.
fn attach_operands(report: &mut Report, recorded: &Recorded<'_>) -> Result<()> {
    let located = |l: &&mut LaunchReport| !l.findings.is_empty() && locates_visits(l.level);
    let Some(launch) = report.launches.iter_mut().find(located) else { return Ok(()) };
    recorded.monitor.note(&format!(
        "running both programs again to record the operands of launches {} and {}",
        launch.launch[0], launch.launch[1]
    ));
    let mut again = [const { None }; 2];
    for (side, again) in again.iter_mut().enumerate() {
        let Some(window) = prlx_analyze::operand_window(&launch.findings[0], side) else {
            // The finding's site exists on the other side only, which shows its operands alone.
            *again = Some(Trace::default());
            continue;
        };
        let number = launch.launch[side];
        let file = recorded.file(side, launch.process).context("no such process")?;
        let first = read_file(&recorded.sides[side], file)?;
        let module = first.launches.iter().find(|r| r.launch.number == number).map(|r| r.launch.module);
        let module =
            module.and_then(|m| first.modules.get(m.index())).context("the launch has no module")?.digest;
        let zoom = Some(Zoom { module, window });
        let options = Options { level: Level::Operands, zoom, digest: None, ..recorded.session.clone() };
        let closer = recorded.record_launches(side, "-closer", [number].into_iter(), options)?;
        let now = recorded.file_again(side, launch.process, &closer);
        *again = now.map(|now| read_file(&closer, now)).transpose()?;
    }
    if let [Some(a), Some(b)] = &again {
        prlx_analyze::attach_launch_operands(launch, a, b)?;
    }
    if launch.findings[0].operands.is_none() {
        recorded.monitor.warn("the second runs did not reach the finding, so its operands are unknown (--no-zoom skips these runs)");
    }
    Ok(())
}
