//! Benchmark: compares pairs of recordings that are equal except for one decision. Prints a table in
//! Markdown.
//!
//! The example makes the files and compares them with the `prlx` beside it. Arguments: `quick` uses a
//! sixteenth of the warps, `files` keeps the files. All warps have the same 10⁶ random decisions, so a frame
//! of 32 warps compresses to the size of one warp. The comparison reads only the frame of the warp that
//! differs.

#[path = "../../analyze/tests/it/toy.rs"]
mod build;
#[path = "../../../bench/process.rs"]
mod process;

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

use build::{Hashed, S};
use prlx_trace::launch::Lanes;
use prlx_trace::{Dim3, SiteId, Streams, Trace, WarpId, WarpStream};
use process::{Any, Folder};

/// Trips of a lane: each has a decision of its own and one whether to stay; 32 lanes make 10⁶ decisions.
const TRIPS: u64 = 15_625;
/// Warps of a frame.
const FRAME: u64 = 32;
/// Runs of which the best counts.
const RUNS: usize = 9;

/// A file with these streams, all of which have as many words as `warp`.
fn write(path: &Path, code: &[Vec<S>], warps: u64, warp: &WarpStream, streams: &Streams) -> Any<()> {
    let mut trace: Trace = build::trace(build::module(code), vec![]);
    let r = &mut trace.launches[0];
    r.launch.grid = Dim3 { x: warps as u32, y: 1, z: 1 };
    r.launch.totals.recorded = warps * warp.lanes.elements();
    r.streams = streams.clone();
    Ok(trace.write(&mut BufWriter::with_capacity(1 << 20, File::create(path)?))?)
}

fn main() -> Any<()> {
    let said = |word: &str| std::env::args().skip(1).any(|w| w == word);
    let warps = if said("quick") { 100_000 / 16 } else { 100_000 };
    let code = vec![vec![S::Loop(vec![S::Select])]];
    let live = |flip: bool| {
        build::warp(&code, 0, |lane| {
            let mut choose = Hashed::new(u64::from(lane.0), &[TRIPS]);
            if flip && lane.0 == 17 {
                choose.flips.push((SiteId(0), vec![TRIPS / 2]));
            }
            choose
        })
    };
    let (good, bad) = (live(false), live(true));
    let Lanes::Path { words, .. } = &good.lanes else { return Err("no words".into()) };
    let unpacked = words.len() as f64 * 4.0 * warps as f64;
    let frame = |first: u64, end: u64, odd: Option<u64>| -> Vec<WarpStream> {
        let one = |w: u64| {
            let of = if odd == Some(w) { &bad } else { &good };
            WarpStream { warp: WarpId(w), ..of.clone() }
        };
        (first..end).map(one).collect()
    };
    let mut streams = Streams::default();
    let last = (warps - 1) / FRAME * FRAME;
    for first in (0..last).step_by(FRAME as usize) {
        streams.append(&frame(first, first + FRAME, None))?;
    }
    let mut other = streams.clone();
    streams.append(&frame(last, warps, None))?;
    other.append(&frame(last, warps, Some(warps - 3)))?;
    let folder = Folder::new("prlx-bench-own", said("files"))?;
    let [a, b] = ["a.prlx", "b.prlx"].map(|name| folder.path.join(name));
    write(&a, &code, warps, &good, &streams)?;
    write(&b, &code, warps, &good, &other)?;
    drop((streams, other));
    let prlx = process::prlx()?;
    let size = (fs::metadata(&a)?.len() + fs::metadata(&b)?.len()) as f64;
    println!(
        "| pair, 10⁶ decisions a warp | GB of files | GB unpacked | ms | MiB | findings | lanes | wanted |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (name, b, findings) in [("identical", &a, 0), ("one lane's one decision", &b, 1)] {
        let took = process::diff(&prlx, [&a, b], RUNS)?;
        let launch = &took.report["launches"][0];
        let found = launch["findings_total"].as_u64();
        let lanes = launch["findings"][0]["lanes_total"].as_u64().unwrap_or(0);
        if found != Some(findings) || lanes != findings {
            return Err(format!("{name}: {found:?} findings of {lanes} lanes").into());
        }
        println!(
            "| {warps} warps, {name} | {:.2} | {:.1} | {:.0} | {} | {findings} | {lanes} | 1 s, 1 GB |",
            size / 1e9,
            2.0 * unpacked / 1e9,
            took.time.as_secs_f64() * 1e3,
            took.peak
        );
    }
    Ok(())
}
