//! What the tests of data operations share: an instruction from its opcode, run at every level the processor
//! has.

#![allow(dead_code, reason = "the examples include this file and use parts of it")]

use prlx_emu::testing::{AluOp, EmuError, select};
use prlx_isa::ptx::{Opcode, semantics};
use prlx_isa::view::{Inst, Operand, Reg, Type};
use prlx_lanes::{Args, LANES, Planes, Simd, V32, V64};

/// The levels to test.
pub fn levels() -> Vec<Simd> {
    [Simd::Base, Simd::Avx2, Simd::Avx512].into_iter().filter(|&l| l <= Simd::detect()).collect()
}

/// Registers as operands.
pub fn regs(n: usize) -> Vec<Operand> {
    vec![Operand::Reg(Reg(0)); n]
}

/// Selects the operation of an instruction with these operands, for a vector instruction set.
pub fn choose(text: &str, operands: Vec<Operand>, level: Simd) -> Result<AluOp, EmuError> {
    let semantics = semantics(&Opcode::parse(text).into()).into();
    select(&Inst { semantics, operands, ..Inst::default() }, level)
}

/// Lanes of one operand, as bits.
pub type Lanes = [u64; LANES];

/// Runs a chosen operation; gives the lanes of its destinations. Lanes outside the mask start as all ones.
pub fn run(op: &AluOp, srcs: &[Lanes], mask: u32) -> Vec<Lanes> {
    let mut planes = Planes::default();
    run_on(&mut planes, op, srcs, mask)
}

/// Likewise, on given planes (for the carry flag).
pub fn run_on(planes: &mut Planes, op: &AluOp, srcs: &[Lanes], mask: u32) -> Vec<Lanes> {
    let mut args = Args { imm: op.imm, ..Args::default() };
    planes.w32.clear();
    planes.w64.clear();
    planes.pred.clear();
    assert!(srcs.len() >= op.src.len(), "operands");
    for (i, &t) in op.src.iter().enumerate() {
        args.src[i] = push(planes, t, &srcs[i]);
    }
    for (i, &t) in op.dst.iter().enumerate() {
        args.dst[i] = push(planes, t, &[u64::MAX; LANES]);
    }
    (op.run)(planes, &args, mask);
    op.dst
        .iter()
        .enumerate()
        .map(|(i, &t)| {
            let at = usize::from(args.dst[i]);
            std::array::from_fn(|l| match class(t) {
                1 => u64::from(planes.pred[at] >> l & 1),
                32 => u64::from(planes.w32[at].0[l]),
                _ => planes.w64[at].0[l],
            })
        })
        .collect()
}

fn class(t: Type) -> u32 {
    match t {
        Type::Pred => 1,
        Type::B64 | Type::U64 | Type::S64 | Type::F64 | Type::F32x2 => 64,
        Type::B128 => 128,
        _ => 32,
    }
}

fn push(p: &mut Planes, t: Type, v: &Lanes) -> u16 {
    let at = match class(t) {
        1 => {
            p.pred.push((0..LANES).map(|l| ((v[l] & 1) as u32) << l).sum());
            p.pred.len()
        }
        32 => {
            p.w32.push(V32(v.map(|x| x as u32)));
            p.w32.len()
        }
        _ => {
            p.w64.push(V64(*v));
            p.w64.len()
        }
    };
    at as u16 - 1
}

/// Runs `text` at every level on all the tuples, and compares each result (the first destination) with
/// `want`. Also once with half the lanes off, which must keep what they held.
pub fn check(text: &str, tuples: &[Vec<u64>], want: impl Fn(&[u64]) -> u64) {
    let n = tuples[0].len();
    let bits = width(&choose(text, regs(n + 1), Simd::Base).unwrap_or_else(|e| panic!("{text}: {e}")).dst[0]);
    let ones = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
    let ops: Vec<_> = levels().into_iter().map(|l| (l, choose(text, regs(n + 1), l).unwrap())).collect();
    let mut planes = Planes::default();
    for (i, chunk) in tuples.chunks(LANES).enumerate() {
        let srcs: Vec<Lanes> = (0..n).map(|k| std::array::from_fn(|l| chunk[l % chunk.len()][k])).collect();
        let mask = if i == 1 { 0x5a5a_1234 } else { u32::MAX };
        let expected: Lanes =
            std::array::from_fn(|l| if mask >> l & 1 == 1 { want(&chunk[l % chunk.len()]) } else { ones });
        for (level, op) in &ops {
            let got = run_on(&mut planes, op, &srcs, mask)[0];
            if let Some(l) = (0..LANES).find(|&l| got[l] != expected[l]) {
                let tuple = &chunk[l % chunk.len()];
                panic!("{text} {level:?} {tuple:x?}: {:x} is not {:x}", got[l], expected[l]);
            }
        }
    }
}

/// Bits of a plane's lane.
fn width(t: &Type) -> u32 {
    class(*t)
}

/// How many cases there are where a test asks for `n`: 50 for each, a million or so in all for a form.
/// `PRLX_ALU_SCALE` says how many instead: 1000 is the long mode.
pub fn many(n: usize) -> usize {
    let asked = std::env::var("PRLX_ALU_SCALE").ok().and_then(|s| s.parse().ok());
    n * asked.unwrap_or(50)
}

/// Random numbers (splitmix64).
pub struct Random(pub u64);
impl Random {
    /// The next 64 random bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Integers worth trying at a width: corners, and random ones of every length.
pub fn integers(bits: u32, n: usize, seed: u64) -> Vec<u64> {
    let ones = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
    let top = 1u64 << (bits - 1);
    let mut v: Vec<u64> = vec![
        0,
        1,
        2,
        3,
        top,
        top - 1,
        top + 1,
        ones,
        ones - 1,
        bits as u64,
        bits as u64 - 1,
        bits as u64 + 1,
        0xff,
        0x100,
    ];
    let mut r = Random(seed);
    while v.len() < many(n) {
        let x = r.next();
        let short = r.next() % u64::from(bits);
        v.push(if x & 1 == 0 { x >> 1 } else { (x >> 1) >> short });
        v.push(!(x >> 1 >> short));
    }
    v.iter().map(|x| x & ones).collect()
}

/// Tuples: all pairs of the corners, then random picks.
pub fn tuples(columns: &[Vec<u64>], n: usize, seed: u64) -> Vec<Vec<u64>> {
    let mut out = Vec::new();
    let corners = 14;
    if columns.len() >= 2 {
        for i in 0..corners.min(columns[0].len()) {
            for j in 0..corners.min(columns[1].len()) {
                let mut t = vec![columns[0][i], columns[1][j]];
                t.extend(columns[2..].iter().map(|c| c[(i * 5 + j * 3) % c.len()]));
                out.push(t);
            }
        }
    }
    let mut r = Random(seed);
    while out.len() < many(n) {
        out.push(columns.iter().map(|c| c[(r.next() % c.len() as u64) as usize]).collect());
    }
    out
}
