//! AMD's register operations, with results worked out by hand. The words are those of `llvm-mc`.

use prlx_emu::testing::WaveState;
use prlx_isa::amdgpu::Target;
use prlx_isa::amdgpu::inst::Reg;

use super::amd::{run, wave};

/// Sets a register in all lanes.
fn set(state: &mut WaveState, reg: Reg, value: impl Fn(u32) -> u32, lanes: u32) {
    state.words.insert(reg, (0..lanes).map(value).collect());
}

/// Runs one instruction that must be one step.
fn steps(target: Target, lanes: u32, words: &[u32], state: &mut WaveState) -> usize {
    let (steps, cost) = run(target, lanes, words, state).expect("the instruction is supported");
    assert_eq!(cost, 1);
    steps
}

#[test]
fn usual_operations_are_one_step_and_leave_inactive_lanes_alone() {
    let mut w = wave(64);
    w.masks.insert(Reg::ExecLo, 0x5);
    set(&mut w, Reg::V(0), |l| l + 10, 64);
    set(&mut w, Reg::V(1), |_| 0xffff_ffff, 64);
    set(&mut w, Reg::V(2), |_| 77, 64);
    // v_add_u32_e32 v2, v0, v1
    assert_eq!(steps(Target::Gfx942, 64, &[0x6804_0300], &mut w), 1);
    assert_eq!(w.words[&Reg::V(2)][..4], [9, 77, 11, 77]);
    set(&mut w, Reg::S(0), |_| 3, 64);
    // v_mul_lo_u32 v2, v0, s0
    assert_eq!(steps(Target::Gfx942, 64, &[0xd285_0002, 0x0000_0100], &mut w), 1);
    assert_eq!(w.words[&Reg::V(2)][..4], [30, 77, 36, 77]);
    // v_add_f32_e32 v2, 1.0, v1 with v1 = 2.0
    set(&mut w, Reg::V(1), |_| 2f32.to_bits(), 64);
    assert_eq!(steps(Target::Gfx942, 64, &[0x0204_02f2], &mut w), 1);
    assert_eq!(w.words[&Reg::V(2)][..3], [3f32.to_bits(), 77, 3f32.to_bits()]);
    // v_fma_f32 v2, -v0, |v1|, v2 clamp: -0.5 * 2.0 + 1.5 = 0.5
    set(&mut w, Reg::V(0), |_| 0.5f32.to_bits(), 64);
    set(&mut w, Reg::V(1), |_| (-2f32).to_bits(), 64);
    set(&mut w, Reg::V(2), |_| 1.5f32.to_bits(), 64);
    assert_eq!(steps(Target::Gfx942, 64, &[0xd1cb_8202, 0x240a_0300], &mut w), 1);
    assert_eq!(w.words[&Reg::V(2)][..2], [0.5f32.to_bits(), 1.5f32.to_bits()]);
    // v_cvt_f32_i32_e32 v2, v0
    set(&mut w, Reg::V(0), |_| -7i32 as u32, 64);
    assert_eq!(steps(Target::Gfx942, 64, &[0x7e04_0b00], &mut w), 1);
    assert_eq!(w.words[&Reg::V(2)][0], (-7f32).to_bits());
}

#[test]
fn pairs_of_registers() {
    let mut w = wave(64);
    set(&mut w, Reg::V(0), |_| 0x8000_0001, 64);
    set(&mut w, Reg::V(1), |l| l, 64);
    set(&mut w, Reg::V(2), |_| 0, 64);
    set(&mut w, Reg::V(3), |_| 0, 64);
    set(&mut w, Reg::V(4), |_| 0xffff_fff8, 64);
    set(&mut w, Reg::V(5), |_| 1, 64);
    // v_lshl_add_u64 v[2:3], v[0:1], 3, v[4:5]: (l:80000001 << 3) + 1:fffffff8 = 8l + 6 : 0
    steps(Target::Gfx942, 64, &[0xd208_0002, 0x0411_0700], &mut w);
    assert_eq!((w.words[&Reg::V(2)][5], w.words[&Reg::V(3)][5]), (0, 46));
    // v_mad_u64_u32 v[2:3], s[4:5], v0, v1, v[2:3]: carries where the sum does not fit
    set(&mut w, Reg::V(0), |_| 0xffff_ffff, 64);
    set(&mut w, Reg::V(1), |l| if l == 3 { 0xffff_ffff } else { 1 }, 64);
    set(&mut w, Reg::V(2), |_| 2, 64);
    set(&mut w, Reg::V(3), |_| 0xffff_fffe, 64);
    set(&mut w, Reg::S(4), |_| 9, 64);
    set(&mut w, Reg::S(5), |_| 9, 64);
    w.masks.insert(Reg::S(4), 0x9_0000_0009);
    steps(Target::Gfx942, 64, &[0xd1e8_0402, 0x040a_0300], &mut w);
    // ffffffff * ffffffff = fffffffe:00000001; plus fffffffe:00000002 is 1:fffffffc:00000003.
    assert_eq!((w.words[&Reg::V(2)][3], w.words[&Reg::V(3)][3]), (3, 0xffff_fffc));
    // ffffffff + fffffffe:00000002 = ffffffff:00000001
    assert_eq!((w.words[&Reg::V(2)][0], w.words[&Reg::V(3)][0]), (1, 0xffff_ffff));
    assert_eq!(w.masks[&Reg::S(4)], 8);
    assert_eq!((w.words[&Reg::S(4)][0], w.words[&Reg::S(5)][9]), (8, 0));
}

#[test]
fn masks_and_carries() {
    let mut w = wave(64);
    w.masks.insert(Reg::ExecLo, 0xf);
    w.masks.insert(Reg::VccLo, u64::MAX);
    set(&mut w, Reg::V(0), |l| l, 64);
    set(&mut w, Reg::V(1), |_| 2, 64);
    set(&mut w, Reg::V(2), |_| 5, 64);
    // v_cmp_lt_u32_e32 vcc, v0, v1: lanes 0 and 1; lanes that EXEC leaves out are 0.
    assert_eq!(steps(Target::Gfx942, 64, &[0x7d92_0300], &mut w), 1);
    assert_eq!(w.masks[&Reg::VccLo], 3);
    // v_cndmask_b32_e32 v2, v0, v1, vcc: v1 where the mask is set
    assert_eq!(steps(Target::Gfx942, 64, &[0x0004_0300], &mut w), 1);
    assert_eq!(w.words[&Reg::V(2)][..5], [2, 2, 2, 3, 5]);
    // v_addc_co_u32_e32 v2, vcc, v0, v1, vcc with v1 = -2
    set(&mut w, Reg::V(1), |_| 0xffff_fffe, 64);
    steps(Target::Gfx942, 64, &[0x3804_0300], &mut w);
    assert_eq!(w.words[&Reg::V(2)][..5], [0xffff_ffff, 0, 0, 1, 5]);
    assert_eq!(w.masks[&Reg::VccLo], 0b1110);
}

#[test]
fn scalar_operations() {
    let mut w = wave(32);
    set(&mut w, Reg::S(0), |_| 0xffff_ffff, 32);
    set(&mut w, Reg::S(1), |_| 2, 32);
    set(&mut w, Reg::S(2), |_| 0, 32);
    // s_add_u32 s2, s0, s1
    assert_eq!(steps(Target::Gfx1100, 32, &[0x8002_0100], &mut w), 1);
    assert_eq!((w.words[&Reg::S(2)][31], w.scc), (1, true));
    // v_readfirstlane_b32 s4, v0: lane 2 is the first of EXEC
    w.masks.insert(Reg::ExecLo, 0xc);
    set(&mut w, Reg::V(0), |l| l * 11, 32);
    set(&mut w, Reg::S(4), |_| 0, 32);
    steps(Target::Gfx1100, 32, &[0x7e08_0500], &mut w);
    assert_eq!(w.words[&Reg::S(4)], [22; 32]);
}

#[test]
fn parts_of_registers() {
    let mut w = wave(64);
    set(&mut w, Reg::V(0), |_| 0x1234_5678, 64);
    set(&mut w, Reg::V(1), |_| 0x0001_0002, 64);
    set(&mut w, Reg::V(2), |_| 0, 64);
    // v_add_u32_sdwa v2, v0, v1 dst_sel:DWORD src0_sel:BYTE_1 src1_sel:WORD_1: 56 + 1
    steps(Target::Gfx942, 64, &[0x6804_02f9, 0x0501_1600], &mut w);
    assert_eq!(w.words[&Reg::V(2)][7], 0x57);
    // v_mov_b32_dpp v2, v0 row_shr:1: lanes 0, 16, … have no source, so they keep their value.
    set(&mut w, Reg::V(0), |l| l + 100, 64);
    set(&mut w, Reg::V(2), |_| 7, 64);
    steps(Target::Gfx942, 64, &[0x7e04_02fa, 0xff01_1100], &mut w);
    assert_eq!((w.words[&Reg::V(2)][16], w.words[&Reg::V(2)][17]), (7, 116));
    // v_add_f16_e32 v2, v0, v1: 1.0 + 0.5 in binary16. CDNA makes zeros of the upper half, RDNA keeps it.
    for (target, word, upper) in
        [(Target::Gfx90a, 0x3e04_0300, 0), (Target::Gfx1030, 0x6404_0300, 0xabcd_0000)]
    {
        set(&mut w, Reg::V(0), |_| 0x9999_3c00, 64);
        set(&mut w, Reg::V(1), |_| 0x7777_3800, 64);
        set(&mut w, Reg::V(2), |_| 0xabcd_1111, 64);
        steps(target, 64, &[word], &mut w);
        assert_eq!(w.words[&Reg::V(2)][9], upper | 0x3e00);
    }
    // v_add_f16_e32 v2.l, v0.h, v1.l
    set(&mut w, Reg::V(0), |_| 0x3c00_0000, 64);
    steps(Target::Gfx1100, 64, &[0x6404_0380], &mut w);
    assert_eq!(w.words[&Reg::V(2)][0], 0xabcd_3e00);
}

#[test]
fn both_operations_of_a_pair_read_before_one_writes() {
    let mut w = wave(32);
    set(&mut w, Reg::V(0), |_| 1f32.to_bits(), 32);
    set(&mut w, Reg::V(1), |_| 2f32.to_bits(), 32);
    set(&mut w, Reg::V(3), |_| 4f32.to_bits(), 32);
    // v_dual_mov_b32 v0, v1 :: v_dual_add_f32 v1, v0, v3
    steps(Target::Gfx1100, 32, &[0xca08_0101, 0x0000_0700], &mut w);
    assert_eq!(w.words[&Reg::V(0)][4], 2f32.to_bits());
    assert_eq!(w.words[&Reg::V(1)][4], 5f32.to_bits());
}
