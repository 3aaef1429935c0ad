//! Recordings of launches, and comparisons: of two launches, and of two recordings.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use prlx::compare::{CompareOptions, compare_captured_launches, compare_launch_files};
use prlx::device::{Contract, DeviceChoice, DeviceOptions};
use prlx::diff::{Compared, diff_sessions};
use prlx::input::{open_session, require_recordings};
use prlx::record::{RecorderOptions, record as record_job, recorder_program, save, warps_per_cta};
use prlx_analyze::DiffOptions;
use prlx_analyze::outputs::Tolerance;
use prlx_analyze::view::ViewModel;
use prlx_driver::session::{KernelPattern, LaunchPart};
use prlx_emu::Checks;
use prlx_trace::Level;
use pyo3::prelude::*;

use crate::errors::{self, Error};
use crate::launch::Snapshot;
use crate::monitor;
use crate::report::Report;

/// Findings of a report whose data viewers get.
const VIEWS: usize = 24;

/// Compares two launches.
#[pyfunction]
#[pyo3(signature = (
    a, b, names, *, level=None, check=None, rtol=None, atol=None, ulp=None, equal_nan=false, strict=false,
    findings=8, explain=true, zoom=true, gpu=false, max_steps=None, max_memory=None, max_printed=None,
    progress=None
))]
#[allow(clippy::too_many_arguments, reason = "the options of a comparison; Python names them")]
pub fn compare(
    py: Python<'_>,
    a: &Snapshot,
    b: &Snapshot,
    names: (String, String),
    level: Option<&str>,
    check: Option<&str>,
    rtol: Option<f64>,
    atol: Option<f64>,
    ulp: Option<u64>,
    equal_nan: bool,
    strict: bool,
    findings: usize,
    explain: bool,
    zoom: bool,
    gpu: bool,
    max_steps: Option<u64>,
    max_memory: Option<u64>,
    max_printed: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Report> {
    let cancel = Arc::<AtomicBool>::default();
    let tolerant = rtol.is_some() || atol.is_some() || ulp.is_some() || equal_nan;
    let options = CompareOptions {
        recorder: RecorderOptions { level: level_of(level)?, ..RecorderOptions::default() },
        device: DeviceOptions {
            device: if gpu { DeviceChoice::Cuda(0) } else { DeviceChoice::Cpu },
            check: check.map(str::parse::<Checks>).transpose().map_err(Error::new_err)?,
            contract: if a.contract && b.contract { Contract::On } else { Contract::Off },
            max_steps,
            max_memory: max_memory.map(|bytes| bytes.div_ceil(1 << 20)),
            max_printed: max_printed.map(|bytes| bytes.div_ceil(1 << 10)),
            cancel: Some(cancel.clone()),
            ..DeviceOptions::default()
        },
        // The caller paired the launches: their kernels may have different names.
        diff: DiffOptions { findings, strict, force: true, ..DiffOptions::default() },
        views: Some(VIEWS),
        zoom,
        tolerance: tolerant.then(|| Tolerance {
            rtol: rtol.unwrap_or(0.0),
            atol: atol.unwrap_or(0.0),
            ulp: ulp.unwrap_or(0),
            equal_nan,
        }),
        explain,
        ..CompareOptions::default()
    };
    let jobs = [a.job.clone(), b.job.clone()];
    let done = monitor::run(py, progress, &cancel, |monitor| {
        let found = compare_launch_files(&jobs, names.into(), &options, monitor)?;
        Ok((found.report, found.scene, found.checks, found.printed))
    });
    let (report, scene, checks, printed) = done?;
    Ok(Report { report, scene, sides: Some((checks, printed)) })
}

/// Compares two captured launches of a program, in these folders.
#[pyfunction]
#[pyo3(signature = (a, b, names, *, rtol=0.0, atol=0.0, progress=None))]
pub fn compare_captured(
    py: Python<'_>,
    a: &str,
    b: &str,
    names: (String, String),
    rtol: f64,
    atol: f64,
    progress: Option<Py<PyAny>>,
) -> PyResult<Report> {
    let cancel = Arc::<AtomicBool>::default();
    let options = CompareOptions {
        device: DeviceOptions { cancel: Some(cancel.clone()), ..DeviceOptions::default() },
        tolerance: Some(Tolerance { rtol, atol, ..Tolerance::default() }),
        ..CompareOptions::default()
    };
    let report = monitor::run(py, progress, &cancel, |monitor| {
        compare_captured_launches([Path::new(a), Path::new(b)], names.into(), &options, monitor)
    })?;
    Ok(Report { report, scene: ViewModel::default(), sides: None })
}

/// Compares two recordings.
#[pyfunction]
#[pyo3(signature = (a, b, *, kernels=vec![], strict=false, force=false, findings=8, progress=None))]
#[allow(clippy::too_many_arguments, reason = "the options of a comparison; Python names them")]
pub fn diff(
    py: Python<'_>,
    a: &str,
    b: &str,
    kernels: Vec<String>,
    strict: bool,
    force: bool,
    findings: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Report> {
    let patterns = kernels.iter().map(|k| KernelPattern::new(k)).collect::<Result<Vec<_>, _>>();
    let patterns = patterns.map_err(|e| Error::new_err(e.to_string()))?;
    let options = DiffOptions { findings, strict, force, ..DiffOptions::default() };
    let Compared { report, scene } = monitor::run(py, progress, &Arc::default(), |monitor| {
        require_recordings([Path::new(a), Path::new(b)], false)?;
        let sides = [open_session(Path::new(a))?, open_session(Path::new(b))?];
        diff_sessions(
            &sides,
            [a.to_owned(), b.to_owned()],
            (&patterns, &LaunchPart::default()),
            options,
            Some(VIEWS),
            monitor,
        )
    })?;
    Ok(Report { report, scene, sides: None })
}

/// Reads a launch file.
#[pyfunction]
#[pyo3(signature = (path, seed=None))]
pub fn load(path: &str, seed: Option<u64>) -> PyResult<Snapshot> {
    let options = DeviceOptions { seed, ..DeviceOptions::default() };
    let job = prlx::record::load(Path::new(path), &options).map_err(|e| errors::of_library(&e))?;
    Ok(Snapshot { job, contract: true })
}

fn level_of(name: Option<&str>) -> PyResult<Level> {
    let Some(name) = name else { return Ok(Level::Path) };
    Level::from_word(name).ok_or_else(|| {
        let names: Vec<&str> = Level::RECORDERS.iter().map(|level| level.label()).collect();
        Error::new_err(format!("`{name}` is no level: the levels are {}", names.join(", ")))
    })
}

/// Records a launch on the CPU device, into a file.
#[pyfunction]
#[pyo3(signature = (launch, path, *, level=None, progress=None))]
pub fn record(
    py: Python<'_>,
    launch: &Snapshot,
    path: &str,
    level: Option<&str>,
    progress: Option<Py<PyAny>>,
) -> PyResult<()> {
    let recorder = RecorderOptions { level: level_of(level)?, ..RecorderOptions::default() };
    let job = &launch.job;
    let cancel = Arc::<AtomicBool>::default();
    let device = DeviceOptions { cancel: Some(cancel.clone()), ..DeviceOptions::default() };
    monitor::run(py, progress, &cancel, |monitor| {
        let program = recorder_program(&recorder, warps_per_cta(job, &device));
        let recorded = record_job(job, &program, &recorder, &device, monitor)?;
        save(&recorded.trace, Path::new(path)).map(drop)
    })
}
