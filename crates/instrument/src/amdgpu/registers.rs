//! Registers for inserted code: numbers that no instruction of the functions names.
//!
//! # Invariants
//! - A register that is live through a function has a number that none of the functions that call each other
//!   uses, so calls pass nothing on.
//!
//! - Where too few scalar registers are free, inserted code borrows some ([`Borrowed`]): they are kept in
//!   lanes of a vector register while it runs, and what is live through the function is there in between.
//!
//! # Limitations
//! Vector registers are not spilled. Functions that leave too few of them are refused.

use prlx_isa::amdgpu::inst::{Encoding, Value};
use prlx_isa::amdgpu::{Family, Target};
use rustc_hash::FxHashMap;

use super::assembler::{Assembler, sgpr, sgprs, vgprs};
use super::misfit::{Bank, Misfit};

/// Registers that functions use: one past the highest number of each bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Used {
    pub(super) vector: u32,
    pub(super) scalar: u32,
}

impl Used {
    /// The higher numbers of both.
    pub(super) fn max(self, other: Used) -> Used {
        Used { vector: self.vector.max(other.vector), scalar: self.scalar.max(other.scalar) }
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

/// The fixed registers of inserted code.
#[derive(Clone, Debug)]
pub(super) struct Registers {
    /// Lanes that the wave began with, as a mask.
    pub(super) launched: Value,
    /// Lanes that are where the wave is: the others left it at a branch on EXEC.
    pub(super) present: Value,
    /// EXEC while a routine runs.
    pub(super) exec: Value,
    /// Masks that hold a value for a few instructions.
    pub(super) masks: [Value; 3],
    /// First SGPR of the address of the hidden parameter.
    pub(super) parameters: u8,
    /// SGPR with the number of the warp in the grid.
    pub(super) warp: u8,
    /// SGPR with SCC while a routine runs.
    pub(super) scc: u8,
    /// First SGPR of an address that is jumped to.
    pub(super) jump: u8,
    /// VGPR: where a lane that left the wave waits for it.
    pub(super) away: u8,
    /// VGPR: the label that a lane goes to in a routine.
    pub(super) label: u8,
    /// First of four VGPRs that hold a value for one instruction.
    pub(super) scratch: u8,
    /// Registers that are live through a function, by name.
    pub(super) state: FxHashMap<String, Place>,
    /// VGPRs of routines: the first one, and how many a routine needs at most is known only afterwards.
    pub(super) first_vector: u8,
    /// SGPRs of routines: masks from this one on.
    pub(super) first_mask: u8,
    /// One past the last SGPR that can be used.
    pub(super) sgprs: u8,
    /// What to keep of the scalar registers if the function uses them; `None` if they are free.
    pub(super) borrowed: Option<Borrowed>,
}

/// Scalar registers of the function that inserted code uses while it runs.
#[derive(Clone, Debug)]
pub(super) struct Borrowed {
    /// VGPR whose lanes keep registers: first those of `state`, then the function's own.
    kept: u8,
    /// The first one, and how many there are.
    first: u8,
    count: u8,
    /// Those that are live through the function, the ones that change last.
    state: Vec<u8>,
    /// How many of `state` change.
    changing: usize,
}

/// How many scalar registers inserted code needs at most.
pub(super) fn scalars(lanes: u8) -> u32 {
    let (masks, others) = (3 + 3 + 4, 6);
    masks * u32::from(lanes) / 32 + others
}

/// One past the last scalar register that a wave can name.
pub(super) fn scalar_end(target: Target) -> u32 {
    // s102 and up of gfx9 are FLAT_SCRATCH, XNACK_MASK and VCC.
    if target.family() == Family::Gfx9 { 102 } else { 106 }
}

impl Registers {
    /// Registers above those in use. `state` has the size in bytes of each register that is live through a
    /// function. `borrow`: the first of [`scalars`] scalar registers to borrow.
    ///
    /// # Errors
    /// Which bank has too few registers left.
    pub(super) fn above(
        used: Used,
        target: Target,
        lanes: u8,
        state: impl Iterator<Item = (String, u64)>,
        borrow: Option<u32>,
    ) -> Result<Registers, Misfit> {
        let words = if lanes == 64 { 2 } else { 1 };
        let end = borrow.map_or(scalar_end(target), |first| first + scalars(lanes));
        let mut scalar =
            Numbers { next: borrow.unwrap_or(used.scalar.next_multiple_of(2)), end, bank: Bank::Scalar };
        let mut mask = || scalar.take(words).map(|first| sgprs(first, words as u8));
        let (launched, present, exec) = (mask()?, mask()?, mask()?);
        let masks = [mask()?, mask()?, mask()?];
        scalar.next = scalar.next.next_multiple_of(2);
        let parameters = scalar.take(2)?;
        let jump = scalar.take(2)?;
        let (warp, scc) = (scalar.take(1)?, scalar.take(1)?);
        let mut vector = Numbers { next: used.vector.next_multiple_of(2), end: 256, bank: Bank::Vector };
        let scratch = vector.take(4)?;
        let (away, label) = (vector.take(1)?, vector.take(1)?);
        let mut places = FxHashMap::default();
        for (name, size) in state {
            let wide = size == 8;
            if wide {
                vector.next = vector.next.next_multiple_of(2);
            }
            places.insert(name, Place { first: vector.take(1 + u32::from(wide))?, wide });
        }
        let borrowed = match borrow {
            None => None,
            Some(first) => {
                let words = |value| match value {
                    Value::Registers { first, count, .. } => (first..first + count).collect::<Vec<u8>>(),
                    _ => Vec::new(),
                };
                let still = [words(launched), vec![parameters, parameters + 1]].concat();
                let moving = [words(present), vec![warp]].concat();
                Some(Borrowed {
                    kept: vector.take(1)?,
                    first: first as u8,
                    count: scalars(lanes) as u8,
                    changing: moving.len(),
                    state: [still, moving].concat(),
                })
            }
        };
        let end = scalar.end as u8;
        Ok(Registers {
            launched,
            present,
            exec,
            masks,
            parameters,
            warp,
            scc,
            jump,
            away,
            label,
            scratch,
            state: places,
            first_vector: vector.take(0)?,
            first_mask: scalar.take(0)?,
            sgprs: end,
            borrowed,
        })
    }

    /// Before inserted code: takes the scalar registers, and keeps SCC if the code `keeps_scc`.
    pub(super) fn enter(&self, asm: &mut Assembler, keeps_scc: bool) {
        self.borrow(asm);
        if keeps_scc {
            let (one, zero) = (Value::Integer(1), Value::Integer(0));
            asm.emit(Encoding::Sop2, "s_cselect_b32", &[sgpr(self.scc), one, zero]);
        }
    }

    /// Behind it: gives them back.
    pub(super) fn leave(&self, asm: &mut Assembler, keeps_scc: bool) {
        if keeps_scc {
            asm.emit(Encoding::Sopc, "s_cmp_lg_u32", &[sgpr(self.scc), Value::Integer(0)]);
        }
        self.give_back(asm);
    }

    fn borrow(&self, asm: &mut Assembler) {
        let Some(Borrowed { kept, first, count, state, .. }) = &self.borrowed else { return };
        for i in 0..*count {
            write_lane(asm, *kept, state.len() + usize::from(i), first + i);
        }
        for (lane, register) in state.iter().enumerate() {
            read_lane(asm, *register, *kept, lane);
        }
        // An address must not be used within five wait states after a vector instruction wrote it (gfx9).
        asm.emit(Encoding::Sopp, "s_nop", &[Value::Immediate(4)]);
    }

    fn give_back(&self, asm: &mut Assembler) {
        let Some(Borrowed { kept, first, count, state, changing }) = &self.borrowed else { return };
        for (lane, register) in state.iter().enumerate().skip(state.len() - changing) {
            write_lane(asm, *kept, lane, *register);
        }
        for i in 0..*count {
            read_lane(asm, first + i, *kept, state.len() + usize::from(i));
        }
        asm.emit(Encoding::Sopp, "s_nop", &[Value::Immediate(4)]);
    }

    /// At a kernel's entry: keeps what is live through it from now on.
    pub(super) fn keep(&self, asm: &mut Assembler) {
        let Some(Borrowed { kept, state, .. }) = &self.borrowed else { return };
        for (lane, register) in state.iter().enumerate() {
            write_lane(asm, *kept, lane, *register);
        }
    }
}

fn write_lane(asm: &mut Assembler, kept: u8, lane: usize, register: u8) {
    let lane = Value::Integer(lane as i32);
    asm.emit(Encoding::Vop3, "v_writelane_b32", &[vgprs(kept, 1), sgprs(register, 1), lane]);
}

fn read_lane(asm: &mut Assembler, register: u8, kept: u8, lane: usize) {
    let lane = Value::Integer(lane as i32);
    asm.emit(Encoding::Vop3, "v_readlane_b32", &[sgprs(register, 1), vgprs(kept, 1), lane]);
}

/// Numbers of a bank that are given out in order.
struct Numbers {
    next: u32,
    end: u32,
    bank: Bank,
}

impl Numbers {
    fn take(&mut self, count: u32) -> Result<u8, Misfit> {
        let first = self.next;
        self.next += count;
        if self.next > self.end {
            return Err(Misfit::Registers(self.bank));
        }
        Ok(first.min(255) as u8)
    }
}
