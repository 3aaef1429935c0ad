//! The neutral view: one shape of functions and instructions for every instruction set.
//!
//! Names are resolved (registers by scope, labels to blocks, symbols to the module's table); nothing is lowered, merged or
//! reordered. An instruction's meaning beyond [`Class`], [`Role`]s and [`Eval`] is in its `form`, which only the
//! instruction set's own code (and the emulator) reads.
//!
//! Holds: `insts` are in source order, blocks partition them in that order, block 0 is the entry. Instructions after an
//! unconditional transfer that nothing reaches still have a block. An instruction that ends its lane or may (`ret`,
//! `exit`, `trap`, guarded or not) ends its block; so does every branch. Calls do not.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::ptx::Form;

/// Bytes of the source.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last.
    pub end: u32,
}

impl Span {
    /// As a range for slicing.
    pub const fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
    /// The text it spans; empty if it does not lie in `source`.
    pub fn of(self, source: &str) -> &str {
        source.get(self.range()).unwrap_or_default()
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

/// Something that a reader wants to say about the source; never a reason to stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Where.
    pub span: Span,
    /// What.
    pub message: String,
}

/// Declares dense index types.
macro_rules! ids {
    ($($(#[$m:meta])* $name:ident = $prefix:literal;)*) => { $(
        $(#[$m])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub u32);
        impl $name {
            /// As an index into the table it numbers.
            pub const fn index(self) -> usize { self.0 as usize }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { write!(f, concat!($prefix, "{}"), self.0) }
        }
    )* };
}
ids! {
    /// Index into [`Module::functions`].
    FuncId = "func";
    /// Index into [`Function::insts`].
    InstId = "inst";
    /// Index into [`Function::blocks`].
    BlockId = "block";
    /// Index into [`Function::regs`].
    Reg = "reg";
    /// Index into [`Module::symbols`].
    SymbolId = "symbol";
    /// Index into [`Module::locs`].
    LocId = "loc";
}

/// A module.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Target, as `sm_80`.
    pub target: String,
    /// ISA version, as `(8, 7)`.
    pub version: (u32, u32),
    /// Functions with a body, in source order.
    pub functions: Vec<Function>,
    /// Variables and functions that names can mean.
    pub symbols: Vec<Symbol>,
    /// Files of the debug information.
    pub files: Vec<File>,
    /// Source locations, each once.
    pub locs: Vec<Loc>,
}

impl Module {
    /// The function of that name.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|f| f.name == name)
    }
    /// The function with a body here that an instruction calls by name.
    pub fn callee(&self, inst: &Inst) -> Option<FuncId> {
        if inst.class != Class::Call {
            return None;
        }
        let mut targets = inst.operands.iter().zip(&inst.roles).filter(|(_, role)| **role == Role::Target);
        targets.find_map(|(operand, _)| match operand {
            Operand::Symbol(s, _) => self.symbols.get(s.index())?.function,
            _ => None,
        })
    }
    /// Whether some function may call itself, by way of others or through a pointer: no assembler can tell then how much
    /// stack a thread needs.
    pub fn recursive(&self) -> bool {
        let callees = |f: &Function| -> Option<Vec<usize>> {
            let calls = f.insts.iter().filter(|i| i.class == Class::Call);
            // What has no body here (`vprintf`, `malloc`) calls nothing of ours; a register may hold anything.
            let pointed = |i: &Inst| {
                i.operands
                    .iter()
                    .zip(&i.roles)
                    .any(|(o, r)| *r == Role::Target && matches!(o, Operand::Reg(..)))
            };
            let named = |i: &Inst| if pointed(i) { None } else { Some(self.callee(i).map(FuncId::index)) };
            calls.map(named).collect::<Option<Vec<_>>>().map(|c| c.into_iter().flatten().collect())
        };
        let Some(calls) = self.functions.iter().map(callees).collect::<Option<Vec<_>>>() else { return true };
        // Functions all of whose callees are done are done; what is left over calls in a circle, or what does.
        let mut done = vec![false; calls.len()];
        loop {
            let before = done.clone();
            for f in 0..calls.len() {
                done[f] |= calls[f].iter().all(|&c| done[c]);
            }
            if done == before {
                return done.contains(&false);
            }
        }
    }
}

/// A file of the debug information.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct File {
    /// The number that `.loc` uses.
    pub number: u32,
    /// Its path as spelt.
    pub path: String,
}

/// A source location.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Loc {
    /// Index into [`Module::files`] (not the `.file` number).
    pub file: u32,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 unknown.
    pub column: u32,
    /// The inlined function that the line belongs to; empty if it is the function's own.
    pub function: String,
    /// Where that function was inlined.
    pub inlined_at: Option<LocId>,
}

/// A state space.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Space {
    /// No space named: found at run time from the address.
    #[default]
    Generic,
    /// Device memory.
    Global,
    /// The CTA's.
    Shared,
    /// The thread's stack.
    Local,
    /// Constant memory.
    Const,
    /// Kernel parameters, or a call's parameters.
    Param,
    /// Registers.
    Reg,
    /// The shared memory of any CTA of the cluster.
    SharedCluster,
}

/// A variable or function that a name can mean.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Symbol {
    /// Name.
    pub name: String,
    /// Where it lives; functions: [`Space::Generic`].
    pub space: Space,
    /// Element type.
    pub ty: Type,
    /// Bytes in all; 0 for `extern` arrays without a size (dynamic shared memory).
    pub size: u64,
    /// Alignment, bytes.
    pub align: u32,
    /// The function whose body declares it; `None`: the module.
    pub owner: Option<FuncId>,
    /// Which function it is, when it is one that has a body here.
    pub function: Option<FuncId>,
    /// Whether it is any function (with a body or not).
    pub is_function: bool,
    /// Declared `.extern`.
    pub external: bool,
    /// Initial bytes; shorter than `size` means zeros follow.
    pub init: Vec<u8>,
    /// Addresses inside `init`: byte offset, symbol, addend, and whether it is `generic(…)`. As wide as an element, or 8
    /// bytes where elements are single bytes (a packed structure).
    pub relocs: Vec<(u64, SymbolId, i64, bool)>,
    /// Where it is declared.
    pub span: Span,
}

/// A type, as PTX writes it; widths and kinds of other instruction sets map onto it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[allow(missing_docs, reason = "the names are PTX's own (PTX ISA, Fundamental Types; Alternate Floating-Point Types)")]
#[rustfmt::skip]
pub enum Type {
    #[default] B32, Pred, B8, B16, B64, B128,
    U8, U16, U32, U64, S8, S16, S32, S64, U4, S4, B1,
    F16, F16x2, Bf16, Bf16x2, F32, F32x2, F64, Tf32,
    E4m3, E5m2, E4m3x2, E5m2x2, U16x2, S16x2,
    E2m1, E2m1x2, E2m3, E2m3x2, E3m2, E3m2x2, Ue8m0, Ue8m0x2,
}

/// What a function is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FunctionKind {
    /// `.entry`.
    #[default]
    Kernel,
    /// `.func`.
    Device,
}

/// A function with a body.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// Name.
    pub name: String,
    /// Kernel or device function.
    pub kind: FunctionKind,
    /// From its first directive to the closing brace.
    pub span: Span,
    /// The parameter list, parentheses included; empty span just after the name if there is none.
    pub params_span: Span,
    /// The return-parameter list of a device function, parentheses included.
    pub returns_span: Option<Span>,
    /// The body, braces included.
    pub body: Span,
    /// Parameters: symbols in [`Space::Param`] (or registers, see `reg_params`).
    pub params: Vec<SymbolId>,
    /// Return parameters.
    pub returns: Vec<SymbolId>,
    /// Parameters and returns declared `.reg`: their register.
    pub reg_params: Vec<Reg>,
    /// Byte offset in the parameter buffer of each of `params` (PTX ISA: natural alignment, in order).
    pub param_offsets: Vec<u32>,
    /// `.maxntid`, `.reqntid`, `.minnctapersm`, `.maxnreg` …: name without the dot, values.
    pub limits: Vec<(String, Vec<u32>)>,
    /// Registers, all scopes.
    pub regs: Vec<RegInfo>,
    /// Instructions in source order.
    pub insts: Vec<Inst>,
    /// Basic blocks in source order.
    pub blocks: Vec<Block>,
    /// Markers, in source order.
    pub marks: Vec<Mark>,
}

impl Function {
    /// A block's instructions.
    pub fn block(&self, block: BlockId) -> &[Inst] {
        let range =
            self.blocks.get(block.index()).map_or(0..0, |b| b.insts.start as usize..b.insts.end as usize);
        self.insts.get(range).unwrap_or_default()
    }

    /// Whether control can leave the function from a block: it returns, exits or traps there (guarded or not), or there is
    /// nothing after it.
    pub fn leaves(&self, block: BlockId) -> bool {
        let last = self.block(block).last();
        if last.is_some_and(|i| matches!(i.class, Class::Return | Class::Exit)) {
            return true;
        }
        let is_last = block.index() + 1 == self.blocks.len();
        let falls =
            last.is_none_or(|i| !matches!(i.class, Class::Branch | Class::Switch) || i.guard.is_some());
        // A branch to nowhere that is known leaves too, as far as can be told.
        is_last && falls || self.blocks.get(block.index()).is_none_or(|b| b.succs.is_empty())
    }
}

/// A marker: a label `$prlx_KIND_NAME` that nothing branches to. No assembler makes anything of it; it says what begins,
/// ends or happens at its place.
#[derive(Clone, PartialEq, Debug)]
pub struct Mark {
    /// What it says.
    pub kind: MarkKind,
    /// Of what.
    pub name: String,
    /// The instruction before which it stands; the number of instructions, if it stands behind the last.
    pub at: InstId,
    /// Who of those that come there passes it.
    pub passed: Passed,
    /// What it carries: operands as they are there, of 32 bits, at most two. They are moved to registers `$prlx_p0` and
    /// `$prlx_p1`, declared in the marker's scope, which die there.
    pub payload: Vec<Operand>,
    /// Source location in force.
    pub loc: Option<LocId>,
}

/// What a marker says, as its label spells it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MarkKind {
    /// A region begins.
    Begin,
    /// A region ends.
    End,
    /// A moment.
    Instant,
    /// The open region ends and this one begins.
    Switch,
    /// Asynchronous work begins, told from other work by the first word.
    Issue,
    /// It has ended.
    Complete,
    /// Somebody arrives at what others wait for: the first word says at what.
    Arrive,
    /// The lane belongs to a group: the first word is its number, the second, if there, whether this lane leads it.
    Group,
}

impl MarkKind {
    /// All, with their words.
    pub const ALL: [(&str, MarkKind); 8] = [
        ("begin", MarkKind::Begin),
        ("end", MarkKind::End),
        ("instant", MarkKind::Instant),
        ("switch", MarkKind::Switch),
        ("issue", MarkKind::Issue),
        ("complete", MarkKind::Complete),
        ("arrive", MarkKind::Arrive),
        ("group", MarkKind::Group),
    ];
    /// A label taken apart: kind and name.
    pub fn of_label(label: &str) -> Option<(MarkKind, &str)> {
        let (word, name) = label.strip_prefix("$prlx_")?.split_once('_')?;
        let kind = Self::ALL.iter().find(|k| k.0 == word)?.1;
        (!name.is_empty()).then_some((kind, name))
    }
    /// Its word.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }
}

/// Who of those that come to an instruction passes a marker before it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Passed {
    /// All.
    All,
    /// Those that come from the instruction before; between marker and instruction is a label to which others branch.
    Falling,
    /// Those, and those that take these branches: it stands between two such labels. `None` where that is not known: a
    /// switch goes there, or very many branches do.
    Some(Option<Vec<InstId>>),
}

/// A register.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RegInfo {
    /// Name; two scopes may use it twice.
    pub name: String,
    /// Declared type.
    pub ty: Type,
    /// The text range in which the name means this register: the rest of its scope after the declaration.
    pub scope: Span,
}

/// A basic block.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// Its instructions, as indices.
    pub insts: Range<u32>,
    /// Where control can go: for a guarded branch the target first, then the next block. Empty: it leaves the function.
    pub succs: Vec<BlockId>,
    /// Where it comes from.
    pub preds: Vec<BlockId>,
}

/// What kind of thing an instruction does: the word that tracepoints use.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Class {
    /// Not in the table; kept as text.
    #[default]
    Opaque,
    /// Copies a value or reads a special register.
    Move,
    /// Computes on integers or bits.
    Integer,
    /// Computes on floating-point values.
    Float,
    /// Converts.
    Convert,
    /// Compares: gives predicates (or a 0/1 value).
    Compare,
    /// Chooses by a predicate.
    Select,
    /// Loads.
    Load,
    /// Stores.
    Store,
    /// Read-modify-write on memory, with (`atom`) or without (`red`) a result.
    Atomic,
    /// Asynchronous copy, or its commit or wait.
    AsyncCopy,
    /// Tensor-core work.
    Matrix,
    /// Exchange or vote in a warp.
    Warp,
    /// Barrier, fence, mbarrier, warp synchronisation.
    Sync,
    /// Branch to a label.
    Branch,
    /// Branch by index.
    Switch,
    /// Call.
    Call,
    /// Back to the caller.
    Return,
    /// Ends the lane: `exit`, `trap`.
    Exit,
    /// Texture or surface.
    Texture,
    /// Hints and markers without effect on values: prefetch, nanosleep, setmaxnreg, griddepcontrol, pmevent …
    Hint,
}

/// What an operand is to its instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// Written.
    Def,
    /// Read.
    Use,
    /// Read and written.
    UseDef,
    /// An address: its registers are read.
    Addr,
    /// A branch target or function.
    Target,
    /// Something else (barrier names, prototypes, masks as text).
    Other,
}

/// A guard: `@p` or `@!p`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guard {
    /// Predicate.
    pub reg: Reg,
    /// True for `@!p`.
    pub negate: bool,
}

/// An instruction.
#[derive(Clone, Debug, Default)]
pub struct Inst {
    /// From the guard (or opcode) to the `;`, included.
    pub span: Span,
    /// Kind.
    pub class: Class,
    /// Guard.
    pub guard: Option<Guard>,
    /// The instruction set's own description: operation, types, modifiers. Shared by all that are written alike.
    pub form: Arc<Form>,
    /// Operands in source order.
    pub operands: Vec<Operand>,
    /// Their roles, one each.
    pub roles: Vec<Role>,
    /// For memory operations: the space named.
    pub space: Space,
    /// Meaning as integer or predicate arithmetic, where it has one that a decoder can evaluate again.
    pub eval: Option<(Eval, Type)>,
    /// Source location in force.
    pub loc: Option<LocId>,
    /// Its block.
    pub block: BlockId,
}

impl Inst {
    /// Registers it writes; guarded or not. Writing one element of a register counts as writing and reading it.
    pub fn defs(&self) -> impl Iterator<Item = Reg> + use<> {
        let mut regs = vec![];
        self.for_each_reg(&mut |reg, _, written| regs.extend(written.then_some(reg)));
        regs.into_iter()
    }

    /// Registers it reads: guard, addresses, vector elements, indirect targets and all; one may come twice.
    pub fn uses(&self) -> impl Iterator<Item = Reg> + use<> {
        let mut regs = vec![];
        self.for_each_reg(&mut |reg, read, _| regs.extend(read.then_some(reg)));
        regs.into_iter()
    }

    /// Every register it names, guard first, with whether it is read and whether it is written.
    pub fn for_each_reg(&self, f: &mut impl FnMut(Reg, bool, bool)) {
        if let Some(guard) = self.guard {
            f(guard.reg, true, false);
        }
        for (operand, role) in self.operands.iter().zip(&self.roles) {
            operand.for_each_reg(*role, f);
        }
    }
}

impl Operand {
    /// Every register in it, with whether one in that role is read and whether it is written.
    pub fn for_each_reg(&self, role: Role, f: &mut impl FnMut(Reg, bool, bool)) {
        let (read, written) = match role {
            Role::Def => (false, true),
            Role::UseDef => (true, true),
            Role::Use | Role::Addr | Role::Target | Role::Other => (true, false),
        };
        match self {
            Operand::Reg(r) => f(*r, read, written),
            Operand::Not(r) => f(*r, true, false),
            // A vector keeps its other elements; what is left of a register of which a video instruction writes parts comes from
            // another operand.
            Operand::Element(r, code) => f(*r, !written || Parts::from_code(*code).is_none(), written),
            Operand::Address(Base::Reg(r), _) => f(*r, true, false),
            Operand::Tensor(map, coordinates) => {
                map.for_each_reg(Role::Addr, f);
                coordinates.iter().for_each(|o| o.for_each_reg(Role::Use, f));
            }
            Operand::Vector(list) | Operand::List(list) => list.iter().for_each(|o| o.for_each_reg(role, f)),
            Operand::Pair(a, b) => {
                a.for_each_reg(role, f);
                b.for_each_reg(role, f);
            }
            _ => {}
        }
    }
}

/// Arithmetic that can be evaluated again from operands alone; results wrap to the type's width, as PTX defines them. The
/// first operand is the result, the others are in the instruction's order.
///
/// The type beside it in [`Inst::eval`] is the one that the opcode names first: for `MulWide` and `MadWide` that of the
/// factors (the result is twice as wide), for `Popc` and `Clz` that of the source (the result has 32 bits), for comparisons
/// that of what is compared. Its sign says how to compare, divide, extend and shift right; shifts by the width or more
/// give 0 or the sign. `Mov` can be of a special register or a symbol's address: whether those are known is not said here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are the operations'; PTX ISA defines each")]
#[rustfmt::skip]
pub enum Eval {
    Mov, Add, Sub, Mul, MulHi, MulWide, Mad, MadWide, Div, Rem, And, Or, Xor, Not, Shl, Shr, Neg, Abs, Min, Max,
    Select, Eq, Ne, Lt, Le, Gt, Ge, Popc, Clz, Bfe, Lop3,
    /// `cvt` between integers: from the given type to the destination's.
    Convert(Type),
    /// A load of a kernel parameter at a constant address.
    LoadParam,
}

/// An operand.
#[derive(Clone, PartialEq, Debug)]
pub enum Operand {
    /// A register.
    Reg(Reg),
    /// `!p`.
    Not(Reg),
    /// An integer constant, sign-extended to 64 bits.
    Int(i64),
    /// `0f…`: bits of a binary32.
    F32(u32),
    /// `0d…`, or a decimal with a point: bits of a binary64.
    F64(u64),
    /// A special register with its component, as `%tid.x`, or a named constant (`WARP_SZ`).
    Special(String),
    /// The address of a symbol, plus an offset (`name`, `name+4`); a function's name in calls.
    Symbol(SymbolId, i64),
    /// `[base + offset]`.
    Address(Base, i64),
    /// A tensor-map address with coordinates: `[map, {x, y}]`.
    Tensor(Box<Operand>, Vec<Operand>),
    /// `{a, b, …}`.
    Vector(Vec<Operand>),
    /// `d|p`.
    Pair(Box<Operand>, Box<Operand>),
    /// `_`.
    Sink,
    /// A label of this function.
    Label(BlockId),
    /// `(a, b)` of a call.
    List(Vec<Operand>),
    /// A table of labels declared by `.branchtargets` (or `.calltargets`, a `.callprototype`: empty).
    Targets(Vec<BlockId>),
    /// A vector element of a register, as `%v.x` (0 to 3); in video instructions parts of it, as [`Parts::code`] says.
    Element(Reg, u16),
    /// Not understood: its text.
    Text(Span),
}

/// Parts of operands that a video instruction names: `.b0`, `.h1`, `.h32`, `.b7654` (PTX ISA, Video Instructions).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parts {
    /// Bits of a part: 8 or 16.
    pub bits: u8,
    /// How many are named, 1 to 4.
    pub count: u8,
    /// Which, the last one written first; 0 to 7.
    pub which: [u8; 4],
}

impl Parts {
    /// From the text behind the dot.
    pub fn parse(text: &[u8]) -> Option<Parts> {
        let (bits, digits) = match text {
            [b'b', digits @ ..] => (8, digits),
            [b'h', digits @ ..] => (16, digits),
            _ => return None,
        };
        let mut which = [0; 4];
        for (w, d) in which.iter_mut().zip(digits.iter().rev()) {
            *w = d.checked_sub(b'0').filter(|w| *w < 8)?;
        }
        (1..=4).contains(&digits.len()).then_some(Parts { bits, count: digits.len() as u8, which })
    }
    /// As a number above those of vector elements.
    pub fn code(self) -> u16 {
        let digits = self.which.iter().rev().fold(0, |code, w| code << 3 | u16::from(*w));
        1 << 15 | u16::from(self.bits == 16) << 14 | u16::from(self.count - 1) << 12 | digits
    }
    /// From that number.
    pub fn from_code(code: u16) -> Option<Parts> {
        let which = [0, 3, 6, 9].map(|at| (code >> at & 7) as u8);
        let (bits, count) = (if code >> 14 & 1 == 1 { 16 } else { 8 }, (code >> 12 & 3) as u8 + 1);
        (code >> 15 == 1).then_some(Parts { bits, count, which })
    }
}

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.bits == 16 { "h" } else { "b" })?;
        self.which.iter().take(self.count.into()).rev().try_for_each(|w| write!(f, "{w}"))
    }
}

/// What an address starts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Base {
    /// A register.
    Reg(Reg),
    /// A variable.
    Symbol(SymbolId),
    /// Nothing: the offset is the address.
    Absolute,
}
