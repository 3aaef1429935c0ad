//! Hazards of gfx9's matrix products: with each other, and with other instructions behind them.
//!
//! How long they last depends on the passes of a product, on its unit, and on the operand.
//!
//! Source: LLVM 22, `checkMAIHazards90A` and `checkMAIVALUHazards` in `GCNHazardRecognizer.cpp`.

use super::super::Target::{self, Gfx950};
use super::super::inst::Reg;
use super::traits::{EXPORT, FMA64, Hit, LDS, MEMORY, Traits, VALU};

/// The hazards of an instruction behind a product.
pub(super) fn hits(target: Target, first: &Traits, then: &Traits, hit: &mut impl FnMut(Hit)) {
    let Some(product) = &first.product else { return };
    let meets = |these: &[Reg], those: &[Reg]| these.iter().copied().find(|reg| those.contains(reg));
    let mut put = |reg: Option<Reg>, states: u8, what: &'static str, read: bool| {
        if reg.is_some() && states > 0 {
            hit(Hit { states, what, reg, read });
        }
    };
    if let Some(other) = &then.product {
        let whole = other.c == first.writes;
        put(
            meets(&other.c, &first.writes),
            product.added(target, other, whole),
            "a matrix product adds the result of another one",
            false,
        );
        let states = match (product.double, product.small_double()) {
            (_, true) => 6,
            (true, _) if target == Gfx950 => 19,
            (true, _) => 11,
            _ => product.result(target),
        };
        let what = "a matrix product multiplies the result of another one";
        put(meets(&other.ab, &first.writes), states, what, false);
        return;
    }
    let memory = then.kinds & (MEMORY | LDS | EXPORT) != 0;
    if !memory && then.kinds & VALU == 0 {
        return;
    }
    let read = match (product.double, product.small_double(), memory) {
        (_, true, true) => 9,
        (_, true, _) => 6,
        (true, _, true) => 18,
        (true, _, _) if target == Gfx950 => 19,
        (true, ..) => 11,
        _ => product.result(target),
    };
    put(meets(&then.reads, &first.writes), read, "the result of a matrix product is read", false);
    let written = match (product.double, product.small_double()) {
        (_, true) => 6,
        (true, _) => 11,
        _ => product.result(target),
    };
    let what = "the result of a matrix product is overwritten";
    put(meets(&then.writes, &first.writes), written, what, false);
    if product.xdl {
        let what = "the matrix that a product adds is overwritten";
        put(meets(&then.writes, &product.c), product.passes - 1, what, true);
    }
    if product.double && then.kinds & FMA64 != 0 {
        let what = "v_fma_f64 comes behind a matrix product of binary64";
        hit(Hit { states: 2, what, reg: None, read: false });
    }
}
