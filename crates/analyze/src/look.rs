//! What there is to see around a finding, for viewers: both sides' steps side by side, the loops that the lane went through,
//! and when each lane of the warp agreed. The report says what differs; this shows it.
//!
//! Holds: steps are aligned as the comparison aligned them. Memory is bounded by the trees of one lane and what
//! [`LookOptions`] says, however long the lanes are.
//!
//! Misses: levels `print` and `operands`, which record no path; sides whose warps have other numbers of lanes; what one side did after the other's recording ended. Time
//! is counted in steps of each lane for itself: equal columns of two lanes are not one moment.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use prlx_trace::kernel::Module;
use prlx_trace::{FuncId, Lane, LoopId, SiteId, Trace, WarpId};

use crate::decode::Limits;
use crate::describe;
use crate::diff::at_number;
use crate::diverge;
use crate::error::Error;
use crate::report::{Finding, LaunchReport, Location, Report, SiteInfo, data};
use crate::shared::{Shared, Views};
use crate::tree::{self, Entry};
use crate::warp::{Context, lane_trees};

/// How much to show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LookOptions {
    /// Steps of the lane shown, before the one at which it differs.
    pub before: usize,
    /// Steps from there on.
    pub after: usize,
    /// Columns of the map of lanes, at most; at least 2.
    pub columns: usize,
    /// What decoding one lane may cost.
    pub limits: Limits,
}

impl Default for LookOptions {
    fn default() -> Self {
        LookOptions { before: 24, after: 72, columns: 240, limits: Limits::default() }
    }
}

/// How a step is on both sides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Mark {
    /// The same visit, with the same value.
    #[default]
    Same,
    /// The same visit, with another value.
    Differs,
    /// Only A made it.
    A,
    /// Only B made it.
    B,
}

impl Mark {
    /// Its character in [`LaneRow::cells`].
    pub const fn letter(self) -> char {
        match self {
            Mark::Same => '.',
            Mark::Differs => '#',
            Mark::A => 'a',
            Mark::B => 'b',
        }
    }
    /// What to say of several steps together: that something differs before who did more.
    fn with(self, other: Mark) -> Mark {
        match (self, other) {
            (Mark::Differs, _) | (_, Mark::Differs) => Mark::Differs,
            (Mark::Same, m) | (m, Mark::Same) => m,
            (a, b) if a == b => a,
            _ => Mark::Differs,
        }
    }
}

data! {
    /// What there is to see around one finding.
    struct Look {
        /// The lane whose steps are shown.
        lane: u8,
        /// Its steps before those that are listed.
        before: u64,
        /// Its steps around the finding, in the order in which they are aligned.
        steps: Vec<Step>,
        /// Its steps after them.
        after: u64,
        /// Which of `steps` is the finding's; `None` if none is.
        at: Option<u64>,
        /// By side: the sites that `steps` name.
        sites: [Vec<SiteInfo>; 2],
        /// Loops and calls that the lane went through, each before what it holds.
        nest: Vec<Nest>,
        /// The lanes of the warp, ascending.
        lanes: Vec<LaneRow>,
        /// Steps of a lane that one cell of [`LaneRow::cells`] stands for.
        per_cell: u64,
    }
    /// One visit, on both sides or on one.
    struct Step {
        /// How it is.
        mark: Mark,
        /// By side: its site, an index into [`Look::sites`].
        site: [Option<u64>; 2],
        /// By side: how often the lane had visited the site before.
        visit: [Option<u64>; 2],
        /// By side: the value recorded: of a decision 0, 1 or the way taken.
        value: [Option<u64>; 2],
        /// Loops and calls that it is in, outermost first.
        within: Vec<Within>,
    }
    /// A loop or call that a step is in.
    struct Within {
        /// An index into [`Look::nest`].
        nest: u64,
        /// By side: the trip of the loop, from 0; 0 for a call.
        trip: [u64; 2],
    }
    /// A loop or a called function, wherever the lane came to it in the same nest.
    struct Nest {
        /// What it lies in; `None` if the kernel itself.
        parent: Option<u64>,
        /// Loops and calls around it.
        depth: u64,
        /// The function: the one that is called, or the one that has the loop.
        function: String,
        /// Whether it is a loop.
        looping: bool,
        /// Where it is: a loop's head. A call has none.
        location: Option<Location>,
        /// By side: how often the lane came to it.
        entered: [u64; 2],
        /// By side: trips, in all.
        trips: [u64; 2],
        /// By side: visits in it.
        visits: [u64; 2],
        /// Steps in it that are not the same on both sides.
        differ: u64,
    }
    /// How one lane went.
    struct LaneRow {
        /// Lane.
        lane: u8,
        /// Its steps, [`Look::per_cell`] to a character: `.` the same on both sides, `#` some differ, `a` and `b` some only there.
        cells: String,
        /// Its steps.
        steps: u64,
        /// Its first step that is not the same.
        parts: Option<u64>,
    }
}

/// Looks at a finding of a comparison of `traces`, in which `launch` has it. `None` if its level records no path, or its
/// streams are not there.
///
/// # Errors
/// When the recordings are damaged, or are not those of the report.
pub fn look(
    traces: [&Trace; 2],
    launch: &LaunchReport,
    finding: &Finding,
    options: &LookOptions,
) -> Result<Option<Look>, Error> {
    let missing =
        |side: usize| Error::new(format!("launch {}", launch.launch[side]), "it is not in this recording");
    let [Some(a), Some(b)] = [0, 1].map(|side| at_number(traces[side], launch.launch[side])) else {
        return Err(missing(usize::from(at_number(traces[0], launch.launch[0]).is_some())));
    };
    let launches = [&a.launch, &b.launch];
    // What calls hide has no findings.
    let no_calls = Views::new();
    let mut shared = Shared::new(&no_calls);
    shared.prepare(traces, launches)?;
    let cx = shared.context(launches, options.limits);
    let warp = WarpId(finding.warp.warp);
    let mut out = Look { lane: finding.lane, ..Look::default() };
    let mut lanes = launches[0].lanes(warp).0;
    let mut theirs = BTreeMap::new();
    let partners = if cx.by_thread() { cx.partners(warp) } else { vec![warp] };
    for w in partners {
        theirs.insert(w, b.streams.warp(w)?);
    }
    if !cx.by_thread() {
        lanes |= launches[1].lanes(warp).0;
    }
    let Some(a) = a.streams.warp(warp)? else { return Ok(None) };
    let mut rows = Vec::new();
    for lane in prlx_trace::LaneMask(lanes).lanes() {
        let (w, other) = if cx.by_thread() { cx.partner(warp, lane) } else { (warp, lane) };
        let Some(b) = theirs.get(&w).and_then(Option::as_ref) else { return Ok(None) };
        let Some([ta, tb]) = lane_trees(&cx, [(&a, lane), (b, other)])? else { return Ok(None) };
        let target = [0, 1].map(|s| finding.site[s].as_ref().map(|i| i.id).zip(finding.visit[s]));
        let mut watch = Watch::new(options, (lane.0 == finding.lane).then_some(target));
        diverge::watched(&cx.sides, &ta, &tb, &mut watch);
        if let Some(window) = watch.window.take() {
            tell(&cx, &mut out, window, &watch.nest);
        }
        rows.push((lane, watch.map));
    }
    lay_out(&mut out, rows);
    Ok(Some(out))
}

/// What viewers show beside a report: what there is to see around its first findings, and the sources that those name.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Scene {
    /// By index of the launch in the report and of the finding in the launch.
    pub looks: BTreeMap<(usize, usize), Look>,
    /// By side: texts of source files, by the path that locations name.
    pub sources: [BTreeMap<String, String>; 2],
}

impl Scene {
    /// Adds what a report found in one pair of processes, of which these are the recordings: sources, and looks until there are
    /// `most`.
    ///
    /// # Errors
    /// Those of [`look`].
    pub fn add(
        &mut self,
        traces: [&Trace; 2],
        report: &Report,
        process: u64,
        most: usize,
        options: &LookOptions,
    ) -> Result<(), Error> {
        for (i, launch) in report.launches.iter().enumerate().filter(|(_, l)| l.process == process) {
            for (j, finding) in launch.findings.iter().enumerate() {
                self.add_sources(traces, launch, finding);
                if self.looks.len() < most
                    && let Some(look) = look(traces, launch, finding, options)?
                {
                    self.looks.insert((i, j), look);
                }
            }
        }
        Ok(())
    }

    /// Takes the texts of the files that a report's sites stand in from `source`, by side and by the path that locations name, and
    /// gives those locations their lines: of recordings that hold no sources.
    pub fn read(&mut self, report: &mut Report, mut source: impl FnMut(usize, &str) -> Option<String>) {
        let mut known: [BTreeMap<String, Option<String>>; 2] = Default::default();
        let mut tell = |side: usize, at: &mut Location| {
            let text = match known[side].get(&at.file) {
                Some(text) => text,
                None => known[side].entry(at.file.clone()).or_insert_with(|| source(side, &at.file)),
            };
            let line = text.as_deref().and_then(|t| t.lines().nth((at.line as usize).checked_sub(1)?));
            at.code = line.map(|l| l.trim_end().to_owned());
        };
        for finding in report.launches.iter_mut().flat_map(|l| &mut l.findings) {
            for (side, site) in finding.site.iter_mut().enumerate() {
                site.iter_mut().flat_map(|s| &mut s.location).for_each(|at| tell(side, at));
            }
            finding.trips.iter_mut().flat_map(|t| &mut t.location).for_each(|at| tell(0, at));
        }
        for (all, known) in self.sources.iter_mut().zip(known) {
            all.extend(known.into_iter().filter_map(|(file, text)| Some((file, text?))));
        }
    }

    fn add_sources(&mut self, traces: [&Trace; 2], launch: &LaunchReport, finding: &Finding) {
        let sites = finding.site.iter().flatten().flat_map(|s| s.location.iter());
        let steered = finding.site.iter().flatten().flat_map(|s| &s.steers).flat_map(|s| s.location.iter());
        let slice = finding.slice.iter().flat_map(|n| n.location.iter());
        let places = sites.chain(steered).chain(slice).chain(&finding.place);
        let files: BTreeSet<&str> =
            places.flat_map(|l| std::iter::once(l).chain(&l.inlined)).map(|l| l.file.as_str()).collect();
        for (side, trace) in traces.into_iter().enumerate() {
            let recording = at_number(trace, launch.launch[side]);
            let module = recording.and_then(|r| trace.modules.get(r.launch.module.index()));
            for f in module.into_iter().flat_map(|m| &m.files).filter(|f| files.contains(f.path.as_str())) {
                if let Some(text) = &f.text {
                    self.sources[side].entry(f.path.clone()).or_insert_with(|| text.clone());
                }
            }
        }
    }
}

/// Brings the lanes to one scale.
fn lay_out(out: &mut Look, mut rows: Vec<(Lane, Map)>) {
    out.per_cell = rows.iter().map(|(_, m)| m.per_cell).max().unwrap_or(1);
    for (lane, map) in &mut rows {
        while map.per_cell < out.per_cell {
            map.halve();
        }
        let cells = map.cells.iter().map(|m| m.letter()).collect();
        out.lanes.push(LaneRow { lane: lane.0, cells, steps: map.steps, parts: map.parts });
    }
}

/// Puts the shown lane's steps and loops into words.
fn tell(cx: &Context<'_>, out: &mut Look, window: Window, nest: &[Open]) {
    let modules = cx.sides.programs.map(|p| p.module);
    (out.before, out.after) = (window.before, window.after);
    out.at = window.at.map(|i| i as u64);
    let mut known: [BTreeMap<SiteId, u64>; 2] = Default::default();
    for seen in window.steps {
        let mut step = Step { mark: seen.mark, within: seen.within, ..Step::default() };
        for (side, e) in seen.entries.iter().enumerate() {
            let Some(e) = e else { continue };
            let id = tree::site(*e);
            let sites = &mut out.sites[side];
            step.site[side] = Some(*known[side].entry(id).or_insert_with(|| {
                sites.push(describe::site(modules[side], id).unwrap_or_default());
                sites.len() as u64 - 1
            }));
            step.visit[side] = Some(e.nth.into());
            step.value[side] = Some(e.value);
        }
        out.steps.push(step);
    }
    out.nest = nest.iter().map(|n| n.tell(modules)).collect();
}

/// What sees the steps of one lane.
pub(crate) struct Watch {
    window: Option<Window>,
    map: Map,
    nest: Vec<Open>,
    /// By what it lies in and its token: where it is in `nest`.
    known: BTreeMap<(Option<u64>, u64), u64>,
    /// What is open, innermost last.
    open: Vec<Within>,
    /// By open loop and side: trips begun.
    begun: Vec<[u64; 2]>,
}

/// A loop or call in the making.
struct Open {
    told: Nest,
    side: usize,
    function: FuncId,
    of: Option<LoopId>,
}

impl Open {
    fn tell(&self, modules: [&Module; 2]) -> Nest {
        let m = modules[self.side];
        Nest {
            function: describe::function(m, self.function),
            location: self.of.and_then(|l| describe::loop_location(m, self.function, l)),
            ..self.told.clone()
        }
    }
}

/// One step of the lane that is shown.
struct Seen {
    mark: Mark,
    entries: [Option<Entry>; 2],
    within: Vec<Within>,
}

/// A site and how often it was visited before, by side.
type Target = [Option<(SiteId, u64)>; 2];

/// The steps around a place.
struct Window {
    target: Target,
    before_most: usize,
    after_most: usize,
    before: u64,
    steps: VecDeque<Seen>,
    after: u64,
    at: Option<usize>,
}

impl Window {
    /// Whether this is the step looked for; without a place to look for, the first that differs.
    fn is_target(&self, seen: &Seen) -> bool {
        if self.target == [None; 2] {
            return seen.mark != Mark::Same;
        }
        self.target.iter().zip(&seen.entries).all(|(t, e)| match (t, e) {
            (Some((site, visit)), Some(e)) => *site == tree::site(*e) && *visit == u64::from(e.nth),
            (Some(_), None) => false,
            (None, _) => true,
        })
    }

    fn push(&mut self, seen: Seen) {
        if self.at.is_none() && self.is_target(&seen) {
            self.at = Some(self.steps.len());
        }
        match self.at {
            Some(at) if self.steps.len() >= at.saturating_add(self.after_most) => self.after += 1,
            Some(_) => self.steps.push_back(seen),
            None => {
                self.steps.push_back(seen);
                if self.steps.len() > self.before_most {
                    self.steps.pop_front();
                    self.before += 1;
                }
            }
        }
    }
}

/// A lane's steps, drawn together as they get many.
struct Map {
    most: usize,
    cells: Vec<Mark>,
    per_cell: u64,
    steps: u64,
    parts: Option<u64>,
}

impl Map {
    fn push(&mut self, mark: Mark) {
        if mark != Mark::Same {
            self.parts.get_or_insert(self.steps);
        }
        if self.steps.is_multiple_of(self.per_cell) {
            if self.cells.len() == self.most {
                self.halve();
            }
            self.cells.push(Mark::Same);
        }
        if let Some(last) = self.cells.last_mut() {
            *last = last.with(mark);
        }
        self.steps += 1;
    }
    fn halve(&mut self) {
        let pairs = self.cells.chunks(2).map(|c| c.iter().copied().fold(Mark::Same, Mark::with));
        self.cells = pairs.collect();
        self.per_cell = self.per_cell.saturating_mul(2);
    }
}

impl Watch {
    fn new(options: &LookOptions, target: Option<Target>) -> Watch {
        let window = |target| Window {
            target,
            before_most: options.before,
            after_most: options.after.max(1),
            before: 0,
            steps: VecDeque::new(),
            after: 0,
            at: None,
        };
        // An odd number of cells would leave one half empty in the middle.
        let most = options.columns.max(2).next_multiple_of(2);
        Watch {
            window: target.map(window),
            map: Map { most, cells: Vec::new(), per_cell: 1, steps: 0, parts: None },
            nest: Vec::new(),
            known: BTreeMap::new(),
            open: Vec::new(),
            begun: Vec::new(),
        }
    }

    /// A visit, on both sides or on one.
    pub fn visit(&mut self, entries: [Option<Entry>; 2]) {
        let mark = match entries {
            [Some(a), Some(b)] if a.value == b.value => Mark::Same,
            [Some(_), None] => Mark::A,
            [None, Some(_)] => Mark::B,
            _ => Mark::Differs,
        };
        self.map.push(mark);
        let Some(window) = &mut self.window else { return };
        for w in &self.open {
            let told = &mut self.nest[w.nest as usize].told;
            for (n, e) in told.visits.iter_mut().zip(entries) {
                *n += u64::from(e.is_some());
            }
            told.differ += u64::from(mark != Mark::Same);
        }
        window.push(Seen { mark, entries, within: self.open.clone() });
    }

    /// A loop or call begins: of which sides, the first steps show.
    pub fn enter(&mut self, token: u64, sides: [bool; 2], function: FuncId, of: Option<LoopId>) {
        let parent = self.open.last().map(|w| w.nest);
        let next = self.nest.len() as u64;
        let nest = *self.known.entry((parent, token)).or_insert(next);
        if nest == next {
            let told =
                Nest { parent, depth: self.open.len() as u64, looping: of.is_some(), ..Nest::default() };
            self.nest.push(Open { told, side: usize::from(!sides[0]), function, of });
        }
        for (n, is) in self.nest[nest as usize].told.entered.iter_mut().zip(sides) {
            *n += u64::from(is);
        }
        self.open.push(Within { nest, trip: [0; 2] });
        self.begun.push([0; 2]);
    }

    /// A trip of the innermost loop begins.
    pub fn trip(&mut self, sides: [bool; 2]) {
        let (Some(within), Some(begun)) = (self.open.last_mut(), self.begun.last_mut()) else { return };
        let told = &mut self.nest[within.nest as usize].told;
        for side in 0..2 {
            if sides[side] {
                within.trip[side] = begun[side];
                begun[side] += 1;
                told.trips[side] += 1;
            }
        }
    }

    /// The innermost loop or call ends.
    pub fn leave(&mut self) {
        self.open.pop();
        self.begun.pop();
    }
}
