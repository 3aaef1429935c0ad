//! Operations of a probe program: each sets one temporary.

use crate::ptx::probe::emitter::bits;
use prlx_isa::view::{FunctionKind, Space};
use prlx_plan::code::Reduce;
use prlx_plan::code::{Binary, LaneQuery, Op, Temp, Ty, Unary};
use prlx_trace::device::Context;

use crate::ptx::lowering::Output;
use crate::ptx::probe::emitter::{Probe, name, register};
use crate::ptx::probe::reductions::{reduce32, reduce64};
use crate::ptx::snippet::Snippet;
use crate::ptx::values::OperandValue;

/// PTX version since which `isspacep.param` exists. Kernel parameters lie in the window of global memory (PTX
/// ISA, isspacep) but are not global memory.
pub(crate) const PARAMETERS: (u32, u32) = (7, 7);

impl Probe<'_, '_> {
    pub(in crate::ptx) fn set(&mut self, s: &mut Snippet<'_>, to: Temp, op: &Op) {
        let ty = self.ty(to);
        let to = register(to);
        match op {
            Op::Const(value) if ty == Ty::Bool => s.ptx(&format!("setp.ne.u32 {to}, {}, 0;", value & 1)),
            Op::Const(value) if ty.bits() == 64 => s.ptx(&format!("mov.b64 {to}, {};", value.cast_signed())),
            Op::Const(value) => s.ptx(&format!("mov.b32 {to}, {};", (*value as u32).cast_signed())),
            Op::Copy(a) if ty == Ty::Bool => s.ptx(&format!("mov.pred {to}, {};", register(*a))),
            Op::Copy(a) | Op::Bits(a) => s.ptx(&format!("mov.{} {to}, {};", bits(ty), register(*a))),
            Op::Read(operand) => self.read(s, *operand, &to, ty),
            Op::Half(operand, bf, high) => self.half(s, *operand, *bf, *high, &to),
            Op::Query(what) => self.ask(s, *what, &to),
            Op::Param(offset) => {
                let Some((symbol, at)) = self.param(*offset) else { return };
                match ty {
                    Ty::Bool => {
                        s.ptx(&format!("ld.param.u8 %~c, [{symbol}+{at}];\nsetp.ne.u32 {to}, %~c, 0;"))
                    }
                    _ => s.ptx(&format!("ld.param.u{} {to}, [{symbol}+{at}];", ty.bits())),
                }
            }
            Op::Load(var) if ty == Ty::Bool => s.ptx(&format!("setp.ne.u32 {to}, %~var{var}, 0;")),
            Op::Load(var) => s.ptx(&format!("mov.{} {to}, %~var{var};", bits(ty))),
            Op::Get(var) => self.get(s, *var, &to, ty),
            Op::Unary(op, a) => self.unary(s, *op, &to, *a),
            Op::Binary(op, a, b) => self.binary(s, *op, &to, *a, *b),
            Op::Select(c, a, b) => {
                let (c, a, b) = (register(*c), register(*a), register(*b));
                match ty {
                    Ty::Bool => s.ptx(&format!(
                        "and.pred %~q, {c}, {a};
                         not.pred %~r, {c};
                         and.pred %~r, %~r, {b};
                         or.pred {to}, %~q, %~r;"
                    )),
                    _ => s.ptx(&format!("selp.{} {to}, {a}, {b}, {c};", bits(ty))),
                }
            }
            Op::Convert(a) => {
                let from = self.ty(*a);
                self.convert(s, &register(*a), from, &to, ty);
            }
            Op::Ballot(a) => {
                self.lowering.active_lanes(s);
                self.lowering.ballot(s, &to, &register(*a));
            }
            Op::Same(a) => {
                self.lowering.active_lanes(s);
                let (ty, lanes) = (bits(self.ty(*a)), self.lowering.lanes());
                s.ptx(&format!("match.any.sync.{ty} {to}, {}, {lanes};", register(*a)));
            }
            Op::Reduce(how, a) => self.reduce(s, *how, *a, &to, ty),
            Op::Within(space, a) => self.within(s, *space, *a, &to),
        }
    }

    /// Reads an operand of the instruction into `to`.
    fn read(&self, s: &mut Snippet<'_>, operand: u32, to: &str, ty: Ty) {
        let Some(operand) = self.code.operands.get(operand as usize) else { return };
        let Some(value) = self.lowering.scalars(std::slice::from_ref(operand)).into_iter().next() else {
            return;
        };
        match (&value, ty.bits()) {
            (OperandValue::Named(name, prlx_isa::view::Type::Pred), 1) => {
                s.ptx(&format!("mov.pred {to}, {name};"))
            }
            (_, 1) => {
                value.read_low(s, "%~c");
                s.ptx(&format!("setp.ne.u32 {to}, %~c, 0;"));
            }
            (_, 64) => value.read(s, to),
            _ => {
                value.read_low(s, to);
                if matches!(ty.bits(), 8 | 16) {
                    s.ptx(&format!("and.b32 {to}, {to}, {};", (1u32 << ty.bits()) - 1));
                }
            }
        }
    }

    /// Reads one half of a packed 16-bit operand into `to`, as a binary32. `bf`: the format is bfloat16.
    fn half(&self, s: &mut Snippet<'_>, operand: u32, bf: bool, high: bool, to: &str) {
        let Some(operand) = self.code.operands.get(operand as usize) else { return };
        let Some(value) = self.lowering.scalars(std::slice::from_ref(operand)).into_iter().next() else {
            return;
        };
        value.read_low(s, "%~e");
        match (bf, high) {
            (true, true) => s.ptx(&format!("and.b32 {to}, %~e, -65536;")),
            (true, false) => s.ptx(&format!("shl.b32 {to}, %~e, 16;")),
            (false, high) => {
                if high {
                    s.ptx("shr.u32 %~e, %~e, 16;");
                }
                s.ptx(&format!("cvt.u16.u32 %~h, %~e;\ncvt.f32.f16 {to}, %~h;"));
            }
        }
    }

    /// Answers a question about the lane or the launch.
    fn ask(&self, s: &mut Snippet<'_>, what: LaneQuery, to: &str) {
        match what {
            LaneQuery::Active => s.ptx(&format!("activemask.{} {to};", self.lowering.mask_type())),
            LaneQuery::Leader => {
                self.lowering.active_lanes(s);
                self.lowering.lead(s);
                s.ptx(&format!("mov.pred {to}, %~lead;"));
            }
            LaneQuery::Clock => s.ptx(&format!("mov.u32 {to}, %clock;")),
            LaneQuery::Clock64 => s.ptx(&format!("mov.u64 {to}, %clock64;")),
            LaneQuery::Time => s.ptx(&format!("mov.u64 {to}, %globaltimer;")),
            LaneQuery::Launch => s.ptx(&format!(
                "mov.u64 {to}, 0;
             setp.ne.u64 %~q, %~context, 0;
             @%~q ld.global.u64 {to}, [%~context+{}];",
                Context::offset("launch"),
            )),
        }
    }

    /// Reduces a temporary over the active lanes.
    fn reduce(&self, s: &mut Snippet<'_>, how: Reduce, a: Temp, to: &str, ty: Ty) {
        if self.lowering.output == Output::Ptx {
            s.ptx("activemask.b32 %~mask;");
        }
        let a = register(a);
        match ty.bits() {
            64 => {
                s.ptx(&format!("mov.b64 %~v0, {a};"));
                reduce64(s, how, ty.signed());
                s.ptx(&format!("mov.b64 {to}, %~v0;"));
            }
            _ => s.ptx(&format!("redux.sync.{} {to}, {a}, %~mask;", reduce32(how, ty.signed()))),
        }
    }

    /// Tests whether an address lies in a state space.
    fn within(&self, s: &mut Snippet<'_>, space: Space, a: Temp, to: &str) {
        let a = register(a);
        match space {
            Space::Global if self.lowering.module.version >= PARAMETERS => s.ptx(&format!(
                "isspacep.global %~q, {a};
                 isspacep.param %~r, {a};
                 not.pred %~r, %~r;
                 and.pred {to}, %~q, %~r;"
            )),
            Space::Global => s.ptx(&format!("isspacep.global {to}, {a};")),
            Space::Shared => s.ptx(&format!("isspacep.shared {to}, {a};")),
            Space::Local => s.ptx(&format!("isspacep.local {to}, {a};")),
            _ => s.ptx(&format!("isspacep.const {to}, {a};")),
        }
    }

    /// The parameter that contains an offset of the parameter buffer, and the offset in it.
    pub(in crate::ptx) fn param(&self, offset: u32) -> Option<(&str, u32)> {
        let f = self.lowering.function;
        if f.kind != FunctionKind::Kernel {
            return None;
        }
        let i = f.param_offsets.iter().rposition(|o| *o <= offset)?;
        let symbol = self.lowering.module.symbols.get(f.params.get(i)?.index())?;
        Some((&symbol.name, offset - f.param_offsets[i]))
    }

    pub(in crate::ptx) fn unary(&mut self, s: &mut Snippet<'_>, op: Unary, to: &str, a: Temp) {
        let ty = self.ty(a);
        let a = register(a);
        let wide = ty.bits() == 64;
        let sign = if wide { i64::MIN } else { i64::from(i32::MIN) };
        match op {
            Unary::Not if ty == Ty::Bool => s.ptx(&format!("not.pred {to}, {a};")),
            Unary::Not => s.ptx(&format!("not.{} {to}, {a};", bits(ty))),
            Unary::Neg if ty.float() => s.ptx(&format!("xor.{} {to}, {a}, {sign};", bits(ty))),
            Unary::Neg => s.ptx(&format!("neg.s{} {to}, {a};", ty.bits())),
            Unary::Abs if ty.float() => s.ptx(&format!("and.{} {to}, {a}, {};", bits(ty), !sign)),
            Unary::Abs if ty.signed() => s.ptx(&format!("abs.s{} {to}, {a};", ty.bits())),
            Unary::Abs => s.ptx(&format!("mov.{} {to}, {a};", bits(ty))),
            Unary::Popc => s.ptx(&format!("popc.{} {to}, {a};", bits(ty))),
            Unary::Clz => s.ptx(&format!("clz.{} {to}, {a};", bits(ty))),
            Unary::Finite => {
                let (v, exponent) =
                    if wide { ("%~v", 0x7FF0_0000_0000_0000) } else { ("%~c", 0x7F80_0000i64) };
                s.ptx(&format!(
                    "and.{0} {v}, {a}, {exponent};
                     setp.ne.{0} {to}, {v}, {exponent};",
                    bits(ty),
                ));
            }
        }
    }

    pub(in crate::ptx) fn binary(&mut self, s: &mut Snippet<'_>, op: Binary, to: &str, a: Temp, b: Temp) {
        let ty = self.ty(a);
        let (a, b) = (register(a), register(b));
        let n = name(ty);
        let rounded = if ty.float() { ".rn" } else { "" };
        if ty == Ty::Bool {
            match op {
                Binary::And | Binary::Min | Binary::Mul => s.ptx(&format!("and.pred {to}, {a}, {b};")),
                Binary::Or | Binary::Max => s.ptx(&format!("or.pred {to}, {a}, {b};")),
                Binary::Eq => s.ptx(&format!("xor.pred %~q, {a}, {b};\nnot.pred {to}, %~q;")),
                _ => s.ptx(&format!("xor.pred {to}, {a}, {b};")),
            }
            return;
        }
        match op {
            Binary::Add => s.ptx(&format!("add{rounded}.{n} {to}, {a}, {b};")),
            Binary::Sub => s.ptx(&format!("sub{rounded}.{n} {to}, {a}, {b};")),
            Binary::Mul if ty.float() => s.ptx(&format!("mul.rn.{n} {to}, {a}, {b};")),
            Binary::Mul => s.ptx(&format!("mul.lo.{n} {to}, {a}, {b};")),
            // Machine code needs one register more.
            Binary::Div if ty.float() && self.lowering.output == Output::Wave => {
                s.ptx(&format!("div.rn.{n} {to}, {a}, {b}, %~c;"));
            }
            Binary::Div if ty.float() => s.ptx(&format!("div.rn.{n} {to}, {a}, {b};")),
            Binary::Div | Binary::Rem => {
                let what = if op == Binary::Div { "div" } else { "rem" };
                let zero = if op == Binary::Div { "0" } else { a.as_str() };
                // The result may be an operand, so it is computed in another register.
                let v = if ty.bits() == 64 { "%~v" } else { "%~c" };
                let bits = bits(ty);
                s.ptx(&format!(
                    "setp.eq.{n} %~q, {b}, 0;
                     selp.{bits} {v}, 1, {b}, %~q;
                     {what}.{n} {v}, {a}, {v};
                     selp.{bits} {to}, {zero}, {v}, %~q;"
                ));
            }
            Binary::And => s.ptx(&format!("and.{} {to}, {a}, {b};", bits(ty))),
            Binary::Or => s.ptx(&format!("or.{} {to}, {a}, {b};", bits(ty))),
            Binary::Xor => s.ptx(&format!("xor.{} {to}, {a}, {b};", bits(ty))),
            Binary::Shl => s.ptx(&format!("shl.{} {to}, {a}, {b};", bits(ty))),
            Binary::Shr => s.ptx(&format!("shr.{n} {to}, {a}, {b};")),
            Binary::Min => s.ptx(&format!("min.{n} {to}, {a}, {b};")),
            Binary::Max => s.ptx(&format!("max.{n} {to}, {a}, {b};")),
            Binary::Eq => s.ptx(&format!("setp.eq.{n} {to}, {a}, {b};")),
            // For floats, also if an operand is NaN.
            Binary::Ne => s.ptx(&format!("setp.ne{}.{n} {to}, {a}, {b};", if ty.float() { "u" } else { "" })),
            Binary::Lt => s.ptx(&format!("setp.lt.{n} {to}, {a}, {b};")),
            Binary::Le => s.ptx(&format!("setp.le.{n} {to}, {a}, {b};")),
            Binary::Gt => s.ptx(&format!("setp.gt.{n} {to}, {a}, {b};")),
            Binary::Ge => s.ptx(&format!("setp.ge.{n} {to}, {a}, {b};")),
        }
    }
}
