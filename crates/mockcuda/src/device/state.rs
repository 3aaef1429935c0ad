//! State of a device and of its context.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use prlx_driver::{DevicePtr, ModuleHandle};
use prlx_emu::{EPOCH, Emulator, Options};
use prlx_trace::Dim3;
use prlx_trace::kernel::Param;

use crate::codes::Result;
use crate::codes::code;
use crate::graphs::data::Graphs;
use crate::streams::data::Streams;

/// Handles of the first device begin here. None is null or a small number, as in the driver.
const FIRST_HANDLE: u64 = 0x5000_0000;

/// Handle of the first device's context. That of device `n` is `n` more.
pub(crate) const CONTEXT: u64 = 0x4000_0000;

/// Distance between the handles of two devices.
const HANDLE_STRIDE: u64 = 1 << 32;

/// Distance between the memories of two devices in bytes.
const MEMORY_STRIDE: u64 = 1 << 40;

/// Maximum dynamic shared memory of a CTA in bytes, unless the program raises the kernel's limit.
pub(crate) const DEFAULT_SHARED: u32 = 48 << 10;

/// Maximum resident threads per SM.
pub(crate) const THREADS_PER_SM: u32 = 2048;

/// Largest limit of dynamic shared memory that a program can set, in bytes.
pub(crate) const MAX_SHARED: u32 = 227 << 10;

/// A device with its context. Maps are by handle unless they say otherwise.
pub struct Device {
    ordinal: u64,
    /// Runs kernels and has the device's memory.
    pub emulator: Emulator,
    /// How often the context was retained and not released; 1 if the program created it.
    pub(crate) retained: u32,
    /// Whether the program created the context. Otherwise it is the primary one.
    pub(crate) owned_by_program: bool,
    /// The error that every call returns after a fault.
    pub(crate) sticky_error: Option<i32>,
    /// Modules, including those of libraries.
    pub modules: BTreeMap<u64, ModuleHandle>,
    /// Kernels that were looked up.
    pub(crate) functions: BTreeMap<u64, Kernel>,
    /// The module of each library.
    pub(crate) libraries: BTreeMap<u64, u64>,
    /// The function of each library kernel.
    pub(crate) kernels: BTreeMap<u64, u64>,
    /// Link jobs with their input.
    pub(crate) links: BTreeMap<u64, Option<CString>>,
    /// Addresses of device memory that the program allocated.
    pub(crate) allocated: BTreeSet<u64>,
    /// Pinned host memory, by its address.
    pub pinned: BTreeMap<u64, Box<[u128]>>,
    /// Registered host memory, by its host address: device address and size in bytes. Kernels write to the
    /// emulator's memory, which is copied to the host when they end.
    pub(crate) registered: BTreeMap<usize, (DevicePtr, usize)>,
    /// Streams and events.
    pub streams: Streams,
    /// Streams that [`crate::prlx_mock_capture`] captures.
    pub captured: Vec<u64>,
    /// Graphs and captures.
    pub graphs: Graphs,
    /// The last handle that was given out.
    handles: u64,
    /// Time for events in nanoseconds: one for each warp instruction so far.
    pub clock: u64,
    /// What kernels read as `%globaltimer`.
    pub(super) timer: Timer,
    /// The seed of the order of threads of all launches (`PRLX_MOCK_SEED`).
    pub(crate) seed: u64,
    /// Calls that fail, by name, with the code that they return (`PRLX_MOCK_FAIL`).
    pub(crate) failing_calls: BTreeMap<String, i32>,
    /// Compute capability: major, minor.
    pub(crate) capability: (i32, i32),
}

thread_local! {
    /// The calling thread's contexts, the current one last.
    pub(super) static CURRENT: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// A kernel that was looked up.
pub struct Kernel {
    /// Handle of its module.
    pub module: u64,
    pub(crate) name: String,
    /// Its name as a C string, which the program gets.
    pub c_name: CString,
    /// Its parameters as PTX declares them.
    pub params: Vec<Param>,
    /// CTAs for each unit of a launch's grid: more than 1 if the grid counts clusters.
    pub(crate) grid_unit: Dim3,
    /// Static shared memory in bytes.
    pub(crate) shared: u32,
    /// Maximum dynamic shared memory in bytes.
    pub(crate) dynamic: u32,
}

/// Set by `cuInit`.
pub(crate) static STARTED: AtomicBool = AtomicBool::new(false);

/// The device's timer. It follows the host's clock, also between launches.
pub(super) struct Timer {
    began: Instant,
    /// Its value at `began` in nanoseconds.
    first: u64,
    /// How much faster than the host's clock it runs, in parts per million.
    faster_ppm: f64,
}

impl Timer {
    /// A timer with the setting of `PRLX_MOCK_TIMER`.
    fn new(setting: &str) -> Timer {
        let (first, faster_ppm) = setting.split_once(':').unwrap_or((setting, ""));
        Timer {
            began: Instant::now(),
            first: first.parse().unwrap_or(EPOCH),
            faster_ppm: faster_ppm.parse().unwrap_or(0.0),
        }
    }

    /// The timer's value in nanoseconds.
    pub(crate) fn now(&self) -> u64 {
        let nanos = self.began.elapsed().as_nanos() as f64;
        self.first + (nanos * (1.0 + self.faster_ppm / 1e6)) as u64
    }
}

impl Device {
    pub(crate) fn new(ordinal: u64) -> Device {
        let variable = |name| std::env::var(name).unwrap_or_default();
        let failing_calls = variable("PRLX_MOCK_FAIL");
        let failing_calls = failing_calls.split(',').filter_map(|f| f.split_once(':'));
        let min_kernel_micros = variable("PRLX_MOCK_KERNEL_MICROS").parse().unwrap_or(0);
        let plain = Options::default();
        let capability = variable("PRLX_MOCK_CAPABILITY");
        let capability =
            capability.split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        Device {
            ordinal,
            // With one host thread, CTAs run in the same order every time.
            emulator: Emulator::new(Options {
                threads: 1,
                first: plain.first + ordinal * MEMORY_STRIDE,
                ..plain
            }),
            retained: 0,
            owned_by_program: false,
            sticky_error: None,
            modules: BTreeMap::new(),
            functions: BTreeMap::new(),
            libraries: BTreeMap::new(),
            kernels: BTreeMap::new(),
            links: BTreeMap::new(),
            allocated: BTreeSet::new(),
            pinned: BTreeMap::new(),
            registered: BTreeMap::new(),
            streams: Streams::new(Duration::from_micros(min_kernel_micros)),
            captured: Vec::new(),
            graphs: Graphs::default(),
            handles: FIRST_HANDLE + ordinal * HANDLE_STRIDE,
            clock: 0,
            timer: Timer::new(&variable("PRLX_MOCK_TIMER")),
            seed: variable("PRLX_MOCK_SEED").parse().unwrap_or(0),
            failing_calls: failing_calls
                .filter_map(|(call, code)| Some((call.to_owned(), code.parse().ok()?)))
                .collect(),
            capability: capability.unwrap_or((9, 0)),
        }
    }

    /// A new handle.
    pub fn handle(&mut self) -> u64 {
        self.handles += 16;
        self.handles
    }

    /// Fails before `cuInit`.
    pub(crate) fn check_started() -> Result<()> {
        if STARTED.load(Ordering::Acquire) { Ok(()) } else { Err(code::NOT_INITIALIZED) }
    }

    /// Fails unless the device's context is the thread's current one, and after a fault.
    pub fn ready(&self) -> Result<()> {
        Device::check_started()?;
        if self.retained == 0 || Device::current() != self.context() {
            return Err(code::INVALID_CONTEXT);
        }
        self.sticky_error.map_or(Ok(()), Err)
    }

    /// Handle of the device's context.
    pub(crate) fn context(&self) -> u64 {
        CONTEXT + self.ordinal
    }

    /// Ordinal of the device.
    pub fn ordinal(&self) -> i32 {
        self.ordinal as i32
    }

    /// The thread's current context; 0 if there is none.
    pub fn current() -> u64 {
        // A thread that is ending has no thread-local variables any more.
        CURRENT.try_with(|c| c.borrow().last().copied().unwrap_or(0)).unwrap_or(0)
    }
}
