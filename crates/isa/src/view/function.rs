//! A function with its registers, instructions, basic blocks and markers.

use std::ops::Range;

use super::class::Class;
use super::ids::{BlockId, Reg, SymbolId};
use super::inst::Inst;
use super::marker::Marker;
use super::operand::Operand;
use super::span::Span;
use super::types::Type;

/// Whether a function is a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FunctionKind {
    /// `.entry`: the host can launch it.
    #[default]
    Kernel,
    /// `.func`: other functions call it.
    Device,
}

/// A function that has a body.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// Name as written in the source.
    pub name: String,
    /// Whether it is a kernel or a device function.
    pub kind: FunctionKind,
    /// Text from the first directive to the closing brace.
    pub span: Span,
    /// Text of the parameter list, parentheses included; an empty span just after the name if there is none.
    pub params_span: Span,
    /// Text of the return parameters of a device function, parentheses included.
    pub returns_span: Option<Span>,
    /// Text of the body, braces included.
    pub body: Span,
    /// Parameters: symbols in `Space::Param` (or registers, see `reg_params`).
    pub params: Vec<SymbolId>,
    /// Return parameters, in the order of the list.
    pub returns: Vec<SymbolId>,
    /// Registers of the parameters and return parameters that are declared `.reg`.
    pub reg_params: Vec<Reg>,
    /// Byte offset of each of `params` in the parameter buffer: in order, naturally aligned (PTX ISA, 5.1.6
    /// Parameter State Space).
    pub param_offsets: Vec<u32>,
    /// `.maxntid`, `.reqntid`, `.minnctapersm`, `.maxnreg` …: name without the dot, values.
    pub limits: Vec<(String, Vec<u32>)>,
    /// Registers of all scopes.
    pub regs: Vec<RegInfo>,
    /// Instructions in source order.
    pub insts: Vec<Inst>,
    /// Basic blocks in source order.
    pub blocks: Vec<Block>,
    /// Markers, in source order.
    pub markers: Vec<Marker>,
    /// Why it is not known where control goes in the function, if it is not: the instruction and its place.
    /// The blocks then have fewer successors than there are.
    pub unknown_control: Option<String>,
}

impl Function {
    /// Instructions of a basic block.
    pub fn block(&self, block: BlockId) -> &[Inst] {
        let range =
            self.blocks.get(block.index()).map_or(0..0, |b| b.insts.start as usize..b.insts.end as usize);
        self.insts.get(range).unwrap_or_default()
    }

    /// Whether the function reads `%envreg1` or `%envreg2`. In a cooperative launch, they hold the address of
    /// the workspace of the grid barrier (`cooperative_groups/details/driver_abi.h` of CUDA).
    pub fn reads_grid_workspace(&self) -> bool {
        let workspace = |o: &Operand| matches!(o, Operand::Special(s) if s == "%envreg1" || s == "%envreg2");
        self.insts.iter().any(|i| i.operands.iter().any(workspace))
    }

    /// Whether control can leave the function from a block: the block ends in a return, exit or trap (guarded
    /// or not), or no block follows.
    pub fn leaves(&self, block: BlockId) -> bool {
        let last = self.block(block).last();
        if last.is_some_and(|i| matches!(i.class, Class::Return | Class::Exit)) {
            return true;
        }
        let is_last = block.index() + 1 == self.blocks.len();
        let falls =
            last.is_none_or(|i| !matches!(i.class, Class::Branch | Class::Switch) || i.guard.is_some());
        // A block without a known successor counts as leaving the function.
        is_last && falls || self.blocks.get(block.index()).is_none_or(|b| b.succs.is_empty())
    }
}

/// A register of a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RegInfo {
    /// Name; two scopes may declare the same name.
    pub name: String,
    /// Type as declared.
    pub ty: Type,
    /// Text range in which the name refers to this register: from the declaration to the end of its scope.
    pub scope: Span,
}

/// A basic block.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// Indices of its instructions.
    pub insts: Range<u32>,
    /// Successors. For a guarded branch: first the target, then the next block. Empty: control leaves the
    /// function.
    pub succs: Vec<BlockId>,
    /// Predecessors, in source order.
    pub preds: Vec<BlockId>,
}
