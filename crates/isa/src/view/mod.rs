//! The neutral view of a module: one shape of functions, instructions and operands for every instruction set.
//!
//! Names are resolved: registers by scope, labels to basic blocks, symbols to the module's table. Nothing is
//! lowered, merged or reordered. [`Class`], [`Role`], [`Eval`] and [`Semantics`] say what an instruction
//! does.
//!
//! # Invariants
//! - Instructions are in source order. Basic blocks partition them in that order. Block 0 is the entry.
//! - Every branch ends its block. So does every instruction that may end its thread (`ret`, `exit`, `trap`),
//!   guarded or not. Calls do not end a block.
//! - Instructions that no path reaches still belong to a block.
//!
//! # Limitations
//! The view is not checked for validity. That is the assembler's task.

mod class;
mod display;
mod function;
mod ids;
mod inst;
mod marker;
mod module;
mod operand;
mod semantics;
mod span;
mod types;

pub use class::{Class, Eval, Role};
pub use function::{Block, Function, FunctionKind, RegInfo};
pub use ids::{BlockId, FuncId, InstId, LocId, Reg, SymbolId};
pub use inst::{Guard, Inst};
pub use marker::{Marker, MarkerKind, PassedBy};
pub use module::{File, Loc, Module, Symbol};
pub use operand::{Base, Operand, VideoSelector};
pub use semantics::{
    Access, Async, AsyncStep, Atomic, Barrier, Comparison, CopiedBytes, Derived, Effect, Expr, Native,
    OperandOrder, Order, Participants, Product, Queue, Scope, Semantics,
};
pub use span::{Diagnostic, Span};
pub use types::{Space, Type};
