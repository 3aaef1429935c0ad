//! Memory instructions of inserted code.

use prlx_isa::amdgpu::REALTIME;
use prlx_isa::amdgpu::inst::table::{Access, Role};
use prlx_isa::amdgpu::inst::{Encoding, Field, Inst, Value};

use super::wave::{CLOCK, Counter, Wave};
use crate::verify::inserted_code::{combine, double};

impl Wave {
    pub(super) fn access(&mut self, inst: &Inst) -> Result<(), String> {
        match inst.encoding() {
            Some(Encoding::Smem | Encoding::Sop1) => self.timer(inst),
            Some(Encoding::Global) => self.global(inst),
            Some(Encoding::Scratch) => self.scratch(inst),
            _ => Err("the verifier knows no such access".to_owned()),
        }
    }

    /// A clock or the timer, which comes later.
    pub(super) fn timer(&mut self, inst: &Inst) -> Result<(), String> {
        let to = inst.operands().first().map(|operand| operand.value).ok_or("it has no result")?;
        let known = match inst.name() {
            "s_memtime" | "s_memrealtime" => true,
            "s_sendmsg_rtn_b64" => inst.get(Field::Ssrc0) == REALTIME,
            _ => false,
        };
        if !known {
            return Err("the verifier knows no such access".to_owned());
        }
        self.set_scalar(to, CLOCK, true)?;
        self.will_write(to, Counter::Scalar);
        Ok(())
    }

    /// Address of an access to global memory in a lane.
    fn address(&self, inst: &Inst, lane: usize) -> Result<u64, String> {
        let address = inst.address().ok_or("it has no address")?;
        let vector = address.vector.ok_or("it has no vector address")?;
        let base = match address.base {
            Some(base) => self.scalar(base, true)?.wrapping_add(self.lane(vector, lane, false)?),
            None => self.lane(vector, lane, true)?,
        };
        Ok(base.wrapping_add_signed(address.offset))
    }

    fn global(&mut self, inst: &Inst) -> Result<(), String> {
        let values = inst.operands();
        // The data of a store, and the register that a load or an atomic operation writes.
        let source = values.iter().rfind(|o| o.slot.role == Role::Source && o.slot.field != Field::Addr);
        let result = values.iter().find(|o| o.slot.role != Role::Source).map(|o| o.value);
        let bytes = u64::from(inst.access_bytes().ok_or("its size is not known")?);
        for lane in self.active() {
            let at = self.address(inst, lane)?;
            match inst.access() {
                Some(Access::Load) => {
                    let to = result.ok_or("it has no result")?;
                    for (i, word) in words(to, bytes).into_iter().enumerate() {
                        let value = self.memory.read(at.wrapping_add(4 * i as u64), 4.min(bytes));
                        self.set_lane(word, lane, value, false)?;
                    }
                }
                Some(Access::Store) => {
                    let from = source.ok_or("it has no data")?.value;
                    for (i, word) in words(from, bytes).into_iter().enumerate() {
                        let value = self.lane(word, lane, false)?;
                        self.memory.write(at.wrapping_add(4 * i as u64), 4.min(bytes), value);
                    }
                }
                Some(Access::Atomic) => {
                    let from = source.ok_or("it has no data")?.value;
                    self.atomic(inst, lane, at, bytes, from, result)?;
                }
                _ => return Err("the verifier knows no such access".to_owned()),
            }
        }
        if let Some(to) = result {
            self.will_write(to, Counter::Vector);
        }
        Ok(())
    }

    fn atomic(
        &mut self,
        inst: &Inst,
        lane: usize,
        at: u64,
        bytes: u64,
        from: Value,
        result: Option<Value>,
    ) -> Result<(), String> {
        let wide = bytes == 8;
        let old = self.memory.read(at, bytes);
        let value = self.lane(from, lane, wide)?;
        let rest = inst.name().strip_prefix("global_atomic_").unwrap_or_default();
        let mut parts = rest.split('_');
        let operation = parts.next().unwrap_or_default();
        let ty = rest.rsplit('_').next().unwrap_or_default();
        let new = match (operation, ty) {
            ("cmpswap", _) => {
                // The new value, then the one that is compared.
                let Value::Registers { bank, first, count } = from else { return Err("no data".to_owned()) };
                let half = count / 2;
                let compared = Value::Registers { bank, first: first + half, count: half };
                if old == self.lane(compared, lane, wide)? { value } else { old }
            }
            ("add", "f64") => double(f64::from_bits(old) + f64::from_bits(value)),
            _ => {
                let signed = operation.starts_with('s') && operation != "swap" || ty.starts_with('i');
                let operation = match operation {
                    "smin" | "umin" => "min",
                    "smax" | "umax" => "max",
                    "swap" => "exch",
                    other => other,
                };
                combine(operation, old, value, 8 * bytes as u32, signed)
                    .ok_or("the verifier knows no such operation")?
            }
        };
        self.memory.write(at, bytes, new);
        if let Some(to) = result {
            self.set_lane(to, lane, old, wide)?;
        }
        Ok(())
    }

    /// Scratch memory, with an offset alone.
    fn scratch(&mut self, inst: &Inst) -> Result<(), String> {
        let address = inst.address().ok_or("it has no address")?;
        if address.vector.is_some() || address.base.is_some() || inst.access_bytes() != Some(4) {
            return Err("the verifier knows no such access to scratch memory".to_owned());
        }
        let at = u64::try_from(address.offset).map_err(|_| "its offset is negative")?;
        let values = inst.operands();
        let load = inst.access() == Some(Access::Load);
        let wanted = |role: Role| (role == Role::Source) != load;
        let data = values.iter().find(|o| o.slot.field != Field::Addr && wanted(o.slot.role));
        let data = data.ok_or("it has no data")?.value;
        for lane in self.active() {
            if load {
                let value = self.scratch[lane].read(at, 4);
                self.set_lane(data, lane, value, false)?;
            } else {
                let value = self.lane(data, lane, false)?;
                self.scratch[lane].write(at, 4, value);
            }
        }
        if load {
            self.will_write(data, Counter::Vector);
        }
        Ok(())
    }
}

/// The registers of data, one after the other.
fn words(value: Value, bytes: u64) -> Vec<Value> {
    let Value::Registers { bank, first, .. } = value else { return Vec::new() };
    let count = bytes.div_ceil(4) as u8;
    (first..first + count).map(|first| Value::Registers { bank, first, count: 1 }).collect()
}
