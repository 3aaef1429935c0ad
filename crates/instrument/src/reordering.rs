//! Which memory accesses, matrix operations and waits the assembler moved across the markers of a profile.
//!
//! [`LineMapped`] is a rewritten module with one instruction per line. Machine code records the PTX line of
//! each instruction, so it identifies which PTX instruction it implements, and which marker each read of the
//! clock belongs to. The order in each basic block of machine code is compared with the order in the source.
//!
//! # Invariants
//! - The text is that of the rewritten module except for white space.
//! - An instruction reported as moved is in the same basic block of machine code as its marker, in another
//!   order than in one basic block of PTX.
//!
//! # Limitations
//! - Instructions in other basic blocks of machine code, and merged ones, are not located.
//!   [`RegionReordering`] counts them.
//! - Register arithmetic is not compared.
//! - In a rotated loop, code between two iterations is reported as after the end, although it may be before
//!   the begin.

use std::collections::{BTreeSet, HashMap};

use prlx_isa::sass::MachineInst;
use prlx_isa::view::{Class, Inst, InstId, Space};
use prlx_plan::{Action, At, Insertion};
use prlx_trace::mark::{Mark, MarkKind, Via};
use prlx_trace::{FuncId, LocId};

use crate::edit::Edit;
use crate::{Error, Rewrite};

/// How the code of a marker reads the clock.
const CLOCK: &str = ", %clock;";

/// What a line contains.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Holds {
    /// An instruction of the original: indices of the function and of the instruction.
    Inst(u32, u32),
    /// A marker's read of the clock: indices of the function and of the marker in it.
    Mark(u32, u32),
}

/// A rewritten module with one instruction per line.
#[derive(Clone, Debug, Default)]
pub struct LineMapped {
    /// Text of the module.
    pub text: String,
    lines: HashMap<u32, Holds>,
    /// Markers of each function in order: number and position.
    marks: Vec<Vec<(u32, At)>>,
}

/// Where an instruction moved, relative to a region.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Direction {
    /// Before the region's begin.
    Before,
    /// After the region's end.
    After,
    /// Into the region, from outside.
    Inside,
}

/// An instruction on another side of a marker than in the source.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Moved {
    /// Where it moved.
    pub direction: Direction,
    /// Opcode as written, without operands.
    pub opcode: String,
    /// Source location, if known.
    pub loc: Option<LocId>,
}

/// The instructions of a region, compared with machine code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegionReordering {
    /// Function that contains the region.
    pub function: FuncId,
    /// Name of the region.
    pub region: String,
    /// Number of memory accesses, matrix operations and waits of the region that share a basic block with one
    /// of its markers.
    pub instructions: u64,
    /// Number of these that were located in machine code.
    pub located: u64,
    /// Instructions that moved, each once.
    pub moved: Vec<Moved>,
}

impl LineMapped {
    /// Maps the rewritten text of `source`, from which `rewrite` was made.
    ///
    /// # Errors
    /// The errors of [`crate::ptx`].
    pub fn new(source: &str, rewrite: &Rewrite) -> Result<LineMapped, Error> {
        let edits = crate::ptx(source, &rewrite.module, &rewrite.plan)?;
        let functions = &rewrite.module.functions;
        let mut bytes = vec![0];
        bytes.extend(edits.iter().scan(0, |all, e| {
            *all += e.text.len();
            Some(*all)
        }));
        let grown = |so: fn(u32, u32) -> bool, i: u32| bytes[edits.partition_point(|e| so(e.at, i))];
        let mut line_mapped = LineMapped::default();
        // Ranges of the rewritten text that get a line of their own.
        let mut ranges: Vec<([usize; 2], Holds)> = Vec::new();
        for (f, function) in functions.iter().enumerate() {
            for (i, inst) in function.insts.iter().enumerate() {
                let (begin, end) = (inst.span.start, inst.span.end);
                // Text inserted at the begin precedes the instruction; text inserted at its end follows it.
                let from = begin as usize + grown(|at, begin| at <= begin, begin);
                let range = [from, end as usize + grown(|at, end| at < end, end)];
                ranges.push((range, Holds::Inst(f as u32, i as u32)));
            }
            let planned = rewrite.plan.functions.get(f).map_or(&[][..], |p| &p.insertions);
            let spans = rewrite.plan.probe_state.tracks.as_ref().map_or(&[][..], |t| &t.spans);
            // Where a thread ends, the end of a span is no marker.
            let none = u32::MAX;
            let mark = |i: &Insertion| match &i.action {
                Action::Mark { mark, .. } => Some((*mark, i.at)),
                Action::Span { begin: Some(begin), .. } => Some((begin.mark, i.at)),
                Action::Span { end: Some(end), .. } => {
                    Some((spans.get(end.span as usize).and_then(|s| s.end).unwrap_or(none), i.at))
                }
                _ => None,
            };
            let marks: Vec<(u32, At)> = planned.iter().filter_map(mark).collect();
            let reads = reads(&edits, |at| function.span.start < at && at <= function.span.end);
            // Otherwise the reads cannot be assigned to markers.
            let known = reads.len() == marks.len();
            ranges.extend(
                reads
                    .into_iter()
                    .enumerate()
                    .filter(|_| known)
                    .map(|(n, r)| (r, Holds::Mark(f as u32, n as u32))),
            );
            line_mapped.marks.push(if known { marks } else { Vec::new() });
        }
        ranges.sort_by_key(|(range, _)| *range);
        let (text, mut from, mut line) = (&rewrite.text, 0, 1);
        for ([begin, end], holds) in ranges {
            let Some((before, inside)) = text.get(from..begin).zip(text.get(begin..end)) else { continue };
            line += before.matches('\n').count() as u32 + 1;
            line_mapped.text += before;
            line_mapped.text.push('\n');
            line_mapped.text += &inside.replace('\n', " ");
            line_mapped.lines.insert(line, holds);
            line_mapped.text.push('\n');
            line += 1;
            from = end;
        }
        line_mapped.text += &text[from..];
        Ok(line_mapped)
    }

    /// Compares the regions of `rewrite` with `code`, the machine code of [`LineMapped::text`].
    pub fn reorderings(
        &self,
        source: &str,
        rewrite: &Rewrite,
        code: &[Vec<MachineInst>],
    ) -> Vec<RegionReordering> {
        let blocks: Vec<Block> = code.iter().map(|b| self.block(b)).collect();
        let mut all: Vec<RegionReordering> = Vec::new();
        for (f, function) in rewrite.module.functions.iter().enumerate() {
            let marks = &self.marks[f];
            for visit in visits(marks, &rewrite.plan.module.marks, |at| block_of(&function.insts, at)) {
                let id = FuncId(f as u32);
                let at = all.iter().position(|l| l.function == id && l.region == visit.name).unwrap_or_else(
                    || {
                        all.push(RegionReordering {
                            function: id,
                            region: visit.name.to_owned(),
                            instructions: 0,
                            located: 0,
                            moved: Vec::new(),
                        });
                        all.len() - 1
                    },
                );
                let region = &mut all[at];
                let insts = function.blocks.get(visit.block as usize).map_or(0..0, |b| b.insts.clone());
                for (i, inst) in insts.filter_map(|i| Some((i, function.insts.get(i as usize)?))) {
                    if !observable(inst) {
                        continue;
                    }
                    let behind = |mark: usize| !stands_before(i, marks[mark].1);
                    let inside = visit.begin.is_none_or(behind) && visit.end.is_none_or(|e| !behind(e));
                    let directions = directions(&blocks, f as u32, i, &visit, inside);
                    region.instructions += u64::from(inside);
                    region.located += u64::from(inside && directions.is_some());
                    for direction in directions.into_iter().flatten() {
                        let text =
                            source.get(inst.span.start as usize..inst.span.end as usize).unwrap_or_default();
                        let opcode =
                            text.split_whitespace().find(|w| !w.starts_with('@')).unwrap_or_default();
                        let opcode = opcode.trim_end_matches(';').to_owned();
                        region.moved.push(Moved { direction, opcode, loc: inst.loc.map(|l| LocId(l.0)) });
                    }
                }
                region.moved.sort();
                region.moved.dedup();
            }
        }
        all
    }

    /// Positions of instructions and clock reads in a block of machine code.
    fn block(&self, ops: &[MachineInst]) -> Block {
        let mut block = Block::new();
        for (at, op) in ops.iter().enumerate() {
            let Some(holds) = self.lines.get(&op.line) else { continue };
            let wanted = match holds {
                Holds::Inst(..) => op.observable(),
                Holds::Mark(..) => op.reads_clock(),
            };
            if wanted {
                block.entry(*holds).or_default().push(at);
            }
        }
        block
    }
}

/// Positions in a block of machine code, ascending, by PTX instruction or marker.
type Block = HashMap<Holds, Vec<usize>>;

/// Ranges of the rewritten text in which edits read the clock.
fn reads(edits: &[Edit], of: impl Fn(u32) -> bool) -> Vec<[usize; 2]> {
    let mut before = 0;
    let mut all = Vec::new();
    for edit in edits {
        for (found, _) in edit.text.match_indices(CLOCK).filter(|_| of(edit.at)) {
            let begin = edit.text[..found].rfind([';', '\n', '{', '}', ':']).map_or(0, |b| b + 1);
            let from = edit.at as usize + before;
            all.push([from + begin, from + found + CLOCK.len()]);
        }
        before += edit.text.len();
    }
    all
}

/// An occurrence of a region in one basic block of PTX, with its markers in that block.
struct Visit<'m> {
    name: &'m str,
    block: u32,
    begin: Option<usize>,
    end: Option<usize>,
}

/// Occurrences of the regions of the source's markers.
fn visits<'m>(marks: &[(u32, At)], table: &'m [Mark], block: impl Fn(At) -> Option<u32>) -> Vec<Visit<'m>> {
    let mut all: Vec<Visit<'m>> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut here = None;
    for (n, (mark, at)) in marks.iter().enumerate() {
        let (Some(mark), Some(block)) = (table.get(*mark as usize), block(*at)) else { continue };
        if here.replace(block) != Some(block) {
            open.clear();
        }
        if mark.via != Via::Source {
            continue;
        }
        let ends = match mark.kind {
            MarkKind::End => open.iter().rposition(|v| all[*v].name == mark.name),
            MarkKind::Switch => open.len().checked_sub(1),
            _ => None,
        };
        match ends {
            Some(ends) => all[open.remove(ends)].end = Some(n),
            None if mark.kind == MarkKind::End => {
                all.push(Visit { name: &mark.name, block, begin: None, end: Some(n) })
            }
            None => {}
        }
        if matches!(mark.kind, MarkKind::Begin | MarkKind::Switch) {
            open.push(all.len());
            all.push(Visit { name: &mark.name, block, begin: Some(n), end: None });
        }
    }
    all
}

/// Where an instruction is in machine code, relative to an occurrence of a region; `None` if no block shows
/// it.
fn directions(
    blocks: &[Block],
    f: u32,
    inst: u32,
    visit: &Visit<'_>,
    inside: bool,
) -> Option<BTreeSet<Direction>> {
    let mut found = None;
    for block in blocks {
        let Some(ops) = block.get(&Holds::Inst(f, inst)) else { continue };
        let reads = |mark: Option<usize>| {
            mark.map(|m| block.get(&Holds::Mark(f, m as u32)).map_or(&[][..], Vec::as_slice))
        };
        let [begins, ends] = [reads(visit.begin), reads(visit.end)];
        let copies = begins.or(ends).map_or(0, <[usize]>::len);
        // Copies of a block are in order, and each has an equal share of the instructions.
        if copies == 0
            || ops.len() % copies != 0
            || [begins, ends].into_iter().flatten().any(|r| r.len() != copies)
        {
            continue;
        }
        let found = found.get_or_insert_with(BTreeSet::new);
        for (copy, ops) in ops.chunks(ops.len() / copies).enumerate() {
            let before = |op: &usize| begins.is_some_and(|b| *op < b[copy]);
            let behind = |op: &usize| ends.is_some_and(|e| *op > e[copy]);
            if !inside && ops.iter().any(|op| !before(op) && !behind(op)) {
                found.insert(Direction::Inside);
            }
            found.extend((inside && ops.iter().any(before)).then_some(Direction::Before));
            found.extend((inside && ops.iter().any(behind)).then_some(Direction::After));
        }
    }
    found
}

/// Whether an instruction precedes text inserted at a position.
fn stands_before(inst: u32, at: At) -> bool {
    match at {
        At::Entry => false,
        At::Before(i) => inst < i.0,
        At::After(i) => inst <= i.0,
    }
}

/// The basic block of a position.
fn block_of(insts: &[Inst], at: At) -> Option<u32> {
    match at {
        At::Entry => Some(0),
        At::Before(InstId(i)) | At::After(InstId(i)) => insts.get(i as usize).map(|i| i.block.0),
    }
}

/// Whether an instruction accesses memory, multiplies matrices or waits.
fn observable(inst: &Inst) -> bool {
    match inst.class {
        Class::Load => !matches!(inst.space, Space::Param | Space::Const),
        Class::Store => inst.space != Space::Param,
        class => {
            matches!(class, Class::Atomic | Class::AsyncCopy | Class::Matrix | Class::Sync | Class::Texture)
        }
    }
}
