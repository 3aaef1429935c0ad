//! Threads that wait for each other: which lanes wait, at which instruction, and for what.

use std::collections::hash_map::Entry;

use prlx_driver::{Error, ErrorKind};
use prlx_trace::LaneMask;
use rustc_hash::FxHashMap;

use crate::code::Op;
use crate::exec::cta_state::{CLUSTER, CtaState};
use crate::exec::fault;
use crate::exec::launch::Launch;
use crate::exec::loops::Slice;
use crate::exec::spin::{self, PollTarget};
use crate::exec::warp_state::Warp;
use crate::mem::access::each;
use prlx_lanes::LANES;

/// The most groups of lanes that an error lists.
const SHOWN: usize = 8;

/// A CTA between its turns.
#[derive(Clone, Copy, Debug)]
pub struct PausedCta<'a> {
    /// The state that its warps share.
    pub state: &'a CtaState,
    /// The warps of the CTA.
    pub warps: &'a [Warp],
}

/// Lanes of a warp that wait at one step for the same event.
#[derive(Clone, Debug)]
pub struct WaitingLanes {
    /// Number of the CTA.
    pub cta: u64,
    /// The warp in the CTA.
    pub warp: u32,
    /// The lanes that wait.
    pub lanes: u32,
    /// The step at which they wait.
    pub step: u32,
    /// What they do, as a predicate: "waits for …".
    pub what: String,
    /// Whether they do not wait, but are in a loop that never ends.
    pub endless: bool,
}

impl PausedCta<'_> {
    /// The name of the CTA in messages: its position in the grid, and its rank if the cluster has several
    /// CTAs.
    fn name(&self, launch: &Launch<'_>) -> String {
        let rank =
            if launch.cluster.volume() > 1 { format!(" (rank {})", self.state.rank) } else { String::new() };
        format!("CTA {}{rank}", self.state.position)
    }
}

/// The lanes that wait at barriers and exchanges.
pub fn waiting(launch: &Launch<'_>, parts: &[PausedCta<'_>]) -> Vec<WaitingLanes> {
    let mut all = Vec::new();
    for part in parts {
        for w in part.warps {
            let mut rest = w.alive & (w.at_barrier | w.at_exchange);
            while rest != 0 {
                let l = rest.trailing_zeros() as usize;
                let alike = |i: usize| w.waits_at[i] == w.waits_at[l] && w.members[i] == w.members[l];
                let same = (0..LANES).fold(0, |m, i| m | u32::from(rest >> i & 1 == 1 && alike(i)) << i);
                rest &= !same;
                let what = format!("waits for {}", awaited(launch, parts, part, w, (l, same)));
                all.push(WaitingLanes {
                    cta: part.state.index,
                    warp: w.index,
                    lanes: same,
                    step: Warp::step_of(w.waits_at[l]),
                    what,
                    endless: false,
                });
            }
        }
    }
    all
}

/// What the lanes `same` of a warp, with lane `l` among them, wait for.
fn awaited(
    launch: &Launch<'_>,
    parts: &[PausedCta<'_>],
    part: &PausedCta<'_>,
    w: &Warp,
    (l, same): (usize, u32),
) -> String {
    let step = Warp::step_of(w.waits_at[l]);
    if w.wgmma.is_waiting() {
        return w.wgmma.missing(w.index, &part.state.warpgroups);
    }
    if !matches!(launch.code.steps.get(step as usize).map(|s| s.op), Some(Op::Barrier(_))) {
        let missing = w.members[l] & w.alive & !same;
        return format!("{} of its warp", LaneMask(missing.into()));
    }
    let id = usize::from(w.barrier_id[l]);
    if id == CLUSTER {
        return format!("the cluster's barrier, to which {} has not come", absent(launch, parts, part));
    }
    let barrier = &part.state.barriers[id];
    let there: u32 = barrier.arrived.iter().map(|a| a.count_ones()).sum();
    match barrier.count {
        Some(n) => format!("{n} threads at barrier {id}, where {there} have come"),
        None => {
            let left: u32 = part.warps.iter().map(|w| w.alive.count_ones()).sum();
            format!("all {left} threads at barrier {id}, where {there} have come")
        }
    }
}

/// The first threads of the cluster of a CTA that have not arrived at its barrier.
fn absent(launch: &Launch<'_>, parts: &[PausedCta<'_>], of: &PausedCta<'_>) -> String {
    let cluster = |p: &&PausedCta<'_>| std::ptr::eq(p.state.peers.as_ref(), of.state.peers.as_ref());
    let mut missing = parts.iter().filter(cluster).flat_map(|p| {
        p.warps.iter().map(move |w| (p, w, w.alive & !p.state.barriers[CLUSTER].arrived[w.index as usize]))
    });
    match missing.find(|m| m.2 != 0) {
        Some((p, w, lanes)) => {
            let (warp, lanes) = launch.whole_warp(w.index, lanes);
            format!("{}, warp {warp} {lanes}", p.name(launch))
        }
        None => "nobody".into(),
    }
}

/// Adds a lane to the groups of waiting lanes: what it does, and whether that is a loop that never ends.
pub fn add(
    groups: &mut Vec<WaitingLanes>,
    (cta, warp, l): (u64, u32, usize),
    step: u32,
    (what, endless): (String, bool),
) {
    let alike = |w: &&mut WaitingLanes| (w.cta, w.warp, w.step) == (cta, warp, step) && w.what == what;
    match groups.iter_mut().rev().find(alike) {
        Some(group) => group.lanes |= 1 << l,
        None => groups.push(WaitingLanes { cta, warp, lanes: 1 << l, step, what, endless }),
    }
}

/// Groups of lanes that do the same at one step: the first of them, and how many groups there are.
///
/// Different steps come first, then other groups at the same steps. Among equals, a wait inside a warp comes
/// before a wait at a barrier, because it explains more.
pub fn alike<'a>(launch: &Launch<'_>, waiting: &'a [WaitingLanes]) -> Vec<(&'a WaitingLanes, usize)> {
    let mut all: Vec<(usize, &WaitingLanes, usize)> = Vec::new();
    let mut index: FxHashMap<(u32, &str), usize> = FxHashMap::default();
    let mut at_step: FxHashMap<u32, usize> = FxHashMap::default();
    for w in waiting {
        match index.entry((w.step, &w.what)) {
            Entry::Occupied(e) => all[*e.get()].2 += 1,
            Entry::Vacant(e) => {
                let rank = at_step.entry(w.step).or_default();
                e.insert(all.len());
                all.push((*rank, w, 1));
                *rank += 1;
            }
        }
    }
    let op = |w: &WaitingLanes| launch.code.steps.get(w.step as usize).map(|s| s.op);
    all.sort_by_key(|(rank, w, _)| (*rank, matches!(op(w), Some(Op::Barrier(_)))));
    all.into_iter().map(|(_, w, n)| (w, n)).collect()
}

/// One line for each group of lanes, and the number of the groups that are left out. `whole`: what the lanes
/// belong to; unless it is one CTA, lines name theirs.
fn lines(launch: &Launch<'_>, parts: &[PausedCta<'_>], waiting: &[WaitingLanes], whole: &str) -> String {
    let named = whole.starts_with("CTA");
    let line = |&(w, n): &(&WaitingLanes, usize)| {
        let (func, inst) = launch.code.origin.get(w.step as usize).copied().unwrap_or_default();
        let at = fault::place(launch.module, launch.source, func, inst);
        let cta = parts.iter().filter(|_| !named).find(|p| p.state.index == w.cta);
        let who = cta.map_or(String::new(), |p| format!("{}, ", p.name(launch)));
        let more = match n - 1 {
            0 => String::new(),
            1 => " (and one more group of lanes)".into(),
            n => format!(" (and {n} more groups of lanes)"),
        };
        let (warp, lanes) = launch.whole_warp(w.warp, w.lanes);
        format!("\n  {who}warp {warp} {lanes}{more} at {at}: {}", w.what)
    };
    let groups = alike(launch, waiting);
    let lines: String = groups.iter().take(SHOWN).map(line).collect();
    let more: usize = groups.iter().skip(SHOWN).map(|g| g.1).sum();
    let rest = match more {
        0 => String::new(),
        1 => "\n  and 1 more group of lanes".into(),
        n => format!("\n  and {n} more groups of lanes"),
    };
    lines + &rest
}

/// The error of threads that wait for each other. `whole` names what they belong to, as `CTA (0,0,0)`.
pub fn error(launch: &Launch<'_>, whole: &str, parts: &[PausedCta<'_>], waiting: &[WaitingLanes]) -> Error {
    let (name, lines) = (&launch.code.name, lines(launch, parts, waiting, whole));
    let what = match waiting {
        _ if waiting.iter().any(|w| w.endless) => {
            format!("threads of {whole} are in a loop that never ends")
        }
        [one] if one.lanes.count_ones() == 1 => {
            format!("a thread of {whole} waits for something that no other thread will do")
        }
        _ => format!("the threads of {whole} wait for each other"),
    };
    Error::new(ErrorKind::Stuck, format!("{what}; kernel `{name}`{lines}"))
}

/// The error of a launch that reaches the limit of `steps`: where the threads of these CTAs are. `whole`
/// names what has used up the limit.
pub fn step_limit(launch: &Launch<'_>, whole: &str, steps: u64, parts: &[PausedCta<'_>]) -> Error {
    let (name, lines) = (&launch.code.name, positions(launch, parts, whole));
    let text =
        format!("{whole} did not end within the step limit of {steps} instructions; kernel `{name}`{lines}");
    Error::new(ErrorKind::Stuck, text).help("if the kernel only takes long, raise the limit with --max-steps")
}

/// The error of a grid that has only polled for so long that no memory can be expected to change.
pub fn only_waits(launch: &Launch<'_>, parts: &[PausedCta<'_>]) -> Error {
    let (name, lines) = (&launch.code.name, positions(launch, parts, "the grid"));
    let text = format!(
        "all threads of the grid only wait, and none of them changes memory any more; kernel `{name}`{lines}"
    );
    Error::new(ErrorKind::Stuck, text)
        .help("if these loops give up after a time or a number of tries, raise the limit with --max-steps")
}

/// Where the threads of CTAs are, a line for each group of lanes.
fn positions(launch: &Launch<'_>, parts: &[PausedCta<'_>], whole: &str) -> String {
    let mut all = waiting(launch, parts);
    let mut slices: FxHashMap<u32, Slice> = FxHashMap::default();
    for part in parts {
        for w in part.warps {
            // The others of a wave wait until it reaches code that they execute.
            let exec = launch.code.exec.map_or(u32::MAX, |exec| w.planes.pred[usize::from(exec)]);
            each(w.ready(), |l| {
                let step = Warp::step_of(w.key[l]);
                if exec >> l & 1 == 0 {
                    let what = "is not in EXEC here: it waits for the other lanes of its wave".into();
                    return add(&mut all, (part.state.index, w.index, l), step, (what, false));
                }
                let reads = launch.loops().innermost(step).map(|number| {
                    let slice = slices.entry(number).or_insert_with(|| {
                        launch.loops().slice(launch.code, launch.module, number, &FxHashMap::default())
                    });
                    let counts = |step: u32| slice.decides(step);
                    spin::reads(launch, part.state, w, number, &counts, l)
                });
                let (step, what) = match reads {
                    Some(r) if r.what != PollTarget::Nothing => {
                        (r.step, format!("is in a loop that reads {}", r.what.words(launch)))
                    }
                    Some(_) => (step, "is in a loop".into()),
                    None => (step, "runs".into()),
                };
                add(&mut all, (part.state.index, w.index, l), step, (what, false));
            });
        }
    }
    all.sort_by_key(|w| (w.cta, w.warp));
    lines(launch, parts, &all, whole)
}
