//! DPP: sources that come from other lanes.
//!
//! # Limitations
//! The guides do not say what the lanes of the first row read with `row_bcast:15`. Here they read
//! themselves, as compilers never write these lanes.

use prlx_isa::amdgpu::Family;
use prlx_isa::amdgpu::inst::{Encoding, Field, Inst};
use prlx_lanes::amd::Width;
use prlx_lanes::amd::part::Split;
use prlx_lanes::{Args, entry};

use super::super::decoder::Decoder;
use crate::code::Wave;
use crate::decode::binder::PlaneKind;
use crate::error::EmuError;

/// Bits of the constant of [`fetch`]: DPP8, bound_ctrl, fi, and the controls that only CDNA has.
const DPP8: u64 = 1 << 40;
const BOUND: u64 = 1 << 41;
const INACTIVE: u64 = 1 << 42;
const CDNA: u64 = 1 << 43;

impl Decoder<'_, '_> {
    /// The first source of an instruction as DPP moves it between lanes. Lanes without a source leave the
    /// guard of the instruction.
    pub(super) fn across_lanes(&mut self, plane: u16, width: Width) -> Result<u16, EmuError> {
        let Some(imm) = control(&self.inst) else { return Ok(plane) };
        let exec = self.exec();
        let on = self.b.temp(PlaneKind::Pred);
        let one = |d: &mut Self, from: u16| {
            let to = d.b.temp(PlaneKind::W32);
            d.wave_all(fetch, Args { dst: [to, on, 0, 0], src: [from, exec, 0, 0], imm });
            to
        };
        let moved = if width == Width::Double {
            let (low, high) = (self.b.temp(PlaneKind::W32), self.b.temp(PlaneKind::W32));
            let args = Args { dst: [low, high, 0, 0], src: [plane, 0, 0, 0], imm: 0 };
            self.alu_all(entry::<Split>(self.simd), args);
            let (low, high) = (one(self, low), one(self, high));
            self.pair(low, high)
        } else {
            one(self, plane)
        };
        self.b.guard = on;
        Ok(moved)
    }
}

/// The constant of [`fetch`]; `None` if the instruction has no DPP.
fn control(inst: &Inst) -> Option<u64> {
    let imm = match inst.encoding()? {
        Encoding::Vop1Dpp16
        | Encoding::Vop2Dpp16
        | Encoding::VopcDpp16
        | Encoding::Vop3Dpp16
        | Encoding::Vop3pDpp16 => {
            let masks = inst.get(Field::BankMask) << 12 | inst.get(Field::RowMask) << 16;
            let mut imm = u64::from(inst.get(Field::DppCtrl) | masks);
            imm |= if inst.get(Field::Bc) == 1 { BOUND } else { 0 };
            imm | if inst.get(Field::Fi) == 1 { INACTIVE } else { 0 }
        }
        Encoding::Vop1Dpp8
        | Encoding::Vop2Dpp8
        | Encoding::VopcDpp8
        | Encoding::Vop3Dpp8
        | Encoding::Vop3pDpp8 => {
            // The first source's code says whether inactive lanes are read.
            let word = if inst.words().len() > 2 { 1 } else { 0 };
            let code = inst.words().get(word).copied().unwrap_or(0) & 0x1ff;
            u64::from(inst.get(Field::DppSel)) | DPP8 | if code == 0xea { INACTIVE } else { 0 }
        }
        _ => return None,
    };
    Some(imm | if inst.target().family() == Family::Gfx9 { CDNA } else { 0 })
}

/// The lane that each lane of a wave reads as the first source, if the instruction has DPP.
pub fn source_lanes(inst: &Inst) -> Option<Vec<Option<usize>>> {
    let (imm, lanes) = (control(inst)?, inst.lanes().into());
    Some((0..lanes).map(|lane| from(lane, lanes, imm)).collect())
}

/// The lane that a lane reads, by a control of DPP; `None` if there is none.
fn from(lane: usize, lanes: usize, imm: u64) -> Option<usize> {
    if imm & DPP8 != 0 {
        return Some((lane & !7) | (imm >> (3 * (lane & 7)) & 7) as usize);
    }
    let (row, at) = (lane & !15, lane & 15);
    let control = (imm & 0x1ff) as usize;
    let n = control & 15;
    match control {
        0..=0xff => Some((lane & !3) | (control >> (2 * (lane & 3)) & 3)),
        0x101..=0x10f => (at + n < 16).then_some(lane + n),
        0x111..=0x11f => (at >= n).then(|| lane - n),
        0x121..=0x12f => Some(row | ((at + 16 - n) & 15)),
        0x130 => (lane + 1 < lanes).then_some(lane + 1),
        0x134 => Some((lane + 1) % lanes),
        0x138 => lane.checked_sub(1),
        0x13c => Some((lane + lanes - 1) % lanes),
        0x140 => Some(row | (15 - at)),
        0x141 => Some((lane & !7) | (7 - (lane & 7))),
        0x142 => Some(if lane > 15 { row - 1 } else { lane }),
        0x143 => Some(if lane > 31 { (lane & !31) - 1 } else { lane }),
        0x150..=0x15f => Some(row | n),
        0x160..=0x16f => Some(lane ^ n),
        _ => None,
    }
}

/// Moves a plane between lanes, and says which lanes the instruction runs in.
fn fetch(w: &mut Wave<'_, '_>, a: &Args, _: u64) {
    let lanes = w.lanes();
    let exec = w.mask(a.src[1]);
    let values: Vec<u32> = (0..lanes).map(|l| w.word(a.src[0], l)).collect();
    let mut on = 0;
    for lane in 0..lanes {
        let source = from(lane, lanes, a.imm);
        let source = source.filter(|s| exec >> s & 1 == 1 || a.imm & INACTIVE != 0);
        let value = source.and_then(|s| values.get(s).copied());
        let masked = a.imm & DPP8 == 0
            && (a.imm >> (12 + (lane & 15) / 4) & 1 == 0 || a.imm >> (16 + lane / 16) & 1 == 0);
        let runs = !masked && (value.is_some() || a.imm & (BOUND | DPP8) != 0);
        if runs && exec >> lane & 1 == 1 {
            on |= 1 << lane;
        }
        w.set_word(a.dst[0], lane, value.unwrap_or(0));
    }
    w.set_mask(a.dst[1], on);
}
