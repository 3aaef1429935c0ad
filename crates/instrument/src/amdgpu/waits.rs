//! Waits for what hardware does not wait for by itself (`prlx_isa::amdgpu::hazards`), in the copy of a
//! function.
//!
//! A forward analysis over the finished code finds what instructions leave behind at each place, on every way
//! that leads there. Where an instruction is too early, and inserted code takes part in that, waits are
//! inserted before it. The result is analysed again.
//!
//! # Invariants
//! - Hazards of the copy are hazards of the original: a wait is inserted for all that inserted code takes
//!   part in, and inserted instructions between two of the original only add time.
//! - Branches to an instruction also reach the waits before it, and an address that is computed from the
//!   program counter stays right.

use std::collections::BTreeSet;

use prlx_isa::amdgpu::Family;
use prlx_isa::amdgpu::hazards::{Code, Need, State};
use prlx_isa::amdgpu::inst::{Encoding, Inst, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::assembler::{Assembler, Fixup, Placed};

/// Most wait states of one `s_nop`.
const NOP: u8 = 8;

/// Where control goes behind each instruction.
struct Ways {
    /// Instructions that another one than that before them may lead to.
    begins: FxHashSet<usize>,
    /// By instruction that branches: where to.
    targets: FxHashMap<usize, Vec<usize>>,
}

/// Appends waits to the function whose code begins at word `from`. Returns its instructions, which the
/// assembler forgets.
///
/// # Errors
/// If a hazard is left. This is a bug.
pub(super) fn insert(asm: &mut Assembler, from: usize, is_kernel: bool) -> Result<Vec<Placed>, String> {
    let placed = std::mem::take(&mut asm.placed);
    if !Code::has_hazards(asm.target) {
        return Ok(placed);
    }
    let found = needs(asm, &placed, is_kernel, true);
    if found.is_empty() {
        return Ok(placed);
    }
    let mut words = asm.words.split_off(from);
    let old = std::mem::take(&mut words);
    let mut all = Vec::with_capacity(placed.len() + found.len());
    // Where waits are, and how many words of them.
    let mut added: Vec<(usize, usize)> = Vec::new();
    let mut next = found.into_iter().peekable();
    for (i, one) in placed.iter().enumerate() {
        let before = asm.words.len();
        while let Some((_, need)) = next.next_if(|(at, _)| *at == i) {
            for inst in waits(asm, need)? {
                all.push(Placed { at: asm.words.len(), inst, inserted: true, piece: None });
                asm.words.extend(inst.words());
            }
        }
        if asm.words.len() > before {
            added.push((one.at, asm.words.len() - before));
        }
        all.push(Placed { at: asm.words.len(), ..*one });
        let end = placed.get(i + 1).map_or(from + old.len(), |one| one.at);
        asm.words.extend(&old[one.at - from..end - from]);
    }
    asm.moved(from, &added);
    match needs(asm, &all, is_kernel, false).first() {
        None => Ok(all),
        Some((at, need)) => Err(format!("`{}` comes too early: {}", all[*at].inst.print(), need.what)),
    }
}

/// What instructions must wait for. With `mended`, as if each waited before the next ones.
fn needs(asm: &Assembler, placed: &[Placed], is_kernel: bool, mended: bool) -> Vec<(usize, Need)> {
    let insts = placed.iter().map(|one| (&one.inst, one.inserted));
    let code = Code::of(asm.target, asm.lanes, insts);
    let ways = ways(asm, placed);
    let first = if is_kernel { State::default() } else { State::of_function(asm.target) };
    let mut at_begin = FxHashMap::from_iter([(0, first)]);
    // Most branches go forward: in the order of the code, few places are analysed twice.
    let mut waiting = BTreeSet::from([0]);
    while let Some(begin) = waiting.pop_first() {
        let mut now = at_begin.get(&begin).cloned().unwrap_or_default();
        for (at, one) in placed.iter().enumerate().skip(begin) {
            if at > begin && ways.begins.contains(&at) {
                arrive(&mut at_begin, &mut waiting, at, &now);
                break;
            }
            now.step(&code, at);
            for to in ways.targets.get(&at).into_iter().flatten() {
                arrive(&mut at_begin, &mut waiting, *to, &now);
            }
            if ends(&one.inst) {
                break;
            }
        }
    }
    let mut out = Vec::new();
    let mut now = State::default();
    for at in 0..placed.len() {
        if let Some(begin) = at_begin.get(&at) {
            now = begin.clone();
        }
        let need = now.need(&code, at);
        if !need.is_none() {
            out.push((at, need));
            if mended {
                now.wait(need);
            }
        }
        now.step(&code, at);
    }
    out
}

/// Joins a state with that of a place. If it changes, its code is analysed again.
fn arrive(at_begin: &mut FxHashMap<usize, State>, waiting: &mut BTreeSet<usize>, at: usize, now: &State) {
    let joined = at_begin.get(&at).map_or_else(|| now.clone(), |before| before.join(now));
    if at_begin.get(&at) != Some(&joined) {
        at_begin.insert(at, joined);
        waiting.insert(at);
    }
}

/// Whether control does not go on behind an instruction.
fn ends(inst: &Inst) -> bool {
    ["s_branch", "s_setpc_b64", "s_endpgm"].contains(&inst.name())
}

fn ways(asm: &Assembler, placed: &[Placed]) -> Ways {
    let number = |word: usize| placed.binary_search_by_key(&word, |one| one.at).ok();
    let label = |label| asm.place_of(label).and_then(number);
    let mut targets: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    let mut by_address = Vec::new();
    for fixup in &asm.fixups {
        match fixup {
            Fixup::Branch(from, to) | Fixup::Jump(from, to) => {
                if let (Some(from), Some(to)) = (number(*from), label(*to)) {
                    targets.entry(from).or_default().push(to);
                }
            }
            Fixup::Address { to, .. } => by_address.extend(to.label().and_then(label)),
        }
    }
    by_address.sort_unstable();
    by_address.dedup();
    // Another jump by address may go to any place whose address is computed.
    for (at, one) in placed.iter().enumerate() {
        if one.inst.name() == "s_setpc_b64" && !targets.contains_key(&at) {
            targets.entry(at).or_default().extend(&by_address);
        }
    }
    let mut begins: FxHashSet<usize> = targets.values().flatten().copied().collect();
    begins.extend(targets.keys().map(|at| at + 1));
    Ways { begins, targets }
}

/// Instructions that wait.
fn waits(asm: &Assembler, need: Need) -> Result<Vec<Inst>, String> {
    let mut out = Vec::new();
    let mut put = |name: &str, value: u32| {
        let operands = [Value::Immediate(value)];
        let inst = Inst::assemble(asm.target, asm.lanes, Encoding::Sopp, name, &operands, &[]);
        out.push(inst.ok_or_else(|| format!("{} has no {name}", asm.target))?);
        Ok::<(), String>(())
    };
    let mut left = need.states;
    while left > 0 {
        let states = left.min(NOP);
        put("s_nop", u32::from(states - 1))?;
        left -= states;
    }
    if need.depctr != 0 {
        let name = if asm.target.family() == Family::Gfx12 { "s_wait_alu" } else { "s_waitcnt_depctr" };
        // Bits 5 and 6 stand for nothing: LLVM, `DepCtr::getDefaultDepCtrEncoding`.
        put(name, u32::from(!need.depctr & !0x60))?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::super::assembler::{Assembler, Destination, sgpr, sgprs, vgpr};
    use super::{insert, needs};
    use prlx_isa::amdgpu::Target;
    use prlx_isa::amdgpu::inst::{Encoding, Inst, Value};

    /// Names of the instructions of code without labels.
    fn names(asm: &Assembler) -> Vec<&'static str> {
        let (mut at, mut out) = (0, Vec::new());
        while let Some(inst) = Inst::decode(asm.target, asm.lanes, &asm.words[at..]) {
            out.push(inst.name());
            at += inst.words().len();
        }
        out
    }

    fn compare(asm: &mut Assembler, to: u8) {
        asm.emit(Encoding::Vop3, "v_cmp_eq_u32", &[sgprs(to, asm.lanes / 32), vgpr(1), vgpr(2)]);
    }

    fn select(asm: &mut Assembler, by: u8) {
        let mask = sgprs(by, asm.lanes / 32);
        asm.emit(Encoding::Vop3, "v_cndmask_b32", &[vgpr(3), vgpr(1), vgpr(2), mask]);
    }

    #[test]
    fn waits_stand_before_what_is_too_early_and_behind_its_label() {
        let mut asm = Assembler::new(Target::Gfx942, 64);
        let (loops, end) = (asm.label(), asm.label());
        compare(&mut asm, 0);
        asm.place(loops);
        select(&mut asm, 0);
        asm.address(8, Destination::Label(end));
        compare(&mut asm, 0);
        asm.jump("s_cbranch_scc0", loops);
        asm.place(end);
        asm.emit(Encoding::Sopp, "s_endpgm", &[Value::Immediate(0)]);
        // One of them, on the shorter way.
        assert_eq!(needs(&asm, &asm.placed, true, true).len(), 1);
        insert(&mut asm, 0, true).unwrap();
        let expected = [
            "v_cmp_eq_u32",
            "s_nop",
            "v_cndmask_b32",
            "s_getpc_b64",
            "s_add_u32",
            "s_addc_u32",
            "v_cmp_eq_u32",
            "s_cbranch_scc0",
            "s_endpgm",
        ];
        assert_eq!(names(&asm), expected);
        assert_eq!(asm.place_of(loops), Some(2));
        let end = asm.place_of(end).unwrap();
        let words: Vec<u32> =
            asm.finish(0x1000).unwrap().as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        // From behind `s_getpc_b64`, which is word 5, to the end.
        assert_eq!(words[7], 4 * (end as u32 - 6));
        let branch = Inst::decode(Target::Gfx942, 64, &words[end - 1..]).unwrap();
        assert_eq!(branch.branch_offset(), Some(2 - end as i16));
    }

    #[test]
    fn counters_of_rdna_are_waited_for() {
        for (target, lanes, wait) in
            [(Target::Gfx1100, 64, "s_waitcnt_depctr"), (Target::Gfx1201, 32, "s_wait_alu")]
        {
            let mut asm = Assembler::new(target, lanes);
            select(&mut asm, 0);
            asm.mask1("s_mov", sgprs(0, lanes / 32), Value::Integer(-1));
            select(&mut asm, 0);
            insert(&mut asm, 0, true).unwrap();
            let mov = if lanes == 64 { "s_mov_b64" } else { "s_mov_b32" };
            assert_eq!(names(&asm), ["v_cndmask_b32", mov, wait, "v_cndmask_b32"], "{target}");
        }
        let mut asm = Assembler::new(Target::Gfx1030, 32);
        select(&mut asm, 0);
        asm.emit(Encoding::Sop1, "s_mov_b32", &[sgpr(0), Value::Integer(-1)]);
        select(&mut asm, 0);
        insert(&mut asm, 0, true).unwrap();
        assert_eq!(names(&asm).len(), 3);
    }
}
