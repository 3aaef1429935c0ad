//! Shared variables of warps and CTAs: load, store, and reductions into them.
//!
//! They precede the records of their warp (`prlx_trace::device::tables`); a CTA's precede those of its first
//! warp. Without storage they read as 0, and stores have no effect.

use crate::ptx::probe::emitter::bits;
use prlx_plan::VariableScope;
use prlx_plan::code::{Reduce, Temp, Ty};

use crate::ptx::probe::emitter::{Probe, register};
use crate::ptx::probe::known_values::constant;
use crate::ptx::probe::reductions::{reduce32, reduce64};
use crate::ptx::snippet::Snippet;

impl Probe<'_, '_> {
    /// `%~link`: address of a variable. Lanes without storage go to `nowhere`. Overwrites the registers `a`
    /// to `e` and `x`.
    fn shared_address(&mut self, s: &mut Snippet<'_>, var: u32, nowhere: &str) {
        let kept = &self.lowering.plan.probe_state;
        let labels = [(); 3].map(|()| self.label(s));
        s.ptx(&format!("setp.eq.u64 %~q, %~context, 0;\n@%~q bra {nowhere};"));
        self.lowering.warp_records(s, "%~link", nowhere, labels.each_ref().map(String::as_str));
        if kept.shared_variables.get(var as usize).is_some_and(|h| h.of == VariableScope::Cta) {
            // The first warp of the CTA: this warp is number `%~a` in it.
            s.ptx("sub.u32 %~warp, %~warp, %~a;");
        }
        s.ptx(&format!(
            "cvt.u64.u32 %~x, %~warp;
             mad.lo.u64 %~link, %~x, {}, %~link;
             add.u64 %~link, %~link, {};",
            kept.records.warp,
            8 * u64::from(var),
        ));
    }

    /// `to`: value of a variable. The lanes wait for each other first, so earlier stores of active lanes are
    /// visible.
    pub(in crate::ptx) fn get(&mut self, s: &mut Snippet<'_>, var: u32, to: &str, ty: Ty) {
        let done = self.label(s);
        match ty {
            Ty::Bool => s.ptx(&format!("setp.ne.u32 {to}, 0, 0;")),
            _ => s.ptx(&format!("mov.{} {to}, 0;", bits(ty))),
        }
        self.shared_address(s, var, &done);
        self.lowering.settle(s);
        match ty {
            Ty::Bool => {
                s.ptx(&format!("ld.relaxed.gpu.global.u32 %~a, [%~link];\nsetp.ne.u32 {to}, %~a, 0;"))
            }
            _ => s.ptx(&format!("ld.relaxed.gpu.global.{} {to}, [%~link];", bits(ty))),
        }
        s.ptx(&format!("{done}:"));
    }

    /// The lowest active lane stores to a variable.
    pub(in crate::ptx) fn store_shared(&mut self, s: &mut Snippet<'_>, var: u32, value: Temp) {
        let done = self.label(s);
        let ty = self.ty(value);
        let mut value = register(value);
        self.lowering.active_lanes(s);
        self.lowering.lead(s);
        s.ptx(&format!("@!%~lead bra {done};"));
        self.shared_address(s, var, &done);
        if ty == Ty::Bool {
            s.ptx(&format!("selp.b32 %~a, 1, 0, {value};"));
            value = "%~a".to_owned();
        }
        s.ptx(&format!("st.relaxed.gpu.global.{} [%~link], {value};\n{done}:", bits(ty)));
    }

    /// Reduces the lanes' values into a variable. One lane adds the reduced value, unless every lane needs
    /// the variable's previous value.
    pub(in crate::ptx) fn merge_shared(
        &mut self,
        s: &mut Snippet<'_>,
        var: u32,
        how: Reduce,
        value: Temp,
        old: Option<Temp>,
    ) {
        let done = self.label(s);
        let ty = self.ty(value);
        let wide = ty.bits() == 64;
        let each = constant(self.code, value).filter(|_| how == Reduce::Sum);
        let value = register(value);
        let operation = operation(how, ty);
        if let Some(old) = old.map(register) {
            s.ptx(&format!("mov.{} {old}, 0;", bits(ty)));
            self.shared_address(s, var, &done);
            if let Some(each) = each {
                self.claim_in_lane_order(s, &old, each, wide);
                s.ptx(&format!("{done}:"));
                return;
            }
            // Later accesses see what was done before this one. The lanes of a CTA or warp are on one SM.
            s.ptx(&format!("atom.acq_rel.cta.global.{operation} {old}, [%~link], {value};\n{done}:"));
            return;
        }
        let together = self.lowering.arch >= 80;
        let brought = if wide { "%~v0" } else { "%~value" };
        s.ptx(&format!("mov.{} {brought}, {value};", bits(ty)));
        if together {
            s.ptx("activemask.b32 %~mask;");
            match wide {
                true => reduce64(s, how, ty.signed()),
                false => {
                    s.ptx(&format!(
                        "redux.sync.{} {brought}, {brought}, %~mask;",
                        reduce32(how, ty.signed())
                    ));
                }
            }
            self.lowering.lead(s);
            s.ptx(&format!("@!%~lead bra {done};"));
        }
        self.shared_address(s, var, &done);
        s.ptx(&format!("red.relaxed.gpu.global.{operation} [%~link], {brought};\n{done}:"));
    }
}

impl Probe<'_, '_> {
    /// `old`: the value at `%~link` that each lane finds when it adds `each`, in lane order. The lowest lane
    /// adds for all; the others compute theirs from its result. The barriers make earlier stores of these
    /// lanes visible to later accesses.
    fn claim_in_lane_order(&self, s: &mut Snippet<'_>, old: &str, each: u64, wide: bool) {
        let lowering = self.lowering;
        lowering.settle(s);
        lowering.active_lanes_again(s);
        lowering.lead(s);
        lowering.lane_ranks(s);
        lowering.find_leader(s, "%~c");
        match wide {
            false => {
                let each = (each as u32).cast_signed();
                s.ptx(&format!(
                    "mul.lo.u32 %~a, %~a, {each};
                 @%~lead atom.acq_rel.cta.global.add.u32 {old}, [%~link], %~a;"
                ));
                lowering.broadcast(s, old, "%~c");
                s.ptx(&format!("mad.lo.u32 {old}, %~b, {each}, {old};"));
            }
            true => {
                let each = each.cast_signed();
                s.ptx(&format!(
                    "cvt.u64.u32 %~x, %~a;
                 mul.lo.u64 %~x, %~x, {each};
                 @%~lead atom.acq_rel.cta.global.add.u64 {old}, [%~link], %~x;
                 mov.b64 {{%~a, %~d}}, {old};"
                ));
                lowering.broadcast(s, "%~a", "%~c");
                lowering.broadcast(s, "%~d", "%~c");
                s.ptx(&format!(
                    "mov.b64 {old}, {{%~a, %~d}};
                 cvt.u64.u32 %~x, %~b;
                 mad.lo.u64 {old}, %~x, {each}, {old};"
                ));
            }
        }
        lowering.meet(s);
    }
}

/// An atomic operation with its type suffix.
fn operation(how: Reduce, ty: Ty) -> String {
    let bits = ty.bits();
    let sign = if ty.signed() { "s" } else { "u" };
    match how {
        Reduce::Sum => format!("add.u{bits}"),
        Reduce::Min => format!("min.{sign}{bits}"),
        Reduce::Max => format!("max.{sign}{bits}"),
        Reduce::And => format!("and.b{bits}"),
        Reduce::Or => format!("or.b{bits}"),
        Reduce::Xor => format!("xor.b{bits}"),
    }
}
