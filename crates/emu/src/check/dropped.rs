//! Loads whose value is only ever stored, and the stores that use it.
//!
//! With fewer elements than threads, compilers such as Triton's let several threads compute one element, and
//! let one of them store it. The other threads may then read what that thread has stored, but drop the value.
//! The race check reports such a read only when its thread stores a value that comes from it.
//!
//! # Invariants
//! Values are followed through registers without regard to the order of instructions. A value that reaches
//! anything but arithmetic, warp exchanges and stores counts as used when it is loaded: an address, a branch,
//! an atomic, a matrix operation, the carry flag, or a guard of anything else.
//!
//! # Limitations
//! - A lane that has once stored a value of a load uses all values of that load.
//! - After an exchange, a store of any lane of the warp uses the values of all its lanes.

use prlx_isa::cfg::Cfg;
use prlx_isa::ptx::{Op as Ptx, opcode};
use prlx_isa::view::{Class, FuncId, Function, Inst, InstId, Operand, Reg, Type};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::code::{Code, Op};
use crate::exec::launch::Launch;

/// Visits of instructions after which the remaining loads count as used.
const MOST_VISITS: usize = 10_000_000;

/// How a store uses the value of a load.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flow {
    /// The step of the load.
    pub load: u32,
    /// The value may come from another lane of the warp.
    pub crosses: bool,
    /// The value decides the guard of the store. It then matters in the lanes where all these predicate
    /// planes are true; otherwise it matters in the lanes that execute the store.
    pub guard: Option<Vec<u16>>,
}

/// The loads of a kernel whose values are only stored.
#[derive(Debug, Default)]
pub struct StoredOnly {
    loads: FxHashSet<u32>,
    stores: FxHashMap<u32, Vec<Flow>>,
}

impl StoredOnly {
    /// Finds the loads of a launch.
    pub fn of(launch: &Launch<'_>) -> StoredOnly {
        let code = launch.code;
        let mut found = StoredOnly::default();
        let mut steps: FxHashMap<(FuncId, InstId), u32> = FxHashMap::default();
        let mut loads: Vec<Vec<(u32, InstId)>> = vec![Vec::new(); launch.module.functions.len()];
        for (n, (step, &at)) in code.steps.iter().zip(&code.origin).enumerate() {
            if step.cost > 0 {
                steps.insert(at, n as u32);
                if let (Op::Ld(i), Some(loads)) = (step.op, loads.get_mut(at.0.index()))
                    && !code.mems[i as usize].strong
                {
                    loads.push((n as u32, at.1));
                }
            }
        }
        let mut left = MOST_VISITS;
        for (func, loads) in loads.iter().enumerate().filter(|(_, loads)| !loads.is_empty()) {
            let mut search = Search::new(&launch.module.functions[func], code, func);
            for &(load, inst) in loads {
                let Some(flows) = search.flows(inst, &mut left) else { continue };
                found.loads.insert(load);
                for (store, crosses, guard) in flows {
                    if let Some(&step) = steps.get(&(FuncId(func as u32), store)) {
                        found.stores.entry(step).or_default().push(Flow { load, crosses, guard });
                    }
                }
            }
        }
        found
    }
    /// Whether the value that a step loads is only stored.
    pub fn has(&self, load: u32) -> bool {
        self.loads.contains(&load)
    }
    /// The loads whose values a store uses.
    pub fn of_store(&self, store: u32) -> &[Flow] {
        self.stores.get(&store).map_or(&[], Vec::as_slice)
    }
}

/// Follows values through a function.
struct Search<'a> {
    f: &'a Function,
    planes: &'a [u16],
    cfg: Cfg,
    /// By register: the instructions that read it.
    readers: Vec<Vec<InstId>>,
    /// By register: its only writer, if there is one.
    writer: Vec<Option<InstId>>,
    /// By register: the last search that reached it.
    reached: Vec<u32>,
    search: u32,
}

/// A store that uses a value, whether the value crosses lanes, and the condition ([`Flow::guard`]).
type StoreUse = (InstId, bool, Option<Vec<u16>>);

impl<'a> Search<'a> {
    fn new(f: &'a Function, code: &'a Code, func: usize) -> Search<'a> {
        let n = f.regs.len();
        let (mut readers, mut writers) = (vec![Vec::new(); n], vec![Vec::new(); n]);
        for (i, inst) in f.insts.iter().enumerate() {
            inst.for_each_reg(&mut |r, read, written| {
                for (list, is) in [(&mut readers, read), (&mut writers, written)] {
                    if is && list[r.index()].last() != Some(&InstId(i as u32)) {
                        list[r.index()].push(InstId(i as u32));
                    }
                }
            });
        }
        let writer = writers.iter().map(|all| if let [one] = all[..] { Some(one) } else { None }).collect();
        let planes = code.planes_of(FuncId(func as u32));
        Search { f, planes, cfg: Cfg::of(f), readers, writer, reached: vec![0; n], search: 0 }
    }
    /// The stores that use what an instruction loads; `None` if the value may be used otherwise, or not at
    /// all.
    fn flows(&mut self, load: InstId, left: &mut usize) -> Option<Vec<StoreUse>> {
        self.search += 1;
        let mut rest = Vec::new();
        self.reach(load, &mut rest);
        let mut stores = Vec::new();
        let mut crosses = false;
        while let Some(reg) = rest.pop() {
            for at in 0..self.readers[reg.index()].len() {
                *left = left.checked_sub(1)?;
                let reader = self.readers[reg.index()][at];
                let inst = &self.f.insts[reader.index()];
                match inst.class {
                    Class::Store if opcode(inst).op == Some(Ptx::St) => stores.push(reader),
                    Class::Warp => {
                        crosses = true;
                        self.reach(reader, &mut rest);
                    }
                    _ if arithmetic(inst) => self.reach(reader, &mut rest),
                    _ => return None,
                }
            }
        }
        stores.sort_unstable();
        stores.dedup();
        let uses = stores.into_iter().map(|store| Some((store, crosses, self.condition(store)?)));
        uses.collect::<Option<Vec<StoreUse>>>().filter(|uses| !uses.is_empty())
    }
    fn reach(&mut self, inst: InstId, rest: &mut Vec<Reg>) {
        self.f.insts[inst.index()].for_each_reg(&mut |r, _, written| {
            if written && std::mem::replace(&mut self.reached[r.index()], self.search) != self.search {
                rest.push(r);
            }
        });
    }
    fn has_reached(&self, r: Reg) -> bool {
        self.reached[r.index()] == self.search
    }
    /// The condition of a store's use ([`Flow::guard`]); `None` if the value is used in every lane.
    fn condition(&self, store: InstId) -> Option<Option<Vec<u16>>> {
        let inst = &self.f.insts[store.index()];
        let (address, stored) = inst.operands.split_first()?;
        let mut in_address = false;
        address.for_each_reg(inst.roles[0], &mut |r, _, _| in_address |= self.has_reached(r));
        if in_address || stored.len() != 1 {
            return None;
        }
        match inst.guard.filter(|g| self.has_reached(g.reg)) {
            None => Some(None),
            Some(guard) if guard.negate => None,
            Some(guard) => {
                let mut planes = Vec::new();
                self.conjuncts(guard.reg, store, &mut planes)?;
                (!planes.is_empty()).then_some(Some(planes))
            }
        }
    }
    /// Adds the predicates that must be true for a reached predicate to be true, and that the value does not
    /// decide. They keep until `user` the value that they had when the predicate was computed.
    fn conjuncts(&self, reg: Reg, user: InstId, planes: &mut Vec<u16>) -> Option<()> {
        let mut rest = vec![(reg, user)];
        while let Some((reg, user)) = rest.pop() {
            let writer = self.writer[reg.index()]?;
            let (from, to) = (self.f.insts.get(writer.index())?, &self.f.insts[user.index()]);
            if self.cfg.innermost[from.block.index()].is_some() && (from.block != to.block || writer >= user)
            {
                return None;
            }
            if !self.has_reached(reg) {
                planes.push(*self.planes.get(reg.index())?);
            } else if opcode(from).op == Some(Ptx::And)
                && opcode(from).types.first() == Some(&Type::Pred)
                && from.guard.is_none()
            {
                for operand in from.operands.get(1..)? {
                    match operand {
                        Operand::Reg(r) => rest.push((*r, writer)),
                        _ => return None,
                    }
                }
            }
        }
        Some(())
    }
}

/// Whether an instruction only computes registers from registers.
fn arithmetic(i: &Inst) -> bool {
    use Class::{Compare, Convert, Float, Integer, Move, Select};
    let plain = matches!(i.class, Move | Integer | Float | Convert | Compare | Select);
    let carries = opcode(i).has("cc") || matches!(opcode(i).op, Some(Ptx::Addc | Ptx::Subc | Ptx::Madc));
    plain && !carries && opcode(i).op != Some(Ptx::Alloca)
}
