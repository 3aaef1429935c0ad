//! Hazards of gfx9 between two instructions, but for those of matrix products.

use super::super::Target;
use super::super::inst::Reg;
use super::traits::Which::{
    self, Any, Hardware, Lane, ReadsScalar, ReadsVector, Stores, WritesExec, WritesM0, WritesScalar,
    WritesVector,
};
use super::traits::{
    DIV_FMAS, DOT, DPP, GETREG, Hit, Kinds, MATRIX, MEMORY, PERMLANE, READ_LANE, READS_M0, SALU, SETREG,
    SHIFTED, TRANS, Traits, VALU, VECTOR, WRITE_LANE, number,
};

/// A hazard of gfx9.
pub(super) struct Rule {
    what: &'static str,
    /// Wait states that are needed, by target: gfx90a, gfx942, gfx950.
    states: [u8; 3],
    first: (Kinds, Kinds, Which),
    then: (Kinds, Kinds, Which),
}

/// A rule. Of each instruction: kinds of which it has one, kinds of which it has none, and registers.
const fn rule(
    what: &'static str,
    states: [u8; 3],
    first: (Kinds, Kinds, Which),
    then: (Kinds, Kinds, Which),
) -> Rule {
    Rule { what, states, first, then }
}

/// The hazards of gfx9 that wait states end. The function of `GCNHazardRecognizer` stands beside each.
#[rustfmt::skip]
pub(super) const RULES: [Rule; 20] = [
    // checkVMEMHazards
    rule("a vector instruction writes an SGPR, and memory is accessed by it", [5; 3],
         (VALU, 0, WritesScalar), (MEMORY, 0, ReadsScalar)),
    // checkRWLaneHazards
    rule("a vector instruction writes an SGPR that chooses a lane", [4; 3],
         (VALU, 0, WritesScalar), (READ_LANE | WRITE_LANE, 0, Lane)),
    // checkDivFMasHazards
    rule("a vector instruction writes VCC, and v_div_fmas reads it", [4; 3],
         (VALU, 0, WritesScalar), (DIV_FMAS, 0, ReadsScalar)),
    // checkDPPHazards
    rule("DPP reads a register that was written", [2; 3],
         (VECTOR, 0, WritesVector), (DPP, 0, ReadsVector)),
    rule("a vector instruction writes EXEC before DPP", [5; 3],
         (VALU, 0, WritesExec), (DPP, 0, Any)),
    // checkVALUHazardsHelper
    rule("data of a large store are overwritten", [1, 2, 2],
         (MEMORY, 0, Stores), (VALU | MATRIX, 0, WritesVector)),
    // checkVALUHazards: hasTransForwardingHazard
    rule("the result of a transcendental operation is read", [0, 1, 1],
         (TRANS, 0, WritesVector), (VALU | MATRIX, TRANS, ReadsVector)),
    // checkVALUHazards: hasDstSelForwardingHazard
    rule("a result that was moved within its register is read", [0, 1, 1],
         (SHIFTED, 0, WritesVector), (VALU | MATRIX, 0, ReadsVector)),
    rule("a result that was moved within its register is overwritten", [0, 1, 1],
         (SHIFTED, 0, WritesVector), (VALU | MATRIX, 0, WritesVector)),
    // checkVALUHazards: hasVDecCoExecHazard
    rule("a vector instruction reads an SGPR that another one wrote", [0, 2, 2],
         (VALU, 0, WritesScalar), (VALU | MATRIX, 0, ReadsScalar)),
    rule("a lane is read of a register that was written", [0, 1, 1],
         (VALU, 0, WritesVector), (READ_LANE, 0, ReadsVector)),
    rule("a vector instruction writes EXEC before a lane is read or written", [0, 4, 4],
         (VALU, 0, WritesExec), (READ_LANE | WRITE_LANE, 0, Any)),
    // checkMAIVALUHazards, for another dot product or another source
    rule("the result of a dot product is read", [3; 3],
         (DOT, 0, WritesVector), (VECTOR, MATRIX, ReadsVector)),
    rule("the result of a dot product is overwritten", [3; 3],
         (DOT, 0, WritesVector), (VECTOR, MATRIX, WritesVector)),
    // checkMAIHazards90A
    rule("a matrix product reads a register that was written", [2; 3],
         (VALU, DOT, WritesVector), (MATRIX, 0, ReadsVector)),
    rule("a vector instruction writes EXEC before a matrix product", [4; 3],
         (VALU, 0, WritesExec), (MATRIX, 0, Any)),
    // checkPermlaneHazards
    rule("lanes are exchanged of a register that was written", [0, 0, 2],
         (VALU, 0, WritesVector), (PERMLANE, 0, ReadsVector)),
    rule("a vector instruction writes EXEC before lanes are exchanged", [0, 0, 4],
         (VALU, 0, WritesExec), (PERMLANE, 0, Any)),
    // checkGetRegHazards, checkSetRegHazards
    rule("a hardware register is used that s_setreg wrote", [2; 3],
         (SETREG, 0, Hardware), (SETREG | GETREG, 0, Hardware)),
    // checkReadM0Hazards
    rule("a scalar instruction writes M0, and it is used", [1; 3],
         (SALU, 0, WritesM0), (READS_M0, 0, Any)),
];

/// The place of a target in [`Rule::states`].
fn place(target: Target) -> Option<usize> {
    Some(match target {
        Target::Gfx90a => 0,
        Target::Gfx942 => 1,
        Target::Gfx950 => 2,
        _ => return None,
    })
}

/// Registers of an instruction that a rule is about and that another one can meet.
fn registers(which: Which, traits: &Traits) -> impl Iterator<Item = Reg> {
    let fits = move |reg: &Reg| match which {
        WritesExec => matches!(reg, Reg::ExecLo | Reg::ExecHi),
        WritesM0 => *reg == Reg::M0,
        WritesScalar => number(*reg).is_some(),
        _ => matches!(reg, Reg::V(_) | Reg::A(_)),
    };
    traits.registers(which).iter().copied().filter(fits)
}

/// The hazards of an instruction with one before it.
pub(super) fn hits(target: Target, first: &Traits, then: &Traits, hit: &mut impl FnMut(Hit)) {
    let Some(place) = place(target) else { return };
    super::products::hits(target, first, then, hit);
    for Rule { what, states, first: one, then: other } in &RULES {
        let states = states[place];
        if states == 0 || !first.is((one.0, one.1)) || !then.is((other.0, other.1)) {
            continue;
        }
        let reg = match one.2 {
            WritesExec | WritesM0 => registers(one.2, first).next().map(|_| None),
            Hardware => (first.hardware == then.hardware).then_some(None),
            _ => registers(one.2, first).find(|reg| meets(first, then, other.2, *reg)).map(Some),
        };
        if let Some(reg) = reg {
            hit(Hit { states, what, reg, read: one.2 == Stores });
        }
    }
}

/// Whether a register is one of the second instruction. The same dot product can add the result of one before
/// it, and overwrite it.
fn meets(first: &Traits, then: &Traits, which: Which, reg: Reg) -> bool {
    if first.kinds & DOT != 0 && then.name == first.name {
        return match which {
            WritesVector => false,
            _ => then.multiplied.contains(&reg),
        };
    }
    then.registers(which).contains(&reg)
}

/// Wait states after which an instruction has no hazard with any other.
pub(super) fn longest(target: Target, traits: &Traits) -> u8 {
    let Some(place) = place(target) else { return 0 };
    let all = RULES.iter().filter(|rule| {
        traits.is((rule.first.0, rule.first.1))
            && (rule.first.2 == Hardware || registers(rule.first.2, traits).next().is_some())
    });
    let product = traits.product.as_ref().map_or(0, |product| product.longest(target));
    all.map(|rule| rule.states[place]).max().unwrap_or(0).max(product)
}
