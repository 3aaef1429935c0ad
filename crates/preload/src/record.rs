//! The process's recording: its file in the session's folder, a recorder for each context, and what is said of each launch.
//!
//! Holds: a launch is recorded, or its reason is written down. The file is made when
//! the first module is rewritten, is appended to while the program runs, and is whole when the program ends by `exit`.
//! Misses: launches of modules that were left as they are, by graphs; digests of launches of graphs.
#![allow(unsafe_code, reason = "the driver's handles")]

mod graphs;
mod live;

pub use self::graphs::{Node, Replayed, changed, context_of, is_node, node, ready, ready_gone, replay};

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::fs::File;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

use prlx_driver::cuda::calls::{attribute, stream};
use prlx_driver::cuda::pointee_digest::{self, Digests};
use prlx_driver::cuda::recorder::{Finished, Memory, Recorder, Spent, Ticket};
use prlx_driver::cuda::{Context, Functions, Library, Stream, sticky};
use prlx_driver::session::{self, Choice, Options};
use prlx_isa::image::Target;
use prlx_trace::device::Handed;
use prlx_trace::ids::Nanos;
use prlx_trace::kernel::{Function, Param, Scalar};
use prlx_trace::launch::{ArgInfo, Host};
use prlx_trace::process::{Device, Skipped};
use prlx_trace::{Dim3, FuncId, Launch, ModuleId, Streams, Writer};

use self::graphs::Graphs;
use self::live::Live;
use crate::digests::Digesting;
use crate::known::{Kernel, Module};
use crate::{rewrite, say};
use prlx_driver::workers::WORKERS;

/// The longest that a program's end waits for its recording.
const END: Duration = Duration::from_secs(10);

/// The longest that it waits where a handler of signals may be what ends it, which may have stopped anything.
const LEAVE: Duration = Duration::from_secs(3);

/// What contexts take of the memory, at least.
const CONTEXTS: u64 = 1 << 20;

/// How many launches that wait for digests are looked at for each that begins.
const LOOKS: usize = 8;
/// Why others have none.
const NO_PARAMS: &str = "the driver does not tell of its kernel's parameters";

/// The recording of this process.
struct Session {
    options: &'static Options,
    started: Instant,
    devices: Vec<Device>,
    /// None: it is whole, or nothing more can be written.
    file: Mutex<Option<Writer<File>>>,
    choice: Mutex<Choice>,
    /// Of launches that are digested alone.
    others_choice: Mutex<Choice>,
    digesting: Digesting,
    /// Launches so far.
    launches: AtomicU64,
    /// Threads that launched something, so far.
    threads: AtomicU32,
    /// By a kernel that was not rewritten, its name and its parameters as far as they are known: the module that stands for its own.
    others: Mutex<HashMap<(String, Places), Option<ModuleId>>>,
    /// Streams by order of first use.
    streams: Mutex<HashMap<usize, u32>>,
    /// By context; none where there can't be one.
    contexts: Mutex<HashMap<usize, Option<Arc<Of>>>>,
    graphs: Mutex<Graphs>,
    live: Live,
}

/// What is recorded of one context.
pub struct Of {
    recorder: Recorder,
    context: usize,
    /// Whether it is its device's primary one.
    primary: bool,
    device: String,
    ordinal: u32,
    /// Or why there are none.
    digests: Option<Result<Arc<Digests>, String>>,
}

impl Of {
    /// Whether it is of this context.
    pub fn is(&self, context: *mut c_void) -> bool {
        self.context == context.addr()
    }
    /// Whether it is of this device's primary context.
    pub fn is_of(&self, device: i32) -> bool {
        self.primary && self.ordinal == device as u32
    }
}

/// How a kernel is started.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// CTAs, or clusters if the kernel counts those.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// Dynamic shared memory, bytes.
    pub shared: u32,
    /// CTAs of a cluster, where it is said.
    pub cluster: Option<[u32; 3]>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

static SESSION: OnceLock<Option<Session>> = OnceLock::new();

/// This process's; `None` where there can't be one.
fn session(real: &Functions) -> Option<&'static Session> {
    SESSION.get_or_init(|| Session::new(real)).as_ref()
}

/// These contexts are about to go, or the program: what they recorded is brought in. A later launch begins anew.
pub fn bring_in(which: impl Fn(&Of) -> bool) {
    bring(which, true);
}
/// The same of contexts that may have gone: `there` says if not.
fn bring(which: impl Fn(&Of) -> bool, there: bool) {
    let Some(Some(session)) = SESSION.get() else { return };
    let mut gone = Vec::new();
    // What is in the file is not beside it.
    let live = session.live.stop();
    lock(&session.contexts).retain(|_, of| match of {
        Some(of) if which(of) => {
            gone.push(Arc::clone(of));
            false
        }
        _ => true,
    });
    for of in &gone {
        let (counts, died) = of.recorder.finish(END);
        if let Some(why) = died {
            let more = match one_by_one() {
                true => "",
                false => "; with CUDA_LAUNCH_BLOCKING=1 every launch is safe before the next one runs",
            };
            say::once(&format!("the recording is not whole: {why}{more}"));
        }
        let tallies = of.recorder.tallies();
        session.write(|file| tallies.iter().flat_map(|(_, of)| of).try_for_each(|tally| file.tally(tally)));
        let (Spent { apart, handing }, ms) = (of.recorder.spent(), |d: Duration| d.as_secs_f64() * 1e3);
        let spent =
            format!("{:.1} ms to take streams apart, {:.1} to pack and write them", ms(apart), ms(handing));
        say::log(&format!("{}: {counts:?}; {spent}", of.device));
        session.digested(of, |digesting, digests| digesting.rest(digests, there));
    }
    drop(live);
    if !gone.is_empty() {
        let mut graphs = lock(&session.graphs);
        *graphs = Graphs { count: graphs.count, ..Graphs::default() };
    }
}

/// Whether the driver waits for every launch, as it does where the user asks for it (CUDA's own `CUDA_LAUNCH_BLOCKING`).
fn one_by_one() -> bool {
    static ASKED: LazyLock<bool> =
        LazyLock::new(|| std::env::var("CUDA_LAUNCH_BLOCKING").is_ok_and(|v| !v.is_empty() && v != "0"));
    *ASKED
}

thread_local! {
    /// The thread's number among those that launch.
    static THREAD: Cell<Option<u32>> = const { Cell::new(None) };
    /// The thread's last wait for a device: its begin, its end, and when the program went on.
    static WAITED: Cell<Option<[Instant; 3]>> = const { Cell::new(None) };
}

/// This thread has waited for a device.
pub fn has_waited(times: [Instant; 3]) {
    WAITED.set(Some(times));
}

/// The program has waited for something: what has ended is brought in.
pub fn waited(real: &Functions) {
    let Some(Some(session)) = SESSION.get() else { return };
    let mut context = null_mut();
    // SAFETY: a place for the answer.
    if unsafe { (real.cuCtxGetCurrent)(&mut context) } == 0 {
        let of = lock(&session.contexts).get(&context.addr()).cloned().flatten();
        if let Some(of) = of {
            of.recorder.bring_in();
            session.digested(&of, |digesting, _| digesting.come(usize::MAX));
        }
    }
}

/// A device's primary context may be about to go: its recorder is quiet until [`released`].
pub fn hold(device: i32) -> Option<Arc<Of>> {
    let session = SESSION.get()?.as_ref()?;
    let of = lock(&session.contexts).values().flatten().find(|of| of.is_of(device)).cloned()?;
    session.digested(&of, Digesting::settled);
    of.recorder.hold();
    Some(of)
}
/// It was given back once, and may be gone.
pub fn released(real: &Functions, device: i32, of: Arc<Of>) {
    let (mut flags, mut active) = (0, 0);
    // SAFETY: places for the answers.
    let there =
        unsafe { (real.cuDevicePrimaryCtxGetState)(device, &mut flags, &mut active) } != 0 || active != 0;
    of.recorder.go_on(there);
    if !there {
        crate::known::modules_gone();
        bring(|other| other.is_of(device), false);
    }
}

/// The program's end, by `exit`: the file is whole.
fn end() {
    bring_in(|_| true);
    let Some(Some(session)) = SESSION.get() else { return };
    say::log(&format!("{} launches", session.launches.load(Ordering::Relaxed)));
    let ended = lock(&session.file).take().map(Writer::finish).transpose();
    if let Err(e) = ended {
        say::once(&format!("the recording: {e}"));
    }
}

extern "C" fn at_exit() {
    crate::think::think(|| {
        end();
        Some(())
    });
}

/// The thread that ends the recording where the program leaves by `_exit`: that may be from a handler of signals, in which
/// nothing may be locked or allocated.
struct Ender {
    pid: u32,
    thread: Thread,
    asked: AtomicBool,
    done: AtomicBool,
}

/// The program's handlers are not for this thread, which is ours.
fn no_signals() {
    // SAFETY: a set of all signals, for this thread.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &all, null_mut());
    }
}

static ENDER: OnceLock<Ender> = OnceLock::new();

impl Ender {
    fn start() {
        let run = || {
            no_signals();
            let ender = loop {
                std::thread::park();
                if let Some(ender) = ENDER.get().filter(|e| e.asked.load(Ordering::Acquire)) {
                    break ender;
                }
            };
            crate::think::think(|| {
                end();
                Some(())
            });
            ender.done.store(true, Ordering::Release);
        };
        if let Ok(thread) = std::thread::Builder::new().name("prlx-end".into()).spawn(run) {
            let (asked, done) = (AtomicBool::new(false), AtomicBool::new(false));
            let _ =
                ENDER.set(Ender { pid: std::process::id(), thread: thread.thread().clone(), asked, done });
        }
    }
}

/// The program leaves, and nothing that it has registered is done. May be called anywhere, of a child that shares the
/// program's memory too.
pub fn leave() {
    let Some(ender) = ENDER.get().filter(|e| e.pid == std::process::id()) else { return };
    let start = Instant::now();
    ender.asked.store(true, Ordering::Release);
    ender.thread.unpark();
    while !ender.done.load(Ordering::Acquire) && start.elapsed() < LEAVE {
        std::thread::sleep(Duration::from_micros(200));
    }
}

impl Session {
    fn new(real: &Functions) -> Option<Session> {
        let options = rewrite::options()?;
        let mut process = session::this_process();
        let devices = devices(real);
        process.devices = devices.clone();
        let mut version = 0;
        // SAFETY: a place for the answer.
        if unsafe { (real.cuDriverGetVersion)(&mut version) } == 0 {
            process
                .versions
                .push(("driver".into(), format!("CUDA {}.{}", version / 1000, version % 1000 / 10)));
        }
        process.versions.extend(rewrite::tools().map(|t| ("assembler".to_owned(), t.to_owned())));
        let producer = concat!("prlx ", env!("CARGO_PKG_VERSION"));
        let file = session::create(&options.folder, &process).and_then(|(f, path)| {
            Ok((Writer::new(f, producer, Some(&process))?.with_workers(&WORKERS), path))
        });
        let (file, path) = file
            .map_err(|e| say::once(&format!("nothing is recorded: {}: {e}", options.folder.display())))
            .ok()?;
        // SAFETY: the function catches what goes wrong in it. What the program and its libraries have registered by now ends after it.
        unsafe { libc::atexit(at_exit) };
        Ender::start();
        let live = Live::new(&path);
        if options.rings() || options.probe.is_some() {
            live::start(Duration::from_nanos(options.interval));
        }
        Some(Session {
            options,
            started: Instant::now(),
            devices,
            file: Mutex::new(Some(file)),
            choice: Mutex::default(),
            others_choice: Mutex::default(),
            digesting: Digesting::default(),
            launches: AtomicU64::new(0),
            threads: AtomicU32::new(0),
            others: Mutex::default(),
            streams: Mutex::default(),
            contexts: Mutex::default(),
            graphs: Mutex::default(),
            live,
        })
    }

    /// Appends to the file; after a failure nothing more.
    fn write<T>(&self, what: impl FnOnce(&mut Writer<File>) -> std::io::Result<T>) -> Option<T> {
        let mut file = lock(&self.file);
        match what(file.as_mut()?) {
            Ok(done) => Some(done),
            Err(e) => {
                *file = None;
                say::once(&format!("recording stops: {}: {e}", self.options.folder.display()));
                None
            }
        }
    }

    /// What is recorded of the thread's context.
    fn here(&'static self, real: &Functions) -> Option<Arc<Of>> {
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
                let memory = Memory { device: most, tables: tables(self.options), kept, host };
                let made = Library::open().and_then(|l| Recorder::new(l, context, level, memory, sink));
                match made {
                    Ok(recorder) => {
                        recorder.every(Duration::from_nanos(self.options.interval));
                        let digests = self.options.digest.map(|most| self.digests(context, ordinal, most));
                        if let Some(Err(why)) = &digests {
                            say::once(&format!("nothing is digested on {device}: {why}"));
                        }
                        Some(Arc::new(Of { recorder, context: address, primary, device, ordinal, digests }))
                    }
                    Err(e) => {
                        say::once(&format!("nothing is recorded on {device}: {}", e.message));
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
    fn digested(&self, of: &Of, which: impl FnOnce(&Digesting, &Arc<Digests>) -> Vec<(Launch, Streams)>) {
        if let Some(Ok(digests)) = &of.digests {
            which(&self.digesting, digests).iter().for_each(|(launch, streams)| self.append(launch, streams));
        }
    }

    /// Before a launch: puts its digest into the stream. Whether it did.
    fn digest(&self, of: &Of, launch: &mut Launch, stream: *mut c_void, places: &[(usize, usize)]) -> bool {
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
            say::once(&format!("a recording is damaged: {damage}"));
        }
        self.write(|file| {
            finished.tallies.iter().try_for_each(|tally| file.tally(tally))?;
            finished.marks.iter().try_for_each(|marks| file.marks(marks))
        });
        let mut launch = finished.recording.launch;
        if let Some(host) = &mut launch.host {
            host.called =
                finished.told.called.map(|[called, answered]| (self.since(called), self.since(answered)));
            host.seen = finished.told.seen.map(|at| self.since(at));
        }
        let ended = self.digesting.ended(launch, finished.recording.streams);
        ended.into_iter().for_each(|(launch, streams)| self.append(&launch, &streams));
    }

    fn append(&self, launch: &Launch, streams: &Streams) {
        self.write(|file| file.launch(launch, streams));
    }

    /// What is said of a launch; and, if it is not to be recorded, why.
    fn launch(
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
        let why = lock(&self.choice).leaves_out(self.options, wanted, launch.number, launch.start.0);
        Some((launch, why))
    }

    /// A module's number in the file, where it is put when it is first asked for.
    fn number(&self, module: &Module) -> Option<u32> {
        *module.number.get_or_init(|| self.write(|file| file.module(&module.plan.module)).map(|id| id.0))
    }

    /// The process's next launch, by its shape and its device alone.
    fn described(&self, real: &Functions, shape: &Shape) -> Launch {
        let (device, ordinal) = self.device(real).unwrap_or_default();
        let dims = |[x, y, z]: [u32; 3]| Dim3 { x, y, z };
        Launch {
            grid: dims(shape.grid),
            block: dims(shape.block),
            shared: shape.shared,
            warp_size: 32,
            level: self.options.level,
            window: self.options.closer.as_ref().map(|c| c.window.clone()),
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
    fn other(&self, name: &str, places: &[(usize, usize)], why: &str) -> Option<ModuleId> {
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
    fn left_out(&self, launch: Launch, why: &str) {
        self.append(&Launch { skipped: Some(why.to_owned()), ..launch }, &Streams::default());
    }

    /// The number of a stream.
    fn stream(&self, handle: *mut c_void) -> u32 {
        let mut streams = lock(&self.streams);
        let next = streams.len() as u32 + 1;
        if handle.addr() <= stream::LEGACY as usize {
            0
        } else {
            *streams.entry(handle.addr()).or_insert(next)
        }
    }
}

/// How much of the memory for recording is for the tables of a probe program: all that contexts do not need, if it has no records.
fn tables(options: &Options) -> u64 {
    let rest = options.memory.saturating_sub(CONTEXTS);
    match &options.probe {
        None => 0,
        Some(program) if program.keeps_records() => rest / 4,
        Some(_) => rest - rest / 8,
    }
}

/// Whether a context is its device's primary one.
fn is_primary(real: &Functions, context: *mut c_void, ordinal: u32) -> bool {
    let device = ordinal as i32;
    let (mut primary, mut flags, mut active) = (null_mut(), 0, 0);
    // SAFETY: places for the answers; what is taken is given back.
    unsafe {
        if (real.cuDevicePrimaryCtxGetState)(device, &mut flags, &mut active) != 0 || active == 0 {
            return false;
        }
        if (real.cuDevicePrimaryCtxRetain)(&mut primary, device) == 0 {
            (real.cuDevicePrimaryCtxRelease_v2)(device);
        }
    }
    primary == context
}

/// The devices, as they say of themselves.
fn devices(real: &Functions) -> Vec<Device> {
    let mut count = 0;
    // SAFETY: a place for the answer.
    if unsafe { (real.cuDeviceGetCount)(&mut count) } != 0 {
        return Vec::new();
    }
    let of = |ordinal: i32| {
        let (mut major, mut minor, mut name) = (0, 0, [0u8; 256]);
        // SAFETY: places for the answers, the name's with its size.
        unsafe {
            (real.cuDeviceGetAttribute)(&mut major, attribute::MAJOR, ordinal);
            (real.cuDeviceGetAttribute)(&mut minor, attribute::MINOR, ordinal);
            (real.cuDeviceGetName)(name.as_mut_ptr().cast(), 255, ordinal);
        }
        let name = name.split(|b| *b == 0).next().unwrap_or_default();
        let name = String::from_utf8_lossy(name).into_owned();
        Device {
            ordinal: ordinal as u32,
            name,
            uuid: String::new(),
            capability: (major as u32, minor as u32),
        }
    };
    (0..count).map(of).collect()
}

/// A module was left as it is.
pub fn left(real: &Functions, module: &str, why: &str) {
    if let Some(session) = session(real) {
        let skipped = Skipped { module: module.to_owned(), kernel: None, reason: why.to_owned() };
        session.write(|file| file.skipped(&skipped));
    }
}

/// A module was rewritten with a probe program, or for its markers: it is in the recording though it may never be launched. `missed` is what
/// the program can't be told in it, and which markers are not recorded.
pub fn probed(real: &Functions, module: &Module, missed: &[String]) {
    let Some(session) = session(real) else { return };
    session.number(module);
    let of = &module.plan.module.name;
    for reason in missed {
        let skipped = Skipped { module: of.clone(), kernel: Some(of.clone()), reason: reason.clone() };
        session.write(|file| file.skipped(&skipped));
    }
}

/// A launch of something that was not rewritten, by what it is called: it stands in the recording, without streams, and with why.
/// `params` gives its parameters, and where each lies in them, if they can be known.
pub fn passed(
    real: &Functions,
    (name, why): (Option<&str>, &str),
    shape: &Shape,
    handle: *mut c_void,
    own: bool,
    params: impl FnOnce() -> Option<Parameters>,
) -> Option<Hidden> {
    let session = SESSION.get()?.as_ref()?;
    let mut launch = session.described(real, shape);
    let handle = in_stream(handle, own);
    // A node that a capture makes is no launch yet.
    if capturing(real, handle) {
        return None;
    }
    let name = name.unwrap_or("?");
    launch.stream = session.stream(handle);
    let (number, start) = (launch.number, launch.start);
    let of = || {
        let mut choice = lock(&session.others_choice);
        let out = choice.leaves_out(session.options, session.options.wants(name), number, start.0);
        drop(choice);
        if out.is_none() { session.here(real) } else { None }
    };
    let of = session.options.digest.and_then(|_| of());
    let found = of.as_ref().map(|_| params());
    let (bytes, places) = found.clone().flatten().unwrap_or_default();
    launch.module = session.other(name, &places, why)?;
    launch.args = named(&places).map(|p| ArgInfo { name: p.name, ty: p.ty, ..ArgInfo::default() }).collect();
    launch.params = bytes;
    let mut digested = false;
    if let Some(of) = of {
        session.digested(&of, |digesting, _| digesting.come(LOOKS));
        match found.flatten() {
            Some(_) => digested = session.digest(&of, &mut launch, handle, &places),
            None => launch.undigested = Some(NO_PARAMS.to_owned()),
        }
    }
    let launch = Launch { skipped: Some(why.to_owned()), ..launch };
    if let Some((launch, streams)) = session.digesting.ended(launch, Streams::default()) {
        session.append(&launch, &streams);
    }
    digested.then_some(Hidden::Digested(number, handle))
}

/// Where a kernel's parameters lie, and how many bytes each has.
pub type Places = Vec<(usize, usize)>;
/// A launch's parameters in one buffer, and where they lie there.
pub type Parameters = (Vec<u8>, Places);

/// Parameters of which no more is known: what they are called, and what they may be by their size.
fn named(places: &[(usize, usize)]) -> impl Iterator<Item = Param> {
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

/// The stream that a launch goes to; `own`: none is the thread's own.
fn in_stream(handle: *mut c_void, own: bool) -> *mut c_void {
    if own && handle.is_null() {
        std::ptr::without_provenance_mut(stream::PER_THREAD as usize)
    } else {
        handle
    }
}
/// Whether a stream is being captured, or can't be asked.
fn capturing(real: &Functions, handle: *mut c_void) -> bool {
    let mut status = 0;
    // SAFETY: the program's stream, and a place for the answer.
    unsafe { (real.cuStreamIsCapturing)(handle, &mut status) != 0 || status != 0 }
}

/// A launch that is being recorded. It goes to [`Begun::queued`].
pub struct Begun {
    ticket: Ticket,
    of: Arc<Of>,
    number: u64,
    stream: *mut c_void,
}

/// What a launch gets as its context.
pub enum Hidden {
    /// Nothing is recorded.
    Nothing,
    /// It is recorded, and perhaps digested.
    Begun(Begun),
    /// It is digested alone: its number, and its stream.
    Digested(u64, *mut c_void),
    /// It is a graph's node.
    Node(u64),
}

impl Hidden {
    /// The parameter that the program does not know of.
    pub fn handed(&self) -> Handed {
        match self {
            Hidden::Nothing | Hidden::Digested(..) => Handed::default(),
            Hidden::Begun(b) => b.ticket.handed,
            // Its context is filled before each launch of its graph.
            Hidden::Node(context) => Handed { context: *context, ..Handed::default() },
        }
    }
}

/// A rewritten kernel is about to be put into a stream; `own`: no stream is the thread's own.
pub fn begin(
    real: &Functions,
    (module, kernel): (&Arc<Module>, &Kernel),
    shape: &Shape,
    params: Vec<u8>,
    handle: *mut c_void,
    own: bool,
) -> Option<Hidden> {
    let session = session(real)?;
    let handle = in_stream(handle, own);
    if capturing(real, handle) {
        return Some(node(real).map_or(Hidden::Nothing, Hidden::Node));
    }
    let (mut launch, why) = session.launch(real, module, kernel, shape, params)?;
    launch.stream = session.stream(handle);
    if let Some(why) = why {
        session.left_out(launch, why);
        return None;
    }
    let Some(of) = session.here(real) else {
        session.left_out(launch, "there is no recorder for its context");
        return None;
    };
    session.digested(&of, |digesting, _| digesting.come(LOOKS));
    let digested = session.digest(&of, &mut launch, handle, &kernel.params);
    let number = launch.number;
    // SAFETY: the program's stream, which it is about to use.
    match of.recorder.begin(&module.plan, launch, unsafe { Stream::foreign(handle) }) {
        Ok(ticket) => Some(Hidden::Begun(Begun { ticket, of, number, stream: handle })),
        Err(_) => digested.then_some(Hidden::Digested(number, handle)),
    }
}

/// The driver was called for a launch that was begun, and has answered.
pub fn queued(hidden: Hidden, code: i32, called: [Instant; 2]) {
    let Some(Some(session)) = SESSION.get() else { return };
    let (number, stream) = match &hidden {
        Hidden::Begun(b) => (b.number, b.stream),
        Hidden::Digested(number, stream) => (*number, *stream),
        Hidden::Nothing | Hidden::Node(_) => return,
    };
    // SAFETY: the program's stream, which it has just used.
    session.digesting.queued(number, unsafe { Stream::foreign(stream) }, code == 0);
    if let Hidden::Begun(mut b) = hidden {
        b.ticket.called = Some(called);
        match code {
            // Who waits for a launch in its call is told there of its fault: it has run.
            code if one_by_one() && (code == 0 || sticky(code)) => {
                // SAFETY: as below.
                b.of.recorder.queued_alone(b.ticket, unsafe { Stream::foreign(b.stream) });
                session.digested(&b.of, |digesting, _| digesting.come(usize::MAX));
            }
            // SAFETY: the program's stream, which it has just used.
            0 => b.of.recorder.queued(b.ticket, unsafe { Stream::foreign(b.stream) }),
            _ => b.of.recorder.cancel(b.ticket),
        }
    }
}
