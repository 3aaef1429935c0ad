//! The recording of this process: its file, its options, and the state of its contexts and graphs.
#![allow(unsafe_code, reason = "the driver's handles")]

use crate::recording::launch_shape::Shape;
use crate::recording::lock::lock;
use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::fs::File;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use prlx_driver::cuda::calls::stream;
use prlx_driver::cuda::pointee_digest::Digests;
use prlx_driver::cuda::recorder::{Finished, Recorder, RecorderMemory};
use prlx_driver::cuda::{Context, Functions, Library, Stream, pointee_digest};
use prlx_driver::session::{LaunchFilterState, Options};
use prlx_isa::image::Target;
use prlx_trace::ids::Nanos;
use prlx_trace::kernel::{Function, Param, Scalar};
use prlx_trace::launch::{ArgInfo, Host};
use prlx_trace::process::Device;
use prlx_trace::{Dim3, FuncId, Launch, ModuleId, Streams, Writer};

use crate::recording::context_recorder::Of;
use crate::recording::devices::is_primary;
use crate::recording::digest_queue::Digesting;
use crate::recording::graph_nodes::Graphs;
use crate::recording::live_file::Live;
use crate::rewritten_module::{Kernel, Module};
use crate::{log, rewrite};

/// What contexts take of the memory, at least.
const CONTEXTS: u64 = 1 << 20;

/// The recording of this process.
pub(super) struct Session {
    pub(super) options: &'static Options,
    pub(super) started: Instant,
    pub(super) devices: Vec<Device>,
    /// None: it is whole, or nothing more can be written.
    pub(super) file: Mutex<Option<Writer<File>>>,
    pub(super) choice: Mutex<LaunchFilterState>,
    /// Of launches that are digested alone.
    pub(super) others_choice: Mutex<LaunchFilterState>,
    pub(super) digesting: Digesting,
    /// Launches so far.
    pub(super) launches: AtomicU64,
    /// Threads that launched something, so far.
    pub(super) threads: AtomicU32,
    /// By a kernel that was not rewritten, its name and its parameters as far as they are known: the module
    /// that stands for its own.
    pub(super) others: Mutex<HashMap<(String, Places), Option<ModuleId>>>,
    /// Streams by order of first use.
    pub(super) streams: Mutex<HashMap<usize, u32>>,
    /// By context; none where there can't be one.
    pub(super) contexts: Mutex<HashMap<usize, Option<Arc<Of>>>>,
    pub(super) graphs: Mutex<Graphs>,
    pub(super) live: Live,
}

pub(super) static SESSION: OnceLock<Option<Session>> = OnceLock::new();

thread_local! {
    /// The thread's number among those that launch.
    static THREAD: Cell<Option<u32>> = const { Cell::new(None) };
    /// The thread's last wait for a device: its begin, its end, and when the program went on.
    static WAITED: Cell<Option<[Instant; 3]>> = const { Cell::new(None) };
}

impl Session {
    /// Appends to the file; after a failure nothing more.
    pub(super) fn write<T>(&self, what: impl FnOnce(&mut Writer<File>) -> std::io::Result<T>) -> Option<T> {
        let mut file = lock(&self.file);
        match what(file.as_mut()?) {
            Ok(done) => Some(done),
            Err(e) => {
                *file = None;
                log::warn_once(&format!("recording stops: {}: {e}", self.options.folder.display()));
                None
            }
        }
    }

    /// What is recorded of the thread's context.
    pub(super) fn here(&'static self, real: &Functions) -> Option<Arc<Of>> {
        let mut context = null_mut();
        // SAFETY: a place for the answer.
        if unsafe { (real.cuCtxGetCurrent)(&mut context) } != 0 {
            return None;
        }
        let (device, ordinal) = self.device(real)?;
        let mut contexts = lock(&self.contexts);
        contexts
            .entry(context.addr())
            .or_insert_with(|| {
                let (primary, address) = (is_primary(real, context, ordinal), context.addr());
                // SAFETY: the driver gave it out just now; it is used while the program uses it.
                let context = unsafe { Context::foreign(context) };
                let sink = move |f: Finished| self.finished(f);
                let Options { level, memory: most, host_memory, .. } = *self.options;
                let host = host_memory / self.devices.len().max(1) as u64;
                // A flight recorder's has to outlive the context.
                let kept = self.options.rings();
                let memory = RecorderMemory { device: most, tables: tables(self.options), kept, host };
                let made = Library::open().and_then(|l| Recorder::new(l, context, level, memory, sink));
                match made {
                    Ok(recorder) => {
                        recorder.set_table_interval(Duration::from_nanos(self.options.interval));
                        let digests = self.options.digest.map(|most| self.digests(context, ordinal, most));
                        if let Some(Err(why)) = &digests {
                            log::warn_once(&format!("nothing is digested on {device}: {why}"));
                        }
                        Some(Arc::new(Of { recorder, context: address, primary, device, ordinal, digests }))
                    }
                    Err(e) => {
                        log::warn_once(&format!("nothing is recorded on {device}: {}", e.message));
                        None
                    }
                }
            })
            .clone()
    }

    /// What digests a context's launches.
    fn digests(&self, context: Context, ordinal: u32, most: u64) -> Result<Arc<Digests>, String> {
        let device = self.devices.iter().find(|d| d.ordinal == ordinal).ok_or("it is not known")?;
        let image = rewrite::own(pointee_digest::PTX, Target::of(device.capability));
        let made = Library::open().and_then(|l| Digests::new(l, context, ordinal, &image, most));
        made.map(Arc::new).map_err(|e| e.message)
    }

    /// Appends launches that waited for digests, as `which` gives them.
    pub(super) fn digested(
        &self,
        of: &Of,
        which: impl FnOnce(&Digesting, &Arc<Digests>) -> Vec<(Launch, Streams)>,
    ) {
        if let Some(Ok(digests)) = &of.digests {
            which(&self.digesting, digests).iter().for_each(|(launch, streams)| self.append(launch, streams));
        }
    }

    /// Before a launch: puts its digest into the stream. Whether it did.
    pub(super) fn digest(
        &self,
        of: &Of,
        launch: &mut Launch,
        stream: *mut c_void,
        places: &[(usize, usize)],
    ) -> bool {
        match &of.digests {
            None => false,
            Some(Err(why)) => {
                launch.undigested = Some(why.clone());
                false
            }
            Some(Ok(digests)) => {
                // SAFETY: the program's stream, which it is about to use.
                self.digesting.begin(digests, launch, unsafe { Stream::foreign(stream) }, places)
            }
        }
    }

    /// The device of the thread's context: its name and ordinal.
    fn device(&self, real: &Functions) -> Option<(String, u32)> {
        let mut ordinal = 0;
        // SAFETY: a place for the answer.
        let code = unsafe { (real.cuCtxGetDevice)(&mut ordinal) };
        let device = self.devices.iter().find(|d| code == 0 && i64::from(d.ordinal) == i64::from(ordinal))?;
        Some((device.name.clone(), device.ordinal))
    }

    /// A launch has ended.
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
            host.called = finished
                .host_times
                .called
                .map(|[called, answered]| (self.since(called), self.since(answered)));
            host.seen = finished.host_times.seen.map(|at| self.since(at));
        }
        let ended = self.digesting.ended(launch, finished.recording.streams);
        ended.into_iter().for_each(|(launch, streams)| self.append(&launch, &streams));
    }

    pub(super) fn append(&self, launch: &Launch, streams: &Streams) {
        self.write(|file| file.launch(launch, streams));
    }

    /// What is said of a launch; and, if it is not to be recorded, why.
    pub(super) fn launch(
        &self,
        real: &Functions,
        module: &Module,
        kernel: &Kernel,
        shape: &Shape,
        params: Vec<u8>,
    ) -> Option<(Launch, Option<&'static str>)> {
        let id = self.number(module);
        let function = module.plan.module.functions.get(kernel.function)?;
        let said = self.described(real, shape);
        let (grid, each) = (said.grid, kernel.counted);
        let grid = Dim3 {
            x: grid.x.saturating_mul(each.x),
            y: grid.y.saturating_mul(each.y),
            z: grid.z.saturating_mul(each.z),
        };
        let args =
            function.params.iter().map(|p| ArgInfo { name: p.name.clone(), ty: p.ty, ..ArgInfo::default() });
        let launch = Launch {
            module: ModuleId(id?),
            kernel: FuncId(kernel.function as u32),
            grid,
            params,
            args: args.collect(),
            fidelity: module.fidelity,
            cluster: said.cluster.filter(|c| c.volume() > 1).or(kernel.cluster).or(said.cluster),
            ..said
        };
        let wanted = self.options.wants(&function.name);
        let why = lock(&self.choice).skip_reason(self.options, wanted, launch.number, launch.start.0);
        Some((launch, why))
    }

    /// A module's number in the file, where it is put when it is first asked for.
    pub(super) fn number(&self, module: &Module) -> Option<u32> {
        *module.number.get_or_init(|| self.write(|file| file.module(&module.plan.module)).map(|id| id.0))
    }

    /// The process's next launch, by its shape and its device alone.
    pub(super) fn described(&self, real: &Functions, shape: &Shape) -> Launch {
        let (device, ordinal) = self.device(real).unwrap_or_default();
        let dims = |[x, y, z]: [u32; 3]| Dim3 { x, y, z };
        Launch {
            grid: dims(shape.grid),
            block: dims(shape.block),
            shared: shape.shared,
            warp_size: 32,
            level: self.options.level,
            window: self.options.zoom.as_ref().map(|c| c.window.clone()),
            cluster: shape.cluster.map(dims),
            device,
            ordinal,
            number: self.launches.fetch_add(1, Ordering::Relaxed),
            start: self.since(Instant::now()),
            host: Some(self.host()),
            ..Launch::default()
        }
    }

    /// Nanoseconds since the process started.
    fn since(&self, at: Instant) -> Nanos {
        let nanos = at.saturating_duration_since(self.started).as_nanos();
        Nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// What is known of a launch's thread before it is made.
    fn host(&self) -> Host {
        let thread = THREAD.get().unwrap_or_else(|| self.threads.fetch_add(1, Ordering::Relaxed));
        THREAD.set(Some(thread));
        let waited = WAITED.get().map(|all| all.map(|at| self.since(at)));
        let held = waited.map_or(Nanos(0), |[_, ended, on]| on - ended);
        Host { thread, waited: waited.map(|[begun, ended, _]| (begun, ended)), held, ..Host::default() }
    }

    /// The module that stands for that of a kernel that was not rewritten.
    pub(super) fn other(&self, name: &str, places: &[(usize, usize)], why: &str) -> Option<ModuleId> {
        let mut others = lock(&self.others);
        *others.entry((name.to_owned(), places.to_vec())).or_insert_with(|| {
            let (skipped, params) = (Some(why.to_owned()), named(places).collect());
            let function =
                Function { name: name.to_owned(), kernel: true, skipped, params, ..Function::default() };
            let module = prlx_trace::kernel::Module { functions: vec![function], ..Default::default() };
            self.write(|file| file.module(&module))
        })
    }

    /// Writes a launch down that is not recorded.
    pub(super) fn left_out(&self, launch: Launch, why: &str) {
        self.append(&Launch { skipped: Some(why.to_owned()), ..launch }, &Streams::default());
    }

    /// The number of a stream.
    pub(super) fn stream(&self, handle: *mut c_void) -> u32 {
        let mut streams = lock(&self.streams);
        let next = streams.len() as u32 + 1;
        if handle.addr() <= stream::LEGACY as usize {
            0
        } else {
            *streams.entry(handle.addr()).or_insert(next)
        }
    }
}

/// How much of the memory for recording is for the tables of a probe program: all that contexts do not need,
/// if it has no records.
fn tables(options: &Options) -> u64 {
    let rest = options.memory.saturating_sub(CONTEXTS);
    match &options.probe {
        None => 0,
        Some(program) if program.keeps_records() => rest / 4,
        Some(_) => rest - rest / 8,
    }
}

/// This thread has waited for a device.
pub fn has_waited(times: [Instant; 3]) {
    WAITED.set(Some(times));
}

/// Parameters of which no more is known: what they are called, and what they may be by their size.
pub(super) fn named(places: &[(usize, usize)]) -> impl Iterator<Item = Param> {
    places.iter().enumerate().map(|(i, (at, size))| {
        let ty = match size {
            2 => Scalar::B16,
            4 => Scalar::B32,
            8 => Scalar::B64,
            _ => Scalar::B8,
        };
        Param { name: format!("parameter {i}"), ty, offset: *at as u32, size: *size as u32 }
    })
}

/// Where a kernel's parameters lie, and how many bytes each has.
pub type Places = Vec<(usize, usize)>;
