//! What a probe program sees of AMD's machine code: the words that tracepoints name instructions by.
//!
//! Tracepoints name operations of PTX. An instruction of AMD's has its own opcode, which tracepoints can name
//! too (`inst:global_load_dword`), and [`words`]: what PTX calls the same operation. So one program runs on
//! both.
//!
//! # Limitations
//! A FLAT instruction may access global, LDS or scratch memory. It matches no tracepoint that names a space.

use prlx_isa::amdgpu::Native;
use prlx_isa::view::{Class, Effect, Inst, Role, Space};

/// The instruction of the machine, if the code is AMD's.
pub(super) fn native(inst: &Inst) -> Option<&Native> {
    inst.semantics.native.get::<Native>()
}

/// Whether an instruction of the view stands for none of the machine, as those for registers at the entry.
pub(super) fn is_added(inst: &Inst) -> bool {
    matches!(
        inst.semantics.opcode.as_str(),
        "entry" | "return" | "vccnz" | "execnz" | prlx_isa::amdgpu::UNREACHABLE
    ) && native(inst).is_none()
}

/// Whether an instruction of the view stands for the registers that nothing has written at a kernel's entry.
pub(super) fn is_undefined(inst: &Inst) -> bool {
    is_added(inst) && inst.semantics.opcode == "entry" && !inst.roles.contains(&Role::Use)
}

/// What PTX calls the operation of an AMD instruction, with its state space or type: `ld.global.b32`. `None`
/// for PTX, and for operations that no tracepoint needs by another name than their own.
pub(super) fn words(inst: &Inst) -> Option<String> {
    let native = native(inst)?;
    let space = match inst.space {
        Space::Global => Some("global"),
        Space::Shared => Some("shared"),
        Space::Local => Some("local"),
        Space::Param => Some("param"),
        _ => None,
    };
    let of_memory = |operation: &str| match space {
        Some(space) => format!("{operation}.{space}"),
        None => operation.to_owned(),
    };
    match inst.class {
        Class::Load => Some(of_memory("ld")),
        Class::Store => Some(of_memory("st")),
        Class::Atomic => {
            let returns = inst.roles.iter().any(|role| matches!(role, Role::Def | Role::UseDef));
            Some(of_memory(if returns { "atom" } else { "red" }))
        }
        Class::Matrix => Some("mma.sync".to_owned()),
        _ if matches!(inst.semantics.effect, Effect::Barrier(_)) => Some("bar.sync".to_owned()),
        _ => arithmetic(native.inst.name()),
    }
}

/// PTX's name of a floating-point operation: `v_fma_f32` is `fma.f32`.
fn arithmetic(name: &str) -> Option<String> {
    let name = name.trim_end_matches("_e32").trim_end_matches("_e64");
    let (operation, ty) = name.strip_prefix("v_")?.rsplit_once('_')?;
    if !matches!(ty, "f16" | "f32" | "f64") {
        return None;
    }
    let operation = match operation {
        "add" | "sub" | "mul" | "fma" | "min" | "max" | "sqrt" | "rcp" | "sin" | "cos" => operation,
        "rsq" => "rsqrt",
        "log" => "lg2",
        "exp" => "ex2",
        _ => return None,
    };
    Some(format!("{operation}.{ty}"))
}
