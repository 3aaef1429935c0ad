//! Perfetto's trace files: tracks with slices and instants, as <https://ui.perfetto.dev> reads them.
//!
//! Each track is a packet sequence with its own table of interned names and its own incremental clock. The
//! writer keeps only the names of each track, so a trace may be larger than memory. Field numbers are those
//! of Perfetto's `protos/perfetto/trace` (version 52).
//!
//! # Invariants
//! - Times on a track ascend, and only an open slice can end. The writer refuses anything else.
//! - Slices that are open at the end are closed at the last time of their track.
//! - The same calls give the same bytes.
//!
//! # Limitations
//! Counters, operating-system threads and tracks with unordered events are not supported.

mod wire;

use std::collections::HashMap;
use std::io::{self, Write};

use wire::Message;

/// `TracePacket.timestamp_clock_id` of the tracks' own clocks: ids 64 to 127 belong to a sequence.
const OWN_CLOCK: u64 = 64;
/// `BUILTIN_CLOCK_BOOTTIME`, the trace's time.
const BOOT_CLOCK: u64 = 6;

/// A track of a trace: a row, or a group of rows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TrackId(usize);

/// The details of an event besides its name and time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Details {
    /// Category of the event; empty for none.
    pub category: &'static str,
    /// Names and values, in the order in which the viewer shows them.
    pub args: Vec<(&'static str, Arg)>,
    /// Ids of arrows. Events with the same id are joined in order of time.
    pub flows: Vec<u64>,
}

/// A value of an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Arg {
    /// An unsigned integer.
    Number(u64),
    /// A boolean value.
    Flag(bool),
    /// A string value.
    Text(String),
}

/// The state of a track's sequence.
struct TrackState {
    uuid: u64,
    /// Whether the first packet is written.
    begun: bool,
    /// The last time on it.
    now: u64,
    /// How many slices are open.
    open: u64,
    /// Ids of interned strings: categories, event names, argument names.
    interned_ids: [HashMap<String, u64>; 3],
}

/// Writes a trace event by event. Times ascend on each track; events of different tracks may come in any
/// order.
pub struct Writer<W> {
    out: W,
    tracks: Vec<TrackState>,
    /// Buffers for an event, its interned names and its packet, reused for every event.
    buffers: [Message; 3],
}

impl<W: Write> Writer<W> {
    /// An empty trace.
    pub fn new(out: W) -> Writer<W> {
        Writer { out, tracks: Vec::new(), buffers: Default::default() }
    }

    /// Adds a process: a group of tracks under a heading. `pid` tells processes apart, and orders them.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn process(&mut self, pid: u32, name: &str) -> io::Result<TrackId> {
        self.describe(|track| {
            track.message(3, |p| p.number(1, pid.into()).bytes(6, name.as_bytes()));
            // Tracks below it stand in the order in which they were added.
            track.number(11, 3)
        })
    }

    /// Adds a track below another.
    ///
    /// # Errors
    /// Those of the writer, and when there is no track `parent`.
    pub fn track(&mut self, parent: TrackId, name: &str) -> io::Result<TrackId> {
        let (of, rank) = (self.state(parent)?.uuid, self.tracks.len() as u64);
        self.describe(|track| {
            track.bytes(2, name.as_bytes()).number(5, of).number(11, 3).number(12, rank);
            // Tracks of the same name stay apart.
            track.number(15, 2)
        })
    }

    fn describe(&mut self, fill: impl FnOnce(&mut Message) -> &mut Message) -> io::Result<TrackId> {
        let track = TrackId(self.tracks.len());
        let uuid = self.tracks.len() as u64 + 1;
        let interned_ids = [HashMap::new(), HashMap::new(), HashMap::new()];
        self.tracks.push(TrackState { uuid, begun: false, now: 0, open: 0, interned_ids });
        let mut packet = Message::default();
        packet.number(10, uuid).message(60, |descriptor| {
            descriptor.number(1, uuid);
            fill(descriptor)
        });
        self.packet(&packet)?;
        Ok(track)
    }

    /// Begins a slice at a time, in nanoseconds.
    ///
    /// # Errors
    /// Those of the writer, and when the track's time would go back.
    pub fn begin(&mut self, track: TrackId, at: u64, name: &str, details: &Details) -> io::Result<()> {
        self.event(track, at, 1, Some((name, details)))?;
        self.state(track)?.open += 1;
        Ok(())
    }

    /// Ends the slice that was begun last.
    ///
    /// # Errors
    /// Those of the writer, when the track's time would go back, and when no slice is open.
    pub fn end(&mut self, track: TrackId, at: u64) -> io::Result<()> {
        let state = self.state(track)?;
        state.open = state.open.checked_sub(1).ok_or_else(|| wrong("no slice is open".into()))?;
        self.event(track, at, 2, None)
    }

    /// Marks a moment.
    ///
    /// # Errors
    /// Those of the writer, and when the track's time would go back.
    pub fn instant(&mut self, track: TrackId, at: u64, name: &str, details: &Details) -> io::Result<()> {
        self.event(track, at, 3, Some((name, details)))
    }

    /// Ends all slices, and gives what was written to back.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        for i in 0..self.tracks.len() {
            while self.tracks[i].open > 0 {
                self.end(TrackId(i), self.tracks[i].now)?;
            }
        }
        self.out.flush()?;
        Ok(self.out)
    }

    fn state(&mut self, track: TrackId) -> io::Result<&mut TrackState> {
        self.tracks.get_mut(track.0).ok_or_else(|| wrong("the track is another trace's".into()))
    }

    fn event(
        &mut self,
        track: TrackId,
        at: u64,
        kind: u64,
        what: Option<(&str, &Details)>,
    ) -> io::Result<()> {
        let state = self.state(track)?;
        let since = at.checked_sub(state.now).filter(|_| at <= i64::MAX as u64);
        let since = since.ok_or_else(|| wrong(format!("time {at} comes after {}", state.now)))?;
        let first = !std::mem::replace(&mut state.begun, true);
        state.now = at;
        // What the sequence says once: its clock begins now, and its events are on its track.
        let mut begin = Message::default();
        if first {
            begin.number(10, state.uuid).number(13, 1).message(59, |defaults| {
                defaults.number(58, OWN_CLOCK).message(11, |event| event.number(11, state.uuid))
            });
            begin.message(6, |snapshot| {
                snapshot.message(1, |c| c.number(1, OWN_CLOCK).number(2, at).number(3, 1));
                snapshot.message(1, |c| c.number(1, BOOT_CLOCK).number(2, at));
                snapshot.number(2, BOOT_CLOCK)
            });
        }
        let [mut event, mut interned, mut packet] = std::mem::take(&mut self.buffers);
        [&mut event, &mut interned, &mut packet].into_iter().for_each(Message::clear);
        let state = &mut self.tracks[track.0];
        let mut name_of = |table: usize, text: &str| {
            let interned_ids = &mut state.interned_ids[table];
            if let Some(id) = interned_ids.get(text) {
                return *id;
            }
            let id = interned_ids.len() as u64 + 1;
            interned_ids.insert(text.to_owned(), id);
            // `event_categories`, `event_names`, `debug_annotation_names`.
            interned.message(table as u32 + 1, |entry| entry.number(1, id).bytes(2, text.as_bytes()));
            id
        };
        event.number(9, kind);
        if let Some((name, details)) = what {
            if !details.category.is_empty() {
                event.number(3, name_of(0, details.category));
            }
            event.number(10, name_of(1, name));
            for (name, value) in &details.args {
                let name = name_of(2, name);
                event.message(4, |arg| {
                    arg.number(1, name);
                    match value {
                        Arg::Flag(yes) => arg.number(2, (*yes).into()),
                        Arg::Number(n) => arg.number(3, *n),
                        Arg::Text(text) => arg.bytes(6, text.as_bytes()),
                    }
                });
            }
            for flow in &details.flows {
                event.fixed(47, *flow);
            }
        }
        packet.number(8, if first { 0 } else { since }).number(10, state.uuid).number(13, 2);
        if !interned.written().is_empty() {
            packet.bytes(12, interned.written());
        }
        packet.bytes(11, event.written());
        if first {
            self.packet(&begin)?;
        }
        let written = self.packet(&packet);
        self.buffers = [event, interned, packet];
        written
    }

    fn packet(&mut self, packet: &Message) -> io::Result<()> {
        let (head, length) = wire::head(1, packet.written().len());
        self.out.write_all(&head[..length])?;
        self.out.write_all(packet.written())
    }
}

fn wrong(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}
