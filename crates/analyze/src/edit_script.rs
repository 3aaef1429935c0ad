//! Aligns two sequences of hashes: which elements were removed, which were inserted.
//!
//! # Invariants
//! [`edits`] returns a smallest edit script (Myers' greedy algorithm), if one exists within the bound. Time
//! and memory are bounded for any input. [`align_trips`] matches trips by position where it can, since a
//! trip's number identifies it. It shifts trips only where the numbers themselves are off.

use std::ops::Range;

/// One edit: these elements of `a` are replaced by these of `b`. Between edits the sequences are equal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    /// The elements that only `a` has.
    pub a: Range<usize>,
    /// The elements that only `b` has.
    pub b: Range<usize>,
}

/// The largest number of single insertions and deletions that is searched for.
const MAX_EDIT: usize = 256;
/// The largest number of trips that differ in place without a search for a shift.
pub const MOST_IN_PLACE: usize = 8;
/// The largest number of element comparisons in one search.
const MAX_WORK: usize = 1 << 26;

/// The smallest edit script from `a` to `b`, in order. `None` if it exceeds the bound.
pub fn edits(a: &[u64], b: &[u64]) -> Option<Vec<Edit>> {
    let head = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[head..], &b[head..]);
    let tail = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[..a.len() - tail], &b[..b.len() - tail]);
    if a.is_empty() && b.is_empty() {
        return Some(Vec::new());
    }
    if a.is_empty() || b.is_empty() {
        return Some(vec![Edit { a: head..head + a.len(), b: head..head + b.len() }]);
    }
    let most = MAX_EDIT.min(MAX_WORK / (a.len() + b.len())).max(1);
    let mut rows = Rows::default();
    if !rows.search(a, b, most) {
        return None;
    }
    let (mut x, mut y) = (0, 0);
    let mut out: Vec<Edit> = Vec::new();
    let end = Run { a: a.len(), b: b.len(), len: 0 };
    for Run { a, b, len } in rows.path().into_iter().filter(|run| run.len > 0).chain([end]) {
        let edit = Edit { a: head + x..head + a, b: head + y..head + b };
        out.extend(Some(edit).filter(|edit| !edit.a.is_empty() || !edit.b.is_empty()));
        (x, y) = (a + len, b + len);
    }
    Some(out)
}

/// Adjacent elements of `a` and `b` that are equal one to one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// The first of them in `a`.
    pub a: usize,
    /// The first of them in `b`.
    pub b: usize,
    /// Number of elements.
    pub len: usize,
}

/// The search of Myers' algorithm (E. W. Myers, "An O(ND) Difference Algorithm and Its Variations", 1986): by
/// number of edits, how far each diagonal leads in `a`.
///
/// The row of `d` edits has `d + 1` diagonals: number `i` is `x - y = 2 * i - d`. Deleting from `i - 1` and
/// inserting from `i` of the row before lead to `i`.
#[derive(Default)]
pub struct Rows {
    /// The rows one after another; negative where a diagonal leads out of the sequences.
    all: Vec<i64>,
    /// Number of edits of the last row.
    edits: usize,
}

/// A diagonal that leads nowhere.
const OUT: i64 = i64::MIN / 4;

impl Rows {
    fn row(&self, edits: usize) -> &[i64] {
        let start = edits * (edits + 1) / 2;
        &self.all[start..self.all.len().min(start + edits + 1)]
    }

    /// Fills rows until one reaches the ends of both sequences, and returns true; false if it takes more than
    /// `most` edits.
    pub fn search<T: PartialEq>(&mut self, a: &[T], b: &[T], most: usize) -> bool {
        self.all.clear();
        for edits in 0..=most {
            self.edits = edits;
            for i in 0..=edits {
                let x = if edits == 0 { 0 } else { self.step(edits, i).1 };
                let y = x + edits as i64 - 2 * i as i64;
                let (Some(rest_a), Some(rest_b)) = (rest(a, x), rest(b, y)) else {
                    self.all.push(OUT);
                    continue;
                };
                let equal = rest_a.iter().zip(rest_b).take_while(|(p, q)| p == q).count();
                self.all.push(x + equal as i64);
                if equal == rest_a.len() && equal == rest_b.len() {
                    return true;
                }
            }
        }
        false
    }

    /// How the best edit leads to diagonal `i`: whether by an insertion, and where in `a`.
    fn step(&self, edits: usize, i: usize) -> (bool, i64) {
        let before = self.row(edits - 1);
        let deleted = i.checked_sub(1).map_or(OUT, |i| before[i] + 1);
        match before.get(i) {
            Some(&inserted) if inserted >= deleted => (true, inserted),
            _ => (false, deleted),
        }
    }

    /// The diagonal of the last row that leads furthest on both sides together.
    fn furthest(&self) -> usize {
        let row = self.row(self.edits);
        let best = (0..row.len()).rev().max_by_key(|&i| 2 * row[i] - 2 * i as i64);
        best.unwrap_or(0)
    }

    /// Where a diagonal leads.
    fn point(&self, edits: usize, i: usize) -> (usize, usize) {
        let x = self.row(edits)[i].max(0) as usize;
        (x, (x + edits).saturating_sub(2 * i))
    }

    /// How far the search got in both sequences.
    pub fn end(&self) -> (usize, usize) {
        self.point(self.edits, self.furthest())
    }

    /// The runs on the way to [`Rows::end`], in order. Some have no elements.
    pub fn path(&self) -> Vec<Run> {
        let (mut out, mut i) = (Vec::new(), self.furthest());
        for d in (0..=self.edits).rev() {
            let (x, y) = self.point(d, i);
            let (inserted, from) = if d == 0 { (false, 0) } else { self.step(d, i) };
            let len = x - from.max(0) as usize;
            out.push(Run { a: x - len, b: y - len, len });
            i -= usize::from(d > 0 && !inserted);
        }
        out.reverse();
        out
    }
}

/// A sequence from a place on, if there is such a place.
fn rest<T>(of: &[T], at: i64) -> Option<&[T]> {
    of.get(usize::try_from(at).ok()?..)
}

/// How trips of one loop match on both sides. Indices count from 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TripStep {
    /// The same trip, with different content.
    Pair(usize, usize),
    /// Trips that only `a` has, while `b` is at this trip.
    OnlyA(Range<usize>, usize),
    /// Trips that only `b` has, while `a` is at this trip.
    OnlyB(usize, Range<usize>),
}

/// Aligns the trips of a loop by their hashes. Trips with equal hashes are omitted. `leaves(i, j)` says
/// whether trip `i` of `a` and trip `j` of `b` differ only in whether the loop continues.
pub fn align_trips(a: &[u64], b: &[u64], leaves: impl Fn(usize, usize) -> bool) -> Vec<TripStep> {
    let common = a.len().min(b.len());
    let moved = (0..common).filter(|&i| a[i] != b[i]).count();
    if a.len() == b.len() {
        // Trips that differ keep their positions, unless a shift explains far more of the differences.
        if moved > MOST_IN_PLACE
            && let Some(runs) = edits(a, b)
            && runs.iter().map(|r| r.a.len().max(r.b.len())).sum::<usize>() * 4 <= moved
        {
            return trip_steps(&runs);
        }
        return by_position(a, b, 0, 0);
    }
    let Some(mut runs) = edits(a, b) else { return by_position(a, b, 0, 0) };
    let edits: usize = runs.iter().map(|r| r.a.len().max(r.b.len())).sum();
    if edits > a.len().abs_diff(b.len()) + moved.max(1) {
        return by_position(a, b, 0, 0);
    }
    // One side continues where the other leaves the loop. The decision of that trip differs, not the trips
    // after it.
    let last = runs.last().cloned();
    let at_end = |r: &Edit| (r.a.is_empty() || r.b.is_empty()) && a.len() - r.a.end <= 1;
    let goes_on = |r: &Edit| r.a.start < a.len() && r.b.start < b.len() && leaves(r.a.start, r.b.start);
    if let Some(run) = last.filter(|r| at_end(r) && goes_on(r)) {
        runs.pop();
        let mut out = trip_steps(&runs);
        out.extend(by_position(a, b, run.a.start, run.b.start));
        return out;
    }
    trip_steps(&runs)
}

fn trip_steps(runs: &[Edit]) -> Vec<TripStep> {
    let mut out = Vec::new();
    for Edit { a, b } in runs {
        let both = a.len().min(b.len());
        out.extend((0..both).map(|i| TripStep::Pair(a.start + i, b.start + i)));
        if a.len() > both {
            out.push(TripStep::OnlyA(a.start + both..a.end, b.end));
        }
        if b.len() > both {
            out.push(TripStep::OnlyB(a.end, b.start + both..b.end));
        }
    }
    out
}

fn by_position(a: &[u64], b: &[u64], i: usize, j: usize) -> Vec<TripStep> {
    let both = (a.len() - i).min(b.len() - j);
    let mut out: Vec<TripStep> =
        (0..both).filter(|k| a[i + k] != b[j + k]).map(|k| TripStep::Pair(i + k, j + k)).collect();
    if a.len() - i > both {
        out.push(TripStep::OnlyA(i + both..a.len(), b.len()));
    }
    if b.len() - j > both {
        out.push(TripStep::OnlyB(a.len(), j + both..b.len()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(a: &[u64], b: &[u64], runs: &[Edit]) -> Vec<u64> {
        let (mut out, mut at) = (Vec::new(), 0);
        for r in runs {
            out.extend(&a[at..r.a.start]);
            assert_eq!(out.len(), r.b.start);
            out.extend(&b[r.b.clone()]);
            at = r.a.end;
        }
        out.extend(&a[at..]);
        out
    }

    /// The length of the longest common subsequence, by the table.
    fn lcs(a: &[u64], b: &[u64]) -> usize {
        let mut row = vec![0; b.len() + 1];
        for x in a {
            let mut left = 0;
            for (j, y) in b.iter().enumerate() {
                let up = row[j + 1];
                row[j + 1] = if x == y { left + 1 } else { up.max(row[j]) };
                left = up;
            }
        }
        row[b.len()]
    }

    #[test]
    fn edits_are_smallest_and_right() {
        let mut seed = 3u64;
        let mut random = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        for _ in 0..3000 {
            let symbols = 1 + random(6);
            let a: Vec<u64> = (0..random(30)).map(|_| random(symbols)).collect();
            let b: Vec<u64> = (0..random(30)).map(|_| random(symbols)).collect();
            let runs = edits(&a, &b).expect("small");
            assert_eq!(apply(&a, &b, &runs), b);
            let edits: usize = runs.iter().map(|r| r.a.len() + r.b.len()).sum();
            assert_eq!(edits, a.len() + b.len() - 2 * lcs(&a, &b), "{a:?} {b:?}");
        }
    }

    #[test]
    fn large_edits_are_given_up() {
        let a: Vec<u64> = (0..5000).collect();
        let b: Vec<u64> = (0..5000).map(|x| x + 10_000).collect();
        assert_eq!(edits(&a, &b), None);
    }

    #[test]
    fn trips_stay_in_place_unless_shifted() {
        let a: Vec<u64> = (0..100).collect();
        let mut flipped = a.clone();
        flipped[7] = 1000;
        assert_eq!(align_trips(&a, &flipped, |_, _| true), [TripStep::Pair(7, 7)]);
        let mut dropped = a.clone();
        dropped.remove(40);
        assert_eq!(align_trips(&a, &dropped, |_, _| true), [TripStep::OnlyA(40..41, 40)]);
        assert_eq!(align_trips(&dropped, &a, |_, _| true), [TripStep::OnlyB(40, 40..41)]);
        // Three more trips, then the last one, which leaves: the pair is the trip in which one side stays.
        let longer: Vec<u64> = (0..99).chain([98, 98, 98, 99]).collect();
        assert_eq!(
            align_trips(&a, &longer, |_, _| true),
            [TripStep::Pair(99, 99), TripStep::OnlyB(100, 100..103)]
        );
        // The same edit, if the trips differ otherwise too.
        assert_eq!(align_trips(&a, &longer, |_, _| false), [TripStep::OnlyB(99, 99..102)]);
    }
}
