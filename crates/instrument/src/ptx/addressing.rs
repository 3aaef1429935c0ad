//! Where a lane finds the context, its stream head and the records of its warp.

use prlx_trace::device::{Context, Head, HiddenParameter};

use crate::ptx::lane_state::CONTEXT_AT;
use crate::ptx::lowering::{Lowering, Output};
use crate::ptx::snippet::Snippet;

/// The register of machine code that has the number of the warp in the grid.
pub const GRID_WARP: &str = "%gridwarp";

/// `%~lead`: whether this lane is the lowest of `%~mask`.
pub(super) const LEAD: &str = "
    mov.u32 %~b, %lanemask_lt;
    and.b32 %~b, %~b, %~mask;
    setp.eq.u32 %~lead, %~b, 0;
";

impl Lowering<'_> {
    /// Number of bits of a lane's index.
    pub(super) fn lane_bits(&self) -> u32 {
        self.plan.warp_size.lanes().trailing_zeros()
    }

    /// `%~warp`: index of the warp in the grid, below 2^32. `%warpid` is a hardware slot and cannot be used
    /// for this.
    pub(super) fn warp_index(&self, s: &mut Snippet<'_>) {
        match self.output {
            Output::Ptx => self.compute_warp_index(s),
            Output::Wave => s.ptx(&format!("mov.u32 %~warp, {GRID_WARP};")),
        }
    }

    /// [`Lowering::warp_index`], from the coordinates of the thread.
    pub(super) fn compute_warp_index(&self, s: &mut Snippet<'_>) {
        let bits = self.lane_bits();
        s.ptx(&format!(
            "mov.u32 %~a, %tid.z;
             mov.u32 %~b, %ntid.y;
             mov.u32 %~c, %tid.y;
             mad.lo.u32 %~a, %~a, %~b, %~c;
             mov.u32 %~c, %ntid.x;
             mov.u32 %~d, %tid.x;
             mad.lo.u32 %~a, %~a, %~c, %~d;
             shr.u32 %~a, %~a, {bits};              // in its CTA
             mul.lo.u32 %~b, %~b, %~c;
             mov.u32 %~c, %ntid.z;
             mad.lo.u32 %~b, %~b, %~c, {};
             shr.u32 %~b, %~b, {bits};              // warps of a CTA
             mov.u32 %~c, %ctaid.z;
             mov.u32 %~d, %nctaid.y;
             mov.u32 %~e, %ctaid.y;
             mad.lo.u32 %~c, %~c, %~d, %~e;
             mov.u32 %~d, %nctaid.x;
             mov.u32 %~e, %ctaid.x;
             mad.lo.u32 %~c, %~c, %~d, %~e;    // CTA in the grid
             mad.lo.u32 %~warp, %~c, %~b, %~a;",
            (1 << bits) - 1,
        ));
    }

    /// `%~b`: number of warps of a CTA.
    pub(super) fn warps_per_cta(&self, s: &mut Snippet<'_>) {
        let bits = self.lane_bits();
        s.ptx(&format!(
            "mov.u32 %~b, %ntid.x;
             mov.u32 %~a, %ntid.y;
             mul.lo.u32 %~b, %~b, %~a;
             mov.u32 %~a, %ntid.z;
             mad.lo.u32 %~b, %~b, %~a, {};
             shr.u32 %~b, %~b, {bits};",
            (1 << bits) - 1,
        ));
    }

    /// `%~context`: address of the context, or 0.
    pub(super) fn context(&self, s: &mut Snippet<'_>) {
        match self.in_kernel() || self.output == Output::Wave {
            true => s.ptx("ld.param.u64 %~context, [~context];"),
            false => s.ptx(&format!("ld.local.u64 %~context, [%~state+{CONTEXT_AT}];")),
        }
    }

    /// `to`: the address that `field` of the context holds, `finals` or `records`. `%~d`: number of warps per
    /// CTA of a one-dimensional launch; 0 if the launch has more dimensions, or has nothing there.
    ///
    /// `%~context` is not 0. The kernel's parameter has both values in most launches; otherwise they are
    /// loaded from the context. Both paths meet at the label `told`.
    pub(super) fn record_base(&self, s: &mut Snippet<'_>, to: &str, field: &str, told: &str) {
        if self.output == Output::Wave {
            return s.ptx(&format!("ld.global.u64 {to}, [%~context+{}];", Context::offset(field)));
        }
        if self.in_kernel() {
            s.ptx(&format!(
                "ld.param.u64 {to}, [~context+{}];
                 ld.param.u32 %~d, [~context+{}];
                 setp.ne.u32 %~q, %~d, 0;
                 @%~q bra {told};",
                HiddenParameter::offset("ends"),
                HiddenParameter::offset("cta_warps"),
            ));
        }
        s.ptx(&format!(
            "ld.global.v2.u64 {{{to}, %~y}}, [%~context+{}];
             cvt.u32.u64 %~d, %~y;",
            Context::offset(field),
        ));
        if self.in_kernel() {
            s.ptx(&format!("{told}:"));
        }
    }

    /// `%~warp`, after [`Lowering::record_base`] for `finals` in `%~link`. Goes to `$~{off}#` if this warp is
    /// not recorded.
    pub(super) fn warp_of_finals(&self, s: &mut Snippet<'_>, off: &str) {
        if self.output == Output::Wave {
            return self.check_filter(s, off, "finals");
        }
        s.ptx(&format!(
            "setp.eq.u32 %~q, %~d, 0;
             @%~q bra $~any#;
             mov.u32 %~b, %tid.x;
             shr.u32 %~b, %~b, {};
             mov.u32 %~c, %ctaid.x;
             mad.lo.u32 %~warp, %~c, %~d, %~b;
             bra $~found#;
             $~any#:",
            self.lane_bits(),
        ));
        self.check_filter(s, off, "finals");
        s.ptx("$~found#:");
    }

    /// `to`: address of the records of all warps, as in [`Lowering::record_base`]. Also computes
    /// [`Lowering::warp_index`], in fewer instructions for one-dimensional launches. Goes to `nowhere`
    /// if there are no records.
    pub(super) fn warp_records(
        &self,
        s: &mut Snippet<'_>,
        to: &str,
        nowhere: &str,
        [told, any, found]: [&str; 3],
    ) {
        self.record_base(s, to, "records", told);
        if self.output == Output::Wave {
            s.ptx(&format!("setp.eq.u64 %~q, {to}, 0;\n@%~q bra {nowhere};"));
            self.warp_index(s);
            // Number of the warp in its CTA.
            self.warps_per_cta(s);
            s.ptx("rem.u32 %~a, %~warp, %~b;");
            return;
        }
        s.ptx(&format!(
            "setp.eq.u32 %~q, %~d, 0;
             @%~q bra {any};
             mov.u32 %~a, %tid.x;
             shr.u32 %~a, %~a, {};
             mov.u32 %~b, %ctaid.x;
             mad.lo.u32 %~warp, %~b, %~d, %~a;
             bra {found};
             {any}:
             setp.eq.u64 %~q, {to}, 0;
             @%~q bra {nowhere};",
            self.lane_bits(),
        ));
        self.warp_index(s);
        s.ptx(&format!("{found}:"));
    }

    /// Goes to `$~{label}#` unless `%~context` is set and its filter selects this warp. Sets `%~warp`, in
    /// `%~a` its index among the selected warps, and in `%~link` the context's `field`. All loads are issued
    /// at once, because the lanes wait for memory and not for instructions.
    pub(super) fn check_filter(&self, s: &mut Snippet<'_>, label: &str, field: &str) {
        s.ptx(&format!("setp.eq.u64 %~q, %~context, 0;\n@%~q bra $~{label}#;"));
        s.ptx(&format!("ld.global.u64 %~link, [%~context+{}];", Context::offset(field)));
        self.warp_index(s);
        s.ptx(&format!(
            "ld.global.u32 %~a, [%~context+{}];
             ld.global.u32 %~b, [%~context+{}];
             sub.u32 %~a, %~warp, %~a;
             setp.ge.u32 %~q, %~a, %~b;
             @%~q bra $~{label}#;",
            Context::offset("warp_first"),
            Context::offset("warps"),
        ));
    }

    /// `%~link`: address of this lane's stream head, from `%~warp` and the address of all heads in `%~link`.
    pub(super) fn head(&self, s: &mut Snippet<'_>) {
        let heads = self.state.shape.heads(self.plan.warp_size);
        s.ptx(&format!("mad.wide.u32 %~link, %~warp, {}, %~link;", heads * Head::SIZE as u64));
        if heads > 1 {
            s.ptx(&format!("mov.u32 %~a, %laneid;\nmad.wide.u32 %~link, %~a, {}, %~link;", Head::SIZE));
        }
    }
}

/// The unsigned type of a size of 4 or 8 bytes.
pub(super) fn unsigned(size: u64) -> &'static str {
    if size == 4 { "u32" } else { "u64" }
}
