//! Line tables of cubins: which source line each machine instruction comes from.
//!
//! Tables are DWARF 2 line number programs (`.debug_line`; `.nv_debug_line_sass`, whose lines are those of
//! the stored PTX), with an opcode of NVIDIA, 0x90, which begins code that was inlined. Its operands are the
//! row of the call in the table of this function, counted from 1, or 0 for code that was not inlined; and the
//! name of the inlined function, as an offset in `.debug_str`. That is what nvcc 13.0 writes, compared with
//! what nvdisasm prints.
//!
//! # Invariants
//! Any bytes are accepted: what is damaged ends the table. A row is the caller only of later rows, so chains
//! of calls end.
//!
//! # Limitations
//! The assembler writes no columns.

use std::collections::BTreeMap;

use gimli::{DebugLine, DebugLineOffset, DwLne, EndianSlice, LineInstruction, LineRow, LittleEndian, Reader};

use super::elf::Elf;

/// `DW_LNE_NVIDIA_inlined_call`.
const INLINED: DwLne = DwLne(0x90);

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// A line table.
#[derive(Debug, Default)]
pub(super) struct LineTable {
    /// Source files. Rows refer to them by position.
    pub(super) files: Vec<String>,
    /// Rows in the order of the table.
    pub(super) rows: Vec<Row>,
    /// Row that is in force from an address on; `None` behind the end of a function.
    by_address: BTreeMap<u64, Option<usize>>,
}

/// The source line of the machine instructions from an address on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Row {
    /// Address, unique among all functions of the file.
    pub(super) address: u64,
    /// Position in [`LineTable::files`]; `None` if the table names no file.
    pub(super) file: Option<usize>,
    /// Line, from 1.
    pub(super) line: u32,
    /// The call, if the code was inlined.
    pub(super) call: Option<Call>,
}

/// The call of inlined code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Call {
    /// Position of the row of the call.
    pub(super) row: usize,
    /// Name of the inlined function, as an offset in `.debug_str`.
    pub(super) function: u32,
}

impl LineTable {
    /// Reads the line table in a section; an empty one if there is no such section.
    pub(super) fn read(elf: &Elf<'_>, section: &str) -> LineTable {
        let mut table = LineTable::default();
        let data = elf.relocated(section).unwrap_or_default();
        let lines = DebugLine::new(&data, LittleEndian);
        let mut at = 0;
        while at < data.len() {
            match table.read_unit(&lines, at) {
                Ok(bytes) => at = at.saturating_add(bytes),
                Err(_) => break,
            }
        }
        table
    }

    /// Reads the unit at an offset. Returns its length in bytes.
    fn read_unit(&mut self, lines: &DebugLine<Bytes<'_>>, at: usize) -> gimli::Result<usize> {
        let mut program = lines.program(DebugLineOffset(at), 8, None, None)?;
        let header = program.header().clone();
        let first_file = self.files.len();
        for file in header.file_names() {
            let text = |value: Option<gimli::AttributeValue<Bytes<'_>>>| match value {
                Some(gimli::AttributeValue::String(s)) => String::from_utf8_lossy(s.slice()).into_owned(),
                _ => String::new(),
            };
            let (folder, name) = (text(file.directory(&header)), text(Some(file.path_name())));
            let relative = !folder.is_empty() && !name.starts_with('/');
            self.files.push(if relative { format!("{folder}/{name}") } else { name });
        }
        let files = self.files.len() - first_file;
        let mut instructions = header.instructions();
        let mut row = LineRow::new(&header);
        // Calls count the rows of their function.
        let (mut first_row, mut call) = (self.rows.len(), None);
        while let Some(instruction) = instructions.next_instruction(&header)? {
            if let LineInstruction::UnknownExtended(INLINED, mut operands) = instruction {
                let (caller, function) = (operands.read_uleb128()?, operands.read_uleb128_u32()?);
                let caller =
                    usize::try_from(caller).ok().and_then(|n| first_row.checked_add(n.checked_sub(1)?));
                call = caller.filter(|c| *c < self.rows.len()).map(|row| Call { row, function });
                continue;
            }
            if !row.execute(instruction, &mut program)? {
                continue;
            }
            if row.end_sequence() {
                self.by_address.entry(row.address()).or_insert(None);
                (first_row, call) = (self.rows.len(), None);
            } else {
                let file = row.file_index().checked_sub(1).and_then(|i| usize::try_from(i).ok());
                self.by_address.insert(row.address(), Some(self.rows.len()));
                self.rows.push(Row {
                    address: row.address(),
                    file: file.filter(|i| *i < files).map(|i| first_file + i),
                    line: row.line().and_then(|n| u32::try_from(n.get()).ok()).unwrap_or(0),
                    call,
                });
            }
            row.reset(&header);
        }
        Ok(header.unit_length() + 4)
    }

    /// Position of the row in force at an address.
    pub(super) fn at(&self, address: u64) -> Option<usize> {
        self.by_address.range(..=address).next_back().and_then(|(_, row)| *row)
    }
}
