//! Loads AMD code objects: their segments lie in one allocation, relocated as a loader does it (LLVM, User
//! Guide for AMDGPU Backend, "Code Object", "Relocation Records").

use prlx_driver::{Error, ErrorKind, LaunchConfig};
use prlx_isa::amdgpu::object::CodeObject;
use prlx_isa::view::Module;
use rustc_hash::FxHashMap;

use crate::code::window;
use crate::decode::LaunchState;
use crate::mem::{Memory, Owner, Variable};

/// `PT_LOAD`.
const LOAD: u32 = 1;
/// `R_AMDGPU_ABS64` and `R_AMDGPU_RELATIVE64`.
const ABS64: u32 = 3;
const RELATIVE64: u32 = 13;
/// Alignment of a loaded object: that of a page.
const PAGE: u64 = 4096;
/// Size of the packet that describes a dispatch (HSA Runtime, `hsa_kernel_dispatch_packet_t`).
const PACKET: usize = 64;

/// A code object in memory.
pub struct LoadedObject {
    /// The neutral view of its code.
    pub module: Module,
    /// Address of its first byte.
    pub base: u64,
    /// By symbol of the view: its address, if it has one.
    pub addresses: Vec<Option<u64>>,
    /// By kernel: its registers at the begin.
    pub kernels: FxHashMap<String, LaunchState>,
}

fn wrong(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Module, text)
}

/// Loads a code object.
///
/// # Errors
/// It is damaged, needs symbols that it does not have, or memory is short.
pub fn load(bytes: &[u8], memory: &mut Memory, limit: u64) -> Result<LoadedObject, Error> {
    let object = CodeObject::read(bytes).map_err(|e| wrong(format!("the code object: {e}")))?;
    let module = prlx_isa::amdgpu::read(&object).map_err(|e| wrong(format!("the code object: {e}")))?;
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
        let state = |descriptor| LaunchState { descriptor, base };
        let kernels = object.kernels.iter().map(|k| (k.name.clone(), state(k.descriptor))).collect();
        LoadedObject { addresses, kernels, base, module }
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

/// What code of AMD's finds at its arguments: the arguments, and behind them the packet of the dispatch.
pub fn arguments(state: &LaunchState, config: &LaunchConfig, params: &[u8]) -> Vec<u8> {
    let at = (state.packet_offset() as usize).max(params.len().next_multiple_of(PACKET));
    let mut all = params.to_vec();
    all.resize(at + PACKET, 0);
    let (grid, block) = (config.grid, config.block);
    let mut packet = Vec::with_capacity(PACKET);
    // Header and the number of dimensions.
    packet.extend(2u16.to_le_bytes());
    packet.extend(3u16.to_le_bytes());
    for n in [block.x, block.y, block.z] {
        packet.extend((n as u16).to_le_bytes());
    }
    packet.extend([0; 2]);
    for (ctas, threads) in [(grid.x, block.x), (grid.y, block.y), (grid.z, block.z)] {
        packet.extend(ctas.wrapping_mul(threads).to_le_bytes());
    }
    packet.extend(state.scratch_bytes().to_le_bytes());
    packet.extend(state.lds_bytes().saturating_add(config.shared).to_le_bytes());
    packet.extend([0; 8]);
    packet.extend(window::PARAMS.to_le_bytes());
    if let Some(place) = all.get_mut(at..at + packet.len()) {
        place.copy_from_slice(&packet);
    }
    all
}
