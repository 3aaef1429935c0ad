//! Decodes an addition that is fused with a multiplication, as one fused multiply-add.

use prlx_isa::ptx::{self, Op as Ptx, Opcode, opcode};
use prlx_isa::view::{Inst, InstId, Type};
use prlx_lanes::{Args, LANES, LaneFn, Planes, Simd};
use rustc_hash::FxHashMap;

use super::binder::{Binder, PlaneKind, kind};
use super::contract::{Contraction, Fusion};
use super::select::select;
use crate::code::Op;
use crate::error::{EmuError, unsupported};

/// The fused operations of a function while it is decoded.
#[derive(Default)]
pub struct Fused {
    contraction: Contraction,
    /// Planes that keep a factor which is overwritten, by multiplication and operand.
    kept: FxHashMap<(InstId, usize), u16>,
}

impl Fused {
    pub fn new(contraction: Contraction) -> Fused {
        Fused { contraction, kept: FxHashMap::default() }
    }

    /// The fusion of an addition.
    pub fn fusion(&self, id: InstId) -> Option<Fusion> {
        self.contraction.fusions.get(&id).copied()
    }

    /// Before a multiplication: copies the factors that are overwritten before the addition.
    ///
    /// # Errors
    /// If a factor cannot be read.
    pub fn keep_factors(&mut self, b: &mut Binder<'_>, id: InstId, inst: &Inst) -> Result<(), EmuError> {
        let Some(operands) = self.contraction.overwritten.get(&id) else { return Ok(()) };
        let ty = opcode(inst).types.last().copied().unwrap_or_default();
        for &k in operands {
            let from = b.source(&inst.operands[k], ty)?;
            let to = b.plane(kind(ty));
            b.alu(if kind(ty) == PlaneKind::W64 { flip64 } else { flip32 }, to, from, 0);
            self.kept.insert((id, k), to);
        }
        Ok(())
    }

    /// Appends the fused multiply-add in place of an addition.
    ///
    /// # Errors
    /// If an operand cannot be read.
    pub fn emit(&self, b: &mut Binder<'_>, inst: &Inst, fusion: Fusion, simd: Simd) -> Result<(), EmuError> {
        let ty = opcode(inst).types.last().copied().unwrap_or_default();
        let missing = || unsupported("its product is missing");
        let product = b.function().insts.get(fusion.product.index()).ok_or_else(missing)?;
        let [_, left, right] = &product.operands[..] else { return Err(missing()) };
        let flag =
            |name: &'static str| if opcode(inst).has(name) { format!(".{name}") } else { String::new() };
        let text = format!("{}.rn{}{}.{}", Ptx::Fma.mnemonic(), flag("ftz"), flag("sat"), ty.name());
        let addend = inst.operands[fusion.addend].clone();
        let operands = vec![inst.operands[0].clone(), left.clone(), right.clone(), addend];
        let semantics = ptx::semantics(&Opcode::parse(&text).into()).into();
        let whole = Inst { semantics, operands: operands.clone(), ..inst.clone() };
        let op = select(&whole, simd)?;
        let mut args = Args { imm: op.imm, ..Args::default() };
        for (i, operand) in operands[1..].iter().enumerate() {
            let kept = self.kept.get(&(fusion.product, i + 1)).filter(|_| i < 2);
            args.src[i] = match kept {
                Some(plane) => *plane,
                None => b.source(operand, ty)?,
            };
        }
        if fusion.negate_product {
            args.src[0] = negated(b, args.src[0], ty);
        }
        if fusion.negate_addend {
            args.src[2] = negated(b, args.src[2], ty);
        }
        let (at, after) = b.dest(&operands[0], ty)?;
        args.dst[0] = at;
        b.emit_main(Op::Alu(op.run, args));
        b.finish(after);
        Ok(())
    }
}

/// A plane with the negation of a float.
fn negated(b: &mut Binder<'_>, from: u16, ty: Type) -> u16 {
    let to = b.temp(kind(ty));
    let (run, sign): (LaneFn, u64) = match ty {
        Type::F64 => (flip64, 1 << 63),
        Type::F16x2 | Type::Bf16x2 => (flip32, 0x8000_8000),
        Type::F16 | Type::Bf16 => (flip32, 0x8000),
        _ => (flip32, 0x8000_0000),
    };
    b.alu(run, to, from, sign);
    to
}

/// Inverts the bits `imm` of a 32-bit value.
fn flip32(p: &mut Planes, a: &Args, m: u32) {
    let mut v = p.get32(a.src[0]);
    for l in 0..LANES {
        v.0[l] ^= a.imm as u32;
    }
    p.put32(a.dst[0], m, v);
}

/// Inverts the bits `imm` of a 64-bit value.
fn flip64(p: &mut Planes, a: &Args, m: u32) {
    let mut v = p.get64(a.src[0]);
    for l in 0..LANES {
        v.0[l] ^= a.imm;
    }
    p.put64(a.dst[0], m, v);
}
