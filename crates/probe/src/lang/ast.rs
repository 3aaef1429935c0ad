//! A probe program as its text has it: names are resolved, types are not.
//!
//! What an operand's type is depends on the instruction that a probe lands on, so types are checked twice: by
//! [`super::check`], with operands of unknown type, and by `bind` at every place, with known ones.

use std::ops::Range;

use prlx_trace::device::tables::Which;
use prlx_trace::table::Aggregate;

use super::builtin::Builtin;
use prlx_plan::VariableScope;
use prlx_plan::code::{Binary, Reduce, Ty, Unary};

/// Bytes of the program's text.
pub type Span = Range<usize>;

/// A parsed and checked probe program.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Script {
    /// Its text, which spans are of.
    pub text: String,
    /// Variables that live longer than a clause.
    pub vars: Vec<Var>,
    /// Tables, in order of first mention.
    pub tables: Vec<Table>,
    /// Records, in order of declaration.
    pub records: Vec<Record>,
    /// What to do where.
    pub clauses: Vec<Clause>,
}

/// A declared variable: `thread start: u64 = 0;`.
#[derive(Clone, PartialEq, Debug)]
pub struct Var {
    /// The name, as the program writes it.
    pub name: String,
    /// Who has one.
    pub of: VariableScope,
    /// The declared type.
    pub ty: Ty,
    /// Bits that it starts with; a warp's or CTA's with zeros.
    pub init: u64,
    /// Where it is declared.
    pub span: Span,
}

/// A table: `@bytes[line] = sum(size);`. All updates of it aggregate alike and have as many keys.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// Its name without `@`, perhaps empty.
    pub name: String,
    /// How values come together in a row.
    pub aggregate: Aggregate,
    /// How many keys its rows have.
    pub keys: usize,
    /// Its first mention.
    pub span: Span,
}

/// Declared records: `record @sched(start: u64, sm: u32) per warp keep 1;`.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// Its name without `@`.
    pub name: String,
    /// Names and types of its fields.
    pub fields: Vec<(String, Ty)>,
    /// Who has these records of its own: a thread or a warp.
    pub of: VariableScope,
    /// How many of them are kept, or for how many of each there is room.
    pub keep: u32,
    /// Which records are kept where there is no room for all.
    pub which: Which,
    /// Where it is declared.
    pub span: Span,
}

/// `tracepoint, tracepoint /predicate/ { action }`.
#[derive(Clone, PartialEq, Debug)]
pub struct Clause {
    /// Where: at any of these.
    pub tracepoints: Vec<Tracepoint>,
    /// The condition under which the action runs; `None`: always.
    pub predicate: Option<Expr>,
    /// The statements of the action.
    pub body: Vec<Stmt>,
    /// Names of its local variables; two loops may have variables of one name.
    pub locals: Vec<String>,
    /// All of it.
    pub span: Span,
}

/// Points of a kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct Tracepoint {
    /// The kind of point.
    pub what: What,
    /// On which side of it.
    pub side: Side,
    /// Where it is written.
    pub span: Span,
}

/// Kinds of points.
#[derive(Clone, PartialEq, Debug)]
pub enum What {
    /// A thread's begin and end in a kernel of that name pattern: every way out counts.
    Kernel(String),
    /// Activations of functions of that name pattern, kernels among them.
    Func(String),
    /// Basic blocks, where they begin.
    Block,
    /// A loop is entered ([`Side::Begin`]) or left ([`Side::End`]).
    Loop,
    /// A loop is gone on with.
    Trip,
    /// Conditional branches and switches.
    Branch,
    /// Predicates that steer a branch, a guarded instruction or a select, where they are computed.
    Decision,
    /// Instructions whose opcode has these words in this order, as `ld.global` in
    /// `ld.relaxed.gpu.global.u32`; the first is the operation and may be a pattern. Empty: every
    /// instruction.
    Inst(Vec<String>),
    /// Markers of that name pattern.
    Marker(String),
}

/// Sides of a point.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Side {
    /// Before the point.
    Begin,
    /// After the point.
    End,
}

/// A statement of an action.
#[derive(Clone, PartialEq, Debug)]
pub enum Stmt {
    /// `$x = e;`: a local variable of the clause. Its first assignment gives its type.
    Local(usize, Expr),
    /// `x = e;`: a declared variable. Of a warp's or CTA's, the lowest of the lanes that set it together
    /// does.
    Assign(usize, Expr),
    /// `x += e;`, `$old = x max= e;`: each lane's value goes into a variable of its warp or CTA, none is
    /// lost.
    Merge {
        /// Index of the declared variable.
        var: usize,
        /// How: one of [`super::check::MERGES`].
        how: Binary,
        /// What goes in.
        value: Expr,
        /// The local variable that gets what it held before.
        old: Option<usize>,
        /// All of it.
        span: Span,
    },
    /// `@t[k, …] = sum(e);`, `@t[k]++;`, `@t[k] += e;`.
    Update(Update),
    /// `save @r(e, …);`.
    Save {
        /// Index of the record's declaration.
        record: usize,
        /// The fields' values, in order.
        fields: Vec<Expr>,
        /// All of it.
        span: Span,
    },
    /// `if (e) { … } else { … }`.
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// `for $i in 0..8 { … }`: constants; it is unrolled. The variable is the loop's own: an `s32`, or an
    /// `s64` where a bound needs that.
    For(usize, Range<i64>, Vec<Stmt>, Span),
}

/// An update of a table.
#[derive(Clone, PartialEq, Debug)]
pub struct Update {
    /// Index of the table.
    pub table: usize,
    /// The keys of the row.
    pub key: Vec<Expr>,
    /// What is aggregated; none for a count.
    pub value: Option<Expr>,
    /// All of it.
    pub span: Span,
}

/// An expression with its place in the text.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it is.
    pub span: Span,
}

impl Expr {
    /// Whether it is an address or a mask of lanes, which text shows in hexadecimal.
    pub fn is_hexadecimal(&self) -> bool {
        use Builtin::{Active, Address, LanesBelow, Mbarrier, Source};
        match &self.kind {
            ExprKind::Builtin(builtin) => {
                matches!(builtin, Address | Source | Mbarrier | Active | LanesBelow)
            }
            kind => matches!(kind, ExprKind::Ballot(_) | ExprKind::Same(_)),
        }
    }
}

/// Kinds of expression.
#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    /// A whole number. It takes the type of what it meets; alone it is `s32`, or `s64` or `u64` where that is
    /// too small.
    Int(i128),
    /// A number with a point. Alone it is `f64`.
    Float(f64),
    /// `true`, `false`.
    Bool(bool),
    /// A text: compared with what is known of a place (as a pattern with `*` and `?`; it is the second
    /// operand then), or a key.
    Text(String),
    /// What a place or a thread is asked.
    Builtin(Builtin),
    /// `in0`, `in1` …: what the instruction reads, in its order, addresses and guard left out.
    In(u8),
    /// `out`, `out0`, `out1` …: what it writes, after it.
    Out(u8),
    /// `arg.name` or `arg.0`: a parameter of the kernel.
    Arg(String),
    /// A local variable.
    Local(usize),
    /// A declared variable.
    Var(usize),
    /// One operand; [`Unary::Not`] is `~e`, of an integer.
    Unary(Unary, Box<Expr>),
    /// `!e`: of a predicate.
    Not(Box<Expr>),
    /// Two operands of one type, brought to the wider of theirs; of shifts, the second may be any integer.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// `&&`, `||`: predicates; both sides are evaluated, for nothing in an expression has an effect.
    Logic(Binary, Box<Expr>, Box<Expr>),
    /// `c ? a : b`.
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `u32(e)`: the value in another type; out-of-range floats saturate, integers wrap.
    Cast(Ty, Box<Expr>),
    /// `bits(e)`: a float's bits as an unsigned number of the same width.
    Bits(Box<Expr>),
    /// `high_half(in0)`: of an operand that is a packed pair of floats, the high one.
    High(Box<Expr>),
    /// `popc(e)`, `clz(e)` … of [`Unary`] are there too; this is `ballot(e)`: the active lanes for which a
    /// predicate holds.
    Ballot(Box<Expr>),
    /// `lanes_same(e)`: the active lanes in which an integer is the same.
    Same(Box<Expr>),
    /// `lanes_sum(e)`, `lanes_min(e)`, `lanes_max(e)`: over the active lanes.
    Reduce(Reduce, Box<Expr>),
}

/// What `in3` or `out` means.
pub(super) fn operand(name: &str) -> Option<ExprKind> {
    let digit = |digits: &str| match digits.as_bytes() {
        [d @ b'0'..=b'9'] => Some(d - b'0'),
        _ => None,
    };
    match name.strip_prefix("out") {
        Some("") => Some(ExprKind::Out(0)),
        Some(digits) => digit(digits).map(ExprKind::Out),
        None => name.strip_prefix("in").and_then(digit).map(ExprKind::In),
    }
}
