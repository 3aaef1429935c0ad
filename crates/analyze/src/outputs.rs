//! Compares the outputs of two launches as numbers, and lets them decide the launch's verdict.
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
use prlx_trace::names::file_name;

pub use crate::report::Tolerance;
use crate::report::{
    DECIDED_AS_OTHERS, DifferenceMap, ElementDifference, Finding, FindingKind, LaunchDifference, LaunchPart,
    LaunchReport, Location, OTHER_NAMES, Output, TripInfo, UNRECORDED, Verdict, place,
};

/// Most indices of differing elements that [`compare_output`] returns.
pub const MOST_INDICES: usize = 1 << 20;
/// Most rows and columns of a [`DifferenceMap`].
pub const MAP_SIDE: u64 = 64;

/// The note on launches that distribute the same work in different ways.
const OTHER_GRID: &str =
    "other grid or block: the results agree; decisions were not compared thread by thread";

/// How notes on other launch dimensions begin.
const OTHER_SHAPE: &str = "other grid or block:";

/// The note on launches whose threads could be compared nevertheless.
const SAME_THREADS: &str = "other grid or block: the results agree, and so do the decisions of all threads";

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
    for (i, (a, b)) in bytes[0].chunks_exact(size).zip(bytes[1].chunks_exact(size)).enumerate() {
        let words = [a, b].map(word);
        if element::is_float(ty) {
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

/// Whether a part of the geometry distributes the work among threads.
fn is_shape(name: &str) -> bool {
    matches!(name, "grid" | "block" | "cluster")
}

/// By side: the first differing element in words.
fn values(o: &Output) -> [String; 2] {
    match (&o.first, &o.uncompared) {
        (Some(first), _) => first.values.clone().map(|v| format!("{} = {v}", place("", &first.index))),
        (None, Some(why)) => [why.clone(), why.clone()],
        (None, None) => Default::default(),
    }
}

impl LaunchReport {
    /// Whether the outputs were compared, and all are equal within the tolerance; of a launch that names no
    /// outputs, whether all its memory is equal by digest.
    pub fn outputs_agree(&self) -> bool {
        match self.outputs.is_empty() {
            true => self.digests_agree,
            false => self.outputs.iter().all(Output::agrees),
        }
    }

    /// Records that what the launch left in memory was compared after all. The caller computes the verdict
    /// again.
    pub fn memory_was_compared(&mut self) {
        if let Some(gap) = self.unseen_memory.take() {
            self.gaps.retain(|g| *g != gap);
        }
    }

    /// Records that other runs of both sides left the same in memory, by digests of all of it. The verdict is
    /// computed again.
    pub fn digests_agreed(&mut self) {
        self.digests_agree = true;
        self.memory_was_compared();
        self.accept_geometry();
        self.accept_order_of_threads(true);
        self.conclude();
    }

    /// Takes the decisions of a launch for compared, because other launches of its kernel were: whether it
    /// agrees follows from what it left in memory. The verdict is computed again.
    pub fn decided_as_others(&mut self) {
        self.take_findings();
        self.gaps.clear();
        self.gaps.extend(self.unseen_memory.clone());
        self.notes.push(DECIDED_AS_OTHERS.to_owned());
        self.conclude();
    }

    /// Takes a launch that neither side recorded for the same if all memory behind its parameters is equal by
    /// digest. The gap becomes a note. Other parameters had no effect then: addresses of host memory,
    /// padding, pointers to more memory than the kernel uses.
    pub(crate) fn accept_unrecorded(&mut self) {
        let unrecorded = self.skipped.iter().all(Option::is_some);
        if unrecorded && self.digests_agree && self.gaps.len() == 1 && self.faults == [None, None] {
            self.notes.append(&mut self.gaps);
            self.notes.push(UNRECORDED.to_owned());
            self.differences.retain(|d| d.what != LaunchPart::Input);
            self.conclude();
        }
    }

    /// Accepts another grid or block if the outputs agree and nothing else differs: then it distributes the
    /// same work among other threads. The gaps, which all say that decisions were not compared, become a
    /// note.
    pub(crate) fn accept_geometry(&mut self) {
        let other = self.differences.iter().any(|d| d.what == LaunchPart::Geometry && is_shape(&d.name));
        let stopped = self.faults[0].is_some() != self.faults[1].is_some();
        let recorded = self.skipped == [None, None];
        if !(other || self.reshaped.is_some())
            || !self.outputs_agree()
            || self.findings_total > 0
            || stopped
            || !recorded
        {
            return;
        }
        let compared = self.reshaped.is_none() && self.gaps.is_empty();
        self.gaps.clear();
        let note = if compared { SAME_THREADS } else { OTHER_GRID };
        if !self.notes.iter().any(|n| n.starts_with(OTHER_SHAPE)) {
            self.notes.push(note.to_owned());
        }
    }

    /// The differences of the launch as a whole that make the verdict `differs`. Another grid or block does
    /// not if all outputs agree.
    pub fn decisive_differences(&self) -> impl Iterator<Item = &LaunchDifference> {
        let agree = self.outputs_agree();
        self.differences.iter().filter(move |d| d.is_decisive() && !(agree && d.what == LaunchPart::Geometry))
    }

    /// Whether all that keeps the verdict from being certain is code of two builds without a match, while all
    /// lanes were decoded and all outputs agree.
    pub fn only_code_unmatched(&self) -> bool {
        let c = &self.coverage;
        self.verdict == Verdict::Unknown
            && self.outputs_agree()
            && self.uncompared.iter().any(|u| u.hides)
            && c.warps.missing == 0
            && c.lanes.failed == 0
            && c.elements.iter().all(|e| e.dropped == 0)
    }

    /// Two kernels with different names that the user compares can be the same if the outputs agree. The gap
    /// becomes a note, and the verdict is computed again.
    pub fn accept_other_names(&mut self) {
        if !self.outputs.is_empty() && self.outputs_agree() {
            self.notes.extend(self.gaps.extract_if(.., |gap| gap.ends_with(OTHER_NAMES)));
            self.conclude();
        }
    }

    /// Takes outputs that agree, and checks that found nothing, for enough: the verdict becomes `same`,
    /// with a note of what was not compared.
    pub fn accept_unmatched_code(&mut self) {
        let n = self.uncompared.iter().filter(|u| u.hides).map(|u| u.sites).sum::<u64>();
        self.gaps.clear();
        self.notes.push(format!(
            "two builds: the outputs agree and the checks found no error; {n} {} no counterpart and {} not \
             compared",
            if n == 1 { "decision has" } else { "decisions have" },
            if n == 1 { "was" } else { "were" },
        ));
        self.conclude();
    }

    /// Removes findings of conditions that one build evaluates and the other does not, if that is all that
    /// was found and the outputs agree. Compilers leave out a test whose result they know, and make a select
    /// of a branch. A note says what there was. The verdict is computed again.
    pub fn accept_tests_without_effect(&mut self) {
        // More iterations of a loop that both builds have are a difference.
        let alone = |f: &Finding| {
            f.kind == FindingKind::ExtraEvents
                && f.site.iter().flatten().count() == 1
                && f.extra_trips == [0; 2]
                && f.masks.is_none()
        };
        // What only lanes do that have parted at such a condition follows from it.
        let without_effect = |f: &Finding| alone(f) || f.roots == 0;
        let listed = self.findings_total == self.findings.len() as u64;
        let stopped = self.faults.iter().any(Option::is_some);
        if self.findings.is_empty() || !listed || stopped || !self.outputs_agree() {
            return;
        }
        if !self.findings.iter().all(without_effect) {
            return;
        }
        let (n, at) = self.take_findings();
        self.notes.push(format!(
            "two builds: {n} {} a condition on one side alone{at}. The outputs agree, so it is no difference \
             (--strict counts it)",
            if n == 1 { "thread evaluates" } else { "threads evaluate" },
        ));
        self.conclude();
    }

    /// Removes findings if the launches have another grid or block and the outputs agree: then a thread with
    /// the same position has another part of the work, and other decisions. A note says what there was. The
    /// verdict is computed again.
    pub fn accept_decisions_of_other_threads(&mut self) {
        let other = self.differences.iter().any(|d| d.what == LaunchPart::Geometry && is_shape(&d.name));
        let stopped = self.faults.iter().any(Option::is_some);
        if !other || self.findings_total == 0 || stopped || !self.outputs_agree() {
            return;
        }
        let (n, at) = self.take_findings();
        self.accept_geometry();
        self.notes.retain(|note| !note.starts_with(OTHER_SHAPE));
        self.notes.push(format!(
            "{OTHER_SHAPE} {n} {} a different branch{at}. The outputs agree, so it is no difference \
             (--strict counts it)",
            if n == 1 { "thread takes" } else { "threads take" },
        ));
        self.conclude();
    }

    /// Removes findings of two builds of one source text if the outputs agree: other constants or options of
    /// the compiler divide the work in another way. A note says what there was. The verdict is computed
    /// again.
    pub fn accept_decisions_of_other_options(&mut self) {
        let stopped = self.faults.iter().any(Option::is_some);
        if self.findings_total == 0 || stopped || !self.outputs_agree() {
            return;
        }
        let (n, at) = self.take_findings();
        self.notes.push(format!(
            "two builds of one source: {n} {} a different branch{at}. The outputs agree, and the checks found \
             no error on one side alone, so it is no difference (--strict counts it)",
            if n == 1 { "thread takes" } else { "threads take" },
        ));
        self.conclude();
    }

    /// Removes findings inside of loops that both builds pass as often, if the source of these loops' heads
    /// differs and the outputs agree: the loop does its work in another order, as one that runs downwards
    /// instead of upwards. `rewrote`: whether the head differs of a loop that
    /// begins at a line. A note says what there was. The
    /// verdict is computed again.
    pub fn accept_other_order_of_iterations(&mut self, rewrote: &dyn Fn(&Location) -> bool) {
        let listed = self.findings_total == self.findings.len() as u64;
        let stopped = self.faults.iter().any(Option::is_some);
        if self.findings.is_empty() || !listed || stopped || !self.outputs_agree() {
            return;
        }
        let turned = |t: &&TripInfo| t.trips[0] == t.trips[1] && t.location.as_ref().is_some_and(rewrote);
        // What only lanes do that have parted in such a loop follows from it.
        let inside =
            |f: &Finding| f.roots == 0 || f.extra_trips == [0; 2] && f.trips.iter().any(|t| turned(&t));
        if !self.findings.iter().all(inside) {
            return;
        }
        let at = self.findings.iter().flat_map(|f| &f.trips).find(turned).and_then(|t| t.location.clone());
        let at = at.map(|l| format!(" at {}:{}", file_name(&l.file), l.line)).unwrap_or_default();
        let (n, _) = self.take_findings();
        self.notes.push(format!(
            "two builds: {n} {} a different branch in iterations of the loop{at}, whose source differs. Both \
             builds pass it as often, and the outputs agree, so it is no difference (--strict counts it)",
            if n == 1 { "thread takes" } else { "threads take" },
        ));
        self.conclude();
    }

    /// Computes the verdict from the findings, differences, faults and gaps.
    pub fn conclude(&mut self) {
        let differs = self.findings_total > 0
            || self.decisive_differences().next().is_some()
            || self.faults[0].is_some() != self.faults[1].is_some();
        self.verdict = match (differs, self.gaps.is_empty()) {
            (true, _) => Verdict::Differs,
            (false, true) => Verdict::Same,
            (false, false) => Verdict::Unknown,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::SiteInfo;

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

    fn report(findings: Vec<Finding>, outputs_differ: u64) -> LaunchReport {
        LaunchReport {
            findings_total: findings.len() as u64,
            findings,
            outputs: vec![Output { differing: outputs_differ, ..Output::default() }],
            ..LaunchReport::default()
        }
    }

    #[test]
    fn a_test_without_effect_is_no_difference() {
        let test = || Finding {
            kind: FindingKind::ExtraEvents,
            site: [None, Some(SiteInfo::default())],
            extra_visits: [0, 1],
            ..Finding::default()
        };
        let verdict = |findings: Vec<Finding>, differ| {
            let findings = findings.into_iter().map(|f| Finding { roots: 1, ..f }).collect();
            let mut l = report(findings, differ);
            if differ > 0 {
                let what = LaunchPart::Output;
                l.differences.push(LaunchDifference { what, ..LaunchDifference::default() });
            }
            l.accept_tests_without_effect();
            l.conclude();
            (l.verdict, l.notes.len())
        };
        assert_eq!(verdict(vec![test(), test()], 0), (Verdict::Same, 1));
        assert_eq!(verdict(vec![test()], 1), (Verdict::Differs, 0));
        let branch = Finding { kind: FindingKind::Branch, ..test() };
        assert_eq!(verdict(vec![test(), branch], 0), (Verdict::Differs, 0));
        let iteration = Finding { extra_trips: [0, 1], ..test() };
        assert_eq!(verdict(vec![iteration], 0), (Verdict::Differs, 0));
        let enters = Finding { follows: [0, 3], ..test() };
        assert_eq!(verdict(vec![enters], 0), (Verdict::Same, 1));
    }

    #[test]
    fn a_loop_that_is_turned_round_is_no_difference() {
        let inside = |line, trips| Finding {
            kind: FindingKind::Branch,
            roots: 1,
            trips: vec![TripInfo {
                location: Some(Location { line, ..Location::default() }),
                trips,
                ..TripInfo::default()
            }],
            ..Finding::default()
        };
        let verdict = |findings: Vec<Finding>, differ| {
            let mut l = report(findings, differ);
            l.accept_other_order_of_iterations(&|l| l.line == 5);
            l.conclude();
            (l.verdict, l.notes.len())
        };
        let follows = Finding { roots: 0, ..inside(9, [1, 1]) };
        assert_eq!(verdict(vec![inside(5, [4, 4]), follows], 0), (Verdict::Same, 1));
        // Outputs differ, a loop whose line both sides share, another number of iterations.
        assert_eq!(verdict(vec![inside(5, [4, 4])], 1).0, Verdict::Differs);
        assert_eq!(verdict(vec![inside(5, [4, 4]), inside(9, [4, 4])], 0), (Verdict::Differs, 0));
        assert_eq!(verdict(vec![inside(5, [4, 3])], 0), (Verdict::Differs, 0));
        let longer = Finding { extra_trips: [0, 1], ..inside(5, [4, 4]) };
        assert_eq!(verdict(vec![longer], 0), (Verdict::Differs, 0));
    }

    #[test]
    fn another_block_is_no_difference_if_all_memory_is_equal() {
        let verdict = |digests_agree, skipped: Option<String>| {
            let what = LaunchPart::Geometry;
            let block = LaunchDifference { what, name: "block".into(), ..LaunchDifference::default() };
            let mut l = LaunchReport {
                differences: vec![block],
                digests_agree,
                skipped: [skipped.clone(), skipped],
                gaps: vec!["threads do not correspond".into()],
                ..LaunchReport::default()
            };
            l.accept_geometry();
            l.accept_geometry();
            l.conclude();
            (l.verdict, l.notes.len())
        };
        assert_eq!(verdict(true, None), (Verdict::Same, 1));
        assert_eq!(verdict(false, None), (Verdict::Differs, 0));
        assert_eq!(verdict(true, Some("no PTX".into())), (Verdict::Unknown, 0));
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

    fn launch(differences: &[(LaunchPart, &str)]) -> LaunchReport {
        let differences = differences.iter().map(|(what, name)| LaunchDifference {
            what: *what,
            name: (*name).to_owned(),
            values: ["1".into(), "2".into()],
        });
        let mut launch = LaunchReport { differences: differences.collect(), ..LaunchReport::default() };
        launch.conclude();
        launch
    }

    #[test]
    fn numbers_replace_digests_and_other_buffers_decide_nothing() {
        let near = Tolerance { rtol: 0.1, ..Tolerance::default() };
        let (equal, _) = floats(&[1.0], &[1.01], near);
        let (wrong, _) = floats(&[1.0], &[2.0], near);
        let mut l = launch(&[(LaunchPart::Output, "o"), (LaunchPart::Output, "scratch")]);
        assert_eq!(l.verdict, Verdict::Differs);
        add_outputs(&mut l, vec![equal]);
        assert_eq!((l.verdict, l.notes.len()), (Verdict::Same, 1));
        assert_eq!(l.differences.iter().map(|d| d.what).collect::<Vec<_>>(), [LaunchPart::Scratch]);
        let mut l = launch(&[(LaunchPart::Output, "o")]);
        add_outputs(&mut l, vec![wrong]);
        assert_eq!(l.verdict, Verdict::Differs);
        assert_eq!(l.differences[0].values, ["[0] = 1.0", "[0] = 2.0"]);
    }

    #[test]
    fn another_grid_with_equal_outputs_is_the_same_unless_a_lane_differs() {
        let (equal, _) = floats(&[1.0], &[1.0], Tolerance::default());
        let mut l = launch(&[(LaunchPart::Geometry, "grid")]);
        l.gaps.push("no lane was compared".into());
        let mut found = LaunchReport { findings_total: 1, ..l.clone() };
        add_outputs(&mut l, vec![equal.clone()]);
        assert_eq!(
            (l.verdict, l.notes.as_slice(), l.gaps.len()),
            (Verdict::Same, &[OTHER_GRID.to_owned()][..], 0)
        );
        add_outputs(&mut found, vec![equal]);
        assert_eq!(found.verdict, Verdict::Differs);
        found.accept_decisions_of_other_threads();
        assert_eq!((found.verdict, found.findings_total, found.notes.len()), (Verdict::Same, 0, 1));
        let mut wrong = launch(&[(LaunchPart::Geometry, "grid")]);
        add_outputs(&mut wrong, vec![floats(&[1.0], &[2.0], Tolerance::default()).0]);
        wrong.findings_total = 1;
        wrong.accept_decisions_of_other_threads();
        assert_eq!((wrong.verdict, wrong.findings_total), (Verdict::Differs, 1));
    }
}
