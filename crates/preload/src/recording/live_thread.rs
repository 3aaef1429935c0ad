//! Writes a probe program's tables, or a flight recorder's rings, to the live file while the program runs.
//!
//! Whoever waits for counters reads the live file, and it is what is left of a process that is killed. It
//! holds the tables of the contexts that have not ended, and the launches that had not been written to the
//! process's file. When a context ends, its tables go to the process's file, and the live file is removed
//! first.
//!
//! # Invariants
//! The live file is whole or absent. Writing it takes a tenth of the time at most.
//!
//! # Limitations
//! Records of probe programs, and tracks that are not rings, are not in it.

use std::fs;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use prlx_driver::cuda::recorder::Running;
use prlx_driver::workers::WORKERS;
use prlx_plan::Plan;
use prlx_trace::{ModuleId, Recording, Trace};

use crate::panic_guard::guard;
use crate::recording::flush::no_signals;
use crate::recording::lock::lock;
use crate::recording::session::{SESSION, Session};

/// A file that is being written and has not its name yet.
const PART: &str = "part";

/// Writing takes this part of the time at most.
const SHARE: u32 = 10;

/// Starts to put it there, in a thread that lives as long as the process.
pub(super) fn start(interval: Duration) {
    let run = move || {
        no_signals();
        let mut pause = interval;
        loop {
            std::thread::sleep(pause);
            let took = guard(|| write(SESSION.get()?.as_ref()?)).unwrap_or_default();
            pause = interval.max(took * SHARE);
        }
    };
    let _ = std::thread::Builder::new().name("prlx-live".into()).spawn(run);
}

/// Puts it there; how long that took, but for waiting for others.
fn write(session: &Session) -> Option<Duration> {
    let path = lock(&session.live.0);
    let contexts: Vec<_> = lock(&session.contexts).values().flatten().cloned().collect();
    let producer = concat!("prlx ", env!("CARGO_PKG_VERSION")).to_owned();
    let mut trace = Trace { producer, ..Trace::default() };
    // Modules of a profile have no tables.
    let tables = contexts.iter().filter(|_| !session.options.rings());
    let all: Vec<_> = tables.flat_map(|of| of.recorder.tallies()).collect();
    let begun = Instant::now();
    for (plan, tallies) in all {
        let module = ModuleId(trace.modules.len() as u32);
        trace.modules.push(plan.module.clone());
        trace.tallies.extend(tallies.into_iter().map(|tally| prlx_trace::TableContents { module, ..tally }));
    }
    let mut known: Vec<(Arc<Plan>, ModuleId)> = Vec::new();
    for Running { plan, mut launch, mut marks } in contexts.iter().flat_map(|of| of.recorder.running()) {
        let module =
            known.iter().find(|(p, _)| Arc::ptr_eq(p, &plan)).map(|(_, id)| *id).unwrap_or_else(|| {
                let id = ModuleId(trace.modules.len() as u32);
                trace.modules.push(plan.module.clone());
                known.push((Arc::clone(&plan), id));
                id
            });
        (launch.module, marks.module) = (module, module);
        trace.launches.push(Recording { launch, ..Recording::default() });
        trace.marks.push(marks);
    }
    if trace.modules.is_empty() {
        // What ran is in the process's own file.
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
