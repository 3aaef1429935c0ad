//! Level `probe`: the records that markers write to tracks (format: `prlx_trace::device::tracks`).
//!
//! **Records.** A lane keeps `at`, the address of its next slot, whose low half is the cursor, and `limit`,
//! the low half of its region's end. A lane without a track has the limit 0. The test for room, once per
//! group of markers, therefore also keeps such a lane from writing, without another predicate or branch. A
//! record is one read of the clock and one store at a constant distance from the cursor. Moving and clamping
//! the cursor is one instruction from sm_90 on.
//!
//! **Constants.** The assembler materialises a constant at every store. The numbers of markers in a kernel's
//! loops are in registers (`tag0` and so on) instead. They are 0 in lanes without a track, so the assembler
//! cannot treat them as constants. The distance by which a cursor moves is in a register too (`step2` for two
//! slots), with another value in lanes without a track.
//!
//! **Rings.** Each record moves the cursor itself, and increments `turn` at the end of the ring. `who` is the
//! lane, as entries encode it; marker numbers are added to it. The only test is whether the lane has a track.
//!
//! **Spans.** A begin reads the clock into a register of its own (`opened0` for marker 0) and keeps its
//! payload word in `said0`. An end reads the clock and stores 16 bytes. The span's number, and a substitute
//! for a missing word, are registers like `tag0`, so that all four words are adjacent registers.
//!
//! **Anchors.** `next` is the low half of the address from which the next anchor is due: one comparison with
//! the cursor at each possible place. It is [`NEVER`], which no cursor reaches, in lanes without a track and
//! where no anchor fits any more.
//!
//! **Sums.** `sum0` and so on are the words of the track. All lanes add. A lane with a track writes them at
//! its end.

use crate::ptx::markers::registers::span_begin_clock;
use crate::ptx::markers::registers::sum;
use prlx_plan::{SpanBegin, SpanEnd, Word};
use prlx_trace::device::tracks::{
    ANCHOR, ANCHOR_SLOTS, ENTRY, Form, LANE_BIT, LAST, Layout, Ring, SLOT, SLOWEST, SPAN, STAGGERED,
};
use prlx_trace::device::{Context, TrackHead};

use crate::ptx::lowering::{Lowering, Output};
use crate::ptx::markers::registers::{
    NEVER, marker_number, missing_word, span_number, span_word, step, wordless,
};
use crate::ptx::snippet::Snippet;

impl Lowering<'_> {
    /// At the kernel's entry: assigns the lane's track, if it has one.
    pub(in crate::ptx) fn begin_track(&self, s: &mut Snippet<'_>) {
        s.fresh_labels();
        if !self.every_lane() {
            s.ptx("mov.u32 %~e, %laneid;\nsetp.ne.u32 %~q, %~e, 0;\n@%~q bra $~off#;");
        }
        self.region(s);
        self.enter_region(s);
        s.ptx("$~off#:");
    }

    fn every_lane(&self) -> bool {
        self.tracks().is_some_and(|t| t.lanes)
    }

    fn tracks(&self) -> Option<&Layout> {
        self.plan.probe_state.tracks.as_ref()
    }

    /// `%~link`: address of the lane's region; `%~c`: its size, bytes. Goes to `$~off#` if there is none.
    fn region(&self, s: &mut Snippet<'_>) {
        self.context(s);
        self.check_filter(s, "off", "tracks");
        if self.every_lane() {
            let lanes = self.plan.warp_size.lanes().trailing_zeros();
            s.ptx(&format!("shl.b32 %~a, %~a, {lanes};\nmov.u32 %~e, %laneid;\nadd.u32 %~a, %~a, %~e;"));
        }
        s.ptx(&format!(
            "ld.global.u32 %~b, [%~context+{}];
             cvt.u64.u32 %~x, %~a;
             shl.b64 %~x, %~x, %~b;
             add.u64 %~link, %~link, %~x;
             mov.u32 %~c, 1;
             shl.b32 %~c, %~c, %~b;",
            Context::offset("track_log"),
        ));
    }

    /// Starts the track in the region at `%~link`, of `%~c` bytes.
    fn enter_region(&self, s: &mut Snippet<'_>) {
        let [sm, cycles] = ["sm", "begin_cycles"].map(TrackHead::offset);
        s.ptx(&format!(
            "cvt.u32.u64 %~limit, %~link;
             add.u32 %~limit, %~limit, %~c;
             add.u64 %~at, %~link, {};
             mov.u32 %~a, %smid;
             add.u32 %~a, %~a, 1;
             mov.u32 %~b, %laneid;
             st.global.v2.u32 [%~link+{sm}], {{%~a, %~b}};
             mov.u64 %~x, %clock64;
             mov.u64 %~y, %globaltimer;
             st.global.v2.u64 [%~link+{cycles}], {{%~x, %~y}};",
            TrackHead::SIZE,
        ));
        if self.ring().is_some() {
            s.ptx(&format!("mov.u32 %~a, %laneid;\nshl.b32 %~who, %~a, {LANE_BIT};\nmov.u32 %~turn, 0;"));
        }
        if let Some(tracks) = self.tracks().filter(|t| t.apart > 0) {
            let part = u64::from(tracks.first(0)) * SLOT;
            s.ptx(&format!(
                "and.b32 %~a, %~warp, {};
                 add.u32 %~a, %~a, 1;
                 cvt.u32.u64 %~next, %~at;
                 mad.lo.u32 %~next, %~a, {part}, %~next;",
                STAGGERED - 1,
            ));
        }
        for (name, here, _) in self.constants.registers() {
            s.ptx(&format!("mov.u32 %~{name}, {here};"));
        }
    }

    fn ring(&self) -> Option<Ring> {
        self.tracks()?.ring()
    }

    /// `%~link`: region of a lane that has a track, computed from its limit. Goes to `$~{label}#` if the lane
    /// has none.
    fn own_region(&self, s: &mut Snippet<'_>, label: &str) {
        s.ptx(&format!("setp.eq.u32 %~q, %~limit, 0;\n@%~q bra $~{label}#;"));
        self.context(s);
        s.ptx(&format!(
            "ld.global.u32 %~b, [%~context+{}];
             mov.u32 %~c, 1;
             shl.b32 %~c, %~c, %~b;
             sub.u32 %~a, %~limit, %~c;
             mov.b64 {{%~b, %~c}}, %~at;
             mov.b64 %~link, {{%~a, %~c}};",
            Context::offset("track_log"),
        ));
    }

    /// At the end of a lane: writes the end times and the length of the track.
    pub(in crate::ptx) fn end_track(&self, s: &mut Snippet<'_>) {
        let Some(tracks) = self.tracks() else { return };
        self.own_region(s, "none");
        let [cycles, written] = ["end_cycles", "written"].map(TrackHead::offset);
        if matches!(tracks.form, Form::Records | Form::Spans) {
            s.ptx(&format!("sub.u32 %~a, %~b, %~a;\nsub.u32 %~a, %~a, {};", TrackHead::SIZE));
        }
        s.ptx(&format!(
            "mov.u64 %~x, %clock64;
             mov.u64 %~y, %globaltimer;
             st.global.v2.u64 [%~link+{cycles}], {{%~x, %~y}};",
        ));
        match tracks.form {
            Form::Records | Form::Spans => s.ptx(&format!("st.global.u32 [%~link+{written}], %~a;")),
            // A device function does not know which regions of its caller are open.
            Form::Sums if !self.in_kernel() => {}
            Form::Sums => {
                for word in 0..tracks.words {
                    let at = TrackHead::SIZE as u64 + 4 * u64::from(word);
                    s.ptx(&format!("st.global.u32 [%~link+{at}], %~{};", sum(word)));
                }
            }
            Form::Ring { .. } => {}
        }
        s.ptx("$~none#:");
    }

    /// Lowers [`prlx_plan::Action::Add`]: adds one reading of the clock to sums of regions.
    pub(in crate::ptx) fn add(
        &self,
        s: &mut Snippet<'_>,
        ends: &[u32],
        begins: &[u32],
        count: Option<(u32, u32)>,
    ) {
        s.ptx("mov.u32 %~clock, %clock;");
        for (op, words) in [("add", ends), ("sub", begins)] {
            for sum in words.iter().map(|w| sum(*w)) {
                s.ptx(&format!("{op}.u32 %~{sum}, %~{sum}, %~clock;"));
            }
        }
        if let Some((word, by)) = count {
            let sum = sum(word);
            s.ptx(&format!("add.u32 %~{sum}, %~{sum}, {by};"));
        }
    }

    /// Lowers [`prlx_plan::Action::Room`]: reserves slots for a group of markers.
    pub(in crate::ptx) fn reserve_slots(&self, s: &mut Snippet<'_>, slots: u32) {
        let kept = self.output == Output::Ptx;
        if self.ring().is_some() {
            if kept {
                s.ptx("setp.ne.u32 %~room, %~limit, 0;");
            }
            return;
        }
        let by = match self.constants.steps.contains(&slots) {
            true => format!("%~{}", step(slots)),
            false => (u64::from(slots) * SLOT).to_string(),
        };
        s.ptx(&format!(
            "mov.b64 {{%~a, %~b}}, %~at;
             add.u32 %~a, %~a, {by};
             min.u32 %~a, %~a, {LAST};
             {}
             mov.b64 %~at, {{%~a, %~b}};",
            if kept { "setp.le.u32 %~room, %~a, %~limit;" } else { "" },
        ));
    }

    /// The predicate that says whether the lane's track has room for what markers write here. In PTX a
    /// register keeps it from [`prlx_plan::Action::Room`] on. Routines keep no predicates, so they ask again.
    fn room(&self, s: &mut Snippet<'_>) -> &'static str {
        match self.output {
            Output::Ptx => return "room",
            Output::Wave if self.ring().is_some() => s.ptx("setp.ne.u32 %~r, %~limit, 0;"),
            Output::Wave => s.ptx("mov.b64 {%~a, %~b}, %~at;\nsetp.le.u32 %~r, %~a, %~limit;"),
        }
        "r"
    }

    /// Lowers [`prlx_plan::Action::Span`]: ends a span, begins another, or both.
    pub(in crate::ptx) fn span(&self, s: &mut Snippet<'_>, end: Option<SpanEnd>, begin: Option<&SpanBegin>) {
        // A begin without an end is one instruction.
        let into = match begin {
            Some(begin) if end.is_none() => span_begin_clock(begin.mark),
            _ => "clock".to_owned(),
        };
        s.ptx(&format!("mov.u32 %~{into}, %clock;"));
        let of = end
            .and_then(|end| Some((end, self.tracks()?, self.tracks()?.spans.get(end.span as usize)?.begin)));
        if let Some((SpanEnd { span, back }, tracks, from)) = of {
            let room = self.room(s);
            let back = i64::from(back) * SLOT as i64;
            let number = match self.constants.spans.contains(&span) {
                true => span_number(span),
                false => {
                    s.ptx(&format!("mov.u32 %~site, {};", (span + 1) | SPAN));
                    "site".to_owned()
                }
            };
            let word = match (wordless(tracks, from), self.constants.wordless.contains(&from)) {
                (false, _) => span_word(from),
                (true, true) => missing_word(from),
                (true, false) => {
                    s.ptx(&format!("mov.u32 %~a, {};", from + 1));
                    "a".to_owned()
                }
            };
            let opened = span_begin_clock(from);
            s.ptx(&format!(
                "@%~{room} st.global.v4.u32 [%~at+{}], {{%~{opened}, %~{number}, %~clock, %~{word}}};",
                -back
            ));
        }
        if let Some(begin) = begin {
            if end.is_some() {
                s.ptx(&format!("mov.u32 %~{}, %~clock;", span_begin_clock(begin.mark)));
            }
            if let Some(word) = &begin.word {
                self.words(s, std::slice::from_ref(word));
                s.ptx(&format!("mov.u32 %~{}, %~a;", span_word(begin.mark)));
            }
        }
    }

    /// Lowers [`prlx_plan::Action::Anchor`]: writes both clocks if an anchor is due.
    pub(in crate::ptx) fn anchor(&self, s: &mut Snippet<'_>) {
        let Some(tracks) = self.tracks().filter(|t| t.apart > 0) else { return };
        s.ptx(&format!(
            "mov.b64 {{%~a, %~b}}, %~at;
             setp.lt.u32 %~q, %~a, %~next;
             @%~q bra $~none#;
             add.u32 %~a, %~a, {};
             mov.u32 %~next, {};
             setp.gt.u32 %~q, %~a, %~limit;
             @%~q bra $~none#;
             mov.u64 %~x, %clock64;
             mov.u64 %~y, %globaltimer;
             cvt.u32.u64 %~clock, %~x;
             // Once the timer has answered: where many ask, it takes its time.
             setp.ne.u64 %~q, %~y, 0;
             @%~q mov.u64 %~x, %clock64;
             cvt.u32.u64 %~c, %~x;
             sub.u32 %~c, %~c, %~clock;
             min.u32 %~c, %~c, {SLOWEST};
             sub.u32 %~site, {ANCHOR}, %~c;
             st.global.v2.u32 [%~at], {{%~clock, %~site}};
             st.global.u64 [%~at+{SLOT}], %~y;
             mov.b64 %~at, {{%~a, %~b}};
             add.u32 %~next, %~a, {};
             $~none#:",
            u64::from(ANCHOR_SLOTS) * SLOT,
            NEVER.cast_signed(),
            u64::from(tracks.apart) * SLOT,
        ));
    }

    /// Lowers [`prlx_plan::Action::Mark`]: writes the record of a marker.
    pub(in crate::ptx) fn mark(&self, s: &mut Snippet<'_>, mark: u32, back: u32, words: &[Word]) {
        if let Some(ring) = self.ring() {
            return self.write_ring_entry(s, ring, mark, words);
        }
        let room = self.room(s);
        let back = i64::from(back) * SLOT as i64;
        let number = if self.constants.marks.contains(&mark) {
            format!("%~{}", marker_number(mark))
        } else {
            s.ptx(&format!("mov.u32 %~site, {};", mark + 1));
            "%~site".to_owned()
        };
        s.ptx(&format!(
            "mov.u32 %~clock, %clock;
             @%~{room} st.global.v2.u32 [%~at+{}], {{%~clock, {number}}};",
            -back,
        ));
        if !words.is_empty() {
            self.words(s, words);
            s.ptx(&format!("@%~{room} st.global.v2.u32 [%~at+{}], {{%~a, %~b}};", SLOT as i64 - back));
        }
    }

    /// Writes an entry of a ring.
    fn write_ring_entry(&self, s: &mut Snippet<'_>, ring: Ring, mark: u32, words: &[Word]) {
        let room = self.room(s);
        self.words(s, words);
        s.ptx(&format!(
            "mov.u32 %~clock, %clock;
             add.u32 %~site, %~who, {};
             @%~{room} st.global.v4.u32 [%~at], {{%~clock, %~site, %~turn, %~a}};",
            mark + 1,
        ));
        if ring.entry > ENTRY {
            s.ptx(&format!("@%~{room} st.global.v2.u32 [%~at+{ENTRY}], {{%~b, %~turn}};"));
        }
        s.ptx(&format!(
            "mov.b64 {{%~a, %~b}}, %~at;
             add.u32 %~a, %~a, {};
             setp.eq.u32 %~q, %~a, %~limit;
             @%~q sub.u32 %~a, %~a, {};
             @%~q add.u32 %~turn, %~turn, 1;
             mov.b64 %~at, {{%~a, %~b}};",
            ring.entry,
            ring.entries * ring.entry,
        ));
    }

    /// `%~a`, `%~b`: payload words; missing words are 0.
    fn words(&self, s: &mut Snippet<'_>, words: &[Word]) {
        for (i, to) in ["%~a", "%~b"].into_iter().enumerate() {
            let value =
                words.get(i).and_then(|w| Some((self.scalars(std::slice::from_ref(&w.of)).pop()?, w.add)));
            let Some((value, add)) = value else {
                s.ptx(&format!("mov.u32 {to}, 0;"));
                continue;
            };
            value.read_low(s, to);
            if add != 0 {
                s.ptx(&format!("add.u32 {to}, {to}, {};", add as i32));
            }
        }
    }

    /// Lowers [`prlx_plan::Action::Group`]: notes the lane's group, and takes or gives up its track.
    pub(in crate::ptx) fn group(&self, s: &mut Snippet<'_>, values: &[Word]) {
        if values.len() > 1 {
            let clear = |s: &mut Snippet<'_>| {
                s.ptx("mov.u32 %~limit, 0;");
                if self.tracks().is_some_and(|t| t.apart > 0) {
                    s.ptx(&format!("mov.u32 %~next, {};", NEVER.cast_signed()));
                }
                self.constants
                    .registers()
                    .for_each(|(name, _, no)| s.ptx(&format!("mov.u32 %~{name}, {no};")));
                let words = self.tracks().map_or(0, |t| t.words);
                (0..words).for_each(|word| s.ptx(&format!("mov.u32 %~{}, 0;", sum(word))));
            };
            self.words(s, values);
            s.ptx("mov.u32 %~value, %~b;\nsetp.ne.u32 %~q, %~value, 0;\n@%~q bra $~leads#;");
            self.own_region(s, "left");
            let left = TrackHead::offset("left");
            s.ptx(&format!(
                "mov.u32 %~a, %laneid;\nadd.u32 %~a, %~a, 1;\nst.global.u32 [%~link+{left}], %~a;\n$~left#:"
            ));
            clear(s);
            s.ptx("bra $~off#;\n$~leads#:");
            clear(s);
            self.region(s);
            s.ptx(&format!("mov.u32 %~a, 0;\nst.global.u32 [%~link+{left}], %~a;"));
            self.enter_region(s);
            s.ptx("$~off#:");
        }
        self.own_region(s, "none");
        self.words(s, &values[..values.len().min(1)]);
        s.ptx(&format!(
            "mov.u32 %~b, 1;
             st.global.v2.u32 [%~link+{}], {{%~a, %~b}};
             $~none#:",
            TrackHead::offset("group"),
        ));
    }
}
