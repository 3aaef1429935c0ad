//! Gives each live range of a hardware register a register of its own: code reuses a register for values that
//! have nothing in common, as a thread number and later a sum.
//!
//! Values belong together if one read can get either. The visits say which write reached which read, lane by
//! lane, so this is exact for what was recorded.
//!
//! # Invariants
//! For every read and lane, the last write of its register is the same before and after.

use prlx_trace::LaneMask;
use prlx_trace::dataflow::{Action, DataFlow, Instruction, Operand, Register, Visit, WarpFlow};

/// A write or a read of a register by an instruction: its number among all of them.
type Use = u32;

/// Gives each live range its own entry of [`DataFlow::registers`].
pub(super) fn split(flow: &mut DataFlow) {
    let mut ranges = Ranges::new(&flow.instructions);
    let mut last = vec![Vec::new(); flow.registers.len()];
    let all = flow.warp_size.full_mask();
    for warp in &flow.warps {
        last.iter_mut().for_each(Vec::clear);
        ranges.warp(&flow.instructions, warp, all, &mut last);
    }
    let mut registers: Vec<Register> = Vec::new();
    let mut numbers: Vec<Option<u32>> = vec![None; ranges.parents.len()];
    let mut next = 0;
    for i in &mut flow.instructions {
        each_register(i, |register| {
            let range = ranges.find(next) as usize;
            next += 1;
            let number = *numbers[range].get_or_insert_with(|| {
                registers.push(flow.registers.get(*register as usize).cloned().unwrap_or_default());
                registers.len() as u32 - 1
            });
            *register = number;
        });
    }
    flow.registers = registers;
}

/// The registers of an instruction: results first, then what it reads.
fn each_register(i: &mut Instruction, mut f: impl FnMut(&mut u32)) {
    i.results.iter_mut().for_each(&mut f);
    i.guard.iter_mut().for_each(|(register, _)| f(register));
    for operand in i.operands.iter_mut().chain(i.addresses.iter_mut().map(|a| &mut a.base)) {
        if let Operand::Register(r) | Operand::OtherLane(r, _) | Operand::Not(r) = operand {
            f(r);
        }
    }
}

/// Writes and reads, joined where a write reaches a read.
struct Ranges {
    parents: Vec<Use>,
    /// By instruction: its first write, its first read, and the registers of both.
    places: Vec<(Use, Use, Vec<u32>)>,
}

/// By register: the writes whose values it holds, each with its lanes.
type Last = Vec<Vec<(Use, LaneMask)>>;

impl Ranges {
    fn new(code: &[Instruction]) -> Ranges {
        let (mut places, mut next) = (Vec::new(), 0);
        for i in code {
            let mut registers = Vec::new();
            each_register(&mut i.clone(), |r| registers.push(*r));
            let count = registers.len() as u32;
            places.push((next, next + i.results.len() as u32, registers));
            next += count;
        }
        Ranges { parents: (0..next).collect(), places }
    }
    /// The first member of a live range.
    fn find(&mut self, mut of: Use) -> Use {
        while self.parents[of as usize] != of {
            let up = self.parents[self.parents[of as usize] as usize];
            self.parents[of as usize] = up;
            of = up;
        }
        of
    }
    fn join(&mut self, a: Use, b: Use) {
        let (a, b) = (self.find(a), self.find(b));
        self.parents[a.max(b) as usize] = a.min(b);
    }
    fn warp(&mut self, code: &[Instruction], warp: &WarpFlow, all: LaneMask, last: &mut Last) {
        // Both operations of a pair read before one writes.
        for visits in warp.visits.chunk_by(|a, b| a.order == b.order) {
            for visit in visits {
                if let Some(i) = code.get(visit.instruction as usize) {
                    self.reads(i, visit, all, last);
                }
            }
            for visit in visits {
                self.writes(visit, last);
            }
        }
    }
    fn reads(&mut self, i: &Instruction, visit: &Visit, all: LaneMask, last: &Last) {
        let (writes, first, registers) = &self.places[visit.instruction as usize];
        let (first, results) = (*first, (first - writes) as usize);
        let executing = match i.action {
            _ if crosses_lanes(i) => all,
            // Those of a branch are the ones that take it.
            Action::Branch => LaneMask(visit.group),
            _ => LaneMask(visit.lanes),
        };
        let mut joined: Vec<(Use, Use)> = Vec::new();
        for (read, register) in (first..).zip(registers.iter().skip(results)) {
            // The guard is read by the lanes that it stops, too.
            let lanes = if read == first && i.guard.is_some() { LaneMask(visit.group) } else { executing };
            let reaching = last[*register as usize].iter().filter(|(_, of)| of.0 & lanes.0 != 0);
            joined.extend(reaching.map(|(write, _)| (*write, read)));
        }
        joined.into_iter().for_each(|(write, read)| self.join(write, read));
    }
    fn writes(&self, visit: &Visit, last: &mut Last) {
        let (writes, reads, registers) = &self.places[visit.instruction as usize];
        if visit.lanes == 0 {
            return;
        }
        for (write, register) in (*writes..*reads).zip(registers) {
            let of = &mut last[*register as usize];
            of.retain_mut(|(_, lanes)| {
                lanes.0 &= !visit.lanes;
                lanes.0 != 0
            });
            of.push((write, LaneMask(visit.lanes)));
        }
    }
}

/// Whether an instruction reads registers of other lanes.
fn crosses_lanes(i: &Instruction) -> bool {
    matches!(i.action, Action::Exchange | Action::Matrix)
        || i.operands.iter().any(|o| matches!(o, Operand::OtherLane(..)))
}
