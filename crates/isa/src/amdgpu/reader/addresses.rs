//! Addresses that scalar registers hold: of functions, which code computes from its program counter, and of a
//! kernel's arguments.
//!
//! Code adds the distance to `s_getpc_b64`, 32 bits after 32 bits, or loads the address from a table that the
//! loader fills in. Both are followed through the function: what registers hold at the beginning of a basic
//! block is what they hold at the end of every block before it.
//!
//! # Invariants
//! - An address is known only if every instruction that it comes from is.
//! - A call keeps only registers that the called function, and what it calls, do not write.
//!
//! # Limitations
//! - Addresses that come through memory, or a lane of a vector register, are unknown.

use rustc_hash::FxHashMap;

use super::code::{Code, ends, length};
use super::semantics::ends_block;
use crate::amdgpu::inst::{Inst, Operand, Reg, Value};
use crate::amdgpu::object::{CodeObject, Initial};

/// `R_AMDGPU_ABS64` and `R_AMDGPU_RELATIVE64`.
pub(super) const ABSOLUTE: u32 = 3;
pub(super) const RELATIVE: u32 = 13;

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

/// The position of a destination that lies in the function. Its entry is one of calls.
pub(super) fn inside(code: &Code<'_>, destination: Destination) -> Option<usize> {
    match destination {
        Destination::Address(address) => code.at(address).filter(|at| *at > 0),
        _ => None,
    }
}

/// What addresses say of the instructions of a function, by position.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    /// Destinations of calls and indirect branches.
    pub(super) destinations: FxHashMap<usize, Destination>,
    /// Offsets in the kernel's arguments that instructions load from, bytes.
    pub(super) arguments: FxHashMap<usize, i64>,
}

impl Addresses {
    /// Forgets where branches by address go, if that is an address of this kind.
    pub(super) fn forget_jumps(&mut self, unwanted: impl Fn(u64) -> bool) {
        for destination in self.destinations.values_mut() {
            if matches!(destination, Destination::Address(address) if unwanted(*address)) {
                *destination = Destination::Unknown;
            }
        }
    }
}

/// Half of an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Half {
    /// A constant that is part of no address yet.
    Constant(u32),
    /// Half of an address in the object, as the object is laid out in the file.
    Object(u32),
    /// Half of the address of an external symbol: its place among the relocations, and whether it is the high
    /// half.
    External(usize, bool),
    /// Half of the address of the kernel's arguments, and what was added to it.
    Arguments(i64, bool),
    /// Half of the address where the caller continues.
    Link(bool),
}

type State = FxHashMap<Reg, Half>;

/// What a call writes, by the address of the function; of an unknown one under `None`.
pub(super) type Written<'w> = &'w dyn Fn(Option<u64>) -> Option<Vec<Reg>>;

/// Follows addresses through a function. `begins`: where its basic blocks begin, ascending. `jumps`: those
/// of them that code jumps to by address, where nothing is known. `written`: `None` if a call may write
/// anything.
pub(super) fn addresses(
    (object, tables): (&CodeObject<'_>, &Tables<'_>),
    code: &Code<'_>,
    begins: &[usize],
    jumps: &[usize],
    written: Written<'_>,
) -> Addresses {
    let block_of = |at: usize| begins.binary_search(&at).ok();
    let mut states: Vec<Option<State>> = vec![None; begins.len()];
    if let Some(first) = states.first_mut() {
        *first = Some(entry(object, code));
    }
    let mut out = Addresses::default();
    let mut work = vec![0];
    for block in jumps.iter().filter_map(|at| block_of(*at)) {
        if let Some(state) = states.get_mut(block) {
            *state = Some(State::default());
            work.push(block);
        }
    }
    while let Some(block) = work.pop() {
        let Some(state) = states.get(block).cloned().flatten() else { continue };
        let (left, last) = walk((object, tables), code, begins, block, state, written, &mut out);
        for next in successors(code, last).into_iter().filter_map(block_of) {
            let Some(known) = states.get_mut(next) else { continue };
            let changed = match known {
                None => {
                    *known = Some(left.clone());
                    true
                }
                Some(known) => {
                    let before = known.len();
                    known.retain(|reg, half| left.get(reg) == Some(half));
                    known.len() < before
                }
            };
            if changed {
                work.push(next);
            }
        }
    }
    // Code that no path was found to.
    for block in (0..begins.len()).filter(|block| states.get(*block).is_some_and(Option::is_none)) {
        walk((object, tables), code, begins, block, State::default(), written, &mut out);
    }
    out
}

/// Follows a basic block. Returns what registers hold at its end, and its last instruction.
fn walk(
    (object, tables): (&CodeObject<'_>, &Tables<'_>),
    code: &Code<'_>,
    begins: &[usize],
    block: usize,
    halves: State,
    written: Written<'_>,
    out: &mut Addresses,
) -> (State, usize) {
    let start = begins.get(block).copied().unwrap_or_default();
    let end = begins.get(block + 1).copied().unwrap_or(code.insts.len());
    let mut known = Known { object, tables, halves, carry: None };
    for (at, (address, inst)) in code.insts.iter().enumerate().take(end).skip(start) {
        let mut called = None;
        match inst.name() {
            "s_call_b64" => {
                let target = code.target(at).map_or(Destination::Unknown, Destination::Address);
                called = Some(target);
            }
            "s_swappc_b64" | "s_setpc_b64" => {
                let from = source_regs(inst).unwrap_or_default();
                let link = from.first() == Some(&LINK) && code.kernel.is_none();
                let destination = match known.pair(&from) {
                    Some(destination) => destination,
                    None if inst.name() == "s_setpc_b64" && link => Destination::Caller,
                    None => Destination::Unknown,
                };
                called = Some(destination);
            }
            _ => {}
        }
        out.destinations.extend(called.map(|destination| (at, destination)));
        match known.argument(inst) {
            Some(offset) => out.arguments.insert(at, offset),
            None => out.arguments.remove(&at),
        };
        known.step(*address, inst);
        if called.is_some() {
            let entry = match called {
                Some(Destination::Address(entry)) => Some(entry),
                _ => None,
            };
            match written(entry) {
                Some(regs) => regs.iter().for_each(|reg| {
                    known.halves.remove(reg);
                }),
                None => known.halves.clear(),
            }
        }
    }
    known.halves.retain(|_, half| !matches!(half, Half::Constant(_)));
    (known.halves, end.saturating_sub(1))
}

/// What registers hold at the function's entry.
fn entry(object: &CodeObject<'_>, code: &Code<'_>) -> State {
    let mut state = State::default();
    let mut hold = |first: Option<Reg>, half: fn(bool) -> Half| {
        let second = first.and_then(Reg::next);
        state.extend(first.map(|reg| (reg, half(false))));
        state.extend(second.map(|reg| (reg, half(true))));
    };
    match code.kernel.and_then(|kernel| object.kernels.get(kernel)) {
        Some(kernel) => {
            let all = kernel.descriptor.initial_sgprs();
            let pointer = all.iter().find(|sgprs| sgprs.content == Initial::KernargSegmentPtr);
            let first = pointer.and_then(|sgprs| u8::try_from(sgprs.first).ok()).map(Reg::S);
            hold(first, |high| Half::Arguments(0, high));
        }
        None => hold(Some(LINK), Half::Link),
    }
    state
}

/// Positions where control can go after an instruction that ends a block.
fn successors(code: &Code<'_>, last: usize) -> Vec<usize> {
    let Some((_, inst)) = code.insts.get(last) else { return Vec::new() };
    let target = if ends_block(inst) { code.target(last).and_then(|to| code.at(to)) } else { None };
    target.into_iter().chain((!ends(inst)).then_some(last + 1)).collect()
}

/// The first register of the return address (LLVM, User Guide for AMDGPU Backend, "Calling Conventions").
const LINK: Reg = Reg::S(30);

/// Registers of the only source of an instruction.
fn source_regs(inst: &Inst) -> Option<Vec<Reg>> {
    inst.operands().last().map(|operand| operand.value.registers())
}

/// Halves that an instruction writes, and its carry.
type Results = (Vec<(Reg, Half)>, Option<Carry>);

/// What addresses are looked up in.
#[derive(Debug, Default)]
pub(super) struct Tables<'o> {
    /// Place of a relocation, by the address that it relocates.
    by_address: FxHashMap<u64, usize>,
    /// Addresses of symbols that are defined.
    by_name: FxHashMap<&'o str, u64>,
}

impl<'o> Tables<'o> {
    /// The tables of an object.
    pub(super) fn of(object: &'o CodeObject<'_>) -> Tables<'o> {
        let places = object.relocations.iter().map(|r| r.address).zip(0..);
        let symbols = object.symbols.iter().map(|symbol| (symbol.name, symbol.value));
        Tables { by_address: places.collect(), by_name: symbols.collect() }
    }
}

struct Known<'a, 'b> {
    object: &'a CodeObject<'b>,
    tables: &'a Tables<'a>,
    halves: State,
    /// SCC, if it is the known carry of an addition. Of the address of arguments it is what was added.
    carry: Option<Carry>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Carry {
    Bit(bool),
    Arguments(i64),
}

impl Known<'_, '_> {
    fn pair(&self, regs: &[Reg]) -> Option<Destination> {
        let [low, high] = regs else { return None };
        match (*self.halves.get(low)?, *self.halves.get(high)?) {
            (Half::Object(low), Half::Object(high)) => {
                Some(Destination::Address(u64::from(high) << 32 | u64::from(low)))
            }
            (Half::External(a, false), Half::External(b, true)) if a == b => Some(Destination::External(a)),
            (Half::Link(false), Half::Link(true)) => Some(Destination::Caller),
            _ => None,
        }
    }

    /// The offset in the kernel's arguments that an instruction loads from.
    fn argument(&self, inst: &Inst) -> Option<i64> {
        let is_load = inst.name().starts_with("s_load_") && inst.access().is_some();
        let base = is_load.then(|| inst.operands().get(1).map(|base| base.value.registers()))??;
        let [low, high] = base[..] else { return None };
        let (Half::Arguments(a, false), Half::Arguments(b, true)) =
            (*self.halves.get(&low)?, *self.halves.get(&high)?)
        else {
            return None;
        };
        let alone = inst.registers()?.reads == [low, high];
        (a == b && alone).then(|| inst.address()?.offset.checked_add(a)).flatten()
    }

    fn half(&self, operand: &Operand) -> Option<Half> {
        match operand.value {
            Value::Integer(n) => Some(Half::Constant(n.cast_unsigned())),
            Value::Literal(n) => Some(Half::Constant(n)),
            value => self.halves.get(value.registers().first()?).copied(),
        }
    }

    /// What an instruction makes of it.
    fn step(&mut self, address: u64, inst: &Inst) {
        let results = self.results(address, inst);
        let Some(regs) = inst.registers() else {
            self.halves.clear();
            self.carry = None;
            return;
        };
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

    /// A sum of two halves with a carry in; for the low half, the carry out.
    fn sum(&self, a: Half, b: Half, carry: Option<Carry>) -> Option<(Half, Option<Carry>)> {
        let (a, b) = if matches!(a, Half::Constant(_)) { (b, a) } else { (a, b) };
        let Half::Constant(plus) = b else { return None };
        let one = u32::from(carry == Some(Carry::Bit(true)));
        let add = |n: u32| {
            let (sum, over) = n.overflowing_add(plus);
            (sum.wrapping_add(one), Some(Carry::Bit(over)))
        };
        match (a, carry) {
            (Half::Object(n), None | Some(Carry::Bit(_))) => {
                let (sum, carry) = add(n);
                Some((Half::Object(sum), carry))
            }
            (Half::Constant(n), None | Some(Carry::Bit(_))) => {
                let (sum, carry) = add(n);
                Some((Half::Constant(sum), carry))
            }
            (Half::Arguments(0, false), None) => {
                let plus = i64::from(plus);
                Some((Half::Arguments(plus, false), Some(Carry::Arguments(plus))))
            }
            (Half::Arguments(0, true), Some(Carry::Arguments(added))) if plus == 0 => {
                Some((Half::Arguments(added, true), None))
            }
            _ => None,
        }
    }

    fn results(&self, address: u64, inst: &Inst) -> Option<Results> {
        let operands = inst.operands();
        let to = operands.first()?.value.registers();
        let (low, high) = (*to.first()?, to.get(1).copied());
        let pair = |value: u64| {
            let [a, b, c, d, e, f, g, h] = value.to_le_bytes();
            let (l, h) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
            Some((vec![(low, Half::Object(l)), (high?, Half::Object(h))], None))
        };
        match inst.name() {
            "s_getpc_b64" => pair(address.wrapping_add(length(inst))),
            "s_add_u32" | "s_add_co_u32" => {
                let (sum, carry) =
                    self.sum(self.half(operands.get(1)?)?, self.half(operands.get(2)?)?, None)?;
                Some((vec![(low, sum)], carry))
            }
            "s_addc_u32" | "s_add_co_ci_u32" => {
                let carry = Some(self.carry?);
                let (sum, _) = self.sum(self.half(operands.get(1)?)?, self.half(operands.get(2)?)?, carry)?;
                Some((vec![(low, sum)], None))
            }
            // Tensile's distances: a constant sum, perhaps made positive. SCC is no carry of an address then.
            "s_add_i32" | "s_add_co_i32" | "s_abs_i32" => {
                let mut sum = 0u32;
                for operand in operands.get(1..)? {
                    let Half::Constant(n) = self.half(operand)? else { return None };
                    sum = sum.wrapping_add(n);
                }
                let sum = if inst.name() == "s_abs_i32" { sum.cast_signed().unsigned_abs() } else { sum };
                Some((vec![(low, Half::Constant(sum))], None))
            }
            "s_sub_u32" | "s_sub_co_u32" => {
                let (difference, borrow) =
                    difference(self.half(operands.get(1)?)?, self.half(operands.get(2)?)?, false)?;
                Some((vec![(low, difference)], Some(Carry::Bit(borrow))))
            }
            "s_subb_u32" | "s_sub_co_ci_u32" => {
                let Carry::Bit(borrow) = self.carry? else { return None };
                let (difference, _) =
                    difference(self.half(operands.get(1)?)?, self.half(operands.get(2)?)?, borrow)?;
                Some((vec![(low, difference)], None))
            }
            "s_add_nc_u64" => {
                let from = operands.get(1)?.value.registers();
                let (Destination::Address(base), Value::Literal(plus)) =
                    (self.pair(&from)?, operands.get(2)?.value)
                else {
                    return None;
                };
                pair(base.wrapping_add_signed(plus.cast_signed().into()))
            }
            // The program counter of RDNA 4 has 48 bits, which code extends to 64.
            "s_sext_i32_i16" => match self.half(operands.get(1)?)? {
                Half::Object(n) => {
                    let [a, b, ..] = n.to_le_bytes();
                    let n = i32::from(i16::from_le_bytes([a, b])).cast_unsigned();
                    Some((vec![(low, Half::Object(n))], None))
                }
                _ => None,
            },
            "s_mov_b32" => Some((vec![(low, self.half(operands.get(1)?)?)], None)),
            "s_mov_b64" => {
                let from = operands.get(1)?.value.registers();
                let [a, b] = from[..] else { return None };
                Some((vec![(low, *self.halves.get(&a)?), (high?, *self.halves.get(&b)?)], None))
            }
            "s_load_dwordx2" | "s_load_b64" => {
                let from = operands.get(1)?.value.registers();
                let Destination::Address(table) = self.pair(&from)? else { return None };
                // The address is that of the table's entry: no offset is left in the instruction.
                if inst.address()?.offset != 0 || low.next() != high {
                    return None;
                }
                let found = *self.tables.by_address.get(&table)?;
                let relocation = self.object.relocations.get(found)?;
                match relocation.kind {
                    RELATIVE => pair(relocation.addend.cast_unsigned()),
                    ABSOLUTE => match self.tables.by_name.get(relocation.symbol) {
                        Some(value) => pair(value.wrapping_add_signed(relocation.addend)),
                        None => Some((
                            vec![(low, Half::External(found, false)), (high?, Half::External(found, true))],
                            None,
                        )),
                    },
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// Half of an address less a constant and a borrow, and whether that borrows.
fn difference(a: Half, b: Half, borrow: bool) -> Option<(Half, bool)> {
    let (Half::Object(from), Half::Constant(less)) = (a, b) else { return None };
    let (first, one) = from.overflowing_sub(less);
    let (second, two) = first.overflowing_sub(u32::from(borrow));
    Some((Half::Object(second), one || two))
}
