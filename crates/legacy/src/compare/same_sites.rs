//! Aligns two streams without loops by their sites alone.
//!
//! Straight-line streams match where their sites are equal. Other streams match by shortest edit scripts in
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

use prlx_analyze::edit_script::{Rows, Run};

use super::nodes::Nodes;

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
        rows.search(a, b, MAX_EDITS);
        let to = rows.end();
        if to != (a.len(), b.len()) && to.0 + to.1 < MIN_ADVANCE * MAX_EDITS {
            return None;
        }
        for run in rows.path() {
            add(&mut out, Run { a: x + run.a, b: y + run.b, len: run.len });
        }
        (x, y) = (x + to.0, y + to.1);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use prlx_analyze::edit_script::edits;

    use super::super::random::random;
    use super::*;

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
        let mut random = random(3);
        for _ in 0..3000 {
            let symbols = 1 + random(6);
            let mut some = || (0..random(30)).map(|_| random(symbols)).collect::<Vec<u32>>();
            let (a, b) = (some(), some());
            let [long_a, long_b] = [&a, &b].map(|of| of.iter().map(|x| u64::from(*x)).collect::<Vec<_>>());
            // A shortest script: what it leaves is a longest common subsequence.
            let script = edits(&long_a, &long_b).expect("short");
            let removed: usize = script.iter().map(|edit| edit.a.len()).sum();
            let runs = windows(&a, &b).expect("short");
            assert_eq!(matched(&a, &b, &runs), a.len() - removed, "{a:?} {b:?}");
        }
    }

    #[test]
    fn long_sequences_match_window_by_window() {
        let mut random = random(3);
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
