//! Reads any bytes as machine code of AMD. The first byte chooses the target and the lanes of a wave.
//!
//! Decoding must not panic, the words of the instructions together must be the input, and an instruction must
//! decode again to itself. The same value set in every field must change nothing.

use prlx_isa::amdgpu::Target;
use prlx_isa::amdgpu::inst::{Field, Inst};

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    let Some((first, code)) = bytes.split_first() else { return };
    let targets: Vec<Target> = Target::all().collect();
    let target = targets[usize::from(first >> 1) % targets.len()];
    let lanes = if first & 1 == 0 { 32 } else { 64 };
    let words: Vec<u32> =
        code.chunks_exact(4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect();
    let mut rest = &words[..];
    while let Some(inst) = Inst::decode(target, lanes, rest) {
        let own = inst.words();
        assert_eq!(own, &rest[..own.len()]);
        assert_eq!(Inst::decode(target, lanes, own), Some(inst));
        assert!(!inst.print().is_empty());
        let _ = (inst.registers(), inst.branch_offset(), inst.is_pc_relative());
        if !inst.is_opaque() {
            for field in Field::ALL {
                if let Some(same) = inst.set(*field, inst.get(*field)) {
                    assert_eq!(same.words(), own, "{}", inst.print());
                }
            }
        }
        rest = &rest[own.len()..];
    }
}
