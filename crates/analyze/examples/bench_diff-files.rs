//! Time and memory to compare pairs of recordings: `cargo xtask bench diff-files -- A.prlx B.prlx …`.
//! `bench/decode` has kernels to record. Prints Markdown.

use std::fs;
use std::sync::Arc;
use std::time::Instant;

use prlx_analyze::{DiffOptions, diff};
use prlx_trace::{Bytes, Trace};

/// Processor time of this process in seconds, user and system, as Linux counts it: in hundredths.
fn processor() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// The most memory in MiB that this process held at once so far, the files included.
fn memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or_default() / 1024
}

fn main() {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    println!("| pair | wall s | processor s | MiB, with the pairs before | findings |");
    println!("|---|---|---|---|---|");
    for pair in paths.chunks_exact(2) {
        let (start, before) = (Instant::now(), processor());
        let [a, b] = [0, 1].map(|side| {
            let file: Bytes = Arc::new(fs::read(&pair[side]).expect("a file"));
            Trace::read_mapped(&file).expect("a recording")
        });
        let report = diff(&a, &b, &DiffOptions::default()).expect("compares");
        let found: u64 = report.launches.iter().map(|launch| launch.findings_total).sum();
        let (wall, cpu) = (start.elapsed().as_secs_f64(), processor() - before);
        println!("| {} {} | {wall:.2} | {cpu:.2} | {} | {found} |", pair[0], pair[1], memory());
    }
}
