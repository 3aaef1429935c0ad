//! Level `probe`: a piece of the user's program, over temporaries of its own.
//!
//! Temporaries are registers of the piece: predicates, 32 and 64 bits; narrower integers lie zero-extended in 32. Branches of the
//! program are branches around its code. What it means is `prlx_plan::eval`'s to say; [`super::table`] has what it writes.

use prlx_isa::view::{Class, FunctionKind, Guard, Operand, Space};
use prlx_plan::At;
use prlx_plan::code::{Ask, Binary, Code, Op, Reduce, Row, Stmt, Temp, Ty, Unary};
use prlx_trace::device::Context;
use prlx_trace::device::tables::Part;

use super::Lowering;
use super::begin::LEAD;
use super::numbered::{constant, set_by};
use super::snippet::Snippet;
use super::table::Given;
use super::value;

/// Since when PTX can ask whether an address is that of a kernel's parameter. They lie within the window of global memory (PTX ISA, isspacep), and are none.
pub(crate) const PARAMETERS: (u32, u32) = (7, 7);

/// A code in the making.
pub(super) struct Probe<'p, 'a> {
    pub lowering: &'p Lowering<'a>,
    pub code: &'p Code,
    /// Whether what is the same in all lanes is kept once for the warp: where a kernel begins, for there all lanes of a warp are at once, and if it may
    /// run for long: what straight code keeps for its end costs it no register (of 20 kernels none), and a short warp feels the instructions.
    shares: bool,
    /// Labels so far.
    labels: u32,
}

impl Lowering<'_> {
    /// [`prlx_plan::Action::Probe`].
    pub(super) fn probe(&self, s: &mut Snippet<'_>, code: &Code, at: At) {
        for (i, ty) in code.temps.iter().enumerate() {
            s.declare(register_type(*ty), format!("t{i}"));
        }
        if self.needs_context(&code.body) {
            self.context(s);
        }
        let shares = at == At::Entry && self.in_kernel() && self.arch >= 80 && self.long();
        Probe { lowering: self, code, shares, labels: 0 }.block(s, &code.body);
    }

    /// Whether the function has loops or calls.
    fn long(&self) -> bool {
        let loops = self.plan.module.functions.get(self.index).is_some_and(|f| !f.loops.is_empty());
        loops || self.function.insts.iter().any(|i| i.class == Class::Call)
    }

    /// Whether a code asks for the launch's context.
    fn needs_context(&self, body: &[Stmt]) -> bool {
        body.iter().any(|stmt| match stmt {
            Stmt::Set(_, op) => matches!(op, Op::Ask(Ask::Launch) | Op::Get(_)),
            Stmt::Store(..) | Stmt::Tally { .. } => false,
            Stmt::If(_, then, other) => self.needs_context(then) || self.needs_context(other),
            Stmt::Put(..) | Stmt::Merge { .. } | Stmt::Update { .. } => true,
            Stmt::Save { record, .. } => !self.numbered(*record as usize),
        })
    }

    /// Whether a record is one of those that threads number.
    pub(super) fn numbered(&self, record: usize) -> bool {
        self.plan.kept.records.parts.get(record).is_some_and(Part::numbered)
    }

    /// [`prlx_plan::Action::Count`].
    pub(super) fn count(&self, s: &mut Snippet<'_>, counter: u32, add: u64, guard: Option<Guard>) {
        let guard = guard.map(|g| super::guard_text(self.function, g, false)).unwrap_or_default();
        match self.plan.kept.packed.place(counter) {
            Some((word, bit)) => {
                let add = (add << bit) as u32;
                s.ptx(&format!("{guard} add.u32 %~packed{word}, %~packed{word}, {};", add.cast_signed()));
            }
            None => s.ptx(&format!(
                "{guard} add.u64 %~counter{counter}, %~counter{counter}, {};",
                add.cast_signed()
            )),
        }
    }
}

/// The type of the register that holds a temporary.
pub(super) fn register_type(ty: Ty) -> &'static str {
    match ty.bits() {
        1 => ".pred",
        64 => ".b64",
        _ => ".b32",
    }
}

/// A temporary's register.
pub(super) fn register(temp: Temp) -> String {
    format!("%~t{}", temp.0)
}

/// A type as instructions on values of it name it; narrow ones are computed in 32 bits.
fn name(ty: Ty) -> &'static str {
    match ty {
        Ty::Bool => "pred",
        Ty::U8 | Ty::U16 | Ty::U32 => "u32",
        Ty::S8 | Ty::S16 | Ty::S32 => "s32",
        Ty::U64 => "u64",
        Ty::S64 => "s64",
        Ty::F32 => "f32",
        Ty::F64 => "f64",
    }
}

/// As bits.
pub(super) fn bits(ty: Ty) -> &'static str {
    if ty.bits() == 64 { "b64" } else { "b32" }
}

impl Probe<'_, '_> {
    pub fn ty(&self, temp: Temp) -> Ty {
        self.code.temps.get(temp.index()).copied().unwrap_or(Ty::U64)
    }
    /// A label of this piece.
    pub fn label(&mut self, s: &Snippet<'_>) -> String {
        self.labels += 1;
        s.label(&format!("l{}_", self.labels))
    }

    fn block(&mut self, s: &mut Snippet<'_>, body: &[Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::Set(to, op) => self.set(s, *to, op),
                Stmt::Store(var, temp) => {
                    let (from, ty) = (register(*temp), self.ty(*temp));
                    match ty {
                        Ty::Bool => s.ptx(&format!("selp.b32 %~var{var}, 1, 0, {from};")),
                        _ if self.shares && alike(self.code, *temp) => {
                            self.shared(s, &format!("%~var{var}"), &from, ty);
                        }
                        _ => s.ptx(&format!("mov.{} %~var{var}, {from};", bits(ty))),
                    }
                }
                Stmt::Put(var, temp) => self.put(s, *var, *temp),
                Stmt::Merge { var, how, value, old } => self.merge(s, *var, *how, *value, *old),
                Stmt::If(condition, then, other) => {
                    let (otherwise, end) = (self.label(s), self.label(s));
                    s.ptx(&format!("@!{} bra {otherwise};", register(*condition)));
                    // Some of them went elsewhere.
                    self.shares = false;
                    self.block(s, then);
                    if other.is_empty() {
                        s.ptx(&format!("{otherwise}:"));
                        continue;
                    }
                    s.ptx(&format!("bra {end};\n{otherwise}:"));
                    self.block(s, other);
                    s.ptx(&format!("{end}:"));
                }
                Stmt::Tally { counter, value } => {
                    let value = match value {
                        Some(value) => {
                            self.wide(s, *value, "%~v0");
                            "%~v0"
                        }
                        None => "1",
                    };
                    s.ptx(&format!("add.u64 %~counter{counter}, %~counter{counter}, {value};"));
                }
                Stmt::Update { table, row, value } => {
                    let done = self.label(s);
                    s.ptx(&format!("setp.eq.u64 %~q, %~context, 0;\n@%~q bra {done};"));
                    let value = value.map(|v| self.wide(s, v, "%~v0"));
                    let row = match row {
                        Row::At(row) => Given::At(*row),
                        Row::Keyed(keys) => Given::Keyed(keys),
                    };
                    self.update(s, *table as usize, row, value.is_some());
                    s.ptx(&format!("{done}:"));
                }
                Stmt::Save { record, fields } if self.lowering.numbered(*record as usize) => {
                    self.save_numbered(s, *record as usize, fields);
                }
                Stmt::Save { record, fields } => {
                    let done = self.label(s);
                    s.ptx(&format!("setp.eq.u64 %~q, %~context, 0;\n@%~q bra {done};"));
                    self.save(s, *record as usize, fields, &done);
                    s.ptx(&format!("{done}:"));
                }
            }
        }
    }

    /// `to`: a value that is the same in all lanes of the warp, which are here, as one that the assembler knows to be: it is kept once for the warp
    /// (in a uniform register), and takes no register of each lane through the whole kernel.
    fn shared(&self, s: &mut Snippet<'_>, to: &str, from: &str, ty: Ty) {
        s.ptx("activemask.b32 %~mask;");
        match ty.bits() {
            64 => s.ptx(&format!(
                "mov.b64 {{%~a, %~b}}, {from};
                 redux.sync.or.b32 %~a, %~a, %~mask;
                 redux.sync.or.b32 %~b, %~b, %~mask;
                 mov.b64 {to}, {{%~a, %~b}};"
            )),
            _ => s.ptx(&format!("redux.sync.or.b32 {to}, {from}, %~mask;")),
        }
    }

    /// Puts a temporary's value, as rows keep it, into the 64-bit register `to`; its type there.
    pub fn wide(&mut self, s: &mut Snippet<'_>, temp: Temp, to: &str) -> Ty {
        let ty = self.ty(temp);
        self.convert(s, &register(temp), ty, to, ty.wide());
        ty.wide()
    }

    fn set(&mut self, s: &mut Snippet<'_>, to: Temp, op: &Op) {
        let ty = self.ty(to);
        let to = register(to);
        let low = |s: &mut Snippet<'_>| {
            if matches!(ty.bits(), 8 | 16) {
                s.ptx(&format!("and.b32 {to}, {to}, {};", (1u32 << ty.bits()) - 1));
            }
        };
        match op {
            Op::Const(value) if ty == Ty::Bool => s.ptx(&format!("setp.ne.u32 {to}, {}, 0;", value & 1)),
            Op::Const(value) if ty.bits() == 64 => s.ptx(&format!("mov.b64 {to}, {};", value.cast_signed())),
            Op::Const(value) => s.ptx(&format!("mov.b32 {to}, {};", (*value as u32).cast_signed())),
            Op::Copy(a) if ty == Ty::Bool => s.ptx(&format!("mov.pred {to}, {};", register(*a))),
            Op::Copy(a) | Op::Bits(a) => s.ptx(&format!("mov.{} {to}, {};", bits(ty), register(*a))),
            Op::Read(operand) => {
                let Some(operand) = self.code.operands.get(*operand as usize) else { return };
                let Some(value) = self.lowering.scalars(std::slice::from_ref(operand)).into_iter().next()
                else {
                    return;
                };
                match (&value, ty.bits()) {
                    (value::Value::Named(name, prlx_isa::view::Type::Pred), 1) => {
                        s.ptx(&format!("mov.pred {to}, {name};"))
                    }
                    (_, 1) => {
                        value.read_low(s, "%~c");
                        s.ptx(&format!("setp.ne.u32 {to}, %~c, 0;"));
                    }
                    (_, 64) => value.read(s, &to),
                    _ => {
                        value.read_low(s, &to);
                        low(s);
                    }
                }
            }
            Op::Half(operand, bf, high) => {
                let Some(operand) = self.code.operands.get(*operand as usize) else { return };
                let Some(value) = self.lowering.scalars(std::slice::from_ref(operand)).into_iter().next()
                else {
                    return;
                };
                value.read_low(s, "%~e");
                match (bf, high) {
                    (true, true) => s.ptx(&format!("and.b32 {to}, %~e, -65536;")),
                    (true, false) => s.ptx(&format!("shl.b32 {to}, %~e, 16;")),
                    (false, high) => {
                        if *high {
                            s.ptx("shr.u32 %~e, %~e, 16;");
                        }
                        s.ptx(&format!("cvt.u16.u32 %~h, %~e;\ncvt.f32.f16 {to}, %~h;"));
                    }
                }
            }
            Op::Ask(what) => match what {
                Ask::Active => s.ptx(&format!("activemask.b32 {to};")),
                Ask::Leader => {
                    s.ptx("activemask.b32 %~mask;");
                    s.ptx(LEAD);
                    s.ptx(&format!("mov.pred {to}, %~lead;"));
                }
                Ask::Clock => s.ptx(&format!("mov.u32 {to}, %clock;")),
                Ask::Clock64 => s.ptx(&format!("mov.u64 {to}, %clock64;")),
                Ask::Time => s.ptx(&format!("mov.u64 {to}, %globaltimer;")),
                Ask::Launch => s.ptx(&format!(
                    "mov.u64 {to}, 0;
                     setp.ne.u64 %~q, %~context, 0;
                     @%~q ld.global.u64 {to}, [%~context+{}];",
                    Context::offset("launch"),
                )),
            },
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
                s.ptx(&format!(
                    "activemask.b32 %~mask;\nvote.sync.ballot.b32 {to}, {}, %~mask;",
                    register(*a)
                ));
            }
            Op::Same(a) => {
                s.ptx("activemask.b32 %~mask;");
                s.ptx(&format!("match.any.sync.{} {to}, {}, %~mask;", bits(self.ty(*a)), register(*a)));
            }
            Op::Reduce(how, a) => {
                s.ptx("activemask.b32 %~mask;");
                let a = register(*a);
                match ty.bits() {
                    64 => {
                        s.ptx(&format!("mov.b64 %~v0, {a};"));
                        reduce64(s, *how, ty.signed());
                        s.ptx(&format!("mov.b64 {to}, %~v0;"));
                    }
                    _ => s.ptx(&format!("redux.sync.{} {to}, {a}, %~mask;", reduce32(*how, ty.signed()))),
                }
            }
            Op::Within(space, a) => {
                let a = register(*a);
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
        }
    }

    /// The parameter at an offset of the kernel's parameters, and the offset in it.
    fn param(&self, offset: u32) -> Option<(&str, u32)> {
        let f = self.lowering.function;
        if f.kind != FunctionKind::Kernel {
            return None;
        }
        let i = f.param_offsets.iter().rposition(|o| *o <= offset)?;
        let symbol = self.lowering.module.symbols.get(f.params.get(i)?.index())?;
        Some((&symbol.name, offset - f.param_offsets[i]))
    }

    fn unary(&mut self, s: &mut Snippet<'_>, op: Unary, to: &str, a: Temp) {
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

    fn binary(&mut self, s: &mut Snippet<'_>, op: Binary, to: &str, a: Temp, b: Temp) {
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
            Binary::Div if ty.float() => s.ptx(&format!("div.rn.{n} {to}, {a}, {b};")),
            Binary::Div | Binary::Rem => {
                let what = if op == Binary::Div { "div" } else { "rem" };
                let zero = if op == Binary::Div { "0" } else { a.as_str() };
                // Into a register of its own: the result may be an operand.
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
            // Of floats also where one is no number.
            Binary::Ne => s.ptx(&format!("setp.ne{}.{n} {to}, {a}, {b};", if ty.float() { "u" } else { "" })),
            Binary::Lt => s.ptx(&format!("setp.lt.{n} {to}, {a}, {b};")),
            Binary::Le => s.ptx(&format!("setp.le.{n} {to}, {a}, {b};")),
            Binary::Gt => s.ptx(&format!("setp.gt.{n} {to}, {a}, {b};")),
            Binary::Ge => s.ptx(&format!("setp.ge.{n} {to}, {a}, {b};")),
        }
    }

    /// A value in another type.
    fn convert(&mut self, s: &mut Snippet<'_>, a: &str, from: Ty, to: &str, ty: Ty) {
        let narrow = matches!(ty.bits(), 8 | 16);
        let all = (1u64 << (ty.bits() % 64)).wrapping_sub(1);
        // A narrow integer with a sign lies zero-extended.
        let own = match from {
            Ty::S8 => "s8",
            Ty::S16 => "s16",
            other => name(other),
        };
        match (from, ty) {
            _ if from == ty && ty == Ty::Bool => s.ptx(&format!("mov.pred {to}, {a};")),
            _ if from == ty => s.ptx(&format!("mov.{} {to}, {a};", bits(ty))),
            (Ty::Bool, Ty::F32) => s.ptx(&format!("selp.b32 {to}, 0x3F800000, 0, {a};")),
            (Ty::Bool, Ty::F64) => s.ptx(&format!("selp.b64 {to}, 0x3FF0000000000000, 0, {a};")),
            (Ty::Bool, _) => s.ptx(&format!("selp.{} {to}, 1, 0, {a};", bits(ty))),
            (_, Ty::Bool) if from == Ty::F32 => s.ptx(&format!("setp.neu.f32 {to}, {a}, 0f00000000;")),
            (_, Ty::Bool) if from == Ty::F64 => {
                s.ptx(&format!("setp.neu.f64 {to}, {a}, 0d0000000000000000;"))
            }
            (_, Ty::Bool) => s.ptx(&format!("setp.ne.{} {to}, {a}, 0;", bits(from))),
            (Ty::F32, Ty::F64) => s.ptx(&format!("cvt.f64.f32 {to}, {a};")),
            (Ty::F64, Ty::F32) => s.ptx(&format!("cvt.rn.f32.f64 {to}, {a};")),
            (_, Ty::F32 | Ty::F64) if matches!(from, Ty::S8 | Ty::S16) => {
                s.ptx(&format!("cvt.s32.{own} %~c, {a};\ncvt.rn.{}.s32 {to}, %~c;", name(ty)));
            }
            (_, Ty::F32 | Ty::F64) => s.ptx(&format!("cvt.rn.{}.{own} {to}, {a};", name(ty))),
            _ if from.float() => {
                // What is no number gives 0 here; PTX says so of 32 bits alone (PTX ISA, cvt).
                s.ptx(&format!(
                    "setp.neu.{own} %~q, {a}, {a};
                     cvt.rzi.{}.{own} {to}, {a};
                     selp.{} {to}, 0, {to}, %~q;",
                    name(ty),
                    bits(ty),
                ));
                if narrow {
                    let (least, most) = match ty.signed() {
                        true => (-(1i64 << (ty.bits() - 1)), (1i64 << (ty.bits() - 1)) - 1),
                        false => (0, all as i64),
                    };
                    let wide = name(ty);
                    s.ptx(&format!(
                        "max.{wide} {to}, {to}, {least};
                         min.{wide} {to}, {to}, {most};
                         and.b32 {to}, {to}, {all};"
                    ));
                }
            }
            _ if ty.bits() == 64 && from.bits() == 64 => s.ptx(&format!("mov.b64 {to}, {a};")),
            _ if ty.bits() == 64 => {
                s.ptx(&format!("cvt.{}64.{own} {to}, {a};", if from.signed() { "s" } else { "u" }))
            }
            _ => {
                match from {
                    _ if from.bits() == 64 => s.ptx(&format!("cvt.u32.u64 {to}, {a};")),
                    Ty::S8 | Ty::S16 if ty.bits() > from.bits() => {
                        s.ptx(&format!("cvt.s32.{own} {to}, {a};"))
                    }
                    _ => s.ptx(&format!("mov.b32 {to}, {a};")),
                }
                if narrow {
                    s.ptx(&format!("and.b32 {to}, {to}, {all};"));
                }
            }
        }
    }
}

/// Whether a temporary is made of clocks and the multiprocessor's number: lanes that are together read the same.
pub(super) fn alike(code: &Code, temp: Temp) -> bool {
    let Some(op) = set_by(code, temp) else { return false };
    match op {
        Op::Ask(Ask::Clock | Ask::Clock64 | Ask::Time) => true,
        Op::Read(operand) => {
            matches!(code.operands.get(*operand as usize), Some(Operand::Special(name)) if name == "%smid")
        }
        // What they are made of was there before them.
        Op::Copy(a) | Op::Convert(a) if *a < temp => alike(code, *a),
        Op::Binary(_, a, b) if *a < temp && *b < temp => {
            let known = |t: &Temp| alike(code, *t) || constant(code, *t).is_some();
            known(a) && known(b) && (alike(code, *a) || alike(code, *b))
        }
        _ => false,
    }
}

/// `%~v0` over the lanes of `%~mask`: every one of them gets the result.
pub(super) fn reduce64(s: &mut Snippet<'_>, how: Reduce, signed: bool) {
    s.ptx("mov.b64 {%~a, %~b}, %~v0;");
    match how {
        // Of 32 numbers of 16 bits each, a sum of 21.
        Reduce::Sum => s.ptx(
            "shr.u32 %~c, %~a, 16;
             and.b32 %~a, %~a, 65535;
             shr.u32 %~d, %~b, 16;
             and.b32 %~b, %~b, 65535;
             redux.sync.add.u32 %~a, %~a, %~mask;
             redux.sync.add.u32 %~b, %~b, %~mask;
             redux.sync.add.u32 %~c, %~c, %~mask;
             redux.sync.add.u32 %~d, %~d, %~mask;
             shl.b32 %~d, %~d, 16;
             add.u32 %~b, %~b, %~d;
             mov.b64 %~v0, {%~a, %~b};
             cvt.u64.u32 %~y, %~c;
             shl.b64 %~y, %~y, 16;
             add.u64 %~v0, %~v0, %~y;",
        ),
        Reduce::Min | Reduce::Max => {
            let what = if how == Reduce::Min { "min" } else { "max" };
            let top = if signed { "s32" } else { "u32" };
            // Of those with the least high half, the least low half.
            let other = if how == Reduce::Min { -1 } else { 0 };
            s.ptx(&format!(
                "redux.sync.{what}.{top} %~c, %~b, %~mask;
                 setp.eq.u32 %~q, %~b, %~c;
                 selp.b32 %~a, %~a, {other}, %~q;
                 redux.sync.{what}.u32 %~a, %~a, %~mask;
                 mov.b64 %~v0, {{%~a, %~c}};"
            ));
        }
        Reduce::And | Reduce::Or | Reduce::Xor => {
            let what = reduce32(how, false);
            s.ptx(&format!(
                "redux.sync.{what} %~a, %~a, %~mask;
                 redux.sync.{what} %~b, %~b, %~mask;
                 mov.b64 %~v0, {{%~a, %~b}};"
            ));
        }
    }
}

pub(super) fn reduce32(how: Reduce, signed: bool) -> &'static str {
    match (how, signed) {
        (Reduce::Sum, false) => "add.u32",
        (Reduce::Sum, true) => "add.s32",
        (Reduce::Min, false) => "min.u32",
        (Reduce::Min, true) => "min.s32",
        (Reduce::Max, false) => "max.u32",
        (Reduce::Max, true) => "max.s32",
        (Reduce::And, _) => "and.b32",
        (Reduce::Or, _) => "or.b32",
        (Reduce::Xor, _) => "xor.b32",
    }
}
