//! Operations that only probe programs have: on signed and floating-point values, divisions, counts of bits,
//! conversions, and variable shifts.
//!
//! # Limitations
//! Refused are signed divisions, divisions of floating-point values, their minima and maxima, and conversions
//! between them and 64-bit integers. Floating-point operations follow the kernel's MODE, so they are refused
//! too unless that rounds to nearest and keeps denormals ([`Registers::exact_floats`]).
//!
//! [`Registers::exact_floats`]: super::registers::Registers::exact_floats

use prlx_isa::amdgpu::Family;
use prlx_isa::amdgpu::inst::{Encoding, Field, Value};

use super::assembler::{EXEC, sgpr, sgprs, vgpr, vgprs};
use super::compile::Compiler;
use crate::routines::Arg;

/// The code of the constant 1.0 as an operand.
const ONE: u8 = 242;

impl Compiler<'_> {
    /// Appends an operation of a probe program, if the instruction is one.
    pub(super) fn program(
        &mut self,
        parts: &[&str],
        wide: bool,
        args: &[Arg<'_>],
    ) -> Option<Result<(), String>> {
        let ty = parts.last().copied().unwrap_or_default();
        let float = parts.iter().skip(1).any(|part| matches!(*part, "f16" | "f32" | "f64"));
        if float && !self.registers.exact_floats {
            let what = "its kernel does not round to nearest with denormals, or changes MODE";
            return Some(Err(format!("`{}` of floating-point values can't be inserted: {what}", parts[0])));
        }
        Some(match (parts[0], args) {
            ("mov", [to, Arg::Name(from)]) if ty == "pred" => self.copy_predicate(to, from),
            ("add" | "sub" | "mul", [to, a, b]) if float => self.float(parts[0], ty, to, a, b),
            ("div", [to, a, b, spare]) if ty == "f32" => self.float_quotient(to, [a, b], spare),
            ("setp", [to, a, b]) if float || ty.starts_with('s') => self.compare_as(parts, wide, to, [a, b]),
            ("min" | "max", [to, a, b]) if ty == "s32" => {
                self.two_of(&format!("v_{}_i32", parts[0]), to, a, b)
            }
            ("cvt", [to, from]) if float => self.convert_float(parts, to, from)?,
            ("cvt", [to, from]) if ty.starts_with('s') => self.extend(ty, to, from),
            ("not", [to, a]) if ty != "pred" => self.invert(wide, to, a),
            ("neg", [to, a]) => self.sum(true, wide, to, &Arg::Int(0), a),
            ("abs", [to, a]) if ty == "s32" => self.absolute(to, a),
            ("popc", [to, a]) => self.count_bits(wide, to, a),
            ("clz", [to, a]) => self.leading_zeros(wide, to, a),
            ("shl" | "shr", [to, a, by]) if ty.starts_with('s') || !matches!(by, Arg::Int(0..=31)) => {
                self.shift_by(parts[0], ty, to, a, by)
            }
            ("mul", [to, a, b]) if wide => self.product(to, a, b, None),
            ("mad", [to, a, b, c]) if wide && !matches!(b, Arg::Int(0..=0xffff_ffff)) => {
                self.product(to, a, b, Some(c))
            }
            ("div" | "rem", [to, a, b]) if ty.starts_with('u') => {
                self.divide(parts[0] == "div", wide, to, a, b)
            }
            ("fence", []) => {
                self.fence();
                Ok(())
            }
            ("readfirst", [to, from]) => self.read_first(to, from),
            _ => return None,
        })
    }

    fn copy_predicate(&mut self, to: &Arg<'_>, from: &str) -> Result<(), String> {
        let value = self.registers.masks[0];
        let from = self.predicate(from)?;
        self.asm.mask2("s_and", value, EXEC, from);
        self.define(to, value)
    }

    fn float(&mut self, op: &str, ty: &str, to: &Arg<'_>, a: &Arg<'_>, b: &Arg<'_>) -> Result<(), String> {
        if ty == "f32" {
            return self.two_of(&format!("v_{op}_f32"), to, a, b);
        }
        let (Arg::Name(a), Arg::Name(b), "add" | "mul") = (a, b, op) else {
            return Err(format!("`{op}.f64` can't be inserted into AMD code"));
        };
        let (a, b) = (self.place_of(a)?.whole(), self.place_of(b)?.whole());
        let to = self.place(to)?.whole();
        self.two(&format!("v_{op}_f64"), to, a, b);
        Ok(())
    }

    /// A quotient of binary32 values, rounded as IEEE 754 says: Newton's method, and the instructions that
    /// AMD has for scaling and for the last step (LLVM, `AMDGPULegalizerInfo`, `legalizeFDIV32`). VCC, which
    /// these need, is kept.
    fn float_quotient(&mut self, to: &Arg<'_>, [a, b]: [&Arg<'_>; 2], spare: &Arg<'_>) -> Result<(), String> {
        let [unused, vcc, _] = self.registers.masks;
        let (a, b) = (self.half(a, false)?, self.half(b, false)?);
        let (to, error) = (self.place(to)?.whole(), self.place(spare)?.whole());
        let first = self.take_scratch(4)?;
        let [below, above, inverse, quotient] = [0, 1, 2, 3].map(|i| vgpr(first + i));
        let (of_wave, one) = (Value::Named("vcc", &[]), Value::Float(ONE));
        self.asm.mask1("s_mov", vcc, of_wave);
        self.asm.emit(Encoding::Vop3, "v_div_scale_f32", &[below, unused, b, b, a]);
        self.asm.emit(Encoding::Vop3, "v_div_scale_f32", &[above, of_wave, a, b, a]);
        self.asm.emit(Encoding::Vop1, "v_rcp_f32", &[inverse, below]);
        let fma = |this: &mut Self, operands: [Value; 4], negated| {
            this.asm.emit_with(Encoding::Vop3, "v_fma_f32", &operands, &[(Field::Neg, negated)]);
        };
        fma(self, [error, below, inverse, one], 1);
        fma(self, [inverse, error, inverse, inverse], 0);
        self.two("v_mul_f32", quotient, above, inverse);
        fma(self, [error, below, quotient, above], 1);
        fma(self, [quotient, error, inverse, quotient], 0);
        fma(self, [error, below, quotient, above], 1);
        self.asm.emit(Encoding::Vop3, "v_div_fmas_f32", &[error, error, inverse, quotient]);
        self.asm.emit(Encoding::Vop3, "v_div_fixup_f32", &[to, error, b, a]);
        self.asm.mask1("s_mov", of_wave, vcc);
        Ok(())
    }

    /// A comparison of signed or floating-point values.
    fn compare_as(
        &mut self,
        parts: &[&str],
        wide: bool,
        to: &Arg<'_>,
        [a, b]: [&Arg<'_>; 2],
    ) -> Result<(), String> {
        let ty = parts.last().copied().unwrap_or_default().replace('s', "i");
        let wide = wide || ty == "f64";
        let relation = match (parts[1], ty.starts_with('f')) {
            ("neu", _) => "neq",
            (relation, _) => relation,
        };
        let mask = self.registers.masks[0];
        let (a, b) = match wide {
            true => (self.pair(a)?, self.pair(b)?),
            false => (self.half(a, false)?, self.half(b, false)?),
        };
        self.asm.emit(Encoding::Vop3, &format!("v_cmp_{relation}_{ty}"), &[mask, a, b]);
        self.define(to, mask)
    }

    /// `cvt` from or to a floating-point type; `None`: one that is refused.
    fn convert_float(&mut self, parts: &[&str], to: &Arg<'_>, from: &Arg<'_>) -> Option<Result<(), String>> {
        let [.., into, of] = parts else { return None };
        let small = |ty: &str| match ty {
            "u8" | "u16" => "u32".to_owned(),
            ty => ty.replace('s', "i"),
        };
        let (into, of) = (small(into), small(of));
        if [&into, &of].iter().any(|ty| matches!(ty.as_str(), "u64" | "i64" | "i8" | "i16")) {
            return None;
        }
        let convert = |this: &mut Self| {
            let from = match of.as_str() {
                "f64" => this.pair(from)?,
                _ => this.half(from, false)?,
            };
            let to = this.place(to)?;
            let to = if into == "f64" { to.whole() } else { to.half(false) };
            this.asm.emit(Encoding::Vop1, &format!("v_cvt_{into}_{of}"), &[to, from]);
            Ok(())
        };
        Some(convert(self))
    }

    /// Extends the sign of a value of 8, 16 or 32 bits.
    fn extend(&mut self, ty: &str, to: &Arg<'_>, from: &Arg<'_>) -> Result<(), String> {
        let bits: i32 = ty[1..].parse().map_err(|_| format!("a routine extends {ty}"))?;
        let (from, place) = (self.half(from, false)?, self.place(to)?);
        match bits {
            8 | 16 => {
                let operands = [place.half(false), from, Value::Integer(0), Value::Integer(bits)];
                self.asm.emit(Encoding::Vop3, "v_bfe_i32", &operands);
            }
            _ => self.asm.emit(Encoding::Vop1, "v_mov_b32", &[place.half(false), from]),
        }
        if place.wide {
            self.two("v_ashrrev_i32", place.half(true), Value::Integer(31), place.half(false));
        }
        Ok(())
    }

    fn absolute(&mut self, to: &Arg<'_>, a: &Arg<'_>) -> Result<(), String> {
        let (negative, a) = (vgpr(self.take_scratch(1)?), self.half(a, false)?);
        let to = self.place(to)?.whole();
        self.two("v_sub_u32", negative, Value::Integer(0), a);
        self.two("v_max_i32", to, a, negative);
        Ok(())
    }

    fn invert(&mut self, wide: bool, to: &Arg<'_>, a: &Arg<'_>) -> Result<(), String> {
        let place = self.place(to)?;
        for high in [false, true].into_iter().take(1 + usize::from(wide)) {
            let a = self.half(a, high)?;
            self.asm.emit(Encoding::Vop1, "v_not_b32", &[place.half(high), a]);
        }
        Ok(())
    }

    fn count_bits(&mut self, wide: bool, to: &Arg<'_>, a: &Arg<'_>) -> Result<(), String> {
        let (low, high) = (self.half(a, false)?, self.half(a, true)?);
        let to = self.place(to)?.half(false);
        if !wide {
            self.two("v_bcnt_u32_b32", to, low, Value::Integer(0));
            return Ok(());
        }
        let sum = vgpr(self.take_scratch(1)?);
        self.two("v_bcnt_u32_b32", sum, low, Value::Integer(0));
        self.two("v_bcnt_u32_b32", to, high, sum);
        Ok(())
    }

    fn leading_zeros(&mut self, wide: bool, to: &Arg<'_>, a: &Arg<'_>) -> Result<(), String> {
        let (low, high) = (self.half(a, false)?, self.half(a, true)?);
        let to = self.place(to)?.half(false);
        let found = vgpr(self.take_scratch(1)?);
        let all = Value::Integer(32);
        if !wide {
            self.asm.emit(Encoding::Vop1, "v_ffbh_u32", &[found, low]);
            self.two("v_min_u32", to, found, all);
            return Ok(());
        }
        let (below, mask) = (vgpr(self.take_scratch(1)?), self.registers.masks[0]);
        // None found is the largest number.
        self.asm.emit(Encoding::Vop1, "v_ffbh_u32", &[below, low]);
        self.two("v_min_u32", below, below, all);
        self.two("v_add_u32", below, below, all);
        self.asm.emit(Encoding::Vop1, "v_ffbh_u32", &[found, high]);
        self.asm.emit(Encoding::Vop3, "v_cmp_eq_u32", &[mask, high, Value::Integer(0)]);
        self.asm.emit(Encoding::Vop3, "v_cndmask_b32", &[to, found, below, mask]);
        Ok(())
    }

    /// A shift by any amount: what is shifted out is gone, as in PTX.
    fn shift_by(
        &mut self,
        op: &str,
        ty: &str,
        to: &Arg<'_>,
        a: &Arg<'_>,
        by: &Arg<'_>,
    ) -> Result<(), String> {
        let wide = ty.ends_with("64");
        let bits = if wide { 64 } else { 32 };
        let a = if wide { self.pair(a)? } else { self.half(a, false)? };
        let by = self.half(by, false)?;
        let place = self.place(to)?;
        if ty.starts_with('s') && op == "shr" {
            let most = vgpr(self.take_scratch(1)?);
            self.two("v_min_u32", most, by, Value::Integer(bits - 1));
            let name = if wide { "v_ashrrev_i64" } else { "v_ashrrev_i32" };
            self.two(name, place.whole(), most, a);
            return Ok(());
        }
        let inside = self.registers.masks[0];
        self.asm.emit(Encoding::Vop3, "v_cmp_gt_u32", &[inside, Value::Integer(bits), by]);
        let name = match (op, wide) {
            ("shl", false) => "v_lshlrev_b32",
            ("shl", true) => "v_lshlrev_b64",
            (_, false) => "v_lshrrev_b32",
            (_, true) => "v_lshrrev_b64",
        };
        self.two(name, place.whole(), by, a);
        for high in [false, true].into_iter().take(1 + usize::from(wide)) {
            let half = place.half(high);
            self.asm.emit(Encoding::Vop3, "v_cndmask_b32", &[half, Value::Integer(0), half, inside]);
        }
        Ok(())
    }

    /// `a * b + c` in 64 bits.
    fn product(&mut self, to: &Arg<'_>, a: &Arg<'_>, b: &Arg<'_>, c: Option<&Arg<'_>>) -> Result<(), String> {
        let product = self.take_scratch(2)?;
        let part = vgpr(self.take_scratch(1)?);
        let c = match c {
            None => Value::Integer(0),
            Some(Arg::Name(name)) => self.place_of(name)?.whole(),
            Some(other) => return Err(format!("a routine adds {other:?}")),
        };
        let low = self.half(b, false)?;
        let a_low = self.half(a, false)?;
        let operands = [vgprs(product, 2), self.registers.masks[0], a_low, low, c];
        self.asm.emit(Encoding::Vop3, "v_mad_u64_u32", &operands);
        let a_high = self.half(a, true)?;
        self.two("v_mul_lo_u32", part, a_high, low);
        self.two("v_add_u32", vgpr(product + 1), vgpr(product + 1), part);
        let high = self.half(b, true)?;
        self.two("v_mul_lo_u32", part, a_low, high);
        self.two("v_add_u32", vgpr(product + 1), vgpr(product + 1), part);
        self.put_pair(to, product)
    }

    /// A division of unsigned numbers, bit by bit. The divisor is not 0.
    fn divide(
        &mut self,
        quotient: bool,
        wide: bool,
        to: &Arg<'_>,
        a: &Arg<'_>,
        b: &Arg<'_>,
    ) -> Result<(), String> {
        let words: u8 = if wide { 2 } else { 1 };
        let [carry, enough, left] = self.registers.masks;
        let Value::Registers { first: left, .. } = left else {
            return Err("a routine's mask is no register".to_owned());
        };
        let divisor = match b {
            Arg::Int(n) => {
                for (i, bits) in [*n as u32, (*n >> 32) as u32].into_iter().enumerate().take(words.into()) {
                    let to = sgpr(self.registers.jump + i as u8);
                    self.asm.emit(Encoding::Sop1, "s_mov_b32", &[to, Value::Literal(bits)]);
                }
                sgprs(self.registers.jump, words)
            }
            Arg::Name(name) => self.place_of(name)?.whole(),
            other => return Err(format!("a routine divides by {other:?}")),
        };
        // Bits of the dividend leave at the top, and bits of the quotient come in at the bottom.
        let both = self.take_scratch(2 * words)?;
        let (top, rest) = (both, both + words);
        for i in 0..words {
            let from = self.half(a, i == 1)?;
            self.asm.emit(Encoding::Vop1, "v_mov_b32", &[vgpr(top + i), from]);
            self.asm.emit(Encoding::Vop1, "v_mov_b32", &[vgpr(rest + i), Value::Integer(0)]);
        }
        let bits = Value::Integer(32 * i32::from(words));
        self.asm.emit(Encoding::Sop1, "s_mov_b32", &[sgpr(left), bits]);
        let again = self.asm.label();
        self.asm.place(again);
        self.asm.emit(Encoding::Vop3, "v_add_co_u32", &[vgpr(top), carry, vgpr(top), vgpr(top)]);
        for n in top + 1..rest + words {
            self.asm.emit(Encoding::Vop3, "v_addc_co_u32", &[vgpr(n), carry, vgpr(n), vgpr(n), carry]);
        }
        let compare = if wide { "v_cmp_ge_u64" } else { "v_cmp_ge_u32" };
        self.asm.emit(Encoding::Vop3, compare, &[enough, vgprs(rest, words), divisor]);
        self.asm.mask2("s_or", enough, enough, carry);
        self.asm.mask1("s_mov", carry, EXEC);
        self.asm.mask2("s_and", EXEC, EXEC, enough);
        let half = |high: u8| match divisor {
            Value::Registers { bank, first, .. } => Value::Registers { bank, first: first + high, count: 1 },
            other => other,
        };
        self.asm.emit(Encoding::Vop3, "v_sub_co_u32", &[vgpr(rest), enough, vgpr(rest), half(0)]);
        if wide {
            // An instruction has room for one scalar operand on gfx9, and the borrow is one.
            let high = vgpr(rest + 1);
            self.asm.emit(Encoding::Vop3, "v_subb_co_u32", &[high, enough, high, Value::Integer(0), enough]);
            self.two("v_sub_u32", high, high, half(1));
        }
        self.two("v_or_b32", vgpr(top), vgpr(top), Value::Integer(1));
        self.asm.mask1("s_mov", EXEC, carry);
        self.asm.emit(Encoding::Sop2, "s_add_u32", &[sgpr(left), sgpr(left), Value::Integer(-1)]);
        self.asm.emit(Encoding::Sopc, "s_cmp_lg_u32", &[sgpr(left), Value::Integer(0)]);
        self.asm.jump("s_cbranch_scc1", again);
        let place = self.place(to)?;
        let from = if quotient { top } else { rest };
        for i in 0..words {
            self.asm.emit(Encoding::Vop1, "v_mov_b32", &[place.half(i == 1), vgpr(from + i)]);
        }
        Ok(())
    }

    /// The value of the lowest lane, in all lanes.
    fn read_first(&mut self, to: &Arg<'_>, from: &Arg<'_>) -> Result<(), String> {
        let lowest = sgpr(self.registers.jump);
        let from = self.half(from, false)?;
        self.asm.emit(Encoding::Vop1, "v_readfirstlane_b32", &[lowest, from]);
        let to = self.place(to)?.whole();
        self.asm.emit(Encoding::Vop1, "v_mov_b32", &[to, lowest]);
        Ok(())
    }

    /// Waits until the wave's accesses are done.
    pub(super) fn fence(&mut self) {
        self.wait_for_all();
        match self.asm.target.family() {
            Family::Gfx9 => {}
            Family::Gfx12 => self.asm.emit(Encoding::Sopp, "s_wait_storecnt", &[Value::Immediate(0)]),
            _ => {
                let none = Value::Named("null", &[]);
                self.asm.emit(Encoding::Sopk, "s_waitcnt_vscnt", &[none, Value::Immediate(0)]);
            }
        }
    }
}
