//! Records that each thread numbers itself: the count is in a register, and no lane waits for memory.
//!
//! If all lanes of a full warp write records with the same number, they write one joint entry. It stores only
//! the fields that do not grow linearly from lane to lane (`prlx_trace::device::tables`). Most memory
//! accesses are linear in the lane, and the volume of stores limits the speed of records.

use crate::ptx::probe::emitter::register;
use prlx_plan::code::{Temp, Ty};
use prlx_trace::device::tables::{APART, Part, Which};

use crate::ptx::lane_state::record_count_register;
use crate::ptx::probe::emitter::Probe;
use crate::ptx::probe::known_values::{constant, is_uniform};
use crate::ptx::snippet::Snippet;

/// Maximum number of fields compared between lanes; each costs about nine instructions.
const COMPARED: usize = 4;

impl Probe<'_, '_> {
    /// Writes a record of each active thread.
    pub(in crate::ptx) fn save_thread_record(&mut self, s: &mut Snippet<'_>, record: usize, fields: &[Temp]) {
        let Some(part) = self.lowering.plan.probe_state.records.parts.get(record) else { return };
        let [done, apart, over] = [(); 3].map(|()| self.label(s));
        let count = format!("%~{}", record_count_register(record));
        s.ptx(&format!(
            "setp.eq.u64 %~q, %~records, 0;
             @%~q bra {done};
             mov.u32 %~lane, %laneid;
             mov.u32 %~e, {count};
             add.u32 {count}, {count}, 1;"
        ));
        // `e`: index of the slot.
        match (part.which, part.keep) {
            (Which::Last, keep) if keep.is_power_of_two() => {
                s.ptx(&format!("and.b32 %~e, %~e, {};", keep - 1))
            }
            (Which::Last, keep) => s.ptx(&format!("rem.u32 %~e, %~e, {keep};")),
            (_, keep) => s.ptx(&format!("setp.ge.u32 %~q, %~e, {keep};\n@%~q bra {over};")),
        }
        let name = done.trim_start_matches('$').trim_start_matches('~').to_owned();
        let mut behind = Vec::with_capacity(fields.len());
        let mut beside = Field { register: format!("{name}_b"), known: Known::Constant };
        for (i, field) in fields.iter().enumerate() {
            let ty = self.ty(*field);
            let known = match constant(self.code, *field) {
                Some(_) => Known::Constant,
                None if is_uniform(self.code, *field) => Known::Alike,
                None => Known::Nothing,
            };
            let own = register(*field).trim_start_matches("%~").to_owned();
            if part.beside() == Some(i) {
                match ty {
                    Ty::Bool => s.ptx(&format!("selp.b32 %~{}, 1, 0, %~{own};", beside.register)),
                    _ => beside.register = own,
                }
                beside.known = known;
                continue;
            }
            let register = if ty.bits() == 64 { own } else { format!("{name}_{i}") };
            if ty.bits() < 64 {
                s.declare(".b64", register.clone());
                self.wide(s, *field, &format!("%~{register}"));
            }
            behind.push(Field { register, known });
        }
        if part.beside().is_none() {
            s.ptx(&format!("mov.u32 %~{}, 0;", beside.register));
        }
        s.declare(".b32", format!("{name}_b"));
        s.ptx(&format!(
            "mad.wide.u32 %~link, %~e, {}, %~records;
             mad.wide.u32 %~link, %~lane, 8, %~link;",
            part.warp_size.lanes() * part.single(),
        ));
        let own = part.at + part.singles();
        // Distance between words of the lanes' own entries, bytes.
        let lanes = 8 * part.warp_size.lanes();
        if self.lowering.exchanges()
            && behind.iter().filter(|v| v.known == Known::Nothing).count() <= COMPARED
        {
            self.save_joint(s, part, &count, &beside, &behind, [&done, &apart]);
        }
        s.ptx(&format!("{apart}:\nst.global.v2.u32 [%~link+{own}], {{{count}, %~{}}};", beside.register));
        for (i, value) in behind.iter().enumerate() {
            s.ptx(&format!("st.global.u64 [%~link+{}], %~{};", own + lanes * (1 + i as u64), value.register));
        }
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

    /// Writes the joint entry of a warp and goes to `done`; goes to `apart` if the lanes differ too much.
    /// `beside` is stored next to the record number, the fields `behind` after it. `%~link`: address of the
    /// lane's own entry.
    fn save_joint(
        &self,
        s: &mut Snippet<'_>,
        part: &Part,
        count: &str,
        beside: &Field,
        behind: &[Field],
        [done, apart]: [&str; 2],
    ) {
        s.ptx(&format!(
            "activemask.b32 %~mask;
             setp.ne.u32 %~q, %~mask, -1;
             @%~q bra {apart};
             shfl.sync.idx.b32 %~a, {count}, 0, 31, %~mask;
             setp.eq.u32 %~r, %~a, {count};"
        ));
        if beside.known != Known::Constant {
            s.ptx(&format!(
                "shfl.sync.idx.b32 %~a, %~{0}, 0, 31, %~mask;
                 setp.eq.u32 %~q, %~a, %~{0};
                 and.pred %~r, %~r, %~q;",
                beside.register,
            ));
        }
        for Field { register, .. } in behind.iter().filter(|v| v.known == Known::Alike) {
            s.ptx(&format!(
                "mov.b64 {{%~a, %~b}}, %~{register};
                 shfl.sync.idx.b32 %~a, %~a, 0, 31, %~mask;
                 shfl.sync.idx.b32 %~b, %~b, 0, 31, %~mask;
                 mov.b64 %~x, {{%~a, %~b}};
                 setp.eq.u64 %~q, %~x, %~{register};
                 and.pred %~r, %~r, %~q;"
            ));
        }
        s.ptx(&format!("vote.sync.all.pred %~r, %~r, %~mask;\n@!%~r bra {apart};"));
        let mut firsts = Vec::with_capacity(behind.len());
        let mut steps = Vec::with_capacity(behind.len());
        for (i, Field { register, known }) in behind.iter().enumerate() {
            if *known != Known::Nothing {
                firsts.push(register.clone());
                steps.push(NOTHING.to_owned());
                continue;
            }
            let (first, step) = (format!("{register}f"), format!("{register}s"));
            s.declare(".b64", first.clone());
            s.declare(".b32", step.clone());
            // The low halves of lanes 0 and 1 give the step; the comparison of the sum verifies it.
            s.ptx(&format!(
                "mov.b64 {{%~a, %~b}}, %~{register};
                 shfl.sync.idx.b32 %~c, %~a, 0, 31, %~mask;
                 shfl.sync.idx.b32 %~b, %~b, 0, 31, %~mask;
                 shfl.sync.idx.b32 %~d, %~a, 1, 31, %~mask;
                 mov.b64 %~{first}, {{%~c, %~b}};
                 sub.u32 %~{step}, %~d, %~c;
                 mad.wide.s32 %~x, %~lane, %~{step}, %~{first};
                 setp.eq.u64 %~q, %~x, %~{register};
                 setp.ne.u32 %~r, %~{step}, {APART};
                 and.pred %~q, %~q, %~r;
                 vote.sync.all.pred %~q, %~q, %~mask;
                 selp.b32 %~{step}, %~{step}, {APART}, %~q;
                 @!%~q st.global.u64 [%~link+{}], %~{register};",
                part.at + part.singles() + 8 * part.warp_size.lanes() * (1 + i as u64),
            ));
            firsts.push(first);
            steps.push(format!("%~{step}"));
        }
        s.ptx(&format!(
            "setp.ne.u32 %~q, %~lane, 0;
             @%~q bra {done};
             mad.wide.u32 %~link, %~e, {}, %~records;",
            part.joint(),
        ));
        let at = part.at + part.joints();
        let heads: Vec<String> =
            [count.to_owned(), format!("%~{}", beside.register)].into_iter().chain(steps).collect();
        for (i, four) in heads.chunks(4).enumerate() {
            let mut four: Vec<&str> = four.iter().map(String::as_str).collect();
            four.resize(4, NOTHING);
            if four.contains(&NOTHING) {
                s.ptx("mov.b32 %~w0, 0;");
            }
            let four: Vec<&str> = four.into_iter().map(|w| if w == NOTHING { "%~w0" } else { w }).collect();
            s.ptx(&format!("st.global.v4.u32 [%~link+{}], {{{}}};", at + 16 * i as u64, four.join(", ")));
        }
        for (i, pair) in firsts.chunks(2).enumerate() {
            let at = at + part.joint_fields() + 16 * i as u64;
            match pair {
                [a, b] => s.ptx(&format!("st.global.v2.u64 [%~link+{at}], {{%~{a}, %~{b}}};")),
                _ => s.ptx(&format!("st.global.u64 [%~link+{at}], %~{};", pair[0])),
            }
        }
        s.ptx(&format!("bra {done};"));
    }
}

/// A word of an entry that is 0.
const NOTHING: &str = "0";

/// A field: its register, and what is known about it.
struct Field {
    register: String,
    known: Known,
}

/// What is known about a field where it is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    Nothing,
    /// It is a constant at this position.
    Constant,
    /// Lanes that execute together most likely hold the same value.
    Alike,
}
