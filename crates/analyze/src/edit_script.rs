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
    let steps = edit(a, b)?;
    let mut out: Vec<Edit> = Vec::new();
    for (x, y, inserted) in steps {
        let (x, y) = (head + x, head + y);
        let (dx, dy) = if inserted { (0, 1) } else { (1, 0) };
        match out.last_mut().filter(|r| r.a.end == x && r.b.end == y) {
            Some(run) => (run.a.end, run.b.end) = (x + dx, y + dy),
            None => out.push(Edit { a: x..x + dx, b: y..y + dy }),
        }
    }
    Some(out)
}

/// Myers' algorithm: for each number of edits the furthest point on each diagonal, then back along the path.
/// Returns single steps in order: the position in `a`, the position in `b`, and whether `b`'s element is
/// inserted (else `a`'s is removed).
fn edit(a: &[u64], b: &[u64]) -> Option<Vec<(usize, usize, bool)>> {
    let (n, m) = (a.len() as i64, b.len() as i64);
    let most = MAX_EDIT.min(MAX_WORK / (a.len() + b.len())).max(1).min(a.len() + b.len()) as i64;
    let mut history: Vec<Vec<i64>> = Vec::new();
    // `furthest[k + d]` is x on diagonal k = x - y.
    let mut furthest: Vec<i64> = vec![0];
    for d in 0..=most {
        let at = |v: &[i64], k: i64| v.get((k + d - 1) as usize).copied().unwrap_or(-1);
        let mut next = vec![-1; (2 * d + 1) as usize];
        let mut done = false;
        for k in (-d..=d).step_by(2) {
            let mut x = if d == 0 {
                0
            } else if k == -d || (k != d && at(&furthest, k - 1) < at(&furthest, k + 1)) {
                at(&furthest, k + 1)
            } else {
                at(&furthest, k - 1) + 1
            };
            // Neighbours beyond the end of a sequence lead nowhere.
            if x < 0 || x > n || x - k < 0 || x - k > m {
                continue;
            }
            while x < n && x - k < m && a[x as usize] == b[(x - k) as usize] {
                x += 1;
            }
            next[(k + d) as usize] = x;
            if x == n && x - k == m {
                done = true;
                break;
            }
        }
        history.push(std::mem::replace(&mut furthest, next));
        if done {
            return Some(back(&history, n, m));
        }
    }
    None
}

/// Walks from the end to the start. `history[d]` holds the furthest points before edit `d`.
fn back(history: &[Vec<i64>], n: i64, m: i64) -> Vec<(usize, usize, bool)> {
    let (mut x, mut y) = (n, m);
    let mut out = Vec::new();
    for d in (1..history.len() as i64).rev() {
        let known = &history[d as usize];
        let at = |k: i64| known.get((k + d - 1) as usize).copied().unwrap_or(-1);
        let k = x - y;
        let down = k == -d || (k != d && at(k - 1) < at(k + 1));
        let from = if down { k + 1 } else { k - 1 };
        x = at(from);
        y = x - from;
        out.push((x.max(0) as usize, y.max(0) as usize, down));
    }
    out.reverse();
    out
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
