//! A module: its functions, symbols, source files and source locations.

use std::sync::Arc;

use super::class::{Class, Role};
use super::function::{Function, FunctionKind};
use super::ids::{FuncId, LocId, SymbolId};
use super::inst::Inst;
use super::operand::Operand;
use super::span::Span;
use super::types::{Space, Type};

/// A module: everything that one PTX text, or one code object, declares.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// The text that spans are ranges of: the source of PTX, or the disassembly of machine code.
    pub text: Arc<str>,
    /// The digest (XXH3) of the bytes that were read; it identifies the module.
    pub digest: u128,
    /// Target architecture, as `sm_80`.
    pub target: String,
    /// Whether the module is for debugging (`.target …, debug`): the assembler then does not optimise it.
    pub debug: bool,
    /// Number of lanes of the warps that run the code: 32 or 64.
    pub warp_lanes: u32,
    /// Version of the PTX ISA, as `(8, 7)`.
    pub version: (u32, u32),
    /// Functions that have a body, in source order.
    pub functions: Vec<Function>,
    /// Variables and functions that a name can refer to.
    pub symbols: Vec<Symbol>,
    /// Source files of the debug information.
    pub files: Vec<File>,
    /// Source locations, each stored once.
    pub locs: Vec<Loc>,
}

impl Module {
    /// The function with this name, if it has a body.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|f| f.name == name)
    }
    /// The function that an instruction calls by name, if that function has a body in this module.
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
    /// Whether a kernel may read the address of the workspace of the grid barrier
    /// ([`Function::reads_grid_workspace`]). Every function that is not a kernel counts as called.
    pub fn reads_grid_workspace(&self, kernel: &str) -> bool {
        let mut bodies = self.functions.iter().filter(|f| f.kind != FunctionKind::Kernel || f.name == kernel);
        bodies.any(Function::reads_grid_workspace)
    }
    /// Whether a function may call itself, directly, through other functions, or through a pointer. The
    /// assembler cannot compute the stack size of such a module.
    pub fn recursive(&self) -> bool {
        let callees = |f: &Function| -> Option<Vec<usize>> {
            let calls = f.insts.iter().filter(|i| i.class == Class::Call);
            // A function without a body here (`vprintf`, `malloc`) calls none of the module's functions. A
            // register may hold the address of any function.
            let named =
                |i: &Inst| if i.calls_pointer() { None } else { Some(self.callee(i).map(FuncId::index)) };
            calls.map(named).collect::<Option<Vec<_>>>().map(|c| c.into_iter().flatten().collect())
        };
        let Some(calls) = self.functions.iter().map(callees).collect::<Option<Vec<_>>>() else { return true };
        // A function is done once all its callees are done. Functions that remain call in a circle, or reach
        // such a circle.
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

/// A source file of the debug information.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct File {
    /// Number that `.loc` uses for it.
    pub number: u32,
    /// Path as written in the `.file` directive.
    pub path: String,
}

/// A position in the source program, with the function inlined there.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Loc {
    /// Index into [`Module::files`] (not the number of the `.file` directive).
    pub file: u32,
    /// Line number, from 1.
    pub line: u32,
    /// Column number, from 1; 0: unknown.
    pub column: u32,
    /// Name of the inlined function that the line belongs to; empty for the function's own lines.
    pub function: String,
    /// Location of the call that was inlined.
    pub inlined_at: Option<LocId>,
}

/// A variable or function that a name can refer to.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Symbol {
    /// Name as written in the source.
    pub name: String,
    /// State space of the variable. Functions have [`Space::Generic`].
    pub space: Space,
    /// Type of one element.
    pub ty: Type,
    /// Size in bytes; 0 for `extern` arrays without a size (dynamic shared memory).
    pub size: u64,
    /// Alignment in bytes.
    pub align: u32,
    /// Function whose body declares it; `None`: the module declares it.
    pub owner: Option<FuncId>,
    /// The function it names, if that function has a body here.
    pub function: Option<FuncId>,
    /// Whether it is a function, with or without a body.
    pub is_function: bool,
    /// Whether it is declared `.extern`.
    pub external: bool,
    /// Initial value, bytes; zeros follow up to `size`.
    pub init: Vec<u8>,
    /// Addresses inside `init`: byte offset, symbol, addend, and whether it is written `generic(…)`. Each is
    /// as wide as an element, or 8 bytes where the elements are single bytes (a packed structure).
    pub relocs: Vec<(u64, SymbolId, i64, bool)>,
    /// Text of the declaration.
    pub span: Span,
}

impl Symbol {
    /// Whether it is a function of CUDA's device runtime that launches a kernel from a kernel, or that gets
    /// memory for the parameters of one: of the first version or of the second (CDP2).
    pub fn launches_kernels(&self) -> bool {
        let name = self.name.strip_prefix("__cudaCDP2").or_else(|| self.name.strip_prefix("cuda"));
        name.is_some_and(|name| name.starts_with("LaunchDevice") || name.starts_with("GetParameterBuffer"))
    }
}
