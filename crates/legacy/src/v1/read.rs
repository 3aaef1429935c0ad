//! Reads a version 1 file from front to back.

use std::borrow::Cow;
use std::io::Read;
use std::ops::Range;

use super::header::{HISTORY, SNAPSHOT, error, word};
use super::{
    Event, EventBytes, EventKind, Flags, HEADER, Head, Header, HistoryEntry, Layout, MAGIC, Section, Snapshot,
};
use prlx_trace::Error;
use prlx_trace::narrow::index;

/// Bytes of a packed file that are unpacked at once: memory grows with what there is, not with what a header
/// says.
const STEP: u64 = 1 << 22;

/// Whether `file` begins like a file of version 1.
pub fn is_v1(file: &[u8]) -> bool {
    file.first_chunk::<8>().is_some_and(|b| u64::from_le_bytes(*b) == MAGIC)
}

/// A version 1 file with a valid header and layout.
#[derive(Clone, Debug)]
pub struct File<'a> {
    /// The decoded header.
    pub header: Header,
    /// Where everything lies in the unpacked file.
    pub layout: Layout,
    bytes: &'a [u8],
}

impl<'a> File<'a> {
    /// Reads the header of `bytes`, and checks that all sections fit.
    ///
    /// # Errors
    /// If it is no version 1 file, is cut off, or has invalid sizes or offsets.
    pub fn open(bytes: &'a [u8]) -> Result<File<'a>, Error> {
        if bytes.starts_with(b"GDDBGGPU") {
            let what = "a file of GPU DiffDbg before PRLX 0.1; its layout was never published";
            return Err(error(0, "magic", what));
        }
        let header = Header::read(bytes)?;
        let layout = header.layout(bytes.len() as u64)?;
        Ok(File { header, layout, bytes })
    }

    /// Whether its sections are compressed. They can then only be read from front to back.
    pub fn packed(&self) -> bool {
        self.header.flags.has(Flags::PACKED)
    }

    /// A reader of the sections, positioned at the first one.
    ///
    /// # Errors
    /// If decompression cannot begin.
    pub fn cursor(&self) -> Result<Cursor<'a>, Error> {
        let packed = match self.packed() {
            false => None,
            true => {
                let decoder = zstd::Decoder::with_buffer(self.bytes.get(HEADER..).unwrap_or_default());
                Some(decoder.map_err(|e| error(HEADER as u64, "zstd", e.to_string()))?.single_frame())
            }
        };
        Ok(Cursor {
            bytes: self.bytes,
            layout: self.layout.clone(),
            packed,
            at: HEADER as u64,
            window: Vec::new(),
        })
    }
}

/// Reads sections. A compressed file is read only forwards.
pub struct Cursor<'a> {
    bytes: &'a [u8],
    layout: Layout,
    packed: Option<zstd::Decoder<'static, &'a [u8]>>,
    /// In a compressed file, the number of bytes that were decompressed so far.
    at: u64,
    window: Vec<u8>,
}

/// A ring of a warp with the entries that it still holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ring<T> {
    /// Number of entries that were written.
    pub written: u32,
    /// Entries that the ring holds, oldest first.
    pub entries: Vec<T>,
    /// Contradiction between the head and the entries. With one, entries may belong to other visits.
    pub wrong: Option<Error>,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Ring { written: 0, entries: Vec::new(), wrong: None }
    }
}

/// One warp's part of the events section.
#[derive(Clone, Copy, Debug)]
pub struct Warp<'a> {
    /// Head of the warp's events.
    pub head: Head,
    bytes: &'a [u8],
    compact: bool,
}

impl<'a> Warp<'a> {
    /// Reads a warp's part of the section.
    pub fn new(part: &'a [u8], compact: bool) -> Warp<'a> {
        let (head, bytes) = part.split_at_checked(16).unwrap_or_default();
        let head = Head {
            write_idx: word(head, 0),
            overflow: word(head, 4),
            events: word(head, 8),
            total: word(head, 12),
        };
        Warp { head, bytes, compact }
    }
    /// The recorded events, 16 bytes each. Compact events are widened into a copy.
    pub fn events(&self) -> Cow<'a, [EventBytes]> {
        if self.compact {
            let all = self.bytes.as_chunks::<8>().0;
            let kept = all.iter().take(self.kept_of(all.len()));
            Cow::Owned(kept.map(|b| Event::of_compact(b).bytes()).collect())
        } else {
            let all = self.bytes.as_chunks::<16>().0;
            Cow::Borrowed(all.get(..self.kept_of(all.len())).unwrap_or_default())
        }
    }
    /// The first event of an unknown kind: its number in the warp, and that kind.
    pub fn unknown_kind(&self) -> Option<(usize, u8)> {
        let first = |kinds: &mut dyn Iterator<Item = u8>| {
            kinds.enumerate().find(|(_, kind)| EventKind::of(*kind).is_none())
        };
        match self.compact {
            true => {
                let all = self.bytes.as_chunks::<8>().0;
                first(&mut all.iter().take(self.kept_of(all.len())).map(|b| b[2] & 15))
            }
            false => {
                let all = self.bytes.as_chunks::<16>().0;
                let all = all.get(..self.kept_of(all.len())).unwrap_or_default();
                // Each kind's number is at most that of all their bits together.
                let bits = all.iter().fold(0, |bits, b| bits | u128::from_le_bytes(*b));
                if EventKind::of(bits.to_le_bytes()[4]).is_some() {
                    return None;
                }
                first(&mut all.iter().map(|b| b[4]))
            }
        }
    }
    fn kept_of(&self, room: usize) -> usize {
        (self.head.events as usize).min(room)
    }
    fn room(&self) -> usize {
        self.bytes.len() / if self.compact { 8 } else { 16 }
    }
    /// Number of recorded events.
    pub fn kept(&self) -> u64 {
        self.kept_of(self.room()) as u64
    }
    /// Number of missing events: lost because memory was full, sampled, or counted by the head only.
    pub fn lost(&self) -> u64 {
        let missing = |n: u32| u64::from(n).saturating_sub(self.kept());
        u64::from(self.head.overflow).max(missing(self.head.events)).max(missing(self.head.total))
    }
}

impl Cursor<'_> {
    /// The parts of these warps in the events section, one after another; [`Warp::new`] reads one.
    ///
    /// # Errors
    /// When they are behind the cursor in a packed file, or the packed part is damaged or too short.
    pub fn events(&mut self, warps: Range<u32>) -> Result<&[u8], Error> {
        let range = self.layout.events.of(warps);
        self.take(range, "events")
    }

    /// A warp's history, oldest first; `None` if the file has none.
    ///
    /// # Errors
    /// As for [`Cursor::events`]; or when its head does not agree with the file's.
    pub fn history(&mut self, warp: u32) -> Result<Option<Ring<HistoryEntry>>, Error> {
        let Some(section) = self.layout.history else { return Ok(None) };
        let entry = |b: &[u8]| HistoryEntry { site: word(b, 0), value: word(b, 4), seq: word(b, 8) };
        self.ring(section, warp, HISTORY, "history", entry, |e| e.seq).map(Some)
    }

    /// A warp's snapshots, oldest first; `None` if the file has none.
    ///
    /// # Errors
    /// As for [`Cursor::history`].
    pub fn snapshots(&mut self, warp: u32) -> Result<Option<Ring<Snapshot>>, Error> {
        let Some(section) = self.layout.snapshots else { return Ok(None) };
        let entry = |b: &[u8]| Snapshot {
            site: word(b, 0),
            mask: word(b, 4),
            seq: word(b, 8),
            predicate: word(b, 12),
            lhs: std::array::from_fn(|lane| word(b, 16 + 4 * lane)),
            rhs: std::array::from_fn(|lane| word(b, 144 + 4 * lane)),
        };
        self.ring(section, warp, SNAPSHOT, "snapshots", entry, |e| e.seq).map(Some)
    }

    fn ring<T>(
        &mut self,
        section: Section,
        warp: u32,
        bytes: u64,
        name: &str,
        entry: impl Fn(&[u8]) -> T,
        seq: impl Fn(&T) -> u32,
    ) -> Result<Ring<T>, Error> {
        let range = section.of(warp..warp.saturating_add(1));
        let at = range.start;
        let depth = (section.stride - 16) / bytes;
        let part = self.take(range, name)?;
        let (next, said, written) = (word(part, 0), word(part, 4), word(part, 8));
        // Rings that nothing was written to may have been left as they were allocated.
        if u64::from(said) != depth && (written, said) != (0, 0) {
            let field = format!("{name}[{warp}].depth");
            return Err(Error {
                offset: at + 4,
                field,
                what: format!("{said}, where the header says {depth}"),
            });
        }
        let kept = index(depth.min(written.into()));
        let mut slots = part.get(16..).unwrap_or_default().chunks_exact(index(bytes));
        let mut entries: Vec<T> = slots.by_ref().take(kept).map(&entry).collect();
        let after = slots.next().map(&entry);
        entries.sort_by_key(&seq);
        let doubt = |offset: u64, field: &str, what: String| {
            Some(Error { offset: at + offset, field: format!("{name}[{warp}].{field}"), what })
        };
        let last = entries.last().map(&seq);
        // Writers count entries from 0 or from 1, and where the next goes within the ring or on and on.
        let wrong = if u64::from(next) >= depth && next > written {
            doubt(0, "write_idx", format!("{next}, in a ring of {depth} to which {written} were written"))
        } else if entries
            .iter()
            .zip(entries.iter().skip(1))
            .any(|(e, next)| seq(e).checked_add(1) != Some(seq(next)))
        {
            doubt(
                8,
                "total_writes",
                format!("{written}, but the numbers of its entries do not follow each other"),
            )
        } else if let Some(last) = last.filter(|n| *n != written && *n != written.wrapping_sub(1)) {
            doubt(8, "total_writes", format!("{written}, but its last entry has number {last}"))
        } else if last.is_some_and(|n| after.is_some_and(|e| n.checked_add(1) == Some(seq(&e)))) {
            doubt(8, "total_writes", format!("{written}, but there are more entries"))
        } else {
            None
        };
        Ok(Ring { written, entries, wrong })
    }

    /// These bytes of the unpacked file.
    fn take(&mut self, range: Range<u64>, field: &str) -> Result<&[u8], Error> {
        let Some(packed) = &mut self.packed else {
            let part = self.bytes.get(index(range.start)..index(range.end));
            return part.ok_or_else(|| Error {
                offset: range.start,
                field: field.into(),
                what: "cut off".into(),
            });
        };
        let wrong = |at: u64, what: String| Error { offset: at, field: field.into(), what };
        let mut skip = range.start.checked_sub(self.at).ok_or_else(|| {
            wrong(range.start, "lies before what was read last, and a packed file is read forwards".into())
        })?;
        while skip > 0 {
            let n = skip.min(STEP);
            fill(packed, &mut self.window, index(n))
                .map_err(|e| wrong(self.at, format!("when unpacked: {e}")))?;
            self.at += n;
            skip -= n;
        }
        let n = index(range.end - range.start);
        fill(packed, &mut self.window, n).map_err(|e| wrong(self.at, format!("when unpacked: {e}")))?;
        self.at = range.end;
        Ok(self.window.get(..n).unwrap_or_default())
    }
}

/// The next `n` bytes into the front of `window`.
fn fill(from: &mut impl Read, window: &mut Vec<u8>, n: usize) -> std::io::Result<()> {
    let mut at = 0;
    while at < n {
        let end = n.min(at + index(STEP));
        if window.len() < end {
            window.resize(end, 0);
        }
        from.read_exact(window.get_mut(at..end).unwrap_or_default())?;
        at = end;
    }
    Ok(())
}
