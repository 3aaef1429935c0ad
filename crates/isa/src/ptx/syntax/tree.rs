//! The syntax tree: a module as ranges of its text.

use std::ops::Range;
use std::sync::Arc;

use crate::ptx::opcode::Opcode;
use crate::view::{FunctionKind, Span};

/// The syntax tree of a module.
#[derive(Clone, Debug, Default)]
pub struct SyntaxTree<'a> {
    /// Source text of the module.
    pub source: &'a str,
    /// Items at module level, in order.
    pub items: Vec<Item>,
    /// Functions that have a body, in order.
    pub functions: Vec<FunctionSyntax>,
    /// Statements of all functions, in order.
    pub statements: Vec<Statement>,
    /// Every distinct opcode.
    pub forms: Vec<Arc<Opcode>>,
    /// Every `.file` directive, wherever it is.
    pub files: Vec<Span>,
}

impl<'a> SyntaxTree<'a> {
    /// Text of a span.
    pub fn text(&self, span: Span) -> &'a str {
        span.of(self.source)
    }
    /// Statements of a function.
    pub fn body(&self, function: &FunctionSyntax) -> &[Statement] {
        self.statements
            .get(function.statements.start as usize..function.statements.end as usize)
            .unwrap_or_default()
    }
    /// Opcode of an instruction.
    pub fn form(&self, statement: &Statement) -> Option<&Arc<Opcode>> {
        self.forms.get(statement.form as usize)
    }
}

/// An item at module level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Item {
    /// Text of the item.
    pub span: Span,
    /// StatementKind of the item.
    pub kind: ItemKind,
}

/// Kinds of items at module level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ItemKind {
    /// `.version`, `.target`, `.address_size`, `.file`, `.pragma`, `.alias`, and unknown directives.
    Directive,
    /// A section in braces.
    Section,
    /// A variable declaration.
    Variable,
    /// A function with a body, as an index into `Module::functions`.
    Function(u32),
    /// A function declaration without a body.
    Declaration,
    /// Text that the parser does not understand.
    Unknown,
}

/// A function that has a body.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FunctionSyntax {
    /// Whether it is a kernel (`.entry`) or a device function (`.func`).
    pub kind: FunctionKind,
    /// Text from the first directive to the closing brace.
    pub span: Span,
    /// Name of the function.
    pub name: Span,
    /// Return parameters, parentheses included.
    pub returns: Option<Span>,
    /// Parameters, parentheses included; an empty span just after the name if there are none.
    pub params: Span,
    /// Body, braces included.
    pub body: Span,
    /// Indices into `Module::statements`.
    pub statements: Range<u32>,
}

/// A statement of a function body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Statement {
    /// Text of the statement, with its `;` if it has one. A label ends with its `:`.
    pub span: Span,
    /// Offset of the opcode (instructions), or of the statement.
    pub opcode: u32,
    /// Index into `Module::forms` (instructions).
    pub form: u32,
    /// StatementKind of the statement.
    pub kind: StatementKind,
}

/// What a [`Statement`] is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StatementKind {
    /// An instruction, with its guard.
    Inst,
    /// `name:`
    Label,
    /// `{`
    Open,
    /// `}`
    Close,
    /// `.loc`
    Loc,
    /// `.file`
    File,
    /// `.reg`
    Reg,
    /// A variable: `.shared`, `.local`, `.param` …
    Variable,
    /// `.branchtargets`, `.calltargets` or `.callprototype`; its label is the statement before.
    Table,
    /// Any other directive.
    Directive,
    /// Text that the parser does not understand.
    Unknown,
}

/// The span between two positions. Texts whose positions exceed 32 bits were refused before.
pub(in crate::ptx) fn span(start: usize, end: usize) -> Span {
    let narrow = |x: usize| u32::try_from(x).unwrap_or(u32::MAX);
    Span { start: narrow(start), end: narrow(end) }
}
