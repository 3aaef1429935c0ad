//! The spans of a timeline for Perfetto and Chrome, and as a table for CSV and Parquet.
//!
//! Nested spans share the row of their track. Asynchronous work has its own rows below, as many as overlap,
//! so that a viewer always matches the right begin and end. Above [`DETAILED`] spans, Perfetto gets names and
//! times only; Chrome and the tables always get everything.
//!
//! # Limitations
//! Perfetto counts nanoseconds. Finer times are in the tables and in Chrome's file only.

use std::collections::HashMap;
use std::io::{self, Write};

use prlx_timeline::{Launch, Moment, Span, Timeline, Track};
use prlx_trace::{Cycles, Picos};

use super::host;
use crate::format::clean;
use crate::perfetto::{self, Arg, Details, Writer};
use crate::tables::ColumnKind::{Flag, Number, Text};
use crate::tables::{Batch, Cell, ROWS, TableSchema};

/// Maximum number of spans for which Perfetto gets all details.
pub const DETAILED: usize = 100_000;

/// The table of spans and moments.
pub const SPANS: TableSchema = TableSchema {
    name: "spans",
    columns: &[
        ("launch", Number, "number of the launch in its process"),
        ("kernel", Text, "the kernel's name, as in the source; none if not known"),
        ("sm", Number, "the multiprocessor; none if not known"),
        ("cta", Number, "number of the CTA"),
        ("warp", Number, "the warp in its CTA; none if not known"),
        ("group", Number, "the group that the track said it belongs to"),
        ("region", Text, "name of the region"),
        (
            "via",
            Text,
            "why it is marked: source, barrier, mbarrier, tma, cp.async, wgmma, trip, function or line",
        ),
        ("file", Text, "where it begins in the source; none if not known"),
        ("line", Number, "line, from 1"),
        ("kind", Text, "span, async (from issue to completion), moment or arrival"),
        ("begin", Number, "when it begins: picoseconds since the first moment of all"),
        ("end", Number, "when it ends"),
        ("cycles", Number, "how long, in cycles of its multiprocessor; none if only a timer was read"),
        ("depth", Number, "in how many spans of its track it lies"),
        ("trip", Number, "which visit of this region by its track it is, from 0"),
        ("cut", Flag, "whether its begin or its end is not recorded"),
        ("word0", Number, "words of its first record"),
        ("word1", Number, ""),
    ],
};

/// Passes the table's rows to `sink` in batches.
///
/// # Errors
/// Those of `sink`.
pub fn rows(t: &Timeline, sink: &mut dyn FnMut(Batch) -> io::Result<()>) -> io::Result<()> {
    let empty = || -> Batch { vec![Vec::new(); SPANS.columns.len()] };
    let mut batch = empty();
    for track in &t.tracks {
        let launch = t.launches.get(track.launch);
        let head = |region: u32| {
            let region = &t.regions[region as usize];
            let (file, line) =
                region.place.as_ref().map_or((None, None), |(f, l)| (Some(f.as_str()), Some(*l)));
            [
                launch.map(|l| l.number).into(),
                launch.map(|l| l.kernel.as_str()).filter(|k| !k.is_empty()).into(),
                track.sm.into(),
                track.cta.into(),
                track.warp.into(),
                track.group.into(),
                region.name.as_str().into(),
                region.via.name().into(),
                file.into(),
                line.into(),
            ]
        };
        let spans = track.spans.iter().map(|s| {
            let kind = if s.asynchronous { "async" } else { "span" };
            let depth = Some(s.depth).filter(|_| !s.asynchronous);
            let cycles = Some(s.cycles.0).filter(|c| *c > 0);
            let cut = s.open[0] || s.open[1];
            let rest: [Cell; 9] = [
                kind.into(),
                s.begin.0.into(),
                s.end.0.into(),
                cycles.into(),
                depth.into(),
                s.trip.into(),
                cut.into(),
                s.payload[0].into(),
                s.payload[1].into(),
            ];
            (head(s.region), rest)
        });
        let moments = track.moments.iter().map(|m| {
            let kind = if m.arrival { "arrival" } else { "moment" };
            let none = || Cell::None;
            let rest = [
                kind.into(),
                m.at.0.into(),
                m.at.0.into(),
                none(),
                none(),
                none(),
                false.into(),
                m.payload[0].into(),
                m.payload[1].into(),
            ];
            (head(m.region), rest)
        });
        for (head, rest) in spans.chain(moments) {
            batch.iter_mut().zip(head.into_iter().chain(rest)).for_each(|(column, cell)| column.push(cell));
            if batch[0].len() >= ROWS {
                sink(std::mem::replace(&mut batch, empty()))?;
            }
        }
    }
    if batch[0].is_empty() { Ok(()) } else { sink(batch) }
}

/// Writes the table as CSV, with a line of names.
///
/// # Errors
/// Those of `out`.
pub fn csv(out: &mut impl Write, t: &Timeline) -> io::Result<()> {
    let names: Vec<&str> = SPANS.columns.iter().map(|c| c.0).collect();
    writeln!(out, "{}", names.join(","))?;
    rows(t, &mut |batch| {
        for row in 0..batch[0].len() {
            let cells: Vec<String> = batch.iter().map(|column| column[row].csv()).collect();
            writeln!(out, "{}", cells.join(","))?;
        }
        Ok(())
    })
}

/// The name of a track's row.
pub(super) fn track_name(track: &Track) -> String {
    let group = track.group.map(|g| format!(", group {g}")).unwrap_or_default();
    let warp = track.warp.map(|w| format!(", warp {w}")).unwrap_or_default();
    format!("CTA {}{group}{warp}", track.cta)
}

pub(super) fn launch_heading(launch: Option<&Launch>) -> String {
    match launch {
        Some(l) if !l.kernel.is_empty() => format!("launch {}: {}", l.number, clean(&l.kernel)),
        Some(l) => format!("launch {}", l.number),
        None => "launch".to_owned(),
    }
}

/// The asynchronous spans of a track, in rows without overlaps.
pub(super) fn async_rows(track: &Track) -> Vec<Vec<&Span>> {
    let mut rows: Vec<(Picos, Vec<&Span>)> = Vec::new();
    for span in track.spans.iter().filter(|s| s.asynchronous) {
        match rows.iter_mut().find(|(end, _)| *end <= span.begin) {
            Some((end, row)) => {
                row.push(span);
                *end = span.end;
            }
            None => rows.push((span.end, vec![span])),
        }
    }
    rows.into_iter().map(|(_, row)| row).collect()
}

/// The heading of the rows of host and streams, with the accuracy of their clocks.
pub(super) fn heading(t: &Timeline) -> String {
    let clocks: Vec<String> = t.host.clocks.iter().map(host::clock_accuracy).collect();
    format!("host and devices; {}", clocks.join("; "))
}

/// The id of a launch's arrow.
fn flow(launch: u64) -> u64 {
    launch.wrapping_add(1)
}

/// For each launch with a launch call: the track that begins first, and the launch's number.
pub(super) fn first_tracks(t: &Timeline) -> HashMap<usize, (&Track, u64)> {
    let called: HashMap<usize, u64> =
        t.host.calls.iter().filter_map(|c| Some((c.tracks?, c.number))).collect();
    let begin = |track: &Track| track.spans.iter().find(|s| !s.asynchronous).map(|s| s.begin);
    let mut first: HashMap<usize, (&Track, u64)> = HashMap::new();
    for track in t.tracks.iter().filter(|t| begin(t).is_some()) {
        let Some(number) = called.get(&track.launch) else { continue };
        let known = first.entry(track.launch).or_insert((track, *number));
        if begin(track) < begin(known.0) {
            known.0 = track;
        }
    }
    first
}

/// Writes a Perfetto trace: a process for each launch, a group for each SM, a row for each track.
///
/// # Errors
/// Those of `out`.
pub fn perfetto(out: impl Write, t: &Timeline) -> io::Result<()> {
    let detailed = t.tracks.iter().map(|t| t.spans.len()).sum::<usize>() <= DETAILED;
    let names: Vec<String> = t.regions.iter().map(|r| clean(&r.title())).collect();
    let mut writer = Writer::new(out);
    let host = host::rows(t);
    let nanos = |at: Picos| at.saturating_add(host.lead).nanos().0;
    let above = u32::from(!host.rows.is_empty());
    if above > 0 {
        perfetto_host(&mut writer, &heading(t), &host.rows)?;
    }
    // By launch with a call: the track that begins first.
    let joined = first_tracks(t);
    let mut processes = HashMap::new();
    let mut groups: HashMap<(usize, u32), perfetto::TrackId> = HashMap::new();
    let mut order: Vec<&Track> = t.tracks.iter().collect();
    order.sort_by_key(|t| (t.launch, t.sm));
    let said = |span: &Span| if detailed { span_details(span) } else { Details::default() };
    for track in order {
        let number = track.launch;
        let mut flows: Vec<u64> = match joined.get(&number) {
            Some((first, launch)) if std::ptr::eq(*first, track) => vec![flow(*launch)],
            _ => Vec::new(),
        };
        let process = match processes.get(&number) {
            Some(process) => *process,
            None => {
                let process =
                    writer.process(number as u32 + 1 + above, &launch_heading(t.launches.get(number)))?;
                processes.insert(number, process);
                process
            }
        };
        let group = match track.sm {
            None => process,
            Some(sm) => match groups.get(&(number, sm)) {
                Some(group) => *group,
                None => {
                    let group = writer.track(process, &format!("SM {sm}"))?;
                    groups.insert((number, sm), group);
                    group
                }
            },
        };
        let row = writer.track(group, &track_name(track))?;
        let mut moments = track.moments.iter().peekable();
        let moment = |writer: &mut Writer<_>, m: &Moment| {
            let mut details = Details::default();
            if detailed && m.payload != [0; 2] {
                details.args.push(("word0", Arg::Number(m.payload[0].into())));
                details.args.push(("word1", Arg::Number(m.payload[1].into())));
            }
            writer.instant(row, nanos(m.at), &names[m.region as usize], &details)
        };
        track.walk(|at, span| {
            while let Some(m) = moments.next_if(|m| m.at < at) {
                moment(&mut writer, m)?;
            }
            match span {
                Some(span) => {
                    let details = Details { flows: std::mem::take(&mut flows), ..said(span) };
                    writer.begin(row, nanos(at), &names[span.region as usize], &details)
                }
                None => writer.end(row, nanos(at)),
            }
        })?;
        moments.try_for_each(|m| moment(&mut writer, m))?;
        for spans in async_rows(track) {
            let row = writer.track(group, &format!("{}, asynchronous", track_name(track)))?;
            for span in spans {
                writer.begin(row, nanos(span.begin), &names[span.region as usize], &said(span))?;
                writer.end(row, nanos(span.end))?;
            }
        }
    }
    writer.finish().map(drop)
}

/// Writes the process of the host: a row for each thread and each stream.
fn perfetto_host<W: Write>(writer: &mut Writer<W>, name: &str, rows: &[host::HostRow]) -> io::Result<()> {
    let process = writer.process(1, name)?;
    for row in rows {
        let track = writer.track(process, &row.name)?;
        for span in &row.spans {
            let flows = span.launches().map(flow).collect();
            let args = vec![("launch", Arg::Number(span.launch))];
            let details = Details { args, flows, ..Details::default() };
            writer.begin(track, span.begin.nanos().0, &span.name(), &details)?;
            writer.end(track, span.end.nanos().0)?;
        }
    }
    Ok(())
}

/// What Perfetto shows of a selected span.
fn span_details(span: &Span) -> Details {
    let mut args = vec![("trip", Arg::Number(span.trip.into()))];
    if span.cycles > Cycles(0) {
        args.push(("cycles", Arg::Number(span.cycles.0)));
    }
    if span.payload != [0; 2] {
        args.extend([
            ("word0", Arg::Number(span.payload[0].into())),
            ("word1", Arg::Number(span.payload[1].into())),
        ]);
    }
    if span.open[0] || span.open[1] {
        args.push(("cut", Arg::Flag(true)));
    }
    Details { args, ..Details::default() }
}
