//! Runs the clusters of a launch on the host's threads.
//!
//! Under seed 0 clusters start in order, so that the lowest unfinished cluster always runs and a CTA may wait
//! for earlier ones. A cluster that seems to wait is set aside for a while and the next one starts, so that
//! it may wait for later ones too. Under any other seed one host thread keeps a window of clusters in flight.
//! The seed draws which of them runs, and for how long. The window grows while the clusters in it seem to
//! wait.
//!
//! # Invariants
//! - On one host thread the launch and the seed determine everything, including races between CTAs. The first
//!   error ends the launch.
//! - On several host threads the error of the lowest cluster is reported, with the results of that cluster
//!   and those before it.
//! - A host thread whose clusters have only waited for a long time hands them to another one. If all clusters
//!   wait, one thread has them all in the end, and searches for deadlocks as on one host thread.

use crate::check::SharedChecker;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use prlx_driver::{Error, ErrorKind};
use prlx_plan::ProbeState;
use prlx_trace::launch::WarpStream;
use prlx_trace::{LaneMask, Level, WarpId};

use crate::exec::cluster::{Cluster, Progress};
use crate::exec::deadlock::{self, WaitingLanes};
use crate::exec::grid_shape::clusters;
use crate::exec::launch::Launch;
use crate::exec::rng::Rng;
use crate::exec::watch::Watch;
use crate::hooks::probes::ProbeResults;

/// Instructions of a turn, after which a cluster that seems to wait is paused.
const TURN: u64 = 1 << 20;
/// Instructions of a turn of a cluster that seemed to wait in its last turn.
const WAITING_TURN: u64 = 1 << 14;
/// The most clusters that one host thread keeps running or paused.
const MAX_RESIDENT: u64 = 256;
/// The most bytes of paused clusters, on all host threads.
const MAX_PAUSED_BYTES: u64 = 1 << 30;
/// The work of waiting clusters, in instructions, after which a host thread hands them to another one.
const HAND_OVER: u64 = 1 << 24;
/// Clusters that run at first under a hostile schedule.
const FIRST_WINDOW: usize = 32;

/// The result of a launch.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Warp instructions that were executed.
    pub instructions: u64,
    /// The recorded streams, by warp.
    pub streams: Vec<WarpStream>,
    /// The results of a probe program.
    pub probe_results: Option<ProbeResults>,
    /// The error that stopped the launch. On several host threads, the other fields then cover the clusters
    /// before the one that was stopped, and that cluster up to its error. Which later clusters ran is random.
    pub stopped: Option<Stopped>,
}

/// The end of a launch that is stopped.
#[derive(Debug)]
pub struct Stopped {
    /// The error that stopped the launch.
    pub error: Error,
    /// The recorded warps with lanes that had not ended, ascending, and these lanes.
    pub unfinished: Vec<(WarpId, LaneMask)>,
}

impl Stopped {
    /// The end of these clusters by an error.
    fn of(error: Error, clusters: &[Cluster]) -> Stopped {
        let mut unfinished: Vec<_> = clusters.iter().flat_map(Cluster::unfinished).collect();
        unfinished.sort_unstable();
        Stopped { error, unfinished }
    }
}

/// The results of one cluster.
struct ClusterOutput {
    cluster: u64,
    streams: Vec<WarpStream>,
    probe_results: Option<ProbeResults>,
}

/// The host threads that run, and the clusters that others have handed over.
struct Handover {
    threads: u64,
    clusters: Vec<Cluster>,
}

/// What becomes of a host thread.
enum Role {
    /// It goes on, and others run too.
    Shares,
    /// It is the last one. It has all clusters that have not ended.
    Last,
    /// Another one runs its clusters.
    Ends,
}

/// The state that host threads share.
struct Grid<'a> {
    launch: &'a Launch<'a>,
    check: &'a SharedChecker,
    /// Clusters of the launch that run.
    clusters: u64,
    /// How many of them have started.
    next: AtomicU64,
    /// Clusters from this number on need not run.
    stop: AtomicU64,
    failed: Mutex<Option<(u64, Stopped)>>,
    results: Mutex<(u64, Vec<ClusterOutput>)>,
    threads: u64,
    handover: Mutex<Handover>,
    /// The most clusters that one host thread keeps running or paused.
    resident: usize,
    /// The most bytes that may be recorded.
    memory_limit: u64,
    recorded_bytes: AtomicU64,
}

/// Runs all CTAs on at most so many host threads, in `memory_limit` bytes, or until one is stopped.
///
/// # Errors
/// When there is too little memory_limit for one.
pub fn run(
    launch: &Launch<'_>,
    check: &SharedChecker,
    threads: usize,
    memory_limit: u64,
) -> Result<Outcome, Error> {
    let all = clusters(launch.config.grid, launch.cluster).volume();
    let count = launch.chosen.as_ref().map_or(all, |chosen| chosen.len() as u64);
    let bytes = Cluster::bytes(launch).max(1);
    if bytes > memory_limit {
        let what = if launch.cluster.volume() > 1 { "cluster" } else { "CTA" };
        let text = format!(
            "`{}`: a {what} needs {bytes} bytes for registers, local and shared memory, and {memory_limit} are left to the device",
            launch.code.name
        );
        return Err(Error::new(ErrorKind::Memory, text)
            .help("raise the memory limit (--max-memory), or launch smaller CTAs"));
    }
    let threads = (threads as u64).min(count).min(memory_limit / bytes).max(1);
    let grid = Grid {
        launch,
        check,
        clusters: count,
        next: AtomicU64::new(0),
        stop: AtomicU64::new(u64::MAX),
        failed: Mutex::new(None),
        results: Mutex::default(),
        threads,
        handover: Mutex::new(Handover { threads, clusters: Vec::new() }),
        resident: match launch.grid_workspace {
            Some(_) => usize::try_from(count).unwrap_or(usize::MAX),
            None => (memory_limit.min(MAX_PAUSED_BYTES) / bytes / threads).clamp(1, MAX_RESIDENT) as usize,
        },
        memory_limit,
        recorded_bytes: AtomicU64::new(0),
    };
    if threads == 1 {
        grid.run_clusters();
    } else {
        std::thread::scope(|s| {
            for _ in 0..threads {
                s.spawn(|| grid.run_clusters());
            }
        });
    }
    let (instructions, mut parts) = grid.results.into_inner().unwrap_or_default();
    let (last, stopped) = grid.failed.into_inner().unwrap_or(None).unzip();
    if threads > 1 {
        parts.retain(|p| last.is_none_or(|last| p.cluster <= last));
    }
    let state = probe_state(launch);
    let mut out =
        Outcome { instructions, stopped, probe_results: state.map(ProbeResults::new), ..Outcome::default() };
    // In order: sums of floats depend on it.
    parts.sort_by_key(|p| p.cluster);
    for part in parts {
        if let (Some(state), Some(all), Some(more)) = (state, &mut out.probe_results, part.probe_results) {
            all.merge(state, more);
        }
        out.streams.extend(part.streams);
    }
    out.streams.sort_by_key(|s| s.warp);
    Ok(out)
}

/// The state of the probe program that the launch runs, if it runs one.
fn probe_state<'a>(launch: &Launch<'a>) -> Option<&'a ProbeState> {
    launch.observe.filter(|o| o.plan.request.level == Level::Probe).map(|o| &o.plan.probe_state)
}

impl ClusterOutput {
    /// The results of a cluster; `None` if there are none, as a launch may have billions of clusters.
    fn of(launch: &Launch<'_>, cluster: &mut Cluster) -> Option<ClusterOutput> {
        let probe_results =
            probe_state(launch).map(|state| cluster.probe_results(state)).filter(|g| !g.is_empty());
        let streams: Vec<_> = cluster.streams().collect();
        let any = !streams.is_empty() || probe_results.is_some();
        any.then_some(ClusterOutput { cluster: cluster.index, streams, probe_results })
    }
}

impl Grid<'_> {
    /// Runs clusters on one host thread until none is left.
    fn run_clusters(&self) {
        let seed = self.launch.config.seed;
        // A seed other than those of the clusters.
        let mut rng = (seed != 0).then(|| Rng::new(seed, u64::MAX));
        let (mut instructions, mut parts) = (0, Vec::new());
        let mut active: Vec<Cluster> = Vec::new();
        let mut spare: Vec<Cluster> = Vec::new();
        let mut window = if rng.is_some() { FIRST_WINDOW.min(self.resident) } else { 1 };
        let mut turn = 0;
        let mut more = true;
        let mut watch = Watch::new();
        // Launches with checks run on one host thread. Several host threads search for deadlocks apart.
        let own = SharedChecker::default();
        let check = if self.threads == 1 { self.check } else { &own };
        let (mut role, mut hand_over) = (self.role(&mut active, false), false);
        loop {
            while more && active.len() < window {
                let cluster = self.begin(&mut spare);
                more = cluster.is_some();
                turn = if more { active.len() } else { turn };
                active.extend(cluster);
            }
            let stop = self.stop.load(SeqCst);
            active.retain(|c| c.index < stop);
            if active.is_empty() || hand_over {
                (role, hand_over) = (self.role(&mut active, true), false);
                if active.is_empty() {
                    break;
                }
                continue;
            }
            let alone = matches!(role, Role::Last);
            match &mut rng {
                None => window = 1,
                Some(rng) => turn = rng.below(active.len() as u32) as usize,
            }
            turn %= active.len();
            let cluster = &mut active[turn];
            if cluster.skips(self.launch.barrier_phase()) {
                turn += 1;
                continue;
            }
            let share = match &mut rng {
                None if cluster.waits => WAITING_TURN,
                None => TURN,
                Some(rng) => 16 << rng.below(12),
            };
            let (index, begun) = (cluster.index, cluster.budget_used());
            let mut ran = cluster
                .run(self.launch, check, share)
                .and_then(|p| self.count_recorded(cluster.new_recorded_bytes()).map(|()| p))
                .and_then(|p| self.launch.check_cancelled().map(|()| p));
            let waits = matches!(ran, Ok(Progress::Paused { waits: true }));
            let used = cluster.budget_used() - begun;
            if ran.is_ok() {
                let in_vain = alone && watch.examines(used, waits);
                let waiting = if in_vain { self.deadlock(check, &active) } else { None };
                let forever = waiting.is_some();
                watch.turn(self.launch, check, used, waits || forever);
                let all = !more || active.len() >= self.resident;
                let ended = if all { self.end_of_wait(check, &active, &watch, waiting) } else { None };
                ran = match ended {
                    Some(error) => Err(error),
                    // A cluster that has not begun may help.
                    None if forever => Ok(Progress::Paused { waits: true }),
                    None => ran,
                };
                hand_over = !alone && all && watch.waited() > HAND_OVER;
            }
            let cluster = &mut active[turn];
            let done = match ran {
                _ if index >= self.stop.load(SeqCst) => true,
                Ok(Progress::Done) => {
                    instructions += cluster.instructions();
                    parts.extend(ClusterOutput::of(self.launch, cluster));
                    true
                }
                Ok(Progress::Paused { waits }) => {
                    cluster.waits = waits;
                    cluster.waits_in = self.launch.barrier_phase().filter(|_| waits);
                    if waits {
                        window = active.len().saturating_add(1).min(self.resident).max(window);
                    }
                    false
                }
                Err(error) => {
                    // On the last host thread the other clusters may wait for this one forever, so all of
                    // them end.
                    let cut = if alone { &mut active[..] } else { std::slice::from_mut(cluster) };
                    self.stop(index, alone, Stopped::of(error, cut));
                    parts.extend(cut.iter_mut().filter_map(|c| ClusterOutput::of(self.launch, c)));
                    true
                }
            };
            if done {
                spare.push(active.swap_remove(turn));
            } else {
                turn += 1;
            }
        }
        if let Ok(mut w) = self.results.lock() {
            w.0 += instructions;
            w.1.append(&mut parts);
        }
    }
    /// What becomes of this host thread. `leaves`: it hands over its clusters and ends, unless it is the last
    /// one or there are other clusters to run.
    fn role(&self, active: &mut Vec<Cluster>, leaves: bool) -> Role {
        let Ok(mut handover) = self.handover.lock() else { return Role::Ends };
        if handover.threads == 1 {
            active.append(&mut handover.clusters);
            return Role::Last;
        }
        if !leaves {
            return Role::Shares;
        }
        if active.is_empty() && !handover.clusters.is_empty() {
            active.append(&mut handover.clusters);
            return Role::Shares;
        }
        handover.threads -= 1;
        handover.clusters.append(active);
        Role::Ends
    }
    /// The waiting threads, if a search finds that all threads of these clusters wait forever.
    fn deadlock(&self, check: &SharedChecker, active: &[Cluster]) -> Option<Vec<WaitingLanes>> {
        let shelf = check.lock().ok()?;
        let checker = shelf.as_ref()?;
        let parts: Vec<deadlock::PausedCta<'_>> = active.iter().flat_map(Cluster::paused_ctas).collect();
        checker.polling_deadlock(self.launch, &parts, true)
    }
    /// The error that all threads wait forever.
    fn deadlock_error(&self, check: &SharedChecker, active: &[Cluster], waiting: &[WaitingLanes]) -> Error {
        let launch = self.launch;
        let parts: Vec<deadlock::PausedCta<'_>> = active.iter().flat_map(Cluster::paused_ctas).collect();
        let ctas = launch.config.grid.volume();
        let begun = self.next.load(SeqCst).min(self.clusters) * launch.cluster.volume();
        let others =
            [(begun.saturating_sub(parts.len() as u64), "ended"), (ctas.saturating_sub(begun), "not begun")];
        let others = others.into_iter().filter(|o| o.0 > 0);
        let others: Vec<String> = others
            .map(|(n, what)| format!("{n} {} {what}", if n == 1 { "CTA has" } else { "CTAs have" }))
            .collect();
        let whole = match others.join(", ") {
            _ if ctas == 1 => "CTA (0,0,0)".to_owned(),
            none if none.is_empty() => "the grid".to_owned(),
            others => format!("the grid ({others})"),
        };
        if let Some(checker) = check.lock().ok().as_mut().and_then(|shelf| shelf.as_mut()) {
            checker.report_deadlock(launch, &whole, waiting);
        }
        deadlock::error(launch, &whole, &parts, waiting)
    }
    /// The error of clusters that wait forever, or for longer than a limit allows. `waiting`: their threads,
    /// if all wait forever.
    fn end_of_wait(
        &self,
        check: &SharedChecker,
        active: &[Cluster],
        watch: &Watch,
        waiting: Option<Vec<WaitingLanes>>,
    ) -> Option<Error> {
        if let Some(waiting) = waiting {
            return Some(self.deadlock_error(check, active, &waiting));
        }
        let parts = || active.iter().flat_map(Cluster::paused_ctas).collect::<Vec<_>>();
        if watch.quiet() > self.launch.max_quiet_wait() {
            return Some(deadlock::only_waits(self.launch, &parts()));
        }
        (watch.waited() > self.launch.max_wait())
            .then(|| deadlock::step_limit(self.launch, "the grid", self.launch.max_steps, &parts()))
    }
    /// Starts the next cluster, if there is one.
    fn begin(&self, spare: &mut Vec<Cluster>) -> Option<Cluster> {
        let begun = self.next.fetch_add(1, SeqCst);
        let index = match &self.launch.chosen {
            None => begun,
            Some(chosen) => chosen.get(begun as usize).copied().unwrap_or(u64::MAX),
        };
        if begun >= self.clusters || index >= self.stop.load(SeqCst) {
            // Keeps the counter from overflowing.
            self.next.fetch_min(self.clusters, SeqCst);
            return None;
        }
        let mut cluster = spare.pop().unwrap_or_else(|| Cluster::new(self.launch));
        cluster.start(self.launch, index);
        Some(cluster)
    }
    /// Notes an error. Clusters from this one on need not run; on the last host thread (`alone`) none does.
    fn stop(&self, index: u64, alone: bool, stopped: Stopped) {
        self.stop.fetch_min(if alone { 0 } else { index }, SeqCst);
        if let Ok(mut f) = self.failed.lock()
            && f.as_ref().is_none_or(|(i, _)| *i > index)
        {
            *f = Some((index, stopped));
        }
    }
    /// Counts bytes that were recorded.
    ///
    /// # Errors
    /// The bytes exceed the memory limit.
    fn count_recorded(&self, bytes: u64) -> Result<(), Error> {
        if self.recorded_bytes.fetch_add(bytes, SeqCst).saturating_add(bytes) <= self.memory_limit {
            return Ok(());
        }
        let name = &self.launch.code.name;
        let text = format!("the recording of `{name}` takes more than {} bytes", self.memory_limit);
        Err(Error::new(ErrorKind::Memory, text).help("raise the memory limit (--max-memory), or record less"))
    }
}
