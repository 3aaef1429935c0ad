//! The instructions of the toy instruction set: what they are, read from text and printed as text.
//!
//! An instruction is a line: an operation with its space, relation and type, then operands, as in
//! `cmp.lt.u32 m0, v1, 7`. [`Op`] lists the operations.
//!
//! | register | holds | written by |
//! |---|---|---|
//! | `v0`, `v1`, … | 32 bits of each lane | the lanes of `exec` |
//! | `d0`, `d1`, … | 64 bits of each lane | the lanes of `exec` |
//! | `s0`, `s1`, … | 32 bits of the wave | the wave |
//! | `m0`, `m1`, … | a mask of lanes | the wave |
//! | `c0`, `c1`, … | a condition of the wave | the wave |
//! | `exec` | the mask of the lanes that run vector operations | the wave |
//!
//! # Invariants
//! What [`Instruction`] prints is read as the same instruction.

use std::fmt;

use prlx_isa::view::{Class, Eval, Type};

/// Declares each operation once: variant, name, number of operands, class and arithmetic in the view, text.
macro_rules! ops { ($($op:ident $name:literal $count:literal $class:ident $eval:expr, $doc:literal;)*) => {
    /// What an instruction does. `T` is a type.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Op { $(#[doc = $doc] $op,)* }

    /// Operations with their names, numbers of operands, classes and arithmetic. A conditional branch and
    /// `cas` have one operand more.
    const OPS: &[(Op, &str, usize, Class, Option<Eval>)] =
        &[$((Op::$op, $name, $count, Class::$class, $eval),)*];
} }

ops! {
    Mov "mov" 2 Move Some(Eval::Mov), "`mov.T to, a`: copies, extends by zeros or takes the low half.";
    Add "add" 3 Integer Some(Eval::Add), "`add.T to, a, b`";
    Sub "sub" 3 Integer Some(Eval::Sub), "`sub.T to, a, b`";
    Mul "mul" 3 Integer Some(Eval::Mul), "`mul.T to, a, b`";
    Div "div" 3 Integer Some(Eval::Div), "`div.T to, a, b`";
    Rem "rem" 3 Integer Some(Eval::Rem), "`rem.T to, a, b`";
    And "and" 3 Integer Some(Eval::And), "`and.T to, a, b`";
    AndNot "andn" 3 Integer None, "`andn.mask to, a, b`: the lanes of `a` that `b` does not have.";
    Or "or" 3 Integer Some(Eval::Or), "`or.T to, a, b`";
    Xor "xor" 3 Integer Some(Eval::Xor), "`xor.T to, a, b`";
    Shl "shl" 3 Integer Some(Eval::Shl), "`shl.T to, a, by`";
    Shr "shr" 3 Integer Some(Eval::Shr), "`shr.T to, a, by`";
    Popc "popc" 2 Integer Some(Eval::Popc), "`popc.T to, a`: how many bits of `a` are set, in 32 bits.";
    Cmp "cmp" 3 Compare None, "`cmp.R.T to, a, b`: a mask, 0 in lanes out of `exec`, or a condition of scalars.";
    Sel "sel" 4 Select Some(Eval::Select), "`sel.T to, a, b, m`: `a` in lanes of the mask, else `b`.";
    Save "save" 2 Move None, "`save.mask to, m`: `to` is what `exec` was, and `exec` keeps the lanes of `m`.";
    Any "any" 2 Warp None, "`any.mask to, m`: the condition that a mask has a lane.";
    Ballot "ballot" 2 Warp None, "`ballot.u64 to, m`: a mask as bits.";
    First "first" 2 Warp None, "`first.u32 to, v`: the value of the lowest lane of `exec`, as a scalar.";
    Arg "arg" 2 Load Some(Eval::LoadParam), "`arg.T to, name`: an argument of the kernel.";
    Load "ld" 2 Load None, "`ld.SPACE.T to, [address]`";
    Store "st" 2 Store None, "`st.SPACE.T [address], from`";
    Atom "atom" 3 Atomic None, "`atom.global.OP.T to, [address], a`: `to` is what memory had. `cas` has two \
        sources: the value to compare with, and the one to store.";
    Branch "br" 1 Branch None, "`br label`, `br c, label`, `br !c, label`: the wave goes there, if `c` holds.";
    Skip "skip" 1 Branch None, "`skip label`: the wave goes forward to the label if `exec` has no lane.";
    Loop "loop" 1 Branch None, "`loop label`: the wave goes back to the label if `exec` has a lane.";
    Barrier "barrier" 0 Sync None, "`barrier`";
    End "end" 0 Exit None, "`end`";
}

/// Relations of comparisons with their names.
#[rustfmt::skip]
pub const RELATIONS: [(&str, Eval); 6] = [
    ("eq", Eval::Eq), ("ne", Eval::Ne), ("lt", Eval::Lt), ("le", Eval::Le), ("gt", Eval::Gt), ("ge", Eval::Ge),
];

/// What an instruction reads or writes.
#[derive(Clone, PartialEq, Debug)]
pub enum Arg {
    /// A register: its bank (`v`, `d`, `s`, `m`, `c`) and number.
    Reg(char, u32),
    /// The mask of the lanes that run vector operations.
    Exec,
    /// A condition that is negated.
    Not(u32),
    /// A constant, sign-extended to 64 bits.
    Int(i64),
    /// A special register, under the name that it has in PTX: `%tid.x`.
    Special(String),
    /// A label, or an argument of the kernel with an offset in bytes.
    Name(String, i64),
    /// `[register+offset]`.
    Address(char, u32, i64),
}

/// An instruction: a line of the text.
#[derive(Clone, PartialEq, Debug)]
pub struct Instruction {
    /// What it does.
    pub op: Op,
    /// What stands between the operation and the type: a space, an atomic operation, a relation.
    pub words: Vec<String>,
    /// The type; of masks `Type::Pred`, and of operations without one `Type::B32`.
    pub ty: Type,
    /// Operands in the order of the text.
    pub args: Vec<Arg>,
}

impl Instruction {
    /// Reads a line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Instruction, String> {
        let (head, args) = text.split_once(' ').unwrap_or((text, ""));
        let mut words = head.split('.');
        let name = words.next().unwrap_or_default();
        let row = OPS.iter().find(|(_, known, ..)| *known == name);
        let (op, _, count, ..) = *row.ok_or_else(|| format!("there is no operation `{name}`"))?;
        let mut words: Vec<String> = words.map(str::to_owned).collect();
        let ty = match words.pop().as_deref() {
            None => Type::B32,
            Some("mask") => Type::Pred,
            Some(ty) => Type::from_name(ty).ok_or_else(|| format!("there is no type `{ty}`"))?,
        };
        let args = args.split(',').map(str::trim).filter(|arg| !arg.is_empty());
        let args = args.map(argument).collect::<Result<Vec<Arg>, String>>()?;
        let inst = Instruction { op, words, ty, args };
        let more = inst.has("cas") || op == Op::Branch && inst.args.len() > 1;
        if inst.args.len() != count + usize::from(more) {
            return Err("it has too few or too many operands".to_owned());
        }
        Ok(inst)
    }

    fn row(&self) -> &'static (Op, &'static str, usize, Class, Option<Eval>) {
        OPS.iter().find(|row| row.0 == self.op).unwrap_or(&OPS[0])
    }

    /// What it does, in one word of the view.
    pub fn class(&self) -> Class {
        self.row().3
    }

    /// Its arithmetic, if it has one result that depends on its operands alone.
    pub fn eval(&self) -> Option<Eval> {
        self.row().4.or_else(|| self.relation())
    }

    /// The operation with its words and its type.
    pub fn opcode(&self) -> String {
        let mut out = self.row().1.to_owned();
        let ty = match (self.op, self.ty) {
            (Op::Branch | Op::Skip | Op::Loop | Op::Barrier | Op::End, _) => None,
            (_, Type::Pred) => Some("mask"),
            (_, ty) => Some(ty.name()),
        };
        for word in self.words.iter().map(String::as_str).chain(ty) {
            out += ".";
            out += word;
        }
        out
    }

    /// Whether a word stands between the operation and the type.
    pub fn has(&self, word: &str) -> bool {
        self.words.iter().any(|own| own == word)
    }

    /// The relation of a comparison.
    pub fn relation(&self) -> Option<Eval> {
        RELATIONS.iter().find(|(name, _)| self.has(name)).map(|(_, relation)| *relation)
    }

    /// Whether only the lanes of `exec` run it.
    pub fn is_vector(&self) -> bool {
        let to = self.args.first();
        match self.op {
            Op::Store => true,
            Op::Cmp => matches!(to, Some(Arg::Reg('m', _))),
            _ => matches!(to, Some(Arg::Reg('v' | 'd', _))),
        }
    }
}

fn argument(text: &str) -> Result<Arg, String> {
    let wrong = || format!("`{text}` is no operand");
    let offset = |text: &str| -> Option<(String, i64)> {
        let Some((name, offset)) = text.split_once('+') else { return Some((text.to_owned(), 0)) };
        Some((name.to_owned(), offset.parse().ok()?))
    };
    if let Some(address) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        let (name, offset) = offset(address).ok_or_else(wrong)?;
        let (bank, number) = register(&name).filter(|(bank, _)| "vd".contains(*bank)).ok_or_else(wrong)?;
        return Ok(Arg::Address(bank, number, offset));
    }
    if let Some(condition) = text.strip_prefix('!') {
        let (_, number) = register(condition).filter(|(bank, _)| *bank == 'c').ok_or_else(wrong)?;
        return Ok(Arg::Not(number));
    }
    if text.starts_with('%') {
        return Ok(Arg::Special(text.to_owned()));
    }
    if text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
        return text.parse().map(Arg::Int).map_err(|_| wrong());
    }
    if text == "exec" {
        return Ok(Arg::Exec);
    }
    match register(text) {
        Some((bank, number)) => Ok(Arg::Reg(bank, number)),
        None => offset(text).map(|(name, offset)| Arg::Name(name, offset)).ok_or_else(wrong),
    }
}

/// The bank and the number of a register.
pub fn register(name: &str) -> Option<(char, u32)> {
    let bank = name.chars().next().filter(|bank| "vdsmc".contains(*bank))?;
    let number = name.get(1..)?;
    let canonical = number == "0" || !number.starts_with(['0', '+']);
    Some((bank, number.parse().ok().filter(|_| canonical)?))
}

/// An offset as text: nothing if it is 0.
fn plus(offset: i64) -> String {
    if offset == 0 { String::new() } else { format!("+{offset}") }
}

impl fmt::Display for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arg::Reg(bank, number) => write!(f, "{bank}{number}"),
            Arg::Exec => f.write_str("exec"),
            Arg::Not(number) => write!(f, "!c{number}"),
            Arg::Int(value) => write!(f, "{value}"),
            Arg::Special(name) => f.write_str(name),
            Arg::Name(name, offset) => write!(f, "{name}{}", plus(*offset)),
            Arg::Address(bank, number, offset) => write!(f, "[{bank}{number}{}]", plus(*offset)),
        }
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.opcode())?;
        for (i, arg) in self.args.iter().enumerate() {
            write!(f, "{} {arg}", if i > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}
