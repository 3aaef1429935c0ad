//! Runs a job's instrumented code and returns what it recorded.
//!
//! # Invariants
//! - The buffers have the same addresses and contents in the instrumented run and in the run of the original
//!   code.
//! - The memory that the recorder takes from the device is freed on every way out.
//! - Recorded plus dropped elements are what the code wanted to write.
//! - A launch that is stopped while it runs gives a recording up to that point. Its outputs are not reported.
//!
//! # Limitations
//! One launch of each kind is timed, so the measured dilation of short kernels on a GPU is noisy.

use prlx_plan::Plan;
use prlx_trace::device::{
    Context, Head, HiddenParameter, MAGAZINE_STRIDE, MAGAZINES, Shape, final_bytes, tracks,
};
use prlx_trace::kernel::{FaultKind, Scalar};
use prlx_trace::launch::{ArgInfo, Fault, Launch};
use prlx_trace::mark::Marks;
use prlx_trace::{FuncId, LaneMask, Level, ModuleId, TableContents, WarpId, WarpSize};

use crate::decode::{DecodedStreams, KeptWarps, LaunchBuffers, Pool, decode_launches};
use crate::driver::{DevicePtr, Driver, LaunchStats, ModuleCode, Observed};
use crate::error::{Error, ErrorKind};
use crate::job::{ArgValue, Job};
use crate::record::job::allocations::DeviceAllocations;
use crate::record::job::options::{OriginalRun, RecordOptions, Recorded};
use crate::record::memory::context::{
    ContextKind, ProbeContext, Slot, StreamMemory, TrackRegions, has_magazines,
};
use crate::record::memory::launches::{marks, recording, records, tables, wanted};
use crate::run::{PreparedJob, outputs, prepare};

/// Runs a job and returns what its launch recorded.
///
/// `rewritten` is the job's module with `plan` inserted. Without it, the device performs the plan's actions
/// itself while it runs the unchanged module ([`Driver::observe`]).
///
/// # Errors
/// If the kernel is not instrumented or not supported, the device cannot observe and gets no rewritten
/// module, memory is short, or the device fails. A kernel that faults or hangs is not an error here: see
/// [`Launch::fault`].
pub fn record(
    driver: &mut dyn Driver,
    rewritten: Option<ModuleCode<'_>>,
    plan: &Plan,
    job: &Job,
    options: &RecordOptions,
) -> Result<Recorded, Error> {
    let kernel = kernel(plan, job, job.warp_size(driver.info().warp_size))?;
    // Code objects lie in the memory of buffers, and instrumented ones are larger. The original is loaded
    // first, so that buffers have the addresses that they have without instrumented code.
    let original = match rewritten {
        Some(ModuleCode::Object(..)) => Some(driver.load(job.code())?),
        _ => None,
    };
    let early = original.map(|_| prepare(driver, job));
    let instrumented = |e: Error| Error { message: format!("instrumented: {}", e.message), ..e };
    let loaded = match rewritten {
        None => driver.load(job.code()),
        Some(ModuleCode::Ptx(text)) => driver.load_rewritten(text, plan, &job.text).map_err(instrumented),
        Some(code) => driver.load(code).map_err(instrumented),
    };
    if let (Err(_), Some(Ok(prepared))) = (&loaded, &early) {
        prepared.release(driver)?;
    }
    let module = loaded?;
    let prepared = early.unwrap_or_else(|| prepare(driver, job));
    let hidden = rewritten.map_or(0, |_| HiddenParameter::default().to_bytes().len());
    let recorded = prepared.and_then(|mut prepared| {
        let mut held = DeviceAllocations::default();
        let result = prepared.begin(driver, job, module, hidden).and_then(|()| {
            LaunchRecorder { driver, plan, job, prepared: &prepared, kernel }.run(
                module,
                rewritten.is_some(),
                options,
                &mut held,
            )
        });
        let released = held.release(driver).and(prepared.release(driver));
        // After a fault the device may refuse every call. What was read before is still valid.
        result.and_then(|r| if r.fault.is_some() { Ok(r) } else { released.map(|()| r) })
    });
    let unloaded = original.map_or(Ok(()), |original| driver.unload(original)).and(driver.unload(module));
    recorded.and_then(|r| if r.fault.is_some() { Ok(r) } else { unloaded.map(|()| r) })
}

/// Finds the job's kernel in the plan, for a device with warps of `warp_size`.
pub(super) fn kernel(plan: &Plan, job: &Job, warp_size: WarpSize) -> Result<FuncId, Error> {
    let refuse = |what: String| Err(Error::new(ErrorKind::Record, what));
    if plan.warp_size != warp_size {
        let code = plan.warp_size;
        return refuse(format!("the code is for warps of {code} lanes; the device has warps of {warp_size}"));
    }
    let Some(i) = plan.module.functions.iter().position(|f| f.name == job.kernel) else {
        return refuse(format!("kernel `{}` is not in the plan", job.kernel));
    };
    let skipped = plan.functions.get(i).and_then(|f| f.skipped.as_ref());
    match skipped.or(plan.module.functions[i].skipped.as_ref()) {
        Some(why) => refuse(format!("kernel `{}` is not instrumented: {why}", job.kernel)),
        None => Ok(FuncId(i as u32)),
    }
}

/// Records one launch of a job.
pub(super) struct LaunchRecorder<'a> {
    pub(super) driver: &'a mut dyn Driver,
    pub(super) plan: &'a Plan,
    pub(super) job: &'a Job,
    pub(super) prepared: &'a PreparedJob,
    pub(super) kernel: FuncId,
}

impl LaunchRecorder<'_> {
    fn run(
        &mut self,
        module: crate::ModuleHandle,
        rewritten: bool,
        options: &RecordOptions,
        held: &mut DeviceAllocations,
    ) -> Result<Recorded, Error> {
        let mut launch = Launch { args: self.args(), ..self.launch() };
        let kept = KeptWarps::new(self.plan, &launch);
        let LaunchResult { decoded, tallies, marks, ended, unfinished } = match rewritten {
            false => self.observed(module, &kept)?,
            true => self.instrumented(module, &launch, options.pool, held, &kept)?,
        };
        let (stats, fault) = match ended {
            Ok(stats) => (stats, None),
            Err(e) => (LaunchStats::default(), Some(e)),
        };
        let (contents, digests) = match &fault {
            None => (
                self.prepared.reported(self.driver, self.job)?,
                self.prepared.digests(self.driver, self.job)?,
            ),
            Some(_) => Default::default(),
        };
        for (info, digest) in launch.args.iter_mut().zip(&digests) {
            info.after = *digest;
        }
        let original =
            if options.run_original && fault.is_none() { Some(self.original(&digests)?) } else { None };
        launch.fault = fault.as_ref().map(|e| Fault {
            kind: if e.kind == ErrorKind::Stuck { FaultKind::Stuck } else { FaultKind::Fault },
            text: e.message.clone(),
            unfinished,
        });
        launch.totals.bare = original.as_ref().map_or(0, |b| amount(&b.stats));
        launch.totals.instrumented = amount(&stats);
        let (recording, damage) = recording(&kept, launch, decoded);
        let outputs = outputs(self.job, contents);
        Ok(Recorded { recording, outputs, stats, tallies, marks, original, fault, damage })
    }

    /// Describes the launch before it runs, without its arguments.
    pub(super) fn launch(&self) -> Launch {
        let info = self.driver.info();
        let program = &self.plan.request;
        Launch {
            module: ModuleId(0),
            kernel: self.kernel,
            grid: self.job.config.grid,
            block: self.job.config.block,
            shared: self.job.config.shared,
            warp_size: self.job.warp_size(info.warp_size),
            params: self.prepared.params.clone(),
            seed: Some(self.job.config.seed),
            device: info.name,
            level: program.level,
            window: program.window.clone().filter(|_| program.level == Level::Operands),
            cluster: Some(self.job.config.cluster),
            ..Launch::default()
        }
    }

    /// Runs the instrumented code and reads back what it wrote.
    fn instrumented(
        &mut self,
        module: crate::ModuleHandle,
        launch: &Launch,
        pool: u64,
        held: &mut DeviceAllocations,
        kept: &KeptWarps<'_>,
    ) -> Result<LaunchResult, Error> {
        let context = self.context(launch, pool, held)?;
        let at = held.zeroed(self.driver, Context::SIZE as u64, 16)?;
        self.driver.write(DevicePtr(at), &context.to_bytes())?;
        let hidden = context.hidden_parameter(at);
        let (kernel, params) = self.job.instrumented_launch(&self.prepared.params, &hidden)?;
        let ended = started(self.driver.launch(module, &kernel, &self.job.config, &params))?;
        let decoded = match self.read_streams(launch, &context, kept) {
            // A device may refuse to be read after a fault. Then the fault is all that is known.
            Err(_) if ended.is_err() => DecodedStreams::default(),
            decoded => decoded?,
        };
        let tallies = match self.read_tables(launch, &context) {
            Err(_) if ended.is_err() => Vec::new(),
            tallies => tallies?,
        };
        let marks = match self.read_marks(launch, &context) {
            Err(_) if ended.is_err() => None,
            marks => marks?,
        };
        Ok(LaunchResult { decoded, tallies, marks, ended, unfinished: None })
    }

    /// Runs the original code while the device performs the plan's actions itself.
    fn observed(&mut self, module: crate::ModuleHandle, kept: &KeptWarps<'_>) -> Result<LaunchResult, Error> {
        let (job, params) = (self.job, &self.prepared.params);
        let Some(seen) = self.driver.observe(module, &job.kernel, &job.config, params, self.plan) else {
            let what = format!("{} can't record without rewriting the code", self.driver.info().name);
            return Err(Error::new(ErrorKind::Record, what));
        };
        let Observed { streams, tallies, tracks, ended, unfinished } = seen?;
        let launch = self.launch();
        let (first, last) = wanted(&self.plan.request, &launch);
        let marks = self.plan.probe_state.tracks.is_some().then_some(Marks {
            module: launch.module,
            launch: launch.number,
            tracks,
            left_out: launch.warps() - (last - first),
        });
        Ok(LaunchResult {
            decoded: kept.streams(streams),
            tallies,
            marks,
            ended: started(ended)?,
            unfinished: Some(unfinished),
        })
    }

    /// Describes the arguments, with digests of the buffers before the launch.
    fn args(&self) -> Vec<ArgInfo> {
        let each = self.job.args.iter().map(|arg| {
            let info = |ty| ArgInfo { name: arg.name.clone(), ty, ..ArgInfo::default() };
            match &arg.value {
                ArgValue::Scalar(ty, _) => info(*ty),
                ArgValue::Struct { .. } | ArgValue::TensorMap { .. } => info(Scalar::B8),
                ArgValue::Buffer(b) => {
                    ArgInfo { bytes: Some(b.size()), before: Some(b.digest()), ..info(b.ty) }
                }
            }
        });
        each.collect()
    }

    /// Allocates the memory that the instrumented code writes to, each part by itself, so that a device that
    /// checks accesses notices one beyond its part.
    pub(super) fn context(
        &mut self,
        launch: &Launch,
        pool: u64,
        held: &mut DeviceAllocations,
    ) -> Result<Context, Error> {
        let Launch { level, warp_size, .. } = *launch;
        let shape = Shape::of(level, warp_size);
        let chunk = shape.chunk();
        let state = &self.plan.probe_state;
        // A probe program has tables and records instead of streams.
        let (tables, records, size) = match level {
            Level::Probe => (state.table_bytes(), state.records.warp, 0),
            _ => (0, 0, pool - pool % chunk),
        };
        let many = || {
            Error::new(ErrorKind::Memory, format!("{} warps are too many to record", launch.warps()))
                .help("record a range of warps")
        };
        let probe_context = ProbeContext {
            tables: held.zeroed(self.driver, tables, 16)?,
            records,
            number: launch.number,
            ..ProbeContext::default()
        };
        let mut kind = ContextKind::of(self.plan, launch, probe_context);
        let room = |each: u64| kind.warps().checked_mul(each).ok_or_else(many);
        u32::try_from(kind.warps()).map_err(|_| many())?;
        let heads = room(shape.heads(warp_size) * Head::SIZE as u64)?;
        let finals = room(kind.each())?;
        let mut tracks = 0;
        if let Some(layout) = &state.tracks {
            let (log, recorded) = layout.size(kind.recorded(), pool.min(tracks::MOST));
            let (regions, ring) = (layout.regions(), layout.ring().is_some());
            kind = kind.tracked(TrackRegions { regions, log }, recorded);
            tracks = held.regions(self.driver, (recorded * regions) << log, 1 << log, ring)?;
        }
        let bucket = held.zeroed(self.driver, chunk, chunk)?;
        self.driver.write(DevicePtr(bucket), &bucket.to_le_bytes())?;
        let memory = StreamMemory {
            level,
            warp_size,
            pool: held.zeroed(self.driver, size, chunk)?,
            size,
            bucket,
            cursor: held.zeroed(self.driver, 8, 16)?,
            magazines: match has_magazines(level, warp_size, size) {
                true => held.zeroed(self.driver, MAGAZINES * MAGAZINE_STRIDE, MAGAZINE_STRIDE)?,
                false => 0,
            },
        };
        let mut context = memory.context(&Slot {
            context: 0,
            sums: 0,
            heads: held.zeroed(self.driver, heads, 16)?,
            finals: match finals {
                0 => 0,
                bytes => held.zeroed(self.driver, bytes, 16)?,
            },
            tracks,
            kind,
        });
        context.given = self.hand_out(launch, &context)?;
        Ok(context)
    }

    /// Gives the first warps a chunk each, from half of the pool, because most warps write at least one and
    /// then need not wait for it. If each lane has its own stream, the lowest lane gets the chunk: it is the
    /// leader most often. Returns how many warps got a chunk.
    fn hand_out(&mut self, launch: &Launch, context: &Context) -> Result<u64, Error> {
        let shape = Shape::of(launch.level, launch.warp_size);
        let first = u64::from(context.warp_first);
        let most = if self.plan.writes() { context.size / 2 / shape.chunk() } else { 0 };
        let warps = u64::from(context.warps).min(most);
        let each = (shape.heads(launch.warp_size) * Head::SIZE as u64) as usize;
        let mut heads = vec![0; warps as usize * each];
        for (warp, head) in heads.chunks_exact_mut(each).enumerate() {
            let at = context.pool + warp as u64 * shape.chunk();
            head[..Head::SIZE].copy_from_slice(&Head { first: at, dropped: 0 }.to_bytes());
        }
        self.driver.write(DevicePtr(context.heads + first * each as u64), &heads)?;
        self.driver.write(DevicePtr(context.cursor), &(warps * shape.chunk()).to_le_bytes())?;
        Ok(warps)
    }

    /// Reads the streams back.
    fn read_streams(
        &mut self,
        launch: &Launch,
        given: &Context,
        kept: &KeptWarps<'_>,
    ) -> Result<DecodedStreams, Error> {
        if launch.level == Level::Probe {
            return Ok(DecodedStreams::default());
        }
        let shape = Shape::of(launch.level, launch.warp_size);
        let cursor = cursor(self.driver, given)?;
        let mut read = |at: u64, bytes: u64| {
            let mut buffer = vec![0; bytes as usize];
            // An empty allocation has no address to read from.
            if bytes > 0 {
                self.driver.read(DevicePtr(at), &mut buffer)?;
            }
            Ok::<_, Error>(buffer)
        };
        let used = cursor.min(given.size) / shape.chunk() * shape.chunk();
        let (first, count) = (u64::from(given.warp_first), u64::from(given.warps));
        let each = shape.heads(launch.warp_size) * Head::SIZE as u64;
        let layout = self.plan.finals;
        let own = final_bytes(launch.level, layout);
        let bytes = read(given.pool, used)?;
        let heads = read(given.heads + first * each, count * each)?;
        let finals = read(given.finals + first * own, count * own)?;
        let mut pool =
            Pool::new(launch.level, launch.warp_size, given.pool, &bytes, given.bucket, [&heads[..]]);
        let sites = self.plan.module.sites.len();
        let (heads, finals) = (&heads[..], &finals[..]);
        let memory = LaunchBuffers { first_warp: first, warps: count, heads, finals, layout, sites };
        Ok(decode_launches(&mut pool, &[(memory, kept)]).pop().unwrap_or_default())
    }

    /// Reads the tables and records of a probe program.
    fn read_tables(&mut self, launch: &Launch, given: &Context) -> Result<Vec<TableContents>, Error> {
        if launch.level != Level::Probe {
            return Ok(Vec::new());
        }
        let state = &self.plan.probe_state;
        let mut read = |at: u64, bytes: u64| {
            let mut buffer = vec![0; bytes as usize];
            self.driver.read(DevicePtr(at), &mut buffer).map(|()| buffer)
        };
        let of_tables = read(given.tables, state.table_bytes())?;
        let of_records = read(given.records, launch.warps() * state.records.warp)?;
        let launches = (launch.number, launch.number);
        let mut all = tables(state, launch.module, launches, &of_tables);
        all.extend(records(state, launch, &of_records));
        Ok(all)
    }

    /// Reads the tracks that the markers wrote.
    fn read_marks(&mut self, launch: &Launch, given: &Context) -> Result<Option<Marks>, Error> {
        let Some(layout) = &self.plan.probe_state.tracks else { return Ok(None) };
        let (warps, log) = (u64::from(given.warps), given.track_log as u32);
        let mut bytes = vec![0; ((warps * layout.regions()) << log) as usize];
        self.driver.read(DevicePtr(given.tracks), &mut bytes)?;
        Ok(marks(self.plan, launch, (warps, log), &bytes))
    }

    /// Runs the original code on the same data and compares the buffers.
    fn original(&mut self, instrumented: &[Option<u64>]) -> Result<OriginalRun, Error> {
        let (job, prepared) = (self.job, self.prepared);
        let module = self.driver.load(job.code())?;
        let mut prepared = prepared.clone();
        let reset = prepared.reset(self.driver, job);
        let run = reset.and_then(|()| prepared.begin(self.driver, job, module, 0)).and_then(|()| {
            let stats = self.driver.launch(module, &job.kernel, &job.config, &prepared.params)?;
            let now = prepared.digests(self.driver, job)?;
            let differs = job.args.iter().zip(now.iter().zip(instrumented)).filter(|(_, (a, b))| a != b);
            let changed = differs.map(|(arg, _)| arg.name.clone()).collect();
            Ok(OriginalRun { stats, changed })
        });
        let unloaded = self.driver.unload(module);
        run.and_then(|original| unloaded.map(|()| original))
    }
}

/// Bytes of the pool that the launch asked for, including those that did not fit.
pub(super) fn cursor(driver: &mut dyn Driver, context: &Context) -> Result<u64, Error> {
    let mut bytes = [0; 8];
    driver.read(DevicePtr(context.cursor), &mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// What a launch that was started left behind.
struct LaunchResult {
    decoded: DecodedStreams,
    tallies: Vec<TableContents>,
    marks: Option<Marks>,
    /// Cost of the launch, or the error that stopped it.
    ended: Result<LaunchStats, Error>,
    /// Lanes that had not ended when the launch was stopped, if the device knows them.
    unfinished: Option<Vec<(WarpId, LaneMask)>>,
}

/// Separates launches that were started from launches that were not. A launch that never started has recorded
/// nothing and is an error.
fn started(ended: Result<LaunchStats, Error>) -> Result<Result<LaunchStats, Error>, Error> {
    match ended {
        Err(e) if !matches!(e.kind, ErrorKind::Fault | ErrorKind::Stuck) => Err(e),
        ended => Ok(ended),
    }
}

/// Warp instructions if the device counts them, nanoseconds otherwise.
pub(super) fn amount(stats: &LaunchStats) -> u64 {
    if stats.warp_instructions > 0 { stats.warp_instructions } else { stats.nanos.0 }
}
