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
use super::little_endian::number;

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
    number::<4>(bytes, 0) == Some(MAGIC.into())
}

/// Entries of the container at the beginning of `bytes`, and the container's length. `at` is the offset of
/// `bytes` in the file.
///
/// # Errors
/// If an entry reaches beyond the container.
pub fn entries(bytes: &[u8], at: u64) -> Result<(Vec<Entry<'_>>, usize), Error> {
    let wrong = |offset: usize, what: &str| Error { at: at + offset as u64, what: what.into() };
    let header = (number::<2>(bytes, 6), number::<8>(bytes, 8));
    let (Some(head), Some(size)) = header else {
        return Err(wrong(0, "the fatbin is cut off in its header"));
    };
    let head = head as usize;
    let end =
        usize::try_from(size).ok().and_then(|size| size.checked_add(head)).filter(|end| *end <= bytes.len());
    let end = end.ok_or_else(|| wrong(8, "the fatbin is longer than what is there"))?;
    let (mut all, mut from) = (Vec::new(), head.max(16));
    while end.saturating_sub(from) >= HEADER {
        let rest = &bytes[from..end];
        let (entry, size) =
            entry(rest, at + from as u64).ok_or_else(|| wrong(from, "an entry reaches out of its fatbin"))?;
        all.push(entry);
        from += size;
    }
    Ok((all, end))
}

/// The entry at the beginning of `bytes`, and its length.
fn entry(bytes: &[u8], at: u64) -> Option<(Entry<'_>, usize)> {
    let word = |at| number::<4>(bytes, at).map(|n| n as usize);
    let header = word(4).filter(|h| *h >= HEADER)?;
    let padded = usize::try_from(number::<8>(bytes, 8)?).ok()?;
    let whole = bytes.get(..header.checked_add(padded)?)?;
    let flags = number::<8>(bytes, 40)?;
    let compression = match flags {
        f if f & LZ4 != 0 => Compression::Lz4,
        f if f & ZSTD != 0 => Compression::Zstd,
        _ => Compression::None,
    };
    let payload = &whole[header..];
    let (stored, size) = match compression {
        Compression::None => (payload, payload.len() as u64),
        _ => (payload.get(..word(16)?)?, number::<8>(bytes, 56)?),
    };
    let text = |at: usize, size: usize| {
        let text = at.checked_add(size).and_then(|end| whole.get(at..end)).unwrap_or_default();
        String::from_utf8_lossy(text.split(|b| *b == 0).next().unwrap_or_default()).trim().to_owned()
    };
    let ptx = number::<2>(bytes, 0)? == u64::from(PTX);
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
        number: word(28)? as u32,
        suffix,
        options,
        name: text(word(32)?, word(36)?),
        compression,
        stored,
        size,
    };
    Some((entry, whole.len()))
}
