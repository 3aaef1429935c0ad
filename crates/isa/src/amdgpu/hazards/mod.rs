//! Hazards: instructions that follow each other too closely, as hardware does not wait by itself.
//!
//! The tables have the wait states that gfx9 needs between two instructions. gfx11 and gfx12 have hazards of
//! other forms, which [`State`] follows: they end at a wait for internal counters (`s_waitcnt_depctr`, on
//! gfx12 `s_wait_alu`). gfx1030 has none that code can run into here.
//!
//! A [`State`] is what instructions before a place leave behind. It grows along code ([`State::step`]), and
//! two of them are joined where ways meet ([`State::join`]). [`State::need`] is what an instruction must wait
//! for. [`Executed`] follows the instructions that a wave executes, and says which came too early.
//!
//! Sources: LLVM 22, `GCNHazardRecognizer.cpp` (the functions are named at the rules) and
//! `AMDGPUWaitSGPRHazards.cpp`; AMD, "CDNA3 Instruction Set Architecture", section 4.5 (Manually Inserted
//! Wait States); "RDNA3 Instruction Set Architecture", section 16.5 (`S_WAITCNT_DEPCTR`).
//!
//! # Invariants
//! - More wait states never make a hazard.
//! - The hazards of executed instructions are those that LLVM 22 knows: if a register is written twice, only
//!   the later matrix product counts.
//!
//! # Limitations
//! - Instructions whose registers are not known cause no hazard, and have none.
//! - These hazards are left out: LDS direct loads, `s_rfe_b64`, image instructions, and soft clauses with
//!   XNACK.
//! - Along executed instructions of gfx11 and gfx12, scalar instructions that read VCC are left out: LLVM
//!   does not always wait there.
//! - For inserted code, hazards of `v_cmpx` with `v_permlane` and between two products of gfx11 and gfx12 are
//!   left out: recorders insert none of these instructions.

mod executed;
mod product;
mod products;
mod rules;
mod traits;

use super::Family::{Gfx11, Gfx12};
use super::Target::{self, Gfx90a};
use super::inst::{Inst, Reg};

pub use self::executed::{Early, Executed};
use self::product::Product;
pub use self::traits::Traits;
use self::traits::{
    BUFFER, CLAUSE, EXPORT, Hit, LDS, LEAVES, MATRIX, MEMORY, SA_SDST, SALU, SCALAR_MEMORY, TRANS, VA_SDST,
    VA_VCC, VA_VDST, VALU, VCC, scalars,
};

/// Vector instructions after which every hazard of gfx11 has ended that counts them.
const MOST_VALUS: u8 = 8;
/// An instruction that was executed not long ago.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Past {
    /// Its number in the code.
    at: u32,
    /// Wait states since, behind it.
    states: u8,
    /// Vector instructions since.
    valus: u8,
    /// Transcendental operations since.
    transcendental: u8,
    /// Whether a matrix product of binary64 was executed since.
    doubles: bool,
}

/// Scalar registers with and without the part that inserted code has in them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Scalars {
    all: u128,
    /// Those of `all` whose hazard inserted code takes part in.
    inserted: u128,
}

impl Scalars {
    fn without(self, set: u128) -> Scalars {
        Scalars { all: self.all & !set, inserted: self.inserted & !set }
    }
    fn with(self, set: u128, inserted: u128) -> Scalars {
        Scalars { all: self.all | set, inserted: self.inserted & !set | inserted & set }
    }
    fn or(self, other: Scalars) -> Scalars {
        Scalars { all: self.all | other.all, inserted: self.inserted | other.inserted }
    }
}

/// What instructions before a place leave behind.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct State {
    recent: Vec<Past>,
    /// SGPRs that vector instructions read (gfx11: as masks), so that a write of them needs a wait before the
    /// next read.
    read: Scalars,
    /// Such writes by scalar instructions, and by vector instructions.
    by_scalar: Scalars,
    by_vector: Scalars,
}

/// What an instruction must wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Need {
    /// How many instructions must lie between, as `s_nop` counts them.
    pub states: u8,
    /// Bits of `s_waitcnt_depctr` that must be 0.
    pub depctr: u16,
    /// What goes wrong without the wait, for messages.
    pub what: &'static str,
    /// The instruction before it, if that is known, and how many wait states there are already.
    since: Option<(u32, u8)>,
}

impl Need {
    /// Whether there is nothing to wait for.
    pub fn is_none(self) -> bool {
        self.states == 0 && self.depctr == 0
    }

    /// So many wait states behind another instruction.
    fn states(&mut self, states: u8, past: Past, what: &'static str) {
        let left = states.saturating_sub(past.states);
        if left > self.states {
            *self = Need { states: left, what, since: Some((past.at, past.states)), ..*self };
        }
    }

    fn counters(&mut self, depctr: u16, since: Option<Past>, what: &'static str) {
        if depctr & !self.depctr != 0 {
            self.what = what;
            self.since = since.map(|past| (past.at, 0));
        }
        self.depctr |= depctr;
    }
}

/// Instructions of a piece of code with the size of its waves.
pub struct Code {
    target: Target,
    lanes: u8,
    traits: Vec<Traits>,
    /// Of each, wait states after which it has no hazard with any other.
    longest: Vec<u8>,
    inserted: Vec<bool>,
    /// The instructions are followed as they are executed, so that other functions are known.
    executed: bool,
}

impl Code {
    /// Instructions in their order, each with whether it was inserted. All hazards are found if `inserted` is
    /// true of each, else those that an inserted one takes part in.
    pub fn of<'i>(target: Target, lanes: u8, insts: impl Iterator<Item = (&'i Inst, bool)>) -> Code {
        let (traits, inserted): (Vec<Traits>, _) =
            insts.map(|(inst, inserted)| (Traits::of(inst), inserted)).unzip();
        let longest = traits.iter().map(|traits| rules::longest(target, traits)).collect();
        Code { target, lanes, traits, longest, inserted, executed: false }
    }

    /// Instructions for [`Executed`].
    pub fn executed<'i>(target: Target, lanes: u8, insts: impl Iterator<Item = &'i Inst>) -> Code {
        Code { executed: true, ..Code::of(target, lanes, insts.map(|inst| (inst, true))) }
    }

    /// Whether code of a target can have hazards that this module knows.
    pub fn has_hazards(target: Target) -> bool {
        target.family() != super::Family::Gfx10
    }

    /// Whether writes of SGPRs that vector instructions read need a wait.
    fn tracks_scalars(&self) -> bool {
        self.target.family() == Gfx12 || self.target.family() == Gfx11 && self.lanes == 64
    }
}

impl State {
    /// Where a device function begins: on gfx12, its caller may have read every SGPR.
    pub fn of_function(target: Target) -> State {
        let all = if target.family() == Gfx12 { u128::MAX } else { 0 };
        State { read: Scalars { all, inserted: 0 }, ..State::default() }
    }

    /// What is left behind at a place that two ways lead to.
    #[must_use]
    pub fn join(&self, other: &State) -> State {
        let mut recent = self.recent.clone();
        for past in &other.recent {
            match recent.iter_mut().find(|one| one.at == past.at) {
                Some(one) => {
                    one.states = one.states.min(past.states);
                    one.valus = one.valus.min(past.valus);
                    one.transcendental = one.transcendental.min(past.transcendental);
                    one.doubles |= past.doubles;
                }
                None => recent.push(*past),
            }
        }
        recent.sort_unstable();
        State {
            recent,
            read: self.read.or(other.read),
            by_scalar: self.by_scalar.or(other.by_scalar),
            by_vector: self.by_vector.or(other.by_vector),
        }
    }

    /// What instruction `at` must wait for, if inserted code takes part in the hazard.
    pub fn need(&self, code: &Code, at: usize) -> Need {
        let mut need = Need::default();
        let (now, inserted) = (&code.traits[at], code.inserted[at]);
        if code.target.family() < super::Family::Gfx10 {
            for past in &self.recent {
                let before = past.at as usize;
                if inserted || code.inserted[before] {
                    self.wait_states(code, *past, now, &mut need);
                }
            }
            return need;
        }
        if code.target.family() == Gfx11 {
            self.forwarding(code, now, inserted, &mut need);
        }
        if code.tracks_scalars() {
            self.scalars(code, now, inserted, &mut need);
        }
        need
    }

    fn wait_states(&self, code: &Code, past: Past, now: &Traits, need: &mut Need) {
        let before = &code.traits[past.at as usize];
        // What comes first in another function is not known.
        if !code.executed && now.kinds & LEAVES != 0 && code.inserted[past.at as usize] {
            need.states(code.longest[past.at as usize], past, "a hazard may go on in another function");
            return;
        }
        rules::hits(code.target, before, now, &mut |hit| {
            if !(code.executed && self.is_hidden(code, past, hit)) {
                need.states(hit.states, past, hit.what);
            }
        });
        let vector = |reg: &Reg| matches!(reg, Reg::V(_) | Reg::A(_)) && now.reads.contains(reg);
        // checkMAIVALUHazards: hardware does not wait by itself then.
        if past.doubles
            && code.target == Gfx90a
            && now.kinds & (MEMORY | LDS) != 0
            && before.kinds & (VALU | MATRIX) != 0
            && before.writes.iter().any(vector)
        {
            need.states(2, past, "a matrix product of binary64 is between a write and a memory access");
        }
    }

    /// Whether a later matrix product writes the register of a hazard, or reads it where the hazard is about
    /// that.
    fn is_hidden(&self, code: &Code, past: Past, hit: Hit) -> bool {
        let Some(reg) = hit.reg.filter(|_| code.traits[past.at as usize].product.is_some()) else {
            return false;
        };
        self.recent.iter().filter(|other| other.states < past.states).any(|other| {
            let other = &code.traits[other.at as usize];
            let hides = |p: &Product| if hit.read { p.c.contains(&reg) } else { other.writes.contains(&reg) };
            other.product.as_ref().is_some_and(hides)
        })
    }

    /// gfx11: `fixVALUTransUseHazard` and, for waves of 64 lanes, `fixVALUPartialForwardingHazard`.
    fn forwarding(&self, code: &Code, now: &Traits, inserted: bool, need: &mut Need) {
        if now.kinds & VALU == 0 {
            return;
        }
        let vector = |reg: &&Reg| matches!(reg, Reg::V(_));
        let read: Vec<Reg> = now.reads.iter().filter(vector).copied().collect();
        let writers = |past: &&Past| {
            let before = &code.traits[past.at as usize];
            before.kinds & VALU != 0 && before.writes.iter().any(|reg| read.contains(reg))
        };
        let writers: Vec<Past> = self.recent.iter().filter(writers).copied().collect();
        for past in &writers {
            let before = past.at as usize;
            let close = past.valus <= 5 && past.transcendental <= 1;
            if close && code.traits[before].kinds & TRANS != 0 && (inserted || code.inserted[before]) {
                need.counters(VA_VDST, Some(*past), "the result of a transcendental operation is read");
            }
        }
        if code.executed {
            self.partly_forwarded(code, now, need);
            return;
        }
        if code.lanes != 64 || read.len() < 2 {
            return;
        }
        for exec in self.recent.iter().filter(|past| {
            let before = &code.traits[past.at as usize];
            let writes = |reg: &Reg| matches!(reg, Reg::ExecLo | Reg::ExecHi);
            before.kinds & SALU != 0 && before.writes.iter().any(writes)
        }) {
            for old in writers.iter().filter(|old| old.valus >= exec.valus) {
                for new in writers.iter().filter(|new| new.at != old.at && new.valus < exec.valus) {
                    let between = (old.valus - exec.valus) + (exec.valus - new.valus - 1);
                    let all = [old.at, exec.at, new.at].map(|at| code.inserted[at as usize]);
                    if new.valus <= 4 && between <= 2 && (inserted || all.contains(&true)) {
                        need.counters(
                            VA_VDST,
                            Some(*new),
                            "registers are read that were written before and behind EXEC",
                        );
                    }
                }
            }
        }
    }

    /// gfx11 with waves of 64 lanes, exactly: two operands, of which one was written before a scalar
    /// instruction wrote EXEC and the other one behind it.
    fn partly_forwarded(&self, code: &Code, now: &Traits, need: &mut Need) {
        const BOTH: u8 = 2;
        const BEHIND: u8 = 4;
        if code.lanes != 64 || now.operands.len() < 2 {
            return;
        }
        let traits = |past: &&Past| &code.traits[past.at as usize];
        let writer = |operand: &Vec<Reg>| {
            let writes = |past: &&Past| traits(past).writes.iter().any(|reg| operand.contains(reg));
            let all = self.recent.iter().filter(|past| traits(past).kinds & VALU != 0).filter(writes);
            all.min_by_key(|past| past.valus)
        };
        let writers: Vec<&Past> = now.operands.iter().filter_map(writer).collect();
        let Some(first) = writers.iter().map(|past| past.valus).min() else { return };
        let exec = self.recent.iter().filter(|past| {
            let writes = |reg: &Reg| matches!(reg, Reg::ExecLo | Reg::ExecHi);
            traits(past).kinds & SALU != 0 && traits(past).writes.iter().any(writes) && past.valus > first
        });
        let Some(exec) = exec.map(|past| past.valus).min() else { return };
        let old = writers.iter().filter(|past| past.valus >= exec).map(|past| past.valus).min();
        let new = writers.iter().filter(|past| past.valus < exec).min_by_key(|past| past.valus);
        if let (Some(old), Some(new)) = (old, new)
            && new.valus <= BEHIND
            && (old - exec) + (exec - new.valus - 1) <= BOTH
        {
            need.counters(
                VA_VDST,
                Some(**new),
                "registers are read that were written before and behind EXEC",
            );
        }
    }

    /// gfx11 with waves of 64 lanes: `fixVALUMaskWriteHazard`. gfx12: `AMDGPUWaitSGPRHazards`.
    fn scalars(&self, code: &Code, now: &Traits, inserted: bool, need: &mut Need) {
        let what = "an SGPR is read that was written behind a read by a vector instruction";
        let wait = |need: &mut Need, set: u128, own: u16| {
            let fields = if set & VCC != 0 && own == VA_SDST { VA_VCC } else { 0 };
            need.counters(fields | if set & !VCC != 0 || own == SA_SDST { own } else { 0 }, None, what);
        };
        let (vector, scalar) = (now.kinds & VALU != 0, now.kinds & SALU != 0);
        let of = |pending: Scalars, set: u128| set & if inserted { pending.all } else { pending.inserted };
        // A callee does not know of them. A wait must not break a clause.
        let leaves = now.kinds & LEAVES != 0 && code.target.family() == Gfx12;
        let all = !code.executed && (leaves || now.kinds & CLAUSE != 0);
        let mut set = if all { u128::MAX } else { scalars(&now.reads) };
        // Where a function returns, hardware takes the address in time. LLVM does not always wait where a
        // scalar instruction reads VCC.
        if code.executed && now.kinds & LEAVES != 0 {
            set = 0;
        } else if code.executed && scalar {
            set &= !VCC;
        }
        let on_gfx11 = code.target.family() == Gfx11;
        if all || vector || scalar || on_gfx11 {
            let late = of(self.by_scalar, set);
            if late != 0 {
                wait(need, late, SA_SDST);
            }
        }
        if all || vector || on_gfx11 && !scalar {
            let late = of(self.by_vector, set);
            if late != 0 {
                wait(need, late, VA_SDST);
            }
        }
    }

    /// Waits for as much.
    pub fn wait(&mut self, need: Need) {
        self.recent.iter_mut().for_each(|past| past.states = past.states.saturating_add(need.states));
        self.waited(need.depctr);
    }

    fn waited(&mut self, depctr: u16) {
        if depctr & VA_VDST != 0 {
            self.recent.clear();
        }
        if depctr & SA_SDST != 0 {
            self.by_scalar = Scalars::default();
        }
        if depctr & VA_SDST != 0 {
            self.by_vector =
                Scalars { all: self.by_vector.all & VCC, inserted: self.by_vector.inserted & VCC };
        }
        if depctr & VA_VCC != 0 {
            self.by_vector = self.by_vector.without(VCC);
        }
    }

    /// Executes instruction `at`.
    pub fn step(&mut self, code: &Code, at: usize) {
        let (now, inserted) = (&code.traits[at], code.inserted[at]);
        let family = code.target.family();
        if family < super::Family::Gfx10 {
            let double = now.product.as_ref().is_some_and(|product| product.double);
            self.recent.retain_mut(|past| {
                past.states = past.states.saturating_add(now.states);
                past.doubles |= double;
                past.states < code.longest[past.at as usize]
            });
            if code.longest[at] > 0 {
                self.note(at);
            }
            return;
        }
        self.waited(now.waits);
        if family == Gfx11 {
            if now.kinds & (MEMORY | LDS | EXPORT) != 0 {
                self.recent.clear();
            }
            if now.kinds & VALU != 0 {
                self.recent.iter_mut().for_each(|past| {
                    past.valus += 1;
                    past.transcendental += u8::from(now.kinds & TRANS != 0);
                });
                self.recent.retain(|past| past.valus <= MOST_VALUS);
            }
            let exec = |reg: &Reg| matches!(reg, Reg::ExecLo | Reg::ExecHi);
            if now.kinds & VALU != 0 || now.kinds & SALU != 0 && now.writes.iter().any(exec) {
                self.note(at);
            }
        }
        if code.tracks_scalars() {
            self.step_scalars(code, now, inserted);
        }
        if now.kinds & LEAVES != 0 && family == Gfx12 && !code.executed {
            // A callee may have read every SGPR.
            self.read.all = u128::MAX;
        }
    }

    fn note(&mut self, at: usize) {
        let at = at as u32;
        let new = Past { at, states: 0, valus: 0, transcendental: 0, doubles: false };
        match self.recent.binary_search_by_key(&at, |past| past.at) {
            Ok(place) => self.recent[place] = new,
            Err(place) => self.recent.insert(place, new),
        }
    }

    fn step_scalars(&mut self, code: &Code, now: &Traits, inserted: bool) {
        let on_gfx12 = code.target.family() == Gfx12;
        let (vector, scalar) = (now.kinds & VALU != 0, now.kinds & SALU != 0);
        let written = if code.executed && now.kinds & LEAVES != 0 { 0 } else { scalars(&now.writes) };
        if !vector && !scalar {
            if !on_gfx12 {
                // What loads write is waited for.
                self.read = self.read.without(written);
            } else if now.kinds & (SCALAR_MEMORY | BUFFER) != 0 {
                (self.by_scalar, self.by_vector) = Default::default();
            }
            return;
        }
        let read = scalars(&now.reads);
        if scalar && read & self.read.all != 0 {
            // It waits for vector instructions by itself.
            self.by_vector = self.by_vector.without(if on_gfx12 { u128::MAX } else { read });
        }
        // Writes of registers that were read before.
        let late = written & self.read.all;
        let by = if inserted { u128::MAX } else { self.read.inserted };
        (self.by_scalar, self.by_vector) = match scalar {
            true => (self.by_scalar.with(late, by), self.by_vector.without(written)),
            false => (self.by_scalar.without(written), self.by_vector.with(late, by)),
        };
        if !on_gfx12 {
            self.read = self.read.without(written);
        }
        if vector {
            let read = if on_gfx12 { in_pairs(read) } else { now.mask };
            self.read = self.read.or(Scalars { all: read, inserted: if inserted { read } else { 0 } });
        }
    }
}

/// A set with the other register of each pair.
fn in_pairs(set: u128) -> u128 {
    const EVEN: u128 = u128::MAX / 3;
    set | (set & EVEN) << 1 | (set >> 1) & EVEN
}

#[cfg(test)]
mod tests {
    use super::super::inst::Inst;
    use super::super::object::CodeObject;
    use super::super::{Native, Target};
    use super::{Code, State};
    use crate::view::FunctionKind;

    /// Hazards of the functions of an object in straight lines, with those instructions that `takes` takes.
    fn found(file: &str, takes: fn(&Inst) -> bool) -> Vec<String> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/kernels/amd/");
        let bytes = std::fs::read(format!("{folder}{file}")).unwrap();
        let object = CodeObject::read(&bytes).unwrap();
        let module = crate::amdgpu::read(&object).unwrap();
        let mut out = Vec::new();
        for function in &module.functions {
            let natives: Vec<Option<&Native>> =
                function.insts.iter().map(|inst| inst.semantics.native.get::<Native>()).collect();
            let mut numbers = vec![0];
            let mut insts: Vec<(&Inst, bool)> = Vec::new();
            for native in &natives {
                insts.extend(native.map(|native| (&native.inst, true)).filter(|(inst, _)| takes(inst)));
                numbers.push(insts.len());
            }
            let lanes = if module.warp_lanes == 32 { 32 } else { 64 };
            let code = Code::of(object.target.target, lanes, insts.iter().copied());
            let is_kernel = function.kind == FunctionKind::Kernel;
            let begin =
                || if is_kernel { State::default() } else { State::of_function(object.target.target) };
            for block in &function.blocks {
                let mut now = begin();
                let range = numbers[block.insts.start as usize]..numbers[block.insts.end as usize];
                for (at, (inst, _)) in insts.iter().enumerate().take(range.end).skip(range.start) {
                    let need = now.need(&code, at);
                    // What inserted code alone waits for, so as not to break a clause or surprise a callee.
                    let late = ["s_clause", "s_setpc_b64", "s_swappc_b64"].contains(&inst.name());
                    if !need.is_none() && !late {
                        out.push(format!("{file}: {}: `{}`: {}", function.name, inst.print(), need.what));
                        now.wait(need);
                    }
                    now.step(&code, at);
                }
            }
        }
        out
    }

    const COMPILED: [&str; 13] = [
        "vecadd.gfx90a.co",
        "vecadd.gfx942.co",
        "vecadd.gfx950.co",
        "vecadd.gfx1100.co",
        "vecadd.gfx1201.co",
        "control.gfx942.co",
        "control.gfx1100.co",
        "control.gfx1201.co",
        "calls.gfx942.co",
        "calls.gfx1100.co",
        "elements.gfx942.co",
        "softmax.good.gfx942.co",
        "parts.gfx1100.co",
    ];

    #[test]
    fn a_compilers_code_has_none() {
        for file in COMPILED {
            assert_eq!(found(file, |_| true), [""; 0]);
        }
    }

    #[test]
    fn a_compilers_code_without_its_waits_has_some() {
        let waits = |inst: &Inst| !["s_nop", "s_wait_alu", "s_waitcnt_depctr"].contains(&inst.name());
        for file in ["vecadd.gfx1201.co", "control.gfx1201.co", "softmax.good.gfx942.co", "parts.gfx1100.co"]
        {
            assert!(!found(file, waits).is_empty(), "{file}");
        }
    }

    /// What the last one of some instructions must wait for: wait states, and bits of `s_waitcnt_depctr`.
    fn last(target: Target, lanes: u8, words: &[&[u32]]) -> (u8, u16) {
        let insts: Vec<Inst> =
            words.iter().map(|words| Inst::decode(target, lanes, words).unwrap()).collect();
        let code = Code::of(target, lanes, insts.iter().map(|inst| (inst, true)));
        let mut now = State::default();
        (0..insts.len() - 1).for_each(|at| now.step(&code, at));
        let need = now.need(&code, insts.len() - 1);
        (need.states, need.depctr)
    }

    #[test]
    fn wait_states_of_gfx9() {
        use Target::{Gfx90a, Gfx942, Gfx950};
        // v_mov_b32 v1, v2; v_readfirstlane_b32 s0, v1
        let read_lane: [&[u32]; 2] = [&[0x7e02_0302], &[0x7e00_0501]];
        // v_cmp_eq_u32 vcc, v1, v2; v_cndmask_b32 v3, v1, v2, vcc
        let mask: [&[u32]; 2] = [&[0x7d94_0501], &[0x0006_0501]];
        // v_readfirstlane_b32 s0, v1; global_load_dword v3, v2, s[0:1]
        let address: [&[u32]; 2] = [&[0x7e00_0501], &[0xdc50_8000, 0x0300_0002]];
        // v_exp_f32 v1, v2; v_mov_b32 v3, v1
        let transcendental: [&[u32]; 2] = [&[0x7e02_4102], &[0x7e06_0301]];
        // global_store_dwordx4 v[0:1], v[4:7], off; v_mov_b32 v5, v2
        let stored: [&[u32]; 2] = [&[0xdc7c_8000, 0x007f_0400], &[0x7e0a_0302]];
        for (target, expected) in
            [(Gfx90a, [0, 0, 5, 0, 1]), (Gfx942, [1, 2, 5, 1, 2]), (Gfx950, [1, 2, 5, 1, 2])]
        {
            let all = [read_lane, mask, address, transcendental, stored];
            assert_eq!(all.map(|insts| last(target, 64, &insts).0), expected, "{target}");
        }
        // With `s_nop 1` between them, two wait states less.
        assert_eq!(last(Gfx942, 64, &[address[0], &[0xbf80_0001], address[1]]).0, 3);
        // v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]; v_accvgpr_read_b32 v4, a3
        let product: [&[u32]; 2] = [&[0xd3cc_8000, 0x0402_0500], &[0xd3d8_4004, 0x1800_0103]];
        assert_eq!([Gfx90a, Gfx942, Gfx950].map(|target| last(target, 64, &product).0), [19, 11, 12]);
    }

    #[test]
    fn what_is_not_inserted_is_the_compilers_matter() {
        let words: [&[u32]; 2] = [&[0x7e02_0302], &[0x7e00_0501]];
        let insts: Vec<Inst> =
            words.iter().map(|words| Inst::decode(Target::Gfx942, 64, words).unwrap()).collect();
        for (inserted, states) in [([false, false], 0), ([true, false], 1), ([false, true], 1)] {
            let code = Code::of(Target::Gfx942, 64, insts.iter().zip(inserted));
            let mut now = State::default();
            now.step(&code, 0);
            assert_eq!(now.need(&code, 1).states, states);
        }
    }
}
