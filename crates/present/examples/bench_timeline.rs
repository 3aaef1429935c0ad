//! How fast timelines of kernels are made of records, looked at, and written: `cargo xtask bench timeline`.
//! Prints Markdown.

#[path = "../../../bench/clock.rs"]
mod clock;

use std::io::{self, Write};

use clock::best;
use prlx_present::profile;
use prlx_timeline::{Timeline, analyze, timeline};
use prlx_trace::ids::{Cycles, Nanos};
use prlx_trace::kernel::Module;
use prlx_trace::mark::{Anchor, Mark, MarkKind, Marks, Record, Records, Track};
use prlx_trace::{Trace, WarpId};

/// Warps, as an H200 has them at 12 each multiprocessor.
const TRACKS: u64 = 1584;

/// A sink that counts the bytes written to it.
struct Count(u64);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A recording of so many records: three regions in turn, in one around them all.
fn recorded(records: u64) -> Trace {
    let names = ["load", "compute", "store"];
    let kinds = [MarkKind::Begin, MarkKind::End];
    let mark = |name: &str, kind| Mark { name: name.into(), kind, ..Mark::default() };
    let marks = names.iter().flat_map(|name| kinds.map(|kind| mark(name, kind))).collect();
    let track = |warp: u64| {
        let each = records / TRACKS / 2 * 2;
        let clock = |i: u64| 1_000_000 + i * 350 + (i * warp) % 300;
        let anchor = |cycles: u64| {
            Some(Anchor { cycles: Cycles(cycles), nanos: Nanos(cycles * 4 / 7 / 32 * 32), took: None })
        };
        Track {
            warp: WarpId(warp),
            sm: (warp / 12) as u32,
            begin: anchor(1_000_000),
            end: anchor(clock(each)),
            records: Records(
                (0..each)
                    .map(|i| Record { mark: (i % 6) as u32, clock: clock(i) as u32, ..Record::default() })
                    .collect(),
            ),
            ..Track::default()
        }
    };
    Trace {
        modules: vec![Module { marks, ..Module::default() }],
        marks: vec![Marks { tracks: (0..TRACKS).map(track).collect(), ..Marks::default() }],
        ..Trace::default()
    }
}

fn spans(t: &Timeline) -> f64 {
    t.tracks.iter().map(|t| t.spans.len()).sum::<usize>() as f64
}

fn main() {
    println!("| what | records | seconds | ns a span | bytes a span |");
    println!("|---|---|---|---|---|");
    let row = |what: &str, n: f64, time: f64, bytes: Option<u64>| {
        let bytes = bytes.map_or("–".to_owned(), |b| format!("{:.1}", b as f64 / n));
        println!("| {what} | {} | {time:.3} | {:.0} | {bytes} |", 2.0 * n, time * 1e9 / n);
    };
    let trace = recorded(10_000_000);
    let made = timeline(&trace, |_| 2048);
    let n = spans(&made);
    row(
        "markers' records into a timeline",
        n,
        best(|| assert!(spans(&timeline(&trace, |_| 2048)) == n)),
        None,
    );
    drop(trace);
    let mut bytes = 0;
    let time = best(|| {
        let mut out = Count(0);
        profile::perfetto(&mut out, &made).expect("counts");
        bytes = out.0;
    });
    row("a timeline for Perfetto", n, time, Some(bytes));
    let small = timeline(&recorded(1_000_000), |_| 2048);
    let n = spans(&small);
    row("all analyses", n, best(|| assert!(analyze(&small).spans > 0)), None);
    let mut bytes = 0;
    let time = best(|| {
        let mut out = io::BufWriter::new(Count(0));
        profile::chrome(&mut out, &small).expect("counts");
        bytes = out.into_inner().map_or(0, |c| c.0);
    });
    row("a timeline for Chrome", n, time, Some(bytes));
}
