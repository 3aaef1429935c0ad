//! Exchanges between lanes in routines: masks of lanes, votes, matches and reductions.
//!
//! A routine runs for the lanes in EXEC, so its masks of lanes are parts of EXEC. A match and a reduction are
//! loops: a match takes all lanes with the value of the lowest lane in each iteration, a reduction one lane.
//!
//! # Invariants
//! EXEC is the same behind each of them.

use prlx_isa::amdgpu::inst::{Encoding, Value};
use prlx_isa::amdgpu::{ClockSource, HardwareField, REALTIME, TIMER_CYCLES, TIMER_TICK};

use super::assembler::{EXEC, sgpr, sgprs, vgpr};
use super::compile::Compiler;
use super::memory::is_small;
use crate::routines::Arg;

impl Compiler<'_> {
    /// Appends an exchange, if the instruction is one.
    pub(super) fn exchange(&mut self, parts: &[&str], args: &[Arg<'_>]) -> Option<Result<(), String>> {
        Some(match (parts[0], args) {
            ("activemask", [to]) => self.put_mask(to, EXEC),
            ("vote", [to, of, _]) if parts.contains(&"ballot") => self.vote(to, of),
            ("match", [to, value, _]) if parts.contains(&"any") => {
                self.match_lanes(parts.last() == Some(&"b64"), to, value)
            }
            ("redux", [to, from, _]) => self.reduce(parts, to, from),
            ("mbcnt", [to, Arg::Name(mask)]) => self.lanes_below(to, mask),
            _ => return None,
        })
    }

    /// Copies a mask of lanes from scalar registers to a register of the routine.
    fn put_mask(&mut self, to: &Arg<'_>, mask: Value) -> Result<(), String> {
        let place = self.place(to)?;
        for high in [false, true].into_iter().take(usize::from(self.asm.lanes / 32)) {
            let half = match mask {
                Value::Registers { first, .. } => sgpr(first + u8::from(high)),
                _ => Value::Named(if high { "exec_hi" } else { "exec_lo" }, &[]),
            };
            self.asm.emit(Encoding::Vop1, "v_mov_b32", &[place.half(high), half]);
        }
        Ok(())
    }

    /// The lanes for which a predicate holds.
    fn vote(&mut self, to: &Arg<'_>, of: &Arg<'_>) -> Result<(), String> {
        let mask = self.registers.masks[0];
        let (name, stem) = match of {
            Arg::Name(name) => (name, "s_and"),
            Arg::Not(name) => (name, "s_andn2"),
            other => return Err(format!("a routine votes on {other:?}")),
        };
        let holds = self.predicate(name)?;
        self.asm.mask2(stem, mask, EXEC, holds);
        self.put_mask(to, mask)
    }

    /// The lanes with the same value.
    fn match_lanes(&mut self, wide: bool, to: &Arg<'_>, value: &Arg<'_>) -> Result<(), String> {
        let [left, same, all] = self.registers.masks;
        let lowest = [0, 1].map(|i| sgpr(self.registers.jump + i));
        let values = [self.half(value, false)?, self.half(value, true)?];
        if let Arg::Int(_) = value {
            return self.put_mask(to, EXEC);
        }
        self.asm.mask1("s_mov", all, EXEC);
        self.asm.mask1("s_mov", left, EXEC);
        let again = self.asm.label();
        self.asm.place(again);
        for i in 0..1 + usize::from(wide) {
            self.asm.emit(Encoding::Vop1, "v_readfirstlane_b32", &[lowest[i], values[i]]);
        }
        for i in 0..1 + usize::from(wide) {
            // Lanes whose low halves differ have left EXEC.
            self.asm.emit(Encoding::Vop3, "v_cmp_eq_u32", &[same, lowest[i], values[i]]);
            self.asm.mask1("s_mov", EXEC, same);
        }
        self.put_mask(to, same)?;
        self.asm.mask2("s_andn2", left, left, same);
        self.asm.mask1("s_mov", EXEC, left);
        self.asm.jump("s_cbranch_execnz", again);
        self.asm.mask1("s_mov", EXEC, all);
        Ok(())
    }

    /// Combines the values of all lanes.
    fn reduce(&mut self, parts: &[&str], to: &Arg<'_>, from: &Arg<'_>) -> Result<(), String> {
        let unknown = || format!("AMD code has no `{}` for routines", parts.join("."));
        // The operation, and what changes nothing.
        let (operation, none) = match parts.get(2..).unwrap_or_default() {
            ["xor", _] => ("s_xor_b32", 0),
            ["or", _] => ("s_or_b32", 0),
            ["and", _] => ("s_and_b32", -1),
            ["add", _] => ("s_add_u32", 0),
            ["min", "u32"] => ("s_min_u32", -1),
            ["max", "u32"] => ("s_max_u32", 0),
            ["min", "s32"] => ("s_min_i32", i32::MAX),
            ["max", "s32"] => ("s_max_i32", i32::MIN),
            _ => return Err(unknown()),
        };
        let none = match none {
            0 | -1 => Value::Integer(none),
            bits => Value::Literal(bits.cast_unsigned()),
        };
        let all = self.registers.masks[0];
        let [sum, one] = [0, 1].map(|i| sgpr(self.registers.jump + i));
        let from = self.half(from, false)?;
        let to = self.place(to)?.whole();
        self.asm.mask1("s_mov", all, EXEC);
        self.asm.emit(Encoding::Sop1, "s_mov_b32", &[sum, none]);
        let again = self.asm.label();
        self.asm.place(again);
        self.asm.emit(Encoding::Vop1, "v_readfirstlane_b32", &[one, from]);
        self.asm.emit(Encoding::Sop2, operation, &[sum, sum, one]);
        // The lowest lane leaves.
        self.asm.mask1("s_ff1_i32", one, EXEC);
        self.asm.mask1("s_bitset0", EXEC, one);
        self.asm.jump("s_cbranch_execnz", again);
        self.asm.mask1("s_mov", EXEC, all);
        self.asm.emit(Encoding::Vop1, "v_mov_b32", &[to, sum]);
        Ok(())
    }

    /// How many lanes of a mask are below this lane.
    fn lanes_below(&mut self, to: &Arg<'_>, mask: &str) -> Result<(), String> {
        let (to, mask) = (self.place(to)?.whole(), self.place_of(mask)?);
        self.asm.emit(Encoding::Vop3, "v_mbcnt_lo_u32_b32", &[to, mask.half(false), Value::Integer(0)]);
        if self.asm.lanes == 64 {
            self.asm.emit(Encoding::Vop3, "v_mbcnt_hi_u32_b32", &[to, mask.half(true), to]);
        }
        Ok(())
    }

    /// Reads a clock. At level `events` it is the number of events of the wave so far: all lanes of a wave
    /// have their events in one order. Programs and markers read the counter of cycles.
    pub(super) fn clock(&mut self, to: &Arg<'_>) -> Result<(), String> {
        let Some(events) = self.registers.events.map(sgpr) else {
            return self.cycles(to);
        };
        let to = self.place(to)?.whole();
        self.asm.emit(Encoding::Vop1, "v_mov_b32", &[to, events]);
        self.asm.emit(Encoding::Sop2, "s_add_u32", &[events, events, Value::Integer(1)]);
        Ok(())
    }

    /// Reads the counter of cycles; on gfx11, where it has 20 bits, the timer in steps of 20 cycles.
    fn cycles(&mut self, to: &Arg<'_>) -> Result<(), String> {
        let first = self.registers.jump;
        match self.asm.target.clock() {
            ClockSource::Memory => self.asm.emit(Encoding::Smem, "s_memtime", &[sgprs(first, 2)]),
            ClockSource::Message => {
                self.ask_for_timer();
                return self.multiplied(to, TIMER_CYCLES);
            }
            ClockSource::Registers => return self.cycles_of_registers(to),
        }
        self.wait_for_all();
        let place = self.place(to)?;
        self.asm.emit(Encoding::Vop1, "v_mov_b32", &[place.half(false), sgpr(first)]);
        if place.wide {
            self.asm.emit(Encoding::Vop1, "v_mov_b32", &[place.half(true), sgpr(first + 1)]);
        }
        Ok(())
    }

    /// Reads the halves of the counter: the upper one before and after the lower one. If these differ, the
    /// lower half was 0 in between.
    fn cycles_of_registers(&mut self, to: &Arg<'_>) -> Result<(), String> {
        let (part, place) = (sgpr(self.registers.jump), self.place(to)?);
        let read = |this: &mut Self, field: HardwareField| {
            this.asm.emit(Encoding::Sopk, "s_getreg_b32", &[part, Value::Immediate(field.code())]);
        };
        if !place.wide {
            read(self, HardwareField::CYCLES_LOW);
            self.asm.emit(Encoding::Vop1, "v_mov_b32", &[place.half(false), part]);
            return Ok(());
        }
        let (low, high, same) = (place.half(false), place.half(true), vgpr(self.take_scratch(1)?));
        for (field, to) in [
            (HardwareField::CYCLES_HIGH, high),
            (HardwareField::CYCLES_LOW, low),
            (HardwareField::CYCLES_HIGH, same),
        ] {
            read(self, field);
            self.asm.emit(Encoding::Vop1, "v_mov_b32", &[to, part]);
        }
        // 0 less 1 keeps the lower half, 1 less 1 clears it.
        self.two("v_sub_u32", high, same, high);
        self.two("v_add_u32", high, high, Value::Integer(-1));
        self.two("v_and_b32", low, low, high);
        self.asm.emit(Encoding::Vop1, "v_mov_b32", &[high, same]);
        Ok(())
    }

    /// Asks for the timer, which comes in the two scalar registers for jumps.
    fn ask_for_timer(&mut self) {
        let to = sgprs(self.registers.jump, 2);
        self.asm.emit(Encoding::Sop1, "s_sendmsg_rtn_b64", &[to, Value::Immediate(REALTIME)]);
    }

    /// Reads the timer that all multiprocessors share, in nanoseconds.
    pub(super) fn timer(&mut self, to: &Arg<'_>) -> Result<(), String> {
        let both = sgprs(self.registers.jump, 2);
        match self.asm.target.clock() {
            ClockSource::Memory => self.asm.emit(Encoding::Smem, "s_memrealtime", &[both]),
            ClockSource::Message | ClockSource::Registers => self.ask_for_timer(),
        }
        self.multiplied(to, TIMER_TICK)
    }

    /// Waits for the timer in the two scalar registers for jumps, and multiplies it.
    fn multiplied(&mut self, to: &Arg<'_>, factor: u32) -> Result<(), String> {
        let first = self.registers.jump;
        self.wait_for_all();
        let (to, carry) = (self.place(to)?, vgpr(self.take_scratch(1)?));
        let (low, tick) = (to.half(false), Value::Integer(factor as i32));
        self.asm.emit(Encoding::Vop1, "v_mov_b32", &[low, sgpr(first)]);
        if to.wide {
            self.two("v_mul_hi_u32", carry, low, tick);
            self.asm.emit(Encoding::Vop1, "v_mov_b32", &[to.half(true), sgpr(first + 1)]);
            self.two("v_mul_lo_u32", to.half(true), to.half(true), tick);
            self.two("v_add_u32", to.half(true), to.half(true), carry);
        }
        self.two("v_mul_lo_u32", low, low, tick);
        Ok(())
    }

    /// The number of the multiprocessor: all fields that say where the wave runs, the first one lowest.
    pub(super) fn multiprocessor(&mut self, to: &Arg<'_>) -> Result<(), String> {
        let to = self.place(to)?.half(false);
        let mut above = 0;
        for field in self.asm.target.multiprocessor() {
            let part = sgpr(self.registers.jump);
            self.asm.emit(Encoding::Sopk, "s_getreg_b32", &[part, Value::Immediate(field.code())]);
            match above {
                0 => self.asm.emit(Encoding::Vop1, "v_mov_b32", &[to, part]),
                bits => {
                    let by = Value::Integer(bits as i32);
                    self.asm.emit(Encoding::Vop3, "v_lshl_or_b32", &[to, part, by, to]);
                }
            }
            above += field.bits;
        }
        Ok(())
    }

    /// Stores a row of words of 32 or 64 bits.
    pub(super) fn store_row(
        &mut self,
        parts: &[&str],
        base: &str,
        offset: i64,
        words: &[&str],
    ) -> Result<(), String> {
        if parts.last() == Some(&"u64") {
            for (word, at) in words.iter().zip((offset..).step_by(8)) {
                self.store(parts, base, at, &Arg::Name(word))?;
            }
            return Ok(());
        }
        let opcode = match words.len() {
            2 => "global_store_dwordx2",
            4 => "global_store_dwordx4",
            n => return Err(format!("a routine stores {n} words")),
        };
        if !is_small(offset) && words.len() > 2 {
            // The address takes two of the registers.
            for (pair, at) in words.chunks(2).zip((offset..).step_by(8)) {
                self.scratch = 0;
                self.store_row(parts, base, at, pair)?;
            }
            return Ok(());
        }
        let (address, offset) = self.address_of(base, offset)?;
        let first = self.take_scratch(words.len() as u8)?;
        for (word, to) in words.iter().zip(first..) {
            let word = self.place_of(word)?.half(false);
            self.asm.emit(Encoding::Vop1, "v_mov_b32", &[vgpr(to), word]);
        }
        let fields = self.place_fields(offset)?;
        let words = super::assembler::vgprs(first, words.len() as u8);
        self.asm.emit_with(Encoding::Global, opcode, &[address, words], &fields);
        Ok(())
    }
}
