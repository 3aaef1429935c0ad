//! The text of an instruction, as `llvm-objdump` and `llvm-mc` write it.
//!
//! Operands come in the order of the form; then modifiers, in the order of each encoding.

use std::fmt::{self, Write};

use super::memory;
use super::names::{Encoding, Field};
use super::printer::{Labels, Printer};
use super::raw::Inst;
use super::table::{ByteBits, Form, Immediate, Kind, Role};
use crate::amdgpu::{Family, Target};

/// Whether the instruction has a text. Combinations of bits that mean nothing have none.
pub(super) fn has_text(inst: &Inst) -> bool {
    let mut text = String::new();
    Printer { inst, out: &mut text, labels: &|_| None }.all().is_ok()
}

impl Inst {
    /// The text of the instruction. Opaque ones are `.long` with their word.
    pub fn print(&self) -> String {
        self.print_with(&|_| None)
    }

    /// The text, with targets of branches as `labels` names them.
    pub fn print_with(&self, labels: Labels<'_>) -> String {
        let mut text = String::new();
        if (Printer { inst: self, out: &mut text, labels }).all().is_err() || self.is_opaque() {
            return format!(".long {:#010x}", self.word(0));
        }
        text
    }
}

impl Printer<'_> {
    fn all(&mut self) -> fmt::Result {
        let Some((layout, row)) = self.inst.meaning else { return Ok(()) };
        let form = row.form;
        if layout.encoding == Encoding::Vopd {
            // Waves of 64 lanes have no pairs.
            if self.inst.lanes == 64 {
                return Err(fmt::Error);
            }
            return self.pair(row.name, form);
        }
        self.out.push_str(row.name);
        if !form.suffix.is_empty() {
            write!(self.out, "_{}", form.suffix)?;
        }
        match layout.encoding {
            Encoding::Flat | Encoding::Global | Encoding::Scratch => self.flat(form),
            Encoding::Smem => self.smem(form),
            Encoding::Ds => self.lds(form),
            Encoding::Mubuf | Encoding::Mtbuf => self.buffer(form),
            Encoding::Mimg | Encoding::Vimage | Encoding::Vsample => Ok(()),
            Encoding::Exp => memory::export(self),
            Encoding::Ldsdir | Encoding::Vintrp => memory::parameter(self, form),
            _ => {
                self.operands(form)?;
                self.modifiers(layout.encoding, form)
            }
        }
    }

    /// Two operations of VOPD: `NAME OPERANDS :: NAME OPERANDS`.
    fn pair(&mut self, names: &str, form: &Form) -> fmt::Result {
        let (first, second) = names.split_once("::").ok_or(fmt::Error)?;
        let at = form.slots.iter().position(|slot| slot.field == Field::VdstY).ok_or(fmt::Error)?;
        let (left, right) = form.slots.split_at(at);
        for (name, slots, before) in [(first, left, ""), (second, right, " :: ")] {
            write!(self.out, "{before}{name}")?;
            let mut between = " ";
            for slot in slots {
                self.out.push_str(between);
                self.slot(slot)?;
                between = ", ";
            }
        }
        Ok(())
    }

    /// Operands of the form, separated by commas.
    fn operands(&mut self, form: &Form) -> fmt::Result {
        let mut between = " ";
        for slot in &form.slots {
            if slot.kind == Kind::Immediate(Immediate::Optional) && self.inst.get(slot.field) == 0 {
                continue;
            }
            self.out.push_str(between);
            self.slot(slot)?;
            between = ", ";
        }
        Ok(())
    }

    fn modifiers(&mut self, encoding: Encoding, form: &Form) -> fmt::Result {
        use Encoding as E;
        match encoding {
            E::Vop3 if self.inst.name().starts_with("v_bitop3") => {
                // The truth table stands where others have signs.
                let table = self.inst.get(Field::Neg)
                    | self.inst.get(Field::Abs) << 3
                    | self.inst.get(Field::Omod) << 6;
                if table != 0 {
                    let hex = if table > 9 { format!("{table:#x}") } else { table.to_string() };
                    write!(self.out, " bitop3:{hex}")?;
                }
                self.op_sel(form)?;
            }
            E::Vop3
                if self.inst.name().starts_with("v_permlane") && self.inst.name().ends_with("_swap_b32") =>
            {
                let bits = self.inst.get(Field::OpSel);
                self.out.push_str(if bits & 2 != 0 { " bound_ctrl:1" } else { "" });
                self.out.push_str(if bits & 1 != 0 { " fi:1" } else { "" });
            }
            E::Vop3 | E::Vop3Dpp16 | E::Vop3Dpp8 => {
                self.op_sel(form)?;
                self.clamp_and_scale()?;
            }
            E::Vop3p | E::Vop3pDpp16 | E::Vop3pDpp8 => self.packed(form)?,
            E::Mai => {
                self.number(Field::Cbsz, "cbsz")?;
                self.number(Field::Abid, "abid")?;
                // Double-precision products have signs where others have a permutation of lanes.
                match self.inst.get(Field::Blgp) {
                    0 => {}
                    signs if self.has_signs() => self.list("neg", signs, &[0, 1, 2])?,
                    pattern => write!(self.out, " blgp:{pattern}")?,
                }
            }
            E::Vinterp => {
                self.clamp_and_scale()?;
                self.op_sel(form)?;
                write!(self.out, " wait_exp:{}", self.inst.get(Field::WaitExp))?;
            }
            E::Vop1Sdwa | E::Vop2Sdwa | E::VopcSdwa => self.sdwa(form)?,
            _ => {}
        }
        self.dpp()
    }

    /// Whether a matrix product has signs of its operands.
    fn has_signs(&self) -> bool {
        self.inst.name().starts_with("v_mfma_f64") && self.inst.target != Target::Gfx90a
    }

    fn clamp_and_scale(&mut self) -> fmt::Result {
        self.flag(Field::Clamp, "clamp");
        self.out.write_str(match self.inst.get(Field::Omod) {
            0 => "",
            1 => " mul:2",
            2 => " mul:4",
            _ => " div:2",
        })
    }

    fn op_sel(&mut self, form: &Form) -> fmt::Result {
        let bits = self.inst.get(Field::OpSel);
        let byte = match form.byte_sel {
            Some(ByteBits::Last) => bits >> 2,
            Some(ByteBits::Reversed) => (bits & 1) << 1 | bits >> 1 & 1,
            None => 0,
        };
        if byte != 0 {
            return write!(self.out, " byte_sel:{byte}");
        }
        let bits = bits & u32::from(form.op_sel_mask);
        let sources = form.slots.iter().filter(|slot| slot.role == Role::Source).count();
        // The last bit is the result's.
        let order: &[u32] = match form.op_sel {
            2 if sources > 1 => &[0, 1],
            2 => &[0, 3],
            3 => &[0, 1, 3],
            4 => &[0, 1, 2, 3],
            _ => return Ok(()),
        };
        if order.iter().all(|at| bits >> at & 1 == 0) { Ok(()) } else { self.list("op_sel", bits, order) }
    }

    fn packed(&mut self, form: &Form) -> fmt::Result {
        let inst = self.inst;
        let order = |count: u8| [0u32, 1, 2].into_iter().take(usize::from(count)).collect::<Vec<_>>();
        let shown = |bits: u32, count: u8| bits & ((1 << count) - 1);
        if form.index_key && inst.get(Field::OpSel) != 0 {
            write!(self.out, " index_key:{}", inst.get(Field::OpSel))?;
        }
        let op_sel = shown(inst.get(Field::OpSel), form.op_sel);
        if op_sel != 0 {
            self.list("op_sel", op_sel, &order(form.op_sel))?;
        }
        let hi = inst.get(Field::OpSelHi) | inst.get(Field::OpSelHi2) << 2;
        let usual = if form.neg > 0 { shown(7, form.op_sel_hi) } else { 0 };
        if shown(hi, form.op_sel_hi) != usual {
            self.list("op_sel_hi", hi, &order(form.op_sel_hi))?;
        }
        for (field, name) in [(Field::Neg, "neg_lo"), (Field::NegHi, "neg_hi")] {
            let bits = shown(inst.get(field), form.neg);
            if bits != 0 {
                self.list(name, bits, &order(form.neg))?;
            }
        }
        self.flag(Field::Clamp, "clamp");
        Ok(())
    }

    fn sdwa(&mut self, form: &Form) -> fmt::Result {
        const SELECT: [&str; 7] = ["BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"];
        const UNUSED: [&str; 4] = ["UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "UNUSED_PAD"];
        let word = |list: &'static [&'static str], code: u32| {
            usize::try_from(code).ok().and_then(|at| list.get(at)).copied().ok_or(fmt::Error)
        };
        self.clamp_and_scale()?;
        let has = |field| form.slots.iter().any(|slot| slot.field == field);
        if self.inst.width(Field::DstSel) > 0 && has(Field::Vdst) && !self.ignores(Field::DstSel) {
            write!(self.out, " dst_sel:{}", word(&SELECT, self.inst.get(Field::DstSel))?)?;
            write!(self.out, " dst_unused:{}", word(&UNUSED, self.inst.get(Field::DstUnused))?)?;
        }
        if has(Field::Src0) {
            write!(self.out, " src0_sel:{}", word(&SELECT, self.inst.get(Field::Src0Sel))?)?;
        }
        if has(Field::Src1) {
            write!(self.out, " src1_sel:{}", word(&SELECT, self.inst.get(Field::Src1Sel))?)?;
        }
        Ok(())
    }

    fn dpp(&mut self) -> fmt::Result {
        let inst = self.inst;
        if inst.width(Field::DppSel) > 0 {
            let select = inst.get(Field::DppSel);
            self.out.push_str(" dpp8:[");
            for lane in 0..8 {
                write!(self.out, "{}{}", if lane > 0 { "," } else { "" }, select >> (3 * lane) & 7)?;
            }
            self.out.push(']');
            if inst.fetches_inactive() {
                self.out.push_str(" fi:1");
            }
            return Ok(());
        }
        if inst.width(Field::DppCtrl) == 0 {
            return Ok(());
        }
        let ctrl = inst.get(Field::DppCtrl);
        let low = ctrl & 15;
        let gfx9 = inst.target.family() == Family::Gfx9;
        if self.inst.meaning.is_some_and(|(_, row)| row.form.broadcasts) && ctrl & 0x1f0 != 0x150 {
            return Err(fmt::Error);
        }
        match ctrl {
            0..=0xff => {
                let lanes = [ctrl & 3, ctrl >> 2 & 3, ctrl >> 4 & 3, ctrl >> 6];
                let [a, b, c, d] = lanes;
                write!(self.out, " quad_perm:[{a},{b},{c},{d}]")?;
            }
            0x101..=0x10f => write!(self.out, " row_shl:{low}")?,
            0x111..=0x11f => write!(self.out, " row_shr:{low}")?,
            0x121..=0x12f => write!(self.out, " row_ror:{low}")?,
            0x130 if gfx9 => self.out.push_str(" wave_shl:1"),
            0x134 if gfx9 => self.out.push_str(" wave_rol:1"),
            0x138 if gfx9 => self.out.push_str(" wave_shr:1"),
            0x13c if gfx9 => self.out.push_str(" wave_ror:1"),
            0x140 => self.out.push_str(" row_mirror"),
            0x141 => self.out.push_str(" row_half_mirror"),
            0x142 if gfx9 => self.out.push_str(" row_bcast:15"),
            0x143 if gfx9 => self.out.push_str(" row_bcast:31"),
            0x150..=0x15f if gfx9 => write!(self.out, " row_newbcast:{low}")?,
            0x150..=0x15f => write!(self.out, " row_share:{low}")?,
            0x160..=0x16f if !gfx9 => write!(self.out, " row_xmask:{low}")?,
            _ => return Err(fmt::Error),
        }
        write!(self.out, " row_mask:{:#x}", inst.get(Field::RowMask))?;
        write!(self.out, " bank_mask:{:#x}", inst.get(Field::BankMask))?;
        if inst.get(Field::Bc) == 1 {
            self.out.push_str(" bound_ctrl:1");
        }
        self.number(Field::Fi, "fi")
    }
}
