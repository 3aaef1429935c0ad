//! Generates `docs/format.md` from the tables that the reader and the writer use.

use std::fmt::Write;

use crate::codec::{Layout, VERSION};
use crate::device::{CHUNK_ROWS, Context, EventRecord, Head, PRIVATE_CHUNK_ROWS};
use crate::file::{KINDS, MAGIC};
use crate::ids::Dim3;
use crate::kernel::{
    Alu, Arg, Block, End, FaultKind, Fidelity, Function, Guard, Level, Loc, Loop, Module, Node, NodeKind,
    Operand, Param, Scalar, Site, SiteClass, Source, SourceFile, Special, Steered, Step, ThreadResources,
};
use crate::launch::{
    ArgInfo, Fault, Host, Launch, LaunchRange, Origin, Pointee, RangeName, StreamHashes, Totals, Window,
};
use crate::mark::{Anchor, Mark, MarkKind, Marks, Sum, Track, Via};
use crate::outputs::OutputContents;
use crate::process::{Device, Process, Skipped};
use crate::table::{Aggregate, Field, Row, Shown, Table, TableContents};

const STRUCTURES: &[Layout] = &[
    Module::LAYOUT,
    SourceFile::LAYOUT,
    Loc::LAYOUT,
    Function::LAYOUT,
    ThreadResources::LAYOUT,
    Param::LAYOUT,
    Block::LAYOUT,
    Loop::LAYOUT,
    Step::LAYOUT,
    Guard::LAYOUT,
    End::LAYOUT,
    Arg::LAYOUT,
    Source::LAYOUT,
    Site::LAYOUT,
    Operand::LAYOUT,
    Steered::LAYOUT,
    Node::LAYOUT,
    Table::LAYOUT,
    Field::LAYOUT,
    Aggregate::LAYOUT,
    Shown::LAYOUT,
    Process::LAYOUT,
    Device::LAYOUT,
    Skipped::LAYOUT,
    Launch::LAYOUT,
    Host::LAYOUT,
    LaunchRange::LAYOUT,
    StreamHashes::LAYOUT,
    RangeName::LAYOUT,
    Origin::LAYOUT,
    ArgInfo::LAYOUT,
    Pointee::LAYOUT,
    Window::LAYOUT,
    Fault::LAYOUT,
    Totals::LAYOUT,
    TableContents::LAYOUT,
    Row::LAYOUT,
    Mark::LAYOUT,
    Marks::LAYOUT,
    Track::LAYOUT,
    Anchor::LAYOUT,
    Sum::LAYOUT,
    OutputContents::LAYOUT,
    Dim3::LAYOUT,
];
const NAMES: &[Layout] = &[
    Scalar::LAYOUT,
    Alu::LAYOUT,
    Special::LAYOUT,
    SiteClass::LAYOUT,
    Level::LAYOUT,
    FaultKind::LAYOUT,
    Fidelity::LAYOUT,
    NodeKind::LAYOUT,
    MarkKind::LAYOUT,
    Via::LAYOUT,
];

const HEAD: &str = "\
<!-- Made by `cargo test -p prlx-trace` with BLESS=1 from crates/trace/src; do not edit. -->
# The recording's file

A recording is one file: a header, then sections. All of it is little-endian; checksums are XXH3-64.

| | bytes |
|---|---|
";

const SECTIONS: &str = "
A section is a head of 40 bytes and the stored bytes.

| bytes | head of a section |
|---|---|
| 4 | kind |
| 4 | flags: 1 stored bytes are a zstd frame; 2 readers may skip it if the kind is unknown; 4 no checksum |
| 8 | length of the stored bytes |
| 8 | their length when unpacked |
| 8 | checksum of the stored bytes, or 0 |
| 8 | checksum of the 32 bytes before |

Sections follow one another without a table of sections. A recorder appends each launch when it has ended,
so the file of a killed recorder is complete up to its last section.

| kind | name | holds |
|---|---|---|
";

const REST: &str = "
**Versions.** The magic changes when old files become unreadable. Every other change raises the version. A
reader accepts all versions up to its own and refuses later ones. Numbers of kinds, flags, fields and values
are never reused for another meaning. The files under `tests/traces` are never regenerated: they must stay
readable.

## Values

Numbers are base-128: seven bits in each byte, the lowest first, with the top bit set if more follow.
Exceptions are `u8` and `bool` with one byte and `u128` with 16. Ids, lane masks, `Nanos` and `Cycles` are
numbers. `String` and `Vec` are a count, then that many items. `Option` is 0, or 1 and the value. A pair is
both values. A `WarpSize` is its number of lanes, 32 or 64, as one byte. A structure is its fields in order.
An enumeration is its number as one byte, then its fields.

## Index

- number of warps
- runs of warps with consecutive numbers, until these are all warps. For each: the number of its first warp,
  less that of the last warp before it, less 1 (the first run: its number); then how many they are. Before
  version 18, for each warp: its number, less that of the warp before it, less 1 (the first: its number)
- before version 18, for each warp: a digest, 8 bytes
- 0 if no warp lost elements. Otherwise 1, and for each warp the number of elements dropped. (The 0 or 1:
  since version 18.)
- number of frames
- for each frame: number of warps, stored length, unpacked length (numbers), XXH3-64 of the stored bytes and
  of the unpacked frame without its column of clocks (8 bytes each). A frame has at most 256 warps. (The
  second hash and the limit: since version 18.)

## Frames

A frame holds the streams of a few hundred warps that follow one another in the index. Unpacked, it is:

- index of the first warp, number of warps
- for each warp: the level of its stream, one byte
- for `path`, `print`, `operands` in turn, of the warps of that level:
  - for each warp: number of lanes; then, if there are warps, 0 and a column of the numbers of elements by
    lane, each XORed with the one before (u32). For at most 256 warps, instead: 1 and a bit for each lane, if
    each has one element or none, eight in a byte, from the lowest; or 2 more than the number of elements, if
    that is the same for all lanes. (Version 17 has no bits, and 1 more than the number. Before it, nothing
    stands before the column.)
  - `path`: 0; the bytes of a word, which are 1, 2 or 4; rows of words. (Before version 18, words have 4 bytes
    and nothing says so.) Or a number of decisions from 1 to 7, if all words have so many behind their leading
    1 and there are at most as many words as lanes: then for each decision, the last one first, a bit of each
    word, warp by warp and lane by lane, eight in a byte, from the lowest. (The number: since version 16.)
  - `print`: rows of checkpoints (u64); for each warp the number of its entries of final hashes; then, for the
    first entry of all warps, the second one and so on, for each of its four numbers a column over the warps
    that have it (u64). Before version 18, for each of the four numbers a column over warps and entries, each
    XORed with the one before.
  - `operands`: rows of sites (u32), of visits (u32), of first values (u64), of second values (u64)
- `events`: for each warp their number; columns over all of them of sites (u32), masks, each XORed with the
  one before (u64), values (u64), clocks, each minus the one before (u32)

A **column** of n numbers of w bytes is w planes of n bytes, the plane of the lowest bytes first. **Rows**
are a column of the elements of all lanes, warp by warp: the first element of each lane, then the second of
each, and so on. Lanes that have no more elements are skipped. Each element is XORed with the one before it
in its row.

## Records

A `Records` is the number of records and four columns over them: markers, clocks (each minus the one before,
modulo 2^32), first words, second words. Here a column is its numbers one after the other. An `Anchors` is
the number of anchors and, for each, its cycles and its nanoseconds, each minus the one before, modulo 2^64.
Since version 11, the cycles until the timer answered follow (`Anchor::took`).

Streams hold the words that the device writes:

";

/// Most characters of a line outside of tables.
const COLUMNS: usize = 110;

/// The text of `docs/format.md`.
pub fn format_markdown() -> String {
    let mut out = String::from(HEAD);
    let magic = String::from_utf8_lossy(MAGIC);
    let _ = write!(out, "| magic | `{magic}`, 8 bytes |\n| version | {VERSION}, 4 bytes |\n");
    out.push_str("| checksum | 4 bytes: the low half of that of the 12 bytes before |\n");
    out.push_str(SECTIONS);
    for (kind, name, what) in KINDS {
        let _ = writeln!(out, "| {kind} | {name} | {what} |");
    }
    out.push_str(REST);
    // The header of the module that declares the words is their specification.
    for line in include_str!("device.rs").lines().map_while(|l| l.strip_prefix("//!")) {
        let _ = writeln!(out, ">{}", plain(line).trim_end());
    }
    let _ = writeln!(
        out,
        "\nA chunk of a shared stream has {CHUNK_ROWS} rows, one of a private stream {PRIVATE_CHUNK_ROWS}."
    );
    for (name, size, fields) in [
        ("Context", Context::SIZE, Context::FIELDS),
        ("Head", Head::SIZE, Head::FIELDS),
        ("EventRecord", EventRecord::SIZE, EventRecord::FIELDS),
    ] {
        let _ = write!(out, "\n### {name}\n\n{size} bytes.\n\n| at | field | type |\n|---|---|---|\n");
        for (field, ty, at) in fields {
            let _ = writeln!(out, "| {at} | {field} | {ty} |");
        }
    }
    out.push_str("\n## Structures\n");
    for layout in STRUCTURES {
        let _ = write!(out, "\n### {}\n\n{}\n", layout.name, wrapped(layout.doc));
        let choice = layout.rows.iter().any(|(n, ..)| n.is_some());
        out.push_str(if choice {
            "\n| | value | fields | |\n|---|---|---|---|\n"
        } else {
            "\n| field | type | |\n|---|---|---|\n"
        });
        for (n, name, ty, doc) in layout.rows {
            let number = n.map_or(String::new(), |n| format!("| {n} "));
            let ty = Some(ty.trim_end_matches(", ")).filter(|ty| !ty.is_empty());
            let ty = ty.map_or(String::new(), |ty| format!("`{ty}` "));
            let _ = writeln!(out, "{number}| {name} | {ty}| {} |", one_line(doc));
        }
    }
    out.push_str("\n## Numbers with names\n");
    for layout in NAMES {
        let _ =
            write!(out, "\n### {}\n\n{}\n\n| | name | |\n|---|---|---|\n", layout.name, wrapped(layout.doc));
        for (n, _, name, doc) in layout.rows {
            let _ = writeln!(out, "| {} | {name} | {} |", n.unwrap_or_default(), one_line(doc));
        }
    }
    out
}

/// Doc lines as one, without links.
fn one_line(doc: &str) -> String {
    plain(&doc.lines().map(str::trim).collect::<Vec<_>>().join(" ")).trim().replace('|', "\\|")
}

/// A structure's doc as a paragraph of lines of at most [`COLUMNS`] characters.
fn wrapped(doc: &str) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in one_line(doc).split_whitespace() {
        let length = word.chars().count();
        let fits = column + 1 + length <= COLUMNS;
        let between = match column {
            0 => "",
            _ if fits => " ",
            _ => "\n",
        };
        column = if fits { column + between.len() } else { 0 } + length;
        out.push_str(between);
        out.push_str(word);
    }
    out
}

/// Without the brackets of links to items.
fn plain(text: &str) -> String {
    let mut text = text.replace("[`crate::", "[`");
    while let Some(at) = text.find("`](")
        && let Some(end) = text[at..].find(')')
    {
        text.replace_range(at + 1..=at + end, "");
    }
    text.replace("[`", "`").replace("`]", "`")
}
