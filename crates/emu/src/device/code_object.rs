//! Loads AMD code objects: their segments lie in one allocation, relocated as a loader does it (LLVM, User
//! Guide for AMDGPU Backend, "Code Object", "Relocation Records").

use prlx_driver::{Error, ErrorKind};
use prlx_isa::amdgpu::object::CodeObject;
use prlx_isa::{InstructionSet, amdgpu};
use rustc_hash::FxHashMap;

use crate::decode::{KernelCode, LaunchState};
use crate::device::machine::{LoadedObject, Machine};
use crate::mem::{Memory, Owner, Variable};

/// `PT_LOAD`.
const LOAD: u32 = 1;
/// `R_AMDGPU_ABS64` and `R_AMDGPU_RELATIVE64`.
const ABS64: u32 = 3;
const RELATIVE64: u32 = 13;
/// Alignment of a loaded object: that of a page.
const PAGE: u64 = 4096;

/// Machine code of AMD's.
#[derive(Debug)]
pub struct AmdGpu;

impl Machine for AmdGpu {
    fn instruction_set(&self) -> InstructionSet {
        amdgpu::INSTRUCTION_SET
    }

    fn load(&self, bytes: &[u8], memory: &mut Memory, limit: u64) -> Result<LoadedObject, Error> {
        load(bytes, memory, limit)
    }
}

fn wrong(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Module, text)
}

/// Loads a code object.
///
/// # Errors
/// It is damaged, needs symbols that it does not have, or memory is short.
fn load(bytes: &[u8], memory: &mut Memory, limit: u64) -> Result<LoadedObject, Error> {
    let object = CodeObject::read(bytes).map_err(|e| wrong(format!("the code object: {e}")))?;
    let module = amdgpu::read(&object).map_err(|e| wrong(format!("the code object: {e}")))?;
    let segments = || object.segments.iter().filter(|s| s.kind == LOAD);
    let size = segments().map(|s| s.address.saturating_add(s.size)).max().unwrap_or(0);
    let variables = object.variables().filter(|s| s.size > 0).map(|s| Variable {
        name: s.name.to_owned(),
        offset: s.value,
        bytes: s.size,
    });
    let base = memory.alloc(size, PAGE, limit, Owner::CodeObject(variables.collect())).ok_or_else(|| {
        Error::new(ErrorKind::Memory, format!("no memory for a code object of {size} bytes"))
    })?;
    let loaded = fill(&object, memory, base).map(|()| {
        let places: FxHashMap<&str, u64> = object.variables().map(|s| (s.name, s.value)).collect();
        let of = |name: &str| places.get(name).map(|at| base.wrapping_add(*at));
        let addresses = module.symbols.iter().map(|s| of(&s.name)).collect();
        let state = |descriptor| -> Box<dyn KernelCode> { Box::new(LaunchState { descriptor, base }) };
        let kernels = object.kernels.iter().map(|k| (k.name.clone(), state(k.descriptor))).collect();
        LoadedObject { addresses, kernels, base: Some(base), module }
    });
    if loaded.is_err() {
        memory.free(base);
    }
    loaded
}

/// Writes the segments and relocates them.
fn fill(object: &CodeObject<'_>, memory: &mut Memory, base: u64) -> Result<(), Error> {
    for segment in object.segments.iter().filter(|s| s.kind == LOAD) {
        let (at, bytes) = (base.wrapping_add(segment.address), segment.data);
        if bytes.is_empty() {
            continue;
        }
        let (region, offset) = memory
            .range(at, bytes.len() as u64)
            .ok_or_else(|| wrong("a segment is larger than its memory"))?;
        region.write(offset, bytes);
    }
    for relocation in &object.relocations {
        let value = match (relocation.kind, relocation.symbol) {
            (RELATIVE64, _) | (ABS64, "") => base.wrapping_add_signed(relocation.addend),
            (ABS64, name) => {
                let symbol = object.symbols.iter().find(|s| s.name == name).ok_or_else(|| {
                    wrong(format!("the code object needs `{name}`, which it does not define"))
                        .help("link it with the code that defines the symbol")
                })?;
                base.wrapping_add(symbol.value).wrapping_add_signed(relocation.addend)
            }
            (kind, name) => {
                let text = format!("the code object has a relocation of type {kind} for `{name}`");
                return Err(wrong(text).help("relocations of 64-bit addresses are supported"));
            }
        };
        let at = base.wrapping_add(relocation.address);
        let (region, offset) =
            memory.range(at, 8).ok_or_else(|| wrong(format!("a relocation at {at:#x} is outside of it")))?;
        region.write(offset, &value.to_le_bytes());
    }
    Ok(())
}
