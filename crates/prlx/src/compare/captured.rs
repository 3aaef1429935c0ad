//! Explains the first differing launch of two programs: runs both again, captures the launch as a launch file
//! on each side, and looks for the cause on the CPU device.
//!
//! # Limitations
//! - The second runs must make the launch again, with the same number.
//! - Launches of graphs, and kernels without PTX, are not captured.

use std::path::Path;

use anyhow::{Context, Result};
use prlx_analyze::outputs::add_outputs;
use prlx_analyze::report::{CauseClass, LaunchPart, LaunchReport, Report, Verdict};
use prlx_driver::job::ArgValue;
use prlx_driver::session::{Options, Session, capture_folder};
use prlx_driver::{Job, LAUNCH_FILE, Output, after_file, npy, short_name};

use super::explain::{Origin, explain_launch};
use super::launch_files::CompareOptions;
use super::outputs::{compare_outputs, ignore_unchanged, with_common_outputs};
use super::program_runs::Programs;
use crate::Monitor;
use crate::diff::match_processes;

/// Bytes of memory that are captured of a launch.
const CAPTURE_BYTES: u64 = 256 << 20;

/// What a report says if a launch got other memory, and nothing tells which launch left it.
const EARLIER: &str = "an earlier launch, or the host, left other memory for this launch: --digest finds the \
     first launch that does";

/// Explains the culprit if digests name one, and otherwise the first launch that differs. If a program
/// does not make the launch again, or the captured launch cannot be read, a warning says so and no cause is
/// looked for.
///
/// # Errors
/// If a program cannot be run again, or the user interrupts.
pub(super) fn explain_programs(
    report: &mut Report,
    sides: &[Session; 2],
    programs: &Programs<'_>,
    session: &Options,
    options: &CompareOptions,
    monitor: &Monitor<'_>,
) -> Result<()> {
    let digested = report.launches.iter().any(|l| l.culprit);
    let differs = |l: &&mut LaunchReport| {
        l.verdict == Verdict::Differs && l.skipped == [None, None] && l.culprit == digested
    };
    let Some(launch) = report.launches.iter_mut().find(differs) else { return Ok(()) };
    let pair = match_processes(sides).pairs.get(launch.process as usize).copied();
    let (i, j) = pair.context("no such process")?;
    monitor.note(&format!(
        "running both programs again to capture launches {} and {}, and to find the cause",
        launch.launch[0], launch.launch[1]
    ));
    let mut captured = [const { None }; 2];
    for (side, file) in [i, j].into_iter().enumerate() {
        let number = launch.launch[side];
        let again = Options { capture: Some(CAPTURE_BYTES), ..session.clone() };
        let of = (&sides[side], file, number);
        let (made, now) = programs.record_launch(side, "-captured", of, again, monitor)?;
        let folder = now.and_then(|now| made.files.get(now)).map(|f| capture_folder(&f.path, number));
        captured[side] = match folder.map(|folder| CapturedSide::read(&folder)).transpose() {
            Ok(captured) => captured.flatten(),
            Err(e) => {
                let name = ["A", "B"][side];
                monitor.warn(&format!(
                    "the captured launch of {name} is damaged, so its cause is not known: {e:#}"
                ));
                return Ok(());
            }
        };
    }
    let [Some(a), Some(b)] = captured else {
        monitor.warn("the second runs did not make the launch again, so its cause is not known (--no-explain skips these runs)");
        return Ok(());
    };
    let jobs = [a.job, b.job];
    let jobs = &*with_common_outputs(&jobs);
    let mut outputs = [a.outputs, b.outputs];
    let [left, right] = &mut outputs;
    ignore_unchanged(jobs, [left, right]);
    name_differences(launch, jobs);
    let compared = compare_outputs(jobs, [&outputs[0], &outputs[1]], options.tolerance);
    add_outputs(launch, compared.into_iter().map(|(output, _)| output).collect());
    if !options.diff.strict {
        launch.accept_tests_without_effect();
    }
    let how = (options.tolerance, options.diff.strict);
    explain_launch(launch, (jobs, Origin::Program), &options.device, how, monitor)?;
    if !digested && launch.causes.first().is_some_and(|c| c.class == CauseClass::Input) {
        launch.notes.push(EARLIER.to_owned());
    }
    report.conclude();
    Ok(())
}

/// Gives the differences of a launch the names of the launch files. An address is no difference if the same
/// memory lies behind it.
fn name_differences(launch: &mut LaunchReport, jobs: &[Job; 2]) {
    let behind = |side: usize, name: &str| {
        let arg = jobs[side].args.iter().find(|arg| arg.name == name)?;
        if let ArgValue::Buffer(buffer) = &arg.value { Some(buffer.bytes()) } else { None }
    };
    for difference in &mut launch.differences {
        difference.name = short_name(&launch.kernel, &difference.name).to_owned();
    }
    launch.differences.retain(|d| {
        let memory = || behind(0, &d.name).zip(behind(1, &d.name));
        d.what != LaunchPart::Input || memory().is_none_or(|(a, b)| a != b)
    });
}

/// A captured launch, and what it left on the GPU.
struct CapturedSide {
    job: Job,
    outputs: Vec<Output>,
}

impl CapturedSide {
    /// Reads a captured launch. Returns `None` if the folder holds none: the program did not make the launch.
    ///
    /// # Errors
    /// If a file of the launch is damaged.
    fn read(folder: &Path) -> Result<Option<CapturedSide>> {
        let file = folder.join(LAUNCH_FILE);
        if !file.exists() {
            return Ok(None);
        }
        let job = Job::load(&file)?;
        let mut outputs = Vec::new();
        for arg in &job.args {
            let ArgValue::Buffer(buffer) = &arg.value else { continue };
            let file = folder.join(after_file(&arg.name));
            let bytes = match std::fs::read(&file) {
                Ok(file) => npy::read(&file).map_err(anyhow::Error::msg)?.bytes,
                // Nothing changed there.
                Err(_) => buffer.bytes(),
            };
            outputs.push(Output {
                name: arg.name.clone(),
                ty: buffer.ty,
                shape: buffer.shape.clone(),
                bytes,
                expect: None,
                save: None,
            });
        }
        Ok(Some(CapturedSide { job, outputs }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_launch_is_an_error_and_a_missing_one_is_not() {
        let folder = std::env::temp_dir().join(format!("prlx-captured-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        assert!(CapturedSide::read(&folder).unwrap().is_none());
        std::fs::write(folder.join(LAUNCH_FILE), "module = 7\n").unwrap();
        let damaged = CapturedSide::read(&folder).err().map(|e| format!("{e:#}"));
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(damaged.is_some_and(|e| e.contains("module")));
    }
}
