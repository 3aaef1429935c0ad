//! Defines the meaning of probe code: an interpreter that runs a [`Code`] for the lanes of a warp.
//!
//! The emulator's hooks run this interpreter, and the verifier compares instrumented code with it. A value is
//! a 64-bit word: the bits of its type, zero-extended.
//!
//! # Invariants
//!
//! - Nothing panics, whatever the code is. Ill-formed code gives 0.

use prlx_isa::view::Space;

use crate::probe::code::{Binary, Code, LaneQuery, Op, Reduce, Row, Stmt, Temp, Ty, Unary};

/// What a code runs on.
pub trait LaneHost {
    /// Bits of the code's operand in a lane.
    fn read(&self, operand: u32, lane: usize) -> u64;
    /// The answer to a query, for one lane of those in `active`.
    fn ask(&self, what: LaneQuery, active: u64, lane: usize) -> u64;
    /// Eight bytes of the kernel's parameters, from an offset on; zeros behind their end.
    fn param(&self, at: u32) -> u64;
    /// Whether a generic address lies in a state space.
    fn within(&self, space: Space, address: u64) -> bool;
    /// A variable of a lane.
    fn load(&self, var: u32, lane: usize) -> u64;
    /// Sets a variable of a lane.
    fn store(&mut self, var: u32, lane: usize, bits: u64);
    /// A variable of the warp or CTA.
    fn get(&self, var: u32) -> u64;
    /// Sets a variable of the warp or CTA.
    fn put(&mut self, var: u32, bits: u64);
    /// A counter of a lane grows.
    fn tally(&mut self, counter: u32, value: u64, lane: usize);
    /// A row takes a lane's value; of a count, 1.
    fn update(&mut self, table: u32, row: RowRef<'_>, value: u64, lane: usize);
    /// A lane's record, or, where the warp has it, that of the lowest active lane.
    fn save(&mut self, record: u32, fields: &[u64], lane: usize, leader: bool);
}

/// A row, in one lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowRef<'a> {
    /// A known row, by its number.
    At(u32),
    /// A row found by its keys at run time.
    Keyed(&'a [u64]),
}

/// Runs `code` for the lanes of `mask`.
pub fn run(code: &Code, host: &mut impl LaneHost, mask: u64) {
    if mask >> 32 == 0 {
        Machine { temps: vec![[0; 32]; code.temps.len()], code, host }.block(&code.body, mask);
    } else {
        Machine { temps: vec![[0; 64]; code.temps.len()], code, host }.block(&code.body, mask);
    }
}

/// The temporaries of a code, in `LANES` lanes.
struct Machine<'a, H, const LANES: usize> {
    temps: Vec<[u64; LANES]>,
    code: &'a Code,
    host: &'a mut H,
}

/// The lanes of a mask, ascending.
fn lanes(mask: u64) -> impl Iterator<Item = usize> {
    let above = 64 - mask.leading_zeros() as usize;
    (0..above).filter(move |l| mask >> l & 1 == 1)
}

impl<H: LaneHost, const LANES: usize> Machine<'_, H, LANES> {
    fn ty(&self, temp: Temp) -> Ty {
        self.code.temps.get(temp.index()).copied().unwrap_or(Ty::U64)
    }
    fn get(&self, temp: Temp, lane: usize) -> u64 {
        self.temps.get(temp.index()).map_or(0, |t| t[lane])
    }

    fn block(&mut self, body: &[Stmt], mask: u64) {
        if mask == 0 {
            return;
        }
        for stmt in body {
            match stmt {
                Stmt::Set(to, op) => self.set(*to, op, mask),
                Stmt::Store(var, temp) => {
                    lanes(mask).for_each(|l| self.host.store(*var, l, self.get(*temp, l)))
                }
                Stmt::Put(var, temp) => {
                    let bits = self.get(*temp, mask.trailing_zeros() as usize);
                    self.host.put(*var, bits);
                }
                Stmt::Merge { var, how, value, old } => {
                    for l in lanes(mask) {
                        let before = self.host.get(*var) & low(self.ty(*value));
                        let after = binary(together(*how), self.ty(*value), before, self.get(*value, l));
                        self.host.put(*var, after);
                        if let Some(old) = old.and_then(|t| self.temps.get_mut(t.index())) {
                            old[l] = before;
                        }
                    }
                }
                Stmt::If(condition, then, other) => {
                    let holds = lanes(mask).fold(0, |m, l| m | u64::from(self.get(*condition, l) != 0) << l);
                    self.block(then, holds);
                    self.block(other, mask & !holds);
                }
                Stmt::Tally { counter, value } => {
                    lanes(mask)
                        .for_each(|l| self.host.tally(*counter, value.map_or(1, |v| self.get(v, l)), l));
                }
                Stmt::Update { table, row, value } => {
                    for l in lanes(mask) {
                        let value = value.map_or(1, |v| self.get(v, l));
                        match row {
                            Row::At(row) => self.host.update(*table, RowRef::At(*row), value, l),
                            Row::Keyed(keys) => {
                                let keys: Vec<u64> = keys.iter().map(|k| self.wide(*k, l)).collect();
                                self.host.update(*table, RowRef::Keyed(&keys), value, l);
                            }
                        }
                    }
                }
                Stmt::Save { record, fields } => {
                    for l in lanes(mask) {
                        let fields: Vec<u64> = fields.iter().map(|f| self.wide(*f, l)).collect();
                        self.host.save(*record, &fields, l, l == mask.trailing_zeros() as usize);
                    }
                }
            }
        }
    }

    /// As rows and records keep it.
    fn wide(&self, temp: Temp, lane: usize) -> u64 {
        let ty = self.ty(temp);
        convert(ty, ty.wide(), self.get(temp, lane))
    }

    fn set(&mut self, to: Temp, op: &Op, mask: u64) {
        let ty = self.ty(to);
        let full = mask == u64::MAX >> (64 - LANES);
        let mut out = [0; LANES];
        if self.at_once(ty, op, mask, &mut out).is_none() {
            self.each(ty, op, mask, &mut out);
        }
        let Some(temp) = self.temps.get_mut(to.index()) else { return };
        match full {
            true => *temp = out,
            false => lanes(mask).for_each(|l| temp[l] = out[l]),
        }
    }

    /// An operation in all lanes at once, which is many times as fast as one lane after the other. Lanes
    /// outside of `mask` get any value. `None` for operations that only [`Machine::each`] does.
    fn at_once(&self, ty: Ty, op: &Op, mask: u64, out: &mut [u64; LANES]) -> Option<()> {
        let values = |temp: Temp| self.temps.get(temp.index());
        let keep = low(ty);
        let unary = |of: &[u64; LANES], out: &mut [u64; LANES], f: &dyn Fn(u64) -> u64| {
            out.iter_mut().zip(of).for_each(|(out, of)| *out = f(*of));
        };
        match op {
            Op::Const(bits) => *out = [bits & keep; LANES],
            Op::Copy(a) | Op::Bits(a) => out.iter_mut().zip(values(*a)?).for_each(|(out, a)| *out = a & keep),
            Op::Select(c, a, b) => {
                let (c, a, b) = (values(*c)?, values(*a)?, values(*b)?);
                for (l, out) in out.iter_mut().enumerate() {
                    *out = if c[l] != 0 { a[l] } else { b[l] } & keep;
                }
            }
            Op::Convert(a) if is_unsigned(self.ty(*a)) && (is_unsigned(ty) || ty.signed()) => match ty {
                Ty::Bool => unary(values(*a)?, out, &|v| u64::from(v != 0)),
                _ => out.iter_mut().zip(values(*a)?).for_each(|(out, a)| *out = a & keep),
            },
            Op::Unary(Unary::Popc, a) => {
                let of = low(self.ty(*a));
                unary(values(*a)?, out, &|v| u64::from((v & of).count_ones()));
            }
            Op::Unary(Unary::Not, a) if self.ty(*a) == Ty::Bool => {
                unary(values(*a)?, out, &|v| u64::from(v == 0));
            }
            Op::Ballot(p) => {
                let holds = values(*p)?.iter().rev().fold(0u64, |m, v| m << 1 | u64::from(*v != 0));
                *out = [holds & mask & keep; LANES];
            }
            Op::Reduce(how, a) => {
                let all = values(*a)?;
                *out = [reduce(*how, ty, lanes(mask).map(|l| all[l])) & keep; LANES];
            }
            Op::Same(a) => same(values(*a)?, mask, out),
            Op::Binary(op, a, b) if is_unsigned(self.ty(*a)) => {
                unsigned(*op, self.ty(*a), values(*a)?, values(*b)?, out);
            }
            _ => return None,
        }
        Some(())
    }

    /// An operation lane by lane.
    fn each(&self, ty: Ty, op: &Op, mask: u64, out: &mut [u64; LANES]) {
        for l in lanes(mask) {
            let bits = match op {
                // Only of temporaries that there are not.
                Op::Ballot(_) | Op::Reduce(..) | Op::Same(_) => 0,
                Op::Const(bits) => *bits,
                Op::Copy(a) | Op::Bits(a) => self.get(*a, l),
                Op::Read(operand) => self.host.read(*operand, l),
                Op::Half(operand, bf, high) => half(self.host.read(*operand, l), *bf, *high),
                Op::Query(what) => self.host.ask(*what, mask, l),
                Op::Param(at) => self.host.param(*at),
                Op::Load(var) => self.host.load(*var, l),
                Op::Get(var) => self.host.get(*var),
                Op::Unary(op, a) => unary(*op, self.ty(*a), self.get(*a, l)),
                Op::Binary(op, a, b) => binary(*op, self.ty(*a), self.get(*a, l), self.get(*b, l)),
                Op::Select(c, a, b) => self.get(if self.get(*c, l) != 0 { *a } else { *b }, l),
                Op::Convert(a) => convert(self.ty(*a), ty, self.get(*a, l)),
                Op::Within(space, a) => u64::from(self.host.within(*space, self.get(*a, l))),
            };
            out[l] = bits & low(ty);
        }
    }
}

/// Whether values of a type are zero-extended integers.
#[inline]
fn is_unsigned(ty: Ty) -> bool {
    !ty.signed() && !ty.float()
}

/// Operations on unsigned integers, in all lanes at once.
fn unsigned<const LANES: usize>(
    op: Binary,
    ty: Ty,
    a: &[u64; LANES],
    b: &[u64; LANES],
    out: &mut [u64; LANES],
) {
    let (low, bits) = (low(ty), u64::from(ty.bits()));
    macro_rules! each {
        ($f:expr) => {
            for (l, out) in out.iter_mut().enumerate() {
                *out = $f(a[l], b[l]);
            }
        };
    }
    match op {
        Binary::Add => each!(|a: u64, b| a.wrapping_add(b) & low),
        Binary::Sub => each!(|a: u64, b| a.wrapping_sub(b) & low),
        Binary::Mul => each!(|a: u64, b| a.wrapping_mul(b) & low),
        Binary::And => each!(|a: u64, b: u64| a & b),
        Binary::Or => each!(|a: u64, b: u64| a | b),
        Binary::Xor => each!(|a: u64, b: u64| a ^ b),
        Binary::Shl => each!(|a: u64, b| if b < bits { (a << (b & 63)) & low } else { 0 }),
        Binary::Shr => each!(|a: u64, b| if b < bits { a >> (b & 63) } else { 0 }),
        Binary::Min => each!(u64::min),
        Binary::Max => each!(u64::max),
        Binary::Eq => each!(|a: u64, b| u64::from(a == b)),
        Binary::Ne => each!(|a: u64, b| u64::from(a != b)),
        Binary::Lt => each!(|a: u64, b| u64::from(a < b)),
        Binary::Le => each!(|a: u64, b| u64::from(a <= b)),
        Binary::Gt => each!(|a: u64, b| u64::from(a > b)),
        Binary::Ge => each!(|a: u64, b| u64::from(a >= b)),
        Binary::Div => each!(|a: u64, b| a.checked_div(b).unwrap_or(0)),
        Binary::Rem => each!(|a: u64, b| a.checked_rem(b).unwrap_or(a)),
    }
}

/// [`Op::Same`] of the lanes of a mask: a hash table finds the group of each lane.
fn same(values: &[u64], mask: u64, out: &mut [u64]) {
    const SLOTS: usize = 128;
    // By slot: the first lane of a group, plus 1.
    let mut first = [0_u8; SLOTS];
    let mut groups = [0_u64; 64];
    let mut group_of = [0_u8; 64];
    for l in lanes(mask) {
        let value = values.get(l).copied().unwrap_or(0);
        let mut slot = (value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 57) as usize % SLOTS;
        // There are more slots than lanes, so one is free.
        let group = loop {
            match usize::from(first[slot]) {
                0 => {
                    first[slot] = l as u8 + 1;
                    break l;
                }
                found if values.get(found - 1).copied().unwrap_or(0) == value => break found - 1,
                _ => slot = (slot + 1) % SLOTS,
            }
        };
        groups[group] |= 1 << l;
        group_of[l] = group as u8;
    }
    for l in lanes(mask) {
        if let Some(out) = out.get_mut(l) {
            *out = groups[usize::from(group_of[l])];
        }
    }
}

/// [`Op::Half`]: the bits of a binary32.
pub fn half(bits: u64, bf: bool, high: bool) -> u64 {
    let half = (if high { bits >> 16 } else { bits }) & 0xffff;
    if bf {
        return half << 16;
    }
    let (sign, exponent, fraction) = (half >> 15, half >> 10 & 31, half & 0x3ff);
    let rest = match (exponent, fraction) {
        (0, 0) => 0,
        // Subnormal: its value is a multiple of 2^-24.
        (0, n) => u64::from((n as f32 * f32::from_bits(0x3380_0000)).to_bits()),
        (31, 0) => 0x7f80_0000,
        // As `cvt` gives it: a NaN's payload is not kept.
        (31, _) => return 0x7fff_ffff,
        (e, n) => (e + 112) << 23 | n << 13,
    };
    sign << 31 | rest
}

/// The bits of a type.
#[inline]
pub fn low(ty: Ty) -> u64 {
    u64::MAX >> (64 - ty.bits())
}

/// An integer's value, as 64 bits with its sign.
fn extended(ty: Ty, bits: u64) -> u64 {
    let unused = 64 - ty.bits();
    if ty.signed() { ((bits << unused).cast_signed() >> unused).cast_unsigned() } else { bits & low(ty) }
}

fn float(ty: Ty, bits: u64) -> f64 {
    if ty == Ty::F32 { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) }
}

/// [`Op::Unary`] of a value of type `ty`.
pub fn unary(op: Unary, ty: Ty, a: u64) -> u64 {
    let sign = 1u64 << (ty.bits() - 1);
    let value = match (op, ty) {
        (Unary::Not, Ty::Bool) => u64::from(a == 0),
        (Unary::Not, _) => !a,
        (Unary::Neg, _) if ty.float() => a ^ sign,
        (Unary::Neg, _) => a.wrapping_neg(),
        (Unary::Abs, _) if ty.float() => a & !sign,
        (Unary::Abs, _) if ty.signed() => extended(ty, a).cast_signed().wrapping_abs().cast_unsigned(),
        (Unary::Abs, _) => a,
        (Unary::Popc, _) => return u64::from((a & low(ty)).count_ones()),
        (Unary::Clz, _) => return u64::from((a & low(ty)).leading_zeros() - (64 - ty.bits())),
        (Unary::Finite, _) => return u64::from(float(ty, a).is_finite()),
    };
    value & low(ty)
}

/// [`Op::Binary`] of values of type `ty` (of shifts, the amount is a `u32`).
pub fn binary(op: Binary, ty: Ty, a: u64, b: u64) -> u64 {
    match ty {
        Ty::F32 => float32(op, f32::from_bits(a as u32), f32::from_bits(b as u32)),
        Ty::F64 => float64(op, f64::from_bits(a), f64::from_bits(b)),
        _ => integer(op, ty, a, b),
    }
}

/// Operations on floats: `min` and `max` are those of IEEE 754-2008, which take the number of a number and a
/// NaN.
macro_rules! floats {
    ($name:ident, $t:ty) => {
        fn $name(op: Binary, a: $t, b: $t) -> u64 {
            let value = match op {
                Binary::Add => a + b,
                Binary::Sub => a - b,
                Binary::Mul => a * b,
                Binary::Div => a / b,
                Binary::Min => a.min(b),
                Binary::Max => a.max(b),
                Binary::Eq => return u64::from(a == b),
                Binary::Ne => return u64::from(a != b),
                Binary::Lt => return u64::from(a < b),
                Binary::Le => return u64::from(a <= b),
                Binary::Gt => return u64::from(a > b),
                Binary::Ge => return u64::from(a >= b),
                Binary::Rem | Binary::And | Binary::Or | Binary::Xor | Binary::Shl | Binary::Shr => return 0,
            };
            value.to_bits().into()
        }
    };
}
floats!(float32, f32);
floats!(float64, f64);

fn integer(op: Binary, ty: Ty, a: u64, b: u64) -> u64 {
    let (x, y) = (extended(ty, a), extended(ty, b));
    let (sx, sy) = (x.cast_signed(), y.cast_signed());
    let signed = ty.signed();
    let least = if signed { sx <= sy } else { x <= y };
    let amount = b as u32;
    let value = match op {
        Binary::Add => x.wrapping_add(y),
        Binary::Sub => x.wrapping_sub(y),
        Binary::Mul => x.wrapping_mul(y),
        Binary::Div if y == 0 => 0,
        Binary::Div if signed => sx.wrapping_div(sy).cast_unsigned(),
        Binary::Div => x / y,
        Binary::Rem if y == 0 => x,
        Binary::Rem if signed => sx.wrapping_rem(sy).cast_unsigned(),
        Binary::Rem => x % y,
        Binary::And => x & y,
        Binary::Or => x | y,
        Binary::Xor => x ^ y,
        Binary::Shl if amount >= ty.bits() => 0,
        Binary::Shl => x << amount,
        Binary::Shr if signed => (sx >> amount.min(63)).cast_unsigned(),
        Binary::Shr if amount >= ty.bits() => 0,
        Binary::Shr => x >> amount,
        Binary::Min => {
            if least {
                x
            } else {
                y
            }
        }
        Binary::Max => {
            if least {
                y
            } else {
                x
            }
        }
        Binary::Eq => return u64::from(x == y),
        Binary::Ne => return u64::from(x != y),
        Binary::Lt => return u64::from(least && x != y),
        Binary::Le => return u64::from(least),
        Binary::Gt => return u64::from(!least),
        Binary::Ge => return u64::from(!least || x == y),
    };
    value & low(ty)
}

/// [`Op::Convert`].
pub fn convert(from: Ty, to: Ty, bits: u64) -> u64 {
    let value = match (from, to) {
        _ if from == to => bits,
        (Ty::F32, Ty::F64) => float(from, bits).to_bits(),
        (Ty::F64, Ty::F32) => (f64::from_bits(bits) as f32).to_bits().into(),
        (_, Ty::Bool) if from.float() => u64::from(float(from, bits) != 0.0),
        (_, Ty::Bool) => u64::from(bits & low(from) != 0),
        (_, Ty::F32) if from.signed() => (extended(from, bits).cast_signed() as f32).to_bits().into(),
        (_, Ty::F32) => (bits as f32).to_bits().into(),
        (_, Ty::F64) if from.signed() => (extended(from, bits).cast_signed() as f64).to_bits(),
        (_, Ty::F64) => (bits as f64).to_bits(),
        _ if from.float() => saturated(to, float(from, bits)),
        _ => extended(from, bits),
    };
    value & low(to)
}

/// A float as an integer: truncated, saturated.
fn saturated(to: Ty, value: f64) -> u64 {
    match to {
        Ty::S8 => (value as i8).cast_unsigned().into(),
        Ty::S16 => (value as i16).cast_unsigned().into(),
        Ty::S32 => (value as i32).cast_unsigned().into(),
        Ty::S64 => (value as i64).cast_unsigned(),
        Ty::U8 => (value as u8).into(),
        Ty::U16 => (value as u16).into(),
        Ty::U32 => (value as u32).into(),
        _ => value as u64,
    }
}

/// [`Op::Reduce`] of values of type `ty`; of none, 0.
pub fn reduce(how: Reduce, ty: Ty, values: impl Iterator<Item = u64>) -> u64 {
    values.reduce(|a, b| binary(together(how), ty, a, b)).unwrap_or(0)
}

/// The operation that brings two values together.
fn together(how: Reduce) -> Binary {
    match how {
        Reduce::Sum => Binary::Add,
        Reduce::Min => Binary::Min,
        Reduce::Max => Binary::Max,
        Reduce::And => Binary::And,
        Reduce::Or => Binary::Or,
        Reduce::Xor => Binary::Xor,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_and_nothing_panics() {
        let minus = |n: i64, ty| n.cast_unsigned() & low(ty);
        for ty in [Ty::S32, Ty::S64] {
            let least = 1u64 << (ty.bits() - 1);
            assert_eq!(binary(Binary::Div, ty, least, minus(-1, ty)), least);
            assert_eq!(binary(Binary::Rem, ty, least, minus(-1, ty)), 0);
            assert_eq!(unary(Unary::Abs, ty, least), least);
            assert_eq!(binary(Binary::Shr, ty, least, 77), minus(-1, ty));
            assert_eq!(binary(Binary::Lt, ty, least, 0), 1);
        }
        assert_eq!(binary(Binary::Div, Ty::U32, 7, 0), 0);
        assert_eq!(binary(Binary::Rem, Ty::U32, 7, 0), 7);
        assert_eq!(binary(Binary::Shl, Ty::U32, 1, 32), 0);
        assert_eq!(binary(Binary::Gt, Ty::U32, u32::MAX.into(), 1), 1);
        assert_eq!([unary(Unary::Clz, Ty::U32, 1), unary(Unary::Clz, Ty::U64, 0)], [31, 64]);
    }

    #[test]
    fn conversions_extend_round_and_saturate() {
        let f32s = |v: f32| u64::from(v.to_bits());
        assert_eq!(convert(Ty::S8, Ty::S64, 0x80), (-128i64).cast_unsigned());
        assert_eq!(convert(Ty::S8, Ty::U32, 0x80), 0xffff_ff80);
        assert_eq!(convert(Ty::F32, Ty::U8, f32s(-3.0)), 0);
        assert_eq!(convert(Ty::F32, Ty::S16, f32s(1e9)), 0x7fff);
        assert_eq!(convert(Ty::F32, Ty::U32, f32s(f32::NAN)), 0);
        assert_eq!(convert(Ty::S32, Ty::F64, 0xffff_fffe), (-2f64).to_bits());
        assert_eq!(convert(Ty::U64, Ty::Bool, 1 << 40), 1);
        assert_eq!(convert(Ty::Bool, Ty::F32, 1), f32s(1.0));
    }

    /// A warp whose lanes read their numbers; it keeps what they add to counters.
    #[derive(Default)]
    struct Warp {
        added: Vec<(usize, u64)>,
    }

    impl LaneHost for Warp {
        fn read(&self, _: u32, lane: usize) -> u64 {
            lane as u64
        }
        fn ask(&self, _: LaneQuery, active: u64, _: usize) -> u64 {
            active
        }
        fn param(&self, _: u32) -> u64 {
            0
        }
        fn within(&self, _: Space, _: u64) -> bool {
            false
        }
        fn load(&self, _: u32, _: usize) -> u64 {
            0
        }
        fn store(&mut self, _: u32, _: usize, _: u64) {}
        fn get(&self, _: u32) -> u64 {
            0
        }
        fn put(&mut self, _: u32, _: u64) {}
        fn tally(&mut self, _: u32, value: u64, lane: usize) {
            self.added.push((lane, value));
        }
        fn update(&mut self, _: u32, _: RowRef<'_>, _: u64, _: usize) {}
        fn save(&mut self, _: u32, _: &[u64], _: usize, _: bool) {}
    }

    #[test]
    fn warps_have_32_or_64_lanes() {
        let [lane, limit, above, together] = [0, 1, 2, 3].map(Temp);
        let code = Code {
            temps: vec![Ty::U64, Ty::U64, Ty::Bool, Ty::U64],
            body: vec![
                Stmt::Set(lane, Op::Read(0)),
                Stmt::Set(limit, Op::Const(29)),
                Stmt::Set(above, Op::Binary(Binary::Gt, lane, limit)),
                Stmt::If(
                    above,
                    vec![
                        Stmt::Set(together, Op::Ballot(above)),
                        Stmt::Tally { counter: 0, value: Some(together) },
                    ],
                    vec![],
                ),
            ],
            ..Code::default()
        };
        for (mask, last) in [(u64::from(u32::MAX), 31), (u64::MAX, 63)] {
            let mut warp = Warp::default();
            run(&code, &mut warp, mask);
            let above = mask & u64::MAX << 30;
            assert_eq!(warp.added, (30..=last).map(|lane| (lane, above)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn lanes_with_one_value_are_one_group() {
        let slow = |values: &[u64; 64], mask: u64, l: usize| {
            lanes(mask).fold(0, |m, k| m | u64::from(values[k] == values[l]) << k)
        };
        for (step, modulus) in [(1, 64), (7, 5), (0, 1), (128, 9), (1 << 57, 64), (3, 33)] {
            let values: [u64; 64] = std::array::from_fn(|l| l as u64 % modulus * step);
            for mask in [u64::MAX, u64::from(u32::MAX), 0x8000_0000_0000_0001, 0x5555_aaaa_0f0f_3001] {
                let mut out = [0; 64];
                same(&values, mask, &mut out);
                assert!(lanes(mask).all(|l| out[l] == slow(&values, mask, l)));
            }
        }
    }

    /// Operations in all lanes at once give what one lane after the other gives, also where lanes are
    /// missing.
    #[test]
    fn all_lanes_at_once_give_what_single_lanes_give() {
        let values: [u64; 32] = std::array::from_fn(|l| (l as u64).wrapping_mul(0x9e37_79b9_0001) >> (l % 7));
        for ty in [Ty::U8, Ty::U32, Ty::U64] {
            let [a, b] = [0, 5].map(|by| values.map(|v| v.rotate_left(by) & low(ty)));
            for op in [
                Binary::Add,
                Binary::Sub,
                Binary::Mul,
                Binary::Div,
                Binary::Rem,
                Binary::Shl,
                Binary::Shr,
                Binary::Min,
                Binary::Ge,
            ] {
                // Amounts of shifts, and divisors of 0.
                for b in [b, b.map(|v| v % 70), [0; 32]] {
                    let mut all = [0; 32];
                    unsigned(op, ty, &a, &b, &mut all);
                    assert!((0..32).all(|l| all[l] == binary(op, ty, a[l], b[l])), "{op:?} {ty:?}");
                }
            }
        }
    }

    #[test]
    fn lanes_come_together() {
        assert_eq!(reduce(Reduce::Sum, Ty::U32, [u64::from(u32::MAX), 2].into_iter()), 1);
        assert_eq!(reduce(Reduce::Min, Ty::S32, [3, 0xffff_ffff].into_iter()), 0xffff_ffff);
        assert_eq!(reduce(Reduce::Max, Ty::S32, [3, 0xffff_ffff].into_iter()), 3);
        assert_eq!(reduce(Reduce::Xor, Ty::U64, std::iter::empty()), 0);
    }
}
