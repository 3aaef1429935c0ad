//! The text of memory instructions: addresses, offsets and cache bits.

use std::fmt::{self, Write};

use super::names::{Encoding, Field};
use super::operand::scalar;
use super::printer::Printer;
use super::raw::Inst;
use super::table::{Access, Form, Kind};
use crate::amdgpu::Family;

/// The value of the low `width` bits as a signed number.
fn signed(value: u32, width: u8) -> i64 {
    let value = i64::from(value);
    if width > 0 && value >> (width - 1) & 1 == 1 { value - (1 << width) } else { value }
}

impl Inst {
    /// The constant offset of an access, bytes; `None` if the instruction has none, or has two.
    pub fn memory_offset(&self) -> Option<i64> {
        let (_, row) = self.meaning?;
        row.form.access?;
        let (width, raw) = (self.width(Field::Offset), self.get(Field::Offset));
        match self.encoding()? {
            Encoding::Ds if row.form.two_offsets => None,
            Encoding::Ds => Some((self.get(Field::Offset0) | self.get(Field::Offset1) << 8).into()),
            Encoding::Flat if self.target.family() <= Family::Gfx11 => Some(raw.into()),
            // The field is a register.
            Encoding::Smem if self.width(Field::Imm) > 0 && self.get(Field::Imm) == 0 => Some(0),
            Encoding::Mubuf | Encoding::Mtbuf if self.target.family() <= Family::Gfx11 => Some(raw.into()),
            Encoding::Flat
            | Encoding::Global
            | Encoding::Scratch
            | Encoding::Smem
            | Encoding::Mubuf
            | Encoding::Mtbuf => Some(signed(raw, width)),
            _ => None,
        }
    }
}

impl Printer<'_> {
    /// Address, data, scalar address, offset, cache bits.
    pub(super) fn flat(&mut self, form: &Form) -> fmt::Result {
        let inst = self.inst;
        if inst.get(Field::Lds) == 1 && inst.get(Field::Acc) == 1 {
            return Err(fmt::Error); // No register is written.
        }
        let encoding = inst.encoding();
        let base = inst.scalar_address();
        let mut between = " ";
        for slot in form.slots.iter().filter(|slot| inst.has(slot)) {
            self.out.push_str(between);
            between = ", ";
            match (encoding, slot.field) {
                (Some(Encoding::Scratch), Field::Addr) if !inst.scratch_vector() => self.out.push_str("off"),
                _ => self.slot(slot)?,
            }
        }
        if encoding != Some(Encoding::Flat) && !form.slots.is_empty() {
            self.out.push_str(between);
            match base {
                None => self.out.push_str("off"),
                Some(code) => {
                    let count = if encoding == Some(Encoding::Global) { 2 } else { 1 };
                    // EXEC is no address, nor is its high half.
                    let allowed = if count == 2 { code < 126 } else { code < 127 };
                    let value = scalar(inst.target, code, count).filter(|_| allowed).ok_or(fmt::Error)?;
                    self.one(Kind::Scalar(count), value)?;
                }
            }
        }
        let width = inst.width(Field::Offset);
        let raw = inst.get(Field::Offset);
        let offset = match (encoding, inst.target.family()) {
            (Some(Encoding::Flat), Family::Gfx9 | Family::Gfx10 | Family::Gfx11) => i64::from(raw),
            _ => signed(raw, width),
        };
        if offset != 0 && !form.slots.is_empty() {
            write!(self.out, " offset:{offset}")?;
        }
        self.cache_bits(form)?;
        self.flag(Field::Lds, "lds");
        Ok(())
    }

    /// The bits that choose caches and scopes.
    fn cache_bits(&mut self, form: &Form) -> fmt::Result {
        if self.inst.width(Field::Th) > 0 {
            return self.temporal_hint(form);
        }
        for (field, name) in [
            (Field::Glc, "glc"),
            (Field::Slc, "slc"),
            (Field::Sc0, "sc0"),
            (Field::Nt, "nt"),
            (Field::Sc1, "sc1"),
            (Field::Dlc, "dlc"),
            (Field::Scc, "scc"),
        ] {
            self.flag(field, name);
        }
        Ok(())
    }

    /// RDNA 4: the temporal hint and the scope.
    fn temporal_hint(&mut self, form: &Form) -> fmt::Result {
        self.flag(Field::ScaleOffset, "scale_offset");
        if form.ignored.contains(&Field::Th) {
            return Ok(());
        }
        let (hint, scope) = (self.inst.get(Field::Th), self.inst.get(Field::Scope));
        let words: [&str; 8] = match form.access {
            Some(Access::Atomic) if scope >= 2 => {
                ["", "RETURN", "NT", "NT_RETURN", "CASCADE_RT", "CASCADE_RT", "CASCADE_NT", "CASCADE_NT"]
            }
            Some(Access::Atomic) => ["", "RETURN", "NT", "NT_RETURN", "0x4", "0x5", "0x6", "0x7"],
            Some(Access::Store) if scope == 3 => {
                ["", "NT", "HT", "BYPASS", "NT_RT", "RT_NT", "NT_HT", "NT_WB"]
            }
            Some(Access::Store) => ["", "NT", "HT", "WB", "NT_RT", "RT_NT", "NT_HT", "NT_WB"],
            _ if scope == 3 => ["", "NT", "HT", "BYPASS", "NT_RT", "RT_NT", "NT_HT", ""],
            _ => ["", "NT", "HT", "LU", "NT_RT", "RT_NT", "NT_HT", ""],
        };
        let kind = match form.access {
            Some(Access::Atomic) => "ATOMIC",
            Some(Access::Store) => "STORE",
            _ => "LOAD",
        };
        if hint != 0 {
            match usize::try_from(hint).ok().and_then(|at| words.get(at)) {
                Some(word) if !word.is_empty() => write!(self.out, " th:TH_{kind}_{word}")?,
                _ => write!(self.out, " th:{hint:#x}")?,
            }
        }
        self.out.push_str(match scope {
            0 => "",
            1 => " scope:SCOPE_SE",
            2 => " scope:SCOPE_DEV",
            _ => " scope:SCOPE_SYS",
        });
        self.flag(Field::Nv, "nv");
        Ok(())
    }

    /// Data, base, offset.
    pub(super) fn smem(&mut self, form: &Form) -> fmt::Result {
        let inst = self.inst;
        if inst.name().contains("_prefetch_") {
            return self.prefetch(form);
        }
        let mut between = " ";
        for slot in form.slots.iter().filter(|slot| slot.field != Field::Soffset) {
            self.out.push_str(between);
            self.slot(slot)?;
            between = ", ";
        }
        if !form.slots.iter().any(|slot| slot.field == Field::Sbase) {
            return Ok(());
        }
        self.out.push_str(between);
        let offset = inst.get(Field::Offset);
        let width = inst.width(Field::Offset);
        let register = |code| scalar(inst.target, code, 1).ok_or(fmt::Error);
        let null = if inst.target.family() >= Family::Gfx11 { 124 } else { 125 };
        let soffset = inst.get(Field::Soffset);
        let (register, offset) = if inst.width(Field::Imm) > 0 {
            match (inst.get(Field::Imm), inst.get(Field::Soffen)) {
                (1, 0) => (None, Some(offset)),
                (1, _) => (Some(register(soffset)?), Some(offset)),
                (_, 1) => (Some(register(soffset)?), None),
                _ => (Some(register(offset & 127)?), None),
            }
        } else if soffset == null && (offset != 0 || inst.target.family() == Family::Gfx12) {
            (None, Some(offset))
        } else if inst.target.family() == Family::Gfx12 {
            (Some(register(soffset)?), Some(offset))
        } else {
            (Some(register(soffset)?), (offset != 0).then_some(offset))
        };
        if let Some(value) = register {
            self.one(Kind::Scalar(1), value)?;
        }
        if let Some(offset) = offset {
            if register.is_some() {
                self.out.push_str(" offset:");
            }
            self.hex(signed(offset, width))?;
        }
        self.cache_bits(form)
    }

    /// Base, offset, register, length.
    fn prefetch(&mut self, form: &Form) -> fmt::Result {
        let inst = self.inst;
        self.out.push(' ');
        if let Some(slot) = form.slots.iter().find(|slot| slot.field == Field::Sbase) {
            self.slot(slot)?;
            self.out.push_str(", ");
        }
        self.hex(signed(inst.get(Field::Offset), inst.width(Field::Offset)))?;
        self.out.push_str(", ");
        let value = scalar(inst.target, inst.get(Field::Soffset), 1).ok_or(fmt::Error)?;
        self.one(Kind::Scalar(1), value)?;
        write!(self.out, ", {}", inst.get(Field::Sdata) & 31)
    }

    fn hex(&mut self, offset: i64) -> fmt::Result {
        if offset < 0 { write!(self.out, "-{:#x}", -offset) } else { write!(self.out, "{offset:#x}") }
    }

    /// Operands, offsets, `gds`.
    pub(super) fn lds(&mut self, form: &Form) -> fmt::Result {
        let inst = self.inst;
        let mut between = " ";
        for slot in &form.slots {
            self.out.push_str(between);
            self.slot(slot)?;
            between = ", ";
        }
        if form.two_offsets {
            self.number(Field::Offset0, "offset0")?;
            self.number(Field::Offset1, "offset1")?;
        } else {
            let offset = inst.get(Field::Offset0) | inst.get(Field::Offset1) << 8;
            if offset != 0 {
                if inst.name() == "ds_swizzle_b32" {
                    self.swizzle(offset)?;
                } else {
                    write!(self.out, " offset:{offset}")?;
                }
            }
        }
        if form.gds {
            self.out.push_str(" gds");
        } else {
            self.flag(Field::Gds, "gds");
        }
        Ok(())
    }

    /// The pattern of `ds_swizzle_b32`: a permutation of four lanes, a rotation, or masks on lane numbers.
    fn swizzle(&mut self, code: u32) -> fmt::Result {
        let lanes = [code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6 & 3];
        let [a, b, c, d] = lanes;
        let (and, or, xor) = (code & 31, code >> 5 & 31, code >> 10 & 31);
        self.out.push_str(" offset:");
        if code & 0xff00 == 0x8000 {
            return write!(self.out, "swizzle(QUAD_PERM,{a},{b},{c},{d})");
        }
        if code & 0x8000 != 0 {
            return match code {
                0xe000.. => write!(self.out, "swizzle(FFT,{and})"),
                0xc000.. => {
                    let direction = code >> 10 & 1;
                    write!(self.out, "swizzle(ROTATE,{direction},{or})")
                }
                _ => write!(self.out, "{code}"),
            };
        }
        if and == 31 && or == 0 && xor.is_power_of_two() {
            return write!(self.out, "swizzle(SWAP,{xor})");
        }
        if and == 31 && or == 0 && xor > 0 && (xor + 1).is_power_of_two() {
            return write!(self.out, "swizzle(REVERSE,{})", xor + 1);
        }
        let group = 32 - and;
        if group > 1 && group.is_power_of_two() && or < group && xor == 0 {
            return write!(self.out, "swizzle(BROADCAST,{group},{or})");
        }
        self.out.push_str("swizzle(BITMASK_PERM,\"");
        for bit in (0..5).rev() {
            let mask = 1 << bit;
            // What the masks do to a lane whose bit is 0 and to one whose bit is 1.
            let zero = (or ^ xor) & mask;
            let one = (and & mask | or) & mask ^ xor & mask;
            self.out.push(match (zero != 0, one != 0) {
                (false, false) => '0',
                (true, true) => '1',
                (false, true) => 'p',
                (true, false) => 'i',
            });
        }
        self.out.push_str("\")");
        Ok(())
    }

    /// Data, vector address, resource, offsets, format, cache bits.
    pub(super) fn buffer(&mut self, form: &Form) -> fmt::Result {
        let inst = self.inst;
        if !form.slots.iter().any(|slot| slot.field == Field::Srsrc) {
            return self.cache_bits(form);
        }
        if inst.get(Field::Lds) == 1 && (inst.get(Field::Acc) == 1 || inst.get(Field::Tfe) == 1) {
            return Err(fmt::Error); // No register is written.
        }
        let mut between = " ";
        for slot in form.slots.iter().filter(|slot| inst.has(slot)) {
            if slot.field == Field::Srsrc {
                self.out.push_str(between);
                between = ", ";
                match inst.buffer_address().ok_or(fmt::Error)? {
                    Some(value) => self.one(slot.kind, value)?,
                    None if inst.name() == "buffer_store_lds_dword" => between = "",
                    None => self.out.push_str("off"),
                }
            }
            self.out.push_str(between);
            self.slot(slot)?;
            between = ", ";
        }
        if inst.name().starts_with("tbuffer") {
            self.buffer_format()?;
        }
        self.flag(Field::Idxen, "idxen");
        self.flag(Field::Offen, "offen");
        self.number(Field::Offset, "offset")?;
        if inst.name() == "buffer_store_lds_dword" {
            self.out.push_str(" lds");
            return self.cache_bits(form);
        }
        self.cache_bits(form)?;
        self.flag(Field::Tfe, "tfe");
        self.flag(Field::Lds, "lds");
        Ok(())
    }

    /// The format of typed buffer instructions, unless it is the usual one.
    fn buffer_format(&mut self) -> fmt::Result {
        let code = self.inst.get(Field::Format);
        let (mut names, mut between) = (String::new(), "");
        if self.inst.target.family() == Family::Gfx9 {
            let (data, number) = (code & 15, code >> 4);
            for (kind, code, usual) in [("data", data, 1), ("number", number, 0)] {
                if code != usual {
                    let name = format_name(kind, code).ok_or(fmt::Error)?;
                    let kind = if kind == "data" { "DATA" } else { "NUM" };
                    write!(names, "{between}BUF_{kind}_FORMAT_{name}")?;
                    between = ",";
                }
            }
        } else if code != 1 {
            let list = if self.inst.target.family() == Family::Gfx10 { "gfx10" } else { "gfx11" };
            match format_name(list, code) {
                Some(name) => write!(names, "BUF_FMT_{name}")?,
                None => return write!(self.out, " format:{code}"),
            }
        }
        if names.is_empty() { Ok(()) } else { write!(self.out, " format:[{names}]") }
    }
}

/// The name of a format in one of the lists of `formats.txt`.
fn format_name(list: &str, code: u32) -> Option<&'static str> {
    let mut words = include_str!("tables/formats.txt")
        .lines()
        .map(|line| line.split(' '))
        .find_map(|mut words| (words.next() == Some(list)).then_some(words))?;
    words.nth(usize::try_from(code).ok()?)
}

/// Targets, registers and modifiers of an export.
pub(super) fn export(printer: &mut Printer<'_>) -> fmt::Result {
    let inst = printer.inst;
    let target = inst.get(Field::Tgt);
    let old = inst.target.family() == Family::Gfx10;
    printer.out.push(' ');
    match target {
        0..=7 => write!(printer.out, "mrt{target}")?,
        8 => printer.out.push_str("mrtz"),
        9 if old => printer.out.push_str("null"),
        12..=16 => write!(printer.out, "pos{}", target - 12)?,
        20 => printer.out.push_str("prim"),
        21 | 22 if !old => write!(printer.out, "dual_src_blend{}", target - 21)?,
        32.. if old => write!(printer.out, "param{}", target - 32)?,
        _ => write!(printer.out, "invalid_target_{target}")?,
    }
    let compressed = inst.get(Field::Compr) == 1;
    let sources = [Field::Src0, Field::Src1, Field::Src2, Field::Src3];
    for (at, plain) in sources.into_iter().enumerate() {
        // Compressed: two halves of a register each.
        let field = if compressed && at < 2 {
            Field::Src0
        } else if compressed {
            Field::Src1
        } else {
            plain
        };
        printer.out.push_str(if at == 0 { " " } else { ", " });
        if inst.get(Field::En) >> at & 1 == 1 {
            write!(printer.out, "v{}", inst.get(field))?;
        } else {
            printer.out.push_str("off");
        }
    }
    printer.flag(Field::Done, "done");
    printer.flag(Field::Compr, "compr");
    printer.flag(Field::Vm, "vm");
    printer.flag(Field::Row, "row_en");
    Ok(())
}

/// Interpolation parameters: `v8, attr0.x`.
pub(super) fn parameter(printer: &mut Printer<'_>, form: &Form) -> fmt::Result {
    let inst = printer.inst;
    let mut between = " ";
    for slot in &form.slots {
        printer.out.push_str(between);
        between = ", ";
        match slot.field {
            Field::Attr => {
                let channel = ["x", "y", "z", "w"];
                let at = usize::try_from(inst.get(Field::AttrChan)).unwrap_or(0);
                let channel = channel.get(at).ok_or(fmt::Error)?;
                write!(printer.out, "attr{}.{channel}", inst.get(Field::Attr))?;
            }
            Field::Vsrc if matches!(slot.kind, Kind::Immediate(_)) => match inst.get(Field::Vsrc) {
                0 => printer.out.push_str("p10"),
                1 => printer.out.push_str("p20"),
                2 => printer.out.push_str("p0"),
                other => write!(printer.out, "invalid_param_{other}")?,
            },
            _ => printer.slot(slot)?,
        }
    }
    let name = if inst.width(Field::WaitVmVsrc) > 0 { "wait_va_vdst" } else { "wait_vdst" };
    if inst.width(Field::WaitVdst) > 0 {
        write!(printer.out, " {name}:{}", inst.get(Field::WaitVdst))?;
    }
    if inst.width(Field::WaitVmVsrc) > 0 {
        write!(printer.out, " wait_vm_vsrc:{}", inst.get(Field::WaitVmVsrc))?;
    }
    Ok(())
}
