//! The header of a version 1 file, and where its sections lie.
//!
//! # Invariants
//! A [`Layout`] holds only sizes that fit: sections follow the header in order, do not overlap, and end
//! within the largest possible file.

use std::ops::Range;

use prlx_trace::Dim3;
use prlx_trace::Error;

/// The first eight bytes, as a little-endian number: on disk they read `....XLRP`.
pub const MAGIC: u64 = 0x5052_4C58_0000_0000;
/// Size of the header in bytes.
pub const HEADER: usize = 160;
/// Size in bytes of the head before a warp's events, and before the entries of a ring.
const HEAD: u64 = 16;
/// Size of a history entry in bytes.
pub(super) const HISTORY: u64 = 16;
/// Size of a snapshot in bytes.
pub(super) const SNAPSHOT: u64 = 288;
/// Maximum expansion of a zstd frame: four bytes can become a run of 128 KiB.
const MOST_PACKED: u64 = 1 << 15;

/// Flags of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(pub u32);

impl Flags {
    /// Events have 8 bytes, not 16.
    pub const COMPACT: u32 = 1;
    /// Everything after the header is one zstd frame.
    pub const PACKED: u32 = 2;
    /// The file has a history section.
    pub const HISTORY: u32 = 4;
    /// Events were sampled.
    pub const SAMPLED: u32 = 8;
    /// The file has a snapshot section.
    pub const SNAPSHOT: u32 = 16;

    /// Whether a bit is set.
    pub const fn has(self, bit: u32) -> bool {
        self.0 & bit != 0
    }
}

/// A version 1 header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// Flags that describe the contents.
    pub flags: Flags,
    /// A hash of the kernel's name, or a constant: writers do not agree.
    pub kernel_hash: u64,
    /// The kernel's name, padded with zeros.
    pub name: [u8; 64],
    /// Grid size in CTAs; zeros if the writer did not know it.
    pub grid: Dim3,
    /// CTA size in threads; zeros if the writer did not know it.
    pub block: Dim3,
    /// Number of warps of a CTA.
    pub warps_per_block: u32,
    /// Number of warps that have a part in the file.
    pub warps: u32,
    /// Maximum number of events of a warp.
    pub events_per_warp: u32,
    /// Time of writing, in seconds or microseconds; writers differ.
    pub timestamp: u64,
    /// The device's architecture: ten times its major number plus the minor one.
    pub arch: u32,
    /// Number of entries in the history ring of a warp.
    pub history_depth: u32,
    /// Offset of the histories; 0 if they follow the events.
    pub history_offset: u32,
    /// One of this many events was recorded; 0 and 1 mean all events.
    pub sample_rate: u32,
    /// Number of entries in the snapshot ring of a warp.
    pub snapshot_depth: u32,
    /// Offset of the snapshots; 0 if they follow everything else.
    pub snapshot_offset: u32,
}

impl Default for Header {
    fn default() -> Header {
        Header {
            flags: Flags(0),
            kernel_hash: 0,
            name: [0; 64],
            grid: Dim3::default(),
            block: Dim3::default(),
            warps_per_block: 0,
            warps: 0,
            events_per_warp: 0,
            timestamp: 0,
            arch: 0,
            history_depth: 0,
            history_offset: 0,
            sample_rate: 0,
            snapshot_depth: 0,
            snapshot_offset: 0,
        }
    }
}

/// A section with one part for each warp. The parts have equal sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Section {
    /// Offset of the section in the decompressed file.
    pub at: u64,
    /// Size of the part of one warp in bytes.
    pub stride: u64,
    /// Number of warps of the grid.
    pub warps: u32,
}

impl Section {
    /// Byte range of the parts of these warps.
    pub fn of(&self, warps: Range<u32>) -> Range<u64> {
        let at = |w: u32| self.at + u64::from(w.min(self.warps)) * self.stride;
        at(warps.start)..at(warps.end)
    }
    /// Offset of the end of the section.
    pub fn end(&self) -> u64 {
        self.of(0..self.warps).end
    }
}

/// Offsets of all sections in the decompressed file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Heads and events of the warps.
    pub events: Section,
    /// History rings of the warps.
    pub history: Option<Section>,
    /// Snapshot rings of the warps.
    pub snapshots: Option<Section>,
}

pub(super) fn error(offset: u64, field: &str, what: impl Into<String>) -> Error {
    Error { offset, field: format!("Header.{field}"), what: what.into() }
}

/// The 32-bit number at byte `at`, or 0 past the end.
pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b))
}

/// Where each field of the header lies: offset and name; tests and errors use the same.
mod at {
    pub const FLAGS: u64 = 12;
    pub const WARPS: u64 = 116;
    pub const EVENTS: u64 = 120;
    pub const HISTORY_DEPTH: u64 = 140;
    pub const HISTORY_OFFSET: u64 = 144;
    pub const SNAPSHOT_DEPTH: u64 = 152;
    pub const SNAPSHOT_OFFSET: u64 = 156;
}

impl Header {
    /// Reads the first 160 bytes of `file`.
    ///
    /// # Errors
    /// If they are not a header of version 1.
    pub fn read(file: &[u8]) -> Result<Header, Error> {
        let Some(b) = file.first_chunk::<HEADER>() else {
            return Err(error(file.len() as u64, "magic", format!("cut off: a header has {HEADER} bytes")));
        };
        let u32_at = |i: usize| word(b, i);
        let u64_at = |i: usize| u64::from(u32_at(i)) | u64::from(u32_at(i + 4)) << 32;
        let dim = |i: usize| Dim3 { x: u32_at(i), y: u32_at(i + 4), z: u32_at(i + 8) };
        if u64_at(0) != MAGIC {
            return Err(error(0, "magic", "no version 1 file of PRLX"));
        }
        if u32_at(8) != 1 {
            return Err(error(8, "version", format!("version {}, where 1 is read", u32_at(8))));
        }
        let mut name = [0; 64];
        name.copy_from_slice(&b[24..88]);
        Ok(Header {
            flags: Flags(u32_at(12)),
            kernel_hash: u64_at(16),
            name,
            grid: dim(88),
            block: dim(100),
            warps_per_block: u32_at(112),
            warps: u32_at(116),
            events_per_warp: u32_at(120),
            timestamp: u64_at(128),
            arch: u32_at(136),
            history_depth: u32_at(140),
            history_offset: u32_at(144),
            sample_rate: u32_at(148),
            snapshot_depth: u32_at(152),
            snapshot_offset: u32_at(156),
        })
    }

    /// The bytes of the header, as in a file.
    pub fn bytes(&self) -> [u8; HEADER] {
        let mut out = [0; HEADER];
        let mut put = |at: usize, bytes: &[u8]| {
            out.iter_mut().skip(at).zip(bytes).for_each(|(to, from)| *to = *from);
        };
        put(0, &MAGIC.to_le_bytes());
        put(8, &1u32.to_le_bytes());
        put(16, &self.kernel_hash.to_le_bytes());
        put(24, &self.name);
        put(128, &self.timestamp.to_le_bytes());
        let words = [
            (12, self.flags.0),
            (88, self.grid.x),
            (92, self.grid.y),
            (96, self.grid.z),
            (100, self.block.x),
            (104, self.block.y),
            (108, self.block.z),
            (112, self.warps_per_block),
            (116, self.warps),
            (120, self.events_per_warp),
            (136, self.arch),
            (140, self.history_depth),
            (144, self.history_offset),
            (148, self.sample_rate),
            (152, self.snapshot_depth),
            (156, self.snapshot_offset),
        ];
        for (at, word) in words {
            put(at, &word.to_le_bytes());
        }
        out
    }

    /// Name of the kernel. Bytes that are not UTF-8 are replaced.
    pub fn kernel(&self) -> String {
        let name = self.name.split(|b| *b == 0).next().unwrap_or_default();
        String::from_utf8_lossy(name).into_owned()
    }

    /// Sets the name of the kernel, truncated to 63 bytes, and its hash.
    pub fn set_kernel(&mut self, name: &str) {
        self.name = [0; 64];
        self.name.iter_mut().zip(name.bytes().take(63)).for_each(|(to, from)| *to = from);
        self.kernel_hash = super::kernel_hash(name);
    }

    /// Size of an event in bytes.
    pub fn event_bytes(&self) -> u64 {
        if self.flags.has(Flags::COMPACT) { 8 } else { 16 }
    }

    /// Whether the events were sampled.
    pub fn sampled(&self) -> bool {
        self.flags.has(Flags::SAMPLED) || self.sample_rate > 1
    }

    /// Name of the device's architecture.
    pub fn device(&self) -> String {
        match self.arch {
            0 => "unknown device".into(),
            a if a < 0x1000 => format!("sm_{a}"),
            a => format!("gfx{a:x}"),
        }
    }

    /// The layout of a file of `stored` bytes.
    ///
    /// # Errors
    /// If sizes or offsets do not fit the file or each other.
    pub fn layout(&self, stored: u64) -> Result<Layout, Error> {
        let known = Flags::COMPACT | Flags::PACKED | Flags::HISTORY | Flags::SAMPLED | Flags::SNAPSHOT;
        if self.flags.0 & !known != 0 {
            return Err(error(at::FLAGS, "flags", format!("{:#x}: unknown bits", self.flags.0)));
        }
        let limit = if self.flags.has(Flags::PACKED) {
            (stored - (HEADER as u64).min(stored)).saturating_mul(MOST_PACKED).saturating_add(HEADER as u64)
        } else {
            stored
        };
        let section =
            |at: u64, entries: u32, bytes: u64, (offset, field): (u64, &str)| -> Result<Section, Error> {
                let stride = HEAD + u64::from(entries) * bytes;
                let end = stride.checked_mul(self.warps.into()).and_then(|n| n.checked_add(at));
                match end.filter(|e| *e <= limit) {
                    Some(_) => Ok(Section { at, stride, warps: self.warps }),
                    None => {
                        let needs =
                            end.map_or("more bytes than can be counted".into(), |e| format!("{e} bytes"));
                        let what = format!(
                            "{entries} for each of {} warps need {needs}; the file can hold {limit}",
                            self.warps
                        );
                        Err(error(offset, field, what))
                    }
                }
            };
        let events = section(
            HEADER as u64,
            self.events_per_warp,
            self.event_bytes(),
            (at::EVENTS, "events_per_warp"),
        )?;
        let mut end = events.end();
        let align = self.event_bytes();
        let begin = |offset: u32, end: u64, (place, field): (u64, &str)| -> Result<u64, Error> {
            match u64::from(offset) {
                0 => Ok(end),
                o if o < events.end() => {
                    Err(error(place, field, format!("{o} lies before the events' end at {}", events.end())))
                }
                o if !o.is_multiple_of(align) => {
                    Err(error(place, field, format!("{o} is no multiple of {align}")))
                }
                o => Ok(o),
            }
        };
        let mut history = None;
        if self.flags.has(Flags::HISTORY) && self.history_depth > 0 {
            let from = begin(self.history_offset, end, (at::HISTORY_OFFSET, "history_section_offset"))?;
            let s = section(from, self.history_depth, HISTORY, (at::HISTORY_DEPTH, "history_depth"))?;
            end = s.end();
            history = Some(s);
        }
        let mut snapshots = None;
        if self.flags.has(Flags::SNAPSHOT) && self.snapshot_depth > 0 {
            let from = begin(self.snapshot_offset, end, (at::SNAPSHOT_OFFSET, "snapshot_section_offset"))?;
            let s = section(from, self.snapshot_depth, SNAPSHOT, (at::SNAPSHOT_DEPTH, "snapshot_depth"))?;
            if let Some(h) = history
                && s.at < h.end()
                && h.at < s.end()
            {
                let what = format!("{} lies within the histories, {} to {}", s.at, h.at, h.end());
                return Err(error(at::SNAPSHOT_OFFSET, "snapshot_section_offset", what));
            }
            snapshots = Some(s);
        }
        if self.warps == 0 {
            return Err(error(at::WARPS, "total_warp_slots", "no warps"));
        }
        // Writers have set the flag for events of 16 bytes.
        let wider = end + u64::from(self.warps) * u64::from(self.events_per_warp) * 8;
        if self.flags.has(Flags::COMPACT) && !self.flags.has(Flags::PACKED) && wider > end && stored == wider
        {
            let what = "it says that events have 8 bytes, but the file's size is that of events of 16 bytes";
            return Err(error(at::FLAGS, "flags", what));
        }
        Ok(Layout { events, history, snapshots })
    }
}
