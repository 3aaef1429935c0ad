//! What checks must know of each step and its instruction, looked up once for each launch.

use std::ops::Range;

use prlx_isa::ptx::Op as Ptx;
use prlx_isa::view::{Function, Inst, Operand, Reg, Role};

use crate::code::Code;
use crate::cta::Launch;

/// One step. Registers are numbers into all functions' registers, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Fact {
    /// The step is its instruction, not something around it.
    pub main: bool,
    /// The guard.
    pub guard: Option<u32>,
    /// Registers of addresses.
    pub addr: Range<u32>,
    /// Registers read, but for those two.
    pub uses: Range<u32>,
    /// Registers written.
    pub defs: Range<u32>,
    /// A choice between the first two of `uses` by the third.
    pub select: bool,
}

/// All steps of a kernel.
#[derive(Debug, Default)]
pub struct Facts {
    steps: Vec<Fact>,
    pool: Vec<u32>,
    /// By function: its first register.
    first: Vec<u32>,
    /// How many registers there are.
    pub registers: u32,
}

impl Facts {
    /// Of a kernel.
    pub fn of(launch: &Launch<'_>) -> Facts {
        let mut facts = Facts::default();
        for f in &launch.module.functions {
            facts.first.push(facts.registers);
            facts.registers += f.regs.len() as u32;
        }
        let code: &Code = launch.code;
        for (step, &(func, inst)) in code.steps.iter().zip(&code.origin) {
            let i = launch.module.functions.get(func.index()).and_then(|f| f.insts.get(inst.index()));
            let fact = match i {
                Some(i) if step.cost > 0 => facts.fact(facts.first[func.index()], i),
                _ => Fact::default(),
            };
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
        let plain = i.operands.iter().skip(1).all(|o| matches!(o, Operand::Reg(_)));
        Fact {
            main: true,
            guard: i.guard.map(|g| number(g.reg)),
            addr: self.keep(addr),
            uses: self.keep(uses),
            defs: self.keep(defs),
            select: i.form.op == Some(Ptx::Selp) && plain && i.operands.len() == 4,
        }
    }
    fn keep(&mut self, regs: Vec<u32>) -> Range<u32> {
        let from = self.pool.len() as u32;
        self.pool.extend(regs);
        from..self.pool.len() as u32
    }
    /// A step.
    pub fn at(&self, step: u32) -> &Fact {
        &self.steps[step as usize]
    }
    /// The registers of a range.
    pub fn regs(&self, range: &Range<u32>) -> &[u32] {
        &self.pool[range.start as usize..range.end as usize]
    }
    /// The registers of a function.
    pub fn of_function(&self, func: usize, f: &Function) -> Range<u32> {
        self.first[func]..self.first[func] + f.regs.len() as u32
    }
    /// The name of a register.
    pub fn name<'a>(&self, launch: &'a Launch<'_>, reg: u32) -> &'a str {
        let func = self.first.partition_point(|&f| f <= reg).saturating_sub(1);
        let regs = launch.module.functions.get(func).map(|f| &f.regs);
        regs.and_then(|r| r.get((reg - self.first[func]) as usize)).map_or("?", |r| r.name.as_str())
    }
}
