//! The syntax tree: a module as ranges of its text.

use std::ops::Range;
use std::sync::Arc;

use crate::ptx::opcode::Form;
use crate::view::{FunctionKind, Span};

/// A module's structure.
#[derive(Clone, Debug, Default)]
pub struct Module<'a> {
    /// The text.
    pub source: &'a str,
    /// What it consists of, in order.
    pub items: Vec<Item>,
    /// Functions with a body, in order.
    pub functions: Vec<Function>,
    /// The statements of all functions, in order.
    pub statements: Vec<Statement>,
    /// Every distinct opcode.
    pub forms: Vec<Arc<Form>>,
    /// Every `.file` directive, wherever it is.
    pub files: Vec<Span>,
}

impl<'a> Module<'a> {
    /// The text of a span.
    pub fn text(&self, span: Span) -> &'a str {
        span.of(self.source)
    }
    /// A function's statements.
    pub fn body(&self, function: &Function) -> &[Statement] {
        self.statements
            .get(function.statements.start as usize..function.statements.end as usize)
            .unwrap_or_default()
    }
    /// What an instruction's opcode says.
    pub fn form(&self, statement: &Statement) -> Option<&Arc<Form>> {
        self.forms.get(statement.form as usize)
    }
}

/// Something at module level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Item {
    /// All of it.
    pub span: Span,
    /// What.
    pub kind: ItemKind,
}

/// What an [`Item`] is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ItemKind {
    /// `.version`, `.target`, `.address_size`, `.file`, `.pragma`, `.alias`, and directives that are not known.
    Directive,
    /// A section in braces.
    Section,
    /// A variable.
    Variable,
    /// A function with a body: an index into [`Module::functions`].
    Function(u32),
    /// A function without one.
    Declaration,
    /// Not understood.
    Unknown,
}

/// A function with a body.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Function {
    /// `.entry` or `.func`.
    pub kind: FunctionKind,
    /// From its first directive to the closing brace.
    pub span: Span,
    /// Its name.
    pub name: Span,
    /// Return parameters, parentheses included.
    pub returns: Option<Span>,
    /// Parameters, parentheses included; empty just after the name if there are none.
    pub params: Span,
    /// The body, braces included.
    pub body: Span,
    /// Indices into [`Module::statements`].
    pub statements: Range<u32>,
}

/// A statement of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Statement {
    /// All of it, with its `;` if it has one. A label ends with its `:`.
    pub span: Span,
    /// Where the opcode begins (instructions); else where the statement does.
    pub opcode: u32,
    /// Index into [`Module::forms`] (instructions).
    pub form: u32,
    /// What.
    pub kind: Kind,
}

/// What a [`Statement`] is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
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
    /// Another directive.
    Directive,
    /// Not understood.
    Unknown,
}

/// A span of two positions; the module was refused if they could exceed 32 bits.
pub(in crate::ptx) fn span(start: usize, end: usize) -> Span {
    let narrow = |x: usize| u32::try_from(x).unwrap_or(u32::MAX);
    Span { start: narrow(start), end: narrow(end) }
}
