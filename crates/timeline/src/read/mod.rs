//! Timelines of recordings: markers become spans and moments on one time axis ([`crate::clock`]).
//!
//! # Invariants
//! Every record becomes part of a span, a moment or a group name, or is counted in a note. Asynchronous work
//! lies on the track that issued it. A completion ends all pending work of its first payload word: on its own
//! track, or, for copies and source markers, on any track of the CTA. A copy without completion ends when a
//! wait at its mbarrier ends.
//!
//! # Limitations
//! A launch that the recording does not list has no kernel name.

mod host_calls;
pub mod pairing;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use prlx_trace::kernel::{Loc, Module};
use prlx_trace::launch::CPU_DEVICE;
use prlx_trace::mark::{Anchor, Mark, MarkKind, Marks, Record, Track as Recorded, Via};
use prlx_trace::narrow::low32;
use prlx_trace::{ClockDomain, ClockReading, Cycles, FuncId, LocId, ModuleId, Nanos, Picos, Trace, WarpSize};

use crate::clock::Fit;
use crate::clusters::Clusters;
use crate::model::{Axis, Calibration, Launch, Moment, Region, Span, Sum, Timeline, Track};
use crate::read::pairing::{Pairing, PairingFaults};
use prlx_trace::names::{display_name, own_line};

/// Nanoseconds of a cycle of the CPU device's simulated clock.
const SIMULATED: f64 = 0.5;

/// How far times are moved while they are made: they may lie a little before the first anchor.
const ROOM: Picos = Picos(1 << 40);

/// Maximum resident threads per SM of a kernel with so many registers per thread. A property of the device.
pub type ThreadsPerSm = fn(registers: u32) -> u32;

/// The timeline of the markers of a recording. `threads_per_sm` gives [`Calibration::room`].
pub fn timeline(trace: &Trace, threads_per_sm: ThreadsPerSm) -> Timeline {
    let mut out = Timeline::default();
    out.axis.simulated = trace.launches.iter().any(|l| l.launch.device == CPU_DEVICE);
    let mut names = Names::default();
    let origin = trace
        .marks
        .iter()
        .flat_map(|m| &m.tracks)
        .flat_map(anchors)
        .map(|a| a.nanos)
        .min()
        .unwrap_or(Nanos(0));
    let mut launches: BTreeMap<(u64, ModuleId), Vec<&Marks>> = BTreeMap::new();
    for marks in &trace.marks {
        launches.entry((marks.launch, marks.module)).or_default().push(marks);
    }
    let mut rates = Vec::new();
    let mut found = PairingFaults::default();
    for ((number, module), all) in launches {
        let mut by_sm: BTreeMap<u32, Vec<Anchor>> = BTreeMap::new();
        for track in all.iter().flat_map(|m| &m.tracks) {
            by_sm.entry(track.sm).or_default().extend(anchors(track));
        }
        by_sm.retain(|_, anchors| !anchors.is_empty());
        let fit = Fit::new(&by_sm, origin, out.axis.simulated.then_some(SIMULATED));
        let launch = out.launches.len();
        out.launches.push(launch_of(trace, number, module));
        if !by_sm.is_empty() {
            rates.push(fit.mhz());
            out.axis.single = out.axis.single.max(fit.single);
            out.axis.residual = out.axis.residual.max(fit.error);
            out.axis.between = out.axis.between.max(fit.between);
            out.axis.tick = out.axis.tick.max(fit.tick);
            out.note(
                "clock-rate",
                u64::from(!fit.rated),
                "launches have too few anchors to tell the clock's rate: 1000 MHz is taken",
            );
            let bent = "launches in which anchors miss the line of their clock by more than the timer's ticks explain: the residual has it";
            out.note("clock-bent", u64::from(fit.slack > 0.0), bent);
        }
        let marks =
            trace.modules.get(module.index()).map(|m| names.of(m, &mut out.regions)).unwrap_or_default();
        let copies = marks.iter().any(|m| m.kind == MarkKind::Issue && m.via == Via::Tma);
        let mut work = Work {
            copies,
            launch,
            fit: &fit,
            names: &names,
            marks: &marks,
            works: Vec::new(),
            found: PairingFaults::default(),
        };
        for recorded in all.iter().flat_map(|m| &m.tracks) {
            work.track(recorded, &mut out);
        }
        let tracks = || all.iter().flat_map(|m| &m.tracks);
        let over =
            out.launches[launch].stopped && tracks().all(|t| t.end.is_some()) && tracks().any(|t| t.last);
        out.note(
            "ended-before",
            if over { tracks().count() as u64 } else { 0 },
            "tracks had all ended when their launch was stopped, which may be some time after what was the cause",
        );
        let (works, more) = (work.works, work.found);
        found += more;
        complete(works, &mut out);
        out.note(
            "left-out",
            all.iter().map(|m| m.left_out).fold(0, u64::saturating_add),
            "warps had no room to record, or were not asked for",
        );
    }
    found.notes(&mut out);
    let mhz = if rates.is_empty() { 0.0 } else { rates.iter().sum::<f64>() / rates.len() as f64 };
    out.axis = Axis { mhz, ..out.axis };
    host_calls::place(trace, origin, out.axis.tick.nanos(), ROOM, &mut out);
    out.calibrations = needs(trace, threads_per_sm);
    out.settle();
    out
}

/// Threads that a multiprocessor runs at most, whatever they take.
const MOST: u32 = 2048;

/// What kernels take of a multiprocessor with their markers recorded, where a recording knows it: those first
/// that have lost most room.
fn needs(trace: &Trace, threads_per_sm: ThreadsPerSm) -> Vec<Calibration> {
    let marked: BTreeSet<_> = trace.marks.iter().map(|m| (m.module, m.launch)).collect();
    let launches =
        trace.launches.iter().map(|r| &r.launch).filter(|l| marked.contains(&(l.module, l.number)));
    let kernels: BTreeSet<_> =
        launches.map(|l| (l.module, l.kernel, l.warp_size, l.block.volume())).collect();
    let calibration = |(module, kernel, warp_size, threads): (ModuleId, FuncId, WarpSize, u64)| {
        let function = trace.modules.get(module.index())?.functions.get(kernel.index())?;
        let (bare, marked) = function.needs?;
        let threads = u32::try_from(threads).ok()?.clamp(1, MOST).next_multiple_of(warp_size.lanes() as u32);
        Some(Calibration {
            kernel: display_name(&function.name),
            registers: Some([bare.registers, marked.registers]),
            local: Some([bare.local, marked.local]),
            room: Some([bare, marked].map(|n| threads_per_sm(n.registers) / threads * threads)),
            ..Calibration::default()
        })
    };
    let mut all: Vec<_> = kernels.into_iter().filter_map(calibration).collect();
    let more = |of: Option<[u32; 2]>| of.map_or(0, |[bare, marked]| i64::from(marked) - i64::from(bare));
    all.sort_by_key(|c| (more(c.room), -more(c.local), -more(c.registers)));
    all
}

/// The anchors of a track, in order.
fn anchors(track: &Recorded) -> impl Iterator<Item = Anchor> {
    track.begin.into_iter().chain(track.anchors.0.iter().copied()).chain(track.end)
}

fn launch_of(trace: &Trace, number: u64, module: ModuleId) -> Launch {
    let of = trace.launches.iter().map(|r| &r.launch).find(|l| l.number == number && l.module == module);
    let Some(l) = of else { return Launch { number, ..Launch::default() } };
    let function = trace.modules.get(module.index()).and_then(|m| m.functions.get(l.kernel.index()));
    let measured = |n: u64| Some(Nanos(n)).filter(|_| n > 0);
    Launch {
        number,
        kernel: function.map(|f| display_name(&f.name)).unwrap_or_default(),
        ctas: Some(l.grid.volume()),
        warps_per_cta: Some(l.warps_per_cta()),
        clusters: Clusters::of(l),
        stopped: l.fault.is_some(),
        took: [measured(l.totals.instrumented), measured(l.totals.bare)],
    }
}

/// Maximum number of calls around a region that are kept. A damaged module may have circles of them.
const MAX_CALLS: usize = 16;

/// Regions and their names, over all modules.
#[derive(Default)]
struct Names {
    names: HashMap<String, u32>,
    regions: HashMap<Region, u32>,
    /// By region: its name.
    named: Vec<u32>,
}

/// A marker, ready to be met.
#[derive(Clone, Copy)]
struct Known {
    kind: MarkKind,
    via: Via,
    name: u32,
    region: u32,
}

impl Names {
    /// The markers of a module. An end's region is only used where its begin is lost.
    fn of(&mut self, module: &Module, regions: &mut Vec<Region>) -> Vec<Known> {
        let line = |loc: &Loc| Some((module.files.get(loc.file.index())?.path.clone(), loc.line));
        let place = |mark: &Mark| line(own_line(module, mark.loc?)?);
        let calls = |mark: &Mark| {
            let of = |id: LocId| module.locs.get(id.index());
            let own = mark.loc.and_then(|at| own_line(module, at));
            let outer = std::iter::successors(own, |l| l.inlined_at.and_then(of)).skip(1);
            outer.take(MAX_CALLS).filter_map(line).collect::<Vec<_>>()
        };
        let ends = |kind| matches!(kind, MarkKind::End | MarkKind::Complete);
        let mut known = Vec::new();
        for mark in &module.marks {
            let next = self.names.len() as u32;
            let name = *self.names.entry(mark.name.clone()).or_insert(next);
            // What begins has its own place; what ends is the first region of its name, if there is one.
            let begun = module.marks.iter().find(|m| ends(mark.kind) && m.name == mark.name && !ends(m.kind));
            let of = begun.unwrap_or(mark);
            let spelled = if of.via == Via::Function { display_name(&of.name) } else { of.name.clone() };
            let region = Region { name: spelled, via: of.via, place: place(of), calls: calls(of) };
            let region = *self.regions.entry(region.clone()).or_insert_with(|| {
                regions.push(region);
                self.named.push(name);
                regions.len() as u32 - 1
            });
            known.push(Known { kind: mark.kind, via: mark.via, name, region });
        }
        known
    }
}

/// An issue or a completion of asynchronous work.
struct Async {
    /// The CTA in which it completes.
    cta: u64,
    /// There, what tells it from others.
    word: u32,
    at: Picos,
    /// The clock of its SM then. `None` if only a time is known.
    clock: Option<ClockReading>,
    issue: bool,
    via: Via,
    /// The name, where it is a marker of the source.
    name: u32,
    region: u32,
    payload: [u32; 2],
    /// Which of [`Timeline::tracks`].
    track: usize,
    /// No marker said so: a wait ended.
    implied: bool,
}

struct Work<'a> {
    launch: usize,
    fit: &'a Fit,
    names: &'a Names,
    marks: &'a [Known],
    works: Vec<Async>,
    found: PairingFaults,
    /// Whether there are copies that mbarriers tell of.
    copies: bool,
}

impl Work<'_> {
    fn track(&mut self, recorded: &Recorded, out: &mut Timeline) {
        let records = &recorded.records.0;
        let lost = if recorded.last {
            "first records of tracks found no room"
        } else {
            "last records of tracks found no room"
        };
        out.note("lost", recorded.lost, lost);
        let Some(clocks) = clocks(recorded, self.fit, out) else {
            return out.note(
                "no-anchor",
                records.len() as u64,
                "records of tracks that can't be put on the time axis were left out",
            );
        };
        let clock = |cycles: Cycles| ClockReading { domain: ClockDomain(recorded.sm), cycles };
        let time = |cycles: Cycles| self.fit.time(clock(cycles)).unwrap_or_default().later(ROOM).on_axis();
        let begin = recorded.begin.map(|a| time(a.cycles));
        let end = recorded.end.map(|a| time(a.cycles));
        let range = [begin.or(clocks.first().map(|c| time(*c))), end.or(clocks.last().map(|c| time(*c)))]
            .map(Option::unwrap_or_default);
        let (cta, warp) = match out.launches[self.launch].warps_per_cta.filter(|n| *n > 0) {
            Some(n) => (recorded.warp.0 / n, Some((recorded.warp.0 % n) as u32)),
            None => (recorded.warp.0, None),
        };
        // Copies say an mbarrier, which may be another CTA's.
        let clusters = out.launches[self.launch].clusters.filter(|_| self.copies);
        let mut track = Track {
            launch: self.launch,
            sm: Some(recorded.sm),
            cta,
            warp,
            group: recorded.group,
            life: [begin, end],
            lost: recorded.lost,
            last: recorded.last,
            ..Track::default()
        };
        let mut pairing = Pairing::default();
        for (Record { mark, payload, .. }, cycles) in records.iter().zip(clocks) {
            let Some(&Known { kind, via, name, region }) = self.marks.get(*mark as usize) else { continue };
            let at = time(cycles);
            match kind {
                MarkKind::Begin => pairing.begin(region, at, cycles, *payload),
                MarkKind::End => pairing.end(|r| self.names.named[r as usize] == name, region, at, cycles),
                MarkKind::Switch => pairing.switch(region, at, cycles, *payload),
                MarkKind::Instant | MarkKind::Arrive => {
                    let arrival = kind == MarkKind::Arrive;
                    track.moments.push(Moment { region, at, arrival, payload: *payload });
                }
                MarkKind::Issue | MarkKind::Complete => {
                    let name = if via == Via::Source { name } else { 0 };
                    let issue = kind == MarkKind::Issue;
                    let track = out.tracks.len();
                    let payload = *payload;
                    let (cta, word) = completes(clusters, cta, via, payload[0]);
                    self.works.push(Async {
                        cta,
                        word,
                        at,
                        clock: Some(clock(cycles)),
                        issue,
                        via,
                        name,
                        region,
                        payload,
                        track,
                        implied: false,
                    });
                }
                MarkKind::Group => track.group = track.group.or(Some(payload[0])),
            }
        }
        let (spans, found) = pairing.finish(range, recorded.last && recorded.lost > 0);
        self.found += found;
        if self.copies {
            self.waits(&spans, (clusters, cta), out);
        }
        track.spans = spans;
        let sum = |s: &prlx_trace::mark::Sum| {
            let region = self.marks.get(s.mark as usize)?.region;
            Some(Sum { region, count: s.count, time: self.fit.length(s.cycles), cycles: s.cycles })
        };
        let long = [recorded.begin, recorded.end].map(|a| a.map_or(Cycles(0), |a| a.cycles));
        out.note(
            "sum-turns",
            u64::from(!recorded.sums.is_empty() && long[1].saturating_sub(long[0]).0 >> 32 > 0),
            "tracks are longer than 2^32 cycles: whole turns of the clock may be missing from their sums",
        );
        track.sums = recorded.sums.iter().filter_map(sum).collect();
        out.tracks.push(track);
    }

    /// Adds the ends of a track's waits at mbarriers: copies that they waited for have completed.
    fn waits(&mut self, spans: &[Span], (clusters, cta): (Option<Clusters>, u64), out: &Timeline) {
        let mbarrier = |s: &&Span| out.regions[s.region as usize].via == Via::Mbarrier;
        for s in spans.iter().filter(mbarrier).filter(|s| !s.open[1]) {
            let (cta, word) = completes(clusters, cta, Via::Tma, s.payload[0]);
            self.works.push(Async {
                cta,
                word,
                at: s.end,
                clock: None,
                issue: false,
                via: Via::Tma,
                name: 0,
                region: s.region,
                payload: s.payload,
                track: out.tracks.len(),
                implied: true,
            });
        }
    }
}

/// The CTA and the word at which work of CTA `cta` completes: the mbarrier of a copy may be another CTA's.
fn completes(clusters: Option<Clusters>, cta: u64, via: Via, word: u32) -> (u64, u32) {
    let there = clusters.filter(|_| via == Via::Tma).and_then(|c| c.addressed(cta, word));
    there.unwrap_or((cta, word))
}

/// The whole clocks of a track's records: from its begin on, or from its end back. `None`: neither is known,
/// nor any clock of its multiprocessor.
fn clocks(track: &Recorded, fit: &Fit, out: &mut Timeline) -> Option<Vec<Cycles>> {
    let records = &track.records.0;
    let mut clocks = Vec::with_capacity(records.len());
    // Where the first are lost, how often the clock turned before those that are there is known from the end
    // alone.
    if let Some(end) = track.end.filter(|_| track.last || track.begin.is_none()) {
        let mut now = end.cycles;
        for r in records.iter().rev() {
            now = now.saturating_sub(Cycles(low32(now.0).wrapping_sub(r.clock).into()));
            clocks.push(now);
        }
        clocks.reverse();
        return Some(clocks);
    }
    let mut now = track.begin.map(|a| a.cycles).or(fit.first(track.sm))?;
    if track.begin.is_none() || track.last {
        out.note(
            "turns",
            1,
            "tracks have no anchor at the side that is there: whole turns of their clocks (2^32 cycles) may be missing",
        );
    }
    for r in records {
        now = now.saturating_add(Cycles(r.clock.wrapping_sub(low32(now.0)).into()));
        clocks.push(now);
    }
    if let Some(end) = track.end {
        let turns = end.cycles.saturating_sub(now).0 >> 32;
        out.note(
            "turns-lost",
            turns,
            "turns of clocks (2^32 cycles) lie in one pause between two records, and it is not known in which",
        );
        out.note("clock-back", u64::from(now > end.cycles), "tracks have records after their end");
    }
    Some(clocks)
}

/// Makes spans of issues and completions.
fn complete(mut works: Vec<Async>, out: &mut Timeline) {
    works.sort_by_key(|w| (w.cta, w.at, !w.issue));
    let mut orphans = 0;
    let mut unfinished = 0;
    let mut visits: HashMap<(usize, u32), u32> = HashMap::new();
    let add = |out: &mut Timeline, w: &Async, end: Option<&Async>| {
        let track = &mut out.tracks[w.track];
        let last = track.life[1].or(track.spans.last().map(|s| s.end)).unwrap_or(w.at).max(w.at);
        track.spans.push(Span {
            region: w.region,
            begin: w.at,
            end: end.map_or(last, |end| end.at),
            // Of two CTAs of a cluster the clocks are two: then only the time is known.
            cycles: end.and_then(|end| end.clock?.since(w.clock?)).unwrap_or_default(),
            asynchronous: true,
            open: [false, end.is_none()],
            payload: w.payload,
            ..Span::default()
        });
    };
    for cta in works.chunk_by(|a, b| a.cta == b.cta) {
        let mut open: HashMap<(Via, u32, u32), Vec<&Async>> = HashMap::new();
        for w in cta {
            let known = open.contains_key(&(w.via, w.name, w.word));
            let here = open.entry((w.via, w.name, w.word)).or_default();
            if w.issue {
                here.push(w);
                continue;
            }
            let own = here.iter().any(|i| i.track == w.track);
            let anyone = !own && !matches!(w.via, Via::Wgmma | Via::CpAsync);
            orphans += u64::from(!known && !w.implied);
            for done in here.extract_if(.., |i| anyone || i.track == w.track) {
                add(out, done, Some(w));
            }
        }
        let mut rest: Vec<&Async> = open.into_values().flatten().collect();
        rest.sort_by_key(|w| (w.at, w.track, w.region, w.payload));
        for w in rest {
            unfinished += 1;
            add(out, w, None);
        }
    }
    for (i, track) in out.tracks.iter_mut().enumerate() {
        track.spans.sort_by_key(|s| s.begin);
        for span in track.spans.iter_mut().filter(|s| s.asynchronous) {
            let visit = visits.entry((i, span.region)).or_default();
            span.trip = *visit;
            *visit += 1;
        }
    }
    out.note("orphan-complete", orphans, "completions of work that nobody issued were left out");
    out.note(
        "open-work",
        unfinished,
        "issues of work whose completion was not seen are cut at their track's end",
    );
}
