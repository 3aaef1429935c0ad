//! Labels of a function by scope, collected before its instructions are read: labels are used before they
//! stand.

use crate::ptx::syntax::scan;
use crate::ptx::syntax::tree::{FunctionSyntax, Statement, StatementKind, SyntaxTree};
use crate::view::Operand;

/// A label of the function.
#[derive(Clone, Default)]
pub(super) struct Label {
    /// Index of the instruction that follows it.
    pub at: u32,
    /// Labels of the table that it names, if any.
    pub table: Option<Vec<u32>>,
    /// Whether an instruction or a table names it.
    pub named: bool,
}

/// Labels by scope. They are collected first, because they are used before they are declared.
pub(super) struct LabelScopes<'a> {
    /// Labels of each scope, in the order in which scopes open: name and number.
    pub labels: Vec<Vec<(&'a str, u32)>>,
    /// End of each scope.
    pub ends: Vec<u32>,
}

pub(super) fn label_scopes<'a>(m: &SyntaxTree<'a>, f: &FunctionSyntax) -> LabelScopes<'a> {
    let mut s = LabelScopes { labels: vec![vec![]], ends: vec![f.body.end] };
    let mut open = vec![0usize];
    let mut count = 0u32;
    for statement in m.body(f) {
        match statement.kind {
            StatementKind::Open => {
                open.push(s.labels.len());
                s.labels.push(vec![]);
                s.ends.push(f.body.end);
            }
            StatementKind::Close => {
                if let Some(scope) = open.pop() {
                    s.ends[scope] = statement.span.start;
                }
            }
            StatementKind::Label => {
                if let Some(scope) = open.last() {
                    s.labels[*scope].push((label_name(m, statement), count));
                }
                count += 1;
            }
            _ => {}
        }
    }
    s
}

pub(super) fn label_name<'a>(m: &SyntaxTree<'a>, statement: &Statement) -> &'a str {
    let text = m.text(statement.span);
    text.get(..scan::opcode(text.as_bytes(), 0)).unwrap_or_default()
}

/// Marks the labels that operands name.
pub(super) fn mark_named(operands: &[Operand], labels: &mut [Label]) {
    for operand in operands {
        if let Operand::Label(label) = operand
            && let Some(label) = labels.get_mut(label.index())
        {
            label.named = true;
        }
    }
}
