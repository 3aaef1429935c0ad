//! The part of the MODE register that arithmetic depends on.

use prlx_lanes::amd::float;

/// How floating-point operations round and treat denormals and NaNs (AMD's ISA guides, "Mode register"). The
/// fields have the codes of the register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FloatMode {
    /// Rounding of binary32: 0 to nearest even, 1 up, 2 down, 3 towards zero.
    pub round32: u8,
    /// Rounding of binary16 and binary64.
    pub round16_64: u8,
    /// Denormals of binary32: bit 0 keeps those of sources, bit 1 those of results.
    pub denorm32: u8,
    /// Denormals of binary16 and binary64.
    pub denorm16_64: u8,
    /// Minima and maxima return signaling NaNs. RDNA 4 has no such mode.
    pub ieee: bool,
    /// `clamp` makes 0 of a NaN. RDNA 4 always does.
    pub dx10_clamp: bool,
}

impl Default for FloatMode {
    /// What compilers ask for: to nearest, with denormals.
    fn default() -> FloatMode {
        FloatMode { round32: 0, round16_64: 0, denorm32: 3, denorm16_64: 3, ieee: true, dx10_clamp: true }
    }
}

/// Formats that share a field of the mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Precision {
    /// The format binary32.
    Single,
    /// binary16 and binary64.
    Other,
}

impl FloatMode {
    /// The constant of a step: for sources of one format, and results of another.
    pub fn constant(self, from: Precision, to: Precision) -> u64 {
        let denorm = |of| if of == Precision::Single { self.denorm32 } else { self.denorm16_64 };
        let round = match if to == Precision::Single { self.round32 } else { self.round16_64 } & 3 {
            0 => 0,
            1 => 3,
            2 => 2,
            _ => 1,
        };
        let mut imm = round;
        imm |= if denorm(from) & 1 == 0 { float::FLUSH_IN } else { 0 };
        imm |= if denorm(to) & 2 == 0 { float::FLUSH_OUT } else { 0 };
        imm |= if self.ieee { float::IEEE } else { 0 };
        imm | if self.dx10_clamp { float::DX10 } else { 0 }
    }
    /// The low ten bits of the register, of those fields.
    pub fn bits(self) -> u32 {
        let low = u32::from(self.round32) | u32::from(self.round16_64) << 2;
        let denorm = u32::from(self.denorm32) << 4 | u32::from(self.denorm16_64) << 6;
        low | denorm | u32::from(self.dx10_clamp) << 8 | u32::from(self.ieee) << 9
    }
    /// The mode after some bits of the register were written; `None` if the others of them would change
    /// something that is not simulated.
    pub fn set(self, offset: u32, size: u32, value: u32) -> Option<FloatMode> {
        let field = if size >= 32 { u32::MAX } else { (1 << size) - 1 };
        let bits = self.bits() & !(field << offset) | (value & field) << offset;
        let part = |low: u32| (bits >> low & 3) as u8;
        (bits >> 10 == 0).then_some(FloatMode {
            round32: part(0),
            round16_64: part(2),
            denorm32: part(4),
            denorm16_64: part(6),
            dx10_clamp: bits >> 8 & 1 == 1,
            ieee: bits >> 9 & 1 == 1,
        })
    }
}
