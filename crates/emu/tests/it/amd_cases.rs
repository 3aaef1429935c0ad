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

/// Runs instructions of CDNA 3 in sequence.
fn cdna(state: &mut WaveState, code: &[&[u32]]) {
    for words in code {
        steps(Target::Gfx942, 64, words, state);
    }
}

/// The sequence that LLVM makes of a division of binary32, with denormals.
const DIVISION: [&[u32]; 11] = [
    &[0xd1e0_0402, 0x0402_0301], // v_div_scale_f32 v2, s[4:5], v1, v1, v0
    &[0xd1e0_6a03, 0x0402_0300], // v_div_scale_f32 v3, vcc, v0, v1, v0
    &[0x7e08_4502],              // v_rcp_f32_e32 v4, v2
    &[0xd1cb_0005, 0x23ca_0902], // v_fma_f32 v5, -v2, v4, 1.0
    &[0xd1cb_0004, 0x0412_0905], // v_fma_f32 v4, v5, v4, v4
    &[0x0a0a_0903],              // v_mul_f32_e32 v5, v3, v4
    &[0xd1cb_0006, 0x240e_0b02], // v_fma_f32 v6, -v2, v5, v3
    &[0xd1cb_0005, 0x0416_0906], // v_fma_f32 v5, v6, v4, v5
    &[0xd1cb_0006, 0x240e_0b02], // v_fma_f32 v6, -v2, v5, v3
    &[0xd1e2_0004, 0x0416_0906], // v_div_fmas_f32 v4, v6, v4, v5
    &[0xd1de_0004, 0x0402_0304], // v_div_fixup_f32 v4, v4, v1, v0
];

#[test]
fn a_division_rounds_once() {
    let mut random = super::amd::Random(99);
    let special = [
        0,
        0x8000_0000,
        1,
        0x8000_0003,
        0x007f_ffff,
        0x0080_0000,
        0x0080_0001,
        0x3f80_0000,
        0x7f00_0000,
        0x7e80_0001,
        0x7f7f_ffff,
        0xff7f_ffff,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0x4b00_0000,
        0x0b80_0000,
    ];
    for round in 0..300 {
        let mut w = wave(64);
        for n in 0..7 {
            set(&mut w, Reg::V(n), |_| 0, 64);
        }
        w.masks.insert(Reg::VccLo, 0);
        w.masks.insert(Reg::S(4), 0);
        let mut pick = |round: u32| {
            let v = random.next() as u32;
            if round & 1 == 0 && v & 3 == 0 { special[random.below(special.len())] } else { v }
        };
        let pairs: Vec<(u32, u32)> = (0..64).map(|_| (pick(round), pick(round))).collect();
        set(&mut w, Reg::V(0), |l| pairs[l as usize].0, 64);
        set(&mut w, Reg::V(1), |l| pairs[l as usize].1, 64);
        cdna(&mut w, &DIVISION);
        for (lane, (n, d)) in pairs.iter().enumerate() {
            let (want, got) = (f32::from_bits(*n) / f32::from_bits(*d), w.words[&Reg::V(4)][lane]);
            // A denormal quotient is rounded twice: by the fused sum, and by the scale.
            let near = want.abs() < f32::MIN_POSITIVE && got.abs_diff(want.to_bits()) <= 1;
            let same = want.to_bits() == got || (want.is_nan() && f32::from_bits(got).is_nan());
            assert!(same || near, "{n:#x} / {d:#x} is {got:#x}, not {:#x}", want.to_bits());
        }
    }
}

#[test]
fn functions_are_within_one_unit_in_the_last_place() {
    type Function = fn(f64) -> f64;
    let functions: [(u32, Function); 7] = [
        (0x7e04_4500, |x| 1.0 / x),
        (0x7e04_4900, |x| 1.0 / x.sqrt()),
        (0x7e04_4f00, f64::sqrt),
        (0x7e04_4100, f64::exp2),
        (0x7e04_4300, f64::log2),
        (0x7e04_5300, |x| (x * std::f64::consts::TAU).sin()),
        (0x7e04_5500, |x| (x * std::f64::consts::TAU).cos()),
    ];
    let values: Vec<f32> =
        (0..64u8).map(|i| (f32::from(i) * 0.37 + 0.013) * [1.0, 1e-3, 1e3, 0.1][i as usize % 4]).collect();
    for (n, (word, f)) in functions.into_iter().enumerate() {
        let mut w = wave(64);
        // Angles are small, so that their product with a turn is exact enough in binary64.
        let x = |l: u32| if n >= 5 { values[l as usize] % 8.0 } else { values[l as usize] % 100.0 };
        set(&mut w, Reg::V(0), |l| x(l).to_bits(), 64);
        set(&mut w, Reg::V(2), |_| 0, 64);
        assert_eq!(steps(Target::Gfx942, 64, &[word], &mut w), 1);
        for l in 0..64 {
            let (want, got) =
                (f(f64::from(x(l))), f64::from(f32::from_bits(w.words[&Reg::V(2)][l as usize])));
            let unit = f64::from(f32::EPSILON) * want.abs().max(1e-3);
            assert!((want - got).abs() <= unit, "{word:#x} of {} is {got}, not {want}", x(l));
        }
    }
    // The guides' examples: -infinity, -0, and 1/4 of a turn.
    let example = |word: u32, bits: u32| {
        let mut w = wave(64);
        set(&mut w, Reg::V(0), |_| bits, 64);
        set(&mut w, Reg::V(2), |_| 0, 64);
        steps(Target::Gfx942, 64, &[word], &mut w);
        w.words[&Reg::V(2)][0]
    };
    assert_eq!(example(0x7e04_4100, 0xff80_0000), 0);
    assert_eq!(example(0x7e04_4100, 0x8000_0000), 0x3f80_0000);
    assert_eq!(example(0x7e04_4300, 0xbf80_0000), 0xffc0_0000);
    assert_eq!(example(0x7e04_4300, 0x8000_0000), 0xff80_0000);
    assert_eq!(example(0x7e04_5300, 0xff80_0000), 0xffc0_0000);
    assert_eq!(example(0x7e04_5300, 0xff7f_ffff), 0);
    assert_eq!(example(0x7e04_5300, 0x8000_0000), 0x8000_0000);
    assert_eq!(example(0x7e04_5300, 0x3e80_0000), 0x3f80_0000);
    // Denormals are flushed: 1 / 2^-149 is infinite.
    assert_eq!(example(0x7e04_4500, 1), 0x7f80_0000);
}

#[test]
fn lanes_read_other_lanes() {
    let moved = |words: &[u32], active: u64| {
        let mut w = wave(64);
        w.masks.insert(Reg::ExecLo, active);
        set(&mut w, Reg::V(0), |l| l + 100, 64);
        set(&mut w, Reg::V(2), |_| 7, 64);
        steps(Target::Gfx942, 64, words, &mut w);
        w.words[&Reg::V(2)].clone()
    };
    let expect = |words: &[u32], f: &dyn Fn(u32) -> u32| {
        assert_eq!(moved(words, u64::MAX), (0..64).map(f).collect::<Vec<_>>(), "{words:x?}");
    };
    // quad_perm:[1,0,3,2]
    expect(&[0x7e04_02fa, 0xff00_b100], &|l| 100 + (l ^ 1));
    // row_ror:3
    expect(&[0x7e04_02fa, 0xff01_2300], &|l| 100 + (l & 48) + (l + 13) % 16);
    // row_bcast:15 row_mask:0xa
    expect(&[0x7e04_02fa, 0xaf01_4200], &|l| if l & 16 == 16 { 100 + (l & 48) - 1 } else { 7 });
    // wave_shr:1 bound_ctrl:0
    expect(&[0x7e04_02fa, 0xff09_3800], &|l| if l == 0 { 0 } else { 99 + l });
    // row_half_mirror bank_mask:0x5
    expect(&[0x7e04_02fa, 0xf501_4100], &|l| if l & 4 == 0 { 100 + (l & 56) + 7 - (l & 7) } else { 7 });
    // ds_swizzle_b32 v2, v0 offset:swizzle(SWAP,2)
    expect(&[0xd87a_081f, 0x0200_0000], &|l| 100 + (l ^ 2));
    // Lanes that EXEC leaves out give nothing: lane 0 reads lane 1.
    assert_eq!(moved(&[0x7e04_02fa, 0xff00_b100], 1)[..2], [7, 7]);
    let mut w = wave(64);
    set(&mut w, Reg::V(0), |l| 4 * (5 * l % 64), 64);
    set(&mut w, Reg::V(1), |l| l + 100, 64);
    set(&mut w, Reg::V(2), |_| 0, 64);
    set(&mut w, Reg::S(4), |_| 0, 64);
    // ds_bpermute_b32 v2, v0, v1
    steps(Target::Gfx942, 64, &[0xd87e_0000, 0x0200_0100], &mut w);
    assert_eq!(w.words[&Reg::V(2)][3], 115);
    // ds_permute_b32 v2, v0, v1
    steps(Target::Gfx942, 64, &[0xd87c_0000, 0x0200_0100], &mut w);
    assert_eq!(w.words[&Reg::V(2)][15], 103);
    // v_readlane_b32 s4, v1, 5 is in lanes that EXEC leaves out, too: v_readlane_b32 s4, v0, 5
    w.masks.insert(Reg::ExecLo, 0);
    steps(Target::Gfx942, 64, &[0xd289_0004, 0x0001_0b00], &mut w);
    assert_eq!(w.words[&Reg::S(4)][63], 100);
    // v_writelane_b32 v2, s4, 7
    steps(Target::Gfx942, 64, &[0xd28a_0002, 0x0001_0e04], &mut w);
    assert_eq!(w.words[&Reg::V(2)][7], 100);
    // v_mbcnt_lo_u32_b32 v2, -1, 0 and v_mbcnt_hi_u32_b32 v2, -1, v2: the number of the lane
    w.masks.insert(Reg::ExecLo, u64::MAX);
    cdna(&mut w, &[&[0xd28c_0002, 0x0001_00c1], &[0xd28d_0002, 0x0002_04c1]]);
    assert_eq!(w.words[&Reg::V(2)], (0..64).collect::<Vec<u32>>());
}

#[test]
fn packed_and_mixed_operations() {
    let mut w = wave(64);
    let mut run = |values: &[(u8, u32)], words: &[u32]| {
        for (reg, value) in values {
            set(&mut w, Reg::V(*reg), |_| *value, 64);
        }
        steps(Target::Gfx942, 64, words, &mut w);
        (w.words[&Reg::V(2)][9], w.words[&Reg::V(3)][9])
    };
    // v_pk_add_f16 v2, v0, v1 op_sel_hi:[0,1]: 1 + 2, and 1 + 3
    let halves = [(0, 0x4000_3c00), (1, 0x4200_4000), (2, 0), (3, 0)];
    assert_eq!(run(&halves, &[0xd38f_4002, 0x1002_0300]).0, 0x4400_4200);
    // v_fma_mix_f32 v2, v0, v1, v3 op_sel:[1,0,0] op_sel_hi:[1,1,0]: 2 * 2 + 0.5
    assert_eq!(run(&[(3, 0.5f32.to_bits())], &[0xd3a0_0802, 0x1c0e_0300]).0, 4.5f32.to_bits());
    // v_pk_fma_f32 v[2:3], v[0:1], v[4:5], v[6:7] op_sel_hi:[1,0,1] neg_lo:[1,0,0]: -2 * 10 + 1, and 3 *
    // 10 + 2
    let values: Vec<(u8, u32)> = [(0, 2f32), (1, 3.0), (4, 10.0), (5, 20.0), (6, 1.0), (7, 2.0)]
        .map(|(r, v)| (r, v.to_bits()))
        .to_vec();
    let (low, high) = run(&values, &[0xd3b0_4002, 0x2c1a_0900]);
    assert_eq!((f32::from_bits(low), f32::from_bits(high)), (-19.0, 32.0));
    // v_dot4_i32_i8 v2, v0, v1, v3: 3 * 4 + 2 * 3 - 1 * 2 + 1 * 1 + 100
    assert_eq!(run(&[(0, 0x01ff_0203), (1, 0x0102_0304), (3, 100)], &[0xd3a8_4002, 0x1c0e_0300]).0, 117);
    // v_cvt_pkrtz_f16_f32 v2, v0, v1: to nearest, the first would be 0x3c02.
    assert_eq!(run(&[(0, 0x3f80_3fff), (1, 0xbf80_0000)], &[0xd296_0002, 0x0002_0300]).0, 0xbc00_3c01);
    // v_cvt_pk_fp8_f32 v2, v0, v1: 1 and -2 with the bias 8 of CDNA 3; the upper half stays.
    let values = [(0, 1f32.to_bits()), (1, (-2f32).to_bits()), (2, 0xabcd_0000)];
    assert_eq!(run(&values, &[0xd2a2_0002, 0x0002_0300]).0, 0xabcd_c840);
    // v_pk_mov_b32 v[2:3], -1, 1.0: `op_sel` selects the low words, and `op_sel_hi` nothing.
    assert_eq!(run(&[], &[0xd3b3_4002, 0x1801_e4c1]), (u32::MAX, 1f32.to_bits()));
    // v_pk_mov_b32 v[2:3], 7, v[0:1] op_sel:[0,1]
    assert_eq!(run(&[(0, 5), (1, 6)], &[0xd3b3_5002, 0x1802_0087]), (7, 6));
    // v_pk_mov_b32 v[2:3], 7, v[0:1] op_sel:[1,1]
    let refused = super::amd::run(Target::Gfx942, 64, &[0xd3b3_5802, 0x1802_0087], &mut w);
    assert!(format!("{refused:?}").contains("the high word of a constant is not implemented"), "{refused:?}");
}

#[test]
fn exec_and_mode() {
    let mut w = wave(64);
    for (reg, value) in [(Reg::S(0), 0x1234_5678), (Reg::S(2), 0), (Reg::S(4), 0), (Reg::S(5), 9)] {
        set(&mut w, reg, |_| value, 64);
    }
    for (reg, value) in [(Reg::S(6), 0xf), (Reg::S(7), 0), (Reg::ExecLo, 0x3c), (Reg::ExecHi, 0)] {
        set(&mut w, reg, |_| value, 64);
    }
    w.masks.insert(Reg::ExecLo, 0x3c);
    // s_and_saveexec_b64 s[4:5], s[6:7]
    steps(Target::Gfx942, 64, &[0xbe84_2006], &mut w);
    assert_eq!(
        (w.words[&Reg::S(4)][0], w.words[&Reg::S(5)][0], w.masks[&Reg::ExecLo], w.scc),
        (0x3c, 0, 0xc, true)
    );
    assert_eq!(w.words[&Reg::ExecLo][0], 0xc);
    // s_bfe_u32 s2, s0, 0x80004: eight bits from bit 4
    steps(Target::Gfx942, 64, &[0x9282_ff00, 0x0008_0004], &mut w);
    assert_eq!(w.words[&Reg::S(2)][0], 0x67);
    // s_getreg_b32 s2, hwreg(HW_REG_MODE, 4, 4): denormals are on.
    steps(Target::Gfx942, 64, &[0xb882_1901], &mut w);
    assert_eq!(w.words[&Reg::S(2)][0], 0xf);
    // v_cmpx_gt_u32_e32 vcc, v0, v1: of lanes 2 and 3, lane 3
    set(&mut w, Reg::V(0), |l| l, 64);
    set(&mut w, Reg::V(1), |_| 2, 64);
    w.masks.insert(Reg::VccLo, 0);
    steps(Target::Gfx942, 64, &[0x7db8_0300], &mut w);
    assert_eq!((w.masks[&Reg::VccLo], w.masks[&Reg::ExecLo], w.words[&Reg::ExecLo][0]), (8, 8, 8));
}
