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

use crate::codec::{Codec, Reader, put_number};
use crate::device::{Finals, LastWord};
use crate::ids::SiteId;
use crate::launch::{Lanes, OperandRecord, WarpInfo, WarpStream};
use crate::narrow::index;
use crate::{Error, Level};

mod columns;
mod events;
pub mod packing;

use columns::{Column, at, put_column, sums, take_column, take_planes, xor};
use events::{put_events, take_events};

/// Maximum number of warps in a frame. A frame ends at this limit or at [`ELEMENTS`].
pub const WARPS: usize = 256;
/// Number of elements at which a frame ends. The last warp of a frame may exceed it.
pub const ELEMENTS: u64 = 1 << 20;

/// The level at which a stream was recorded.
fn kind(lanes: &Lanes) -> Level {
    match lanes {
        Lanes::Path { .. } => Level::Path,
        Lanes::Fingerprint { .. } => Level::Fingerprint,
        Lanes::Events(_) => Level::Events,
        Lanes::Operands { .. } => Level::Operands,
    }
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
    /// The words of level `path`.
    fn put_words(&self, out: &mut Vec<u8>, lists: &[&[u32]]) {
        let lanes = self.ends.iter().map(|ends| ends.as_ref().len()).sum();
        match put_width(out, lanes, || lists.iter().copied().flatten().copied()) {
            (_, true) => {}
            (1, _) => self.put(out, lists, |word| [word.to_le_bytes()[0]]),
            (2, _) => self.put(out, lists, |word| [word.to_le_bytes()[0], word.to_le_bytes()[1]]),
            _ => self.put(out, lists, |word| word.to_le_bytes()),
        }
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

/// Appends the streams of warps to `out`; `first` is the index of the first in the launch's list. Returns how
/// many bytes of `out` do not depend on clocks.
pub fn put<'a>(out: &mut Vec<u8>, first: usize, warps: &'a [WarpStream]) -> usize {
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
    Rows { ends: &path }.put_words(out, &words);
    let fingerprint = ends(out, Level::Fingerprint);
    let parts = |l: &'a Lanes| match l {
        Lanes::Fingerprint { checkpoints, hashes, .. } => (checkpoints.as_slice(), hashes.as_slice()),
        _ => Default::default(),
    };
    let (checkpoints, hashes): (Vec<&[u64]>, Vec<&[[u64; 4]]>) = of(Level::Fingerprint).map(parts).unzip();
    Rows { ends: &fingerprint }.put(out, &checkpoints, |checkpoint| checkpoint.to_le_bytes());
    hashes.iter().for_each(|h| put_number(out, h.len() as u64));
    for entry in 0..hashes.iter().map(|h| h.len()).max().unwrap_or_default() {
        let of_warps: Vec<&[u64; 4]> = hashes.iter().filter_map(|h| h.get(entry)).collect();
        for number in 0..4 {
            let number = |entry: &&[u64; 4]| entry.get(number).copied().unwrap_or_default().to_le_bytes();
            put_column(out, of_warps.iter().map(number));
        }
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
    put_events(out, &events.collect::<Vec<_>>())
}

/// Maximum number of decisions of words that are written as bits: those of last words of one byte.
const BITS: u32 = 7;

/// Appends the words of `lanes` lanes as bits ([`put_bits`]), or 0 and how many bytes hold any of them: 1, 2
/// or 4. Returns the bytes, and whether the words are written.
fn put_width<I: Iterator<Item = u32>>(out: &mut Vec<u8>, lanes: usize, words: impl Fn() -> I) -> (u32, bool) {
    let bytes = match words().fold(0, |all, word| all | word) {
        0..0x100 => 1,
        0x100..0x1_0000 => 2,
        _ => 4,
    };
    if bytes == 1 {
        let words: Vec<u8> = words().map(|word| word.to_le_bytes()[0]).collect();
        if put_bits(out, lanes, &words) {
            return (bytes, true);
        }
    } else {
        put_number(out, 0);
    }
    put_number(out, bytes.into());
    (bytes, false)
}

/// Appends how many decisions the words have, if that is the same number for all and there are at most as
/// many words as lanes; then a plane of bits for each decision, the last one first. Otherwise appends 0, and
/// returns false. With more words than lanes, few bytes would stand for much memory.
fn put_bits(out: &mut Vec<u8>, lanes: usize, words: &[u8]) -> bool {
    let decisions =
        words.first().and_then(|word| word.checked_ilog2()).filter(|bits| (1..=BITS).contains(bits));
    let alike = |bits: &u32| words.len() <= lanes && words.iter().all(|word| word >> bits == 1);
    let decisions = decisions.filter(alike);
    put_number(out, decisions.unwrap_or_default().into());
    let Some(decisions) = decisions else { return false };
    (0..decisions).for_each(|bit| put_bit_plane(out, words, bit));
    true
}

/// Appends bit `bit` of all bytes, eight in a byte, from the lowest.
fn put_bit_plane(out: &mut Vec<u8>, bytes: &[u8], bit: u32) {
    let (groups, rest) = bytes.as_chunks::<8>();
    out.extend(groups.iter().map(|group| bit_of_each(*group, bit)));
    if !rest.is_empty() {
        let mut last = [0; 8];
        last.iter_mut().zip(rest).for_each(|(to, byte)| *to = *byte);
        out.push(bit_of_each(last, bit));
    }
}

/// Bit `bit` of eight bytes, that of the first one lowest.
fn bit_of_each(bytes: [u8; 8], bit: u32) -> u8 {
    // Bit 8i of the first factor and bit 56 - 7i of the second give bit 56 + i, and no other pair adds to it.
    let bits = (u64::from_le_bytes(bytes) >> bit & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080);
    let [.., top] = bits.to_le_bytes();
    top
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
    let word = |i: usize| planes.iter().rev().fold(1, |word, plane| word << 1 | bit_of_plane(plane, i));
    Ok(Some((0..n).map(word).collect()))
}

/// Bit `i` of what [`put_bit_plane`] wrote.
fn bit_of_plane(plane: &[u8], i: usize) -> u32 {
    u32::from(plane.get(i / 8).copied().unwrap_or_default() >> (i % 8) & 1)
}

/// What [`put`] appends for `warps` warps of level `path` with `lanes` lanes, 32 or 64, that wrote nothing
/// but the last words of their lanes, which are `finals`. Returns the number of words.
pub fn put_last_words(
    out: &mut Vec<u8>,
    first: usize,
    (warps, lanes): (usize, usize),
    last_word: LastWord,
    finals: &[u8],
) -> usize {
    put_number(out, first as u64);
    put_number(out, warps as u64);
    (0..warps).for_each(|_| Level::Path.put(out));
    (0..warps).for_each(|_| put_number(out, lanes as u64));
    // Most launches have words of one byte in all lanes.
    if last_word == LastWord::Byte && !finals.contains(&0) {
        put_counts(out, warps, Counts::Same(1));
        if !put_bits(out, finals.len(), finals) {
            put_number(out, 1);
            for warp in finals.chunks(lanes.max(1)) {
                out.extend(warp.first());
                out.extend(warp.iter().skip(1).zip(warp).map(|(word, before)| word ^ before));
            }
        }
        return finals.len();
    }
    let by_lane = last_word.read(finals);
    let words: Vec<u32> = by_lane.iter().copied().filter(|word| *word != 0).collect();
    match words.len() {
        0 => put_counts(out, warps, Counts::Same(0)),
        n if n == warps * lanes => put_counts(out, warps, Counts::Same(1)),
        _ => {
            put_counts(out, warps, Counts::Bits);
            let present: Vec<u8> = by_lane.iter().map(|word| u8::from(*word != 0)).collect();
            put_bit_plane(out, &present, 0);
        }
    }
    let (bytes, written) = put_width(out, warps * lanes, || words.iter().copied());
    if !written {
        let mut differences = Vec::with_capacity(words.len());
        for warp in by_lane.chunks(lanes.max(1)) {
            let mut before = 0;
            for word in warp.iter().filter(|word| **word != 0) {
                differences.push(word ^ before);
                before = *word;
            }
        }
        for shift in (0..bytes).map(|byte| 8 * byte) {
            out.extend(differences.iter().map(|word| (word >> shift).to_le_bytes()[0]));
        }
    }
    words.len()
}

/// What [`put`] appends for `warps` warps of level `print` without checkpoints. `finals` holds what each of
/// them wrote at its end.
pub fn put_prints(out: &mut Vec<u8>, first: usize, warps: usize, layout: Finals, finals: &[u8]) {
    let (lanes, entries) = (layout.warp_size.lanes(), 1 + layout.warp_size.lanes() / 32);
    put_number(out, first as u64);
    put_number(out, warps as u64);
    (0..warps).for_each(|_| Level::Fingerprint.put(out));
    // Of the warps of level `path`, of which there are none.
    Rows::<&[u32]> { ends: &[] }.put_words(out, &[]);
    (0..warps).for_each(|_| put_number(out, lanes));
    put_counts(out, warps, Counts::Same(0));
    (0..warps).for_each(|_| put_number(out, entries));
    let each = index(layout.bytes()).max(1);
    let mut put_planes = |used: bool, at: u64, planes: u64| {
        for at in (at..at + planes).map(index) {
            match used {
                true => out.extend(finals.chunks_exact(each).take(warps).filter_map(|warp| warp.get(at))),
                false => out.resize(out.len() + warps, 0),
            }
        }
    };
    for (i, used) in layout.used.into_iter().enumerate() {
        put_planes(used, layout.hash(i), 4);
        put_planes(false, 0, 4);
    }
    put_planes(true, layout.signatures(), lanes);
}

/// What [`put`] appends for warps of level `path` with `lanes` lanes each. `ends` has where the words of each
/// lane end among those of its warp, warp by warp, and `words` all words.
pub fn put_paths(out: &mut Vec<u8>, first: usize, lanes: usize, ends: &[u32], words: &[u32]) {
    let ends: Vec<&[u32]> = ends.chunks(lanes.max(1)).collect();
    put_number(out, first as u64);
    put_number(out, ends.len() as u64);
    ends.iter().for_each(|_| Level::Path.put(out));
    put_ends(out, &ends);
    let mut rest = words;
    let mut of_warp = |ends: &&[u32]| {
        let n = ends.last().map_or(0, |end| *end as usize).min(rest.len());
        let (own, behind) = rest.split_at(n);
        rest = behind;
        own
    };
    let words: Vec<&[u32]> = ends.iter().map(&mut of_warp).collect();
    Rows { ends: &ends }.put_words(out, &words);
}

fn ends(lanes: &Lanes) -> &[u32] {
    match lanes {
        Lanes::Path { ends, .. } | Lanes::Fingerprint { ends, .. } | Lanes::Operands { ends, .. } => ends,
        Lanes::Events(_) => &[],
    }
}

/// How the numbers of elements of all lanes are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counts {
    /// As a column.
    Column,
    /// As a bit for each lane: each has one element or none.
    Bits,
    /// All lanes have as many.
    Same(u32),
}

/// Appends how the numbers of elements follow, if there are warps.
fn put_counts(out: &mut Vec<u8>, warps: usize, counts: Counts) {
    if warps > 0 {
        put_number(
            out,
            match counts {
                Counts::Column => 0,
                Counts::Bits => 1,
                Counts::Same(count) => u64::from(count) + 2,
            },
        );
    }
}

/// Reads what [`put_counts`] appended for so many warps.
fn take_counts(from: &mut Reader<'_>, warps: usize) -> Result<Counts, Error> {
    let number = if from.version < 17 || warps == 0 { 0 } else { from.number()? };
    // A frame of many warps takes bytes for each, so that few bytes never stand for much memory.
    if number > 0 && warps > WARPS {
        return Err(from.error(format!("{warps} warps have as many elements")));
    }
    // Version 17 has no bits.
    let number = if from.version == 17 && number > 0 { number.saturating_add(1) } else { number };
    match number {
        0 => Ok(Counts::Column),
        1 => Ok(Counts::Bits),
        n => u32::try_from(n - 2)
            .map(Counts::Same)
            .map_err(|_| from.error("a lane has more than 2^32 elements")),
    }
}

/// The numbers of elements of all lanes, warp by warp.
fn lane_counts<'a>(warps: &'a [&[u32]]) -> impl Iterator<Item = u32> + 'a {
    warps.iter().flat_map(|ends| {
        let starts = std::iter::once(0).chain(ends.iter().copied());
        starts.zip(*ends).map(|(from, to)| to.wrapping_sub(from))
    })
}

/// How the numbers of elements of these lanes are written.
fn counts_of(warps: &[&[u32]]) -> Counts {
    let counts = || lane_counts(warps);
    let Some(first) = counts().next().filter(|_| warps.len() <= WARPS) else { return Counts::Column };
    match () {
        () if counts().all(|count| count == first) => Counts::Same(first),
        () if counts().all(|count| count <= 1) => Counts::Bits,
        () => Counts::Column,
    }
}

/// Numbers of lanes; then numbers of elements by lane.
fn put_ends(out: &mut Vec<u8>, warps: &[&[u32]]) {
    warps.iter().for_each(|ends| put_number(out, ends.len() as u64));
    let counts = counts_of(warps);
    put_counts(out, warps.len(), counts);
    if counts == Counts::Bits {
        let present: Vec<u8> = lane_counts(warps).map(|count| u8::from(count > 0)).collect();
        put_bit_plane(out, &present, 0);
    }
    if counts != Counts::Column {
        return;
    }
    let mut column = Column::of(out, warps.iter().map(|ends| ends.len()).sum());
    let mut before = 0u32;
    for count in lane_counts(warps) {
        column.push((count ^ before).to_le_bytes());
        before = count;
    }
}

fn take_ends(from: &mut Reader<'_>, warps: usize) -> Result<Vec<Vec<u32>>, Error> {
    let lane_count = |from: &mut Reader<'_>| match from.number()? {
        n @ 0..=64 => Ok(index(n)),
        _ => Err(from.error("a warp has more than 64 lanes")),
    };
    let lanes = (0..warps).map(|_| lane_count(from)).collect::<Result<Vec<usize>, Error>>()?;
    let n = lanes.iter().sum();
    let counts = match take_counts(from, warps)? {
        Counts::Column => sums(take_column::<4>(from, n)?).into_iter().map(u32::from_le_bytes).collect(),
        Counts::Same(count) => vec![count; n],
        Counts::Bits => {
            let plane = from.bytes(n.div_ceil(8))?;
            (0..n).map(|i| bit_of_plane(plane, i)).collect()
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
    // Words are of level `path` here, also those of launches at level `values`.
    if let Some(kind) = kinds.iter().find(|k| matches!(k, Level::Probe | Level::Values)) {
        return Err(from.error(format!("level {} has no streams of its own", kind.name())));
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
            Level::Probe | Level::Values => None,
        };
        let lanes = lanes.unwrap_or_default();
        WarpStream { warp: info.warp, dropped: info.dropped, lanes }
    });
    Ok(warps.collect())
}

/// The final hashes of warps with so many entries each, as files before version 18 have them.
fn take_warp_by_warp(from: &mut Reader<'_>, counts: &[usize]) -> Result<Vec<Vec<[u64; 4]>>, Error> {
    let n = counts.iter().sum();
    let mut column = || Ok(sums(take_column::<8>(from, n)?).into_iter().map(u64::from_le_bytes));
    let columns = column()?.zip(column()?).zip(column()?).zip(column()?);
    let mut hashes = columns.map(|(((control, loads), stores), sync)| [control, loads, stores, sync]);
    Ok(counts.iter().map(|n| hashes.by_ref().take(*n).collect()).collect())
}

/// The final hashes of warps with so many entries each: the first entries of all warps, then the second ones.
fn take_entry_by_entry(from: &mut Reader<'_>, counts: &[usize]) -> Result<Vec<Vec<[u64; 4]>>, Error> {
    let mut all: Vec<Vec<[u64; 4]>> = counts.iter().map(|_| Vec::new()).collect();
    for entry in 0..counts.iter().copied().max().unwrap_or_default() {
        let n = counts.iter().filter(|count| **count > entry).count();
        let columns: [_; 4] = [(); 4].map(|()| take_planes::<8>(from, n));
        let [control, loads, stores, sync] = columns;
        let columns = [control?, loads?, stores?, sync?];
        let warps = all.iter_mut().zip(counts).filter(|(_, count)| **count > entry);
        for (i, (warp, _)) in warps.enumerate() {
            warp.push(columns.each_ref().map(|planes| u64::from_le_bytes(at(planes, i))));
        }
    }
    Ok(all)
}

fn take_level(
    from: &mut Reader<'_>,
    level: Level,
    all: Vec<Vec<u32>>,
    sites: u32,
) -> Result<Vec<Lanes>, Error> {
    // What the elements need is checked before room is made for them.
    let n: u64 = all.iter().map(|e| e.last().map_or(0, |e| u64::from(*e))).sum();
    let check = |from: &Reader<'_>, each: u64| match n.saturating_mul(each) > from.left() as u64 {
        true => Err(from.error(format!("{n} elements are announced, {} bytes are left", from.left()))),
        false => Ok(()),
    };
    if level != Level::Path {
        check(from, 8)?;
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
                    let bytes = if from.version < 18 { 4 } else { from.number()? };
                    check(from, bytes)?;
                    let mut words: Vec<Vec<u32>> = sizes().map(|n| vec![0; n]).collect();
                    match bytes {
                        1 => rows.take(from, &mut words, |word, [byte]| *word = byte.into())?,
                        2 => rows.take(from, &mut words, |word, b| *word = u16::from_le_bytes(b).into())?,
                        4 => rows.take(from, &mut words, |word, b| *word = u32::from_le_bytes(b))?,
                        _ => return Err(from.error(format!("words of {bytes} bytes"))),
                    }
                    words
                }
            };
            Ok(words.into_iter().zip(all).map(|(words, ends)| Lanes::Path { words, ends }).collect())
        }
        Level::Fingerprint => {
            let mut checkpoints: Vec<Vec<u64>> = sizes().map(|n| vec![0; n]).collect();
            rows.take(from, &mut checkpoints, |checkpoint, bytes| *checkpoint = u64::from_le_bytes(bytes))?;
            let counts = all.iter().map(|_| from.count(1)).collect::<Result<Vec<usize>, Error>>()?;
            let hashes = if from.version < 18 {
                take_warp_by_warp(from, &counts)?
            } else {
                take_entry_by_entry(from, &counts)?
            };
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

#[cfg(test)]
mod tests {
    use super::events::EVENTS;
    use super::{parse, put};
    use crate::codec::VERSION;
    use crate::launch::{Event, Lanes, WarpInfo, WarpStream};
    use crate::{LaneMask, SiteId, WarpId};

    #[test]
    fn events_of_long_and_short_warps_come_back() {
        let random = |i: u32| (u64::from(i) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let event = |i: u32| Event {
            site: SiteId(i.wrapping_mul(0x0123_4567) % 0x00ff_ffff),
            mask: LaneMask(if i % 7 < 5 { u64::MAX } else { random(i) }),
            value: random(i) >> (i % 64),
            clock: i.wrapping_mul(i).rotate_left(i / 100),
        };
        let lengths = [0, 1, EVENTS - 1, EVENTS, EVENTS + 1, 3, 2 * EVENTS, 0, 5 * EVENTS + 17];
        let mut numbers = 0..;
        let stream = |(warp, n): (u64, usize)| WarpStream {
            warp: WarpId(warp),
            lanes: Lanes::Events(numbers.by_ref().take(n).map(event).collect()),
            ..WarpStream::default()
        };
        let warps: Vec<WarpStream> = (0..).zip(lengths).map(stream).collect();
        let infos: Vec<WarpInfo> =
            warps.iter().map(|w| WarpInfo { warp: w.warp, ..WarpInfo::default() }).collect();
        let mut bytes = Vec::new();
        put(&mut bytes, 0, &warps);
        assert_eq!(parse(&bytes, VERSION, 0, &infos, u32::MAX).unwrap(), warps);
    }

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
        // Other words take the bytes of the largest, and one says how many: with eight decisions, with other
        // numbers of decisions, with more words than lanes.
        assert_eq!(size(&[0, 1, 2].map(|warp| stream(warp, words(warp, 8)))), rest + 1 + 2 * 96);
        assert_eq!(size(&[0, 1, 2].map(|warp| stream(warp, words(warp, 2 + warp)))), rest + 1 + 96);
        assert_eq!(size(&[0, 1, 2].map(|warp| stream(warp, words(warp, 20 + warp)))), rest + 1 + 4 * 96);
        let twice = WarpStream {
            lanes: Lanes::Path { words: words(0, 3), ends: (1..=16).map(|lane| 2 * lane).collect() },
            ..WarpStream::default()
        };
        let warps = [twice, stream(1, words(1, 3)), stream(2, words(2, 3))];
        // One warp has other lanes, so that the counts are a column.
        assert_eq!(size(&warps), rest + 4 * 80 + 1 + 96);
        // A file cannot announce more words than lanes.
        let mut bytes = Vec::new();
        put(&mut bytes, 0, &warps);
        bytes[2 + 3 + 3 + 1 + 4 * 80] = 3;
        assert!(parse(&bytes, VERSION, 0, &infos, 1).unwrap_err().what.contains("96 words of 3 decisions"));
    }
}
