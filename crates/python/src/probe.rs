//! Probe programs in launches of Python functions.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use prlx::device::{Contract, DeviceOptions};
use prlx::probe::{ProbeOptions, probe_jobs, select};
use prlx_driver::session::KernelPattern;
use prlx_trace::names::display_name;
use pyo3::prelude::*;

use crate::errors::{Error, LaunchError};
use crate::launch::Snapshot;
use crate::monitor;

/// Runs a probe program in launches, whose names in reports come with them. `kernels` are name patterns;
/// without any, all launches are probed. Returns the tables as the JSON that `prlx probe --json` prints.
///
/// # Errors
/// If the program has mistakes, no launch matches the patterns, the program matches nothing in a kernel, or a
/// launch cannot run.
#[pyfunction]
#[pyo3(signature = (
    program, launches, *, kernels=vec![], rewritten=false, max_steps=None, max_memory=None, max_printed=None,
    progress=None
))]
#[allow(clippy::too_many_arguments, reason = "the options of a probe; Python names them")]
pub fn probe(
    py: Python<'_>,
    program: OsString,
    launches: Vec<(String, Py<Snapshot>)>,
    kernels: Vec<String>,
    rewritten: bool,
    max_steps: Option<u64>,
    max_memory: Option<u64>,
    max_printed: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let patterns = kernels.iter().map(|k| KernelPattern::new(k)).collect::<Result<Vec<_>, _>>();
    let patterns = patterns.map_err(Error::new_err)?;
    let takes = |kernel: &str| patterns.is_empty() || patterns.iter().any(|p| p.matches(kernel));
    let all: Vec<String> = launches.iter().map(|(_, l)| display_name(&l.get().job.kernel)).collect();
    let chosen: Vec<_> = launches.iter().filter(|(_, l)| takes(&l.get().job.kernel)).collect();
    let Some((_, first)) = chosen.first() else {
        let what = match (all.is_empty(), kernels.join(", ")) {
            (true, _) => "the function launches no kernel on the CPU device".to_owned(),
            (false, asked) => format!("kernel: the function launches {}, not {asked}", all.join(", ")),
        };
        return Err(LaunchError::new_err(what));
    };
    let cancel = Arc::<AtomicBool>::default();
    let contract = if first.get().contract { Contract::On } else { Contract::Off };
    let device = DeviceOptions {
        contract,
        max_steps,
        max_memory: max_memory.map(|bytes| bytes.div_ceil(1 << 20)),
        max_printed: max_printed.map(|bytes| bytes.div_ceil(1 << 10)),
        cancel: Some(cancel.clone()),
        ..DeviceOptions::default()
    };
    let options = ProbeOptions { kernels, device, rewritten };
    let jobs: Vec<_> = chosen.iter().map(|(name, l)| (name.clone(), l.get().job.clone())).collect();
    let words = [program];
    monitor::run(py, progress, &cancel, |monitor| {
        let selected = select(&words, None, monitor)?;
        let probed = probe_jobs(jobs.into_iter().map(Ok), &selected, &options, monitor)?;
        let mut out = Vec::new();
        let stopped = probed.stopped.as_deref();
        prlx_present::tallies_json(&mut out, &probed.tables, Some(&probed.printed), stopped)?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    })
}
