//! The CTAs of a launch, on the host's threads.
//!
//! Holds: CTAs begin in order, so that the lowest that has not ended is always running: a CTA may wait for earlier ones.
//! One that seems to wait for others is set aside for a while and the next begins, so that it may wait for later ones too.
//! When several fault, the lowest's error is reported.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use prlx_driver::Error;
use prlx_trace::launch::WarpStream;

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
}

/// Runs all CTAs.
///
/// # Errors
/// The error of the lowest CTA that has one.
pub fn run(launch: &Launch<'_>, threads: usize) -> Result<Outcome, Error> {
    let n = clusters(launch.config.grid, launch.cluster).volume();
    let next = AtomicU64::new(0);
    // CTAs from this one on need not run any more.
    let stop = AtomicU64::new(u64::MAX);
    let failed: Mutex<Option<(u64, Error)>> = Mutex::new(None);
    let whole = Mutex::new(Outcome::default());
    let work = || {
        let mut mine = Outcome::default();
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
                    mine.instructions += cluster.instructions();
                    mine.streams.extend(cluster.streams());
                    mine.output.extend(cluster.output().filter(|(_, text)| !text.is_empty()));
                    true
                }
                Ok(Progress::Paused { waits }) => {
                    wanting = waits;
                    false
                }
                Err(e) => {
                    stop.fetch_min(index, SeqCst);
                    if let Ok(mut f) = failed.lock()
                        && f.as_ref().is_none_or(|(i, _)| *i > index)
                    {
                        *f = Some((index, e));
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
            w.instructions += mine.instructions;
            w.output.extend(mine.output);
            w.streams.extend(mine.streams);
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
    if let Some((_, e)) = failed.into_inner().unwrap_or(None) {
        return Err(e);
    }
    let mut out = whole.into_inner().unwrap_or_default();
    out.output.sort_by_key(|o| o.0);
    out.streams.sort_by_key(|s| s.warp);
    Ok(out)
}
