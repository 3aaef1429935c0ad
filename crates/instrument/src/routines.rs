//! Recorder routines, for instruction sets that compile them to machine code.
//!
//! Routines are written once, as the few instructions of PTX that PRLX inserts into PTX. [`Routines`] gives
//! the text of those of a plan, and [`lines`] reads it. A target compiles a line to what its own instructions
//! make of it.
//!
//! | name in a routine | is |
//! |---|---|
//! | `%prlx_…` | a register of the routine, or state that is kept through a kernel |
//! | [`GRID_WARP`] | the register with the number of the warp in the grid |
//! | `%tid.x` and the like | a special register |
//! | another name | a register of the function, as the view has it |
//! | `[prlx_context+8]` with `ld.param` | the hidden parameter, which lies behind the kernel's arguments |
//!
//! Registers of a routine are temporaries ([`temporary_type`]) and those that [`Text::declared`] lists. State
//! is what [`Routines::state`], [`Routines::counters`] and [`Routines::visits`] list.
//! [`Routines::warp_index`] sets [`GRID_WARP`] at the entry.
//!
//! Exchanges between lanes are `activemask`, `vote.sync.ballot`, `match.any.sync` and `redux.sync` of PTX,
//! `mbcnt` (how many lanes of a mask are below this one) and `readfirst` (the value of the lowest lane).
//! Their masks of lanes have as many bits as a wave has lanes. `fence` makes earlier stores of the lanes
//! visible to each other.
//!
//! # Invariants
//! - Branches go forward and stay inside the routine.
//! - A routine at a place is for all lanes that pass the place in the view, whatever EXEC is.

use crate::error::{Error, ErrorKind};
use crate::tokens::span;

pub use crate::ptx::{GRID_WARP, KEPT_SPECIALS, PREFIX, Routines, Text, temporary_type};

/// One line of a routine.
#[derive(Clone, PartialEq, Debug)]
pub enum Line<'a> {
    /// A name that branches go to.
    Label(&'a str),
    /// What is executed.
    Inst(Instruction<'a>),
}

/// An instruction of a routine.
#[derive(Clone, PartialEq, Debug)]
pub struct Instruction<'a> {
    /// The predicate that it needs, and whether it needs it to be false.
    pub guard: Option<(&'a str, bool)>,
    /// The opcode with its modifiers.
    pub op: &'a str,
    /// Operands in the order of the text.
    pub args: Vec<Arg<'a>>,
}

/// What an instruction reads or writes.
#[derive(Clone, PartialEq, Debug)]
pub enum Arg<'a> {
    /// A register or label, by name.
    Name(&'a str),
    /// A predicate that is negated.
    Not(&'a str),
    /// A constant, sign-extended.
    Int(i64),
    /// `{a, b}`.
    Vector(Vec<&'a str>),
    /// `[base+offset]`.
    Address(&'a str, i64),
}

/// Reads a routine.
///
/// # Errors
/// If a line is none. This is a bug in the routine.
pub fn lines(text: &str) -> Result<Vec<Line<'_>>, Error> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(line).collect()
}

fn line(text: &str) -> Result<Line<'_>, Error> {
    let wrong = || Error::new(ErrorKind::Plan, span(0, 0), format!("no line of a routine: `{text}`"));
    if let Some(label) = text.strip_suffix(':') {
        return Ok(Line::Label(label));
    }
    let text = text.strip_suffix(';').ok_or_else(wrong)?;
    let (guard, rest) = match text.strip_prefix('@') {
        Some(rest) => {
            let (name, rest) = rest.split_once(' ').ok_or_else(wrong)?;
            (Some(name.strip_prefix('!').map_or((name, false), |name| (name, true))), rest.trim())
        }
        None => (None, text),
    };
    let (op, args) = rest.split_once(' ').unwrap_or((rest, ""));
    let args = arguments(args).ok_or_else(wrong)?;
    Ok(Line::Inst(Instruction { guard, op, args }))
}

fn arguments(text: &str) -> Option<Vec<Arg<'_>>> {
    let mut out = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (arg, after) = match rest.strip_prefix('{') {
            Some(inner) => {
                let (list, after) = inner.split_once('}')?;
                (Arg::Vector(list.split(',').map(str::trim).collect()), after)
            }
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                let (one, after) = rest.split_at(end);
                (argument(one.trim())?, after)
            }
        };
        out.push(arg);
        rest = after.trim().strip_prefix(',').unwrap_or(after).trim();
    }
    Some(out)
}

fn argument(text: &str) -> Option<Arg<'_>> {
    if let Some(address) = text.strip_prefix('[') {
        let address = address.strip_suffix(']')?;
        return Some(match address.split_once('+') {
            Some((base, offset)) => Arg::Address(base, offset.parse().ok()?),
            None => Arg::Address(address, 0),
        });
    }
    // Bits, as integers or as floating-point values.
    for (prefix, bits) in [("0x", 64), ("0f", 32), ("0d", 64)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            let value = u64::from_str_radix(digits, 16).ok().filter(|value| value >> (bits - 1) >> 1 == 0)?;
            return Some(Arg::Int(value.cast_signed()));
        }
    }
    if text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
        return Some(Arg::Int(text.parse().ok()?));
    }
    Some(text.strip_prefix('!').map_or(Arg::Name(text), Arg::Not))
}

/// The instructions of a routine.
pub fn instructions<'l>(lines: &'l [Line<'l>]) -> impl Iterator<Item = &'l Instruction<'l>> {
    lines.iter().filter_map(|line| match line {
        Line::Inst(inst) => Some(inst),
        Line::Label(_) => None,
    })
}

/// Names that an instruction reads and writes as registers, each with whether it is written.
pub fn mentions<'a>(inst: &'a Instruction<'a>) -> Vec<(&'a str, bool)> {
    let mut out: Vec<(&str, bool)> = inst.guard.iter().map(|(name, _)| (*name, false)).collect();
    let stores = ["st.", "red.", "bra"].iter().any(|op| inst.op.starts_with(op));
    for (i, arg) in inst.args.iter().enumerate() {
        let written = i == 0 && !stores;
        match arg {
            Arg::Name(name) => out.push((name, written)),
            Arg::Not(name) | Arg::Address(name, _) => out.push((name, false)),
            Arg::Vector(list) => out.extend(list.iter().map(|name| (*name, written))),
            Arg::Int(_) => {}
        }
    }
    out
}

/// The name of a register of the routine without the prefix.
pub fn own(name: &str) -> Option<&str> {
    name.strip_prefix('%')?.strip_prefix(PREFIX)
}

#[cfg(test)]
mod tests {
    use super::{Arg, Instruction, Line, lines};

    #[test]
    fn a_routine_has_labels_guards_and_operands() {
        let text = "@!%p_q mov.b64 {%a, %b}, %x;\n$end:\nst.global.u32 [%c+16], -1;\nsetp.ne.or.u32 %q, %a, 0, !s[4:5];";
        let inst = |guard, op, args| Line::Inst(Instruction { guard, op, args });
        let moved = vec![Arg::Vector(vec!["%a", "%b"]), Arg::Name("%x")];
        let stored = vec![Arg::Address("%c", 16), Arg::Int(-1)];
        let tested = vec![Arg::Name("%q"), Arg::Name("%a"), Arg::Int(0), Arg::Not("s[4:5]")];
        let expected = vec![
            inst(Some(("%p_q", true)), "mov.b64", moved),
            Line::Label("$end"),
            inst(None, "st.global.u32", stored),
            inst(None, "setp.ne.or.u32", tested),
        ];
        assert_eq!(lines(text).unwrap(), expected);
        assert!(lines("mov.b32 %a, 1").is_err());
    }
}
