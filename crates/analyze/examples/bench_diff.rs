//! How fast lanes are decoded and recordings compared, on generated recordings: `cargo xtask bench diff`.
//! Prints Markdown.

#[path = "../../../bench/clock.rs"]
mod clock;
#[path = "../tests/it/toy.rs"]
mod toy;

use clock::best;
use prlx_analyze::{CheckedModule, DecodeLimits, Decoder, DiffOptions, PathItem, diff};
use prlx_trace::kernel::*;
use prlx_trace::launch::{Lanes, WarpStream};
use prlx_trace::{Lane, SiteId, Slot, Streams, Trace, WarpId};
use toy::{Hashed, S, live, module, stream, trace};

fn decode(name: &str, toy: &[Vec<S>], shape: &[u64], change: impl Fn(&mut Module)) {
    let mut m = module(toy);
    change(&mut m);
    let lived = live(toy, 0, &mut Hashed::new(1, shape));
    let words = lived.words().len();
    let t = trace(m.clone(), vec![stream(0, &[lived])]);
    let warp = &t.launches[0].streams.frame(0).expect("in memory")[0];
    let program = CheckedModule::new(&m).expect("well-formed");
    let mut visits = 0u64;
    let time = best(|| {
        visits = 0;
        let mut d = Decoder::new(&program, &t.launches[0].launch, warp, Lane(0), DecodeLimits::default())
            .expect("decodes")
            .flat();
        while let Some(item) = d.next().expect("decodes") {
            visits += u64::from(matches!(item, PathItem::Visit { .. }));
        }
    });
    println!("| {name} | {visits} | {words} | {:.1} |", visits as f64 / time / 1e6);
}

/// Warps that decode alike: copies of one, so that making them takes no time.
fn copies(a: &WarpStream, n: u64) -> Vec<WarpStream> {
    (0..n).map(|w| WarpStream { warp: WarpId(w), ..a.clone() }).collect()
}

fn visits(toy: &[Vec<S>], shape: &[u64]) -> u64 {
    live(toy, 0, &mut Hashed::new(0, shape)).visits.len() as u64
}

fn compare(name: &str, a: &Trace, b: &Trace, per_lane: u64) {
    let mut found = 0;
    let time = best(|| {
        let r = diff(a, b, &DiffOptions::default()).expect("compares");
        found = r.launches[0].findings_total;
    });
    let warps = a.launches[0].streams.infos().count();
    let both = 2.0 * 32.0 * warps as f64 * per_lane as f64;
    let speed = if per_lane == 0 { "–".into() } else { format!("{:.1}", both / time / 1e6) };
    println!("| {name} | {warps} | {:.0} | {speed} | {found} | {:.3} |", warps as f64 / time, time * 1e3);
}

fn main() {
    // One thread, which does all the work and looks at its own clock.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    pool.install(|| {
        decoding();
        comparing();
    });
}

fn branchy() -> Vec<Vec<S>> {
    vec![vec![S::Loop(vec![S::If(vec![S::Select], vec![S::Guard]), S::Select])]]
}

fn decoding() {
    println!("| decoding one lane | visits | words | M visits/s |");
    println!("|---|---|---|---|");
    let flat = vec![vec![S::Loop(vec![S::Select, S::Select, S::Select, S::Select])]];
    decode("four selects and the loop's bit", &flat, &[200_000], |_| {});
    decode("a branch, its arms, a select", &branchy(), &[250_000], |_| {});
    let counted = vec![vec![S::Loop(vec![S::Counted(vec![S::Store])])]];
    decode("inner loops of 16 counted trips", &counted, &[30_000, 16], |_| {});
    decode(
        "a computed decision with 4 operations",
        &[vec![S::Counted(vec![S::Computed(7)])]],
        &[300_000],
        |m| {
            m.functions[0].slots += 1;
            let extra = Slot(m.functions[0].slots - 1);
            for b in &mut m.functions[0].blocks {
                if let Some(i) = b.steps.iter().position(|s| matches!(s, Step::Let { .. })) {
                    for _ in 0..3 {
                        let args = vec![Arg::Slot(extra), Arg::Const(1)];
                        b.steps.insert(
                            i,
                            Step::Let { to: extra, op: Alu::Add, ty: Scalar::U32, args, guard: None },
                        );
                    }
                }
            }
        },
    );
}

fn comparing() {
    println!("\n| comparing | warps | warps/s | M visits/s, both sides | findings | ms |");
    println!("|---|---|---|---|---|---|");
    let branchy = branchy();
    let m = module(&branchy);
    let shape = [2000];
    let per_lane = visits(&branchy, &shape);
    let warp = |flip: bool| {
        toy::warp(&branchy, 0, |l| {
            let mut h = Hashed::new(u64::from(l.0), &shape);
            if flip && l.0 == 3 {
                h.flips.push((SiteId(0), vec![1000]));
            }
            h
        })
    };
    let (good, bad) = (warp(false), warp(true));
    let of = |warps| trace(m.clone(), warps);
    // Small streams: the warps are many, their content is not looked at.
    let tiny = WarpStream { lanes: Lanes::Path { words: vec![1], ends: vec![1; 32] }, ..good.clone() };
    let many = of(copies(&tiny, 131_072));
    compare("131,072 equal warps", &many, &many, 0);
    let n = 64;
    let a = of(copies(&good, n));
    let b = of(copies(&bad, n));
    compare("one lane of each warp flips once", &a, &b, 0);
    // Another decode program: every lane of both sides is decoded.
    let mut other = a.clone();
    other.modules[0].functions[0].slots += 1;
    compare("every lane decoded, all equal", &a, &other, per_lane);
    let all = toy::warp(&branchy, 0, |l| {
        let mut h = Hashed::new(u64::from(l.0), &shape);
        h.flips.push((SiteId(0), vec![u64::from(l.0) * 60]));
        h
    });
    let b = of(copies(&all, n));
    compare("every lane flips once", &a, &b, per_lane);

    one_trip();
}

fn one_trip() {
    let long =
        vec![vec![S::Loop(vec![S::If(vec![S::Store], vec![S::Select]), S::Loop(vec![S::Guard]), S::Store])]];
    let shape = [4000, 8];
    let lanes = |drop: bool| {
        toy::warp(&long, 0, |l| {
            let mut h = Hashed::new(u64::from(l.0), &shape);
            if drop {
                h.drops.push((SiteId(7), vec![], 1234));
            }
            h
        })
    };
    let (a, b) = (lanes(false), lanes(true));
    let make = |w: WarpStream| Trace {
        launches: vec![{
            let mut r = trace(module(&long), vec![w.clone()]).launches.remove(0);
            r.streams = Streams::new(vec![w]);
            r
        }],
        ..trace(module(&long), Vec::new())
    };
    compare("a trip of each lane is dropped", &make(a), &make(b), visits(&long, &shape));
}
