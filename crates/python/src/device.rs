//! The CPU device: runs launches on memory of Python arrays.

#![allow(unsafe_code, reason = "kernels access the memory of Python arrays")]

use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Release};

use prlx::joined_findings::JoinedFindings;
use prlx_analyze::runs::schedules::{ScheduleFindings, ScheduleRun};
use prlx_driver::{DevicePtr, Driver, ModuleCode, ModuleHandle};
use prlx_emu::{Checks, Emulator, HOST_MEMORY, Options};
use prlx_trace::check::Findings;
use pyo3::prelude::*;

use crate::errors::{self, Error};
use crate::launch::{Array, Launch};
use crate::module::source_text;
use crate::monitor::SIGNALS;
use crate::ranges::{ALIGN, Ranges};

/// A CPU device.
#[pyclass]
pub struct Device {
    emulator: Emulator,
    /// Modules that are loaded, by the address of their text, which the entry keeps, and by whether their
    /// multiplications and additions may be fused.
    loaded: HashMap<(usize, bool), (Arc<str>, ModuleHandle)>,
    /// Ends the launch that runs.
    cancel: Arc<AtomicBool>,
}

/// Runs `work` on another thread and without the GIL, so that this one can see signals. If a signal handler
/// raises an exception, as that of Ctrl-C does, it sets `cancel` and returns the exception when `work` has
/// ended.
fn interruptible<T: Send>(
    py: Python<'_>,
    cancel: &AtomicBool,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let (caller, done) = (std::thread::current(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let result = work();
            done.store(true, Release);
            caller.unpark();
            result
        });
        let mut raised = None;
        while !done.load(Acquire) {
            py.detach(|| std::thread::park_timeout(SIGNALS));
            if raised.is_none() {
                raised = py.check_signals().err();
                cancel.store(raised.is_some(), Release);
            }
        }
        let result = worker.join();
        cancel.store(false, Release);
        match (raised, result) {
            (Some(e), _) => Err(e),
            (None, Ok(result)) => Ok(result),
            (None, Err(_)) => Err(Error::new_err("the CPU device failed: please report this")),
        }
    })
}

/// What a launch left besides the content of its arrays.
#[pyclass(frozen)]
pub struct Run {
    /// Number of warp instructions that the kernel executed.
    #[pyo3(get)]
    warp_instructions: u64,
    /// Wall time of the kernel in nanoseconds.
    #[pyo3(get)]
    nanos: u64,
    /// Text that the kernel printed.
    #[pyo3(get)]
    printed: String,
    /// Sentence that text was dropped, if it was.
    #[pyo3(get)]
    printed_limit: Option<String>,
    findings: Findings,
    fault: Option<prlx_driver::Error>,
}

#[pymethods]
impl Run {
    /// What the checks found, as JSON.
    fn findings(&self) -> String {
        prlx_present::checks_json(&self.findings).to_string()
    }
    /// Number of errors among the findings.
    fn errors(&self) -> usize {
        self.findings.errors()
    }
    /// What the checks found, as text.
    fn findings_text(&self, py: Python<'_>, terminal: bool) -> PyResult<String> {
        let mut out = Vec::new();
        prlx_present::checks(&mut out, &self.findings, &crate::report::style(py, terminal)?)?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
    /// Raises the exception of the fault that stopped the kernel, if there was one.
    fn raise_fault(&self) -> PyResult<()> {
        self.fault.as_ref().map_or(Ok(()), |e| Err(errors::of_driver(e)))
    }
}

/// What the checks found in runs of one launch under several schedules: equal findings are one.
#[pyclass]
pub struct ScheduleChecks {
    found: JoinedFindings,
    /// The schedules so far.
    seeds: Vec<u64>,
}

#[pymethods]
impl ScheduleChecks {
    #[new]
    fn new() -> ScheduleChecks {
        ScheduleChecks { found: JoinedFindings::new(usize::MAX), seeds: Vec::new() }
    }
    /// Adds a run under the schedule `seed`.
    fn add(&mut self, run: &Run, seed: u64) {
        self.found.add(self.seeds.len() as u64, run.findings.clone());
        self.seeds.push(seed);
    }
    /// The findings as JSON, with the list `seeds` in each.
    fn findings(&self) -> String {
        let found = self.finish();
        let mut json = prlx_present::checks_json(&found.found);
        for (i, seen) in found.seen.iter().enumerate() {
            let seeds: Vec<u64> = seen.first.iter().map(|run| run.seed).collect();
            json["findings"][i]["seeds"] = seeds.into();
        }
        json.to_string()
    }
    /// The findings as text.
    fn findings_text(&self, py: Python<'_>, terminal: bool) -> PyResult<String> {
        let (mut out, runs) = (Vec::new(), self.seeds.len() as u64);
        let style = crate::report::style(py, terminal)?;
        prlx_present::schedule_checks(&mut out, &self.finish(), runs, &style)?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
}

impl ScheduleChecks {
    fn finish(&self) -> ScheduleFindings {
        let seed = |run: u64| self.seeds.get(run as usize).copied().unwrap_or_default();
        self.found.clone().finish(|run| ScheduleRun { file: 0, seed: seed(run) })
    }
}

#[pymethods]
impl Device {
    /// A device with these checks (`all`, or names with commas; `None`: no checks) and limits.
    #[new]
    #[pyo3(signature = (check=None, max_steps=None, max_memory=None, threads=None, max_printed=None))]
    fn new(
        check: Option<&str>,
        max_steps: Option<u64>,
        max_memory: Option<u64>,
        threads: Option<usize>,
        max_printed: Option<u64>,
    ) -> PyResult<Device> {
        let checks = match check {
            Some(names) => names.parse::<Checks>().map_err(Error::new_err)?,
            None => Checks::NONE,
        };
        let (defaults, cancel) = (Options::default(), Arc::<AtomicBool>::default());
        let emulator = Emulator::new(Options {
            max_steps: max_steps.unwrap_or(defaults.max_steps),
            max_memory: max_memory.unwrap_or(defaults.max_memory),
            threads: threads.unwrap_or(defaults.threads),
            max_printed: max_printed.unwrap_or(defaults.max_printed),
            checks,
            cancel: cancel.clone(),
            ..defaults
        });
        Ok(Device { emulator, loaded: HashMap::new(), cancel })
    }

    /// Runs a launch under a schedule. A fault is part of the result.
    fn run(&mut self, py: Python<'_>, launch: &Launch, seed: u64) -> PyResult<Run> {
        let module = self.load(launch)?;
        let mut mapped = Mapped { emulator: &mut self.emulator, at: Vec::new(), copies: Vec::new() };
        let addresses = mapped.map(launch)?;
        let params = launch.params(&addresses, mapped.emulator)?;
        let config = launch.config(seed);
        let emulator = &mut *mapped.emulator;
        let cancel = &self.cancel;
        let ended = interruptible(py, cancel, || emulator.launch(module, &launch.kernel, &config, &params));
        let printed = emulator.take_printed();
        let mut findings = emulator.take_findings();
        drop(mapped);
        let ended = ended?;
        findings.sources(&source_text);
        let (stats, fault) = match ended {
            Ok(stats) => (stats, None),
            Err(e) => (Default::default(), Some(e)),
        };
        Ok(Run {
            warp_instructions: stats.warp_instructions,
            nanos: stats.nanos.0,
            printed_limit: prlx_present::printed_limit(&printed).as_deref().map(errors::in_python),
            printed: String::from_utf8_lossy(&printed.text).into_owned(),
            findings,
            fault,
        })
    }
}

impl Device {
    fn load(&mut self, launch: &Launch) -> PyResult<ModuleHandle> {
        let text = launch.text();
        let key = (text.as_ptr().addr(), launch.contract);
        self.emulator.set_contract(launch.contract);
        if let Some((_, handle)) = self.loaded.get(&key) {
            return Ok(*handle);
        }
        let handle = self.emulator.load(ModuleCode::Ptx(&text)).map_err(|e| errors::of_driver(&e))?;
        self.loaded.insert(key, (text, handle));
        Ok(handle)
    }
}

/// Distance between two mapped arrays, at least. Arrays begin at multiples of it, but for [`ALIGN`]: as good
/// as those of a GPU's allocator, whatever the host's does.
const GAP: u64 = 4096;

/// The arrays of a launch in the device's memory; dropping it unmaps them.
struct Mapped<'a> {
    emulator: &'a mut Emulator,
    at: Vec<DevicePtr>,
    /// Arrays that do not begin at a multiple of 8, which kernels cannot access in place: their address in
    /// the process, their size, and the copy that is mapped instead.
    copies: Vec<(NonNull<u8>, usize, Vec<u64>)>,
}

impl Mapped<'_> {
    /// Maps the memory of all arrays. Returns the address of each.
    fn map(&mut self, launch: &Launch) -> PyResult<Vec<DevicePtr>> {
        let mut next = HOST_MEMORY.0;
        let ranges = Ranges::of(launch.arrays().map(Array::memory));
        let mut bases: HashMap<u64, u64> = HashMap::new();
        let mut addresses = Vec::new();
        for array in launch.arrays() {
            let (start, bytes) = ranges.holding(array.memory());
            let base = match bases.get(&start) {
                Some(base) => *base,
                None => {
                    let base = next + start % ALIGN;
                    next = (base + bytes).next_multiple_of(GAP) + GAP;
                    self.map_range(base, start, bytes, &array.name)?;
                    bases.insert(start, base);
                    base
                }
            };
            addresses.push(DevicePtr(base + (array.owner - start) + array.offset));
        }
        Ok(addresses)
    }

    fn map_range(&mut self, base: u64, start: u64, bytes: u64, name: &str) -> PyResult<()> {
        let Some(memory) = NonNull::new(std::ptr::with_exposed_provenance_mut::<u8>(start as usize)) else {
            return Ok(()); // An array without elements has no memory.
        };
        let memory = if start.is_multiple_of(8) { memory } else { self.copy_in(memory, bytes as usize) };
        // SAFETY: a range is memory of Python objects that `Launch` keeps alive, or a copy that `self` keeps.
        // The mapping ends when `self` is dropped, before both. Python threads that change an array while a
        // kernel uses it race with the kernel, as on a GPU.
        let mapped = unsafe { self.emulator.map_host(DevicePtr(base), memory, bytes, name) };
        mapped.map_err(|e| errors::of_driver(&e))?;
        self.at.push(DevicePtr(base));
        Ok(())
    }

    /// Copies memory to where kernels can access it.
    fn copy_in(&mut self, memory: NonNull<u8>, bytes: usize) -> NonNull<u8> {
        let mut copy = vec![0u64; bytes.div_ceil(8)];
        // SAFETY: `memory` has so many bytes (see `map_range`), and so has the copy, which is another object.
        unsafe { memory.as_ptr().copy_to_nonoverlapping(copy.as_mut_ptr().cast(), bytes) };
        let start = NonNull::from(copy.as_mut_slice()).cast();
        self.copies.push((memory, bytes, copy));
        start
    }
}

impl Drop for Mapped<'_> {
    fn drop(&mut self) {
        self.at.iter().for_each(|at| self.emulator.unmap_host(*at));
        for (memory, bytes, copy) in &self.copies {
            // SAFETY: as in `copy_in`; `Launch` has kept the array alive.
            unsafe { memory.as_ptr().copy_from_nonoverlapping(copy.as_ptr().cast(), *bytes) };
        }
    }
}
