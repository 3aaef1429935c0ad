//! Where the recording of a lane begins and ends.
//!
//! The beginning is cheap. Unrecorded launches, excluded warps and empty stream heads are all detected when
//! the first element is written (see `recorders/append.rs`), so lanes that write nothing execute two
//! instructions. Only level `operands` reads the context here, because it tests its window at every visit. A
//! lane that is not recorded gets an empty window.

use prlx_trace::device::tables::Part;
use prlx_trace::device::{Context, Head};
use prlx_trace::kernel::Level;

use crate::ptx::addressing::unsigned;
use crate::ptx::lane_state::{CONTEXT_AT, LOST};
use crate::ptx::lowering::{Lowering, Output};
use crate::ptx::snippet::Snippet;

impl Lowering<'_> {
    /// Lowers [`Action::Begin`]: initialises the state registers.
    pub(super) fn begin(&self, s: &mut Snippet<'_>) {
        match self.in_kernel() {
            true => self.begin_kernel(s),
            false if self.output == Output::Wave => self.begin_counters(s),
            false => self.begin_device(s),
        }
    }

    fn begin_kernel(&self, s: &mut Snippet<'_>) {
        self.start_cursor(s);
        for kept in self.state_registers() {
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
        if self.plan.probe_state.records.parts.iter().any(Part::numbered) {
            self.begin_records(s);
        }
        if self.plan.probe_state.tracks.is_some() {
            self.begin_track(s);
        }
        if self.state.level == Level::Operands {
            s.ptx("mov.u32 %~first, 0;\nmov.u32 %~span, 0;");
            self.context(s);
            self.check_filter(s, "off", "visit_first");
            // Visits are counted in 32 bits: clamp the window.
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

    /// Lowers [`Action::StartCursor`]. Where the lane's elements go in a row is added with the first chunk.
    pub(super) fn start_cursor(&self, s: &mut Snippet<'_>) {
        if self.writes() {
            s.ptx("mov.u64 %~cursor, 0;");
        }
    }

    /// `%~records`: address of the records of this warp, or 0.
    fn begin_records(&self, s: &mut Snippet<'_>) {
        self.context(s);
        s.ptx("mov.u64 %~records, 0;\nsetp.eq.u64 %~q, %~context, 0;\n@%~q bra $~none#;");
        self.warp_records(s, "%~records", "$~none#", ["$~told#", "$~many#", "$~flat#"]);
        s.ptx(&format!(
            "cvt.u64.u32 %~x, %~warp;
             mad.lo.u64 %~records, %~x, {}, %~records;
             $~none#:",
            self.plan.probe_state.records.warp,
        ));
    }

    /// Sets the counters that belong to one activation.
    fn begin_counters(&self, s: &mut Snippet<'_>) {
        for kept in self.state_registers().iter().filter(|kept| kept.offset.is_none()) {
            if let Some(init) = kept.init {
                s.ptx(&format!("mov.{} %~{}, {init};", unsigned(kept.size), kept.name));
            }
        }
    }

    fn begin_device(&self, s: &mut Snippet<'_>) {
        match self.register_parameters() {
            true => s.ptx("mov.b64 %~state, ~state;"),
            false => s.ptx("ld.param.b64 %~state, [~state];"),
        }
        for kept in self.state_registers() {
            let ty = unsigned(kept.size);
            match (kept.offset, kept.init) {
                (Some(at), _) => s.ptx(&format!("ld.local.{ty} %~{}, [%~state+{at}];", kept.name)),
                (None, Some(init)) => s.ptx(&format!("mov.{ty} %~{}, {init};", kept.name)),
                (None, None) => {}
            }
        }
    }

    /// Lowers [`Action::End`] before a return or exit. In a device function, `exit` says whether the thread
    /// ends.
    pub(super) fn end(&self, s: &mut Snippet<'_>, exit: bool, trap: bool) {
        if !self.in_kernel() && !exit {
            if self.output == Output::Ptx {
                self.hand_over(s, true);
            }
            return;
        }
        match self.state.level {
            Level::Path | Level::Values if !self.writes() => {}
            Level::Path | Level::Values => self.write_last_word(s),
            Level::Fingerprint => self.write_warp_hashes(s),
            Level::Events | Level::Operands => {}
            Level::Probe => {
                self.flush_counters(s);
                if self.plan.probe_state.tracks.as_ref().is_some_and(|t| t.ends(trap)) {
                    s.fresh_labels();
                    self.end_track(s);
                }
            }
        }
        self.count_dropped(s);
    }

    /// Adds the number of elements that this lane lost to `dropped` in its stream head.
    fn count_dropped(&self, s: &mut Snippet<'_>) {
        if !self.writes() {
            return;
        }
        s.fresh_labels();
        s.ptx(&format!(
            "cvt.u32.u64 %~a, %~cursor;
             and.b32 %~a, %~a, {LOST};
             setp.eq.u32 %~q, %~a, 0;
             @%~q bra $~whole#;"
        ));
        self.context(s);
        self.warp_index(s);
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
}
