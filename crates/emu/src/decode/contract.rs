//! Finds the multiplications and additions of a function that the assembler fuses.
//!
//! `ptxas` fuses a multiplication and an addition into one fused multiply-add by default (`--fmad=true`),
//! which rounds once instead of twice. The PTX ISA allows it where neither instruction names a rounding mode.
//! The rule here was found from the machine code of ptxas 12.8 and 13.0, which agree on it for sm_75 to
//! sm_120:
//!
//! - The multiplication has no rounding mode, no `.sat` and no guard, and not both factors are constants. The
//!   addition or subtraction has no rounding mode, the same type and the same `.ftz`.
//! - All uses of the product are such additions in the same basic block, each with the product as one operand
//!   only. Moves and negations of the product are looked through, and instructions without effect do not
//!   count.
//! - Blocks that only follow each other count as one block. A call ends a block.
//! - If both operands of an addition are products, the one with fewer uses is fused; of equals, the left one.
//!   The other product is then an addend, and is not fused anywhere later. Products with a single use go
//!   first.
//!
//! # Invariants
//! Instructions that PRLX inserted do not count, so that an instrumented kernel computes what the plain one
//! computes.
//!
//! # Limitations
//! - ptxas decides after it has unrolled loops and inlined functions. Products that a loop carries from one
//!   iteration to the next, and products that a function returns, may then be fused and are not fused here.
//! - ptxas also fuses the last multiplication of an approximate division (`div.full`, `div.approx`) with an
//!   addition.
//! - With `-O0`, ptxas fuses nothing. Modules for debugging (`-G`) are known by their `.target`, the option
//!   is not.

use prlx_isa::cfg::Cfg;
use prlx_isa::dataflow::{Def, DefUse};
use prlx_isa::ptx::{Op, opcode};
use prlx_isa::view::{Class, Function, Inst, InstId, Operand, Reg, Type};
use rustc_hash::FxHashMap;

use super::regions::{self, Position};

/// Maximum number of moves and negations between a product and its use.
const ALIASES: u32 = 16;

/// Maximum number of instructions that are looked at to see whether a value is used.
const USERS: u32 = 64;

/// An addition that is fused with the product of an earlier multiplication.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fusion {
    /// The multiplication whose product is added.
    pub product: InstId,
    /// Whether the product is negated.
    pub negate_product: bool,
    /// Index of the addend among the operands of the addition.
    pub addend: usize,
    /// Whether the addend is negated.
    pub negate_addend: bool,
}

/// The fused operations of a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Contraction {
    /// By addition: what it is fused with.
    pub fusions: FxHashMap<InstId, Fusion>,
    /// Factors of fused products that are overwritten before the last fused addition, by multiplication: the
    /// index of the operand.
    pub overwritten: FxHashMap<InstId, Vec<usize>>,
    /// Number of multiplications whose product could be fused, as far as their own form says.
    pub candidates: usize,
}

/// The fused operations of a function.
pub fn contraction(f: &Function) -> Contraction {
    let mut out = Contraction::default();
    let products: Vec<InstId> = ids(f).filter(|id| f.insts.get(id.index()).is_some_and(is_product)).collect();
    out.candidates = products.len();
    if products.is_empty()
        || !f.insts.iter().any(|i| matches!(opcode(i).op, Some(Op::Add | Op::Sub)) && is_sum(i))
    {
        return out;
    }
    let inserted: Vec<bool> = f.insts.iter().map(|i| is_inserted(f, i)).collect();
    let flow = DefUse::of(f, &Cfg::of(f));
    let finder = Finder { f, flow, positions: regions::positions(f, &inserted), inserted };
    let mut products: Vec<Product> = products.into_iter().filter_map(|id| finder.product(id)).collect();
    finder.fuse(&mut products, &mut out);
    finder.overwritten(&mut out);
    out
}

fn ids(f: &Function) -> impl Iterator<Item = InstId> + use<> {
    (0..f.insts.len() as u32).map(InstId)
}

/// Whether PRLX inserted an instruction: such instructions name registers with a prefix of their own.
fn is_inserted(f: &Function, inst: &Inst) -> bool {
    let own = |r: Reg| f.regs.get(r.index()).is_some_and(|r| r.name.starts_with("%prlx"));
    let mut found = inst.guard.is_some_and(|g| own(g.reg));
    inst.for_each_reg(&mut |r, _, _| found |= own(r));
    found
}

/// The type of an operation, if it is one that ptxas fuses.
fn fused_type(inst: &Inst) -> Option<Type> {
    let [ty] = opcode(inst).types[..] else { return None };
    matches!(ty, Type::F32 | Type::F64 | Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2).then_some(ty)
}

fn is_product(inst: &Inst) -> bool {
    opcode(inst).op == Some(Op::Mul)
        && inst.guard.is_none()
        && fused_type(inst).is_some()
        && opcode(inst).mods.iter().all(|m| m == "ftz")
        && matches!(inst.operands[..], [Operand::Reg(_), _, _])
}

fn is_sum(inst: &Inst) -> bool {
    matches!(opcode(inst).op, Some(Op::Add | Op::Sub))
        && fused_type(inst).is_some()
        && opcode(inst).mods.iter().all(|m| m == "ftz" || m == "sat")
        && inst.operands.len() == 3
}

/// An addition, the operand that is the product, and whether the product is negated there.
type Use = (InstId, usize, bool);

/// A use of a product, with the index of the product in place of the addition.
type ProductUse = (usize, usize, bool);

/// A product, and the additions that use it.
struct Product {
    at: InstId,
    uses: Vec<Use>,
    /// The product is an addend of a fused addition: it is needed as such.
    addend: bool,
}

struct Finder<'a> {
    f: &'a Function,
    flow: DefUse,
    inserted: Vec<bool>,
    positions: Vec<Position>,
}

impl Finder<'_> {
    fn inst(&self, id: InstId) -> Option<&Inst> {
        self.f.insts.get(id.index())
    }

    fn position(&self, id: InstId) -> Position {
        self.positions.get(id.index()).copied().unwrap_or_default()
    }

    /// The product of a multiplication, if all its uses can be fused.
    fn product(&self, at: InstId) -> Option<Product> {
        let inst = self.inst(at)?;
        let Operand::Reg(reg) = inst.operands[0] else { return None };
        if inst.operands[1..].iter().all(|o| self.is_constant(at, o)) {
            return None;
        }
        let mut uses = Vec::new();
        self.uses((at, reg), (at, false), ALIASES, &mut uses)?;
        uses.sort_unstable_by_key(|u| (self.position(u.0), u.1));
        let twice = uses.windows(2).any(|w| w[0].0 == w[1].0);
        (!uses.is_empty() && !twice).then_some(Product { at, uses, addend: false })
    }

    /// Whether an operand is an immediate value, or a register that is only moved from one.
    fn is_constant(&self, at: InstId, operand: &Operand) -> bool {
        let immediate = |o: &Operand| matches!(o, Operand::Int(_) | Operand::F32(_) | Operand::F64(_));
        let Operand::Reg(r) = operand else { return immediate(operand) };
        let [Def::Inst(by)] = self.flow.defs(at, *r)[..] else { return false };
        let constant = |i: &Inst| {
            opcode(i).op == Some(Op::Mov) && i.guard.is_none() && i.operands.get(1).is_some_and(immediate)
        };
        self.inst(by).is_some_and(constant)
    }

    /// Adds the uses of a value that is the product or its negation. `None` if one cannot be fused.
    fn uses(
        &self,
        (by, reg): (InstId, Reg),
        (product, negated): (InstId, bool),
        depth: u32,
        out: &mut Vec<Use>,
    ) -> Option<()> {
        let multiplication = self.inst(product)?;
        let ftz = opcode(multiplication).has("ftz");
        for user in self.flow.uses(by, reg) {
            let inst = self.inst(user)?;
            if self.inserted.get(user.index()) == Some(&true) || !self.has_effect(user, &mut USERS.clone()) {
                continue;
            }
            if self.flow.defs(user, reg) != [Def::Inst(by)] || depth == 0 {
                return None;
            }
            let negation = opcode(inst).op == Some(Op::Neg) && fused_type(inst) == fused_type(multiplication);
            let alias = inst.guard.is_none()
                && (opcode(inst).op == Some(Op::Mov) || negation && (ftz || !opcode(inst).has("ftz")));
            match inst.operands[..] {
                [Operand::Reg(to), Operand::Reg(from)] if alias && from == reg => {
                    self.uses((user, to), (product, negated ^ negation), depth - 1, out)?;
                }
                _ if is_sum(inst)
                    && fused_type(inst) == fused_type(multiplication)
                    && opcode(inst).has("ftz") == ftz
                    && self.position(user).region == self.position(product).region
                    && self.position(user) > self.position(product) =>
                {
                    let reads = (1..3).filter(|k| inst.operands[*k] == Operand::Reg(reg));
                    out.extend(reads.map(|k| (user, k, negated)));
                }
                _ => return None,
            }
        }
        Some(())
    }

    /// Whether an instruction does something that shows: its result is used, or it is not only computing.
    fn has_effect(&self, at: InstId, left: &mut u32) -> bool {
        let Some(inst) = self.inst(at) else { return true };
        *left = left.saturating_sub(1);
        let computes = matches!(
            inst.class,
            Class::Move | Class::Integer | Class::Float | Class::Convert | Class::Compare | Class::Select
        );
        if *left == 0 || !computes {
            return true;
        }
        inst.defs().any(|r| {
            let users = self.flow.uses(at, r);
            users
                .into_iter()
                .any(|u| self.inserted.get(u.index()) != Some(&true) && (u == at || self.has_effect(u, left)))
        })
    }

    /// Decides which product each addition is fused with.
    fn fuse(&self, products: &mut [Product], out: &mut Contraction) {
        let mut sums: Vec<(InstId, Vec<ProductUse>)> = Vec::new();
        let mut places: FxHashMap<InstId, usize> = FxHashMap::default();
        for (p, product) in products.iter().enumerate() {
            for &(sum, operand, negated) in &product.uses {
                let at = *places.entry(sum).or_insert_with(|| {
                    sums.push((sum, Vec::new()));
                    sums.len() - 1
                });
                sums[at].1.push((p, operand, negated));
            }
        }
        sums.sort_unstable_by_key(|(sum, _)| self.position(*sum));
        for (_, operands) in &mut sums {
            operands.sort_unstable_by_key(|(p, operand, _)| (products[*p].uses.len(), *operand));
        }
        for most in [1, usize::MAX] {
            for (sum, operands) in &sums {
                let fits = |p: &Product| !p.addend && p.uses.len() <= most;
                if out.fusions.contains_key(sum) {
                    continue;
                }
                let Some(&(p, operand, negated)) = operands.iter().find(|o| fits(&products[o.0])) else {
                    continue;
                };
                let subtracts = self.inst(*sum).is_some_and(|i| opcode(i).op == Some(Op::Sub));
                let fusion = Fusion {
                    product: products[p].at,
                    negate_product: negated ^ (subtracts && operand == 2),
                    addend: 3 - operand,
                    negate_addend: subtracts && operand == 1,
                };
                out.fusions.insert(*sum, fusion);
                operands.iter().filter(|o| o.0 != p).for_each(|o| products[o.0].addend = true);
            }
        }
    }

    /// Finds the factors that are overwritten between a multiplication and an addition that it is fused with.
    fn overwritten(&self, out: &mut Contraction) {
        let mut last: FxHashMap<InstId, Position> = FxHashMap::default();
        for (sum, fusion) in &out.fusions {
            let at = last.entry(fusion.product).or_default();
            *at = (*at).max(self.position(*sum));
        }
        let mut factors: FxHashMap<Reg, Vec<Position>> = FxHashMap::default();
        let regs = |id: &InstId| self.inst(*id).into_iter().flat_map(|i| i.operands[1..].iter());
        for operand in last.keys().flat_map(regs) {
            if let Operand::Reg(r) = operand {
                factors.entry(*r).or_default();
            }
        }
        for (inst, at) in self.f.insts.iter().zip(&self.positions) {
            for r in inst.defs() {
                if let Some(list) = factors.get_mut(&r) {
                    list.push(*at);
                }
            }
        }
        factors.values_mut().for_each(|list| list.sort_unstable());
        for (product, end) in last {
            let begin = self.position(product);
            let Some(inst) = self.inst(product) else { continue };
            for (k, operand) in inst.operands.iter().enumerate().skip(1) {
                let Operand::Reg(r) = *operand else { continue };
                let list = factors.get(&r).map(Vec::as_slice).unwrap_or_default();
                let next = list.partition_point(|p| *p < begin);
                if list.get(next).is_some_and(|p| *p < end) {
                    out.overwritten.entry(product).or_default().push(k);
                }
            }
        }
    }
}
