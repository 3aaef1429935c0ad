//! Aligns two streams without loops by their sites alone.
//!
//! Straight-line streams match where their sites are equal. Other streams match by Myers' algorithm in
//! windows. A window goes as far as a bounded number of edits reaches, and the next window starts there. If a
//! window does not get far enough, the n-th visit of a site on one side matches the n-th visit on the other
//! side.
//!
//! # Invariants
//! Runs ascend on both sides and do not touch on both sides. Matched events have the same site. Work is
//! linear in events times [`MAX_EDITS`].
//!
//! # Limitations
//! The edit script of each window is the shortest one. That of several windows together may be longer than
//! the shortest.

use super::nodes::{Nodes, Run};

/// Maximum number of single insertions and deletions in one window.
const MAX_EDITS: usize = 96;
/// Minimum number of events, both sides together, that a window must match or skip for each of its edits.
const MIN_ADVANCE: usize = 6;

/// The runs of two streams without loops.
pub(super) fn runs(nodes: &Nodes) -> Vec<Run> {
    let [a, b] = &nodes.of;
    if nodes.straight_line {
        return straight(b, nodes.in_a);
    }
    windows(a, b).unwrap_or_else(|| {
        let mut out = Vec::new();
        paired(a, b, nodes.len()).into_iter().for_each(|(a, b)| add(&mut out, Run { a, b, len: 1 }));
        out
    })
}

/// Which elements of two sequences belong together, in order: the most that can, taking the n-th of an
/// element for the n-th. Elements are below `most`.
pub(super) fn paired(a: &[u32], b: &[u32], most: usize) -> Vec<(usize, usize)> {
    // By element: where its places in B begin in `places`; then, up to which of them A has taken.
    let mut starts = vec![0u32; most + 1];
    b.iter().for_each(|k| starts[*k as usize + 1] += 1);
    for k in 0..most {
        starts[k + 1] += starts[k];
    }
    let mut places = vec![0u32; b.len()];
    let mut next = starts.clone();
    for (j, k) in b.iter().enumerate() {
        let at = &mut next[*k as usize];
        places[*at as usize] = j as u32;
        *at += 1;
    }
    next.copy_from_slice(&starts);
    let mut common = Vec::with_capacity(a.len().min(b.len()));
    for (i, k) in a.iter().enumerate() {
        let at = &mut next[*k as usize];
        if *at < starts[*k as usize + 1] {
            common.push((i, places[*at as usize] as usize));
            *at += 1;
        }
    }
    ascending(&common)
}

/// The longest run of pairs, in their order, whose second numbers ascend.
pub(super) fn ascending(common: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // By length of a run: the second number and the pair that it ends with.
    let mut ends: Vec<(usize, u32)> = Vec::new();
    let mut before = vec![u32::MAX; common.len()];
    for (n, &(_, j)) in common.iter().enumerate() {
        let at = match ends.last() {
            Some(&(last, _)) if last >= j => ends.partition_point(|e| e.0 < j),
            _ => ends.len(),
        };
        if at > 0 {
            before[n] = ends[at - 1].1;
        }
        match ends.get_mut(at) {
            Some(e) => *e = (j, n as u32),
            None => ends.push((j, n as u32)),
        }
    }
    let mut out = Vec::with_capacity(ends.len());
    let mut n = ends.last().map_or(u32::MAX, |e| e.1);
    while let Some(&p) = common.get(n as usize) {
        out.push(p);
        n = before[n as usize];
    }
    out.reverse();
    out
}

/// The runs of straight-line streams. A node of A is the index of its event.
fn straight(b: &[u32], in_a: usize) -> Vec<Run> {
    let mut out = Vec::new();
    let mut j = 0;
    while let Some(&node) = b.get(j) {
        let a = node as usize;
        // The node after A's last event is another one's.
        let len = (a..in_a).zip(&b[j..]).take_while(|(a, node)| *a == **node as usize).count();
        add(&mut out, Run { a, b: j, len });
        j += len.max(1);
    }
    out
}

/// Adds a run behind the others.
fn add(runs: &mut Vec<Run>, run: Run) {
    match runs.last_mut().filter(|r| r.a + r.len == run.a && r.b + r.len == run.b) {
        Some(last) => last.len += run.len,
        None if run.len > 0 => runs.push(run),
        None => {}
    }
}

/// The runs of two sequences, window by window. `None` if a window does not get far enough.
fn windows(a: &[u32], b: &[u32]) -> Option<Vec<Run>> {
    let (mut out, mut rows) = (Vec::new(), Rows::default());
    let (mut x, mut y) = (0, 0);
    while x < a.len() || y < b.len() {
        let (a, b) = (&a[x..], &b[y..]);
        rows.search(a, b);
        let (edits, at) = rows.furthest();
        let to = rows.point(edits, at);
        if to != (a.len(), b.len()) && to.0 + to.1 < MIN_ADVANCE * MAX_EDITS {
            return None;
        }
        for run in rows.path(edits, at).into_iter().rev() {
            add(&mut out, Run { a: x + run.a, b: y + run.b, len: run.len });
        }
        (x, y) = (x + to.0, y + to.1);
    }
    Some(out)
}

/// Myers' algorithm: by number of edits, how far each diagonal leads in `a`.
///
/// The row of `d` edits has `d + 1` diagonals: number `i` is `x - y = 2 * i - d`. Deleting from `i - 1` and
/// inserting from `i` of the row before lead to `i`.
#[derive(Default)]
struct Rows {
    /// The rows one after another; negative where a diagonal leads out of the sequences.
    all: Vec<i64>,
}

/// A diagonal that leads nowhere.
const OUT: i64 = i64::MIN / 4;

impl Rows {
    /// Where the row of `edits` edits begins.
    fn start(edits: usize) -> usize {
        edits * (edits + 1) / 2
    }

    fn row(&self, edits: usize) -> &[i64] {
        let start = Rows::start(edits);
        &self.all[start..self.all.len().min(start + edits + 1)]
    }

    /// Fills rows until one reaches the ends of both sequences, at most [`MAX_EDITS`].
    fn search(&mut self, a: &[u32], b: &[u32]) {
        self.all.clear();
        for edits in 0..=MAX_EDITS {
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
                    return;
                }
            }
        }
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

    /// The diagonal of the last row that leads furthest on both sides together, and that row.
    fn furthest(&self) -> (usize, usize) {
        let edits = (0..=MAX_EDITS).rev().find(|&d| Rows::start(d) < self.all.len()).unwrap_or(0);
        let sum = |&i: &usize| 2 * self.row(edits)[i] - 2 * i as i64;
        let best = (0..self.row(edits).len()).rev().max_by_key(sum);
        (edits, best.unwrap_or(0))
    }

    /// Where a diagonal leads.
    fn point(&self, edits: usize, i: usize) -> (usize, usize) {
        let x = self.row(edits)[i].max(0) as usize;
        (x, (x + edits).saturating_sub(2 * i))
    }

    /// The runs on the way to a diagonal, last first.
    fn path(&self, edits: usize, mut i: usize) -> Vec<Run> {
        let mut out = Vec::new();
        for d in (0..=edits).rev() {
            let (x, y) = self.point(d, i);
            let (inserted, from) = if d == 0 { (false, 0) } else { self.step(d, i) };
            let len = x - from.max(0) as usize;
            out.push(Run { a: x - len, b: y - len, len });
            i -= usize::from(d > 0 && !inserted);
        }
        out
    }
}

/// A sequence from a place on, if there is such a place.
fn rest(of: &[u32], at: i64) -> Option<&[u32]> {
    of.get(usize::try_from(at).ok()?..)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The length of the longest common subsequence, by the table.
    fn common(a: &[u32], b: &[u32]) -> usize {
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

    fn random() -> impl FnMut(u32) -> u32 {
        let mut seed = 3u64;
        move |n| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as u32 % n
        }
    }

    /// Runs ascend, do not touch, and match equal elements. Returns the number of matched elements.
    fn matched(a: &[u32], b: &[u32], runs: &[Run]) -> usize {
        let (mut x, mut y) = (0, 0);
        for (n, r) in runs.iter().enumerate() {
            assert!(r.len > 0 && r.a >= x && r.b >= y && (n == 0 || r.a > x || r.b > y), "{runs:?}");
            assert_eq!(a[r.a..r.a + r.len], b[r.b..r.b + r.len]);
            (x, y) = (r.a + r.len, r.b + r.len);
        }
        runs.iter().map(|r| r.len).sum()
    }

    #[test]
    fn short_sequences_match_as_far_as_they_can() {
        let mut random = random();
        for _ in 0..3000 {
            let symbols = 1 + random(6);
            let a: Vec<u32> = (0..random(30)).map(|_| random(symbols)).collect();
            let b: Vec<u32> = (0..random(30)).map(|_| random(symbols)).collect();
            let runs = windows(&a, &b).expect("short");
            assert_eq!(matched(&a, &b, &runs), common(&a, &b), "{a:?} {b:?}");
        }
    }

    #[test]
    fn long_sequences_match_window_by_window() {
        let mut random = random();
        let a: Vec<u32> = (0..20_000).map(|_| random(40)).collect();
        let mut b = Vec::new();
        for x in &a {
            match random(50) {
                0 => {}
                1 => b.extend([*x, 41]),
                _ => b.push(*x),
            }
        }
        let runs = windows(&a, &b).expect("much in common");
        assert!(matched(&a, &b, &runs) > 19_000);
        let other: Vec<u32> = (0..20_000).map(|_| 100 + random(40)).collect();
        assert_eq!(windows(&a, &other), None);
    }

    #[test]
    fn the_most_items_pair() {
        assert_eq!(paired(&[1, 2, 3, 4], &[1, 3, 4, 9], 10), [(0, 0), (2, 1), (3, 2)]);
        assert_eq!(paired(&[1, 2, 1], &[2, 1, 1], 3), [(1, 0), (2, 2)]);
        assert_eq!(paired(&[1], &[2], 3), []);
    }

    #[test]
    fn straight_streams_match_by_node() {
        let runs = straight(&[0, 1, 5, 2, 4, 6], 5);
        let run = |a, b, len| Run { a, b, len };
        assert_eq!(runs, [run(0, 0, 2), run(2, 3, 1), run(4, 4, 1)]);
    }
}
