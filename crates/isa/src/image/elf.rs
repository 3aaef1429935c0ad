//! Sections, segments and symbols of 64-bit little-endian ELF files: cubins, AMD code objects, and host
//! programs that hold either.
//!
//! # Invariants
//! Any bytes are accepted. A range outside the file is an error or is omitted. Only names are copied.
//!
//! # Limitations
//! 32-bit and big-endian files are not read. Relocations of sections are those of eight-byte addresses.

use super::error::Error;
use super::little_endian::{u16_at, u32_at, u64_at};

/// First bytes of every ELF file.
pub const MAGIC: &[u8] = b"\x7fELF";

/// `e_machine` of NVIDIA machine code.
pub const CUDA: u16 = 190;
/// `e_machine` of AMD machine code.
pub const AMDGPU: u16 = 224;
const NOBITS: u32 = 8;
pub(crate) const SYMTAB: u32 = 2;
pub(crate) const STRTAB: u32 = 3;
const RELA: u32 = 4;
const REL: u32 = 9;
const DYNSYM: u32 = 11;
pub(crate) const HEADER: usize = 64;
pub(crate) const PROGRAM_HEADER: usize = 56;
pub(crate) const SYMBOL: usize = 24;

/// The headers of an ELF file.
#[derive(Clone, Debug)]
pub struct Elf<'a> {
    /// `e_machine`.
    pub machine: u16,
    /// `e_type`.
    pub kind: u16,
    /// `e_ident[EI_OSABI]`.
    pub os: u8,
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
    /// `sh_type`.
    pub kind: u32,
    link: u32,
    info: u32,
    /// Address in memory; 0 if it is not loaded.
    pub address: u64,
    /// Size in memory, bytes.
    pub size: u64,
    /// Offset in the file, bytes.
    pub at: u64,
    /// Contents; empty for a section without bytes in the file.
    pub data: &'a [u8],
}

/// A program header of an ELF file, with the bytes that it names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment<'a> {
    /// `p_type`.
    pub kind: u32,
    /// `p_flags`: 1 is executable, 2 writable, 4 readable.
    pub flags: u32,
    /// Offset in the file, bytes.
    pub at: u64,
    /// Address in memory.
    pub address: u64,
    /// Size in memory, bytes.
    pub size: u64,
    /// Contents in the file.
    pub data: &'a [u8],
}

/// A relocation with an addend, of a loaded file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Relocation<'a> {
    /// Address that is relocated.
    pub address: u64,
    /// Type of the relocation, which depends on the machine.
    pub kind: u32,
    /// Name of the symbol; empty if there is none.
    pub symbol: &'a str,
    /// What is added to the symbol's address; without a symbol, to the address of the file in memory.
    pub addend: i64,
}

/// A symbol of an ELF file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Symbol<'a> {
    /// Name; empty if it is not valid UTF-8.
    pub name: &'a str,
    /// Type of the symbol (`STT_…`); 2 is a function.
    pub kind: u8,
    /// Binding of the symbol (`STB_…`); 0 is local.
    pub binding: u8,
    /// The field `st_other`.
    pub other: u8,
    /// Position of the section that it lies in; 0 if it is not defined.
    pub section: u16,
    /// Its address, or its place in that section if the file is relocatable.
    pub value: u64,
    /// Size of what it names, bytes.
    pub size: u64,
}

impl<'a> Symbol<'a> {
    /// Reads an entry of a table with these strings.
    fn read(entry: &[u8; SYMBOL], strings: &'a [u8]) -> Symbol<'a> {
        Symbol {
            name: name(strings, u32_at(entry, 0).unwrap_or_default()),
            kind: entry[4] & 0xf,
            binding: entry[4] >> 4,
            other: entry[5],
            section: u16_at(entry, 6).unwrap_or_default(),
            value: u64_at(entry, 8).unwrap_or_default(),
            size: u64_at(entry, 16).unwrap_or_default(),
        }
    }
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
        let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
        let kind = u16_at(bytes, 16).ok_or_else(cut)?;
        let mut elf = Elf { machine, kind, os: byte(7), abi: byte(8), flags, sections: Vec::new() };
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
            let long = |at: usize| u64_at(header, at).unwrap_or_default();
            let (kind, link, info) = (word(4), word(40), word(44));
            elf.sections.push(Section {
                name,
                kind,
                link,
                info,
                address: long(16),
                size: long(32),
                at,
                data,
            });
        }
        Ok(elf)
    }

    /// Program headers of a file, in file order.
    ///
    /// # Errors
    /// If the table or a segment lies outside the file.
    pub fn segments(bytes: &'a [u8]) -> Result<Vec<Segment<'a>>, Error> {
        let (Some(table), Some(count)) = (u64_at(bytes, 32), u16_at(bytes, 56)) else {
            return Err(Error { at: 0, what: "the ELF file is cut off in its header".into() });
        };
        let size = u64::from(count) * PROGRAM_HEADER as u64;
        let headers = part(bytes, table, size).ok_or_else(|| Error {
            at: 32,
            what: format!("the ELF file ends before its {count} program headers at offset {table}"),
        })?;
        let segment = |(i, header): (usize, &[u8])| {
            let long = |at: usize| u64_at(header, at).unwrap_or_default();
            let word = |at: usize| u32_at(header, at).unwrap_or_default();
            let (at, size) = (long(8), long(32));
            let data = part(bytes, at, size).ok_or_else(|| Error {
                at: table + (i * PROGRAM_HEADER) as u64,
                what: format!("segment {i} ({size} bytes at offset {at}) lies outside the file"),
            })?;
            Ok(Segment { kind: word(0), flags: word(4), at, address: long(16), size: long(40), data })
        };
        headers.chunks_exact(PROGRAM_HEADER).enumerate().map(segment).collect()
    }

    /// Relocations of a loaded file, which are those of sections with the symbols of the dynamic linker.
    pub fn relocations(&self) -> impl Iterator<Item = Relocation<'a>> {
        let dynamic = |s: &&Section<'a>| {
            s.kind == RELA && self.sections.get(s.link as usize).is_some_and(|s| s.kind == DYNSYM)
        };
        self.sections.iter().filter(dynamic).flat_map(|s| {
            let table = self.sections.get(s.link as usize);
            let (symbols, strings) = table.map_or((&[][..], &[][..]), |t| self.table(t));
            s.data.as_chunks::<24>().0.iter().map(move |entry| {
                let number = u32_at(entry, 12).and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0);
                let symbol = number.and_then(|n| symbols.get(n));
                Relocation {
                    address: u64_at(entry, 0).unwrap_or_default(),
                    kind: u32_at(entry, 8).unwrap_or_default(),
                    symbol: symbol.map_or("", |s| Symbol::read(s, strings).name),
                    addend: u64_at(entry, 16).unwrap_or_default().cast_signed(),
                }
            })
        })
    }

    /// The entries of a table of symbols, and its strings.
    fn table(&self, table: &Section<'a>) -> (&'a [[u8; SYMBOL]], &'a [u8]) {
        let strings = self.sections.get(table.link as usize).map_or(&[][..], |s| s.data);
        (table.data.as_chunks().0, strings)
    }

    /// The first section with this name.
    pub fn section(&self, name: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|s| s.name == name)
    }

    /// Symbols of all symbol tables.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol<'a>> {
        self.sections.iter().filter(|s| s.kind == SYMTAB).flat_map(|s| self.symbols_of(s))
    }

    /// Symbols of the dynamic linker's tables. A stripped file has no others.
    pub fn dynamic_symbols(&self) -> impl Iterator<Item = Symbol<'a>> {
        self.sections.iter().filter(|s| s.kind == DYNSYM).flat_map(|s| self.symbols_of(s))
    }

    /// Symbols of a table.
    fn symbols_of(&self, table: &Section<'a>) -> impl Iterator<Item = Symbol<'a>> + use<'a> {
        let (symbols, strings) = self.table(table);
        symbols.iter().map(move |symbol| Symbol::read(symbol, strings))
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
