//! Launch calls of a program's host beside the kernels that they launched: how long kernels wait, and why a device has nothing to do.
//!
//! Holds: the parts of a gap add up to it. What the host did is what the thread did that launched the kernel at the gap's end. Misses: kernels
//! without tracks may have run in a gap, so their number is said; what a host waits for in calls that copy.

use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::mark::Marks;
use prlx_trace::names::display_name;
use prlx_trace::{Nanos, Trace};

use crate::host::{Ahead, Bound};
use crate::{Timeline, add};

/// Gaps that are told one by one, at most: the longest.
const GAPS: usize = 100;

/// What a program's host did to launch kernels, on the axis of their times.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Host {
    /// By device: how its timer and the host's clock come together.
    pub clocks: Vec<HostClock>,
    /// Launches, in order: from the first that has tracks to the last.
    pub calls: Vec<Call>,
}

/// How well a device's timer and the host's clock come together.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct HostClock {
    /// The device's ordinal.
    pub device: u32,
    /// Picoseconds by which times of the host may be early or late beside those of the device. `None`: nothing says how early or late.
    pub within: Option<u64>,
    /// How many bounds there are: kernels that ended before that was seen, and that began after they were launched.
    pub bounds: [u64; 2],
}

/// A launch, as its host made it. Times are picoseconds on the axis of tracks, which may lie before its beginning.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Call {
    /// Its number in its process.
    #[serde(rename = "launch")]
    pub number: u64,
    /// The kernel, as users call it.
    pub kernel: String,
    /// Which of [`Timeline::launches`], if it has tracks.
    #[serde(skip)]
    pub tracks: Option<usize>,
    /// The device's ordinal.
    pub device: u32,
    /// Its stream.
    pub stream: u32,
    /// The thread, by order of first launch.
    pub thread: u32,
    /// When the program launched it.
    pub start: i64,
    /// When the driver was called to, and when it answered; between the start and that it is made ready to be recorded.
    pub called: Option<[i64; 2]>,
    /// When it ran, as all of its tracks say.
    pub ran: Option<[i64; 2]>,
    /// When its end was seen.
    pub seen: Option<i64>,
    /// The thread's last wait for a device before it: begin, end, and until when recording held the thread.
    pub waited: Option<[i64; 3]>,
}

impl Call {
    /// Before this it did not begin.
    pub fn at(&self) -> i64 {
        self.called.map_or(self.start, |[at, _]| at)
    }

    /// All times that it has.
    fn times(&mut self) -> impl Iterator<Item = &mut i64> {
        let ran = self.called.iter_mut().chain(&mut self.ran).flatten();
        let more = ran.chain(&mut self.seen).chain(self.waited.iter_mut().flatten());
        [&mut self.start].into_iter().chain(more)
    }
}

impl Host {
    /// Moves all times back.
    pub(super) fn back(&mut self, by: u64) {
        let by = i64::try_from(by).unwrap_or(i64::MAX);
        self.calls.iter_mut().flat_map(Call::times).for_each(|at| *at = at.saturating_sub(by));
    }
}

/// What the host said of its launches, on an axis of picoseconds that begins `room` before the `origin` of the timer.
pub(super) fn host(trace: &Trace, origin: Nanos, tick: u64, room: i64, out: &mut Timeline) {
    let mut left: BTreeMap<u64, Vec<&Marks>> = BTreeMap::new();
    for marks in &trace.marks {
        left.entry(marks.launch).or_default().push(marks);
    }
    let (Some(first), Some(last)) = (left.keys().next(), left.keys().next_back()) else { return };
    let mut launches: Vec<_> =
        trace.launches.iter().map(|r| &r.launch).filter(|l| l.host.is_some()).collect();
    launches.sort_by_key(|l| l.number);
    launches.dedup_by_key(|l| l.number);
    launches.retain(|l| (*first..=*last).contains(&l.number));
    let Some(base) = launches.iter().map(|l| l.start).min() else { return };
    let since = |at: Nanos| (i128::from(at.0) - i128::from(base.0)) as f64;
    let early_late = tick as f64 / 2.0;
    let ranges = ranges(out);
    let devices: BTreeSet<u32> = launches.iter().map(|l| l.ordinal).collect();
    for device in devices {
        let [mut least, mut most]: [Vec<Bound>; 2] = Default::default();
        for l in launches.iter().filter(|l| l.ordinal == device) {
            let tracks = || left.get(&l.number).into_iter().flatten().flat_map(|m| &m.tracks);
            let timer = |at: Nanos| (at - origin).0 as f64;
            let host = l.host.unwrap_or_default();
            let called = since(host.called.map_or(l.start, |(at, _)| at));
            if let Some(begin) = tracks().filter_map(|t| t.begin).map(|a| a.nanos).min() {
                most.push((called, timer(begin) + tick as f64 + early_late - called));
            }
            let end = tracks().filter_map(|t| t.end).map(|a| a.nanos).max();
            if let (Some(end), Some(seen)) = (end, host.seen.map(since)) {
                least.push((seen, timer(end) - early_late - seen));
            }
        }
        let bounds = [least.len() as u64, most.len() as u64];
        let Some(ahead) = Ahead::new(&least, &most) else {
            let of = launches.iter().filter(|l| l.ordinal == device).count() as u64;
            let why = "launches can't be put beside their kernels: the host's clock and the device's timer contradict each other";
            out.note("host-apart", if bounds == [0; 2] { 0 } else { of }, why);
            continue;
        };
        let ps = |nanos: f64| (nanos * 1000.0).round() as i64;
        let time = |at: Nanos| ps(ahead.timer(since(at))).saturating_add(room);
        let mut within = 0.0f64;
        for l in launches.iter().filter(|l| l.ordinal == device) {
            let host = l.host.unwrap_or_default();
            within = within.max(ahead.within(since(l.start)));
            let function =
                trace.modules.get(l.module.index()).and_then(|m| m.functions.get(l.kernel.index()));
            let tracks = out.launches.iter().position(|known| known.number == l.number);
            let ran = tracks.and_then(|i| ranges[i]);
            let whole = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
            out.host.calls.push(Call {
                number: l.number,
                kernel: function.map(|f| display_name(&f.name)).unwrap_or_default(),
                tracks,
                device,
                stream: l.stream,
                thread: host.thread,
                start: time(l.start),
                called: host.called.map(|(at, answered)| [at, answered].map(time)),
                ran: ran.map(|all| all.map(whole)),
                seen: host.seen.map(time),
                waited: host.waited.map(|(at, end)| [at, end, end.saturating_add(host.held)].map(time)),
            });
        }
        let within = ahead.both.then(|| ps(within).unsigned_abs());
        out.host.clocks.push(HostClock { device, within, bounds });
    }
    out.host.calls.sort_by_key(|c| c.number);
}

/// How a program's host and its devices work together. Times are picoseconds.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize)]
pub struct Together {
    /// Launches, and threads that made them.
    pub launches: u64,
    /// See there.
    pub threads: u64,
    /// From the call to the kernel's first begin: shortest, median, 95th percentile, longest; none if no launch has tracks.
    pub delay: Option<[u64; 4]>,
    /// Which launch has the longest.
    pub worst: u64,
    /// How long a call takes, likewise.
    pub call: Option<[u64; 4]>,
    /// What recording adds before a call, likewise.
    pub recording: Option<[u64; 4]>,
    /// By device.
    pub devices: Vec<Idle>,
    /// When a device had nothing to do, the longest first.
    pub gaps: Vec<Gap>,
}

/// How much of the time a device has nothing to do.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Idle {
    /// How exact that is.
    #[serde(flatten)]
    pub clock: HostClock,
    /// From the first kernel's begin to the last one's end.
    pub time: u64,
    /// How often nothing ran.
    pub gaps: u64,
    /// How long together.
    pub idle: u64,
    /// What that was.
    #[serde(flatten)]
    pub why: Why,
    /// Launches without tracks that may have run then.
    pub beside: u64,
}

/// What was in the way of the next kernel. Times are picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Why {
    /// Its thread still waited for the device.
    pub waited: u64,
    /// It did something else.
    pub host: u64,
    /// It was held by recording.
    pub recording: u64,
    /// It had launched it.
    pub launched: u64,
}

/// A time in which nothing ran on a device.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Gap {
    /// The device's ordinal.
    pub device: u32,
    /// When it begins.
    pub begin: i64,
    /// How long it is.
    pub time: u64,
    /// The launch that ends it: its number, and its kernel.
    pub launch: u64,
    /// See there.
    pub kernel: String,
    /// The parts.
    #[serde(flatten)]
    pub why: Why,
    /// Launches without tracks that may have run then.
    pub beside: u64,
}

/// When each launch began and ended: as its tracks say.
fn ranges(t: &Timeline) -> Vec<Option<[u64; 2]>> {
    let mut out: Vec<Option<[u64; 2]>> = vec![None; t.launches.len()];
    for track in &t.tracks {
        if let (Some([begin, end]), Some(range)) = (track.range(), out.get_mut(track.launch)) {
            *range = Some(range.map_or([begin, end], |[a, b]| [a.min(begin), b.max(end)]));
        }
    }
    out
}

/// Shortest, median, 95th percentile, longest.
fn spread(mut of: Vec<u64>) -> Option<[u64; 4]> {
    of.sort_unstable();
    let last = of.len().checked_sub(1)?;
    Some([0, last / 2, last * 95 / 100, last].map(|i| of[i]))
}

fn between(from: i64, to: i64) -> u64 {
    if to > from { to.abs_diff(from) } else { 0 }
}

/// What was in the way of a launch from `begin` on, until its kernel began.
fn why(call: &Call, begin: i64, end: i64) -> Why {
    let called = call.at().clamp(begin, end);
    let started = call.start.clamp(begin, called);
    let [from, until, on] = call.waited.unwrap_or([begin; 3]).map(|at| at.clamp(begin, started));
    let waited = between(from, until);
    let held = between(until, on);
    Why {
        waited,
        host: between(begin, started) - waited - held,
        recording: held + between(started, called),
        launched: between(called, end),
    }
}

/// What a timeline's host says; `None`: it has none.
pub(super) fn together(t: &Timeline) -> Option<Together> {
    let calls = &t.host.calls;
    if calls.is_empty() {
        return None;
    }
    let delays: Vec<(u64, u64)> =
        calls.iter().filter_map(|c| Some((between(c.at(), c.ran?[0]), c.number))).collect();
    let mut out = Together {
        launches: calls.len() as u64,
        threads: calls.iter().map(|c| c.thread).collect::<BTreeSet<_>>().len() as u64,
        worst: delays.iter().max_by_key(|d| d.0).map_or(0, |d| d.1),
        delay: spread(delays.into_iter().map(|d| d.0).collect()),
        call: spread(calls.iter().filter_map(|c| c.called.map(|[a, b]| between(a, b))).collect()),
        recording: spread(
            calls.iter().filter_map(|c| c.called.map(|[at, _]| between(c.start, at))).collect(),
        ),
        ..Together::default()
    };
    for clock in &t.host.clocks {
        let of = || calls.iter().filter(|c| c.device == clock.device);
        let mut ran: Vec<([i64; 2], &Call)> = of().filter_map(|c| Some((c.ran?, c))).collect();
        ran.sort_by_key(|(range, call)| (*range, call.number));
        let mut idle = Idle { clock: clock.clone(), ..Idle::default() };
        let mut before: Option<([i64; 2], u64)> = None;
        for ([begin, end], call) in ran {
            let Some((all, number)) = &mut before else {
                before = Some(([begin, end], call.number));
                continue;
            };
            if begin > all[1] {
                let (first, last) = ((*number).min(call.number), (*number).max(call.number));
                let beside =
                    of().filter(|c| c.tracks.is_none() && (first..last).contains(&c.number)).count() as u64;
                let (time, why) = (between(all[1], begin), why(call, all[1], begin));
                let (launch, kernel) = (call.number, call.kernel.clone());
                out.gaps.push(Gap { device: clock.device, begin: all[1], time, launch, kernel, why, beside });
                idle.gaps += 1;
                idle.beside += beside;
                let Why { waited, host, recording, launched } = &mut idle.why;
                let sums = [(&mut idle.idle, time), (waited, why.waited), (host, why.host)];
                let more = [(recording, why.recording), (launched, why.launched)];
                sums.into_iter().chain(more).for_each(|(sum, part)| add(sum, part));
            }
            if end > all[1] {
                (all[1], *number) = (end, call.number);
            }
        }
        idle.time = before.map_or(0, |([begin, end], _)| between(begin, end));
        out.devices.push(idle);
    }
    out.gaps.sort_by_key(|g| (std::cmp::Reverse(g.time), g.begin));
    out.gaps.truncate(GAPS);
    Some(out)
}
