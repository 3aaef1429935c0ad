//! Check of CTA barriers: the threads that arrive must be the threads that the barrier waits for.
//!
//! # Invariants
//! A barrier is judged when it completes, not when a lane arrives. A warp whose lanes arrive one after the
//! other (under a hostile schedule) is therefore no error. Lanes that have ended do not count as missing:
//! hardware does not wait for them.
//!
//! # Limitations
//! Barriers of clusters are not checked.

use prlx_isa::ptx;
use prlx_isa::ptx::opcode;
use prlx_trace::check::{Kind, Side};
use rustc_hash::FxHashMap;

use crate::code::{BarrierKind, BarrierOp};
use crate::exec::launch::Launch;
use crate::exec::warp_state::Warp;
use crate::mem::access::each;
use prlx_lanes::LANES;

use crate::check::findings::{self, FindingLog, WarpStep};

/// The arrival of lanes of a warp at a barrier, in one step.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    who: WarpStep,
    kind: BarrierKind,
    count: Option<u32>,
    aligned: bool,
}

/// The arrivals at barriers that are not complete, by CTA and number.
#[derive(Debug, Default)]
pub struct Barriers {
    open: FxHashMap<(u64, u32), Vec<Arrival>>,
}

impl Barriers {
    /// Lanes are about to arrive at a barrier.
    pub fn arrive(
        &mut self,
        launch: &Launch<'_>,
        log: &mut FindingLog,
        warp: &Warp,
        bar: &BarrierOp,
        here: WarpStep,
    ) {
        if matches!(bar.kind, BarrierKind::ClusterArrive | BarrierKind::ClusterWait) {
            return;
        }
        let of = |plane: u16, l: usize| warp.planes.w32[usize::from(plane)].0[l];
        let asks = |l: usize| (of(bar.id, l), bar.count.map(|c| of(c, l)));
        let mut rest = here.lanes;
        while rest != 0 {
            let (id, count) = asks(rest.trailing_zeros() as usize);
            let mut lanes = 0;
            each(rest, |l| lanes |= u32::from(asks(l) == (id, count)) << l);
            rest &= !lanes;
            let now = Arrival {
                who: WarpStep { lanes, ..here },
                kind: bar.kind,
                count,
                aligned: aligned(launch, here.step),
            };
            let open = self.open.entry((here.cta, id)).or_default();
            counts(launch, log, id, &now, open);
            kinds(launch, log, id, &now, open);
            open.push(now);
        }
    }
    /// A barrier is complete. Reports warps whose lanes did not all arrive, or arrived at several
    /// instructions.
    pub fn complete(&mut self, launch: &Launch<'_>, log: &mut FindingLog, cta: u64, id: u32, warps: &[Warp]) {
        let arrivals = self.open.remove(&(cta, id)).unwrap_or_default();
        mismatched(launch, log, id, &arrivals);
        for warp in warps {
            // By instruction: the lanes that arrived there.
            let mut groups: Vec<Arrival> = Vec::new();
            for a in arrivals.iter().filter(|a| a.who.warp == warp.index) {
                match groups.iter_mut().find(|g| g.who.step == a.who.step) {
                    Some(g) => g.who.lanes |= a.who.lanes,
                    None => groups.push(*a),
                }
            }
            if !groups.iter().any(|g| g.aligned) {
                continue;
            }
            let came = groups.iter().fold(0, |m, g| m | g.who.lanes);
            let missing = warp.alive & !came;
            groups.sort_by_key(|g| (g.who.lanes.count_ones(), g.who.step));
            if groups.len() > 1 {
                divergent(
                    launch,
                    log,
                    id,
                    groups[0].who,
                    groups[1].who,
                    "which arrive at another instruction",
                );
            } else if let [one] = groups.as_slice()
                && missing != 0
            {
                let l = missing.trailing_zeros() as usize;
                let step = Warp::step_of(warp.key[l].min(warp.waits_at[l]));
                let other = WarpStep { lanes: missing, step, ..one.who };
                divergent(launch, log, id, one.who, other, "which do not arrive");
            }
        }
    }
    /// Forgets a CTA.
    pub fn end(&mut self, cta: u64) {
        self.open.retain(|k, _| k.0 != cta);
    }
}

/// Reports warps that wait for all threads at one barrier in two lines of the source. They do meet, but
/// usually each of the two was meant to order all threads.
fn mismatched(launch: &Launch<'_>, log: &mut FindingLog, id: u32, arrivals: &[Arrival]) {
    let line =
        |a: &Arrival| findings::place(launch, a.who.step)?.source.last().map(|l| (l.file.clone(), l.line));
    // A named barrier, or one of some threads, is often a handshake between two places.
    let plain = |a: &Arrival| a.count.is_none() && a.kind == BarrierKind::Sync;
    if id != 0 || !arrivals.iter().all(plain) {
        return;
    }
    let Some(first) = arrivals.first() else { return };
    let other = arrivals.iter().find(|a| {
        let apart = a.who.warp != first.who.warp && a.who.step != first.who.step;
        apart && line(a).is_some() && line(a) != line(first)
    });
    let Some(other) = other else { return };
    let parts = |a: &Arrival| arrivals.iter().any(|b| a.who.warp == b.who.warp && a.who.step != b.who.step);
    if arrivals.iter().any(parts) {
        // A warp whose lanes wait at two barriers is an error of its own.
        return;
    }
    // The schedule decides which warp comes first.
    let (a, b) = if first.who.step < other.who.step { (first, other) } else { (other, first) };
    log.add(launch, Kind::BarrierMeets, a.who, Some(b.who.step), 0, || {
        let sides = vec![
            findings::side(launch, "these threads wait here", a.who),
            findings::side(launch, "warps of the same CTA wait here, and all continue together", b.who),
        ];
        let at = |a: &Arrival| line(a).map_or(0, |l| l.1);
        let what = format!(
            "barrier {id} in line {} meets warps that wait in line {}: neither waits for all threads",
            at(a),
            at(b)
        );
        let mut f = findings::finding(Kind::BarrierMeets, what, sides);
        f.help = Some("move the barrier out of the branch, so that all threads reach the same one".into());
        f
    });
}

/// Whether all lanes of a warp must arrive together: `bar`, and `barrier` with `.aligned`.
fn aligned(launch: &Launch<'_>, step: u32) -> bool {
    findings::instruction(launch, step)
        .is_some_and(|i| opcode(i).op == Some(ptx::Op::Bar) || opcode(i).has("aligned"))
}

fn divergent(
    launch: &Launch<'_>,
    log: &mut FindingLog,
    id: u32,
    here: WarpStep,
    other: WarpStep,
    what: &str,
) {
    log.add(launch, Kind::DivergentBarrier, here, Some(other.step), 0, || {
        let sides = vec![
            findings::side(launch, format!("these lanes wait for barrier {id} here"), here),
            findings::side(launch, "the other lanes of the warp are here", other),
        ];
        let what = format!(
            "lanes of a warp arrive at aligned barrier {id} without the other lanes of the warp, {what}"
        );
        let mut f = findings::finding(Kind::DivergentBarrier, what, sides);
        f.help = Some("move it out of the branch, or use `barrier.sync` without `.aligned`".into());
        f
    });
}

/// Reports thread counts that are invalid or differ between arrivals.
fn counts(launch: &Launch<'_>, log: &mut FindingLog, id: u32, now: &Arrival, open: &[Arrival]) {
    let mut add = |other: Option<&Arrival>, what: String| {
        log.add(launch, Kind::BarrierCount, now.who, other.map(|o| o.who.step), 0, || {
            let mut sides = vec![findings::side(launch, "this barrier", now.who)];
            sides.extend(other.map(|o| findings::side(launch, "the other arrival", o.who)));
            findings::finding(Kind::BarrierCount, what, sides)
        });
    };
    let words = |c: Option<u32>| c.map_or("all threads".to_string(), |n| format!("{n} threads"));
    match now.count {
        Some(n) if n == 0 || !n.is_multiple_of(LANES as u32) => {
            add(
                None,
                format!("barrier {id} waits for {n} threads, which is not a multiple of the warp size 32"),
            );
        }
        _ => {}
    }
    if let Some(other) = open.iter().find(|o| o.count != now.count) {
        add(
            Some(other),
            format!(
                "barrier {id} waits for {} here, and for {} at another arrival",
                words(now.count),
                words(other.count)
            ),
        );
    }
}

/// Reports arrivals of different kinds: waits and reductions, or different reductions.
fn kinds(launch: &Launch<'_>, log: &mut FindingLog, id: u32, now: &Arrival, open: &[Arrival]) {
    let class = |k: BarrierKind| match k {
        BarrierKind::Popc => "counts predicates",
        BarrierKind::And => "tests whether all predicates are true",
        BarrierKind::Or => "tests whether any predicate is true",
        _ => "only waits",
    };
    let Some(other) = open.iter().find(|o| class(o.kind) != class(now.kind)) else { return };
    log.add(launch, Kind::MixedBarrier, now.who, Some(other.who.step), 0, || {
        let sides: Vec<Side> = vec![
            findings::side(launch, "this barrier", now.who),
            findings::side(launch, "the other arrival", other.who),
        ];
        let what =
            format!("barrier {id} {} here, and {} at another arrival", class(now.kind), class(other.kind));
        findings::finding(Kind::MixedBarrier, what, sides)
    });
}
