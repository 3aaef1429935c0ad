//! Facts about each step and its instruction that the checks need, computed once per launch.

use std::ops::Range;

use prlx_isa::amdgpu::Native;
use prlx_isa::ptx::{Op as Ptx, opcode};
use prlx_isa::view::{Class, Function, Inst, InstId, Operand, Order, Reg, Role, Scope, Space};

use crate::code::{Code, Op};
use crate::exec::launch::Launch;

use super::bit_rules::BitRule;
use super::{cas_reads, volatile};

/// The facts of a step. Registers are numbered across all functions, one function after the other.
#[derive(Clone, Debug, Default)]
pub struct Fact {
    /// Whether the step is the instruction itself; else it is a step around it.
    pub main: bool,
    /// The predicate register of the guard.
    pub guard: Option<u32>,
    /// Registers of addresses.
    pub addr: Range<u32>,
    /// The other registers that the instruction reads.
    pub uses: Range<u32>,
    /// The registers that the instruction writes, as a range of the table.
    pub defs: Range<u32>,
    /// The register of each element that a store writes; `u32::MAX` for a constant.
    pub elements: Range<u32>,
    /// What the instruction does with undefined bits; `None`: all of its result is undefined if a source is.
    pub bits: Option<Box<BitRule>>,
    /// A volatile load or store.
    pub volatile: bool,
    /// A volatile load that polls a flag.
    pub polls: bool,
    /// An ordinary load whose value a compare-and-swap of the same word checks.
    pub checked: bool,
    /// The loaded value extends by its sign.
    pub signed: bool,
    /// How the instruction orders memory accesses.
    pub order: Order,
    /// A store to global memory that may be atomic, in a module with atomic loads: the target's code does not
    /// tell.
    pub unmarked: bool,
}

/// The facts of all steps of a kernel.
#[derive(Debug, Default)]
pub struct Facts {
    steps: Vec<Fact>,
    pool: Vec<u32>,
    /// The number of the first register of each function.
    first: Vec<u32>,
    /// The number of registers of all functions.
    pub registers: u32,
}

/// Whether an instruction is a store to global memory that may be atomic.
fn is_unmarked(i: &Inst) -> bool {
    let native = i.semantics.native.get::<Native>();
    i.class == Class::Store
        && matches!(i.space, Space::Global | Space::Generic)
        && native.is_some_and(|n| !n.inst.target().marks_atomic_stores())
}

impl Facts {
    /// Computes the facts of every step of a kernel.
    pub fn of(launch: &Launch<'_>) -> Facts {
        let mut facts = Facts::default();
        for f in &launch.module.functions {
            facts.first.push(facts.registers);
            facts.registers += f.regs.len() as u32;
        }
        let code: &Code = launch.code;
        let mut all = launch.module.functions.iter().flat_map(|f| &f.insts);
        let atomic_loads = all.any(|i| i.class == Class::Load && i.semantics.order.strong);
        let polls: Vec<Vec<InstId>> = launch.module.functions.iter().map(volatile::polls).collect();
        let checked: Vec<Vec<InstId>> = launch.module.functions.iter().map(cas_reads::checked).collect();
        for (step, &(func, inst)) in code.steps.iter().zip(&code.origin) {
            let i = launch.module.functions.get(func.index()).and_then(|f| f.insts.get(inst.index()));
            let is_checked = checked.get(func.index()).is_some_and(|all| all.contains(&inst));
            let mut fact = match i {
                Some(i) if step.cost > 0 => {
                    let mut fact = facts.fact(facts.first[func.index()], i);
                    let planes = code.planes_of(func);
                    let function = &launch.module.functions[func.index()];
                    fact.polls = polls[func.index()].contains(&inst);
                    fact.bits = BitRule::of(i, function, facts.first[func.index()], planes).map(Box::new);
                    fact
                }
                // An access of several words has a step for each.
                Some(i) if matches!(step.op, Op::Ld(_) | Op::St(_)) => {
                    Fact { order: i.semantics.order, ..Fact::default() }
                }
                _ => Fact::default(),
            };
            fact.checked = is_checked;
            if atomic_loads && i.is_some_and(is_unmarked) {
                (fact.unmarked, fact.order.scope) = (true, Scope::Gpu);
            }
            facts.steps.push(fact);
        }
        facts
    }
    fn fact(&mut self, first: u32, i: &Inst) -> Fact {
        let number = |r: Reg| first + r.index() as u32;
        let (mut addr, mut uses, mut defs) = (Vec::new(), Vec::new(), Vec::new());
        for (operand, &role) in i.operands.iter().zip(&i.roles) {
            let address = matches!(operand, Operand::Address(..) | Operand::Tensor(..)) || role == Role::Addr;
            operand.for_each_reg(role, &mut |r, read, written| {
                if read {
                    if address { addr.push(number(r)) } else { uses.push(number(r)) }
                }
                if written {
                    defs.push(number(r));
                }
            });
        }
        let stored = match i.operands.last() {
            Some(Operand::Vector(all)) if opcode(i).op == Some(Ptx::St) => all.as_slice(),
            Some(one) if opcode(i).op == Some(Ptx::St) => std::slice::from_ref(one),
            _ => &[],
        };
        let elements = stored.iter().map(|o| if let Operand::Reg(r) = o { number(*r) } else { u32::MAX });
        let elements = elements.collect();
        Fact {
            main: true,
            guard: i.guard.map(|g| number(g.reg)),
            addr: self.keep(addr),
            uses: self.keep(uses),
            defs: self.keep(defs),
            elements: self.keep(elements),
            bits: None,
            volatile: matches!(opcode(i).op, Some(Ptx::Ld | Ptx::St)) && opcode(i).has("volatile"),
            polls: false,
            checked: false,
            signed: opcode(i).types.first().is_some_and(|t| t.is_signed() && t.is_integer()),
            order: i.semantics.order,
            unmarked: false,
        }
    }
    fn keep(&mut self, regs: Vec<u32>) -> Range<u32> {
        let from = self.pool.len() as u32;
        self.pool.extend(regs);
        from..self.pool.len() as u32
    }
    /// The facts of a step.
    pub fn at(&self, step: u32) -> &Fact {
        &self.steps[step as usize]
    }
    /// The registers of a range.
    pub fn regs(&self, range: &Range<u32>) -> &[u32] {
        &self.pool[range.start as usize..range.end as usize]
    }
    /// The registers of an operand of a step's instruction.
    pub fn operand(&self, launch: &Launch<'_>, step: u32, n: usize) -> Vec<u32> {
        let mut all = Vec::new();
        let origin = launch.code.origin.get(step as usize);
        let inst = origin.and_then(|&(f, i)| launch.module.functions.get(f.index())?.insts.get(i.index()));
        if let (Some(&(func, _)), Some(i)) = (origin, inst)
            && let (Some(operand), Some(&role)) = (i.operands.get(n), i.roles.get(n))
        {
            operand.for_each_reg(role, &mut |r, _, _| all.push(self.first[func.index()] + r.index() as u32));
        }
        all
    }
    /// The registers of a function.
    pub fn of_function(&self, func: usize, f: &Function) -> Range<u32> {
        self.first[func]..self.first[func] + f.regs.len() as u32
    }
    /// The width of a register in bits.
    pub fn width(&self, launch: &Launch<'_>, reg: u32) -> u32 {
        let func = self.first.partition_point(|&f| f <= reg).saturating_sub(1);
        let regs = launch.module.functions.get(func).map(|f| &f.regs);
        regs.and_then(|r| r.get((reg - self.first[func]) as usize)).map_or(64, |r| r.ty.bits())
    }
    /// The name of a register.
    pub fn name<'a>(&self, launch: &'a Launch<'_>, reg: u32) -> &'a str {
        let func = self.first.partition_point(|&f| f <= reg).saturating_sub(1);
        let regs = launch.module.functions.get(func).map(|f| &f.regs);
        regs.and_then(|r| r.get((reg - self.first[func]) as usize)).map_or("?", |r| r.name.as_str())
    }
}
