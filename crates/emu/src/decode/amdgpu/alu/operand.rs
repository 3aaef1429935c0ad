//! Operands of register operations: constants and registers as planes, selections of parts, and results.

use prlx_isa::amdgpu::Family;
use prlx_isa::amdgpu::inst::table::{Kind, Type};
use prlx_isa::amdgpu::inst::{Encoding, Field, Operand, Reg, Value};
use prlx_lanes::amd::Width;
use prlx_lanes::amd::part::{
    High, MergeHigh, MergeLow, SdwaMerge, SdwaSelect, Signs, Signs16, Signs64, Truth,
};
use prlx_lanes::{Args, LaneFn, entry};

use super::super::decoder::Decoder;
use crate::code::{Wave, window};
use crate::decode::binder::PlaneKind;
use crate::error::{EmuError, unsupported};

/// A source: its plane, and the modifiers that are still to be applied.
#[derive(Clone, Copy)]
pub struct Source {
    /// The plane that holds it.
    pub plane: u16,
    /// Take the absolute value.
    pub abs: bool,
    /// Negate, after that.
    pub neg: bool,
}

/// Where a result goes: the plane that the operation writes, and what comes after it.
pub struct Target32 {
    /// The plane for the operation.
    pub plane: u16,
    after: After,
}

enum After {
    None,
    /// Splits a 64-bit plane into these registers.
    Split(Reg, Reg),
    /// Merges a half into a register.
    Half(u16, bool),
    /// Merges a part of SDWA into a register.
    Part(u16, u64),
    /// Writes a mask of lanes.
    Mask(Reg),
}

/// The place of an operand among those that modifiers number: sources from 0 to 2, results at 3.
pub fn number(field: Field) -> u32 {
    match field {
        Field::Src0 => 0,
        Field::Src1 | Field::Vsrc1 => 1,
        Field::Src2 => 2,
        _ => 3,
    }
}

/// Whether the encoding has VOP3's fields.
pub fn is_vop3(encoding: Option<Encoding>) -> bool {
    matches!(encoding, Some(Encoding::Vop3 | Encoding::Vop3Dpp16 | Encoding::Vop3Dpp8))
}

/// Whether it is an SDWA form.
pub fn is_sdwa(encoding: Option<Encoding>) -> bool {
    matches!(encoding, Some(Encoding::Vop1Sdwa | Encoding::Vop2Sdwa | Encoding::VopcSdwa))
}

/// The type of a source.
fn type_of(kind: Kind) -> Type {
    match kind {
        Kind::Source { ty, .. } => ty,
        _ => Type::B32,
    }
}

/// The bits of a constant of a source's type.
fn constant(value: Value, kind: Kind, signed: bool) -> Option<u64> {
    typed(value, type_of(kind), signed)
}

/// The bits of a constant of a type.
fn typed(value: Value, ty: Type, signed: bool) -> Option<u64> {
    let float = |code: u8| -> Option<f64> {
        Some(match code {
            240 => 0.5,
            241 => -0.5,
            242 => 1.0,
            243 => -1.0,
            244 => 2.0,
            245 => -2.0,
            246 => 4.0,
            247 => -4.0,
            // 1 / (2 pi)
            248 => f64::from_bits(0x3fc4_5f30_6dc9_c882),
            _ => return None,
        })
    };
    Some(match value {
        Value::Integer(v) => match ty {
            Type::B64 | Type::F64 | Type::V2F32 | Type::V2B32 => i64::from(v) as u64,
            _ => u64::from(v as u32),
        },
        Value::Float(code) => {
            let v = float(code)?;
            match ty {
                Type::F16 | Type::V2F16 => match code {
                    248 => 0x3118,
                    _ => u64::from((f64::to_bits(v) >> 48) as u16 & 0x8000) | half_exponent(v),
                },
                Type::Bf16 | Type::V2Bf16 if code == 248 => 0x3e23,
                Type::Bf16 | Type::V2Bf16 => u64::from((v as f32).to_bits() >> 16),
                Type::B64 | Type::F64 => v.to_bits(),
                // Integers of 16 bits see the bits of a binary32.
                _ => u64::from(single(code, v)),
            }
        }
        Value::Literal(word) | Value::Immediate(word) => match ty {
            Type::F64 => u64::from(word) << 32,
            Type::B64 if signed => i64::from(word as i32) as u64,
            _ => u64::from(word),
        },
        _ => return None,
    })
}

fn single(code: u8, v: f64) -> u32 {
    if code == 248 { 0x3e22_f983 } else { (v as f32).to_bits() }
}

/// Exponent and fraction in binary16 of a power of two.
fn half_exponent(v: f64) -> u64 {
    let exponent = (v.to_bits() >> 52 & 0x7ff) as i64 - 1023 + 15;
    (exponent as u64) << 10
}

impl Decoder<'_, '_> {
    /// A step that writes a new temporary, in all lanes.
    pub(super) fn temporary(&mut self, kind: PlaneKind, run: LaneFn, src: [u16; 4], imm: u64) -> u16 {
        let to = self.b.temp(kind);
        self.alu_all(run, Args { dst: [to, 0, 0, 0], src, imm });
        to
    }
    /// The plane of a source of a packed operation; its constants have type `ty`, if it is not the
    /// operand's.
    pub(super) fn packed_source(
        &mut self,
        o: &Operand,
        width: Width,
        ty: Option<Type>,
    ) -> Result<u16, EmuError> {
        let pair = matches!(o.slot.kind, Kind::Source { ty: Type::V2F32 | Type::V2B32, .. });
        if let Some(bits) = typed(o.value, ty.unwrap_or(type_of(o.slot.kind)), false) {
            let n = number(o.slot.field);
            // `v_pk_mov_b32` selects a word of each source by `op_sel` alone.
            let high = match self.inst.name() {
                "v_pk_mov_b32" => 0,
                _ => self.inst.get(Field::OpSelHi) | self.inst.get(Field::OpSelHi2) << 2,
            };
            let selects_high = (self.inst.get(Field::OpSel) | high) >> n & 1 == 1;
            // The guides do not say what the high word of a constant is.
            if pair && selects_high && bits != 0 {
                return Err(unsupported("the high word of a constant is not implemented"));
            }
            return Ok(if width == Width::Double {
                self.b.const64(bits)
            } else {
                self.b.const32(bits as u32)
            });
        }
        Ok(self.source(o, width)?.plane)
    }
    /// The words of an operand's registers, or of a constant.
    pub(super) fn words(&mut self, o: &Operand) -> Result<Vec<u16>, EmuError> {
        if let Some(bits) = constant(o.value, o.slot.kind, self.signed()) {
            return Ok(vec![self.b.const32(bits as u32), self.b.const32((bits >> 32) as u32)]);
        }
        if let Value::Named(name, _) = o.value {
            match name {
                "null" => return Ok(vec![self.b.const32(0); 2]),
                "src_scc" | "src_vccz" | "src_execz" => {
                    let word = self.condition(name)?;
                    return Ok(vec![word, self.b.const32(0)]);
                }
                "src_shared_base" => return Ok(self.address(window::SHARED)),
                "src_private_base" => return Ok(self.address(window::LOCAL)),
                _ if name.starts_with("src_") => {
                    return Err(unsupported(format!("`{name}` as a source is not simulated")));
                }
                _ => {}
            }
        }
        let regs = o.value.registers();
        Ok(regs.into_iter().map(|r| self.word(r)).collect())
    }
    /// The words of an address.
    fn address(&mut self, address: u64) -> Vec<u16> {
        vec![self.b.const32(address as u32), self.b.const32((address >> 32) as u32)]
    }
    /// A condition as a source: 0 or 1.
    fn condition(&mut self, name: &str) -> Result<u16, EmuError> {
        let condition = match name {
            "src_scc" => self.scc(),
            _ => {
                let low = if name == "src_vccz" { Reg::VccLo } else { Reg::ExecLo };
                let mask = self.mask_source(low)?;
                let to = self.b.temp(PlaneKind::Pred);
                self.wave_all(is_zero, Args { dst: [to, 0, 0, 0], src: [mask, 0, 0, 0], imm: 0 });
                to
            }
        };
        Ok(self.temporary(PlaneKind::W32, entry::<Truth>(self.simd), [condition, 0, 0, 0], 0))
    }
    /// Whether literals of 64-bit integers extend by sign.
    fn signed(&self) -> bool {
        self.inst.name().ends_with("_i64")
    }
    /// The mask of lanes in scalar registers.
    pub(super) fn mask_source(&mut self, low: Reg) -> Result<u16, EmuError> {
        self.mask(low).ok_or_else(|| unsupported("its mask of lanes is not one that the kernel makes"))
    }
    /// The plane of a source of a width, with its selections of parts applied.
    pub(super) fn source(&mut self, o: &Operand, width: Width) -> Result<Source, EmuError> {
        if width == Width::Mask {
            return match o.value.registers().first() {
                Some(low) => Ok(Source { plane: self.mask_source(*low)?, abs: false, neg: false }),
                None if matches!(o.value, Value::Named("null", _)) => {
                    Ok(Source { plane: self.b.const_pred(false), abs: false, neg: false })
                }
                None => match constant(o.value, o.slot.kind, false) {
                    Some(0) => Ok(Source { plane: self.b.const_pred(false), abs: false, neg: false }),
                    _ => Err(unsupported("a constant as a mask of lanes is not implemented")),
                },
            };
        }
        let n = number(o.slot.field);
        let encoding = self.inst.encoding();
        let (abs, neg) = self.signs(n);
        if (abs || neg) && !o.slot.float_modifiers {
            return Err(unsupported("a sign of an integer is not implemented"));
        }
        let words = self.words(o)?;
        let missing = || unsupported("its operand has another width");
        let low = *words.first().ok_or_else(missing)?;
        let mut plane = if width == Width::Double {
            let bits = constant(o.value, o.slot.kind, self.signed());
            match bits {
                Some(bits) => self.b.const64(bits),
                None => {
                    let high = *words.get(1).ok_or_else(missing)?;
                    self.pair(low, high)
                }
            }
        } else {
            low
        };
        if o.slot.field == Field::Src0 && width != Width::Mask {
            plane = self.across_lanes(plane, width)?;
        }
        if is_sdwa(encoding) && matches!(n, 0 | 1) {
            let (select, sext) = if n == 0 {
                (self.inst.get(Field::Src0Sel), self.inst.get(Field::Src0Sext))
            } else {
                (self.inst.get(Field::Src1Sel), self.inst.get(Field::Src1Sext))
            };
            if select != 6 {
                if width == Width::Double {
                    return Err(unsupported("a part of a 64-bit source is not implemented"));
                }
                let imm = u64::from(select | sext << 3);
                plane = self.temporary(PlaneKind::W32, entry::<SdwaSelect>(self.simd), [plane, 0, 0, 0], imm);
            }
        }
        let high = match o.value {
            Value::Half { high, .. } => high,
            _ => self.selects_high(o, n),
        };
        if high {
            plane = self.temporary(PlaneKind::W32, entry::<High>(self.simd), [plane, 0, 0, 0], 0);
        }
        Ok(Source { plane, abs, neg })
    }
    /// Whether `op_sel` selects the high half of a source of 16 bits.
    fn selects_high(&self, o: &Operand, n: u32) -> bool {
        let half = matches!(
            o.slot.kind,
            Kind::Source { ty: Type::B16 | Type::F16 | Type::Bf16, .. } | Kind::Half | Kind::HalfByOpSel
        );
        half && is_vop3(self.inst.encoding()) && !self.has_sdst() && self.inst.get(Field::OpSel) >> n & 1 == 1
    }
    /// Whether a second result has the bits of `abs` and `op_sel`.
    fn has_sdst(&self) -> bool {
        self.inst.operands().iter().any(|o| o.slot.field == Field::Sdst)
    }
    /// `abs` and `neg` of a source.
    pub(super) fn signs(&self, n: u32) -> (bool, bool) {
        let inst = &self.inst;
        let encoding = inst.encoding();
        if is_vop3(encoding) && n < 3 {
            let abs = inst.get(Field::Abs) >> n & 1 == 1 && !self.has_sdst();
            return (abs, inst.get(Field::Neg) >> n & 1 == 1);
        }
        match n {
            0 => (inst.get(Field::Src0Abs) == 1, inst.get(Field::Src0Neg) == 1),
            1 => (inst.get(Field::Src1Abs) == 1, inst.get(Field::Src1Neg) == 1),
            _ => (false, false),
        }
    }
    /// Applies the modifiers of a source by a step of its own.
    pub(super) fn with_signs(&mut self, source: Source, width: Width) -> u16 {
        if !source.abs && !source.neg {
            return source.plane;
        }
        let imm = u64::from(source.abs) | u64::from(source.neg) << 1;
        let (kind, run) = match width {
            Width::Half => (PlaneKind::W32, entry::<Signs16>(self.simd)),
            Width::Double => (PlaneKind::W64, entry::<Signs64>(self.simd)),
            _ => (PlaneKind::W32, entry::<Signs>(self.simd)),
        };
        self.temporary(kind, run, [source.plane, 0, 0, 0], imm)
    }
    /// Where a result of a width goes.
    pub(super) fn target(&mut self, o: &Operand, width: Width) -> Result<Target32, EmuError> {
        let regs = o.value.registers();
        if matches!(o.value, Value::Named(name, _) if name.starts_with("src_")) {
            return Err(unsupported("its result is no register"));
        }
        let Some(&first) = regs.first() else {
            // `null`
            let kind = match width {
                Width::Mask => PlaneKind::Pred,
                Width::Double => PlaneKind::W64,
                _ => PlaneKind::W32,
            };
            return Ok(Target32 { plane: self.b.temp(kind), after: After::None });
        };
        let plain = |plane| Target32 { plane, after: After::None };
        Ok(match width {
            Width::Mask => Target32 { plane: self.b.temp(PlaneKind::Pred), after: After::Mask(first) },
            Width::Double => {
                let second = regs.get(1).copied().or_else(|| first.next());
                let second = second.ok_or_else(|| unsupported("its result has another width"))?;
                Target32 { plane: self.b.temp(PlaneKind::W64), after: After::Split(first, second) }
            }
            _ if is_sdwa(self.inst.encoding()) => {
                let select = self.inst.get(Field::DstSel);
                let unused = self.inst.get(Field::DstUnused);
                if select == 6 && (width == Width::Word || !self.keeps_high()) {
                    return Ok(plain(self.word(first)));
                }
                let imm = if select == 6 { 4 | 2 << 3 } else { select | unused << 3 };
                let after = After::Part(self.word(first), u64::from(imm));
                Target32 { plane: self.b.temp(PlaneKind::W32), after }
            }
            Width::Half if !matches!(first, Reg::V(_)) => plain(self.word(first)),
            Width::Half => {
                let high = match o.value {
                    Value::Half { high, .. } => high,
                    _ => is_vop3(self.inst.encoding()) && self.inst.get(Field::OpSel) & 8 != 0,
                };
                if high || self.keeps_high() {
                    let after = After::Half(self.word(first), high);
                    Target32 { plane: self.b.temp(PlaneKind::W32), after }
                } else {
                    plain(self.word(first))
                }
            }
            Width::Word => plain(self.word(first)),
        })
    }
    /// Whether a result of 16 bits leaves the other half as it is (LLVM, `zeroesHigh16BitsOfDest`). On CDNA,
    /// only the operations do that have `op_sel`.
    fn keeps_high(&self) -> bool {
        if self.inst.target().family() != Family::Gfx9 {
            return true;
        }
        let name = self.inst.name();
        let fused = matches!(name, "v_mad_f16" | "v_mad_u16" | "v_mad_i16" | "v_fma_f16" | "v_div_fixup_f16");
        let of_three = ["v_min3_", "v_max3_", "v_med3_"].iter().any(|p| name.starts_with(p));
        fused
            || of_three
            || matches!(
                name,
                "v_add_i16" | "v_sub_i16" | "v_ashr_pk_i8_i32" | "v_ashr_pk_u8_i32" | "v_bitop3_b16"
            )
            || name.starts_with("v_cvt_sr_")
    }
    /// Appends what comes after the operation.
    pub(super) fn finish(&mut self, targets: &[Target32]) {
        for target in targets {
            let from = target.plane;
            match target.after {
                After::None => {}
                After::Split(low, high) => {
                    let (low, high) = (self.word(low), self.word(high));
                    self.split(from, low, high);
                }
                After::Half(to, high) => {
                    let run = if high { entry::<MergeHigh>(self.simd) } else { entry::<MergeLow>(self.simd) };
                    self.alu(run, Args { dst: [to, 0, 0, 0], src: [from, to, 0, 0], imm: 0 });
                }
                After::Part(to, imm) => {
                    let run = entry::<SdwaMerge>(self.simd);
                    self.alu(run, Args { dst: [to, 0, 0, 0], src: [from, to, 0, 0], imm });
                }
                After::Mask(low) => self.set_lane_mask(low, from),
            }
        }
    }
}

/// Whether a mask has no lane.
fn is_zero(w: &mut Wave<'_, '_>, a: &Args, _: u64) {
    let zero = w.mask(a.src[0]) == 0;
    w.set_condition(a.dst[0], zero);
}
