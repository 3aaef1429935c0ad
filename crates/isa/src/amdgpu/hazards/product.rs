//! Matrix products of gfx9: their passes, their unit, and how long their results take.
//!
//! XDL products are those of all types but binary64 and, from gfx942 on, binary32.
//!
//! Source: LLVM 22, `SISchedule.td` (passes), and the constants of `GCNHazardRecognizer.cpp`.

use super::super::Target::{self, Gfx90a, Gfx950};
use super::super::inst::{Field, Inst, Reg};

/// What hazards depend on, of a matrix product.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Product {
    /// Passes of four cycles.
    pub(super) passes: u8,
    /// Whether it is one of binary64.
    pub(super) double: bool,
    /// Whether the XDL unit computes it.
    pub(super) xdl: bool,
    /// Registers of the matrix that is added.
    pub(super) c: Vec<Reg>,
    /// Registers of the other sources.
    pub(super) ab: Vec<Reg>,
}

impl Product {
    /// That of an instruction of gfx9; `None` for others.
    pub(super) fn of(inst: &Inst) -> Option<Product> {
        let name = inst.name();
        let sparse = name.starts_with("v_smfmac");
        if !sparse && !name.starts_with("v_mfma") {
            return None;
        }
        let of_field = |field: Field| {
            let found = inst.operands().into_iter().find(|operand| operand.slot.field == field);
            found.map(|operand| operand.value.registers()).unwrap_or_default()
        };
        let mut ab = [of_field(Field::Src0), of_field(Field::Src1)].concat();
        // The third source of a sparse product is an index, and the result is added to.
        let mut c = of_field(Field::Src2);
        if sparse {
            ab.append(&mut c);
            c = of_field(Field::Vdst);
        }
        let double = name.starts_with("v_mfma_f64");
        let from_gfx942 = inst.target() != Gfx90a;
        let single = from_gfx942 && name.ends_with("_f32");
        Some(Product { passes: passes(inst, double, single), double, xdl: !double && !single, c, ab })
    }

    /// Whether it is one of binary64 with 4 rows.
    pub(super) fn small_double(&self) -> bool {
        self.double && self.passes == 4
    }

    /// Wait states until its result can be read by a vector instruction or as A or B, or be overwritten.
    pub(super) fn result(&self, target: Target) -> u8 {
        match target {
            Gfx90a => self.passes + 3,
            _ if !self.xdl => self.passes + 2,
            Gfx950 if self.passes != 2 => self.passes + 4,
            _ => self.passes + 3,
        }
    }

    /// Wait states until another product can add its result.
    pub(super) fn added(&self, target: Target, then: &Product, whole: bool) -> u8 {
        let on_gfx950 = u8::from(target == Gfx950);
        match (self.double, then.double) {
            (true, false) if target == Gfx90a => 0,
            _ if whole && self.small_double() && then.small_double() => 4,
            _ if whole && target != Gfx90a && self.passes == 2 => 2,
            _ if whole => 0,
            (true, _) if then.xdl => 0,
            (true, _) if self.small_double() => 4,
            (true, _) => 9 + 8 * on_gfx950,
            (_, double) if target == Gfx90a => self.passes + u8::from(double),
            _ if !self.xdl && then.xdl => 0,
            _ if !self.xdl => self.passes,
            _ if then.xdl => self.passes + 1 + on_gfx950,
            _ => self.passes + 1 + if self.passes == 2 { 0 } else { on_gfx950 },
        }
    }

    /// Wait states after which none of its hazards is left.
    pub(super) fn longest(&self, target: Target) -> u8 {
        if self.double { 20 } else { self.result(target).max(self.passes + 2) }
    }
}

/// The passes of a product.
fn passes(inst: &Inst, double: bool, single: bool) -> u8 {
    let (name, target) = (inst.name(), inst.target());
    let rows = name.split('_').find_map(|part| part.split_once('x')).map_or("", |(rows, _)| rows);
    let blocks = ["_2b_", "_4b_", "_16b_"].iter().any(|part| name.contains(part));
    match rows {
        "4" if double => 4,
        "4" => 2,
        "16" if double && target == Gfx950 => 16,
        "16" if target == Gfx90a || double || blocks || single => 8,
        "32" if target == Gfx90a || blocks || single => 16,
        _ => {
            // Formats of 8 bits take twice as long as smaller ones.
            let wide =
                name.ends_with("f8f6f4") && [Field::Cbsz, Field::Blgp].iter().any(|f| inst.get(*f) < 2);
            (if rows == "16" { 4 } else { 8 }) << u8::from(wide)
        }
    }
}
