//! Finds the words in AMD's code that are no plain numbers: the lane's number, and masks of lanes.
//!
//! Code has no register with the number of its lane. It counts the lanes below: `v_mbcnt_lo_u32_b32` of a
//! mask with all lanes and 0, and in waves of 64 lanes `v_mbcnt_hi_u32_b32` of that. Such an instruction
//! becomes a copy of `%laneid`. An analysis then knows that values of two lanes differ because the lanes do.
//!
//! A mask of lanes is in one or two scalar registers. A register that only comparisons, EXEC and operations
//! on such masks write is one ([`Register::first_lane`]).

use prlx_trace::dataflow::{Action, DataFlow, Instruction, Operand, Register};
use prlx_trace::kernel::Scalar;

/// Finds them in a recorded data flow whose live ranges have registers of their own.
pub(super) fn find(flow: &mut DataFlow) {
    lane_numbers(flow);
    masks(flow);
}

/// Replaces the operands of instructions that compute the lane's number.
fn lane_numbers(flow: &mut DataFlow) {
    let writers = writers(flow);
    let count = |opcode: &str, added: &dyn Fn(&Operand) -> bool| -> Vec<usize> {
        let counts = |i: &Instruction| match &i.operands[..] {
            [mask, other] if i.opcode.starts_with(opcode) => added(other) && has_all(flow, &writers, mask),
            _ => false,
        };
        (0..flow.instructions.len()).filter(|&i| counts(&flow.instructions[i])).collect()
    };
    let low = count("v_mbcnt_lo_u32_b32", &|other| *other == Operand::Constant(0));
    let found = match flow.warp_size.lanes() {
        32 => low,
        _ => count("v_mbcnt_hi_u32_b32", &|other| {
            let written = other.register().map_or(&[][..], |r| &writers[r as usize]);
            !written.is_empty() && written.iter().all(|(i, _)| low.contains(i))
        }),
    };
    for i in found {
        become_lane_number(&mut flow.instructions[i]);
    }
}

/// Whether a mask has all lanes: it is constant, or a register into which nothing else was written, as a copy
/// of EXEC.
fn has_all(flow: &DataFlow, writers: &[Vec<(usize, usize)>], mask: &Operand) -> bool {
    let all = u64::from(u32::MAX);
    let of = match mask {
        Operand::Constant(bits) => return *bits & all == all,
        Operand::Register(r) => &writers[*r as usize],
        _ => return false,
    };
    let mut visits =
        flow.warps.iter().flat_map(|warp| (0..).zip(&warp.visits).map(move |visit| (warp, visit)));
    let whole = visits.all(|(warp, (at, v))| {
        let mut results = of.iter().filter(|(i, _)| v.lanes != 0 && *i == v.instruction as usize);
        results.all(|(_, n)| warp.value(&flow.instructions, at, *n, v.lanes.trailing_zeros()) == Some(all))
    });
    !of.is_empty() && whole
}

fn become_lane_number(i: &mut Instruction) {
    i.action = Action::Move;
    i.operands = vec![Operand::Special("%laneid".to_owned())];
}

fn is_exec(register: &Register) -> bool {
    matches!(register.name.as_str(), "exec" | "exec_lo" | "exec_hi")
}

/// By register: the instructions that write it, and the number of the result.
fn writers(flow: &DataFlow) -> Vec<Vec<(usize, usize)>> {
    let mut out = vec![Vec::new(); flow.registers.len()];
    for (i, instruction) in flow.instructions.iter().enumerate() {
        for (n, &register) in instruction.results.iter().enumerate() {
            out[register as usize].push((i, n));
        }
    }
    out
}

/// Finds the registers that are words of masks of lanes.
fn masks(flow: &mut DataFlow) {
    let writers = writers(flow);
    let mut known: Vec<bool> = flow.registers.iter().map(is_exec).collect();
    loop {
        let is_mask = |r: usize| {
            let written = &writers[r];
            let scalar = first_lane(&flow.registers[r], flow).is_some();
            scalar && !written.is_empty() && written.iter().all(|(i, _)| gives_mask(flow, &known, *i, r))
        };
        let found: Vec<usize> = (0..known.len()).filter(|&r| !known[r] && is_mask(r)).collect();
        if found.is_empty() {
            break;
        }
        found.into_iter().for_each(|r| known[r] = true);
    }
    for r in (0..known.len()).filter(|r| known[*r]) {
        flow.registers[r].first_lane = first_lane(&flow.registers[r], flow);
    }
}

/// Whether an instruction gives register `result` a mask of lanes if the `known` registers have one.
fn gives_mask(flow: &DataFlow, known: &[bool], instruction: usize, result: usize) -> bool {
    let i = &flow.instructions[instruction];
    if i.opcode.starts_with("v_cmp") || i.opcode.contains("_saveexec_") {
        return true;
    }
    let bitwise =
        ["s_mov_b", "s_not_b", "s_and", "s_or", "s_xor", "s_nand", "s_nor", "s_xnor", "s_cselect_b"];
    if !bitwise.iter().any(|name| i.opcode.starts_with(name)) {
        return false;
    }
    let mut any = false;
    let all = i.operands.iter().all(|operand| match operand {
        Operand::Register(r) => {
            let mask = known[*r as usize] || flow.registers[*r as usize].ty == Scalar::Pred;
            any |= mask;
            mask || *r as usize == result
        }
        Operand::Constant(bits) => *bits == 0 || *bits as u32 == u32::MAX,
        _ => false,
    });
    all && any
}

/// The number of the first lane of a word in scalar registers; `None` for other registers.
fn first_lane(register: &Register, flow: &DataFlow) -> Option<u32> {
    if register.ty != Scalar::B32 {
        return None;
    }
    let name = register.name.as_str();
    let number = name.strip_prefix('s').and_then(|n| n.parse::<u32>().ok());
    let high = match (name, number) {
        ("vcc_lo" | "exec_lo", _) => false,
        ("vcc_hi" | "exec_hi", _) => true,
        // Masks of 64 lanes are in aligned pairs.
        (_, Some(n)) => n % 2 == 1,
        _ => return None,
    };
    Some(if high && flow.warp_size.lanes() == 64 { 32 } else { 0 })
}
