//! Scalar instructions of inserted code.

use prlx_isa::amdgpu::HardwareField;
use prlx_isa::amdgpu::inst::Value;

use super::wave::{CLOCK, PLACE, Step, Wave};

impl Wave {
    pub(super) fn scalar_step(&mut self, Step { inst, values, .. }: &Step) -> Result<(), String> {
        let (stem, ty) = inst.name().rsplit_once('_').ok_or("the verifier knows no such instruction")?;
        let wide = ty.ends_with("64");
        let all = if wide { u64::MAX } else { 0xffff_ffff };
        let get =
            |wave: &Wave, at: usize| wave.scalar(values.get(at).copied().unwrap_or(Value::Integer(0)), wide);
        let to = values.first().copied().ok_or("it has no operands")?;
        let zero = |value: u64| value & all != 0;
        let (value, scc) = match (stem, values.len()) {
            ("s_mov", 2) => (get(self, 1)?, None),
            ("s_and", 3) => {
                let value = get(self, 1)? & get(self, 2)?;
                (value, Some(zero(value)))
            }
            ("s_or", 3) => {
                let value = get(self, 1)? | get(self, 2)?;
                (value, Some(zero(value)))
            }
            ("s_xor", 3) => {
                let value = get(self, 1)? ^ get(self, 2)?;
                (value, Some(zero(value)))
            }
            ("s_andn2" | "s_and_not1", 3) => {
                let value = get(self, 1)? & !get(self, 2)?;
                (value, Some(zero(value)))
            }
            ("s_add" | "s_add_co" | "s_addc" | "s_add_co_ci", 3) => {
                let carry = u64::from(self.scc && matches!(stem, "s_addc" | "s_add_co_ci"));
                let sum = (get(self, 1)? & all) + (get(self, 2)? & all) + carry;
                (sum, Some(sum > all))
            }
            ("s_min" | "s_max", 3) => {
                let (a, b) = (get(self, 1)? as u32, get(self, 2)? as u32);
                let less = if ty == "i32" { a.cast_signed() < b.cast_signed() } else { a < b };
                let first = less == (stem == "s_min") && a != b;
                (u64::from(if first { a } else { b }), Some(first))
            }
            ("s_cselect", 3) => (get(self, if self.scc { 1 } else { 2 })?, None),
            ("s_cmp_eq" | "s_cmp_lg", 2) => {
                let equal = get(self, 0)? & all == get(self, 1)? & all;
                self.scc = equal == (stem == "s_cmp_eq");
                return Ok(());
            }
            // `s_ff1_i32_b64 s0, s[2:3]`: the result has 32 bits, -1 if there is no 1.
            ("s_ff1_i32" | "s_ctz_i32", 2) => {
                let value = get(self, 1)? & all;
                let first = if value == 0 { u64::MAX } else { u64::from(value.trailing_zeros()) };
                return self.set_scalar(to, first, false);
            }
            ("s_bitset0", 2) => {
                let bit = self.scalar(values[1], false)?;
                (get(self, 0)? & !(1 << (bit & if wide { 63 } else { 31 })), None)
            }
            ("s_getreg", 2) => {
                let field = HardwareField::of(get(self, 1)? as u32);
                let (value, bits) = match inst.target().cycles(field) {
                    Some((first, bits)) => (CLOCK.checked_shr(first).unwrap_or(0), bits),
                    None => (u64::from(PLACE >> field.first), field.bits),
                };
                (value & ((1 << bits) - 1), None)
            }
            _ => return Err("the verifier knows no such instruction".to_owned()),
        };
        self.set_scalar(to, value & all, wide)?;
        self.scc = scc.unwrap_or(self.scc);
        Ok(())
    }
}
