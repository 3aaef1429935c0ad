//! Which lines of the source differ between two builds.
//!
//! A compiler gives many instructions no line of their own, or one of a neighbour: the start value of a loop
//! has the line of the loop, and the bound of an unrolled loop has no instruction at all. If the code of two
//! builds differs on a line that reads the same on both sides, the reason is a line that does not.
//!
//! # Limitations
//! Lines are compared without white space, and without comments that begin with `//`, or `#` in Python, where
//! `//` divides. The same characters in a string begin no comment, but are taken for one. A change in a file
//! that no instruction comes from is not seen.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use prlx_trace::check::Place;
use prlx_trace::dataflow::{Action, DataFlow, Instruction};
use prlx_trace::names::{file_name, is_compiler_file};

use crate::edit_script::{self, Edit};
use crate::report::Location;

/// The source files of one side: path as the debug information spells it, and text.
pub type SourceFiles = Vec<(String, String)>;

/// Lines that differ, also in comments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Change {
    /// By side: the path of the file.
    pub file: [String; 2],
    /// By side: the lines, from 1. Empty where the other side has lines that this one lacks.
    pub lines: [Range<u32>; 2],
    /// By side: the text of the first line.
    pub text: [Option<String>; 2],
    /// Whether there is more than comments and white space.
    code: bool,
}

/// All lines that differ between two builds.
#[derive(Debug, Default)]
pub struct SourceChanges {
    /// In the order of lines, for each file.
    list: Vec<Change>,
    /// Whether a barrier, a fence or a wait is on one of them, or comes from one of them, as from a macro.
    pub(super) synchronise: bool,
}

impl SourceChanges {
    /// Compares the files of both sides.
    pub fn of_files(files: [&SourceFiles; 2]) -> SourceChanges {
        let mut out = SourceChanges::default();
        let [mut rest, mut free] =
            files.map(|files| files.iter().filter(|f| !is_compiler_file(&f.0)).collect::<Vec<_>>());
        rest.retain(|a| match free.iter().position(|b| file_name(&b.0) == file_name(&a.0)) {
            Some(i) => {
                out.compare([*a, free.remove(i)]);
                false
            }
            None => true,
        });
        // The one file of another name is another version of the same source.
        if let ([a], [b]) = (&rest[..], &free[..]) {
            out.compare([*a, *b]);
        }
        out
    }
    /// Compares the files of both sides, from which this code comes.
    pub(super) fn new(flows: [&DataFlow; 2], files: [&SourceFiles; 2]) -> SourceChanges {
        let mut out = SourceChanges::of_files(files);
        let orders = |i: &&Instruction| {
            i.action == Action::Sync || [".acq", ".release"].iter().any(|word| i.opcode.contains(word))
        };
        let sync = |side: usize| flows[side].instructions.iter().filter(orders);
        let on_change = |side: usize| sync(side).any(|i| out.touch(side, &i.place));
        // An equal line that synchronises on one side alone does so because of a line that differs.
        let lines = |side: usize| -> BTreeSet<String> {
            let written = sync(side).flat_map(|i| &i.place.source);
            written.filter_map(|l| Some(plain(&l.file, l.text.as_deref()?))).collect()
        };
        out.synchronise = on_change(0) || on_change(1) || lines(0) != lines(1);
        out
    }
    fn compare(&mut self, files: [&(String, String); 2]) {
        let lines =
            files.map(|(path, text)| text.lines().map(|line| plain(path, line)).collect::<Vec<String>>());
        let hash = |line: &String| {
            let mut hash = DefaultHasher::new();
            line.hash(&mut hash);
            hash.finish()
        };
        let hashes = lines.each_ref().map(|lines| lines.iter().map(hash).collect::<Vec<u64>>());
        let Some(edits) = edit_script::edits(&hashes[0], &hashes[1]) else { return };
        for Edit { a, b } in edits {
            let ranges = [a, b];
            let code = |side: usize| lines[side][ranges[side].clone()].iter().any(|line| !line.is_empty());
            let text = [0, 1].map(|s| {
                let first = ranges[s].clone().next()?;
                files[s].1.lines().nth(first).map(str::to_owned)
            });
            self.list.push(Change {
                file: files.map(|f| f.0.clone()),
                code: code(0) || code(1),
                lines: ranges.map(|r| r.start as u32 + 1..r.end as u32 + 1),
                text,
            });
        }
    }
    /// The line of the other side that a line of a side is; `None` if it has none, because it differs.
    pub(super) fn counterpart(&self, side: usize, file: &str, line: u32) -> Option<u32> {
        let before = |c: &&Change| c.file[side] == file && c.lines[side].start <= line;
        let Some(last) = self.list.iter().rev().find(before) else { return Some(line) };
        let ends = last.lines.each_ref().map(|lines| lines.end);
        Some(line.checked_sub(ends[side])? + ends[1 - side])
    }
    /// All changes of code, those of one file after those of another, in the order of lines.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Change> {
        self.list.iter().filter(|c| c.code)
    }
    /// How many places differ.
    pub(super) fn count(&self) -> usize {
        self.iter().count()
    }
    /// Whether a place in the code of a side comes from a line that differs, also by inlining.
    pub(super) fn touch(&self, side: usize, place: &Place) -> bool {
        place.source.iter().any(|l| self.at(side, &l.file, l.line).is_some())
    }
    /// The change that a line of a side is part of.
    pub(super) fn at(&self, side: usize, file: &str, line: u32) -> Option<&Change> {
        self.iter().find(|c| c.file[side] == file && c.lines[side].contains(&line))
    }
    /// Whether the head of a loop differs that begins at this line of A, and both sides have a head: the
    /// change at the line, or the last one above it, is one of `for` or `while`. The first instruction of a
    /// loop can be some lines below its head.
    pub fn rewrote_loop(&self, begin: &Location) -> bool {
        const BELOW: u32 = 8;
        let above = |c: &&Change| c.file[0] == begin.file && c.lines[0].start <= begin.line;
        let Some(change) = self.iter().filter(above).last() else { return false };
        let is_head = |text: &Option<String>| {
            let words = text.as_deref().unwrap_or_default().split(|c: char| !c.is_alphanumeric() && c != '_');
            words.into_iter().any(|word| matches!(word, "for" | "while"))
        };
        begin.line < change.lines[0].end + BELOW && change.text.iter().all(is_head)
    }
    /// The change that is nearest to a line of a side; of two, the one before it. Changes in the same file
    /// come first.
    pub(super) fn nearest(&self, side: usize, file: &str, line: u32) -> Option<&Change> {
        let distance = |c: &Change| {
            let Range { start, end } = c.lines[side];
            let (before, after) = (line.saturating_sub(end.saturating_sub(1)), start.saturating_sub(line));
            (c.file[side] != file, before.max(after), after > 0)
        };
        self.iter().min_by_key(|c| distance(c))
    }
}

/// A line of a file without comment, and with single spaces.
fn plain(path: &str, line: &str) -> String {
    let comment = if path.ends_with(".py") { "#" } else { "//" };
    let code = line.split(comment).next().unwrap_or_default();
    code.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use prlx_trace::check::SourceLine;

    fn changes(a: &str, b: &str) -> SourceChanges {
        let files = [a, b].map(|text| vec![("k.cu".to_owned(), text.to_owned())]);
        let flow = DataFlow::default();
        SourceChanges::new([&flow, &flow], [&files[0], &files[1]])
    }

    #[test]
    fn a_file_of_another_name_is_another_version() {
        let header = ("/usr/local/cuda/include/sm_30_intrinsics.hpp".to_owned(), "shfl\n".to_owned());
        let good = vec![("good.cu".to_owned(), "a\nb\n".to_owned()), header.clone()];
        let bad = vec![header, ("bad.cu".to_owned(), "a\nB\n".to_owned())];
        let flow = DataFlow::default();
        let found = SourceChanges::new([&flow, &flow], [&good, &bad]);
        assert_eq!(found.count(), 1);
        assert_eq!(found.at(1, "bad.cu", 2), found.at(0, "good.cu", 2));
        assert_eq!(found.at(1, "bad.cu", 1), None);
    }

    #[test]
    fn a_macro_without_its_barrier_synchronises() {
        let files =
            ["#define S bar\nS;\n", "#define S\nS;\n"].map(|text| vec![("k.cu".to_owned(), text.to_owned())]);
        let mut barrier = DataFlow::default();
        barrier.instructions.push(Instruction { action: Action::Sync, ..Instruction::default() });
        let line = SourceLine { file: "k.cu".into(), line: 2, text: Some("S;".into()), ..Default::default() };
        barrier.instructions[0].place.source.push(line);
        let changes = |b: &DataFlow| SourceChanges::new([&barrier, b], [&files[0], &files[1]]);
        assert!(changes(&DataFlow::default()).synchronise);
        assert!(!changes(&barrier).synchronise);
    }

    #[test]
    fn comments_and_spaces_are_no_change() {
        let found = changes("a = 1;\nb = 2;\n", "  a  = 1; // one\n// more\nb = 2;\n");
        assert_eq!(found.count(), 0);
    }

    #[test]
    fn python_divides_by_slashes() {
        let files = ["x = a // 2\ny = b\n", "x = a // 3\ny = b  # half\n"]
            .map(|text| vec![("k.py".to_owned(), text.to_owned())]);
        let flow = DataFlow::default();
        let found = SourceChanges::new([&flow, &flow], [&files[0], &files[1]]);
        assert_eq!(found.count(), 1);
        assert!(found.at(0, "k.py", 1).is_some());
    }

    #[test]
    fn the_nearest_change_comes_first() {
        let found = changes("a\nb\nc\nd\ne\nf\n", "a\nB\nc\nd\ne\nF\n");
        assert_eq!(found.count(), 2);
        let lines = |line| found.nearest(0, "k.cu", line).map(|c| c.lines[1].clone());
        assert_eq!(lines(1), Some(2..3));
        assert_eq!(lines(4), Some(2..3));
        assert_eq!(lines(5), Some(6..7));
    }

    #[test]
    fn lines_behind_a_change_have_another_number_on_the_other_side() {
        let found = changes("a\nb\nc\nd\n", "// new\na\nB\nc\nx\nd\n");
        let lines =
            |side, last| (1..=last).map(|line| found.counterpart(side, "k.cu", line)).collect::<Vec<_>>();
        assert_eq!(lines(0, 4), [Some(2), None, Some(4), Some(6)]);
        assert_eq!(lines(1, 6), [None, Some(1), None, Some(3), None, Some(4)]);
        assert_eq!(found.counterpart(0, "other.h", 7), Some(7));
    }

    #[test]
    fn a_removed_line_has_a_place_on_both_sides() {
        let found = changes("a\nb\nc\n", "a\nc\n");
        let change = found.nearest(1, "k.cu", 2);
        assert_eq!(change.map(|c| c.lines.clone()), Some([2..3, 2..2]));
        assert_eq!(change.map(|c| c.text.clone()), Some([Some("b".to_owned()), None]));
    }
}
