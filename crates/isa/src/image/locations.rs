//! Puts the source locations back into the PTX that a cubin stores.
//!
//! The assembler blanks `.loc`, `.file` and comments in the stored PTX, and keeps its lines. So all
//! instructions between two blank lines have one location. Two [line tables](super::line_table) lead from a
//! line of the PTX to machine code, and from there to a source line, which becomes a `.loc` in the blank line
//! before.
//!
//! # Invariants
//! No line moves. Only blank lines after a whole statement change, and lines are added at the end.
//!
//! # Limitations
//! - Instructions without machine code of their own get the location before them.
//! - Columns are not known.
//! - Calls that only comments named, as in Triton's PTX, are lost: the location is that of the inlined code.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::elf::Elf;
use super::line_table::{LineTable, Row};

/// Section with the names of inlined functions.
const STRINGS: &str = ".debug_str";

/// The most calls that one location has.
const DEEPEST: usize = 64;

/// `ptx`, as stored in the cubin, with source locations.
pub(super) fn with_locations(elf: &Elf<'_>, ptx: &str) -> String {
    let sources = LineTable::read(elf, ".debug_line");
    let mut lines: Vec<&str> = ptx.lines().collect();
    let rows = rows_of_segments(&lines, &sources, &LineTable::read(elf, ".nv_debug_line_sass"));
    let names = elf.section(STRINGS).map_or(&[][..], |s| s.data);
    let label = first_string(&lines).filter(|_| !names.is_empty());
    let located: Vec<(usize, String)> = rows
        .into_iter()
        .map(|(line, row)| (line, directives(&sources, row, label.as_ref().map(|l| l.name))))
        .collect();
    let mut put = |i: usize, text| lines.get_mut(i).into_iter().for_each(|line| *line = text);
    located.iter().for_each(|(i, text)| put(*i, text));
    let strings = names.iter().map(u8::to_string).collect::<Vec<_>>().join(",");
    let strings = format!(".b8 {strings}");
    if let Some(label) = label {
        put(label.blank, &strings);
    }
    let mut out = lines.join("\n") + "\n";
    for (i, file) in sources.files.iter().enumerate() {
        let path = file.replace('\\', "/").replace(['"', '\n'], "_");
        let _ = writeln!(out, "\t.file\t{} \"{path}\"", i + 1);
    }
    out
}

/// By file and line: how many rows of machine code have it, and the row of the source of the first of them.
type Votes = BTreeMap<(Option<usize>, u32), (usize, usize)>;

/// By blank line: the row that most machine code of the instructions after it comes from.
fn rows_of_segments(lines: &[&str], sources: &LineTable, machine: &LineTable) -> BTreeMap<usize, usize> {
    // The blank line that begins the segment of each line. Only function bodies have segments.
    let mut begins = Vec::with_capacity(lines.len());
    let (mut begin, mut whole, mut depth) = (None, false, 0_usize);
    for (i, line) in lines.iter().map(|l| l.trim()).enumerate() {
        if depth == 0 {
            begin = None;
        } else if line.is_empty() && whole {
            begin = Some(i);
        }
        if !line.is_empty() {
            whole = line.ends_with([';', '{', '}', ':']);
        }
        let count = |c: char| line.matches(c).count();
        depth = (depth + count('{')).saturating_sub(count('}'));
        begins.push(begin);
    }
    let mut votes: BTreeMap<usize, Votes> = BTreeMap::new();
    for row in &machine.rows {
        let line = (row.line as usize).checked_sub(1).and_then(|i| *begins.get(i)?);
        let (Some(begin), Some(source)) = (line, sources.at(row.address)) else { continue };
        let Some(Row { file, line, .. }) = sources.rows.get(source).copied() else { continue };
        votes.entry(begin).or_default().entry((file, line)).or_insert((0, source)).0 += 1;
    }
    let most =
        |votes: Votes| votes.into_values().reduce(|best, next| if next.0 > best.0 { next } else { best });
    votes.into_iter().filter_map(|(begin, votes)| Some((begin, most(votes)?.1))).collect()
}

/// The first label of the section with names, and the blank line after it.
struct StringLabel<'a> {
    name: &'a str,
    blank: usize,
}

fn first_string<'a>(lines: &[&'a str]) -> Option<StringLabel<'a>> {
    let section = lines.iter().position(|l| l.contains(".section") && l.contains(STRINGS))?;
    let (at, label) = lines.iter().enumerate().skip(section).find(|(_, l)| l.trim_end().ends_with(':'))?;
    let blank = lines.get(at + 1)?.trim().is_empty();
    blank.then(|| StringLabel { name: label.trim().trim_end_matches(':'), blank: at + 1 })
}

/// The `.loc` of a row, after those of its calls, outermost first.
fn directives(sources: &LineTable, row: usize, names: Option<&str>) -> String {
    let caller = |row: &&Row| sources.rows.get(row.call.filter(|_| names.is_some())?.row);
    let chain: Vec<&Row> = std::iter::successors(sources.rows.get(row), caller).take(DEEPEST).collect();
    let mut out = String::new();
    let place = |row: &Row| format!("{} {} 0", row.file.map_or(0, |f| f + 1), row.line);
    for row in chain.into_iter().rev() {
        let _ = write!(out, "\t.loc\t{}", place(row));
        if let (Some(call), Some(label), Some(caller)) = (row.call, names, caller(&row)) {
            let _ = write!(out, ", function_name {label}+{}, inlined_at {}", call.function, place(caller));
        }
    }
    out
}
