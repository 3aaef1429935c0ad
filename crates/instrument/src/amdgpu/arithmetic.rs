//! Moves, logic, integer arithmetic, comparisons and selections of routines.

use prlx_isa::amdgpu::inst::{Encoding, Value};

use super::assembler::{EXEC, vgpr, vgprs};
use super::compile::Compiler;
use crate::routines::Arg;

impl Compiler<'_> {
    pub(super) fn two(&mut self, name: &str, to: Value, a: Value, b: Value) {
        self.asm.emit(Encoding::Vop3, name, &[to, a, b]);
    }

    pub(super) fn two_of(
        &mut self,
        name: &str,
        to: &Arg<'_>,
        a: &Arg<'_>,
        b: &Arg<'_>,
    ) -> Result<(), String> {
        let (a, b) = (self.half(a, false)?, self.half(b, false)?);
        let to = self.place(to)?.whole();
        self.two(name, to, a, b);
        Ok(())
    }

    /// The same for the low half and, if `wide`, for the high half.
    pub(super) fn halves(
        &mut self,
        wide: bool,
        to: &Arg<'_>,
        a: &Arg<'_>,
        b: &Arg<'_>,
        each: impl Fn(&mut Self, Value, Value, Value),
    ) -> Result<(), String> {
        let place = self.place(to)?;
        for high in [false, true].into_iter().take(1 + usize::from(wide)) {
            let (a, b) = (self.half(a, high)?, self.half(b, high)?);
            each(self, place.half(high), a, b);
        }
        Ok(())
    }

    pub(super) fn logic(&mut self, op: &str, to: &Arg<'_>, from: &[Arg<'_>]) -> Result<(), String> {
        let [value, second, _] = self.registers.masks;
        let name = |arg: &Arg<'_>| match arg {
            Arg::Name(name) => Ok((*name).to_owned()),
            other => Err(format!("a routine reads the predicate {other:?}")),
        };
        match (op, from) {
            ("not", [a]) => {
                let a = self.predicate(&name(a)?)?;
                self.asm.mask2("s_andn2", value, EXEC, a);
            }
            (_, [a, b]) => {
                let a = self.predicate(&name(a)?)?;
                self.asm.mask2("s_and", value, EXEC, a);
                let b = self.predicate(&name(b)?)?;
                self.asm.mask2("s_and", second, EXEC, b);
                self.asm.mask2(&format!("s_{op}"), value, value, second);
            }
            _ => return Err(format!("a routine has {op}.pred of {from:?}")),
        }
        self.define(to, value)
    }

    pub(super) fn moved(&mut self, parts: &[&str], to: &Arg<'_>, from: &Arg<'_>) -> Result<(), String> {
        let place = self.place(to)?;
        // cvt.to.from; mov.type.
        let bits = match parts.last() {
            Some(&("u8" | "b8")) => Some(0xff),
            Some(&("u16" | "b16")) => Some(0xffff),
            _ => None,
        };
        let low = self.half(from, false)?;
        match bits {
            Some(bits) => {
                let bits = self.constant(bits);
                self.two("v_and_b32", place.half(false), low, bits);
            }
            None => self.asm.emit(Encoding::Vop1, "v_mov_b32", &[place.half(false), low]),
        }
        if place.wide {
            let narrow = parts[0] == "cvt" || bits.is_some();
            let high = if narrow { Value::Integer(0) } else { self.half(from, true)? };
            self.asm.emit(Encoding::Vop1, "v_mov_b32", &[place.half(true), high]);
        }
        Ok(())
    }

    /// `mov.b64 {low, high}, from`.
    pub(super) fn split(&mut self, to: &[&str], from: &Arg<'_>) -> Result<(), String> {
        for (name, high) in to.iter().zip([false, true]) {
            let value = self.half(from, high)?;
            let to = self.place_of(name)?.whole();
            self.asm.emit(Encoding::Vop1, "v_mov_b32", &[to, value]);
        }
        Ok(())
    }

    /// `mov.b64 to, {low, high}`.
    pub(super) fn joined(&mut self, to: &Arg<'_>, from: &[&str]) -> Result<(), String> {
        let place = self.place(to)?;
        for (name, high) in from.iter().zip([false, true]) {
            let value = self.half(&Arg::Name(name), false)?;
            self.asm.emit(Encoding::Vop1, "v_mov_b32", &[place.half(high), value]);
        }
        Ok(())
    }

    pub(super) fn shift(
        &mut self,
        op: &str,
        wide: bool,
        to: &Arg<'_>,
        a: &Arg<'_>,
        by: &Arg<'_>,
    ) -> Result<(), String> {
        let place = self.place(to)?;
        let by = self.half(by, false)?;
        let name = match (op, wide) {
            ("shl", false) => "v_lshlrev_b32",
            ("shr", false) => "v_lshrrev_b32",
            ("shl", true) => "v_lshlrev_b64",
            _ => "v_lshrrev_b64",
        };
        let a = match (wide, a) {
            (false, a) => self.half(a, false)?,
            (true, Arg::Name(name)) => self.place_of(name)?.whole(),
            (true, other) => return Err(format!("a routine shifts {other:?}")),
        };
        self.two(name, place.whole(), by, a);
        Ok(())
    }

    pub(super) fn sum(
        &mut self,
        subtract: bool,
        wide: bool,
        to: &Arg<'_>,
        a: &Arg<'_>,
        b: &Arg<'_>,
    ) -> Result<(), String> {
        if !wide {
            return self.two_of(if subtract { "v_sub_u32" } else { "v_add_u32" }, to, a, b);
        }
        let place = self.place(to)?;
        let carry = self.registers.masks[0];
        let (first, second) = match subtract {
            true => ("v_sub_co_u32", "v_subb_co_u32"),
            false => ("v_add_co_u32", "v_addc_co_u32"),
        };
        let (low_a, low_b) = (self.half(a, false)?, self.half(b, false)?);
        self.asm.emit(Encoding::Vop3, first, &[place.half(false), carry, low_a, low_b]);
        let (high_a, high_b) = (self.half(a, true)?, self.half(b, true)?);
        self.asm.emit(Encoding::Vop3, second, &[place.half(true), carry, high_a, high_b, carry]);
        Ok(())
    }

    /// `a * b + c` in 64 bits, of factors of 32.
    pub(super) fn multiply(
        &mut self,
        to: &Arg<'_>,
        a: &Arg<'_>,
        b: &Arg<'_>,
        c: Option<&Arg<'_>>,
    ) -> Result<(), String> {
        let product = self.take_scratch(2)?;
        let (a, b) = (self.half(a, false)?, self.half(b, false)?);
        let c = match c {
            None => Value::Integer(0),
            Some(Arg::Name(name)) => self.place_of(name)?.whole(),
            Some(other) => return Err(format!("a routine adds {other:?}")),
        };
        let carry = self.registers.masks[0];
        self.asm.emit(Encoding::Vop3, "v_mad_u64_u32", &[vgprs(product, 2), carry, a, b, c]);
        self.put_pair(to, product)
    }

    /// `a * b + c` of 64 bits each; `b` is a constant below 2^32.
    pub(super) fn multiply_wide(
        &mut self,
        to: &Arg<'_>,
        a: &Arg<'_>,
        b: &Arg<'_>,
        c: &Arg<'_>,
    ) -> Result<(), String> {
        let (Arg::Name(a), Arg::Int(factor @ 0..=0xffff_ffff), Arg::Name(c)) = (a, b, c) else {
            return Err(format!("a routine multiplies {a:?} by {b:?}"));
        };
        let (a, c) = (self.place_of(a)?, self.place_of(c)?);
        let product = self.take_scratch(2)?;
        let high = vgpr(self.take_scratch(1)?);
        let factor = self.constant(*factor as u32);
        let operands = [vgprs(product, 2), self.registers.masks[0], a.half(false), factor, c.whole()];
        self.asm.emit(Encoding::Vop3, "v_mad_u64_u32", &operands);
        self.two("v_mul_lo_u32", high, a.half(true), factor);
        self.two("v_add_u32", vgpr(product + 1), vgpr(product + 1), high);
        self.put_pair(to, product)
    }

    /// Copies a pair of scratch registers, of which this is the first.
    pub(super) fn put_pair(&mut self, to: &Arg<'_>, from: u8) -> Result<(), String> {
        let place = self.place(to)?;
        self.asm.emit(Encoding::Vop1, "v_mov_b32", &[place.half(false), vgpr(from)]);
        self.asm.emit(Encoding::Vop1, "v_mov_b32", &[place.half(true), vgpr(from + 1)]);
        Ok(())
    }

    /// Smaller or larger one of two 64-bit numbers.
    pub(super) fn extreme(&mut self, op: &str, to: &Arg<'_>, a: &Arg<'_>, b: &Arg<'_>) -> Result<(), String> {
        let mask = self.registers.masks[0];
        let relation = if op == "min" { "lt" } else { "gt" };
        let (left, right) = (self.pair(a)?, self.pair(b)?);
        self.asm.emit(Encoding::Vop3, &format!("v_cmp_{relation}_u64"), &[mask, left, right]);
        self.halves(true, to, a, b, |compiler, to, a, b| {
            compiler.asm.emit(Encoding::Vop3, "v_cndmask_b32", &[to, b, a, mask]);
        })
    }

    /// A 64-bit operand: a register, or a constant in scratch registers.
    pub(super) fn pair(&mut self, arg: &Arg<'_>) -> Result<Value, String> {
        match arg {
            Arg::Name(name) => Ok(self.place_of(name)?.whole()),
            Arg::Int(n @ -16..=64) => Ok(Value::Integer(*n as i32)),
            Arg::Int(n) => self.in_scratch(*n as u64, 2),
            other => Err(format!("a routine reads {other:?}")),
        }
    }

    pub(super) fn compare(
        &mut self,
        parts: &[&str],
        wide: bool,
        to: &Arg<'_>,
        [a, b]: [&Arg<'_>; 2],
        or: Option<&Arg<'_>>,
    ) -> Result<(), String> {
        let [mask, other, _] = self.registers.masks;
        let name = format!("v_cmp_{}_u{}", parts[1], if wide { 64 } else { 32 });
        let (a, b) = match wide {
            true => (self.pair(a)?, self.pair(b)?),
            false => (self.half(a, false)?, self.half(b, false)?),
        };
        self.asm.emit(Encoding::Vop3, &name, &[mask, a, b]);
        let more = match or {
            None => None,
            Some(Arg::Name(name)) => Some((*name, "s_and")),
            Some(Arg::Not(name)) => Some((*name, "s_andn2")),
            Some(other) => return Err(format!("a routine reads the predicate {other:?}")),
        };
        if let Some((name, stem)) = more {
            let more = self.predicate(name)?;
            self.asm.mask2(stem, other, EXEC, more);
            self.asm.mask2("s_or", mask, mask, other);
        }
        self.define(to, mask)
    }

    pub(super) fn select(
        &mut self,
        wide: bool,
        to: &Arg<'_>,
        a: &Arg<'_>,
        b: &Arg<'_>,
        condition: &str,
    ) -> Result<(), String> {
        let mask = self.predicate(condition)?;
        self.halves(wide, to, a, b, |compiler, to, a, b| {
            // Two constants outside the inline range would share a register.
            compiler.asm.emit(Encoding::Vop3, "v_cndmask_b32", &[to, b, a, mask]);
        })
    }
}
