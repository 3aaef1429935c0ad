//! Source lines of machine code, from the DWARF of a code object: its line tables, and the calls that were
//! inlined.
//!
//! # Invariants
//! - Any bytes are accepted. What is damaged ends its unit.
//! - A location is stored after the one it was inlined at.
//!
//! # Limitations
//! - An instruction to which the compiler gives line 0 has no location.
//! - Objects that are stripped of `.debug_info` have no lines.

use std::collections::BTreeMap;

use gimli::{
    AttributeValue, DebuggingInformationEntry, Dwarf, EndianSlice, LineProgramHeader, LittleEndian, Unit,
    UnitOffset,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::code::small;
use crate::amdgpu::object::CodeObject;
use crate::view::{File, Loc, LocId, Module};

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// The most calls that one location has, and entries that a name is looked up through.
const DEEPEST: usize = 64;

/// A source line: file, line, column.
type Place = (u32, u32, u32);

/// Code that was inlined.
#[derive(Debug)]
struct Inlined {
    /// The inlined code that it is in.
    parent: Option<usize>,
    /// Name of the function.
    function: String,
    /// Where it was called.
    call: Place,
}

/// The source lines of an object.
#[derive(Debug, Default)]
pub(super) struct Lines {
    files: Vec<File>,
    numbers: FxHashMap<String, u32>,
    /// The row in force from an address on; `None` behind the end of a sequence.
    rows: BTreeMap<u64, Option<Place>>,
    inlined: Vec<Inlined>,
    /// Addresses of inlined code: begin, end, place in `inlined`.
    ranges: Vec<(u64, u64, usize)>,
    /// The innermost inlined code from an address on.
    innermost: BTreeMap<u64, Option<usize>>,
    ids: FxHashMap<Loc, LocId>,
}

impl Lines {
    /// Reads the lines of an object.
    pub(super) fn read(object: &CodeObject<'_>) -> Lines {
        let mut lines = Lines::default();
        let section = |id: gimli::SectionId| -> Result<Bytes<'_>, gimli::Error> {
            let found = object.sections.iter().find(|section| section.name == id.name());
            Ok(EndianSlice::new(found.map_or(&[][..], |section| section.data), LittleEndian))
        };
        let Ok(mut dwarf) = Dwarf::load(section) else { return lines };
        dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
        let mut seen = FxHashSet::default();
        let mut units = dwarf.units();
        while let Ok(Some(header)) = units.next() {
            // Units may share a table, which is read once.
            let Ok(unit) = dwarf.unit(header) else { continue };
            let _ = lines.unit(&dwarf, &unit, &mut seen);
        }
        lines.nest();
        lines
    }

    /// Reads a unit. An error ends it.
    fn unit<'a>(
        &mut self,
        dwarf: &Dwarf<Bytes<'a>>,
        unit: &Unit<Bytes<'a>>,
        seen: &mut FxHashSet<usize>,
    ) -> gimli::Result<()> {
        let Some(program) = unit.line_program.clone() else { return Ok(()) };
        let header = program.header().clone();
        let mut files = FxHashMap::default();
        if seen.insert(header.offset().0) {
            let mut rows = program.rows();
            while let Some((header, row)) = rows.next_row()? {
                let line = row.line().and_then(|line| u32::try_from(line.get()).ok());
                let place = match line {
                    Some(line) if !row.end_sequence() => {
                        let column = match row.column() {
                            gimli::ColumnType::LeftEdge => 0,
                            gimli::ColumnType::Column(n) => u32::try_from(n.get()).unwrap_or(0),
                        };
                        let file = self.file(dwarf, unit, header, row.file_index(), &mut files);
                        file.map(|file| (file, line, column))
                    }
                    _ => None,
                };
                if row.end_sequence() {
                    self.rows.entry(row.address()).or_insert(None);
                } else {
                    self.rows.insert(row.address(), place);
                }
            }
        }
        let mut entries = unit.entries();
        let mut open: Vec<(isize, usize)> = Vec::new();
        while let Some(entry) = entries.next_dfs()? {
            let depth = entry.depth();
            while open.last().is_some_and(|(above, _)| *above >= depth) {
                open.pop();
            }
            if entry.tag() != gimli::DW_TAG_inlined_subroutine {
                continue;
            }
            let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
            let file = match entry.attr_value(gimli::DW_AT_call_file) {
                Some(AttributeValue::FileIndex(n)) => Some(n),
                other => other.and_then(|value| value.udata_value()),
            };
            let file = file.and_then(|file| self.file(dwarf, unit, &header, file, &mut files)).unwrap_or(0);
            let part = |name| number(name).and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
            let call = (file, part(gimli::DW_AT_call_line), part(gimli::DW_AT_call_column));
            let this = self.inlined.len();
            let parent = open.last().map(|(_, place)| *place);
            let function = name(dwarf, unit, entry).unwrap_or_else(|| "?".to_owned());
            self.inlined.push(Inlined { parent, function, call });
            open.push((depth, this));
            let mut ranges = dwarf.die_ranges(unit, entry)?;
            // Entries may share a list, which damaged files could use to make many ranges of few bytes.
            let mut left = DEEPEST * DEEPEST;
            while let Some(range) = ranges.next()?.filter(|_| left > 0) {
                left -= 1;
                if range.begin < range.end && self.ranges.len() < self.inlined.len() * DEEPEST {
                    self.ranges.push((range.begin, range.end, this));
                }
            }
        }
        Ok(())
    }

    /// Position of a file of a unit in the module's list.
    fn file<'a>(
        &mut self,
        dwarf: &Dwarf<Bytes<'a>>,
        unit: &Unit<Bytes<'a>>,
        header: &LineProgramHeader<Bytes<'a>>,
        index: u64,
        files: &mut FxHashMap<u64, Option<u32>>,
    ) -> Option<u32> {
        if let Some(known) = files.get(&index) {
            return *known;
        }
        let text = |value| dwarf.attr_string(unit, value).ok().map(|s| s.to_string_lossy().into_owned());
        let path = header.file(index).and_then(|file| {
            let name = text(file.path_name())?;
            let folder = file.directory(header).and_then(text).filter(|f| !f.is_empty() && f != ".");
            Some(match folder {
                Some(folder) if !name.starts_with('/') => format!("{folder}/{name}"),
                _ => name,
            })
        });
        let found = path.map(|path| {
            let next = small(self.files.len());
            *self.numbers.entry(path.clone()).or_insert_with(|| {
                self.files.push(File { number: next + 1, path });
                next
            })
        });
        files.insert(index, found);
        found
    }

    /// Finds the innermost inlined code of each address. Ranges of inlined code lie in those of its parent.
    fn nest(&mut self) {
        let mut ranges = std::mem::take(&mut self.ranges);
        // Of ranges that begin together, the longest is the outermost. Parents come before what is in them.
        ranges.sort_by_key(|(begin, end, place)| (*begin, std::cmp::Reverse(*end), *place));
        let mut open: Vec<(u64, usize)> = Vec::new();
        let close = |open: &mut Vec<(u64, usize)>, until: u64, out: &mut BTreeMap<u64, Option<usize>>| {
            while let Some((end, _)) = open.last().copied().filter(|(end, _)| *end <= until) {
                open.pop();
                while open.last().is_some_and(|(next, _)| *next <= end) {
                    open.pop();
                }
                out.insert(end, open.last().map(|(_, place)| *place));
            }
        };
        for (begin, end, place) in ranges {
            close(&mut open, begin, &mut self.innermost);
            self.innermost.insert(begin, Some(place));
            open.push((end, place));
        }
        close(&mut open, u64::MAX, &mut self.innermost);
    }

    /// The location of the instruction at an address, which the module has from now on.
    pub(super) fn loc(&mut self, address: u64, module: &mut Module) -> Option<LocId> {
        let place = self.rows.range(..=address).next_back().and_then(|(_, row)| *row)?;
        let inner = self.innermost.range(..=address).next_back().and_then(|(_, inner)| *inner);
        let chain: Vec<usize> =
            std::iter::successors(inner, |at| self.inlined.get(*at)?.parent).take(DEEPEST).collect();
        // From the outermost call to the innermost code.
        let mut function = String::new();
        let mut inlined_at = None;
        for at in chain.into_iter().rev() {
            let Some(Inlined { function: callee, call, .. }) = self.inlined.get(at) else { continue };
            let (callee, call) = (callee.clone(), *call);
            inlined_at = Some(self.id(call, std::mem::replace(&mut function, callee), inlined_at, module));
        }
        Some(self.id(place, function, inlined_at, module))
    }

    fn id(
        &mut self,
        (file, line, column): Place,
        function: String,
        inlined_at: Option<LocId>,
        module: &mut Module,
    ) -> LocId {
        let loc = Loc { file, line, column, function, inlined_at };
        *self.ids.entry(loc).or_insert_with_key(|loc| {
            module.locs.push(loc.clone());
            LocId(small(module.locs.len() - 1))
        })
    }

    /// The source files.
    pub(super) fn files(&self) -> Vec<File> {
        self.files.clone()
    }
}

/// The name of an inlined function: that of the entry which it is an instance of.
fn name<'a>(
    dwarf: &Dwarf<Bytes<'a>>,
    unit: &Unit<Bytes<'a>>,
    entry: &DebuggingInformationEntry<Bytes<'a>>,
) -> Option<String> {
    let reference = |value: Option<AttributeValue<Bytes<'a>>>| -> Option<UnitOffset> {
        match value? {
            AttributeValue::UnitRef(offset) => Some(offset),
            AttributeValue::DebugInfoRef(offset) => offset.to_unit_offset(&unit.header),
            _ => None,
        }
    };
    let mut next = reference(entry.attr_value(gimli::DW_AT_abstract_origin));
    for _ in 0..DEEPEST {
        let entry = unit.entry(next?).ok()?;
        if let Some(name) = entry.attr_value(gimli::DW_AT_name) {
            return Some(dwarf.attr_string(unit, name).ok()?.to_string_lossy().into_owned());
        }
        let origin = entry.attr_value(gimli::DW_AT_abstract_origin);
        next = reference(origin.or_else(|| entry.attr_value(gimli::DW_AT_specification)));
    }
    None
}
