//! Sections and symbols of 64-bit little-endian ELF files: cubins, and host programs that hold fatbins.
//!
//! # Invariants
//! Any bytes are accepted. A range outside the file is an error or is omitted. Only names are copied.
//!
//! # Limitations
//! Segments, 32-bit and big-endian files are not read. Relocations are those of eight-byte addresses.

use super::error::Error;
use super::little_endian::{u16_at, u32_at, u64_at};

/// First bytes of every ELF file.
pub const MAGIC: &[u8] = b"\x7fELF";

/// `e_machine` of NVIDIA machine code.
pub const CUDA: u16 = 190;
const NOBITS: u32 = 8;
const SYMTAB: u32 = 2;
const RELA: u32 = 4;
const REL: u32 = 9;
const HEADER: usize = 64;
const SYMBOL: usize = 24;

/// The headers of an ELF file.
#[derive(Clone, Debug)]
pub struct Elf<'a> {
    /// `e_machine`.
    pub machine: u16,
    /// `e_ident[EI_ABIVERSION]`.
    pub abi: u8,
    /// `e_flags`.
    pub flags: u32,
    /// Sections, in file order.
    pub sections: Vec<Section<'a>>,
}

/// A section of an ELF file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Section<'a> {
    /// Name; empty if it is not valid UTF-8.
    pub name: &'a str,
    kind: u32,
    link: u32,
    info: u32,
    /// Offset in the file, bytes.
    pub at: u64,
    /// Contents; empty for a section without bytes in the file.
    pub data: &'a [u8],
}

/// A symbol of an ELF file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Symbol<'a> {
    /// Name; empty if it is not valid UTF-8.
    pub name: &'a str,
    /// Type of the symbol (`STT_…`); 2 is a function.
    pub kind: u8,
    /// The field `st_other`.
    pub other: u8,
    /// Position of the section that it lies in.
    section: u16,
    /// Its place in that section.
    value: u64,
}

/// The string at `at`, up to its NUL.
fn name(strings: &[u8], at: u32) -> &str {
    let rest = strings.get(at as usize..).unwrap_or_default();
    let text = rest.split(|b| *b == 0).next().unwrap_or_default();
    std::str::from_utf8(text).unwrap_or_default()
}

/// The range of the file that a header names.
fn part(bytes: &[u8], at: u64, size: u64) -> Option<&[u8]> {
    let from = usize::try_from(at).ok()?;
    bytes.get(from..from.checked_add(usize::try_from(size).ok()?)?)
}

impl<'a> Elf<'a> {
    /// Reads the headers of a file.
    ///
    /// # Errors
    /// If the file is no 64-bit little-endian ELF file, or a header lies outside it.
    pub fn read(bytes: &'a [u8]) -> Result<Elf<'a>, Error> {
        let wrong = |what: &str| Error { at: 0, what: what.into() };
        if !bytes.starts_with(MAGIC) {
            return Err(wrong("not an ELF file"));
        }
        if bytes.get(4..6) != Some(&[2, 1]) {
            return Err(wrong("an ELF file that is not 64-bit little-endian"));
        }
        let cut = || wrong("the ELF file is cut off in its header");
        let table = u64_at(bytes, 40).ok_or_else(cut)?;
        let (machine, flags) = (u16_at(bytes, 18).ok_or_else(cut)?, u32_at(bytes, 48).ok_or_else(cut)?);
        let mut count = u64::from(u16_at(bytes, 60).ok_or_else(cut)?);
        let mut names = u32::from(u16_at(bytes, 62).ok_or_else(cut)?);
        let mut elf =
            Elf { machine, abi: bytes.get(8).copied().unwrap_or_default(), flags, sections: Vec::new() };
        if table == 0 {
            return Ok(elf);
        }
        let headers = part(bytes, table, (bytes.len() as u64).saturating_sub(table)).ok_or_else(|| {
            Error { at: table, what: "the ELF file ends before its sections' headers".into() }
        })?;
        // Numbers too large for the header are in the first section's header.
        if count == 0 {
            count = u64_at(headers, 32).unwrap_or_default();
        }
        if names == 0xffff {
            names = u32_at(headers, 40).unwrap_or_default();
        }
        let all: Vec<&[u8]> =
            headers.chunks_exact(HEADER).take(usize::try_from(count).unwrap_or(usize::MAX)).collect();
        if (all.len() as u64) < count {
            return Err(Error {
                at: table,
                what: format!("the ELF file has no room for its {count} sections"),
            });
        }
        let data = |header: &[u8]| -> Option<&'a [u8]> {
            let (at, size) = (u64_at(header, 24)?, u64_at(header, 32)?);
            if u32_at(header, 4)? == NOBITS { Some(&[]) } else { part(bytes, at, size) }
        };
        let strings =
            usize::try_from(names).ok().and_then(|i| all.get(i)).and_then(|h| data(h)).unwrap_or_default();
        for header in all {
            let at = u64_at(header, 24).unwrap_or_default();
            let name = name(strings, u32_at(header, 0).unwrap_or_default());
            let data = data(header)
                .ok_or_else(|| Error { at, what: format!("section `{name}` lies outside the file") })?;
            let word = |at: usize| u32_at(header, at).unwrap_or_default();
            elf.sections.push(Section { name, kind: word(4), link: word(40), info: word(44), at, data });
        }
        Ok(elf)
    }

    /// The first section with this name.
    pub fn section(&self, name: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|s| s.name == name)
    }

    /// Symbols of all symbol tables.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol<'a>> {
        self.sections.iter().filter(|s| s.kind == SYMTAB).flat_map(|s| {
            let strings = self.sections.get(s.link as usize).map_or(&[][..], |s| s.data);
            s.data.as_chunks::<SYMBOL>().0.iter().map(move |symbol| Symbol {
                name: name(strings, u32_at(symbol, 0).unwrap_or_default()),
                kind: symbol[4] & 0xf,
                other: symbol[5],
                section: u16_at(symbol, 6).unwrap_or_default(),
                value: u64_at(symbol, 8).unwrap_or_default(),
            })
        })
    }

    /// A copy of the first section with this name, with its relocated addresses: the number of the section in
    /// the upper half, and the offset in it in the lower one, so that addresses in all sections differ.
    pub(super) fn relocated(&self, name: &str) -> Option<Vec<u8>> {
        let (target, section) = self.sections.iter().enumerate().find(|(_, s)| s.name == name)?;
        let mut data = section.data.to_vec();
        let symbols: Vec<Symbol<'_>> = self.symbols().collect();
        let of_target = |s: &&Section<'_>| s.info as usize == target && matches!(s.kind, REL | RELA);
        for table in self.sections.iter().filter(of_target) {
            let size = if table.kind == RELA { 24 } else { 16 };
            for entry in table.data.chunks_exact(size) {
                let (Some(at), Some(symbol)) = (u64_at(entry, 0), u32_at(entry, 12)) else { continue };
                let place = usize::try_from(at).ok().and_then(|at| data.get_mut(at..)?.first_chunk_mut());
                let (Some(place), Some(symbol)) = (place, symbols.get(symbol as usize)) else { continue };
                let addend = u64_at(entry, 16).unwrap_or_else(|| u64::from_le_bytes(*place));
                let offset = symbol.value.wrapping_add(addend) & u64::from(u32::MAX);
                *place = (u64::from(symbol.section) << 32 | offset).to_le_bytes();
            }
        }
        Some(data)
    }
}
