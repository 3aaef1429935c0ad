//! Finds parameters that a kernel uses as numbers, and never as addresses. PTX declares both alike.
//!
//! A set of parameters follows each register. Copies, sums, selections and conversions pass it on. A
//! parameter is a number if the kernel multiplies it, shifts it left, divides by it, orders it, or converts
//! it to a floating-point number, and if it reaches no address, no memory and no call.
//!
//! # Invariants
//! When in doubt, a parameter is no number: an array must never be refused where it may be right. A
//! difference of two pointers that is multiplied, and an order of two pointers, are no evidence.
//!
//! # Limitations
//! A number that is only stored, or added to an address without a multiplication, is not found.

use std::collections::BTreeSet;

use prlx_isa::ptx::opcode;
use prlx_isa::view::{Base, Class, Eval, Function, Inst, Operand, Reg, Role};

/// Values that are no parameters and may be addresses: of variables, or loaded from memory.
const OTHER: usize = usize::MAX;

/// By parameter of the kernel: whether it is used as a number only.
pub fn numbers(kernel: &Function) -> Vec<bool> {
    let mut flow = Flow { kernel, of: vec![BTreeSet::new(); kernel.regs.len()] };
    let mut more = true;
    while more {
        more = false;
        for inst in &kernel.insts {
            more |= flow.step(inst);
        }
    }
    let (mut numbers, mut escaped) = (BTreeSet::new(), BTreeSet::new());
    for inst in &kernel.insts {
        flow.evidence(inst, &mut numbers);
        flow.escapes(inst, &mut escaped);
    }
    (0..kernel.params.len()).map(|i| numbers.contains(&i) && !escaped.contains(&i)).collect()
}

/// The parameters that may be part of an address in each register.
struct Flow<'a> {
    kernel: &'a Function,
    of: Vec<BTreeSet<usize>>,
}

impl Flow<'_> {
    /// Follows one instruction. Returns whether something new was found.
    fn step(&mut self, inst: &Inst) -> bool {
        let mut from = BTreeSet::new();
        if inst.eval.is_some_and(|(eval, _)| eval == Eval::LoadParam) {
            from.extend(self.parameters(inst));
        } else if is_followed(inst.class) {
            self.passed(inst).for_each(|r| from.extend(&self.of[r.index()]));
            if inst.operands.iter().any(|o| matches!(o, Operand::Symbol(..))) {
                from.insert(OTHER);
            }
        } else {
            from.insert(OTHER);
        }
        let mut more = false;
        for reg in inst.defs() {
            let before = self.of[reg.index()].len();
            self.of[reg.index()].extend(&from);
            more |= self.of[reg.index()].len() > before;
        }
        more
    }

    /// The registers whose value the result may have, or may have with an offset.
    fn passed(&self, inst: &Inst) -> impl Iterator<Item = Reg> {
        use Eval::{Clz, Div, Eq, Ge, Gt, Le, Lt, Mad, MadWide, Mul, MulHi, MulWide, Ne, Popc, Rem, Shl};
        let factors = match inst.eval {
            _ if matches!(inst.class, Class::Compare | Class::Float) || to_float(inst) => usize::MAX,
            Some((Mad | MadWide, _)) => 3,
            Some((Mul | MulHi | MulWide | Div | Rem | Shl | Popc | Clz, _)) => usize::MAX,
            Some((Eq | Ne | Lt | Le | Gt | Ge, _)) => usize::MAX,
            _ => 0,
        };
        registers(inst, factors)
    }

    /// Adds the parameters that an instruction shows to be numbers.
    fn evidence(&self, inst: &Inst, numbers: &mut BTreeSet<usize>) {
        let operand = |i: usize| inst.operands.get(i).map(|o| self.in_operand(o)).unwrap_or_default();
        let shown = match inst.eval {
            _ if to_float(inst) => vec![operand(1)],
            Some((Eval::Mul | Eval::MulHi | Eval::MulWide | Eval::Mad | Eval::MadWide, _)) => {
                vec![operand(1), operand(2)]
            }
            Some((Eval::Shl, _)) => vec![operand(1)],
            Some((Eval::Div | Eval::Rem, _)) => vec![operand(2)],
            // The order of two pointers says nothing about either.
            Some((Eval::Lt | Eval::Le | Eval::Gt | Eval::Ge, _)) => match (operand(1), operand(2)) {
                (a, b) if a.is_empty() || b.is_empty() => vec![a, b],
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        numbers.extend(shown.iter().filter(|of| of.len() == 1).flatten());
    }

    /// Adds the parameters that an instruction may use as addresses, or puts where they are not followed.
    fn escapes(&self, inst: &Inst, escaped: &mut BTreeSet<usize>) {
        if inst.eval.is_none_or(|(eval, _)| eval != Eval::LoadParam) {
            // Their bytes are read in another way.
            escaped.extend(self.parameters(inst));
        }
        for (operand, role) in inst.operands.iter().zip(&inst.roles) {
            let addresses = matches!(operand, Operand::Address(..) | Operand::Tensor(..));
            if *role != Role::Def && (!is_followed(inst.class) || *role == Role::Addr || addresses) {
                escaped.extend(self.in_operand(operand));
            }
        }
    }

    /// The parameters whose addresses the operands name.
    fn parameters(&self, inst: &Inst) -> Vec<usize> {
        let named = inst.operands.iter().filter_map(|o| match o {
            Operand::Address(Base::Symbol(s), _) | Operand::Symbol(s, _) => Some(s),
            _ => None,
        });
        named.filter_map(|s| self.kernel.params.iter().position(|p| p == s)).collect()
    }

    fn in_operand(&self, operand: &Operand) -> BTreeSet<usize> {
        let mut all = BTreeSet::new();
        operand.for_each_reg(Role::Use, &mut |reg, _, _| all.extend(&self.of[reg.index()]));
        all
    }
}

/// Whether the results of such an instruction depend on its operands alone.
fn is_followed(class: Class) -> bool {
    use Class::{Compare, Convert, Float, Integer, Move, Select};
    matches!(class, Move | Integer | Float | Convert | Compare | Select)
}

/// Whether an instruction converts its operand to a floating-point number.
fn to_float(inst: &Inst) -> bool {
    inst.class == Class::Convert && opcode(inst).types.first().is_some_and(|ty| ty.is_float())
}

/// The registers that an instruction reads from its operand number `first` on; the result is number 0.
fn registers(inst: &Inst, first: usize) -> impl Iterator<Item = Reg> {
    let mut all = Vec::new();
    for (operand, role) in inst.operands.iter().zip(&inst.roles).skip(first) {
        operand.for_each_reg(*role, &mut |reg, read, _| all.extend(read.then_some(reg)));
    }
    all.into_iter()
}
