//! Two recordings, compared: launches in pairs, warps that differ, findings put together.
//!
//! Holds: the report depends on the inputs alone, not on threads. Memory is bounded by 32 frames of each side, the
//! trees of the lanes at work, and the findings kept. `same` is only said when everything was seen: what was lost, left
//! out, cut short or could not be read is a gap.
//!
//! Launches are paired by [`order`], processes by their caller ([`crate::pair_processes`]).

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use prlx_trace::kernel::Level;
use prlx_trace::{FuncId, Launch, Recording, Trace};

use crate::cluster::Clusters;
use crate::decode::Limits;
use crate::error::Error;
use crate::filter::Filter;
use crate::launch;
use crate::mangled;
use crate::order::{self, Item};
use crate::pair::Pairing;
use crate::processes;
use crate::program::Program;
use crate::report::{
    Alone, Elements, Fault, Lanes, LaunchDifference, LaunchPart, LaunchReport, ProcessPair, Report, Sites,
    Unpaired, Verdict, Warps, WhyUncompared,
};
use crate::shared::{self, Shared, forced_names, module};
use crate::streams::streams;
use crate::uncompared::{self, Left};
use crate::warp::Context;

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

/// Compares two recordings.
///
/// # Errors
/// When a filter matches nothing, a module is ill-formed, or the streams are damaged.
pub fn diff(a: &Trace, b: &Trace, options: &DiffOptions) -> Result<Report, Error> {
    for pattern in &options.kernels {
        let like = |t: &Trace| t.launches.iter().any(|r| matches(pattern, &kernel_name(t, &r.launch)));
        if !like(a) && !like(b) {
            return Err(Error::new(
                "filter",
                format!("no launch of either side has a kernel like `{pattern}`"),
            ));
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
    let names =
        [0, 1].map(|side| traces[side].modules.iter().map(|m| &m.name[..]).collect::<BTreeSet<&str>>());
    let devices =
        [0, 1].map(|side| traces[side].launches.iter().map(|r| r.launch.ordinal).collect::<BTreeSet<u32>>());
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
            let name =
                if names[1 - side].contains(name) && !told.contains(kernel.as_str()) { name } else { "" };
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
                let what =
                    "it is of a probe program: tables, and nothing to compare; `prlx probe show` prints them";
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
        let paired = pairs.iter().map(|(i, j)| [&sides[0][*i], &sides[1][*j]]).filter(|both| asked(both[0]));
        let launches_of =
            |both: [&Wanted; 2]| [0, 1].map(|side| &traces[side].launches[both[side].index].launch);
        let inlined = shared::inlined(traces, paired.map(launches_of));
        let mut shared = Shared::new(&inlined);
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
            let unpaired = |(_, w): (usize, &Wanted)| Unpaired {
                process,
                side,
                launch: w.number,
                kernel: w.kernel.clone(),
            };
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
    pub fn conclude(&mut self) {
        self.gaps.clear();
        if self.pairs == 0 && self.unpaired.is_empty() && self.alone.iter().all(|p| p.launches == 0) {
            self.gaps.push("neither side recorded a launch".into());
        }
        let pairs =
            self.processes.iter().flat_map(|p| [0, 1].map(|side| (side, &p.names[side], &p.cut[side])));
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
            self.gaps.push(format!(
                "this is a part: {elsewhere} of {} pairs of launches are in others",
                self.pairs
            ));
        }
        let extra =
            self.unpaired.iter().any(|u| !self.cut_off(u)) || self.alone.iter().any(|p| p.launches > 0);
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
    let pairing = shared.pairing([ma, mb], [la, lb]);
    let cx = shared.context([la, lb], options.limits);
    let other_hashes = (ma.hashing != mb.hashing).then(|| other_hashes(la.level)).flatten();
    let unlike = || one_build_only(la.level, pairing, &cx).or_else(|| other_shares(pairing, &cx));
    if let Some(why) = other_hashes.or_else(unlike) {
        return Ok(unseen(out, [la, lb], Some(why)));
    }
    let forced = forced_names([ma, mb], [la, lb]).map(|[x, y]| {
        format!("`{x}` and `{y}` are compared as one kernel because they were told to be (--force)")
    });
    let (plain, _) = compared(&cx, recordings, pairing.same, options, (out.clone(), forced.clone()))?;
    if hidden(&plain) == 0 || plain.findings_total > 0 {
        return Ok(plain);
    }
    // What one side calls and the other inlined was not compared: once more, with such calls inlined on both.
    shared.prepare_view(traces, [la, lb])?;
    let cx = shared.context([la, lb], options.limits);
    let Some(view) = shared.view(&cx) else { return Ok(plain) };
    let (inlined, left) = compared(&view, recordings, false, options, (out, forced))?;
    // A doubt at nothing that is listed would be none.
    let told = !left.doubts(view.fold)
        || inlined.uncompared.iter().any(|u| u.why == WhyUncompared::Doubtful && u.hides);
    let whole = inlined.findings_total == 0 && inlined.coverage.lanes.failed <= plain.coverage.lanes.failed;
    Ok(if told && whole && hidden(&inlined) < hidden(&plain) { inlined } else { plain })
}

/// How many visits that could hide a difference were not compared.
fn hidden(l: &LaunchReport) -> u64 {
    l.uncompared.iter().filter(|u| u.hides).map(|u| u.visits).sum()
}

/// Compares what lanes did; gives what of it was not compared, too. `digests_tell`: equal digests mean equal paths.
fn compared(
    cx: &Context<'_>,
    recordings: [&Recording; 2],
    digests_tell: bool,
    options: &DiffOptions,
    (mut out, forced): (LaunchReport, Option<String>),
) -> Result<(LaunchReport, Left), Error> {
    let mut gaps = BTreeMap::new();
    gaps.extend(forced.map(|what| ("0000".into(), what)));
    let coverage = &mut out.coverage;
    for (side, l) in cx.launches.into_iter().enumerate() {
        let (program, reach) = cx.recorded[side];
        coverage.elements[side] = Elements { recorded: l.totals.recorded, dropped: l.totals.dropped };
        let alone = cx
            .fold
            .map(|f| uncompared::unmatched(cx.sides.programs[side], &f[side], l.level, cx.reach[side]));
        coverage.sites[side] = sites(program, l.level, reach, alone.unwrap_or_default());
        launch::static_gaps(program.module, l, program, reach, side, &mut gaps);
    }
    let mut clusters = Clusters::new(options.warps, &options.filter);
    let mut left = Left::default();
    streams(cx, recordings, digests_tell, coverage, &mut clusters, &mut left, &mut gaps)?;
    launch::coverage_gaps(coverage, cx.launches, &mut gaps);
    clusters.keep(coverage, &mut gaps);
    if let Some(sides) = cx.fold {
        out.uncompared = uncompared::list(cx.sides.programs, sides, cx.reach, cx.launches[0].level, &left);
        uncompared::gaps(&out.uncompared, &left, &mut gaps);
    }
    out.differing = clusters.sum();
    out.findings = clusters.findings(cx, cx.sides.programs.map(|p| p.module));
    out.findings_total = out.findings.len() as u64;
    out.findings.truncate(options.findings);
    Ok((judged(out, gaps), left))
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
    Some(format!(
        "{what} of level {level} compare within one build, and these are two: record both at level {than}"
    ))
}

/// Why threads of the same number have other shares of the work, as far as that can be told; `None` if it can't. What one build does
/// with CTAs of one size, another build does not with CTAs of another.
fn other_shares(pairing: &Pairing, cx: &Context<'_>) -> Option<String> {
    let [a, b] = cx.launches;
    let [x, y] = [a, b].map(|l| l.block.volume());
    let but =
        "what their lanes decide is not compared; what they leave in buffers is, where that was digested";
    if x != y && (!pairing.same || x.saturating_mul(a.grid.volume()) != y.saturating_mul(b.grid.volume())) {
        return Some(format!(
            "CTAs have {x} threads in A and {y} in B, and which does the work of which is not known: {but}"
        ));
    }
    if cx.fold.is_some() && a.grid != b.grid {
        return Some(format!(
            "two builds were launched with other grids, and which CTA does the work of which is not known: {but}"
        ));
    }
    None
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
    // The reason says why no warp was compared; the count of them says nothing more.
    gaps.remove("5");
    gaps.extend(why.map(|why| ("000".into(), why)));
    judged(out, gaps)
}

/// With its verdict.
fn judged(mut out: LaunchReport, gaps: launch::Gaps) -> LaunchReport {
    out.gaps = gaps.into_values().collect();
    let differs = out.findings_total > 0
        || out.differences.iter().any(LaunchDifference::decides)
        || out.faults[0].is_some() != out.faults[1].is_some();
    out.verdict = match (differs, out.gaps.is_empty()) {
        (true, _) => Verdict::Differs,
        (false, true) => Verdict::Same,
        (false, false) => Verdict::Unknown,
    };
    out
}

fn sites(p: &Program<'_>, level: Level, reach: &BTreeSet<FuncId>, unmatched: u64) -> Sites {
    let all = || {
        p.module
            .sites
            .iter()
            .enumerate()
            .filter(|(_, s)| reach.contains(&s.function) && launch::told(level, s))
    };
    let hidden: BTreeSet<usize> = reach.iter().flat_map(|f| p.hidden(*f)).map(|(s, _)| s.index()).collect();
    let skipped = all().filter(|(i, s)| s.skipped.is_some() || hidden.contains(i)).count();
    Sites { total: all().count() as u64, skipped: skipped as u64, unmatched }
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
