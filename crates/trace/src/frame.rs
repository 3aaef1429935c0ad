//! Frames: the streams of a few hundred warps, in columns, compressed with zstd.
//!
//! A decompressed frame starts with four lists for its warps: index of the warp in the launch, kind of stream
//! ([`Kind`]), number of lanes, and elements per lane. Columns follow. A column of n numbers of w bytes is w
//! planes of n bytes, the lowest bytes first. The elements of lanes lie row by row, as the device wrote them.
//! Each is XORed with the one of the lane before it in its row, so lanes with equal elements leave zeros.
//!
//! # Invariants
//! Reading never panics, terminates, and allocates in proportion to the frame's bytes. A frame must use all
//! of its bytes.

use std::cell::RefCell;
use std::io::Read;

use zstd::bulk::Compressor;

use crate::codec::{Codec, Reader, put_number};
use crate::ids::{LaneMask, SiteId};
use crate::launch::{Event, Lanes, OperandRecord, WarpInfo, WarpStream};
use crate::narrow::index;
use crate::{Error, Level};

/// Maximum size of an unpacked frame in bytes. It bounds what a reader allocates for one frame.
pub const MOST: u64 = 1 << 30;
/// Compression level of zstd: its default, since higher levels pack streams hardly better.
const LEVEL: i32 = 3;
/// Maximum number of warps in a frame. A frame ends at this limit or at [`ELEMENTS`].
pub const WARPS: usize = 256;
/// Number of elements at which a frame ends. The last warp of a frame may exceed it.
pub const ELEMENTS: u64 = 1 << 20;

/// Maximum size in bytes of a frame that takes `packed` bytes in the file: 128 MiB plus 256 times `packed`,
/// at most [`MOST`]. A small file then never needs much memory. [`pack`] pads frames that pack better.
pub fn most(packed: usize) -> u64 {
    (packed as u64).saturating_mul(RATIO).saturating_add(128 << 20).min(MOST)
}

/// Maximum number of unpacked bytes for each packed byte, beyond the first 128 MiB.
const RATIO: u64 = 256;

/// Head of a zstd frame that decoders skip (RFC 8878, section 3.1.2); its length follows in four bytes.
const SKIPPED: [u8; 4] = 0x184D_2A50u32.to_le_bytes();

/// The level at which a stream was recorded.
fn kind(lanes: &Lanes) -> Level {
    match lanes {
        Lanes::Path { .. } => Level::Path,
        Lanes::Fingerprint { .. } => Level::Fingerprint,
        Lanes::Events(_) => Level::Events,
        Lanes::Operands { .. } => Level::Operands,
    }
}

/// A column that is being written: planes of the lowest byte of each number, of the next byte of each, and so
/// on.
struct Column<'a, const N: usize> {
    planes: [&'a mut [u8]; N],
    filled: usize,
}

impl<const N: usize> Column<'_, N> {
    /// Appends a column of `n` numbers, which are 0 until they are written.
    fn of(out: &mut Vec<u8>, n: usize) -> Column<'_, N> {
        let start = out.len();
        out.resize(start + n * N, 0);
        let mut rest = out.get_mut(start..).unwrap_or_default();
        let planes = std::array::from_fn(|_| {
            let (plane, behind) = std::mem::take(&mut rest).split_at_mut(n);
            rest = behind;
            plane
        });
        Column { planes, filled: 0 }
    }
    /// Writes the next number.
    fn push(&mut self, value: [u8; N]) {
        for (plane, byte) in self.planes.iter_mut().zip(value) {
            plane.get_mut(self.filled).into_iter().for_each(|at| *at = byte);
        }
        self.filled += 1;
    }
}

/// Appends a column of these numbers.
fn put_column<const N: usize>(out: &mut Vec<u8>, values: impl ExactSizeIterator<Item = [u8; N]>) {
    let mut column = Column::of(out, values.len());
    values.for_each(|value| column.push(value));
}

fn take_column<const N: usize>(from: &mut Reader<'_>, n: usize) -> Result<Vec<[u8; N]>, Error> {
    let bytes = n.checked_mul(N).ok_or_else(|| from.error("the column is too long"))?;
    let planes = from.bytes(bytes)?;
    let byte = |i: usize| planes.get(i).copied().unwrap_or_default();
    Ok((0..n).map(|i| std::array::from_fn(|plane| byte(plane * n + i))).collect())
}

/// The bytes of a column of `n` elements: the first bytes of all, then the second ones, and so on.
fn take_planes<'a, const N: usize>(from: &mut Reader<'a>, n: usize) -> Result<[&'a [u8]; N], Error> {
    let bytes = n.checked_mul(N).ok_or_else(|| from.error("the column is too long"))?;
    let planes = from.bytes(bytes)?;
    Ok(std::array::from_fn(|plane| planes.get(plane * n..(plane + 1) * n).unwrap_or_default()))
}

/// Element `i` of a column; zeros beyond its end.
fn at<const N: usize>(planes: &[&[u8]; N], i: usize) -> [u8; N] {
    planes.map(|plane| plane.get(i).copied().unwrap_or_default())
}

/// The numbers of all lanes of all warps, row by row.
struct Rows<'a, E> {
    /// By warp: where each lane's elements end.
    ends: &'a [E],
}

impl<E: AsRef<[u32]>> Rows<'_, E> {
    /// Calls `f` with the warp, the element's index in the warp's list, and whether it is the first of its
    /// row.
    fn each(&self, mut f: impl FnMut(usize, usize, bool)) {
        // Lanes that still have elements, with the next of them and the end.
        let mut open: Vec<(u32, u32)> = Vec::new();
        for (warp, ends) in self.ends.iter().enumerate() {
            let ends = ends.as_ref();
            let each = ends.first().map_or(0, |end| *end as usize);
            if ends.iter().zip(1..).all(|(end, lanes)| *end as usize == each * lanes) {
                // Most warps have as many elements in each lane.
                let lanes = ends.len();
                (0..each).for_each(|row| (0..lanes).for_each(|l| f(warp, l * each + row, l == 0)));
                continue;
            }
            let starts = std::iter::once(0).chain(ends.iter().copied());
            open.extend(starts.zip(ends.iter().copied()).filter(|(a, b)| a < b));
            while !open.is_empty() {
                for (i, (next, _)) in open.iter_mut().enumerate() {
                    f(warp, *next as usize, i == 0);
                    *next += 1;
                }
                open.retain(|(next, end)| next < end);
            }
        }
    }
    fn put<T, const N: usize>(&self, out: &mut Vec<u8>, lists: &[&[T]], get: impl Fn(&T) -> [u8; N]) {
        let mut column = Column::of(out, lists.iter().map(|list| list.len()).sum());
        let mut before = [0; N];
        self.each(|warp, i, first| {
            let value = lists.get(warp).and_then(|list| list.get(i)).map_or([0; N], &get);
            column.push(if first { value } else { xor(value, before) });
            before = value;
        });
    }
    /// Reads a column, and calls `set` with each element of `lists`, which has one list for each warp.
    fn take<T, const N: usize>(
        &self,
        from: &mut Reader<'_>,
        lists: &mut [Vec<T>],
        set: impl Fn(&mut T, [u8; N]),
    ) -> Result<(), Error> {
        let n = self.ends.iter().map(|e| e.as_ref().last().map_or(0, |e| *e as usize)).sum();
        let column = take_column::<N>(from, n)?;
        let mut values = column.into_iter();
        let mut before = [0; N];
        self.each(|warp, i, first| {
            let stored = values.next().unwrap_or([0; N]);
            before = if first { stored } else { xor(stored, before) };
            if let Some(element) = lists.get_mut(warp).and_then(|list| list.get_mut(i)) {
                set(element, before);
            }
        });
        Ok(())
    }
}

fn xor<const N: usize>(mut a: [u8; N], b: [u8; N]) -> [u8; N] {
    a.iter_mut().zip(b).for_each(|(a, b)| *a ^= b);
    a
}

/// Appends the streams of warps to `out`; `first` is the index of the first in the launch's list.
pub fn put<'a>(out: &mut Vec<u8>, first: usize, warps: &'a [WarpStream]) {
    put_number(out, first as u64);
    put_number(out, warps.len() as u64);
    for warp in warps {
        kind(&warp.lanes).put(out);
    }
    let of = |level| warps.iter().map(|w| &w.lanes).filter(move |l| kind(l) == level);
    let ends = |out: &mut Vec<u8>, level| -> Vec<&[u32]> {
        let ends: Vec<&[u32]> = of(level).map(ends).collect();
        put_ends(out, &ends);
        ends
    };
    let path = ends(out, Level::Path);
    let words = |l: &'a Lanes| -> &'a [u32] { if let Lanes::Path { words, .. } = l { words } else { &[] } };
    let words: Vec<&[u32]> = of(Level::Path).map(words).collect();
    let (n, lanes) = (words.iter().map(|words| words.len()).sum(), path.iter().map(|ends| ends.len()).sum());
    if !put_bits(out, (n, lanes), words.iter().copied().flatten().copied()) {
        Rows { ends: &path }.put(out, &words, |word| word.to_le_bytes());
    }
    let fingerprint = ends(out, Level::Fingerprint);
    let parts = |l: &'a Lanes| match l {
        Lanes::Fingerprint { checkpoints, hashes, .. } => (checkpoints.as_slice(), hashes.as_slice()),
        _ => Default::default(),
    };
    let (checkpoints, hashes): (Vec<&[u64]>, Vec<&[[u64; 4]]>) = of(Level::Fingerprint).map(parts).unzip();
    Rows { ends: &fingerprint }.put(out, &checkpoints, |checkpoint| checkpoint.to_le_bytes());
    hashes.iter().for_each(|h| put_number(out, h.len() as u64));
    for hash in 0..4 {
        let hashes = hashes.iter().copied().flatten();
        let column: Vec<[u8; 8]> =
            hashes.map(|h| h.get(hash).copied().unwrap_or_default().to_le_bytes()).collect();
        put_column(out, differences(&column));
    }
    let operands = ends(out, Level::Operands);
    let records = |l: &'a Lanes| -> &'a [OperandRecord] {
        if let Lanes::Operands { records, .. } = l { records } else { &[] }
    };
    let records: Vec<&[OperandRecord]> = of(Level::Operands).map(records).collect();
    let rows = Rows { ends: &operands };
    rows.put(out, &records, |record| record.site.0.to_le_bytes());
    rows.put(out, &records, |record| record.visit.to_le_bytes());
    rows.put(out, &records, |record| record.values[0].to_le_bytes());
    rows.put(out, &records, |record| record.values[1].to_le_bytes());
    let events =
        warps.iter().filter_map(|w| if let Lanes::Events(e) = &w.lanes { Some(e.as_slice()) } else { None });
    put_events(out, &events.collect::<Vec<_>>());
}

/// Maximum number of decisions of words that are written as bits: those of last words of one byte.
const BITS: u32 = 7;

/// Appends how many decisions the `n` words have, if that is the same number for all and there are at most as
/// many words as lanes; then a plane of bits for each decision, the last one first. Otherwise appends 0, and
/// returns false. With more words than lanes, few bytes would stand for much memory.
fn put_bits(out: &mut Vec<u8>, (n, lanes): (usize, usize), words: impl Iterator<Item = u32> + Clone) -> bool {
    let decisions =
        words.clone().next().and_then(u32::checked_ilog2).filter(|bits| (1..=BITS).contains(bits));
    let decisions = decisions.filter(|bits| n <= lanes && words.clone().all(|word| word >> bits == 1));
    put_number(out, decisions.unwrap_or_default().into());
    let Some(decisions) = decisions else { return false };
    let start = out.len();
    let plane = n.div_ceil(8);
    out.resize(start + plane * decisions as usize, 0);
    let mut words = words;
    for group in 0..plane {
        let eight = std::array::from_fn(|_| words.next().map_or(0, |word| word.to_le_bytes()[0]));
        for (bit, byte) in (0..decisions as usize).zip(transposed(eight)) {
            out.get_mut(start + bit * plane + group).into_iter().for_each(|at| *at = byte);
        }
    }
    true
}

/// The bits of eight bytes: byte i of the result has bit i of each of them, that of the first one lowest.
/// (Warren, Hacker's Delight, section 7-3.)
fn transposed(bytes: [u8; 8]) -> [u8; 8] {
    let mut x = u64::from_le_bytes(bytes);
    for (shift, mask) in [(7, 0x00AA_00AA_00AA_00AA), (14, 0x0000_CCCC_0000_CCCC), (28, 0xF0F0_F0F0)] {
        let swapped = (x ^ x >> shift) & mask;
        x ^= swapped ^ swapped << shift;
    }
    x.to_le_bytes()
}

/// Reads `n` words of what [`put_bits`] wrote; `None` if it wrote none.
fn take_bits(from: &mut Reader<'_>, n: usize, lanes: usize) -> Result<Option<Vec<u32>>, Error> {
    let decisions = if from.version < 16 { 0 } else { from.number()? };
    if decisions == 0 {
        return Ok(None);
    }
    if decisions > BITS.into() || n > lanes {
        return Err(from.error(format!("{n} words of {decisions} decisions for {lanes} lanes")));
    }
    let plane = n.div_ceil(8);
    let planes = from.bytes(plane * index(decisions))?;
    let planes: Vec<&[u8]> = planes.chunks_exact(plane.max(1)).collect();
    let bit =
        |plane: &&[u8], i: usize| u32::from(plane.get(i / 8).copied().unwrap_or_default() >> (i % 8) & 1);
    let word = |i: usize| planes.iter().rev().fold(1, |word, plane| word << 1 | bit(plane, i));
    Ok(Some((0..n).map(word).collect()))
}

/// What [`put`] appends for warps of level `path` with `lanes` lanes each. `ends` has where the words of each
/// lane end among those of its warp, warp by warp, and `words` all words.
pub fn put_paths(out: &mut Vec<u8>, first: usize, lanes: usize, ends: &[u32], words: &[u32]) {
    let ends: Vec<&[u32]> = ends.chunks(lanes.max(1)).collect();
    put_number(out, first as u64);
    put_number(out, ends.len() as u64);
    ends.iter().for_each(|_| Level::Path.put(out));
    put_ends(out, &ends);
    if put_bits(out, (words.len(), ends.len() * lanes), words.iter().copied()) {
        return;
    }
    let mut rest = words;
    let mut of_warp = |ends: &&[u32]| {
        let n = ends.last().map_or(0, |end| *end as usize).min(rest.len());
        let (own, behind) = rest.split_at(n);
        rest = behind;
        own
    };
    let words: Vec<&[u32]> = ends.iter().map(&mut of_warp).collect();
    Rows { ends: &ends }.put(out, &words, |word| word.to_le_bytes());
}

fn ends(lanes: &Lanes) -> &[u32] {
    match lanes {
        Lanes::Path { ends, .. } | Lanes::Fingerprint { ends, .. } | Lanes::Operands { ends, .. } => ends,
        Lanes::Events(_) => &[],
    }
}

/// The number of elements of each lane, if it is the same for all lanes of all warps.
fn same_count(warps: &[&[u32]]) -> Option<u32> {
    let count = *warps.first()?.first()?;
    let alike =
        |ends: &&[u32]| ends.iter().zip(1..).all(|(end, lanes)| u64::from(*end) == u64::from(count) * lanes);
    (warps.len() <= WARPS && warps.iter().all(alike)).then_some(count)
}

/// Numbers of lanes; then elements by lane: a number less 1, if all lanes have as many, or 0 and a column.
fn put_ends(out: &mut Vec<u8>, warps: &[&[u32]]) {
    warps.iter().for_each(|ends| put_number(out, ends.len() as u64));
    if warps.is_empty() {
        return;
    }
    let same = same_count(warps);
    put_number(out, same.map_or(0, |count| u64::from(count) + 1));
    if same.is_some() {
        return;
    }
    let mut column = Column::of(out, warps.iter().map(|ends| ends.len()).sum());
    let mut before = 0u32;
    for ends in warps {
        let starts = std::iter::once(0).chain(ends.iter().copied());
        for count in starts.zip(*ends).map(|(from, to)| to.wrapping_sub(from)) {
            column.push((count ^ before).to_le_bytes());
            before = count;
        }
    }
}

fn take_ends(from: &mut Reader<'_>, warps: usize) -> Result<Vec<Vec<u32>>, Error> {
    let lane_count = |from: &mut Reader<'_>| match from.number()? {
        n @ 0..=64 => Ok(index(n)),
        _ => Err(from.error("a warp has more than 64 lanes")),
    };
    let lanes = (0..warps).map(|_| lane_count(from)).collect::<Result<Vec<usize>, Error>>()?;
    let same = if from.version < 17 || warps == 0 { 0 } else { from.number()? };
    // A frame of many warps takes bytes for each, so that few bytes never stand for much memory.
    if same > 0 && warps > WARPS {
        return Err(from.error(format!("{warps} warps have as many elements")));
    }
    let counts = match same {
        0 => sums(take_column::<4>(from, lanes.iter().sum())?).into_iter().map(u32::from_le_bytes).collect(),
        _ => {
            let count =
                u32::try_from(same - 1).map_err(|_| from.error("a lane has more than 2^32 elements"))?;
            vec![count; lanes.iter().sum()]
        }
    };
    let mut counts = counts.into_iter();
    let mut all = Vec::with_capacity(warps);
    for n in lanes {
        let mut end = 0u32;
        let mut ends = Vec::with_capacity(n);
        for count in counts.by_ref().take(n) {
            end = end.checked_add(count).ok_or_else(|| from.error("a warp has more than 2^32 elements"))?;
            ends.push(end);
        }
        all.push(ends);
    }
    Ok(all)
}

/// Each value XORed with the one before.
fn differences<const N: usize>(values: &[[u8; N]]) -> impl ExactSizeIterator<Item = [u8; N]> {
    let mut before = [0; N];
    values.iter().map(move |value| xor(*value, std::mem::replace(&mut before, *value)))
}

fn sums<const N: usize>(mut values: Vec<[u8; N]>) -> Vec<[u8; N]> {
    let mut before = [0; N];
    for value in &mut values {
        *value = xor(*value, before);
        before = *value;
    }
    values
}

fn put_events(out: &mut Vec<u8>, warps: &[&[Event]]) {
    warps.iter().for_each(|events| put_number(out, events.len() as u64));
    let all: Vec<Event> = warps.iter().copied().flatten().copied().collect();
    put_column(out, all.iter().map(|e| e.site.0.to_le_bytes()));
    put_column(out, differences(&all.iter().map(|e| e.mask.0.to_le_bytes()).collect::<Vec<_>>()));
    put_column(out, all.iter().map(|e| e.value.to_le_bytes()));
    let mut before = 0;
    let clocks = all.iter().map(|e| e.clock.wrapping_sub(std::mem::replace(&mut before, e.clock)));
    put_column(out, clocks.map(u32::to_le_bytes));
}

fn take_events(from: &mut Reader<'_>, warps: usize) -> Result<Vec<Vec<Event>>, Error> {
    let counts = (0..warps).map(|_| from.count(1)).collect::<Result<Vec<usize>, Error>>()?;
    let n = counts.iter().sum();
    // Events are made from the bytes of the file at once: columns of a long stream would take as much again.
    let sites = take_planes::<4>(from, n)?;
    let masks = take_planes::<8>(from, n)?;
    let values = take_planes::<8>(from, n)?;
    let clocks = take_planes::<4>(from, n)?;
    let (mut clock, mut mask) = (0u32, [0; 8]);
    let mut all = (0..n).map(|i| {
        clock = clock.wrapping_add(u32::from_le_bytes(at(&clocks, i)));
        mask = xor(at(&masks, i), mask);
        Event {
            site: SiteId(u32::from_le_bytes(at(&sites, i))),
            mask: LaneMask(u64::from_le_bytes(mask)),
            value: u64::from_le_bytes(at(&values, i)),
            clock,
        }
    });
    Ok(counts.into_iter().map(|n| all.by_ref().take(n).collect()).collect())
}

/// Reads the streams back. `infos` are those of the frame's warps, the first of which has index `first`;
/// sites must be less than `sites`.
pub fn parse(
    bytes: &[u8],
    version: u32,
    first: usize,
    infos: &[WarpInfo],
    sites: u32,
) -> Result<Vec<WarpStream>, Error> {
    let mut from = Reader::new(bytes, version);
    if from.number()? != first as u64 || from.number()? != infos.len() as u64 {
        return Err(from.error("the frame is that of other warps"));
    }
    let kinds = infos.iter().map(|_| Level::take(&mut from)).collect::<Result<Vec<_>, Error>>()?;
    if kinds.contains(&Level::Probe) {
        return Err(from.error("a probe program has no streams"));
    }
    let mut of_level = |level: Level| {
        let n = kinds.iter().filter(|k| **k == level).count();
        let all = take_ends(&mut from, n).map_err(|e| e.within(level.name()))?;
        let lanes = take_level(&mut from, level, all, sites).map_err(|e| e.within(level.name()))?;
        Ok(lanes.into_iter())
    };
    let mut paths = of_level(Level::Path)?;
    let mut fingerprints = of_level(Level::Fingerprint)?;
    let mut operands = of_level(Level::Operands)?;
    let n = kinds.iter().filter(|k| **k == Level::Events).count();
    let events = take_events(&mut from, n).map_err(|e| e.within("events"))?;
    if events.iter().flatten().any(|e| e.site.0 >= sites) {
        return Err(from.error("an event is of a site that there is not").within("events"));
    }
    let mut events = events.into_iter().map(Lanes::Events);
    if from.left() > 0 {
        return Err(from.error("bytes too many"));
    }
    let warps = infos.iter().zip(&kinds).map(|(info, kind)| {
        let lanes = match kind {
            Level::Path => paths.next(),
            Level::Fingerprint => fingerprints.next(),
            Level::Events => events.next(),
            Level::Operands => operands.next(),
            Level::Probe => None,
        };
        let lanes = lanes.unwrap_or_default();
        WarpStream { warp: info.warp, digest: info.digest, dropped: info.dropped, lanes }
    });
    Ok(warps.collect())
}

fn take_level(
    from: &mut Reader<'_>,
    level: Level,
    all: Vec<Vec<u32>>,
    sites: u32,
) -> Result<Vec<Lanes>, Error> {
    // What the elements need is checked before room is made for them.
    let n: u64 = all.iter().map(|e| e.last().map_or(0, |e| u64::from(*e))).sum();
    let each = if level == Level::Path { 4 } else { 8 };
    let check = |from: &Reader<'_>| match n.saturating_mul(each) > from.left() as u64 {
        true => Err(from.error(format!("{n} elements are announced, {} bytes are left", from.left()))),
        false => Ok(()),
    };
    if level != Level::Path {
        check(from)?;
    }
    let rows = Rows { ends: &all };
    let sizes = || all.iter().map(|e| e.last().map_or(0, |e| *e as usize));
    match level {
        Level::Path => {
            let lanes = all.iter().map(Vec::len).sum();
            let words: Vec<Vec<u32>> = match take_bits(from, index(n), lanes)? {
                Some(words) => {
                    let mut words = words.into_iter();
                    sizes().map(|n| words.by_ref().take(n).collect()).collect()
                }
                None => {
                    check(from)?;
                    let mut words: Vec<Vec<u32>> = sizes().map(|n| vec![0; n]).collect();
                    rows.take(from, &mut words, |word, bytes| *word = u32::from_le_bytes(bytes))?;
                    words
                }
            };
            Ok(words.into_iter().zip(all).map(|(words, ends)| Lanes::Path { words, ends }).collect())
        }
        Level::Fingerprint => {
            let mut checkpoints: Vec<Vec<u64>> = sizes().map(|n| vec![0; n]).collect();
            rows.take(from, &mut checkpoints, |checkpoint, bytes| *checkpoint = u64::from_le_bytes(bytes))?;
            let counts = all.iter().map(|_| from.count(1)).collect::<Result<Vec<usize>, Error>>()?;
            let n = counts.iter().sum();
            let mut column = || Ok(sums(take_column::<8>(from, n)?).into_iter().map(u64::from_le_bytes));
            let columns = column()?.zip(column()?).zip(column()?).zip(column()?);
            let mut hashes = columns.map(|(((control, loads), stores), sync)| [control, loads, stores, sync]);
            let hashes: Vec<Vec<[u64; 4]>> =
                counts.iter().map(|n| hashes.by_ref().take(*n).collect()).collect();
            let warps = checkpoints.into_iter().zip(all).zip(hashes);
            Ok(warps
                .map(|((checkpoints, ends), hashes)| Lanes::Fingerprint { checkpoints, ends, hashes })
                .collect())
        }
        _ => {
            let mut records: Vec<Vec<OperandRecord>> =
                sizes().map(|n| vec![OperandRecord::default(); n]).collect();
            rows.take(from, &mut records, |r, bytes| r.site = SiteId(u32::from_le_bytes(bytes)))?;
            rows.take(from, &mut records, |r, bytes| r.visit = u32::from_le_bytes(bytes))?;
            rows.take(from, &mut records, |r, bytes| r.values[0] = u64::from_le_bytes(bytes))?;
            rows.take(from, &mut records, |r, bytes| r.values[1] = u64::from_le_bytes(bytes))?;
            if records.iter().flatten().any(|r| r.site.0 >= sites) {
                return Err(from.error("a record is of a site that there is not"));
            }
            Ok(records
                .into_iter()
                .zip(all)
                .map(|(records, ends)| Lanes::Operands { records, ends })
                .collect())
        }
    }
}

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

/// Calls `f` with the packer of the thread.
fn with_packer<T>(f: impl Fn(&mut Packer) -> T) -> T {
    // A thread that is ending has none any more.
    PACKER.try_with(|packer| f(&mut packer.borrow_mut())).unwrap_or_else(|_| f(&mut Packer::default()))
}

/// Packs a frame that `put` appends to memory. Returns the size of the unpacked frame, and its packed bytes.
pub fn pack_frame(put: impl Fn(&mut Vec<u8>)) -> std::io::Result<(u64, Vec<u8>)> {
    with_packer(|packer| {
        let mut unpacked = std::mem::take(&mut packer.unpacked);
        unpacked.clear();
        put(&mut unpacked);
        let size = unpacked.len() as u64;
        let packed = match size {
            0..=MOST => packer.pack(&unpacked),
            _ => Err(std::io::Error::other(format!("it takes {size} bytes; a frame has at most {MOST}"))),
        };
        unpacked.shrink_to(KEPT);
        packer.unpacked = unpacked;
        Ok((size, packed?))
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

/// Unpacks what must be `size` bytes; no more than that is ever held.
pub fn unpack(packed: &[u8], size: u64) -> Result<Vec<u8>, String> {
    let decoder = zstd::stream::read::Decoder::with_buffer(packed).map_err(|e| e.to_string())?;
    let mut out = Vec::new();
    decoder
        .take(size.saturating_add(1))
        .read_to_end(&mut out)
        .map_err(|e| format!("the packed bytes are damaged: {e}"))?;
    if out.len() as u64 != size {
        return Err(format!("{size} bytes were packed, {} come out", out.len()));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::{most, pack, parse, put, unpack};
    use crate::WarpId;
    use crate::codec::VERSION;
    use crate::launch::{Lanes, WarpInfo, WarpStream};

    #[test]
    fn words_with_as_many_decisions_are_bits() {
        let words = |warp: u32, decisions: u32| -> Vec<u32> {
            (0..32).map(|lane| 1 << decisions | (lane * 5 + warp) & ((1 << decisions) - 1)).collect()
        };
        let stream = |warp: u32, words: Vec<u32>| {
            let ends = (1..).zip(&words).map(|(end, _)| end).collect();
            WarpStream {
                warp: WarpId(warp.into()),
                lanes: Lanes::Path { words, ends },
                ..WarpStream::default()
            }
        };
        let infos: Vec<WarpInfo> =
            (0..3).map(|warp| WarpInfo { warp: WarpId(warp), ..WarpInfo::default() }).collect();
        let size = |warps: &[WarpStream]| {
            let mut bytes = Vec::new();
            put(&mut bytes, 0, warps);
            assert_eq!(parse(&bytes, VERSION, 0, &infos, 1).unwrap(), warps);
            bytes.len()
        };
        // Two numbers, three levels, three numbers of lanes, the count, and the number of decisions.
        let rest = 2 + 3 + 3 + 1 + 1;
        for decisions in 1..=7 {
            let warps = [0, 1, 2].map(|warp| stream(warp, words(warp, decisions)));
            assert_eq!(size(&warps), rest + 12 * decisions as usize);
        }
        // Other words take their bytes: with eight decisions, with other numbers of decisions, with more
        // words than lanes.
        assert_eq!(size(&[0, 1, 2].map(|warp| stream(warp, words(warp, 8)))), rest + 4 * 96);
        assert_eq!(size(&[0, 1, 2].map(|warp| stream(warp, words(warp, 2 + warp)))), rest + 4 * 96);
        let twice = WarpStream {
            lanes: Lanes::Path { words: words(0, 3), ends: (1..=16).map(|lane| 2 * lane).collect() },
            ..WarpStream::default()
        };
        let warps = [twice, stream(1, words(1, 3)), stream(2, words(2, 3))];
        // One warp has other lanes, so that the counts are a column.
        assert_eq!(size(&warps), rest + 4 * 80 + 4 * 96);
        // A file cannot announce more words than lanes.
        let mut bytes = Vec::new();
        put(&mut bytes, 0, &warps);
        bytes[2 + 3 + 3 + 1 + 4 * 80] = 3;
        assert!(parse(&bytes, VERSION, 0, &infos, 1).unwrap_err().what.contains("96 words of 3 decisions"));
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
