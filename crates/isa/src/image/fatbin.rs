//! Fatbins: images for several targets in one container, as nvcc and clang embed them in programs.
//!
//! A container is `{ u32 magic, u16 version, u16 header size, u64 size }`, followed by entries. An entry is
//! `{ u16 kind, u16 version, u32 header size, u64 padded size, u32 compressed size, u32 options at, u16
//! minor, u16 major, u32 target, u32 name at, u32 name size, u64 flags, u64 0, u64 decompressed size }`,
//! followed by its payload. Offsets are relative to the entry. The format is not documented; the facts here
//! are what nvcc 12.8 to 13.4 writes.
//!
//! # Invariants
//! Any bytes are accepted. Payloads are not copied before they are asked for.

use super::compression::Compression;
use super::error::Error;
use super::little_endian::{u16_at, u32_at, u64_at};

/// Magic number at the beginning of a container.
pub const MAGIC: u32 = 0xBA55_ED50;
const HEADER: usize = 64;
const PTX: u16 = 1;
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
const ARCH_ONLY: u64 = 0x10_0000;
const FAMILY: u64 = 0x20_0000;

/// One entry of a container.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// Offset in the file, bytes.
    pub at: u64,
    /// Whether the payload is PTX; otherwise it is machine code.
    pub ptx: bool,
    /// Number of the target, as `90` of `sm_90a`.
    pub number: u32,
    /// Suffix of the target, `a` or `f`.
    pub suffix: Option<char>,
    /// Assembler options for PTX.
    pub options: String,
    /// Name of the source; empty if it is not stored.
    pub name: String,
    /// Compression of the payload.
    pub compression: Compression,
    /// Payload as stored.
    pub stored: &'a [u8],
    /// Size of the decompressed payload, bytes.
    pub size: u64,
}

/// Whether a container begins here.
pub fn begins(bytes: &[u8]) -> bool {
    u32_at(bytes, 0) == Some(MAGIC)
}

/// Entries of the container at the beginning of `bytes`, and the container's length. `at` is the offset of
/// `bytes` in the file.
///
/// # Errors
/// If an entry reaches beyond the container.
pub fn entries(bytes: &[u8], at: u64) -> Result<(Vec<Entry<'_>>, usize), Error> {
    let wrong = |offset: usize, what: &str| Error { at: at + offset as u64, what: what.into() };
    let header = (u16_at(bytes, 6), u64_at(bytes, 8));
    let (Some(head), Some(size)) = header else {
        return Err(wrong(0, "the fatbin is cut off in its header"));
    };
    let head = usize::from(head);
    let end =
        usize::try_from(size).ok().and_then(|size| size.checked_add(head)).filter(|end| *end <= bytes.len());
    let end = end.ok_or_else(|| wrong(8, "the fatbin is longer than what is there"))?;
    let (mut all, mut from) = (Vec::new(), head.max(16));
    while let Some(rest) = bytes.get(from..end).filter(|rest| rest.len() >= HEADER) {
        let (entry, size) =
            entry(rest, at + from as u64).ok_or_else(|| wrong(from, "an entry reaches out of its fatbin"))?;
        all.push(entry);
        from += size;
    }
    Ok((all, end))
}

/// The entry at the beginning of `bytes`, and its length.
fn entry(bytes: &[u8], at: u64) -> Option<(Entry<'_>, usize)> {
    let word = |at| u32_at(bytes, at).and_then(|n| usize::try_from(n).ok());
    let header = word(4).filter(|h| *h >= HEADER)?;
    let padded = usize::try_from(u64_at(bytes, 8)?).ok()?;
    let whole = bytes.get(..header.checked_add(padded)?)?;
    let flags = u64_at(bytes, 40)?;
    let compression = match flags {
        f if f & LZ4 != 0 => Compression::Lz4,
        f if f & ZSTD != 0 => Compression::Zstd,
        _ => Compression::None,
    };
    let payload = whole.get(header..)?;
    let (stored, size) = match compression {
        Compression::None => (payload, payload.len() as u64),
        _ => (payload.get(..word(16)?)?, u64_at(bytes, 56)?),
    };
    let text = |at: usize, size: usize| {
        let text = at.checked_add(size).and_then(|end| whole.get(at..end)).unwrap_or_default();
        String::from_utf8_lossy(text.split(|b| *b == 0).next().unwrap_or_default()).trim().to_owned()
    };
    let ptx = u16_at(bytes, 0)? == PTX;
    // The options field holds the position and length of the options, relative to the entry. For machine code
    // it holds no text.
    let options = match word(20)? {
        place if ptx && place != 0 => match (word(place), word(place.saturating_add(4))) {
            (Some(at), Some(size)) => text(at, size),
            _ => String::new(),
        },
        _ => String::new(),
    };
    let suffix = match flags {
        f if f & ARCH_ONLY != 0 => Some('a'),
        f if f & FAMILY != 0 => Some('f'),
        _ => None,
    };
    let entry = Entry {
        at,
        ptx,
        number: u32_at(bytes, 28)?,
        suffix,
        options,
        name: text(word(32)?, word(36)?),
        compression,
        stored,
        size,
    };
    Some((entry, whole.len()))
}
