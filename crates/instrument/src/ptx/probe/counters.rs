//! Adds a thread's counters to their table rows at the end of the thread.
//!
//! This code dominates short warps, which wait for every load. The address of the tables is therefore a
//! kernel parameter. In a full warp each lane adds one counter, with a single atomic instruction for all of
//! them; the assembler need not search for a leader.

use prlx_plan::code::Reduce;
use prlx_plan::{PackedCounters, TableCopies};
use prlx_trace::device::{Context, HiddenParameter};

use crate::ptx::lowering::Lowering;
use crate::ptx::probe::reductions::reduce64;
use crate::ptx::snippet::Snippet;

impl Lowering<'_> {
    /// Adds the counters of a thread to their rows.
    pub(in crate::ptx) fn flush_counters(&self, s: &mut Snippet<'_>) {
        let kept = &self.plan.probe_state;
        let rows = kept.counters.iter().enumerate().filter_map(|(i, counter)| {
            let layout = kept.tables.get(counter.table as usize)?;
            Some((i as u32, layout.at + layout.row() * u64::from(counter.row)))
        });
        let rows: Vec<(u32, u64)> = rows.collect();
        if rows.is_empty() {
            return;
        }
        let together = self.arch >= 80;
        self.table_base(s);
        if together {
            s.ptx("activemask.b32 %~mask;");
        }
        self.alone(s, together);
        for word in 0..kept.packed.words() {
            s.declare(".b32", format!("sum{word}_"));
            match together {
                true => s.ptx(&format!("redux.sync.add.u32 %~sum{word}_, %~packed{word}, %~mask;")),
                false => s.ptx(&format!("mov.b32 %~sum{word}_, %~packed{word};")),
            }
        }
        let TableCopies { count, stride } = kept.copies;
        if count > 1 {
            self.copy_number(s, "%~e", count);
        }
        if together {
            self.one_counter_per_lane(s, &rows);
        }
        if count > 1 {
            s.ptx(&format!("mad.wide.u32 %~link, %~e, {stride}, %~link;"));
        }
        self.lead_of_group(s);
        for (i, at) in rows {
            match kept.packed.place(i) {
                Some((word, bit)) => s.ptx(&format!(
                    "shr.u32 %~a, %~sum{word}_, {bit};
                     and.b32 %~a, %~a, {};
                     cvt.u64.u32 %~v0, %~a;",
                    self.packed_mask(),
                )),
                None => {
                    s.ptx(&format!("mov.b64 %~v0, %~counter{i};"));
                    if together {
                        reduce64(s, Reduce::Sum, false);
                    }
                }
            }
            s.ptx(&format!(
                "setp.ne.u64 %~q, %~v0, 0;
                 and.pred %~q, %~q, %~lead;
                 @%~q red.global.add.u64 [%~link+{at}], %~v0;"
            ));
        }
        s.ptx("$~counted#:");
    }

    /// `%~link`: address of the tables; goes to `$~counted#` if there are none. The kernel's parameter has it
    /// in most launches, otherwise the context.
    fn table_base(&self, s: &mut Snippet<'_>) {
        if self.in_kernel() {
            s.ptx(&format!(
                "ld.param.u64 %~link, [~context+{}];
                 setp.ne.u64 %~q, %~link, 0;
                 @%~q bra $~told#;",
                HiddenParameter::offset("tables"),
            ));
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
        if self.in_kernel() {
            s.ptx("$~told#:");
        }
    }

    /// Mask of a packed counter's bits.
    fn packed_mask(&self) -> i32 {
        (u32::MAX >> (32 - self.plan.probe_state.packed.bits.clamp(1, 32))).cast_signed()
    }

    /// For a full warp whose unpacked counters are all small: each lane adds one counter to its row and goes
    /// to `$~counted#`. Rows that receive 0 are not accessed. `rows`: counters and the offsets of their rows.
    /// `%~e`: number of this SM's copy, if there are several.
    fn one_counter_per_lane(&self, s: &mut Snippet<'_>, rows: &[(u32, u64)]) {
        let packed = self.plan.probe_state.packed;
        s.ptx("mov.u32 %~lane, %laneid;\nsetp.ne.u32 %~q, %~mask, -1;");
        let wide: Vec<u32> = rows.iter().map(|row| row.0).filter(|i| packed.place(*i).is_none()).collect();
        if !wide.is_empty() {
            s.ptx("mov.u32 %~c, 0;");
            for i in &wide {
                s.ptx(&format!(
                    "mov.b64 {{%~a, %~b}}, %~counter{i};
                     shr.u32 %~a, %~a, {};
                     or.b32 %~b, %~b, %~a;
                     or.b32 %~c, %~c, %~b;",
                    PackedCounters::small(self.plan.warp_size),
                ));
            }
            s.ptx("redux.sync.or.b32 %~c, %~c, %~mask;\nsetp.ne.u32 %~r, %~c, 0;\nor.pred %~q, %~q, %~r;");
        }
        // `a`: the sum that this lane adds.
        match packed.words() {
            0 => s.ptx("mov.u32 %~a, 0;"),
            _ => s.ptx(&format!(
                "mul.lo.u32 %~a, %~lane, {};
                 shr.u32 %~a, %~sum0_, %~a;
                 and.b32 %~a, %~a, {};",
                packed.bits,
                self.packed_mask(),
            )),
        }
        for word in 1..packed.words() {
            let first = word * packed.each();
            s.ptx(&format!(
                "sub.u32 %~b, %~lane, {first};
                 mul.lo.u32 %~b, %~b, {};
                 shr.u32 %~b, %~sum{word}_, %~b;
                 and.b32 %~b, %~b, {};
                 setp.ge.u32 %~r, %~lane, {first};
                 selp.b32 %~a, %~b, %~a, %~r;",
                packed.bits,
                self.packed_mask(),
            ));
        }
        for i in wide {
            s.ptx(&format!(
                "cvt.u32.u64 %~b, %~counter{i};
                 redux.sync.add.u32 %~b, %~b, %~mask;
                 setp.eq.u32 %~r, %~lane, {i};
                 selp.b32 %~a, %~b, %~a, %~r;"
            ));
        }
        s.ptx("cvt.u64.u32 %~v0, %~a;");
        // Most rows are adjacent.
        let first = rows.first().map_or(0, |row| row.1);
        let more = |(i, at): &(u32, u64)| at.cast_signed() - (first + 8 * u64::from(*i)).cast_signed();
        let jumps: Vec<(u32, i64)> =
            rows.windows(2).filter(|p| more(&p[0]) != more(&p[1])).map(|p| (p[1].0, more(&p[1]))).collect();
        let TableCopies { count, stride } = self.plan.probe_state.copies;
        s.ptx("shl.b32 %~b, %~lane, 3;");
        if count > 1 {
            // All copies together take less than 2^32 bytes.
            s.ptx(&format!("mad.lo.u32 %~b, %~e, {stride}, %~b;"));
        }
        s.ptx("cvt.u64.u32 %~y, %~b;");
        if !jumps.is_empty() {
            s.ptx("mov.u64 %~x, 0;");
            for (lane, more) in jumps {
                s.ptx(&format!("setp.ge.u32 %~r, %~lane, {lane};\nselp.b64 %~x, {more}, %~x, %~r;"));
            }
            s.ptx("add.u64 %~y, %~y, %~x;");
        }
        s.ptx(&format!(
            "@%~q bra $~large#;
             add.u64 %~y, %~y, %~link;
             setp.ne.u32 %~q, %~a, 0;
             @%~q red.global.add.u64 [%~y+{first}], %~v0;
             bra $~counted#;
             $~large#:"
        ));
    }
}
