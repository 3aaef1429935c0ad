//! From a module's structure to the neutral view: symbols with their initial values, files, locations, functions.
//!
//! Holds: functions that are not wanted cost only their name; initial values take memory in proportion to the text.
//! Misses: `.alias` (the alias has no symbol), initial values that are parts of addresses (`mask(…)`), and what textures
//! and samplers are initialised with.

use std::collections::HashMap;

use super::names::Names;
use super::parse::{self, Item, ItemKind, Module, span};
use super::{constant, declare, scan};
use crate::view::{self, Diagnostic, File, FuncId, Function, Loc, LocId, Reg, Space, Span, Symbol, SymbolId};

/// Reads a module into the neutral view.
pub fn read(source: &str) -> (view::Module, Vec<Diagnostic>) {
    let (module, mut diagnostics) = parse::parse(source);
    let (view, more) = view(&module);
    diagnostics.extend(more);
    (view, diagnostics)
}

/// The neutral view of a module.
pub fn view(m: &Module<'_>) -> (view::Module, Vec<Diagnostic>) {
    view_of(m, |_| true)
}

/// The neutral view of a module, of its functions only those whose name is wanted.
pub fn view_of(m: &Module<'_>, wanted: impl Fn(&str) -> bool) -> (view::Module, Vec<Diagnostic>) {
    let mut b = Builder {
        m,
        names: Names::default(),
        diagnostics: vec![],
        out: view::Module::default(),
        files: HashMap::new(),
        locs: HashMap::new(),
        inlined: vec![String::new()],
        labels: HashMap::new(),
        kinds: vec![None; m.forms.len()],
        places: HashMap::new(),
        strings: None,
        budget: m.source.len().saturating_mul(64).saturating_add(1 << 24),
    };
    b.module(wanted);
    (b.out, b.diagnostics)
}

/// What is known while the view is made.
pub(super) struct Builder<'p, 'a> {
    pub m: &'p Module<'a>,
    pub names: Names<'a>,
    pub diagnostics: Vec<Diagnostic>,
    pub out: view::Module,
    /// `.file` number to index.
    files: HashMap<u32, u32>,
    /// By file, line, column, inlined function (an index into `inlined`), and where.
    locs: HashMap<(u32, u32, u32, u32, Option<LocId>), LocId>,
    /// Names of inlined functions; the first is empty.
    inlined: Vec<String>,
    /// By label in the strings, and offset: which of `inlined`.
    labels: HashMap<(&'a str, usize), u32>,
    /// By form: its class and space, once they are asked for.
    pub kinds: Vec<Option<(view::Class, Space)>>,
    /// In the function at hand: file, line and column (as numbered in the text) to the latest location there.
    places: HashMap<(u32, u32, u32), LocId>,
    /// The strings of `.debug_str` with their labels; read when first needed.
    strings: Option<(Vec<u8>, HashMap<&'a str, usize>)>,
    /// Bytes of initial values that may still be made.
    budget: usize,
}

impl<'a> Builder<'_, 'a> {
    pub(super) fn say(&mut self, span: Span, message: &str) {
        if self.diagnostics.len() < 1000 {
            self.diagnostics.push(Diagnostic { span, message: message.to_owned() });
        }
    }

    fn module(&mut self, wanted: impl Fn(&str) -> bool) {
        let m = self.m;
        for file in &m.files {
            self.file(*file);
        }
        let mut chosen = vec![];
        let mut inits = vec![];
        for item in &m.items {
            match item.kind {
                ItemKind::Directive => self.directive(*item),
                ItemKind::Variable => {
                    let end = super::body::before_semicolon(m, item.span);
                    inits.extend(self.variables(item.span, end, None));
                }
                ItemKind::Declaration => {
                    if let Some(keyword) = keyword(m, item.span) {
                        let h = parse::header(m.source.as_bytes(), keyword);
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
        for (symbol, init, unit, lanes, dims) in inits {
            self.initial(symbol, init, unit, lanes, &dims);
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
            self.out.version = (major.parse().unwrap_or(0), minor.parse().unwrap_or(0));
        } else if let Some(rest) = text.strip_prefix(".target") {
            let b = rest.as_bytes();
            let at = scan::trivia(b, 0);
            self.out.target = rest.get(at..scan::name(b, at)).unwrap_or_default().to_owned();
        }
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

    fn new_symbol(&mut self, symbol: Symbol) -> SymbolId {
        let id = SymbolId(span(0, self.out.symbols.len()).end);
        self.out.symbols.push(symbol);
        id
    }

    /// A function's name; declared and defined it is one symbol.
    fn function_symbol(&mut self, name: Span, whole: Span, function: Option<FuncId>) {
        let text = self.m.text(name);
        if text.is_empty() {
            return;
        }
        if let Some(id) = self.names.globals.get(text) {
            let symbol = &mut self.out.symbols[id.index()];
            if function.is_some() {
                symbol.function = function;
                symbol.span = whole;
            }
            return;
        }
        let external = self.m.text(whole).starts_with(".extern");
        let symbol =
            Symbol { name: text.to_owned(), is_function: true, function, external, span: whole, ..Symbol::default() };
        let id = self.new_symbol(symbol);
        self.names.globals.insert(text, id);
    }

    /// Declares variables; gives those with initial values, for when all names are known.
    #[allow(clippy::type_complexity, reason = "used in one place, taken apart there")]
    pub(super) fn variables(
        &mut self,
        whole: Span,
        end: usize,
        owner: Option<FuncId>,
    ) -> Vec<(SymbolId, Span, u64, u32, Vec<u64>)> {
        let d = declare::read(self.m.source, whole.start as usize, end);
        let mut inits = vec![];
        for one in &d.declarators {
            let count = one.family.map_or(1, |n| n.min(u64::from(whole.end - whole.start) * 16));
            for n in 0..count {
                let name = if one.family.is_some() { format!("{}{n}", one.name) } else { one.name.to_owned() };
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
                            self.names.globals.insert(one.name, id);
                        }
                    }
                }
                if let Some(init) = one.init {
                    let mut dims = one.dims.clone();
                    if d.lanes > 1 {
                        dims.push(u64::from(d.lanes));
                    }
                    inits.push((id, init, u64::from(d.ty.bytes()), d.lanes, dims));
                }
            }
        }
        inits
    }

    /// Reads the initial value of a symbol: nested braces, row by row.
    fn initial(&mut self, id: SymbolId, init: Span, unit: u64, lanes: u32, dims: &[u64]) {
        let source = self.m.source;
        let b = &source.as_bytes()[..init.end as usize];
        let unit = unit.max(1);
        let is_opaque =
            self.out.symbols[id.index()].ty == view::Type::B64 && source[init.range()].contains("addr_mode");
        if is_opaque {
            return;
        }
        // Bytes of what a brace at each depth contains one of.
        let mut strides = vec![unit; dims.len() + 1];
        for k in (0..dims.len()).rev() {
            let below = strides[k + 1];
            strides[k] = if k + 1 < dims.len() { dims[k + 1].max(1).saturating_mul(below) } else { unit };
        }
        let _ = lanes;
        let mut bytes: Vec<u8> = vec![];
        let mut relocs = vec![];
        // (where this brace began, how many entries it has had)
        let mut open: Vec<u64> = vec![];
        let mut at = 0u64;
        let mut i = init.start as usize;
        loop {
            i = scan::trivia(b, i);
            match b.get(i) {
                None => break,
                Some(b'{') => {
                    open.push(at);
                    i += 1;
                }
                Some(b'}') => {
                    if let Some(began) = open.pop()
                        && let Some(k) = open.len().checked_sub(1)
                    {
                        // An inner brace takes a whole entry of the outer one, however few values it gives.
                        let stride = strides.get(k).copied().unwrap_or(unit);
                        at = began.saturating_add(stride).max(at);
                    }
                    i += 1;
                }
                Some(b',') => i += 1,
                Some(_) => {
                    let Some((value, end)) = self.value(b, i) else {
                        self.say(init, "initial value not understood");
                        break;
                    };
                    let width = usize::try_from(unit).unwrap_or(8);
                    let (Ok(start), true) = (usize::try_from(at), at < u64::from(u32::MAX)) else { break };
                    let needed = (start + width).saturating_sub(bytes.len());
                    let Some(left) = self.budget.checked_sub(needed) else {
                        self.say(init, "initial value too large: the rest is taken as zeros");
                        break;
                    };
                    self.budget = left;
                    if bytes.len() < start + width {
                        bytes.resize(start + width, 0);
                    }
                    match value {
                        Value::Bits(v, f64_bits) => {
                            let v = self.in_type(id, v, f64_bits);
                            let le = v.to_le_bytes();
                            let n = width.min(8);
                            bytes[start..start + n].copy_from_slice(&le[..n]);
                        }
                        Value::Address(symbol, addend, generic) => relocs.push((at, symbol, addend, generic)),
                    }
                    at = at.saturating_add(unit);
                    i = end;
                }
            }
        }
        let symbol = &mut self.out.symbols[id.index()];
        if symbol.size == 0 && dims.first() == Some(&0) {
            // `x[] = {…}` is as long as what it is given.
            symbol.size = at.next_multiple_of(strides[0].max(1));
        }
        symbol.init = bytes;
        symbol.relocs = relocs;
    }

    /// A constant as the bits of the symbol's type.
    fn in_type(&self, id: SymbolId, v: u64, f64_bits: bool) -> u64 {
        match (self.out.symbols[id.index()].ty, f64_bits) {
            (view::Type::F32, true) => {
                #[allow(clippy::cast_possible_truncation, reason = "rounding is what the assembler does too")]
                let v = f64::from_bits(v) as f32;
                u64::from(v.to_bits())
            }
            _ => v,
        }
    }

    fn value(&self, b: &'a [u8], i: usize) -> Option<(Value, usize)> {
        let c = *b.get(i)?;
        if scan::is_name(c) && !c.is_ascii_digit() {
            let end = scan::name(b, i);
            let name = self.m.source.get(i..end)?;
            let open = scan::trivia(b, end);
            let (name, generic, end) = if name == "generic" && b.get(open) == Some(&b'(') {
                let inner = scan::trivia(b, open + 1);
                let stop = scan::name(b, inner);
                let close = scan::trivia(b, stop);
                if b.get(close) != Some(&b')') {
                    return None;
                }
                (self.m.source.get(inner..stop)?, true, close + 1)
            } else {
                (name, false, end)
            };
            let symbol = *self.names.globals.get(name)?;
            let plus = scan::trivia(b, end);
            let (addend, end) = match b.get(plus) {
                Some(b'+' | b'-') => constant::integer(b, plus)?,
                _ => (0, end),
            };
            return Some((Value::Address(symbol, addend, generic), end));
        }
        let (value, end) = constant::expression(b, i)?;
        Some(match value {
            constant::Constant::Int(v, _) => (Value::Bits(v, false), end),
            constant::Constant::F32(v) => (Value::Bits(u64::from(v), false), end),
            constant::Constant::F64(v) => (Value::Bits(v, true), end),
        })
    }

    fn function(&mut self, f: &parse::Function, id: FuncId) -> Function {
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
        out.limits = self.limits(f);
        self.body(f, id, &mut out);
        out
    }

    /// Declares what a parameter list declares.
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
            let d = declare::read(source, start, end);
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

    /// The directives between parameters and body.
    fn limits(&self, f: &parse::Function) -> Vec<(String, Vec<u32>)> {
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

    /// The location that a `.loc` names.
    pub(super) fn loc(&mut self, at: Span) -> Option<LocId> {
        let text = self.m.text(at);
        let b = text.as_bytes();
        let (place, mut i) = place(text, ".loc".len())?;
        let mut function = 0;
        let mut inlined_at = None;
        loop {
            i = scan::trivia(b, i);
            if b.get(i) != Some(&b',') {
                break;
            }
            let start = scan::trivia(b, i + 1);
            let end = scan::name(b, start);
            i = end.max(i + 1);
            match text.get(start..end) {
                Some("function_name") => {
                    let label = scan::trivia(b, end);
                    let stop = scan::opcode(b, label);
                    let plus = scan::trivia(b, stop);
                    i = stop;
                    let mut addend = 0;
                    if b.get(plus) == Some(&b'+')
                        && let Some((n, stop)) = constant::integer(b, plus + 1)
                    {
                        addend = usize::try_from(n).unwrap_or(0);
                        i = stop;
                    }
                    // The label is in the module's text, which outlives this one.
                    let from = at.start as usize + label;
                    let name = self.m.source.get(from..at.start as usize + stop).unwrap_or_default();
                    function = self.string(name, addend);
                }
                Some("inlined_at") => {
                    let (p, stop) = place_at(text, end)?;
                    i = stop;
                    inlined_at = Some(p);
                }
                _ => {}
            }
        }
        let inlined_at = inlined_at.map(|p| match self.places.get(&p) {
            Some(id) => *id,
            None => {
                let id = self.intern(p, 0, None);
                self.places.insert(p, id);
                id
            }
        });
        let id = self.intern(place, function, inlined_at);
        self.places.insert(place, id);
        Some(id)
    }

    fn intern(&mut self, (file, line, column): (u32, u32, u32), function: u32, inlined_at: Option<LocId>) -> LocId {
        let next = span(0, self.out.files.len()).end;
        let file = *self.files.entry(file).or_insert_with(|| {
            // A number without its `.file`: the location still says where, if not in what.
            self.out.files.push(File { number: file, path: String::new() });
            next
        });
        let next = LocId(span(0, self.out.locs.len()).end);
        let id = *self.locs.entry((file, line, column, function, inlined_at)).or_insert(next);
        if id == next {
            let function = self.inlined.get(function as usize).cloned().unwrap_or_default();
            self.out.locs.push(Loc { file, line, column, function, inlined_at });
        }
        id
    }

    /// The inlined function whose name is at a label of the debug information, or so many bytes after it.
    fn string(&mut self, label: &'a str, addend: usize) -> u32 {
        if let Some(known) = self.labels.get(&(label, addend)) {
            return *known;
        }
        let name = self.debug_string(label, addend);
        let id = span(0, self.inlined.len()).end;
        self.inlined.push(name);
        self.labels.insert((label, addend), id);
        id
    }

    fn debug_string(&mut self, label: &str, addend: usize) -> String {
        if self.strings.is_none() {
            self.strings = Some(debug_strings(self.m));
        }
        let Some((bytes, labels)) = &self.strings else { return String::new() };
        let Some(at) = labels.get(label).and_then(|at| at.checked_add(addend)) else { return String::new() };
        let rest = bytes.get(at..).unwrap_or_default();
        let end = rest.iter().position(|c| *c == 0).unwrap_or(rest.len());
        String::from_utf8_lossy(&rest[..end]).into_owned()
    }
}

enum Value {
    /// Bits, and whether they are a binary64's.
    Bits(u64, bool),
    Address(SymbolId, i64, bool),
}

/// Three numbers: file, line, column.
fn place(text: &str, i: usize) -> Option<((u32, u32, u32), usize)> {
    let b = text.as_bytes();
    let mut at = i;
    let mut next = || {
        let start = scan::trivia(b, at);
        let end = scan::name(b, start);
        at = end;
        text.get(start..end)?.parse::<u32>().ok()
    };
    let (file, line, column) = (next()?, next()?, next().unwrap_or(0));
    Some(((file, line, column), at))
}

fn place_at(text: &str, i: usize) -> Option<((u32, u32, u32), usize)> {
    place(text, i)
}

/// Just after the `.entry` or `.func` of a declaration.
fn keyword(m: &Module<'_>, item: Span) -> Option<usize> {
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

/// All of `.debug_str`, with its labels.
fn debug_strings<'a>(m: &Module<'a>) -> (Vec<u8>, HashMap<&'a str, usize>) {
    let mut bytes = vec![];
    let mut labels = HashMap::new();
    for item in m.items.iter().filter(|i| i.kind == ItemKind::Section) {
        let text = m.text(item.span);
        let Some(open) = text.find('{') else { continue };
        if !text[..open].contains(".debug_str") {
            continue;
        }
        labels.entry(".debug_str").or_insert(bytes.len());
        let b = text.as_bytes();
        let mut i = open + 1;
        while i < b.len() {
            i = scan::trivia(b, i);
            let end = scan::name(b, i);
            match b.get(i) {
                Some(c) if c.is_ascii_digit() => {
                    let value = constant::integer(b, i).map_or(0, |(v, _)| v & 0xff);
                    bytes.push(u8::try_from(value).unwrap_or(0));
                }
                Some(_) if end > i && b.get(scan::trivia(b, end)) == Some(&b':') => {
                    labels.insert(text.get(i..end).unwrap_or_default(), bytes.len());
                }
                // The width after the dot of `.b8` is not a value.
                Some(b'.') => {
                    i = scan::name(b, i + 1);
                    continue;
                }
                _ => {}
            }
            i = end.max(i + 1);
        }
    }
    (bytes, labels)
}
