//! Which of AMD's register operations the CPU device refuses.
//!
//! Every operation of the tables is decoded in each encoding, with random fields. Those that are refused
//! with all of them are in `tests/amd_refused.txt`; `BLESS=1` rewrites it.

use std::collections::BTreeMap;
use std::fmt::Write;

use prlx_emu::testing::{EmuError, FloatMode, WaveState, run_alone};
use prlx_isa::amdgpu::Target;
use prlx_isa::amdgpu::inst::table::{self, Class, Kind};
use prlx_isa::amdgpu::inst::{Encoding, Inst, Reg, Value};
use prlx_lanes::Simd;

use super::amd::Random;

/// Encodings of operations on registers.
fn of_registers(encoding: Encoding) -> bool {
    let name = encoding.name();
    name.starts_with("sop")
        || (name.starts_with("vop") && encoding != Encoding::Vinterp)
        || name == "mai"
        || name == "ds"
}

/// Instructions of an operation with random fields.
pub fn samples(
    target: Target,
    lanes: u8,
    layout: &table::Layout,
    row: &table::Row,
    count: usize,
) -> Vec<Inst> {
    let mut random = Random(u64::from(row.opcode) * 977 + 0x9e37_79b9_7f4a_7c15);
    let mut found = Vec::new();
    for _ in 0..count * 400 {
        if found.len() == count {
            break;
        }
        let bits = u128::from(random.next()) << 64 | u128::from(random.next());
        let mut raw = bits & !layout.fixed.0 | layout.fixed.1;
        for piece in &layout.opcode {
            raw &= !piece.mask();
        }
        raw |= layout.with_opcode(row.opcode);
        // Sources are mostly vector registers, and signs and modifiers are rare.
        for (field, bits) in layout.fields() {
            let name = field.name();
            let rare = [
                "abs", "neg", "opsel", "clamp", "omod", "neghi", "src0neg", "src0abs", "cbsz", "abid",
                "blgp", "src1neg", "src1abs", "src0sext", "src1sext",
            ]
            .contains(&name);
            if rare && random.below(4) != 0 {
                raw &= !bits.mask();
            }
            if name == "opselhi" || name == "opselhi2" {
                raw |= if random.below(4) != 0 { bits.mask() } else { 0 };
            }
            if bits.width == 9 && random.below(3) != 0 {
                raw |= 1 << (bits.low + 8);
            }
            if name == "simm16" && row.name.contains("etreg") && random.below(2) == 0 {
                // hwreg(HW_REG_MODE, 4, 4)
                raw = raw & !bits.mask() | 0x1901 << bits.low;
            }
            if name == "dstsel" || name == "src0sel" || name == "src1sel" {
                raw = raw & !bits.mask() | ((random.below(7) as u128) << bits.low);
            }
        }
        raw = raw & !row.fixed.0 | row.fixed.1;
        let words: Vec<u32> =
            (0..4).map(|i| (raw >> (32 * i)) as u32).chain([random.next() as u32]).collect();
        let mut words = words;
        if usize::from(layout.words) < words.len() {
            words[usize::from(layout.words)] = random.next() as u32;
        }
        let Some(inst) = Inst::decode(target, lanes, &words) else { continue };
        if inst.name() == row.name && inst.encoding() == Some(layout.encoding) {
            found.push(inst);
        }
    }
    found
}

/// A state with all registers of an instruction.
pub fn state(inst: &Inst, lanes: u32, random: &mut Random) -> WaveState {
    let mut state = WaveState::default();
    let exec = if lanes == 64 { random.next() } else { random.next() & 0xffff_ffff };
    state.masks.insert(Reg::ExecLo, exec);
    state.scc = random.below(2) == 1;
    let registers = inst.registers().unwrap_or_default();
    let mut put = |reg: Reg, state: &mut WaveState| {
        let uniform = !matches!(reg, Reg::V(_) | Reg::A(_));
        let first = random.next() as u32;
        let values = (0..lanes).map(|_| if uniform { first } else { random.next() as u32 });
        state.words.insert(reg, values.collect());
    };
    for reg in registers.reads.iter().chain(&registers.writes) {
        if !matches!(reg, Reg::Scc | Reg::Mode | Reg::ExecLo | Reg::ExecHi) {
            put(*reg, &mut state);
        }
    }
    for operand in inst.operands() {
        let mask = matches!(operand.slot.kind, Kind::Mask | Kind::Vcc);
        let vcc_z = matches!(operand.value, Value::Named("src_vccz", _));
        let low = match operand.value {
            Value::Registers { bank, first, .. } if mask => Some(bank.reg(first)),
            Value::Named(_, regs) if mask || vcc_z => regs.first().copied(),
            _ => None,
        };
        // EXEC has its mask already; the words of masks agree with them.
        if let Some(low) = low {
            agree(&mut state, low, lanes);
        }
    }
    if registers.reads.contains(&Reg::VccLo) {
        agree(&mut state, Reg::VccLo, lanes);
    }
    if state_has_exec_words(inst) {
        state.words.insert(Reg::ExecLo, vec![exec as u32; lanes as usize]);
        state.words.insert(Reg::ExecHi, vec![(exec >> 32) as u32; lanes as usize]);
    }
    state
}

/// Adds the mask of words, or words of a mask.
fn agree(state: &mut WaveState, low: Reg, lanes: u32) {
    if low == Reg::ExecLo {
        return;
    }
    let high = match low {
        Reg::S(n) => Reg::S(n + 1),
        Reg::Ttmp(n) => Reg::Ttmp(n + 1),
        _ => Reg::VccHi,
    };
    let word = |reg: Reg| state.words.get(&reg).and_then(|v| v.first()).copied().unwrap_or(0);
    let mask = u64::from(word(low)) | if lanes == 64 { u64::from(word(high)) << 32 } else { 0 };
    state.masks.insert(low, mask);
}

/// Whether a scalar operand is a word of EXEC.
fn state_has_exec_words(inst: &Inst) -> bool {
    let named = inst.operands().iter().any(|o| {
        matches!(o.value, Value::Named(_, regs) if regs.contains(&Reg::ExecLo) || regs.contains(&Reg::ExecHi))
    });
    named || inst.name().contains("saveexec") || inst.name().contains("wrexec")
}

/// Every operation of every target, with what happens to its samples.
pub fn each(mut f: impl FnMut(Target, &table::Layout, &table::Row, &[Inst])) {
    for target in Target::all() {
        for layout in table::of(target).layouts.iter().filter(|l| of_registers(l.encoding)) {
            for row in &layout.rows {
                let lanes = ["ds_bpermute", "ds_permute", "ds_swizzle"];
                let register_only =
                    matches!(row.class, Class::Salu | Class::Valu | Class::Transcendental | Class::Matrix)
                        || lanes.iter().any(|name| row.name.starts_with(name));
                if !register_only {
                    continue;
                }
                let lanes = if layout.encoding == Encoding::Vopd { 32 } else { 64 };
                f(target, layout, row, &samples(target, lanes, layout, row, 12));
            }
        }
    }
}

#[test]
fn refused_operations_are_listed() {
    let mut refused: BTreeMap<(String, String), Vec<&str>> = BTreeMap::new();
    let (mut rows, mut accepted) = (0, 0);
    each(|target, layout, row, samples| {
        rows += 1;
        let lanes = if layout.encoding == Encoding::Vopd { 32 } else { 64 };
        let mut random = Random(7);
        let mut reason = None;
        let mut some = false;
        for inst in samples {
            let mut state = state(inst, lanes, &mut random);
            if std::env::var_os("SHOW").is_some() {
                eprintln!("{target} {}", inst.print());
            }
            match run_alone(*inst, lanes, FloatMode::default(), Simd::Base, &mut state) {
                Ok((_, cost)) => {
                    assert_eq!(cost, 1, "{target} {}", inst.print());
                    some = true;
                }
                Err(EmuError::Unsupported(why)) => reason = Some(why),
                Err(other) => panic!("{target} {}: {other}", inst.print()),
            }
        }
        if some {
            accepted += 1;
        } else {
            let reason = reason.unwrap_or_else(|| "no sample".into());
            let name = row.name.to_owned();
            let key = (reason, format!("{} {name}", layout.encoding.name()));
            let list = refused.entry(key).or_default();
            if !list.contains(&target.name()) {
                list.push(target.name());
            }
        }
    });
    let mut text = format!("{accepted} of {rows} operations of the tables are decoded; refused are:\n");
    let mut last = "";
    for ((reason, name), targets) in &refused {
        if reason != last {
            let _ = write!(text, "\n# {reason}\n");
            last = reason;
        }
        let _ = writeln!(text, "{name}: {}", targets.join(" "));
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/amd_refused.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &text).expect("the list can be written");
    }
    let listed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        listed == text,
        "{path} differs; BLESS=1 rewrites it. Now: {}",
        text.lines().next().unwrap_or("")
    );
}
