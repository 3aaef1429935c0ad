//! The CTAs of a launch, on the host's threads.
//!
//! Holds: CTAs begin in order, so that the lowest that has not ended is always running: a CTA may wait for earlier ones.
//! One that seems to wait for others is set aside for a while and the next begins, so that it may wait for later ones too.
//! When several fault, the lowest's error is reported, with what it and those before it did until then.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use prlx_driver::Error;
use prlx_trace::launch::WarpStream;
use prlx_trace::{LaneMask, WarpId};

use crate::cluster::{Cluster, Progress, clusters};
use crate::cta::Launch;

/// Instructions before a CTA that seems to wait is set aside.
const SHARE: u64 = 1 << 20;
/// CTAs that one thread keeps under way.
const RESIDENT: usize = 256;

/// What all CTAs did.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Warp instructions.
    pub instructions: u64,
    /// By CTA: what it printed.
    pub output: Vec<(u64, Vec<u8>)>,
    /// What hooks wrote down, by warp.
    pub streams: Vec<WarpStream>,
    /// What stopped the launch. All of it is then what the clusters before the one that was stopped did, and that one until
    /// then: which later ones ran as well is the host threads' doing.
    pub stopped: Option<Stopped>,
}

/// The end of a launch that is stopped.
#[derive(Debug)]
pub struct Stopped {
    /// Why.
    pub error: Error,
    /// Recorded warps that have lanes which had not ended, and which.
    pub unfinished: Vec<(WarpId, LaneMask)>,
}

/// What one cluster left.
struct Part {
    cluster: u64,
    output: Vec<(u64, Vec<u8>)>,
    streams: Vec<WarpStream>,
}

impl Part {
    fn of(cluster: &mut Cluster) -> Part {
        let output = cluster.output().filter(|(_, text)| !text.is_empty()).collect();
        Part { cluster: cluster.index, output, streams: cluster.streams().collect() }
    }
}

/// Runs all CTAs, or until one is stopped: then the lowest cluster's reason counts.
pub fn run(launch: &Launch<'_>, threads: usize) -> Outcome {
    let n = clusters(launch.config.grid, launch.cluster).volume();
    let next = AtomicU64::new(0);
    // CTAs from this one on need not run any more.
    let stop = AtomicU64::new(u64::MAX);
    let failed: Mutex<Option<(u64, Stopped)>> = Mutex::new(None);
    let whole: Mutex<(u64, Vec<Part>)> = Mutex::default();
    let work = || {
        let (mut instructions, mut parts) = (0, Vec::new());
        let mut active: Vec<Cluster> = Vec::new();
        let mut spare: Vec<Cluster> = Vec::new();
        let mut turn = 0;
        let mut wanting = true;
        loop {
            if active.is_empty() || wanting && active.len() < RESIDENT {
                let index = next.fetch_add(1, SeqCst);
                if index < n && index < stop.load(SeqCst) {
                    let mut cluster = spare.pop().unwrap_or_else(|| Cluster::new(launch));
                    cluster.start(launch, index);
                    turn = active.len();
                    active.push(cluster);
                } else {
                    // Keep the counter from running on.
                    next.fetch_min(n, SeqCst);
                    if active.is_empty() {
                        break;
                    }
                }
            }
            wanting = false;
            turn %= active.len();
            let cluster = &mut active[turn];
            let index = cluster.index;
            let done = match cluster.run(launch, SHARE) {
                _ if index >= stop.load(SeqCst) => true,
                Ok(Progress::Done) => {
                    instructions += cluster.instructions();
                    parts.push(Part::of(cluster));
                    true
                }
                Ok(Progress::Paused { waits }) => {
                    wanting = waits;
                    false
                }
                Err(error) => {
                    stop.fetch_min(index, SeqCst);
                    let unfinished = cluster.unfinished();
                    parts.push(Part::of(cluster));
                    if let Ok(mut f) = failed.lock()
                        && f.as_ref().is_none_or(|(i, _)| *i > index)
                    {
                        *f = Some((index, Stopped { error, unfinished }));
                    }
                    true
                }
            };
            if done {
                spare.push(active.swap_remove(turn));
            } else {
                turn += 1;
            }
        }
        if let Ok(mut w) = whole.lock() {
            w.0 += instructions;
            w.1.append(&mut parts);
        }
    };
    let threads = (threads as u64).min(n).max(1);
    if threads == 1 {
        work();
    } else {
        std::thread::scope(|s| {
            for _ in 0..threads {
                s.spawn(work);
            }
        });
    }
    let (instructions, mut parts) = whole.into_inner().unwrap_or_default();
    let (last, stopped) = failed.into_inner().unwrap_or(None).unzip();
    parts.retain(|p| last.is_none_or(|last| p.cluster <= last));
    let mut out = Outcome { instructions, stopped, ..Outcome::default() };
    for part in parts {
        out.output.extend(part.output);
        out.streams.extend(part.streams);
    }
    out.output.sort_by_key(|o| o.0);
    out.streams.sort_by_key(|s| s.warp);
    out
}
