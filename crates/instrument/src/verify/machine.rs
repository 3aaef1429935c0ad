//! A machine with one lane that executes inserted instructions: those that [`super::rules`] allows, as the
//! PTX ISA defines them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use prlx_isa::ptx::{Op, opcode};
use prlx_isa::view::{Base, Function, Inst, Module, Operand, Reg, Space, Type};
use rustc_hash::FxHashMap;

use crate::verify::arithmetic::{compute, mask, signed};
use crate::verify::memory::{Memory, read, write};

/// A lane, and the memory that it sees.
#[derive(Clone, Debug, Default)]
pub(super) struct Machine {
    /// Global memory of the device.
    pub global: Memory,
    /// Local memory of the lane.
    pub local: Memory,
    /// Parameters, by name: words of eight bytes.
    pub params: Arc<HashMap<String, Vec<u64>>>,
    /// Active lanes, itself included. The others have no effect that it could observe.
    pub mask: u64,
    /// All active lanes hold the same values as this one.
    pub uniform: bool,
    /// Special registers and their values.
    pub special: Arc<Vec<(&'static str, u64)>>,
    /// Registers that were written or set.
    pub regs: FxHashMap<Reg, u64>,
    /// Seed of the values of source registers.
    pub seed: u64,
}

impl Machine {
    /// Executes `insts` of `f`. No branch leaves this range.
    pub fn run(&mut self, module: &Module, f: &Function, insts: Range<usize>) -> Result<(), String> {
        let mut pc = insts.start;
        while pc < insts.end {
            let inst = &f.insts[pc];
            pc += 1;
            if let Some(g) = inst.guard
                && (self.reg(f, g.reg) != 0) == g.negate
            {
                continue;
            }
            if let (Some(Op::Bra), Some(Operand::Label(target))) = (opcode(inst).op, inst.operands.first()) {
                let to = f.blocks[target.index()].insts.start as usize;
                pc = to;
                continue;
            }
            if opcode(inst).op == Some(Op::Call) {
                self.call(module, f, inst)?;
                continue;
            }
            self.step(module, f, inst)
                .ok_or_else(|| format!("no meaning for `{}`", inst.semantics.opcode))?;
        }
        Ok(())
    }

    /// Executes a call of an inserted function, whose parameters are registers. The function returns at its
    /// end.
    fn call(&mut self, module: &Module, f: &Function, inst: &Inst) -> Result<(), String> {
        let unknown = || format!("no meaning for `{}`", inst.semantics.opcode);
        let callee = module.callee(inst).and_then(|id| module.functions.get(id.index()));
        let (Some(callee), [Operand::List(results), _, Operand::List(arguments)]) =
            (callee, &inst.operands[..])
        else {
            return Err(unknown());
        };
        let values: Option<Vec<u64>> = arguments.iter().map(|a| self.value(module, f, a)).collect();
        // The parameters come before the returned registers.
        let parts = callee.reg_params.split_at_checked(arguments.len());
        let (Some(values), Some((params, returns))) = (values, parts) else { return Err(unknown()) };
        let arguments = params.iter().copied().zip(values).collect();
        let own = std::mem::replace(&mut self.regs, arguments);
        self.run(module, callee, 0..callee.insts.len().saturating_sub(1))?;
        let returned: Vec<u64> = returns.iter().map(|r| self.reg(callee, *r)).collect();
        self.regs = own;
        for (result, value) in results.iter().zip(returned) {
            let Operand::Reg(to) = result else { return Err(unknown()) };
            self.regs.insert(*to, value);
        }
        Ok(())
    }

    /// Value of a register. A register that was never written has a value that depends only on its number and
    /// the seed.
    pub fn reg(&self, f: &Function, reg: Reg) -> u64 {
        let info = &f.regs[reg.index()];
        let value = self.regs.get(&reg).copied().unwrap_or_else(|| mix(self.seed ^ u64::from(reg.0) << 32));
        value & mask(info.ty)
    }

    /// Bits of an operand that is one value.
    fn value(&self, module: &Module, f: &Function, operand: &Operand) -> Option<u64> {
        match operand {
            Operand::Reg(r) => Some(self.reg(f, *r)),
            Operand::Int(i) => Some(i.cast_unsigned()),
            Operand::Special(name) => Some(self.special(name)),
            Operand::Label(_) | Operand::Address(..) => None,
            other => match *self.values(module, f, other)? {
                [one] => Some(one),
                _ => None,
            },
        }
    }

    /// Bits of an operand, or of all its parts in order.
    pub fn values(&self, module: &Module, f: &Function, operand: &Operand) -> Option<Vec<u64>> {
        Some(match operand {
            Operand::Reg(r) => vec![self.reg(f, *r)],
            Operand::Not(r) => vec![self.reg(f, *r) ^ 1],
            Operand::Int(i) => vec![i.cast_unsigned()],
            Operand::F32(bits) => vec![u64::from(*bits)],
            Operand::F64(bits) => vec![*bits],
            Operand::Special(name) => vec![self.special(name)],
            Operand::Symbol(id, offset) => {
                vec![address(&module.symbols.get(id.index())?.name).wrapping_add_signed(*offset)]
            }
            Operand::Element(r, i) => {
                let ty = f.regs[r.index()].ty;
                vec![mix(self.seed ^ u64::from(r.0) << 32 ^ u64::from(i + 1)) & mask(ty)]
            }
            Operand::Vector(parts) => {
                let parts: Option<Vec<_>> = parts.iter().map(|p| self.values(module, f, p)).collect();
                parts?.concat()
            }
            Operand::Pair(a, b) => [self.values(module, f, a)?, self.values(module, f, b)?].concat(),
            Operand::Sink => Vec::new(),
            _ => return None,
        })
    }

    pub fn special(&self, name: &str) -> u64 {
        match (name, self.special.iter().find(|s| s.0 == name)) {
            (_, Some((_, value))) => *value,
            ("%is_explicit_cluster", _) => 1,
            ("%clock64" | "%globaltimer" | "%gridid" | "%current_graph_exec", _) => mix(name.len() as u64),
            _ => mix(name.bytes().map(u64::from).sum()) & u64::from(u32::MAX),
        }
    }

    fn step(&mut self, module: &Module, f: &Function, inst: &Inst) -> Option<()> {
        let form = opcode(inst);
        let ty = form.ty(0).unwrap_or_default();
        let width = mask(ty);
        let one = |m: &Self, i: usize| m.value(module, f, inst.operands.get(i)?);
        let [a, b, c] = [1, 2, 3].map(|i| one(self, i));
        let lane = || self.special("%laneid");
        let result = match form.op? {
            Op::Mov => return self.mov(module, f, inst),
            Op::Isspacep => within(form.space(), a?).into(),
            Op::Activemask => self.mask,
            Op::Match => 1 << lane(),
            Op::Vote if form.has("all") => a? & 1,
            Op::Vote => (a? & 1) << lane(),
            // All 32 lanes hold the same value.
            Op::Redux if self.uniform && form.has("add") => a?.wrapping_mul(32) & width,
            Op::Redux if self.uniform && form.has("xor") => 0,
            Op::Redux => a? & width,
            // A shuffle from the lane itself returns its own value; from an inactive lane it returns none.
            Op::Shfl if b? & 31 == lane() || self.uniform => a? & width,
            Op::Bar => return Some(()),
            Op::Ld => match inst.operands.first()? {
                Operand::Vector(parts) => {
                    for (i, part) in parts.iter().enumerate() {
                        let Operand::Reg(to) = part else { return None };
                        let value = self.load(module, f, inst, width, i as u64 * ty_bytes(ty))?;
                        self.regs.insert(*to, value);
                    }
                    return Some(());
                }
                _ => self.load(module, f, inst, width, 0)?,
            },
            Op::St => {
                let at = self.address(module, f, inst.operands.first()?)?;
                let size = ty_bytes(ty);
                if let Some(v) = self.value(module, f, inst.operands.get(1)?) {
                    self.store(inst.space, at, size, v);
                    return Some(());
                }
                for (i, v) in self.values(module, f, inst.operands.get(1)?)?.into_iter().enumerate() {
                    self.store(inst.space, at + i as u64 * size, size, v);
                }
                return Some(());
            }
            Op::Atom | Op::Red => {
                let result = form.op == Some(Op::Atom);
                let at = self.address(module, f, inst.operands.get(usize::from(result))?)?;
                let old = read(&self.global, at, ty_bytes(ty));
                let value = one(self, if result { 2 } else { 1 })?;
                let greater = match ty.is_signed() {
                    true => signed(ty, old) > signed(ty, value),
                    false => old > value & width,
                };
                let new = match form.one_of(&["add", "xor", "cas", "exch", "max", "min", "and", "or"])? {
                    "add" if ty == Type::F64 => (f64::from_bits(old) + f64::from_bits(value)).to_bits(),
                    "add" => old.wrapping_add(value),
                    "max" if greater => old,
                    "min" if !greater => old,
                    "max" | "min" => value,
                    "and" => old & value,
                    "or" => old | value,
                    "xor" => old ^ value,
                    "exch" => value,
                    _ if old == value => c?,
                    _ => old,
                };
                self.store(Space::Global, at, ty_bytes(ty), new);
                if !result {
                    return Some(());
                }
                old
            }
            _ => compute(form, a, b, c)?,
        };
        let Some(Operand::Reg(to)) = inst.operands.first() else { return None };
        self.regs.insert(*to, result);
        Some(())
    }

    fn mov(&mut self, module: &Module, f: &Function, inst: &Inst) -> Option<()> {
        let (to, from) = (inst.operands.first()?, inst.operands.get(1)?);
        if let (Operand::Reg(to), Some(value)) = (to, self.value(module, f, from)) {
            self.regs.insert(*to, value);
            return Some(());
        }
        let from = self.values(module, f, from)?;
        let whole = opcode(inst).ty(0)?;
        match to {
            Operand::Reg(to) => {
                let part = 64 / from.len() as u32;
                let value = from.iter().rev().fold(0u64, |v, x| v.checked_shl(part).unwrap_or(0) | x);
                self.regs.insert(*to, value);
            }
            Operand::Vector(parts) => {
                let value = *from.first()?;
                for (i, part) in parts.iter().enumerate() {
                    let Operand::Reg(to) = part else { return None };
                    let shift = if whole == Type::B128 { 64 } else { 32 } * i as u32;
                    self.regs.insert(*to, value.checked_shr(shift).unwrap_or(0));
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// The value `from` bytes after the address.
    fn load(&self, module: &Module, f: &Function, inst: &Inst, width: u64, from: u64) -> Option<u64> {
        if inst.space == Space::Param {
            let Operand::Address(Base::Symbol(id), offset) = inst.operands.get(1)? else { return None };
            let name = &module.symbols.get(id.index())?.name;
            // The kernel's own parameters have values that depend only on their position.
            let own = || mix(address(name).wrapping_add_signed(*offset));
            let Some(words) = self.params.get(name) else { return Some(own() & width) };
            let word = words.get(usize::try_from(*offset).ok()? / 8)?;
            return Some(word >> (8 * (offset % 8)) & width);
        }
        let at = self.address(module, f, inst.operands.get(1)?)?;
        let memory = if inst.space == Space::Local { &self.local } else { &self.global };
        Some(read(memory, at + from, ty_bytes(opcode(inst).ty(0)?)))
    }

    fn store(&mut self, space: Space, at: u64, size: u64, value: u64) {
        match space {
            Space::Local => write(&mut self.local, at, size, value),
            Space::Global => write(&mut self.global, at, size, value),
            // An argument of a call, which is not executed.
            _ => {}
        }
    }

    fn address(&self, module: &Module, f: &Function, operand: &Operand) -> Option<u64> {
        let Operand::Address(base, offset) = operand else { return None };
        let base = match base {
            Base::Reg(r) => self.reg(f, *r),
            Base::Symbol(id) => address(&module.symbols.get(id.index())?.name),
            Base::Absolute => 0,
        };
        Some(base.wrapping_add_signed(*offset))
    }
}

/// Address of a variable: arbitrary, but fixed.
pub(super) fn address(name: &str) -> u64 {
    let sum = name.bytes().fold(7u64, |h, b| h.wrapping_mul(31).wrapping_add(u64::from(b)));
    (sum & 0xFFFF) << 8 | 1 << 40
}

/// Whether an address lies in a space: arbitrary, but fixed.
pub(super) fn within(space: Space, address: u64) -> bool {
    mix(address ^ (space as u64) << 50) & 1 == 1
}

fn ty_bytes(ty: Type) -> u64 {
    match mask(ty) {
        u64::MAX => 8,
        0xFFFF => 2,
        0xFF => 1,
        _ => 4,
    }
}

/// A pseudo-random value.
pub(super) fn mix(seed: u64) -> u64 {
    let x = (seed ^ seed >> 29).wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}
