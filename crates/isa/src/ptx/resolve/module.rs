//! From the syntax tree of a module to the neutral view: symbols, files, and functions with their parameters.
//!
//! Bodies, locations and initial values are in the modules beside this one.
//!
//! # Invariants
//! Functions that the caller does not want cost only their name.
//!
//! # Limitations
//! Attributes (`.managed`, `.unified`) and linkage other than `.extern` are ignored.

use rustc_hash::FxHashMap;

use super::builder::{Builder, before_semicolon};
use super::scopes::Names;
use crate::ptx::syntax::header::header;
use crate::ptx::syntax::parser;
use crate::ptx::syntax::tree::{self, Item, ItemKind, SyntaxTree, span};
use crate::ptx::syntax::{constant, declaration, scan};
use crate::view::{self, Diagnostic, File, FuncId, Function, Reg, Space, Span, Symbol, SymbolId};

/// Parses a module and resolves all of its functions.
pub fn read(source: &str) -> (view::Module, Vec<Diagnostic>) {
    let (module, mut diagnostics) = parser::parse(source);
    let (view, more) = view(&module);
    diagnostics.extend(more);
    (view, diagnostics)
}

/// Resolves all functions of a module.
pub fn view(m: &SyntaxTree<'_>) -> (view::Module, Vec<Diagnostic>) {
    view_of(m, |_| true)
}

/// Resolves the functions of a module whose names are wanted.
pub fn view_of(m: &SyntaxTree<'_>, wanted: impl Fn(&str) -> bool) -> (view::Module, Vec<Diagnostic>) {
    let mut b = Builder {
        m,
        names: Names::default(),
        diagnostics: vec![],
        out: view::Module {
            text: m.source.into(),
            digest: crate::digest(m.source.as_bytes()),
            warp_lanes: 32,
            ..view::Module::default()
        },
        files: FxHashMap::default(),
        locs: FxHashMap::default(),
        inlined: vec![String::new()],
        labels: FxHashMap::default(),
        semantics: vec![None; m.forms.len()],
        places: FxHashMap::default(),
        strings: None,
        budget: m.source.len().saturating_mul(64).saturating_add(1 << 24),
    };
    b.module(wanted);
    (b.out, b.diagnostics)
}

impl<'a> Builder<'_, 'a> {
    fn module(&mut self, wanted: impl Fn(&str) -> bool) {
        let m = self.m;
        for file in &m.files {
            self.file(*file);
        }
        let mut chosen = vec![];
        let mut inits = vec![];
        let mut aliases = vec![];
        for item in &m.items {
            match item.kind {
                ItemKind::Directive if m.text(item.span).starts_with(".alias") => aliases.push(item.span),
                ItemKind::Directive => self.directive(*item),
                ItemKind::Variable => {
                    let end = before_semicolon(m, item.span);
                    inits.extend(self.variables(item.span, end, None));
                }
                ItemKind::Declaration => {
                    if let Some(keyword) = keyword(m, item.span) {
                        let h = header(m.source.as_bytes(), keyword);
                        self.function_symbol(h.name, item.span, None);
                    }
                }
                ItemKind::Function(n) => {
                    let Some(f) = m.functions.get(n as usize) else { continue };
                    let id = wanted(m.text(f.name)).then(|| {
                        chosen.push(f);
                        FuncId(span(0, chosen.len() - 1).end)
                    });
                    self.function_symbol(f.name, f.span, id);
                }
                ItemKind::Section | ItemKind::Unknown => {}
            }
        }
        for alias in aliases {
            self.alias(alias);
        }
        for (symbol, init, unit, dims) in inits {
            self.initial(symbol, init, unit, &dims);
        }
        for (n, f) in chosen.into_iter().enumerate() {
            let function = self.function(f, FuncId(span(0, n).end));
            self.out.functions.push(function);
        }
    }

    fn directive(&mut self, item: Item) {
        let text = self.m.text(item.span);
        if let Some(rest) = text.strip_prefix(".version") {
            let b = rest.as_bytes();
            let at = scan::trivia(b, 0);
            let word = rest.get(at..scan::opcode(b, at)).unwrap_or_default();
            let (major, minor) = word.split_once('.').unwrap_or((word, "0"));
            if self.out.version != (0, 0) {
                self.refuse(item.span, "a second `.version`");
            }
            self.out.version = (major.parse().unwrap_or(0), minor.parse().unwrap_or(0));
        } else if let Some(rest) = text.strip_prefix(".target") {
            let b = rest.as_bytes();
            let at = scan::trivia(b, 0);
            self.out.target = rest.get(at..scan::name(b, at)).unwrap_or_default().to_owned();
            self.out.debug = rest.split(',').any(|word| word.trim() == "debug");
        }
    }

    /// Resolves `.alias name, function;`: `name`, declared before, refers to that function.
    fn alias(&mut self, at: Span) {
        let text = self.m.text(at);
        let b = text.as_bytes();
        let start = scan::trivia(b, ".alias".len());
        let end = scan::name(b, start);
        let other = scan::trivia(b, (scan::trivia(b, end) + 1).min(b.len()));
        let of = |i: usize, j: usize| text.get(i..j).and_then(|name| self.names.globals.get(name)).copied();
        let (Some(alias), Some(function)) = (of(start, end), of(other, scan::name(b, other))) else {
            return self.diagnose(at, "an alias of names that are not declared");
        };
        self.out.symbols[alias.index()].function = self.out.symbols[function.index()].function;
    }

    fn file(&mut self, at: Span) {
        let text = self.m.text(at);
        let b = text.as_bytes();
        let start = scan::trivia(b, ".file".len());
        let end = scan::name(b, start);
        let quote = scan::trivia(b, end);
        let Some(number) = text.get(start..end).and_then(|n| n.parse().ok()) else { return };
        let path = match b.get(quote) {
            Some(b'"') => text.get(quote + 1..scan::string(b, quote).saturating_sub(1).max(quote + 1)),
            _ => None,
        };
        let index = span(0, self.out.files.len()).end;
        self.files.insert(number, index);
        self.out.files.push(File { number, path: path.unwrap_or_default().to_owned() });
    }

    /// Adds the symbol of a function. Declaration and definition share one symbol.
    fn function_symbol(&mut self, name: Span, whole: Span, function: Option<FuncId>) {
        let text = self.m.text(name);
        if text.is_empty() {
            return;
        }
        if let Some(id) = self.names.globals.get(text) {
            let symbol = &mut self.out.symbols[id.index()];
            let twice = function.is_some() && symbol.function.is_some() || !symbol.is_function;
            if function.is_some() {
                symbol.function = function;
                symbol.span = whole;
            }
            if twice {
                self.refuse(name, &format!("`{text}` is declared twice"));
            }
            return;
        }
        let external = self.m.text(whole).starts_with(".extern");
        let symbol = Symbol {
            name: text.to_owned(),
            is_function: true,
            function,
            external,
            span: whole,
            ..Symbol::default()
        };
        let id = self.new_symbol(symbol);
        self.names.globals.insert(text, id);
    }

    fn function(&mut self, f: &tree::FunctionSyntax, id: FuncId) -> Function {
        self.names.reset();
        self.places.clear();
        let mut out = Function {
            name: self.m.text(f.name).to_owned(),
            kind: f.kind,
            span: f.span,
            params_span: f.params,
            returns_span: f.returns,
            body: f.body,
            ..Function::default()
        };
        let body = Span { start: f.body.start, end: f.body.end };
        let mut offset = 0u32;
        for (symbol, reg) in self.params(f.params, id, body) {
            let s = &self.out.symbols[symbol.index()];
            let size = u32::try_from(s.size).unwrap_or(u32::MAX);
            let align = s.align.max(1);
            offset = offset.checked_next_multiple_of(align).unwrap_or(u32::MAX);
            out.params.push(symbol);
            out.param_offsets.push(offset);
            offset = offset.saturating_add(size);
            out.reg_params.extend(reg);
        }
        if let Some(returns) = f.returns {
            for (symbol, reg) in self.params(returns, id, body) {
                out.returns.push(symbol);
                out.reg_params.extend(reg);
            }
        }
        self.refuse_duplicates(f.name);
        out.limits = self.limits(f);
        self.body(f, id, &mut out);
        out
    }

    /// Declares the parameters of a list.
    fn params(&mut self, list: Span, id: FuncId, scope: Span) -> Vec<(SymbolId, Option<Reg>)> {
        let source = self.m.source;
        let b = source.as_bytes();
        let mut declared = vec![];
        if list.end <= list.start + 1 {
            return declared;
        }
        let close = list.end as usize - usize::from(b.get(list.end as usize - 1) == Some(&b')'));
        let mut i = list.start as usize + 1;
        while i < close {
            let start = scan::trivia(&b[..close], i);
            let mut end = start;
            let mut depth = 0i32;
            loop {
                end = scan::trivia(&b[..close], end);
                match b[..close].get(end) {
                    None => break,
                    Some(b',') if depth <= 0 => break,
                    Some(b'(' | b'[') => depth += 1,
                    Some(b')' | b']') => depth -= 1,
                    _ => {}
                }
                end += 1;
            }
            let end = end.min(close);
            let d = declaration::read(source, start, end);
            for one in &d.declarators {
                let space = d.space.unwrap_or(Space::Param);
                let symbol = self.new_symbol(Symbol {
                    name: one.name.to_owned(),
                    space,
                    ty: d.ty,
                    size: d.size(one),
                    align: d.alignment(),
                    owner: Some(id),
                    span: span(start, end),
                    ..Symbol::default()
                });
                let reg = if space == Space::Reg {
                    Some(self.names.register(one.name, d.ty, scope))
                } else {
                    self.names.symbol(one.name, symbol);
                    None
                };
                declared.push((symbol, reg));
            }
            i = end + 1;
        }
        declared
    }

    /// Reads the performance directives between parameters and body (PTX ISA, 11.4 Performance-Tuning
    /// Directives).
    fn limits(&self, f: &tree::FunctionSyntax) -> Vec<(String, Vec<u32>)> {
        let source = self.m.source;
        let b = &source.as_bytes()[..f.body.start as usize];
        let mut limits: Vec<(String, Vec<u32>)> = vec![];
        let mut i = f.params.end as usize;
        loop {
            i = scan::trivia(b, i);
            let Some(c) = b.get(i) else { return limits };
            let end = match c {
                b'.' => {
                    let end = scan::name(b, i + 1);
                    limits.push((source.get(i + 1..end).unwrap_or_default().to_owned(), vec![]));
                    end
                }
                b'"' => scan::string(b, i),
                c if c.is_ascii_digit() => {
                    let read = constant::integer(b, i);
                    if let (Some((n, _)), Some((_, values))) = (read, limits.last_mut()) {
                        values.extend(u32::try_from(n));
                    }
                    read.map_or(i, |(_, end)| end)
                }
                _ => i,
            };
            i = end.max(i + 1);
        }
    }
}

/// The position just after the `.entry` or `.func` of a declaration.
fn keyword(m: &SyntaxTree<'_>, item: Span) -> Option<usize> {
    let b = m.source.as_bytes();
    let mut i = item.start as usize;
    while i < item.end as usize && b.get(i) == Some(&b'.') {
        let end = scan::name(b, i + 1);
        if matches!(&b[i + 1..end], b"entry" | b"func") {
            return Some(end);
        }
        i = scan::trivia(b, end);
    }
    None
}
