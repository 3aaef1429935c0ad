//! The device behind the calls: plain functions that give an error code.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::io::Write;
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use prlx_driver::cuda::calls::{attribute, function};
use prlx_driver::cuda::code::CODES;
use prlx_driver::job::Signature;
use prlx_driver::{DevicePtr, Driver, Error, ErrorKind, LaunchConfig, ModuleHandle, TensorMap};
use prlx_emu::{Emulator, Options};
use prlx_isa::image::{self, Target};
use prlx_trace::kernel::Param;

use crate::queue::{Queues, Work};

/// A call's result; an error is a `CUresult`.
pub type Result<T> = std::result::Result<T, i32>;

/// `CUDA_ERROR_INVALID_VALUE` and its like.
pub mod code {
    pub const INVALID_VALUE: i32 = 1;
    pub const OUT_OF_MEMORY: i32 = 2;
    pub const NOT_INITIALIZED: i32 = 3;
    pub const INVALID_DEVICE: i32 = 101;
    pub const INVALID_CONTEXT: i32 = 201;
    pub const NO_BINARY_FOR_GPU: i32 = 209;
    pub const INVALID_PTX: i32 = 218;
    pub const INVALID_HANDLE: i32 = 400;
    pub const NOT_FOUND: i32 = 500;
    pub const NOT_READY: i32 = 600;
    pub const ILLEGAL_ADDRESS: i32 = 700;
    pub const LAUNCH_TIMEOUT: i32 = 702;
    pub const NOT_SUPPORTED: i32 = 801;
    pub const STREAM_CAPTURE_UNSUPPORTED: i32 = 900;
    pub const UNKNOWN: i32 = 999;
}

/// What handles look like: never null, never small.
const HANDLE: u64 = 0x5000_0000;
/// The one context.
const CONTEXT: u64 = 0x4000_0000;
/// Dynamic shared memory of a CTA that does not ask for more; shared memory of one that does.
const SHARED: u32 = 48 << 10;
/// Threads that a multiprocessor has room for.
const THREADS: u32 = 2048;
const SHARED_OPTIN: u32 = 227 << 10;

/// What is done when its turn in a stream comes; the warp instructions that it takes.
pub type Action = Box<dyn FnOnce(&mut Emulator) -> std::result::Result<u64, Error> + Send>;

/// `CU_STREAM_CAPTURE_MODE_RELAXED`.
const RELAXED: i32 = 2;

thread_local! {
    /// The calling thread's context.
    static CURRENT: Cell<u64> = const { Cell::new(0) };
    /// How its calls treat captures.
    static MODE: Cell<i32> = const { Cell::new(0) };
}

/// The one device.
pub struct Device {
    emulator: Emulator,
    queues: Queues<Action>,
    /// The last work that was refused when its turn came, and why.
    refused: Option<(u64, i32)>,
    /// Captures under way that forbid other threads unsafe calls, and whether one was broken.
    pub captures: u32,
    pub broken: bool,
    started: bool,
    /// How often its context was retained and not released.
    retained: u32,
    /// What every call answers after a fault.
    dead: Option<i32>,
    modules: BTreeMap<u64, ModuleHandle>,
    functions: BTreeMap<u64, Kernel>,
    allocated: BTreeSet<u64>,
    handles: u64,
    clock: u64,
    /// `PRLX_MOCK_FAIL`.
    failing: BTreeMap<String, i32>,
    capability: (i32, i32),
}

/// A kernel that was looked up.
struct Kernel {
    module: u64,
    name: String,
    /// Static shared memory, bytes.
    shared: u32,
    /// Most dynamic shared memory, bytes.
    dynamic: u32,
    params: Vec<Param>,
}

static DEVICE: LazyLock<Mutex<Device>> = LazyLock::new(|| Mutex::new(Device::new()));

/// Runs a call on the device, unless it is made to fail.
pub fn with(name: &str, body: impl FnOnce(&mut Device) -> Result<()>) -> i32 {
    let mut body = Some(body);
    waiting(name, |device| body.take().map(|body| body(device)))
}

/// The same for a call that waits for streams: `body` gives `None` to be asked again when more is done.
pub fn waiting(name: &str, mut body: impl FnMut(&mut Device) -> Option<Result<()>>) -> i32 {
    loop {
        let mut device = DEVICE.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(&code) = device.failing.get(name) {
            return code;
        }
        device.work();
        if let Some(result) = body(&mut device) {
            return result.err().unwrap_or(0);
        }
        drop(device);
        std::thread::sleep(Duration::from_micros(50));
    }
}

/// The name of an error, and its words.
pub fn error(code: i32) -> Option<&'static [CString; 2]> {
    static TEXTS: LazyLock<BTreeMap<i32, [CString; 2]>> = LazyLock::new(|| {
        let text = |s: String| CString::new(s).unwrap_or_default();
        let of = |name: &str| [text(format!("CUDA_ERROR_{name}")), text(name.to_lowercase().replace('_', " "))];
        CODES.iter().map(|c| (c.code, of(c.name))).collect()
    });
    TEXTS.get(&code)
}

impl Device {
    fn new() -> Device {
        let variable = |name| std::env::var(name).unwrap_or_default();
        let failing = variable("PRLX_MOCK_FAIL");
        let failing = failing.split(',').filter_map(|f| f.split_once(':'));
        let capability = variable("PRLX_MOCK_CAPABILITY");
        let slow = Duration::from_micros(variable("PRLX_MOCK_KERNEL_MICROS").parse().unwrap_or(0));
        let capability = capability.split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        Device {
            // One host thread: what kernels do across CTAs is then the same in every run.
            emulator: Emulator::new(Options { threads: 1, ..Options::default() }),
            queues: Queues::new(slow),
            refused: None,
            captures: 0,
            broken: false,
            started: false,
            retained: 0,
            dead: None,
            modules: BTreeMap::new(),
            functions: BTreeMap::new(),
            allocated: BTreeSet::new(),
            handles: HANDLE,
            clock: 0,
            failing: failing.filter_map(|(call, code)| Some((call.to_owned(), code.parse().ok()?))).collect(),
            capability: capability.unwrap_or((9, 0)),
        }
    }

    fn handle(&mut self) -> u64 {
        self.handles += 16;
        self.handles
    }

    fn started(&self) -> Result<()> {
        if self.started { Ok(()) } else { Err(code::NOT_INITIALIZED) }
    }

    /// Whether calls that need a context can be made.
    fn ready(&self) -> Result<()> {
        self.started()?;
        if self.retained == 0 || CURRENT.get() != CONTEXT {
            return Err(code::INVALID_CONTEXT);
        }
        self.dead.map_or(Ok(()), Err)
    }

    /// The same for a call that must not be made while others capture, unless the thread is relaxed about it.
    fn unsafe_ready(&mut self) -> Result<()> {
        self.ready()?;
        if self.captures > 0 && MODE.get() != RELAXED {
            self.broken = true;
            return Err(code::STREAM_CAPTURE_UNSUPPORTED);
        }
        Ok(())
    }

    /// Does what is due.
    fn work(&mut self) {
        while self.dead.is_none()
            && let Some((given, action)) = self.queues.next(self.clock)
        {
            let run = action(&mut self.emulator);
            let said = self.emulator.take_output();
            let _ = std::io::stdout().write_all(&said);
            match run {
                Ok(instructions) => self.clock += instructions,
                Err(e) if matches!(e.kind, ErrorKind::Fault | ErrorKind::Stuck) => self.dead = Some(of(&e)),
                Err(e) => self.refused = Some((given, of(&e))),
            }
        }
    }

    /// Puts work into a stream and does what is due. What is refused at once is told; later it ends the context.
    fn give(&mut self, stream: u64, work: Work<Action>) -> Result<()> {
        let given = self.queues.give(stream, work)?;
        self.work();
        match self.refused.take() {
            Some((which, code)) if which == given => Err(code),
            Some((_, code)) => {
                self.dead.get_or_insert(code);
                Ok(())
            }
            None => Ok(()),
        }
    }

    pub fn init(&mut self) -> Result<()> {
        self.started = true;
        Ok(())
    }
    pub fn count(&self) -> Result<i32> {
        self.started().map(|()| 1)
    }
    pub fn device(&self, ordinal: i32) -> Result<i32> {
        self.started()?;
        if ordinal == 0 { Ok(0) } else { Err(code::INVALID_DEVICE) }
    }
    pub fn name(&self, device: i32) -> Result<&'static str> {
        self.device(device).map(|_| "mock device")
    }
    pub fn attribute(&self, attribute: i32, device: i32) -> Result<i32> {
        self.device(device)?;
        match attribute {
            attribute::WARP_SIZE => Ok(32),
            attribute::THREADS => Ok(THREADS as i32),
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
        Ok(CONTEXT)
    }
    /// The last one destroys it, with all that is in it.
    pub fn release(&mut self, device: i32) -> Result<()> {
        self.device(device)?;
        self.retained = self.retained.checked_sub(1).ok_or(code::INVALID_CONTEXT)?;
        if self.retained == 0 {
            for (_, module) in std::mem::take(&mut self.modules) {
                let _ = self.emulator.unload(module);
            }
            for at in std::mem::take(&mut self.allocated) {
                let _ = self.emulator.free(DevicePtr(at));
            }
            self.functions.clear();
            self.queues.clear();
            self.dead = None;
        }
        Ok(())
    }
    pub fn enter(&self, context: u64) -> Result<()> {
        self.started()?;
        if context != 0 && (context != CONTEXT || self.retained == 0) {
            return Err(code::INVALID_CONTEXT);
        }
        CURRENT.set(context);
        Ok(())
    }
    pub fn current(&self) -> Result<u64> {
        self.started().map(|()| CURRENT.get())
    }
    /// Whether all streams are done.
    pub fn synchronize(&mut self) -> Option<Result<()>> {
        let ready = self.unsafe_ready();
        (ready.is_err() || self.queues.all_idle()).then_some(ready)
    }
    /// Sets the thread's way with captures, and gives what it was.
    pub fn exchange(&self, mode: i32) -> Result<i32> {
        self.started()?;
        if (0..=RELAXED).contains(&mode) { Ok(MODE.replace(mode)) } else { Err(code::INVALID_VALUE) }
    }

    /// Loads PTX, or the PTX that a cubin keeps; the error comes with what a log would say.
    pub fn load(&mut self, image: &[u8]) -> std::result::Result<u64, (i32, String)> {
        self.ready().map_err(|code| (code, String::new()))?;
        let device = Target::of((self.capability.0 as u32, self.capability.1 as u32));
        let images = image::read(image).map_err(|e| (code::INVALID_PTX, e.to_string()))?;
        let other = || (code::NO_BINARY_FOR_GPU, format!("{} is not what {device} runs", images[0].target));
        let image = image::choose(&images, 0, device).ok_or_else(other)?;
        let ptx = image.ptx().ok().flatten().ok_or((code::NO_BINARY_FOR_GPU, String::new()))?;
        let module = self.emulator.load(ptx.as_bytes()).map_err(|e| (of(&e), e.message))?;
        let handle = self.handle();
        self.modules.insert(handle, module);
        Ok(handle)
    }
    pub fn unload(&mut self, module: u64) -> Result<()> {
        self.ready()?;
        let loaded = self.modules.remove(&module).ok_or(code::INVALID_HANDLE)?;
        self.functions.retain(|_, f| f.module != module);
        self.emulator.unload(loaded).map_err(|e| of(&e))
    }
    pub fn function(&mut self, module: u64, name: &str) -> Result<u64> {
        self.ready()?;
        let loaded = *self.modules.get(&module).ok_or(code::INVALID_HANDLE)?;
        let view = self.emulator.module(loaded).ok_or(code::INVALID_HANDLE)?;
        let kernel = Signature::all(view).into_iter().find(|s| s.name == name).ok_or(code::NOT_FOUND)?;
        let known = self.functions.iter().find(|(_, f)| f.module == module && f.name == kernel.name);
        if let Some((&handle, _)) = known {
            return Ok(handle);
        }
        let handle = self.handle();
        let shared = 0;
        self.functions
            .insert(handle, Kernel { module, name: kernel.name, shared, dynamic: SHARED, params: kernel.params });
        Ok(handle)
    }
    /// The parameters of a kernel.
    pub fn params(&self, function: u64) -> Result<&[Param]> {
        self.functions.get(&function).map(|f| f.params.as_slice()).ok_or(code::INVALID_HANDLE)
    }
    pub fn needs(&self, attribute: i32, function: u64) -> Result<i32> {
        self.ready()?;
        let kernel = self.functions.get(&function).ok_or(code::INVALID_HANDLE)?;
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
        self.functions.get(&function).ok_or(code::INVALID_HANDLE)?;
        u32::try_from(threads).ok().and_then(|n| THREADS.checked_div(n)).map(|n| n as i32).ok_or(code::INVALID_VALUE)
    }
    pub fn allow(&mut self, function: u64, attribute: i32, value: i32) -> Result<()> {
        self.ready()?;
        let kernel = self.functions.get_mut(&function).ok_or(code::INVALID_HANDLE)?;
        match (attribute, u32::try_from(value)) {
            (function::MAX_DYNAMIC_SHARED, Ok(bytes)) if bytes <= SHARED_OPTIN => kernel.dynamic = bytes,
            (function::NON_PORTABLE_CLUSTER, Ok(0 | 1)) => {}
            _ => return Err(code::INVALID_VALUE),
        }
        Ok(())
    }

    pub fn alloc(&mut self, bytes: usize) -> Result<u64> {
        self.unsafe_ready()?;
        if bytes == 0 {
            return Err(code::INVALID_VALUE);
        }
        let at = self.emulator.alloc(bytes as u64, 256).map_err(|e| of(&e))?.0;
        self.allocated.insert(at);
        Ok(at)
    }
    /// Waits for everything, as drivers do.
    pub fn free(&mut self, at: u64) -> Option<Result<()>> {
        let checked = self.unsafe_ready();
        if checked.is_ok() && !self.queues.all_idle() {
            return None;
        }
        Some(checked.and_then(|()| {
            if !self.allocated.remove(&at) {
                return Err(code::INVALID_VALUE);
            }
            self.emulator.free(DevicePtr(at)).map_err(|e| of(&e))
        }))
    }
    /// Whether a host allocation may be made now.
    pub fn host_alloc(&mut self) -> Result<()> {
        self.unsafe_ready()
    }
    /// Does something with memory, in the legacy stream's place.
    pub fn at_once(
        &mut self,
        action: impl FnOnce(&mut Emulator) -> std::result::Result<(), Error>,
    ) -> Option<Result<()>> {
        let ready = self.unsafe_ready();
        if ready.is_ok() && !self.queues.legacy_idle() {
            return None;
        }
        Some(ready.and_then(|()| action(&mut self.emulator).map_err(|_| code::INVALID_VALUE)))
    }
    /// Does it when the stream comes to it.
    pub fn later(&mut self, stream: u64, action: Action) -> Result<()> {
        self.ready()?;
        self.give(stream, Work::Copy(action))
    }
    pub fn tensor_map(&mut self, at: u64, map: &TensorMap) -> Result<[u8; 128]> {
        self.ready()?;
        self.emulator.tensor_map(DevicePtr(at), map).map_err(|_| code::INVALID_VALUE)
    }

    /// Starts a kernel. As on a GPU, what goes wrong in it is told by a later call, and by every one after.
    pub fn launch(&mut self, function: u64, config: &LaunchConfig, params: &[u8], stream: u64) -> Result<()> {
        self.ready()?;
        let kernel = self.functions.get(&function).ok_or(code::INVALID_HANDLE)?;
        if config.shared > kernel.dynamic {
            return Err(code::INVALID_VALUE);
        }
        let module = *self.modules.get(&kernel.module).ok_or(code::INVALID_HANDLE)?;
        let (name, config, params) = (kernel.name.clone(), config.clone(), params.to_vec());
        let run = move |emulator: &mut Emulator| {
            emulator.launch(module, &name, &config, &params).map(|stats| stats.warp_instructions)
        };
        self.give(stream, Work::Kernel(Box::new(run)))
    }

    pub fn stream(&mut self, flags: u32) -> Result<u64> {
        self.ready()?;
        if flags > 1 {
            return Err(code::INVALID_VALUE);
        }
        let stream = self.handle();
        self.queues.stream(stream, flags == 0);
        Ok(stream)
    }
    /// Its work is done first: who destroys a stream waits here, while a driver would go on by itself.
    pub fn stream_end(&mut self, stream: u64) -> Option<Result<()>> {
        match self.ready().and_then(|()| self.queues.destroy(stream)) {
            Ok(false) => None,
            other => Some(other.map(drop)),
        }
    }
    pub fn stream_wait(&mut self, stream: u64, event: u64) -> Result<()> {
        self.ready()?;
        self.queues.wait(stream, event)?;
        self.work();
        Ok(())
    }
    /// See [`crate::prlx_mock_hold`].
    pub fn hold(&mut self, stream: u64, held: bool) -> Result<()> {
        self.queues.hold(stream, held)
    }

    pub fn event(&mut self) -> Result<u64> {
        self.ready()?;
        let event = self.handle();
        self.queues.event(event);
        Ok(event)
    }
    pub fn record(&mut self, event: u64, stream: u64) -> Result<()> {
        self.ready()?;
        self.queues.record(event, stream)?;
        self.work();
        Ok(())
    }
    pub fn query(&mut self, event: u64) -> Result<()> {
        self.unsafe_ready()?;
        self.queues.passed(event)?.map(drop).ok_or(code::NOT_READY)
    }
    /// Milliseconds; a warp instruction is a nanosecond here.
    pub fn elapsed(&self, start: u64, end: u64) -> Result<f32> {
        self.ready()?;
        let at = |event: u64| self.queues.passed(event)?.ok_or(code::NOT_READY);
        Ok(at(end)?.saturating_sub(at(start)?) as f32 / 1e6)
    }
    pub fn stop(&mut self, event: u64) -> Result<()> {
        self.ready()?;
        self.queues.forget(event)
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
