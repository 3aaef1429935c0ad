//! What AMD's operations do, in the words of the neutral view: read from the words of their mnemonics.
//!
//! # Limitations
//! - A barrier orders memory: compilers wait for outstanding accesses before it.
//! - Loads and stores are ordered only by their bits for caches and scopes. What acquires and releases is the
//!   instruction that writes back or invalidates a cache.

use super::pieces::is_guarded;
use crate::amdgpu::inst::table::{Access as Direction, Class as Kind};
use crate::amdgpu::inst::{Encoding, Field, Inst, Value};
use crate::amdgpu::{Family, HardwareField, Target};
use crate::view::{
    Access, Atomic, Barrier, Class, Comparison, Effect, Eval, Order, Participants, Product, Scope, Semantics,
    Space, Type,
};

/// The trap of a debugger, after which the wave goes on (LLVM, User Guide for AMDGPU Backend, "Trap Handler
/// ABI").
const DEBUG: u32 = 3;

/// What the mnemonic says of an instruction. `returns`: whether it goes back to the caller.
pub(super) fn of(inst: &Inst, returns: bool) -> Semantics {
    let class = class(inst, returns);
    let ty = types(inst.name()).last().copied();
    Semantics {
        opcode: opcode(inst),
        class,
        space: space(inst),
        effect: effect(inst, class),
        result: result(inst),
        input: ty,
        order: order(inst, class),
        product: inst.matrix_shape().map(|shape| Product { shape, lanes: inst.lanes().into() }),
        // A vector instruction that writes a mask writes 0 for lanes that EXEC leaves out.
        clears: is_guarded(inst),
        scalar: !is_guarded(inst),
        ..Semantics::default()
    }
}

/// The type of the results: of a load that of a register, or less if it loads less.
fn result(inst: &Inst) -> Option<Type> {
    let ty = types(inst.name()).first().copied()?;
    let wide = matches!(inst.access(), Some(Direction::Load | Direction::Store)) && ty.bits() > 32;
    Some(if wide { Type::B32 } else { ty })
}

/// The mnemonic as it is printed.
fn opcode(inst: &Inst) -> String {
    let text = inst.print();
    text.split(' ').next().unwrap_or_default().to_owned()
}

fn class(inst: &Inst, returns: bool) -> Class {
    let Some(kind) = inst.class() else { return Class::Opaque };
    let name = inst.name();
    match kind {
        _ if clock(inst).is_some() => Class::Move,
        _ if inst.registers().is_none() && kind != Kind::Image => Class::Opaque,
        Kind::Salu | Kind::Valu | Kind::Transcendental => arithmetic(inst),
        Kind::Matrix => Class::Matrix,
        _ if inst.loads_to_lds() => Class::Load,
        Kind::ScalarMemory | Kind::VectorMemory | Kind::Lds => match inst.access() {
            Some(Direction::Load) => Class::Load,
            Some(Direction::Store) => Class::Store,
            Some(Direction::Atomic) => Class::Atomic,
            None if crosses_lanes(inst) => Class::Warp,
            None if fence(inst).is_some() || name.starts_with("ds_gws") => Class::Sync,
            None => Class::Hint,
        },
        Kind::Image => Class::Texture,
        Kind::Control if is_trap(inst) => Class::Exit,
        // A wait is for the wave's own accesses, of which a lane sees no other order.
        Kind::Export | Kind::Message | Kind::Control | Kind::Wait => Class::Hint,
        Kind::Barrier => Class::Sync,
        Kind::Branch if name == "s_setpc_b64" && returns => Class::Return,
        Kind::Branch => Class::Branch,
        Kind::Call => Class::Call,
        Kind::End => Class::Exit,
    }
}

pub(super) fn is_trap(inst: &Inst) -> bool {
    inst.name() == "s_trap" && inst.get(Field::Simm16) != DEBUG
}

/// The class of an operation on registers, by the first word of its mnemonic that says one.
fn arithmetic(inst: &Inst) -> Class {
    if crosses_lanes(inst) {
        return Class::Warp;
    }
    let mut words = inst.name().split(['_', ':']);
    let first = words.find(|word| !matches!(*word, "s" | "v" | "pk" | "dual" | ""));
    match first.unwrap_or_default() {
        "mov" | "movk" | "swap" | "accvgpr" | "getpc" | "getreg" | "setreg" | "nop" | "version" => {
            Class::Move
        }
        "cmp" | "cmpx" | "cmpk" | "bitcmp0" | "bitcmp1" => Class::Compare,
        "cndmask" | "cselect" | "cmov" | "cmovk" => Class::Select,
        "cvt" | "sext" | "ceil" | "floor" | "trunc" | "rndne" => Class::Convert,
        _ if types(inst.name()).last().is_some_and(|ty| ty.is_float()) => Class::Float,
        _ => Class::Integer,
    }
}

/// Whether the result depends on what other lanes hold.
fn crosses_lanes(inst: &Inst) -> bool {
    const NAMES: [&str; 8] = [
        "v_readlane",
        "v_readfirstlane",
        "v_writelane",
        "v_permlane",
        "ds_bpermute",
        "ds_permute",
        "ds_swizzle",
        "s_wqm",
    ];
    NAMES.iter().any(|name| inst.name().starts_with(name)) || reads_other_lanes(inst)
}

/// Whether a source comes from another lane by DPP.
pub(super) fn reads_other_lanes(inst: &Inst) -> bool {
    inst.encoding().is_some_and(|encoding| encoding.name().contains("_dpp"))
}

/// Types in a mnemonic, in order.
fn types(name: &str) -> Vec<Type> {
    let ty = |word: &str| {
        Some(match word {
            "f16" => Type::F16,
            "bf16" => Type::Bf16,
            "f32" => Type::F32,
            "f64" => Type::F64,
            "i8" | "sbyte" => Type::S8,
            "u8" | "ubyte" => Type::U8,
            "b8" | "byte" => Type::B8,
            "i16" | "sshort" => Type::S16,
            "u16" | "ushort" => Type::U16,
            "b16" | "short" => Type::B16,
            "i32" => Type::S32,
            "u32" => Type::U32,
            "b32" | "dword" | "dwordx2" | "dwordx3" | "dwordx4" | "dwordx8" | "dwordx16" => Type::B32,
            "i64" => Type::S64,
            "u64" => Type::U64,
            "b64" => Type::B64,
            "b96" | "b128" | "b256" | "b512" => Type::B32,
            _ => return None,
        })
    };
    name.split(['_', ':']).filter_map(ty).collect()
}

/// Whether control can go anywhere but to the next instruction.
pub(super) fn ends_block(inst: &Inst) -> bool {
    matches!(inst.class(), Some(Kind::Branch | Kind::End)) || is_trap(inst)
}

/// Whether the instruction is a branch of which nothing is known, or words that may be one.
pub(super) fn may_branch(inst: &Inst) -> bool {
    let name = inst.name();
    // All scalar encodings begin with these bits, those of branches among them.
    let scalar = inst.is_opaque() && inst.words().first().is_some_and(|word| word >> 30 == 2);
    scalar
        || name.starts_with("s_rfe")
        || name.starts_with("s_cbranch_cdbg")
        || name.starts_with("s_subvector_loop")
        || matches!(name, "s_cbranch_g_fork" | "s_cbranch_i_fork" | "s_cbranch_join" | "s_setvskip")
}

fn space(inst: &Inst) -> Space {
    match inst.encoding() {
        Some(Encoding::Ds) => Space::Shared,
        Some(Encoding::Global | Encoding::Smem | Encoding::Mubuf | Encoding::Mtbuf) => Space::Global,
        Some(Encoding::Scratch) => Space::Local,
        _ => Space::Generic,
    }
}

fn effect(inst: &Inst, class: Class) -> Effect {
    match class {
        Class::Load | Class::Store | Class::Atomic => Effect::Access(access(inst, class)),
        Class::Compare => comparison(inst).map_or(Effect::Plain, Effect::Compare),
        Class::Warp if is_exchange(inst) => Effect::Exchange,
        Class::Sync => barrier(inst).map_or(Effect::Fence, Effect::Barrier),
        Class::Exit if is_trap(inst) => Effect::Trap,
        _ if inst.name().starts_with("s_sleep") => Effect::Sleep,
        _ => Effect::Plain,
    }
}

/// Whether the result is a source of another lane, and nothing else.
fn is_exchange(inst: &Inst) -> bool {
    const NAMES: [&str; 6] =
        ["v_readlane", "v_readfirstlane", "v_permlane", "ds_bpermute", "ds_permute", "ds_swizzle"];
    NAMES.iter().any(|name| inst.name().starts_with(name)) || inst.name() == "v_mov_b32"
}

fn access(inst: &Inst, class: Class) -> Access {
    let bytes = inst.access_bytes();
    let atomic = (class == Class::Atomic).then(|| atomic(inst.name()));
    // Registers have four bytes; of wider accesses only atomic operations are one element.
    let widest = if atomic.is_some() { 8 } else { 4 };
    let element = bytes.map(|bytes| bytes.min(widest));
    let elements = match (bytes, element) {
        (Some(bytes), Some(element)) if element > 0 => bytes / element,
        _ => 1,
    };
    Access {
        reads: class != Class::Store,
        writes: class != Class::Load,
        atomic,
        element,
        elements,
        ..Access::default()
    }
}

fn atomic(name: &str) -> Atomic {
    let of = |word: &str| {
        Some(match word {
            "swap" | "wrxchg" | "wrxchg2" | "wrxchg2st64" | "storexchg" => Atomic::Exchange,
            "cmpswap" | "cmpst" | "cmpstore" | "fcmpswap" => Atomic::CompareExchange,
            "add" => Atomic::Add,
            "min" | "smin" | "umin" | "fmin" => Atomic::Min,
            "max" | "smax" | "umax" | "fmax" => Atomic::Max,
            "and" => Atomic::And,
            "or" => Atomic::Or,
            "xor" => Atomic::Xor,
            "inc" => Atomic::Increment,
            "dec" => Atomic::Decrement,
            _ => return None,
        })
    };
    name.split('_').find_map(of).unwrap_or(Atomic::Other)
}

/// How an integer or float comparison tests two values; `None` for other tests, and if modifiers change what
/// is compared.
fn comparison(inst: &Inst) -> Option<Comparison> {
    let name = inst.name();
    let changed = matches!(
        inst.encoding(),
        Some(
            Encoding::VopcSdwa
                | Encoding::VopcDpp16
                | Encoding::VopcDpp8
                | Encoding::Vop3Dpp16
                | Encoding::Vop3Dpp8
        )
    );
    let half = inst.operands().iter().any(|operand| matches!(operand.value, Value::Half { .. }));
    let ty = types(name).last().copied()?;
    let kind = ["s_cmp_", "s_cmpk_", "v_cmp_", "v_cmpx_"];
    let rest = kind.iter().find_map(|kind| name.strip_prefix(kind)).filter(|_| !changed && !half)?;
    // The negated relations of floats are true for NaN, which is not described.
    let relation = match rest.split('_').next()? {
        "eq" | "nlg" => Eval::Eq,
        "ne" | "lg" | "neq" => Eval::Ne,
        "lt" | "nge" => Eval::Lt,
        "le" | "ngt" => Eval::Le,
        "gt" | "nle" => Eval::Gt,
        "ge" | "nlt" => Eval::Ge,
        _ => return None,
    };
    Some(Comparison { relation, ty, join: None })
}

fn barrier(inst: &Inst) -> Option<Barrier> {
    let (arrives, waits) = match inst.name() {
        "s_barrier" => (true, true),
        "s_barrier_signal" | "s_barrier_signal_isfirst" => (true, false),
        "s_barrier_wait" => (false, true),
        _ => return None,
    };
    Some(Barrier { participants: Participants::Cta, arrives, waits, converged: true })
}

/// Whether the instruction writes back a cache, and whether it invalidates one.
fn fence(inst: &Inst) -> Option<(bool, bool)> {
    let name = inst.name();
    let cache =
        ["buffer_", "global_", "scratch_", "s_"].iter().find_map(|prefix| name.strip_prefix(prefix))?;
    match cache {
        "wbl2" | "wb" | "dcache_wb" => Some((true, false)),
        "wbinv" | "wbinvl1" | "wbinvl1_vol" => Some((true, true)),
        "inv" | "invl2" | "gl0_inv" | "gl1_inv" | "dcache_inv" | "dcache_inv_vol" => Some((false, true)),
        _ => None,
    }
}

/// Whether the instruction waits until all stores of the wave have reached a cache that the whole device
/// shares: a release, on targets where code writes no cache back (LLVM, User Guide for AMDGPU Backend,
/// "Memory Model").
fn waits_for_stores(inst: &Inst) -> bool {
    let counter = match inst.target() {
        Target::Gfx90a => "vmcnt",
        Target::Gfx1030 | Target::Gfx1100 => "vscnt",
        Target::Gfx1201 => "storecnt",
        Target::Gfx942 | Target::Gfx950 => return false,
    };
    inst.waits().contains(&(counter, 0))
}

fn order(inst: &Inst, class: Class) -> Order {
    if waits_for_stores(inst) {
        return Order { strong: false, release: true, acquire: false, scope: Scope::Gpu };
    }
    if let Some((release, acquire)) = fence(inst) {
        return Order { strong: false, release, acquire, scope: scope(inst, false).unwrap_or(Scope::Gpu) };
    }
    match class {
        Class::Sync => {
            let barrier = barrier(inst);
            let (release, acquire) = barrier.map_or((false, false), |b| (b.arrives, b.waits));
            Order { strong: false, release, acquire, scope: Scope::Cta }
        }
        Class::Atomic if inst.encoding() == Some(Encoding::Ds) => {
            Order { strong: true, scope: Scope::Cta, ..Order::default() }
        }
        Class::Atomic => {
            Order { strong: true, scope: scope(inst, true).unwrap_or(Scope::Gpu), ..Order::default() }
        }
        Class::Load | Class::Store => match scope(inst, false) {
            Some(scope) => Order { strong: true, scope, ..Order::default() },
            None => Order::default(),
        },
        _ => Order::default(),
    }
}

/// The scope that the bits for caches ask for; `None`: only the wave itself (LLVM, User Guide for AMDGPU
/// Backend, "Memory Model"). Bit `sc0` of an atomic operation, and `glc`, say that it returns.
fn scope(inst: &Inst, atomic: bool) -> Option<Scope> {
    let set = |field| inst.get(field) == 1;
    match inst.target().family() {
        Family::Gfx12 => match inst.get(Field::Scope) {
            0 => None,
            1 => Some(Scope::Cta),
            _ => Some(Scope::Gpu),
        },
        _ if set(Field::Sc1) => Some(Scope::Gpu),
        _ if !atomic && set(Field::Sc0) => Some(Scope::Cta),
        _ if !atomic && set(Field::Glc) => Some(Scope::Gpu),
        _ => None,
    }
}

/// The special register that an instruction reads: a clock, or a register of the hardware.
pub(super) fn clock(inst: &Inst) -> Option<&'static str> {
    match inst.name() {
        "s_memtime" => Some("%clock64"),
        "s_memrealtime" => Some("%globaltimer"),
        "s_sendmsg_rtn_b32" | "s_sendmsg_rtn_b64" => Some("%globaltimer"),
        "s_getreg_b32" => Some(match inst.target().cycles(HardwareField::of(inst.get(Field::Simm16))) {
            Some((0..32, _)) => "%clock",
            Some(_) => "%clock_hi",
            None => "hwreg",
        }),
        _ => None,
    }
}
