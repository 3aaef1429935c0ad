//! Which lanes and operands a result of an exchange or of a matrix product depends on.
//!
//! # Limitations
//! PTX leaves the layout of `wmma` fragments open. This is the layout of the CPU device.

use prlx_trace::dataflow::{Instruction, Operand, Operation};

use super::flow::{At, Flow};

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

/// Operands (by number) and lanes that element `n` of a lane's result of `wmma.mma` depends on; `None` for
/// elements below a byte. The elements of a fragment are divided over the lanes in order: those of A and of
/// the accumulators row by row, those of B column by column.
fn wmma_inputs(instruction: &Instruction, lane: u32, n: usize) -> Option<Vec<(usize, u32)>> {
    let mut words = instruction.opcode.split('.');
    let shape = words.by_ref().find_map(shape)?;
    let types: Vec<&str> = words.collect();
    let (of_a, of_d) = match types[..] {
        [d, _] => ("f16", d),
        [d, a, ..] => (a, d),
        _ => return None,
    };
    let [rows, columns, depth] = shape;
    let per = |ty: &str| match ty {
        "f16" | "bf16" => Some(2),
        "s8" | "u8" => Some(4),
        "f32" | "s32" | "tf32" | "f64" => Some(1),
        _ => None,
    };
    let (per_a, per_d) = (per(of_a)?, per(of_d)?);
    // Fragments of halves always have eight registers.
    let registers = |elements: u32| if of_a == "f16" { 8 } else { (elements / LANES / per_a).max(1) };
    let (a, b) = (registers(rows * depth), registers(columns * depth));
    let each = |elements: u32| (elements / LANES).max(1);
    let place = |index: u32, elements: u32, per: u32| (index % each(elements) / per, index / each(elements));
    let (mut out, results) = (Vec::new(), rows * columns);
    for i in 0..per_d {
        let element = lane * each(results) + (n as u32 * per_d + i) % each(results);
        let (row, column) = (element / columns, element % columns);
        let count = u32::try_from(instruction.operands.len()).ok()?.checked_sub(a + b)?;
        let (register, of) = place(element, results, (each(results) / count.max(1)).max(1));
        out.push((a + b + register, of));
        for k in 0..depth {
            let (register, of) = place(row * depth + k, rows * depth, per_a);
            out.push((register, of));
            let (register, of) = place(column * depth + k, columns * depth, per_a);
            out.push((a + register, of));
        }
    }
    out.sort_unstable();
    out.dedup();
    Some(out.into_iter().map(|(register, of)| (register as usize, of)).collect())
}

/// Rows, columns and depth of a product: `m16n16k16`.
fn shape(word: &str) -> Option<[u32; 3]> {
    let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some([m.parse().ok()?, n.parse().ok()?, k.parse().ok()?])
}

#[cfg(test)]
mod tests {
    use prlx_trace::dataflow::Action;

    use super::*;

    #[test]
    fn a_product_depends_on_a_row_and_a_column() {
        let product = |opcode: &str, operands: u32| Instruction {
            opcode: opcode.into(),
            action: Action::Matrix,
            operands: (0..operands).map(Operand::Register).collect(),
            ..Instruction::default()
        };
        // A and B have 8 elements in each lane, two of which make a register; rows of both take two lanes.
        let sum = product("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", 24);
        let inputs = wmma_inputs(&sum, 3, 2).unwrap();
        // Element 26 of the result: row 1, column 10.
        let registers =
            |first: usize, lanes: [u32; 2]| (first..first + 4).flat_map(move |r| lanes.map(|lane| (r, lane)));
        let want: Vec<_> = registers(0, [2, 3]).chain(registers(8, [20, 21])).chain([(18, 3)]).collect();
        assert_eq!(inputs, want);
        let bytes = product("wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32", 12);
        assert_eq!(
            wmma_inputs(&bytes, 0, 0).unwrap(),
            [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1), (4, 0)]
        );
        assert_eq!(
            wmma_inputs(&product("wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", 4), 0, 0),
            None
        );
    }
}
