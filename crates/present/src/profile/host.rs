//! Launch calls of the host beside the kernels that they launch: as text, and as rows of a timeline.
//!
//! # Invariants
//! Time added by recording is shown apart from the program's own time.
//!
//! # Limitations
//! On a stream's row, a launch is as long as its recorded tracks.

use std::collections::BTreeMap;
use std::io::{self, Write};

use prlx_timeline::{Call, HostClock, HostSummary, Timeline};
use prlx_trace::{Picos, SignedPicos};

use crate::format::Style;
use crate::format::percent;
use crate::format::time;
use crate::format::{Ink, clean, count, wrap};

/// How accurately the clocks of the host and a device are aligned.
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

/// Writes the analysis of the host without its table of gaps.
///
/// # Errors
/// Those of `out`.
pub(super) fn summary(out: &mut impl Write, found: &HostSummary, style: &Style) -> io::Result<()> {
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
    let spread = |of: Option<[Picos; 4]>, what: &str| {
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
        let share = percent(idle.idle.as_f64() / idle.time.max(Picos(1)).as_f64());
        let parts = [
            (idle.why.waited, "the host waited for the device"),
            (idle.why.host, "the host did other work"),
            (idle.why.recording, "recording delayed the host"),
            (idle.why.launched, "the next kernel was launched but had not started"),
        ];
        let parts: Vec<String> = parts
            .into_iter()
            .filter(|p| p.0 > Picos(0))
            .map(|(ps, what)| format!("{} {what}", time(ps)))
            .collect();
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

/// The rows of the host's threads and of the devices' streams.
pub(super) struct HostRows {
    /// Time between the first event of the host and time 0 of the timeline.
    pub lead: Picos,
    /// The rows, those of the host's threads first.
    pub rows: Vec<HostRow>,
}

/// A row of spans that do not overlap, sorted by time.
pub(super) struct HostRow {
    /// Name of the thread or stream.
    pub name: String,
    pub spans: Vec<HostSpan>,
}

/// What the host or the device does during a span.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum HostSpanKind {
    /// The host is inside the driver's launch call.
    Call,
    /// Recording delays the host.
    Recording,
    /// The host waits for a device.
    Wait,
    /// The device runs a kernel.
    Kernel,
}

/// A span of such a row; its times begin where those of [`HostRows`] do.
#[derive(Clone, Debug)]
pub(super) struct HostSpan {
    pub what: HostSpanKind,
    pub begin: Picos,
    pub end: Picos,
    /// The launch's number and kernel.
    pub launch: u64,
    pub kernel: String,
    /// Numbers of the other launches of the same call (a graph launch).
    pub more: Vec<u64>,
}

impl HostSpan {
    /// Numbers of the launches whose arrows start or end at this span.
    pub fn launches(&self) -> impl Iterator<Item = u64> {
        let joined = matches!(self.what, HostSpanKind::Call | HostSpanKind::Kernel);
        std::iter::once(self.launch).chain(self.more.iter().copied()).filter(move |_| joined)
    }

    /// The label of the span.
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

/// The rows of a timeline's host and streams.
pub(super) fn rows(t: &Timeline) -> HostRows {
    let early = |c: &Call| c.waited.map_or(c.start, |[at, ..]| at.min(c.start)).min(c.at());
    let first = t.host.calls.iter().map(early).min().unwrap_or_default();
    let lead = first.until(SignedPicos(0));
    let moved = |at: SignedPicos| at.later(lead).on_axis();
    let mut threads: BTreeMap<u32, Vec<HostSpan>> = BTreeMap::new();
    let mut streams: BTreeMap<(u32, u32), Vec<HostSpan>> = BTreeMap::new();
    let mut waits: BTreeMap<u32, SignedPicos> = BTreeMap::new();
    for call in &t.host.calls {
        let of = |what, begin: Picos, end: Picos| HostSpan {
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

/// Distributes spans over as few rows as needed so that none overlap.
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
