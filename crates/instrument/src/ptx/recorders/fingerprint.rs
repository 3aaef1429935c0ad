//! Level `fingerprint`: rolling hashes in registers, and checkpoints of them.

use prlx_isa::view::Guard;
use prlx_plan::RollingHash;
use prlx_trace::device::TURN;

use crate::ptx::addressing::LEAD;
use crate::ptx::lane_state::{hash, trip};
use crate::ptx::lowering::Lowering;
use crate::ptx::snippet::{Snippet, guard_text, register};
use crate::ptx::values::{OperandValue, Width};

/// One [`RollingHash::step`] with a value of 32 bits, for those for whom the guard `at` holds.
fn step(s: &mut Snippet<'_>, name: &str, at: &str, value: &str) {
    let (rotate, k) = (RollingHash::ROTATE, RollingHash::K.cast_signed());
    s.ptx(&format!(
        "{at}shf.l.wrap.b32 %~{name}, %~{name}, %~{name}, {rotate};
         {at}mad.lo.s32 %~{name}, %~{name}, {k}, {value};"
    ));
}

impl Lowering<'_> {
    /// Folds values into a hash, one [`RollingHash::step`] each, without a branch even if guarded.
    pub(in crate::ptx) fn fold(
        &self,
        s: &mut Snippet<'_>,
        into: RollingHash,
        values: &[OperandValue],
        guard: Option<Guard>,
    ) {
        let name = hash(into as u64);
        let at = guard.map(|g| format!("{} ", guard_text(self.function, g, false))).unwrap_or_default();
        for value in values {
            match (value, guard) {
                // A predicate needs no conversion to an integer.
                (OperandValue::Named(p, _), None) if value.width() == Width::Bit => {
                    step(s, &name, "", "0");
                    s.ptx(&format!("@{p} add.u32 %~{name}, %~{name}, 1;"));
                }
                (OperandValue::Named(p, _), Some(g)) if value.width() == Width::Bit => {
                    let held = register(self.function, g.reg);
                    match g.negate {
                        true => s.ptx(&format!("not.pred %~q, {held};\nand.pred %~q, %~q, {p};")),
                        false => s.ptx(&format!("and.pred %~q, {held}, {p};")),
                    }
                    step(s, &name, &at, "0");
                    s.ptx(&format!("@%~q add.u32 %~{name}, %~{name}, 1;"));
                }
                _ => {
                    if value.width() == Width::Wide {
                        value.read(s, "%~v");
                        s.ptx(&format!(
                            "mov.b64 {{%~a, %~b}}, %~v;
                             shf.l.wrap.b32 %~b, %~b, %~b, {TURN};
                             {at}xor.b32 %~{name}, %~{name}, %~b;"
                        ));
                    } else {
                        value.read_low(s, "%~a");
                    }
                    step(s, &name, &at, "%~a");
                }
            }
        }
    }

    /// Folds the decisions that were gathered in the lane's word.
    pub(in crate::ptx) fn fold_word(&self, s: &mut Snippet<'_>) {
        step(s, &hash(RollingHash::Control as u64), "", "%~word");
        s.ptx("mov.u32 %~word, 1;");
    }

    /// Folds an iteration count, if there is one, into the hash of control flow.
    pub(in crate::ptx) fn trip_fold(&self, s: &mut Snippet<'_>, counter: u32) {
        let (name, count) = (hash(RollingHash::Control as u64), trip(counter));
        s.ptx(&format!("setp.ne.u32 %~q, %~{count}, 0;\nsub.u32 %~a, %~{count}, 1;"));
        step(s, &name, "@%~q ", "%~a");
        s.ptx(&format!("mov.u32 %~{count}, 0;"));
    }

    /// Counts a back edge, and writes [`RollingHash::checkpoint`] at every 2^`every`-th. One branch for all
    /// lanes, because this code is in inner loops.
    pub(in crate::ptx) fn checkpoint(&self, s: &mut Snippet<'_>, every: u8, guard: Option<Guard>) {
        let mask = (1u64 << every.min(31)) - 1;
        let at = guard.map(|g| format!("{} ", guard_text(self.function, g, false))).unwrap_or_default();
        s.ptx(&format!("{at}add.u32 %~edges, %~edges, 1;\nand.b32 %~a, %~edges, {mask};"));
        match guard {
            None => s.ptx("setp.ne.u32 %~q, %~a, 0;"),
            Some(g) => {
                let bang = if g.negate { "" } else { "!" };
                s.ptx(&format!("setp.ne.or.u32 %~q, %~a, 0, {bang}{};", register(self.function, g.reg)));
            }
        }
        s.ptx(
            "@%~q bra $~on#;
             shf.l.wrap.b32 %~a, %~hash1, %~hash1, 16;
             xor.b32 %~a, %~a, %~hash0;
             shf.l.wrap.b32 %~b, %~hash3, %~hash3, 16;
             xor.b32 %~b, %~b, %~hash2;
             mov.b64 %~v, {%~a, %~b};",
        );
        s.ptx("max.u64 %~v, %~v, 1;");
        self.append(s, &["%~v"]);
        s.ptx("$~on#:");
    }
}

impl Lowering<'_> {
    /// Merges this lane's hashes into its warp's. Most warps end converged, in one-dimensional launches
    /// without a filter. Short kernels are sensitive to every instruction here, so the address is in the
    /// kernel's parameter.
    pub(in crate::ptx) fn write_warp_hashes(&self, s: &mut Snippet<'_>) {
        let (multiplier, layout) = (RollingHash::LANE.cast_signed(), self.plan.finals);
        // Before sm_80, and where lanes exchange nothing, each lane writes for itself, which is slower.
        let together = self.arch >= 80 && self.exchanges();
        self.context(s);
        s.ptx(&format!(
            "setp.eq.u64 %~q, %~context, 0;
             @%~q bra $~off#;
             mov.u32 %~lane, %laneid;
             mad.lo.s32 %~c, %~lane, {}, {multiplier};",
            multiplier.wrapping_mul(2),
        ));
        self.record_base(s, "%~link", "finals", "$~told#");
        if together {
            s.ptx("activemask.b32 %~mask;");
        }
        self.lane_hash_parts(s, together);
        self.warp_of_finals(s, "off");
        s.ptx(&format!("mad.wide.u32 %~link, %~warp, {}, %~link;", layout.bytes()));
        if together {
            s.ptx("setp.ne.u32 %~q, %~mask, -1;\n@%~q bra $~apart#;\nsetp.eq.u32 %~lead, %~lane, 0;");
            match layout.signatures() {
                0 => {}
                8 => s.ptx("@%~lead st.global.cg.v2.u32 [%~link], {%~w0, %~w1};"),
                _ => s.ptx("@%~lead st.global.cg.v4.u32 [%~link], {%~w0, %~w1, %~w2, %~w3};"),
            }
            s.ptx("bra $~sign#;\n$~apart#:");
            s.ptx(LEAD);
            self.merge_parts(s, "@%~lead ");
            s.ptx("$~sign#:");
        } else {
            self.merge_parts(s, "");
        }
        s.ptx(&format!(
            "shr.u32 %~sign, %~sign, 24;
             max.u32 %~sign, %~sign, 1;
             mad.wide.u32 %~link, %~lane, 1, %~link;
             st.global.cg.u8 [%~link+{}], %~sign;
             $~off#:",
            layout.signatures(),
        ));
    }

    /// `%~w0`, …: contribution of this lane, or of all lanes of `%~mask`, to each hash in use. `%~sign`: this
    /// lane's signature before truncation. `%~c` is the lane's multiplier.
    pub(in crate::ptx) fn lane_hash_parts(&self, s: &mut Snippet<'_>, together: bool) {
        let lane = RollingHash::LANE.cast_signed();
        let mut count = 0;
        for i in (0..4).filter(|i| self.plan.finals.used[*i]) {
            s.ptx(&format!(
                "mul.wide.u32 %~x, %~{}, %~c;
                 mov.b64 {{%~a, %~b}}, %~x;
                 mad.lo.s32 %~b, %~a, {lane}, %~b;",
                hash(i as u64),
            ));
            match count {
                0 => s.ptx("mov.u32 %~sign, %~b;"),
                _ => s.ptx(&format!("mad.lo.s32 %~sign, %~sign, {lane}, %~b;")),
            }
            match together {
                true => s.ptx(&format!("redux.sync.xor.b32 %~w{count}, %~b, %~mask;")),
                false => s.ptx(&format!("mov.u32 %~w{count}, %~b;")),
            }
            count += 1;
        }
        if count == 0 {
            s.ptx("mov.u32 %~sign, 0;");
        }
        if count % 2 == 1 {
            s.ptx(&format!("mov.u32 %~w{count}, 0;"));
        }
    }

    /// Merges contributions into the warp's hashes.
    pub(in crate::ptx) fn merge_parts(&self, s: &mut Snippet<'_>, at: &str) {
        for i in 0..self.plan.finals.used.iter().filter(|u| **u).count() {
            s.ptx(&format!("{at}red.global.xor.b32 [%~link+{}], %~w{i};", 4 * i));
        }
    }
}
