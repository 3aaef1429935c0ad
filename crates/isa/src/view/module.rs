//! A module: its functions, symbols, source files and source locations.

use super::class::{Class, Role};
use super::function::Function;
use super::ids::{FuncId, LocId, SymbolId};
use super::inst::Inst;
use super::operand::Operand;
use super::span::Span;
use super::types::{Space, Type};

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
