//! Measures what recording a job costs on a device: several variants of its kernel, run in turns.
//!
//! # Invariants
//! - Every round runs every variant once, so a change of the device over time affects all variants alike.
//! - Before each run, outside of the measured time, the buffers that the kernel writes are restored, and the
//!   recorder's memory is reset to its state before a first launch. On request, the caches are filled with
//!   other data.
//! - The first round warms up and is not counted.
//!
//! # Limitations
//! The host's part of a launch is not measured.

use prlx_plan::{Plan, ProbeState};
use prlx_trace::device::{Context, tracks};
use prlx_trace::mark::Track;
use prlx_trace::{FuncId, Level};

use crate::driver::{DevicePtr, Driver, ModuleCode, ModuleHandle, ResourceUsage};
use crate::error::{Error, ErrorKind};
use crate::job::{ArgValue, Job};
use crate::record::job::allocations::DeviceAllocations;
use crate::record::job::instrumented::{LaunchRecorder, amount, cursor, kernel};
use crate::run::{PreparedJob, prepare};

/// Options of a measurement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CostOptions {
    /// Number of measured rounds.
    pub rounds: u32,
    /// Device memory for streams in bytes, for each variant that records.
    pub pool: u64,
    /// Bytes to write between launches, so that the caches hold no data of the last launch. 0 keeps them
    /// warm.
    pub flush: u64,
}

/// One variant of the job's kernel.
#[derive(Clone, Copy, Debug)]
pub struct KernelVariant<'a> {
    /// The job's module, instrumented or not, or another one with the same kernel.
    pub code: ModuleCode<'a>,
    /// Plan that is inserted into the code, if any.
    pub plan: Option<&'a Plan>,
    /// Whether the kernel records. If not, an instrumented kernel receives an empty hidden parameter.
    pub records: bool,
}

/// Measured cost of one variant.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Cost {
    /// Cost of each round: warp instructions if the device counts them, nanoseconds otherwise.
    pub rounds: Vec<u64>,
    /// Resources of an SM that the kernel uses.
    pub resources: Option<ResourceUsage>,
    /// Bytes of streams that a launch asks for, including those that did not fit into the pool. For a probe
    /// program, bytes of its tables and records; for markers, of tracks.
    pub streams: u64,
    /// Whether the pool, a table or a track overflowed.
    pub full: bool,
    /// For markers that record: how often a launch reaches them.
    pub marker_visits: Option<MarkerVisits>,
    /// Whether a buffer differs from what the first variant left.
    pub changed: bool,
}

/// How often lanes with a track reached a marker. A visit of a region that is only summed counts as a begin
/// and an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MarkerVisits {
    /// Visits in all tracks together.
    pub all: u64,
    /// Visits in the track with the most.
    pub most: u64,
}

impl MarkerVisits {
    fn of(tracks: &[Track]) -> MarkerVisits {
        let of =
            |t: &Track| t.records.0.len() as u64 + t.lost + t.sums.iter().map(|s| 2 * s.count).sum::<u64>();
        let most = tracks.iter().map(of).max().unwrap_or(0);
        MarkerVisits { all: tracks.iter().map(of).sum(), most }
    }
}

/// Measures variants of `job`'s kernel.
///
/// # Errors
/// If a variant does not load or run, or memory is short.
pub fn cost(
    driver: &mut dyn Driver,
    job: &Job,
    forms: &[KernelVariant<'_>],
    options: &CostOptions,
) -> Result<Vec<Cost>, Error> {
    if !job.before.is_empty()
        || job.args.iter().any(|a| matches!(&a.value, ArgValue::Buffer(b) if b.variable))
    {
        let say = "the cost of a launch with `[[variable]]` or `[[before]]` tables cannot be measured";
        return Err(Error::new(ErrorKind::Unsupported, say));
    }
    let mut held = DeviceAllocations::default();
    let mut modules = Vec::new();
    let prepared = prepare(driver, job)?;
    let result = load(driver, job, &prepared, forms, options, &mut held, &mut modules)
        .and_then(|loaded| rounds(driver, job, &prepared, &loaded, options, &mut held));
    let unloaded = modules.into_iter().map(|m| driver.unload(m)).fold(Ok(()), Result::and);
    let released = held.release(driver).and(prepared.release(driver));
    // The first error says what went wrong.
    result.and_then(|costs| unloaded.and(released).map(|()| costs))
}

/// A variant that is loaded on the device.
struct LoadedVariant {
    module: ModuleHandle,
    /// The kernel's name in the module.
    name: String,
    params: Vec<u8>,
    context: Option<(u64, Context)>,
    /// Memory of the recorder that a launch changes: address, bytes.
    dirty: Vec<(u64, u64)>,
    /// Initial heads, which are not zero: the first warps start with a chunk.
    heads: Vec<u8>,
    handed_out: u64,
    /// State of the probe program, and bytes of its tables and records.
    probe_state: Option<(ProbeState, u64)>,
    kernel: FuncId,
    /// Number of warps without a track.
    left_out: u64,
}

fn load(
    driver: &mut dyn Driver,
    job: &Job,
    prepared: &PreparedJob,
    forms: &[KernelVariant<'_>],
    options: &CostOptions,
    held: &mut DeviceAllocations,
    modules: &mut Vec<ModuleHandle>,
) -> Result<Vec<LoadedVariant>, Error> {
    let mut all = Vec::new();
    for form in forms {
        let module = match (form.plan, form.code) {
            (Some(plan), ModuleCode::Ptx(text)) => driver.load_rewritten(text, plan, &job.text)?,
            _ => driver.load(form.code)?,
        };
        modules.push(module);
        let mut loaded = LoadedVariant {
            module,
            name: job.kernel.clone(),
            params: prepared.params.clone(),
            context: None,
            dirty: Vec::new(),
            heads: Vec::new(),
            handed_out: 0,
            probe_state: None,
            kernel: FuncId(0),
            left_out: 0,
        };
        if let Some(plan) = form.plan {
            let kernel = kernel(plan, job, job.warp_size(driver.info().warp_size))?;
            loaded.kernel = kernel;
            let mut session = LaunchRecorder { driver: &mut *driver, plan, job, prepared, kernel };
            if form.records {
                let launch = session.launch();
                let before = held.0.len();
                let context = session.context(&launch, options.pool, held)?;
                let at = held.zeroed(session.driver, Context::SIZE as u64, 16)?;
                loaded.dirty = held.0[before..].iter().map(|(at, bytes)| (at.0, *bytes)).collect();
                let heads = held.0[before..]
                    .iter()
                    .find(|(at, _)| at.0 == context.heads)
                    .map_or(0, |(_, bytes)| *bytes);
                loaded.heads = vec![0; heads as usize];
                session.driver.read(DevicePtr(context.heads), &mut loaded.heads)?;
                loaded.handed_out = cursor(session.driver, &context)?;
                loaded.context = Some((at, context));
                if plan.request.level == Level::Probe {
                    let bytes =
                        plan.probe_state.table_bytes() + launch.warps() * plan.probe_state.records.warp;
                    loaded.probe_state = Some((plan.probe_state.clone(), bytes));
                    loaded.left_out = launch.warps() - u64::from(context.warps);
                }
            }
            let hidden = loaded.context.as_ref().map(|(at, context)| context.hidden_parameter(*at));
            (loaded.name, loaded.params) =
                session.job.instrumented_launch(&session.prepared.params, &hidden.unwrap_or_default())?;
        }
        all.push(loaded);
    }
    Ok(all)
}

impl LoadedVariant {
    /// Resets the recorder's memory to its state before a first launch.
    fn reset(&self, driver: &mut dyn Driver) -> Result<(), Error> {
        let Some((at, context)) = &self.context else { return Ok(()) };
        self.dirty.iter().try_for_each(|&(at, bytes)| driver.fill(DevicePtr(at), bytes, 0))?;
        driver.write(DevicePtr(context.bucket), &context.bucket.to_le_bytes())?;
        driver.write(DevicePtr(context.cursor), &self.handed_out.to_le_bytes())?;
        driver.write(DevicePtr(context.heads), &self.heads)?;
        driver.write(DevicePtr(*at), &context.to_bytes())
    }

    /// Reads how much a launch recorded, and whether it needed more room.
    fn took(&self, driver: &mut dyn Driver, context: &Context, cost: &mut Cost) -> Result<(), Error> {
        let Some((probe_state, bytes)) = &self.probe_state else {
            cost.streams = cursor(driver, context)?;
            cost.full = cost.streams > context.size;
            return Ok(());
        };
        let mut tables = vec![0; probe_state.table_bytes() as usize];
        driver.read(DevicePtr(context.tables), &mut tables)?;
        cost.streams = *bytes;
        cost.full = probe_state.tables.iter().any(|t| t.read(&tables).1 > 0);
        if let Some(layout) = &probe_state.tracks {
            self.tracks(driver, context, layout, cost)?;
        }
        Ok(())
    }

    /// Reads how much the markers recorded, and whether a track overflowed.
    fn tracks(
        &self,
        driver: &mut dyn Driver,
        context: &Context,
        layout: &tracks::Layout,
        cost: &mut Cost,
    ) -> Result<(), Error> {
        let log = context.track_log as u32;
        let mut bytes = vec![0; ((u64::from(context.warps) * layout.regions()) << log) as usize];
        driver.read(DevicePtr(context.tracks), &mut bytes)?;
        let tracks = layout.read(self.kernel, context.warp_first.into(), log, &bytes);
        cost.streams += layout.took(log, &bytes);
        cost.full |= self.left_out > 0 || tracks.iter().any(|t| t.lost > 0 && !t.last);
        cost.marker_visits = Some(MarkerVisits::of(&tracks));
        Ok(())
    }
}

fn rounds(
    driver: &mut dyn Driver,
    job: &Job,
    prepared: &PreparedJob,
    forms: &[LoadedVariant],
    options: &CostOptions,
    held: &mut DeviceAllocations,
) -> Result<Vec<Cost>, Error> {
    let trash = match options.flush {
        0 => None,
        bytes => Some((DevicePtr(held.zeroed(driver, bytes, 256)?), bytes)),
    };
    let before = prepared.contents(driver, job)?;
    let mut after = Vec::new();
    let mut costs = vec![Cost::default(); forms.len()];
    // Buffers that the kernel writes, with their content before the launch.
    let mut written: Vec<(DevicePtr, &[u8])> = Vec::new();
    for round in 0..=options.rounds {
        for (form, cost) in forms.iter().zip(&mut costs) {
            for (at, bytes) in &written {
                driver.write(*at, bytes)?;
            }
            form.reset(driver)?;
            if let Some((at, bytes)) = trash {
                driver.fill(at, bytes, round as u8)?;
            }
            let stats = driver.launch(form.module, &form.name, &job.config, &form.params)?;
            if round > 0 {
                cost.rounds.push(amount(&stats));
                continue;
            }
            cost.resources = driver.resource_usage(form.module, &form.name, &job.config)?;
            if let Some((_, context)) = &form.context {
                form.took(driver, context, cost)?;
            }
            if after.is_empty() {
                after = prepared.contents(driver, job)?;
                let each = prepared.buffers.iter().zip(before.iter().zip(&after));
                written = each
                    .filter_map(|(at, (a, b))| Some(((*at)?, a.as_deref().filter(|_| a != b)?)))
                    .collect();
                continue;
            }
            for (at, left) in prepared.buffers.iter().zip(&after) {
                let (Some(at), Some(left)) = (at, left) else { continue };
                if written.iter().any(|(w, _)| w == at) {
                    let mut now = vec![0; left.len()];
                    driver.read(*at, &mut now)?;
                    cost.changed |= now != *left;
                }
            }
        }
    }
    Ok(costs)
}
