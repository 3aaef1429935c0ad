//! Launch calls of a program's host beside its kernels: as text, and as rows of a timeline.
//!
//! Holds: what recording adds is shown apart from what the program does. Misses: a row of a stream has its launches as long as their tracks say.

use std::collections::BTreeMap;
use std::io::{self, Write};

use prlx_timeline::{Call, HostClock, Timeline, Together};

use crate::format::Style;
use crate::format::percent;
use crate::format::time;
use crate::format::{Ink, clean, count, wrap};

/// HostSpanKind a device's clock is within, in words.
pub(super) fn clock_accuracy(clock: &HostClock) -> String {
    let HostClock { device, within, bounds: [_, begun] } = clock;
    match within {
        Some(within) => {
            format!("device {device}: host times are aligned with device times within ±{}", time(*within))
        }
        None if *begun == 0 => {
            format!(
                "device {device}: no kernel start is known, so host times may lie any amount later than shown"
            )
        }
        None => format!(
            "device {device}: no kernel end is known, so host times may lie any amount earlier than shown"
        ),
    }
}

/// HostSpanKind was found, but for the table of gaps.
///
/// # Errors
/// Those of `out`.
pub(super) fn summary(out: &mut impl Write, found: &Together, style: &Style) -> io::Result<()> {
    let mut lines = Vec::new();
    let threads = count(found.threads, "thread", "threads");
    let mut text = format!("{} from {threads}", count(found.launches, "launch", "launches"));
    if let Some([_, median, most, longest]) = found.delay {
        let [median, most, longest] = [median, most, longest].map(time);
        text += &format!(
            "; call to kernel start: median {median}, 95th percentile {most}, maximum {longest} (launch {})",
            found.worst
        );
    }
    lines.push((Ink::Plain, text));
    let spread = |of: Option<[u64; 4]>, what: &str| {
        of.map(|[_, median, most, longest]| {
            format!(
                "{what}: median {}, 95th percentile {}, maximum {}",
                time(median),
                time(most),
                time(longest)
            )
        })
    };
    let calls =
        [spread(found.call, "call duration"), spread(found.recording, "recording overhead before the call")];
    let calls: Vec<String> = calls.into_iter().flatten().collect();
    if !calls.is_empty() {
        lines.push((Ink::Plain, calls.join("; ")));
    }
    for idle in &found.devices {
        lines.push((Ink::Faint, clock_accuracy(&idle.clock)));
        if idle.gaps == 0 {
            continue;
        }
        let share = percent(idle.idle as f64 / idle.time.max(1) as f64);
        let parts = [
            (idle.why.waited, "the host waited for the device"),
            (idle.why.host, "the host did other work"),
            (idle.why.recording, "recording delayed the host"),
            (idle.why.launched, "the next kernel was launched but had not started"),
        ];
        let parts: Vec<String> =
            parts.into_iter().filter(|p| p.0 > 0).map(|(ps, what)| format!("{} {what}", time(ps))).collect();
        let beside = match idle.beside {
            0 => String::new(),
            n => format!(
                "; {} not recorded and may have run in the gaps",
                count(n, "launch was", "launches were")
            ),
        };
        lines.push((
            Ink::Plain,
            format!(
                "device {}: idle for {share} of {} ({} in {}): {}{beside}",
                idle.clock.device,
                time(idle.time),
                time(idle.idle),
                count(idle.gaps, "gap", "gaps"),
                parts.join(", ")
            ),
        ));
    }
    for (ink, line) in lines {
        for line in wrap(&clean(&line), style.width.saturating_sub(2).max(40)) {
            writeln!(out, "  {}", style.ink(ink, &line))?;
        }
    }
    Ok(())
}

/// HostSpanKind is drawn of a host and its devices: rows, and which of their spans are one launch.
pub(super) struct HostRows {
    /// Picoseconds by which all begins before the axis does.
    pub lead: u64,
    /// HostRows: of the host's threads first.
    pub rows: Vec<HostRow>,
}

/// A row: spans that do not overlap, by time.
pub(super) struct HostRow {
    /// HostSpanKind it is called.
    pub name: String,
    pub spans: Vec<HostSpan>,
}

/// HostSpanKind a span is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum HostSpanKind {
    /// The driver is called for a launch.
    Call,
    /// Recording holds the host.
    Recording,
    /// The host waits for a device.
    Wait,
    /// A kernel runs.
    Kernel,
}

/// A span of such a row; times are picoseconds, and begin where [`HostRows`] do.
#[derive(Clone, Debug)]
pub(super) struct HostSpan {
    pub what: HostSpanKind,
    pub begin: u64,
    pub end: u64,
    /// The launch's number and kernel.
    pub launch: u64,
    pub kernel: String,
    /// Others of the same call, which is a graph's.
    pub more: Vec<u64>,
}

impl HostSpan {
    /// The launches that it is of, by number, where arrows go from it or to it.
    pub fn launches(&self) -> impl Iterator<Item = u64> {
        let joined = matches!(self.what, HostSpanKind::Call | HostSpanKind::Kernel);
        std::iter::once(self.launch).chain(self.more.iter().copied()).filter(move |_| joined)
    }

    /// HostSpanKind it is called.
    pub fn name(&self) -> String {
        match self.what {
            HostSpanKind::Call | HostSpanKind::Kernel => {
                let name = if self.kernel.is_empty() {
                    format!("launch {}", self.launch)
                } else {
                    clean(&self.kernel)
                };
                if self.more.is_empty() { name } else { format!("{name} and {} more", self.more.len()) }
            }
            HostSpanKind::Recording => "recording".into(),
            HostSpanKind::Wait => "wait".into(),
        }
    }
}

/// HostSpanKind of a timeline's host is drawn: of launches that it has calls of.
pub(super) fn rows(t: &Timeline) -> HostRows {
    let early = |c: &Call| c.waited.map_or(c.start, |[at, ..]| at.min(c.start)).min(c.at());
    let first = t.host.calls.iter().map(early).min().unwrap_or(0);
    let lead = if first < 0 { first.unsigned_abs() } else { 0 };
    let moved = |at: i64| u64::try_from(i128::from(at) + i128::from(lead)).unwrap_or(0);
    let mut threads: BTreeMap<u32, Vec<HostSpan>> = BTreeMap::new();
    let mut streams: BTreeMap<(u32, u32), Vec<HostSpan>> = BTreeMap::new();
    let mut waits: BTreeMap<u32, i64> = BTreeMap::new();
    for call in &t.host.calls {
        let of = |what, begin: u64, end: u64| HostSpan {
            what,
            begin,
            end: end.max(begin),
            launch: call.number,
            kernel: call.kernel.clone(),
            more: Vec::new(),
        };
        let row = threads.entry(call.thread).or_default();
        // Launches that follow one wait all tell of it.
        if let Some([from, until, on]) = call.waited
            && waits.insert(call.thread, from) != Some(from)
        {
            row.push(of(HostSpanKind::Wait, moved(from), moved(until)));
            if on > until {
                row.push(of(HostSpanKind::Recording, moved(until), moved(on)));
            }
        }
        let [at, answered] = call.called.unwrap_or([call.start; 2]);
        let made = of(HostSpanKind::Call, moved(at), moved(answered));
        match row.last_mut() {
            Some(last)
                if call.called.is_some() && last.what == HostSpanKind::Call && last.begin == made.begin =>
            {
                last.more.push(call.number);
            }
            _ => {
                if at > call.start {
                    row.push(of(HostSpanKind::Recording, moved(call.start), moved(at)));
                }
                row.push(made);
            }
        }
        if let Some([begin, end]) = call.ran {
            let [begin, end] = [begin, end].map(moved);
            streams.entry((call.device, call.stream)).or_default().push(of(HostSpanKind::Kernel, begin, end));
        }
    }
    let threads = threads.into_iter().map(|(n, spans)| (format!("host, thread {n}"), spans));
    let streams = streams.into_iter().map(|((d, s), spans)| (format!("device {d}, stream {s}"), spans));
    let rows = threads.chain(streams).flat_map(|(name, spans)| {
        non_overlapping(spans).into_iter().map(move |spans| HostRow { name: name.clone(), spans })
    });
    HostRows { lead, rows: rows.collect() }
}

/// Spans in rows in which none overlaps another: one row, if nothing runs beside anything.
fn non_overlapping(mut spans: Vec<HostSpan>) -> Vec<Vec<HostSpan>> {
    spans.sort_by_key(|s| (s.begin, s.end, s.launch));
    let mut rows: Vec<Vec<HostSpan>> = Vec::new();
    for span in spans {
        match rows.iter_mut().find(|row| row.last().is_none_or(|last| last.end <= span.begin)) {
            Some(row) => row.push(span),
            None => rows.push(vec![span]),
        }
    }
    rows
}
