//! The recorder of programs on the stand-in for the driver, whose kernels take time here: the test is the
//! program. Whatever it does, every launch is accounted for, and no call waits longer than it may.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use prlx_driver::cuda::calls::{LaunchConfig, extra};
use prlx_driver::cuda::{CudaQueue, LAUNCH_HASHES, Library};
use prlx_driver::queue::{Context, Queue, Stream};
use prlx_driver::record::program::{
    Counts, Finished, MAX_COPY_WAIT, MAX_LAUNCH_WAIT, NodeId, Recorder, RecorderMemory, UnrecordedReason,
};
use prlx_driver::{Driver, ModuleCode, digest};
use prlx_emu::{Emulator, Options};
use prlx_instrument::Rewrite;
use prlx_plan::{Plan, RecordingRequest};
use prlx_trace::device::HiddenParameter;
use prlx_trace::kernel::FaultKind;
use prlx_trace::launch::{Event, Lanes, StreamHashes};
use prlx_trace::{Dim3, FuncId, Launch, Level, Streams, WarpSize};

use crate::turn;

/// Every lane branches 40 times, as the bits of what it loads say. Lanes of the first eight CTAs have words
/// of their own: what they load does not depend on which CTA comes first.
const BITS: &str = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry bits(.param .u64 at)\n{\n\
    .reg .pred %p<3>;\n.reg .b32 %r<11>;\n.reg .b64 %rd<4>;\n\
    ld.param.u64 %rd1, [at];\nmov.u32 %r8, %tid.x;\nmov.u32 %r9, %ctaid.x;\nmov.u32 %r10, %ntid.x;\n\
    mad.lo.u32 %r1, %r9, %r10, %r8;\nand.b32 %r1, %r1, 511;\nmul.wide.u32 %rd2, %r1, 4;\n\
    add.u64 %rd3, %rd1, %rd2;\n\
    ld.global.u32 %r2, [%rd3];\nmov.u32 %r3, 0;\nmov.u32 %r6, 0;\n$again:\nand.b32 %r4, %r2, 1;\n\
    setp.eq.u32 %p1, %r4, 0;\n@%p1 bra $even;\nadd.u32 %r6, %r6, 1;\n$even:\n\
    shr.u32 %r5, %r2, 1;\nshl.b32 %r7, %r2, 31;\nor.b32 %r2, %r5, %r7;\n\
    add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p2, %r3, 40;\n@%p2 bra $again;\n\
    st.global.u32 [%rd3], %r2;\nret;\n}\n";
/// Threads of a CTA in most tests.
const THREADS: u32 = 64;
/// The least that `Recorder` takes: room for about fifty launches at a time.
const SMALL: u64 = 1164 << 10;

/// What a program does meanwhile when a launch of its was not recorded: on a machine that is busy with other
/// things, the recorder's thread gets its turn.
const PAUSE: Duration = Duration::from_millis(5);

type Cu = c_int;

/// A program: the driver's calls as it would make them.
struct App {
    library: Library,
    raw: libloading::Library,
    context: *mut c_void,
    function: *mut c_void,
    rewritten: Rewrite,
    data: u64,
    /// Threads of a CTA.
    threads: u32,
    /// One test at a time: there is one device.
    _turn: MutexGuard<'static, ()>,
}

macro_rules! raw {
    ($app:expr, $name:ident($($arg:expr => $ty:ty),*)) => {{
        #[expect(unsafe_code, reason = "the test is a program that calls the driver")]
        // SAFETY: the symbol has this type, and pointers are as cuda.h says.
        let code = unsafe {
            let name = concat!(stringify!($name), "\0").as_bytes();
            $app.get::<unsafe extern "C" fn($($ty),*) -> Cu>(name).unwrap()($($arg),*)
        };
        code
    }};
}

/// So much of the device's, none for tables, and so much of the host's for what waits.
fn memory(device: u64, host: u64) -> RecorderMemory {
    RecorderMemory { device, tables: 0, on_host: false, host }
}

impl App {
    fn start() -> App {
        App::at(Level::Path)
    }
    fn at(level: Level) -> App {
        App::with(&RecordingRequest::new(level))
    }
    fn with(program: &RecordingRequest) -> App {
        let turn = turn::take();
        let library = Library::open().unwrap();
        #[expect(unsafe_code, reason = "the same library once more, as a program has it")]
        // SAFETY: it is loaded already.
        let raw = unsafe { libloading::Library::new(turn::driver()).unwrap() };
        let rewritten = prlx_instrument::rewrite(BITS, "bits.ptx", program, &|_| None).unwrap();
        let mut context = null_mut();
        assert_eq!(raw!(raw, cuDevicePrimaryCtxRetain(&mut context => *mut *mut c_void, 0 => i32)), 0);
        assert_eq!(raw!(raw, cuCtxSetCurrent(context => *mut c_void)), 0);
        let (mut module, mut function, mut data) = (null_mut(), null_mut(), 0);
        let text = format!("{}\0", rewritten.text);
        assert_eq!(
            raw!(raw, cuModuleLoadDataEx(&mut module => *mut *mut c_void,
                text.as_ptr().cast() => *const c_void, 0 => u32, null_mut() => *mut i32,
                null_mut() => *mut *mut c_void)),
            0
        );
        assert_eq!(
            raw!(raw, cuModuleGetFunction(&mut function => *mut *mut c_void, module => *mut c_void,
                c"bits".as_ptr() => *const i8)),
            0
        );
        assert_eq!(raw!(raw, cuMemAlloc_v2(&mut data => *mut u64, 4096 => usize)), 0);
        let values = values();
        assert_eq!(
            raw!(raw, cuMemcpyHtoD_v2(data => u64, values.as_ptr().cast() => *const c_void, 4096 => usize)),
            0
        );
        App { library, raw, context, function, rewritten, data, threads: THREADS, _turn: turn }
    }

    /// Whether the driver is the stand-in, which can be told to hold streams back. Says so if not.
    fn mocked(&self) -> bool {
        #[expect(unsafe_code, reason = "whether there is a symbol")]
        // SAFETY: it is only looked for.
        let found = unsafe { self.raw.get::<*const c_void>(b"prlx_mock_hold\0").is_ok() };
        if !found {
            eprintln!("skipped: needs the stand-in for the driver");
        }
        found
    }
    fn recorder(&self, device: u64) -> (Recorder, Arc<Mutex<Vec<Finished>>>) {
        let all = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&all);
        let RecordingRequest { level, launch_hashes, .. } = self.rewritten.plan.request;
        let hashes = launch_hashes.then_some(LAUNCH_HASHES.as_bytes());
        let recorder =
            Recorder::new(self.queue(), (level, hashes), memory(device, device), move |finished| {
                to.lock().unwrap().push(finished);
            });
        (recorder.unwrap(), all)
    }
    fn queue(&self) -> Arc<dyn Queue> {
        Arc::new(CudaQueue::new(self.library, self.handle()))
    }
    #[expect(unsafe_code, reason = "handles of the program's")]
    fn handle(&self) -> Context {
        // SAFETY: the driver gave it out.
        unsafe { Context::foreign(self.context) }
    }
    fn plan(&self) -> Arc<Plan> {
        Arc::new(self.rewritten.plan.clone())
    }
    fn stream(&self) -> Stream {
        let mut stream = null_mut();
        assert_eq!(
            raw!(self.raw, cuStreamCreateWithPriority(&mut stream => *mut *mut c_void, 1 => u32, 0 => i32)),
            0
        );
        #[expect(unsafe_code, reason = "handles of the program's")]
        // SAFETY: the driver gave it out.
        unsafe {
            Stream::foreign(stream)
        }
    }
    fn hold(&self, stream: Stream, on: bool) {
        assert_eq!(raw!(self.raw, prlx_mock_hold(address(stream) => u64, on.into() => i32)), 0);
    }
    /// The program's launch, with this hidden parameter.
    fn launch(&self, ctas: u32, handed: HiddenParameter, data: u64, stream: Stream) -> Cu {
        let params: Vec<u8> = [data.to_le_bytes().to_vec(), handed.to_bytes()].concat();
        let mut size = params.len();
        let number = std::ptr::without_provenance_mut::<c_void>;
        let mut list = [
            number(extra::BUFFER),
            params.as_ptr().cast_mut().cast(),
            number(extra::SIZE),
            (&raw mut size).cast(),
            number(extra::END),
        ];
        let config = LaunchConfig {
            grid: [ctas, 1, 1],
            block: [self.threads, 1, 1],
            shared: 0,
            stream: number(address(stream) as usize),
            attributes: null_mut(),
            count: 0,
        };
        raw!(self.raw, cuLaunchKernelEx(&config => *const LaunchConfig, self.function => *mut c_void,
            null_mut() => *mut *mut c_void, list.as_mut_ptr() => *mut *mut c_void))
    }
    /// What is known of a launch.
    fn known(&self, number: u64, ctas: u32) -> Launch {
        let kernel = self.rewritten.plan.module.functions.iter().position(|f| f.name == "bits").unwrap();
        Launch {
            kernel: FuncId(kernel as u32),
            grid: Dim3 { x: ctas, ..Dim3::default() },
            block: Dim3 { x: self.threads, ..Dim3::default() },
            warp_size: WarpSize::W32,
            params: self.data.to_le_bytes().to_vec(),
            level: self.rewritten.plan.request.level,
            number,
            ..Launch::default()
        }
    }
    /// A launch as the program makes it, recorded if it can be.
    fn recorded(
        &self,
        recorder: &Recorder,
        plan: &Arc<Plan>,
        number: u64,
        ctas: u32,
        stream: Stream,
    ) -> bool {
        match recorder.begin(plan, self.known(number, ctas), stream) {
            Ok(ticket) => {
                assert_eq!(self.launch(ctas, ticket.hidden, self.data, stream), 0);
                recorder.queued(ticket, stream);
                true
            }
            Err(_) => {
                assert_eq!(self.launch(ctas, HiddenParameter::default(), self.data, stream), 0);
                std::thread::sleep(PAUSE);
                false
            }
        }
    }
    fn synchronize(&self) -> Cu {
        raw!(self.raw, cuCtxSynchronize())
    }
}

impl Drop for App {
    fn drop(&mut self) {
        raw!(self.raw, cuDevicePrimaryCtxRelease_v2(0 => i32));
    }
}

/// What the data holds at first.
fn values() -> Vec<u8> {
    (0..1024u32).flat_map(|i| i.wrapping_mul(0x9E37_79B1).to_le_bytes()).collect()
}

fn address(stream: Stream) -> u64 {
    // Its debug form is the address: the type has no other way to be looked into.
    let text = format!("{stream:?}");
    let digits = text.trim_start_matches("Stream(0x").trim_end_matches(')');
    u64::from_str_radix(digits, 16).unwrap()
}

fn stream_handle(stream: Stream) -> *mut c_void {
    std::ptr::without_provenance_mut(address(stream) as usize)
}

/// What each lane wrote, by warp.
fn lanes(streams: &Streams) -> Vec<Lanes> {
    (0..streams.frames()).flat_map(|i| streams.frame(i).unwrap().to_vec()).map(|w| w.lanes).collect()
}

/// Elements that a launch of one CTA writes when nothing is lost: of each lane a word of 30 decisions and one
/// of ten.
const ELEMENTS: u64 = THREADS as u64 * 2;

/// Looks whether totals add up, and gives how many launches were recorded.
fn accounted(all: &[Finished], counts: Counts, launches: u64) -> u64 {
    let sum = counts.recorded + counts.unfinished + counts.unrecorded + counts.unlisted + counts.cancelled;
    assert_eq!((counts.requested, sum), (launches, launches), "{counts:?}");
    let mut seen: BTreeMap<u64, u32> = BTreeMap::new();
    let (mut recorded, mut wanted) = (0, 0);
    for f in all {
        let launch = &f.recording.launch;
        *seen.entry(launch.number).or_default() += 1;
        assert_eq!(f.damage, Vec::<String>::new());
        if launch.skipped.is_some() {
            assert_eq!(f.recording.streams.frames(), 0);
            continue;
        }
        if launch.fault.is_none() {
            recorded += 1;
            let totals = launch.totals;
            wanted += u64::from(launch.grid.x) * ELEMENTS;
            assert_eq!(
                totals.recorded + totals.dropped,
                u64::from(launch.grid.x) * ELEMENTS,
                "launch {}",
                launch.number
            );
            assert_eq!(
                lanes(&f.recording.streams).iter().map(|l| l.elements()).sum::<u64>(),
                totals.recorded
            );
        }
    }
    assert_eq!(recorded, counts.recorded);
    assert!(wanted >= recorded * ELEMENTS);
    assert!(
        seen.values().all(|n| *n == 1) && seen.len() as u64 == launches - counts.unlisted - counts.cancelled
    );
    recorded
}

/// Short launches into a busy legacy default stream share events, and none of them is lost.
#[test]
fn short_launches_share_events() {
    let app = App::start();
    if !app.mocked() {
        return;
    }
    let plan = app.plan();
    let (recorder, all) = app.recorder(16 << 20);
    #[expect(unsafe_code, reason = "handles of the program's")]
    // SAFETY: the driver knows its default stream.
    let legacy = unsafe { Stream::foreign(null_mut()) };
    // How long it runs is known when it has been copied.
    assert!(app.recorded(&recorder, &plan, 0, 1, legacy));
    assert_eq!(app.synchronize(), 0);
    recorder.wait_for_copies();
    app.hold(legacy, true);
    for i in 1..=40 {
        assert!(app.recorded(&recorder, &plan, i, 1, legacy));
    }
    app.hold(legacy, false);
    assert_eq!(app.synchronize(), 0);
    recorder.wait_for_copies();
    // The program has waited: all are copied, those without an event of their own too.
    let start = Instant::now();
    while all.lock().unwrap().len() < 41 && start.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(PAUSE);
    }
    assert_eq!(all.lock().unwrap().len(), 41);
    for i in 41..=43 {
        assert!(app.recorded(&recorder, &plan, i, 1, legacy));
    }
    let (counts, dead) = recorder.finish(Duration::from_secs(20));
    let all = all.lock().unwrap();
    assert_eq!((dead, accounted(&all, counts, 44)), (None, 44));
    let timed = |f: &&Finished| f.recording.launch.totals.instrumented > 0;
    let mut timed: Vec<u64> = all.iter().filter(timed).map(|f| f.recording.launch.number).collect();
    timed.retain(|n| *n <= 40);
    // The first finds the stream idle; every sixteenth has an event that the fifteen before it share.
    assert_eq!(timed, [0, 1, 17, 33]);
}

/// A launch that waits for memory may be the one whose event the launches before it share.
#[test]
fn launches_that_share_an_event_hold_no_memory_back() {
    let app = App::start();
    let plan = app.plan();
    let (recorder, all) = app.recorder(SMALL);
    #[expect(unsafe_code, reason = "handles of the program's")]
    // SAFETY: the driver knows its default stream.
    let legacy = unsafe { Stream::foreign(null_mut()) };
    // A generation has room for five of these launches, fewer than share an event. How long they run is known
    // when the first one has been copied.
    app.recorded(&recorder, &plan, 0, 8, legacy);
    assert_eq!(app.synchronize(), 0);
    recorder.wait_for_copies();
    for i in 1..100 {
        app.recorded(&recorder, &plan, i, 8, legacy);
    }
    let (counts, dead) = recorder.finish(Duration::from_secs(20));
    assert_eq!((dead, counts.recorded), (None, 100), "{counts:?}");
    accounted(&all.lock().unwrap(), counts, 100);
}

/// Many small launches leave contexts in the front of a generation's arena. A later launch has its heads
/// there, which must be zero.
#[test]
fn heads_lie_where_contexts_lay() {
    let app = App::start();
    let plan = app.plan();
    let (recorder, all) = app.recorder(SMALL);
    let stream = app.stream();
    let mut launches = 0;
    let mut launch = |count, ctas| {
        let recorded =
            (0..count).filter(|i| app.recorded(&recorder, &plan, launches + i, ctas, stream)).count();
        launches += count;
        assert_eq!(app.synchronize(), 0);
        recorder.wait_for_copies();
        recorded
    };
    let mut large = 0;
    for _ in 0..4 {
        // One of each generation's.
        launch(40, 1);
        launch(40, 1);
        // 448 warps (430, rounded) with 144 bytes each need nearly all of an arena of 64 KiB.
        large += launch(1, 215);
    }
    assert!(large > 0);
    let (counts, dead) = recorder.finish(Duration::from_secs(20));
    assert_eq!(dead, None);
    accounted(&all.lock().unwrap(), counts, launches);
}

#[test]
fn every_launch_of_many_streams_is_accounted_for() {
    let app = App::start();
    // What a launch writes, where there is room.
    let plan = app.plan();
    let (recorder, alone) = app.recorder(16 << 20);
    assert!(app.recorded(&recorder, &plan, 0, 1, app.stream()));
    assert_eq!(recorder.finish(Duration::from_secs(5)).0.recorded, 1);
    let alone = alone.lock().unwrap();
    assert_eq!(accounted(&alone, Counts { requested: 1, recorded: 1, ..Counts::default() }, 1), 1);
    let totals = alone[0].recording.launch.totals;
    assert!(
        totals.dropped == 0 && totals.bare == 0 && totals.instrumented > 0,
        "how long it ran is known: {totals:?}"
    );

    let (recorder, all) = app.recorder(SMALL);
    let streams: Vec<Stream> = (0..4).map(|_| app.stream()).collect();
    const LAUNCHES: u64 = 1200;
    for i in 0..LAUNCHES {
        app.recorded(&recorder, &plan, i, 1 + (i % 3) as u32, streams[i as usize % 4]);
    }
    let (counts, dead) = recorder.finish(Duration::from_secs(20));
    assert!(recorder.is_finished() && dead.is_none());
    let all = all.lock().unwrap();
    let recorded = accounted(&all, counts, LAUNCHES);
    // A generation has room for about 50 of 2 CTAs: they went round.
    assert!(recorded > 200, "{counts:?}");
    for f in all.iter().filter(|f| f.recording.launch.skipped.is_none()) {
        // The data is rotated by 40 bits at a time: every launch sees other bits, but the first sees what
        // `alone` saw.
        assert_eq!(f.recording.streams.infos().len(), 2 * f.recording.launch.grid.x as usize);
    }
    let first = all.iter().find(|f| f.recording.launch.number == 0).unwrap();
    assert_eq!(first.recording.launch.skipped, None);
    for stream in 0..4 {
        let of_stream =
            all.iter().map(|f| &f.recording.launch).filter(|l| l.number % 4 == stream && l.skipped.is_none());
        assert!(
            of_stream.map(|l| l.number).is_sorted(),
            "generations are drained in order, and streams in theirs"
        );
    }
    assert_eq!(recorder.begin(&plan, app.known(9, 1), streams[0]).unwrap_err(), UnrecordedReason::Ended);

    // One whose chunks are more than there are: what does not fit is counted.
    let (recorder, all) = app.recorder(SMALL);
    assert!(app.recorded(&recorder, &plan, 0, 200, streams[0]));
    let (counts, _) = recorder.finish(Duration::from_secs(20));
    let all = all.lock().unwrap();
    assert_eq!(accounted(&all, counts, 1), 1);
    let totals = all[0].recording.launch.totals;
    assert!(totals.recorded > 0 && totals.dropped > 0, "{totals:?}");
}

#[test]
fn queued_launches_keep_what_is_promised_to_them() {
    let app = App::start();
    let (recorder, all) = app.recorder(SMALL);
    let (plan, streams) = (app.plan(), [app.stream(), app.stream()]);
    const LAUNCHES: u64 = 150;
    let mut longest = Duration::ZERO;
    // Nobody waits for any of them. Together they write ten times as much as a generation holds.
    for i in 0..LAUNCHES {
        let start = Instant::now();
        assert!(app.recorded(&recorder, &plan, i, 4, streams[i as usize % 2]));
        longest = longest.max(start.elapsed());
    }
    let (counts, dead) = recorder.finish(Duration::from_secs(20));
    assert!(dead.is_none() && longest < MAX_LAUNCH_WAIT + Duration::from_secs(1), "{dead:?} {longest:?}");
    let all = all.lock().unwrap();
    assert_eq!(accounted(&all, counts, LAUNCHES), LAUNCHES);
    let dropped: u64 = all.iter().map(|f| f.recording.launch.totals.dropped).sum();
    // Where the recorder's thread did not come to run for long, a launch was let in at last.
    assert!(dropped == 0 || longest > Duration::from_millis(150), "{dropped} {longest:?}");
}

#[test]
fn streams_are_what_the_cpu_device_sees() {
    for level in [Level::Path, Level::Values, Level::Fingerprint, Level::Events] {
        let app = App::at(level);
        let (recorder, all) = app.recorder(16 << 20);
        let (plan, stream) = (app.plan(), app.stream());
        // Two before it, so that its chunks and heads lie among those of others.
        for i in 0..2 {
            let ticket = recorder.begin(&plan, app.known(i, 5), stream).unwrap();
            assert_eq!(app.launch(5, ticket.hidden, app.data + 2048, stream), 0);
            recorder.queued(ticket, stream);
        }
        assert!(app.recorded(&recorder, &plan, 2, 3, stream));
        assert_eq!(recorder.finish(Duration::from_secs(10)).0.recorded, 3);

        let mut cpu = Emulator::new(Options { threads: 1, ..Options::default() });
        let module = cpu.load(ModuleCode::Ptx(BITS)).unwrap();
        let data = cpu.alloc(4096, 256).unwrap();
        cpu.write(data, &values()).unwrap();
        let config = prlx_driver::LaunchConfig {
            grid: Dim3 { x: 3, ..Dim3::default() },
            block: Dim3 { x: THREADS, ..Dim3::default() },
            ..Default::default()
        };
        let seen = cpu.observe(module, "bits", &config, &data.0.to_le_bytes(), &plan).unwrap().unwrap();
        if level == Level::Events && !app.mocked() {
            // A GPU takes its warps apart as it likes.
            continue;
        }
        let plain = |lanes: &Lanes| match lanes {
            Lanes::Events(events) => Lanes::Events(events.iter().map(|e| Event { clock: 0, ..*e }).collect()),
            other => other.clone(),
        };
        let want: Vec<Lanes> = seen.streams.iter().map(|w| plain(&w.lanes)).collect();
        let all = all.lock().unwrap();
        let got: Vec<Lanes> = lanes(&all[2].recording.streams).iter().map(plain).collect();
        assert!(got.iter().map(Lanes::elements).sum::<u64>() > 0 || level == Level::Fingerprint);
        assert_eq!(got, want, "{level:?}");
    }
}

/// The hashes of the streams of a launch, as the device makes them.
fn hashes_of(plan: &Plan, streams: &Streams) -> StreamHashes {
    let mut words = [const { Vec::<u64>::new() }; 4];
    let all = lanes(streams);
    for lanes in &all {
        let Lanes::Fingerprint { hashes, .. } = lanes else { panic!("{lanes:?}") };
        let [of_warp, signatures @ ..] = hashes.as_slice() else { panic!("{hashes:?}") };
        for (kind, words) in words[..3].iter_mut().enumerate() {
            words.extend(plan.finals.used[kind].then_some(of_warp[kind]));
        }
        words[3].extend(signatures.as_flattened().iter().flat_map(|s| [s & u64::from(u32::MAX), s >> 32]));
    }
    let hash = |words: &Vec<u64>| {
        digest::memory(&words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>())
    };
    let [control, loaded, stored, signatures] = words.each_ref().map(hash);
    StreamHashes { warps: all.len() as u64, control, loaded, stored, signatures }
}

#[test]
fn hashes_of_launches_are_those_of_their_streams() {
    check_hashes(THREADS);
}

/// Lanes of a warp that is not full merge their hashes with what the memory holds.
#[test]
fn hashes_of_launches_do_not_depend_on_earlier_ones() {
    check_hashes(THREADS - 4);
}

fn check_hashes(threads: u32) {
    // One CTA, several, and more than the kernel has threads; more launches at a time than one kernel takes;
    // then in every order, so that sums lie where other launches had their hashes.
    let sizes: Vec<u32> =
        [1, 5, 700].into_iter().chain([2; 60]).chain((0..300).map(|i| i * i % 211 + 1)).collect();
    let record = |launch_hashes| {
        let request = RecordingRequest { launch_hashes, ..RecordingRequest::new(Level::Fingerprint) };
        let mut app = App::with(&request);
        app.threads = threads;
        let (recorder, all) = app.recorder(2 << 20);
        let (plan, stream) = (app.plan(), app.stream());
        for (i, ctas) in (0..).zip(&sizes) {
            assert!(app.recorded(&recorder, &plan, i, *ctas, stream));
            if i % 63 == 62 {
                assert_eq!(app.synchronize(), 0);
            }
        }
        assert_eq!(recorder.finish(Duration::from_secs(20)).0.recorded, sizes.len() as u64);
        let mut all = std::mem::take(&mut *all.lock().unwrap());
        all.sort_by_key(|f| f.recording.launch.number);
        (plan, all)
    };
    let (plan, streams) = record(false);
    let (_, hashed) = record(true);
    for (one, other) in streams.iter().zip(&hashed) {
        let want = hashes_of(&plan, &one.recording.streams);
        assert_eq!(other.recording.launch.hashes, Some(want));
        assert_eq!(want.warps, one.recording.launch.warps());
        assert_eq!((other.recording.streams.frames(), &other.damage), (0, &Vec::new()));
    }
    let different: BTreeSet<u64> = hashed.iter().map(|f| f.recording.launch.hashes.unwrap().stored).collect();
    assert!(different.len() > 3, "{different:?}");
}

#[test]
fn several_threads_launch_at_once() {
    let app = App::start();
    let (recorder, all) = app.recorder(SMALL);
    let shared = &SharedApp(&app);
    std::thread::scope(|scope| {
        for t in 0..3u64 {
            let recorder = &recorder;
            scope.spawn(move || {
                let app = shared.get();
                assert_eq!(raw!(app.raw, cuCtxSetCurrent(app.context => *mut c_void)), 0);
                let (stream, plan) = (app.stream(), app.plan());
                for i in 0..100 {
                    if i % 10 == 9 {
                        match recorder.begin(&plan, app.known(t * 100 + i, 1), stream) {
                            Ok(ticket) => recorder.cancel(ticket),
                            Err(e) => assert_eq!(e, UnrecordedReason::Full),
                        }
                    } else {
                        app.recorded(recorder, &plan, t * 100 + i, 1, stream);
                    }
                }
            });
        }
    });
    let (counts, _) = recorder.finish(Duration::from_secs(20));
    assert!(counts.cancelled > 0);
    accounted(&all.lock().unwrap(), counts, 300);
}

/// The test's threads share the program; its handles are names.
struct SharedApp<'a>(&'a App);
#[expect(unsafe_code, reason = "pointers that are names")]
// SAFETY: handles are names, which any thread may say; the rest of it is only read.
unsafe impl Sync for SharedApp<'_> {}
impl<'a> SharedApp<'a> {
    fn get(&self) -> &'a App {
        self.0
    }
}

#[test]
fn a_kernel_that_waits_for_the_host_stops_nobody() {
    let app = App::start();
    if !app.mocked() {
        return;
    }
    let (recorder, all) = app.recorder(SMALL);
    let plan = app.plan();
    let (spinning, other) = (app.stream(), app.stream());
    app.hold(spinning, true);
    assert!(app.recorded(&recorder, &plan, 0, 1, spinning));
    let mut longest = Duration::ZERO;
    for i in 1..400 {
        let start = Instant::now();
        app.recorded(&recorder, &plan, i, 1, other);
        longest = longest.max(start.elapsed());
    }
    // Half of the memory still goes round.
    assert!(longest < Duration::from_secs(2), "{longest:?}");
    let start = Instant::now();
    let (counts, _) = recorder.finish(Duration::from_secs(2));
    assert!(recorder.is_finished() && start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    let all = all.lock().unwrap();
    let recorded = accounted(&all, counts, 400);
    assert!(recorded > 100 && counts.unfinished == 1, "{counts:?}");
    let stuck = all.iter().find(|f| f.recording.launch.number == 0).unwrap();
    let fault = stuck.recording.launch.fault.as_ref().unwrap();
    assert!(fault.kind == FaultKind::Stuck && fault.text.contains("still ran"), "{fault:?}");
    app.hold(spinning, false);
    assert_eq!(app.synchronize(), 0);
}

#[test]
fn when_nothing_ends_launches_go_unrecorded_at_once() {
    let app = App::start();
    if !app.mocked() {
        return;
    }
    let (recorder, all) = app.recorder(SMALL);
    let (plan, held) = (app.plan(), app.stream());
    app.hold(held, true);
    let start = Instant::now();
    let recorded = (0..300).filter(|&i| app.recorded(&recorder, &plan, i, 40, held)).count();
    // The arenas are full of heads; who came first waited a moment, the others did not.
    assert!(recorded > 0 && recorded < 300, "{recorded}");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    app.hold(held, false);
    let (counts, _) = recorder.finish(Duration::from_secs(30));
    accounted(&all.lock().unwrap(), counts, 300);
    let all = all.lock().unwrap();
    let why = all.iter().find_map(|f| f.recording.launch.skipped.as_deref()).unwrap();
    assert!(why.contains("no room"), "{why}");
    // What was not recorded still stands in the stream.
    assert_eq!(app.synchronize(), 0);
    // One that never had room.
    let (recorder, _) = app.recorder(SMALL);
    assert_eq!(recorder.begin(&plan, app.known(0, 1 << 30), held).unwrap_err(), UnrecordedReason::Full);
    assert!(app.recorded(&recorder, &plan, 1, 1, held));
    assert_eq!(recorder.finish(Duration::from_secs(5)).0.recorded, 1);
}

/// A graph of three launches, as far as a recorder sees it.
struct Graph<'a> {
    app: &'a App,
    recorder: &'a Recorder,
    plan: Arc<Plan>,
    nodes: Vec<(NodeId, u64)>,
}

impl Graph<'_> {
    fn new<'a>(app: &'a App, recorder: &'a Recorder) -> Graph<'a> {
        let nodes = (0..3).map(|_| recorder.node().unwrap()).collect();
        Graph { app, recorder, plan: app.plan(), nodes }
    }
    /// Launches it; its own launches are numbered from `number`. Why nothing is recorded, if nothing is.
    fn run(&self, exec: u32, number: u64, stream: Stream) -> Option<UnrecordedReason> {
        let launches = self.nodes.iter().zip(number..);
        let launches = launches.map(|(n, i)| (n.0, Arc::clone(&self.plan), self.app.known(i, 1)));
        let replay = self.recorder.replay(exec, stream, launches.collect());
        let refused = replay.unrecorded;
        for (_, context) in &self.nodes {
            let handed = HiddenParameter { context: *context, ..HiddenParameter::default() };
            assert_eq!(self.app.launch(1, handed, self.app.data, stream), 0);
        }
        self.recorder.replayed(replay, stream);
        refused
    }
}

#[test]
fn a_graph_is_recorded_at_every_launch() {
    let app = App::start();
    let (recorder, all) = app.recorder(SMALL);
    let (graph, stream) = (Graph::new(&app, &recorder), app.stream());
    for i in 0..100 {
        if graph.run(1, 3 * i, stream).is_some() {
            std::thread::sleep(PAUSE);
        }
    }
    let (counts, dead) = recorder.finish(Duration::from_secs(20));
    // A generation has room for 24 of these: they went round.
    assert!(dead.is_none() && accounted(&all.lock().unwrap(), counts, 300) > 150, "{counts:?} {dead:?}");
}

#[test]
fn a_graph_waits_for_itself_and_is_spoilt_by_its_twin() {
    let app = App::start();
    if !app.mocked() {
        return;
    }
    let (recorder, all) = app.recorder(16 << 20);
    let (graph, stream, second) = (Graph::new(&app, &recorder), app.stream(), app.stream());
    app.hold(stream, true);
    assert_eq!(graph.run(1, 0, stream), None);
    // In another stream it would be first, but waits.
    assert_eq!(graph.run(1, 3, second), None);
    app.hold(stream, false);
    assert_eq!(app.synchronize(), 0);
    app.hold(stream, true);
    assert_eq!(graph.run(1, 6, stream), None);
    // Another one made of the same graph does not wait.
    assert_eq!(graph.run(2, 9, second), Some(UnrecordedReason::Full));
    assert_eq!(graph.run(2, 12, second), Some(UnrecordedReason::Full));
    app.hold(stream, false);
    assert_eq!(app.synchronize(), 0);
    assert_eq!(graph.run(2, 15, second), None);
    let (counts, dead) = recorder.finish(Duration::from_secs(20));
    assert_eq!(dead, None);
    let all = all.lock().unwrap();
    accounted(&all, counts, 18);
    let recorded = all.iter().map(|f| &f.recording.launch).filter(|l| l.skipped.is_none()).map(|l| l.number);
    let recorded: BTreeSet<u64> = recorded.collect();
    assert_eq!(recorded, [0, 1, 2, 3, 4, 5, 15, 16, 17].into());
    graph.nodes.iter().for_each(|(node, _)| recorder.release_node(*node));
}

#[test]
fn no_call_breaks_a_capture() {
    let app = App::start();
    if !app.mocked() {
        return;
    }
    let (recorder, all) = app.recorder(SMALL);
    let (plan, stream) = (app.plan(), app.stream());
    assert_eq!(raw!(app.raw, prlx_mock_capture(1 => i32)), 0);
    // A thread that is not careful breaks it.
    let mut at = 0;
    assert_eq!(raw!(app.raw, cuMemAlloc_v2(&mut at => *mut u64, 4 => usize)), 900);
    assert_eq!(raw!(app.raw, prlx_mock_capture(0 => i32)), 901);
    assert_eq!(raw!(app.raw, prlx_mock_capture(1 => i32)), 0);
    for i in 0..200 {
        app.recorded(&recorder, &plan, i, 1, stream);
    }
    let (counts, _) = recorder.finish(Duration::from_secs(10));
    assert_eq!(raw!(app.raw, prlx_mock_capture(0 => i32)), 0);
    accounted(&all.lock().unwrap(), counts, 200);
}

#[test]
fn who_takes_launches_slowly_stops_nobody() {
    let app = App::start();
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let all = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&all);
    let recorder = Recorder::new(app.queue(), (Level::Path, None), memory(SMALL, SMALL), move |finished| {
        // The first is kept until the program has made all its launches.
        if to.lock().unwrap().is_empty() {
            wait.recv().unwrap();
        }
        to.lock().unwrap().push(finished);
    });
    let (recorder, plan, stream) = (recorder.unwrap(), app.plan(), app.stream());
    let start = Instant::now();
    let recorded = (0..200).filter(|&i| app.recorded(&recorder, &plan, i, 10, stream)).count();
    // One generation is with the sink, the other fills; then one launch waits as long as it may, and no
    // other.
    assert!(recorded > 0 && recorded < 200, "{recorded}");
    assert!(
        start.elapsed() > MAX_LAUNCH_WAIT && start.elapsed() < Duration::from_secs(20),
        "{:?}",
        start.elapsed()
    );
    go.send(()).unwrap();
    let (counts, _) = recorder.finish(Duration::from_secs(20));
    accounted(&all.lock().unwrap(), counts, 200);
}

#[test]
fn a_signal_ends_it() {
    let app = App::start();
    let (recorder, all) = app.recorder(SMALL);
    let (plan, stream) = (app.plan(), app.stream());
    assert!(app.recorded(&recorder, &plan, 0, 1, stream));
    assert!(!recorder.is_finished());
    recorder.request_end();
    let start = Instant::now();
    while !recorder.is_finished() {
        assert!(start.elapsed() < Duration::from_secs(5));
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(recorder.begin(&plan, app.known(1, 1), stream).unwrap_err(), UnrecordedReason::Ended);
    let (counts, _) = recorder.finish(Duration::from_secs(1));
    assert_eq!((counts.recorded, counts.unlisted), (1, 1), "{counts:?}");
    accounted(&all.lock().unwrap(), counts, 2);
}

#[test]
fn a_fault_loses_what_was_not_drained_and_says_so() {
    let app = App::start();
    let (recorder, all) = app.recorder(SMALL);
    let (plan, stream) = (app.plan(), app.stream());
    for i in 0..100 {
        app.recorded(&recorder, &plan, i, 1, stream);
    }
    let start = Instant::now();
    while all.lock().unwrap().is_empty() && start.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(app.synchronize(), 0);
    let (mut number, start) = (100, Instant::now());
    let ticket = loop {
        match recorder.begin(&plan, app.known(number, 1), stream) {
            Ok(ticket) => break ticket,
            Err(e) => {
                assert!(e == UnrecordedReason::Full && start.elapsed() < Duration::from_secs(10), "{e:?}")
            }
        }
        std::thread::sleep(PAUSE);
        number += 1;
    };
    assert_eq!(app.launch(1, ticket.hidden, 0, stream), 0);
    recorder.queued(ticket, stream);
    assert_eq!(app.synchronize(), 700);
    let start = Instant::now();
    while recorder.begin(&plan, app.known(number + 1, 1), stream).is_ok_and(|ticket| {
        recorder.cancel(ticket);
        start.elapsed() < Duration::from_secs(5)
    }) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let (counts, dead) = recorder.finish(Duration::from_secs(5));
    let dead = dead.unwrap();
    assert!(dead.contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{dead}");
    let all = all.lock().unwrap();
    assert!(counts.recorded > 0, "{counts:?}");
    let lost = all.iter().find(|f| f.recording.launch.number == number).unwrap();
    assert!(lost.recording.launch.skipped.as_ref().unwrap().contains("lost with its context"));
    let sum = counts.recorded + counts.unrecorded + counts.cancelled + counts.unlisted;
    assert_eq!(counts.requested, sum, "{counts:?}");
    assert_eq!(all.len() as u64, counts.recorded + counts.unrecorded);
}

#[test]
fn what_the_program_waited_for_survives_a_fault() {
    // Nobody waits longer than a bounded time, which a machine that is busy with other things may need.
    assert!((0..30).any(|_| survives_a_fault(&App::start())), "never in time");
}

/// Two launches that the program waits for, then one that faults; false: the recorder's thread did not come
/// to run in time.
fn survives_a_fault(app: &App) -> bool {
    let (recorder, all) = app.recorder(16 << 20);
    let (plan, stream, held) = (app.plan(), app.stream(), app.stream());
    let mut in_time = true;
    // The second time others run beside it, in the same generation.
    for i in 0..2 {
        if i == 1 && app.mocked() {
            app.hold(held, true);
            assert!(app.recorded(&recorder, &plan, 9, 1, held));
        }
        assert!(app.recorded(&recorder, &plan, i, 3, stream));
        let waits = raw!(app.raw, cuStreamSynchronize(stream_handle(stream) => *mut c_void));
        assert_eq!(waits, 0);
        let start = Instant::now();
        recorder.wait_for_copies();
        in_time &= start.elapsed() < MAX_COPY_WAIT;
        assert!(start.elapsed() < MAX_COPY_WAIT + Duration::from_secs(1), "{:?}", start.elapsed());
    }
    let ticket = recorder.begin(&plan, app.known(2, 1), stream).unwrap();
    assert_eq!(app.launch(1, ticket.hidden, 0, stream), 0);
    recorder.queued(ticket, stream);
    assert_eq!(raw!(app.raw, cuStreamSynchronize(stream_handle(stream) => *mut c_void)), 700);
    recorder.wait_for_copies();
    let (counts, dead) = recorder.finish(Duration::from_secs(5));
    assert!(dead.unwrap().contains("CUDA_ERROR_ILLEGAL_ADDRESS"));
    if !in_time {
        return false;
    }
    let all = all.lock().unwrap();
    let launches = 3 + u64::from(app.mocked());
    assert_eq!(accounted(&all, counts, launches), 2, "{counts:?}");
    for f in all.iter() {
        let launch = &f.recording.launch;
        assert_eq!(launch.skipped.is_none(), launch.number < 2, "{launch:?}");
        let lost = launch.skipped.as_deref().unwrap_or("lost with its context: ");
        assert!(lost.starts_with("lost with its context: "), "{lost}");
    }
    true
}

#[test]
fn who_waits_often_does_not_wait_long() {
    let app = App::start();
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let recorder =
        Recorder::new(app.queue(), (Level::Path, None), memory(SMALL, 1), move |_| wait.recv().unwrap_or(()));
    let (recorder, plan, stream) = (recorder.unwrap(), app.plan(), app.stream());
    // The host has no room for a second batch as long as nobody takes the first: nothing is brought in.
    let start = Instant::now();
    for i in 0..30 {
        app.recorded(&recorder, &plan, i, 1, stream);
        assert_eq!(app.synchronize(), 0);
        recorder.wait_for_copies();
    }
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    drop(go);
    let (counts, dead) = recorder.finish(Duration::from_secs(10));
    assert!(dead.is_none() && counts.requested == counts.recorded + counts.unrecorded, "{counts:?} {dead:?}");
}
