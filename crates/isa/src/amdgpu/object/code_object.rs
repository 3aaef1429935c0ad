//! Code objects: AMD machine code in ELF, as compilers write it to `.hsaco` and `.co` files (LLVM, User Guide
//! for AMDGPU Backend, "ELF Code Object").
//!
//! # Invariants
//! - Any bytes are accepted.
//! - An object is written with the bytes that it was read from, but for descriptors that were changed.
//!
//! # Limitations
//! - Objects without section headers are refused, because their symbols are not found.
//! - Machine code is not decoded here.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::super::target::Target;
use super::descriptor::{self, Descriptor};
use super::fields::Field;
use super::metadata::{self, Metadata};
use super::target_id::{Feature, TargetId, unknown};
use crate::image::Error;
use crate::image::elf::{AMDGPU, Elf, MAGIC, Relocation, Section, Segment, Symbol};
use crate::image::little_endian::{u16_at, u32_at};

/// `ELFOSABI_AMDGPU_HSA`.
const HSA: u8 = 64;
/// `e_type` of a loadable file.
const DYN: u16 = 3;
/// `e_ident[EI_ABIVERSION]` of code object V4.
const V4: u8 = 2;
/// Maximum number of program headers. Compilers write about ten.
const SEGMENTS: usize = 256;
pub(super) const LOAD: u32 = 1;
const NOTE: u32 = 4;
const EXECUTABLE: u32 = 1;
/// `NT_AMDGPU_METADATA` and the name of its vendor.
const METADATA: (u32, &[u8]) = (32, b"AMDGPU\0");
pub(super) const OBJECT: u8 = 1;
pub(super) const FUNCTION: u8 = 2;
/// `STT_AMDGPU_HSA_KERNEL`, which old assemblers give to kernels.
const KERNEL: u8 = 10;
/// Suffix of the symbols of kernel descriptors.
pub(super) const SUFFIX: &str = ".kd";
/// Prefix of `amdhsa.target` before the target ID.
const TRIPLE: &str = "amdgcn-amd-amdhsa-";

/// Version of the format.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs, reason = "the names are those of the format")]
#[rustfmt::skip]
pub enum Version { V4, V5, V6 }

/// A kernel of a code object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernel {
    /// Name: that of the descriptor's symbol without `.kd`.
    pub name: String,
    /// Its descriptor, which may be changed before [`CodeObject::write`].
    pub descriptor: Descriptor,
    /// Offset of the descriptor in the file, bytes.
    pub at: u64,
    /// Address of the descriptor.
    pub address: u64,
    /// Addresses of its code, from its entry to the end of its symbol. Without a symbol, to the next function
    /// or the end of the segment.
    pub code: Range<u64>,
    /// Its place in [`Metadata::kernels`]; `None` if the metadata does not name it.
    pub metadata: Option<usize>,
}

/// A code object.
#[derive(Clone, Debug)]
pub struct CodeObject<'a> {
    /// The file as it was read.
    pub bytes: &'a [u8],
    /// Version of its format.
    pub version: Version,
    /// What it was built for.
    pub target: TargetId,
    /// Its metadata; empty if it has none.
    pub metadata: Metadata,
    /// Its kernels, by address.
    pub kernels: Vec<Kernel>,
    /// Its defined symbols, each name once.
    pub symbols: Vec<Symbol<'a>>,
    /// Sections, in file order.
    pub sections: Vec<Section<'a>>,
    /// Program headers, in file order.
    pub segments: Vec<Segment<'a>>,
    /// What a loader relocates.
    pub relocations: Vec<Relocation<'a>>,
}

/// Whether a file is AMD machine code in ELF.
pub fn is_code_object(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC) && u16_at(bytes, 18) == Some(AMDGPU)
}

impl<'a> CodeObject<'a> {
    /// Reads a code object.
    ///
    /// # Errors
    /// If the bytes are not a loadable code object of version 4 to 6 for a target that PRLX reads, or are
    /// damaged.
    pub fn read(bytes: &'a [u8]) -> Result<CodeObject<'a>, Error> {
        let elf = Elf::read(bytes)?;
        let version = version(&elf)?;
        let segments = Elf::segments(bytes)?;
        if segments.len() > SEGMENTS {
            let what =
                format!("the code object has {} program headers, more than {SEGMENTS}", segments.len());
            return Err(Error { at: 56, what });
        }
        let metadata = segments.iter().filter(|s| s.kind == NOTE).find_map(note);
        let metadata = metadata.map(|(note, at)| metadata::read(note, at)).transpose()?.unwrap_or_default();
        let target = target(&elf, &metadata, version)?;
        let relocations = elf.relocations().collect();
        let symbols = symbols(&elf);
        let mut object = CodeObject {
            bytes,
            version,
            target,
            metadata,
            kernels: Vec::new(),
            symbols,
            sections: elf.sections,
            segments,
            relocations,
        };
        object.kernels = object.find_kernels()?;
        Ok(object)
    }

    /// The functions, kernels included, in file order.
    pub fn functions(&self) -> impl Iterator<Item = &Symbol<'a>> {
        self.symbols.iter().filter(|s| matches!(s.kind, FUNCTION | KERNEL))
    }

    /// The variables, in file order. Kernel descriptors are none.
    pub fn variables(&self) -> impl Iterator<Item = &Symbol<'a>> {
        self.symbols.iter().filter(|s| s.kind == OBJECT && !s.name.ends_with(SUFFIX))
    }

    /// The bytes at an address: those of the file from there to the end of the segment.
    pub fn at_address(&self, address: u64) -> Option<&'a [u8]> {
        let (segment, from) = self.segment(address)?;
        segment.data.get(from..)
    }

    /// Number of bytes of a kernel's arguments, hidden ones included.
    pub fn argument_bytes(&self, kernel: &Kernel) -> u64 {
        let metadata = kernel.metadata.and_then(|at| self.metadata.kernels.get(at));
        let described = kernel.descriptor.get(Field::Kernarg).unwrap_or(0);
        metadata.map_or(0, |k| k.kernarg_segment_size).max(described.into())
    }

    /// The machine code of a kernel.
    pub fn code(&self, kernel: &Kernel) -> &'a [u8] {
        let size = usize::try_from(kernel.code.end - kernel.code.start).unwrap_or(usize::MAX);
        let code = self.at_address(kernel.code.start).unwrap_or_default();
        code.get(..size.min(code.len())).unwrap_or_default()
    }

    /// The file, with the descriptors as [`CodeObject::kernels`] has them. If none was changed, these are the
    /// bytes that were read.
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = self.bytes.to_vec();
        for kernel in &self.kernels {
            let place = usize::try_from(kernel.at).ok().and_then(|at| bytes.get_mut(at..)?.first_chunk_mut());
            if let Some(place) = place {
                *place = *kernel.descriptor.bytes();
            }
        }
        bytes
    }

    /// The loaded segment that holds an address in the file, and the offset in it.
    fn segment(&self, address: u64) -> Option<(&Segment<'a>, usize)> {
        self.segments.iter().filter(|s| s.kind == LOAD).find_map(|segment| {
            let from = usize::try_from(address.checked_sub(segment.address)?).ok()?;
            (from < segment.data.len()).then_some((segment, from))
        })
    }

    fn find_kernels(&self) -> Result<Vec<Kernel>, Error> {
        let named: HashMap<&str, usize> =
            self.metadata.kernels.iter().enumerate().map(|(i, k)| (k.symbol.as_str(), i)).collect();
        let sizes: HashMap<u64, u64> =
            self.functions().filter(|s| s.size > 0).map(|s| (s.value, s.size)).collect();
        let mut starts: Vec<u64> = self.functions().map(|s| s.value).collect();
        starts.sort_unstable();
        let mut kernels = Vec::new();
        for symbol in self.symbols.iter().filter(|s| s.name.len() > SUFFIX.len() && s.name.ends_with(SUFFIX))
        {
            let name = symbol.name.strip_suffix(SUFFIX).unwrap_or_default().to_owned();
            let wrong = |at: u64, what: String| Error { at, what: format!("kernel `{name}`: {what}") };
            let outside =
                || wrong(0, format!("its descriptor at address {:#x} lies outside the file", symbol.value));
            let (segment, from) = self.segment(symbol.value).ok_or_else(outside)?;
            let at = segment.at + from as u64;
            let bytes = segment.data.get(from..).and_then(|b| b.first_chunk::<{ descriptor::SIZE }>());
            let descriptor = Descriptor::new(*bytes.ok_or_else(outside)?, self.target.target);
            let entry = symbol.value.wrapping_add_signed(descriptor.entry_offset());
            let code = self.segment(entry).filter(|(s, _)| s.flags & EXECUTABLE != 0).ok_or_else(|| {
                wrong(at + 16, format!("its descriptor says that it begins at {entry:#x}, where no code is"))
            })?;
            let end = code.0.address.saturating_add(code.0.data.len() as u64);
            let next = starts.get(starts.partition_point(|start| *start <= entry)).copied().unwrap_or(end);
            let end = sizes.get(&entry).map_or(next, |size| entry.saturating_add(*size)).min(end);
            let metadata = named.get(symbol.name).copied();
            kernels.push(Kernel { name, descriptor, at, address: symbol.value, code: entry..end, metadata });
        }
        kernels.sort_by_key(|kernel| kernel.address);
        let found: HashSet<usize> = kernels.iter().filter_map(|k| k.metadata).collect();
        match (0..self.metadata.kernels.len()).find(|i| !found.contains(i)) {
            Some(lost) => {
                let kernel = self.metadata.kernels.get(lost).map_or("", |k| k.symbol.as_str());
                let what =
                    format!("the metadata names the descriptor `{kernel}`, which is no symbol of the file");
                Err(Error { at: 0, what })
            }
            None => Ok(kernels),
        }
    }
}

/// The defined symbols of all tables, each name once.
fn symbols<'a>(elf: &Elf<'a>) -> Vec<Symbol<'a>> {
    let mut seen = HashSet::new();
    let all = elf.symbols().chain(elf.dynamic_symbols());
    all.filter(|s| s.section != 0 && !s.name.is_empty() && seen.insert(s.name)).collect()
}

/// The version of the format.
fn version(elf: &Elf<'_>) -> Result<Version, Error> {
    let wrong = |at, what: String| Err(Error { at, what });
    if elf.machine != AMDGPU {
        return wrong(18, format!("an ELF file for machine {}, not an AMD code object", elf.machine));
    }
    if elf.os != HSA {
        return wrong(7, format!("code for another runtime than HSA (OS/ABI {})", elf.os));
    }
    if elf.kind != DYN {
        return wrong(16, "an object that is not linked: link it with `ld.lld -shared`".into());
    }
    match elf.abi.checked_sub(V4) {
        Some(0) => Ok(Version::V4),
        Some(1) => Ok(Version::V5),
        Some(2) => Ok(Version::V6),
        Some(n) => wrong(8, format!("code object V{}, which is newer than V6", u32::from(n) + 4)),
        None => wrong(
            8,
            format!("code object V{}: build it again with -mcode-object-version=5", u32::from(elf.abi) + 2),
        ),
    }
}

/// What the flags say that the object was built for.
fn target(elf: &Elf<'_>, metadata: &Metadata, version: Version) -> Result<TargetId, Error> {
    let [mach, features, _, generic] = elf.flags.to_le_bytes();
    let wrong = |what: String| Error { at: 48, what };
    // After the triple's empty environment, as in `amdgcn-amd-amdhsa--gfx942`.
    let named = metadata.target.strip_prefix(TRIPLE).and_then(|rest| rest.split_once('-')).map(|(_, id)| id);
    let name = || named.map_or_else(|| format!("number {mach:#x}"), |id| id.to_owned());
    if version == Version::V6 && generic != 0 {
        return Err(wrong(format!("{} (version {generic})", unknown(&name()))));
    }
    let target = Target::of_mach(mach).ok_or_else(|| wrong(unknown(&name())))?;
    let bits = u32::from(features);
    let id = TargetId { target, sramecc: Feature::of_bits(bits >> 2), xnack: Feature::of_bits(bits) };
    match named {
        Some(named) if named != id.to_string() => {
            Err(wrong(format!("the ELF header says {id}, and the metadata says {named}")))
        }
        _ => Ok(id),
    }
}

/// The metadata in the notes of a segment, and its offset in the file.
fn note<'a>(segment: &Segment<'a>) -> Option<(&'a [u8], u64)> {
    let mut from = 0;
    // A note is { u32 name's size, u32 size, u32 type, name, contents }, both padded to four bytes.
    while let Some(rest) = segment.data.get(from..) {
        let word = |at| u32_at(rest, at).and_then(|n| usize::try_from(n).ok());
        let (name, size, kind) = (word(0)?, word(4)?, u32_at(rest, 8)?);
        let begin = 12usize.checked_add(name)?.checked_next_multiple_of(4)?;
        let end = begin.checked_add(size)?;
        let content = rest.get(begin..end)?;
        if (kind, rest.get(12..12 + METADATA.1.len())?) == METADATA && name == METADATA.1.len() {
            return Some((content, segment.at + (from + begin) as u64));
        }
        from += end.checked_next_multiple_of(4)?;
    }
    None
}
