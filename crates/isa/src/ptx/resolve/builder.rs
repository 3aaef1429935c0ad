//! The state while a module is resolved, and the declarations that module level and function bodies share.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::scopes::Names;
use crate::ptx::syntax::declaration;
use crate::ptx::syntax::tree::{SyntaxTree, span};
use crate::view::{self, Diagnostic, FuncId, LocId, Semantics, Span, Symbol, SymbolId};

/// The state while the view of a module is built.
pub(super) struct Builder<'p, 'a> {
    pub m: &'p SyntaxTree<'a>,
    pub names: Names<'a>,
    pub diagnostics: Vec<Diagnostic>,
    pub out: view::Module,
    /// Index of each file, by its `.file` number.
    pub files: FxHashMap<u32, u32>,
    /// Locations by file, line, column, inlined function (an index into `inlined`) and call site.
    pub locs: FxHashMap<(u32, u32, u32, u32, Option<LocId>), LocId>,
    /// Names of inlined functions; the first is empty.
    pub inlined: Vec<String>,
    /// Index into `inlined`, by label in `.debug_str` and offset from it.
    pub labels: FxHashMap<(&'a str, usize), u32>,
    /// What each opcode says, once computed.
    pub semantics: Vec<Option<Arc<Semantics>>>,
    /// In the current function: the latest location, by file number, line and column.
    pub places: FxHashMap<(u32, u32, u32), LocId>,
    /// The strings of `.debug_str` with their labels; read when first needed.
    pub strings: Option<(Vec<u8>, FxHashMap<&'a str, usize>)>,
    /// Bytes of initial values that may still be stored.
    pub budget: usize,
}

impl<'a> Builder<'_, 'a> {
    /// Adds a remark.
    pub(super) fn diagnose(&mut self, span: Span, message: &str) {
        self.add(Diagnostic { span, message: message.to_owned(), invalid: false });
    }

    /// Adds a reason for which every assembler refuses the module.
    pub(super) fn refuse(&mut self, span: Span, message: &str) {
        self.add(Diagnostic { span, message: message.to_owned(), invalid: true });
    }

    fn add(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < 1000 {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Reports the names that were declared twice in one scope, the second time at `span`.
    pub(super) fn refuse_duplicates(&mut self, span: Span) {
        for name in std::mem::take(&mut self.names.duplicates) {
            self.refuse(span, &format!("`{name}` is declared twice in this scope"));
        }
    }

    pub(super) fn new_symbol(&mut self, symbol: Symbol) -> SymbolId {
        let id = SymbolId(span(0, self.out.symbols.len()).end);
        self.out.symbols.push(symbol);
        id
    }

    /// Declares variables. Returns those with initial values, which are read once all names are known.
    #[allow(clippy::type_complexity, reason = "used in one place, taken apart there")]
    pub(super) fn variables(
        &mut self,
        whole: Span,
        end: usize,
        owner: Option<FuncId>,
    ) -> Vec<(SymbolId, Span, u64, Vec<u64>)> {
        let d = declaration::read(self.m.source, whole.start as usize, end);
        let mut inits = vec![];
        for one in &d.declarators {
            let count = one.family.map_or(1, |n| n.min(u64::from(whole.end - whole.start) * 16));
            for n in 0..count {
                let name =
                    if one.family.is_some() { format!("{}{n}", one.name) } else { one.name.to_owned() };
                let id = self.new_symbol(Symbol {
                    name,
                    space: d.space.unwrap_or_default(),
                    ty: d.ty,
                    size: d.size(one),
                    align: d.alignment(),
                    owner,
                    external: d.external,
                    span: whole,
                    ..Symbol::default()
                });
                if one.family.is_none() {
                    match owner {
                        Some(_) => self.names.symbol(one.name, id),
                        None => {
                            let old = self.names.globals.insert(one.name, id);
                            let old = old.and_then(|old| self.out.symbols.get(old.index()));
                            if old.is_some_and(|old| old.is_function || !old.external && !d.external) {
                                self.refuse(whole, &format!("`{}` is declared twice", one.name));
                            }
                        }
                    }
                }
                if let Some(init) = one.init {
                    let mut dims = one.dims.clone();
                    if d.lanes > 1 {
                        dims.push(u64::from(d.lanes));
                    }
                    inits.push((id, init, u64::from(d.ty.bytes()), dims));
                }
            }
        }
        inits
    }
}

/// The end of a statement's text, without the `;`.
pub(super) fn before_semicolon(m: &SyntaxTree<'_>, span: Span) -> usize {
    let end = span.end as usize;
    end - usize::from(m.text(span).ends_with(';'))
}
