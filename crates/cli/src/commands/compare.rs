//! `prlx compare`: runs two launch files, says where they first part, and looks closer there by itself; or runs two programs
//! and says where their launches first part, and runs them again to look closer.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;

use anyhow::{Context, Result, bail};
use prlx_analyze::Report;
use prlx_analyze::view::{PathViewOptions, ViewModel};
use prlx_driver::Job;
use prlx_driver::session::{Closer, Options, Session};
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
    let Parted { mut report, scene, traces, checks: [a, b] } = parted(&jobs, names, args, &args.device, ui)?;
    report::files(&mut report, &scene, args.report.findings.max(1), &args.report)?;
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
    let runs = Runs { commands, folder: kept.path.clone(), supervisor };
    let options = program::options(&args.recorder, &args.choice, &args.device, &kept.path)?;
    let sides = [runs.record(0, "", &options, ui)?, runs.record(1, "", &options, ui)?];
    let names = commands.map(|c| c.0.iter().map(|w| w.to_string_lossy()).collect::<Vec<_>>().join(" "));
    let kernels = program::patterns(&args.recorder.kernel)?;
    let looks = report::looks(&args.report);
    let (mut found, scene) =
        report::sessions(&sides, names, &kernels, report::options(&args.report), looks, ui)?;
    if !args.no_zoom && tells_visits(options.level) {
        closer_programs(&mut found, &sides, &runs, &options, ui)?;
    }
    report::files(&mut found, &scene, args.report.findings.max(1), &args.report)?;
    timeline::of_report(&found, &sides, &args.report)?;
    report::walk(&found, &scene, report::pairs(&sides), &args.report, ui)?;
    report::print(&found, None, &args.report, ui)
}

/// Two programs that run, more than once.
struct Runs<'a> {
    commands: [&'a Words; 2],
    /// Where recordings go.
    folder: PathBuf,
    supervisor: Supervisor,
}

impl Runs<'_> {
    /// Runs side `side` once more; its recording has `more` in its name.
    fn record(&self, side: usize, more: &str, options: &Options, ui: &Ui) -> Result<Session> {
        let name = ["a", "b"][side];
        let options = Options { folder: self.folder.join(format!("{name}{more}.prlx")), ..options.clone() };
        let ended = program::run(&self.commands[side].0, &options, Output::Aside, &self.supervisor, ui)?;
        if ended.stopped {
            bail!("stopped by a signal, while {} ran", name.to_uppercase());
        }
        if let Some(how) = ended.failure() {
            ui.warn(&format!("{} {how}", name.to_uppercase()));
        }
        Ok(Session::open(&options.folder)?)
    }
}

/// Runs both programs again for all operands around the first finding of the first launch that differs. A program that does not come to
/// that launch again, or goes another way there, leaves the finding without operands.
fn closer_programs(
    found: &mut Report,
    sides: &[Session; 2],
    runs: &Runs<'_>,
    options: &Options,
    ui: &Ui,
) -> Result<()> {
    let Some(launch) = found.launches.iter_mut().find(|l| !l.findings.is_empty()) else { return Ok(()) };
    let pair = report::matching(sides).pairs.get(launch.process as usize).copied();
    let (i, j) = pair.context("no such process")?;
    ui.note(&format!(
        "running both again to look closer at launches {} and {}",
        launch.launch[0], launch.launch[1]
    ));
    let mut again = [const { None }; 2];
    for (side, file) in [i, j].into_iter().enumerate() {
        let Some(window) = prlx_analyze::operand_window(&launch.findings[0], side) else {
            // A finding that only one side has a site for shows that side's operands.
            again[side] = Some(Trace::default());
            continue;
        };
        let number = launch.launch[side];
        let first = report::read(&sides[side], file)?;
        let module = first.launches.iter().find(|r| r.launch.number == number).map(|r| r.launch.module);
        let module =
            module.and_then(|m| first.modules.get(m.index())).context("the launch has no module")?.digest;
        let options = Options {
            level: Level::Operands,
            launches: vec![(number, number + 1)],
            skip: 0,
            count: None,
            time: None,
            digest: None,
            closer: Some(Closer { module, window }),
            ..options.clone()
        };
        let closer = runs.record(side, "-closer", &options, ui)?;
        let same = report::matching(&[sides[side].clone(), closer.clone()]).pairs;
        let same = same.into_iter().find(|(before, _)| *before == file);
        again[side] = same.map(|(_, now)| report::read(&closer, now)).transpose()?;
    }
    if let [Some(a), Some(b)] = &again {
        prlx_analyze::attach_launch_operands(launch, a, b)?;
    }
    if launch.findings[0].operands.is_none() {
        ui.warn("the second runs did not come to that place: what was compared there is not known (--no-zoom leaves them out)");
    }
    Ok(())
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
    pub scene: ViewModel,
    pub traces: [Rc<Trace>; 2],
    pub checks: [Findings; 2],
}

/// Whether recordings at a level say at which visit lanes part.
fn tells_visits(level: Level) -> bool {
    matches!(level, Level::Path | Level::Events)
}

/// Records both sides again around a report's first findings, at most so many, with all operands; not at a level that does not tell where
/// that is.
pub fn closer(
    found: &mut Report,
    jobs: &[Job; 2],
    most: usize,
    recorder: &RecorderArgs,
    device: &DeviceArgs,
    ui: &Ui,
) -> Result<()> {
    if !tells_visits(recorder.level) {
        return Ok(());
    }
    let findings = found.launches.iter().flat_map(|l| &l.findings).take(most);
    let windows = findings.map(|f| [0, 1].map(|side| prlx_analyze::operand_window(f, side)));
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
pub fn parted(
    jobs: &[Job; 2],
    names: [String; 2],
    args: &CompareArgs,
    device: &DeviceArgs,
    ui: &Ui,
) -> Result<Parted> {
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
    let mut scene = ViewModel::default();
    if let Some(looks) = report::looks(&args.report) {
        scene.add([&a, &b], &found, 0, looks, &PathViewOptions::default())?;
    }
    Ok(Parted { report: found, scene, traces: [Rc::new(a), Rc::new(b)], checks: [found_a, found_b] })
}
