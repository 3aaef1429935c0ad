//! Updates tables at the position of a probe program. [`super::counters`] handles counters.
//!
//! Lanes that update the same row reduce their values first, and the lowest lane writes the result. Sums of
//! floats are added by each lane itself, because their order matters. Before sm_80 there is no warp
//! reduction, so every lane writes itself.

use prlx_plan::TableCopies;
use prlx_plan::code::{Reduce, Temp};
use prlx_trace::device::Context;
use prlx_trace::device::tables::PROBES;
use prlx_trace::device::tables::{LOST, MULTIPLIER, Rows};
use prlx_trace::kernel::Scalar;
use prlx_trace::table::Aggregate;

use crate::ptx::lowering::{Lowering, Output};
use crate::ptx::probe::emitter::Probe;
use crate::ptx::probe::reductions::reduce64;
use crate::ptx::snippet::Snippet;

/// A row of a table.
#[derive(Clone, Copy)]
pub(in crate::ptx) enum RowRef<'k> {
    At(u32),
    Keyed(&'k [Temp]),
}

/// Bit 63: flipping it maps signed order to unsigned order.
const TOP: i64 = i64::MIN;

impl Probe<'_, '_> {
    /// Updates a row with `%~v0`, if the aggregate takes a value. `%~context` is not 0.
    pub(in crate::ptx) fn update(&mut self, s: &mut Snippet<'_>, table: usize, row: RowRef<'_>, value: bool) {
        let Some(layout) = self.lowering.plan.probe_state.tables.get(table) else { return };
        let aggregate = layout.aggregate;
        let float_sum =
            value && layout.ty == Scalar::F64 && matches!(aggregate, Aggregate::Sum | Aggregate::Avg);
        let together = self.lowering.arch >= 80 && !float_sum;
        // The row: its number, or the hash of its keys in `%~x`.
        let mut at = layout.at;
        match row {
            RowRef::At(row) => {
                at += layout.row() * u64::from(row);
                if together {
                    s.ptx("activemask.b32 %~mask;");
                }
                self.lowering.alone(s, together);
            }
            RowRef::Keyed(keys) => {
                at += LOST;
                self.hash(s, keys);
                match together {
                    true => s.ptx("activemask.b32 %~mask;\nmatch.any.sync.b64 %~mask, %~x, %~mask;"),
                    false => self.lowering.alone(s, together),
                }
            }
        }
        // The lanes' contribution: the count in `%~amount`, the value in `%~v0`, the bucket of a histogram in
        // `%~e`.
        match aggregate {
            Aggregate::Hist => self.log2_bucket(s, layout.ty),
            Aggregate::Lhist { low, step, steps } => self.step(s, layout.ty, low, step, steps),
            _ => {}
        }
        if matches!(aggregate, Aggregate::Hist | Aggregate::Lhist { .. }) && together {
            s.ptx("match.any.sync.b32 %~mask, %~e, %~mask;");
        }
        self.lowering.group_size(s);
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
        self.lowering.lead_of_group(s);
        s.ptx(&format!(
            "@!%~lead bra {written};
             ld.global.u64 %~link, [%~context+{}];
             setp.eq.u64 %~q, %~link, 0;
             @%~q bra {written};
             add.u64 %~link, %~link, {at};",
            Context::offset("tables"),
        ));
        if let RowRef::At(_) = row {
            self.lowering.own_copy(s);
        }
        if let (RowRef::Keyed(keys), Rows::Hashed { log, .. }) = (row, &layout.rows) {
            self.find(s, keys, layout.row(), *log, &written);
        }
        // `%~link`: address of the row's cells.
        match aggregate {
            Aggregate::Count => s.ptx("red.global.add.u64 [%~link], %~amount;"),
            Aggregate::Sum if float_sum => s.ptx("red.global.add.f64 [%~link], %~v0;"),
            Aggregate::Sum => s.ptx("red.global.add.u64 [%~link], %~v0;"),
            Aggregate::Avg if float_sum => {
                s.ptx("red.global.add.u64 [%~link], %~amount;\nred.global.add.f64 [%~link+8], %~v0;");
            }
            Aggregate::Avg => {
                s.ptx("red.global.add.u64 [%~link], %~amount;\nred.global.add.u64 [%~link+8], %~v0;")
            }
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

    /// `%~x`: hash of the keys, as [`prlx_trace::device::tables::hash`] computes it.
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

    /// `%~link`: from the address of the first row to the cells of the row with hash `%~x`. Lanes that find
    /// no row go to `without`.
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

    /// `%~e`: bucket of `%~v0` in [`Aggregate::Hist`].
    fn log2_bucket(&mut self, s: &mut Snippet<'_>, ty: Scalar) {
        s.ptx("clz.b64 %~e, %~v0;\nsub.u32 %~e, 65, %~e;");
        if ty == Scalar::S64 {
            s.ptx("setp.lt.s64 %~q, %~v0, 0;\nselp.b32 %~e, 0, %~e, %~q;");
        }
    }

    /// `%~e`: bucket of `%~v0` in [`Aggregate::Lhist`].
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
}

impl Lowering<'_> {
    /// `%~link`: from an address in the tables to the same address in this SM's copy.
    fn own_copy(&self, s: &mut Snippet<'_>) {
        let TableCopies { count, stride } = self.plan.probe_state.copies;
        if count > 1 {
            self.copy_number(s, "%~b", count);
            s.ptx(&format!("mad.wide.u32 %~link, %~b, {stride}, %~link;"));
        }
    }

    /// `to`: number of this SM's copy, of `count`. Machine code uses the first one.
    pub(in crate::ptx) fn copy_number(&self, s: &mut Snippet<'_>, to: &str, count: u32) {
        match self.output {
            Output::Ptx => {
                s.ptx(&format!("mov.u32 {to}, %smid;\nand.b32 {to}, {to}, {};", count - 1));
            }
            Output::Wave => s.ptx(&format!("mov.u32 {to}, 0;")),
        }
    }
}
