//! Maps the lines of B's source files to A's lines, by a diff of the texts in the recordings.
//!
//! # Invariants
//! Lines that occur once in both texts, in the same order, match whatever the edit around them (the anchors
//! of a patience diff). Between anchors the smallest edit decides. White space at the end of a line is
//! ignored. A line that only moved, and that occurs once in both texts, matches where it is now.

use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::kernel::Module;
use prlx_trace::names::file_name;

use crate::edit_script::{self, Edit};

use super::common_ids::next;

/// The first number of lines that only B has.
const NEW: u32 = 1 << 24;

/// The largest number of pairs of changed lines whose words are compared.
const MAX_PAIRS: usize = 1 << 14;

/// Maps B's files and lines to A's.
pub(crate) struct LineMap {
    /// By B's file: A's file, and A's line by B's line (from 1). Lines beyond the list keep their number.
    files: Vec<(u32, Vec<u32>)>,
}

impl LineMap {
    /// Matches files, and the lines of files whose texts were recorded.
    pub fn new(a: &Module, b: &Module) -> LineMap {
        let mut free: Vec<u32> = (0..a.files.len() as u32).collect();
        let mut to: Vec<Option<u32>> = vec![None; b.files.len()];
        // By path, else by file name, else any remaining file: two versions of one source.
        for how in 0..3 {
            let equal = |x: &str, y: &str| match how {
                0 => x == y,
                1 => file_name(x) == file_name(y),
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
    /// Whether a line of B moved: its text is known to be that of a line of A other than `a`, in the same
    /// file.
    pub fn moved(&self, a: (u32, u32), b: (u32, u32)) -> bool {
        let known = self.files.get(b.0 as usize).is_some_and(|(_, lines)| !lines.is_empty());
        let (file, line) = self.to_a(b);
        known && file == a.0 && line != a.1 && line < NEW
    }
}

/// A's line for each line of `b`. Lines that only `b` has get numbers that no line has.
fn line_map(a: &str, b: &str) -> Vec<u32> {
    let hash = |line: &str| -> u64 {
        line.trim()
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |h, c| (h ^ u64::from(c)).wrapping_mul(0x100_0000_01b3))
    };
    let texts = [a, b].map(|text| text.lines().collect::<Vec<&str>>());
    let [a, b] = texts.each_ref().map(|lines| lines.iter().map(|l| hash(l)).collect::<Vec<u64>>());
    let mut map = Vec::with_capacity(b.len());
    let (mut i, mut j) = (0, 0);
    let ends = std::iter::once((a.len(), b.len()));
    for (x, y) in anchors(&a, &b).into_iter().chain(ends) {
        between([&a[i..x], &b[j..y]], [&texts[0][i..x], &texts[1][j..y]], i as u32, &mut map);
        if y < b.len() {
            map.push(x as u32 + 1);
        }
        (i, j) = (x + 1, y + 1);
    }
    let taken: BTreeSet<u32> = map.iter().copied().collect();
    for (x, y) in unique(&a, &b) {
        let line = x as u32 + 1;
        if map[y] >= NEW && !taken.contains(&line) {
            map[y] = line;
        }
    }
    map
}

/// The lines that occur once in both texts, in the order of A.
fn unique(a: &[u64], b: &[u64]) -> Vec<(usize, usize)> {
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
    once
}

/// Anchors: the longest chain of unique lines that ascends on both sides.
fn anchors(a: &[u64], b: &[u64]) -> Vec<(usize, usize)> {
    let once = unique(a, b);
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

/// Maps the lines between two anchors, by their hashes and texts. `first` lines of A precede `a`.
fn between([a, b]: [&[u64]; 2], texts: [&[&str]; 2], first: u32, map: &mut Vec<u32>) {
    let runs = edit_script::edits(a, b).unwrap_or_else(|| vec![Edit { a: 0..a.len(), b: 0..b.len() }]);
    let (start, mut at) = (map.len(), 0);
    for run in runs.iter().cloned().chain(std::iter::once(Edit { a: a.len()..a.len(), b: b.len()..b.len() }))
    {
        while map.len() - start < run.b.start {
            at += 1;
            map.push(first + at);
        }
        at = run.a.start as u32;
        // A changed line maps to the line that it replaces.
        for replaced in replaced_lines(&texts[0][run.a.clone()], &texts[1][run.b.clone()]) {
            map.push(replaced.map_or(NEW + map.len() as u32, |i| first + at + 1 + i as u32));
        }
        at = run.a.end as u32;
    }
}

/// For each line of `b`, the line of `a` that it replaces: in order if there are equally many, else the
/// pairs in ascending order that have the most words in common.
fn replaced_lines(a: &[&str], b: &[&str]) -> Vec<Option<usize>> {
    let in_order = || (0..b.len()).map(|i| Some(i).filter(|i| *i < a.len())).collect();
    if a.len() == b.len() || a.len() * b.len() > MAX_PAIRS {
        return in_order();
    }
    let likeness: Vec<Vec<u32>> = b.iter().map(|y| a.iter().map(|x| common_words(x, y)).collect()).collect();
    // The greatest sum for the first `j` lines of B and `i` lines of A.
    let mut best = vec![vec![0u32; a.len() + 1]; b.len() + 1];
    for j in 1..=b.len() {
        for i in 1..=a.len() {
            let pair = best[j - 1][i - 1] + likeness[j - 1][i - 1];
            best[j][i] = pair.max(best[j - 1][i]).max(best[j][i - 1]);
        }
    }
    let (mut i, mut j) = (a.len(), b.len());
    let mut out = vec![None; b.len()];
    while i > 0 && j > 0 {
        if likeness[j - 1][i - 1] > 0 && best[j][i] == best[j - 1][i - 1] + likeness[j - 1][i - 1] {
            out[j - 1] = Some(i - 1);
            (i, j) = (i - 1, j - 1);
        } else if best[j][i] == best[j][i - 1] {
            i -= 1;
        } else {
            j -= 1;
        }
    }
    out
}

/// How many words two lines have in common, in 1000ths of all their words.
fn common_words(a: &str, b: &str) -> u32 {
    let words = |line: &str| {
        let mut words: Vec<String> = line
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|w| !w.is_empty())
            .map(str::to_owned)
            .collect();
        words.sort_unstable();
        words
    };
    let (a, mut b) = (words(a), words(b));
    let all = a.len() + b.len();
    let common = a.iter().filter(|w| b.iter().position(|x| x == *w).map(|at| b.remove(at)).is_some()).count();
    (2000 * common / all.max(1)) as u32
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
    fn a_line_that_moved_past_others_matches() {
        let (a, b) = ("one\ntwo\nthree\n}\n", "two\nthree\none\n}\n");
        assert_eq!(line_map(a, b), [2, 3, 1, 4]);
        let lines = LineMap { files: vec![(0, line_map(a, b))] };
        assert!(lines.moved((0, 1), (0, 1)) && !lines.moved((0, 1), (0, 3)));
        let without_texts = LineMap { files: vec![(0, Vec::new())] };
        assert!(!without_texts.moved((0, 1), (0, 2)));
    }

    #[test]
    fn changed_lines_replace_lines_with_the_same_words() {
        let a = "r = id(0) * BLOCK\ninside = r < rows\nv = load(x + r, inside)\nadd(sums + g, v, inside)\n\
                 add(counts + g, 1, inside)\n";
        let b = "row = id(0) * BLOCK\nw = load(x + row, row < rows)\nadd(sums + to, w, row < rows)\n\
                 add(counts + to, 1, row < rows)\n";
        assert_eq!(line_map(a, b), [1, 3, 4, 5]);
        assert_eq!(line_map(b, a), [1, NEW + 1, 2, 3, 4]);
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
