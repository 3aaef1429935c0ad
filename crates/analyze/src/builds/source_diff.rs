//! Maps the lines of B's source files to A's lines, by a diff of the texts in the recordings.
//!
//! # Invariants
//! Lines that occur once in both texts, in the same order, match whatever the edit around them (the anchors
//! of a patience diff). Between anchors the smallest edit decides. White space at the end of a line is
//! ignored.
//!
//! # Limitations
//! A line that moved past others counts as new.

use std::collections::BTreeMap;

use prlx_trace::kernel::Module;

use crate::edit_script::{self, Edit};

use super::common_ids::next;

/// The first number of lines that only B has.
const NEW: u32 = 1 << 24;

/// Maps B's files and lines to A's.
pub(crate) struct LineMap {
    /// By B's file: A's file, and A's line by B's line (from 1). Lines beyond the list keep their number.
    files: Vec<(u32, Vec<u32>)>,
}

impl LineMap {
    /// Matches files, and the lines of files whose texts were recorded.
    pub fn new(a: &Module, b: &Module) -> LineMap {
        let name = |p: &str| p.rsplit(['/', '\\']).next().unwrap_or(p).to_string();
        let mut free: Vec<u32> = (0..a.files.len() as u32).collect();
        let mut to: Vec<Option<u32>> = vec![None; b.files.len()];
        // By path, else by file name, else any remaining file: two versions of one source.
        for how in 0..3 {
            let equal = |x: &str, y: &str| match how {
                0 => x == y,
                1 => name(x) == name(y),
                _ => true,
            };
            for (t, f) in to.iter_mut().zip(&b.files).filter(|(t, _)| t.is_none()) {
                let found = free.iter().position(|&i| equal(&a.files[i as usize].path, &f.path));
                *t = found.map(|i| free.remove(i));
            }
        }
        let mut extra = a.files.len() as u32;
        let files = to
            .iter()
            .zip(&b.files)
            .map(|(t, f)| {
                let of = t.unwrap_or_else(|| next(&mut extra));
                let texts =
                    a.files.get(of as usize).and_then(|g| Some((g.text.as_deref()?, f.text.as_deref()?)));
                (of, texts.map(|(x, y)| line_map(x, y)).unwrap_or_default())
            })
            .collect();
        LineMap { files }
    }
    /// Maps a file and line of B to A's.
    pub fn to_a(&self, (file, line): (u32, u32)) -> (u32, u32) {
        match self.files.get(file as usize) {
            Some((to, lines)) => (*to, lines.get((line as usize).wrapping_sub(1)).copied().unwrap_or(line)),
            None => (file, line),
        }
    }
}

/// A's line for each line of `b`. Lines that only `b` has get numbers that no line has.
fn line_map(a: &str, b: &str) -> Vec<u32> {
    let hash = |line: &str| -> u64 {
        line.trim()
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |h, c| (h ^ u64::from(c)).wrapping_mul(0x100_0000_01b3))
    };
    let [a, b] = [a, b].map(|text| text.lines().map(hash).collect::<Vec<u64>>());
    let mut map = Vec::with_capacity(b.len());
    let (mut i, mut j) = (0, 0);
    let ends = std::iter::once((a.len(), b.len()));
    for (x, y) in anchors(&a, &b).into_iter().chain(ends) {
        between(&a[i..x], &b[j..y], i as u32, &mut map);
        if y < b.len() {
            map.push(x as u32 + 1);
        }
        (i, j) = (x + 1, y + 1);
    }
    map
}

/// Anchors: lines that occur once in both texts, in the longest chain that ascends on both sides.
fn anchors(a: &[u64], b: &[u64]) -> Vec<(usize, usize)> {
    // By hash: the count on each side, and the last index.
    let mut seen: BTreeMap<u64, [(usize, usize); 2]> = BTreeMap::new();
    for (side, lines) in [a, b].into_iter().enumerate() {
        for (at, hash) in lines.iter().enumerate() {
            let of = &mut seen.entry(*hash).or_default()[side];
            *of = (of.0 + 1, at);
        }
    }
    let mut once: Vec<(usize, usize)> =
        seen.values().filter(|of| of[0].0 == 1 && of[1].0 == 1).map(|of| (of[0].1, of[1].1)).collect();
    once.sort_unstable();
    // `ends[n]`: the pair that ends a chain of n + 1 at the lowest line of B. `before[k]`: the pair before
    // pair k in its chain.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(once.len());
    for (k, pair) in once.iter().enumerate() {
        let n = ends.partition_point(|e| once[*e].1 < pair.1);
        before.push(n.checked_sub(1).map(|n| ends[n]));
        match ends.get_mut(n) {
            Some(end) => *end = k,
            None => ends.push(k),
        }
    }
    let mut chain: Vec<_> =
        std::iter::successors(ends.last().copied(), |k| before[*k]).map(|k| once[k]).collect();
    chain.reverse();
    chain
}

/// Maps the lines between two anchors. `first` lines of A precede `a`.
fn between(a: &[u64], b: &[u64], first: u32, map: &mut Vec<u32>) {
    let runs = edit_script::edits(a, b).unwrap_or_else(|| vec![Edit { a: 0..a.len(), b: 0..b.len() }]);
    let (start, mut at) = (map.len(), 0);
    for run in runs.iter().cloned().chain(std::iter::once(Edit { a: a.len()..a.len(), b: b.len()..b.len() }))
    {
        while map.len() - start < run.b.start {
            at += 1;
            map.push(first + at);
        }
        at = run.a.start as u32;
        for i in 0..run.b.len() {
            // A changed line maps to the line that it replaces.
            map.push(if i < run.a.len() { first + at + 1 + i as u32 } else { NEW + map.len() as u32 });
        }
        at = run.a.end as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_follow_an_edit() {
        let a = "one\ntwo\nthree\nfour\n";
        assert_eq!(line_map(a, "one\nnew\ntwo\nthree!\nfour"), [1, NEW + 1, 2, 3, 4]);
        assert_eq!(line_map(a, "three\nfour"), [3, 4]);
        assert_eq!(line_map(a, a), [1, 2, 3, 4]);
        assert_eq!(line_map(a, ""), [0; 0]);
        assert_eq!(line_map("", a), [NEW, NEW + 1, NEW + 2, NEW + 3]);
        assert_eq!(line_map("}\n}\none\n}\n", "}\n  one\n}\n}\n"), [1, 3, 4, NEW + 3]);
    }

    #[test]
    fn a_large_edit_moves_lines_too() {
        let old: String = (0..40).map(|i| format!("line {i}\n")).collect();
        let new: String = (0..2000).map(|i| format!("new {i}\n")).collect();
        let map = line_map(&old, &format!("{new}{old}"));
        assert_eq!(&map[2000..], (1..=40).collect::<Vec<u32>>());
        assert!(map[..2000].iter().all(|l| *l >= NEW));
        let back = line_map(&format!("{new}{old}"), &old);
        assert_eq!(back, (2001..=2040).collect::<Vec<u32>>());
        // LineMap put in at both ends, and one in the middle that was moved.
        let lines: Vec<&str> = old.lines().collect();
        let moved = [&["x"], &lines[1..20], &[lines[0]], &lines[20..], &["y"]].concat().join("\n");
        let map = line_map(&old, &moved);
        assert_eq!(&map[1..20], (2..=20).collect::<Vec<u32>>());
        assert_eq!(&map[21..41], (21..=40).collect::<Vec<u32>>());
    }
}
