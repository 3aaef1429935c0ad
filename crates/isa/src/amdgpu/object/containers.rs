//! Offload bundles: code objects for several targets in one container, plain or compressed (Clang, "Clang
//! Offload Bundler").
//!
//! A plain bundle is `{ "__CLANG_OFFLOAD_BUNDLE__", u64 count }`, and for each entry `{ u64 offset, u64
//! size, u64 length, id }`. A compressed one is `{ "CCOB", u16 version, u16 method }`; from version 2 on its
//! size and then that of the bundle in it (in version 1 the latter alone), as u32, from version 3 on as u64;
//! `u64 hash`, and the compressed bundle.
//!
//! # Invariants
//! Any bytes are accepted. Of a compressed bundle, its table alone is decompressed.
//!
//! # Limitations
//! The hash is not verified. A compressed bundle of version 1, which does not store its size, ends at the
//! next bundle or at the end of the section.

use std::io::Read;
use std::ops::Range;

use flate2::read::ZlibDecoder;

use crate::image::Error;
use crate::image::little_endian::{u16_at, u32_at, u64_at};

/// Beginning of a plain bundle.
const PLAIN: &[u8; 24] = b"__CLANG_OFFLOAD_BUNDLE__";
/// Beginning of a compressed bundle.
const COMPRESSED: &[u8] = b"CCOB";
/// Maximum number of entries of a bundle.
const ENTRIES: u64 = 1024;
/// Maximum length of an entry's ID, bytes.
const ID: u64 = 256;
/// Alignment of bundles in a section.
pub const ALIGNMENT: usize = 4096;

/// An entry of a bundle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Kind and target, as `hipv4-amdgcn-amd-amdhsa--gfx942:xnack+`.
    pub id: String,
    /// Place in the bundle, bytes.
    pub place: Range<u64>,
}

/// How a bundle is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compression {
    /// One zlib stream.
    Zlib,
    /// One Zstandard frame.
    Zstd,
}

/// A compressed bundle.
#[derive(Clone, Copy, Debug)]
pub struct Compressed<'a> {
    /// How it is compressed.
    pub method: Compression,
    /// Size of the bundle in it, bytes.
    pub size: u64,
    /// The compressed bytes.
    pub stored: &'a [u8],
    /// Bytes of the header.
    header: usize,
}

/// Whether a bundle begins here.
pub fn begins(bytes: &[u8]) -> bool {
    bytes.starts_with(PLAIN) || bytes.starts_with(COMPRESSED)
}

/// Whether a compressed bundle begins here.
pub fn is_compressed(bytes: &[u8]) -> bool {
    bytes.starts_with(COMPRESSED)
}

/// Entries of a plain bundle, which has `size` bytes, and the offset in it where they end. `at` is the
/// offset in the file for errors.
///
/// # Errors
/// If the table is damaged, or an entry reaches out of the bundle, or lies in the table or in another entry:
/// so nested bundles hold no more than the bytes of their file.
pub fn entries(bundle: &mut dyn Read, size: u64, at: u64) -> Result<(Vec<Entry>, u64), Error> {
    let wrong = |what: String| Error { at, what };
    let cut = |_| wrong("the offload bundle is cut off in its table, or does not decompress".into());
    let mut magic = [0; PLAIN.len()];
    bundle.read_exact(&mut magic).map_err(cut)?;
    if &magic != PLAIN {
        return Err(wrong("the compressed offload bundle holds no bundle".into()));
    }
    let word = |bundle: &mut dyn Read| {
        let mut word = [0; 8];
        bundle.read_exact(&mut word).map_err(cut).map(|()| u64::from_le_bytes(word))
    };
    let count = word(bundle)?;
    if count > ENTRIES {
        return Err(wrong(format!("the offload bundle has {count} entries, more than {ENTRIES}")));
    }
    let (mut all, mut table) = (Vec::new(), PLAIN.len() as u64 + 8);
    for n in 0..count {
        let (from, bytes, length) = (word(bundle)?, word(bundle)?, word(bundle)?);
        if length > ID {
            return Err(wrong(format!("entry {n} of the offload bundle has an ID of {length} bytes")));
        }
        let mut id = Vec::new();
        bundle.take(length).read_to_end(&mut id).map_err(cut)?;
        let id = String::from_utf8_lossy(&id).into_owned();
        let to = from.checked_add(bytes).filter(|to| *to <= size);
        let to = to.ok_or_else(|| {
            wrong(format!("entry `{id}` ({bytes} bytes at offset {from}) reaches out of its offload bundle"))
        })?;
        table += 24 + length;
        all.push(Entry { id, place: from..to });
    }
    let mut places: Vec<&Entry> = all.iter().filter(|entry| !entry.place.is_empty()).collect();
    places.sort_by_key(|entry| entry.place.start);
    let mut end = table;
    for Entry { id, place } in places {
        if place.start < end {
            return Err(wrong(format!("entry `{id}` overlaps what is before it in its offload bundle")));
        }
        end = place.end;
    }
    Ok((all, end))
}

impl<'a> Compressed<'a> {
    /// Reads the header at the beginning of `bytes`. `at` is their offset in the file.
    ///
    /// # Errors
    /// If the version or the method is unknown, or the bundle is longer than what is there.
    pub fn read(bytes: &'a [u8], at: u64) -> Result<Compressed<'a>, Error> {
        let wrong = |offset: u64, what: String| Error { at: at + offset, what };
        let cut = || wrong(0, "the compressed offload bundle is cut off in its header".into());
        let version = u16_at(bytes, 4).ok_or_else(cut)?;
        let method = match u16_at(bytes, 6).ok_or_else(cut)? {
            0 => Compression::Zlib,
            1 => Compression::Zstd,
            n => return Err(wrong(6, format!("an offload bundle compressed by unknown method {n}"))),
        };
        let short = |at| u32_at(bytes, at).map(u64::from);
        let (whole, size, header) = match version {
            1 => (None, short(8), 20),
            2 => (short(8), short(12), 24),
            3 => (u64_at(bytes, 8), u64_at(bytes, 16), 32),
            n => return Err(wrong(4, format!("a compressed offload bundle of unknown version {n}"))),
        };
        let end = match whole {
            Some(whole) => usize::try_from(whole).ok(),
            None if version == 1 => Some(next(bytes)),
            None => None,
        };
        let stored = end
            .and_then(|end| bytes.get(header..end))
            .ok_or_else(|| wrong(8, "the compressed offload bundle is longer than what is there".into()))?;
        Ok(Compressed { method, size: size.ok_or_else(cut)?, stored, header })
    }

    /// Bytes that it takes in its file, header included.
    pub fn len(&self) -> usize {
        self.header + self.stored.len()
    }

    /// The bundle in it, decompressed as it is read.
    pub fn content(&self) -> Box<dyn Read + 'a> {
        match self.method {
            Compression::Zlib => Box::new(ZlibDecoder::new(self.stored)),
            Compression::Zstd => match zstd::stream::read::Decoder::with_buffer(self.stored) {
                Ok(decoder) => Box::new(decoder.single_frame()),
                Err(_) => Box::new(std::io::empty()),
            },
        }
    }
}

/// Where the next bundle of a section begins, or where the section ends.
fn next(bytes: &[u8]) -> usize {
    let places = (ALIGNMENT..bytes.len()).step_by(ALIGNMENT);
    places.into_iter().find(|at| bytes.get(*at..).is_some_and(begins)).unwrap_or(bytes.len())
}
