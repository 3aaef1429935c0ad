//! Writes a version 1 file, warp after warp.

use std::io::{self, Write};

use super::{Event, Flags, Head, Header, HistoryEntry, Layout, Ring, Snapshot};

/// zstd's level, as PRLX's runtime takes it.
const LEVEL: i32 = 3;

/// Where bytes go after the header.
enum Sink<W: Write> {
    Plain(W),
    Packed(zstd::Encoder<'static, W>),
}

impl<W: Write> Write for Sink<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::Plain(out) => out.write(bytes),
            Sink::Packed(out) => out.write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::Plain(out) => out.flush(),
            Sink::Packed(out) => out.flush(),
        }
    }
}

/// Writes a version 1 file: as many calls of [`Writer::warp`] as the header has warps, then of
/// [`Writer::history`], then of [`Writer::snapshots`], and [`Writer::finish`].
pub struct Writer<W: Write> {
    out: Sink<W>,
    header: Header,
    layout: Layout,
    /// Offset in the unpacked file: the number of bytes written so far.
    at: u64,
}

fn wrong(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

impl<W: Write> Writer<W> {
    /// Writes the header. The writer chooses the offsets of sections, so those of the header must be 0.
    ///
    /// # Errors
    /// If `out` fails, if an offset is not 0, or if the header's fields contradict each other.
    pub fn new(mut out: W, header: &Header) -> io::Result<Writer<W>> {
        if header.history_offset != 0 || header.snapshot_offset != 0 {
            return Err(wrong("sections are written where they lie by default: offsets must be 0".into()));
        }
        let layout = header.layout(u64::MAX).map_err(|e| wrong(e.to_string()))?;
        out.write_all(&header.bytes())?;
        let out = match header.flags.has(Flags::PACKED) {
            true => Sink::Packed(zstd::Encoder::new(out, LEVEL)?),
            false => Sink::Plain(out),
        };
        Ok(Writer { out, header: header.clone(), at: layout.events.at, layout })
    }

    /// Writes the head and the events of the next warp, and fills the rest of its buffer with zeros.
    ///
    /// # Errors
    /// If writing fails, if the events exceed the warp's buffer, or if a compact event cannot hold one.
    pub fn warp(&mut self, head: Head, events: &[Event]) -> io::Result<()> {
        let end = self.part(self.layout.events.at, self.layout.events.stride)?;
        if events.len() as u64 > u64::from(self.header.events_per_warp) {
            return Err(wrong(format!(
                "{} events, where a warp has room for {}",
                events.len(),
                self.header.events_per_warp
            )));
        }
        self.words([head.write_idx, head.overflow, head.events, head.total])?;
        for (i, e) in events.iter().enumerate() {
            if self.header.flags.has(Flags::COMPACT) {
                let bytes = e
                    .compact()
                    .ok_or_else(|| wrong(format!("event {i} holds more than 8 bytes can: {e:?}")))?;
                self.put(&bytes)?;
            } else {
                self.put(&e.bytes())?;
            }
        }
        self.fill(end)
    }

    /// Writes the history ring of the next warp: values before its latest events, oldest first.
    ///
    /// # Errors
    /// If writing fails, if the header has no history, or if the ring has more entries than its depth.
    pub fn history(&mut self, ring: &Ring<HistoryEntry>) -> io::Result<()> {
        let Some(section) = self.layout.history else {
            return Err(wrong("the header has no history".into()));
        };
        let end = self.part(section.at, section.stride)?;
        self.ring(self.header.history_depth, ring.written, ring.entries.len())?;
        for e in &ring.entries {
            self.words([e.site, e.value, e.seq, 0])?;
        }
        self.fill(end)
    }

    /// Writes the snapshot ring of the next warp: the operands of all lanes at its latest comparisons.
    ///
    /// # Errors
    /// If writing fails, if the header has no snapshots, or if the ring has more entries than its depth.
    pub fn snapshots(&mut self, ring: &Ring<Snapshot>) -> io::Result<()> {
        let Some(section) = self.layout.snapshots else {
            return Err(wrong("the header has no snapshots".into()));
        };
        let end = self.part(section.at, section.stride)?;
        self.ring(self.header.snapshot_depth, ring.written, ring.entries.len())?;
        for e in &ring.entries {
            self.words([e.site, e.mask, e.seq, e.predicate])?;
            self.words(e.lhs)?;
            self.words(e.rhs)?;
            self.words([0; 4])?;
        }
        self.fill(end)
    }

    /// Finishes the file and returns `out`.
    ///
    /// # Errors
    /// If writing fails, or if warps, histories or snapshots are missing.
    pub fn finish(self) -> io::Result<W> {
        let last = self.layout.snapshots.or(self.layout.history).unwrap_or(self.layout.events);
        if self.at != last.end() {
            return Err(wrong(format!("{} bytes were written of {}", self.at, last.end())));
        }
        match self.out {
            Sink::Plain(out) => Ok(out),
            Sink::Packed(out) => out.finish(),
        }
    }

    /// Where the part that begins here ends, if one does.
    fn part(&self, at: u64, stride: u64) -> io::Result<u64> {
        let end = at + u64::from(self.header.warps) * stride;
        if self.at < at || self.at >= end {
            return Err(wrong(format!("a part at byte {} of a section from {at} to {end}", self.at)));
        }
        Ok(self.at + stride)
    }

    fn ring(&mut self, depth: u32, written: u32, entries: usize) -> io::Result<()> {
        if entries as u64 != u64::from(written.min(depth)) {
            return Err(wrong(format!(
                "{entries} entries in a ring of {depth} to which {written} were written"
            )));
        }
        self.words([written.checked_rem(depth).unwrap_or(0), depth, written, 0])
    }

    fn words<const N: usize>(&mut self, words: [u32; N]) -> io::Result<()> {
        words.iter().try_for_each(|w| self.put(&w.to_le_bytes()))
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.at += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    fn fill(&mut self, end: u64) -> io::Result<()> {
        const ZEROS: [u8; 4096] = [0; 4096];
        while self.at < end {
            let n = usize::try_from(end - self.at).unwrap_or(usize::MAX);
            self.put(ZEROS.get(..n).unwrap_or(&ZEROS))?;
        }
        Ok(())
    }
}
