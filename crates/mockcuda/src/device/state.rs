//! A device and everything in its primary context.

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

/// What handles look like: never null, never small.
const HANDLE: u64 = 0x5000_0000;

/// The first device's context; the others' follow.
pub(crate) const CONTEXT: u64 = 0x4000_0000;

/// How far handles, and the memory, of two devices are apart.
const APART: [u64; 2] = [1 << 32, 1 << 40];

/// Dynamic shared memory of a CTA that does not ask for more; shared memory of one that does.
pub(crate) const SHARED: u32 = 48 << 10;

/// Threads that a multiprocessor has room for.
pub(crate) const THREADS: u32 = 2048;

pub(crate) const SHARED_OPTIN: u32 = 227 << 10;

/// A device, and what is in its primary context.
pub struct Device {
    ordinal: u64,
    pub emulator: Emulator,
    /// How often its context was retained and not released.
    pub(crate) retained: u32,
    /// It is the program's own.
    pub(crate) created: bool,
    /// What every call answers after a fault.
    pub(crate) dead: Option<i32>,
    pub modules: BTreeMap<u64, ModuleHandle>,
    pub(crate) functions: BTreeMap<u64, Kernel>,
    /// Libraries' modules, and their kernels' functions.
    pub(crate) libraries: BTreeMap<u64, u64>,
    pub(crate) kernels: BTreeMap<u64, u64>,
    pub(crate) links: BTreeMap<u64, Option<CString>>,
    pub(crate) allocated: BTreeSet<u64>,
    /// Host memory that the device reaches: where it begins, and how long it is.
    pub pinned: BTreeMap<u64, Box<[u128]>>,
    /// Host memory that the device has its own address for, by where it begins: that address, and bytes.
    /// Kernels write to the emulator's memory, and the host sees it as they end.
    pub(crate) registered: BTreeMap<usize, (DevicePtr, usize)>,
    pub streams: Streams,
    /// Streams that [`crate::prlx_mock_capture`] captures.
    pub captured: Vec<u64>,
    pub graphs: Graphs,
    handles: u64,
    pub clock: u64,
    pub(super) timer: Timer,
    /// `PRLX_MOCK_FAIL`.
    pub(crate) failing: BTreeMap<String, i32>,
    pub(crate) capability: (i32, i32),
}

thread_local! {
    /// The calling thread's contexts, the current one last.
    pub(super) static CURRENT: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// A kernel that was looked up.
pub struct Kernel {
    pub module: u64,
    pub(crate) name: String,
    /// The same for C.
    pub c_name: CString,
    pub params: Vec<Param>,
    /// CTAs that each of a grid's numbers stands for.
    pub(crate) counted: Dim3,
    /// Static shared memory, bytes.
    pub(crate) shared: u32,
    /// Most dynamic shared memory, bytes.
    pub(crate) dynamic: u32,
}

/// Whether it was started.
pub(crate) static STARTED: AtomicBool = AtomicBool::new(false);

/// The device's timer: it goes on between launches, as the host's clock does.
pub(super) struct Timer {
    began: Instant,
    /// What it showed then.
    first: u64,
    /// By how many millionths it is faster than the host's.
    faster: f64,
}

impl Timer {
    fn new(how: &str) -> Timer {
        let (first, faster) = how.split_once(':').unwrap_or((how, ""));
        Timer {
            began: Instant::now(),
            first: first.parse().unwrap_or(EPOCH),
            faster: faster.parse().unwrap_or(0.0),
        }
    }
    pub(crate) fn now(&self) -> u64 {
        let nanos = self.began.elapsed().as_nanos() as f64;
        self.first + (nanos * (1.0 + self.faster / 1e6)) as u64
    }
}

impl Device {
    pub(crate) fn new(ordinal: u64) -> Device {
        let variable = |name| std::env::var(name).unwrap_or_default();
        let failing = variable("PRLX_MOCK_FAIL");
        let failing = failing.split(',').filter_map(|f| f.split_once(':'));
        let slow = variable("PRLX_MOCK_KERNEL_MICROS").parse().unwrap_or(0);
        let plain = Options::default();
        let capability = variable("PRLX_MOCK_CAPABILITY");
        let capability =
            capability.split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        Device {
            ordinal,
            // One host thread: what kernels do across CTAs is then the same in every run.
            emulator: Emulator::new(Options { threads: 1, first: plain.first + ordinal * APART[1], ..plain }),
            retained: 0,
            created: false,
            dead: None,
            modules: BTreeMap::new(),
            functions: BTreeMap::new(),
            libraries: BTreeMap::new(),
            kernels: BTreeMap::new(),
            links: BTreeMap::new(),
            allocated: BTreeSet::new(),
            pinned: BTreeMap::new(),
            registered: BTreeMap::new(),
            streams: Streams::new(Duration::from_micros(slow)),
            captured: Vec::new(),
            graphs: Graphs::default(),
            handles: HANDLE + ordinal * APART[0],
            clock: 0,
            timer: Timer::new(&variable("PRLX_MOCK_TIMER")),
            failing: failing.filter_map(|(call, code)| Some((call.to_owned(), code.parse().ok()?))).collect(),
            capability: capability.unwrap_or((9, 0)),
        }
    }

    pub fn handle(&mut self) -> u64 {
        self.handles += 16;
        self.handles
    }

    pub(crate) fn started() -> Result<()> {
        if STARTED.load(Ordering::Acquire) { Ok(()) } else { Err(code::NOT_INITIALIZED) }
    }

    /// Whether calls that need a context can be made.
    pub fn ready(&self) -> Result<()> {
        Device::started()?;
        if self.retained == 0 || Device::current() != self.context() {
            return Err(code::INVALID_CONTEXT);
        }
        self.dead.map_or(Ok(()), Err)
    }

    pub(crate) fn context(&self) -> u64 {
        CONTEXT + self.ordinal
    }

    /// Which device it is.
    pub fn ordinal(&self) -> i32 {
        self.ordinal as i32
    }

    /// The calling thread's context; 0 is none.
    pub fn current() -> u64 {
        // A thread that is ending has none.
        CURRENT.try_with(|c| c.borrow().last().copied().unwrap_or(0)).unwrap_or(0)
    }
}
