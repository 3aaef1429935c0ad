//! The device behind the calls: plain functions that give an error code.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex, OnceLock};
use std::time::{Duration, Instant};

use prlx_driver::cuda::calls::{attribute, function};
use prlx_driver::cuda::error_codes::CODES;
use prlx_driver::signature::{Signature, counted};
use prlx_driver::{DevicePtr, Driver, Error, ErrorKind, LaunchConfig, ModuleHandle, TensorMap};
use prlx_emu::{EPOCH, Emulator, Options};
use prlx_isa::image::{self, Target};
use prlx_trace::Dim3;
use prlx_trace::kernel::Param;

use crate::graph::Graphs;
use crate::stream::Streams;

/// A call's result; an error is a `CUresult`.
pub type Result<T> = std::result::Result<T, i32>;

/// `CUDA_ERROR_INVALID_VALUE` and its like.
pub mod code {
    /// None of CUDA's: what the call waits for is held back.
    pub const BUSY: i32 = i32::MIN;
    pub const INVALID_VALUE: i32 = 1;
    pub const OUT_OF_MEMORY: i32 = 2;
    pub const NOT_INITIALIZED: i32 = 3;
    pub const INVALID_DEVICE: i32 = 101;
    pub const INVALID_IMAGE: i32 = 200;
    pub const INVALID_CONTEXT: i32 = 201;
    pub const NO_BINARY_FOR_GPU: i32 = 209;
    pub const INVALID_PTX: i32 = 218;
    pub const FILE_NOT_FOUND: i32 = 301;
    pub const INVALID_HANDLE: i32 = 400;
    pub const NOT_FOUND: i32 = 500;
    pub const NOT_READY: i32 = 600;
    pub const ILLEGAL_ADDRESS: i32 = 700;
    pub const LAUNCH_TIMEOUT: i32 = 702;
    pub const NOT_SUPPORTED: i32 = 801;
    pub const CAPTURE_UNSUPPORTED: i32 = 900;
    pub const CAPTURE_INVALIDATED: i32 = 901;
    pub const CAPTURE_UNMATCHED: i32 = 903;
    pub const CAPTURE_UNJOINED: i32 = 904;
    pub const CAPTURE_ISOLATION: i32 = 905;
    pub const CAPTURE_IMPLICIT: i32 = 906;
    pub const CAPTURED_EVENT: i32 = 907;
    pub const CAPTURE_WRONG_THREAD: i32 = 908;
    pub const GRAPH_EXEC_UPDATE_FAILURE: i32 = 910;
    pub const UNKNOWN: i32 = 999;
}

/// What handles look like: never null, never small.
const HANDLE: u64 = 0x5000_0000;
/// The first device's context; the others' follow.
const CONTEXT: u64 = 0x4000_0000;
/// How far handles, and the memory, of two devices are apart.
const APART: [u64; 2] = [1 << 32, 1 << 40];
/// Dynamic shared memory of a CTA that does not ask for more; shared memory of one that does.
const SHARED: u32 = 48 << 10;
/// Threads that a multiprocessor has room for.
const THREADS: u32 = 2048;
const SHARED_OPTIN: u32 = 227 << 10;

/// A device, and what is in its primary context.
pub struct Device {
    ordinal: u64,
    pub emulator: Emulator,
    /// How often its context was retained and not released.
    retained: u32,
    /// It is the program's own.
    created: bool,
    /// What every call answers after a fault.
    dead: Option<i32>,
    pub modules: BTreeMap<u64, ModuleHandle>,
    functions: BTreeMap<u64, Kernel>,
    /// Libraries' modules, and their kernels' functions.
    libraries: BTreeMap<u64, u64>,
    kernels: BTreeMap<u64, u64>,
    links: BTreeMap<u64, Option<CString>>,
    allocated: BTreeSet<u64>,
    /// Host memory that the device reaches: where it begins, and how long it is.
    pub pinned: BTreeMap<u64, Box<[u128]>>,
    /// Host memory that the device has its own address for, by where it begins: that address, and bytes. Kernels write to the
    /// emulator's memory, and the host sees it as they end.
    registered: BTreeMap<usize, (DevicePtr, usize)>,
    pub streams: Streams,
    /// Streams that [`crate::prlx_mock_capture`] captures.
    pub captured: Vec<u64>,
    pub graphs: Graphs,
    handles: u64,
    pub clock: u64,
    timer: Timer,
    /// `PRLX_MOCK_FAIL`.
    failing: BTreeMap<String, i32>,
    capability: (i32, i32),
}

thread_local! {
    /// The calling thread's contexts, the current one last.
    static CURRENT: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// A kernel that was looked up.
pub struct Kernel {
    pub module: u64,
    name: String,
    /// The same for C.
    pub c_name: CString,
    pub params: Vec<Param>,
    /// CTAs that each of a grid's numbers stands for.
    counted: Dim3,
    /// Static shared memory, bytes.
    shared: u32,
    /// Most dynamic shared memory, bytes.
    dynamic: u32,
}

/// What can be asked for in a stream.
#[derive(Clone)]
pub enum Work {
    Nothing,
    Launch { function: u64, config: LaunchConfig, params: Vec<u8> },
    Write { to: u64, bytes: Host },
    Read { to: usize, from: u64, bytes: usize },
    Copy { to: u64, from: u64, bytes: usize },
    Fill { to: u64, value: u8, bytes: usize },
    Free(u64),
    Event(u64),
    Graph(u64),
}

/// Bytes of the host's: a copy, or where they will be when it is time.
#[derive(Clone)]
pub enum Host {
    Copied(Vec<u8>),
    At(usize, usize),
}

/// The process that started it.
static OWNER: OnceLock<u32> = OnceLock::new();
/// Whether it was started.
static STARTED: AtomicBool = AtomicBool::new(false);
static DEVICES: LazyLock<Vec<Mutex<Device>>> = LazyLock::new(|| {
    let count = std::env::var("PRLX_MOCK_DEVICES").ok().and_then(|n| n.parse().ok()).unwrap_or(1u64);
    (0..count.max(1)).map(|ordinal| Mutex::new(Device::new(ordinal))).collect()
});

/// Runs a call on the device of the thread's context, as [`on`] does.
pub fn with(name: &str, body: impl FnMut(&mut Device) -> Result<()>) -> i32 {
    on(Device::current(), name, body)
}
/// The context of a device, whether it is one or not.
pub fn context_of(ordinal: i32) -> u64 {
    CONTEXT + u64::try_from(ordinal).unwrap_or(u64::from(u32::MAX))
}

/// Runs a call on the device of a context, or on the first, unless it is made to fail. A call that has to wait is made again
/// until it need not.
pub fn on(context: u64, name: &str, mut body: impl FnMut(&mut Device) -> Result<()>) -> i32 {
    // In a child that was forked after it was started, a driver does not work; another thread may have held the lock.
    if OWNER.get().is_some_and(|pid| *pid != std::process::id()) {
        return code::NOT_INITIALIZED;
    }
    let ordinal = context.checked_sub(CONTEXT).and_then(|i| usize::try_from(i).ok());
    let device = ordinal.and_then(|i| DEVICES.get(i)).unwrap_or(&DEVICES[0]);
    loop {
        let mut device = device.lock().unwrap_or_else(|e| e.into_inner());
        let answer = match device.failing.get(name) {
            Some(&code) => code,
            None => body(&mut device).err().unwrap_or(0),
        };
        drop(device);
        if answer != code::BUSY {
            return answer;
        }
        std::thread::sleep(Duration::from_micros(50));
    }
}

/// The name of an error, and its words.
pub fn error(code: i32) -> Option<&'static [CString; 2]> {
    static TEXTS: LazyLock<BTreeMap<i32, [CString; 2]>> = LazyLock::new(|| {
        let text = |s: String| CString::new(s).unwrap_or_default();
        let of =
            |name: &str| [text(format!("CUDA_ERROR_{name}")), text(name.to_lowercase().replace('_', " "))];
        CODES.iter().map(|c| (c.code, of(c.name))).collect()
    });
    TEXTS.get(&code)
}

/// The device's timer: it goes on between launches, as the host's clock does.
struct Timer {
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
    fn now(&self) -> u64 {
        let nanos = self.began.elapsed().as_nanos() as f64;
        self.first + (nanos * (1.0 + self.faster / 1e6)) as u64
    }
}

impl Device {
    fn new(ordinal: u64) -> Device {
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

    fn started() -> Result<()> {
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

    pub fn init(&mut self) -> Result<()> {
        OWNER.get_or_init(std::process::id);
        STARTED.store(true, Ordering::Release);
        Ok(())
    }
    pub fn count(&self) -> Result<i32> {
        Device::started().map(|()| DEVICES.len() as i32)
    }
    pub fn device(&self, ordinal: i32) -> Result<i32> {
        Device::started()?;
        let known = usize::try_from(ordinal).is_ok_and(|i| i < DEVICES.len());
        if known { Ok(ordinal) } else { Err(code::INVALID_DEVICE) }
    }
    pub fn name(&self, device: i32) -> Result<&'static str> {
        self.device(device).map(|_| "mock device")
    }
    pub fn attribute(&self, attribute: i32, device: i32) -> Result<i32> {
        self.device(device)?;
        match attribute {
            attribute::WARP_SIZE => Ok(32),
            attribute::THREADS => Ok(THREADS as i32),
            attribute::PROCESSORS => Ok(4),
            attribute::MAJOR => Ok(self.capability.0),
            attribute::MINOR => Ok(self.capability.1),
            attribute::MAX_SHARED_OPTIN => Ok(SHARED_OPTIN as i32),
            _ => Err(code::INVALID_VALUE),
        }
    }
    pub fn memory(&self, device: i32) -> Result<usize> {
        self.device(device).map(|_| 16 << 30)
    }

    pub fn retain(&mut self, device: i32) -> Result<u64> {
        self.device(device)?;
        self.retained += 1;
        Ok(self.context())
    }
    /// The last one destroys it, with all that is in it.
    pub fn release(&mut self, device: i32) -> Result<()> {
        self.device(device)?;
        self.retained = self.retained.checked_sub(1).ok_or(code::INVALID_CONTEXT)?;
        if self.retained == 0 { self.reset(device) } else { Ok(()) }
    }
    /// Whether there is a primary context.
    pub fn active(&self, device: i32) -> Result<bool> {
        self.device(device).map(|_| self.retained > 0 && !self.created)
    }
    /// A context of the program's own, where there is none yet: it stands for the device's primary one.
    pub fn create(&mut self, device: i32) -> Result<u64> {
        self.device(device)?;
        if self.retained > 0 {
            return Err(code::INVALID_CONTEXT);
        }
        (self.created, self.retained) = (true, 1);
        Ok(self.context())
    }
    /// Destroys a context of the program's own, with all that is in it; never the primary one.
    pub fn destroy(&mut self, context: u64) -> Result<()> {
        self.known(context)?;
        if !std::mem::take(&mut self.created) {
            return Err(code::INVALID_CONTEXT);
        }
        self.retained = 0;
        self.reset(self.ordinal())
    }
    /// Destroys what is in the context.
    pub fn reset(&mut self, device: i32) -> Result<()> {
        self.device(device)?;
        self.graphs_gone();
        self.streams = Streams::new(self.streams.slow);
        for (_, module) in std::mem::take(&mut self.modules) {
            let _ = self.emulator.unload(module);
        }
        for at in std::mem::take(&mut self.allocated) {
            let _ = self.emulator.free(DevicePtr(at));
        }
        self.functions.clear();
        self.libraries.clear();
        self.kernels.clear();
        self.pinned.clear();
        self.registered.clear();
        self.dead = None;
        Ok(())
    }
    fn context(&self) -> u64 {
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
    pub fn known(&self, context: u64) -> Result<()> {
        Device::started()?;
        if context == 0 || context == self.context() && self.retained > 0 {
            Ok(())
        } else {
            Err(code::INVALID_CONTEXT)
        }
    }
    pub fn enter(&self, context: u64) -> Result<()> {
        self.known(context)?;
        CURRENT.with_borrow_mut(|c| {
            c.pop();
            c.push(context);
        });
        Ok(())
    }
    pub fn push(&self, context: u64) -> Result<()> {
        self.known(context)?;
        CURRENT.with_borrow_mut(|c| c.push(context));
        Ok(())
    }
    pub fn pop(&self) -> Result<u64> {
        Device::started()?;
        CURRENT.with_borrow_mut(|c| c.pop()).ok_or(code::INVALID_CONTEXT)
    }
    pub fn synchronize(&mut self) -> Result<()> {
        self.ready()?;
        if self.capturing() {
            self.unsafe_call()?;
            return Err(code::CAPTURE_UNSUPPORTED);
        }
        self.wait_for_all()?;
        self.ready()
    }

    /// Loads PTX, or the PTX that a cubin keeps; the error comes with what a log would say.
    pub fn load(&mut self, image: &[u8]) -> std::result::Result<u64, (i32, String)> {
        let plain = |code| (code, String::new());
        self.ready().map_err(plain)?;
        self.unsafe_call().map_err(plain)?;
        let device = Target::of((self.capability.0 as u32, self.capability.1 as u32));
        let images = image::read(image).map_err(|e| (code::INVALID_PTX, e.to_string()))?;
        let first = images.first().ok_or(plain(code::INVALID_IMAGE))?;
        let other = || (code::NO_BINARY_FOR_GPU, format!("{} is not what {device} runs", first.target));
        let image = image::choose(&images, 0, device).ok_or_else(other)?;
        let ptx = image.ptx().ok().flatten().ok_or((code::NO_BINARY_FOR_GPU, String::new()))?;
        let module = self.emulator.load(ptx.as_bytes()).map_err(|e| (of(&e), e.message))?;
        let handle = self.handle();
        self.modules.insert(handle, module);
        Ok(handle)
    }
    pub fn unload(&mut self, module: u64) -> Result<()> {
        self.ready()?;
        self.unsafe_call()?;
        if self.libraries.values().any(|m| *m == module) {
            return Err(code::INVALID_VALUE);
        }
        self.wait_for_all()?;
        self.drop_module(module)
    }
    fn drop_module(&mut self, module: u64) -> Result<()> {
        let loaded = self.modules.remove(&module).ok_or(code::INVALID_HANDLE)?;
        self.functions.retain(|_, f| f.module != module);
        self.emulator.unload(loaded).map_err(|e| of(&e))
    }
    fn view(&self, module: u64) -> Result<&prlx_isa::view::Module> {
        let loaded = *self.modules.get(&module).ok_or(code::INVALID_HANDLE)?;
        self.emulator.module(loaded).ok_or(code::INVALID_HANDLE)
    }
    pub fn names(&self, module: u64) -> Result<Vec<String>> {
        Ok(Signature::all(self.view(module)?).into_iter().map(|s| s.name).collect())
    }
    pub fn function(&mut self, module: u64, name: &str) -> Result<u64> {
        self.ready()?;
        let kernel =
            Signature::all(self.view(module)?).into_iter().find(|s| s.name == name).ok_or(code::NOT_FOUND)?;
        let known = self.functions.iter().find(|(_, f)| f.module == module && f.name == kernel.name);
        if let Some((&handle, _)) = known {
            return Ok(handle);
        }
        let handle = self.handle();
        let c_name = CString::new(kernel.name.as_str()).unwrap_or_default();
        let counted = counted(&kernel.limits);
        let Signature { name, params, .. } = kernel;
        self.functions
            .insert(handle, Kernel { module, name, c_name, params, counted, shared: 0, dynamic: SHARED });
        Ok(handle)
    }
    /// A variable: where, and its size.
    pub fn global(&self, module: u64, name: &str) -> Result<(u64, usize)> {
        self.ready()?;
        let symbols = &self.view(module)?.symbols;
        let size = symbols.iter().find(|s| s.name == name).map(|s| s.size as usize).ok_or(code::NOT_FOUND)?;
        let at = self.emulator.symbol(self.modules[&module], name).ok_or(code::NOT_FOUND)?;
        Ok((at.0, size))
    }

    pub fn library(&mut self, image: &[u8]) -> Result<u64> {
        // A library can be loaded whatever is captured: it is taken into a context when it is used.
        let was = crate::graph::exchange_mode(prlx_driver::cuda::calls::capture::RELAXED)?;
        let loaded = self.load(image).map_err(|e| e.0);
        crate::graph::exchange_mode(was)?;
        let library = self.handle();
        self.libraries.insert(library, loaded?);
        Ok(library)
    }
    pub fn library_unload(&mut self, library: u64) -> Result<()> {
        self.wait_for_all()?;
        let module = self.libraries.remove(&library).ok_or(code::INVALID_HANDLE)?;
        let functions = &self.functions;
        self.kernels.retain(|_, f| functions.get(f).is_none_or(|f| f.module != module));
        self.drop_module(module)
    }
    pub fn library_module(&self, library: u64) -> Result<u64> {
        self.libraries.get(&library).copied().ok_or(code::INVALID_HANDLE)
    }
    pub fn library_of(&self, kernel: u64) -> Result<u64> {
        let module = self.kernel(kernel)?.module;
        self.libraries.iter().find(|(_, m)| **m == module).map(|(&l, _)| l).ok_or(code::INVALID_HANDLE)
    }
    pub fn library_kernel(&mut self, library: u64, name: &str) -> Result<u64> {
        let module = self.library_module(library)?;
        let function = self.function(module, name)?;
        if let Some((&kernel, _)) = self.kernels.iter().find(|(_, f)| **f == function) {
            return Ok(kernel);
        }
        let kernel = self.handle();
        self.kernels.insert(kernel, function);
        Ok(kernel)
    }
    /// A library's kernel as a function; a function stays what it is.
    pub fn function_of(&self, kernel: u64) -> u64 {
        self.kernels.get(&kernel).copied().unwrap_or(kernel)
    }
    pub fn kernel(&self, function: u64) -> Result<&Kernel> {
        self.functions.get(&self.function_of(function)).ok_or(code::INVALID_HANDLE)
    }

    pub fn link(&mut self) -> Result<u64> {
        self.ready()?;
        let link = self.handle();
        self.links.insert(link, None);
        Ok(link)
    }
    /// One input of PTX; what is linked is that PTX again.
    pub fn link_add(&mut self, link: u64, ptx: &[u8]) -> Result<()> {
        let into = self.links.get_mut(&link).ok_or(code::INVALID_HANDLE)?;
        let text = ptx.split(|b| *b == 0).next().unwrap_or_default();
        match into {
            None => *into = Some(CString::new(text).map_err(|_| code::INVALID_PTX)?),
            Some(_) => return Err(code::NOT_SUPPORTED),
        }
        Ok(())
    }
    pub fn linked(&self, link: u64) -> Result<&CString> {
        self.links.get(&link).ok_or(code::INVALID_HANDLE)?.as_ref().ok_or(code::INVALID_VALUE)
    }
    pub fn link_destroy(&mut self, link: u64) -> Result<()> {
        self.links.remove(&link).map(drop).ok_or(code::INVALID_HANDLE)
    }

    pub fn needs(&self, attribute: i32, function: u64) -> Result<i32> {
        self.ready()?;
        let kernel = self.kernel(function)?;
        match attribute {
            function::MAX_THREADS => Ok(1024),
            function::SHARED => Ok(kernel.shared as i32),
            function::LOCAL => Ok(0),
            function::REGISTERS => Ok(32),
            function::MAX_DYNAMIC_SHARED => Ok(kernel.dynamic as i32),
            _ => Err(code::INVALID_VALUE),
        }
    }
    pub fn resident(&self, function: u64, threads: i32) -> Result<i32> {
        self.ready()?;
        self.kernel(function)?;
        u32::try_from(threads)
            .ok()
            .and_then(|n| THREADS.checked_div(n))
            .map(|n| n as i32)
            .ok_or(code::INVALID_VALUE)
    }
    pub fn allow(&mut self, function: u64, attribute: i32, value: i32) -> Result<()> {
        self.ready()?;
        let function = self.function_of(function);
        let kernel = self.functions.get_mut(&function).ok_or(code::INVALID_HANDLE)?;
        match (attribute, u32::try_from(value)) {
            (function::MAX_DYNAMIC_SHARED, Ok(bytes)) if bytes <= SHARED_OPTIN => kernel.dynamic = bytes,
            (function::NON_PORTABLE_CLUSTER, Ok(0 | 1)) => {}
            _ => return Err(code::INVALID_VALUE),
        }
        Ok(())
    }

    pub fn alloc(&mut self, bytes: usize) -> Result<u64> {
        self.ready()?;
        self.unsafe_call()?;
        self.take(bytes)
    }
    /// Allocates, whatever is captured.
    pub fn take(&mut self, bytes: usize) -> Result<u64> {
        self.ready()?;
        if bytes == 0 {
            return Err(code::INVALID_VALUE);
        }
        let at = self.emulator.alloc(bytes as u64, 256).map_err(|e| of(&e))?.0;
        self.allocated.insert(at);
        Ok(at)
    }
    pub fn free(&mut self, at: u64) -> Result<()> {
        self.ready()?;
        self.unsafe_call()?;
        if !self.allocated.contains(&at) {
            return Err(code::INVALID_VALUE);
        }
        self.wait_for_all()?;
        self.give_back(at)
    }
    fn give_back(&mut self, at: u64) -> Result<()> {
        if !self.allocated.remove(&at) {
            return Err(code::INVALID_VALUE);
        }
        self.emulator.free(DevicePtr(at)).map_err(|e| of(&e))
    }
    /// Copies of the host wait as the legacy stream does.
    fn at_once(&mut self) -> Result<()> {
        self.ready()?;
        self.implicit()?;
        self.unsafe_call()?;
        let legacy = self.stream(0, false)?;
        self.put(legacy, Work::Nothing)?;
        self.wait_for(legacy, u64::MAX)?;
        self.ready()
    }
    pub fn write(&mut self, to: u64, bytes: &[u8]) -> Result<()> {
        self.at_once()?;
        self.emulator.write(DevicePtr(to), bytes).map_err(|_| code::INVALID_VALUE)
    }
    pub fn read(&mut self, from: u64, bytes: &mut [u8]) -> Result<()> {
        self.at_once()?;
        self.emulator.read(DevicePtr(from), bytes).map_err(|_| code::INVALID_VALUE)
    }
    pub fn tensor_map(&mut self, at: u64, map: &TensorMap) -> Result<[u8; 128]> {
        self.ready()?;
        self.emulator.tensor_map(DevicePtr(at), map).map_err(|_| code::INVALID_VALUE)
    }
    pub fn fill(&mut self, to: u64, value: u8, bytes: usize) -> Result<()> {
        self.at_once()?;
        self.emulator.fill(DevicePtr(to), bytes as u64, value).map_err(|_| code::INVALID_VALUE)
    }
    /// Whether all of it is memory of the device.
    pub fn allocated(&mut self, at: u64, bytes: usize) -> Result<()> {
        let last = at.wrapping_add((bytes as u64).saturating_sub(1));
        let mut held = |at: u64| self.emulator.read(DevicePtr(at), &mut [0]).is_ok();
        if held(at) && held(last) { Ok(()) } else { Err(code::INVALID_VALUE) }
    }

    pub fn pin(&mut self, bytes: usize) -> Result<u64> {
        self.ready()?;
        self.unsafe_call()?;
        let memory = vec![0u128; bytes.div_ceil(16).max(1)].into_boxed_slice();
        let at = memory.as_ptr() as u64;
        self.pinned.insert(at, memory);
        Ok(at)
    }
    pub fn unpin(&mut self, at: u64) -> Result<()> {
        self.ready()?;
        self.unsafe_call()?;
        self.wait_for_all()?;
        self.pinned.remove(&at).map(drop).ok_or(code::INVALID_VALUE)
    }
    /// Host memory from `at` on is the device's too. It counts as zeros.
    pub fn register(&mut self, at: usize, bytes: usize) -> Result<()> {
        self.ready()?;
        self.unsafe_call()?;
        let held = self.emulator.alloc(bytes.max(1) as u64, 1 << 12).map_err(|e| of(&e))?;
        self.emulator.fill(held, bytes as u64, 0).map_err(|e| of(&e))?;
        self.registered.insert(at, (held, bytes));
        Ok(())
    }
    pub fn registered(&self, at: usize) -> Result<u64> {
        self.ready()?;
        self.registered.get(&at).map(|(held, _)| held.0).ok_or(code::INVALID_VALUE)
    }
    pub fn unregister(&mut self, at: usize) -> Result<()> {
        self.ready()?;
        self.unsafe_call()?;
        self.wait_for_all()?;
        let (held, _) = self.registered.remove(&at).ok_or(code::INVALID_VALUE)?;
        self.emulator.free(held).map_err(|e| of(&e))
    }
    pub fn is_pinned(&self, at: u64, bytes: usize) -> bool {
        let below = self.pinned.range(..=at).next_back();
        below.is_some_and(|(from, memory)| at + bytes as u64 <= from + memory.len() as u64 * 16)
    }

    /// A launch that can be put into a stream.
    pub fn launch(&mut self, function: u64, mut config: LaunchConfig, params: Vec<u8>) -> Result<Work> {
        self.ready()?;
        let function = self.function_of(function);
        let kernel = self.functions.get(&function).ok_or(code::INVALID_HANDLE)?;
        if config.shared > kernel.dynamic {
            return Err(code::INVALID_VALUE);
        }
        let (grid, each) = (&mut config.grid, kernel.counted);
        for (n, each) in [(&mut grid.x, each.x), (&mut grid.y, each.y), (&mut grid.z, each.z)] {
            *n = n.checked_mul(each).ok_or(code::INVALID_VALUE)?;
        }
        let module = *self.modules.get(&kernel.module).ok_or(code::INVALID_HANDLE)?;
        self.emulator.fits(module, &kernel.name, &config, &params).map_err(|e| of(&e))?;
        Ok(Work::Launch { function, config, params })
    }

    /// Does a piece of work. What goes wrong in a kernel is told by a later call, and by every one after, as on a GPU.
    pub fn perform(&mut self, work: Work) {
        if self.dead.is_some() {
            return;
        }
        let done = match work {
            Work::Nothing | Work::Graph(_) => Ok(()),
            Work::Event(event) => {
                self.event_passed(event);
                Ok(())
            }
            Work::Free(at) => self.give_back(at),
            Work::Fill { to, value, bytes } => {
                self.emulator.fill(DevicePtr(to), bytes as u64, value).map_err(|_| code::ILLEGAL_ADDRESS)
            }
            Work::Copy { to, from, bytes } => {
                let mut held = vec![0; bytes];
                let read = self.emulator.read(DevicePtr(from), &mut held);
                read.and_then(|()| self.emulator.write(DevicePtr(to), &held))
                    .map_err(|_| code::ILLEGAL_ADDRESS)
            }
            Work::Write { to, bytes } => {
                let bytes = crate::exports::host(&bytes);
                self.emulator.write(DevicePtr(to), bytes).map_err(|_| code::ILLEGAL_ADDRESS)
            }
            Work::Read { to, from, bytes } => {
                let mut held = vec![0; bytes];
                let read = self.emulator.read(DevicePtr(from), &mut held).map_err(|_| code::ILLEGAL_ADDRESS);
                read.map(|()| crate::exports::give(to, &held))
            }
            Work::Launch { function, config, params } => self.run(function, &config, &params),
        };
        if let Err(code) = done {
            self.dead = Some(code);
        }
    }
    fn run(&mut self, function: u64, config: &LaunchConfig, params: &[u8]) -> Result<()> {
        let kernel = self.functions.get(&function).ok_or(code::INVALID_HANDLE)?;
        let module = *self.modules.get(&kernel.module).ok_or(code::INVALID_HANDLE)?;
        self.emulator.timer_shows(self.timer.now());
        let run = self.emulator.launch(module, &kernel.name, config, params);
        for (at, (held, bytes)) in &self.registered {
            let mut content = vec![0; *bytes];
            self.emulator.read(*held, &mut content).map_err(|e| of(&e))?;
            crate::exports::give(*at, &content);
        }
        let said = self.emulator.take_output();
        let _ = std::io::stdout().write_all(&said);
        self.clock += run.map_err(|e| of(&e))?.warp_instructions;
        Ok(())
    }
}

/// The code for an error of the emulator.
fn of(error: &Error) -> i32 {
    match error.kind {
        ErrorKind::Module => code::INVALID_PTX,
        ErrorKind::Unsupported => code::NOT_SUPPORTED,
        ErrorKind::NotFound => code::NOT_FOUND,
        ErrorKind::Memory => code::OUT_OF_MEMORY,
        ErrorKind::Launch => code::INVALID_VALUE,
        ErrorKind::Fault => code::ILLEGAL_ADDRESS,
        ErrorKind::Stuck => code::LAUNCH_TIMEOUT,
        _ => code::UNKNOWN,
    }
}
