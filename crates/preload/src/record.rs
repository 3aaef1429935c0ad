//! The process's recording: its file in the session's folder, a recorder for each context, and what is said of each launch.
//!
//! Holds: a launch is recorded, or its reason is written down. The file is made when
//! the first module is rewritten, is appended to while the program runs, and is whole when the program ends by `exit`.
//! Misses: launches of modules that were left as they are, by graphs; digests of what pointers point to.
#![allow(unsafe_code, reason = "the driver's handles")]

use std::collections::HashMap;
use std::ffi::c_void;
use std::fs::File;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

use prlx_driver::cuda::calls::{attribute, stream};
use prlx_driver::cuda::recorder::{Finished, NodeId, Recorder, Replay, Ticket};
use prlx_driver::cuda::{Context, Functions, Library, Stream};
use prlx_driver::session::{self, Choice, Options};
use prlx_probe::{FunctionPlan, Plan};
use prlx_trace::kernel::Function;
use prlx_trace::launch::{ArgInfo, Origin};
use prlx_trace::process::{Device, Skipped};
use prlx_trace::{Dim3, FuncId, Launch, ModuleId, Streams, Writer};

use crate::known::{Kernel, Module};
use crate::{rewrite, say};

/// The longest that a program's end waits for its recording.
const END: Duration = Duration::from_secs(10);

/// The longest that it waits where a handler of signals may be what ends it, which may have stopped anything.
const LEAVE: Duration = Duration::from_secs(3);

/// Why launches of the rest are not recorded. What was wrong with each module is said of the process.
const PASSED: &str = "its module was not rewritten";

/// The recording of this process.
struct Session {
    options: &'static Options,
    started: Instant,
    devices: Vec<Device>,
    /// None: it is whole, or nothing more can be written.
    file: Mutex<Option<Writer<File>>>,
    choice: Mutex<Choice>,
    /// Launches so far.
    launches: AtomicU64,
    /// By name of a kernel that was not rewritten: the module that stands for its own.
    others: Mutex<HashMap<String, Option<ModuleId>>>,
    /// Streams by order of first use.
    streams: Mutex<HashMap<usize, u32>>,
    /// By context; none where there can't be one.
    contexts: Mutex<HashMap<usize, Option<Arc<Of>>>>,
    graphs: Mutex<Graphs>,
}

/// What is recorded of one context.
pub struct Of {
    recorder: Recorder,
    context: usize,
    /// Whether it is its device's primary one.
    primary: bool,
    device: String,
    ordinal: u32,
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

/// What is known of graphs.
#[derive(Default)]
struct Graphs {
    /// Contexts that nodes have, by address, and whose recorder gave them out.
    nodes: HashMap<u64, (Arc<Of>, NodeId)>,
    /// Graphs that are ready.
    ready: HashMap<usize, Ready>,
    count: u32,
}
/// A graph that is ready.
struct Ready {
    number: u32,
    replays: u64,
    kernels: Vec<Node>,
}
/// A kernel node of a graph that is ready.
#[derive(Clone)]
pub struct Node {
    /// The driver's handle.
    pub handle: usize,
    /// The address of its context.
    pub context: u64,
    /// What it starts.
    pub module: Arc<Module>,
    /// Of that module.
    pub kernel: Kernel,
    /// How.
    pub shape: Shape,
    /// With what.
    pub params: Vec<u8>,
    /// Why it can't be recorded: it is there twice, with one context.
    pub twice: bool,
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
    let Some(Some(session)) = SESSION.get() else { return };
    let mut gone = Vec::new();
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
            say::once(&format!("the recording is not whole: {why}"));
        }
        say::log(&format!("{}: {counts:?}", of.device));
    }
    if !gone.is_empty() {
        let mut graphs = lock(&session.graphs);
        *graphs = Graphs { count: graphs.count, ..Graphs::default() };
    }
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
        }
    }
}

/// A device's primary context may be about to go: its recorder is quiet until [`released`].
pub fn hold(device: i32) -> Option<Arc<Of>> {
    let session = SESSION.get()?.as_ref()?;
    let of = lock(&session.contexts).values().flatten().find(|of| of.is_of(device)).cloned()?;
    of.recorder.hold();
    Some(of)
}
/// It was given back once, and may be gone.
pub fn released(real: &Functions, device: i32, of: Arc<Of>) {
    let (mut flags, mut active) = (0, 0);
    // SAFETY: places for the answers.
    let there = unsafe { (real.cuDevicePrimaryCtxGetState)(device, &mut flags, &mut active) } != 0 || active != 0;
    of.recorder.go_on(there);
    if !there {
        crate::known::modules_gone();
        bring_in(|other| other.is_of(device));
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

static ENDER: OnceLock<Ender> = OnceLock::new();

impl Ender {
    fn start() {
        let run = || {
            // SAFETY: a set of all signals, for this thread: the program's handlers are not for it.
            unsafe {
                let mut all = std::mem::zeroed();
                libc::sigfillset(&mut all);
                libc::pthread_sigmask(libc::SIG_BLOCK, &all, null_mut());
            }
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
            let _ = ENDER.set(Ender { pid: std::process::id(), thread: thread.thread().clone(), asked, done });
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
            process.versions.push(("driver".into(), format!("CUDA {}.{}", version / 1000, version % 1000 / 10)));
        }
        process.versions.extend(rewrite::tools().map(|t| ("assembler".to_owned(), t.to_owned())));
        let producer = concat!("prlx ", env!("CARGO_PKG_VERSION"));
        let file =
            session::create(&options.folder, &process).and_then(|(f, _)| Writer::new(f, producer, Some(&process)));
        let file =
            file.map_err(|e| say::once(&format!("nothing is recorded: {}: {e}", options.folder.display()))).ok()?;
        // SAFETY: the function catches what goes wrong in it. What the program and its libraries have registered by now ends after it.
        unsafe { libc::atexit(at_exit) };
        Ender::start();
        Some(Session {
            options,
            started: Instant::now(),
            devices,
            file: Mutex::new(Some(file)),
            choice: Mutex::default(),
            launches: AtomicU64::new(0),
            others: Mutex::default(),
            streams: Mutex::default(),
            contexts: Mutex::default(),
            graphs: Mutex::default(),
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
                let Options { level, memory, host_memory, .. } = *self.options;
                let host = host_memory / self.devices.len().max(1) as u64;
                let made = Library::open().and_then(|l| Recorder::new(l, context, level, memory, host, sink));
                match made {
                    Ok(recorder) => Some(Arc::new(Of { recorder, context: address, primary, device, ordinal })),
                    Err(e) => {
                        say::once(&format!("nothing is recorded on {device}: {}", e.message));
                        None
                    }
                }
            })
            .clone()
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
        self.write(|file| file.launch(&finished.recording.launch, &finished.recording.streams));
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
        let id = *module.number.get_or_init(|| self.write(|file| file.module(&module.plan.module)).map(|id| id.0));
        let function = module.plan.module.functions.get(kernel.function)?;
        let said = self.described(real, shape);
        let (grid, each) = (said.grid, kernel.counted);
        let grid = Dim3 {
            x: grid.x.saturating_mul(each.x),
            y: grid.y.saturating_mul(each.y),
            z: grid.z.saturating_mul(each.z),
        };
        let args = function.params.iter().map(|p| ArgInfo { name: p.name.clone(), ty: p.ty, ..ArgInfo::default() });
        let launch = Launch {
            module: ModuleId(id?),
            kernel: FuncId(kernel.function as u32),
            grid,
            params,
            args: args.collect(),
            fidelity: module.fidelity,
            ..said
        };
        let wanted = self.options.wants(&function.name);
        let why = lock(&self.choice).leaves_out(self.options, wanted, launch.number, launch.start);
        Some((launch, why))
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
            cluster: shape.cluster.map(dims),
            device,
            ordinal,
            number: self.launches.fetch_add(1, Ordering::Relaxed),
            start: u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX),
            ..Launch::default()
        }
    }

    /// Writes a launch down that is not recorded.
    fn left_out(&self, launch: Launch, why: &str) {
        let launch = Launch { skipped: Some(why.to_owned()), ..launch };
        self.write(|file| file.launch(&launch, &Streams::default()));
    }

    /// The number of a stream.
    fn stream(&self, handle: *mut c_void) -> u32 {
        let mut streams = lock(&self.streams);
        let next = streams.len() as u32 + 1;
        if handle.addr() <= stream::LEGACY as usize { 0 } else { *streams.entry(handle.addr()).or_insert(next) }
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
        Device { ordinal: ordinal as u32, name, uuid: String::new(), capability: (major as u32, minor as u32) }
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

/// A launch of something that was not rewritten, by what it is called: it stands in the recording, without streams.
pub fn passed(real: &Functions, name: Option<&str>, shape: &Shape, handle: *mut c_void, own: bool) {
    let Some(Some(session)) = SESSION.get() else { return };
    let launch = session.described(real, shape);
    let handle = in_stream(handle, own);
    // A node that a capture makes is no launch yet.
    if capturing(real, handle) {
        return;
    }
    let name = name.unwrap_or("?");
    let mut others = lock(&session.others);
    let id = match others.get(name) {
        Some(id) => *id,
        None => {
            let skipped = Some(PASSED.to_owned());
            let function = Function { name: name.to_owned(), kernel: true, skipped, ..Function::default() };
            let module = prlx_trace::kernel::Module { functions: vec![function], ..Default::default() };
            let id = session.write(|file| file.module(&module));
            others.insert(name.to_owned(), id);
            id
        }
    };
    drop(others);
    let Some(module) = id else { return };
    session.left_out(Launch { module, stream: session.stream(handle), ..launch }, PASSED);
}

/// The stream that a launch goes to; `own`: none is the thread's own.
fn in_stream(handle: *mut c_void, own: bool) -> *mut c_void {
    if own && handle.is_null() { std::ptr::without_provenance_mut(stream::PER_THREAD as usize) } else { handle }
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
    stream: *mut c_void,
}

/// What a launch gets as its context.
pub enum Hidden {
    /// Nothing is recorded.
    Nothing,
    /// It is recorded.
    Begun(Begun),
    /// It is a graph's node.
    Node(u64),
}

impl Hidden {
    /// The parameter that the program does not know of.
    pub fn context(&self) -> u64 {
        match self {
            Hidden::Nothing => 0,
            Hidden::Begun(b) => b.ticket.context,
            Hidden::Node(context) => *context,
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
    // SAFETY: the program's stream, which it is about to use.
    let ticket = of.recorder.begin(&module.plan, launch, unsafe { Stream::foreign(handle) }).ok()?;
    Some(Hidden::Begun(Begun { ticket, of, stream: handle }))
}

/// The driver has answered a launch that was begun.
pub fn queued(hidden: Hidden, code: i32) {
    if let Hidden::Begun(b) = hidden {
        match code {
            // SAFETY: the program's stream, which it has just used.
            0 => b.of.recorder.queued(b.ticket, unsafe { Stream::foreign(b.stream) }),
            _ => b.of.recorder.cancel(b.ticket),
        }
    }
}

/// A context for a graph's node.
pub fn node(real: &Functions) -> Option<u64> {
    let session = session(real)?;
    let of = session.here(real)?;
    let (id, context) = of.recorder.node()?;
    lock(&session.graphs).nodes.insert(context, (of, id));
    Some(context)
}
/// Whether it is one.
pub fn is_node(context: u64) -> bool {
    matches!(SESSION.get(), Some(Some(s)) if lock(&s.graphs).nodes.contains_key(&context))
}

/// A graph is ready, or was made like another.
pub fn ready(exec: *mut c_void, mut kernels: Vec<Node>) {
    let Some(Some(session)) = SESSION.get() else { return };
    let mut graphs = lock(&session.graphs);
    if let Some(ready) = graphs.ready.get_mut(&exec.addr()) {
        // The nodes are those of the graph that it was made from, for those who change them.
        for (new, old) in kernels.iter_mut().zip(&ready.kernels) {
            new.handle = old.handle;
        }
        ready.kernels = kernels;
        return;
    }
    let number = graphs.count;
    graphs.count += 1;
    graphs.ready.insert(exec.addr(), Ready { number, replays: 0, kernels });
}
/// A node of a graph that is ready was changed; `None`: to something that is not recorded.
pub fn changed(exec: *mut c_void, handle: *mut c_void, node: Option<Node>) {
    let Some(Some(session)) = SESSION.get() else { return };
    if let Some(ready) = lock(&session.graphs).ready.get_mut(&exec.addr()) {
        match (ready.kernels.iter_mut().find(|n| n.handle == handle.addr()), node) {
            (Some(old), Some(new)) => {
                let cluster = old.shape.cluster;
                *old = Node { shape: Shape { cluster, ..new.shape }, ..new };
            }
            (Some(_), None) => ready.kernels.retain(|n| n.handle != handle.addr()),
            (None, new) => ready.kernels.extend(new),
        }
    }
}
/// The context that a node of a graph that is ready has.
pub fn context_of(exec: *mut c_void, handle: *mut c_void) -> Option<u64> {
    let Some(Some(session)) = SESSION.get() else { return None };
    let graphs = lock(&session.graphs);
    graphs.ready.get(&exec.addr())?.kernels.iter().find(|n| n.handle == handle.addr()).map(|n| n.context)
}
/// It is gone. Its nodes' contexts stay with the graph that it was made from.
pub fn ready_gone(exec: *mut c_void) {
    if let Some(Some(session)) = SESSION.get() {
        lock(&session.graphs).ready.remove(&exec.addr());
    }
}

/// A launch of a graph between [`replay`] and [`Replayed::done`].
pub struct Replayed {
    replay: Replay,
    of: Arc<Of>,
    stream: *mut c_void,
}

/// A graph is about to be put into a stream.
pub fn replay(real: &Functions, exec: *mut c_void, handle: *mut c_void, own: bool) -> Option<Replayed> {
    let Some(Some(session)) = SESSION.get() else { return None };
    let handle = in_stream(handle, own);
    let (number, times, kernels) = {
        let mut graphs = lock(&session.graphs);
        let ready = graphs.ready.get_mut(&exec.addr()).filter(|r| !r.kernels.is_empty())?;
        ready.replays += 1;
        (ready.number, ready.replays - 1, ready.kernels.clone())
    };
    if capturing(real, handle) {
        return None;
    }
    let of = session.here(real)?;
    let mut nodes = Vec::new();
    for (i, node) in kernels.into_iter().enumerate() {
        let Some((giver, id)) = lock(&session.graphs).nodes.get(&node.context).cloned() else { continue };
        let Some((mut launch, why)) = session.launch(real, &node.module, &node.kernel, &node.shape, node.params) else {
            continue;
        };
        launch.stream = session.stream(handle);
        launch.origin = Origin::Graph { exec: number, node: i as u32, replay: times };
        if !Arc::ptr_eq(&giver, &of) {
            session.left_out(launch, "it is for another device than its graph was launched on");
            continue;
        }
        let why = if node.twice { Some("its graph has it twice") } else { why };
        let plan =
            why.map_or_else(|| node.module.plan.clone(), |why| without(&node.module.plan, node.kernel.function, why));
        nodes.push((id, plan, launch));
    }
    // SAFETY: the program's stream.
    let replay = of.recorder.replay(number, unsafe { Stream::foreign(handle) }, nodes);
    Some(Replayed { replay, of, stream: handle })
}

impl Replayed {
    /// The driver has answered.
    pub fn done(self, code: i32) {
        match code {
            // SAFETY: the program's stream, which it has just used.
            0 => self.of.recorder.replayed(self.replay, unsafe { Stream::foreign(self.stream) }),
            _ => self.of.recorder.not_replayed(self.replay),
        }
    }
}

/// A plan by which a kernel is not recorded, for a reason: its context is then one that records nothing.
fn without(plan: &Plan, kernel: usize, why: &str) -> Arc<Plan> {
    let skipped = FunctionPlan { skipped: Some(why.to_owned()), ..FunctionPlan::default() };
    let functions = vec![Function::default(); kernel + 1];
    let module = prlx_trace::kernel::Module { functions, ..prlx_trace::kernel::Module::default() };
    Arc::new(Plan { program: plan.program.clone(), module, functions: vec![skipped; kernel + 1] })
}
