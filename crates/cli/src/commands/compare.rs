//! `prlx compare`: runs two launch files, says where they first part, and looks closer there by itself; or runs two programs
//! and says where their launches first part.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;

use anyhow::{Context, Result, bail};
use prlx_analyze::Report;
use prlx_analyze::look::{LookOptions, Scene};
use prlx_driver::Job;
use prlx_driver::session::Session;
use prlx_trace::check::Findings;
use prlx_trace::launch::Window;
use prlx_trace::{Level, Trace};

use crate::args::{CompareArgs, DeviceArgs, RecorderArgs, Words};
use crate::commands::record::save;
use crate::program::{self, Output, Supervisor};
use crate::record;
use crate::report;
use crate::seeds;
use crate::timeline;
use crate::ui::Ui;

/// Findings that are looked at closer: each costs one more run of both sides.
const ZOOMS: usize = 3;

/// Compares two launches, or the schedules of one or two, and prints the report.
pub fn run(args: &CompareArgs, ui: &Ui) -> Result<ExitCode> {
    if let Some(range) = &args.seeds {
        return seeds::run(args, range, false, ui);
    }
    if let (Some(a), Some(b)) = (&args.command_a, &args.command_b) {
        return programs([a, b], args, ui);
    }
    if let Some(name) = args.choice.given() {
        bail!("{name} is for programs: a launch file has one launch");
    }
    let Some(a) = &args.a else { bail!("name two launch files, or two programs with --a and --b") };
    let files = [a, args.b.as_ref().unwrap_or(a)];
    let jobs = [record::load(files[0], &args.device)?, record::load(files[1], &args.device)?];
    let names = files.map(|f| f.display().to_string());
    let Parted { report, scene, traces, checks: [a, b] } = parted(&jobs, names, args, &args.device, ui)?;
    report::files(&report, &scene, &args.report)?;
    timeline::of_pair(&report, traces.each_ref().map(|t| &**t), &args.report)?;
    report::walk(&report, &scene, |_| Ok(traces.clone()), &args.report, ui)?;
    report::print(&report, args.device.check.map(|_| [&a, &b]), &args.report, ui)
}

/// Records two programs, one after the other, and compares their sessions.
fn programs(commands: [&Words; 2], args: &CompareArgs, ui: &Ui) -> Result<ExitCode> {
    let kept = match &args.keep {
        Some(folder) => Folder::kept(folder),
        None => Folder::passing()?,
    };
    let supervisor = Supervisor::new()?;
    let mut sessions = Vec::new();
    for (name, command) in ["a", "b"].into_iter().zip(commands) {
        let folder = kept.path.join(format!("{name}.prlx"));
        let options = program::options(&args.recorder, &args.choice, &args.device, &folder)?;
        let ended = program::run(&command.0, &options, Output::Aside, &supervisor, ui)?;
        if ended.stopped {
            bail!("stopped by a signal, while {} ran", name.to_uppercase());
        }
        if let Some(how) = ended.failure() {
            ui.warn(&format!("{} {how}", name.to_uppercase()));
        }
        sessions.push(Session::open(&folder)?);
    }
    let [a, b] = [0, 1].map(|i| sessions[i].clone());
    let names = commands.map(|c| c.0.iter().map(|w| w.to_string_lossy()).collect::<Vec<_>>().join(" "));
    let kernels = program::patterns(&args.recorder.kernel)?;
    let looks = report::looks(&args.report);
    let sides = [a, b];
    let (found, scene) = report::sessions(&sides, names, &kernels, report::options(&args.report), looks, ui)?;
    report::files(&found, &scene, &args.report)?;
    timeline::of_report(&found, &sides, &args.report)?;
    report::walk(&found, &scene, report::pairs(&sides), &args.report, ui)?;
    report::print(&found, None, &args.report, ui)
}

/// A folder for recordings.
pub struct Folder {
    /// Where it is.
    pub path: PathBuf,
    /// It goes when we do.
    passing: bool,
}

impl Folder {
    /// The user's.
    pub fn kept(path: &Path) -> Folder {
        Folder { path: path.to_owned(), passing: false }
    }
    /// One of our own.
    pub fn passing() -> Result<Folder> {
        let path = std::env::temp_dir().join(format!("prlx-compare-{}", std::process::id()));
        std::fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Folder { path, passing: true })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.passing {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// What comes of two launch files.
pub struct Parted {
    pub report: Report,
    pub scene: Scene,
    pub traces: [Rc<Trace>; 2],
    pub checks: [Findings; 2],
}

/// Records both sides again around a report's first findings, at most so many, with all operands; recordings at another
/// level than `path` do not say where that is.
pub fn closer(
    found: &mut Report,
    jobs: &[Job; 2],
    most: usize,
    recorder: &RecorderArgs,
    device: &DeviceArgs,
    ui: &Ui,
) -> Result<()> {
    if recorder.level != Level::Path {
        return Ok(());
    }
    let findings = found.launches.iter().flat_map(|l| &l.findings).take(most);
    let windows = findings.map(|f| [0, 1].map(|side| prlx_analyze::window_for(f, side)));
    let unchecked = DeviceArgs { check: None, ..device.clone() };
    for [wa, wb] in windows.collect::<Vec<[Option<Window>; 2]>>() {
        // A finding that only one side has a site for shows that side's operands.
        let zoom = |job: &Job, w: Option<Window>| match w {
            Some(w) => {
                let zoomed = record::zoom(&record::program(recorder, record::warps_per_cta(job)), w);
                record::record(job, &zoomed, recorder, &unchecked, ui).map(|(trace, _)| trace)
            }
            None => Ok(Trace::default()),
        };
        prlx_analyze::attach_operands(found, &zoom(&jobs[0], wa)?, &zoom(&jobs[1], wb)?)?;
    }
    Ok(())
}

/// Records both sides on a device, compares, and looks closer.
pub fn parted(jobs: &[Job; 2], names: [String; 2], args: &CompareArgs, device: &DeviceArgs, ui: &Ui) -> Result<Parted> {
    let programs = jobs.each_ref().map(|job| record::program(&args.recorder, record::warps_per_cta(job)));
    let of = |i: usize| record::record(&jobs[i], &programs[i], &args.recorder, device, ui);
    let ((a, found_a), (b, found_b)) = (of(0)?, of(1)?);
    if let Some(folder) = &args.keep {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        save(&a, &folder.join("a.prlx"))?;
        save(&b, &folder.join("b.prlx"))?;
    }
    let mut found = report::diff(&a, &b, names, &args.report, ui)?;
    if !args.no_zoom {
        closer(&mut found, jobs, ZOOMS, &args.recorder, device, ui)?;
    }
    let mut scene = Scene::default();
    if let Some(looks) = report::looks(&args.report) {
        scene.add([&a, &b], &found, 0, looks, &LookOptions::default())?;
    }
    Ok(Parted { report: found, scene, traces: [Rc::new(a), Rc::new(b)], checks: [found_a, found_b] })
}
