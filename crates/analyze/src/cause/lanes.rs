//! Which lanes and operands a result of an exchange or of a matrix product depends on.

use prlx_trace::dataflow::{Instruction, Operand, Operation};

use super::flow::{At, Flow};
use super::fragments::wmma_inputs;

/// Lanes of the warps of PTX, for whose instructions fragments and shuffles are described.
const LANES: u32 = 32;

/// The lane that an exchange reads for a lane; `None` if it reads several, or its operands were not recorded.
pub(super) fn source_lane(flow: &Flow<'_>, at: At) -> Option<u32> {
    let instruction = flow.instruction(at)?;
    let lanes = flow.data.warp_size.lanes() as u32;
    let value = |i: usize| {
        let operand: &Operand = instruction.operands.get(i)?;
        flow.value(&flow.operand(operand, at), at)
    };
    match instruction.operation {
        Operation::Shuffle => shuffled(&instruction.opcode, at.lane, [value(1)?, value(2)?]),
        Operation::ReadLane => Some(value(1)? as u32 % lanes),
        Operation::ReadFirstLane => Some(flow.visit(at)?.lanes.trailing_zeros().min(lanes - 1)),
        Operation::Permute => Some((value(1)? as u32).wrapping_add(value(2).unwrap_or(0) as u32) / 4 % lanes),
        _ => None,
    }
}

/// The lane that a shuffle of PTX reads for a lane (PTX ISA, `shfl.sync`), by its second and third operand.
fn shuffled(opcode: &str, lane: u32, [b, c]: [u64; 2]) -> Option<u32> {
    let mode = opcode.split('.').find(|p| matches!(*p, "up" | "down" | "bfly" | "idx"))?;
    let (b, c) = (b as u32 & (LANES - 1), c as u32);
    let (clamp, segment) = (c & (LANES - 1), c >> 8 & (LANES - 1));
    let first = lane & segment;
    let last = first | clamp & !segment;
    let (from, inside) = match mode {
        "up" => (lane.wrapping_sub(b), lane.wrapping_sub(b) as i32 >= last as i32),
        "down" => (lane + b, lane + b <= last),
        "bfly" => (lane ^ b, lane ^ b <= last),
        _ => (first | b & !segment, first | b & !segment <= last),
    };
    Some(if inside && from < LANES { from } else { lane })
}

/// Operands (by number) and lanes that element `n` of a lane's result of `mma` depends on, as far as the
/// layouts of fragments have in common (PTX ISA, Matrix Fragments for mma): rows of A lie in the four lanes
/// of a quad, columns of B in the four lanes of the quad with the column's number.
pub(super) fn matrix_inputs(instruction: &Instruction, lane: u32, n: usize) -> Vec<(usize, u32)> {
    let (count, results) = (instruction.operands.len(), instruction.results.len());
    let Some(inputs) = count.checked_sub(results) else { return all(count) };
    if instruction.opcode.starts_with("wgmma") {
        // Tiles in shared memory are followed apart; of the registers, the element's own sum and the row of
        // A.
        let quad = lane & !3;
        let row = (results..count.min(results + 4)).flat_map(|i| (quad..quad + 4).map(move |l| (i, l)));
        return std::iter::once((n, lane)).chain(row).collect();
    }
    if instruction.opcode.starts_with("wmma") {
        return wmma_inputs(instruction, lane, n).unwrap_or_else(|| all(count));
    }
    if !instruction.opcode.starts_with("mma.sync") || results == 0 {
        return all(count);
    }
    // A has twice the registers of B, or as many.
    let a = inputs.div_ceil(3) * if inputs % 3 == 0 { 2 } else { 1 };
    let quad = lane >> 2;
    let packed = 4 / results.max(1);
    let columns = [0, 1].map(|i| (lane & 3) * 2 + i);
    let mut out = vec![(inputs + n, lane)];
    for i in 0..a.min(inputs) {
        out.extend((0..4).map(|l| (i, quad * 4 + l)));
    }
    for i in a..inputs {
        for (j, column) in columns.into_iter().enumerate() {
            if packed > 1 || n % 2 == j {
                out.extend((0..4).map(|l| (i, column * 4 + l)));
            }
        }
    }
    out
}

fn all(count: usize) -> Vec<(usize, u32)> {
    (0..count).flat_map(|i| (0..LANES).map(move |l| (i, l))).collect()
}
