//! Stores records of warps and of logs, in words of four bytes, with the widest possible stores.
//!
//! [`super::thread_records`] stores the records that each thread numbers itself.

use prlx_plan::code::Temp;
use prlx_trace::device::tables::{Part, Which};
use prlx_trace::device::{Context, HiddenParameter};

use crate::ptx::lowering::Output;
use crate::ptx::probe::emitter::{Probe, register};
use crate::ptx::snippet::Snippet;

/// A record in 32-bit registers, in memory order.
struct Words {
    words: Vec<String>,
    /// Position of the warp's count of records, if it is inside the record: word, and first bit. The bits are
    /// 0 here.
    head: Option<(usize, u64)>,
}

impl Probe<'_, '_> {
    /// Writes a warp's record, or an entry of a log. Lanes that do not write go to `done`. `%~context` is not
    /// 0.
    pub(in crate::ptx) fn save(&mut self, s: &mut Snippet<'_>, record: usize, fields: &[Temp], done: &str) {
        let Some(part) = self.lowering.plan.probe_state.records.parts.get(record) else { return };
        if part.which == Which::Room {
            return self.append_log(s, part, fields, done);
        }
        let words = self.words(s, part, fields, done);
        self.lowering.active_lanes(s);
        if let Some((word, bit)) = words.head {
            if self.lowering.output == Output::Wave {
                self.lowering.record_base(s, "%~link", "records", "");
                return self.save_divergent(s, part, &words, [word as u64, bit], done);
            }
            self.save_whole_warp(s, part, &words, [word as u64, bit], done);
            return self.save_divergent(s, part, &words, [word as u64, bit], done);
        }
        self.lowering.lead(s);
        s.ptx(&format!("@!%~lead bra {done};"));
        let labels = [(); 3].map(|()| self.label(s));
        self.lowering.warp_records(s, "%~link", done, labels.each_ref().map(String::as_str));
        self.warp_record_address(s);
        let align = self.align();
        if part.which == Which::Last && part.keep == 1 {
            // There is only one slot, so no index is needed.
            s.ptx(&format!("red.global.add.u64 [%~link+{}], 1;", part.at));
            return store(s, &words.words, part.at + part.rows(), align, "");
        }
        s.ptx(&format!("atom.global.add.u64 %~x, [%~link+{}], 1;", part.at));
        match (part.which, part.keep) {
            (Which::Last, keep) if keep.is_power_of_two() => {
                s.ptx(&format!("and.b64 %~x, %~x, {};", keep - 1))
            }
            (Which::Last, keep) => s.ptx(&format!("rem.u64 %~x, %~x, {keep};")),
            (_, keep) => s.ptx(&format!("setp.ge.u64 %~q, %~x, {keep};\n@%~q bra {done};")),
        }
        let row = part.row();
        s.ptx(&format!("mad.lo.u64 %~link, %~x, {row}, %~link;"));
        store(s, &words.words, part.at + part.rows(), align.min(1 << row.trailing_zeros()), "");
    }

    /// The single record of a full warp in a one-dimensional launch. Almost all warps are like that, and
    /// short warps are sensitive to every instruction. No other lane of the warp writes this record. Its
    /// lanes go to `done`; others continue, with the results of [`Lowering::record_base`].
    fn save_whole_warp(
        &mut self,
        s: &mut Snippet<'_>,
        part: &Part,
        words: &Words,
        head: [u64; 2],
        done: &str,
    ) {
        let [aside, apart, told] = [(); 3].map(|()| self.label(s));
        let whole = |s: &mut Snippet<'_>, otherwise: &str| {
            s.ptx(&format!(
                "setp.eq.u32 %~q, %~d, 0;
                 setp.ne.u32 %~r, %~mask, -1;
                 or.pred %~q, %~q, %~r;
                 @%~q bra {otherwise};"
            ));
        };
        if self.lowering.in_kernel() {
            // Emitted twice, so that the values of the parameter are used directly and are not merged with
            // loaded ones.
            s.ptx(&format!("ld.param.u32 %~d, [~context+{}];", HiddenParameter::offset("cta_warps")));
            whole(s, &aside);
            s.ptx(&format!("ld.param.u64 %~link, [~context+{}];", HiddenParameter::offset("ends")));
            self.store_whole_warp(s, part, words, head);
            s.ptx(&format!("bra {done};\n{aside}:"));
        }
        self.lowering.record_base(s, "%~link", "records", &told);
        whole(s, &apart);
        self.store_whole_warp(s, part, words, head);
        s.ptx(&format!("bra {done};\n{apart}:"));
    }

    /// Stores the record of a full warp. `%~d`: number of warps per CTA. `%~link`: address of the records of
    /// all warps.
    fn store_whole_warp(&mut self, s: &mut Snippet<'_>, part: &Part, words: &Words, [word, bit]: [u64; 2]) {
        s.ptx(&format!(
            "mov.u32 %~a, %tid.x;
             mov.u32 %~b, %ctaid.x;
             and.b32 %~c, %~a, 31;
             setp.eq.u32 %~lead, %~c, 0;
             shr.u32 %~a, %~a, 5;
             mad.lo.u32 %~warp, %~b, %~d, %~a;
             add.u32 %~e, %~{}, {};",
            words.words[word as usize],
            1u64 << bit,
        ));
        self.warp_record_address(s);
        let mut all = words.words.clone();
        all[word as usize] = "e".to_owned();
        store(s, &all, part.at, self.align(), "@%~lead ");
    }

    /// The same for a partial warp, or in another launch: one lane writes, and counts in the word that holds
    /// both a field and the count.
    fn save_divergent(
        &mut self,
        s: &mut Snippet<'_>,
        part: &Part,
        words: &Words,
        [word, bit]: [u64; 2],
        done: &str,
    ) {
        self.lowering.lead(s);
        s.ptx(&format!(
            "@!%~lead bra {done};
             setp.eq.u64 %~q, %~link, 0;
             @%~q bra {done};"
        ));
        self.lowering.warp_index(s);
        self.warp_record_address(s);
        let (at, own) = (part.at + 4 * word, &words.words[word as usize]);
        let (one, count) = (1u64 << bit, (0xFFFFu32 << bit).cast_signed());
        if part.which == Which::First {
            s.ptx(&format!(
                "atom.global.add.u32 %~a, [%~link+{at}], {one};
                 and.b32 %~a, %~a, {count};
                 setp.ne.u32 %~q, %~a, 0;
                 @%~q bra {done};
                 red.global.add.u32 [%~link+{at}], %~{own};"
            ));
        } else {
            // Replaced records stay counted.
            s.ptx(&format!(
                "add.u32 %~e, %~{own}, {one};
                 atom.global.exch.b32 %~a, [%~link+{at}], %~e;
                 and.b32 %~a, %~a, {count};
                 red.global.add.u32 [%~link+{at}], %~a;"
            ));
        }
        let (before, behind) = words.words.split_at(word as usize);
        store(s, before, part.at, self.align(), "");
        store(s, &behind[1..], at + 4, self.align(), "");
    }

    /// `%~link`: from the address of all records to those of `%~warp`.
    fn warp_record_address(&self, s: &mut Snippet<'_>) {
        match self.lowering.plan.probe_state.records.warp {
            few @ 0..=0x7FFF_FFFF => s.ptx(&format!("mad.wide.u32 %~link, %~warp, {few}, %~link;")),
            many => s.ptx(&format!("cvt.u64.u32 %~x, %~warp;\nmad.lo.u64 %~link, %~x, {many}, %~link;")),
        }
    }

    /// Alignment of the records of a warp, bytes, at most 16.
    fn align(&self) -> u64 {
        1 << self.lowering.plan.probe_state.records.warp.trailing_zeros().min(4)
    }

    /// Packs the fields of a record into registers.
    fn words(&mut self, s: &mut Snippet<'_>, part: &Part, fields: &[Temp], done: &str) -> Words {
        let name = done.trim_start_matches('$').trim_start_matches('~').to_owned();
        let offsets = part.offsets();
        let mut all: Vec<Option<String>> = vec![None; part.row() as usize / 4];
        for (i, (field, at)) in fields.iter().zip(&offsets).enumerate() {
            let (word, bit) = ((at / 4) as usize, 8 * (at % 4));
            let own = format!("{name}_{i}");
            let from = register(*field);
            match self.ty(*field).bits() {
                64 => {
                    let high = format!("{own}h");
                    s.ptx(&format!("mov.b64 {{%~{own}, %~{high}}}, {from};"));
                    s.declare(".b32", high.clone());
                    all[word + 1] = Some(high);
                }
                1 => s.ptx(&format!("selp.b32 %~{own}, 1, 0, {from};")),
                _ => s.ptx(&format!("mov.b32 %~{own}, {from};")),
            }
            s.declare(".b32", own.clone());
            if let Some(others) = &all[word] {
                s.ptx(&format!("mad.lo.u32 %~{own}, %~{own}, {}, %~{others};", 1u64 << bit));
            } else if bit > 0 {
                s.ptx(&format!("shl.b32 %~{own}, %~{own}, {bit};"));
            }
            all[word] = Some(own);
        }
        let head = offsets.get(fields.len()).map(|at| ((at / 4) as usize, 8 * (at % 4)));
        let empty = format!("{name}_");
        if all.iter().any(Option::is_none) {
            s.declare(".b32", empty.clone());
            s.ptx(&format!("mov.b32 %~{empty}, 0;"));
        }
        Words { words: all.into_iter().map(|word| word.unwrap_or_else(|| empty.clone())).collect(), head }
    }

    /// Writes entries of a log: one atomic addition reserves entries for all active lanes.
    fn append_log(&mut self, s: &mut Snippet<'_>, part: &Part, fields: &[Temp], done: &str) {
        let words = self.words(s, part, fields, done).words;
        self.lowering.active_lanes(s);
        self.lowering.lead(s);
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
            // The lowest lane reserves entries for all and broadcasts the first index.
            true if self.lowering.output == Output::Wave => {
                self.lowering.lane_ranks(s);
                s.ptx(&format!(
                    "cvt.u64.u32 %~amount, %~a;
                     mov.u64 %~x, 0;
                     @%~lead atom.global.add.u64 %~x, [%~link+{}], %~amount;
                     mov.b64 {{%~a, %~c}}, %~x;
                     readfirst.b32 %~a, %~a;
                     readfirst.b32 %~c, %~c;
                     mov.b64 %~x, {{%~a, %~c}};
                     cvt.u64.u32 %~y, %~b;
                     add.u64 %~x, %~x, %~y;",
                    part.at,
                ));
            }
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
        self.lowering.warp_index(s);
        if self.lowering.output == Output::Wave {
            self.lowering.warps_per_cta(s);
        }
        // `b`: number of warps per CTA. Then the total number of entries.
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
            self.lowering.plan.probe_state.records.warp,
            part.entry(),
            part.at + 8,
        ));
        if part.of_lane {
            let lanes = part.warp_size.lanes();
            s.ptx(&format!(
                "mov.u32 %~a, %laneid;
                 mul.wide.u32 %~y, %~warp, {lanes};
                 cvt.u64.u32 %~v, %~a;
                 add.u64 %~y, %~y, %~v;"
            ));
        }
        s.ptx("add.u64 %~y, %~y, 1;\nst.global.u64 [%~link], %~y;");
        store(s, &words, 8, 8, "");
    }
}

/// Stores words in sequence from `[%~link+at]` on, up to four at once. `%~link` is a multiple of `align`.
fn store(s: &mut Snippet<'_>, words: &[String], at: u64, align: u64, guard: &str) {
    let mut done = 0;
    while done < words.len() {
        let at = at + 4 * done as u64;
        let fits = |n: &usize| done + n <= words.len() && (at | align).is_multiple_of(4 * *n as u64);
        let n = [4, 2, 1].into_iter().find(fits).unwrap_or(1);
        let list: Vec<String> = words[done..done + n].iter().map(|word| format!("%~{word}")).collect();
        match n {
            1 => s.ptx(&format!("{guard}st.global.u32 [%~link+{at}], {};", list[0])),
            n => s.ptx(&format!("{guard}st.global.v{n}.u32 [%~link+{at}], {{{}}};", list.join(", "))),
        }
        done += n;
    }
}
