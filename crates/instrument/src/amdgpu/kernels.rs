//! Descriptors of instrumented kernels, and what their code finds when it begins.

use prlx_isa::amdgpu::inst::{Bank, Encoding, Value};
use prlx_isa::amdgpu::object::{CodeObject, Descriptor, Field, Initial, InitialSgprs, Kernel, WorkgroupIds};
use prlx_trace::device::{HiddenParameter, LaunchSize};
use rustc_hash::FxHashMap;

use super::allocation::Special;
use super::assembler::{Assembler, EXEC, sgpr, sgprs, vgpr};
use super::numbers::Used;
use super::registers::Registers;
use super::spill::Store;

/// Offset of the hidden parameter in a kernel's arguments, bytes.
pub(super) fn hidden_offset(object: &CodeObject<'_>, kernel: &Kernel) -> u64 {
    object.argument_bytes(kernel).next_multiple_of(8)
}

/// Bytes behind [`hidden_offset`].
const HIDDEN: usize = HiddenParameter::SIZE + LaunchSize::SIZE;

/// The descriptor of the copy of a kernel, but for its registers and its entry: it is given all coordinates
/// of a thread, and the address of its arguments. Hardware preloads no arguments: the copy's code loads them.
///
/// # Errors
/// If the kernel has no arguments, and no user SGPRs are left for the address of the hidden ones.
/// With `scratch`, it has scratch memory whatever the kernel has.
pub(super) fn descriptor(
    object: &CodeObject<'_>,
    kernel: &Kernel,
    scratch: bool,
) -> Result<Descriptor, String> {
    let mut out = kernel.descriptor;
    let mut set = |field, value| out.set(field, value).map_err(|e| e.what);
    if !kernel.descriptor.is_set(Field::KernargSegmentPtr) {
        let user = user_sgprs(&kernel.descriptor) + 2;
        if user > USER_SGPRS {
            return Err("the kernel has no arguments, and no register is left for their address".to_owned());
        }
        let stated = kernel.descriptor.get(Field::UserSgprs).unwrap_or(0);
        set(Field::KernargSegmentPtr, 1)?;
        set(Field::UserSgprs, user.max(stated))?;
    }
    if kernel.descriptor.preload().is_some() {
        // Hardware would skip code that loads arguments, and the view begins there. The system's registers
        // stay where they are: they follow the stated number of user SGPRs.
        set(Field::PreloadLength, 0)?;
        set(Field::PreloadOffset, 0)?;
    }
    if scratch {
        with_scratch(&mut out)?;
    }
    let mut set = |field, value| out.set(field, value).map_err(|e| e.what);
    let size = hidden_offset(object, kernel) + HIDDEN as u64;
    set(Field::Kernarg, u32::try_from(size).map_err(|_| "its arguments are too large")?)?;
    set(Field::WorkitemId, 2)?;
    for field in [Field::WorkgroupIdX, Field::WorkgroupIdY, Field::WorkgroupIdZ] {
        set(field, 1)?;
    }
    Ok(out)
}

/// Gives a kernel scratch memory, and the address of it where hardware does not know it.
fn with_scratch(out: &mut Descriptor) -> Result<(), String> {
    if out.is_set(Field::DynamicStack) {
        return Err("it is not known how large its stack is".to_owned());
    }
    out.set(Field::Scratch, 1).map_err(|e| e.what)?;
    if out.target().has_architected_scratch() || out.is_set(Field::FlatScratchInit) {
        return Ok(());
    }
    out.set(Field::FlatScratchInit, 1).map_err(|e| e.what)?;
    let user = user_sgprs(out);
    if user > USER_SGPRS {
        return Err("no user SGPRs are left for the address of scratch memory".to_owned());
    }
    let stated = out.get(Field::UserSgprs).unwrap_or(0);
    out.set(Field::UserSgprs, user.max(stated)).map_err(|e| e.what)
}

/// Most user SGPRs of a kernel.
const USER_SGPRS: u32 = 16;

/// User SGPRs in use.
fn user_sgprs(descriptor: &Descriptor) -> u32 {
    let is_system = |content| {
        use Initial::{ScratchWaveOffset, WorkgroupIdX, WorkgroupIdY, WorkgroupIdZ, WorkgroupInfo};
        matches!(content, WorkgroupIdX | WorkgroupIdY | WorkgroupIdZ | WorkgroupInfo | ScratchWaveOffset)
    };
    let user = descriptor.initial_sgprs().into_iter().filter(|initial| !is_system(initial.content));
    user.map(|initial| initial.first + initial.count).max().unwrap_or(0)
}

/// Registers that hold something when a kernel with this descriptor begins.
pub(super) fn at_begin(descriptor: &Descriptor) -> Used {
    let scalar = descriptor.initial_sgprs().into_iter().map(|i| i.first + i.count).max().unwrap_or(0);
    Used { vector: if descriptor.packs_workitem_ids() { 1 } else { 3 }, scalar, ..Used::default() }
}

/// Writes the numbers of registers, and the size of scratch memory if slots are there.
///
/// # Errors
/// If the fields have no room for them.
pub(super) fn set_registers(
    descriptor: &mut Descriptor,
    peak: Used,
    slots: Option<Store>,
) -> Result<(), String> {
    let before = descriptor.vgprs();
    let scalar = (peak.scalar + SPECIAL_SGPRS).max(descriptor.sgprs());
    let mut accumulator = before.accumulator;
    match slots {
        Some(Store::Accumulation(first)) => accumulator = accumulator.max(first + peak.slots),
        Some(Store::Scratch(first)) => {
            descriptor.set(Field::PrivateSegment, first + 4 * peak.slots).map_err(|e| e.what)?;
        }
        None => {}
    }
    let set = descriptor.set_vgprs(peak.vector.max(before.vector), accumulator);
    set.and_then(|()| descriptor.set_sgprs(scalar)).map_err(|e| e.what)
}

/// VCC, FLAT_SCRATCH and XNACK_MASK of gfx9 lie behind the other scalar registers.
const SPECIAL_SGPRS: u32 = 6;

/// Special registers that code finds behind the hidden parameter, wherever it is.
pub(super) fn sizes() -> FxHashMap<&'static str, Special> {
    let mut out = FxHashMap::default();
    let size = |field| Special::Parameter((HiddenParameter::SIZE + LaunchSize::offset(field)) as u32);
    for (name, field) in [
        ("%ntid.x", "block_x"),
        ("%ntid.y", "block_y"),
        ("%ntid.z", "block_z"),
        ("%nctaid.x", "grid_x"),
        ("%nctaid.y", "grid_y"),
        ("%nctaid.z", "grid_z"),
    ] {
        out.insert(name, size(field));
    }
    out
}

/// Where special registers are when the copy begins.
pub(super) fn specials(descriptor: &Descriptor) -> FxHashMap<&'static str, Special> {
    let mut out = sizes();
    let threads = ["%tid.x", "%tid.y", "%tid.z"];
    for (i, name) in (0u8..).zip(threads) {
        let packed = Special::Bits(vgpr(0), 10 * i, 10);
        let own = Special::Bits(vgpr(i), 0, 32);
        out.insert(name, if descriptor.packs_workitem_ids() { packed } else { own });
    }
    match descriptor.workgroup_ids() {
        WorkgroupIds::TrapTemporaries => {
            let ttmp = |n| Value::Registers { bank: Bank::Trap, first: n, count: 1 };
            out.insert("%ctaid.x", Special::Bits(ttmp(9), 0, 32));
            out.insert("%ctaid.y", Special::Bits(ttmp(7), 0, 16));
            out.insert("%ctaid.z", Special::Bits(ttmp(7), 16, 16));
        }
        WorkgroupIds::Sgprs => {
            for InitialSgprs { content, first, .. } in descriptor.initial_sgprs() {
                let name = match content {
                    Initial::WorkgroupIdX => "%ctaid.x",
                    Initial::WorkgroupIdY => "%ctaid.y",
                    Initial::WorkgroupIdZ => "%ctaid.z",
                    _ => continue,
                };
                out.insert(name, Special::Bits(sgpr(first as u8), 0, 32));
            }
        }
    }
    out
}

/// Appends the code at a kernel's entry that other inserted code relies on.
pub(super) fn begin(asm: &mut Assembler, registers: &Registers, descriptor: &Descriptor, hidden: u64) {
    let arguments = descriptor.initial_sgprs().into_iter().find(|i| i.content == Initial::KernargSegmentPtr);
    let from = arguments.map_or(0, |i| i.first as u8);
    let to = registers.parameters;
    let (low, high) = (Value::Literal(hidden as u32), Value::Integer(0));
    asm.emit(Encoding::Sop2, "s_add_u32", &[sgpr(to), sgpr(from), low]);
    asm.emit(Encoding::Sop2, "s_addc_u32", &[sgpr(to + 1), sgpr(from + 1), high]);
    asm.mask1("s_mov", registers.launched, EXEC);
    asm.mask1("s_mov", registers.present, EXEC);
    if let Some(events) = registers.events {
        asm.emit(Encoding::Sop1, "s_mov_b32", &[sgpr(events), Value::Integer(0)]);
    }
    if let Some(Store::Scratch(_)) = registers.spill.as_ref().map(|spill| spill.store) {
        set_flat_scratch(asm, registers.jump, descriptor);
    }
}

/// Tells hardware where scratch memory is: the address that it is given, plus the offset of the wave.
fn set_flat_scratch(asm: &mut Assembler, pair: u8, descriptor: &Descriptor) {
    let all = descriptor.initial_sgprs();
    let at = |content| all.iter().find(|i| i.content == content).map(|i| i.first as u8);
    let (Some(from), Some(wave)) = (at(Initial::FlatScratchInit), at(Initial::ScratchWaveOffset)) else {
        // It knows, from gfx11 on.
        return;
    };
    asm.emit(Encoding::Sop2, "s_add_u32", &[sgpr(pair), sgpr(from), sgpr(wave)]);
    asm.emit(Encoding::Sop2, "s_addc_u32", &[sgpr(pair + 1), sgpr(from + 1), Value::Integer(0)]);
    for (register, half) in [(FLAT_SCR_LO, 0), (FLAT_SCR_LO + 1, 1)] {
        // All 32 bits of a hardware register.
        let whole = Value::Immediate(register | 31 << 11);
        asm.emit(Encoding::Sopk, "s_setreg_b32", &[whole, sgpr(pair + half)]);
    }
}

/// The hardware register with the low half of FLAT_SCRATCH, on gfx10. The high half is the next one.
const FLAT_SCR_LO: u32 = 20;

/// Appends the code that puts registers back where the original descriptor has them.
pub(super) fn restore(asm: &mut Assembler, original: &Descriptor, now: &Descriptor) {
    let moved = now.initial_sgprs();
    for InitialSgprs { content, first, count } in original.initial_sgprs() {
        let Some(from) = moved.iter().find(|i| i.content == content).map(|i| i.first) else { continue };
        // Registers have moved up only, so that no one is read after it was overwritten.
        if from != first {
            for i in 0..count {
                asm.emit(
                    Encoding::Sop1,
                    "s_mov_b32",
                    &[sgprs((first + i) as u8, 1), sgprs((from + i) as u8, 1)],
                );
            }
        }
    }
    let bits = match original.workitem_dimensions() {
        Some(1) => 10,
        Some(2) => 20,
        _ => return,
    };
    if original.packs_workitem_ids() {
        let [low, count] = [0, bits].map(Value::Integer);
        asm.emit(Encoding::Vop3, "v_bfe_u32", &[vgpr(0), vgpr(0), low, count]);
    }
}
