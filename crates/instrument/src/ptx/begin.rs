//! Where a lane's recording begins and ends.
//!
//! Beginning is cheap: an unrecorded launch, a warp left out and a head that is still empty are all found out by the
//! first element that is written (see [`super::chunk`]), so that lanes which write nothing pay two instructions. Only
//! level `operands`, whose window is tested at every visit, reads the context here: a lane that is not recorded gets an
//! empty window.

use prlx_plan::{Action, Fold};
use prlx_trace::device::tables::Part;
use prlx_trace::device::{Context, Handed, Head};
use prlx_trace::kernel::Level;

use super::Lowering;
use super::snippet::Snippet;
use super::state::{CONTEXT_AT, CURSOR_AT, Kept, LOST, WARP, hash};

/// `%~warp`: the warp's index in the grid, which has fewer than 2^32. `%warpid` is where the warp happens to run, not which
/// it is.
pub(super) const WARP_INDEX: &str = "
    mov.u32 %~a, %tid.z;
    mov.u32 %~b, %ntid.y;
    mov.u32 %~c, %tid.y;
    mad.lo.u32 %~a, %~a, %~b, %~c;
    mov.u32 %~c, %ntid.x;
    mov.u32 %~d, %tid.x;
    mad.lo.u32 %~a, %~a, %~c, %~d;
    shr.u32 %~a, %~a, 5;              // in its CTA
    mul.lo.u32 %~b, %~b, %~c;
    mov.u32 %~c, %ntid.z;
    mad.lo.u32 %~b, %~b, %~c, 31;
    shr.u32 %~b, %~b, 5;              // warps of a CTA
    mov.u32 %~c, %ctaid.z;
    mov.u32 %~d, %nctaid.y;
    mov.u32 %~e, %ctaid.y;
    mad.lo.u32 %~c, %~c, %~d, %~e;
    mov.u32 %~d, %nctaid.x;
    mov.u32 %~e, %ctaid.x;
    mad.lo.u32 %~c, %~c, %~d, %~e;    // CTA in the grid
    mad.lo.u32 %~warp, %~c, %~b, %~a;
";

/// `%~lead`: whether this lane is the lowest of `%~mask`.
pub(super) const LEAD: &str = "
    mov.u32 %~b, %lanemask_lt;
    and.b32 %~b, %~b, %~mask;
    setp.eq.u32 %~lead, %~b, 0;
";

impl Lowering<'_> {
    /// `%~context`: the address of the context, or 0.
    pub(super) fn context(&self, s: &mut Snippet<'_>) {
        match self.in_kernel() {
            true => s.ptx("ld.param.u64 %~context, [~context];"),
            false => s.ptx(&format!("ld.local.u64 %~context, [%~state+{CONTEXT_AT}];")),
        }
    }

    /// `to`: where the launch has what `field` of its context says, its `finals` or `records`, and in `%~d` how many warps a CTA of one dimension has; 0 if it has
    /// more, or the launch has nothing there. The context is in `%~context`, and not 0; it is asked where the parameter does not tell, behind the label `told`.
    pub(super) fn ends(&self, s: &mut Snippet<'_>, to: &str, field: &str, told: &str) {
        if self.in_kernel() {
            s.ptx(&format!(
                "ld.param.u64 {to}, [~context+{}];
                 ld.param.u32 %~d, [~context+{}];
                 setp.ne.u32 %~q, %~d, 0;
                 @%~q bra {told};",
                Handed::offset("ends"),
                Handed::offset("cta_warps"),
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

    /// `to`: where the records of all warps are, as [`Lowering::ends`] has it; and [`WARP_INDEX`], in fewer instructions for launches of one
    /// dimension. Goes to `nowhere` if there are none.
    pub(super) fn warp_records(
        &self,
        s: &mut Snippet<'_>,
        to: &str,
        nowhere: &str,
        [told, any, found]: [&str; 3],
    ) {
        self.ends(s, to, "records", told);
        s.ptx(&format!(
            "setp.eq.u32 %~q, %~d, 0;
             @%~q bra {any};
             mov.u32 %~a, %tid.x;
             shr.u32 %~a, %~a, 5;
             mov.u32 %~b, %ctaid.x;
             mad.lo.u32 %~warp, %~b, %~d, %~a;
             bra {found};
             {any}:
             setp.eq.u64 %~q, {to}, 0;
             @%~q bra {nowhere};",
        ));
        s.ptx(WARP_INDEX);
        s.ptx(&format!("{found}:"));
    }

    /// Goes to `$~{label}#` unless the context (in `%~context`) is there and wants this warp; leaves `%~warp`, which it
    /// is of those wanted in `%~a` and, in `%~link`, the context's `field`. What is loaded is loaded at once: lanes wait for memory, not for instructions.
    pub(super) fn wanted(&self, s: &mut Snippet<'_>, label: &str, field: &str) {
        s.ptx(&format!("setp.eq.u64 %~q, %~context, 0;\n@%~q bra $~{label}#;"));
        s.ptx(&format!("ld.global.u64 %~link, [%~context+{}];", Context::offset(field)));
        s.ptx(WARP_INDEX);
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

    /// `%~link`: the address of this lane's head, from `%~warp` and, in `%~link`, the address of all.
    pub(super) fn head(&self, s: &mut Snippet<'_>) {
        let heads = self.state.shape.heads(WARP);
        s.ptx(&format!("mad.wide.u32 %~link, %~warp, {}, %~link;", heads * Head::SIZE as u64));
        if heads > 1 {
            s.ptx(&format!("mov.u32 %~a, %laneid;\nmad.wide.u32 %~link, %~a, {}, %~link;", Head::SIZE));
        }
    }

    /// [`Action::Begin`].
    pub(super) fn begin(&self, s: &mut Snippet<'_>) {
        match self.in_kernel() {
            true => self.begin_kernel(s),
            false => self.begin_device(s),
        }
    }

    fn begin_kernel(&self, s: &mut Snippet<'_>) {
        match self.state.shape.lanes {
            _ if !self.writes() => {}
            1 => s.ptx("mov.u64 %~cursor, 0;"),
            _ => s.ptx(&format!(
                "mov.u32 %~a, %laneid;\nmul.wide.u32 %~cursor, %~a, {};",
                self.state.shape.element
            )),
        }
        for kept in self.kept() {
            if let Some(init) = kept.init {
                let init =
                    if kept.size == 8 { init.cast_signed() } else { i64::from((init as u32).cast_signed()) };
                s.ptx(&format!("mov.{} %~{}, {init};", unsigned(kept.size), kept.name));
            }
        }
        if self.has_record() {
            self.context(s);
            s.ptx(&format!("st.local.u64 [~record+{CONTEXT_AT}], %~context;"));
            for (i, &at) in self.state.visits.iter().enumerate() {
                for n in 0..self.device_visits(i) {
                    s.ptx(&format!("st.local.u32 [~record+{}], 0;", at + 4 * u64::from(n)));
                }
            }
        }
        if self.plan.kept.records.parts.iter().any(Part::numbered) {
            self.begin_records(s);
        }
        if self.plan.kept.tracks.is_some() {
            self.begin_track(s);
        }
        if self.state.level == Level::Operands {
            s.ptx("mov.u32 %~first, 0;\nmov.u32 %~span, 0;");
            self.context(s);
            self.wanted(s, "off", "visit_first");
            // Visits are counted in 32 bits: clamp the window to them.
            s.ptx(&format!(
                "min.u64 %~x, %~link, 4294967295;
                 cvt.u32.u64 %~first, %~x;
                 ld.global.u64 %~y, [%~context+{}];
                 min.u64 %~y, %~y, 4294967295;
                 max.u64 %~y, %~y, %~x;
                 sub.u64 %~y, %~y, %~x;
                 cvt.u32.u64 %~span, %~y;
                 $~off#:",
                Context::offset("visit_last"),
            ));
        }
    }

    /// `%~records`: where the records of this warp are, or 0.
    fn begin_records(&self, s: &mut Snippet<'_>) {
        self.context(s);
        s.ptx("mov.u64 %~records, 0;\nsetp.eq.u64 %~q, %~context, 0;\n@%~q bra $~none#;");
        self.warp_records(s, "%~records", "$~none#", ["$~told#", "$~many#", "$~flat#"]);
        s.ptx(&format!(
            "cvt.u64.u32 %~x, %~warp;
             mad.lo.u64 %~records, %~x, {}, %~records;
             $~none#:",
            self.plan.kept.records.warp,
        ));
    }

    fn begin_device(&self, s: &mut Snippet<'_>) {
        match self.register_parameters() {
            true => s.ptx("mov.b64 %~state, ~state;"),
            false => s.ptx("ld.param.b64 %~state, [~state];"),
        }
        for kept in self.kept() {
            let ty = unsigned(kept.size);
            match (kept.offset, kept.init) {
                (Some(at), _) => s.ptx(&format!("ld.local.{ty} %~{}, [%~state+{at}];", kept.name)),
                (None, Some(init)) => s.ptx(&format!("mov.{ty} %~{}, {init};", kept.name)),
                (None, None) => {}
            }
        }
    }

    /// [`Action::End`] before a return or exit; in a device function, `exit` says which.
    pub(super) fn end(&self, s: &mut Snippet<'_>, exit: bool, trap: bool) {
        if !self.in_kernel() && !exit {
            self.hand_over(s, true);
            return;
        }
        match self.state.level {
            Level::Path if !self.writes() => {}
            Level::Path => {
                s.ptx("setp.eq.u32 %~q, %~word, 1;\n@%~q bra $~last#;");
                self.element(s, &["%~word"]);
                s.ptx("$~last#:");
            }
            Level::Fingerprint => self.finals(s),
            Level::Events | Level::Operands => {}
            Level::Probe => {
                self.flush_counters(s);
                if self.plan.kept.tracks.as_ref().is_some_and(|t| t.ends(trap)) {
                    s.again();
                    self.end_track(s);
                }
            }
        }
        self.losses(s);
    }

    /// Gives this lane's hashes to its warp's. Most warps end whole, of launches of one dimension that are recorded whole:
    /// kernels that do little otherwise feel every instruction here. Where it goes is in the kernel's parameter.
    fn finals(&self, s: &mut Snippet<'_>) {
        let (multiplier, layout) = (Fold::LANE.cast_signed(), self.plan.finals);
        // Before sm_80 each lane writes for itself, which is slow.
        let together = self.arch >= 80;
        self.context(s);
        s.ptx(&format!(
            "setp.eq.u64 %~q, %~context, 0;
             @%~q bra $~off#;
             mov.u32 %~lane, %laneid;
             mad.lo.s32 %~c, %~lane, {}, {multiplier};",
            multiplier.wrapping_mul(2),
        ));
        self.ends(s, "%~link", "finals", "$~told#");
        if together {
            s.ptx("activemask.b32 %~mask;");
        }
        self.parts(s, together);
        s.ptx(
            "setp.eq.u32 %~q, %~d, 0;
             @%~q bra $~any#;
             mov.u32 %~b, %tid.x;
             shr.u32 %~b, %~b, 5;
             mov.u32 %~c, %ctaid.x;
             mad.lo.u32 %~warp, %~c, %~d, %~b;
             bra $~found#;
             $~any#:",
        );
        self.wanted(s, "off", "finals");
        s.ptx(&format!("$~found#:\nmad.wide.u32 %~link, %~warp, {}, %~link;", layout.bytes()));
        if together {
            s.ptx("setp.ne.u32 %~q, %~mask, -1;\n@%~q bra $~apart#;\nsetp.eq.u32 %~lead, %~lane, 0;");
            match layout.signatures() {
                0 => {}
                8 => s.ptx("@%~lead st.global.cg.v2.u32 [%~link], {%~w0, %~w1};"),
                _ => s.ptx("@%~lead st.global.cg.v4.u32 [%~link], {%~w0, %~w1, %~w2, %~w3};"),
            }
            s.ptx("bra $~sign#;\n$~apart#:");
            s.ptx(LEAD);
            self.add_parts(s, "@%~lead ");
            s.ptx("$~sign#:");
        } else {
            self.add_parts(s, "");
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

    /// `%~w0`, …: what this lane, or those of `%~mask` together, put into the hashes that are used; `%~sign`, this lane's signature before it is
    /// cut. `%~c` is the lane's multiplier.
    fn parts(&self, s: &mut Snippet<'_>, together: bool) {
        let lane = Fold::LANE.cast_signed();
        let mut count = 0;
        for i in (0..4).filter(|i| self.plan.finals.used[*i]) {
            s.ptx(&format!(
                "cvt.u64.u32 %~x, %~c;
                 mul.lo.u64 %~x, %~{}, %~x;
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

    /// Adds parts to the warp's.
    fn add_parts(&self, s: &mut Snippet<'_>, at: &str) {
        for i in 0..self.plan.finals.used.iter().filter(|u| **u).count() {
            s.ptx(&format!("{at}red.global.xor.b32 [%~link+{}], %~w{i};", 4 * i));
        }
    }

    /// Adds what this lane could not write to its head's `dropped`.
    fn losses(&self, s: &mut Snippet<'_>) {
        if !self.writes() {
            return;
        }
        s.again();
        s.ptx(&format!(
            "cvt.u32.u64 %~a, %~cursor;
             and.b32 %~a, %~a, {LOST};
             setp.eq.u32 %~q, %~a, 0;
             @%~q bra $~whole#;"
        ));
        self.context(s);
        s.ptx(WARP_INDEX);
        s.ptx(&format!("ld.global.u64 %~link, [%~context+{}];", Context::offset("heads")));
        self.head(s);
        s.ptx(&format!(
            "shr.u64 %~x, %~cursor, {};
             red.global.add.u64 [%~link+{}], %~x;
             $~whole#:",
            self.state.shape.chunk().trailing_zeros(),
            Head::offset("dropped"),
        ));
    }

    /// Stores the state to the record, for a callee or (`back`) for the caller.
    pub(super) fn hand_over(&self, s: &mut Snippet<'_>, back: bool) {
        let record = self.record();
        for Kept { name, size, offset, changes, .. } in self.kept() {
            if let Some(at) = offset
                && (changes || !back)
            {
                s.ptx(&format!("st.local.{} [{record}+{at}], %~{name};", unsigned(size)));
            }
        }
    }

    /// Loads what a callee may have changed.
    pub(super) fn take_back(&self, s: &mut Snippet<'_>) {
        let record = self.record();
        for Kept { name, size, offset, changes, .. } in self.kept() {
            if let Some(at) = offset
                && changes
            {
                s.ptx(&format!("ld.local.{} %~{name}, [{record}+{at}];", unsigned(size)));
            }
        }
    }

    /// The base of the record's address.
    fn record(&self) -> &'static str {
        if self.in_kernel() { "~record" } else { "%~state" }
    }
}

/// The state that a function which is not recorded hands to one that is: no context, cursor off, an empty window.
pub(super) fn unrecorded(lowering: &Lowering<'_>, s: &mut Snippet<'_>) {
    use super::state::OFF;
    if lowering.state.level != Level::Probe {
        s.ptx(&format!("st.local.u64 [~record+{CURSOR_AT}], {OFF};"));
    }
    s.ptx(&format!("st.local.u64 [~record+{CONTEXT_AT}], 0;"));
    for Kept { name, size, init, offset, .. } in &lowering.state.shared {
        if let Some(at) = offset
            && name != "cursor"
        {
            s.ptx(&format!("st.local.{} [~record+{at}], {};", unsigned(*size), init.unwrap_or(0)));
        }
    }
}

/// The unsigned type of a size in bytes.
pub(super) fn unsigned(size: u64) -> &'static str {
    if size == 4 { "u32" } else { "u64" }
}

/// Whether an action is one of those that only pass state along.
pub(super) fn passes_state(action: &Action) -> bool {
    matches!(action, Action::Save | Action::Restore)
}
