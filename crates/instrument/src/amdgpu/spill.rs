//! Vector registers for inserted code in functions that leave too few of them free.
//!
//! What is live through a function then lives in *slots* between pieces of inserted code: words of each lane,
//! in accumulation registers on gfx9, else in scratch memory behind the kernel's own. A piece of inserted
//! code takes registers that hold nothing where it stands ([`super::liveness`]), and after these ones whose
//! values it saves in further slots. It loads from slots what it reads, and stores what it has written.
//!
//! # Invariants
//! - A register that a routine takes holds nothing in any lane, or is saved and restored in all lanes that
//!   the routine can write. No register is taken that a load may still write, or that the routine reads.
//! - Registers are saved, loaded and restored for exactly the lanes that the piece of code runs for.
//! - Slots of scratch memory lie behind those of the kernel with the most scratch memory, so that all copies
//!   of a group have them at the same offset.
//!
//! # Limitations
//! A kernel whose stack has no known size is refused, and gfx10 needs two user SGPRs more.

use prlx_isa::amdgpu::Target::{self, Gfx1030};
use prlx_isa::amdgpu::inst::{Bank, Encoding, Field, Value};
use prlx_isa::amdgpu::{Family, inst::Reg};
use rustc_hash::FxHashMap;

use super::assembler::{Assembler, vgpr};
use super::liveness::Place as CodePlace;
use super::misfit::{self, Misfit};
use super::numbers::{Place, Set};
use crate::ptx::KEPT_SPECIALS;
use crate::routines::{Line, instructions, mentions, own};

/// Where slots are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Store {
    /// In accumulation registers from this one on.
    Accumulation(u32),
    /// In scratch memory, from this offset on in bytes.
    Scratch(u32),
}

impl Store {
    /// Whether slots are in scratch memory.
    pub(super) fn is_scratch(target: Target) -> bool {
        target.family() != Family::Gfx9
    }

    /// Slots of a target, behind what the functions use: accumulation registers, and bytes of scratch memory.
    pub(super) fn behind(target: Target, accumulators: u32, scratch: u32) -> Store {
        match Store::is_scratch(target) {
            true => Store::Scratch(scratch.next_multiple_of(4)),
            false => Store::Accumulation(accumulators),
        }
    }

    /// The most slots that can be named.
    fn most(self, target: Target) -> u32 {
        match self {
            Store::Accumulation(first) => 256 - first.min(256),
            // Offsets are signed: 12 bits on gfx10, 13 on gfx11.
            Store::Scratch(first) => {
                let end: u32 = if target.family() == Family::Gfx10 { 2048 } else { 4096 };
                end.saturating_sub(first) / 4
            }
        }
    }

    /// Stores a register in a slot, in the lanes of EXEC.
    pub(super) fn save(self, asm: &mut Assembler, slot: u32, register: u8) {
        match self {
            Store::Accumulation(first) => {
                let operands = [accumulator(first + slot), vgpr(register)];
                asm.emit(Encoding::Vop3p, "v_accvgpr_write_b32", &operands);
            }
            Store::Scratch(first) => {
                let fields = fields(asm.target, first + 4 * slot);
                asm.emit_with(Encoding::Scratch, "scratch_store_dword", &[vgpr(0), vgpr(register)], &fields);
            }
        }
    }

    /// Loads a register from a slot, in the lanes of EXEC. It arrives behind [`Store::wait`].
    pub(super) fn load(self, asm: &mut Assembler, register: u8, slot: u32) {
        match self {
            Store::Accumulation(first) => {
                let operands = [vgpr(register), accumulator(first + slot)];
                asm.emit(Encoding::Vop3p, "v_accvgpr_read_b32", &operands);
            }
            Store::Scratch(first) => {
                let fields = fields(asm.target, first + 4 * slot);
                asm.emit_with(Encoding::Scratch, "scratch_load_dword", &[vgpr(register), vgpr(0)], &fields);
            }
        }
    }

    /// Waits for what was loaded.
    pub(super) fn wait(self, asm: &mut Assembler) {
        if let Store::Scratch(_) = self {
            asm.wait_for_loads();
        }
    }
}

fn accumulator(number: u32) -> Value {
    // [`Store::most`] limits the number.
    Value::Registers { bank: Bank::Accumulation, first: number.min(255) as u8, count: 1 }
}

/// No address but an offset.
fn fields(target: Target, offset: u32) -> [(Field, u32); 2] {
    // On gfx10, no scalar address is one thing and no address another.
    let none = if target == Gfx1030 { 127 } else { target.no_scalar_address() };
    [(Field::Saddr, none), (Field::Offset, offset)]
}

/// A word or two that are live through a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Home {
    /// In registers that no function uses.
    Register(Place),
    /// In slots from this one on; whether there are two.
    Slot(u32, bool),
}

/// How a group of functions spills.
#[derive(Clone, Debug)]
pub(super) struct Spill {
    pub(super) store: Store,
    /// Where each lane notes where it waits for its wave.
    pub(super) away: Home,
    /// What is live through a function, by name.
    pub(super) state: FxHashMap<String, Home>,
    /// Slots of these.
    pub(super) slots: u32,
    most: u32,
    /// Registers that are never taken: homes, and the one that keeps scalar registers.
    pub(super) fixed: Set,
    /// Whether matrix products may still read or write registers.
    matrix: bool,
}

impl Spill {
    /// Gives what is live through functions a home. `free` are registers that no function names, and `kept`
    /// is one of them that has another use. `state` has the size of each in bytes.
    pub(super) fn new(
        target: Target,
        store: Store,
        free: Set,
        kept: Option<u8>,
        matrix: bool,
        state: impl Iterator<Item = (String, u64)>,
    ) -> Spill {
        let mut free = free;
        let mut fixed = Set::default();
        if let Some(kept) = kept {
            fixed.insert(Reg::V(kept));
        }
        free = free.without(fixed);
        let mut slots = 0;
        let mut home = |wide: bool| {
            let count = 1 + u8::from(wide);
            let is_free = |first: &u8| (0..count).all(|i| free.has_vector(first + i));
            match (0..=255 - u8::from(wide)).step_by(count.into()).find(is_free) {
                Some(first) => {
                    (first..=first + u8::from(wide)).for_each(|n| fixed.insert(Reg::V(n)));
                    free = free.without(fixed);
                    Home::Register(Place { first, wide })
                }
                None => {
                    slots += u32::from(count);
                    Home::Slot(slots - u32::from(count), wide)
                }
            }
        };
        let away = home(false);
        let state = state.map(|(name, size)| (name, home(size == 8))).collect();
        let matrix = matrix && target.family() == Family::Gfx9;
        Spill { store, away, state, slots, most: store.most(target), fixed, matrix }
    }

    /// A further slot for a word.
    pub(super) fn one_more(&mut self) -> u32 {
        self.slots += 1;
        self.slots - 1
    }

    /// Registers for a piece of inserted code at a place. It must not take `never`.
    pub(super) fn taker(&self, place: &CodePlace, never: Set) -> Taker {
        Taker {
            never: self.fixed.or(place.late).or(never),
            busy: place.busy,
            taken: Set::default(),
            others: self.fixed.vector_end(),
        }
    }

    /// The same with only the counters of one function, without its number in their names.
    pub(super) fn with_state(&self, state: impl Iterator<Item = (String, Home)>) -> Spill {
        Spill { state: state.collect(), ..self.clone() }
    }

    /// The registers of a routine at a place.
    ///
    /// # Errors
    /// If there are too few.
    pub(super) fn at(&self, mut taker: Taker, lines: &[Line<'_>]) -> Result<Taken, Misfit> {
        let scratch = taker.take(4)?;
        let label = taker.take(1)?;
        let mut swap = Swap::new(self);
        let mut state = FxHashMap::default();
        let insts = instructions(lines);
        for (name, written) in insts.flat_map(mentions) {
            let kept = || KEPT_SPECIALS.iter().find(|(special, _)| *special == name).map(|(_, kept)| *kept);
            let found = own(name).or_else(kept).and_then(|own| self.state.get_key_value(own));
            let Some((name, home)) = found else {
                continue;
            };
            let place = match (*home, state.get(name)) {
                (_, Some(place)) => *place,
                (Home::Register(place), None) => place,
                (Home::Slot(slot, wide), None) => {
                    let place = Place { first: taker.take(1 + u32::from(wide))?, wide };
                    swap.loads.extend((0..=u8::from(wide)).map(|i| (place.first + i, slot + u32::from(i))));
                    place
                }
            };
            state.insert(name.clone(), place);
            if let (Home::Slot(slot, wide), true) = (*home, written) {
                let words = (0..=u8::from(wide)).map(|i| (place.first + i, slot + u32::from(i)));
                swap.stores.extend(words);
            }
        }
        swap.stores.sort_unstable();
        swap.stores.dedup();
        Ok(Taken { scratch, label, state, swap, taker })
    }
}

/// Registers of a routine at a place, and what is still there to take.
pub(super) struct Taken {
    /// First of four registers that hold a value for one instruction.
    pub(super) scratch: u8,
    pub(super) label: u8,
    pub(super) state: FxHashMap<String, Place>,
    pub(super) swap: Swap,
    pub(super) taker: Taker,
}

/// Registers that a piece of inserted code may take.
#[derive(Clone, Debug)]
pub(super) struct Taker {
    /// Those that it may not.
    never: Set,
    /// Those that hold something.
    busy: Set,
    /// Those that it has taken so far.
    taken: Set,
    /// One past the highest register that other inserted code uses.
    others: u32,
}

impl Taker {
    /// All registers from this number on, which hold nothing.
    pub(super) fn above(first: u32) -> Taker {
        let mut never = Set::default();
        (0..=255).filter(|n| u32::from(*n) < first).for_each(|n| never.insert(Reg::V(n)));
        Taker { never, busy: Set::default(), taken: Set::default(), others: first }
    }

    /// Takes so many registers in a row, the first one even if there are more than one: where the fewest must
    /// be saved.
    ///
    /// # Errors
    /// If there are none.
    pub(super) fn take(&mut self, count: u32) -> Result<u8, Misfit> {
        let place = self.find(count, |_| true).ok_or(Misfit::Registers(misfit::Bank::Vector))?;
        (0..=255).skip(place.into()).take(count as usize).for_each(|n| self.taken.insert(Reg::V(n)));
        // They are no longer for others.
        self.never = self.never.or(self.taken);
        Ok(place)
    }

    /// The first registers in a row for which `free` holds and of which the fewest must be saved.
    pub(super) fn find(&self, count: u32, free: impl Fn(u8) -> bool) -> Option<u8> {
        let step = if count == 1 { 1 } else { 2 };
        let mut best: Option<(usize, u8)> = None;
        for first in (0..=256 - count).step_by(step) {
            let all = || (first..first + count).map(|n| n as u8);
            if !all().all(|n| !self.never.has_vector(n) && free(n)) {
                continue;
            }
            let saved = all().filter(|n| self.busy.has_vector(*n) && !self.taken.has_vector(*n)).count();
            if saved == 0 {
                return Some(first as u8);
            }
            if best.is_none_or(|(fewest, _)| saved < fewest) {
                best = Some((saved, first as u8));
            }
        }
        best.map(|(_, first)| first)
    }

    /// Notes that a register is used, perhaps again.
    pub(super) fn uses(&mut self, register: u8) {
        self.taken.insert(Reg::V(register));
    }

    /// Registers that hold something of the function's and are used.
    pub(super) fn to_save(&self) -> impl Iterator<Item = u8> + '_ {
        (0..=255).filter(|n| self.taken.has_vector(*n) && self.busy.has_vector(*n))
    }

    /// One past the highest register that inserted code uses.
    pub(super) fn end(&self) -> u32 {
        self.others.max(self.taken.vector_end())
    }
}

/// What moves between registers and slots around a piece of inserted code.
#[derive(Clone, Debug)]
pub(super) struct Swap {
    store: Store,
    /// The first slot for registers of the function.
    first: u32,
    most: u32,
    matrix: bool,
    /// Registers of the function, in slots from the first one on.
    saved: Vec<u8>,
    /// Registers with the slots that they are loaded from.
    pub(super) loads: Vec<(u8, u32)>,
    /// Registers with the slots that they are stored in.
    pub(super) stores: Vec<(u8, u32)>,
}

impl Swap {
    /// Moves nothing yet.
    pub(super) fn new(spill: &Spill) -> Swap {
        Swap {
            store: spill.store,
            first: spill.slots,
            most: spill.most,
            matrix: spill.matrix,
            saved: Vec::new(),
            loads: Vec::new(),
            stores: Vec::new(),
        }
    }

    /// Saves the registers of the function that were taken. Returns one past the last slot.
    ///
    /// # Errors
    /// If there are too few slots.
    pub(super) fn saves(&mut self, taker: &Taker) -> Result<u32, Misfit> {
        self.saved = taker.to_save().collect();
        let end = self.first + self.saved.len() as u32;
        if end > self.most {
            return Err(Misfit::Registers(misfit::Bank::Vector));
        }
        Ok(end)
    }

    /// Before the inserted code, where EXEC has all lanes that it runs for.
    pub(super) fn begin(&self, asm: &mut Assembler) {
        if self.matrix {
            // A matrix product of 16 passes: results are there after 18 wait states, and its third source may
            // be overwritten before that (LLVM, `GCNHazardRecognizer`, `checkMAIVALUHazards`).
            for more in [15, 3] {
                asm.emit(Encoding::Sopp, "s_nop", &[Value::Immediate(more)]);
            }
        }
        for (register, slot) in self.saved.iter().zip(self.first..) {
            self.store.save(asm, slot, *register);
        }
        for (register, slot) in &self.loads {
            self.store.load(asm, *register, *slot);
        }
        if !self.loads.is_empty() {
            self.store.wait(asm);
        }
    }

    /// Behind it, with the same EXEC.
    pub(super) fn end(&self, asm: &mut Assembler) {
        for (register, slot) in &self.stores {
            self.store.save(asm, *slot, *register);
        }
        for (register, slot) in self.saved.iter().zip(self.first..) {
            self.store.load(asm, *register, slot);
        }
        if !self.saved.is_empty() {
            self.store.wait(asm);
        }
        if self.matrix {
            // A matrix product must not read a register within two wait states after it was written.
            asm.emit(Encoding::Sopp, "s_nop", &[Value::Immediate(1)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Taker;
    use crate::amdgpu::numbers::Set;
    use prlx_isa::amdgpu::inst::Reg;

    /// All registers hold something but these.
    fn taker(dead: &[u8]) -> Taker {
        let dead = Set::of(&dead.iter().map(|n| Reg::V(*n)).collect::<Vec<Reg>>());
        Taker { busy: dead.others(), ..Taker::above(0) }
    }

    #[test]
    fn registers_that_hold_nothing_come_first() {
        let mut one = taker(&[7, 255]);
        assert_eq!([one.take(1).unwrap(), one.take(1).unwrap()], [7, 255]);
        assert_eq!(one.to_save().count(), 0);
        // A register of the function's, which is saved.
        assert_eq!(one.take(1).unwrap(), 0);
        assert_eq!(one.to_save().collect::<Vec<u8>>(), [0]);
        assert_eq!(one.end(), 256);
    }

    #[test]
    fn several_registers_begin_at_an_even_number_where_the_fewest_are_saved() {
        let mut pairs = taker(&[3, 4, 8, 9, 254]);
        assert_eq!([pairs.take(2).unwrap(), pairs.take(2).unwrap()], [8, 2]);
        assert_eq!(pairs.to_save().collect::<Vec<u8>>(), [2]);
        assert_eq!([pairs.take(2).unwrap(), pairs.take(2).unwrap()], [4, 254]);
        assert_eq!(pairs.to_save().collect::<Vec<u8>>(), [2, 5, 255]);
    }

    #[test]
    fn what_must_not_be_taken_is_not() {
        let mut last = Taker { busy: Set::ALL, ..Taker::above(255) };
        assert!(last.clone().take(2).is_err());
        assert_eq!(last.take(1).unwrap(), 255);
        assert_eq!(last.to_save().collect::<Vec<u8>>(), [255]);
        assert!(last.take(1).is_err());
    }
}
