//! Benchmark: compares recordings of PRLX 0.x whose warps drift apart. Prints a table in Markdown.
//!
//! The example makes pairs of files in memory and compares each pair on one thread. Arguments: `write=FOLDER`
//! also writes each pair to `FOLDER/NAME.a.prlx` and `FOLDER/NAME.b.prlx`; `run=PROGRAM` writes the pairs
//! too, runs `PROGRAM A B` on each and adds a column with its processor time; any other word selects the pair
//! of that name. `run` may be given several times. Time of a program is user and system time of the whole
//! process, an average of several runs with files in the page cache.

#[path = "../../../bench/clock.rs"]
mod clock;

use std::collections::HashMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use prlx_legacy::compare::{Input, Options, SiteTable, compare};
use prlx_legacy::v1::{Event, File, Head, Header, Writer};
use prlx_trace::Dim3;

type Any<T> = Result<T, Box<dyn Error>>;

/// Warps of a file.
const WARPS: u32 = 64;
/// Event slots of a warp, all of which A fills.
const EVENTS: u32 = 8192;
/// One of so many events is the place of an insertion or deletion in B.
const DRIFT: u64 = 400;
/// The first of the sites that only B has.
const EXTRA: u32 = 1 << 24;
/// Runs of a program whose average counts.
const RUNS: u32 = 20;
/// Ticks of `/proc/self/stat` in a second.
const TICKS: f64 = 100.0;

/// A pair: its name, and the events of one warp by side.
type Pair = (&'static str, fn(u32) -> [Vec<Event>; 2]);

const PAIRS: &[Pair] = &[
    ("distinct", |w| drifting(w, |i, _| event(i, u32::MAX))),
    ("distinct-masks", |w| drifting(w, |i, r| event(i, r.bits() as u32 | 1 << r.below(32)))),
    ("distinct-halves", |w| {
        drifting(w, |i, _| event(i, [u32::MAX, 0xffff, 0xffff_0000][(i / 5 % 3) as usize]))
    }),
    ("distinct-extra", |w| again(drifting(w, |i, _| event(i, u32::MAX)))),
    ("random", |w| drifting(w, |_, r| event(r.below(1024) as u32, u32::MAX))),
    ("random-masks", |w| drifting(w, |_, r| event(r.below(1024) as u32, r.bits() as u32 | 1))),
    ("few-sites", |w| drifting(w, |_, r| event(r.below(16) as u32, u32::MAX))),
    ("loop", |w| looped(w, 64, false)),
    ("loop-masks", |w| looped(w, 64, true)),
    ("small-loops", |w| looped(w, 4, false)),
    ("nested", nested),
    ("lanes", |w| drifting(w, |i, r| event(i / 32 % 64, 1 << r.below(32)))),
    ("unlike", |w| [0, 1].map(|side| fill(w, side, |_, r| event(r.below(64) as u32, u32::MAX)))),
    ("disjoint", |w| [0, 1].map(|side| fill(w, side, |i, _| event(i | (side as u32) << 20, u32::MAX)))),
];

/// Numbers that look random, the same in every run.
struct Random(u64);

impl Random {
    fn of(warp: u32, side: u64) -> Random {
        Random((u64::from(warp) << 8 | side).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }
    fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }
    fn below(&mut self, n: u64) -> u64 {
        self.bits() % n
    }
}

fn event(site: u32, mask: u32) -> Event {
    Event {
        site: site.wrapping_mul(0x9e37_79b1),
        dir: (site & 1) as u8,
        mask,
        value: site,
        ..Event::default()
    }
}

fn fill(warp: u32, side: u64, of: impl Fn(u32, &mut Random) -> Event) -> Vec<Event> {
    let mut random = Random::of(warp, side);
    (0..EVENTS).map(|i| of(i, &mut random)).collect()
}

/// B lacks up to three of A's events, or has up to three more, at one of [`DRIFT`] places.
fn drifting(warp: u32, of: impl Fn(u32, &mut Random) -> Event) -> [Vec<Event>; 2] {
    let a = fill(warp, 0, of);
    let mut random = Random::of(warp, 9);
    let mut b = Vec::with_capacity(a.len());
    let (mut skip, mut extra) = (0, EXTRA..);
    for e in &a {
        if skip > 0 {
            skip -= 1;
            continue;
        }
        b.push(*e);
        match random.below(2 * DRIFT) {
            0 => skip = 1 + random.below(3),
            1 => b.extend(extra.by_ref().take(1 + random.below(3) as usize).map(|site| event(site, e.mask))),
            _ => {}
        }
    }
    b.truncate(EVENTS as usize);
    [a, b]
}

/// The sites that only B has are the same ones at every place.
fn again([a, mut b]: [Vec<Event>; 2]) -> [Vec<Event>; 2] {
    b.iter_mut().filter(|e| e.value >= EXTRA).for_each(|e| *e = event(EXTRA + e.value % 3, e.mask));
    [a, b]
}

/// A loop of `body` sites; one of a hundred iterations is missing in B, or has other directions. All but the
/// first site of an iteration may have other lanes in each iteration.
fn looped(warp: u32, body: u32, masks: bool) -> [Vec<Event>; 2] {
    let iteration = |n: u32| {
        let mut random = Random::of(n, 7);
        (0..body).map(move |i| Event {
            dir: (n.wrapping_mul(i) >> 3 & 1) as u8,
            mask: if masks && i > 0 { random.bits() as u32 | 1 << random.below(32) } else { u32::MAX },
            ..event(i, u32::MAX)
        })
    };
    let mut random = Random::of(warp, 0);
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for n in 0..EVENTS / body {
        a.extend(iteration(n));
        match random.below(100) {
            0 => {}
            1 => b.extend(iteration(n).map(|e| Event { dir: e.dir ^ 1, ..e })),
            _ => b.extend(iteration(n)),
        }
    }
    [a, b]
}

/// A loop whose iterations have an inner loop of 1 to 4 iterations, one of thirty other times in B.
fn nested(warp: u32) -> [Vec<Event>; 2] {
    let mut random = Random::of(warp, 0);
    let mut sides = [Vec::new(), Vec::new()];
    while sides[0].len() + 16 < EVENTS as usize {
        let trips = 1 + random.below(4) as u32;
        let more = u32::from(random.below(30) == 0);
        for (side, out) in sides.iter_mut().enumerate() {
            out.extend([event(1, u32::MAX), event(2, u32::MAX)]);
            let inner =
                (0..trips + more * side as u32).flat_map(|_| [event(10, u32::MAX), event(11, u32::MAX)]);
            out.extend(inner);
            out.push(event(3, u32::MAX));
        }
    }
    sides.iter_mut().for_each(|s| s.truncate(EVENTS as usize));
    sides
}

fn file(warps: &[Vec<Event>]) -> Any<Vec<u8>> {
    let mut header = Header {
        warps: WARPS,
        events_per_warp: EVENTS,
        warps_per_block: 8,
        grid: Dim3 { x: WARPS / 8, y: 1, z: 1 },
        block: Dim3 { x: 256, y: 1, z: 1 },
        arch: 90,
        ..Header::default()
    };
    header.set_kernel("drift");
    let mut out = Writer::new(Vec::new(), &header)?;
    for events in warps {
        let n = events.len() as u32;
        out.warp(Head { write_idx: n, events: n, total: n, ..Head::default() }, events)?;
    }
    Ok(out.finish()?)
}

/// Seconds of one comparison on one thread, and its number of differences.
fn compared(a: &[u8], b: &[u8]) -> Any<(f64, u64)> {
    let (fa, fb) = (File::open(a)?, File::open(b)?);
    let (sites, none) = (SiteTable::default(), HashMap::new());
    let input = |file| Input { file, sites: &sites, renamed: &none, done: &|_| () };
    let run = || compare([&input(&fa), &input(&fb)], [0, 0], &Options::default());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let found = run()?.kinds.iter().sum();
    Ok((pool.install(|| clock::best(|| drop(run()))), found))
}

/// User and system seconds of children of this process so far.
fn children() -> Any<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(") ").ok_or("no fields")?;
    let ticks = fields.split(' ').skip(13).take(2).map(str::parse::<f64>).sum::<Result<f64, _>>()?;
    Ok(ticks / TICKS)
}

/// User and system seconds of one run of `program A B`.
fn ran(program: &Path, [a, b]: [&Path; 2]) -> Any<f64> {
    let start = children()?;
    for _ in 0..RUNS {
        Command::new(program).args([a, b]).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    }
    Ok((children()? - start) / f64::from(RUNS))
}

fn main() -> Any<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let of =
        |key: &str| words.iter().filter_map(|w| w.strip_prefix(key)).map(PathBuf::from).collect::<Vec<_>>();
    let programs = of("run=");
    let folder = of("write=").pop().or((!programs.is_empty()).then(std::env::temp_dir));
    let only: Vec<&String> = words.iter().filter(|w| !w.contains('=')).collect();
    let name = |p: &PathBuf| format!("{} ms | ", p.display());
    println!("| pair | differences | compare ms | {}", programs.iter().map(name).collect::<String>());
    println!("|---|---|---|{}", "---|".repeat(programs.len()));
    for (name, make) in PAIRS.iter().filter(|p| only.is_empty() || only.iter().any(|w| p.0 == w.as_str())) {
        let (a, b): (Vec<_>, Vec<_>) = (0..WARPS).map(make).map(|[a, b]| (a, b)).unzip();
        let (a, b) = (file(&a)?, file(&b)?);
        let (seconds, found) = compared(&a, &b)?;
        let mut row = format!("| {name} | {found} | {:.1} |", seconds * 1e3);
        if let Some(folder) = &folder {
            let paths = ["a", "b"].map(|side| folder.join(format!("{name}.{side}.prlx")));
            std::fs::write(&paths[0], &a)?;
            std::fs::write(&paths[1], &b)?;
            for program in &programs {
                row += &format!(" {:.1} |", ran(program, [&paths[0], &paths[1]])? * 1e3);
            }
            if !words.iter().any(|w| w.starts_with("write=")) {
                paths.iter().try_for_each(std::fs::remove_file)?;
            }
        }
        println!("{row}");
    }
    Ok(())
}
