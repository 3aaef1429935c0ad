//! Matches the launches of two runs, by kernel and order, allowing for launches that only one run has.
//!
//! # Invariants
//! Matched launches have the same kernel. Where several launches could be the inserted one, the choice that
//! makes most launches agree is taken. Launches in another order, such as those of racing streams or of an
//! autotuner's candidates, still get a match. A launch matches one of other dimensions only if its kernel has
//! no other launch of its own dimensions to match.
//!
//! # Limitations
//! If the edit exceeds the bound of [`edit_script::edits`], launches match by order within their kernel.

use std::collections::{BTreeSet, HashMap, VecDeque};

use crate::edit_script::{self, Edit};

/// What is known of a launch before its lanes are decoded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LaunchKey {
    /// Its kernel, as a number that both sides share.
    pub kernel: u64,
    /// A hash of its grid, block and cluster.
    pub dimensions: u64,
    /// A digest of everything that was recorded of it.
    pub digest: u64,
}

/// The matched launches, by index, ascending in `a`.
pub fn match_launches(a: &[LaunchKey], b: &[LaunchKey]) -> Vec<(usize, usize)> {
    let kernels = |items: &[LaunchKey]| items.iter().map(|i| i.kernel).collect::<Vec<u64>>();
    let runs = edit_script::edits(&kernels(a), &kernels(b))
        .unwrap_or_else(|| vec![Edit { a: 0..a.len(), b: 0..b.len() }]);
    let mut pairs = Vec::new();
    let mut at = (0, 0);
    for (i, run) in runs.iter().enumerate() {
        let next = runs.get(i + 1).map_or((a.len(), b.len()), |r| (r.a.start, r.b.start));
        let run = slide(a, b, at, run.clone(), next);
        pairs.extend((at.0..run.a.start).zip(at.1..run.b.start));
        at = (run.a.end, run.b.end);
    }
    pairs.extend((at.0..a.len()).zip(at.1..b.len()));
    let (kept, resized): (Vec<_>, Vec<_>) =
        pairs.into_iter().partition(|(i, j)| a[*i].dimensions == b[*j].dimensions);
    let mut matching = Matching {
        launches: [a, b],
        open: [(0..a.len()).collect(), (0..b.len()).collect()],
        pairs: Vec::new(),
    };
    matching.add(&kept);
    // Launches that moved: recorded alike, or with equal dimensions.
    matching.add_by_order(|k| *k);
    matching.add_by_order(|k| LaunchKey { digest: 0, ..*k });
    // Launches that were made with other dimensions.
    matching.add(&resized);
    matching.add_by_order(|k| LaunchKey { digest: 0, dimensions: 0, ..*k });
    matching.pairs.sort_unstable();
    matching.pairs
}

/// The matches of both sides' launches so far.
struct Matching<'k> {
    launches: [&'k [LaunchKey]; 2],
    /// By side: the launches without a match.
    open: [BTreeSet<usize>; 2],
    pairs: Vec<(usize, usize)>,
}

impl Matching<'_> {
    /// Adds those of `pairs` of which neither launch has a match.
    fn add(&mut self, pairs: &[(usize, usize)]) {
        for (i, j) in pairs {
            if self.open[0].contains(i) && self.open[1].contains(j) {
                self.open[0].remove(i);
                self.open[1].remove(j);
                self.pairs.push((*i, *j));
            }
        }
    }

    /// Matches launches with equal `key` by order.
    fn add_by_order(&mut self, key: impl Fn(&LaunchKey) -> LaunchKey) {
        let mut partners: HashMap<LaunchKey, VecDeque<usize>> = HashMap::new();
        for j in &self.open[1] {
            partners.entry(key(&self.launches[1][*j])).or_default().push_back(*j);
        }
        let partner = |i: &usize| Some((*i, partners.get_mut(&key(&self.launches[0][*i]))?.pop_front()?));
        let pairs: Vec<(usize, usize)> = self.open[0].iter().filter_map(partner).collect();
        self.add(&pairs);
    }
}

/// Moves a pure insertion or removal to where most launches agree. In `x k x`, either `k x` was inserted
/// after `x`, or `x k` before it.
///
/// The edit moves between the end of the match before it and the start of the next edit. It moves only if two
/// more launches agree afterwards: a gain of one may be a launch that differs in place.
fn slide(a: &[LaunchKey], b: &[LaunchKey], from: (usize, usize), run: Edit, to: (usize, usize)) -> Edit {
    let (longer, range, other, at, room) = match (run.a.is_empty(), run.b.is_empty()) {
        (true, false) => (b, run.b.clone(), a, run.a.start, (run.b.start - from.1, to.1 - run.b.end)),
        (false, true) => (a, run.a.clone(), b, run.b.start, (run.a.start - from.0, to.0 - run.a.end)),
        _ => return run,
    };
    let (start, end) = (range.start, range.end);
    let agrees = |i: usize, j: usize| i64::from(other[i].digest == longer[j].digest);
    let (mut best, mut most) = (0i64, 1i64);
    let mut gain = 0;
    for t in 0..room.1 {
        if longer[start + t].kernel != longer[end + t].kernel {
            break;
        }
        gain += agrees(at + t, start + t) - agrees(at + t, end + t);
        if gain > most {
            (most, best) = (gain, t as i64 + 1);
        }
    }
    gain = 0;
    for t in 1..=room.0 {
        if longer[start - t].kernel != longer[end - t].kernel {
            break;
        }
        gain += agrees(at - t, end - t) - agrees(at - t, start - t);
        if gain > most {
            (most, best) = (gain, -(t as i64));
        }
    }
    let moved = |r: &std::ops::Range<usize>| {
        r.start.saturating_add_signed(best as isize)..r.end.saturating_add_signed(best as isize)
    };
    Edit { a: moved(&run.a), b: moved(&run.b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `k1` is kernel `k` with content 1, `k1x` with the dimensions `x`.
    fn items(text: &str) -> Vec<LaunchKey> {
        let item = |w: &str| LaunchKey {
            kernel: w.as_bytes()[0].into(),
            dimensions: w.as_bytes().get(2).copied().unwrap_or(0).into(),
            digest: w.bytes().fold(0, |n, b| n * 256 + u64::from(b)),
        };
        text.split_whitespace().map(item).collect()
    }

    fn check(a: &str, b: &str, want: &[(usize, usize)]) {
        assert_eq!(match_launches(&items(a), &items(b)), want, "{a} | {b}");
        let back: Vec<_> = want.iter().map(|(i, j)| (*j, *i)).collect();
        let mut found = match_launches(&items(b), &items(a));
        found.sort_by_key(|p| p.1);
        let mut back = back;
        back.sort_by_key(|p| p.1);
        assert_eq!(found, back, "{b} | {a}");
    }

    #[test]
    fn the_same_order_is_kept_whatever_was_recorded() {
        check("k1 k1 k1 k2 k2", "k1 k1 k2 k2 k2", &[(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]);
        check("", "", &[]);
        check("k1", "", &[]);
    }

    #[test]
    fn one_of_many_is_put_in_where_most_agree() {
        check("k1 k2 k3 k4", "k1 k2 k9 k3 k4", &[(0, 0), (1, 1), (2, 3), (3, 4)]);
        check("k1 k2 k3 k4", "k9 k1 k2 k3 k4", &[(0, 1), (1, 2), (2, 3), (3, 4)]);
        // One that differs where it is, and one more.
        check("k1 k1 k1", "k1 k2 k1 k1", &[(0, 0), (1, 1), (2, 2)]);
        // All differ from the second on: the one more is the last.
        check("k1 k2 k3", "k1 k5 k6 k7", &[(0, 0), (1, 1), (2, 2)]);
        // A whole step more.
        check(
            "p1 q1 p2 q2 p3 q3",
            "p1 q1 p8 q8 p2 q2 p3 q3",
            &[(0, 0), (1, 1), (2, 4), (3, 5), (4, 6), (5, 7)],
        );
        // Between two others.
        check("a1 k1 k2 b1", "a1 k9 k1 k2 b1", &[(0, 0), (1, 2), (2, 3), (3, 4)]);
    }

    #[test]
    fn another_order_still_pairs() {
        check("a1 b1 c1", "b1 a1 c1", &[(0, 1), (1, 0), (2, 2)]);
        check("a1 b1", "c1 b1", &[(1, 1)]);
    }

    #[test]
    fn launches_of_other_dimensions_match_only_if_none_of_their_own_is_left() {
        // An autotuner's candidates in another order.
        check("k1x k1y k1z", "k1z k1x k1y", &[(0, 1), (1, 2), (2, 0)]);
        // Of two with equal dimensions, the one that agrees.
        check("k1x k2y k3y", "k3y k2y k1x", &[(0, 2), (1, 1), (2, 0)]);
        // A launch that was made with other dimensions stays where it is.
        check("k1x k2x k3x", "k1x k2y k3x", &[(0, 0), (1, 1), (2, 2)]);
        // One that only A made.
        check("k1x k1y", "k1y", &[(1, 0)]);
        // It stays where it is beside one more, which is not like it either.
        check("k0w p1 k1x", "p1 k1y", &[(1, 0), (2, 1)]);
        // Its own launch is taken already.
        check("k1x k2x", "k1x k2y", &[(0, 0), (1, 1)]);
    }

    #[test]
    fn large_edits_pair_by_order_within_kernels() {
        let a: Vec<LaunchKey> =
            (0..3000).map(|i| LaunchKey { kernel: i % 2, dimensions: 0, digest: i }).collect();
        let other = |i| LaunchKey { kernel: 2 + i % 2, dimensions: 0, digest: i };
        let b: Vec<LaunchKey> = (0..3000).map(other).chain(a[..4].to_vec()).collect();
        assert_eq!(match_launches(&a, &b), [(0, 3000), (1, 3001), (2, 3002), (3, 3003)]);
    }
}
