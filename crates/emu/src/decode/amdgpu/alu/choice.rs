//! The operation of an instruction, as the tables of mnemonics give it.

use prlx_lanes::amd::{Signature, Uniform, Width};
use prlx_lanes::round::Round;
use prlx_lanes::{LaneFn, Simd, entry};

use super::super::float_mode::Precision;

/// The operation of an instruction.
#[derive(Clone, Copy)]
pub struct Choice {
    /// The function that runs it.
    pub run: LaneFn,
    /// Widths of its results.
    pub results: &'static [Width],
    /// Widths of its sources.
    pub sources: &'static [Width],
    /// Precision of the sources and of the results, if the constant of the step has mode and modifiers.
    pub floats: Option<(Precision, Precision)>,
    /// The rounding, if it is not the mode's.
    pub round: Option<Round>,
    /// More bits of the constant.
    pub imm: u64,
}

/// An operation on integers and bits.
pub fn plain<O: Signature>(simd: Simd) -> Choice {
    choice::<O>(entry::<O>(simd))
}

/// An operation of the scalar unit on integers and bits.
pub fn uniform<O: Signature>(simd: Simd) -> Choice {
    choice::<O>(entry::<Uniform<O>>(simd))
}

fn choice<O: Signature>(run: LaneFn) -> Choice {
    Choice { run, results: O::RESULTS, sources: O::SOURCES, floats: None, round: None, imm: 0 }
}

/// An operation on floating-point values.
pub fn floating<O: Signature>(simd: Simd, from: Precision, to: Precision) -> Choice {
    Choice { floats: Some((from, to)), ..plain::<O>(simd) }
}
