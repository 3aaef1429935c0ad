//! What a probe program writes: rows of tables, records, and at a thread's end its counters.
//!
//! Lanes that bring their values to the same row do it together where that changes nothing: the lowest of them writes what
//! they reduce to. Sums of floats are each lane's own, for their order would matter; before sm_80 all are.

use std::collections::HashSet;

use prlx_isa::view::{Class, FunctionKind};
use prlx_probe::code::{Reduce, Stmt, Temp, Ty};
use prlx_probe::{Action, At, Copies};
use prlx_trace::device::Context;
use prlx_trace::device::tables::{LOST, MULTIPLIER, PROBES, Part, Rows, Which};
use prlx_trace::kernel::Scalar;
use prlx_trace::table::Aggregate;

use super::Lowering;
use super::begin::{LEAD, WARP_INDEX, records, warp_records};
use super::numbered::store;
use super::probe::{Probe, reduce64};
use super::snippet::Snippet;

/// A row as the code has it.
#[derive(Clone, Copy)]
pub(super) enum Given<'k> {
    At(u32),
    Keyed(&'k [Temp]),
}

/// The top bit of 64.
const TOP: i64 = i64::MIN;

impl Probe<'_, '_> {
    /// Lets a row take `%~v0`, if it takes a value; `%~context` is not 0.
    pub(super) fn update(&mut self, s: &mut Snippet<'_>, table: usize, row: Given<'_>, value: bool) {
        let Some(layout) = self.lowering.plan.kept.tables.get(table) else { return };
        let aggregate = layout.aggregate;
        let float_sum = value && layout.ty == Scalar::F64 && matches!(aggregate, Aggregate::Sum | Aggregate::Avg);
        let together = self.lowering.arch >= 80 && !float_sum;
        // Which row: its number, or the hash of its keys in `%~x`.
        let mut at = layout.at;
        match row {
            Given::At(row) => {
                at += layout.row() * u64::from(row);
                s.ptx(if together { "activemask.b32 %~mask;" } else { "mov.u32 %~mask, %lanemask_eq;" });
            }
            Given::Keyed(keys) => {
                at += LOST;
                self.hash(s, keys);
                match together {
                    true => s.ptx("activemask.b32 %~mask;\nmatch.any.sync.b64 %~mask, %~x, %~mask;"),
                    false => s.ptx("mov.u32 %~mask, %lanemask_eq;"),
                }
            }
        }
        // What the lanes of the mask bring: how often in `%~amount`, the value in `%~v0`, a histogram's cell in `%~e`.
        match aggregate {
            Aggregate::Hist => self.power(s, layout.ty),
            Aggregate::Lhist { low, step, steps } => self.step(s, layout.ty, low, step, steps),
            _ => {}
        }
        if matches!(aggregate, Aggregate::Hist | Aggregate::Lhist { .. }) && together {
            s.ptx("match.any.sync.b32 %~mask, %~e, %~mask;");
        }
        s.ptx("popc.b32 %~a, %~mask;\ncvt.u64.u32 %~amount, %~a;");
        if let Aggregate::Min | Aggregate::Max = aggregate {
            match layout.ty {
                Scalar::S64 => s.ptx(&format!("xor.b64 %~v0, %~v0, {TOP};")),
                Scalar::F64 => s.ptx(&format!(
                    "shr.s64 %~v1, %~v0, 63;
                     or.b64 %~v1, %~v1, {TOP};
                     xor.b64 %~v0, %~v0, %~v1;"
                )),
                _ => {}
            }
            if aggregate == Aggregate::Min {
                s.ptx("not.b64 %~v0, %~v0;");
            }
        }
        if together {
            match aggregate {
                Aggregate::Sum | Aggregate::Avg => reduce64(s, Reduce::Sum, false),
                Aggregate::Min | Aggregate::Max => reduce64(s, Reduce::Max, false),
                _ => {}
            }
        }
        let written = self.label(s);
        s.ptx(LEAD);
        s.ptx(&format!(
            "@!%~lead bra {written};
             ld.global.u64 %~link, [%~context+{}];
             setp.eq.u64 %~q, %~link, 0;
             @%~q bra {written};
             add.u64 %~link, %~link, {at};",
            Context::offset("tables"),
        ));
        if let Given::At(_) = row {
            self.lowering.own_copy(s);
        }
        if let (Given::Keyed(keys), Rows::Hashed { log, .. }) = (row, &layout.rows) {
            self.find(s, keys, layout.row(), *log, &written);
        }
        // `%~link`: the row's cells.
        match aggregate {
            Aggregate::Count => s.ptx("red.global.add.u64 [%~link], %~amount;"),
            Aggregate::Sum if float_sum => s.ptx("red.global.add.f64 [%~link], %~v0;"),
            Aggregate::Sum => s.ptx("red.global.add.u64 [%~link], %~v0;"),
            Aggregate::Avg if float_sum => {
                s.ptx("red.global.add.u64 [%~link], %~amount;\nred.global.add.f64 [%~link+8], %~v0;");
            }
            Aggregate::Avg => s.ptx("red.global.add.u64 [%~link], %~amount;\nred.global.add.u64 [%~link+8], %~v0;"),
            Aggregate::Min | Aggregate::Max => {
                s.ptx("red.global.add.u64 [%~link], %~amount;\nred.global.max.u64 [%~link+8], %~v0;");
            }
            Aggregate::Hist | Aggregate::Lhist { .. } => {
                s.ptx("mad.wide.u32 %~link, %~e, 8, %~link;\nred.global.add.u64 [%~link], %~amount;");
            }
            Aggregate::Record { .. } => {}
        }
        s.ptx(&format!("{written}:"));
    }

    /// `%~x`: [`prlx_trace::device::tables::hash`] of keys.
    fn hash(&mut self, s: &mut Snippet<'_>, keys: &[Temp]) {
        s.ptx("mov.u64 %~x, 0;");
        for key in keys {
            self.wide(s, *key, "%~y");
            s.ptx(&format!(
                "xor.b64 %~x, %~x, %~y;
                 mul.lo.u64 %~x, %~x, {};
                 shr.u64 %~y, %~x, 32;
                 xor.b64 %~x, %~x, %~y;",
                MULTIPLIER.cast_signed(),
            ));
        }
        s.ptx("max.u64 %~x, %~x, 1;");
    }

    /// `%~link`: from the first row, whose address it is, the cells of the row of hash `%~x`; lanes that find none go to `without`.
    fn find(&mut self, s: &mut Snippet<'_>, keys: &[Temp], row: u64, log: u32, without: &str) {
        let (found, mine) = (self.label(s), self.label(s));
        s.ptx(&format!("shr.u64 %~v1, %~x, {};", 64 - log));
        for probe in 0..PROBES {
            let next = self.label(s);
            if probe > 0 {
                s.ptx(&format!("add.u64 %~v1, %~v1, 1;\nand.b64 %~v1, %~v1, {};", (1u64 << log) - 1));
            }
            s.ptx(&format!(
                "mad.lo.u64 %~magazine, %~v1, {row}, %~link;
                 ld.relaxed.gpu.global.u64 %~y, [%~magazine];
                 setp.eq.u64 %~q, %~y, %~x;
                 @%~q bra {found};
                 setp.ne.u64 %~q, %~y, 0;
                 @%~q bra {next};
                 atom.global.cas.b64 %~y, [%~magazine], 0, %~x;
                 setp.eq.u64 %~q, %~y, 0;
                 @%~q bra {mine};
                 setp.eq.u64 %~q, %~y, %~x;
                 @%~q bra {found};
                 {next}:"
            ));
        }
        s.ptx(&format!("red.global.add.u64 [%~link+-{LOST}], %~amount;\nbra {without};\n{mine}:"));
        for (i, key) in keys.iter().enumerate() {
            self.wide(s, *key, "%~y");
            s.ptx(&format!("st.global.u64 [%~magazine+{}], %~y;", 8 + 8 * i));
        }
        s.ptx(&format!("{found}:\nadd.u64 %~link, %~magazine, {};", 8 + 8 * keys.len()));
    }

    /// `%~e`: the cell of [`Aggregate::Hist`] for `%~v0`.
    fn power(&mut self, s: &mut Snippet<'_>, ty: Scalar) {
        s.ptx("clz.b64 %~e, %~v0;\nsub.u32 %~e, 65, %~e;");
        if ty == Scalar::S64 {
            s.ptx("setp.lt.s64 %~q, %~v0, 0;\nselp.b32 %~e, 0, %~e, %~q;");
        }
    }

    /// `%~e`: the cell of [`Aggregate::Lhist`] for `%~v0`.
    fn step(&mut self, s: &mut Snippet<'_>, ty: Scalar, low: i64, step: u64, steps: u32) {
        let kind = if ty == Scalar::S64 { "s64" } else { "u64" };
        s.ptx(&format!("setp.lt.{kind} %~q, %~v0, {low};\nsub.u64 %~y, %~v0, {low};"));
        match step.is_power_of_two() {
            true => s.ptx(&format!("shr.u64 %~y, %~y, {};", step.trailing_zeros())),
            false => s.ptx(&format!("div.u64 %~y, %~y, {};", step.cast_signed())),
        }
        s.ptx(&format!(
            "min.u64 %~y, %~y, {steps};
             cvt.u32.u64 %~e, %~y;
             add.u32 %~e, %~e, 1;
             selp.b32 %~e, 0, %~e, %~q;"
        ));
    }

    /// Writes a warp's record, or an entry of a log; lanes that don't go to `done`. `%~context` is not 0.
    pub(super) fn save(&mut self, s: &mut Snippet<'_>, record: usize, fields: &[Temp], done: &str) {
        let Some(part) = self.lowering.plan.kept.records.parts.get(record).copied() else { return };
        let warp = self.lowering.plan.kept.records.warp;
        if part.which == Which::Room {
            return self.log(s, part, fields, done);
        }
        let name = done.trim_start_matches('$').trim_start_matches('~').to_owned();
        let mut values = Vec::with_capacity(fields.len());
        for (i, field) in fields.iter().enumerate() {
            let value = format!("{name}_{i}");
            s.declare(".b64", value.clone());
            self.wide(s, *field, &format!("%~{value}"));
            values.push(value);
        }
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        s.ptx("activemask.b32 %~mask;");
        let one = part.which == Which::Last && part.keep == 1;
        if one && part.at.is_multiple_of(16) && warp.is_multiple_of(16) && self.lowering.ends_alone(record) {
            self.whole(s, part, &values, done);
        } else {
            s.ptx(LEAD);
            s.ptx(&format!("@!%~lead bra {done};"));
            let labels = [self.label(s), self.label(s)];
            warp_records(s, "%~link", done, [&labels[0], &labels[1]]);
        }
        s.ptx(&format!(
            "cvt.u64.u32 %~x, %~warp;
             mad.lo.u64 %~link, %~x, {warp}, %~link;
             add.u64 %~link, %~link, {};",
            part.at,
        ));
        if one {
            // There is one place: nobody has to know who else came.
            s.ptx("red.global.add.u64 [%~link], 1;");
            return store(s, &values, 8, false);
        }
        s.ptx("atom.global.add.u64 %~x, [%~link], 1;");
        match (part.which, part.keep) {
            (Which::Last, keep) if keep.is_power_of_two() => s.ptx(&format!("and.b64 %~x, %~x, {};", keep - 1)),
            (Which::Last, keep) => s.ptx(&format!("rem.u64 %~x, %~x, {keep};")),
            (_, keep) => s.ptx(&format!("setp.ge.u64 %~q, %~x, {keep};\n@%~q bra {done};")),
        }
        s.ptx(&format!("mad.lo.u64 %~link, %~x, {}, %~link;", 8 * part.fields));
        store(s, &values, 8, false);
    }

    /// The record of a warp that ends whole, in a launch of one dimension: almost all are, and short warps feel every instruction here. That nobody
    /// else of it came is known, and what it writes fills whole sectors: nothing of them has to be brought from memory. Its lanes go to `done`; the
    /// leader of others goes on, with `%~link` and `%~warp`.
    fn whole(&mut self, s: &mut Snippet<'_>, part: Part, values: &[&str], done: &str) {
        let apart = self.label(s);
        let warp = self.lowering.plan.kept.records.warp;
        records(s, "%~link");
        s.ptx(&format!(
            "mov.u32 %~a, %tid.x;
             mov.u32 %~b, %ctaid.x;
             setp.eq.u32 %~q, %~d, 0;
             setp.ne.u32 %~r, %~mask, -1;
             or.pred %~q, %~q, %~r;
             @%~q bra {apart};
             and.b32 %~c, %~a, 31;
             setp.eq.u32 %~lead, %~c, 0;
             shr.u32 %~a, %~a, 5;
             mad.lo.u32 %~warp, %~b, %~d, %~a;
             mad.wide.u32 %~link, %~warp, {warp}, %~link;
             mov.u64 %~x, 1;"
        ));
        let words: Vec<&str> = ["x"].into_iter().chain(values.iter().copied()).collect();
        for (i, pair) in words.chunks(2).enumerate() {
            let at = part.at + 16 * i as u64;
            match pair {
                [a, b] => s.ptx(&format!("@%~lead st.global.v2.u64 [%~link+{at}], {{%~{a}, %~{b}}};")),
                _ => s.ptx(&format!("@%~lead st.global.u64 [%~link+{at}], %~{};", pair[0])),
            }
        }
        s.ptx(&format!("bra {done};\n{apart}:"));
        s.ptx(LEAD);
        s.ptx(&format!(
            "@!%~lead bra {done};
             setp.eq.u64 %~q, %~link, 0;
             @%~q bra {done};"
        ));
        s.ptx(WARP_INDEX);
    }

    /// Writes an entry of a log: the lanes that are here take as many as they are at once.
    fn log(&mut self, s: &mut Snippet<'_>, part: Part, fields: &[Temp], done: &str) {
        s.ptx("activemask.b32 %~mask;");
        s.ptx(LEAD);
        if !part.of_lane {
            s.ptx(&format!("@!%~lead bra {done};"));
        }
        s.ptx(&format!(
            "ld.global.u64 %~link, [%~context+{}];
             setp.eq.u64 %~q, %~link, 0;
             @%~q bra {done};",
            Context::offset("records"),
        ));
        match part.of_lane {
            false => s.ptx(&format!("atom.global.add.u64 %~x, [%~link+{}], 1;", part.at)),
            // The lowest asks for all, and tells them the first of theirs.
            true => s.ptx(&format!(
                "popc.b32 %~a, %~mask;
                 cvt.u64.u32 %~amount, %~a;
                 mov.u64 %~x, 0;
                 @%~lead atom.global.add.u64 %~x, [%~link+{}], %~amount;
                 brev.b32 %~a, %~mask;
                 clz.b32 %~leader, %~a;
                 mov.b64 {{%~a, %~c}}, %~x;
                 shfl.sync.idx.b32 %~a, %~a, %~leader, 31, %~mask;
                 shfl.sync.idx.b32 %~c, %~c, %~leader, 31, %~mask;
                 mov.b64 %~x, {{%~a, %~c}};
                 popc.b32 %~b, %~b;                // `b`: those of them below this lane
                 cvt.u64.u32 %~y, %~b;
                 add.u64 %~x, %~x, %~y;",
                part.at,
            )),
        }
        s.ptx(WARP_INDEX);
        // `b`: warps of a CTA; how many entries there are of all.
        s.ptx(&format!(
            "mov.u32 %~c, %nctaid.x;
             mul.lo.u32 %~c, %~c, %~b;
             mov.u32 %~d, %nctaid.y;
             mul.lo.u32 %~c, %~c, %~d;
             mov.u32 %~d, %nctaid.z;
             mul.lo.u32 %~c, %~c, %~d;
             mul.wide.u32 %~v, %~c, {0};
             setp.ge.u64 %~q, %~x, %~v;
             @%~q bra {done};
             div.u64 %~y, %~x, {0};
             rem.u64 %~x, %~x, {0};
             mad.lo.u64 %~link, %~y, {1}, %~link;
             mad.lo.u64 %~link, %~x, {2}, %~link;
             add.u64 %~link, %~link, {3};
             cvt.u64.u32 %~y, %~warp;",
            part.entries(),
            self.lowering.plan.kept.records.warp,
            part.entry(),
            part.at + 8,
        ));
        if part.of_lane {
            s.ptx(
                "mov.u32 %~a, %laneid;\nmul.wide.u32 %~y, %~warp, 32;\ncvt.u64.u32 %~v, %~a;\nadd.u64 %~y, %~y, %~v;",
            );
        }
        s.ptx("add.u64 %~y, %~y, 1;\nst.global.u64 [%~link], %~y;");
        for (i, field) in fields.iter().enumerate() {
            self.wide(s, *field, "%~y");
            s.ptx(&format!("st.global.u64 [%~link+{}], %~y;", 8 + 8 * i));
        }
    }
}

impl Lowering<'_> {
    /// `%~link`: from the address of the tables, or a row in them that is known, the same of this multiprocessor's copy.
    fn own_copy(&self, s: &mut Snippet<'_>) {
        let Copies { count, stride } = self.plan.kept.copies;
        if count > 1 {
            s.ptx(&format!(
                "mov.u32 %~b, %smid;
                 and.b32 %~b, %~b, {};
                 mad.wide.u32 %~link, %~b, {stride}, %~link;",
                count - 1
            ));
        }
    }

    /// Whether a record is saved where threads end alone, and there once: who is there with its whole warp is the only one of it.
    fn ends_alone(&self, record: usize) -> bool {
        let mut places = HashSet::new();
        self.plan.functions.iter().all(|f| {
            let Some(function) = self.module.functions.get(f.function.index()) else { return false };
            f.insertions.iter().all(|insertion| {
                let Action::Probe(code) = &insertion.action else { return true };
                let At::Before(id) = insertion.at else { return times(&code.body, record) == 0 };
                let ends = function.insts.get(id.index()).is_some_and(|inst| {
                    let returns = inst.class == Class::Return && function.kind == FunctionKind::Kernel;
                    (inst.class == Class::Exit || returns) && inst.guard == insertion.guard
                });
                match times(&code.body, record) {
                    0 => true,
                    1 => ends && places.insert((f.function, id)),
                    _ => false,
                }
            })
        })
    }

    /// Adds a thread's counters to their rows.
    pub(super) fn flush_counters(&self, s: &mut Snippet<'_>) {
        let kept = &self.plan.kept;
        if kept.counters.is_empty() {
            return;
        }
        self.context(s);
        s.ptx(&format!(
            "setp.eq.u64 %~q, %~context, 0;
             @%~q bra $~counted#;
             ld.global.u64 %~link, [%~context+{}];
             setp.eq.u64 %~q, %~link, 0;
             @%~q bra $~counted#;",
            Context::offset("tables"),
        ));
        let together = self.arch >= 80;
        s.ptx(if together { "activemask.b32 %~mask;" } else { "mov.u32 %~mask, %lanemask_eq;" });
        s.ptx(LEAD);
        self.own_copy(s);
        let rows = kept.counters.iter().enumerate().filter_map(|(i, counter)| {
            let layout = kept.tables.get(counter.table as usize)?;
            Some((i, layout.at + layout.row() * u64::from(counter.row)))
        });
        if together {
            // Numbers below 2^27 add up within 32 bits: those of short warps, which feel every instruction here. A row that gets nothing is
            // not touched.
            s.ptx("mov.u32 %~c, 0;");
            for (i, _) in rows.clone() {
                s.ptx(&format!(
                    "mov.b64 {{%~a, %~b}}, %~counter{i};
                     shr.u32 %~a, %~a, 27;
                     or.b32 %~b, %~b, %~a;
                     or.b32 %~c, %~c, %~b;"
                ));
            }
            s.ptx("redux.sync.or.b32 %~c, %~c, %~mask;\nsetp.ne.u32 %~q, %~c, 0;\n@%~q bra $~large#;");
            for (i, at) in rows.clone() {
                s.ptx(&format!(
                    "cvt.u32.u64 %~a, %~counter{i};
                     redux.sync.add.u32 %~a, %~a, %~mask;
                     cvt.u64.u32 %~v0, %~a;
                     setp.ne.u32 %~q, %~a, 0;
                     and.pred %~q, %~q, %~lead;
                     @%~q red.global.add.u64 [%~link+{at}], %~v0;"
                ));
            }
            s.ptx("bra $~counted#;\n$~large#:");
        }
        for (i, at) in rows {
            s.ptx(&format!("mov.b64 %~v0, %~counter{i};"));
            if together {
                reduce64(s, Reduce::Sum, false);
            }
            s.ptx(&format!("@%~lead red.global.add.u64 [%~link+{at}], %~v0;"));
        }
        s.ptx("$~counted#:");
    }
}

/// How often a code says that a record is saved.
fn times(body: &[Stmt], record: usize) -> usize {
    let of = |stmt: &Stmt| match stmt {
        Stmt::Save { record: r, .. } => usize::from(*r as usize == record),
        Stmt::If(_, then, other) => times(then, record) + times(other, record),
        _ => 0,
    };
    body.iter().map(of).sum()
}

/// A variable's bytes in a register.
pub(super) fn variable_size(ty: Ty) -> u64 {
    if ty.bits() == 64 { 8 } else { 4 }
}
