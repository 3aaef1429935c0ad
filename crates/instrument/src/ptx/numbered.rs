//! Records that threads number: how many a thread has written is in a register, and no lane waits for memory.
//!
//! Lanes of a whole warp that write records of one number at once, whose fields grow evenly from lane to lane, write one entry
//! (`prlx_trace::device::tables`): most accesses to memory are of this kind, and what is written bounds what records cost.

use prlx_probe::code::{Code, Op, Stmt, Temp};
use prlx_trace::device::tables::{Part, Which};

use super::probe::Probe;
use super::snippet::Snippet;
use super::state::saved;

/// Most fields that are compared between lanes, at some nine instructions each.
const COMPARED: usize = 4;

impl Probe<'_, '_> {
    /// Writes a record of a thread.
    pub(super) fn save_numbered(&mut self, s: &mut Snippet<'_>, record: usize, fields: &[Temp]) {
        let Some(part) = self.lowering.plan.kept.records.parts.get(record) else { return };
        let [done, apart, over] = [(); 3].map(|()| self.label(s));
        let count = format!("%~{}", saved(record));
        s.ptx(&format!(
            "setp.eq.u64 %~q, %~records, 0;
             @%~q bra {done};
             mov.u32 %~lane, %laneid;
             mov.u32 %~e, {count};
             add.u32 {count}, {count}, 1;"
        ));
        // `e`: the slot.
        match (part.which, part.keep) {
            (Which::Last, keep) if keep.is_power_of_two() => s.ptx(&format!("and.b32 %~e, %~e, {};", keep - 1)),
            (Which::Last, keep) => s.ptx(&format!("rem.u32 %~e, %~e, {keep};")),
            (_, keep) => s.ptx(&format!("setp.ge.u32 %~q, %~e, {keep};\n@%~q bra {over};")),
        }
        let name = done.trim_start_matches('$').trim_start_matches('~').to_owned();
        let mut values = Vec::with_capacity(fields.len());
        for (i, field) in fields.iter().enumerate() {
            let value = format!("{name}_{i}");
            s.declare(".b64", value.clone());
            self.wide(s, *field, &format!("%~{value}"));
            values.push((value, constant(self.code, *field).is_none()));
        }
        let compared = values.iter().filter(|v| v.1).count();
        if compared <= COMPARED {
            self.together(s, part, &count, &values, [&done, &apart]);
        }
        let single = part.single();
        s.ptx(&format!(
            "{apart}:
             cvt.u64.u32 %~y, {count};
             mad.wide.u32 %~link, %~e, {}, %~records;
             mad.wide.u32 %~link, %~lane, {single}, %~link;
             add.u64 %~link, %~link, {};",
            32 * single,
            part.at + part.singles(),
        ));
        let words: Vec<&str> = ["y"].into_iter().chain(values.iter().map(|v| v.0.as_str())).collect();
        store(s, &words, 0, true);
        if part.which == Which::First {
            s.ptx(&format!(
                "bra {done};
                 {over}:
                 cvt.u64.u32 %~y, {count};
                 mad.wide.u32 %~link, %~lane, 8, %~records;
                 st.global.u64 [%~link+{}], %~y;",
                part.at,
            ));
        }
        s.ptx(&format!("{done}:"));
    }

    /// The entry of a warp, from which all lanes go to `done`; if it can't be one, to `apart`.
    fn together(
        &self,
        s: &mut Snippet<'_>,
        part: &Part,
        count: &str,
        values: &[(String, bool)],
        [done, apart]: [&str; 2],
    ) {
        s.ptx(&format!(
            "activemask.b32 %~mask;
             setp.ne.u32 %~q, %~mask, -1;
             @%~q bra {apart};
             shfl.sync.idx.b32 %~a, {count}, 0, 31, %~mask;
             setp.eq.u32 %~r, %~a, {count};"
        ));
        let mut firsts = Vec::with_capacity(values.len());
        let mut steps = Vec::with_capacity(values.len());
        for (value, compared) in values {
            if !compared {
                firsts.push(value.clone());
                steps.push("0".to_owned());
                continue;
            }
            let (first, step) = (format!("{value}f"), format!("{value}s"));
            s.declare(".b64", first.clone());
            s.declare(".b32", step.clone());
            // Of lanes 0 and 1 the low halves are enough: the sum tells whether they were.
            s.ptx(&format!(
                "mov.b64 {{%~a, %~b}}, %~{value};
                 shfl.sync.idx.b32 %~c, %~a, 0, 31, %~mask;
                 shfl.sync.idx.b32 %~b, %~b, 0, 31, %~mask;
                 shfl.sync.idx.b32 %~d, %~a, 1, 31, %~mask;
                 mov.b64 %~{first}, {{%~c, %~b}};
                 sub.u32 %~{step}, %~d, %~c;
                 mad.wide.s32 %~x, %~lane, %~{step}, %~{first};
                 setp.eq.u64 %~q, %~x, %~{value};
                 and.pred %~r, %~r, %~q;"
            ));
            firsts.push(first);
            steps.push(format!("%~{step}"));
        }
        s.ptx(&format!(
            "vote.sync.all.pred %~r, %~r, %~mask;
             @!%~r bra {apart};
             setp.ne.u32 %~q, %~lane, 0;
             @%~q bra {done};
             mad.wide.u32 %~link, %~e, {}, %~records;
             add.u64 %~link, %~link, {};",
            part.joint(),
            part.at + part.joints(),
        ));
        let heads: Vec<String> = [count.to_owned()].into_iter().chain(steps).collect();
        for (i, four) in heads.chunks(4).enumerate() {
            let mut four: Vec<String> = four.to_vec();
            four.resize(4, "0".to_owned());
            for (register, word) in ["w0", "w1", "w2", "w3"].iter().zip(&four) {
                s.ptx(&format!("mov.b32 %~{register}, {word};"));
            }
            s.ptx(&format!("st.global.v4.u32 [%~link+{}], {{%~w0, %~w1, %~w2, %~w3}};", 16 * i));
        }
        let firsts: Vec<&str> = firsts.iter().map(String::as_str).collect();
        store(s, &firsts, part.joint_fields(), true);
        s.ptx(&format!("bra {done};"));
    }
}

/// Stores registers of 64 bits one after the other, perhaps two at a time, from `[%~link+at]` on.
fn store(s: &mut Snippet<'_>, words: &[&str], at: u64, pairs: bool) {
    let each = if pairs { 2 } else { 1 };
    for (i, pair) in words.chunks(each).enumerate() {
        let at = at + 8 * (each * i) as u64;
        match pair {
            [a, b] => s.ptx(&format!("st.global.v2.u64 [%~link+{at}], {{%~{a}, %~{b}}};")),
            _ => s.ptx(&format!("st.global.u64 [%~link+{at}], %~{};", pair[0])),
        }
    }
}

/// What a temporary is, if it is a constant of the place.
pub(super) fn constant(code: &Code, temp: Temp) -> Option<u64> {
    match set_by(code, temp) {
        Some(Op::Const(bits)) => Some(*bits),
        _ => None,
    }
}

/// What sets a temporary, if one thing does.
pub(super) fn set_by(code: &Code, temp: Temp) -> Option<&Op> {
    fn sets<'c>(body: &'c [Stmt], temp: Temp, found: &mut Vec<Option<&'c Op>>) {
        for stmt in body {
            match stmt {
                Stmt::Set(to, op) if *to == temp => found.push(Some(op)),
                Stmt::Merge { old: Some(old), .. } if *old == temp => found.push(None),
                Stmt::If(_, then, other) => {
                    sets(then, temp, found);
                    sets(other, temp, found);
                }
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    sets(&code.body, temp, &mut found);
    match found[..] {
        [one] => one,
        _ => None,
    }
}
