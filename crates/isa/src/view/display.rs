//! The neutral view as text, for people and for test cases.
//!
//! # Invariants
//! - Everything in the view except byte ranges is shown, in the module's order.
//! - The same view gives the same text.
//!
//! # Limitations
//! The text is not PTX, and nothing reads it back.

use std::collections::HashSet;
use std::fmt::{self, Display, Formatter, Write};

use crate::view::{
    Base, Derived, Expr, Function, Guard, Inst, Loc, LocId, Module, Operand, Reg, SymbolId, Type,
    VideoSelector,
};

impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "module {} {}.{}", self.target, self.version.0, self.version.1)?;
        for file in &self.files {
            writeln!(f, "file {} {:?}", file.number, file.path)?;
        }
        for s in &self.symbols {
            if s.is_function {
                let body = s.function.map_or(String::new(), |id| format!(" {id:?}"));
                writeln!(f, "function {}{}{body}", s.name, if s.external { " extern" } else { "" })?;
                continue;
            }
            write!(f, "symbol {} {:?} .{} size {} align {}", s.name, s.space, s.ty.name(), s.size, s.align)?;
            if let Some(owner) = s.owner {
                write!(f, " in {owner:?}")?;
            }
            if s.external {
                write!(f, " extern")?;
            }
            if !s.init.is_empty() {
                write!(f, " =")?;
                for b in &s.init {
                    write!(f, " {b:02x}")?;
                }
            }
            for (at, id, addend, generic) in &s.relocs {
                let name = self.symbol(*id);
                let open = if *generic { "generic " } else { "" };
                write!(f, " [{at}: {open}{name}{addend:+}]")?;
            }
            writeln!(f)?;
        }
        for function in &self.functions {
            write!(f, "\n{}", Shown { module: self, function, twice: twice(function) })?;
        }
        Ok(())
    }
}

impl Module {
    fn symbol(&self, id: SymbolId) -> &str {
        self.symbols.get(id.index()).map_or("?", |s| &s.name)
    }

    fn loc(&self, id: LocId) -> String {
        let mut text = String::new();
        let mut next = Some(id);
        while let Some(Loc { file, line, column, function, inlined_at }) =
            next.and_then(|id| self.locs.get(id.index()))
        {
            let name =
                self.files.get(*file as usize).map_or("?", |f| f.path.rsplit('/').next().unwrap_or_default());
            let _ = write!(text, "{}{name}:{line}:{column}", if text.is_empty() { "" } else { " @ " });
            if !function.is_empty() {
                let _ = write!(text, " {function}");
            }
            // A location is stored after the one it was inlined at, so this loop ends.
            next = inlined_at.filter(|parent| *parent < next.unwrap_or_default());
        }
        text
    }
}

/// Names that refer to several registers of the function.
fn twice(function: &Function) -> HashSet<&str> {
    let mut once = HashSet::new();
    function.regs.iter().map(|r| r.name.as_str()).filter(|name| !once.insert(*name)).collect()
}

struct Shown<'a> {
    module: &'a Module,
    function: &'a Function,
    twice: HashSet<&'a str>,
}

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Shown { module, function, .. } = self;
        writeln!(f, "{:?} {}", function.kind, function.name)?;
        for (id, offset) in function.params.iter().zip(&function.param_offsets) {
            writeln!(f, "  param {} at {offset}", module.symbol(*id))?;
        }
        for id in &function.returns {
            writeln!(f, "  returns {}", module.symbol(*id))?;
        }
        for r in &function.reg_params {
            writeln!(f, "  in register {}", self.reg(*r))?;
        }
        if let Some(place) = &function.unknown_control {
            writeln!(f, "  control unknown: {place}")?;
        }
        for (name, values) in &function.limits {
            writeln!(f, "  .{name} {values:?}")?;
        }
        let mut loc = None;
        for (i, block) in function.blocks.iter().enumerate() {
            writeln!(f, "  block{i} -> {:?} <- {:?}", block.succs, block.preds)?;
            for k in block.insts.clone() {
                let Some(inst) = function.insts.get(k as usize) else { continue };
                if inst.loc != loc
                    && let Some(id) = inst.loc
                {
                    writeln!(f, "    ; {}", module.loc(id))?;
                }
                loc = inst.loc;
                self.marks(f, k)?;
                writeln!(f, "    {k:>4} {}", self.inst(inst))?;
            }
        }
        self.marks(f, function.insts.len() as u32)
    }
}

impl Shown<'_> {
    /// Writes the markers that stand before instruction `at`.
    fn marks(&self, f: &mut Formatter<'_>, at: u32) -> fmt::Result {
        for mark in self.function.markers.iter().filter(|m| m.at.0 == at) {
            let (kind, payload) = (mark.kind.name(), self.list(&mark.payload));
            let guard = mark.guard.map(|guard| self.guard(guard)).unwrap_or_default();
            writeln!(f, "         {guard}mark {kind} {} {:?} ({payload})", mark.name, mark.passed_by)?;
        }
        Ok(())
    }

    fn reg(&self, r: Reg) -> String {
        match self.function.regs.get(r.index()) {
            Some(info) if self.twice.contains(info.name.as_str()) => {
                format!("{}#{}:{}", info.name, r.0, info.ty.name())
            }
            Some(info) => format!("{}:{}", info.name, info.ty.name()),
            None => "?".to_owned(),
        }
    }

    fn guard(&self, guard: Guard) -> String {
        format!("@{}{} ", if guard.negate { "!" } else { "" }, self.reg(guard.reg))
    }

    fn inst(&self, inst: &Inst) -> String {
        let mut s = String::new();
        s.extend(inst.guard.map(|guard| self.guard(guard)));
        let _ = write!(s, "{}", inst.semantics.opcode);
        for (i, (operand, role)) in inst.operands.iter().zip(&inst.roles).enumerate() {
            let _ = write!(s, "{} {role:?} {}", if i > 0 { "," } else { "" }, self.operand(operand));
        }
        let _ = write!(s, "  ; {:?} {:?}", inst.class, inst.space);
        if let Some((eval, ty)) = inst.eval {
            let _ = write!(s, " {eval:?} .{}", Type::name(ty));
        }
        for Derived { operand, element, value } in &inst.semantics.results {
            let _ = write!(s, " {} = {}", self.part(inst, *operand, *element), self.expr(inst, value));
        }
        s
    }

    fn part(&self, inst: &Inst, operand: usize, element: usize) -> String {
        match inst.operands.get(operand) {
            Some(Operand::Vector(list)) => list.get(element).map_or("?".to_owned(), |o| self.operand(o)),
            Some(operand) => self.operand(operand),
            None => "?".to_owned(),
        }
    }

    fn expr(&self, inst: &Inst, value: &Expr) -> String {
        match value {
            Expr::Operand(operand, element) => self.part(inst, *operand, *element),
            Expr::Int(n) => n.to_string(),
            Expr::Of(eval, ty, args) => {
                let args: Vec<String> = args.iter().map(|arg| self.expr(inst, arg)).collect();
                format!("{eval:?}.{}({})", ty.name(), args.join(", "))
            }
        }
    }

    fn list(&self, operands: &[Operand]) -> String {
        operands.iter().map(|o| self.operand(o)).collect::<Vec<_>>().join(", ")
    }

    fn operand(&self, operand: &Operand) -> String {
        match operand {
            Operand::Reg(r) => self.reg(*r),
            Operand::Not(r) => format!("!{}", self.reg(*r)),
            Operand::Int(v) => v.to_string(),
            Operand::F32(bits) => format!("f32:{bits:08x}"),
            Operand::F64(bits) => format!("f64:{bits:016x}"),
            Operand::Special(name) => name.clone(),
            Operand::Symbol(id, 0) => format!("&{}", self.module.symbol(*id)),
            Operand::Symbol(id, n) => format!("&{}{n:+}", self.module.symbol(*id)),
            Operand::Address(base, offset) => {
                let base = match base {
                    Base::Reg(r) => self.reg(*r),
                    Base::Symbol(id) => format!("&{}", self.module.symbol(*id)),
                    Base::Absolute => String::new(),
                };
                if *offset == 0 && !base.is_empty() {
                    format!("[{base}]")
                } else {
                    format!("[{base}{offset:+}]")
                }
            }
            Operand::Tensor(map, coordinates) => {
                format!("[{}; {}]", self.operand(map), self.list(coordinates))
            }
            Operand::Vector(list) => format!("{{{}}}", self.list(list)),
            Operand::Pair(a, b) => format!("{}|{}", self.operand(a), self.operand(b)),
            Operand::Sink => "_".to_owned(),
            Operand::Label(b) => format!("{b:?}"),
            Operand::List(list) => format!("({})", self.list(list)),
            Operand::Targets(blocks) => format!("{blocks:?}"),
            Operand::Element(r, n) => match VideoSelector::from_code(*n) {
                Some(parts) => format!("{}.{parts}", self.reg(*r)),
                None => format!("{}.{n}", self.reg(*r)),
            },
            Operand::Text(_) => "?text".to_owned(),
        }
    }
}
