//! Registers for inserted code: numbers that no instruction of the functions names, if there are enough.
//!
//! # Invariants
//! - A register that is live through a function has a number that none of the functions that call each other
//!   uses, so calls pass nothing on.
//!
//! - Where too few scalar registers are free, inserted code borrows some ([`Borrowed`]): they are kept in
//!   lanes of a vector register while it runs, and what is live through the function is there in between.
//!   Which ones it borrows may differ from place to place: a routine must not read them.
//!
//! - Where too few vector registers are free, each place has others ([`Spill`]).

use std::rc::Rc;

use prlx_isa::amdgpu::inst::{Encoding, Reg, Value};
use prlx_isa::amdgpu::{Family, Target};
use rustc_hash::FxHashMap;

use super::assembler::{Assembler, sgpr, sgprs};
use super::borrowed::{Borrowed, Passed};
use super::liveness::Place as CodePlace;
use super::misfit::{Bank, Misfit};
use super::numbers::{Place, Set, Used};
use super::spill::{Home, Spill, Store, Swap, Taker};
use crate::routines::Line;

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
    /// SGPR with the number of events of the wave so far, at level `events`.
    pub(super) events: Option<u8>,
    /// Whether floating-point operations of the kernels are those that probe programs mean.
    pub(super) exact_floats: bool,
    /// SGPR with SCC while a routine runs.
    pub(super) scc: u8,
    /// First SGPR of an address that is jumped to.
    pub(super) jump: u8,
    /// VGPR: where a lane that left the wave waits for it.
    pub(super) away: Home,
    /// VGPR: the label that a lane goes to in a routine.
    pub(super) label: u8,
    /// First of four VGPRs that hold a value for one instruction.
    pub(super) scratch: u8,
    /// Registers that are live through a function, by name.
    pub(super) state: FxHashMap<String, Place>,
    /// VGPRs of routines.
    pub(super) taker: Taker,
    /// What a routine saves and loads before it runs, and the other way round behind it.
    pub(super) swap: Option<Swap>,
    /// If vector registers are spilled: how. Then each place has its own `label`, `scratch`, `state`, `taker`
    /// and `swap` ([`Registers::at`]).
    pub(super) spill: Option<Rc<Spill>>,
    /// SGPRs of routines: masks from this one on.
    pub(super) first_mask: u8,
    /// One past the last SGPR that can be used.
    pub(super) sgprs: u8,
    /// What to keep of the scalar registers if the function uses them; `None` if they are free.
    pub(super) borrowed: Option<Borrowed>,
    /// Whether a load may still write a scalar register that is borrowed.
    pub(super) waits: bool,
}

/// How many scalar registers inserted code needs at most. `counts`: it counts events.
pub(super) fn scalars(lanes: u8, counts: bool) -> u32 {
    let (masks, others) = (3 + 3 + 4, if counts { 8 } else { 6 });
    masks * u32::from(lanes) / 32 + others
}

/// One past the last scalar register that a wave can name.
pub(super) fn scalar_end(target: Target) -> u32 {
    // s102 and up of gfx9 are FLAT_SCRATCH, XNACK_MASK and VCC.
    if target.family() == Family::Gfx9 { 102 } else { 106 }
}

/// What vector registers inserted code has.
pub(super) enum Vectors {
    /// Those that no function names.
    Free,
    /// Those that no function names, and others where these hold nothing or are saved.
    Spilled {
        /// Those that no function names.
        free: Set,
        /// Where slots are.
        store: Store,
        /// Whether functions have matrix products.
        matrix: bool,
    },
}

impl Registers {
    /// Registers above those in use. `state` has the size in bytes of each register that is live through a
    /// function. `borrow`: the first of [`scalars`] scalar registers to borrow. `counts`: whether
    /// inserted code counts events.
    ///
    /// # Errors
    /// Which bank has too few registers left.
    pub(super) fn above(
        used: Used,
        target: Target,
        lanes: u8,
        state: impl Iterator<Item = (String, u64)>,
        borrow: Option<u32>,
        counts: bool,
        vectors: &Vectors,
    ) -> Result<Registers, Misfit> {
        let words = if lanes == 64 { 2 } else { 1 };
        let end = borrow.map_or(scalar_end(target), |first| first + scalars(lanes, counts));
        let mut scalar =
            Numbers { next: borrow.unwrap_or(used.scalar.next_multiple_of(2)), end, bank: Bank::Scalar };
        let mut mask = || scalar.take(words).map(|first| sgprs(first, words as u8));
        let (launched, present, exec) = (mask()?, mask()?, mask()?);
        let masks = [mask()?, mask()?, mask()?];
        scalar.next = scalar.next.next_multiple_of(2);
        let parameters = scalar.take(2)?;
        let jump = scalar.take(2)?;
        let (warp, scc) = (scalar.take(1)?, scalar.take(1)?);
        let events = if counts { Some(scalar.take(1)?) } else { None };
        let first_mask = scalar.take(0)?;
        let borrowed = |kept, passed| {
            let words = |value| match value {
                Value::Registers { first, count, .. } => (first..first + count).collect::<Vec<u8>>(),
                _ => Vec::new(),
            };
            let still = [words(launched), vec![parameters, parameters + 1]].concat();
            let moving = [words(present), vec![warp], events.into_iter().collect()].concat();
            borrow.map(|first| Borrowed {
                kept,
                first: first as u8,
                count: scalars(lanes, counts) as u8,
                changing: moving.len(),
                state: [still, moving].concat(),
                passed,
            })
        };
        let mut out = Registers {
            launched,
            present,
            exec,
            masks,
            parameters,
            warp,
            events,
            exact_floats: false,
            scc,
            jump,
            away: Home::Slot(0, false),
            label: 0,
            scratch: 0,
            state: FxHashMap::default(),
            taker: Taker::above(0),
            swap: None,
            spill: None,
            first_mask,
            sgprs: scalar.end as u8,
            borrowed: None,
            waits: false,
        };
        match vectors {
            Vectors::Free => {
                let mut vector =
                    Numbers { next: used.vector.next_multiple_of(2), end: 256, bank: Bank::Vector };
                out.scratch = vector.take(4)?;
                let mut one = || vector.take(1);
                out.away = Home::Register(Place { first: one()?, wide: false });
                out.label = one()?;
                for (name, size) in state {
                    let wide = size == 8;
                    if wide {
                        vector.next = vector.next.next_multiple_of(2);
                    }
                    out.state.insert(name, Place { first: vector.take(1 + u32::from(wide))?, wide });
                }
                if borrow.is_some() {
                    out.borrowed = borrowed(vector.take(1)?, None);
                }
                out.taker = Taker::above(vector.next);
            }
            Vectors::Spilled { free, store, matrix } => {
                let kept = (0..=255).find(|n| borrow.is_some() && free.has_vector(*n));
                let mut spill = Spill::new(target, *store, *free, kept, *matrix, state);
                out.away = spill.away;
                let mut passed = None;
                if borrow.is_some() && kept.is_none() {
                    passed = Some(Passed { holder: 0, store: *store, slot: spill.one_more() });
                }
                out.borrowed = borrowed(kept.unwrap_or(0), passed);
                out.spill = Some(Rc::new(spill));
            }
        }
        Ok(out)
    }

    /// The registers of a routine at a place, if they differ from these. It reads `read` of the function's.
    ///
    /// # Errors
    /// If there are too few.
    pub(super) fn at(
        &self,
        place: &CodePlace,
        lines: &[Line<'_>],
        read: Set,
    ) -> Result<Option<Registers>, Misfit> {
        let moved = self.elsewhere(read)?;
        if moved.is_none() && self.spill.is_none() && !self.borrows_late(place) {
            return Ok(None);
        }
        let mut out = moved.unwrap_or_else(|| self.clone());
        out.waits = out.borrows_late(place);
        if let Some(spill) = &self.spill {
            let never = out.hold(place, read)?;
            let taken = spill.at(spill.taker(place, never), lines)?;
            out.scratch = taken.scratch;
            out.label = taken.label;
            out.state = taken.state;
            out.swap = Some(taken.swap);
            out.taker = taken.taker;
        }
        Ok(Some(out))
    }

    /// Whether a load may still write a scalar register that is borrowed.
    pub(super) fn borrows_late(&self, place: &CodePlace) -> bool {
        let late = |borrowed: &Borrowed| {
            (borrowed.first..borrowed.first + borrowed.count).any(|n| place.late.has_scalar(n))
        };
        self.borrowed.as_ref().is_some_and(late)
    }

    /// These with other borrowed registers, if a routine reads some of them.
    fn elsewhere(&self, read: Set) -> Result<Option<Registers>, Misfit> {
        let Some(borrowed) = &self.borrowed else { return Ok(None) };
        let is_free = |first: &u8| !(*first..first + borrowed.count).any(|n| read.has_scalar(n));
        if is_free(&borrowed.first) {
            return Ok(None);
        }
        let all = (0..=borrowed.first).step_by(2);
        let first = all.rev().find(is_free).ok_or(Misfit::Registers(Bank::Scalar))?;
        Ok(Some(self.moved_down(borrowed.first - first)))
    }

    /// These with scalar registers of lower numbers.
    fn moved_down(&self, by: u8) -> Registers {
        let down = |value| match value {
            Value::Registers { bank, first, count } => Value::Registers { bank, first: first - by, count },
            other => other,
        };
        let mut out = self.clone();
        for mask in [&mut out.launched, &mut out.present, &mut out.exec].into_iter().chain(&mut out.masks) {
            *mask = down(*mask);
        }
        let numbers = [
            &mut out.parameters,
            &mut out.warp,
            &mut out.scc,
            &mut out.jump,
            &mut out.first_mask,
            &mut out.sgprs,
        ];
        numbers.into_iter().chain(&mut out.events).for_each(|number| *number -= by);
        out.borrowed.iter_mut().for_each(|borrowed| borrowed.moved_down(by));
        out
    }

    /// Chooses registers that hold nothing at a place to keep borrowed scalar registers, if none is free
    /// everywhere. `never`: registers that they must not be. Returns those, and the chosen ones.
    ///
    /// # Errors
    /// If too few hold nothing.
    pub(super) fn hold(&mut self, place: &CodePlace, never: Set) -> Result<Set, Misfit> {
        let Some(Borrowed { kept, passed: Some(passed), .. }) = &mut self.borrowed else { return Ok(never) };
        let mut out = never;
        let taken = never.or(place.busy).or(place.late);
        let mut all = (0..=255).filter(|n| !taken.has_vector(*n));
        for register in [kept, &mut passed.holder] {
            *register = all.next().ok_or(Misfit::Registers(Bank::Vector))?;
            out.insert(Reg::V(*register));
        }
        Ok(out)
    }

    /// Before inserted code: takes the scalar registers, and keeps SCC if the code `keeps_scc`.
    pub(super) fn enter(&self, asm: &mut Assembler, keeps_scc: bool) {
        if let Some(borrowed) = &self.borrowed {
            if self.waits {
                asm.wait_for_all();
            }
            borrowed.borrow(asm, self.masks[0]);
        }
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
        if let Some(borrowed) = &self.borrowed {
            borrowed.give_back(asm, self.masks[0]);
        }
    }

    /// At a kernel's entry: keeps what is live through it from now on.
    pub(super) fn keep(&self, asm: &mut Assembler) {
        self.borrowed.iter().for_each(|borrowed| borrowed.keep(asm));
    }
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
