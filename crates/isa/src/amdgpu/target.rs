//! The processors whose code PRLX reads (LLVM, User Guide for AMDGPU Backend, "Processors").

use std::fmt;

/// A processor whose code objects PRLX reads. Each has a row of tables here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs, reason = "the names are the processors'")]
#[rustfmt::skip]
pub enum Target { Gfx90a, Gfx942, Gfx950, Gfx1030, Gfx1100, Gfx1201 }

/// Processors with the same encodings.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Family {
    /// CDNA 2 to 4: waves of 64 lanes.
    Gfx9,
    /// RDNA 2: waves of 32 or 64 lanes.
    Gfx10,
    /// RDNA 3: waves of 32 or 64 lanes, with operations on 16-bit halves of registers.
    Gfx11,
    /// RDNA 4: waves of 32 or 64 lanes, and a counter of outstanding work for each kind of access.
    Gfx12,
}

/// What distinguishes a processor: its name, the number in the flags of its code objects
/// (`EF_AMDGPU_MACH`), and its family.
const TARGETS: [(Target, &str, u8, Family); 6] = [
    (Target::Gfx90a, "gfx90a", 0x3f, Family::Gfx9),
    (Target::Gfx942, "gfx942", 0x4c, Family::Gfx9),
    (Target::Gfx950, "gfx950", 0x4f, Family::Gfx9),
    (Target::Gfx1030, "gfx1030", 0x36, Family::Gfx10),
    (Target::Gfx1100, "gfx1100", 0x41, Family::Gfx11),
    (Target::Gfx1201, "gfx1201", 0x4e, Family::Gfx12),
];

impl Target {
    /// All targets, oldest first.
    pub fn all() -> impl Iterator<Item = Target> {
        TARGETS.iter().map(|row| row.0)
    }

    fn row(self) -> (Target, &'static str, u8, Family) {
        TARGETS[self as usize]
    }

    /// The name, as `gfx942`.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The target of a name, without features: `gfx942`, not `gfx942:xnack+`.
    pub fn parse(name: &str) -> Option<Target> {
        TARGETS.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// The number that the flags of a code object have (`EF_AMDGPU_MACH`).
    pub fn mach(self) -> u8 {
        self.row().2
    }

    /// The target of that number.
    pub fn of_mach(mach: u8) -> Option<Target> {
        TARGETS.iter().find(|row| row.2 == mach).map(|row| row.0)
    }

    /// Whether atomic stores have bits for their scope. Elsewhere they are encoded as plain stores are (LLVM,
    /// User Guide for AMDGPU Backend, "Memory Model").
    pub fn marks_atomic_stores(self) -> bool {
        !matches!(self, Target::Gfx90a | Target::Gfx1030 | Target::Gfx1100)
    }

    /// The family, which decides the encodings of instructions.
    pub fn family(self) -> Family {
        self.row().3
    }

    /// Whether code objects are built with or without XNACK (replay of faulting accesses) and SRAM-ECC, or
    /// for both (LLVM, User Guide for AMDGPU Backend, "Target Features").
    pub fn has_features(self) -> bool {
        self.family() == Family::Gfx9
    }

    /// Whether the hardware sets up `FLAT_SCRATCH`. Otherwise kernels receive the base and the offset of
    /// their scratch memory in SGPRs ("Target Properties: Architected flat scratch").
    pub fn has_architected_scratch(self) -> bool {
        !matches!(self, Target::Gfx90a | Target::Gfx1030)
    }

    /// The fields of hardware registers that say on which multiprocessor a wave runs, the lowest first: the
    /// compute unit on gfx9, the workgroup processor on others (AMD's manuals, `HW_ID`, `HW_ID1`, `XCC_ID`).
    pub fn multiprocessor(self) -> &'static [HardwareField] {
        const HW_ID: HardwareField = HardwareField { register: 4, first: 8, bits: 8 };
        const XCC_ID: HardwareField = HardwareField { register: 20, first: 0, bits: 4 };
        const HW_ID1: HardwareField = HardwareField { register: 23, first: 10, bits: 11 };
        match self {
            Target::Gfx90a => &[HW_ID],
            Target::Gfx942 | Target::Gfx950 => &[HW_ID, XCC_ID],
            Target::Gfx1030 | Target::Gfx1100 | Target::Gfx1201 => &[HW_ID1],
        }
    }

    /// How code of this target reads a clock that counts while it runs.
    pub fn clock(self) -> ClockSource {
        match self.family() {
            Family::Gfx9 | Family::Gfx10 => ClockSource::Memory,
            Family::Gfx11 => ClockSource::Message,
            Family::Gfx12 => ClockSource::Registers,
        }
    }

    /// The bits of the counter of cycles that a field of a hardware register has: the first of them and their
    /// number. `None` for other registers (RDNA 2, 3 and 4 ISA, `SHADER_CYCLES`: 20 bits, 64 in RDNA 4).
    pub fn cycles(self, field: HardwareField) -> Option<(u32, u32)> {
        let (first, bits) = match (self.family(), field.register) {
            (Family::Gfx10 | Family::Gfx11, SHADER_CYCLES) => (0, 20),
            (Family::Gfx12, SHADER_CYCLES) => (0, 32),
            (Family::Gfx12, SHADER_CYCLES_HI) => (32, 32),
            _ => return None,
        };
        Some((first + field.first, field.bits.min(bits - field.first.min(bits))))
    }

    /// What the field of a scalar address holds in GLOBAL and SCRATCH instructions without one.
    pub fn no_scalar_address(self) -> u32 {
        match self.family() {
            Family::Gfx9 => 127,
            Family::Gfx10 => 125,
            Family::Gfx11 | Family::Gfx12 => 124,
        }
    }

    /// Whether a wave may have that many lanes.
    pub fn has_wave(self, lanes: u32) -> bool {
        lanes == 64 || (lanes == 32 && self.family() != Family::Gfx9)
    }
}

/// A field of a hardware register, as `s_getreg` reads it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HardwareField {
    /// Number of the register.
    pub register: u32,
    /// Its first bit.
    pub first: u32,
    /// Number of bits.
    pub bits: u32,
}

impl HardwareField {
    /// The operand of `s_getreg` and `s_setreg`.
    pub fn code(self) -> u32 {
        self.register | self.first << 6 | (self.bits - 1) << 11
    }

    /// The field that such an operand names.
    pub fn of(code: u32) -> HardwareField {
        HardwareField { register: code & 63, first: code >> 6 & 31, bits: (code >> 11 & 31) + 1 }
    }
}

/// Number of the hardware register with the counter of cycles, or its lower half.
const SHADER_CYCLES: u32 = 29;

/// Number of the hardware register with the upper half.
const SHADER_CYCLES_HI: u32 = 30;

impl HardwareField {
    /// The lower half of the counter of cycles, where it has 64 bits.
    pub const CYCLES_LOW: HardwareField = HardwareField { register: SHADER_CYCLES, first: 0, bits: 32 };
    /// The upper half.
    pub const CYCLES_HIGH: HardwareField = HardwareField { register: SHADER_CYCLES_HI, first: 0, bits: 32 };
}

/// What code reads for a clock and for the timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockSource {
    /// `s_memtime` and `s_memrealtime`.
    Memory,
    /// The message [`REALTIME`], which is the timer. The counter of cycles has 20 bits.
    Message,
    /// Two hardware registers with the halves of the counter of cycles, and the message [`REALTIME`].
    Registers,
}

/// The message of `s_sendmsg_rtn_b64` that returns the timer (LLVM, User Guide for AMDGPU Backend,
/// `MSG_RTN_GET_REALTIME`).
pub const REALTIME: u32 = 131;

/// What inserted code counts as a clock for each tick of the timer where the timer is the clock: cycles of
/// 2 GHz.
pub const TIMER_CYCLES: u32 = 20;

/// Nanoseconds of a tick of the timer that `s_memrealtime` and the message [`REALTIME`] read: 100 MHz.
pub const TIMER_TICK: u32 = 10;

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::{TARGETS, Target};

    #[test]
    fn rows_stand_in_the_order_of_the_targets() {
        for (place, target) in Target::all().enumerate() {
            assert_eq!(target as usize, place);
            assert_eq!(Target::parse(target.name()), Some(target));
            assert_eq!(Target::of_mach(target.mach()), Some(target));
        }
        assert_eq!(TARGETS.len(), Target::all().count());
        assert!(Target::Gfx942.has_wave(64) && !Target::Gfx942.has_wave(32) && Target::Gfx1100.has_wave(32));
    }
}
