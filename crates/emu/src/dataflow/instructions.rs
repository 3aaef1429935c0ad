//! The instructions of a kernel as the data flow names them.

use prlx_isa::amdgpu::Native;
use prlx_isa::view::{FuncId, Function, InstId, RegInfo, Type};
use prlx_plan::function::body::scalar;
use prlx_trace::dataflow::{Instruction, Register};
use rustc_hash::FxHashMap;

use super::amd;
use super::reader::Reader;
use super::results::ResultPlane;
use crate::code::Op;
use crate::exec::launch::Launch;

/// The instructions, registers and steps of the code.
#[derive(Default)]
pub(super) struct Table {
    pub instructions: Vec<Instruction>,
    pub registers: Vec<Register>,
    /// By step: its instruction; `u32::MAX` for a step around an instruction.
    pub steps: Vec<u32>,
    /// By step: whether it is a further access of the instruction that the step before accesses memory for.
    pub continues: Vec<bool>,
    /// By instruction: the planes of its results.
    pub results: Vec<Vec<ResultPlane>>,
    /// By instruction: whether it is the first of two operations that are one step.
    pub pairs: Vec<bool>,
}

/// The number in the table of each register of a function. Functions of AMD's machine code have the same
/// registers, by which they pass arguments and results; `machine` has those of the functions before.
fn numbers<'a>(
    launch: &Launch<'_>,
    function: &'a Function,
    machine: &mut FxHashMap<(&'a str, Type), u32>,
    table: &mut Vec<Register>,
) -> Vec<u32> {
    let shared = launch.code.exec.is_some();
    let number = |r: &'a RegInfo| {
        let next = table.len() as u32;
        let number = if shared { *machine.entry((r.name.as_str(), r.ty)).or_insert(next) } else { next };
        if number == next {
            table.push(Register { name: r.name.clone(), ty: scalar(r.ty), first_lane: None });
        }
        number
    };
    function.regs.iter().map(number).collect()
}

/// Makes the table.
pub(super) fn table(launch: &Launch<'_>) -> Table {
    let mut out = Table::default();
    let (mut registers, mut blocks) = (Vec::new(), Vec::new());
    let mut machine = FxHashMap::default();
    let mut block_count = 0;
    for f in &launch.module.functions {
        registers.push(numbers(launch, f, &mut machine, &mut out.registers));
        blocks.push(block_count);
        block_count += f.blocks.len() as u32;
    }
    let mut seen: FxHashMap<(FuncId, InstId), u32> = FxHashMap::default();
    // The instruction of the step before, if that step was an access.
    let mut accessed = None;
    for (step, (s, &origin)) in launch.code.steps.iter().zip(&launch.code.origin).enumerate() {
        let (func, inst) = origin;
        // An instruction of AMD's that accesses several words has a step for each. What registers hold at the
        // entry is a step without cost.
        let amd = launch.code.exec.is_some();
        let accesses = amd && matches!(s.op, Op::Ld(_) | Op::St(_));
        let counts = s.cost > 0 || accesses || amd && matches!(s.op, Op::Nop);
        let continues = accesses && accessed == Some(origin);
        accessed = accesses.then_some(origin);
        out.continues.push(continues);
        let function = launch.module.functions.get(func.index());
        let found = function.and_then(|f| f.insts.get(inst.index())).filter(|_| counts);
        let Some(i) = found else {
            out.steps.push(u32::MAX);
            continue;
        };
        let next = out.instructions.len() as u32;
        let number = *seen.entry(origin).or_insert(next);
        out.steps.push(number);
        if number == next {
            let reader = Reader { launch, func, registers: &registers[func.index()] };
            let read = match i.semantics.native.get::<Native>() {
                Some(native) => amd::read(&reader, i, native, step as u32),
                None => vec![reader.instruction(i, step as u32)],
            };
            let count = read.len();
            for (n, (mut instruction, results)) in read.into_iter().enumerate() {
                instruction.block = blocks[func.index()] + i.block.index() as u32;
                out.instructions.push(instruction);
                out.results.push(results);
                out.pairs.push(n + 1 < count);
            }
        }
    }
    out
}
