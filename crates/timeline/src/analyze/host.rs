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

use prlx_trace::{Picos, SignedPicos};

use crate::launch_calls::{Call, HostClock};
use crate::model::Timeline;
use crate::statistics::{add, quantiles};

/// Maximum number of gaps listed: the longest ones.
const GAPS: usize = 100;

/// Launch latency and idle time of a program's devices.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize)]
pub struct HostSummary {
    /// Number of launches.
    pub launches: u64,
    /// Number of host threads that launched kernels.
    pub threads: u64,
    /// Time from the launch call to the begin of the kernel: minimum, median, 95th percentile, maximum.
    /// `None` if no launch has tracks.
    pub delay: Option<[Picos; 4]>,
    /// Number of the launch with the maximum delay.
    pub worst: u64,
    /// Duration of the launch call, with the same statistics.
    pub call: Option<[Picos; 4]>,
    /// Delay that recording adds before the call, with the same statistics.
    pub recording: Option<[Picos; 4]>,
    /// Idle time, one entry per device.
    pub devices: Vec<DeviceIdle>,
    /// Gaps in which a device was idle, the longest first.
    pub gaps: Vec<Gap>,
}

/// Idle time of a device.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct DeviceIdle {
    /// Accuracy of the host's times against the device's.
    #[serde(flatten)]
    pub clock: HostClock,
    /// Time from the begin of the first kernel to the end of the last one.
    pub time: Picos,
    /// Number of gaps.
    pub gaps: u64,
    /// Total time of the gaps.
    pub idle: Picos,
    /// Causes of the gaps.
    #[serde(flatten)]
    pub why: GapCauses,
    /// Number of launches without tracks, which may have run in a gap.
    pub beside: u64,
}

/// The time of gaps, divided by cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct GapCauses {
    /// The launching thread was waiting for the device.
    pub waited: Picos,
    /// The thread did other work.
    pub host: Picos,
    /// Recording delayed the thread.
    pub recording: Picos,
    /// The thread had launched the kernel, and the kernel had not begun.
    pub launched: Picos,
}

/// A time in which nothing ran on a device.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Gap {
    /// The device's ordinal.
    pub device: u32,
    /// Begin of the gap, on the axis of the tracks.
    pub begin: SignedPicos,
    /// Length of the gap.
    pub time: Picos,
    /// Number of the launch that ends the gap.
    pub launch: u64,
    /// Name of that launch's kernel.
    pub kernel: String,
    /// How the gap divides by cause.
    #[serde(flatten)]
    pub why: GapCauses,
    /// Number of launches without tracks, which may have run in a gap.
    pub beside: u64,
}

/// What was in the way of a launch from `begin` on, until its kernel began.
fn why(call: &Call, begin: SignedPicos, end: SignedPicos) -> GapCauses {
    let called = call.at().clamp(begin, end);
    let started = call.start.clamp(begin, called);
    let [from, until, on] = call.waited.unwrap_or([begin; 3]).map(|at| at.clamp(begin, started));
    let waited = from.until(until);
    let held = until.until(on);
    GapCauses {
        waited,
        host: begin.until(started) - waited - held,
        recording: held + started.until(called),
        launched: called.until(end),
    }
}

/// What a timeline's host says; `None`: it has none.
pub(super) fn together(t: &Timeline) -> Option<HostSummary> {
    let calls = &t.host.calls;
    if calls.is_empty() {
        return None;
    }
    let delays: Vec<(Picos, u64)> =
        calls.iter().filter_map(|c| Some((c.at().until(c.ran?[0]), c.number))).collect();
    let mut out = HostSummary {
        launches: calls.len() as u64,
        threads: calls.iter().map(|c| c.thread).collect::<BTreeSet<_>>().len() as u64,
        worst: delays.iter().max_by_key(|d| d.0).map_or(0, |d| d.1),
        delay: quantiles(delays.into_iter().map(|d| d.0).collect()),
        call: quantiles(calls.iter().filter_map(|c| c.called.map(|[a, b]| a.until(b))).collect()),
        recording: quantiles(
            calls.iter().filter_map(|c| c.called.map(|[at, _]| c.start.until(at))).collect(),
        ),
        ..HostSummary::default()
    };
    for clock in &t.host.clocks {
        let of = || calls.iter().filter(|c| c.device == clock.device);
        let mut ran: Vec<([SignedPicos; 2], &Call)> = of().filter_map(|c| Some((c.ran?, c))).collect();
        ran.sort_by_key(|(range, call)| (*range, call.number));
        let mut idle = DeviceIdle { clock: clock.clone(), ..DeviceIdle::default() };
        let mut before: Option<([SignedPicos; 2], u64)> = None;
        for ([begin, end], call) in ran {
            let Some((all, number)) = &mut before else {
                before = Some(([begin, end], call.number));
                continue;
            };
            if begin > all[1] {
                let (first, last) = ((*number).min(call.number), (*number).max(call.number));
                let beside =
                    of().filter(|c| c.tracks.is_none() && (first..last).contains(&c.number)).count() as u64;
                let (time, why) = (all[1].until(begin), why(call, all[1], begin));
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
        idle.time = before.map_or(Picos(0), |([begin, end], _)| begin.until(end));
        out.devices.push(idle);
    }
    out.gaps.sort_by_key(|g| (std::cmp::Reverse(g.time), g.begin));
    out.gaps.truncate(GAPS);
    Some(out)
}
