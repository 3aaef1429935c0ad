//! The launches of a recording over time, as rows of events for Perfetto and Chrome.
//!
//! Each launch is on two rows of its process, joined by an arrow: where it was made, and on its stream.
//! Launches of a comparison carry its result; those that differ are also on a row of their own.
//!
//! # Invariants
//! The events of a row ascend and do not overlap.
//!
//! # Limitations
//! - A recording does not contain when a launch started on its device. It is drawn from its launch call, or
//!   from the end of the launch before it on the stream, whichever is later.
//! - A launch without a time (from a graph, or not recorded) has no width.
//! - On the CPU device a launch is as wide as its instructions, one nanosecond each.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use prlx_analyze::report::{LaunchReport, Report, UnmatchedLaunch, Verdict};
use prlx_trace::launch::Origin;
use prlx_trace::{Launch, Trace};
use serde_json::{Map, Value, json};

use crate::format::{clean, plain_name};
use crate::perfetto::{Arg, Details, Writer};
use crate::words;

/// The last time that a trace can hold, in nanoseconds.
const LAST: u64 = i64::MAX as u64;

/// The launches of several recordings, as rows for each process.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LaunchTimeline {
    groups: Vec<ProcessRows>,
    arrows: u64,
}

#[derive(Clone, PartialEq, Debug)]
struct ProcessRows {
    name: String,
    rows: Vec<TimelineRow>,
}

#[derive(Clone, PartialEq, Debug)]
struct TimelineRow {
    name: String,
    events: Vec<TimelineEvent>,
}

#[derive(Clone, PartialEq, Debug)]
struct TimelineEvent {
    name: String,
    at: u64,
    lasts: u64,
    details: Details,
}

/// The role of a recording in a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Compared<'a> {
    /// The report of the comparison.
    pub report: &'a Report,
    /// The recording's side: 0 for A, 1 for B.
    pub side: u8,
    /// Index of the pair of processes; `None` if the process has no match.
    pub process: Option<u64>,
}

/// The result of a comparison for one launch.
#[derive(Clone, Copy)]
enum ComparedLaunch<'a> {
    /// A pair of launches: its index in the report, and its report.
    Pair(usize, &'a LaunchReport),
    /// Only this side has it.
    Alone,
}

impl<'a> Compared<'a> {
    /// By launch: what is compared_launches of it. Launches that were left out of the comparison are not
    /// there.
    fn compared_launches(&self, launches: &[&Launch]) -> HashMap<u64, ComparedLaunch<'a>> {
        let side = usize::from(self.side.min(1));
        let Some(process) = self.process else {
            return launches.iter().map(|l| (l.number, ComparedLaunch::Alone)).collect();
        };
        let here = |u: &&UnmatchedLaunch| u.process == process && usize::from(u.side) == side;
        let pairs = self.report.launches.iter().enumerate().filter(|(_, l)| l.process == process);
        let alone = self.report.unpaired.iter().filter(here).map(|u| (u.launch, ComparedLaunch::Alone));
        pairs.map(|(i, l)| (l.launch[side], ComparedLaunch::Pair(i, l))).chain(alone).collect()
    }
    fn name(&self) -> &'static str {
        ["A", "B"][usize::from(self.side.min(1))]
    }
}

impl LaunchTimeline {
    /// Adds the launches of a recording; its streams are not read. For a recording of a program, time 0 is
    /// `origin`, in nanoseconds since 1970.
    pub fn add(&mut self, trace: &Trace, origin: u64, compared: Option<Compared<'_>>) {
        let mut launches: Vec<&Launch> = trace.launches.iter().map(|r| &r.launch).collect();
        launches.sort_by_key(|l| l.number);
        let compared_launches = compared.as_ref().map(|c| c.compared_launches(&launches)).unwrap_or_default();
        let side = compared.as_ref().map_or(String::new(), |c| format!("{}: ", c.name()));
        let name = match &trace.process {
            None => clean(&trace.producer),
            Some(p) => {
                let rank = p.rank.map_or(String::new(), |r| format!("rank {r}, "));
                format!("{rank}process {} on {}", p.pid, clean(&p.host))
            }
        };
        let began = trace.process.as_ref().map_or(0, |p| p.started.0.saturating_sub(origin));
        let mut host = Vec::new();
        let mut marks = Vec::new();
        let mut streams: BTreeMap<(u32, u32), (String, Vec<TimelineEvent>)> = BTreeMap::new();
        let mut last = 0;
        for l in launches {
            let function =
                trace.modules.get(l.module.index()).and_then(|m| m.functions.get(l.kernel.index()));
            let kernel = function.map_or_else(|| "?".to_owned(), |f| clean(&plain_name(&f.name)));
            // Calls of several threads may be numbered in another order than they are timed.
            last = began.saturating_add(l.start.0).clamp(last, LAST);
            let at = last;
            self.arrows += 1;
            let mut details = Details { category: "launch", args: args(l), flows: vec![self.arrows] };
            let call = details.clone();
            if let (Some(compared_launches), Some(c)) = (compared_launches.get(&l.number), &compared) {
                let mark = details.compare(*compared_launches, c);
                marks.extend(mark.map(|what| TimelineEvent {
                    name: format!("{what}: {kernel}"),
                    at,
                    lasts: 0,
                    details: Details { flows: Vec::new(), ..details.clone() },
                }));
            }
            host.push(TimelineEvent { name: kernel.clone(), at, lasts: 0, details: call });
            let (_, row) =
                streams.entry((l.ordinal, l.stream)).or_insert_with(|| (device(trace, l), Vec::new()));
            let free = row.last().map_or(0, |e| e.at + e.lasts);
            let at = at.max(free);
            let lasts = if l.skipped.is_none() { l.totals.instrumented.min(LAST - at) } else { 0 };
            row.push(TimelineEvent { name: kernel, at, lasts, details });
        }
        let mut rows = Vec::new();
        if !marks.is_empty() {
            rows.push(TimelineRow { name: "differences".into(), events: marks });
        }
        if !host.is_empty() {
            rows.push(TimelineRow { name: "launched".into(), events: host });
        }
        rows.extend(streams.into_values().map(|(name, events)| TimelineRow { name, events }));
        self.groups.push(ProcessRows { name: format!("{side}{name}"), rows });
    }

    /// Writes a trace for <https://ui.perfetto.dev>.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn perfetto(&self, out: &mut impl Write) -> io::Result<()> {
        let mut writer = Writer::new(out);
        for (pid, group) in (1u32..).zip(&self.groups) {
            let process = writer.process(pid, &group.name)?;
            for row in &group.rows {
                let track = writer.track(process, &row.name)?;
                for e in &row.events {
                    match e.lasts {
                        0 => writer.instant(track, e.at, &e.name, &e.details)?,
                        lasts => {
                            writer.begin(track, e.at, &e.name, &e.details)?;
                            writer.end(track, e.at + lasts)?;
                        }
                    }
                }
            }
        }
        writer.finish().map(drop)
    }

    /// Writes a trace in Chrome's JSON format, one event on each line.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn chrome(&self, out: &mut impl Write) -> io::Result<()> {
        let mut lines = Vec::new();
        // By arrow: where it touches an event.
        let mut arrows: BTreeMap<u64, Vec<(u64, u64, u64)>> = BTreeMap::new();
        for (pid, group) in (1u64..).zip(&self.groups) {
            let meta = |what: &str, tid: u64, args: Value| json!({"ph": "M", "name": what, "pid": pid, "tid": tid, "args": args});
            lines.push(meta("process_name", 0, json!({"name": group.name})));
            for (tid, row) in (1u64..).zip(&group.rows) {
                lines.push(meta("thread_name", tid, json!({"name": row.name})));
                lines.push(meta("thread_sort_index", tid, json!({"sort_index": tid})));
                for e in &row.events {
                    let args: Map<String, Value> =
                        e.details.args.iter().map(|(k, v)| ((*k).into(), value(v))).collect();
                    lines.push(json!({
                        "ph": "X", "name": e.name, "cat": e.details.category, "pid": pid, "tid": tid,
                        "ts": micros(e.at), "dur": micros(e.lasts), "args": args,
                    }));
                    for arrow in &e.details.flows {
                        arrows.entry(*arrow).or_default().push((e.at, pid, tid));
                    }
                }
            }
        }
        // Readers of JSON may keep numbers in 53 bits.
        for (id, mut places) in (1u64..).zip(arrows.into_values()) {
            places.sort_by_key(|(at, ..)| *at);
            for (i, (at, pid, tid)) in places.iter().enumerate() {
                let ph = if i == 0 { "s" } else { "f" };
                lines.push(json!({
                    "ph": ph, "bp": "e", "id": id, "name": "launch", "cat": "flow", "pid": pid, "tid": tid, "ts": micros(*at),
                }));
            }
        }
        write!(out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        for (i, line) in lines.iter().enumerate() {
            write!(out, "{}\n{line}", if i == 0 { "" } else { "," })?;
        }
        writeln!(out, "\n]}}")
    }
}

impl Details {
    /// Adds the result of a comparison. Returns the launch's label on the row of differences, if it differs.
    fn compare(&mut self, compared_launches: ComparedLaunch<'_>, c: &Compared<'_>) -> Option<String> {
        let (i, l) = match compared_launches {
            ComparedLaunch::Alone => {
                self.category = "alone";
                self.args.push(("compared", Arg::Text(format!("only in {}", c.name()))));
                return Some(format!("only in {}", c.name()));
            }
            ComparedLaunch::Pair(i, l) => (i, l),
        };
        self.category = l.verdict.name();
        self.args.push(("verdict", Arg::Text(l.verdict.name().into())));
        let other = l.launch[1 - usize::from(c.side.min(1))];
        self.args.push(("launch on the other side", Arg::Number(other)));
        if let Some(f) = l.findings.first() {
            let place = f.location().map_or(String::new(), |p| format!(" at {}", words::short(p)));
            self.args.push((
                "first finding",
                Arg::Text(format!("{}{place}: {}", f.kind.name(), words::sentence(f))),
            ));
        }
        if l.culprit {
            self.args.push(("culprit", Arg::Flag(true)));
        }
        if l.verdict != Verdict::Differs {
            return None;
        }
        // Ours are counted from 1 in each file; pairs have numbers of their own.
        self.flows.push(1 << 62 | i as u64);
        let is = |first: Option<&LaunchReport>| first.is_some_and(|f| std::ptr::eq(f, l));
        Some(match (is(c.report.first_launch()), is(c.report.culprit())) {
            (true, true) => "first difference and culprit".into(),
            (true, false) => "first difference".into(),
            (false, true) => "culprit".into(),
            (false, false) => "differs".into(),
        })
    }
}

/// The arguments of a launch's event.
fn args(l: &Launch) -> Vec<(&'static str, Arg)> {
    let mut all = vec![
        ("launch", Arg::Number(l.number)),
        ("grid", Arg::Text(l.grid.to_string())),
        ("block", Arg::Text(l.block.to_string())),
    ];
    if let Origin::Graph { exec, node, replay } = l.origin {
        all.push(("graph", Arg::Text(format!("{exec}.{node} #{replay}"))));
    }
    match &l.skipped {
        Some(why) => all.push(("not recorded", Arg::Text(clean(why)))),
        None => {
            all.push(("level", Arg::Text(l.level.name().into())));
            all.push(("recorded", Arg::Number(l.totals.recorded)));
            if l.totals.dropped > 0 {
                all.push(("lost", Arg::Number(l.totals.dropped)));
            }
        }
    }
    if let Some(fault) = &l.fault {
        all.push((fault.kind.name(), Arg::Text(clean(&fault.text))));
    }
    all
}

/// The name of a stream's row.
fn device(trace: &Trace, l: &Launch) -> String {
    let name = clean(&l.device);
    match trace.process {
        None => name,
        Some(_) => format!("device {} ({name}), stream {}", l.ordinal, l.stream),
    }
}

fn value(arg: &Arg) -> Value {
    match arg {
        Arg::Number(n) => (*n).into(),
        Arg::Flag(yes) => (*yes).into(),
        Arg::Text(text) => text.as_str().into(),
    }
}

/// Nanoseconds as microseconds, Chrome's unit.
fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}
