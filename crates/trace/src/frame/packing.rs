//! Packing of frames: compression with zstd, and limits for readers.
//!
//! # Invariants
//! [`unpack`] never holds more than the size that was announced. What [`pack`] makes, readers accept.

use std::cell::RefCell;
use std::io::Read;

use xxhash_rust::xxh3::xxh3_64;
use zstd::bulk::Compressor;

use crate::narrow::index;

/// Maximum size of an unpacked frame in bytes. It bounds what a reader allocates for one frame.
pub const MOST: u64 = 1 << 30;
/// Compression level of zstd. A program that is recorded may wait for the compression. Level 3 takes half as
/// long again and packs events 3 % better, decisions hardly.
const LEVEL: i32 = 1;
/// Maximum size in bytes of a frame that takes `packed` bytes in the file: 128 MiB plus 256 times `packed`,
/// at most [`MOST`]. A small file then never needs much memory. [`pack`] pads frames that pack better.
pub fn most(packed: usize) -> u64 {
    (packed as u64).saturating_mul(RATIO).saturating_add(128 << 20).min(MOST)
}

/// Maximum number of unpacked bytes for each packed byte, beyond the first 128 MiB.
const RATIO: u64 = 256;

/// Head of a zstd frame that decoders skip (RFC 8878, section 3.1.2); its length follows in four bytes.
const SKIPPED: [u8; 4] = 0x184D_2A50u32.to_le_bytes();

/// Memory that a thread uses for one frame after the other: fresh memory costs more time than what is written
/// into it.
#[derive(Default)]
struct Packer {
    /// With its tables, which it would clear and allocate each time.
    compressor: Option<Compressor<'static>>,
    unpacked: Vec<u8>,
    packed: Vec<u8>,
}

/// Maximum number of bytes that a thread keeps of each list of its [`Packer`].
const KEPT: usize = 16 << 20;

thread_local! {
    static PACKER: RefCell<Packer> = RefCell::default();
}

/// A frame in the form that files have.
pub struct PackedFrame {
    /// The compressed bytes.
    pub bytes: Vec<u8>,
    /// Size of the unpacked frame in bytes.
    pub size: u64,
    /// XXH3-64 of the unpacked frame without clocks, never 0.
    pub digest: u64,
}

/// Calls `f` with the packer of the thread.
fn with_packer<T>(f: impl Fn(&mut Packer) -> T) -> T {
    // A thread that is ending has none any more.
    PACKER.try_with(|packer| f(&mut packer.borrow_mut())).unwrap_or_else(|_| f(&mut Packer::default()))
}

/// Packs a frame that `put` appends to memory. It returns how many of the bytes do not depend on clocks.
pub fn pack_frame(put: impl Fn(&mut Vec<u8>) -> usize) -> std::io::Result<PackedFrame> {
    with_packer(|packer| {
        let mut unpacked = std::mem::take(&mut packer.unpacked);
        unpacked.clear();
        let lasting = put(&mut unpacked);
        let digest = xxh3_64(unpacked.get(..lasting).unwrap_or_default()).max(1);
        let size = unpacked.len() as u64;
        let packed = match size {
            0..=MOST => packer.pack(&unpacked),
            _ => Err(std::io::Error::other(format!("it takes {size} bytes; a frame has at most {MOST}"))),
        };
        unpacked.shrink_to(KEPT);
        packer.unpacked = unpacked;
        Ok(PackedFrame { bytes: packed?, size, digest })
    })
}

/// Compresses bytes with zstd, and appends zeros that decoders skip if readers would refuse so much content.
pub fn pack(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    with_packer(|packer| packer.pack(bytes))
}

impl Packer {
    fn pack(&mut self, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
        self.packed.clear();
        self.packed.reserve(zstd::zstd_safe::compress_bound(bytes.len()));
        let compressor = match &mut self.compressor {
            Some(compressor) => compressor,
            none => none.insert(Compressor::new(LEVEL)?),
        };
        compressor.compress_to_buffer(bytes, &mut self.packed)?;
        let over = (bytes.len() as u64).saturating_sub(most(self.packed.len()));
        if over > 0 {
            let zeros = u32::try_from(over.div_ceil(RATIO)).map_err(std::io::Error::other)?;
            self.packed.extend(SKIPPED);
            self.packed.extend(zeros.to_le_bytes());
            self.packed.resize(self.packed.len() + zeros as usize, 0);
        }
        let packed = self.packed.as_slice().to_vec();
        self.packed.shrink_to(KEPT);
        Ok(packed)
    }
}

/// Number of bytes that are unpacked at once.
const PART: usize = 64 << 10;

/// Unpacks what must be `size` bytes; no more than that is ever held. Long runs of zeros, which most planes
/// of a column are, take no memory: the system gives out zeroed pages only where something is written.
pub fn unpack(packed: &[u8], size: u64) -> Result<Vec<u8>, String> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(packed).map_err(|e| e.to_string())?;
    let mut out = vec![0; index(size)];
    let mut part = Vec::with_capacity(PART.min(out.len() + 1));
    let mut parts = out.chunks_mut(PART);
    let mut read = 0;
    loop {
        let to = parts.next().unwrap_or_default();
        part.clear();
        // One byte more than there may be.
        let most = to.len().max(1) as u64;
        decoder
            .by_ref()
            .take(most)
            .read_to_end(&mut part)
            .map_err(|e| format!("the packed bytes are damaged: {e}"))?;
        read += part.len() as u64;
        if part.len() < to.len() || to.is_empty() {
            break;
        }
        if part.chunks(64).any(|bytes| bytes.iter().fold(0, |all, byte| all | byte) != 0) {
            to.copy_from_slice(&part);
        }
    }
    if read != size {
        return Err(format!("{size} bytes were packed, {read} come out"));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::{PART, most, pack, unpack};

    #[test]
    fn zeros_between_other_bytes_come_back() {
        for size in [0, 1, PART - 1, PART, PART + 1, 3 * PART, 4 * PART + 100] {
            for ones in [vec![], vec![0], vec![PART - 1], vec![PART], vec![2 * PART + 7, 4 * PART + 99]] {
                let mut bytes = vec![0; size];
                ones.into_iter().filter(|at| *at < size).for_each(|at| bytes[at] = 1);
                let packed = pack(&bytes).unwrap();
                assert!(unpack(&packed, size as u64).unwrap() == bytes, "{size}");
                for wrong in [size + 1, size + PART, size.saturating_sub(1), size.saturating_sub(PART)] {
                    assert_eq!(unpack(&packed, wrong as u64).is_ok(), wrong == size, "{wrong} of {size}");
                }
            }
        }
    }

    #[test]
    fn what_packs_too_well_is_made_longer_so_that_readers_accept_it() {
        let zeros = vec![0; 200 << 20];
        let packed = pack(&zeros).unwrap();
        assert!(most(packed.len()) >= zeros.len() as u64, "{} bytes", packed.len());
        assert!(unpack(&packed, zeros.len() as u64).unwrap() == zeros);
        assert_eq!(most(33_000), (33_000 << 8) + (128 << 20));
    }
}
