//! Writes a probe program's tables, or a flight recorder's rings, to the live file while the program runs.
//!
//! A program that waits for counters reads the live file, and it is what remains of a process that is killed.
//! It holds the tables of the contexts that have not ended, and the launches that are not yet in the
//! process's file. When a context ends, the live file is removed, and its tables go to the process's file.
//!
//! # Invariants
//! - The live file is complete or absent.
//! - Writing it takes at most a tenth of the time.
//!
//! # Limitations
//! Records of probe programs, and tracks that are not rings, are not in it.

use std::fs;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use prlx_driver::record::program::Running;
use prlx_driver::workers::WORKERS;
use prlx_plan::Plan;
use prlx_trace::{ModuleId, Recording, Trace};

use crate::panic_guard::guard;
use crate::recording::flush::block_signals;
use crate::recording::lock::lock;
use crate::recording::session::{SESSION, Session};

/// Extension of a live file that is not complete yet.
const PART: &str = "part";

/// Writing takes at most one part in so many of the time.
const SHARE: u32 = 10;

/// Starts the thread that writes the live file every `interval`, as long as the process lives.
pub(super) fn start(interval: Duration) {
    let run = move || {
        block_signals();
        let mut pause = interval;
        loop {
            std::thread::sleep(pause);
            let took = guard(|| write(SESSION.get()?.as_ref()?)).unwrap_or_default();
            pause = interval.max(took * SHARE);
        }
    };
    let _ = std::thread::Builder::new().name("prlx-live".into()).spawn(run);
}

/// Writes the live file. Returns how long that took without the wait for locks; `None` if nothing was
/// written.
fn write(session: &Session) -> Option<Duration> {
    let path = lock(&session.live.0);
    let contexts: Vec<_> = lock(&session.contexts).values().flatten().cloned().collect();
    let producer = concat!("prlx ", env!("CARGO_PKG_VERSION")).to_owned();
    let mut trace = Trace { producer, ranges: lock(&session.ranges).0.clone(), ..Trace::default() };
    // A profile has no tables.
    let with_tables = contexts.iter().filter(|_| !session.options.rings());
    let tables: Vec<_> = with_tables.flat_map(|c| c.recorder.tallies()).collect();
    let begun = Instant::now();
    for (plan, tallies) in tables {
        let module = ModuleId(trace.modules.len() as u32);
        trace.modules.push(plan.module.clone());
        trace.tallies.extend(tallies.into_iter().map(|tally| prlx_trace::TableContents { module, ..tally }));
    }
    let mut modules: Vec<(Arc<Plan>, ModuleId)> = Vec::new();
    for Running { plan, mut launch, mut marks } in contexts.iter().flat_map(|c| c.recorder.running()) {
        let module =
            modules.iter().find(|(p, _)| Arc::ptr_eq(p, &plan)).map(|(_, id)| *id).unwrap_or_else(|| {
                let id = ModuleId(trace.modules.len() as u32);
                trace.modules.push(plan.module.clone());
                modules.push((Arc::clone(&plan), id));
                id
            });
        (launch.module, marks.module) = (module, module);
        trace.launches.push(Recording { launch, ..Recording::default() });
        trace.marks.push(marks);
    }
    if trace.modules.is_empty() {
        // Everything is in the process's own file.
        let _ = fs::remove_file(&*path);
        return None;
    }
    let part = path.with_extension(PART);
    let mut to = BufWriter::new(File::create(&part).ok()?);
    let written = trace
        .write_parallel(&mut to, &WORKERS)
        .and_then(|()| to.flush())
        .and_then(|()| fs::rename(&part, &*path));
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written.ok().map(|()| begun.elapsed())
}
