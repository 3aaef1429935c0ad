//! What probe programs call an instruction of AMD's.

use crate::amdgpu::inst::Inst;
use crate::view::{Class, Effect, Semantics, Space};

/// What tracepoints call an instruction besides its opcode: its mnemonic, and PTX's name of the operation
/// with its state space or type, as `ld.global`. `returns`: whether it writes a register.
pub(super) fn names(inst: &Inst, semantics: &Semantics, returns: bool) -> Vec<String> {
    let name = inst.name();
    [Some(name.to_owned()), words(name, semantics, returns)].into_iter().flatten().collect()
}

/// PTX's name; `None` for operations that no tracepoint needs by another name than their own.
fn words(name: &str, semantics: &Semantics, returns: bool) -> Option<String> {
    let space = match semantics.space {
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
    match semantics.class {
        Class::Load => Some(of_memory("ld")),
        Class::Store => Some(of_memory("st")),
        Class::Atomic => Some(of_memory(if returns { "atom" } else { "red" })),
        Class::Matrix => Some("mma.sync".to_owned()),
        _ if matches!(semantics.effect, Effect::Barrier(_)) => Some("bar.sync".to_owned()),
        _ => float_operation(name),
    }
}

/// PTX's name of a floating-point operation: `v_fma_f32` is `fma.f32`.
fn float_operation(name: &str) -> Option<String> {
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
