//! Video instructions, scalar and SIMD: exact (PTX ISA, Video Instructions).
//!
//! Holds: parts are extended by the sign of their operand's type, the first operation is exact, and `.sat` clamps it to the
//! destination's type and parts. Before a second operation with `c` in a scalar form a result is cut to 32 bits of the
//! destination's type, as the code that `ptxas` makes does (no hardware since sm_50 has these instructions); a sum over parts
//! (`.add` of a SIMD form) takes the whole results, as it does there too.
//!
//! Misses: negated operands of `vmad`.

use super::lane::{Body, pick};
use super::{AluOp, Args, Asked};
use crate::planes::{LANES, Planes, V32};
use prlx_isa::ptx::Op;
use prlx_isa::view::{Operand, Type, VideoSelector};

/// The first operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum First {
    Add,
    Sub,
    AbsDiff,
    Min,
    Max,
    Average,
    Shl,
    Shr,
    Mad,
    Set,
}
const FIRST: [First; 10] = {
    use First::*;
    [Add, Sub, AbsDiff, Min, Max, Average, Shl, Shr, Mad, Set]
};
/// What is done with `c`: nothing, or what these say.
const SECOND: [&str; 3] = ["add", "min", "max"];
const RELATIONS: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];

/// A form, as [`Args::imm`] has it.
#[derive(Clone, Copy, Debug)]
struct Form {
    first: First,
    /// 0, or 1 more than the number in [`SECOND`].
    second: u32,
    relation: u32,
    /// Signs of the types of D, A, B.
    signed: [bool; 3],
    sat: bool,
    wrap: bool,
    plus_one: bool,
    shift: u32,
    /// Bits of a part: 32, 16, 8. For scalar forms those of D, A, B.
    bits: [u32; 3],
    /// Four numbers of parts each of A and B; those of scalar forms first.
    from: [u32; 2],
    /// Parts of D that are written; a scalar form's only one as a mask.
    mask: u32,
    packed: bool,
}

const WIDTHS: [u32; 3] = [32, 16, 8];

impl Form {
    fn pack(self) -> u64 {
        let width = |b: u32| WIDTHS.iter().position(|w| *w == b).unwrap_or(0) as u64;
        let bit = u64::from;
        let mut imm = FIRST.iter().position(|f| *f == self.first).unwrap_or(0) as u64;
        imm |= u64::from(self.second) << 4 | u64::from(self.relation) << 6;
        imm |= bit(self.signed[0]) << 9 | bit(self.signed[1]) << 10 | bit(self.signed[2]) << 11;
        imm |= bit(self.sat) << 12 | bit(self.wrap) << 13 | bit(self.plus_one) << 14 | bit(self.packed) << 15;
        imm |= u64::from(self.shift) << 16 | u64::from(self.mask) << 20;
        imm |= width(self.bits[0]) << 24 | width(self.bits[1]) << 26 | width(self.bits[2]) << 28;
        imm | u64::from(self.from[0]) << 32 | u64::from(self.from[1]) << 44
    }
    #[inline(always)]
    fn unpack(imm: u64) -> Form {
        let (low, bit) = (imm as u32, |at: u32| imm >> at & 1 == 1);
        let width = |at: u32| WIDTHS[((low >> at & 3) as usize).min(2)];
        Form {
            first: FIRST[((low & 15) as usize).min(FIRST.len() - 1)],
            second: low >> 4 & 3,
            relation: low >> 6 & 7,
            signed: [bit(9), bit(10), bit(11)],
            sat: bit(12),
            wrap: bit(13),
            plus_one: bit(14),
            packed: bit(15),
            shift: low >> 16 & 15,
            mask: low >> 20 & 15,
            bits: [width(24), width(26), width(28)],
            from: [(imm >> 32) as u32 & 0xfff, (imm >> 44) as u32 & 0xfff],
        }
    }
}

/// Part number `n` of so many bits, extended.
#[inline(always)]
fn part(v: u64, n: u32, bits: u32, signed: bool) -> i64 {
    let up = v << (64 - bits - (n * bits).min(64 - bits));
    if signed { up as i64 >> (64 - bits) } else { (up >> (64 - bits)) as i64 }
}

/// The least and the greatest of a type.
#[inline(always)]
fn range(bits: u32, signed: bool) -> (i64, i64) {
    if signed { (-1 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

#[inline(always)]
fn first(f: &Form, a: i64, b: i64) -> i64 {
    match f.first {
        First::Add => a + b,
        First::Sub => a - b,
        First::AbsDiff => (a - b).abs(),
        First::Min => a.min(b),
        First::Max => a.max(b),
        First::Average => (a + b + i64::from(a + b >= 0)) >> 1,
        First::Shl | First::Shr => {
            let by = if f.wrap { b & 31 } else { b.min(32) };
            if f.first == First::Shl { a << by } else { a >> by }
        }
        First::Mad => a * b,
        First::Set => i64::from(match f.relation {
            0 => a == b,
            1 => a != b,
            2 => a < b,
            3 => a <= b,
            4 => a > b,
            _ => a >= b,
        }),
    }
}

/// A scalar form.
#[inline(always)]
fn scalar(f: &Form, a: u32, b: u32, c: u32) -> u32 {
    let x = part(a.into(), f.from[0] & 7, f.bits[1], f.signed[1]);
    let y = part(b.into(), f.from[1] & 7, f.bits[2], f.signed[2]);
    let extended = part(c.into(), 0, 32, f.signed[0]);
    let mut r = if f.first == First::Mad {
        // 66 bits: exact in 128.
        let signed = f.signed[1] || f.signed[2];
        let c = i128::from(part(c.into(), 0, 32, signed));
        let sum = (i128::from(x) * i128::from(y) + c + i128::from(f.plus_one)) >> f.shift;
        let (least, greatest) = range(32, signed);
        return if f.sat { sum.clamp(least.into(), greatest.into()) } else { sum } as u32;
    } else {
        first(f, x, y)
    };
    if f.sat {
        let (least, greatest) = range(f.bits[0], f.signed[0]);
        r = r.clamp(least, greatest);
    }
    let cut = part(r as u64, 0, 32, f.signed[0]);
    match f.second {
        1 => (cut + extended) as u32,
        2 => cut.min(extended) as u32,
        3 => cut.max(extended) as u32,
        _ if f.bits[0] == 32 => r as u32,
        _ => merge(f, [r; 4], c),
    }
}

/// D's parts that are not written are those of C.
#[inline(always)]
fn merge(f: &Form, r: [i64; 4], c: u32) -> u32 {
    let (bits, mut out) = (f.bits[0], c);
    for i in 0..32 / bits {
        if f.mask >> i & 1 == 1 {
            let keep = (((1u64 << bits) - 1) as u32) << (i * bits);
            out = out & !keep | (r[i as usize] as u32) << (i * bits) & keep;
        }
    }
    out
}

/// A form on pairs or quads.
#[inline(always)]
fn packed(f: &Form, a: u32, b: u32, c: u32) -> u32 {
    let (bits, both) = (f.bits[0], u64::from(b) << 32 | u64::from(a));
    let (least, greatest) = range(bits, f.signed[0]);
    let (mut r, mut sum) = ([0; 4], i64::from(c));
    for i in 0..32 / bits {
        let x = part(both, f.from[0] >> (3 * i) & 7, bits, f.signed[1]);
        let y = part(both, f.from[1] >> (3 * i) & 7, bits, f.signed[2]);
        let v = first(f, x, y);
        r[i as usize] = if f.sat { v.clamp(least, greatest) } else { v };
        sum += if f.mask >> i & 1 == 1 { r[i as usize] } else { 0 };
    }
    if f.second == 1 { sum as u32 } else { merge(f, r, c) }
}

/// All of them; [`Args::imm`] is the [`Form`].
pub struct Video;
impl Body for Video {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let f = Form::unpack(args.imm);
        let (a, b, c) = (p.get32(args.src[0]), p.get32(args.src[1]), p.get32(args.src[2]));
        let mut out = V32([0; LANES]);
        for l in 0..LANES {
            let (a, b, c) = (a.0[l], b.0[l], c.0[l]);
            out.0[l] = if f.packed { packed(&f, a, b, c) } else { scalar(&f, a, b, c) };
        }
        p.put32(args.dst[0], mask, out);
    }
}

/// The operation, and how many bits its parts have: 32 for scalar forms.
fn of(op: Op) -> Option<(First, u32)> {
    use First::*;
    Some(match op {
        Op::Vadd => (Add, 32),
        Op::Vsub => (Sub, 32),
        Op::Vabsdiff => (AbsDiff, 32),
        Op::Vmin => (Min, 32),
        Op::Vmax => (Max, 32),
        Op::Vshl => (Shl, 32),
        Op::Vshr => (Shr, 32),
        Op::Vmad => (Mad, 32),
        Op::Vset => (Set, 32),
        Op::Vadd2 => (Add, 16),
        Op::Vsub2 => (Sub, 16),
        Op::Vavrg2 => (Average, 16),
        Op::Vabsdiff2 => (AbsDiff, 16),
        Op::Vmin2 => (Min, 16),
        Op::Vmax2 => (Max, 16),
        Op::Vset2 => (Set, 16),
        Op::Vadd4 => (Add, 8),
        Op::Vsub4 => (Sub, 8),
        Op::Vavrg4 => (Average, 8),
        Op::Vabsdiff4 => (AbsDiff, 8),
        Op::Vmin4 => (Min, 8),
        Op::Vmax4 => (Max, 8),
        Op::Vset4 => (Set, 8),
        _ => return None,
    })
}

/// What an operand names; all of it by default.
fn parts(o: &Operand) -> Option<VideoSelector> {
    match o {
        Operand::Element(_, code) => VideoSelector::from_code(*code),
        _ => None,
    }
}

fn digits(p: VideoSelector) -> u32 {
    p.which.iter().take(p.count.into()).rev().fold(0, |v, w| v << 3 | u32::from(*w))
}

/// Chooses a video instruction.
pub(super) fn select(op: Op, x: &Asked) -> Result<AluOp, String> {
    let Some((first, bits)) = of(op) else {
        return Err(format!("`{}` is not an operation on registers alone", op.mnemonic()));
    };
    let packed = bits < 32;
    // Second operations, and comparisons where there are others, have a name of their own.
    let mut names: Vec<&str> = match first {
        First::Mad => vec!["sat", "po", "shr7", "shr15"],
        _ if packed => vec!["add"],
        _ => SECOND.to_vec(),
    };
    names.extend(match first {
        First::Shl | First::Shr => &["sat", "clamp", "wrap"][..],
        First::Set => &RELATIONS,
        First::Mad => &[],
        _ => &["sat"],
    });
    x.only(&names)?;
    let signs = x.inst.form.types.iter().map(|t| match t {
        Type::S32 => Ok(true),
        Type::U32 => Ok(false),
        _ => Err(x.untyped()),
    });
    let signs = signs.collect::<Result<Vec<_>, _>>()?;
    let signed = match (first, signs.as_slice()) {
        // Its results are 0 and 1; the type of `c` is that of `a`.
        (First::Set, &[a, b]) => [a, a, b],
        (First::Set, _) => return Err(x.untyped()),
        (_, &[d, a, b]) => [d, a, b],
        _ => return Err(x.untyped()),
    };
    let has = |i: usize| x.inst.operands.get(i);
    let (Some(d), Some(a), Some(b)) = (has(0), has(1), has(2)) else {
        return Err("it has too few operands".to_owned());
    };
    let second = SECOND.iter().position(|s| x.has(s)).map_or(0, |i| i as u32 + 1);
    let relation = RELATIONS.iter().position(|r| x.has(r)).unwrap_or(0) as u32;
    let shift = if x.has("shr15") { 15 } else { 7 * u32::from(x.has("shr7")) };
    let mut form = Form {
        first,
        second,
        relation,
        signed,
        sat: x.has("sat"),
        wrap: x.has("wrap"),
        plus_one: x.has("po"),
        shift,
        bits: [bits; 3],
        from: [0; 2],
        mask: 15,
        packed,
    };
    if first == First::Set && !RELATIONS.iter().any(|r| x.has(r)) {
        return Err("it names no comparison".to_owned());
    }
    for (i, o) in [d, a, b].into_iter().enumerate() {
        let Some(named) = parts(o) else {
            // By default parts of A come from A, those of B from B.
            if packed && i > 0 {
                form.from[i - 1] = [0o3210, 0o7654, 0o10, 0o32][(i - 1) + if bits == 16 { 2 } else { 0 }];
            }
            continue;
        };
        let (limit, wide) = if packed && i > 0 { (64, 32 / bits) } else { (32, 1) };
        let inside = digits_below(named, limit / u32::from(named.bits));
        let fits = match (packed, i) {
            (true, 0) => named.bits as u32 == bits && u32::from(named.count) <= 32 / bits,
            (true, _) => named.bits as u32 == bits && u32::from(named.count) == wide,
            (false, _) => u32::from(named.count) == wide,
        };
        if !inside || !fits || (first == First::Mad && i == 0) {
            return Err(format!("its operand has no part `.{named}` here"));
        }
        match (i, packed) {
            (0, _) => {
                form.mask = named.which.iter().take(named.count.into()).fold(0, |m, w| m | 1 << w);
                form.bits[0] = named.bits.into();
            }
            (_, true) => form.from[i - 1] = digits(named),
            (_, false) => (form.from[i - 1], form.bits[i]) = (digits(named), named.bits.into()),
        }
    }
    let merges = packed || parts(d).is_some();
    let needs = if merges || second > 0 || first == First::Mad { 3 } else { 2 };
    if x.inst.operands.len() != needs + 1 {
        return Err(format!("it has {} sources, not {needs}", x.inst.operands.len() - 1));
    }
    if second > 0 && (form.sat && packed || parts(d).is_some() && !packed) {
        return Err("its result is both merged and combined, or saturated and summed".to_owned());
    }
    x.op(Some(pick::<Video>(x.level)), Type::U32, &[Type::U32; 3][..needs], form.pack())
}

/// Whether all parts named are below a number.
fn digits_below(p: VideoSelector, limit: u32) -> bool {
    p.which.iter().take(p.count.into()).all(|w| u32::from(*w) < limit)
}
