//! Launch calls next to the kernels they launch: launch delays, and why a device is idle between kernels.
//!
//! # Invariants
//! The parts of a gap add up to the gap. They describe the thread that launched the kernel at the end of the
//! gap.
//!
//! # Limitations
//! Kernels without tracks may have run in a gap; their number is reported. Waits inside calls that copy are
//! not known.

use std::collections::BTreeSet;

use prlx_trace::Picos;

use crate::launch_calls::{Call, HostClock};
use crate::model::Timeline;
use crate::statistics::{add, quantiles};

/// Maximum number of gaps listed: the longest ones.
const GAPS: usize = 100;

/// How a program's host and its devices work together. Times are picoseconds.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize)]
pub struct HostSummary {
    /// Launches, and threads that made them.
    pub launches: u64,
    /// Host threads that launched them.
    pub threads: u64,
    /// From the call to the kernel's first begin: shortest, median, 95th percentile, longest; none if no
    /// launch has tracks.
    pub delay: Option<[Picos; 4]>,
    /// Which launch has the longest.
    pub worst: u64,
    /// How long a call takes, likewise.
    pub call: Option<[Picos; 4]>,
    /// What recording adds before a call, likewise.
    pub recording: Option<[Picos; 4]>,
    /// Idle time, one entry per device.
    pub devices: Vec<DeviceIdle>,
    /// When a device had nothing to do, the longest first.
    pub gaps: Vec<Gap>,
}

/// How much of the time a device has nothing to do.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct DeviceIdle {
    /// How exact that is.
    #[serde(flatten)]
    pub clock: HostClock,
    /// From the first kernel's begin to the last one's end.
    pub time: Picos,
    /// How often nothing ran.
    pub gaps: u64,
    /// How long together.
    pub idle: Picos,
    /// What that was.
    #[serde(flatten)]
    pub why: GapCauses,
    /// Launches without tracks that may have run then.
    pub beside: u64,
}

/// How the time of a gap divides by cause. Times are picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct GapCauses {
    /// The launching thread still waited for the device.
    pub waited: Picos,
    /// The thread did something else.
    pub host: Picos,
    /// Recording delayed the thread.
    pub recording: Picos,
    /// The thread had launched the kernel, which had not begun.
    pub launched: Picos,
}

/// A time in which nothing ran on a device.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Gap {
    /// The device's ordinal.
    pub device: u32,
    /// When it begins.
    pub begin: i64,
    /// How long it is.
    pub time: Picos,
    /// The launch that ends it: its number, and its kernel.
    pub launch: u64,
    /// Name of that launch's kernel.
    pub kernel: String,
    /// How the gap divides by cause.
    #[serde(flatten)]
    pub why: GapCauses,
    /// Launches without tracks that may have run then.
    pub beside: u64,
}

fn between(from: i64, to: i64) -> Picos {
    Picos(if to > from { to.abs_diff(from) } else { 0 })
}

/// What was in the way of a launch from `begin` on, until its kernel began.
fn why(call: &Call, begin: i64, end: i64) -> GapCauses {
    let called = call.at().clamp(begin, end);
    let started = call.start.clamp(begin, called);
    let [from, until, on] = call.waited.unwrap_or([begin; 3]).map(|at| at.clamp(begin, started));
    let waited = between(from, until);
    let held = between(until, on);
    GapCauses {
        waited,
        host: between(begin, started) - waited - held,
        recording: held + between(started, called),
        launched: between(called, end),
    }
}

/// What a timeline's host says; `None`: it has none.
pub(super) fn together(t: &Timeline) -> Option<HostSummary> {
    let calls = &t.host.calls;
    if calls.is_empty() {
        return None;
    }
    let delays: Vec<(Picos, u64)> =
        calls.iter().filter_map(|c| Some((between(c.at(), c.ran?[0]), c.number))).collect();
    let mut out = HostSummary {
        launches: calls.len() as u64,
        threads: calls.iter().map(|c| c.thread).collect::<BTreeSet<_>>().len() as u64,
        worst: delays.iter().max_by_key(|d| d.0).map_or(0, |d| d.1),
        delay: quantiles(delays.into_iter().map(|d| d.0).collect()),
        call: quantiles(calls.iter().filter_map(|c| c.called.map(|[a, b]| between(a, b))).collect()),
        recording: quantiles(
            calls.iter().filter_map(|c| c.called.map(|[at, _]| between(c.start, at))).collect(),
        ),
        ..HostSummary::default()
    };
    for clock in &t.host.clocks {
        let of = || calls.iter().filter(|c| c.device == clock.device);
        let mut ran: Vec<([i64; 2], &Call)> = of().filter_map(|c| Some((c.ran?, c))).collect();
        ran.sort_by_key(|(range, call)| (*range, call.number));
        let mut idle = DeviceIdle { clock: clock.clone(), ..DeviceIdle::default() };
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
                let GapCauses { waited, host, recording, launched } = &mut idle.why;
                let sums = [(&mut idle.idle, time), (waited, why.waited), (host, why.host)];
                let more = [(recording, why.recording), (launched, why.launched)];
                sums.into_iter().chain(more).for_each(|(sum, part)| add(sum, part));
            }
            if end > all[1] {
                (all[1], *number) = (end, call.number);
            }
        }
        idle.time = before.map_or(Picos(0), |([begin, end], _)| between(begin, end));
        out.devices.push(idle);
    }
    out.gaps.sort_by_key(|g| (std::cmp::Reverse(g.time), g.begin));
    out.gaps.truncate(GAPS);
    Some(out)
}
