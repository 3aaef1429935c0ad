//! Registers that hold nothing at a place of a function, so that inserted code may use them there.
//!
//! A vector register is dead at a place if no lane reads later what it holds. The wave's control flow alone
//! does not say that: in a region that some lanes skip, the wave writes a register only in the lanes of EXEC,
//! and the others may still need their old value behind the region. The analysis therefore keeps two sets of
//! registers: those that lanes in EXEC may read ([`Live::here`]), and those that other lanes may read
//! ([`Live::others`]). Backwards over a function:
//!
//! | instruction | effect |
//! |---|---|
//! | reads a register | it is live here; if the instruction looks at other lanes too, it is live in others |
//! | writes all of a register | it is no longer live here, and in other lanes as before |
//! | takes lanes out of EXEC | those lanes were here: what is live in others is live here as well |
//! | adds lanes to EXEC | those lanes were among the others: what is live here is live in others as well |
//! | writes EXEC otherwise | what is live in either set is live in both |
//!
//! Where EXEC has all lanes of the wave, no others exist, and nothing is live in them. A forward analysis
//! finds these places ([`exec`](super::exec)). Scalar registers have no lanes: a write ends what was live.
//!
//! # Invariants
//! - What is not known counts as a read: calls, ends of device functions, and instructions whose registers
//!   depend on M0 or are not known make every register live.
//! - A register that a load may still write is busy, though nothing may read it: [`Place::busy`]. No load
//!   is under way where a function begins, or behind a call: copies of device functions wait at their begin,
//!   and functions wait before they return.
//! - Registers that insertions read are read at the place of the insertion.
//! - A register is not live where no instruction can have written it, unless one keeps a part of it:
//!   recorders read all of it.
//!
//! # Limitations
//! Memory is not followed: what code spills and loads again keeps its registers live in between.

use prlx_isa::amdgpu::Native;
use prlx_isa::amdgpu::inst::table::Class as MachineClass;
use prlx_isa::amdgpu::inst::{Encoding, Field, Inst};
use prlx_isa::view::{self, Class, Function, FunctionKind};

use super::exec::{Change, Full};
use super::numbers::Set;

/// Registers that are live.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Live {
    /// Lanes in EXEC may read them.
    here: Set,
    /// Lanes that are not in EXEC may read them.
    others: Set,
}

impl Live {
    fn or(self, other: Live) -> Live {
        Live { here: self.here.or(other.here), others: self.others.or(other.others) }
    }

    fn either(self) -> Set {
        self.here.or(self.others)
    }
}

/// What an instruction does to registers.
struct Effects {
    reads: Set,
    /// Whether it looks at lanes that are not in EXEC.
    of_all_lanes: bool,
    /// Registers that it writes, perhaps in part.
    writes: Set,
    /// Registers that it writes whole, in the lanes of EXEC.
    ends: Set,
    /// Whether the writes come later: it is a load.
    late: bool,
}

impl Effects {
    fn of(inst: &view::Inst, callee: &dyn Fn(&view::Inst) -> Option<Set>) -> Effects {
        let whole =
            |set| Effects { reads: set, of_all_lanes: true, writes: set, ends: Set::default(), late: false };
        let none = Set::default();
        let Some(native) = inst.semantics.native.get::<Native>() else {
            return Effects { reads: none, of_all_lanes: false, writes: none, ends: none, late: false };
        };
        let machine = &native.inst;
        let Some(registers) = machine.registers() else { return whole(Set::ALL) };
        if inst.class == Class::Call {
            let own = Set::of(registers.reads.iter().chain(&registers.writes));
            return whole(callee(inst).map_or(Set::ALL, |named| named.or(own)));
        }
        let (reads, writes) = (Set::of(&registers.reads), Set::of(&registers.writes));
        let of_all_lanes = !is_of_its_lane(inst, machine);
        // Loads to LDS name a register that they do not write.
        let partly = matches!(inst.class, Class::Warp) && machine.encoding() != Some(Encoding::Ds)
            || machine.get(Field::Lds) == 1;
        let scalar = writes.scalars();
        let ends = if partly { scalar } else { writes };
        Effects { reads, of_all_lanes, writes, ends: ends.without(reads), late: !is_immediate(machine) }
    }
}

/// Whether a lane's results depend only on what that lane's registers hold.
fn is_of_its_lane(inst: &view::Inst, machine: &Inst) -> bool {
    use Encoding::{
        Ds, Flat, Global, Mtbuf, Mubuf, Scratch, Vop1, Vop1Sdwa, Vop2, Vop2Sdwa, Vop3, Vop3p, Vopc, VopcSdwa,
        Vopd,
    };
    let known = match machine.encoding() {
        Some(
            Vop1 | Vop2 | Vop3 | Vop3p | Vopc | Vopd | Vop1Sdwa | Vop2Sdwa | VopcSdwa | Ds | Flat | Global
            | Scratch | Mubuf | Mtbuf,
        ) => !machine.name().contains("_tr"),
        // Scalar instructions read no vector registers.
        Some(encoding) => encoding.name().starts_with('s'),
        None => false,
    };
    known && !matches!(inst.class, Class::Warp | Class::Matrix)
}

/// Whether what the instruction writes is there for the next one.
fn is_immediate(machine: &Inst) -> bool {
    use MachineClass::{Barrier, Branch, Call, Control, End, Matrix, Salu, Transcendental, Valu, Wait};
    matches!(
        machine.class(),
        Some(Salu | Valu | Transcendental | Matrix | Wait | Branch | Call | Barrier | End | Control)
    )
}

/// Registers at a place between two instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// Those that hold something, or that an insertion reads there.
    pub(super) busy: Set,
    /// Those that a load may still write.
    pub(super) late: Set,
}

impl Place {
    /// Every register may hold something, and may still be written.
    pub(super) const UNKNOWN: Place = Place { busy: Set::ALL, late: Set::ALL };
}

/// The places of a function.
pub(super) struct Places {
    /// By instruction: the place before it; then the one behind the last.
    all: Vec<Place>,
    /// Registers that hold something when a kernel begins.
    begun: Set,
}

impl Places {
    /// Analyses a function whose waves have `lanes` lanes. `read` has the registers that insertions read
    /// right before each instruction, and behind the last one. `begun`: registers that hold something when a
    /// kernel begins. `callee`: all registers that a called function names; `None` if it is not known.
    pub(super) fn of(
        function: &Function,
        lanes: u32,
        read: &[Set],
        begun: Set,
        callee: &dyn Fn(&view::Inst) -> Option<Set>,
    ) -> Places {
        let effects: Vec<Effects> = function.insts.iter().map(|inst| Effects::of(inst, callee)).collect();
        let full = Full::of(function, lanes);
        let is_kernel = function.kind == FunctionKind::Kernel;
        let kept = effects.iter().fold(Set::default(), |all, e| all.or(e.reads.and(e.writes)));
        let at_begin = if is_kernel { begun.or(kept) } else { Set::ALL };
        let live = live(function, &effects, &full, read);
        let written = forward(function, at_begin, |at, set| set.or(effects[at].writes));
        let late = forward(function, Set::default(), |at, set| {
            let Effects { reads, writes, late, .. } = effects[at];
            // Code that names a register waits for it.
            let set = set.without(reads);
            if late { set.or(writes) } else { set.without(writes) }
        });
        let all = live.into_iter().zip(written).zip(late).zip(0..);
        let place = |(((live, written), late), at): (((Set, Set), Set), usize)| {
            let read = read.get(at).copied().unwrap_or_default();
            Place { busy: live.and(written).or(late).or(read), late }
        };
        let all = all.map(place).collect();
        Places { all, begun: if is_kernel { begun } else { Set::default() } }
    }

    /// The same places, as if every register held something.
    pub(super) fn all_busy(mut self) -> Places {
        self.all.iter_mut().for_each(|place| place.busy = Set::ALL);
        self
    }

    /// The place before instruction number `at`, behind the instruction before it.
    pub(super) fn before(&self, at: usize) -> Place {
        self.all.get(at).copied().unwrap_or(Place::UNKNOWN)
    }

    /// The place where the function begins.
    pub(super) fn at_entry(&self) -> Place {
        let first = self.before(0);
        Place { busy: first.busy.or(self.begun), ..first }
    }
}

/// By place, the registers that are live.
fn live(function: &Function, effects: &[Effects], full: &Full, read: &[Set]) -> Vec<Set> {
    let mut out = vec![Set::ALL; function.insts.len() + 1];
    let mut at_begin = vec![Live::default(); function.blocks.len()];
    let read = |at: usize| read.get(at).copied().unwrap_or_default();
    let mut waiting: Vec<usize> = (0..function.blocks.len()).collect();
    let mut waits = vec![true; function.blocks.len()];
    while let Some(b) = waiting.pop() {
        waits[b] = false;
        let block = &function.blocks[b];
        let last = block.insts.end.checked_sub(1).and_then(|last| function.insts.get(last as usize));
        let ends = last.is_some_and(|inst| inst.class == Class::Exit && !is_call_end(inst));
        let mut now = match (block.succs.is_empty(), ends) {
            (true, true) => Live::default(),
            // A device function's caller may read anything.
            (true, false) => Live { here: Set::ALL, others: Set::ALL },
            _ => block.succs.iter().fold(Live::default(), |all, succ| all.or(at_begin[succ.index()])),
        };
        for at in block.insts.clone().rev().map(|at| at as usize) {
            let Effects { reads, of_all_lanes, ends, .. } = effects[at];
            // What insertions behind the instruction read.
            let behind = read(at + 1);
            now = Live { here: now.here.or(behind), others: now.others.or(behind) };
            now = match full.change(at) {
                Change::None => now,
                Change::Narrower => Live { here: now.either(), others: now.others },
                Change::Wider => Live { here: now.here, others: now.either() },
                Change::Unknown => Live { here: now.either(), others: now.either() },
            };
            now.here = now.here.without(ends).or(reads);
            // Scalar registers are in one set only.
            now.others = now.others.or(if of_all_lanes { reads } else { Set::default() });
            if full.before(at) {
                now.others = Set::default();
            }
            now.others = now.others.vectors();
            out[at] = now.either();
        }
        let first = read(block.insts.start as usize);
        now = Live { here: now.here.or(first), others: now.others.or(first) };
        if now != at_begin[b] {
            at_begin[b] = now;
            for pred in &block.preds {
                if !std::mem::replace(&mut waits[pred.index()], true) {
                    waiting.push(pred.index());
                }
            }
        }
    }
    out
}

/// Whether an end of a function is one only if the call before it returns.
fn is_call_end(inst: &view::Inst) -> bool {
    inst.semantics.native.get::<Native>().is_none()
}

/// By place, what a forward analysis collects: at the function's begin `begun`, and behind instruction `at`
/// what `step` makes of the set before it.
fn forward(function: &Function, begun: Set, step: impl Fn(usize, Set) -> Set) -> Vec<Set> {
    let mut out = vec![Set::default(); function.insts.len() + 1];
    let mut at_begin: Vec<Option<Set>> = vec![None; function.blocks.len()];
    let mut waiting = Vec::new();
    if let Some(first) = at_begin.first_mut() {
        *first = Some(begun);
        waiting.push(0);
    }
    while let Some(b) = waiting.pop() {
        let Some(mut now) = at_begin[b] else { continue };
        let block = &function.blocks[b];
        for at in block.insts.clone().map(|at| at as usize) {
            out[at] = now;
            now = step(at, now);
        }
        for succ in &block.succs {
            let before = at_begin[succ.index()];
            let after = before.map_or(now, |before| before.or(now));
            if before != Some(after) {
                at_begin[succ.index()] = Some(after);
                waiting.push(succ.index());
            }
        }
    }
    // Unreachable blocks keep the empty set: nothing runs there.
    out
}

#[cfg(test)]
mod tests {
    use super::super::numbers::Used;
    use super::{Place, Places, Set};
    use prlx_isa::amdgpu::Native;
    use prlx_isa::amdgpu::inst::Reg;
    use prlx_isa::amdgpu::object::CodeObject;
    use prlx_isa::view::{Class, Function};

    /// A kernel of `tests/kernels/amd/full.s`, and its places without insertions.
    fn places(kernel: &str) -> (Function, Places) {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/kernels/amd/full.gfx942.co");
        let bytes = std::fs::read(file).unwrap();
        let module = prlx_isa::amdgpu::read(&CodeObject::read(&bytes).unwrap()).unwrap();
        let function = module.functions.into_iter().find(|f| f.name == kernel).unwrap();
        let begun = Set::below(Used { vector: 1, scalar: 3, ..Used::default() });
        let places = Places::of(&function, 64, &[], begun, &|_| None);
        (function, places)
    }

    /// The place before the first instruction whose text begins so.
    fn before(of: &(Function, Places), text: &str) -> Place {
        let (function, places) = of;
        let is_it = |inst: &prlx_isa::view::Inst| {
            inst.semantics.native.get::<Native>().is_some_and(|n| n.inst.print().starts_with(text))
        };
        places.before(function.insts.iter().position(is_it).unwrap())
    }

    #[test]
    fn a_register_is_dead_until_all_lanes_write_it() {
        let [dead, held] = ["dead", "held"].map(places);
        let loops = "s_or_b64 s[8:9]";
        for n in 6..=255 {
            assert!(before(&held, loops).busy.has_vector(n), "v{n}");
            assert!(!before(&dead, loops).busy.has_vector(n), "v{n}");
        }
        // What the loop computes is held in both.
        assert!([1, 2, 3, 5].iter().all(|n| before(&dead, loops).busy.has_vector(*n)));
    }

    #[test]
    fn lanes_out_of_exec_keep_what_others_write() {
        // Lanes in EXEC write these registers before they read them, and the wave has no way around that.
        let masked = places("masked");
        let place = before(&masked, "s_and_saveexec_b64 s[18:19]");
        assert!((6..=255).all(|n| place.busy.has_vector(n)));
        // All lanes are about to write v4. Nothing reads it behind its comparison.
        assert!(!before(&masked, "v_and_b32_e32 v4").busy.has_vector(4));
        assert!(before(&masked, "v_cmp_eq_u32_e32 vcc, 1, v4").busy.has_vector(4));
        assert!(!place.busy.has_vector(4));
    }

    #[test]
    fn what_a_load_writes_is_busy_until_code_names_it() {
        let loading = places("loading");
        let place = before(&loading, "s_and_saveexec_b64 s[18:19]");
        for n in 252..=255 {
            assert!(place.late.has_vector(n) && place.busy.has_vector(n), "v{n}");
        }
        assert!((88..=91).all(|n| place.late.has_scalar(n) && place.busy.has_scalar(n)));
        assert!(!place.busy.has_vector(248), "it is written again before anything reads it");
        let end = before(&loading, "global_store_dword");
        assert!((88..=91).all(|n| !end.late.has_scalar(n)));
        assert!((252..=255).all(|n| !end.late.has_vector(n)));
        assert!([1, 3].iter().all(|n| end.busy.has_vector(*n)) && !end.busy.has_vector(255));
    }

    #[test]
    fn a_call_reads_what_its_callee_names() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/kernels/amd/calls.gfx942.co");
        let bytes = std::fs::read(file).unwrap();
        let module = prlx_isa::amdgpu::read(&CodeObject::read(&bytes).unwrap()).unwrap();
        let function = module.functions.iter().find(|f| f.name == "in_loop").unwrap();
        let call = function.insts.iter().position(|inst| inst.class == Class::Call).unwrap();
        let begun = Set::below(Used { vector: 1, scalar: 16, ..Used::default() });
        let before = |callee: Set| Places::of(function, 64, &[], begun, &|_| Some(callee)).before(call).busy;
        let named = Set::of(&[Reg::V(200), Reg::S(90)]);
        // The call stands in a loop, so the callee finds what it left there.
        assert!(before(named).has_vector(200) && before(named).has_scalar(90));
        assert!(!before(Set::default()).has_vector(200) && !before(Set::default()).has_scalar(90));
        // All registers may be named by a callee that is not known.
        let unknown = Places::of(function, 64, &[], begun, &|_| None).before(call).busy;
        assert!((0..=255).all(|n| unknown.has_vector(n)));
    }

    #[test]
    fn nothing_holds_anything_before_it_is_written() {
        let held = places("held");
        let place = before(&held, "s_load_dwordx4");
        assert!(place.busy.has_vector(0) && !(1..=255).any(|n| place.busy.has_vector(n)));
        assert!([0, 1, 2].iter().all(|n| place.busy.has_scalar(*n)) && !place.busy.has_scalar(9));
        assert_eq!(held.1.at_entry().busy, place.busy);
        // Behind the function, nothing is known.
        assert_eq!(held.1.before(usize::MAX), Place::UNKNOWN);
    }
}
