//! Compiles a recorder routine to toy code.
//!
//! A register of the routine is a register of each lane, or a mask for a predicate. Lanes that branch are
//! taken out of `exec`. They keep the number of the label that they go to, and the code at the label puts
//! them back. As branches go forward, one pass over the lines in their order runs every lane.
//!
//! # Invariants
//! - Behind a routine, `exec` is what it was.
//! - A routine runs for the lanes that are where the wave is, whatever `exec` is.
//! - A predicate keeps its value in lanes that do not run the line that writes it.
//!
//! # Limitations
//! There are no floating-point operations.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use prlx_instrument::routines::{Arg, GRID_WARP, Instruction, Line, PREFIX, temporary_type};
use prlx_isa::view::Function;

/// The parameter behind those of the kernel.
pub const HIDDEN: &str = "prlx";

/// Registers of inserted code: numbers above those that the kernel names.
pub struct Registers {
    /// By bank, the next number.
    next: HashMap<char, u32>,
    /// By bank, the first number that the kernel does not name.
    first: HashMap<char, u32>,
    names: HashMap<(char, String), u32>,
}

impl Registers {
    /// The registers above those of a kernel.
    pub fn above(function: &Function) -> Registers {
        let mut next = HashMap::new();
        for reg in &function.regs {
            if let Ok(number) = reg.name[1..].parse::<u32>() {
                let next = next.entry(reg.name.as_bytes()[0].into()).or_insert(0);
                *next = number.wrapping_add(1).max(*next);
            }
        }
        Registers { first: next.clone(), next, names: HashMap::new() }
    }

    /// The number of the register of a name, if it has one.
    pub fn get(&self, bank: char, name: &str) -> Option<u32> {
        self.names.get(&(bank, name.to_owned())).copied()
    }

    /// Whether a register is none of the kernel's.
    pub fn is_inserted(&self, bank: char, number: u32) -> bool {
        number >= self.first.get(&bank).copied().unwrap_or(0)
    }

    /// The register of a name in a bank, which has one from now on.
    fn of(&mut self, bank: char, name: &str) -> String {
        let next = self.next.entry(bank).or_insert(0);
        let number = *self.names.entry((bank, name.to_owned())).or_insert(*next);
        *next = number.wrapping_add(1).max(*next);
        format!("{bank}{number}")
    }

    /// A text with registers for the names in braces. The number `{away}` is in a vector register, and others
    /// are masks, unless the first letter of a name is a bank: `{d.sum}`.
    pub fn filled(&mut self, text: &str) -> String {
        let mut out = String::new();
        for (i, part) in text.split(['{', '}']).enumerate() {
            let bank = match part.split_once('.') {
                Some((bank, _)) => bank.chars().next().unwrap_or('m'),
                None if part == "away" => 'v',
                None => 'm',
            };
            out += &if i % 2 == 1 { self.of(bank, part) } else { part.to_owned() };
        }
        out
    }
}

/// Compiles a routine.
pub struct Compiler<'c> {
    registers: &'c mut Registers,
    /// Types of registers that the routine declares.
    declared: &'c [(&'static str, String)],
    /// Sizes of registers that are kept through a kernel.
    sizes: &'c HashMap<String, u64>,
    /// Labels that lanes may be on their way to.
    pending: HashSet<String>,
    out: String,
}

type Result<T> = std::result::Result<T, String>;

impl<'c> Compiler<'c> {
    /// A compiler of one routine.
    pub fn new(
        registers: &'c mut Registers,
        declared: &'c [(&'static str, String)],
        sizes: &'c HashMap<String, u64>,
    ) -> Self {
        Compiler { registers, declared, sizes, pending: HashSet::new(), out: String::new() }
    }

    /// The code of a routine.
    ///
    /// # Errors
    /// The line that the toy has no operations for.
    pub fn compile(mut self, lines: &[Line<'_>]) -> Result<String> {
        self.emit("mov.mask {outside}, exec");
        self.emit("mov.mask exec, {present}");
        for line in lines {
            match line {
                Line::Label(name) if self.pending.contains(*name) => {
                    let number = label(lines, name)?;
                    self.emit("mov.mask {here}, exec");
                    self.emit("mov.mask exec, {present}");
                    self.emit(&format!("cmp.eq.u32 {{back}}, {{v.label}}, {number}"));
                    self.emit("or.mask exec, {here}, {back}");
                }
                Line::Label(_) => {}
                Line::Inst(inst) => {
                    let guard = inst.guard.map(|(name, negated)| (self.function_or_own(name), negated));
                    if let Some((guard, negated)) = &guard {
                        self.emit("mov.mask {guarded}, exec");
                        self.emit(&format!(
                            "{}.mask exec, exec, {guard}",
                            if *negated { "andn" } else { "and" }
                        ));
                    }
                    if inst.op == "bra" {
                        let Some(Arg::Name(to)) = inst.args.first() else { return Err(unknown(inst)) };
                        let to_line = label(lines, to)?;
                        self.pending.insert((*to).to_owned());
                        self.emit(&format!("mov.u32 {{v.label}}, {to_line}"));
                        let rest = if guard.is_some() {
                            "andn.mask exec, {guarded}, exec"
                        } else {
                            "mov.mask exec, 0"
                        };
                        self.emit(rest);
                        continue;
                    }
                    self.instruction(inst)?;
                    if guard.is_some() {
                        self.emit("mov.mask exec, {guarded}");
                    }
                }
            }
        }
        self.emit("mov.mask exec, {outside}");
        Ok(self.out)
    }

    fn emit(&mut self, text: &str) {
        let text = self.registers.filled(text);
        let _ = writeln!(self.out, "  {text}");
    }

    /// The register of a name: of the routine, or of the kernel.
    fn function_or_own(&mut self, name: &str) -> String {
        if name == "exec" {
            return self.registers.of('m', "outside");
        }
        let Some(own) = name.strip_prefix('%').and_then(|name| name.strip_prefix(PREFIX)) else {
            return match name {
                GRID_WARP => self.registers.of('v', GRID_WARP),
                // A special register, or one of the kernel.
                _ => name.to_owned(),
            };
        };
        let declared = self.declared.iter().find(|(_, name)| name == own).map(|(ty, _)| *ty);
        let bank = match (declared.or_else(|| temporary_type(own)), self.sizes.get(own)) {
            (Some(".pred"), _) => 'm',
            (Some(".b64"), _) | (None, Some(8)) => 'd',
            _ => 'v',
        };
        self.registers.of(bank, name)
    }

    /// An operand as text.
    fn arg(&mut self, arg: &Arg<'_>) -> Result<String> {
        Ok(match arg {
            Arg::Int(value) => value.to_string(),
            Arg::Name(name) => self.function_or_own(name),
            Arg::Address("prlx_context", offset) => format!("{HIDDEN}+{offset}"),
            Arg::Address(base, offset) => format!("[{}+{offset}]", self.function_or_own(base)),
            Arg::Not(_) | Arg::Vector(_) => return Err(format!("a routine has the operand {arg:?}")),
        })
    }

    /// A predicate as a mask of lanes that run the line.
    fn predicate(&mut self, arg: &Arg<'_>, to: &str) -> Result<()> {
        let (name, operation) = match arg {
            Arg::Name(name) => (name, "and"),
            Arg::Not(name) => (name, "andn"),
            Arg::Int(value) => {
                self.emit(&format!("mov.mask {to}, {}", if *value == 0 { "0" } else { "exec" }));
                return Ok(());
            }
            _ => return Err(format!("a routine has the predicate {arg:?}")),
        };
        let name = self.function_or_own(name);
        self.emit(&format!("{operation}.mask {to}, exec, {name}"));
        Ok(())
    }

    /// Writes a predicate with the mask `{result}`, in the lanes that run the line.
    fn set_predicate(&mut self, to: &Arg<'_>) -> Result<()> {
        let to = self.arg(to)?;
        self.emit(&format!("andn.mask {to}, {to}, exec"));
        self.emit(&format!("or.mask {to}, {to}, {{result}}"));
        Ok(())
    }

    fn instruction(&mut self, inst: &Instruction<'_>) -> Result<()> {
        let parts: Vec<&str> = inst.op.split('.').collect();
        let ty = value_type(parts.last().copied().unwrap_or_default());
        match (parts[0], &inst.args[..]) {
            ("mov" | "and" | "or" | "xor" | "not", [to, from @ ..]) if parts.last() == Some(&"pred") => {
                self.logic(parts[0], to, from)
            }
            ("mov", [Arg::Vector(to), from]) => self.split(to, from),
            ("mov", [to, Arg::Vector(from)]) => self.join(to, from),
            ("mov", [to, Arg::Name("%clock" | "%clock64")]) => {
                let to = self.arg(to)?;
                self.emit("mov.u64 {d.clock}, %clock64");
                self.emit(&format!("mov.{ty} {to}, {{d.clock}}"));
                Ok(())
            }
            ("cvt", [to, from]) => self.convert(&parts, to, from),
            ("mov" | "popc", [to, from]) => self.plain(parts[0], &ty, to, &[from]),
            ("not", [to, from]) => self.plain("xor", &ty, to, &[from, &Arg::Int(-1)]),
            ("and" | "or" | "xor" | "shl" | "shr" | "add" | "sub" | "div" | "rem", [to, a, b]) => {
                self.plain(parts[0], &ty, to, &[a, b])
            }
            ("mul", [to, a, b]) if inst.op == "mul.wide.u32" => self.plain("mul", "u64", to, &[a, b]),
            ("mul", [to, a, b]) if parts[1] == "lo" => self.plain("mul", &ty, to, &[a, b]),
            ("mad", [to, a, b, c]) if matches!(inst.op, "mad.wide.u32") || parts[1] == "lo" => {
                let ty = if parts[1] == "wide" { "u64" } else { &ty };
                let (bank, [a, b, c]) = (bank(ty), [self.arg(a)?, self.arg(b)?, self.arg(c)?]);
                self.emit(&format!("mul.{ty} {{{bank}product}}, {a}, {b}"));
                let to = self.arg(to)?;
                self.emit(&format!("add.{ty} {to}, {{{bank}product}}, {c}"));
                Ok(())
            }
            ("shf", [to, low, high, Arg::Int(by)]) if inst.op == "shf.l.wrap.b32" => {
                let [to, low, high] = [self.arg(to)?, self.arg(low)?, self.arg(high)?];
                let by = by & 31;
                self.emit(&format!("shr.u32 {{v.low}}, {low}, {}", 32 - by));
                self.emit(&format!("shl.u32 {{v.high}}, {high}, {by}"));
                self.emit(&format!("or.u32 {to}, {{v.high}}, {{v.low}}"));
                Ok(())
            }
            ("min" | "max", [to, a, b]) => {
                let relation = if parts[0] == "min" { "lt" } else { "gt" };
                let [to, a, b] = [self.arg(to)?, self.arg(a)?, self.arg(b)?];
                self.emit(&format!("cmp.{relation}.{ty} {{result}}, {a}, {b}"));
                self.emit(&format!("sel.{ty} {to}, {a}, {b}, {{result}}"));
                Ok(())
            }
            ("setp", [to, a, b, rest @ ..]) => self.compare(&parts, to, [a, b], rest.first()),
            ("selp", [to, a, b, condition]) => {
                self.predicate(condition, "{condition}")?;
                let [to, a, b] = [self.arg(to)?, self.arg(a)?, self.arg(b)?];
                self.emit(&format!("sel.{ty} {to}, {a}, {b}, {{condition}}"));
                Ok(())
            }
            ("ld" | "st" | "atom" | "red", args) => self.memory(inst, &parts, &ty, args),
            ("fence", []) => Ok(()),
            (_, args) => self.exchange(inst, &parts, &ty, args),
        }
    }

    /// An operation that the toy has under the same name.
    fn plain(&mut self, name: &str, ty: &str, to: &Arg<'_>, from: &[&Arg<'_>]) -> Result<()> {
        let mut text = format!("{name}.{ty} {}", self.arg(to)?);
        for from in from {
            text += ", ";
            text += &self.arg(from)?;
        }
        self.emit(&text);
        Ok(())
    }

    fn convert(&mut self, parts: &[&str], to: &Arg<'_>, from: &Arg<'_>) -> Result<()> {
        let [wanted, source] = [parts[1], parts[2]];
        let to_text = self.arg(to)?;
        self.plain("mov", if wanted.ends_with("64") { "u64" } else { "u32" }, to, &[from])?;
        match (wanted, source) {
            (_, "u8") => self.emit(&format!("and.u32 {to_text}, {to_text}, 255")),
            (_, "u16") => self.emit(&format!("and.u32 {to_text}, {to_text}, 65535")),
            ("s64", "s32") => {
                self.emit(&format!("shl.u64 {to_text}, {to_text}, 32"));
                self.emit(&format!("shr.s64 {to_text}, {to_text}, 32"));
            }
            (_, "u32" | "u64" | "s64" | "b32" | "b64") | ("u32" | "s32", "s32") => {}
            _ => return Err(format!("the toy has no `{}` for routines", parts.join("."))),
        }
        Ok(())
    }

    /// The halves of 64 bits.
    fn split(&mut self, to: &[&str], from: &Arg<'_>) -> Result<()> {
        let [low, high] = to else { return Err(format!("a routine has {} halves", to.len())) };
        let [low, high] = [low, high].map(|name| self.function_or_own(name));
        let from = self.arg(from)?;
        self.emit(&format!("shr.u64 {{d.high}}, {from}, 32"));
        self.emit(&format!("mov.u32 {low}, {from}"));
        self.emit(&format!("mov.u32 {high}, {{d.high}}"));
        Ok(())
    }

    /// 64 bits of two halves.
    fn join(&mut self, to: &Arg<'_>, from: &[&str]) -> Result<()> {
        let [low, high] = from else { return Err(format!("a routine has {} halves", from.len())) };
        let [low, high] = [low, high].map(|name| self.function_or_own(name));
        let to = self.arg(to)?;
        self.emit(&format!("mov.u64 {{d.high}}, {high}"));
        self.emit("shl.u64 {d.high}, {d.high}, 32");
        self.emit(&format!("mov.u64 {{d.low}}, {low}"));
        self.emit(&format!("or.u64 {to}, {{d.high}}, {{d.low}}"));
        Ok(())
    }

    /// Operations on predicates.
    fn logic(&mut self, name: &str, to: &Arg<'_>, from: &[Arg<'_>]) -> Result<()> {
        let first = from.first().ok_or("a routine has too few predicates")?;
        self.predicate(first, "{result}")?;
        match from.get(1) {
            Some(second) => {
                self.predicate(second, "{second}")?;
                self.emit(&format!("{name}.mask {{result}}, {{result}}, {{second}}"));
            }
            None if name == "not" => self.emit("andn.mask {result}, exec, {result}"),
            None => {}
        }
        self.set_predicate(to)
    }

    /// `setp.RELATION.T`, or with a predicate that is joined `setp.RELATION.or.T`.
    fn compare(
        &mut self,
        parts: &[&str],
        to: &Arg<'_>,
        of: [&Arg<'_>; 2],
        with: Option<&Arg<'_>>,
    ) -> Result<()> {
        let ty = value_type(parts.last().copied().unwrap_or_default());
        let [a, b] = [self.arg(of[0])?, self.arg(of[1])?];
        self.emit(&format!("cmp.{}.{ty} {{result}}, {a}, {b}", parts[1]));
        if let Some(with) = with {
            self.predicate(with, "{second}")?;
            self.emit(&format!("{}.mask {{result}}, {{result}}, {{second}}", parts[2]));
        }
        self.set_predicate(to)
    }

    fn memory(&mut self, inst: &Instruction<'_>, parts: &[&str], ty: &str, args: &[Arg<'_>]) -> Result<()> {
        let narrow = parts.last().copied().filter(|ty| matches!(*ty, "u8" | "u16"));
        let ty = narrow.unwrap_or(ty);
        let size = if ty.ends_with("64") { 8 } else { 4 };
        match (parts[0], args) {
            ("ld", [to, Arg::Address(base, offset)]) => {
                let operation = if parts[1] == "param" { "arg" } else { "ld.global" };
                for (to, at) in words(to).iter().zip((*offset..).step_by(size)) {
                    let (to, from) = (self.arg(to)?, self.arg(&Arg::Address(base, at))?);
                    self.emit(&format!("{operation}.{ty} {to}, {from}"));
                }
                Ok(())
            }
            ("st", [Arg::Address(base, offset), from]) => {
                for (from, at) in words(from).iter().zip((*offset..).step_by(size)) {
                    let (to, from) = (self.arg(&Arg::Address(base, at))?, self.arg(from)?);
                    self.emit(&format!("st.global.{ty} {to}, {from}"));
                }
                Ok(())
            }
            ("atom" | "red", args) => {
                let (old, rest) = match (parts[0], args) {
                    ("atom", [old, rest @ ..]) => (self.arg(old)?, rest),
                    _ => (format!("{{{}old}}", bank(ty)), args),
                };
                let operation = parts.get(parts.len() - 2).copied().unwrap_or_default();
                let mut text = format!("atom.global.{operation}.{ty} {old}");
                for arg in rest {
                    text += ", ";
                    text += &self.arg(arg)?;
                }
                self.emit(&text);
                Ok(())
            }
            _ => Err(unknown(inst)),
        }
    }

    fn exchange(&mut self, inst: &Instruction<'_>, parts: &[&str], ty: &str, args: &[Arg<'_>]) -> Result<()> {
        match (parts[0], args) {
            ("activemask", [to]) => {
                let to = self.arg(to)?;
                self.emit(&format!("ballot.u64 {to}, exec"));
            }
            ("vote", [to, of, _]) => {
                self.predicate(of, "{result}")?;
                let to = self.arg(to)?;
                self.emit(&format!("ballot.u64 {to}, {{result}}"));
            }
            ("mbcnt", [to, mask]) => {
                let [to, mask] = [self.arg(to)?, self.arg(mask)?];
                self.emit("mov.u64 {d.below}, %laneid");
                self.emit("shl.u64 {d.below}, 1, {d.below}");
                self.emit("sub.u64 {d.below}, {d.below}, 1");
                self.emit(&format!("and.u64 {{d.below}}, {{d.below}}, {mask}"));
                self.emit(&format!("popc.u64 {to}, {{d.below}}"));
            }
            ("readfirst", [to, from]) => {
                let [to, from] = [self.arg(to)?, self.arg(from)?];
                self.emit(&format!("first.u32 {{s.value}}, {from}"));
                self.emit(&format!("mov.u32 {to}, {{s.value}}"));
            }
            ("match", [to, value, _]) if parts.last() == Some(&"b32") => self.match_lanes(to, value)?,
            ("redux", [to, from, _]) => self.reduce(parts[2], ty, to, from)?,
            _ => return Err(unknown(inst)),
        }
        Ok(())
    }

    /// `to`: the lanes with the same value. Each iteration takes those with the value of the lowest lane.
    fn match_lanes(&mut self, to: &Arg<'_>, value: &Arg<'_>) -> Result<()> {
        let (to, value) = (self.arg(to)?, self.arg(value)?);
        let again = self.begin_loop();
        self.emit(&format!("mov.u32 {{v.value}}, {value}"));
        self.emit("first.u32 {s.value}, {v.value}");
        self.emit("cmp.eq.u32 {same}, {v.value}, {s.value}");
        self.emit(&format!("ballot.u64 {to}, {{same}}"));
        self.end_loop(&again);
        Ok(())
    }

    /// `to`: the values of all lanes, combined. Each iteration takes the lowest lane.
    fn reduce(&mut self, operation: &str, ty: &str, to: &Arg<'_>, from: &Arg<'_>) -> Result<()> {
        let (to, from) = (self.arg(to)?, self.arg(from)?);
        let (relation, none) = match (operation, ty) {
            ("xor" | "or" | "add", _) => (None, 0),
            ("and", _) => (None, -1),
            ("min", "u32") => (Some("lt"), -1),
            ("max", "u32") => (Some("gt"), 0),
            ("min", "s32") => (Some("lt"), i64::from(i32::MAX)),
            ("max", "s32") => (Some("gt"), i64::from(i32::MIN)),
            _ => return Err(format!("the toy has no reduction `{operation}` of {ty}")),
        };
        self.emit(&format!("mov.u32 {{s.sum}}, {none}"));
        let again = self.begin_loop();
        self.emit(&format!("mov.u32 {{v.value}}, {from}"));
        self.emit("first.u32 {s.value}, {v.value}");
        match relation {
            None => self.emit(&format!("{operation}.u32 {{s.sum}}, {{s.sum}}, {{s.value}}")),
            Some(relation) => {
                self.emit(&format!("cmp.{relation}.{ty} {{c.less}}, {{s.value}}, {{s.sum}}"));
                self.emit("sel.u32 {s.sum}, {s.value}, {s.sum}, {c.less}");
            }
        }
        self.emit("mov.u32 {v.lane}, %laneid");
        self.emit("first.u32 {s.lane}, {v.lane}");
        self.emit("cmp.eq.u32 {same}, {v.lane}, {s.lane}");
        self.end_loop(&again);
        self.emit(&format!("mov.u32 {to}, {{s.sum}}"));
        Ok(())
    }

    /// A loop over lanes of `exec`. Its body makes `{same}`, the lanes that are done.
    fn begin_loop(&mut self) -> String {
        let number = self.registers.next.entry('l').or_insert(0);
        *number += 1;
        let label = format!("prlx{number}");
        self.emit("mov.mask {all}, exec");
        let _ = writeln!(self.out, "{label}:");
        label
    }

    fn end_loop(&mut self, label: &str) {
        self.emit("andn.mask exec, exec, {same}");
        self.emit("any.mask {c.left}, exec");
        self.emit(&format!("br {{c.left}}, {label}"));
        self.emit("mov.mask exec, {all}");
    }
}

/// The line of a label.
fn label(lines: &[Line<'_>], name: &str) -> Result<usize> {
    let found = lines.iter().position(|line| matches!(line, Line::Label(label) if *label == name));
    found.ok_or_else(|| format!("a routine has no label {name}"))
}

/// The elements of a vector, or what is no vector.
fn words<'a>(arg: &Arg<'a>) -> Vec<Arg<'a>> {
    match arg {
        Arg::Vector(names) => names.iter().map(|name| Arg::Name(name)).collect(),
        one => vec![one.clone()],
    }
}

/// The toy's type for one of PTX.
fn value_type(ty: &str) -> String {
    match ty {
        "b32" | "b64" => ty.replace('b', "u"),
        "b16" | "u16" | "u8" => "u32".to_owned(),
        ty => ty.to_owned(),
    }
}

/// The bank of vector registers of a type, as names in braces begin.
fn bank(ty: &str) -> &'static str {
    if ty.ends_with("64") { "d." } else { "v." }
}

fn unknown(inst: &Instruction<'_>) -> String {
    format!("the toy has no `{}` for routines", inst.op)
}
