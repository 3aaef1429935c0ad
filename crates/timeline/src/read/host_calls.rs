//! Places the host's launch calls on the axis of the tracks.
//!
//! A kernel cannot begin before the host called the driver to launch it, and has ended when the host saw its
//! end. These bounds fix the offset between the host's clock and the device's timer
//! ([`crate::clock::host_clock`]).

use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::mark::Marks;
use prlx_trace::names::display_name;
use prlx_trace::{Nanos, Picos, SignedPicos, Trace};

use crate::clock::host_clock::{Bound, ClockOffset};
use crate::launch_calls::{Call, HostClock};
use crate::model::Timeline;

/// What the host said of its launches, on an axis that begins `room` before the `origin` of
/// the timer.
pub(super) fn place(trace: &Trace, origin: Nanos, tick: Nanos, room: Picos, out: &mut Timeline) {
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
    let early_late = tick.as_f64() / 2.0;
    let ranges = ranges(out);
    let devices: BTreeSet<u32> = launches.iter().map(|l| l.ordinal).collect();
    for device in devices {
        let [mut least, mut most]: [Vec<Bound>; 2] = Default::default();
        for l in launches.iter().filter(|l| l.ordinal == device) {
            let tracks = || left.get(&l.number).into_iter().flatten().flat_map(|m| &m.tracks);
            let timer = |at: Nanos| (at - origin).as_f64();
            let host = l.host.unwrap_or_default();
            let called = since(host.called.map_or(l.start, |(at, _)| at));
            if let Some(begin) = tracks().filter_map(|t| t.begin).map(|a| a.nanos).min() {
                most.push((called, timer(begin) + tick.as_f64() + early_late - called));
            }
            let end = tracks().filter_map(|t| t.end).map(|a| a.nanos).max();
            if let (Some(end), Some(seen)) = (end, host.seen.map(since)) {
                least.push((seen, timer(end) - early_late - seen));
            }
        }
        let bounds = [least.len() as u64, most.len() as u64];
        let Some(ahead) = ClockOffset::new(&least, &most) else {
            let of = launches.iter().filter(|l| l.ordinal == device).count() as u64;
            let why = "launches can't be put beside their kernels: the host's clock and the device's timer contradict each other";
            out.note("host-apart", if bounds == [0; 2] { 0 } else { of }, why);
            continue;
        };
        let ps = |nanos: f64| (nanos * 1000.0).round() as i64;
        let time = |at: Nanos| SignedPicos(ps(ahead.timer(since(at)))).later(room);
        let mut within = 0.0f64;
        for l in launches.iter().filter(|l| l.ordinal == device) {
            let host = l.host.unwrap_or_default();
            within = within.max(ahead.within(since(l.start)));
            let function =
                trace.modules.get(l.module.index()).and_then(|m| m.functions.get(l.kernel.index()));
            let tracks = out.launches.iter().position(|known| known.number == l.number);
            let ran = tracks.and_then(|i| ranges[i]);
            out.host.calls.push(Call {
                number: l.number,
                kernel: function.map(|f| display_name(&f.name)).unwrap_or_default(),
                tracks,
                device,
                stream: l.stream,
                thread: host.thread,
                start: time(l.start),
                called: host.called.map(|(at, answered)| [at, answered].map(time)),
                ran: ran.map(|all| all.map(SignedPicos::from)),
                seen: host.seen.map(time),
                waited: host.waited.map(|(at, end)| [at, end, end.saturating_add(host.held)].map(time)),
            });
        }
        let within = ahead.both.then(|| Picos(ps(within).unsigned_abs()));
        out.host.clocks.push(HostClock { device, within, bounds });
    }
    out.host.calls.sort_by_key(|c| c.number);
}

/// When each launch began and ended: as its tracks say.
fn ranges(t: &Timeline) -> Vec<Option<[Picos; 2]>> {
    let mut out: Vec<Option<[Picos; 2]>> = vec![None; t.launches.len()];
    for track in &t.tracks {
        if let (Some([begin, end]), Some(range)) = (track.range(), out.get_mut(track.launch)) {
            *range = Some(range.map_or([begin, end], |[a, b]| [a.min(begin), b.max(end)]));
        }
    }
    out
}
