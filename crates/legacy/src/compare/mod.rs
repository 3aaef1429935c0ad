//! Compares two recordings of PRLX 0.x (version 1): streams of warp events without code.
//!
//! 1. `event_order` puts the events of each warp into one canonical order.
//! 2. `nodes` numbers the sites, and `loops` finds loops in the sequence of sites.
//! 3. `streams` aligns two streams by that structure; `same_sites` aligns those that have none.
//! 4. `differences` counts the differences of a warp; `findings` merges them over warps.
//! 5. `evidence` reads operands and earlier values from the rings of the file.
//!
//! The result is a [`LaunchReport`], as for recordings of this version. It needs `prlx-analyze` for the
//! report's types and for the alignment of sequences.
//!
//! # Invariants
//! The result depends on inputs and options only, not on threads. Memory is bounded by two batches of warps
//! and the retained findings. Lost, sampled, filtered or missing events are reported as gaps.
//!
//! # Limitations
//! Version 1 records what the leader of a warp saw. What other lanes did alone is not in the file.

mod differences;
mod event_order;
mod evidence;
mod fast_hash;
mod findings;
mod input;
mod launch_match;
mod loops;
mod nodes;
mod options;
mod parallel;
#[cfg(test)]
mod random;
mod same_sites;
mod streams;

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use rayon::prelude::*;

use crate::v1::{Cursor, EventBytes, EventKind, File, Flags, HistoryEntry, Warp};
use prlx_trace::WarpSize;
use prlx_trace::kernel::Level;

use prlx_analyze::Error;
use prlx_analyze::report::{
    Differing, Lanes, LaunchDifference, LaunchPart, LaunchReport, Report, UnmatchedLaunch, Verdict, Warps,
};

use differences::{FindingKey, KnownFinding, Sink};
use event_order::Stream;
use evidence::Wanted;
use fast_hash::FastHash;
use findings::{Cluster, Gathered};
use input::LaunchShape;
use nodes::PreviousWarp;
use parallel::{BATCH, both};
use streams::Eyes;

pub use differences::Divergence;
pub use input::{Input, SiteTable};
pub use launch_match::{digest, pair};
pub use options::Options;

/// Result of comparing a pair of launches.
#[derive(Debug)]
pub struct Compared {
    /// Report of this pair of launches.
    pub launch: LaunchReport,
    /// The first differences, in order of warps.
    pub listed: Vec<Divergence>,
    /// Number of differences by [`FindingKind`](prlx_analyze::report::FindingKind) in its order.
    pub kinds: [u64; 5],
    /// Number of warps with at least one difference.
    pub warps: u64,
    /// By side: number of recorded events.
    pub events: [u64; 2],
    /// By finding and side: values before the visit that differs, oldest first.
    pub histories: Vec<[Vec<HistoryEntry>; 2]>,
}

/// Result of comparing one warp, before the warps are merged.
#[derive(Default)]
struct WarpOut {
    /// A filter excludes the warp.
    skipped: bool,
    equal: bool,
    events: [u64; 2],
    lost: [u64; 2],
    /// By side: decisions, other events.
    seen: [[u64; 2]; 2],
    /// Events that differ only in values, while [`Options::values`] is off.
    values: u64,
    kinds: [u64; 5],
    filtered: u64,
    listed: Vec<Divergence>,
    found: Vec<(FindingKey, differences::Finding)>,
    /// By site asked for: whether it was met.
    met: u64,
}

/// Inputs and options that the comparison of every warp shares.
struct Context<'a> {
    inputs: [&'a Input<'a>; 2],
    options: &'a Options,
    /// Only one side's events are compact. Both are compared by the fields that compact events have.
    narrow: bool,
    /// Both sides have the same event format and site numbers, so equal bytes mean equal events.
    plain: bool,
}

/// Compares two launches.
///
/// # Errors
/// When they are of different kernels, a filter matches nothing, or a file is damaged.
pub fn compare(inputs: [&Input<'_>; 2], numbers: [u64; 2], options: &Options) -> Result<Compared, Error> {
    let files = inputs.map(|i| i.file);
    same_kernel(files, options)?;
    let headers = files.map(|f| &f.header);
    let counts = headers.map(|h| h.warps);
    let (common, total) = (counts[0].min(counts[1]), counts[0].max(counts[1]));
    filters_fit(options, total)?;
    let shape = LaunchShape::new(files[usize::from(counts[1] > counts[0])], total);
    let compact = inputs.map(Input::compact);
    let cx = Context {
        inputs,
        options,
        narrow: compact[0] != compact[1],
        plain: compact[0] == compact[1] && inputs.iter().all(|i| i.renamed.is_empty()),
    };
    let mut sum = Sum::default();
    let mut gathered = Gathered::default();
    let mut cursors = [files[0].cursor()?, files[1].cursor()?];
    let stride = files[0].layout.events.stride.max(files[1].layout.events.stride);
    let most = (BATCH / stride).clamp(1, 4096) as u32;
    let (mut listed, mut start) = (Vec::new(), 0);
    while start < common {
        // After the first few warps, most of what is asked of a finding that all of them have is known.
        let step = if start == 0 { most.min(findings::WARPS as u32) } else { most };
        let warps = start..common.min(start.saturating_add(step));
        let [ca, cb] = &mut cursors;
        // Packed sides are unpacked side by side; plain ones cost nothing here.
        let (a, b) = rayon::join(|| ca.events(warps.clone()), || cb.events(warps.clone()));
        let (a, b) = (a?, b?);
        let room = options.listed.saturating_sub(listed.len());
        let known = &gathered.known;
        let part = |all: &'_ [u8], side: usize, w: u32| -> Range<usize> {
            let stride = files[side].layout.events.stride as usize;
            let at = (w - start) as usize * stride;
            at..(at + stride).min(all.len())
        };
        let one = |previous: &mut PreviousWarp, w: u32| {
            if !options.warps.is_empty() && !options.warps.iter().any(|r| (r.0..=r.1).contains(&w)) {
                return Ok(WarpOut { skipped: true, ..WarpOut::default() });
            }
            for (side, all) in [a, b].into_iter().enumerate() {
                let part = Warp::new(&all[part(all, side, w)], inputs[side].compact());
                if let Some((event, kind)) = part.unknown_kind() {
                    let what = format!("event {event} of warp {w} in {} has kind {kind}", ["A", "B"][side]);
                    return Err(Error::new("kind", format!("{what}; kinds are 0 to 6")));
                }
            }
            Ok(warp(&cx, w, [&a[part(a, 0, w)], &b[part(b, 1, w)]], known, room, previous))
        };
        let results = warps.clone().into_par_iter().map_init(PreviousWarp::default, one);
        let results = results.collect::<Result<Vec<WarpOut>, Error>>()?;
        for (w, out) in warps.clone().zip(results) {
            sum.add(&out, shape.lanes(w), headers.iter().any(|h| h.sampled()));
            listed.extend(out.listed.into_iter().take(options.listed - listed.len()));
            gathered.add(w, &shape, out.found);
        }
        let done = |side: usize| (inputs[side].done)(files[side].layout.events.of(warps.clone()));
        rayon::join(|| done(0), || done(1));
        start = warps.end;
    }
    for site in options.sites.iter().enumerate().filter(|(i, _)| sum.met >> i & 1 == 0).map(|(_, s)| s) {
        if inputs.iter().all(|i| i.sites.row(*site).is_none()) {
            return Err(Error::new("filter", format!("no event of either side is at site {site:#010x}")));
        }
    }
    sum.warps.missing += u64::from(total - common);
    sum.lanes.missing += (common..total).map(|w| shape.lanes(w)).sum::<u64>();
    for (side, file) in files.iter().enumerate() {
        // A filter may have left out all warps that have some.
        sum.silent[side] = sum.events[side] == 0 && (sum.skipped == 0 || silent(file)?);
    }
    if sum.silent != [false; 2] {
        // Nothing says what that side did: that the other did something is no difference.
        sum.unseen();
        (gathered, listed) = (Gathered::default(), Vec::new());
    }
    let mut out = report(inputs, numbers, &mut sum);
    let absent = options.warps.iter().filter(|r| r.0 >= total);
    out.notes.extend(absent.map(|r| format!("--warps names warp {}; the launch has {total}", r.0)));
    out.gaps.extend(gathered.gap(sum.kinds.iter().sum()));
    out.findings_total = gathered.len() as u64;
    out.differing = Differing { lanes: gathered.lanes(), warps: sum.differing, kinds: sum.kinds };
    let histories =
        add_findings(inputs, &mut cursors, gathered.sorted(options.findings), &shape, options, &mut out)?;
    let differs = sum.kinds != [0; 5] || out.differences.iter().any(LaunchDifference::is_decisive);
    out.verdict = match (differs, out.gaps.is_empty()) {
        (true, _) => Verdict::Differs,
        (false, true) => Verdict::Same,
        (false, false) => Verdict::Unknown,
    };
    Ok(Compared {
        launch: out,
        listed,
        kinds: sum.kinds,
        warps: sum.differing,
        events: sum.events,
        histories,
    })
}

/// Refuses filters that can't match anything in a launch of `warps` warps.
fn filters_fit(options: &Options, warps: u32) -> Result<(), Error> {
    // A part that is out of range is a note, as long as another one is not.
    if !options.warps.is_empty() && options.warps.iter().all(|r| r.0 >= warps) {
        let what = format!("warp {} of {warps}: the filter matches nothing", options.warps[0].0);
        return Err(Error::new("filter", what));
    }
    if options.sites.len() > 64 {
        return Err(Error::new("filter", "more than 64 sites"));
    }
    Ok(())
}

/// Adds findings to a report, with their operands from the rings of the files. Returns the earlier values of
/// each finding, by side.
fn add_findings(
    inputs: [&Input<'_>; 2],
    cursors: &mut [Cursor<'_>; 2],
    clusters: Vec<(FindingKey, Cluster)>,
    shape: &LaunchShape,
    options: &Options,
    out: &mut LaunchReport,
) -> Result<Vec<[Vec<HistoryEntry>; 2]>, Error> {
    let mut found = Vec::new();
    for side in 0..2 {
        let wanted = clusters.iter().enumerate().filter_map(|(finding, (_, c))| {
            let (event, visits) = (c.first.events[side]?, c.first.visits[side]?);
            Some(Wanted { finding, warp: c.warp(), event, visits })
        });
        let wanted = if inputs[side].file.header.sampled() { Vec::new() } else { wanted.collect() };
        let (evidence, lies) = evidence::read(inputs[side], &mut cursors[side], wanted, clusters.len())?;
        found.push(evidence);
        let name = ["A", "B"][side];
        out.gaps.extend(["values", "operands"].iter().zip(lies).filter_map(|(what, l)| l.gap(name, what)));
    }
    let tables = inputs.map(|i| i.sites);
    let mut histories = Vec::new();
    let (mut of_b, of_a) = (found.pop().unwrap_or_default(), found.pop().unwrap_or_default());
    for (i, ((key, c), a)) in clusters.into_iter().zip(of_a).enumerate() {
        let b = std::mem::take(&mut of_b[i]);
        let lanes = c.first.lanes;
        let mut finding = findings::finding(key, c, shape, tables);
        finding.operands =
            evidence::operands([a.snapshot, b.snapshot], lanes, options.float).or(finding.operands);
        out.findings.push(finding);
        histories.push([a.history, b.history]);
    }
    Ok(histories)
}

fn same_kernel(files: [&File<'_>; 2], options: &Options) -> Result<(), Error> {
    let [a, b] = files.map(|f| &f.header);
    let [na, nb] = [a.kernel(), b.kernel()];
    // Writers hash names in different ways, or not at all; a name that was cut tells less than its hash.
    let cut = na.len() >= 63;
    if options.force || (na == nb && (!cut || a.kernel_hash == b.kernel_hash)) {
        return Ok(());
    }
    let what = format!(
        "A is of kernel `{}`, B of `{}`; --force compares them",
        na.escape_debug(),
        nb.escape_debug()
    );
    Err(Error::new("kernel", what))
}

fn warp<'a>(
    cx: &Context<'a>,
    number: u32,
    parts: [&[u8]; 2],
    known: &HashMap<FindingKey, KnownFinding, FastHash>,
    room: usize,
    previous: &mut PreviousWarp,
) -> WarpOut {
    let warps = [0, 1].map(|s| Warp::new(parts[s], cx.inputs[s].compact()));
    let mut out = WarpOut { lost: warps.map(|w| w.lost()), ..WarpOut::default() };
    let quick = cx.plain && cx.options.sites.is_empty();
    if quick && parts[0] == parts[1] {
        out.equal = true;
        out.events = warps.map(|w| w.kept());
        return out;
    }
    let events = [0, 1].map(|s| meaning(cx, s, warps[s].events()));
    out.events = [0, 1].map(|s| events[s].len() as u64);
    let total = events[0].len() + events[1].len();
    let decides = |e: &&EventBytes| e[4] == EventKind::Branch as u8 || e[4] == EventKind::Switch as u8;
    let decisions = both(total, |side| events[side].iter().filter(decides).count() as u64);
    for (side, all) in events.iter().enumerate() {
        out.seen[side] = [decisions[side], all.len() as u64 - decisions[side]];
        for e in all.iter().filter(|_| !cx.options.sites.is_empty()) {
            let site = u32::from_le_bytes([e[0], e[1], e[2], e[3]]);
            out.met |= cx.options.sites.iter().position(|s| *s == site).map_or(0, |i| 1 << i);
        }
    }
    let eyes = Eyes::new(cx.options);
    let [a, b] = &events;
    if a.len() == b.len() && a.iter().zip(b.iter()).all(|(x, y)| eyes.words(x) == eyes.words(y)) {
        out.values = a.iter().zip(b.iter()).filter(|(x, y)| x != y).count() as u64;
        return out;
    }
    let [a, b] = both(total, |side| Stream::new(Cow::Borrowed(&events[side])));
    let mut sink =
        Sink::new(cx.options, number, known, room, out.lost.map(|n| n > 0), a.moved() || b.moved());
    streams::streams(&a, &b, eyes, previous, &mut sink);
    sink.recorded([&a, &b]);
    (out.kinds, out.filtered) = (sink.kinds, sink.filtered);
    (out.listed, out.found) = (sink.listed, sink.found);
    out
}

/// A side's events under the names, and with the parts, that both sides have.
fn meaning<'e>(cx: &Context<'_>, side: usize, events: Cow<'e, [EventBytes]>) -> Cow<'e, [EventBytes]> {
    let renamed = cx.inputs[side].renamed;
    let cut = cx.narrow && !cx.inputs[side].compact();
    if renamed.is_empty() && !cut {
        return events;
    }
    let mut events = events.into_owned();
    for e in &mut events {
        let mut site = u32::from_le_bytes([e[0], e[1], e[2], e[3]]);
        site = renamed.get(&site).copied().unwrap_or(site);
        if cut {
            site &= 0xffff;
            (e[4], e[5]) = (e[4] & 15, e[5] & 1);
            e[6..8].fill(0);
            e[12..].fill(0);
        }
        e[..4].copy_from_slice(&site.to_le_bytes());
    }
    Cow::Owned(events)
}

/// Whether no warp of a file has an event.
fn silent(file: &File<'_>) -> Result<bool, Error> {
    let compact = file.header.flags.has(Flags::COMPACT);
    let mut cursor = file.cursor()?;
    for w in 0..file.header.warps {
        if Warp::new(cursor.events(w..w + 1)?, compact).kept() > 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Counts that are summed over all warps of the launch.
#[derive(Default)]
struct Sum {
    warps: Warps,
    lanes: Lanes,
    events: [u64; 2],
    lost: [u64; 2],
    seen: [[u64; 2]; 2],
    values: u64,
    kinds: [u64; 5],
    filtered: u64,
    skipped: u64,
    differing: u64,
    met: u64,
    /// By side: whether no event was recorded.
    silent: [bool; 2],
}

impl Sum {
    /// Counts all compared warps and lanes as missing instead. Filtered ones keep their count.
    fn unseen(&mut self) {
        let w = &mut self.warps;
        *w = Warps { missing: w.equal + w.compared + w.missing, ..Warps::default() };
        let l = &mut self.lanes;
        *l = Lanes { missing: l.in_equal_warps + l.compared + l.truncated + l.missing, ..Lanes::default() };
        (self.kinds, self.differing, self.filtered, self.values) = ([0; 5], 0, 0, 0);
    }

    fn add(&mut self, out: &WarpOut, lanes: u64, sampled: bool) {
        if out.skipped {
            self.skipped += 1;
            self.warps.missing += 1;
            self.lanes.missing += lanes;
            return;
        }
        let cut = sampled || out.lost != [0, 0];
        match (out.equal && !cut, cut) {
            (true, _) => {
                self.warps.equal += 1;
                self.lanes.in_equal_warps += lanes;
            }
            (false, cut) => {
                self.warps.compared += 1;
                let fate = if cut { &mut self.lanes.truncated } else { &mut self.lanes.compared };
                *fate += lanes;
            }
        }
        for side in 0..2 {
            self.events[side] += out.events[side];
            self.lost[side] += out.lost[side];
            (0..2).for_each(|i| self.seen[side][i] += out.seen[side][i]);
        }
        self.values += out.values;
        self.kinds.iter_mut().zip(out.kinds).for_each(|(all, n)| *all += n);
        self.filtered += out.filtered;
        self.differing += u64::from(out.kinds != [0; 5]);
        self.met |= out.met;
    }
}

/// Builds the launch's report with its totals and gaps, without findings.
fn report(inputs: [&Input<'_>; 2], numbers: [u64; 2], sum: &mut Sum) -> LaunchReport {
    let headers = inputs.map(|i| &i.file.header);
    let [a, b] = headers;
    let mut out = LaunchReport {
        kernel: a.kernel(),
        launch: numbers,
        device: headers.map(|h| h.device()),
        level: Level::Events,
        grid: a.grid,
        block: a.block,
        warp_size: WarpSize::W32,
        ..LaunchReport::default()
    };
    let mut put = |what, name: &str, values: [String; 2]| {
        if values[0] != values[1] {
            out.differences.push(LaunchDifference { what, name: name.into(), values });
        }
    };
    put(LaunchPart::Geometry, "grid", headers.map(|h| h.grid.to_string()));
    put(LaunchPart::Geometry, "block", headers.map(|h| h.block.to_string()));
    if sum.values > 0 {
        let text = format!("{} events of equal paths have others (--values compares them)", sum.values);
        put(LaunchPart::Input, "values", ["not compared".into(), text]);
    }
    sum.warps.total = u64::from(a.warps.max(b.warps));
    sum.lanes.total = sum.lanes.in_equal_warps + sum.lanes.compared + sum.lanes.truncated + sum.lanes.missing;
    let c = &mut out.coverage;
    (c.warps, c.lanes) = (sum.warps.clone(), sum.lanes.clone());
    c.percent = c.lanes.percent();
    for (side, input) in inputs.iter().enumerate() {
        (c.visits[side].recorded, c.visits[side].other) = (sum.seen[side][0], sum.seen[side][1]);
        (c.elements[side].recorded, c.elements[side].dropped) = (sum.events[side], sum.lost[side]);
        c.sites[side].total = input.sites.len() as u64;
    }
    out.gaps = gaps(inputs, sum);
    out
}

/// What keeps the verdict from being certain.
fn gaps(inputs: [&Input<'_>; 2], sum: &Sum) -> Vec<String> {
    let mut out = Vec::new();
    // Nothing was compared then: why comes first.
    match sum.silent {
        [true, true] => out.push("neither side recorded an event".into()),
        [true, _] => out.push("A recorded no event: what it did is not known".into()),
        [_, true] => out.push("B recorded no event: what it did is not known".into()),
        _ => {}
    }
    let s = |n: u64, one: &'static str, many: &'static str| if n == 1 { one } else { many };
    for (side, name) in ["A", "B"].iter().enumerate() {
        let h = &inputs[side].file.header;
        let n = sum.lost[side];
        if n > 0 && !h.sampled() {
            out.push(format!(
                "{n} {} lost in {name}: the recording buffer was full",
                s(n, "event was", "events were")
            ));
        }
        if h.sampled() {
            out.push(format!("{name} is sampled: one event in {} was recorded", h.sample_rate.max(1)));
        }
    }
    let present = |pick: fn(&crate::v1::Layout) -> bool| inputs.map(|i| pick(&i.file.layout));
    for (name, has) in
        [("values", present(|l| l.history.is_some())), ("operands", present(|l| l.snapshots.is_some()))]
    {
        if has[0] != has[1] {
            out.push(format!("only {} has a section of {name}", if has[0] { "A" } else { "B" }));
        }
    }
    let compact = inputs.map(Input::compact);
    if compact[0] != compact[1] {
        let name = if compact[0] { "A" } else { "B" };
        out.push(format!(
            "{name} has compact events: values, results and half of each site's id were not recorded"
        ));
    }
    if sum.skipped > 0 {
        out.push(format!(
            "{} {} excluded by a filter",
            sum.skipped,
            s(sum.skipped, "warp was", "warps were")
        ));
    }
    if sum.filtered > 0 {
        let n = sum.filtered;
        out.push(format!("{n} {} excluded by a filter", s(n, "difference was", "differences were")));
    }
    let missing = sum.warps.missing - sum.skipped;
    if missing > 0 && sum.silent == [false; 2] {
        out.push(format!("{missing} {} not recorded on both sides", s(missing, "warp was", "warps were")));
    }
    out
}

/// The report of launches that were compared.
pub fn whole(launches: Vec<LaunchReport>, unpaired: Vec<UnmatchedLaunch>) -> Report {
    let producers = ["PRLX 0.x".to_owned(), "PRLX 0.x".to_owned()];
    let mut report =
        Report { producers, pairs: launches.len() as u64, launches, unpaired, ..Report::default() };
    report.conclude();
    report
}
