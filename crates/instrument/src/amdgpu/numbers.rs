//! Registers by their numbers: single ones, how many there are, and sets.

use prlx_isa::amdgpu::inst::{Reg, Value};

use super::assembler::vgprs;

/// Registers that functions use: one past the highest number of each bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Used {
    pub(super) vector: u32,
    pub(super) scalar: u32,
    pub(super) accumulation: u32,
    /// Slots of [`Spill`].
    pub(super) slots: u32,
}

impl Used {
    /// The higher numbers of both.
    pub(super) fn max(self, other: Used) -> Used {
        Used {
            vector: self.vector.max(other.vector),
            scalar: self.scalar.max(other.scalar),
            accumulation: self.accumulation.max(other.accumulation),
            slots: self.slots.max(other.slots),
        }
    }
}

/// A register of inserted code, or a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// Number of the first one.
    pub(super) first: u8,
    /// Whether there are two.
    pub(super) wide: bool,
}

impl Place {
    /// The vector register of the low half, or of the high one.
    pub(super) fn half(self, high: bool) -> Value {
        vgprs(self.first + u8::from(high && self.wide), 1)
    }

    /// Both vector registers.
    pub(super) fn whole(self) -> Value {
        vgprs(self.first, 1 + u8::from(self.wide))
    }
}

/// A set of vector registers and scalar registers by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Set {
    vector: [u64; 4],
    scalar: u128,
}

impl Set {
    /// All vector and scalar registers that have numbers.
    pub(super) const ALL: Set = Set { vector: [u64::MAX; 4], scalar: u128::MAX };

    /// The registers of a list that are vector or scalar ones with a number.
    pub(super) fn of<'r>(regs: impl IntoIterator<Item = &'r Reg>) -> Set {
        let mut out = Set::default();
        regs.into_iter().for_each(|reg| out.insert(*reg));
        out
    }

    /// Registers below those numbers.
    pub(super) fn below(used: Used) -> Set {
        let mut out = Set::default();
        (0..=255).filter(|n| u32::from(*n) < used.vector).for_each(|n| out.insert(Reg::V(n)));
        (0..128).filter(|n| u32::from(*n) < used.scalar).for_each(|n| out.insert(Reg::S(n)));
        out
    }

    /// The vector registers in it.
    pub(super) fn vectors(self) -> Set {
        Set { scalar: 0, ..self }
    }

    /// The scalar registers in it.
    pub(super) fn scalars(self) -> Set {
        Set { vector: [0; 4], ..self }
    }

    /// Registers that are not in it.
    pub(super) fn others(self) -> Set {
        Set::ALL.without(self)
    }

    pub(super) fn insert(&mut self, reg: Reg) {
        match reg {
            Reg::V(n) => self.vector[usize::from(n / 64)] |= 1 << (n % 64),
            Reg::S(n) if n < 128 => self.scalar |= 1 << n,
            _ => {}
        }
    }

    /// Whether vector register `n` is in it.
    pub(crate) fn has_vector(&self, n: u8) -> bool {
        self.vector[usize::from(n / 64)] >> (n % 64) & 1 != 0
    }

    /// One past the highest vector register.
    pub(super) fn vector_end(&self) -> u32 {
        (0..=255u8).rev().find(|n| self.has_vector(*n)).map_or(0, |n| u32::from(n) + 1)
    }

    /// Whether scalar register `n` is in it.
    pub(crate) fn has_scalar(&self, n: u8) -> bool {
        n < 128 && self.scalar >> n & 1 != 0
    }

    pub(super) fn or(self, other: Set) -> Set {
        let vector = std::array::from_fn(|i| self.vector[i] | other.vector[i]);
        Set { vector, scalar: self.scalar | other.scalar }
    }

    pub(super) fn and(self, other: Set) -> Set {
        let vector = std::array::from_fn(|i| self.vector[i] & other.vector[i]);
        Set { vector, scalar: self.scalar & other.scalar }
    }

    pub(super) fn without(self, other: Set) -> Set {
        let vector = std::array::from_fn(|i| self.vector[i] & !other.vector[i]);
        Set { vector, scalar: self.scalar & !other.scalar }
    }
}
