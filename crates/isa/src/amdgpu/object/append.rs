//! Adds code to a code object: one segment behind all others, with functions and descriptors of its own.
//!
//! # Invariants
//! - Every byte of the object stays where it is, at the offset and at the address that it had. Only the ELF
//!   header changes, which names the tables that are written anew behind the object.
//! - The program headers lie in the new segment, because the loader reads them from memory.
//!
//! # Limitations
//! - The metadata note does not name the new kernels. A runtime finds them by the symbols of their
//!   descriptors.

use super::code_object::{CodeObject, FUNCTION, LOAD, OBJECT, SUFFIX};
use super::descriptor::{self, Descriptor};
use crate::image::Error;
use crate::image::elf::{HEADER as SECTION_HEADER, PROGRAM_HEADER, STRTAB, SYMBOL, SYMTAB};
use crate::image::little_endian::{u16_at, u32_at, u64_at};

/// Alignment of the segment in the file and in memory.
const PAGE: usize = 0x1000;
/// Zero bytes behind the code, because instructions are fetched ahead.
const PREFETCH: usize = 256;
/// `PT_PHDR`.
const PHDR: u32 = 6;
/// `STB_GLOBAL` in the upper half of a symbol's `info`, and `STV_PROTECTED`.
const GLOBAL: u8 = 0x10;
const PROTECTED: u8 = 3;

/// Code to add to an object. Offsets are in `text`.
#[derive(Clone, Debug, Default)]
pub struct AddedCode {
    /// Words of instructions, and zeros between functions.
    pub text: Vec<u8>,
    /// Functions, kernels included.
    pub functions: Vec<AddedFunction>,
    /// Kernels: name, descriptor, and the offset of the first instruction. The symbol of the descriptor is
    /// the name with `.kd`. The descriptor's own offset of the entry is written here.
    pub kernels: Vec<(String, Descriptor, u64)>,
}

/// A function in [`AddedCode`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddedFunction {
    /// Name of its symbol.
    pub name: String,
    /// Offset of its first byte.
    pub offset: u64,
    /// Number of bytes.
    pub size: u64,
}

impl CodeObject<'_> {
    /// Address of the first byte of code that [`CodeObject::with_code`] adds.
    pub fn added_address(&self) -> u64 {
        let ends = self.segments.iter().filter(|s| s.kind == LOAD).map(|s| s.address.saturating_add(s.size));
        ends.max().unwrap_or(0).next_multiple_of(PAGE as u64)
    }

    /// The object with more code. See the module for what changes.
    ///
    /// # Errors
    /// If a table of the object is damaged, or there are too many sections.
    pub fn with_code(&self, code: &AddedCode) -> Result<Vec<u8>, Error> {
        let address = self.added_address();
        let mut segment = code.text.clone();
        align(&mut segment, descriptor::SIZE);
        let mut symbols = Vec::new();
        for function in &code.functions {
            symbols.push((function.name.clone(), FUNCTION, address + function.offset, function.size));
        }
        for (name, descriptor, entry) in &code.kernels {
            let at = segment.len() as u64;
            let mut descriptor = *descriptor;
            descriptor.set_entry_offset(entry.wrapping_sub(at).cast_signed());
            segment.extend_from_slice(descriptor.bytes());
            symbols.push((format!("{name}{SUFFIX}"), OBJECT, address + at, descriptor::SIZE as u64));
        }
        segment.resize(segment.len() + PREFETCH, 0);
        let mut out = self.bytes.to_vec();
        align(&mut out, PAGE);
        let place = Place { at: out.len() as u64, address };
        let count = self.append_program_headers(&mut segment, place)?;
        let headers = segment.len() as u64 - count * PROGRAM_HEADER as u64;
        out.extend_from_slice(&segment);
        patch(&mut out, 32, &(place.at + headers).to_le_bytes());
        patch(&mut out, 56, &count.to_le_bytes()[..2]);
        let text = [place.at, place.address, code.text.len() as u64];
        self.append_sections(&mut out, &symbols, text)?;
        Ok(out)
    }

    /// Appends the program headers with one more, which loads all of `segment`. Returns how many there are.
    fn append_program_headers(&self, segment: &mut Vec<u8>, place: Place) -> Result<u64, Error> {
        let old = usize::from(u16_at(self.bytes, 56).unwrap_or(0));
        let table = table(self.bytes, 32, old * PROGRAM_HEADER)?;
        align(segment, 8);
        let own = segment.len() as u64;
        let count = old as u64 + 1;
        let bytes = count * PROGRAM_HEADER as u64;
        let mut load = vec![0; PROGRAM_HEADER];
        // Readable and executable.
        patch(&mut load, 0, &[1, 0, 0, 0, 5, 0, 0, 0]);
        for (field, value) in [
            (8, place.at),
            (16, place.address),
            (24, place.address),
            (32, own + bytes),
            (40, own + bytes),
            (48, PAGE as u64),
        ] {
            patch(&mut load, field, &value.to_le_bytes());
        }
        let all: Vec<&[u8]> = table.chunks_exact(PROGRAM_HEADER).collect();
        let last = all.iter().rposition(|h| u32_at(h, 0) == Some(LOAD)).map_or(0, |at| at + 1);
        for (at, header) in all.iter().enumerate() {
            if at == last {
                segment.extend_from_slice(&load);
            }
            let mut header = header.to_vec();
            if u32_at(&header, 0) == Some(PHDR) {
                let (from, to) = (place.at + own, place.address + own);
                for (field, value) in [(8, from), (16, to), (24, to), (32, bytes), (40, bytes)] {
                    patch(&mut header, field, &value.to_le_bytes());
                }
            }
            segment.extend_from_slice(&header);
        }
        if last == all.len() {
            segment.extend_from_slice(&load);
        }
        Ok(count)
    }

    /// Appends the tables of sections, symbols and strings, and says in the header where they are.
    fn append_sections(
        &self,
        out: &mut Vec<u8>,
        symbols: &[(String, u8, u64, u64)],
        [at, address, size]: [u64; 3],
    ) -> Result<(), Error> {
        let count = usize::from(u16_at(self.bytes, 60).unwrap_or(0));
        let names = usize::from(u16_at(self.bytes, 62).unwrap_or(0));
        let table = table(self.bytes, 40, count * SECTION_HEADER)?;
        let mut headers: Vec<Vec<u8>> = table.chunks_exact(SECTION_HEADER).map(<[u8]>::to_vec).collect();
        let too_many = || Error { at: 60, what: format!("the object has too many sections ({count})") };
        let own = u16::try_from(count).ok().filter(|n| *n < 0xff00).ok_or_else(too_many)?;
        let mut strings = self.contents(&headers, names);
        let mut name = |text: &str| {
            let at = strings.len() as u64;
            strings.extend_from_slice(text.as_bytes());
            strings.push(0);
            at
        };
        let text = name(".prlx.text");
        let found = headers.iter().position(|h| u32_at(h, 4) == Some(SYMTAB));
        let (symtab, strtab) = match found {
            Some(at) => {
                let link = headers.get(at).and_then(|h| u32_at(h, 40)).unwrap_or(0);
                (at, usize::try_from(link).unwrap_or(usize::MAX))
            }
            // A stripped object.
            None => (count + 1, count + 2),
        };
        let (name_of_symbols, name_of_strings) = match found {
            Some(_) => (0, 0),
            None => (name(".symtab"), name(".strtab")),
        };
        headers.push(section([text, 1, address, at, size], [0, 0, 6, 256, 0]));
        if found.is_none() {
            let (symbols, strings) = (u64::from(SYMTAB), u64::from(STRTAB));
            headers.push(section(
                [name_of_symbols, symbols, 0, 0, 0],
                [u64::from(own) + 2, 1, 0, 8, SYMBOL as u64],
            ));
            headers.push(section([name_of_strings, strings, 0, 0, 0], [0, 0, 0, 1, 0]));
        }
        let mut table = self.contents(&headers, symtab);
        let mut texts = self.contents(&headers, strtab);
        if table.is_empty() {
            table.resize(SYMBOL, 0);
            texts.push(0);
        }
        for (name, kind, value, size) in symbols {
            let at = u32::try_from(texts.len()).unwrap_or(u32::MAX);
            texts.extend_from_slice(name.as_bytes());
            texts.push(0);
            table.extend_from_slice(&at.to_le_bytes());
            table.extend_from_slice(&[GLOBAL | kind, PROTECTED]);
            table.extend_from_slice(&own.to_le_bytes());
            table.extend_from_slice(&value.to_le_bytes());
            table.extend_from_slice(&size.to_le_bytes());
        }
        let mut contents = vec![(symtab, table), (strtab, texts)];
        // One table may serve for all names.
        if names == strtab {
            let what = "the object keeps the names of sections and symbols in one table".to_owned();
            return Err(Error { at: 62, what });
        }
        contents.push((names, strings));
        for (section, bytes) in contents {
            align(out, 16);
            let header = headers.get_mut(section).ok_or_else(|| damaged("a table names no section"))?;
            patch(header, 24, &(out.len() as u64).to_le_bytes());
            patch(header, 32, &(bytes.len() as u64).to_le_bytes());
            out.extend_from_slice(&bytes);
        }
        align(out, 16);
        let at = (out.len() as u64).to_le_bytes();
        patch(out, 40, &at);
        let count = u16::try_from(headers.len()).map_err(|_| too_many())?;
        patch(out, 60, &count.to_le_bytes());
        headers.iter().for_each(|header| out.extend_from_slice(header));
        Ok(())
    }

    /// A copy of what a section holds; nothing if there is no such section yet.
    fn contents(&self, headers: &[Vec<u8>], section: usize) -> Vec<u8> {
        let range = headers.get(section).and_then(|header| {
            let at = usize::try_from(u64_at(header, 24)?).ok()?;
            Some(at..at.checked_add(usize::try_from(u64_at(header, 32)?).ok()?)?)
        });
        range.and_then(|range| self.bytes.get(range)).unwrap_or_default().to_vec()
    }
}

/// Where the new segment is.
#[derive(Clone, Copy)]
struct Place {
    /// Offset in the file.
    at: u64,
    /// Address in memory.
    address: u64,
}

/// A section's header: name, type, address, offset, size; link, info, flags, alignment, entry size.
fn section(
    [name, kind, address, at, size]: [u64; 5],
    [link, info, flags, align, entry]: [u64; 5],
) -> Vec<u8> {
    let mut header = vec![0; SECTION_HEADER];
    let four = |n: u64| u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes();
    for (field, value) in [(0, name), (4, kind), (40, link), (44, info)] {
        patch(&mut header, field, &four(value));
    }
    for (field, value) in [(8, flags), (16, address), (24, at), (32, size), (48, align), (56, entry)] {
        patch(&mut header, field, &value.to_le_bytes());
    }
    header
}

/// The table whose offset the ELF header has at `field`.
fn table(bytes: &[u8], field: usize, size: usize) -> Result<&[u8], Error> {
    let at = u64_at(bytes, field).and_then(|at| usize::try_from(at).ok());
    let range = at.and_then(|at| Some(at..at.checked_add(size)?));
    range.and_then(|range| bytes.get(range)).ok_or_else(|| damaged("a table of the ELF header is cut off"))
}

fn damaged(what: &str) -> Error {
    Error { at: 0, what: what.to_owned() }
}

fn align(bytes: &mut Vec<u8>, to: usize) {
    bytes.resize(bytes.len().next_multiple_of(to), 0);
}

fn patch(bytes: &mut [u8], at: usize, with: &[u8]) {
    if let Some(place) = bytes.get_mut(at..).and_then(|rest| rest.get_mut(..with.len())) {
        place.copy_from_slice(with);
    }
}
