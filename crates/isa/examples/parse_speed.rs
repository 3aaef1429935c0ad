//! How fast PTX is read: `cargo run --release -p prlx-isa --example parse_speed -- FILE…`.
//!
//! Every file is read again and again for two seconds in all, on one core; the mean counts, by time on the processor where
//! Linux tells it (others share the machine). `count` only counts semicolons; `parse` finds the structure; `view` resolves
//! operands and makes blocks; `graph` and `flow` are of all functions. Speeds are in bytes of text.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use prlx_isa::flow::{Flow, decisions};
use prlx_isa::graph::Graph;
use prlx_isa::ptx;

/// Time that this thread has had on a processor.
fn on_processor() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

/// What one round takes, over enough of them that the clock's steps (some milliseconds) do not show.
fn mean(mut round: impl FnMut()) -> Duration {
    let (begin, before) = (Instant::now(), on_processor());
    let mut rounds = 0;
    while begin.elapsed() < Duration::from_secs(2) || rounds < 3 {
        round();
        rounds += 1;
    }
    match (before, on_processor()) {
        (Some(before), Some(after)) if after > before => (after - before) / rounds,
        _ => begin.elapsed() / rounds,
    }
}

fn main() -> ExitCode {
    let mut sources = vec![];
    for path in std::env::args().skip(1) {
        match std::fs::read(&path) {
            Ok(bytes) => sources.push(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) => {
                eprintln!("{path}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    let bytes: usize = sources.iter().map(String::len).sum();
    let modules: Vec<_> = sources.iter().map(|s| ptx::parse(s).0).collect();
    let views: Vec<_> = modules.iter().map(|m| ptx::view(m).0).collect();
    let functions: Vec<_> = views.iter().flat_map(|v| &v.functions).collect();
    let graphs: Vec<_> = functions.iter().map(|f| Graph::of(f)).collect();
    let insts: usize = functions.iter().map(|f| f.insts.len()).sum();
    println!(
        "{} files, {:.2} MB, {} functions, {insts} instructions",
        sources.len(),
        bytes as f64 / 1e6,
        functions.len()
    );
    let report = |name: &str, time: Duration| {
        let seconds = time.as_secs_f64();
        println!(
            "{name:<6} {:8.1} MB/s {:8.1} ns/instruction",
            bytes as f64 / 1e6 / seconds,
            seconds * 1e9 / insts.max(1) as f64
        );
    };
    // As fast as any reader could hope to be.
    report(
        "count",
        mean(|| {
            black_box(sources.iter().map(|s| black_box(s).bytes().filter(|b| *b == b';').count()).sum::<usize>());
        }),
    );
    report("parse", mean(|| sources.iter().for_each(|s| drop(black_box(ptx::parse(black_box(s)))))));
    report("view", mean(|| modules.iter().for_each(|m| drop(black_box(ptx::view(black_box(m)))))));
    report("graph", mean(|| functions.iter().for_each(|f| drop(black_box(Graph::of(black_box(f)))))));
    report(
        "flow",
        mean(|| {
            for (f, g) in functions.iter().zip(&graphs) {
                let flow = Flow::of(black_box(f), g);
                drop(black_box(decisions(f, &flow)));
            }
        }),
    );
    ExitCode::SUCCESS
}
