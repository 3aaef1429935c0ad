//! Benchmark: compares pairs of recordings of PRLX 0.x. Prints a table in Markdown.
//!
//! The example makes the files and compares them with the `prlx` beside it. Arguments: `quick` uses pairs of
//! a sixteenth of the size, `files` keeps the files of the last pair, any other text selects the pairs with
//! that text in their names. A time is the best of several runs of the whole process, with files in the page
//! cache. Memory is the high-water mark of the process, with the mapped pages of files.

#[path = "../../../bench/process.rs"]
mod process;

use std::fs;
use std::io::BufWriter;
use std::path::Path;

use prlx_legacy::v1::{Event, Flags, Head, Header, Writer};
use prlx_trace::Dim3;
use process::{Any, Folder};

const ROOM: u32 = 4096;
/// Sites of the loop that every warp runs.
const SITES: u32 = 64;
/// Runs of which the best counts.
const RUNS: usize = 7;

/// One pair: what it is, warps, flags, what B does otherwise, the time and memory wanted.
struct Pair {
    name: &'static str,
    warps: u32,
    packed: bool,
    change: Change,
    wanted: &'static str,
}

#[derive(Clone, Copy, PartialEq)]
enum Change {
    None,
    /// So many events of the whole file have another direction.
    Sparse(u32),
    /// Every event has.
    All,
    /// Every event, and lanes and kinds of sites too.
    Structure,
}

fn event(warp: u32, i: u32) -> Event {
    let noise = (u64::from(warp) << 32 | u64::from(i)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Event {
        site: 0x811c_9dc5_u32.wrapping_add((i % SITES).wrapping_mul(16_777_619)),
        dir: (noise >> 63) as u8,
        mask: u32::MAX,
        value: i,
        ..Event::default()
    }
}

fn write(path: &Path, warps: u32, packed: bool, change: Change) -> Any<()> {
    let mut header = Header {
        flags: Flags(if packed { Flags::PACKED } else { 0 }),
        warps,
        events_per_warp: ROOM,
        warps_per_block: 8,
        grid: Dim3 { x: warps / 8, y: 1, z: 1 },
        block: Dim3 { x: 256, y: 1, z: 1 },
        arch: 90,
        ..Header::default()
    };
    header.set_kernel("bench");
    let mut out = Writer::new(BufWriter::with_capacity(1 << 20, fs::File::create(path)?), &header)?;
    let head = Head { write_idx: ROOM, events: ROOM, total: ROOM, ..Head::default() };
    let mut events = Vec::with_capacity(ROOM as usize);
    for w in 0..warps {
        events.clear();
        events.extend((0..ROOM).map(|i| event(w, i)));
        match change {
            Change::None => {}
            Change::Sparse(n) => {
                if w % (warps / n).max(1) == 0 {
                    events[(w % ROOM) as usize].dir ^= 1;
                }
            }
            Change::All => events.iter_mut().for_each(|e| e.dir ^= 1),
            Change::Structure => {
                events.iter_mut().for_each(|e| e.dir ^= 1);
                events.iter_mut().step_by(7).for_each(|e| e.site ^= 0x5a5a);
            }
        }
        out.warp(head, &events)?;
    }
    out.finish()?;
    Ok(())
}

/// A loop of 256 events a trip, 4,096 trips, one warp; `drop`: without trip 2,000.
fn loop_of_a_million(path: &Path, drop: bool) -> Any<()> {
    let trips = (0..4096).filter(|t| !drop || *t != 2000);
    let events: Vec<Event> = trips
        .flat_map(|t: u32| (0..256).map(move |i| Event { site: 1000 + i, ..event(t, i) }))
        .map(|e| Event { value: 0, ..e })
        .collect();
    let mut header = Header {
        warps: 1,
        events_per_warp: 1 << 20,
        warps_per_block: 1,
        grid: Dim3 { x: 1, y: 1, z: 1 },
        block: Dim3 { x: 32, y: 1, z: 1 },
        ..Header::default()
    };
    header.set_kernel("loop");
    let mut out = Writer::new(BufWriter::new(fs::File::create(path)?), &header)?;
    out.warp(Head { events: events.len() as u32, ..Head::default() }, &events)?;
    out.finish()?;
    Ok(())
}

fn main() -> Any<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let said = |word: &str| words.iter().any(|w| w == word);
    let only: Vec<&String> = words.iter().filter(|w| !["quick", "files"].contains(&w.as_str())).collect();
    let wanted = |name: &str| only.is_empty() || only.iter().any(|w| name.contains(w.as_str()));
    let prlx = process::prlx()?;
    let folder = Folder::new("prlx-bench-v1", said("files"))?;
    let (a, b) = (folder.path.join("a.prlx"), folder.path.join("b.prlx"));
    let part = if said("quick") { 16 } else { 1 };
    let pair = |name, warps, packed, change, wanted| Pair { name, warps, packed, change, wanted };
    let pairs = [
        pair("32,768 warps, identical", 32768, false, Change::None, "300 ms"),
        pair("32,768 warps, 16 flips", 32768, false, Change::Sparse(16), "330 ms"),
        pair("1,024 warps, every event differs", 1024, false, Change::All, "100 ms, 200 MB"),
        pair("8,192 warps, every event differs", 8192, false, Change::All, "1 s, 400 MB"),
        pair("8,192 warps, every event and every 7th site", 8192, false, Change::Structure, "–"),
        pair("8,192 warps, identical, zstd", 8192, true, Change::None, "1.2 GB/s"),
    ];
    println!("| pair, 4,096 events a warp | GB | ms | GB/s | MiB | findings | divergences | wanted |");
    println!("|---|---|---|---|---|---|---|---|");
    let row = |name: &str, gb: f64, wanted: &str| -> Any<()> {
        let process::Took { time, peak, report } = process::diff(&prlx, [&a, &b], RUNS)?;
        let findings = report["launches"][0]["findings_total"].as_u64().ok_or("no findings")?;
        let differences = report["total_divergences"].as_u64().ok_or("no total")?;
        let (ms, rate) = (time.as_secs_f64() * 1e3, gb / time.as_secs_f64());
        println!(
            "| {name} | {gb:.2} | {ms:.0} | {rate:.1} | {peak} | {findings} | {differences} | {wanted} |"
        );
        Ok(())
    };
    let mut written = None;
    for p in pairs.into_iter().filter(|p| wanted(p.name)) {
        let warps = p.warps / part;
        // A stays where it can.
        if written != Some((warps, p.packed)) {
            write(&a, warps, p.packed, Change::None)?;
            written = Some((warps, p.packed));
        }
        write(&b, warps, p.packed, p.change)?;
        let bytes = 2 * (160 + u64::from(warps) * (16 + 16 * u64::from(ROOM)));
        row(p.name, bytes as f64 / 1e9, p.wanted)?;
    }
    let name = "one warp, 1 M events, one trip of 256 dropped";
    if wanted(name) {
        loop_of_a_million(&a, false)?;
        loop_of_a_million(&b, true)?;
        row(name, 2.0 * 16.8e6 / 1e9, "20 ms, 1 finding")?;
    }
    Ok(())
}
