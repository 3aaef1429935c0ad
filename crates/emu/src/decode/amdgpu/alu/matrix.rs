//! Matrix products: MFMA of CDNA, WMMA of RDNA.
//!
//! D = A * B + C. Each register of D is one step for each register of A and B: it adds the products of the
//! elements that are in these registers. D is written when all steps are done, as its registers may be
//! those of a source.
//!
//! The lanes (AMD's ISA guides, "Matrix fused-multiply-add", and AMD's matrix instruction calculator), for
//! a product of M rows and columns with B blocks in waves of L lanes:
//!
//! | matrix | lane of an element |
//! |---|---|
//! | A: row i | i + M * (block * G + g): group g of G = L / (M * B) has a part of the columns |
//! | B: column j | j + M * (block * G + g), likewise |
//! | A, B in WMMA of RDNA 3 | i, or j; lanes from 16 on repeat them |
//! | C, D with 32 rows | j + 32 * h; register 16 * block + 4 * a + r has row 8 * a + 4 * h + r |
//! | C, D with 16 rows | j + 16 * h; register 4 * block + r has row 4 * h + r |
//! | C, D with 4 rows | j + 4 * block; register r has row r |
//! | C, D of WMMA, R registers | j + 16 * h; register r has row r * L / 16 + h (RDNA 3), h * R + r (RDNA 4) |
//!
//! A and B have the same place for column and row k, so that the place itself does not matter.
//!
//! `cbsz` and `abid` replace blocks of A: each 2^`cbsz` of them take the one number `abid` of theirs. `blgp`
//! replaces lanes of B by groups of 16 ([`GROUPS_OF_B`]).
//!
//! # Invariants
//! EXEC does not matter.
//!
//! # Limitations
//! - The guides leave the order of a sum open. Here products are added one by one, each rounded in
//!   binary32, those of the first registers first.
//! - tf32, scaled formats, sparse products of RDNA, results of 16 bits, signs and `clamp` are refused, and
//!   `cbsz`, `abid` and `blgp` on gfx950. Products of binary64 and sparse ones are in `products`.

use prlx_isa::amdgpu::inst::{Field, Operand};
use prlx_isa::amdgpu::{Family, Target};
use prlx_lanes::Args;
use prlx_lanes::amd::float::Binary16;
use prlx_lanes::fp8::{Bf8, Bf8Fnuz, Float8, Fp8, Fp8Fnuz};
use prlx_lanes::half::{Bf16, Half};

use super::super::decoder::Decoder;
use crate::code::{NO_GUARD, Op, Wave};
use crate::decode::binder::PlaneKind;
use crate::error::{EmuError, unsupported};

/// The type of the elements of A or B.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Element {
    F32,
    F16,
    Bf16,
    Fp8,
    Bf8,
    Fp8Fnuz,
    Bf8Fnuz,
    I8,
    U8,
    I4,
    U4,
}

const ELEMENTS: [Element; 11] = {
    use Element::*;
    [F32, F16, Bf16, Fp8, Bf8, Fp8Fnuz, Bf8Fnuz, I8, U8, I4, U4]
};

impl Element {
    pub(super) fn bits(self) -> u32 {
        match self {
            Element::F32 => 32,
            Element::F16 | Element::Bf16 => 16,
            Element::I4 | Element::U4 => 4,
            _ => 8,
        }
    }
    pub(super) fn is_integer(self) -> bool {
        matches!(self, Element::I8 | Element::U8 | Element::I4 | Element::U4)
    }
    /// The value of an element in the low bits.
    pub(super) fn float(self, bits: u32) -> f32 {
        match self {
            Element::F32 => f32::from_bits(bits),
            Element::F16 => Binary16::from_bits(bits as u16).0,
            Element::Bf16 => Bf16::widen(bits as u16),
            Element::Fp8 => Fp8::value(bits as u8),
            Element::Bf8 => Bf8::value(bits as u8),
            Element::Fp8Fnuz => Fp8Fnuz::value(bits as u8),
            _ => Bf8Fnuz::value(bits as u8),
        }
    }
    pub(super) fn integer(self, bits: u32) -> i32 {
        match self {
            Element::I8 => i32::from(bits as u8 as i8),
            Element::U8 => i32::from(bits as u8),
            Element::I4 => (bits << 28) as i32 >> 28,
            _ => (bits & 15) as i32,
        }
    }
    fn of(name: &str, target: Target, signed: bool) -> Option<Element> {
        Some(match (name, target) {
            ("f32", _) => Element::F32,
            ("f16", _) => Element::F16,
            ("bf16", _) => Element::Bf16,
            ("fp8", Target::Gfx942) => Element::Fp8Fnuz,
            ("bf8", Target::Gfx942) => Element::Bf8Fnuz,
            ("fp8", _) => Element::Fp8,
            ("bf8", _) => Element::Bf8,
            ("i8", _) => Element::I8,
            ("iu8", _) if signed => Element::I8,
            ("iu8", _) => Element::U8,
            ("iu4", _) if signed => Element::I4,
            ("iu4", _) => Element::U4,
            _ => return None,
        })
    }
}

/// The number of a type in [`ELEMENTS`].
pub(super) fn element_number(element: Element) -> u64 {
    ELEMENTS.iter().position(|x| *x == element).unwrap_or(0) as u64
}

/// The type with a number.
pub(super) fn element(number: usize) -> Element {
    ELEMENTS.get(number).copied().unwrap_or(Element::F32)
}

/// Where elements are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    Mfma,
    Rdna3,
    Rdna4,
}

const LAYOUTS: [Layout; 3] = [Layout::Mfma, Layout::Rdna3, Layout::Rdna4];

/// By `blgp`: the group of 16 lanes of B that each such group takes (AMD's matrix instruction calculator).
const GROUPS_OF_B: [[usize; 4]; 8] = [
    [0, 1, 2, 3],
    [0, 1, 0, 1],
    [2, 3, 2, 3],
    [1, 2, 3, 0],
    [0, 0, 0, 0],
    [1, 1, 1, 1],
    [2, 2, 2, 2],
    [3, 3, 3, 3],
];

/// A product and one register of its result, as the constant of a step.
#[derive(Clone, Copy)]
struct Part {
    rows: usize,
    blocks: usize,
    layout: Layout,
    types: [Element; 2],
    register: usize,
    registers: usize,
    cbsz: usize,
    abid: usize,
    blgp: usize,
}

impl Part {
    fn pack(self) -> u64 {
        let layout = LAYOUTS.iter().position(|x| *x == self.layout).unwrap_or(0) as u64;
        self.rows as u64
            | (self.blocks as u64) << 8
            | layout << 16
            | element_number(self.types[0]) << 20
            | element_number(self.types[1]) << 24
            | (self.register as u64) << 32
            | (self.registers as u64) << 40
            | (self.cbsz as u64) << 48
            | (self.abid as u64) << 52
            | (self.blgp as u64) << 56
    }
    fn unpack(imm: u64) -> Part {
        let part = |low: u32, bits: u32| (imm >> low & ((1 << bits) - 1)) as usize;
        Part {
            rows: part(0, 8).max(1),
            blocks: part(8, 8).max(1),
            layout: LAYOUTS.get(part(16, 4)).copied().unwrap_or(Layout::Mfma),
            types: [element(part(20, 4)), element(part(24, 4))],
            register: part(32, 8),
            registers: part(40, 8).max(1),
            cbsz: part(48, 3),
            abid: part(52, 4),
            blgp: part(56, 3),
        }
    }
    /// Block, row and column of the result in a lane.
    fn place(self, lane: usize, lanes: usize) -> (usize, usize, usize) {
        let (v, high) = (self.register, lane / self.rows);
        let column = lane % self.rows;
        match (self.layout, self.rows) {
            (Layout::Rdna3, _) => (0, v * (lanes / 16) + high, column),
            (Layout::Rdna4, _) => (0, high * self.registers + v, column),
            (_, 32) => (v / 16, 8 * (v % 16 / 4) + 4 * high + v % 4, column),
            (_, 16) => (v / 4, 4 * high + v % 4, column),
            _ => (high, v, column),
        }
    }
    /// The block of A that a block of the result takes.
    fn block_of_a(self, block: usize) -> usize {
        (block >> self.cbsz << self.cbsz) + self.abid
    }
    /// The lane of B that is read in place of a lane.
    fn lane_of_b(self, lane: usize) -> usize {
        if self.blgp == 0 { lane } else { GROUPS_OF_B[self.blgp][lane / 16 % 4] * 16 + lane % 16 }
    }
    /// The number of groups of lanes that have parts of a row of A.
    fn groups(self, lanes: usize) -> usize {
        if self.layout == Layout::Rdna3 { 1 } else { lanes / (self.rows * self.blocks) }
    }
}

/// Adds the products of the elements of one register of A and of B to one register of C.
fn add(w: &mut Wave<'_, '_>, a: &Args, _: u64) {
    let part = Part::unpack(a.imm);
    let lanes = w.lanes();
    let groups = part.groups(lanes);
    let [ta, tb] = part.types;
    let bits = ta.bits();
    for lane in 0..lanes {
        let (block, row, column) = part.place(lane, lanes);
        let mut sum = w.word(a.src[2], lane);
        for group in 0..groups {
            let first = |block: usize| part.rows * (block * groups + group);
            let x = w.word(a.src[0], first(part.block_of_a(block)) + row);
            let y = w.word(a.src[1], part.lane_of_b(first(block) + column));
            for n in 0..32 / bits {
                sum = add_product([ta, tb], sum, [x >> (n * bits), y >> (n * bits)]);
            }
        }
        w.set_word(a.dst[0], lane, sum);
    }
}

/// A sum of 32 bits with the product of two elements added, which are in the low bits.
pub(super) fn add_product([ta, tb]: [Element; 2], sum: u32, [x, y]: [u32; 2]) -> u32 {
    if ta.is_integer() {
        sum.wrapping_add(ta.integer(x).wrapping_mul(tb.integer(y)) as u32)
    } else {
        ta.float(x).mul_add(tb.float(y), f32::from_bits(sum)).to_bits()
    }
}

/// Copies a register in all lanes.
pub(super) fn copy(w: &mut Wave<'_, '_>, a: &Args, _: u64) {
    for lane in 0..w.lanes() {
        let value = w.word(a.src[0], lane);
        w.set_word(a.dst[0], lane, value);
    }
}

/// Types of A and B, and the rows, from a mnemonic as `v_mfma_f32_32x32x8_f16`.
pub(super) fn types(d: &Decoder<'_, '_>, name: &str) -> Option<([Element; 2], usize)> {
    let wmma = name.strip_prefix("v_wmma_");
    let rest = wmma.or_else(|| name.strip_prefix("v_mfma_")).or_else(|| name.strip_prefix("v_smfmac_"))?;
    let (result, rest) = rest.split_once('_')?;
    let [rows, columns, _] = shape(rest)?;
    let rest = rest.strip_suffix("_1k").unwrap_or(rest);
    // Old names have the type behind the shape: `32x32x8f16`.
    let tail = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == 'x' || c == '_');
    let tail = tail.strip_prefix("b_").unwrap_or(tail);
    let (a, b) = tail.split_once('_').unwrap_or((tail, tail));
    let neg = d.inst.get(Field::Neg);
    let signed = |n: u32| wmma.is_some() && neg >> n & 1 == 1;
    let target = d.inst.target();
    let types = [Element::of(a, target, signed(0))?, Element::of(b, target, signed(1))?];
    let integers = types[0].is_integer();
    let fits = if integers { result == "i32" } else { result == "f32" };
    (fits && rows == columns && integers == types[1].is_integer()).then_some((types, rows))
}

/// Rows, columns and depth at the start of a text.
pub(super) fn shape(text: &str) -> Option<[usize; 3]> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).filter(|n| !n.is_empty());
    Some([numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?])
}

/// Appends the steps of a matrix product.
pub(super) fn steps(d: &mut Decoder<'_, '_>, name: &str, operands: &[Operand]) -> Result<(), EmuError> {
    let Some((types, rows)) = types(d, name) else {
        return Err(unsupported("this matrix product is not implemented"));
    };
    let [result, a, b, c] = operands else { return Err(unsupported("a product needs three sources")) };
    let inst = &d.inst;
    let integers = types[0].is_integer();
    let mfma = name.starts_with("v_mfma");
    // Signs of integers say which elements are signed.
    let signs = inst.get(Field::NegHi) | if integers { 0 } else { inst.get(Field::Neg) };
    let replaced = [Field::Cbsz, Field::Abid, Field::Blgp];
    let [cbsz, abid, blgp] = replaced.map(|field| if mfma { inst.get(field) as usize } else { 0 });
    if cbsz | abid | blgp != 0 && inst.target() == Target::Gfx950 {
        return Err(unsupported("`cbsz`, `abid` and `blgp` are not implemented on gfx950"));
    }
    if !mfma && (signs != 0 || inst.get(Field::Clamp) == 1) {
        return Err(unsupported("signs and `clamp` of matrix products are not implemented"));
    }
    let layout = match inst.target().family() {
        _ if mfma => Layout::Mfma,
        Family::Gfx11 => Layout::Rdna3,
        _ => Layout::Rdna4,
    };
    let (to, ra, rb) = (result.value.registers(), a.value.registers(), b.value.registers());
    let lanes = d.lanes as usize;
    let part = Part {
        rows,
        blocks: (to.len() * lanes / (rows * rows)).max(1),
        layout,
        types,
        register: 0,
        registers: to.len(),
        cbsz,
        abid,
        blgp,
    };
    if 1 << cbsz > part.blocks || abid >= 1 << cbsz {
        return Err(unsupported("`cbsz` or `abid` is beyond the blocks of the product"));
    }
    if ra.len() != rb.len() || part.blocks * rows * rows != to.len() * lanes {
        return Err(unsupported("its matrices have sizes that are not implemented"));
    }
    let initial = c.value.registers();
    let constant = d.words(c)?.first().copied();
    let mut sums = Vec::new();
    for n in 0..to.len() {
        let mut from = match initial.get(n) {
            Some(reg) => d.word(*reg),
            None => constant.ok_or_else(|| unsupported("its third source has another size"))?,
        };
        let sum = d.b.temp(PlaneKind::W32);
        for (x, y) in ra.iter().zip(&rb) {
            let src = [d.word(*x), d.word(*y), from, 0];
            let imm = Part { register: n, ..part }.pack();
            let cost = u8::from(sums.is_empty() && from != sum);
            d.b.push(Op::Wave(add, Args { dst: [sum, 0, 0, 0], src, imm }), NO_GUARD, cost);
            from = sum;
        }
        sums.push(sum);
    }
    for (reg, sum) in to.iter().zip(sums) {
        let dst = d.word(*reg);
        d.wave_all(copy, Args { dst: [dst, 0, 0, 0], src: [sum, 0, 0, 0], imm: 0 });
    }
    Ok(())
}
