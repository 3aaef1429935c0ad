//! Level `probe`: one probe program at one position, over temporaries of its own.
//!
//! Temporaries are registers of the snippet: predicates, 32 and 64 bits. Narrower integers are zero-extended
//! to 32 bits. Branches of the program become branches around its code. `prlx_plan::eval` defines the meaning
//! of a program. [`super::tables`] has the code that writes to tables.

use prlx_isa::view::{Class, Guard};
use prlx_plan::At;
use prlx_plan::code::{Code, LaneQuery, Op, Row, Stmt, Ty};
use prlx_trace::device::tables::Part;

use crate::ptx::lowering::Lowering;
use crate::ptx::probe::emitter::{Probe, bits, register, register_type};
use crate::ptx::probe::known_values::is_uniform;
use crate::ptx::probe::tables::RowRef;
use crate::ptx::snippet::{Snippet, guard_text};

impl Lowering<'_> {
    /// Lowers [`prlx_plan::Action::Probe`]: the program's code.
    pub(in crate::ptx) fn probe(&self, s: &mut Snippet<'_>, code: &Code, at: At) {
        for (i, ty) in code.temps.iter().enumerate() {
            s.declare(register_type(*ty), format!("t{i}"));
        }
        if self.needs_context(&code.body) {
            self.context(s);
        }
        let shares = at == At::Entry && self.in_kernel() && self.arch >= 80 && self.has_loops_or_calls();
        Probe { lowering: self, code, shares, labels: 0 }.block(s, &code.body);
    }

    /// Whether the function has loops or calls.
    fn has_loops_or_calls(&self) -> bool {
        let loops = self.plan.module.functions.get(self.index).is_some_and(|f| !f.loops.is_empty());
        loops || self.function.insts.iter().any(|i| i.class == Class::Call)
    }

    /// Whether a program needs the launch's context.
    fn needs_context(&self, body: &[Stmt]) -> bool {
        body.iter().any(|stmt| match stmt {
            Stmt::Set(_, op) => matches!(op, Op::Query(LaneQuery::Launch) | Op::Get(_)),
            Stmt::Store(..) | Stmt::Tally { .. } => false,
            Stmt::If(_, then, other) => self.needs_context(then) || self.needs_context(other),
            Stmt::Put(..) | Stmt::Merge { .. } | Stmt::Update { .. } => true,
            Stmt::Save { record, .. } => !self.numbered(*record as usize),
        })
    }

    /// Whether a record is one that each thread numbers itself.
    pub(in crate::ptx) fn numbered(&self, record: usize) -> bool {
        self.plan.probe_state.records.parts.get(record).is_some_and(Part::numbered)
    }

    /// Lowers [`prlx_plan::Action::Count`]: adds to a counter's register.
    pub(in crate::ptx) fn count(&self, s: &mut Snippet<'_>, counter: u32, add: u64, guard: Option<Guard>) {
        let guard = guard.map(|g| guard_text(self.function, g, false)).unwrap_or_default();
        match self.plan.probe_state.packed.place(counter) {
            Some((word, bit)) => {
                let add = (add << bit) as u32;
                s.ptx(&format!("{guard} add.u32 %~packed{word}, %~packed{word}, {};", add.cast_signed()));
            }
            None => s.ptx(&format!(
                "{guard} add.u64 %~counter{counter}, %~counter{counter}, {};",
                add.cast_signed()
            )),
        }
    }
}

impl Probe<'_, '_> {
    fn block(&mut self, s: &mut Snippet<'_>, body: &[Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::Set(to, op) => self.set(s, *to, op),
                Stmt::Store(var, temp) => {
                    let (from, ty) = (register(*temp), self.ty(*temp));
                    match ty {
                        Ty::Bool => s.ptx(&format!("selp.b32 %~var{var}, 1, 0, {from};")),
                        _ if self.shares && is_uniform(self.code, *temp) => {
                            self.store_uniform(s, &format!("%~var{var}"), &from, ty);
                        }
                        _ => s.ptx(&format!("mov.{} %~var{var}, {from};", bits(ty))),
                    }
                }
                Stmt::Put(var, temp) => self.store_shared(s, *var, *temp),
                Stmt::Merge { var, how, value, old } => self.merge_shared(s, *var, *how, *value, *old),
                Stmt::If(condition, then, other) => {
                    let (otherwise, end) = (self.label(s), self.label(s));
                    s.ptx(&format!("@!{} bra {otherwise};", register(*condition)));
                    // Some lanes took the other branch.
                    self.shares = false;
                    self.block(s, then);
                    if other.is_empty() {
                        s.ptx(&format!("{otherwise}:"));
                        continue;
                    }
                    s.ptx(&format!("bra {end};\n{otherwise}:"));
                    self.block(s, other);
                    s.ptx(&format!("{end}:"));
                }
                Stmt::Tally { counter, value } => {
                    let value = match value {
                        Some(value) => {
                            self.wide(s, *value, "%~v0");
                            "%~v0"
                        }
                        None => "1",
                    };
                    s.ptx(&format!("add.u64 %~counter{counter}, %~counter{counter}, {value};"));
                }
                Stmt::Update { table, row, value } => {
                    let done = self.label(s);
                    s.ptx(&format!("setp.eq.u64 %~q, %~context, 0;\n@%~q bra {done};"));
                    let value = value.map(|v| self.wide(s, v, "%~v0"));
                    let row = match row {
                        Row::At(row) => RowRef::At(*row),
                        Row::Keyed(keys) => RowRef::Keyed(keys),
                    };
                    self.update(s, *table as usize, row, value.is_some());
                    s.ptx(&format!("{done}:"));
                }
                Stmt::Save { record, fields } if self.lowering.numbered(*record as usize) => {
                    self.save_thread_record(s, *record as usize, fields);
                }
                Stmt::Save { record, fields } => {
                    let done = self.label(s);
                    s.ptx(&format!("setp.eq.u64 %~q, %~context, 0;\n@%~q bra {done};"));
                    self.save(s, *record as usize, fields, &done);
                    s.ptx(&format!("{done}:"));
                }
            }
        }
    }

    /// `to`: a value that is the same in all lanes of the full warp, in a form that the assembler recognises
    /// as uniform. It then keeps the value in a uniform register instead of one register per lane.
    fn store_uniform(&self, s: &mut Snippet<'_>, to: &str, from: &str, ty: Ty) {
        s.ptx("activemask.b32 %~mask;");
        match ty.bits() {
            64 => s.ptx(&format!(
                "mov.b64 {{%~a, %~b}}, {from};
                 redux.sync.or.b32 %~a, %~a, %~mask;
                 redux.sync.or.b32 %~b, %~b, %~mask;
                 mov.b64 {to}, {{%~a, %~b}};"
            )),
            _ => s.ptx(&format!("redux.sync.or.b32 {to}, {from}, %~mask;")),
        }
    }
}
