//! Hazards: instructions that follow each other too closely, as hardware does not wait by itself.
//!
//! `RULES` has the wait states that gfx9 needs between two instructions. gfx11 and gfx12 have hazards of
//! other forms, which [`State`] follows: they end at a wait for internal counters (`s_waitcnt_depctr`, on
//! gfx12 `s_wait_alu`). gfx1030 has none that code can run into here.
//!
//! A [`State`] is what instructions before a place leave behind. It grows along code ([`State::step`]), and
//! two of them are joined where ways meet ([`State::join`]). [`State::need`] is what an instruction must wait
//! for.
//!
//! Sources: LLVM 22, `GCNHazardRecognizer.cpp` (the functions are named at the rules) and
//! `AMDGPUWaitSGPRHazards.cpp`; AMD, "CDNA3 Instruction Set Architecture", section 4.5 (Manually Inserted
//! Wait States); "RDNA3 Instruction Set Architecture", section 16.5 (`S_WAITCNT_DEPCTR`).
//!
//! # Invariants
//! - More wait states never make a hazard.
//! - A matrix product counts as the slowest one of its target.
//!
//! # Limitations
//! - Instructions whose registers are not known cause no hazard, and have none.
//! - Hazards that only an instruction has which recorders do not insert are left out: those between two
//!   matrix products, of LDS direct loads, `s_setreg` and `v_cmpx`, and a vector memory access behind a
//!   binary64 matrix product on gfx90a.

use super::Family::{Gfx11, Gfx12};
use super::Target::{self, Gfx90a, Gfx942, Gfx950};
use super::inst::table::{Access, Class};
use super::inst::{Encoding, Field, Inst, Reg, Value};

/// A kind of instruction. An instruction has several.
type Kinds = u32;
const VALU: Kinds = 1;
const TRANS: Kinds = 1 << 1;
const MATRIX: Kinds = 1 << 2;
const DOT: Kinds = 1 << 3;
const SALU: Kinds = 1 << 4;
const MEMORY: Kinds = 1 << 5;
const LDS: Kinds = 1 << 6;
const EXPORT: Kinds = 1 << 7;
const SCALAR_MEMORY: Kinds = 1 << 8;
const DPP: Kinds = 1 << 9;
const READ_LANE: Kinds = 1 << 10;
const WRITE_LANE: Kinds = 1 << 11;
const DIV_FMAS: Kinds = 1 << 12;
const PERMLANE: Kinds = 1 << 13;
/// The result is moved within its register: `dst_sel` of SDWA, or the high half.
const SHIFTED: Kinds = 1 << 14;
/// A wait for internal counters.
const DEPCTR: Kinds = 1 << 15;
/// Code goes on in another function.
const LEAVES: Kinds = 1 << 16;
const CLAUSE: Kinds = 1 << 17;
/// A memory access with a descriptor.
const BUFFER: Kinds = 1 << 18;
/// Reads or writes vector registers.
const VECTOR: Kinds = VALU | MATRIX | MEMORY | LDS | EXPORT;

/// Which registers of an instruction a rule is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Which {
    /// Vector registers, or accumulation registers, that it reads.
    ReadsVector,
    WritesVector,
    /// SGPRs and VCC that it reads.
    ReadsScalar,
    WritesScalar,
    /// More than 64 bits that it stores.
    Stores,
    /// The SGPR that chooses the lane of `v_readlane` and `v_writelane`.
    Lane,
    /// EXEC, which the other instruction always reads.
    WritesExec,
    Any,
}

/// A hazard of gfx9.
struct Rule {
    what: &'static str,
    /// Wait states that are needed, by target: gfx90a, gfx942, gfx950.
    states: [u8; 3],
    first: (Kinds, Kinds, Which),
    then: (Kinds, Kinds, Which),
}

/// A rule. Of each instruction: kinds of which it has one, kinds of which it has none, and registers.
const fn rule(
    what: &'static str,
    states: [u8; 3],
    first: (Kinds, Kinds, Which),
    then: (Kinds, Kinds, Which),
) -> Rule {
    Rule { what, states, first, then }
}

use Which::{Any, Lane, ReadsScalar, ReadsVector, Stores, WritesExec, WritesScalar, WritesVector};

/// The hazards of gfx9 that wait states end. The function of `GCNHazardRecognizer` stands beside each.
#[rustfmt::skip]
const RULES: [Rule; 19] = [
    // checkVMEMHazards
    rule("a vector instruction writes an SGPR, and memory is accessed by it", [5; 3],
         (VALU, 0, WritesScalar), (MEMORY, 0, ReadsScalar)),
    // checkRWLaneHazards
    rule("a vector instruction writes an SGPR that chooses a lane", [4; 3],
         (VALU, 0, WritesScalar), (READ_LANE | WRITE_LANE, 0, Lane)),
    // checkDivFMasHazards
    rule("a vector instruction writes VCC, and v_div_fmas reads it", [4; 3],
         (VALU, 0, WritesScalar), (DIV_FMAS, 0, ReadsScalar)),
    // checkDPPHazards
    rule("DPP reads a register that was written", [2; 3],
         (VECTOR, 0, WritesVector), (DPP, 0, ReadsVector)),
    rule("a vector instruction writes EXEC before DPP", [5; 3],
         (VALU, 0, WritesExec), (DPP, 0, Any)),
    // checkVALUHazardsHelper
    rule("data of a large store are overwritten", [1, 2, 2],
         (MEMORY, 0, Stores), (VALU, 0, WritesVector)),
    // checkVALUHazards: hasTransForwardingHazard
    rule("the result of a transcendental operation is read", [0, 1, 1],
         (TRANS, 0, WritesVector), (VALU, TRANS, ReadsVector)),
    // checkVALUHazards: hasDstSelForwardingHazard
    rule("a result that was moved within its register is read", [0, 1, 1],
         (SHIFTED, 0, WritesVector), (VALU, 0, ReadsVector)),
    rule("a result that was moved within its register is overwritten", [0, 1, 1],
         (SHIFTED, 0, WritesVector), (VALU, 0, WritesVector)),
    // checkVALUHazards: hasVDecCoExecHazard
    rule("a vector instruction reads an SGPR that another one wrote", [0, 2, 2],
         (VALU, 0, WritesScalar), (VALU | MATRIX, 0, ReadsScalar)),
    rule("a lane is read of a register that was written", [0, 1, 1],
         (VALU, 0, WritesVector), (READ_LANE, 0, ReadsVector)),
    rule("a vector instruction writes EXEC before a lane is read or written", [0, 4, 4],
         (VALU, 0, WritesExec), (READ_LANE | WRITE_LANE, 0, Any)),
    // checkMAIVALUHazards
    rule("the result of a matrix product is read", [19, 19, 20],
         (MATRIX, 0, WritesVector), (VECTOR, MATRIX, ReadsVector)),
    rule("the result of a matrix product is overwritten", [19, 19, 20],
         (MATRIX, 0, WritesVector), (VECTOR, MATRIX, WritesVector)),
    rule("a source of a matrix product is overwritten", [15; 3],
         (MATRIX, 0, ReadsVector), (VECTOR, MATRIX, WritesVector)),
    rule("the result of a dot product is read", [3; 3],
         (DOT, 0, WritesVector), (VECTOR, MATRIX, ReadsVector)),
    // checkMAIHazards90A
    rule("a matrix product reads a register that was written", [2; 3],
         (VALU, DOT, WritesVector), (MATRIX, 0, ReadsVector)),
    rule("a vector instruction writes EXEC before a matrix product", [4; 3],
         (VALU, 0, WritesExec), (MATRIX, 0, Any)),
    // checkPermlaneHazards
    rule("lanes are exchanged of a register that was written", [0, 0, 2],
         (VALU, 0, WritesVector), (PERMLANE, 0, ReadsVector)),
];

/// Wait states after which every hazard of [`RULES`] has ended.
const MOST_STATES: u8 = 20;
/// Vector instructions after which every hazard of gfx11 has ended that counts them.
const MOST_VALUS: u8 = 8;
/// Bits of `s_waitcnt_depctr` that are 0 where it waits: for results of vector instructions in VGPRs, in
/// SGPRs and in VCC, and of scalar ones.
const VA_VDST: u16 = 0xf000;
const VA_SDST: u16 = 0x0e00;
const VA_VCC: u16 = 0x0002;
const SA_SDST: u16 = 0x0001;

/// What hazards depend on, of an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Traits {
    kinds: Kinds,
    reads: Vec<Reg>,
    writes: Vec<Reg>,
    /// More than 64 bits that are stored.
    stored: Vec<Reg>,
    /// SGPR that chooses a lane.
    lane: Option<Reg>,
    /// SGPRs that it reads as a mask of lanes.
    mask: u128,
    /// Wait states that it takes.
    states: u8,
    /// What it waits for: bits of [`VA_VDST`] and the others that are 0 in it.
    waits: u16,
}

/// The number of a scalar register in a set.
fn number(reg: Reg) -> Option<u32> {
    match reg {
        Reg::S(n) if n < 106 => Some(n.into()),
        Reg::VccLo => Some(106),
        Reg::VccHi => Some(107),
        Reg::Ttmp(n) if n < 16 => Some(108 + u32::from(n)),
        _ => None,
    }
}

const VCC: u128 = 3 << 106;

fn scalars(regs: &[Reg]) -> u128 {
    regs.iter().filter_map(|reg| number(*reg)).fold(0, |all, n| all | 1 << n)
}

impl Traits {
    /// Those of an instruction.
    pub fn of(inst: &Inst) -> Traits {
        let registers = inst.registers().unwrap_or_default();
        let name = inst.name();
        let operands = inst.operands();
        let of_field = |fields: &[Field]| {
            let found = operands.iter().find(|operand| fields.contains(&operand.slot.field));
            found.map(|operand| operand.value.registers()).unwrap_or_default()
        };
        let stores = matches!(inst.access(), Some(Access::Store | Access::Atomic));
        let stored = if stores { of_field(&[Field::Data, Field::Vdata]) } else { Vec::new() };
        let lane = (name == "v_readlane_b32" || name == "v_writelane_b32")
            .then(|| of_field(&[Field::Src1]).first().copied())
            .flatten();
        let reads_mask = ["v_cndmask", "v_addc_co", "v_subb", "v_add_co_ci", "v_sub_co_ci", "v_subrev_co_ci"]
            .iter()
            .any(|stem| name.starts_with(stem))
            || name.starts_with("v_div_fmas");
        let mask = match operands.last().map(|operand| operand.value) {
            _ if !reads_mask => 0,
            // Forms without an operand for it read VCC.
            Some(Value::Registers { .. }) => match scalars(&of_field(&[Field::Src2])) {
                0 => scalars(&registers.reads) & VCC,
                mask => mask,
            },
            _ => scalars(&registers.reads) & VCC,
        };
        let immediate = inst.get(Field::Simm16);
        let waits = match name {
            "s_waitcnt_depctr" | "s_wait_alu" => !(immediate as u16),
            _ => 0,
        };
        let whole = [VA_VDST, VA_SDST, VA_VCC, SA_SDST].into_iter().filter(|field| waits & field == *field);
        Traits {
            kinds: kinds(inst),
            states: if name == "s_nop" { (immediate as u8 & 15) + 1 } else { 1 },
            stored: if stored.len() > 2 { stored } else { Vec::new() },
            lane,
            mask,
            waits: whole.fold(0, |all, field| all | field),
            reads: registers.reads,
            writes: registers.writes,
        }
    }

    fn is(&self, (some, none): (Kinds, Kinds)) -> bool {
        self.kinds & some != 0 && self.kinds & none == 0
    }

    /// Registers of an instruction that a rule is about.
    fn registers(&self, which: Which) -> &[Reg] {
        match which {
            ReadsVector | ReadsScalar => &self.reads,
            WritesVector | WritesScalar | WritesExec => &self.writes,
            Stores => &self.stored,
            Lane => self.lane.as_slice(),
            Any => &[],
        }
    }
}

fn kinds(inst: &Inst) -> Kinds {
    let name = inst.name();
    let (Some(class), Some(encoding)) = (inst.class(), inst.encoding()) else { return 0 };
    let on_gfx9 = inst.target().family() < super::Family::Gfx10;
    let mut out = match class {
        Class::Valu => VALU,
        Class::Transcendental => VALU | TRANS,
        Class::Matrix if name.starts_with("v_accvgpr") => VALU,
        Class::Matrix if on_gfx9 => MATRIX,
        Class::Matrix => MATRIX | VALU,
        Class::VectorMemory | Class::Image => MEMORY,
        Class::Lds => LDS,
        Class::Export => EXPORT,
        Class::ScalarMemory => SCALAR_MEMORY,
        _ => 0,
    };
    if matches!(encoding, Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopc | Encoding::Sopk) {
        out |= SALU;
    }
    let starts = |stem: &str| name.starts_with(stem);
    let is = [
        (DOT, starts("v_dot")),
        (DPP, encoding.name().contains("dpp")),
        (READ_LANE, starts("v_readlane") || starts("v_readfirstlane")),
        (WRITE_LANE, starts("v_writelane")),
        (DIV_FMAS, starts("v_div_fmas")),
        (PERMLANE, starts("v_permlane")),
        (DEPCTR, name == "s_waitcnt_depctr" || name == "s_wait_alu"),
        (LEAVES, ["s_setpc_b64", "s_swappc_b64", "s_call_b64"].contains(&name)),
        (CLAUSE, name == "s_clause"),
        (
            BUFFER,
            out & MEMORY != 0 && !matches!(encoding, Encoding::Flat | Encoding::Global | Encoding::Scratch),
        ),
        (SHIFTED, out & VALU != 0 && moves_result(inst)),
    ];
    is.into_iter().filter(|(_, is)| *is).fold(out, |all, (kind, _)| all | kind)
}

/// Whether the result lands in another part of its register than the lowest bits.
fn moves_result(inst: &Inst) -> bool {
    const WHOLE: u32 = 6;
    let sdwa = matches!(inst.encoding(), Some(Encoding::Vop1Sdwa | Encoding::Vop2Sdwa));
    sdwa && inst.get(Field::DstSel) != WHOLE
        || inst.keeps_half()
        || inst.name().starts_with("v_cvt_scalef32") && inst.name().contains("fp4")
}

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
}

impl Need {
    /// Whether there is nothing to wait for.
    pub fn is_none(self) -> bool {
        self.states == 0 && self.depctr == 0
    }

    fn more(&mut self, states: u8, depctr: u16, what: &'static str) {
        if states > self.states || depctr & !self.depctr != 0 {
            self.what = what;
        }
        self.states = self.states.max(states);
        self.depctr |= depctr;
    }
}

/// Instructions of a piece of code with the size of its waves.
pub struct Code {
    target: Target,
    lanes: u8,
    traits: Vec<Traits>,
    inserted: Vec<bool>,
}

impl Code {
    /// Instructions in their order, each with whether it was inserted. All hazards are found if `inserted` is
    /// true of each, else those that an inserted one takes part in.
    pub fn of<'i>(target: Target, lanes: u8, insts: impl Iterator<Item = (&'i Inst, bool)>) -> Code {
        let (traits, inserted) = insts.map(|(inst, inserted)| (Traits::of(inst), inserted)).unzip();
        Code { target, lanes, traits, inserted }
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
        let target = match code.target {
            Gfx90a => 0,
            Gfx942 => 1,
            Gfx950 => 2,
            _ => return,
        };
        for Rule { what, states, first, then } in &RULES {
            let states = states[target];
            if states <= past.states || !before.is((first.0, first.1)) {
                continue;
            }
            // What comes first in another function is not known.
            let leaves = now.kinds & LEAVES != 0 && code.inserted[past.at as usize];
            if !leaves && !now.is((then.0, then.1)) {
                continue;
            }
            let exec = |reg: &Reg| matches!(reg, Reg::ExecLo | Reg::ExecHi);
            let vector = |reg: &Reg| matches!(reg, Reg::V(_) | Reg::A(_));
            let (a, b) = (before.registers(first.2), now.registers(then.2));
            let meets = match first.2 {
                WritesExec => a.iter().any(exec),
                WritesScalar => a.iter().any(|reg| number(*reg).is_some() && (leaves || b.contains(reg))),
                _ => a.iter().any(|reg| vector(reg) && (leaves || b.contains(reg))),
            };
            if meets {
                need.more(states - past.states, 0, what);
            }
        }
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
                need.more(0, VA_VDST, "the result of a transcendental operation is read");
            }
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
                        need.more(0, VA_VDST, "registers are read that were written before and behind EXEC");
                    }
                }
            }
        }
    }

    /// gfx11 with waves of 64 lanes: `fixVALUMaskWriteHazard`. gfx12: `AMDGPUWaitSGPRHazards`.
    fn scalars(&self, code: &Code, now: &Traits, inserted: bool, need: &mut Need) {
        let what = "an SGPR is read that was written behind a read by a vector instruction";
        let wait = |need: &mut Need, set: u128, own: u16| {
            let fields = if set & VCC != 0 && own == VA_SDST { VA_VCC } else { 0 };
            need.more(0, fields | if set & !VCC != 0 || own == SA_SDST { own } else { 0 }, what);
        };
        let (vector, scalar) = (now.kinds & VALU != 0, now.kinds & SALU != 0);
        let of = |pending: Scalars, set: u128| set & if inserted { pending.all } else { pending.inserted };
        // A callee does not know of them. A wait must not break a clause.
        let all = now.kinds & LEAVES != 0 && code.target.family() == Gfx12 || now.kinds & CLAUSE != 0;
        let set = if all { u128::MAX } else { scalars(&now.reads) };
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
        self.recent.retain(|past| past.states < MOST_STATES);
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
            self.recent.iter_mut().for_each(|past| past.states = past.states.saturating_add(now.states));
            self.recent.retain(|past| past.states < MOST_STATES);
            if now.kinds & VECTOR != 0 {
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
        if now.kinds & LEAVES != 0 && family == Gfx12 {
            // A callee may have read every SGPR.
            self.read.all = u128::MAX;
        }
    }

    fn note(&mut self, at: usize) {
        let at = at as u32;
        self.recent.retain(|past| past.at != at);
        self.recent.push(Past { at, states: 0, valus: 0, transcendental: 0 });
        self.recent.sort_unstable();
    }

    fn step_scalars(&mut self, code: &Code, now: &Traits, inserted: bool) {
        let on_gfx12 = code.target.family() == Gfx12;
        let (vector, scalar) = (now.kinds & VALU != 0, now.kinds & SALU != 0);
        let written = scalars(&now.writes);
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
        assert_eq!([Gfx90a, Gfx942, Gfx950].map(|target| last(target, 64, &product).0), [19, 19, 20]);
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
