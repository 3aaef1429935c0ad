//! A function with its registers, instructions, basic blocks and markers.

use std::ops::Range;

use super::class::Class;
use super::ids::{BlockId, Reg, SymbolId};
use super::inst::Inst;
use super::marker::Marker;
use super::span::Span;
use super::types::Type;

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
    pub markers: Vec<Marker>,
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
