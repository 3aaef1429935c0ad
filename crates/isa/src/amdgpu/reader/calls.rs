//! Which functions call which: addresses that code computes from its program counter.
//!
//! Code adds the distance to `s_getpc_b64`, 32 bits after 32 bits, or loads the address from a table that the
//! loader fills in. Both are followed through the instructions of a basic block.
//!
//! # Invariants
//! - An address is known only if every instruction since `s_getpc_b64` is.
//!
//! # Limitations
//! - Addresses that come from another basic block, or through memory, are unknown.

use rustc_hash::{FxHashMap, FxHashSet};

use super::code::{Code, length};
use super::pieces::next;
use crate::amdgpu::inst::{Inst, Operand, Reg, Value, registers_of};
use crate::amdgpu::object::CodeObject;

/// `R_AMDGPU_ABS64` and `R_AMDGPU_RELATIVE64`.
const ABSOLUTE: u32 = 3;
const RELATIVE: u32 = 13;

/// Where an instruction that leaves the function goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Destination {
    /// The address of code in the object.
    Address(u64),
    /// A symbol that another object defines: its place among the relocations.
    External(usize),
    /// Where the caller continues.
    Caller,
    /// What registers say.
    Unknown,
}

/// Half of an address that code computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Half {
    /// Its bits, as the object is laid out in the file.
    Number(u32),
    /// Half of the address of an external symbol: its place among the relocations, and whether it is the high
    /// half.
    External(usize, bool),
}

/// Destinations of the calls and indirect branches of a function, by instruction.
pub(super) fn destinations(
    object: &CodeObject<'_>,
    code: &Code<'_>,
    begins: &FxHashSet<usize>,
) -> FxHashMap<usize, Destination> {
    let mut out = FxHashMap::default();
    let mut known = Known { object, halves: FxHashMap::default(), carry: None };
    for (at, (address, inst)) in code.insts.iter().enumerate() {
        if begins.contains(&at) {
            known.forget();
        }
        match inst.name() {
            "s_call_b64" => {
                let target = code.target(at).map_or(Destination::Unknown, Destination::Address);
                out.insert(at, target);
            }
            "s_swappc_b64" | "s_setpc_b64" => {
                let from = source_regs(inst).unwrap_or_default();
                let link = from.first() == Some(&LINK) && code.kernel.is_none();
                let destination = match known.pair(&from) {
                    Some(destination) => destination,
                    None if inst.name() == "s_setpc_b64" && link => Destination::Caller,
                    None => Destination::Unknown,
                };
                out.insert(at, destination);
            }
            _ => {}
        }
        known.step(*address, inst);
    }
    out
}

/// The first register of the return address (LLVM, User Guide for AMDGPU Backend, "Calling Conventions").
const LINK: Reg = Reg::S(30);

/// Registers of the only source of an instruction.
fn source_regs(inst: &Inst) -> Option<Vec<Reg>> {
    inst.operands().last().map(|operand| registers_of(operand.value))
}

/// Halves that an instruction writes, and its carry.
type Results = (Vec<(Reg, Half)>, Option<bool>);

struct Known<'a, 'b> {
    object: &'a CodeObject<'b>,
    halves: FxHashMap<Reg, Half>,
    /// SCC, if it is the known carry of an addition.
    carry: Option<bool>,
}

impl Known<'_, '_> {
    fn forget(&mut self) {
        self.halves.clear();
        self.carry = None;
    }

    fn pair(&self, regs: &[Reg]) -> Option<Destination> {
        let [low, high] = regs else { return None };
        match (*self.halves.get(low)?, *self.halves.get(high)?) {
            (Half::Number(low), Half::Number(high)) => {
                Some(Destination::Address(u64::from(high) << 32 | u64::from(low)))
            }
            (Half::External(a, false), Half::External(b, true)) if a == b => Some(Destination::External(a)),
            _ => None,
        }
    }

    fn number(&self, operand: &Operand) -> Option<u32> {
        match operand.value {
            Value::Integer(n) => Some(n.cast_unsigned()),
            Value::Literal(n) => Some(n),
            value => match self.halves.get(registers_of(value).first()?)? {
                Half::Number(n) => Some(*n),
                Half::External(..) => None,
            },
        }
    }

    /// What an instruction makes of it.
    fn step(&mut self, address: u64, inst: &Inst) {
        let results = self.results(address, inst);
        let Some(regs) = inst.registers() else { return self.forget() };
        if matches!(inst.name(), "s_swappc_b64" | "s_call_b64") {
            return self.forget();
        }
        for reg in &regs.writes {
            self.halves.remove(reg);
        }
        if regs.writes.contains(&Reg::Scc) {
            self.carry = None;
        }
        if let Some((halves, carry)) = results {
            self.halves.extend(halves);
            self.carry = carry.or(self.carry);
        }
    }

    fn results(&self, address: u64, inst: &Inst) -> Option<Results> {
        let operands = inst.operands();
        let to = registers_of(operands.first()?.value);
        let (low, high) = (*to.first()?, to.get(1).copied());
        let pair = |value: u64| {
            let [a, b, c, d, e, f, g, h] = value.to_le_bytes();
            let (l, h) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
            Some((vec![(low, Half::Number(l)), (high?, Half::Number(h))], None))
        };
        match inst.name() {
            "s_getpc_b64" => pair(address.wrapping_add(length(inst))),
            "s_add_u32" | "s_add_co_u32" => {
                let (sum, carry) =
                    self.number(operands.get(1)?)?.overflowing_add(self.number(operands.get(2)?)?);
                Some((vec![(low, Half::Number(sum))], Some(carry)))
            }
            "s_addc_u32" | "s_add_co_ci_u32" => {
                let sum = self.number(operands.get(1)?)?.wrapping_add(self.number(operands.get(2)?)?);
                let sum = sum.wrapping_add(u32::from(self.carry?));
                Some((vec![(low, Half::Number(sum))], None))
            }
            "s_add_nc_u64" => {
                let from = registers_of(operands.get(1)?.value);
                let (Destination::Address(base), Value::Literal(plus)) =
                    (self.pair(&from)?, operands.get(2)?.value)
                else {
                    return None;
                };
                pair(base.wrapping_add_signed(plus.cast_signed().into()))
            }
            "s_mov_b32" => Some((vec![(low, Half::Number(self.number(operands.get(1)?)?))], None)),
            "s_mov_b64" => {
                let from = registers_of(operands.get(1)?.value);
                let [a, b] = from[..] else { return None };
                Some((vec![(low, *self.halves.get(&a)?), (high?, *self.halves.get(&b)?)], None))
            }
            "s_sext_i32_i16" => {
                let [a, b, ..] = self.number(operands.get(1)?)?.to_le_bytes();
                let n = i32::from(i16::from_le_bytes([a, b]));
                Some((vec![(low, Half::Number(n.cast_unsigned()))], None))
            }
            "s_load_dwordx2" | "s_load_b64" => {
                let from = registers_of(operands.get(1)?.value);
                let Destination::Address(table) = self.pair(&from)? else { return None };
                // The address is that of the table's entry: no offset is left in the instruction.
                if inst.address()?.offset != 0 || next(low) != high {
                    return None;
                }
                let all = &self.object.relocations;
                let found = all.iter().position(|r| r.address == table)?;
                let relocation = all.get(found)?;
                match relocation.kind {
                    RELATIVE => pair(relocation.addend.cast_unsigned()),
                    ABSOLUTE => {
                        let defined = self.object.symbols.iter().find(|s| s.name == relocation.symbol);
                        match defined {
                            Some(symbol) => pair(symbol.value.wrapping_add_signed(relocation.addend)),
                            None => Some((
                                vec![
                                    (low, Half::External(found, false)),
                                    (high?, Half::External(found, true)),
                                ],
                                None,
                            )),
                        }
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}
