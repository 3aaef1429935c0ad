//! Level `print`: rolling hashes in registers, and checkpoints of them.

use prlx_isa::view::Guard;
use prlx_plan::Fold;
use prlx_trace::device::TURN;

use super::Lowering;
use super::snippet::{Snippet, guard_text, register};
use super::state::{hash, trip};
use super::value::{Value, Width};

impl Lowering<'_> {
    /// Folds values into a hash, one [`Fold::step`] each, without a branch even under a guard.
    pub(super) fn fold(&self, s: &mut Snippet<'_>, into: Fold, values: &[Value], guard: Option<Guard>) {
        let name = hash(into as u64);
        let k = Fold::K;
        let at = guard.map(|g| format!("{} ", guard_text(self.function, g, false))).unwrap_or_default();
        for value in values {
            match (value, guard) {
                // A predicate is added or not: no need to make a number of it.
                (Value::Named(p, _), None) if value.width() == Width::Bit => s.ptx(&format!(
                    "mul.lo.u64 %~{name}, %~{name}, {k};
                     @{p} xor.b64 %~{name}, %~{name}, 1;"
                )),
                (Value::Named(p, _), Some(g)) if value.width() == Width::Bit => {
                    let held = register(self.function, g.reg);
                    match g.negate {
                        true => s.ptx(&format!("not.pred %~q, {held};\nand.pred %~q, %~q, {p};")),
                        false => s.ptx(&format!("and.pred %~q, {held}, {p};")),
                    }
                    s.ptx(&format!(
                        "{at}mul.lo.u64 %~{name}, %~{name}, {k};
                         @%~q xor.b64 %~{name}, %~{name}, 1;"
                    ));
                }
                _ => {
                    value.read(s, "%~v");
                    if value.width() == Width::Wide {
                        s.ptx(&format!(
                            "mov.b64 {{%~a, %~b}}, %~v;
                             shl.b32 %~c, %~b, {TURN};
                             shr.u32 %~b, %~b, {};
                             or.b32 %~c, %~c, %~b;
                             cvt.u64.u32 %~x, %~c;
                             {at}xor.b64 %~{name}, %~{name}, %~x;
                             cvt.u64.u32 %~v, %~a;",
                            32 - TURN
                        ));
                    }
                    s.ptx(&format!(
                        "{at}mul.lo.u64 %~{name}, %~{name}, {k};
                         {at}xor.b64 %~{name}, %~{name}, %~v;"
                    ));
                }
            }
        }
    }

    /// Folds a count of trips, if there is one, into the hash of control.
    pub(super) fn trip_fold(&self, s: &mut Snippet<'_>, counter: u32) {
        let (name, count) = (hash(Fold::Control as u64), trip(counter));
        let k = Fold::K;
        s.ptx(&format!(
            "setp.ne.u32 %~q, %~{count}, 0;
             sub.u32 %~a, %~{count}, 1;
             cvt.u64.u32 %~v, %~a;
             @%~q mul.lo.u64 %~{name}, %~{name}, {k};
             @%~q xor.b64 %~{name}, %~{name}, %~v;
             mov.u32 %~{count}, 0;"
        ));
    }

    /// Counts a back edge and, at every 2^`every` of them, writes [`Fold::checkpoint`]. One branch, whoever takes the edge: this stands in
    /// inner loops.
    pub(super) fn checkpoint(&self, s: &mut Snippet<'_>, every: u8, guard: Option<Guard>) {
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
        s.ptx("@%~q bra $~on#;\nmov.b64 %~v, %~hash0;");
        for (i, left) in [(1, 16), (2, 32), (3, 48)] {
            s.ptx(&format!(
                "shl.b64 %~x, %~hash{i}, {left};
                 shr.u64 %~y, %~hash{i}, {};
                 or.b64 %~x, %~x, %~y;
                 xor.b64 %~v, %~v, %~x;",
                64 - left
            ));
        }
        s.ptx("max.u64 %~v, %~v, 1;");
        self.element(s, &["%~v"]);
        s.ptx("$~on#:");
    }
}
