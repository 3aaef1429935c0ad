//! Aligns two streams without loops by their sites alone.
//!
//! Streams that meet each site once match where their sites are equal. Others match by Myers' algorithm, in
//! windows: as far as a bounded number of edits leads, then on from there.
//!
//! # Invariants
//! Runs ascend on both sides and do not touch on both sides. Matched events have the same site. Work is linear
//! in events times [`EDITS`].
//!
//! # Limitations
//! Where a window leads nowhere, the streams have too little in common; the caller must match them by other
//! means.

use super::nodes::Nodes;

/// The most single insertions and deletions of one window.
const EDITS: usize = 96;
/// Events that a window of all its edits must at least advance, both sides together, by edit.
const ADVANCE: usize = 6;

/// Events that match one to one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Run {
    /// The first of A's events.
    pub a: usize,
    /// The first of B's events.
    pub b: usize,
    /// Number of events.
    pub len: usize,
}

/// The runs of two streams without loops. `None` if they have too little in common.
pub(super) fn runs(nodes: &Nodes) -> Option<Vec<Run>> {
    let [a, b] = &nodes.of;
    if nodes.straight { Some(straight(b, nodes.in_a)) } else { windows(a, b) }
}

/// The runs of straight streams: a node of A is the number of its event.
fn straight(b: &[u32], in_a: usize) -> Vec<Run> {
    let mut out: Vec<Run> = Vec::new();
    for (j, &node) in b.iter().enumerate().filter(|(_, n)| (**n as usize) < in_a) {
        add(&mut out, Run { a: node as usize, b: j, len: 1 });
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

/// The runs of two sequences, window by window. `None` if a window leads nowhere.
fn windows(a: &[u32], b: &[u32]) -> Option<Vec<Run>> {
    let (mut out, mut rows) = (Vec::new(), Rows::default());
    let (mut x, mut y) = (0, 0);
    while x < a.len() || y < b.len() {
        let (a, b) = (&a[x..], &b[y..]);
        rows.search(a, b);
        let (edits, at) = rows.furthest();
        let to = rows.point(edits, at);
        if to != (a.len(), b.len()) && to.0 + to.1 < ADVANCE * EDITS {
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
    all: Vec<i32>,
}

/// A diagonal that leads nowhere.
const OUT: i32 = i32::MIN / 4;

impl Rows {
    /// Where the row of `edits` edits begins.
    fn start(edits: usize) -> usize {
        edits * (edits + 1) / 2
    }

    fn row(&self, edits: usize) -> &[i32] {
        let start = Rows::start(edits);
        &self.all[start..self.all.len().min(start + edits + 1)]
    }

    /// Fills rows until one reaches the ends of both sequences, at most [`EDITS`].
    fn search(&mut self, a: &[u32], b: &[u32]) {
        self.all.clear();
        for edits in 0..=EDITS {
            for i in 0..=edits {
                let x = if edits == 0 { 0 } else { self.step(edits, i).1 };
                let y = x + edits as i32 - 2 * i as i32;
                let (Some(rest_a), Some(rest_b)) = (rest(a, x), rest(b, y)) else {
                    self.all.push(OUT);
                    continue;
                };
                let equal = rest_a.iter().zip(rest_b).take_while(|(p, q)| p == q).count();
                self.all.push(x + equal as i32);
                if equal == rest_a.len() && equal == rest_b.len() {
                    return;
                }
            }
        }
    }

    /// How the best edit leads to diagonal `i`: whether by an insertion, and where in `a`.
    fn step(&self, edits: usize, i: usize) -> (bool, i32) {
        let before = self.row(edits - 1);
        let deleted = i.checked_sub(1).map_or(OUT, |i| before[i] + 1);
        match before.get(i) {
            Some(&inserted) if inserted >= deleted => (true, inserted),
            _ => (false, deleted),
        }
    }

    /// The diagonal of the last row that leads furthest on both sides together, and that row.
    fn furthest(&self) -> (usize, usize) {
        let edits = (0..=EDITS).rev().find(|&d| Rows::start(d) < self.all.len()).unwrap_or(0);
        let sum = |&i: &usize| 2 * self.row(edits)[i] - 2 * i as i32;
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
fn rest(of: &[u32], at: i32) -> Option<&[u32]> {
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
    fn straight_streams_match_by_node() {
        let runs = straight(&[0, 1, 5, 2, 4, 6], 5);
        let run = |a, b, len| Run { a, b, len };
        assert_eq!(runs, [run(0, 0, 2), run(2, 3, 1), run(4, 4, 1)]);
    }
}
