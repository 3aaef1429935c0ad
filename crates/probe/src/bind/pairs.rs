//! Values of 64 bits in AMD's machine code: two registers of 32 bits, which the view has as a vector.
//!
//! An instruction whose opcode names a type of 64 bits (`v_mul_f64`) reads and writes pairs. A load or store
//! moves words (`global_store_dwordx2`): its words are pairs if they were computed, or are read, as such.
//!
//! # Limitations
//! Packed operations (`v_pk_fma_f32`), matrix products, and loads and stores of words whose type is not known
//! have words.

use prlx_isa::view::{Class, Effect, Inst, InstId, Operand, Role, Type};
use prlx_plan::function::body::{self, Body};

use super::machine_code::native;
use super::value_type::type_of_pairs;

/// The operands in these roles, in order: words, and vectors of two words that are one value.
pub(super) fn values(body: &Body<'_>, at: InstId, roles: &[Role]) -> Vec<Operand> {
    let inst = body.inst(at);
    let paired = native(inst).is_some()
        && match inst.class {
            Class::Load | Class::Store => are_paired(body, at),
            Class::Matrix | Class::Texture | Class::Call => false,
            _ => is_wide(inst),
        };
    if !paired {
        return body::in_role(inst, roles);
    }
    let all = inst.operands.iter().zip(&inst.roles).filter(|(_, role)| roles.contains(role));
    let mut out = Vec::new();
    for (operand, _) in all {
        match operand {
            Operand::Vector(words) if words.len().is_multiple_of(2) => {
                out.extend(words.chunks(2).map(|pair| Operand::Vector(pair.to_vec())));
            }
            other => out.extend(leaves(other)),
        }
    }
    out
}

/// Whether the vectors of a load or store of words are pairs.
pub(super) fn are_paired(body: &Body<'_>, at: InstId) -> bool {
    let inst = body.inst(at);
    let memory = matches!(inst.class, Class::Load | Class::Store);
    memory && native(inst).is_some() && vectors(inst).next().is_some() && type_of_pairs(body, at).is_some()
}

/// The type of a pair. `ty`: that of the instruction's inputs or results.
pub(super) fn wide_type(body: &Body<'_>, at: InstId, ty: Option<Type>) -> Type {
    let inst = body.inst(at);
    let other = [ty, inst.semantics.result, inst.semantics.input].into_iter().flatten();
    let wide = other.into_iter().find(|ty| ty.bits() == 64);
    match inst.class {
        Class::Load | Class::Store => type_of_pairs(body, at).unwrap_or(Type::B64),
        _ => wide.unwrap_or(Type::U64),
    }
}

/// Whether the opcode names a type of 64 bits, or is an atomic operation of that width.
fn is_wide(inst: &Inst) -> bool {
    let named = [inst.semantics.input, inst.semantics.result].into_iter().flatten();
    let element = match inst.semantics.effect {
        Effect::Access(access) => access.element,
        _ => None,
    };
    named.into_iter().any(|ty| ty.bits() == 64) || element == Some(8)
}

/// Vectors of data with a whole number of pairs.
fn vectors(inst: &Inst) -> impl Iterator<Item = &[Operand]> {
    inst.operands.iter().zip(&inst.roles).filter_map(|(operand, role)| match operand {
        Operand::Vector(words) if *role != Role::Addr && words.len().is_multiple_of(2) => Some(&words[..]),
        _ => None,
    })
}

/// The parts of an operand.
pub(super) fn leaves(operand: &Operand) -> Vec<Operand> {
    let mut out = Vec::new();
    body::leaves(operand, &mut |leaf| out.push(leaf.clone()));
    out
}
