//! Scalar registers of a function that inserted code uses while it runs.
//!
//! Lanes of a vector register keep them meanwhile: first those that are live through the function for
//! inserted code, then the function's own. If no vector register is free for this, two that hold nothing
//! where the code stands do it ([`Passed`]): one for the function's registers, and one for the others, which
//! a slot keeps in between.
//!
//! # Invariants
//! Neither taking nor giving back changes SCC, and EXEC is the same behind both.
//!
//! # Limitations
//! Where a register that is not free would have to be saved before EXEC could be, code is refused.

use prlx_isa::amdgpu::inst::{Encoding, Value};

use super::assembler::{Assembler, EXEC, sgpr, sgprs, vgprs};
use super::spill::Store;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Borrowed {
    /// VGPR whose lanes keep registers.
    pub(super) kept: u8,
    /// The first one, and how many there are.
    pub(super) first: u8,
    pub(super) count: u8,
    /// Those that are live through the function, the ones that change last.
    pub(super) state: Vec<u8>,
    /// How many of `state` change.
    pub(super) changing: usize,
    /// If no register keeps `state` all the time: what does.
    pub(super) passed: Option<Passed>,
}

/// A slot for scalar registers that are live through a function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passed {
    /// VGPR that has them while inserted code runs.
    pub(super) holder: u8,
    pub(super) store: Store,
    pub(super) slot: u32,
}

impl Borrowed {
    /// Registers with lower numbers.
    pub(super) fn moved_down(&mut self, by: u8) {
        self.first -= by;
        self.state.iter_mut().for_each(|number| *number -= by);
    }

    /// Takes the registers. `mask` are some of them, for a mask of lanes.
    pub(super) fn borrow(&self, asm: &mut Assembler, mask: Value) {
        let own = self.state.len();
        for i in 0..self.count {
            write_lane(asm, self.kept, own + usize::from(i), sgpr(self.first + i));
        }
        let holder = match self.passed {
            None => self.kept,
            Some(Passed { holder, store, slot }) => {
                self.with_all_lanes(asm, mask, |asm| {
                    store.load(asm, holder, slot);
                    store.wait(asm);
                });
                holder
            }
        };
        for (lane, register) in self.state.iter().enumerate() {
            read_lane(asm, *register, holder, lane);
        }
    }

    /// Gives them back.
    pub(super) fn give_back(&self, asm: &mut Assembler, mask: Value) {
        let own = self.state.len();
        let holder = self.passed.map_or(self.kept, |passed| passed.holder);
        for (lane, register) in self.state.iter().enumerate().skip(own - self.changing) {
            write_lane(asm, holder, lane, sgpr(*register));
        }
        if let Some(Passed { holder, store, slot }) = self.passed {
            self.with_all_lanes(asm, mask, |asm| store.save(asm, slot, holder));
        }
        for i in 0..self.count {
            read_lane(asm, self.first + i, self.kept, own + usize::from(i));
        }
    }

    /// At a kernel's entry, where EXEC has all lanes: keeps what is live through it from now on.
    pub(super) fn keep(&self, asm: &mut Assembler) {
        let holder = self.passed.map_or(self.kept, |passed| passed.holder);
        for (lane, register) in self.state.iter().enumerate() {
            write_lane(asm, holder, lane, sgpr(*register));
        }
        if let Some(Passed { holder, store, slot }) = self.passed {
            // Lanes that the wave does not have keep some of them, too.
            self.with_all_lanes(asm, sgprs(self.first, asm.lanes / 32), |asm| store.save(asm, slot, holder));
            for (lane, register) in self.state.iter().enumerate() {
                read_lane(asm, *register, holder, lane);
            }
        }
    }

    /// Code that runs for all lanes, EXEC or not. `mask` is written: its registers are borrowed.
    fn with_all_lanes(&self, asm: &mut Assembler, mask: Value, code: impl FnOnce(&mut Assembler)) {
        let lane = self.state.len() + usize::from(self.count);
        let halves = [Value::Named("exec_lo", &[]), Value::Named("exec_hi", &[])];
        let count = usize::from(asm.lanes / 32);
        for (i, half) in halves.into_iter().take(count).enumerate() {
            write_lane(asm, self.kept, lane + i, half);
        }
        asm.mask1("s_mov", EXEC, Value::Integer(-1));
        code(asm);
        if let Value::Registers { first, .. } = mask {
            for i in 0..count {
                read_lane(asm, first + i as u8, self.kept, lane + i);
            }
        }
        asm.mask1("s_mov", EXEC, mask);
    }
}

fn write_lane(asm: &mut Assembler, kept: u8, lane: usize, register: Value) {
    let lane = Value::Integer(lane as i32);
    asm.emit(Encoding::Vop3, "v_writelane_b32", &[vgprs(kept, 1), register, lane]);
}

fn read_lane(asm: &mut Assembler, register: u8, kept: u8, lane: usize) {
    let lane = Value::Integer(lane as i32);
    asm.emit(Encoding::Vop3, "v_readlane_b32", &[sgprs(register, 1), vgprs(kept, 1), lane]);
}
