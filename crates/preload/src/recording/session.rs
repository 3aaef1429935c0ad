//! The recording of this process: its file, its options, and the state of its contexts and graphs.
#![allow(unsafe_code, reason = "the driver's handles")]

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::fs::File;
use std::path::PathBuf;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use prlx_driver::cuda::calls::stream;
use prlx_driver::cuda::memory_changes::{self, ChangeFinder};
use prlx_driver::cuda::pointee_digest::Digests;
use prlx_driver::cuda::{CudaQueue, Functions, LAUNCH_HASHES, Library, pointee_digest};
use prlx_driver::queue::{Context, Stream};
use prlx_driver::record::program::{Finished, Recorder, RecorderMemory};
use prlx_driver::session::{LaunchFilterState, LaunchPartState, Options};
use prlx_isa::image::Target;
use prlx_trace::ids::{Nanos, RangeId};
use prlx_trace::kernel::{Function, Param, Scalar};
use prlx_trace::launch::{ArgInfo, Host, LaunchRange, RangeName};
use prlx_trace::process::Device;
use prlx_trace::{Dim3, FuncId, Launch, ModuleId, Streams, WarpSize, Writer};

use crate::recording::context_recorder::ContextRecorder;
use crate::recording::devices::is_primary;
use crate::recording::digest_queue::DigestQueue;
use crate::recording::graph_nodes::Graphs;
use crate::recording::launch_shape::Shape;
use crate::recording::live_file::LiveFile;
use crate::recording::lock::lock;
use crate::rewritten_module::{Kernel, Module, ParamLayout};
use crate::{log, nvtx, rewrite};

/// Bytes of the memory for recording that are kept free of probe tables, for launch contexts.
const CONTEXT_BYTES: u64 = 1 << 20;

/// Why launches outside of `--from`, `--to` and `--range` are not recorded.
const OUTSIDE: &str = "it is not in the part of --from, --to and --range";

/// Names of NVTX ranges by id, and the ids by name.
type RangeNames = (Vec<RangeName>, HashMap<Arc<RangeName>, RangeId>);

/// The recording of this process.
pub(super) struct Session {
    pub(super) options: &'static Options,
    pub(super) started: Instant,
    pub(super) devices: Vec<Device>,
    /// `None` once the file is complete, or after a failed write.
    pub(super) file: Mutex<Option<Writer<File>>>,
    /// Names of NVTX ranges in the file, and their ids.
    pub(super) ranges: Mutex<RangeNames>,
    /// Finds the launches between `--from` and `--to`.
    pub(super) launch_part: Mutex<LaunchPartState>,
    /// Selects launches of rewritten kernels.
    pub(super) launch_filter: Mutex<LaunchFilterState>,
    /// Selects launches of unchanged kernels, which are only digested.
    pub(super) digest_filter: Mutex<LaunchFilterState>,
    pub(super) digest_queue: DigestQueue,
    /// Held while launches go from the queue to the file, so that the file is not completed meanwhile.
    pub(super) appending: Mutex<()>,
    /// Number of launches so far.
    pub(super) launches: AtomicU64,
    /// Number of threads that have launched something so far.
    pub(super) threads: AtomicU32,
    /// The modules in the file that stand for unchanged kernels, by kernel name and parameter layout. `None`
    /// if writing failed.
    pub(super) unchanged_modules: Mutex<HashMap<(String, ParamLayout), Option<ModuleId>>>,
    /// Numbers of streams, in order of first use, by handle.
    pub(super) streams: Mutex<HashMap<usize, u32>>,
    /// Recorders by context handle. `None` if the context cannot be recorded.
    pub(super) contexts: Mutex<HashMap<usize, Option<Arc<ContextRecorder>>>>,
    pub(super) graphs: Mutex<Graphs>,
    pub(super) live: LiveFile,
    /// Path of the file.
    pub(super) recording: PathBuf,
}

pub(super) static SESSION: OnceLock<Option<Session>> = OnceLock::new();

thread_local! {
    /// This thread's number among the threads that launch.
    static THREAD: Cell<Option<u32>> = const { Cell::new(None) };
    /// This thread's last wait for a device: when it began, when it ended, and when the hook returned.
    static LAST_WAIT: Cell<Option<[Instant; 3]>> = const { Cell::new(None) };
}

impl Session {
    /// Appends to the file. After a failure, warns and writes nothing more.
    pub(super) fn write<T>(&self, append: impl FnOnce(&mut Writer<File>) -> std::io::Result<T>) -> Option<T> {
        let mut file = lock(&self.file);
        match append(file.as_mut()?) {
            Ok(done) => Some(done),
            Err(e) => {
                *file = None;
                log::warn_once(&format!("recording stops: {}: {e}", self.options.folder.display()));
                None
            }
        }
    }

    /// The recorder of the thread's current context, created at its first use. `None` if there is no context,
    /// or it cannot be recorded.
    pub(super) fn current_context(&'static self, real: &Functions) -> Option<Arc<ContextRecorder>> {
        let mut context = null_mut();
        // SAFETY: the driver's function (P2); the output is a local variable (P3).
        if unsafe { (real.cuCtxGetCurrent)(&mut context) } != 0 {
            return None;
        }
        let (device, ordinal) = self.current_device(real)?;
        let mut contexts = lock(&self.contexts);
        let create = || self.new_context(real, context, device, ordinal);
        contexts.entry(context.addr()).or_insert_with(create).clone()
    }

    /// A recorder for a context of the device with that name and ordinal.
    fn new_context(
        &'static self,
        real: &Functions,
        handle: *mut c_void,
        device: String,
        ordinal: u32,
    ) -> Option<Arc<ContextRecorder>> {
        let primary = is_primary(real, handle, ordinal);
        // SAFETY: the driver has just returned it as the thread's current context (P5). The recorder's use
        // ends before the context does (`contexts`).
        let context = unsafe { Context::foreign(handle) };
        let sink = move |f: Finished| self.finished(f);
        let options = self.options;
        let bytes = device_memory(real, options);
        let memory = RecorderMemory {
            device: bytes,
            tables: table_bytes(options, bytes),
            // A flight recorder's memory has to survive the context.
            on_host: options.rings(),
            host: options.host_memory / self.devices.len().max(1) as u64,
        };
        let hashes = options.launch_hashes.then(|| self.own_code(LAUNCH_HASHES, ordinal)).flatten();
        let kept = (options.level, hashes.as_deref());
        let recorder = Library::open().and_then(|library| {
            Recorder::new(Arc::new(CudaQueue::new(library, context)), kept, memory, sink)
        });
        match recorder {
            Ok(recorder) => {
                recorder.set_table_interval(options.interval);
                let digests = options.digest.map(|max_bytes| self.new_digests(context, ordinal, max_bytes));
                if let Some(Err(why)) = &digests {
                    log::warn_once(&format!("nothing is digested on {device}: {why}"));
                }
                let changes =
                    options.memory_changes.and_then(|most| self.new_changes(context, ordinal, most));
                let context = handle.addr();
                let made = ContextRecorder { recorder, context, primary, device, ordinal, digests, changes };
                Some(Arc::new(made))
            }
            Err(e) => {
                log::warn_once(&format!("nothing is recorded on {device}: {}", e.message));
                None
            }
        }
    }

    /// The code of a kernel of PRLX's own, for the device with that ordinal; `None` if there is none.
    fn own_code(&self, ptx: &str, ordinal: u32) -> Option<Vec<u8>> {
        let device = self.devices.iter().find(|d| d.ordinal == ordinal)?;
        Some(rewrite::assemble_own(ptx, Target::of(device.capability)))
    }

    /// Digests for the launches of a context, of at most `max_bytes` for each launch.
    fn new_digests(&self, context: Context, ordinal: u32, max_bytes: u64) -> Result<Arc<Digests>, String> {
        let image = self.own_code(pointee_digest::PTX, ordinal).ok_or("its device is not known")?;
        let digests = Library::open().and_then(|l| Digests::new(l, context, ordinal, &image, max_bytes));
        digests.map(Arc::new).map_err(|e| e.message)
    }

    /// Finds what launches of a context change in at most `most` bytes for each launch. Says why, if that is
    /// impossible.
    fn new_changes(&self, context: Context, ordinal: u32, most: u64) -> Option<ChangeFinder> {
        let image = self.own_code(memory_changes::PTX, ordinal)?;
        let library = Library::open().ok()?;
        let made = ChangeFinder::new(library, context, ordinal, &image, most);
        let warn = |e: String| log::warn_once(&format!("what launches change in memory is not known: {e}"));
        made.map_err(|e| warn(e.during("changes").message)).ok()
    }

    /// Appends the launches that `take` takes from the queue of launches that wait for digests.
    pub(super) fn append_digested(
        &self,
        context: &ContextRecorder,
        take: impl FnOnce(&DigestQueue, &Arc<Digests>) -> Vec<(Launch, Streams)>,
    ) {
        if let Some(Ok(digests)) = &context.digests {
            self.append_taken(|queue| take(queue, digests));
        }
    }

    /// As [`Session::append_digested`], for the launches of all contexts.
    pub(super) fn append_taken(&self, take: impl FnOnce(&DigestQueue) -> Vec<(Launch, Streams)>) {
        let _order = lock(&self.appending);
        take(&self.digest_queue).iter().for_each(|(launch, streams)| self.append(launch, streams));
    }

    /// Digests launches that wait for others, of this context or of all.
    pub(super) fn digest_batches(&self, context: Option<&ContextRecorder>) {
        if !self.options.batched_digests {
            return;
        }
        let digests = context.map(|context| context.digests.as_ref().and_then(|d| d.as_ref().ok()));
        self.digest_queue.digest_batches(|batch| {
            digests.is_none_or(|digests| digests.is_some_and(|digests| batch.has(digests)))
        });
    }

    /// Starts to digest a launch that is about to go into `stream`. Returns whether it is digested; if the
    /// context has no digests, `launch` gets the reason.
    pub(super) fn begin_digest(
        &self,
        context: &ContextRecorder,
        launch: &mut Launch,
        stream: *mut c_void,
        layout: &[(usize, usize)],
    ) -> bool {
        match &context.digests {
            None => false,
            Some(Err(why)) => {
                launch.undigested = Some(why.clone());
                false
            }
            Some(Ok(digests)) => {
                // SAFETY: the program launches into this stream, so the driver knows it during the call (P5).
                let stream = unsafe { Stream::foreign(stream) };
                self.digest_queue.begin(digests, launch, stream, layout)
            }
        }
    }

    /// Name and ordinal of the current context's device.
    fn current_device(&self, real: &Functions) -> Option<(String, u32)> {
        let mut ordinal = 0;
        // SAFETY: the driver's function (P2); the output is a local variable (P3).
        let code = unsafe { (real.cuCtxGetDevice)(&mut ordinal) };
        let device = self.devices.iter().find(|d| code == 0 && i64::from(d.ordinal) == i64::from(ordinal))?;
        Some((device.name.clone(), device.ordinal))
    }

    /// The sink of the recorders: a launch has ended and is decoded.
    fn finished(&self, finished: Finished) {
        for damage in &finished.damage {
            log::warn_once(&format!("a recording is damaged: {damage}"));
        }
        self.write(|file| {
            finished.tallies.iter().try_for_each(|tally| file.tally(tally))?;
            finished.marks.iter().try_for_each(|marks| file.marks(marks))
        });
        let mut launch = finished.recording.launch;
        if let Some(host) = &mut launch.host {
            let times = finished.host_times;
            host.called = times.called.map(|[called, answered]| (self.since(called), self.since(answered)));
            host.seen = times.seen.map(|at| self.since(at));
        }
        let ended = self.digest_queue.ended(launch, finished.recording.streams);
        ended.into_iter().for_each(|(launch, streams)| self.append(&launch, &streams));
    }

    /// Appends a launch to the file.
    pub(super) fn append(&self, launch: &Launch, streams: &Streams) {
        self.write(|file| file.launch(launch, streams));
    }

    /// Appends a launch that is not recorded, with the reason.
    pub(super) fn append_skipped(&self, launch: Launch, why: &str) {
        self.append(&Launch { skipped: Some(why.to_owned()), ..launch }, &Streams::default());
    }

    /// The process's next launch, of a rewritten kernel with these parameters. The second value says why it
    /// is not to be recorded, if so.
    pub(super) fn rewritten_launch(
        &self,
        real: &Functions,
        module: &Module,
        kernel: &Kernel,
        shape: &Shape,
        params: Vec<u8>,
    ) -> Option<(Launch, Option<&'static str>)> {
        let index = self.module_index(module);
        let function = module.plan.module.functions.get(kernel.function)?;
        let launch = self.new_launch(real, shape);
        let (grid, unit) = (launch.grid, kernel.grid_unit);
        let grid = Dim3 {
            x: grid.x.saturating_mul(unit.x),
            y: grid.y.saturating_mul(unit.y),
            z: grid.z.saturating_mul(unit.z),
        };
        let args =
            function.params.iter().map(|p| ArgInfo { name: p.name.clone(), ty: p.ty, ..ArgInfo::default() });
        let launch = Launch {
            module: ModuleId(index?),
            kernel: FuncId(kernel.function as u32),
            grid,
            params,
            args: args.collect(),
            fidelity: module.fidelity,
            cluster: launch.cluster.filter(|c| c.volume() > 1).or(kernel.cluster).or(launch.cluster),
            ..launch
        };
        let selected = self.options.wants(&function.name);
        let skipped = match self.in_part(&function.name, &launch) {
            false => Some(OUTSIDE),
            true => {
                let mut filter = lock(&self.launch_filter);
                filter.skip_reason(self.options, selected, launch.number, launch.start)
            }
        };
        Some((launch, skipped))
    }

    /// Whether a launch lies between `--from` and `--to`, and in a range of `--range`. Each launch is asked
    /// for once.
    pub(super) fn in_part(&self, kernel: &str, launch: &Launch) -> bool {
        let names = lock(&self.ranges);
        lock(&self.launch_part).takes(&self.options.part, (kernel, launch.number), launch, &names.0)
    }

    /// A module's index in the file. The first call writes the module.
    pub(super) fn module_index(&self, module: &Module) -> Option<u32> {
        *module.index.get_or_init(|| self.write(|file| file.module(&module.plan.module)).map(|id| id.0))
    }

    /// The process's next launch, with its shape, device and thread, but without its kernel.
    pub(super) fn new_launch(&self, real: &Functions, shape: &Shape) -> Launch {
        let (device, ordinal) = self.current_device(real).unwrap_or_default();
        let dims = |[x, y, z]: [u32; 3]| Dim3 { x, y, z };
        Launch {
            grid: dims(shape.grid),
            block: dims(shape.block),
            shared: shape.shared,
            warp_size: WarpSize::W32,
            level: self.options.level,
            window: self.options.zoom.as_ref().map(|c| c.window.clone()),
            cluster: shape.cluster.map(dims),
            device,
            ordinal,
            number: self.launches.fetch_add(1, Ordering::Relaxed),
            start: self.since(Instant::now()),
            host: Some(self.host()),
            ranges: self.ranges(),
            ..Launch::default()
        }
    }

    /// The NVTX ranges around what this thread does now. Names that are new are written to the file.
    fn ranges(&self) -> Vec<LaunchRange> {
        let current = nvtx::current();
        if current.is_empty() {
            return Vec::new();
        }
        let mut ranges = lock(&self.ranges);
        let (names, ids) = &mut *ranges;
        let id = |(name, instance): (Arc<RangeName>, u64)| {
            let id = match ids.get(&name) {
                Some(id) => *id,
                None => {
                    let id = self.write(|file| file.range(&name))?;
                    names.push(RangeName::clone(&name));
                    ids.insert(name, id);
                    id
                }
            };
            Some(LaunchRange { name: id, instance })
        };
        current.into_iter().filter_map(id).collect()
    }

    /// Time since the process started recording.
    fn since(&self, at: Instant) -> Nanos {
        at.saturating_duration_since(self.started).into()
    }

    /// What a launch records about this thread before the driver is called.
    fn host(&self) -> Host {
        let thread = THREAD.get().unwrap_or_else(|| self.threads.fetch_add(1, Ordering::Relaxed));
        THREAD.set(Some(thread));
        let last_wait = LAST_WAIT.get().map(|times| times.map(|at| self.since(at)));
        let held = last_wait.map_or(Nanos(0), |[_, ended, returned]| returned - ended);
        Host { thread, waited: last_wait.map(|[begun, ended, _]| (begun, ended)), held, ..Host::default() }
    }

    /// The module in the file that stands for the module of an unchanged kernel. The first call writes it.
    pub(super) fn unchanged_module(
        &self,
        name: &str,
        layout: &[(usize, usize)],
        why: &str,
    ) -> Option<ModuleId> {
        let mut modules = lock(&self.unchanged_modules);
        *modules.entry((name.to_owned(), layout.to_vec())).or_insert_with(|| {
            let (skipped, params) = (Some(why.to_owned()), unnamed_params(layout).collect());
            let function =
                Function { name: name.to_owned(), kernel: true, skipped, params, ..Function::default() };
            let module = prlx_trace::kernel::Module { functions: vec![function], ..Default::default() };
            self.write(|file| file.module(&module))
        })
    }

    /// Number of a stream; 0 for the default stream.
    pub(super) fn stream_number(&self, handle: *mut c_void) -> u32 {
        let mut streams = lock(&self.streams);
        let next = streams.len() as u32 + 1;
        if handle.addr() <= stream::LEGACY as usize {
            0
        } else {
            *streams.entry(handle.addr()).or_insert(next)
        }
    }
}

/// Device memory for recording that is enough for probes, and the least for streams, in bytes.
const DEVICE_MEMORY: u64 = 256 << 20;
/// The most device memory for streams that is taken unasked, in bytes.
const MAX_DEVICE_MEMORY: u64 = 2 << 30;

/// Bytes of device memory for recording in the current context: what the session asks for, or a part of what
/// is free.
fn device_memory(real: &Functions, options: &Options) -> u64 {
    let (mut free, mut all) = (0, 0);
    if options.memory != 0 {
        return options.memory;
    }
    // SAFETY: the driver's function (P2); outputs are local variables (P3).
    if options.probe.is_some() || unsafe { (real.cuMemGetInfo_v2)(&mut free, &mut all) } != 0 {
        return DEVICE_MEMORY;
    }
    // On a device that is nearly full, the program needs the rest.
    let free = free as u64;
    (free / 8).clamp(DEVICE_MEMORY.min(free / 2), MAX_DEVICE_MEMORY)
}

/// Bytes of the memory for recording that the tables of a probe program get: most of it if the program has no
/// records, a quarter otherwise.
fn table_bytes(options: &Options, memory: u64) -> u64 {
    let rest = memory.saturating_sub(CONTEXT_BYTES);
    match &options.probe {
        None => 0,
        Some(program) if program.keeps_records() => rest / 4,
        Some(_) => rest - rest / 8,
    }
}

/// The number of launches that the process has made; `None` before it has loaded a module.
pub fn launch_count() -> Option<u64> {
    Some(SESSION.get()?.as_ref()?.launches.load(Ordering::Relaxed))
}

/// Notes when this thread's last wait for a device began and ended, and when the hook returned.
pub fn set_last_wait(times: [Instant; 3]) {
    LAST_WAIT.set(Some(times));
}

/// Parameters of which only offset and size are known. Their types are untyped words of that size.
pub(super) fn unnamed_params(layout: &[(usize, usize)]) -> impl Iterator<Item = Param> {
    layout.iter().enumerate().map(|(i, (at, size))| {
        let ty = match size {
            2 => Scalar::B16,
            4 => Scalar::B32,
            8 => Scalar::B64,
            _ => Scalar::B8,
        };
        Param { name: format!("parameter {i}"), ty, offset: *at as u32, size: *size as u32 }
    })
}
