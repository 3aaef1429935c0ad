//! Probe code: what a clause does at one site, as a small typed program over temporaries.
//!
//! A clause that is bound to a site becomes one [`Code`]. Everything known of the site is a constant in it.
//! Its operands are the instruction's own. Instrumented code and the emulator's hooks run the same code;
//! [`crate::eval`] defines its meaning.
//!
//! # Invariants
//!
//! - Code ends: it has no loops.
//! - It writes only temporaries, variables, tables and records of its program.

use std::fmt::{self, Display, Formatter};

use prlx_isa::view::{Operand, Space};
use prlx_trace::kernel::Scalar;

/// Types of values in probes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
#[rustfmt::skip]
pub enum Ty { Bool, U8, U16, U32, U64, S8, S16, S32, S64, F32, F64 }

/// All types, with their names in programs.
pub const TYPES: &[(&str, Ty)] = &[
    ("bool", Ty::Bool),
    ("u8", Ty::U8),
    ("u16", Ty::U16),
    ("u32", Ty::U32),
    ("u64", Ty::U64),
    ("s8", Ty::S8),
    ("s16", Ty::S16),
    ("s32", Ty::S32),
    ("s64", Ty::S64),
    ("f32", Ty::F32),
    ("f64", Ty::F64),
];

impl Ty {
    /// Its bits; 1 for a predicate.
    pub const fn bits(self) -> u32 {
        match self {
            Ty::Bool => 1,
            Ty::U8 | Ty::S8 => 8,
            Ty::U16 | Ty::S16 => 16,
            Ty::U32 | Ty::S32 | Ty::F32 => 32,
            Ty::U64 | Ty::S64 | Ty::F64 => 64,
        }
    }
    /// Whether it is an integer with a sign.
    pub const fn signed(self) -> bool {
        matches!(self, Ty::S8 | Ty::S16 | Ty::S32 | Ty::S64)
    }
    /// Whether it is a float.
    pub const fn float(self) -> bool {
        matches!(self, Ty::F32 | Ty::F64)
    }
    /// Whether it is an integer.
    pub const fn integer(self) -> bool {
        !self.float() && !matches!(self, Ty::Bool)
    }
    /// Its name in programs.
    pub fn name(self) -> &'static str {
        TYPES.iter().find(|(_, ty)| *ty == self).map_or("", |(name, _)| name)
    }
    /// The 64-bit type of its kind, in which values are kept and aggregated.
    pub const fn wide(self) -> Ty {
        match self {
            Ty::F32 | Ty::F64 => Ty::F64,
            Ty::S8 | Ty::S16 | Ty::S32 | Ty::S64 => Ty::S64,
            _ => Ty::U64,
        }
    }
    /// As traces name it.
    pub const fn scalar(self) -> Scalar {
        match self {
            Ty::Bool => Scalar::Pred,
            Ty::U8 => Scalar::U8,
            Ty::U16 => Scalar::U16,
            Ty::U32 => Scalar::U32,
            Ty::U64 => Scalar::U64,
            Ty::S8 => Scalar::S8,
            Ty::S16 => Scalar::S16,
            Ty::S32 => Scalar::S32,
            Ty::S64 => Scalar::S64,
            Ty::F32 => Scalar::F32,
            Ty::F64 => Scalar::F64,
        }
    }
}

/// A temporary of a [`Code`]; its bits are kept zero-extended, whatever its type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Temp(pub u32);

impl Temp {
    /// As an index.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A program for one place.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Code {
    /// Types of the temporaries.
    pub temps: Vec<Ty>,
    /// What it reads of the place: registers, constants, special registers, addresses of variables.
    pub operands: Vec<Operand>,
    /// What is done, in order.
    pub body: Vec<Stmt>,
}

/// A statement of probe code.
#[derive(Clone, PartialEq, Debug)]
pub enum Stmt {
    /// A temporary becomes what an operation gives; it may be set more than once.
    Set(Temp, Op),
    /// A variable of the program becomes what a temporary holds (they have the same type).
    Store(u32, Temp),
    /// A variable of the warp or CTA becomes what the temporary holds in the lowest lane that is here (they
    /// have the same type).
    Put(u32, Temp),
    /// The lanes' values go into a variable of the warp or CTA, an integer of 32 or 64 bits, none is lost.
    /// `old`: what was there before this lane's, in an order of lanes that is not said; what a lane did
    /// before is seen by who comes to this after it.
    Merge {
        /// Which variable of `crate::ProbeState::held`.
        var: u32,
        /// The operation that combines the old and the new value.
        how: Reduce,
        /// The value, of the variable's type.
        value: Temp,
        /// The temporary, another one, that gets what was there.
        old: Option<Temp>,
    },
    /// Lanes where the predicate is true run the first block, the others the second.
    If(Temp, Vec<Stmt>, Vec<Stmt>),
    /// A counter of [`crate::ProbeState::counters`] grows by a value, of its table's own type; none: by 1.
    Tally {
        /// Index into [`crate::ProbeState::counters`].
        counter: u32,
        /// The value that goes in.
        value: Option<Temp>,
    },
    /// A row of a table takes a value.
    Update {
        /// Which table of the plan.
        table: u32,
        /// The row to update.
        row: Row,
        /// The value, in the table's own type; none: 1, for a count.
        value: Option<Temp>,
    },
    /// Fields are written to a record of the plan.
    Save {
        /// Index of the record's declaration.
        record: u32,
        /// Its fields, in their types.
        fields: Vec<Temp>,
    },
}

/// A row of a table.
#[derive(Clone, PartialEq, Debug)]
pub enum Row {
    /// Known: its number among the table's rows.
    At(u32),
    /// By keys, each of 64 bits (signed ones sign-extended, floats as the bits of a binary64).
    Keyed(Vec<Temp>),
}

/// What a temporary is set to; operands have the temporary's type where nothing else is said. Arithmetic is
/// on 32 and 64 bits: there are no operations on types of 8 and 16 bits but to read and to convert them.
/// Integers wrap; dividing by 0 gives 0, and the remainder is what was divided.
#[derive(Clone, PartialEq, Debug)]
pub enum Op {
    /// A constant, as bits.
    Const(u64),
    /// Another temporary of the same type.
    Copy(Temp),
    /// One of the code's operands: its low bits.
    Read(u32),
    /// Half of one of the code's operands, a binary16 or (`true`) bfloat16, as an `f32`: its low or (`true`)
    /// its high half.
    Half(u32, bool, bool),
    /// What the machine says.
    Query(LaneQuery),
    /// Bytes of the kernel's parameters, from this offset; in kernels alone.
    Param(u32),
    /// A variable of the program.
    Load(u32),
    /// A variable of the warp or CTA, by its number in `crate::ProbeState::held`: what it holds at this
    /// time.
    Get(u32),
    /// An operation on one temporary.
    Unary(Unary, Temp),
    /// Two operands. Comparisons give a predicate. The amount of a shift is a `u32`; shifts by the width or
    /// more give 0 or the sign.
    Binary(Binary, Temp, Temp),
    /// Either of two.
    Select(Temp, Temp, Temp),
    /// A value of another type: integers wrap or extend by the source's sign, floats round to nearest even,
    /// floats to integers truncate and saturate (NaN gives 0), predicates are 0 or 1; to a predicate: whether
    /// it is not 0.
    Convert(Temp),
    /// The same bits in a type as wide.
    Bits(Temp),
    /// `u32`: the active lanes for which a predicate holds.
    Ballot(Temp),
    /// `u32`: the active lanes in which an integer of 32 or 64 bits is what it is in this one.
    Same(Temp),
    /// Over the active lanes; integers of 32 or 64 bits. Sums wrap.
    Reduce(Reduce, Temp),
    /// `bool`: whether a generic address lies in a state space: global, shared, local or constant memory.
    Within(Space, Temp),
}

/// Operations on one operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unary {
    /// `-x`.
    Neg,
    /// `~x`, `!x` of a predicate.
    Not,
    /// `abs(x)`.
    Abs,
    /// `popc(x)`: of 32 or 64 bits; a `u32`.
    Popc,
    /// `clz(x)`: likewise.
    Clz,
    /// `finite(x)` of a float: a predicate.
    Finite,
}

/// Operations on two operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are the operations'")]
#[rustfmt::skip]
pub enum Binary { Add, Sub, Mul, Div, Rem, And, Or, Xor, Shl, Shr, Min, Max, Eq, Ne, Lt, Le, Gt, Ge }

impl Binary {
    /// Whether it gives a predicate.
    pub const fn compares(self) -> bool {
        matches!(self, Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge)
    }
}

/// How lanes' values come together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are the operations'")]
#[rustfmt::skip]
pub enum Reduce { Sum, Min, Max, And, Or, Xor }

/// What the machine is asked. All are `u32` but where it is said.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LaneQuery {
    /// The lanes that are here together.
    Active,
    /// `bool`: this lane is the lowest of them.
    Leader,
    /// `%clock`.
    Clock,
    /// `%clock64`; `u64`.
    Clock64,
    /// `%globaltimer`, nanoseconds; `u64`.
    Time,
    /// The launch's number in its process; `u64`.
    Launch,
}

impl LaneQuery {
    /// What it gives.
    pub const fn ty(self) -> Ty {
        match self {
            LaneQuery::Clock64 | LaneQuery::Time | LaneQuery::Launch => Ty::U64,
            LaneQuery::Leader => Ty::Bool,
            LaneQuery::Active | LaneQuery::Clock => Ty::U32,
        }
    }
}

impl Code {
    /// Whether any statement contains this query.
    pub fn queries(&self, what: LaneQuery) -> bool {
        fn any(body: &[Stmt], what: LaneQuery) -> bool {
            body.iter().any(|stmt| match stmt {
                Stmt::Set(_, op) => *op == Op::Query(what),
                Stmt::If(_, then, other) => any(then, what) || any(other, what),
                Stmt::Store(..) | Stmt::Put(..) | Stmt::Merge { .. } => false,
                Stmt::Tally { .. } | Stmt::Update { .. } | Stmt::Save { .. } => false,
            })
        }
        any(&self.body, what)
    }
}

impl Display for Code {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, operand) in self.operands.iter().enumerate() {
            write!(f, "operand{i} = {operand:?}; ")?;
        }
        block(f, &self.body, self)
    }
}

fn block(f: &mut Formatter<'_>, body: &[Stmt], code: &Code) -> fmt::Result {
    for (i, stmt) in body.iter().enumerate() {
        if i > 0 {
            write!(f, " ")?;
        }
        match stmt {
            Stmt::Set(to, op) => {
                let ty = code.temps.get(to.index()).map_or("", |t| t.name());
                write!(f, "{to}: {ty} = {op};")?;
            }
            Stmt::Store(var, temp) => write!(f, "var{var} = {temp};")?,
            Stmt::Put(var, temp) => write!(f, "held{var} = {temp};")?,
            Stmt::Merge { var, how, value, old } => {
                let old = old.map(|t| format!("{t} = ")).unwrap_or_default();
                write!(f, "{old}held{var} takes {how:?} {value};")?;
            }
            Stmt::If(condition, then, other) => {
                write!(f, "if {condition} {{ ")?;
                block(f, then, code)?;
                write!(f, " }}")?;
                if !other.is_empty() {
                    write!(f, " else {{ ")?;
                    block(f, other, code)?;
                    write!(f, " }}")?;
                }
            }
            Stmt::Tally { counter, value: Some(value) } => write!(f, "counter{counter} takes {value};")?,
            Stmt::Tally { counter, value: None } => write!(f, "counter{counter} counts;")?,
            Stmt::Update { table, row, value } => {
                write!(f, "table{table}")?;
                match row {
                    Row::At(row) => write!(f, "[#{row}]")?,
                    Row::Keyed(keys) => list(f, "[", keys, "]")?,
                }
                match value {
                    Some(value) => write!(f, " takes {value};")?,
                    None => write!(f, " counts;")?,
                }
            }
            Stmt::Save { record, fields } => {
                write!(f, "record{record}")?;
                list(f, "(", fields, ");")?;
            }
        }
    }
    Ok(())
}

fn list(f: &mut Formatter<'_>, open: &str, temps: &[Temp], close: &str) -> fmt::Result {
    let temps: Vec<String> = temps.iter().map(Temp::to_string).collect();
    write!(f, "{open}{}{close}", temps.join(", "))
}

impl Display for Temp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "t{}", self.0)
    }
}

impl Display for Op {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Op::Const(bits) => write!(f, "{bits:#x}"),
            Op::Copy(a) => write!(f, "{a}"),
            Op::Read(operand) => write!(f, "operand{operand}"),
            Op::Half(operand, bf, high) => {
                let (ty, half) = (if *bf { "bf16" } else { "f16" }, if *high { "high" } else { "low" });
                write!(f, "{half} {ty} of operand{operand}")
            }
            Op::Query(ask) => write!(f, "{ask:?}"),
            Op::Param(at) => write!(f, "param {at}"),
            Op::Load(var) => write!(f, "var{var}"),
            Op::Get(var) => write!(f, "held{var}"),
            Op::Unary(op, a) => write!(f, "{op:?} {a}"),
            Op::Binary(op, a, b) => write!(f, "{op:?} {a} {b}"),
            Op::Select(c, a, b) => write!(f, "{c} ? {a} : {b}"),
            Op::Convert(a) => write!(f, "convert {a}"),
            Op::Bits(a) => write!(f, "bits {a}"),
            Op::Ballot(a) => write!(f, "ballot {a}"),
            Op::Same(a) => write!(f, "lanes with {a}"),
            Op::Reduce(how, a) => write!(f, "lanes {how:?} {a}"),
            Op::Within(space, a) => write!(f, "{a} in {space:?}"),
        }
    }
}
