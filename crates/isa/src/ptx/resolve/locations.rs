//! Source locations: `.loc` with inlining, and the names of inlined functions in `.debug_str` (PTX ISA, 11.5
//! Debugging Directives). Where `.loc` does not say where it was inlined, LLVM's comment after it does.
//!
//! # Invariants
//! A location is stored after the one it was inlined at, so chains end.
//!
//! # Limitations
//! Locations in `.debug_line` and `.debug_info` themselves are not read. LLVM's comments do not name inlined
//! functions.

use rustc_hash::FxHashMap;

use super::builder::Builder;
use crate::ptx::syntax::tree::{ItemKind, SyntaxTree, span};
use crate::ptx::syntax::{constant, scan};
use crate::view::{File, Loc, LocId, Span};

impl<'a> Builder<'_, 'a> {
    /// The location that a `.loc` names.
    pub(super) fn loc(&mut self, at: Span) -> Option<LocId> {
        let text = self.m.text(at);
        let b = text.as_bytes();
        let (here, mut i) = place(text, ".loc".len())?;
        let mut function = 0;
        let mut inlined_at = None;
        loop {
            i = scan::trivia(b, i);
            if b.get(i) != Some(&b',') {
                break;
            }
            let start = scan::trivia(b, i + 1);
            let end = scan::name(b, start);
            i = end.max(i + 1);
            match text.get(start..end) {
                Some("function_name") => {
                    let label = scan::trivia(b, end);
                    let stop = scan::opcode(b, label);
                    let plus = scan::trivia(b, stop);
                    i = stop;
                    let mut addend = 0;
                    if b.get(plus) == Some(&b'+')
                        && let Some((n, stop)) = constant::integer(b, plus + 1)
                    {
                        addend = usize::try_from(n).unwrap_or(0);
                        i = stop;
                    }
                    // The label is part of the module's text, which outlives this span's text.
                    let from = at.start as usize + label;
                    let name = self.m.source.get(from..at.start as usize + stop).unwrap_or_default();
                    function = self.string(name, addend);
                }
                Some("inlined_at") => {
                    let (p, stop) = place(text, end)?;
                    i = stop;
                    inlined_at = Some(p);
                }
                _ => {}
            }
        }
        let commented = if inlined_at.is_none() { self.commented_calls(at) } else { None };
        let inlined_at = inlined_at.map(|p| match self.places.get(&p) {
            Some(id) => *id,
            None => {
                let id = self.intern(p, 0, None);
                self.places.insert(p, id);
                id
            }
        });
        let id = self.intern(here, function, inlined_at.or(commented));
        self.places.insert(here, id);
        Some(id)
    }

    /// The calls that LLVM names in the comment after a `.loc` without `inlined_at`, as Triton's PTX has it:
    /// `.loc 2 9 5 // f.py:9:5 @[ g.py:8:1 @[ h.py:7:2 ] ]`.
    fn commented_calls(&mut self, at: Span) -> Option<LocId> {
        let rest = self.m.source.get(at.end as usize..)?.lines().next()?;
        let comment = rest.trim_start().strip_prefix("//")?;
        let calls: Option<Vec<_>> =
            comment.split("@[").skip(1).map(|call| self.commented_place(call)).collect();
        calls?.into_iter().rev().fold(None, |outer, place| Some(self.intern(place, 0, outer)))
    }

    /// The file number, line and column of `g.py:8:1`. `None` if no file of the module has this name.
    fn commented_place(&self, text: &str) -> Option<(u32, u32, u32)> {
        let mut parts = text.trim_end_matches([']', ' ', '\t', '\r']).trim_start().rsplitn(3, ':');
        let (column, line, name) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?);
        let named = |f: &&File| f.path.rsplit(['/', '\\']).next() == Some(name);
        Some((self.out.files.iter().find(named)?.number, line, column))
    }

    fn intern(
        &mut self,
        (file, line, column): (u32, u32, u32),
        function: u32,
        inlined_at: Option<LocId>,
    ) -> LocId {
        let next = span(0, self.out.files.len()).end;
        let file = *self.files.entry(file).or_insert_with(|| {
            // A file number without a `.file` directive: the line is known, the path is not.
            self.out.files.push(File { number: file, path: String::new() });
            next
        });
        let next = LocId(span(0, self.out.locs.len()).end);
        let id = *self.locs.entry((file, line, column, function, inlined_at)).or_insert(next);
        if id == next {
            let function = self.inlined.get(function as usize).cloned().unwrap_or_default();
            self.out.locs.push(Loc { file, line, column, function, inlined_at });
        }
        id
    }

    /// Index of the inlined function whose name is at a label of the debug information plus `addend` bytes.
    fn string(&mut self, label: &'a str, addend: usize) -> u32 {
        if let Some(known) = self.labels.get(&(label, addend)) {
            return *known;
        }
        let name = self.debug_string(label, addend);
        let id = span(0, self.inlined.len()).end;
        self.inlined.push(name);
        self.labels.insert((label, addend), id);
        id
    }

    fn debug_string(&mut self, label: &str, addend: usize) -> String {
        if self.strings.is_none() {
            self.strings = Some(debug_strings(self.m));
        }
        let Some((bytes, labels)) = &self.strings else { return String::new() };
        let Some(at) = labels.get(label).and_then(|at| at.checked_add(addend)) else { return String::new() };
        let rest = bytes.get(at..).unwrap_or_default();
        let end = rest.iter().position(|c| *c == 0).unwrap_or(rest.len());
        String::from_utf8_lossy(&rest[..end]).into_owned()
    }
}

/// Reads three numbers: file, line, column.
fn place(text: &str, i: usize) -> Option<((u32, u32, u32), usize)> {
    let b = text.as_bytes();
    let mut at = i;
    let mut next = || {
        let start = scan::trivia(b, at);
        let end = scan::name(b, start);
        at = end;
        text.get(start..end)?.parse::<u32>().ok()
    };
    let (file, line, column) = (next()?, next()?, next().unwrap_or(0));
    Some(((file, line, column), at))
}

/// Reads all of `.debug_str`, with its labels.
fn debug_strings<'a>(m: &SyntaxTree<'a>) -> (Vec<u8>, FxHashMap<&'a str, usize>) {
    let mut bytes = vec![];
    let mut labels = FxHashMap::default();
    for item in m.items.iter().filter(|i| i.kind == ItemKind::Section) {
        let text = m.text(item.span);
        let Some(open) = text.find('{') else { continue };
        if !text[..open].contains(".debug_str") {
            continue;
        }
        labels.entry(".debug_str").or_insert(bytes.len());
        let b = text.as_bytes();
        let mut i = open + 1;
        while i < b.len() {
            i = scan::trivia(b, i);
            let end = scan::name(b, i);
            match b.get(i) {
                Some(c) if c.is_ascii_digit() => {
                    let value = constant::integer(b, i).map_or(0, |(v, _)| v & 0xff);
                    bytes.push(u8::try_from(value).unwrap_or(0));
                }
                Some(_) if end > i && b.get(scan::trivia(b, end)) == Some(&b':') => {
                    labels.insert(text.get(i..end).unwrap_or_default(), bytes.len());
                }
                // The width in `.b8` is not a value.
                Some(b'.') => {
                    i = scan::name(b, i + 1);
                    continue;
                }
                _ => {}
            }
            i = end.max(i + 1);
        }
    }
    (bytes, labels)
}
