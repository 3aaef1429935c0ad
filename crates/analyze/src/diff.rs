//! Two recordings, compared: launches in pairs, warps that differ, findings put together.
//!
//! Holds: the report depends on the inputs alone, not on threads. Memory is bounded by 32 frames of each side, the
//! trees of the lanes at work, and the findings kept. `same` is only said when everything was seen: what was lost, left
//! out, cut short or could not be read is a gap.
//!
//! Launches are paired by [`order`], processes by their caller ([`crate::pair_processes`]).

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use rayon::prelude::*;

use prlx_trace::kernel::{Arg, Level, Module, Step};
use prlx_trace::{FuncId, Launch, Recording, SiteId, Trace, WarpId, WarpStream};

use crate::cluster::Clusters;
use crate::decode::Limits;
use crate::diverge::Sides;
use crate::error::Error;
use crate::filter::Filter;
use crate::fold;
use crate::launch;
use crate::mangled;
use crate::order::{self, Item};
use crate::pair::{self, Pairing};
use crate::processes;
use crate::program::Program;
use crate::report::{
    Alone, Coverage, Elements, Fault, Lanes, LaunchDifference, LaunchPart, LaunchReport, ProcessPair, Report, Sites,
    Unpaired, Verdict, Visits, Warps,
};
use crate::uncompared::{self, Left};
use crate::warp::{self, Context, LaneFate, WarpDiff};

/// How to compare.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiffOptions {
    /// Kernels to compare, by name with `*` and `?`; none: all.
    pub kernels: Vec<String>,
    /// Launches to compare, by side A's numbers: firsts, and one past the lasts; none: all.
    pub launches: Vec<(u64, u64)>,
    /// Findings of a launch that are kept.
    pub findings: usize,
    /// Warps of a finding that are listed.
    pub warps: usize,
    /// What decoding one lane may cost.
    pub limits: Limits,
    /// What of it counts.
    pub filter: Filter,
    /// Compare only every `of`-th pair of launches, from pair `index` on: a part of a report ([`Report::merge`]).
    pub shard: Option<Shard>,
    /// Kernels that have no partner by what they are called are partners in the order of their first launches.
    pub force: bool,
}

/// A share of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    /// Which, from 0.
    pub index: u64,
    /// Of how many.
    pub of: u64,
}

impl Default for DiffOptions {
    fn default() -> Self {
        DiffOptions {
            kernels: Vec::new(),
            launches: Vec::new(),
            findings: 64,
            warps: 256,
            limits: Limits::default(),
            filter: Filter::default(),
            shard: None,
            force: false,
        }
    }
}

/// Pairs of warps that are compared at once.
const BATCH: usize = 4096;
/// Frames of a side that are unpacked at once.
const FRAMES: usize = 32;

/// Compares two recordings.
///
/// # Errors
/// When a filter matches nothing, a module is ill-formed, or the streams are damaged.
pub fn diff(a: &Trace, b: &Trace, options: &DiffOptions) -> Result<Report, Error> {
    for pattern in &options.kernels {
        let like = |t: &Trace| t.launches.iter().any(|r| matches(pattern, &kernel_name(t, &r.launch)));
        if !like(a) && !like(b) {
            return Err(Error::new("filter", format!("no launch of either side has a kernel like `{pattern}`")));
        }
    }
    let mut report = Report::new(Default::default());
    report.add([a, b], options)?;
    Ok(report)
}

/// A launch that is to be compared.
struct Wanted {
    /// Its place in the trace.
    index: usize,
    /// What the user calls it.
    number: u64,
    kernel: String,
}

/// What the user calls a launch. Before a program's launches had numbers, their order was all that there was.
fn number(t: &Trace, index: usize, r: &Recording) -> u64 {
    if t.process.is_some() { r.launch.number } else { index as u64 }
}

/// The launch that the user calls `wanted`.
pub(crate) fn at_number(t: &Trace, wanted: u64) -> Option<&Recording> {
    t.launches.iter().enumerate().find(|(i, r)| number(t, *i, r) == wanted).map(|(_, r)| r)
}

/// The launches of a side that are to be compared, in the order in which they were launched.
fn wanted(t: &Trace, options: &DiffOptions) -> Vec<Wanted> {
    let kernels = &options.kernels;
    let mut all: Vec<Wanted> = t
        .launches
        .iter()
        .enumerate()
        .map(|(index, r)| Wanted { index, number: number(t, index, r), kernel: kernel_name(t, &r.launch) })
        .filter(|w| kernels.is_empty() || kernels.iter().any(|p| matches(p, &w.kernel)))
        .collect();
    all.sort_by_key(|w| (w.number, w.index));
    all
}

/// Kernels that no other rule pairs, by B's name A's: the first that is left of one side is the first of the other.
fn forced<'n>(
    sides: [&'n [Wanted]; 2],
    names: [&BTreeSet<&'n str>; 2],
    renamed: &BTreeMap<&'n str, &'n str>,
) -> BTreeMap<&'n str, &'n str> {
    let [a, b] = [0, 1].map(|side| {
        let mut seen: BTreeSet<&str> = renamed.iter().flat_map(|(b, a)| [*a, *b]).collect();
        let all = sides[side].iter().map(|w| w.kernel.as_str()).filter(|k| !names[1 - side].contains(k));
        all.filter(|k| seen.insert(*k)).collect::<Vec<&str>>()
    });
    b.into_iter().zip(a).collect()
}

/// What is known of the launches of both sides before their lanes are looked at.
fn items(traces: [&Trace; 2], sides: [&[Wanted]; 2], force: bool) -> [Vec<Item>; 2] {
    let module = |side: usize, w: &Wanted| {
        let t = traces[side];
        t.modules.get(t.launches[w.index].launch.module.index()).map_or("", |m| &m.name)
    };
    let names = [0, 1].map(|side| traces[side].modules.iter().map(|m| &m.name[..]).collect::<BTreeSet<&str>>());
    let devices = [0, 1].map(|side| traces[side].launches.iter().map(|r| r.launch.ordinal).collect::<BTreeSet<u32>>());
    let [ours, theirs] = sides.map(|all| all.iter().map(|w| w.kernel.as_str()).collect::<BTreeSet<&str>>());
    let renamed = mangled::renamed(&ours, &theirs);
    let forced = if force { forced(sides, [&ours, &theirs], &renamed) } else { BTreeMap::new() };
    let told: BTreeSet<&str> = forced.iter().flat_map(|(b, a)| [*a, *b]).collect();
    let mut numbers: BTreeMap<(&str, &str, Option<u32>), u64> = BTreeMap::new();
    [0, 1].map(|side| {
        let item = |w| {
            let Wanted { index, kernel, .. }: &Wanted = w;
            // A module that only one side has says nothing: it may have been renamed.
            let name = module(side, w);
            let name = if names[1 - side].contains(name) && !told.contains(kernel.as_str()) { name } else { "" };
            let Recording { launch: l, streams } = &traces[side].launches[*index];
            // Nor does a device that only one side used.
            let device = Some(l.ordinal).filter(|d| devices[1 - side].contains(d));
            let next = numbers.len() as u64;
            let ours = renamed.get(kernel.as_str()).or_else(|| forced.get(kernel.as_str()));
            let kernel = ours.filter(|_| side == 1).copied().unwrap_or(kernel);
            let kernel = *numbers.entry((name, kernel, device)).or_insert(next);
            let mut whole = DefaultHasher::new();
            (l.grid, l.block, streams.root(), &l.skipped).hash(&mut whole);
            l.args.iter().for_each(|a| (a.before, a.after).hash(&mut whole));
            l.pointees.iter().for_each(|p| (p.before, p.after).hash(&mut whole));
            Item { kernel, whole: whole.finish() }
        };
        sides[side].iter().map(item).collect()
    })
}

impl Report {
    /// A comparison in which nothing was seen yet.
    pub fn new(names: [String; 2]) -> Report {
        let mut report = Report { names, ..Report::default() };
        report.conclude();
        report
    }

    /// Compares what one process did on both sides, and adds it.
    ///
    /// # Errors
    /// When a module is ill-formed, the streams are damaged, or a recording is of a probe program.
    pub fn add(&mut self, traces: [&Trace; 2], options: &DiffOptions) -> Result<(), Error> {
        for (trace, side) in traces.iter().zip(["A", "B"]) {
            // What has no streams would agree with everything.
            if trace.launches.iter().any(|r| r.launch.level == Level::Probe) {
                let what = "it is of a probe program: tables, and nothing to compare; `prlx probe show` prints them";
                return Err(Error::new(side, what));
            }
        }
        if self.processes.is_empty() {
            self.producers = traces.map(|t| t.producer.clone());
        }
        let process = self.processes.len() as u64;
        self.processes.push(ProcessPair {
            names: traces.map(|t| t.process.as_ref().map_or_else(String::new, processes::name)),
            cut: traces.map(|t| t.cut.as_ref().map(ToString::to_string)),
        });
        let sides = traces.map(|t| wanted(t, options));
        let [a, b] = items(traces, [&sides[0], &sides[1]], options.force);
        let pairs = order::pairs(&a, &b);
        let asked = |w: &Wanted| {
            options.launches.is_empty()
                || options.launches.iter().any(|(first, end)| (*first..*end).contains(&w.number))
        };
        let mut shared = Shared::default();
        for (i, j) in &pairs {
            let both = [&sides[0][*i], &sides[1][*j]];
            if !asked(both[0]) {
                continue;
            }
            if options.shard.is_none_or(|s| self.pairs % s.of.max(1) == s.index) {
                let found = launches(traces, both, &mut shared, options)?;
                self.launches.push(LaunchReport { process, ..found });
            }
            self.pairs += 1;
        }
        for (side, all) in (0u8..).zip(&sides) {
            let paired: BTreeSet<usize> = pairs.iter().map(|p| [p.0, p.1][usize::from(side)]).collect();
            let alone = all.iter().enumerate().filter(|(i, w)| !paired.contains(i) && asked(w));
            let unpaired =
                |(_, w): (usize, &Wanted)| Unpaired { process, side, launch: w.number, kernel: w.kernel.clone() };
            self.unpaired.extend(alone.map(unpaired));
        }
        self.conclude();
        Ok(())
    }

    /// Adds a process that the other side has no partner for. One that launched nothing is no difference.
    pub fn add_alone(&mut self, side: u8, trace: &Trace) {
        let name = trace.process.as_ref().map_or_else(String::new, processes::name);
        let cut = trace.cut.as_ref().map(ToString::to_string);
        self.alone.push(Alone { side, name, launches: trace.launches.len() as u64, cut });
        self.conclude();
    }

    /// Whether what only one side has may be what the other was to do when it was cut off.
    pub(crate) fn cut_off(&self, u: &Unpaired) -> bool {
        let process = self.processes.get(u.process as usize);
        process.is_some_and(|p| p.cut[usize::from(u.side == 0)].is_some())
    }

    /// Sets the verdict from those of the launches.
    pub(crate) fn conclude(&mut self) {
        self.gaps.clear();
        if self.pairs == 0 && self.unpaired.is_empty() && self.alone.iter().all(|p| p.launches == 0) {
            self.gaps.push("neither side recorded a launch".into());
        }
        let pairs = self.processes.iter().flat_map(|p| [0, 1].map(|side| (side, &p.names[side], &p.cut[side])));
        let alone = self.alone.iter().map(|p| (usize::from(p.side), &p.name, &p.cut));
        for (side, name, cut) in pairs.chain(alone) {
            let side = if side == 0 { "A" } else { "B" };
            let who = if name.is_empty() { side.to_owned() } else { format!("{side}'s {name}") };
            if let Some(cut) = cut {
                self.gaps.push(format!("{who} was cut off: launches after that are not in it ({cut})"));
            }
        }
        let elsewhere = self.pairs.saturating_sub(self.launches.len() as u64);
        if elsewhere > 0 {
            self.gaps.push(format!("this is a part: {elsewhere} of {} pairs of launches are in others", self.pairs));
        }
        let extra = self.unpaired.iter().any(|u| !self.cut_off(u)) || self.alone.iter().any(|p| p.launches > 0);
        let gap = if self.gaps.is_empty() { Verdict::Same } else { Verdict::Unknown };
        let extra = if extra { Verdict::Differs } else { Verdict::Same };
        self.verdict = self.launches.iter().map(|l| l.verdict).fold(gap.max(extra), Verdict::max);
    }
}

fn kernel_name(t: &Trace, l: &Launch) -> String {
    let f = t.modules.get(l.module.index()).and_then(|m| m.functions.get(l.kernel.index()));
    f.map_or_else(|| format!("{} of {}", l.kernel, l.module), |f| f.name.clone())
}

/// Whether `name` is like `pattern`, in which `*` stands for any text and `?` for one character.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let (p, n): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    // The last star, and how much of the name it has taken.
    let (mut i, mut j, mut star) = (0, 0, None);
    while j < n.len() {
        if p.get(i) == Some(&'*') {
            star = Some((i, j));
            i += 1;
        } else if p.get(i).is_some_and(|c| *c == '?' || *c == n[j]) {
            (i, j) = (i + 1, j + 1);
        } else if let Some((s, taken)) = star {
            star = Some((s, taken + 1));
            (i, j) = (s + 1, taken + 1);
        } else {
            return false;
        }
    }
    p[i..].iter().all(|c| *c == '*')
}

/// What launches of the same modules share, made once: 10⁵ launches have a handful of modules.
#[derive(Default)]
pub(crate) struct Shared<'a> {
    /// By side and module.
    modules: BTreeMap<(usize, u32), Checked<'a>>,
    /// By side, module and kernel.
    reach: BTreeMap<(usize, u32, u32), BTreeSet<FuncId>>,
    /// By A's and B's module, and their kernels where those are called otherwise.
    pairings: BTreeMap<Pair, Pairing>,
}

/// Two modules, and two kernels of theirs that are one although their names do not say so.
type Pair = ([u32; 2], Option<[u32; 2]>);

fn pair_of(launches: [&Launch; 2], names: pair::Forced<'_>) -> Pair {
    (launches.map(|l| l.module.0), names.map(|_| launches.map(|l| l.kernel.0)))
}

/// The kernels of two launches, if only the user says that they are one.
fn forced_names<'a>(modules: [&'a Module; 2], launches: [&Launch; 2]) -> pair::Forced<'a> {
    let [a, b] = [0, 1].map(|s| modules[s].functions.get(launches[s].kernel.index()).map(|f| f.name.as_str()));
    a.zip(b).map(|(a, b)| [a, b]).filter(|[a, b]| !mangled::alike(a, b))
}

/// A module, checked.
struct Checked<'a> {
    program: Program<'a>,
    guarded: BTreeMap<SiteId, Vec<SiteId>>,
}

impl<'a> Shared<'a> {
    /// Makes what a pair of launches needs.
    pub fn prepare(&mut self, traces: [&'a Trace; 2], launches: [&Launch; 2]) -> Result<(), Error> {
        let modules = [module(traces[0], launches[0])?, module(traces[1], launches[1])?];
        for (side, (m, l)) in modules.iter().zip(launches).enumerate() {
            let id = l.module.0;
            if let std::collections::btree_map::Entry::Vacant(e) = self.modules.entry((side, id)) {
                e.insert(Checked { program: Program::new(m)?, guarded: pair::guarded(m) });
            }
            self.reach.entry((side, id, l.kernel.0)).or_insert_with(|| reachable(m, l.kernel));
        }
        let forced = forced_names(modules, launches);
        let paired = || pair::modules(modules[0], modules[1], forced);
        self.pairings.entry(pair_of(launches, forced)).or_insert_with(paired);
        Ok(())
    }

    /// Which function, loop and site of one module is which of another, once it is made.
    fn pairing(&self, modules: [&Module; 2], launches: [&Launch; 2]) -> &Pairing {
        &self.pairings[&pair_of(launches, forced_names(modules, launches))]
    }

    /// What all warps of two launches have in common, once it is made.
    pub fn context<'s>(&'s self, launches: [&'s Launch; 2], limits: Limits) -> Context<'s> {
        let [la, lb] = launches;
        let checked = [(0, la), (1, lb)].map(|(side, l)| &self.modules[&(side, l.module.0)]);
        let reach = [(0, la), (1, lb)].map(|(side, l)| &self.reach[&(side, l.module.0, l.kernel.0)]);
        let programs = checked.map(|c| &c.program);
        let modules = programs.map(|p| p.module);
        let pairing = self.pairing(modules, launches);
        let uneven = |sides: &&[fold::Side; 2]| (0..2).any(|side| !sides[side].uneven.is_disjoint(reach[side]));
        let fold = pairing.fold.as_deref().filter(uneven);
        let names = fold.map_or([&pairing.a, &pairing.b], |sides| [&sides[0].names, &sides[1].names]);
        Context {
            sides: Sides { programs, names, fold, guarded: checked.map(|c| &c.guarded) },
            launches,
            fold,
            words_tell: pairing.same && places_agree(la, lb) && params_agree(modules, launches, reach),
            limits,
        }
    }
}

fn module<'a>(t: &'a Trace, l: &Launch) -> Result<&'a Module, Error> {
    t.modules.get(l.module.index()).ok_or_else(|| Error::new(l.module.to_string(), "no such module"))
}

fn launches<'a>(
    traces: [&'a Trace; 2],
    at: [&Wanted; 2],
    shared: &mut Shared<'a>,
    options: &DiffOptions,
) -> Result<LaunchReport, Error> {
    let kernel = &at[0].kernel;
    let recordings = [0, 1].map(|side| &traces[side].launches[at[side].index]);
    let [la, lb] = recordings.map(|r| &r.launch);
    let [ma, mb] = [module(traces[0], la)?, module(traces[1], lb)?];
    let mut out = LaunchReport {
        kernel: kernel.clone(),
        launch: at.map(|w| w.number),
        skipped: [la, lb].map(|l| l.skipped.clone()),
        fidelity: [la, lb].map(|l| l.fidelity.name().to_owned()),
        module: [ma.name.clone(), mb.name.clone()],
        device: [la.device.clone(), lb.device.clone()],
        level: la.level,
        grid: la.grid,
        block: la.block,
        warp_size: la.warp_size,
        faults: [la, lb].map(|l| l.fault.as_ref().map(|f| Fault { kind: f.kind, text: f.text.clone() })),
        differences: launch::differences([ma, mb], [la, lb]),
        dilation: [la, lb].map(launch::dilation),
        ..LaunchReport::default()
    };
    if at[0].kernel != at[1].kernel {
        let values = mangled::apart([&at[0].kernel, &at[1].kernel]);
        out.differences.push(LaunchDifference { what: LaunchPart::Code, name: "kernel".into(), values });
    }
    out.culprit = launch::culprit([la, lb], &out.differences);
    out.padding = launch::padding([ma, mb], [la, lb], &out.differences);
    out.undigested = [la, lb].map(launch::undigested);
    if out.skipped.iter().any(Option::is_some) {
        return Ok(unseen(out, [la, lb], None));
    }
    if la.level != lb.level {
        let what = format!("recorded at level {} and at level {}", la.level.name(), lb.level.name());
        return Err(Error::new(format!("kernel {kernel}"), what));
    }
    shared.prepare(traces, [la, lb])?;
    let shared = &*shared;
    let reach = [(0, la), (1, lb)].map(|(side, l)| &shared.reach[&(side, l.module.0, l.kernel.0)]);
    let pairing = shared.pairing([ma, mb], [la, lb]);
    let cx = shared.context([la, lb], options.limits);
    let programs = cx.sides.programs;
    let other_hashes = (ma.hashing != mb.hashing).then(|| other_hashes(la.level)).flatten();
    if let Some(why) = other_hashes.or_else(|| one_build_only(la.level, pairing, &cx)) {
        return Ok(unseen(out, [la, lb], Some(why)));
    }
    let mut gaps = BTreeMap::new();
    if let Some([x, y]) = forced_names([ma, mb], [la, lb]) {
        let what = format!("`{x}` and `{y}` are compared as one kernel because they were told to be (--force)");
        gaps.insert("0000".into(), what);
    }
    let coverage = &mut out.coverage;
    for side in 0..2 {
        let (m, l) = ([ma, mb][side], [la, lb][side]);
        coverage.elements[side] = Elements { recorded: l.totals.recorded, dropped: l.totals.dropped };
        let alone = pairing.fold.as_deref().map(|f| uncompared::unmatched(m, &f[side], l.level, reach[side]));
        coverage.sites[side] = sites(programs[side], l.level, reach[side], alone.unwrap_or_default());
        launch::static_gaps(m, l, programs[side], reach[side], side, &mut gaps);
    }
    let mut clusters = Clusters::new(options.warps, &options.filter);
    let mut left = Left::default();
    streams(&cx, recordings, pairing.same, coverage, &mut clusters, &mut left, &mut gaps)?;
    launch::coverage_gaps(coverage, [la, lb], &mut gaps);
    clusters.keep(coverage, &mut gaps);
    if let Some(sides) = cx.fold {
        out.uncompared = uncompared::list([ma, mb], sides, reach, la.level, &left);
        uncompared::gaps(&out.uncompared, &left, &mut gaps);
    }
    out.differing = clusters.sum();
    out.findings = clusters.findings(&cx, [ma, mb]);
    out.findings_total = out.findings.len() as u64;
    out.findings.truncate(options.findings);
    Ok(judged(out, gaps))
}

/// Why recordings whose values are hashed in two ways say nothing of each other; `None` if no hash is in them.
fn other_hashes(level: Level) -> Option<String> {
    let level = matches!(level, Level::Print | Level::Events).then(|| level.name())?;
    Some(format!(
        "one side is from before values were hashed as they are now, and so its level {level} does not compare: record it again"
    ))
}

/// Why two builds' recordings of a level say nothing of each other; `None` if they do.
fn one_build_only(level: Level, pairing: &Pairing, cx: &Context<'_>) -> Option<String> {
    let (what, than) = match level {
        Level::Print if !pairing.same || cx.by_thread() => ("hashes", "path"),
        Level::Operands if cx.fold.is_some() || cx.by_thread() => ("visits of single sites", "events"),
        _ => return None,
    };
    let level = level.name();
    Some(format!("{what} of level {level} compare within one build, and these are two: record both at level {than}"))
}

/// Two launches at least one of which was not recorded, or not in a way that says something of the other: what is known of them
/// as a whole is compared still.
fn unseen(mut out: LaunchReport, launches: [&Launch; 2], why: Option<String>) -> LaunchReport {
    let coverage = &mut out.coverage;
    let threads = launches.map(|l| l.grid.volume().saturating_mul(l.block.volume()));
    let (warps, lanes) = (launches[0].warps().max(launches[1].warps()), threads[0].max(threads[1]));
    coverage.warps = Warps { total: warps, missing: warps, ..Warps::default() };
    coverage.lanes = Lanes { total: lanes, missing: lanes, ..Lanes::default() };
    for (elements, l) in coverage.elements.iter_mut().zip(launches) {
        *elements = Elements { recorded: l.totals.recorded, dropped: l.totals.dropped };
    }
    let mut gaps = BTreeMap::new();
    launch::coverage_gaps(coverage, launches, &mut gaps);
    if let Some(why) = why {
        // Its warps were recorded.
        gaps.remove("5");
        gaps.insert("000".into(), why);
    }
    judged(out, gaps)
}

/// With its verdict.
fn judged(mut out: LaunchReport, gaps: launch::Gaps) -> LaunchReport {
    out.gaps = gaps.into_values().collect();
    let differs = out.findings_total > 0
        || out.differences.iter().any(launch::decisive)
        || out.faults[0].is_some() != out.faults[1].is_some();
    out.verdict = match (differs, out.gaps.is_empty()) {
        (true, _) => Verdict::Differs,
        (false, true) => Verdict::Same,
        (false, false) => Verdict::Unknown,
    };
    out
}

/// A kernel and the functions that it can call.
fn reachable(m: &Module, kernel: FuncId) -> BTreeSet<FuncId> {
    let mut out = BTreeSet::new();
    let mut todo = vec![kernel];
    while let Some(f) = todo.pop() {
        if !out.insert(f) {
            continue;
        }
        let blocks = m.functions.get(f.index()).map_or(&[][..], |f| &f.blocks);
        todo.extend(blocks.iter().flat_map(|b| &b.steps).filter_map(|s| match s {
            Step::Call { function, .. } => Some(*function),
            _ => None,
        }));
    }
    out
}

/// Whether lanes of the same number are at the same place.
fn places_agree(a: &Launch, b: &Launch) -> bool {
    (a.grid, a.block, a.warp_size) == (b.grid, b.block, b.warp_size)
}

/// Whether all parameters that decoding reads are the same.
fn params_agree(modules: [&Module; 2], launches: [&Launch; 2], reach: [&BTreeSet<FuncId>; 2]) -> bool {
    let functions = reach[0].iter().filter_map(|f| modules[0].functions.get(f.index()));
    let mut args = functions.flat_map(|f| &f.blocks).flat_map(|b| &b.steps).flat_map(|s| match s {
        Step::Let { args, .. } => &args[..],
        _ => &[],
    });
    args.all(|a| match a {
        Arg::Param { offset, size } => {
            let range = *offset as usize..(*offset as usize).saturating_add(usize::from(*size));
            launches[0].params.get(range.clone()) == launches[1].params.get(range)
        }
        _ => true,
    })
}

fn sites(p: &Program<'_>, level: Level, reach: &BTreeSet<FuncId>, unmatched: u64) -> Sites {
    let all =
        || p.module.sites.iter().enumerate().filter(|(_, s)| reach.contains(&s.function) && launch::told(level, s));
    let hidden: BTreeSet<usize> = reach.iter().flat_map(|f| p.hidden(*f)).map(|(s, _)| s.index()).collect();
    let skipped = all().filter(|(i, s)| s.skipped.is_some() || hidden.contains(i)).count();
    Sites { total: all().count() as u64, skipped: skipped as u64, unmatched }
}

/// Walks both sides' streams together and compares what is not known to be equal.
fn streams(
    cx: &Context<'_>,
    recordings: [&Recording; 2],
    digests_tell: bool,
    coverage: &mut Coverage,
    clusters: &mut Clusters,
    left: &mut Left,
    gaps: &mut BTreeMap<String, String>,
) -> Result<(), Error> {
    let [ra, rb] = recordings;
    let by_thread = cx.by_thread();
    let total = if by_thread { cx.launches[0].warps() } else { cx.launches[0].warps().max(cx.launches[1].warps()) };
    let lanes_of = |w: WarpId| u64::from((cx.launches[0].lanes(w).0 | cx.launches[1].lanes(w).0).count_ones());
    let threads = cx.launches.map(|l| l.grid.volume().saturating_mul(l.block.volume()));
    let mut warps = Warps { total, ..Warps::default() };
    let mut lanes = Lanes { total: threads[0].max(threads[1]), ..Lanes::default() };
    // Which warps are worth unpacking.
    let mut suspects = Vec::new();
    let known: BTreeSet<WarpId> = rb.streams.infos().map(|i| i.warp).filter(|_| by_thread).collect();
    let mut infos_b = rb.streams.infos().peekable();
    let filter = clusters.filter;
    for info in ra.streams.infos().filter(|i| filter.takes_warp(i.warp)) {
        if by_thread && info.warp.0 < total {
            if cx.partners(info.warp).iter().all(|w| known.contains(w)) {
                suspects.push(info.warp);
            }
            continue;
        }
        while infos_b.next_if(|b| b.warp < info.warp).is_some() {}
        let Some(other) = infos_b.next_if(|b| b.warp == info.warp) else { continue };
        if info.warp.0 >= total {
            return Err(Error::new(info.warp.to_string(), "a warp beyond the grid"));
        }
        let ended = cx.launches.iter().all(|l| l.unfinished(info.warp).0 == 0);
        let whole = info.dropped == 0 && other.dropped == 0 && ended;
        if digests_tell && whole && info.digest != 0 && info.digest == other.digest {
            warps.equal += 1;
            lanes.in_equal_warps += lanes_of(info.warp);
        } else {
            suspects.push(info.warp);
        }
    }
    let mut rest = &suspects[..];
    while !rest.is_empty() {
        let (now, later) = rest.split_at(batch(recordings, rest));
        rest = later;
        let mut theirs = now.to_vec();
        if by_thread {
            theirs = now.iter().flat_map(|w| cx.partners(*w)).collect();
            theirs.sort_unstable();
            theirs.dedup();
        }
        let [a, b] = [unpack(ra, now)?, unpack(rb, &theirs)?];
        if a.len() != now.len() || b.len() != theirs.len() {
            return Err(Error::new(now[0].to_string(), "this warp or one after it is listed, but not in the frames"));
        }
        let results: Vec<WarpDiff> = if by_thread {
            let others = b.iter().map(|b| (b.warp, b)).collect();
            a.par_iter().map(|a| warp::threads(cx, a, &others)).collect()
        } else {
            a.par_iter().zip(&b).map(|(a, b)| warp::warps(cx, a, b)).collect()
        };
        for r in results {
            let fate = |f: LaneFate| r.fates[f as usize];
            let failed = fate(LaneFate::Failed);
            if failed > 0 && failed == r.fates.iter().sum::<u64>() {
                warps.failed += 1
            } else {
                warps.compared += 1
            }
            lanes.same_words += fate(LaneFate::SameWords);
            lanes.compared += fate(LaneFate::Compared);
            lanes.truncated += fate(LaneFate::Truncated);
            lanes.failed += failed;
            for (sum, c) in coverage.visits.iter_mut().zip(r.visits) {
                *sum = Visits {
                    recorded: sum.recorded + c.recorded,
                    computed: sum.computed + c.computed,
                    other: sum.other + c.other,
                };
            }
            if let Some(why) = &r.failure {
                gaps.entry("failed".into()).or_insert_with(|| format!("not decodable: {why}"));
            }
            left.add(&r.left, r.apart);
            clusters.add(cx, r);
        }
    }
    warps.missing = total.saturating_sub(warps.equal + warps.compared + warps.failed);
    let seen = lanes.in_equal_warps + lanes.same_words + lanes.compared + lanes.truncated + lanes.failed;
    lanes.missing = lanes.total.saturating_sub(seen);
    (coverage.percent, coverage.warps, coverage.lanes) = (lanes.percent(), warps, lanes);
    Ok(())
}

/// How many of `warps`, which ascend, are unpacked and compared at once.
fn batch(recordings: [&Recording; 2], warps: &[WarpId]) -> usize {
    let mut frames = [0; 2];
    let mut last = [None; 2];
    let fits = |w: &&WarpId| {
        for side in 0..2 {
            let frame = recordings[side].streams.frame_of(**w);
            frames[side] += usize::from(frame != last[side]);
            last[side] = frame;
        }
        frames.iter().all(|n| *n <= FRAMES)
    };
    // A frame fits, whatever it holds.
    warps.iter().take(BATCH).take_while(fits).count().max(1)
}

/// The streams of `warps`, which ascend. Each frame is unpacked once, and several at a time.
fn unpack(recording: &Recording, warps: &[WarpId]) -> Result<Vec<WarpStream>, Error> {
    let mut frames: Vec<usize> = warps.iter().filter_map(|w| recording.streams.frame_of(*w)).collect();
    frames.dedup();
    let wanted = |w: &WarpStream| warps.binary_search(&w.warp).is_ok();
    let unpacked: Vec<Result<Vec<WarpStream>, prlx_trace::Error>> = frames
        .par_iter()
        .map(|&i| recording.streams.frame(i).map(|all| all.into_iter().filter(wanted).collect()))
        .collect();
    // The first that is damaged is told, however the work was spread.
    let mut all = Vec::with_capacity(warps.len());
    for frame in unpacked {
        all.append(&mut frame?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns() {
        for (p, n, want) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abcb", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*_kernel*", "my_kernel_1", true),
            ("", "x", false),
            ("**a", "bca", true),
        ] {
            assert_eq!(matches(p, n), want, "{p} {n}");
        }
    }
}
