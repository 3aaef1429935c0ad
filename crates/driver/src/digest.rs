//! Digests of warps and of memory.
//!
//! Equal digests of two warps mean equal decoded streams, so equal warps need no decoding. Devices compute
//! the digest of memory as well ([`crate::cuda::pointee_digest`]).

use std::collections::BTreeSet;
use std::fmt::Write;

use prlx_trace::kernel::{Arg, Function, Module, Step};
use prlx_trace::launch::{Lanes, Launch};
use prlx_trace::{FuncId, Level, WarpId, WarpStream};
use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

use crate::random::{GOLDEN, mix};

/// The part of a module that decoding the launches of a kernel depends on: the sites and, at the levels
/// `path` and `fingerprint`, which elide decisions that can be reconstructed, the decode program. Source
/// locations and texts are not included, so a moved line changes no digest.
///
/// The text is the Debug form of these types. It changes only when the types change, and then digests should
/// change, too.
#[derive(Debug)]
pub struct Basis {
    sites: String,
    /// Text of each function, and the parameter bytes that its slices read: offset and size.
    functions: Vec<(String, BTreeSet<(u32, u8)>)>,
}

impl Basis {
    /// The basis for launches of `kernel`, at any level.
    pub fn new(module: &Module, kernel: FuncId) -> Basis {
        let mut sites = String::new();
        for site in &module.sites {
            let _ = write!(sites, "{:?} {:?} {:?} {:?};", site.function, site.block, site.class, site.source);
        }
        let mut functions = Vec::new();
        for id in reachable(module, kernel) {
            let Some(function) = module.functions.get(id.index()) else { continue };
            let mut text = format!("{:?}: {:?};", id, function.skipped.is_some());
            for block in &function.blocks {
                let _ = write!(text, "{:?} {:?} {:?};", block.steps, block.end, block.in_loop);
            }
            for l in &function.loops {
                let _ = write!(text, "{:?} {:?};", l.header, l.blocks);
            }
            functions.push((text, params(function)));
        }
        Basis { sites, functions }
    }

    /// Digest of everything that decoding a warp of the launch reads: the basis, the launch's shape, and the
    /// parameters that slices use.
    pub fn digest(&self, launch: &Launch) -> u64 {
        let mut hash = Xxh3::new();
        hash.update(&[launch.level.code(), launch.warp_size.into()]);
        hash.update(self.sites.as_bytes());
        if matches!(launch.level, Level::Path | Level::Fingerprint) {
            hash.update(format!("{} {} {:?};", launch.grid, launch.block, launch.kernel).as_bytes());
            for (text, params) in &self.functions {
                hash.update(text.as_bytes());
                for (offset, size) in params {
                    let bytes =
                        launch.params.get(*offset as usize..).map(|b| &b[..b.len().min((*size).into())]);
                    hash.update(format!("{offset} {size} {bytes:?};").as_bytes());
                }
            }
        }
        hash.digest()
    }
}

/// Functions that can be called from `kernel`.
fn reachable(module: &Module, kernel: FuncId) -> BTreeSet<FuncId> {
    let (mut all, mut open) = (BTreeSet::from([kernel]), vec![kernel]);
    while let Some(function) = open.pop().and_then(|id| module.functions.get(id.index())) {
        for step in function.blocks.iter().flat_map(|b| &b.steps) {
            if let Step::Call { function, .. } = step
                && all.insert(*function)
            {
                open.push(*function);
            }
        }
    }
    all
}

/// Parameter bytes that a function's slices read: offset and size.
fn params(function: &Function) -> BTreeSet<(u32, u8)> {
    let steps = function.blocks.iter().flat_map(|b| &b.steps);
    let args = steps.filter_map(|s| if let Step::Let { args, .. } = s { Some(args) } else { None }).flatten();
    args.filter_map(|a| if let Arg::Param { offset, size } = a { Some((*offset, *size)) } else { None })
        .collect()
}

/// Digest of one warp's streams at level `path`: where the words of each lane end, and the words. `bytes` is
/// memory to use.
pub fn path(base: u64, warp: WarpId, (ends, words): (&[u32], &[u32]), bytes: &mut Vec<u8>) -> u64 {
    bytes.clear();
    // The warp's position in the grid is an input of its slices.
    bytes.extend_from_slice(&warp.0.to_le_bytes());
    for numbers in [ends, words] {
        let start = bytes.len();
        bytes.resize(start + 8 * numbers.len(), 0);
        let to = bytes.get_mut(start..).unwrap_or_default().as_chunks_mut().0;
        to.iter_mut().zip(numbers).for_each(|(to, n)| *to = u64::from(*n).to_le_bytes());
    }
    xxh3_64_with_seed(bytes, base).max(1)
}

/// Digest of one warp's streams. Clocks are not included, because two runs never agree on them. `bytes` is
/// memory to use.
pub fn warp(base: u64, stream: &WarpStream, bytes: &mut Vec<u8>) -> u64 {
    // Hashing all bytes at once is four times as fast as word by word.
    bytes.clear();
    let mut put = |x: u64| bytes.extend_from_slice(&x.to_le_bytes());
    // The warp's position in the grid is an input of its slices.
    put(stream.warp.0);
    match &stream.lanes {
        Lanes::Path { words, ends } => return path(base, stream.warp, (ends, words), bytes),
        Lanes::Fingerprint { checkpoints, ends, hashes } => {
            ends.iter().for_each(|e| put((*e).into()));
            checkpoints.iter().chain(hashes.as_flattened()).for_each(|c| put(*c));
        }
        Lanes::Events(events) => {
            for e in events {
                put(e.site.0.into());
                put(e.mask.0);
                put(e.value);
            }
        }
        Lanes::Operands { records, ends } => {
            ends.iter().for_each(|e| put((*e).into()));
            for r in records {
                put(u64::from(r.visit) << 32 | u64::from(r.site.0));
                put(r.values[0]);
                put(r.values[1]);
            }
        }
    }
    // 0 means that a warp has no digest.
    xxh3_64_with_seed(bytes, base).max(1)
}

/// Digest of memory. It is the same on every device, however many threads add the words and in whatever
/// order.
///
/// The bytes are 64-bit little-endian words, with zeros after the last byte. Word i is XORed with its key `(i
/// + 1) *` [`GOLDEN`]. One sum adds the product of the halves of each result, the other sum adds the results.
pub fn memory(bytes: &[u8]) -> u64 {
    let mut sums = [0u64; 2];
    let mut key = 0u64;
    for part in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        key = key.wrapping_add(GOLDEN);
        let x = u64::from_le_bytes(word) ^ key;
        sums[0] = sums[0].wrapping_add((x & u64::from(u32::MAX)) * (x >> 32));
        sums[1] = sums[1].wrapping_add(x);
    }
    concluded(sums, bytes.len() as u64)
}

/// Digest of `bytes` bytes with these two sums.
pub fn concluded(sums: [u64; 2], bytes: u64) -> u64 {
    mix(sums[0] ^ mix(sums[1].wrapping_add(bytes.wrapping_mul(GOLDEN))))
}

#[cfg(test)]
mod tests {
    use super::memory;

    #[test]
    fn every_byte_and_its_place_counts() {
        let plain: Vec<u8> = (0..1000u32).map(|i| ((i * i) >> 3) as u8).collect();
        let mut all = std::collections::BTreeSet::from([memory(&plain)]);
        for i in 0..plain.len() {
            for bit in 0..8 {
                let mut other = plain.clone();
                other[i] ^= 1 << bit;
                assert!(all.insert(memory(&other)), "byte {i} bit {bit}");
            }
            // Shorter, and two words that change places.
            assert!(all.insert(memory(&plain[..i])), "{i} bytes");
            let (a, b) = (i / 8 * 8, (i * 7 + 8) % 125 * 8);
            let mut other = plain.clone();
            (0..8).for_each(|k| other.swap(a + k, b + k));
            assert!(i % 8 != 0 || other == plain || all.insert(memory(&other)), "words {a} {b}");
        }
        // Zeros behind the end are not nothing.
        let lengths: Vec<u64> = (0..100).map(|n| memory(&vec![0; n])).collect();
        assert_eq!(lengths.iter().collect::<std::collections::BTreeSet<_>>().len(), 100);
        // The value itself is part of the format.
        assert_eq!(memory(&plain), 0xb337_298a_bda2_858f);
    }
}
