//! AMD's matrix products of binary64 and sparse ones: elements where AMD's matrix instruction calculator has
//! them.

use prlx_emu::testing::{FloatMode, WaveState, run_alone};
use prlx_isa::amdgpu::Target;
use prlx_isa::amdgpu::inst::{Encoding, Field, Inst, Reg, table};
use prlx_lanes::Simd;

use super::amd::{Random, wave};
use super::amd_matrix::{bf16_of, f16_of, fp8_fnuz_of, i8_of};

/// A product with A from v32 on, B from v64 on, C (or the indices) from v96 on, and D from v128 on.
fn product(target: Target, name: &str, fields: &[(Field, u32)]) -> Inst {
    let layout = table::of(target).layout(Encoding::Mai).expect("the target has it");
    let row = layout.rows.iter().find(|row| row.name == name).expect("the target has it");
    let mut raw = layout.with_opcode(row.opcode) | row.fixed.1;
    let registers =
        [(Field::Src0, 256 + 32), (Field::Src1, 256 + 64), (Field::Src2, 256 + 96), (Field::Vdst, 128)];
    for (field, value) in registers.iter().chain(fields) {
        raw |= layout.field(*field).map_or(0, |bits| u128::from(*value) << bits.low & bits.mask());
    }
    let inst = Inst::decode(target, 64, &[raw as u32, (raw >> 32) as u32]).expect("there are words");
    assert_eq!(inst.name(), name);
    inst
}

/// Runs a product. Each list has the registers from a number on, with their lanes.
fn run(inst: Inst, registers: &[(u8, &[Vec<u32>])], results: usize) -> Vec<Vec<u32>> {
    let mut state: WaveState = wave(64);
    // EXEC does not matter.
    state.masks.insert(Reg::ExecLo, 1);
    for (first, values) in registers {
        for (n, lanes) in values.iter().enumerate() {
            state.words.insert(Reg::V(first + n as u8), lanes.clone());
        }
    }
    let ran = run_alone(inst, 64, FloatMode::default(), Simd::Base, &mut state);
    let (_, cost) = ran.unwrap_or_else(|e| panic!("{} {}: {e}", inst.target(), inst.print()));
    assert_eq!(cost, 1, "{}", inst.print());
    (0..results).map(|n| state.words[&Reg::V(128 + n as u8)].clone()).collect()
}

/// Numbers of 64 lanes as pairs of registers.
fn words(values: &[[f64; 64]]) -> Vec<Vec<u32>> {
    let part = |value: &[f64; 64], shift: u32| value.map(|v| (v.to_bits() >> shift) as u32).to_vec();
    values.iter().flat_map(|value| [part(value, 0), part(value, 32)]).collect()
}

fn doubles(target: Target, name: &str, m: usize, blocks: usize, signs: u32) {
    let mut random = Random(name.len() as u64 * 31 + u64::from(signs));
    let mut number = || (f64::from(random.below(2001) as u32) - 1000.0) / 7.0;
    let size = blocks * m * m;
    let (mut a, mut b) = ([0.0; 64], [0.0; 64]);
    let mut c = vec![[0.0; 64]; size / 64];
    for lane in 0..64 {
        (a[lane], b[lane]) = (number(), number());
        c.iter_mut().for_each(|pair| pair[lane] = number());
    }
    let sign = |n: u32| if signs >> n & 1 == 1 { -1.0 } else { 1.0 };
    let source = |block: usize, i: usize, k: usize| if m == 16 { 16 * k + i } else { 4 * block + 16 * k + i };
    let mut want = vec![[0.0; 64]; size / 64];
    for block in 0..blocks {
        for i in 0..m {
            for j in 0..m {
                let (pair, lane) = match m {
                    16 => (i / 4, 16 * (i % 4) + j),
                    _ => (0, 16 * i + 4 * block + j),
                };
                let first = sign(2) * c[pair][lane];
                want[pair][lane] = (0..4).fold(first, |sum: f64, k| {
                    (sign(0) * a[source(block, i, k)]).mul_add(sign(1) * b[source(block, j, k)], sum)
                });
            }
        }
    }
    let inst = product(target, name, &[(Field::Blgp, signs)]);
    let zero = vec![vec![0; 64]; size / 32];
    let registers: [(u8, &[Vec<u32>]); 4] =
        [(32, &words(&[a])), (64, &words(&[b])), (96, &words(&c)), (128, &zero)];
    let got = run(inst, &registers, size / 32);
    assert_eq!(got, words(&want), "{target} {name} {signs}");
}

#[test]
fn products_of_binary64() {
    doubles(Target::Gfx90a, "v_mfma_f64_16x16x4f64", 16, 1, 0);
    doubles(Target::Gfx90a, "v_mfma_f64_4x4x4f64", 4, 4, 0);
    for target in [Target::Gfx942, Target::Gfx950] {
        for signs in [0, 1, 2, 4, 7] {
            doubles(target, "v_mfma_f64_16x16x4_f64", 16, 1, signs);
            doubles(target, "v_mfma_f64_4x4x4_4b_f64", 4, 4, signs);
        }
    }
}

/// A sparse product of M rows and K columns, with elements of so many bits. `set` is `abid`.
fn sparse(name: &str, [m, k, bits]: [usize; 3], write: fn(i32) -> u32, set: u32) {
    let mut random = Random(name.len() as u64 * 17 + k as u64 + u64::from(set));
    let per = 32 / bits;
    // Columns of a lane.
    let each = k / (64 / m);
    let (mut a, mut b) = (vec![vec![0u32; 64]; 2], vec![vec![0u32; 64]; 4]);
    let mut indices = vec![vec![0u32; 64]];
    indices[0].fill_with(|| random.below(1 << 16) as u32 * 0x1_0001);
    let (mut left, mut right) = (vec![vec![0; k]; m], vec![vec![0; k]; m]);
    let mut small = || random.below(7) as i32 - 3;
    for i in 0..m {
        for group in 0..k / 4 {
            let lane = i + m * (4 * group / each);
            let group_of_lane = group % (each / 4);
            // Two of four columns, in their order.
            let first = small().unsigned_abs() as usize % 3;
            let second = first + 1 + small().unsigned_abs() as usize % (3 - first);
            let low = set as usize * (each / 4) * 4 + 4 * group_of_lane;
            let word = &mut indices[0][lane];
            *word = *word & !(15 << low) | ((first | second << 2) as u32) << low;
            for (n, column) in [first, second].into_iter().enumerate() {
                let value = small();
                left[i][4 * group + column] = value;
                let at = 2 * group_of_lane + n;
                a[at / per][lane] |= write(value) << (bits * (at % per));
            }
        }
        for (column, element) in right[i].iter_mut().enumerate() {
            let (lane, at, value) = (i + m * (column / each), column % each, small());
            *element = value;
            b[at / per][lane] |= write(value) << (bits * (at % per));
        }
    }
    let number = |v: i32| if name.contains("_i32_") { v as u32 } else { (v as f32).to_bits() };
    let mut old = vec![vec![0; 64]; m * m / 64];
    let mut want = old.clone();
    for (i, row) in left.iter().enumerate() {
        for (j, column) in right.iter().enumerate() {
            let (register, lane) = match m {
                32 => (4 * (i / 8) + i % 4, 32 * (i / 4 % 2) + j),
                _ => (i % 4, 16 * (i / 4) + j),
            };
            let first = small() * 5;
            let sum: i32 = row.iter().zip(column).map(|(x, y)| x * y).sum();
            (old[register][lane], want[register][lane]) = (number(first), number(first + sum));
        }
    }
    let inst = product(Target::Gfx942, name, &[(Field::Abid, set)]);
    let got = run(inst, &[(32, &a), (64, &b), (96, &indices), (128, &old)], m * m / 64);
    assert_eq!(got, want, "{name}, set {set}");
}

#[test]
fn sparse_products() {
    for set in 0..4 {
        sparse("v_smfmac_f32_16x16x32_f16", [16, 32, 16], f16_of, set);
        sparse("v_smfmac_f32_32x32x16_bf16", [32, 16, 16], bf16_of, set);
    }
    for set in 0..2 {
        sparse("v_smfmac_i32_16x16x64_i8", [16, 64, 8], i8_of, set);
        sparse("v_smfmac_f32_32x32x32_fp8_fp8", [32, 32, 8], fp8_fnuz_of, set);
    }
}
