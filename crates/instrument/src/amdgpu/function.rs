//! What the copy of a function needs to know of the original.

use std::rc::Rc;

use prlx_isa::amdgpu::inst::Reg;
use prlx_isa::amdgpu::inst::table::Class as MachineClass;
use prlx_isa::amdgpu::{Native, Register, RegisterMap};
use prlx_isa::view::{self, Class, Function, InstId, Operand, Role, Type};
use prlx_plan::{At, Insertion};
use rustc_hash::{FxHashMap, FxHashSet};

use super::assembler::Label;
use super::liveness::{Place, Places};
use super::misfit::Misfit;
use super::piece::Homes;
use super::registers::Registers;

/// The registers of a function by name, and whether it is a predicate.
pub(crate) fn names(map: &RegisterMap, lanes: u32) -> FxHashMap<(String, bool), Register> {
    map.iter().map(|(register, _)| ((register.name(lanes), register.ty() == Type::Pred), register)).collect()
}

/// The register of a counter that belongs to an activation of a function.
pub(super) fn counter(name: &str, function: usize) -> String {
    format!("{name}@{function}")
}

/// The registers of one function: its counters have no number in their names.
pub(super) fn with_counters(registers: &Registers, function: usize) -> Registers {
    let mut out = registers.clone();
    let suffix = counter("", function);
    let own = |name: &String| match name.split_once('@') {
        Some((own, _)) => name.ends_with(&suffix).then(|| own.to_owned()),
        None => Some(name.clone()),
    };
    out.state = registers.state.iter().filter_map(|(name, place)| Some((own(name)?, *place))).collect();
    out.spill = registers.spill.as_ref().map(|spill| {
        let state = spill.state.iter().filter_map(|(name, home)| Some((own(name)?, *home)));
        Rc::new(spill.with_state(state))
    });
    out
}

pub(super) fn by_place(insertions: &[Insertion]) -> FxHashMap<At, Vec<Insertion>> {
    let mut out: FxHashMap<At, Vec<Insertion>> = FxHashMap::default();
    for insertion in insertions {
        out.entry(insertion.at).or_default().push(insertion.clone());
    }
    out
}

/// Where lanes wait that a branch on EXEC skips; `None` for other instructions.
pub(super) fn waits_at(function: &Function, exec: Option<view::Reg>, at: usize) -> Option<usize> {
    let inst = function.insts.get(at)?;
    let native = inst.semantics.native.get::<Native>()?;
    // Other branches on EXEC are decisions of the whole wave.
    inst.guard.filter(|guard| Some(guard.reg) == exec)?;
    match native.inst.name() {
        "s_cbranch_execz" => first_of(function, inst),
        "s_cbranch_execnz" => Some(at + 1),
        _ => None,
    }
}

/// The first instruction of the block that a branch goes to.
pub(super) fn first_of(function: &Function, inst: &view::Inst) -> Option<usize> {
    let label = inst.operands.iter().zip(&inst.roles).find_map(|(operand, role)| match (operand, role) {
        (Operand::Label(block), Role::Target) => Some(*block),
        _ => None,
    });
    Some(function.blocks.get(label?.index())?.insts.start as usize)
}

/// By instruction, and behind the last one: whether SCC may be read before it is written, from there on.
/// Blocks behind this one are assumed to read it.
pub(super) fn scc_is_live(function: &Function) -> Vec<bool> {
    let mut out = vec![false; function.insts.len() + 1];
    for (at, inst) in function.insts.iter().enumerate().rev() {
        let behind = out[at + 1];
        let Some(native) = inst.semantics.native.get::<Native>() else {
            out[at] = behind;
            continue;
        };
        let leaves = || matches!(inst.class, Class::Branch | Class::Call | Class::Return | Class::Exit);
        out[at] = native.inst.registers().is_none_or(|registers| {
            let written = registers.writes.contains(&Reg::Scc);
            let ends = written || native.inst.class() == Some(MachineClass::End);
            registers.reads.contains(&Reg::Scc) || !ends && (leaves() || behind)
        });
    }
    out
}

/// A function that is copied.
pub(super) struct CopiedFunction<'c> {
    /// View of the original.
    pub(super) function: &'c Function,
    /// Its registers, by name and whether it is a predicate.
    pub(super) names: FxHashMap<(String, bool), Register>,
    /// Registers of the code that is inserted into it.
    pub(super) registers: Registers,
    /// Where what is live between pieces of it lies.
    pub(super) homes: Rc<Homes>,
    /// What is inserted, by place.
    pub(super) insertions: FxHashMap<At, Vec<Insertion>>,
    /// By instruction: the place of its copy, and of what is inserted before it.
    pub(super) labels: Vec<Label>,
    /// Instructions that branches go to, if those are by address and scalar registers are borrowed: where
    /// such branches arrive.
    pub(super) landings: FxHashMap<usize, Label>,
    /// Instructions before which lanes wait for their wave, with the number of the place.
    pub(super) waits: FxHashMap<usize, u32>,
    /// By instruction: whether SCC may be read before it is written, from there on.
    pub(super) scc_is_live: Vec<bool>,
    /// Registers that hold something, if that is asked.
    pub(super) places: Option<Places>,
    /// The register of the view that is EXEC.
    pub(super) exec: Option<view::Reg>,
    /// Its number in the view.
    pub(super) f: usize,
}

impl CopiedFunction<'_> {
    /// Where the lanes wait that a branch on EXEC skips.
    pub(super) fn leaves(&self, at: usize) -> Option<usize> {
        waits_at(self.function, self.exec, at)
    }

    /// Registers before an instruction, behind what is inserted behind the one before it; of no instruction,
    /// at the function's begin.
    pub(super) fn place(&self, before: Option<usize>) -> Place {
        let all = self.places.as_ref().map(|places| before.map_or(places.at_entry(), |at| places.before(at)));
        all.unwrap_or(Place::UNKNOWN)
    }

    /// A reason with the place of the inserted code that is refused for it.
    pub(super) fn located(&self, before: Option<usize>, why: Misfit) -> Misfit {
        let Misfit::Other(what) = why else { return why };
        let native = |at: usize| self.function.insts.get(at)?.semantics.native.get::<Native>();
        Misfit::Other(match before.map(|at| native(at).or_else(|| native(at.checked_sub(1)?))) {
            Some(Some(native)) => format!("{what}, at `{}` ({:#x})", native.inst.print(), native.address),
            _ => format!("{what}, where the function begins"),
        })
    }

    pub(super) fn label_of(&self, inst: &view::Inst) -> Option<Label> {
        self.labels.get(first_of(self.function, inst)?).copied()
    }

    pub(super) fn landing_of(&self, inst: &view::Inst) -> Option<Label> {
        self.landings.get(&first_of(self.function, inst)?).copied()
    }

    pub(super) fn target(&self, at: usize) -> Option<usize> {
        first_of(self.function, self.function.insts.get(at)?)
    }

    /// `s_clause` instructions whose clause would have insertions in it.
    pub(super) fn broken_clauses(&self) -> FxHashSet<usize> {
        let mut out = FxHashSet::default();
        for (at, inst) in self.function.insts.iter().enumerate() {
            let native = inst.semantics.native.get::<Native>();
            let Some(native) = native.filter(|n| n.inst.name() == "s_clause") else { continue };
            let length = native.inst.words().first().map_or(0, |word| word & 0x3f) as usize + 1;
            let inside = at + 1..(at + 1 + length).min(self.function.insts.len());
            let has = |place| self.insertions.contains_key(&place);
            let broken = has(At::After(InstId(at as u32)))
                || inside.clone().any(|i| {
                    let id = InstId(i as u32);
                    has(At::Before(id))
                        || i + 1 < inside.end && has(At::After(id))
                        || self.waits.contains_key(&i)
                });
            if broken {
                out.insert(at);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use prlx_isa::amdgpu::Native;
    use prlx_isa::amdgpu::object::CodeObject;

    #[test]
    fn scc_is_live_where_a_back_edge_leads_to_its_reader() {
        for target in ["gfx90a", "gfx942", "gfx1030", "gfx1100"] {
            let root = env!("CARGO_MANIFEST_DIR");
            let bytes = std::fs::read(format!("{root}/../../tests/kernels/amd/full.{target}.co")).unwrap();
            let module = prlx_isa::amdgpu::read(&CodeObject::read(&bytes).unwrap()).unwrap();
            let flags = module.functions.iter().find(|f| f.name == "flags").unwrap();
            let live = super::scc_is_live(flags);
            let place = |text: &str| {
                let is_it = |inst: &prlx_isa::view::Inst| {
                    inst.semantics.native.get::<Native>().is_some_and(|n| n.inst.print().starts_with(text))
                };
                flags.insts.iter().position(is_it).unwrap()
            };
            // The loop begins with `s_cselect_b32`. It is reached from above, and by `s_branch`.
            assert!(live[place("s_cselect_b32 s12")] && live[place("s_branch")], "{target}");
            assert!(!live[place("s_bitcmp1_b32")] && !live[place("s_cmp_eq_u32 s10")], "{target}");
        }
    }
}
