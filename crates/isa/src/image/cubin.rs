//! Cubins: NVIDIA machine code in ELF. Reads their kernels, their target, and the PTX that `-lineinfo` stores
//! in them.
//!
//! The ELF layout is not documented. The facts here are what nvcc 12.8 and 13.0 write.
//!
//! # Invariants
//! Any bytes are accepted.
//!
//! # Limitations
//! Machine code is not decoded.

use super::elf::{CUDA, Elf};
use super::error::Error;
use super::little_endian::u32_at;
use super::locations::with_locations;
use super::target::Target;

/// `STO_CUDA_ENTRY` in `st_other`: the symbol is a kernel.
const ENTRY: u8 = 0x10;
const FUNCTION: u8 = 2;

/// Section with the PTX that was assembled: its lines, each terminated by NUL.
const PTX: &str = ".nv_debug_ptx_txt";

/// Prefix of the sections with a function's machine code.
const CODE: &str = ".text.";

/// Section with attributes of all functions. Its entries of format `EIFMT_SVAL` include `EIATTR_REGCOUNT` and
/// `EIATTR_FRAME_SIZE`.
const INFO: &str = ".nv.info";
const SIZED: u8 = 4;
const REGISTERS: u8 = 0x2f;
const FRAME: u8 = 0x11;

/// Section that names the assembler and its options.
const TOOL: &str = ".note.nv.tkinfo";

/// What the headers of a cubin say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cubin {
    /// Architecture it was assembled for.
    pub target: Target,
    /// Names of its kernels, in file order.
    pub kernels: Vec<String>,
    /// Assembler options, as ` -lineinfo -arch sm_90a`; empty if they are not stored.
    pub options: String,
    /// PTX that was assembled, if it is stored, with source locations made from the line tables.
    pub ptx: Option<String>,
}

/// Reads the headers of a cubin.
///
/// # Errors
/// If the bytes are not a cubin.
pub fn read(bytes: &[u8]) -> Result<Cubin, Error> {
    let elf = Elf::read(bytes)?;
    if elf.machine != CUDA {
        return Err(Error { at: 18, what: format!("an ELF file for machine {}, not a cubin", elf.machine) });
    }
    let options = elf.section(TOOL).map_or("", |s| options(s.data)).to_owned();
    let named = options.split([' ', '=']).skip_while(|w| *w != "-arch" && *w != "--gpu-name").nth(1);
    let target = named.and_then(Target::parse).unwrap_or_else(|| flags(elf.abi, elf.flags));
    let kernels = elf.symbols().filter(|s| s.kind == FUNCTION && s.other & ENTRY != 0);
    let ptx = elf.section(PTX).map(|s| {
        let text = String::from_utf8_lossy(s.data);
        with_locations(&elf, text.trim_end_matches('\0').replace('\0', "\n").as_str())
    });
    Ok(Cubin { target, kernels: kernels.map(|s| s.name.to_owned()).collect(), options, ptx })
}

/// Machine code of the functions: section names, as `.text.saxpy`, and their bytes, in file order.
///
/// # Errors
/// If the bytes are not a cubin.
pub fn code(bytes: &[u8]) -> Result<Vec<(&str, &[u8])>, Error> {
    let elf = Elf::read(bytes)?;
    Ok(elf.sections.iter().filter(|s| s.name.starts_with(CODE)).map(|s| (s.name, s.data)).collect())
}

/// Registers per thread of each kernel, by kernel name. Kernels without this attribute are omitted.
///
/// # Errors
/// If the bytes are not a cubin.
pub fn registers(bytes: &[u8]) -> Result<Vec<(&str, u32)>, Error> {
    attribute(bytes, REGISTERS)
}

/// Bytes of local memory per thread of each kernel and function, by name. Spilled registers are included.
///
/// # Errors
/// If the bytes are not a cubin.
pub fn frames(bytes: &[u8]) -> Result<Vec<(&str, u32)>, Error> {
    attribute(bytes, FRAME)
}

/// Values of one attribute, by function name.
fn attribute(bytes: &[u8], attribute: u8) -> Result<Vec<(&str, u32)>, Error> {
    let elf = Elf::read(bytes)?;
    let symbols: Vec<_> = elf.symbols().collect();
    let mut rest = elf.section(INFO).map_or(&[][..], |s| s.data);
    let mut all = Vec::new();
    // Attributes: { u8 format, u8 attribute, u16 value or size }, and with format 4 so many bytes.
    while let [form, kind, low, high, after @ ..] = rest {
        let size = if *form == SIZED { u16::from_le_bytes([*low, *high]).into() } else { 0 };
        let Some((value, next)) = after.split_at_checked(size) else { break };
        if *kind == attribute
            && let (Some(symbol), Some(count)) = (u32_at(value, 0), u32_at(value, 4))
            && let Some(symbol) = usize::try_from(symbol).ok().and_then(|i| symbols.get(i))
        {
            all.push((symbol.name, count));
        }
        rest = next;
    }
    Ok(all)
}

/// The string of the note that holds assembler options.
fn options(note: &[u8]) -> &str {
    let strings = note.split(|b| *b == 0).filter_map(|s| std::str::from_utf8(s).ok());
    strings.map(str::trim).find(|s| s.starts_with('-') || s.contains(" -arch ")).unwrap_or_default()
}

/// Target from the header's flags. ABI 8 came with Blackwell in CUDA 12.8, and CUDA 13 uses it for all
/// targets.
fn flags(abi: u8, flags: u32) -> Target {
    let (number, arch_only) =
        if abi >= 8 { (flags >> 8 & 0xff, flags & 8 != 0) } else { (flags & 0xff, flags & 0x800 != 0) };
    Target { number, suffix: arch_only.then_some('a') }
}
