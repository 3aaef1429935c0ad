//! Compares the outputs of two launches as numbers.
//!
//! # Invariants
//! - Elements with equal bits are equal, whatever they hold.
//! - Without a tolerance, elements with other bits differ: `0.0` and `-0.0` do, and so do two NaNs with
//!   different bits unless [`Tolerance::equal_nan`] is set.
//! - A finite number is never equal to an infinite one, and a NaN never to a number.
//! - The comparison is symmetric: exchanging the sides exchanges only the values.
//!
//! # Limitations
//! Elements of untyped bits, packed pairs and values of more than 64 bits have no difference in numbers. They
//! are equal if their bits are.

use prlx_trace::element;
use prlx_trace::kernel::Scalar;

pub use crate::report::Tolerance;
use crate::report::{
    DifferenceMap, ElementDifference, LaunchDifference, LaunchPart, LaunchReport, Output, place,
};

/// Most indices of differing elements that [`compare_output`] returns.
pub const MOST_INDICES: usize = 1 << 20;
/// Bytes that are compared at once, a multiple of every element's size.
const BLOCK: usize = 4096;
/// A block of zeros.
const ZEROS: [u8; BLOCK] = [0; BLOCK];
/// Most rows and columns of a [`DifferenceMap`].
pub const MAP_SIDE: u64 = 64;

impl Tolerance {
    /// Whether two elements with other bits are equal.
    fn accepts(&self, ty: Scalar, [a, b]: [u64; 2], apart: &Apart) -> bool {
        if has_number(ty) && element::is_float(ty) {
            let [x, y] = [a, b].map(|bits| element::float_value(ty, bits));
            if x.is_nan() && y.is_nan() {
                return self.equal_nan;
            }
        }
        let (Some(absolute), false) = (apart.absolute, self.limits_are_zero()) else { return false };
        let larger = larger_magnitude(ty, [a, b]);
        absolute <= self.atol + self.rtol * larger || apart.ulp.is_some_and(|n| n <= self.ulp)
    }

    fn limits_are_zero(&self) -> bool {
        self.rtol == 0.0 && self.atol == 0.0 && self.ulp == 0
    }
}

/// How far two elements are apart.
#[derive(Clone, Copy, Default)]
struct Apart {
    absolute: Option<f64>,
    relative: Option<f64>,
    ulp: Option<u64>,
}

impl Apart {
    fn new(ty: Scalar, bits: [u64; 2]) -> Apart {
        if !has_number(ty) {
            return Apart::default();
        }
        let (absolute, ulp) = if element::is_float(ty) {
            let [x, y] = bits.map(|b| element::float_value(ty, b));
            if !x.is_finite() || !y.is_finite() {
                return Apart::default();
            }
            let [p, q] = bits.map(|b| position(ty, b));
            // The difference of two large numbers of binary64 can exceed its range.
            ((x - y).abs().min(f64::MAX), Some(p.abs_diff(q)))
        } else {
            let [x, y] = bits.map(|b| element::int_value(ty, b));
            (x.abs_diff(y) as f64, None)
        };
        let larger = larger_magnitude(ty, bits);
        let relative = if larger > 0.0 { (absolute / larger).min(2.0) } else { 0.0 };
        Apart { absolute: Some(absolute), relative: Some(relative), ulp }
    }

    /// Orders differences: greater is worse.
    fn rank(&self) -> (bool, f64, f64) {
        (self.absolute.is_none(), self.relative.unwrap_or(0.0), self.absolute.unwrap_or(0.0))
    }
}

/// Whether the bits of a type are a number.
fn has_number(ty: Scalar) -> bool {
    element::is_float(ty) || ty.signed() || matches!(ty, Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64)
}

fn larger_magnitude(ty: Scalar, bits: [u64; 2]) -> f64 {
    let [x, y] = bits.map(|b| element::as_f64(ty, b).abs());
    x.max(y)
}

/// The place of a floating-point number among all numbers of its type, in ascending order. Both zeros are
/// at 0.
fn position(ty: Scalar, bits: u64) -> i64 {
    let sign = 1u64 << (ty.bits() - 1);
    let magnitude = (bits & (sign - 1)) as i64;
    if bits & sign == 0 { magnitude } else { -magnitude }
}

/// What one side left in an output.
#[derive(Clone, Copy, Debug)]
pub struct Contents<'a> {
    ty: Scalar,
    shape: &'a [u64],
    bytes: &'a [u8],
}

impl<'a> Contents<'a> {
    /// Elements of type `ty` in C order, little-endian, with the sizes of the dimensions, slowest first.
    pub fn new(ty: Scalar, shape: &'a [u64], bytes: &'a [u8]) -> Contents<'a> {
        Contents { ty, shape, bytes }
    }
}

/// Compares one output of both sides, which A calls `name`, as [`compare_output`] does. Outputs whose types
/// mean different numbers are not compared.
pub fn compare_contents(name: &str, [a, b]: [Contents<'_>; 2], limits: &Tolerance) -> (Output, Vec<u64>) {
    match common_type([a.ty, b.ty]) {
        Some(ty) => compare_output(name, ty, a.shape, [a.bytes, b.bytes], limits),
        None => {
            let why = format!("A holds {}, B {}", a.ty.name(), b.ty.name());
            let ty = format!("{}, {}", a.ty.name(), b.ty.name());
            (Output { ty, uncompared: Some(why), ..only_one_side(name, a.ty, a.shape, 0) }, Vec::new())
        }
    }
}

/// The type as which the elements of both sides are compared: `None` if they mean different numbers.
fn common_type([a, b]: [Scalar; 2]) -> Option<Scalar> {
    let same =
        a == b || element::size(a) == element::size(b) && !element::is_float(a) && !element::is_float(b);
    same.then_some(a)
}

/// An output that only side `side` has.
pub fn only_one_side(name: &str, ty: Scalar, shape: &[u64], side: usize) -> Output {
    Output {
        name: name.to_owned(),
        ty: ty.name().to_owned(),
        shape: shape.to_vec(),
        elements: shape.iter().product(),
        uncompared: Some(format!("only {} has it", ["A", "B"][side.min(1)])),
        ..Output::default()
    }
}

/// The other side's argument that corresponds to argument `i` of the first: the one of the same name, or the
/// one at the same position if its name does not occur on the first side.
pub fn partner([own, other]: [&[&str]; 2], i: usize) -> Option<usize> {
    let name = own.get(i)?;
    other.iter().position(|n| n == name).or_else(|| {
        let there = other.get(i)?;
        own.iter().all(|n| n != there).then_some(i)
    })
}

/// Compares the elements of one output. `bytes` are side A's and B's in C order, little-endian, of the same
/// number of elements. Also returns the positions of the first [`MOST_INDICES`] elements that differ by more
/// than the tolerance, ascending.
pub fn compare_output(
    name: &str,
    ty: Scalar,
    shape: &[u64],
    bytes: [&[u8]; 2],
    tolerance: &Tolerance,
) -> (Output, Vec<u64>) {
    let size = element::size(ty).max(1);
    let elements = (bytes[0].len() / size).max(bytes[1].len() / size);
    let mut out = Output {
        name: name.to_owned(),
        ty: ty.name().to_owned(),
        shape: shape.to_vec(),
        elements: elements as u64,
        tolerance: tolerance.words(),
        ..Output::default()
    };
    if bytes[0].len() != bytes[1].len() {
        let [a, b] = bytes.map(|b| b.len() / size);
        out.uncompared = Some(format!("A has {a} elements, B {b}"));
        return (out, Vec::new());
    }
    let mut indices = Vec::new();
    let mut map = MapCounter::new(shape, elements as u64);
    let mut worst: Option<(u64, Apart)> = None;
    let floats = element::is_float(ty);
    for (i, a, b) in notable(bytes, size, floats) {
        let words = [a, b].map(word);
        if floats {
            for (side, bits) in words.into_iter().enumerate() {
                let x = element::float_value(ty, bits);
                out.nan[side] += u64::from(x.is_nan());
                out.infinite[side] += u64::from(x.is_infinite());
            }
        }
        if a == b {
            continue;
        }
        let apart = Apart::new(ty, words);
        out.max_absolute = larger(out.max_absolute, apart.absolute);
        out.max_relative = larger(out.max_relative, apart.relative);
        out.max_ulp = out.max_ulp.max(apart.ulp);
        if tolerance.accepts(ty, words, &apart) {
            out.within_tolerance += 1;
            continue;
        }
        let i = i as u64;
        out.differing += 1;
        map.add(i);
        if indices.len() < MOST_INDICES {
            indices.push(i);
        }
        if out.first.is_none() {
            out.first = Some(difference(ty, shape, i, [a, b], &apart));
        }
        if worst.as_ref().is_none_or(|(_, w)| apart.rank() > w.rank()) {
            worst = Some((i, apart));
        }
    }
    out.worst = worst.map(|(i, apart)| {
        let at = i as usize * size;
        difference(ty, shape, i, bytes.map(|b| &b[at..at + size]), &apart)
    });
    out.map = (out.differing > 0).then_some(map.map);
    (out, indices)
}

/// Position and bytes of the elements that can add to a comparison: not those in blocks that are equal,
/// unless numbers that are not finite may be among them. Most of a large output is equal, or zero.
fn notable(bytes: [&[u8]; 2], size: usize, floats: bool) -> impl Iterator<Item = (usize, &[u8], &[u8])> {
    let [a, b] = bytes.map(|side| side.chunks(BLOCK));
    let equal = move |a: &[u8], b: &[u8]| a == b && (!floats || *a == ZEROS[..a.len()]);
    a.zip(b).enumerate().filter(move |(_, (a, b))| !equal(a, b)).flat_map(move |(n, (a, b))| {
        let pairs = a.chunks_exact(size).zip(b.chunks_exact(size)).enumerate();
        pairs.map(move |(i, (a, b))| (n * (BLOCK / size) + i, a, b))
    })
}

/// The lowest 64 bits of an element.
fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.iter_mut().zip(bytes).for_each(|(w, b)| *w = *b);
    u64::from_le_bytes(word)
}

fn larger(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        _ => a.or(b),
    }
}

fn difference(ty: Scalar, shape: &[u64], i: u64, bytes: [&[u8]; 2], apart: &Apart) -> ElementDifference {
    let values = bytes.map(|b| match b.len() {
        0..=8 => element::show(ty, word(b)),
        _ => b.iter().rev().fold(String::from("0x"), |text, byte| format!("{text}{byte:02x}")),
    });
    let Apart { absolute, relative, ulp } = *apart;
    ElementDifference { index: index(shape, i), values, absolute, relative, ulp }
}

/// The index of element `i` in an array of this shape in C order.
pub fn index(shape: &[u64], mut i: u64) -> Vec<u64> {
    let mut index = vec![0; shape.len()];
    for (at, n) in index.iter_mut().zip(shape).rev() {
        (*at, i) = (i % (*n).max(1), i / (*n).max(1));
    }
    index
}

/// Counts differing elements by cell.
struct MapCounter {
    map: DifferenceMap,
    /// Number of rows and columns of the array.
    array: [u64; 2],
}

impl MapCounter {
    fn new(shape: &[u64], elements: u64) -> MapCounter {
        let columns = shape.last().copied().unwrap_or(1).clamp(1, elements.max(1));
        let rows = elements.div_ceil(columns).max(1);
        let [r, c] = [rows, columns].map(|n| n.min(MAP_SIDE));
        let map = DifferenceMap { rows: r, columns: c, counts: vec![0; (r * c) as usize] };
        MapCounter { map, array: [rows, columns] }
    }

    fn add(&mut self, i: u64) {
        let [rows, columns] = self.array;
        let cell =
            |at: u64, of: u64, cells: u64| (u128::from(at) * u128::from(cells) / u128::from(of)) as u64;
        let row = cell(i / columns, rows, self.map.rows);
        let column = cell(i % columns, columns, self.map.columns);
        if let Some(n) = self.map.counts.get_mut((row * self.map.columns + column) as usize) {
            *n += 1;
        }
    }
}

/// Adds compared outputs to the report of a launch, and computes its verdict again.
///
/// The numbers replace the digests of these buffers. A difference of another buffer becomes a
/// [`LaunchPart::Scratch`], which decides nothing. Does nothing if there are no outputs: the digests of all
/// buffers then keep deciding. The caller calls [`Report::conclude`](crate::Report::conclude) afterwards.
pub fn add_outputs(launch: &mut LaunchReport, outputs: Vec<Output>) {
    if outputs.is_empty() {
        return;
    }
    let culprit = launch.culprit;
    let mut kept: Vec<LaunchDifference> = Vec::new();
    for mut d in std::mem::take(&mut launch.differences) {
        if d.what == LaunchPart::Output {
            if outputs.iter().any(|o| o.name == d.name) {
                continue;
            }
            d.what = LaunchPart::Scratch;
        }
        kept.push(d);
    }
    launch.gaps.extend(outputs.iter().filter(|o| o.unknown).map(|o| {
        let why = o.uncompared.as_deref().unwrap_or("the elements are not known");
        format!("output `{}` was not compared: {why}", o.name)
    }));
    for o in outputs.iter().filter(|o| o.differs()) {
        kept.push(LaunchDifference { what: LaunchPart::Output, name: o.name.clone(), values: values(o) });
    }
    launch.differences = kept;
    for o in outputs.iter().filter(|o| o.agrees() && o.within_tolerance > 0) {
        launch.notes.push(format!(
            "`{}` agrees within the tolerance ({}): {} of {} elements have other bits",
            o.name, o.tolerance, o.within_tolerance, o.elements
        ));
    }
    launch.culprit = culprit && outputs.iter().any(Output::differs);
    launch.outputs = outputs;
    launch.memory_was_compared();
    launch.accept_geometry();
    let agree = launch.outputs_agree();
    launch.accept_order_of_threads(agree);
    launch.conclude();
}

/// By side: the first differing element in words.
fn values(o: &Output) -> [String; 2] {
    match (&o.first, &o.uncompared) {
        (Some(first), _) => first.values.clone().map(|v| format!("{} = {v}", place("", &first.index))),
        (None, Some(why)) => [why.clone(), why.clone()],
        (None, None) => Default::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    fn floats(a: &[f32], b: &[f32], tolerance: Tolerance) -> (Output, Vec<u64>) {
        let shape = [a.len() as u64];
        compare_output("o", Scalar::F32, &shape, [&bytes(a), &bytes(b)], &tolerance)
    }

    #[test]
    fn ulp_distances_cross_zero_and_stop_at_infinity() {
        let tiny = f32::from_bits(1);
        let (out, at) = floats(&[tiny, 0.0, f32::MAX], &[-tiny, -0.0, f32::INFINITY], Tolerance::default());
        assert_eq!((out.differing, out.max_ulp, at), (3, Some(2), vec![0, 1, 2]));
        assert_eq!(out.first.unwrap().ulp, Some(2));
        let worst = out.worst.unwrap();
        assert_eq!((worst.index, worst.absolute, worst.ulp), (vec![2], None, None));
        assert_eq!(out.infinite, [0, 1]);
        let two = Tolerance { ulp: 2, ..Tolerance::default() };
        let (out, at) = floats(&[tiny, 0.0, f32::MAX], &[-tiny, -0.0, f32::INFINITY], two);
        assert_eq!((out.within_tolerance, at, out.tolerance.as_str()), (2, vec![2], "2 ulp"));
    }

    #[test]
    fn equal_blocks_count_what_is_not_finite() {
        let mut sides = [vec![0.0; 5000], vec![0.0; 5000]];
        for side in &mut sides {
            // In the first block, and in the one that is not whole.
            (side[3], side[4999]) = (f32::NAN, f32::INFINITY);
        }
        sides[1][2047] = 1.0;
        let (out, at) = floats(&sides[0], &sides[1], Tolerance::default());
        assert_eq!((out.nan, out.infinite, out.differing, at), ([1, 1], [1, 1], 1, vec![2047]));
    }

    #[test]
    fn nans_are_equal_by_bits_or_if_asked_for() {
        let other = f32::from_bits(0x7fc0_0001);
        let pair = [[f32::NAN, f32::NAN, f32::NAN], [f32::NAN, other, 1.0]];
        let (out, at) = floats(&pair[0], &pair[1], Tolerance { rtol: 1.0, ..Tolerance::default() });
        assert_eq!((out.nan, at), ([3, 2], vec![1, 2]));
        let (out, at) = floats(&pair[0], &pair[1], Tolerance { equal_nan: true, ..Tolerance::default() });
        assert_eq!((out.within_tolerance, at, out.max_absolute), (1, vec![2], None));
    }

    #[test]
    fn relative_and_absolute_limits_add_up() {
        let limits = |rtol, atol| Tolerance { rtol, atol, ..Tolerance::default() };
        let differing = |t| floats(&[1.0, 1000.0], &[1.5, 1001.0], t).0.differing;
        assert_eq!(differing(Tolerance::default()), 2);
        assert_eq!(differing(limits(0.01, 0.0)), 1);
        assert_eq!(differing(limits(0.0, 0.5)), 1);
        assert_eq!(differing(limits(0.001, 0.4989)), 0);
        let (out, _) = floats(&[1.0, 1000.0], &[1.5, 1001.0], Tolerance::default());
        assert_eq!((out.max_absolute, out.max_relative), (Some(1.0), Some(0.5 / 1.5)));
        let worst = out.worst.unwrap();
        assert_eq!((worst.index, worst.values), (vec![0], ["1.0".to_owned(), "1.5".to_owned()]));
    }

    #[test]
    fn integers_differ_exactly_and_have_no_ulp() {
        let all = [[i64::MIN, 5, i64::MAX], [i64::MAX, 5, i64::MAX - 1]];
        let bytes = all.map(|side| side.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>());
        let bytes = bytes.each_ref().map(Vec::as_slice);
        let compare = |t: Tolerance| compare_output("o", Scalar::S64, &[3], bytes, &t);
        let (out, at) = compare(Tolerance { ulp: 9, ..Tolerance::default() });
        assert_eq!((at, out.max_ulp, out.max_absolute), (vec![0, 2], None, Some(u64::MAX as f64)));
        assert_eq!(out.first.unwrap().values, ["-9223372036854775808", "9223372036854775807"]);
        assert_eq!(compare(Tolerance { atol: 1.0, ..Tolerance::default() }).1, [0]);
        let (halves, _) =
            compare_output("o", Scalar::F16, &[1], [&[0, 0x3c], &[1, 0x3c]], &Tolerance::default());
        assert_eq!(halves.max_ulp, Some(1));
    }

    #[test]
    fn the_map_folds_outer_dimensions_into_rows() {
        // 2 x 3 x 100: six rows, and 64 columns of 100.
        let a = vec![0.0; 600];
        let mut b = a.clone();
        b[0] = 1.0;
        b[599] = 1.0;
        let (out, at) =
            compare_output("o", Scalar::F32, &[2, 3, 100], [&bytes(&a), &bytes(&b)], &Tolerance::default());
        let map = out.map.unwrap();
        assert_eq!((map.rows, map.columns, map.counts.len()), (6, 64, 384));
        assert_eq!((map.counts[0], map.counts[383], map.counts.iter().sum::<u64>()), (1, 1, 2));
        assert_eq!((at, out.worst.unwrap().index), (vec![0, 599], vec![0, 0, 0]));
        assert_eq!(index(&[2, 3, 100], 599), [1, 2, 99]);
        let (strip, _) =
            compare_output("o", Scalar::F32, &[600], [&bytes(&a), &bytes(&b)], &Tolerance::default());
        assert_eq!(strip.map.map(|m| (m.rows, m.columns)), Some((1, 64)));
        let (scalar, _) =
            compare_output("o", Scalar::F32, &[], [&bytes(&[1.0]), &bytes(&[2.0])], &Tolerance::default());
        assert_eq!(scalar.first.map(|f| f.place("o")), Some("o".to_owned()));
    }
}
