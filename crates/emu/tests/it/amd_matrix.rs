//! AMD's matrix products: small integers, so that every sum is exact, and elements where AMD's matrix
//! instruction calculator has them.

use prlx_emu::testing::{FloatMode, WaveState, run_alone};
use prlx_isa::amdgpu::Target;
use prlx_isa::amdgpu::inst::{Encoding, Field, Inst, Reg, table};
use prlx_lanes::Simd;

use super::amd::{Random, wave};

/// A product: M = N, K, blocks, bits of an element, and how a small integer is written.
struct Product {
    target: Target,
    lanes: usize,
    encoding: Encoding,
    name: &'static str,
    m: usize,
    k: usize,
    blocks: usize,
    bits: usize,
    write: fn(i32) -> u32,
    /// `cbsz`, `abid` and `blgp`.
    replaced: [u32; 3],
}

/// The lane of B that is read in place of a lane, as the words of AMD's calculator say it: half 0 or 1 to
/// all, all lanes down by 16, quarter 0, 1, 2 or 3 to all.
fn lane_of_b(blgp: u32, lane: usize) -> usize {
    match blgp {
        0 => lane,
        1 | 2 => lane % 32 + 32 * (blgp as usize - 1),
        3 => (lane + 16) % 64,
        quarter => lane % 16 + 16 * (quarter as usize - 4),
    }
}

fn f32_of(v: i32) -> u32 {
    (v as f32).to_bits()
}

pub(super) fn f16_of(v: i32) -> u32 {
    // Small integers in binary16.
    match v.unsigned_abs() {
        0 => 0,
        n => {
            let e = n.ilog2();
            let sign = u32::from(v < 0) << 15;
            sign | (e + 15) << 10 | (n << (10 - e)) & 0x3ff
        }
    }
}

pub(super) fn bf16_of(v: i32) -> u32 {
    f32_of(v) >> 16
}

/// OCP's `fp8`: four bits of exponent with bias 7, three of fraction.
fn fp8_of(v: i32) -> u32 {
    match v.unsigned_abs() {
        0 => 0,
        n => {
            let e = n.ilog2();
            u32::from(v < 0) << 7 | (e + 7) << 3 | (n << 3 >> e) & 7
        }
    }
}

/// CDNA 3's `fp8`, whose bias is 8.
pub(super) fn fp8_fnuz_of(v: i32) -> u32 {
    if v == 0 { 0 } else { fp8_of(v) + 8 }
}

pub(super) fn i8_of(v: i32) -> u32 {
    v as u8 as u32
}

/// The lane and the place among its elements of an element of A (row i, column k), or of B (column i, row
/// k).
fn source(p: &Product, block: usize, i: usize, k: usize) -> (usize, usize) {
    if p.target == Target::Gfx1100 {
        return (i, k);
    }
    let groups = p.lanes / (p.m * p.blocks);
    let each = p.k / groups;
    (i + p.m * (block * groups + k / each), k % each)
}

/// The lane and the register of an element of the result.
fn result(p: &Product, block: usize, i: usize, j: usize) -> (usize, usize) {
    let high = p.lanes / 16;
    match (p.target, p.m) {
        (Target::Gfx1100, _) => (j + 16 * (i % high), i / high),
        (Target::Gfx1201, _) => (j + 16 * (i / (16 / high)), i % (16 / high)),
        (_, 32) => (j + 32 * (i / 4 % 2), 16 * block + 4 * (i / 8) + i % 4),
        (_, 16) => (j + 16 * (i / 4), 4 * block + i % 4),
        _ => (j + 4 * block, i),
    }
}

fn check(p: &Product) {
    let mut random = Random(p.name.len() as u64 * 7919 + p.k as u64);
    let mut small = || random.below(7) as i32 - 3;
    let size = p.blocks * p.m * p.k;
    let (a, b): (Vec<i32>, Vec<i32>) =
        ((0..size).map(|_| small()).collect(), (0..size).map(|_| small()).collect());
    let c: Vec<i32> = (0..p.blocks * p.m * p.m).map(|_| small() * 5).collect();
    let per = 32 / p.bits;
    let elements = if p.target == Target::Gfx1100 { p.k } else { size / p.lanes };
    let registers = elements / per;
    let results = p.blocks * p.m * p.m / p.lanes;
    let layout = table::of(p.target).layout(p.encoding).expect("the target has it");
    let row = layout.rows.iter().find(|row| row.name == p.name).expect("the target has it");
    let mut raw = layout.with_opcode(row.opcode) | row.fixed.1;
    // A from v32 on, B from v64 on, C from v96 on, D from v128 on. Elements of `iu8` are signed.
    let sources =
        [(Field::Src0, 256 + 32), (Field::Src1, 256 + 64), (Field::Src2, 256 + 96), (Field::Vdst, 128)];
    let signs = (Field::Neg, if p.name.ends_with("iu8") { 3 } else { 0 });
    let [cbsz, abid, blgp] = p.replaced;
    let replaced =
        [(Field::Cbsz, cbsz), (Field::Abid, abid), (Field::Blgp, blgp)].map(|(field, n)| (field, n.into()));
    for (field, value) in sources.into_iter().chain([signs]).chain(replaced) {
        raw |= layout.field(field).map_or(0, |bits| value << bits.low & bits.mask());
    }
    let words = [raw as u32, (raw >> 32) as u32];
    let inst = Inst::decode(p.target, p.lanes as u8, &words).expect("there are words");
    assert_eq!(inst.name(), p.name);
    let mut state: WaveState = wave(p.lanes as u32);
    // EXEC does not matter.
    state.masks.insert(Reg::ExecLo, 1);
    let mut put = |first: usize, values: Vec<Vec<u32>>| {
        for (n, lanes) in values.into_iter().enumerate() {
            state.words.insert(Reg::V((first + n) as u8), lanes);
        }
    };
    let matrix = |m: &[i32]| {
        let mut regs = vec![vec![0u32; p.lanes]; registers];
        for block in 0..p.blocks {
            for i in 0..p.m {
                for k in 0..p.k {
                    let (lane, at) = source(p, block, i, k);
                    let bits = (p.write)(m[(block * p.m + i) * p.k + k]) << (p.bits * (at % per));
                    regs[at / per][lane] |= bits;
                    if p.target == Target::Gfx1100 {
                        for copy in (lane + 16..p.lanes).step_by(16) {
                            regs[at / per][copy] |= bits;
                        }
                    }
                }
            }
        }
        regs
    };
    put(32, matrix(&a));
    put(64, matrix(&b));
    let integers = p.name.contains("_i32_");
    let number = |v: i32| if integers { v as u32 } else { f32_of(v) };
    let mut old = vec![vec![0u32; p.lanes]; results];
    let mut want = old.clone();
    for block in 0..p.blocks {
        for i in 0..p.m {
            for j in 0..p.m {
                let (lane, reg) = result(p, block, i, j);
                let c = c[(block * p.m + i) * p.m + j];
                let of_b = |j: usize, k: usize| -> i32 {
                    let places = (0..p.blocks).flat_map(|block| (0..p.m).map(move |j| (block, j)));
                    let (wanted, at) = source(p, block, j, k);
                    let wanted = if blgp == 0 { wanted } else { lane_of_b(blgp, wanted) };
                    let mut all = places.flat_map(|(block, j)| (0..p.k).map(move |k| (block, j, k)));
                    let (block, j, k) = all
                        .find(|(block, j, k)| source(p, *block, *j, *k) == (wanted, at))
                        .expect("each place has an element");
                    b[(block * p.m + j) * p.k + k]
                };
                // Of 2^cbsz blocks, number `abid` is read.
                let each = 1usize << cbsz;
                let from = block - block % each + abid as usize;
                let sum: i32 = (0..p.k).map(|k| a[(from * p.m + i) * p.k + k] * of_b(j, k)).sum();
                old[reg][lane] = number(c);
                want[reg][lane] = number(c + sum);
            }
        }
    }
    put(96, old);
    put(128, vec![vec![0; p.lanes]; results]);
    let (_, cost) = run_alone(inst, p.lanes as u32, FloatMode::default(), Simd::Base, &mut state)
        .unwrap_or_else(|e| panic!("{} {}: {e}", p.target, inst.print()));
    assert_eq!(cost, 1, "{}", p.name);
    for (n, lanes) in want.iter().enumerate() {
        assert_eq!(state.words[&Reg::V(128 + n as u8)], *lanes, "{} {}: register {n}", p.target, p.name);
    }
}

#[test]
fn products_are_where_the_calculator_has_them() {
    use Target::{Gfx90a, Gfx942, Gfx950, Gfx1100, Gfx1201};
    type Row = (Target, usize, &'static str, [usize; 4], fn(i32) -> u32);
    let rows: [Row; 22] = [
        (Gfx90a, 64, "v_mfma_f32_32x32x2f32", [32, 2, 1, 32], f32_of),
        (Gfx90a, 64, "v_mfma_f32_32x32x1f32", [32, 1, 2, 32], f32_of),
        (Gfx90a, 64, "v_mfma_f32_16x16x4f32", [16, 4, 1, 32], f32_of),
        (Gfx90a, 64, "v_mfma_f32_4x4x1f32", [4, 1, 16, 32], f32_of),
        (Gfx90a, 64, "v_mfma_f32_32x32x8f16", [32, 8, 1, 16], f16_of),
        (Gfx90a, 64, "v_mfma_f32_16x16x16bf16_1k", [16, 16, 1, 16], bf16_of),
        (Gfx90a, 64, "v_mfma_f32_16x16x8bf16", [16, 8, 1, 16], bf16_of),
        (Gfx90a, 64, "v_mfma_i32_32x32x8i8", [32, 8, 1, 8], i8_of),
        (Gfx942, 64, "v_mfma_f32_32x32x8_f16", [32, 8, 1, 16], f16_of),
        (Gfx942, 64, "v_mfma_f32_16x16x16_bf16", [16, 16, 1, 16], bf16_of),
        (Gfx942, 64, "v_mfma_f32_16x16x4_4b_f16", [16, 4, 4, 16], f16_of),
        (Gfx942, 64, "v_mfma_f32_4x4x4_16b_f16", [4, 4, 16, 16], f16_of),
        (Gfx942, 64, "v_mfma_i32_16x16x32_i8", [16, 32, 1, 8], i8_of),
        (Gfx942, 64, "v_mfma_f32_16x16x32_fp8_fp8", [16, 32, 1, 8], fp8_fnuz_of),
        (Gfx950, 64, "v_mfma_f32_16x16x32_f16", [16, 32, 1, 16], f16_of),
        (Gfx950, 64, "v_mfma_f32_32x32x16_fp8_fp8", [32, 16, 1, 8], fp8_of),
        (Gfx1100, 32, "v_wmma_f32_16x16x16_f16", [16, 16, 1, 16], f16_of),
        (Gfx1100, 64, "v_wmma_f32_16x16x16_bf16", [16, 16, 1, 16], bf16_of),
        (Gfx1100, 32, "v_wmma_i32_16x16x16_iu8", [16, 16, 1, 8], i8_of),
        (Gfx1201, 32, "v_wmma_f32_16x16x16_f16", [16, 16, 1, 16], f16_of),
        (Gfx1201, 64, "v_wmma_f32_16x16x16_bf16", [16, 16, 1, 16], bf16_of),
        (Gfx1201, 32, "v_wmma_f32_16x16x16_fp8_fp8", [16, 16, 1, 8], fp8_of),
    ];
    for (target, lanes, name, [m, k, blocks, bits], write) in rows {
        let encoding = if name.contains("mfma") { Encoding::Mai } else { Encoding::Vop3p };
        check(&Product { target, lanes, encoding, name, m, k, blocks, bits, write, replaced: [0; 3] });
    }
}

#[test]
fn blocks_of_a_and_lanes_of_b_are_replaced() {
    use Target::{Gfx90a, Gfx942};
    type Row = (Target, &'static str, [usize; 4], fn(i32) -> u32);
    let rows: [Row; 5] = [
        (Gfx90a, "v_mfma_f32_32x32x1f32", [32, 1, 2, 32], f32_of),
        (Gfx90a, "v_mfma_f32_4x4x1f32", [4, 1, 16, 32], f32_of),
        (Gfx942, "v_mfma_f32_16x16x4_4b_f16", [16, 4, 4, 16], f16_of),
        (Gfx942, "v_mfma_f32_4x4x4_16b_f16", [4, 4, 16, 16], f16_of),
        (Gfx942, "v_mfma_f32_32x32x8_f16", [32, 8, 1, 16], f16_of),
    ];
    for (target, name, [m, k, blocks, bits], write) in rows {
        for cbsz in 0..=blocks.ilog2() {
            for replaced in (0..8).map(|blgp| [cbsz, (1 << cbsz) - 1, blgp]) {
                let encoding = Encoding::Mai;
                check(&Product { target, lanes: 64, encoding, name, m, k, blocks, bits, write, replaced });
            }
        }
    }
}
