//! Loads, stores and atomic operations of routines.

use prlx_isa::amdgpu::Family;
use prlx_isa::amdgpu::inst::{Encoding, Field, Value};

use super::assembler::{Assembler, vgpr, vgprs};
use super::compile::Compiler;
use crate::routines::Arg;

impl Compiler<'_> {
    /// Fields of an access that reaches the memory which all of the device sees.
    pub(super) fn coherent(&self, returns: bool) -> Vec<(Field, u32)> {
        use prlx_isa::amdgpu::Target::{Gfx90a, Gfx942, Gfx950, Gfx1030, Gfx1100, Gfx1201};
        match self.asm.target {
            Gfx90a => vec![(Field::Glc, u32::from(returns))],
            Gfx942 | Gfx950 => vec![(Field::Sc0, u32::from(returns)), (Field::Sc1, 1)],
            Gfx1030 => vec![(Field::Glc, u32::from(returns)), (Field::Dlc, u32::from(returns))],
            Gfx1100 => vec![(Field::Glc, u32::from(returns))],
            // Scope of the device; bit 0 of an atomic operation's temporal hint asks for the old value.
            Gfx1201 => vec![(Field::Scope, 2), (Field::Th, u32::from(returns))],
        }
    }

    /// No scalar base, and an offset.
    pub(super) fn place_fields(&self, offset: i64) -> Result<Vec<(Field, u32)>, String> {
        Ok(vec![(Field::Saddr, self.asm.target.no_scalar_address()), (Field::Offset, small_offset(offset)?)])
    }

    /// The registers of an address, and an offset that an instruction has room for.
    pub(super) fn address_of(&mut self, base: &str, offset: i64) -> Result<(Value, i64), String> {
        let base = self.place_of(base)?;
        if is_small(offset) {
            return Ok((base.whole(), offset));
        }
        let sum = self.take_scratch(2)?;
        let carry = self.registers.masks[0];
        // The constant register is the last scratch register, and one half is added after the other.
        let low = self.constant(offset as u32);
        self.asm.emit(Encoding::Vop3, "v_add_co_u32", &[vgpr(sum), carry, base.half(false), low]);
        let high = self.constant((offset >> 32) as u32);
        let operands = [vgpr(sum + 1), carry, base.half(true), high, carry];
        self.asm.emit(Encoding::Vop3, "v_addc_co_u32", &operands);
        Ok((vgprs(sum, 2), 0))
    }

    pub(super) fn load(
        &mut self,
        parts: &[&str],
        to: &Arg<'_>,
        base: &str,
        offset: i64,
    ) -> Result<(), String> {
        let ty = parts.last().copied().unwrap_or_default();
        let space = parts.get(1).copied().unwrap_or_default();
        let targets = match to {
            Arg::Vector(names) => names.clone(),
            Arg::Name(name) => vec![*name],
            _ => return Err(format!("a routine loads {to:?}")),
        };
        let size = if ty.ends_with("64") { 8 } else { 4 };
        for (i, name) in targets.iter().enumerate() {
            let offset = offset + size * i as i64;
            let to = self.place_of(name)?.whole();
            let opcode = if size == 8 { "global_load_dwordx2" } else { "global_load_dword" };
            if space == "param" {
                self.load_parameter(to, offset, opcode)?;
                continue;
            }
            self.scratch = 0;
            let (address, offset) = self.address_of(base, offset)?;
            let mut fields = self.place_fields(offset)?;
            if parts.contains(&"relaxed") {
                // Past the caches of a part of the device. A load's hint has other values than an atomic's.
                let all = self.coherent(true).into_iter().filter(|(field, _)| *field != Field::Th);
                fields.extend(all);
            }
            self.asm.emit_with(Encoding::Global, opcode, &[to, address], &fields);
        }
        self.wait();
        Ok(())
    }

    /// A load from the hidden parameter.
    pub(super) fn load_parameter(&mut self, to: Value, offset: i64, opcode: &str) -> Result<(), String> {
        let zero = self.in_scratch(0, 1)?;
        let fields =
            [(Field::Saddr, self.registers.parameters.into()), (Field::Offset, small_offset(offset)?)];
        // With a scalar base, the vector address is an offset of 32 bits.
        self.asm.emit_with(Encoding::Global, opcode, &[to, zero], &fields);
        self.wait();
        Ok(())
    }

    /// What is stored: memory instructions take no constants.
    fn in_registers(&mut self, data: Value, count: u8) -> Result<Value, String> {
        match data {
            Value::Integer(n) => self.in_scratch(i64::from(n).cast_unsigned(), count),
            data => Ok(data),
        }
    }

    pub(super) fn store(
        &mut self,
        parts: &[&str],
        base: &str,
        offset: i64,
        from: &Arg<'_>,
    ) -> Result<(), String> {
        let (address, offset) = self.address_of(base, offset)?;
        let mut fields = self.place_fields(offset)?;
        if parts.contains(&"relaxed") {
            fields.extend(self.coherent(false));
        }
        let (opcode, data) = match parts.last() {
            Some(&("u64" | "b64")) => ("global_store_dwordx2", self.pair(from)?),
            Some(&"u16") => ("global_store_short", self.half(from, false)?),
            Some(&"u8") => ("global_store_byte", self.half(from, false)?),
            _ => ("global_store_dword", self.half(from, false)?),
        };
        let data = self.in_registers(data, 1 + u8::from(opcode.ends_with("x2")))?;
        self.asm.emit_with(Encoding::Global, opcode, &[address, data], &fields);
        Ok(())
    }

    /// `atom.global.add.u64 old, [address], value`, `red.global.…` without the old value, and
    /// `atom.global.cas.b64 old, [address], 0, value`. `None`: another one.
    pub(super) fn atomic(&mut self, parts: &[&str], args: &[Arg<'_>]) -> Option<Result<(), String>> {
        let returns = parts[0] == "atom";
        let (old, args) = if returns { (args.first(), args.get(1..)?) } else { (None, args) };
        let (Arg::Address(base, offset), values) = args.split_first()? else { return None };
        Some(self.atomic_of(parts, old, (base, *offset), values))
    }

    pub(super) fn atomic_of(
        &mut self,
        parts: &[&str],
        old: Option<&Arg<'_>>,
        (base, offset): (&str, i64),
        values: &[Arg<'_>],
    ) -> Result<(), String> {
        if parts.contains(&"acq_rel") {
            self.fence();
        }
        let (address, offset) = self.address_of(base, offset)?;
        let mut fields = self.place_fields(offset)?;
        fields.extend(self.coherent(old.is_some()));
        let operation = parts.iter().position(|part| *part == "global").map_or(2, |at| at + 1);
        let (operation, ty) = match parts.get(operation..) {
            Some([operation, ty]) => (*operation, *ty),
            _ => return Err(format!("a routine has {}", parts.join("."))),
        };
        let (opcode, data) = match (operation, ty, values) {
            ("add", "u64", [value]) => {
                let value = self.pair(value)?;
                ("global_atomic_add_x2", self.in_registers(value, 2)?)
            }
            ("xor", "b32", [value]) => ("global_atomic_xor", self.half(value, false)?),
            ("cas", "b64", [Arg::Int(0), Arg::Name(value)]) => {
                let value = self.place_of(value)?;
                let first = self.take_scratch(4)?;
                self.asm.emit(Encoding::Vop1, "v_mov_b32", &[vgpr(first), value.half(false)]);
                self.asm.emit(Encoding::Vop1, "v_mov_b32", &[vgpr(first + 1), value.half(true)]);
                self.set(vgpr(first + 2), 0);
                self.set(vgpr(first + 3), 0);
                ("global_atomic_cmpswap_x2", vgprs(first, 4))
            }
            ("add", "f64", _) if self.asm.target.family() > Family::Gfx9 => {
                let what = "a sum of floating-point values needs an atomic addition of f64";
                return Err(format!("{what}, which {} does not have", self.asm.target));
            }
            (_, _, [value]) => {
                let opcode = atomic_opcode(operation, ty)
                    .ok_or_else(|| format!("a routine has {} of {values:?}", parts.join(".")))?;
                let data = if ty.ends_with("64") { self.pair(value)? } else { self.half(value, false)? };
                (opcode, self.in_registers(data, if ty.ends_with("64") { 2 } else { 1 })?)
            }
            _ => return Err(format!("a routine has {} of {values:?}", parts.join("."))),
        };
        match old {
            Some(old) => {
                let old = self.place(old)?.whole();
                self.asm.emit_with(Encoding::Global, opcode, &[old, address, data], &fields);
                self.wait();
            }
            None => self.asm.emit_with(Encoding::Global, opcode, &[address, data], &fields),
        }
        Ok(())
    }

    /// Waits until all registers that the function loads have arrived: the routine reads some of them.
    pub(super) fn wait_for_all(&mut self) {
        self.asm.wait_for_all();
    }

    /// Waits until loads have arrived.
    pub(super) fn wait(&mut self) {
        self.asm.wait_for_loads();
    }
}

impl Assembler {
    /// Waits for everything that writes registers later.
    pub(super) fn wait_for_all(&mut self) {
        match self.target.family() {
            Family::Gfx12 => {
                for counter in ["loadcnt", "samplecnt", "bvhcnt", "dscnt", "kmcnt"] {
                    let name = format!("s_wait_{counter}");
                    self.emit(Encoding::Sopp, &name, &[Value::Immediate(0)]);
                }
            }
            // All counters.
            _ => self.emit(Encoding::Sopp, "s_waitcnt", &[Value::Immediate(0)]),
        }
    }

    /// Waits until loads into vector registers have arrived.
    pub(super) fn wait_for_loads(&mut self) {
        let all = match self.target.family() {
            Family::Gfx12 => return self.emit(Encoding::Sopp, "s_wait_loadcnt", &[Value::Immediate(0)]),
            // vmcnt(0), and nothing of the other counters: LLVM, `AMDGPUBaseInfo`, `encodeWaitcnt`.
            Family::Gfx11 => 0x03f7,
            Family::Gfx10 => 0x3f70,
            Family::Gfx9 => 0x0f70,
        };
        self.emit(Encoding::Sopp, "s_waitcnt", &[Value::Immediate(all)]);
    }
}

/// The name of an atomic operation on gfx9.
fn atomic_opcode(operation: &str, ty: &str) -> Option<&'static str> {
    Some(match (operation, ty) {
        ("add", "u32") => "global_atomic_add",
        ("add", "f64") => "global_atomic_add_f64",
        ("min", "u32") => "global_atomic_umin",
        ("min", "s32") => "global_atomic_smin",
        ("min", "u64") => "global_atomic_umin_x2",
        ("min", "s64") => "global_atomic_smin_x2",
        ("max", "u32") => "global_atomic_umax",
        ("max", "s32") => "global_atomic_smax",
        ("max", "u64") => "global_atomic_umax_x2",
        ("max", "s64") => "global_atomic_smax_x2",
        ("and", "b32") => "global_atomic_and",
        ("or", "b32") => "global_atomic_or",
        ("and", "b64") => "global_atomic_and_x2",
        ("or", "b64") => "global_atomic_or_x2",
        ("xor", "b64") => "global_atomic_xor_x2",
        ("exch", "b32") => "global_atomic_swap",
        _ => return None,
    })
}

/// Whether all targets have room for an offset.
pub(super) fn is_small(offset: i64) -> bool {
    (0..2048).contains(&offset)
}

/// An offset that all targets have room for.
fn small_offset(offset: i64) -> Result<u32, String> {
    u32::try_from(offset)
        .ok()
        .filter(|offset| *offset < 2048)
        .ok_or(format!("a routine's offset {offset} is too large"))
}
