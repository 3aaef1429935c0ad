//! One warp on both sides, lane by lane: counts, and what differs.
//!
//! Holds: lanes with the same words are not decoded where equal words mean equal paths; other lanes are decoded side by
//! side without keeping anything, and only lanes that differ become trees. Nothing depends on the order of work.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::launch::{Event, Lanes};
use prlx_trace::{FuncId, Lane, LaneMask, Launch, SiteId, WarpId, WarpStream};

use crate::decode::{Counts, Decoder, Item, Limits, Outcome, lane_part};
use crate::derive;
use crate::diverge::{self, Found, Key, Raw, Sides};
use crate::error::Error;
use crate::fold;
use crate::folded;
use crate::program::Program;
use crate::report::{HashInfo, Kind};
use crate::tree::Tree;

/// What all warps of a launch have in common.
pub(crate) struct Context<'a> {
    pub sides: Sides<'a>,
    pub launches: [&'a Launch; 2],
    /// By side: the kernel and the functions that it can call.
    pub reach: [&'a BTreeSet<FuncId>; 2],
    /// The programs that were recorded, and of these the same: the others, unless calls were inlined in those.
    pub recorded: [(&'a Program<'a>, &'a BTreeSet<FuncId>); 2],
    /// Equal words of a lane, or hashes, mean equal paths: the decode programs are the same, and so is all that they read.
    pub words_tell: bool,
    /// How both sides' sites are brought to one form; `None` if they have the same.
    pub fold: Option<&'a [fold::Side; 2]>,
    pub limits: Limits,
}

impl Context<'_> {
    /// Whether warps of the sides have other numbers of lanes: then threads are compared, not lanes of warps.
    pub fn by_thread(&self) -> bool {
        self.launches[0].warp_size != self.launches[1].warp_size
    }
    /// B's warp and lane of the thread that is this warp's lane in A.
    pub fn partner(&self, warp: WarpId, lane: Lane) -> (WarpId, Lane) {
        let [own, other] = self.launches.map(|l| u64::from(l.warp_size.max(1)));
        let [per_cta, others] = self.launches.map(|l| l.warps_per_cta().max(1));
        let thread = (warp.0 % per_cta) * own + u64::from(lane.0);
        let warp = (warp.0 / per_cta).saturating_mul(others).saturating_add(thread / other);
        (WarpId(warp), Lane((thread % other) as u8))
    }
    /// B's warps that have this warp's threads, ascending.
    pub fn partners(&self, warp: WarpId) -> Vec<WarpId> {
        let mut all: Vec<WarpId> =
            self.launches[0].lanes(warp).lanes().map(|l| self.partner(warp, l).0).collect();
        all.dedup();
        all
    }
}

/// A lane of one side.
pub(crate) type At<'a> = (&'a WarpStream, Lane);

/// How one lane's comparison went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LaneFate {
    SameWords,
    Compared,
    Truncated,
    Failed,
}

/// One finding of a warp.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct WarpFound {
    /// By lane that has it.
    pub lanes: Vec<(Lane, Found)>,
    pub hashes: Option<HashInfo>,
}

/// What one warp gave.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct WarpDiff {
    pub warp: u64,
    pub found: BTreeMap<Key, WarpFound>,
    /// By fate: same words, compared, truncated, failed.
    pub fates: [u64; 4],
    pub visits: [Counts; 2],
    /// By side: visits that are not compared, by site.
    pub left: [BTreeMap<SiteId, u64>; 2],
    /// Values that differ, but were taken over other lanes.
    pub apart: u64,
    /// The first thing that went wrong.
    pub failure: Option<String>,
}

impl WarpDiff {
    fn add(&mut self, lane: Lane, found: BTreeMap<Key, Found>) {
        for (key, f) in found {
            let entry = self.found.entry(key).or_insert(WarpFound { lanes: Vec::new(), hashes: None });
            entry.lanes.push((lane, f));
        }
    }
    fn fate(&mut self, fate: LaneFate) {
        self.fates[fate as usize] += 1;
    }
    fn fail(&mut self, e: &Error) {
        self.failure.get_or_insert_with(|| e.to_string());
    }
}

/// Compares one warp.
pub(crate) fn warps(cx: &Context<'_>, a: &WarpStream, b: &WarpStream) -> WarpDiff {
    let mut out = WarpDiff { warp: a.warp.0, ..WarpDiff::default() };
    let lanes = cx.launches[0].lanes(a.warp).0 | cx.launches[1].lanes(b.warp).0;
    let lanes = LaneMask(lanes);
    match (&a.lanes, &b.lanes) {
        (Lanes::Path { .. }, Lanes::Path { .. }) => paths(cx, a, b, lanes, &mut out),
        (Lanes::Events(x), Lanes::Events(y)) => events(cx, [a, b], [x, y], lanes, &mut out),
        (Lanes::Fingerprint { .. }, Lanes::Fingerprint { .. }) => prints(cx, a, b, lanes, &mut out),
        (Lanes::Operands { .. }, Lanes::Operands { .. }) => operands(cx, a, b, lanes, &mut out),
        _ => {
            out.fail(&Error::new(a.warp.to_string(), "the sides were recorded at different levels"));
            out.fates[LaneFate::Failed as usize] = u64::from(lanes.count());
        }
    }
    out
}

/// Compares the threads of one of A's warps with theirs in B's, which have another number of lanes.
pub(crate) fn threads(cx: &Context<'_>, a: &WarpStream, others: &BTreeMap<WarpId, &WarpStream>) -> WarpDiff {
    let mut out = WarpDiff { warp: a.warp.0, ..WarpDiff::default() };
    for lane in cx.launches[0].lanes(a.warp).lanes() {
        let (warp, other) = cx.partner(a.warp, lane);
        let Some(b) = others.get(&warp).filter(|_| cx.launches[1].lanes(warp).has(other)) else { continue };
        match thread(cx, [(a, lane), (b, other)], &mut out) {
            Ok(fate) => out.fate(fate),
            Err(e) => {
                out.fail(&e);
                out.fate(LaneFate::Failed);
            }
        }
    }
    out
}

fn thread(cx: &Context<'_>, at: [At<'_>; 2], out: &mut WarpDiff) -> Result<LaneFate, Error> {
    if let Some(sides) = cx.fold {
        return folded_lane(cx, sides, at, out);
    }
    let Some([a, b]) = lane_trees(cx, at)? else {
        return Err(Error::new(at[0].0.warp.to_string(), "the sides were recorded at different levels"));
    };
    for (sum, t) in out.visits.iter_mut().zip([&a, &b]) {
        add_counts(sum, t.counts);
    }
    let diff = diverge::lanes(&cx.sides, &a, &b, None);
    out.apart += diff.apart;
    out.add(at[0].1, diff.found);
    Ok(if diff.cut { LaneFate::Truncated } else { LaneFate::Compared })
}

fn paths(cx: &Context<'_>, a: &WarpStream, b: &WarpStream, lanes: LaneMask, out: &mut WarpDiff) {
    let whole = a.dropped == 0 && b.dropped == 0;
    let mut given_up = false;
    for lane in lanes.lanes() {
        if given_up {
            out.fate(LaneFate::Failed);
            continue;
        }
        let words = |w| crate::decode::lane_words(w, lane);
        if cx.words_tell
            && whole
            && ended(cx, a, lane)
            && let (Ok(Some(x)), Ok(Some(y))) = (words(a), words(b))
            && x == y
        {
            out.fate(LaneFate::SameWords);
            continue;
        }
        match lane_paths(cx, a, b, lane, out) {
            Ok(fate) => out.fate(fate),
            Err(e) => {
                // A lane that ran out of its budget costs what a whole warp may; the others would do the same.
                given_up = e.what.contains("more steps");
                out.fail(&e);
                out.fate(LaneFate::Failed);
            }
        }
    }
}

/// Whether the lane came to its end on both sides, as far as their launches did.
fn ended(cx: &Context<'_>, warp: &WarpStream, lane: Lane) -> bool {
    !cx.launches.iter().any(|l| l.unfinished(warp.warp).has(lane))
}

fn decoder<'a>(
    cx: &'a Context<'_>,
    side: usize,
    w: &'a WarpStream,
    lane: Lane,
) -> Result<Decoder<'a>, Error> {
    Decoder::new(cx.sides.programs[side], cx.launches[side], w, lane, cx.limits)
}

fn lane_paths(
    cx: &Context<'_>,
    a: &WarpStream,
    b: &WarpStream,
    lane: Lane,
    out: &mut WarpDiff,
) -> Result<LaneFate, Error> {
    if let Some(sides) = cx.fold {
        return folded_lane(cx, sides, [(a, lane), (b, lane)], out);
    }
    let (mut x, mut y) = (decoder(cx, 0, a, lane)?.flat(), decoder(cx, 1, b, lane)?.flat());
    if !lockstep(cx, &mut x, &mut y)? {
        for (sum, d) in out.visits.iter_mut().zip([&x, &y]) {
            add_counts(sum, d.counts());
        }
        let whole = x.outcome() == Outcome::Ended && y.outcome() == Outcome::Ended;
        return Ok(if whole { LaneFate::Compared } else { LaneFate::Truncated });
    }
    let [ta, tb] = path_trees(cx, [(a, lane), (b, lane)])?;
    for (sum, t) in out.visits.iter_mut().zip([&ta, &tb]) {
        add_counts(sum, t.counts);
    }
    let diff = diverge::lanes(&cx.sides, &ta, &tb, None);
    out.add(lane, diff.found);
    Ok(if diff.cut { LaneFate::Truncated } else { LaneFate::Compared })
}

/// A lane in the form that both sides share: if either is cut short nothing is said of it, for order is not time there.
fn folded_lane(
    cx: &Context<'_>,
    sides: &[fold::Side; 2],
    at: [At<'_>; 2],
    out: &mut WarpDiff,
) -> Result<LaneFate, Error> {
    let one = |side: usize| folded_tree(cx, sides, side, at[side]);
    let [a, b] = [one(0)?, one(1)?];
    for (side, lane) in [&a, &b].into_iter().enumerate() {
        add_counts(&mut out.visits[side], lane.tree.counts);
        for (site, n) in &lane.left {
            *out.left[side].entry(*site).or_default() += n;
        }
    }
    if !a.tree.complete || !b.tree.complete {
        return Ok(LaneFate::Truncated);
    }
    let diff = diverge::lanes(&cx.sides, &a.tree, &b.tree, None);
    for (left, doubted) in out.left.iter_mut().zip(diff.doubted) {
        doubted.into_iter().for_each(|(site, n)| *left.entry(site).or_default() += n);
    }
    out.apart += diff.apart;
    out.add(at[0].1, diff.found);
    Ok(LaneFate::Compared)
}

fn folded_tree(
    cx: &Context<'_>,
    sides: &[fold::Side; 2],
    side: usize,
    (warp, lane): At<'_>,
) -> Result<folded::Folded, Error> {
    let masks = matches!(warp.lanes, Lanes::Events(_));
    let all = derive::whole(cx.recorded[side].0, cx.launches[side], warp, cx.limits);
    let mut out =
        folded::build(decoder(cx, side, &all, lane)?.whole(), &sides[side], cx.launches[side].kernel, masks)?;
    out.tree.complete &= !cx.launches[side].unfinished(warp.warp).has(lane);
    Ok(out)
}

fn path_trees(cx: &Context<'_>, at: [At<'_>; 2]) -> Result<[Tree; 2], Error> {
    let tree = |side: usize| {
        let d = decoder(cx, side, at[side].0, at[side].1)?;
        Tree::build(d, cx.sides.names[side], cx.launches[side].kernel, false)
    };
    Ok([tree(0)?, tree(1)?])
}

/// Both sides' warps with all of their events.
fn whole<'a>(cx: &'a Context<'_>, warps: [&'a WarpStream; 2]) -> [Cow<'a, WarpStream>; 2] {
    [0, 1].map(|side| derive::whole(cx.sides.programs[side], cx.launches[side], warps[side], cx.limits))
}

/// A lane's tree from all events, with masks.
fn event_tree(cx: &Context<'_>, side: usize, warp: &WarpStream, lane: Lane) -> Result<Tree, Error> {
    let names = cx.sides.names[side];
    let Lanes::Events(events) = &warp.lanes else {
        return Err(Error::new(warp.warp.to_string(), "has no events"));
    };
    let d = decoder(cx, side, warp, lane)?.whole();
    Tree::build(d, names, cx.launches[side].kernel, true)
        .or_else(|_| Ok(Tree::flat(events, lane, cx.sides.programs[side].module, names)))
        .map(|t| Tree { complete: t.complete && !cx.launches[side].unfinished(warp.warp).has(lane), ..t })
}

/// A lane on both sides; `None` if its level records no path.
pub(crate) fn lane_trees(cx: &Context<'_>, at: [At<'_>; 2]) -> Result<Option<[Tree; 2]>, Error> {
    let [(x, own), (y, other)] = at;
    if let (Some(sides), Lanes::Path { .. } | Lanes::Events(_)) = (cx.fold, &x.lanes) {
        let one = |side: usize| folded_tree(cx, sides, side, at[side]).map(|f| f.tree);
        return Ok(Some([one(0)?, one(1)?]));
    }
    match (&x.lanes, &y.lanes) {
        (Lanes::Path { .. }, Lanes::Path { .. }) => path_trees(cx, at).map(Some),
        (Lanes::Events(_), Lanes::Events(_)) => {
            let whole = whole(cx, [x, y]);
            Ok(Some([event_tree(cx, 0, &whole[0], own)?, event_tree(cx, 1, &whole[1], other)?]))
        }
        _ => Ok(None),
    }
}

fn add_counts(sum: &mut Counts, c: Counts) {
    sum.recorded += c.recorded;
    sum.computed += c.computed;
    sum.other += c.other;
}

fn next_visit(d: &mut Decoder<'_>) -> Result<Option<(SiteId, u64)>, Error> {
    while let Some(item) = d.next()? {
        if let Item::Visit { site, value, .. } = item {
            return Ok(Some((site, value)));
        }
    }
    Ok(None)
}

/// Walks both sides to the first difference; whether there is one. Nothing is kept.
fn lockstep(cx: &Context<'_>, a: &mut Decoder<'_>, b: &mut Decoder<'_>) -> Result<bool, Error> {
    loop {
        let (x, y) = (next_visit(a)?, next_visit(b)?);
        match (x, y) {
            (None, None) => return Ok(false),
            (Some((s, v)), Some((t, w))) => {
                if cx.sides.names[0].site(s) != cx.sides.names[1].site(t) || v != w {
                    return Ok(true);
                }
            }
            // The side that is over may only have been cut short.
            (None, Some(_)) => return Ok(a.outcome() == Outcome::Ended),
            (Some(_), None) => return Ok(b.outcome() == Outcome::Ended),
        }
    }
}

fn events(
    cx: &Context<'_>,
    warps: [&WarpStream; 2],
    all: [&[Event]; 2],
    lanes: LaneMask,
    out: &mut WarpDiff,
) {
    let what = |e: &Event| (e.site, e.mask, e.value);
    if cx.words_tell
        && lanes.lanes().all(|l| ended(cx, warps[0], l))
        && all[0].iter().map(what).eq(all[1].iter().map(what))
    {
        out.fates[LaneFate::SameWords as usize] += u64::from(lanes.count());
        return;
    }
    if let Some(sides) = cx.fold {
        // Who is where with whom is the compiler's choice.
        for lane in lanes.lanes() {
            match folded_lane(cx, sides, warps.map(|w| (w, lane)), out) {
                Ok(fate) => out.fate(fate),
                Err(e) => {
                    out.fail(&e);
                    out.fate(LaneFate::Failed);
                }
            }
        }
        return;
    }
    let whole = whole(cx, warps);
    // First who parts, then whose masks differ beyond that.
    let mut parted = LaneMask(0);
    let mut trees = Vec::new();
    for lane in lanes.lanes() {
        let tree = |side: usize| event_tree(cx, side, &whole[side], lane);
        let (ta, tb) = match (tree(0), tree(1)) {
            (Ok(a), Ok(b)) => (a, b),
            (Err(e), _) | (_, Err(e)) => {
                out.fail(&e);
                out.fate(LaneFate::Failed);
                continue;
            }
        };
        for (sum, t) in out.visits.iter_mut().zip([&ta, &tb]) {
            add_counts(sum, t.counts);
        }
        let diff = diverge::lanes(&cx.sides, &ta, &tb, None);
        if !diff.found.is_empty() {
            parted.insert(lane);
        }
        out.fate(if diff.cut { LaneFate::Truncated } else { LaneFate::Compared });
        out.add(lane, diff.found);
        trees.push((lane, ta, tb));
    }
    for (lane, a, b) in &trees {
        let diff = diverge::lanes(&cx.sides, a, b, Some(parted));
        let masks = diff.found.into_iter().filter(|(k, _)| k.0 == Kind::ActiveMask);
        let first = |f: &mut Found| f.root &= !parted.has(*lane);
        out.add(
            *lane,
            masks
                .map(|(k, mut f)| {
                    (k, {
                        first(&mut f);
                        f
                    })
                })
                .collect(),
        );
    }
}

/// What lanes' final hashes say, by side.
enum Finals<'a> {
    /// An entry a lane, zero for one that never ended.
    Lanes([&'a [[u64; 4]]; 2]),
    /// Of the warp which hashes differ, and the lanes' signatures.
    Warp { differ: [bool; 4], any: bool, signatures: [[u64; 4]; 2] },
}

impl<'a> Finals<'a> {
    fn of(a: &'a [[u64; 4]], b: &'a [[u64; 4]], lanes: LaneMask) -> Finals<'a> {
        let (&[wa, sa], &[wb, sb]) = (a, b) else { return Finals::Lanes([a, b]) };
        let of = |lane: Lane| [sa, sb].map(|s| signature(&s, lane));
        let mut differ = std::array::from_fn(|i| wa[i] != wb[i]);
        if lanes.lanes().any(|l| of(l).contains(&0) && of(l) != [0, 0]) {
            // Hashes of other lanes: only signatures compare.
            differ = [false; 4];
        }
        // Which lanes differ, signatures tell; where they tell none, it may be any.
        let told = lanes.lanes().any(|l| of(l)[0] != of(l)[1]);
        Finals::Warp { differ, any: !told, signatures: [sa, sb] }
    }

    /// Which hashes of a lane differ: control, loaded, stored, synchronisation; `None` if it did not end on both sides.
    fn lane(&self, lane: Lane) -> Option<[bool; 4]> {
        match self {
            Finals::Lanes(sides) => {
                let [p, q] = sides.map(|h| h.get(usize::from(lane.0)).filter(|h| **h != [0; 4]));
                let (p, q) = p.zip(q)?;
                Some(std::array::from_fn(|i| p[i] != q[i]))
            }
            Finals::Warp { differ, any, signatures } => {
                let [p, q] = signatures.each_ref().map(|s| signature(s, lane));
                // A signature that differs is of something.
                let some = if *differ == [false; 4] { [true, false, false, false] } else { *differ };
                match (p, q) {
                    (0, _) | (_, 0) => None,
                    _ if p != q => Some(some),
                    _ if *any => Some(*differ),
                    _ => Some([false; 4]),
                }
            }
        }
    }
}

/// A lane's byte.
fn signature(signatures: &[u64; 4], lane: Lane) -> u8 {
    let word = signatures.get(usize::from(lane.0 / 8)).copied().unwrap_or_default();
    (word >> (lane.0 % 8 * 8)) as u8
}

fn prints(cx: &Context<'_>, a: &WarpStream, b: &WarpStream, lanes: LaneMask, out: &mut WarpDiff) {
    let (
        Lanes::Fingerprint { checkpoints: ca, ends: ea, hashes: ha },
        Lanes::Fingerprint { checkpoints: cb, ends: eb, hashes: hb },
    ) = (&a.lanes, &b.lanes)
    else {
        return;
    };
    let finals = Finals::of(ha, hb, lanes);
    for lane in lanes.lanes() {
        let parts = (lane_part(ca, ea, a.warp, lane), lane_part(cb, eb, b.warp, lane));
        let (x, y) = match parts {
            (Ok(x), Ok(y)) => (x, y),
            (Err(e), _) | (_, Err(e)) => {
                out.fail(&e);
                out.fate(LaneFate::Failed);
                continue;
            }
        };
        let differ = finals.lane(lane);
        let ended = differ.is_some();
        let differ = differ.unwrap_or_default();
        // Lost checkpoints come last: those that both have are comparable. Once two prefixes differ they stay different.
        let both = x.len().min(y.len());
        let equal = (x[..both] != y[..both]).then(|| {
            let (mut low, mut high) = (0, both);
            while low < high {
                let mid = (low + high) / 2;
                if x[mid] == y[mid] { low = mid + 1 } else { high = mid }
            }
            low
        });
        let agree = equal.is_none() && differ == [false; 4];
        // Decisions that are computed are in no hash: where what they are computed from differs, equal hashes say nothing.
        let told = ended && (cx.words_tell || !agree);
        out.fate(if told { LaneFate::Compared } else { LaneFate::Truncated });
        if agree {
            continue;
        }
        let kind = if differ[0] || !ended { Kind::Branch } else { Kind::Value };
        let bits = differ.iter().enumerate().fold(0, |n, (i, d)| n | u8::from(*d) << i);
        let raw = Raw { position: equal.map_or(u64::MAX >> 1, |c| c as u64), ..Raw::new(kind) };
        let found = Found { first: raw, count: 1, ways: [0; 2], follows: [0; 2], root: true };
        out.add(lane, BTreeMap::from([((kind, u32::MAX, bits), found)]));
        let info = HashInfo {
            differ,
            checkpoint: equal.map(|c| c as u64),
            checkpoints: [x.len() as u64, y.len() as u64],
        };
        if let Some(f) = out.found.get_mut(&(kind, u32::MAX, bits)) {
            // The earliest lane's.
            let earlier = f
                .hashes
                .as_ref()
                .is_none_or(|h| info.checkpoint.unwrap_or(u64::MAX) < h.checkpoint.unwrap_or(u64::MAX));
            if earlier {
                f.hashes = Some(info);
            }
        }
    }
}

fn operands(cx: &Context<'_>, a: &WarpStream, b: &WarpStream, lanes: LaneMask, out: &mut WarpDiff) {
    let (Lanes::Operands { records: ra, ends: ea }, Lanes::Operands { records: rb, ends: eb }) =
        (&a.lanes, &b.lanes)
    else {
        return;
    };
    for lane in lanes.lanes() {
        let (x, y) = match (lane_part(ra, ea, a.warp, lane), lane_part(rb, eb, b.warp, lane)) {
            (Ok(x), Ok(y)) => (x, y),
            (Err(e), _) | (_, Err(e)) => {
                out.fail(&e);
                out.fate(LaneFate::Failed);
                continue;
            }
        };
        let ended = ended(cx, a, lane);
        let other: BTreeMap<_, _> =
            y.iter().map(|r| ((cx.sides.names[1].site(r.site), r.visit), (r.site, r.values))).collect();
        let mut found = BTreeMap::new();
        for (i, r) in x.iter().enumerate() {
            let site = cx.sides.names[0].site(r.site);
            let theirs = other.get(&(site, r.visit));
            if theirs.is_some_and(|t| t.1 == r.values) {
                continue;
            }
            let kind = match theirs {
                Some(_) => Kind::Value,
                None if ended => Kind::ExtraEvents,
                // The other side was stopped before it, perhaps.
                None => continue,
            };
            let root = found.is_empty();
            let entry = found.entry((kind, site, 0)).or_insert_with(|| Found {
                first: Raw {
                    sites: [Some(r.site), theirs.map(|t| t.0)],
                    nth: [Some(r.visit), theirs.map(|_| r.visit)],
                    values: [r.values[0], theirs.map_or(0, |t| t.1[0])],
                    position: i as u64,
                    ..Raw::new(kind)
                },
                count: 0,
                ways: [0; 2],
                follows: [0; 2],
                root,
            });
            entry.count += 1;
        }
        if x.len() < y.len() && found.is_empty() && ended {
            let first = Raw { sites: [None, y.last().map(|r| r.site)], ..Raw::new(Kind::ExtraEvents) };
            found.insert(
                (Kind::ExtraEvents, u32::MAX, 1),
                Found { first, count: 1, ways: [0; 2], follows: [0; 2], root: true },
            );
        }
        out.fate(if ended { LaneFate::Compared } else { LaneFate::Truncated });
        out.add(lane, found);
    }
}
