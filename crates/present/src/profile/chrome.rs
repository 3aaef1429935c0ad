//! The spans of a timeline in Chrome's JSON format: a process for each launch, a row for each track.

use std::collections::BTreeMap;
use std::fmt::Arguments;
use std::io::{self, Write};

use prlx_timeline::{Span, Timeline, Track};
use prlx_trace::Picos;

use super::host::{self, HostRow};
use super::spans::{async_rows, first_tracks, heading, launch_heading, track_name};
use crate::format::clean;

/// Writes a trace in Chrome's JSON format, one event on each line.
///
/// # Errors
/// Those of `out`.
pub fn chrome(out: &mut impl Write, t: &Timeline) -> io::Result<()> {
    let names = t.regions.iter().map(|r| quoted(&r.title())).collect::<io::Result<Vec<String>>>()?;
    let host = host::rows(t);
    write!(out, "{{\"traceEvents\":[")?;
    let mut chrome = Chrome { out, comma: "\n", rows: 0, lead: host.lead, arrows: BTreeMap::new() };
    let above = usize::from(!host.rows.is_empty());
    if above > 0 {
        chrome.process(1, &heading(t))?;
    }
    host.rows.iter().try_for_each(|row| chrome.host(row))?;
    let joined = first_tracks(t);
    for (n, launch) in t.launches.iter().enumerate() {
        chrome.process(n + 1 + above, &launch_heading(Some(launch)))?;
    }
    for track in &t.tracks {
        let called = joined.get(&track.launch).filter(|(first, _)| std::ptr::eq(*first, track));
        chrome.track(track, track.launch + 1 + above, called.map(|(_, launch)| *launch), &names)?;
    }
    chrome.flows()?;
    writeln!(chrome.out, "\n],\"displayTimeUnit\":\"ns\"}}")
}

/// A text as a JSON string.
fn quoted(text: &str) -> io::Result<String> {
    serde_json::to_string(&clean(text)).map_err(io::Error::other)
}

/// A time in microseconds, exactly.
fn micros(Picos(ps): Picos) -> String {
    format!("{}.{:06}", ps / 1_000_000, ps % 1_000_000)
}

/// A writer of events.
struct Chrome<'a, W> {
    out: &'a mut W,
    /// What separates the next event from the text before it.
    comma: &'static str,
    /// Number of rows so far.
    rows: usize,
    /// Time between the first event of the host and time 0 of the timeline.
    lead: Picos,
    /// By launch: time, process and row of each place that its arrow leads through.
    arrows: BTreeMap<u64, Vec<(Picos, usize, usize)>>,
}

impl<W: Write> Chrome<'_, W> {
    /// Writes an event: the fields of a JSON object.
    fn event(&mut self, fields: Arguments<'_>) -> io::Result<()> {
        write!(self.out, "{}{{{fields}}}", self.comma)?;
        self.comma = ",\n";
        Ok(())
    }

    fn process(&mut self, pid: usize, name: &str) -> io::Result<()> {
        let name = quoted(name)?;
        self.event(format_args!(
            "\"ph\":\"M\",\"pid\":{pid},\"name\":\"process_name\",\"args\":{{\"name\":{name}}}"
        ))
    }

    /// Names the next row of a process, and returns its number.
    fn row(&mut self, pid: usize, name: &str) -> io::Result<usize> {
        self.rows += 1;
        let (tid, name) = (self.rows, quoted(name)?);
        self.event(format_args!(
            "\"ph\":\"M\",\"pid\":{pid},\"tid\":{tid},\"name\":\"thread_name\",\"args\":{{\"name\":{name}}}"
        ))?;
        Ok(tid)
    }

    /// Writes a row of the host's process, which is the first.
    fn host(&mut self, row: &HostRow) -> io::Result<()> {
        let tid = self.row(1, &row.name)?;
        for s in &row.spans {
            let name = quoted(&s.name())?;
            self.event(format_args!(
                "\"ph\":\"X\",\"pid\":1,\"tid\":{tid},\"ts\":{},\"dur\":{},\"name\":{name},\"args\":{{\"launch\":{}}}",
                micros(s.begin),
                micros(s.end - s.begin),
                s.launch,
            ))?;
            s.launches().for_each(|n| self.arrows.entry(n).or_default().push((s.begin, 1, tid)));
        }
        Ok(())
    }

    /// Writes the rows of a track. `called` is the number of its launch if the launch's arrow leads to it.
    fn track(&mut self, track: &Track, pid: usize, called: Option<u64>, names: &[String]) -> io::Result<()> {
        let lead = self.lead;
        let moved = |at: Picos| micros(at.saturating_add(lead));
        let on = track.sm.map(|sm| format!("SM {sm}, ")).unwrap_or_default();
        let nested: Vec<&Span> = track.spans.iter().filter(|s| !s.asynchronous).collect();
        for (row, spans) in [nested].into_iter().chain(async_rows(track)).enumerate() {
            let more = if row > 0 { ", asynchronous" } else { "" };
            let tid = self.row(pid, &format!("{on}{}{more}", track_name(track)))?;
            if let (Some(number), Some(s)) = (called.filter(|_| row == 0), spans.first()) {
                let at = s.begin.saturating_add(lead);
                self.arrows.entry(number).or_default().push((at, pid, tid));
            }
            for s in spans {
                self.event(format_args!(
                    "\"ph\":\"X\",\"pid\":{pid},\"tid\":{tid},\"ts\":{},\"dur\":{},\"name\":{},\"args\":{{\"trip\":{},\"cycles\":{},\"words\":[{},{}]}}",
                    moved(s.begin),
                    micros(s.time()),
                    names[s.region as usize],
                    s.trip,
                    s.cycles,
                    s.payload[0],
                    s.payload[1],
                ))?;
            }
            for m in track.moments.iter().filter(|_| row == 0) {
                self.event(format_args!(
                    "\"ph\":\"i\",\"s\":\"t\",\"pid\":{pid},\"tid\":{tid},\"ts\":{},\"name\":{},\"args\":{{\"words\":[{},{}]}}",
                    moved(m.at),
                    names[m.region as usize],
                    m.payload[0],
                    m.payload[1],
                ))?;
            }
        }
        Ok(())
    }

    /// Writes the arrows from launch calls to kernels.
    fn flows(&mut self) -> io::Result<()> {
        let arrows = std::mem::take(&mut self.arrows);
        for (id, mut places) in (1u64..).zip(arrows.into_values().filter(|places| places.len() > 1)) {
            places.sort_unstable();
            let last = places.len() - 1;
            for (i, (at, pid, tid)) in places.into_iter().enumerate() {
                let ph = match i {
                    0 => 's',
                    _ if i == last => 'f',
                    _ => 't',
                };
                self.event(format_args!(
                    "\"ph\":\"{ph}\",\"bp\":\"e\",\"id\":{id},\"name\":\"launch\",\"cat\":\"flow\",\"pid\":{pid},\"tid\":{tid},\"ts\":{}",
                    micros(at)
                ))?;
            }
        }
        Ok(())
    }
}
