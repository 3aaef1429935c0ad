//! What markers write, for one lane: the model of invariant 7, written from `prlx_trace::device::tracks`.

use prlx_isa::view::FunctionKind;
use prlx_plan::SpanEnd;
use prlx_trace::device::tracks::{ANCHOR, ANCHOR_SLOTS, ENTRY, Form, LANE_BIT, LAST, Layout, SLOT, SPAN};
use prlx_trace::device::{Context, TrackHead};

use crate::verify::machine::Machine;
use crate::verify::memory::{read, write};
use crate::verify::model::lane::LaneModel;
use crate::verify::model::track::NEVER;
use crate::verify::model::track::Track;

impl LaneModel {
    fn log(&self) -> u32 {
        self.field("track_log") as u32
    }

    /// Address of the lane's own region.
    pub fn region(&self, layout: &Layout) -> u64 {
        let first = read(&self.memory, self.context + Context::offset("warp_first") as u64, 4);
        let lane = if layout.lanes { u64::from(self.lane) } else { 0 };
        self.field("tracks") + ((self.warp.wrapping_sub(first) * layout.regions() + lane) << self.log())
    }

    /// The lane enters a kernel.
    pub fn begin_track(&mut self, layout: &Layout, machine: &Machine) {
        let room = self.track.room;
        self.track = Track { room, next: NEVER, ..Track::default() };
        self.sums.fill(0);
        if self.lane == 0 || layout.lanes {
            self.take_region(layout, machine);
        }
    }

    fn take_region(&mut self, layout: &Layout, machine: &Machine) {
        if !self.recorded() {
            return;
        }
        let at = self.region(layout);
        self.track.at = at + TrackHead::SIZE as u64;
        self.track.limit = at as u32 + (1 << self.log());
        self.track.next = (self.track.at as u32).wrapping_add(layout.first(self.warp) * SLOT as u32);
        if layout.ring().is_some() {
            (self.track.turn, self.track.who) = (0, self.lane << LANE_BIT);
        }
        self.head(at, "sm", 4, u64::from(self.multiprocessor) + 1);
        self.head(at, "lane", 4, self.lane.into());
        self.head(at, "begin_cycles", 8, machine.special("%clock64"));
        self.head(at, "begin_nanos", 8, machine.special("%globaltimer"));
    }

    fn head(&mut self, region: u64, field: &str, size: u64, value: u64) {
        write(&mut self.memory, region + TrackHead::offset(field) as u64, size, value);
    }

    /// Region of a lane that has one.
    fn own(&self) -> Option<u64> {
        let base = self.track.limit.wrapping_sub(1 << self.log());
        (self.track.limit != 0).then_some(self.track.at >> 32 << 32 | u64::from(base))
    }

    /// The lane ends its track.
    pub fn end_track(&mut self, layout: &Layout, machine: &Machine) {
        let Some(at) = self.own() else { return };
        self.head(at, "end_cycles", 8, machine.special("%clock64"));
        self.head(at, "end_nanos", 8, machine.special("%globaltimer"));
        match layout.form {
            Form::Records | Form::Spans => {
                let written =
                    (self.track.at as u32).wrapping_sub(at as u32).wrapping_sub(TrackHead::SIZE as u32);
                self.head(at, "written", 4, written.into());
            }
            Form::Sums if self.kind == FunctionKind::Kernel => {
                for (i, sum) in self.sums.iter().enumerate() {
                    write(&mut self.memory, at + TrackHead::SIZE as u64 + 4 * i as u64, 4, u64::from(*sum));
                }
            }
            Form::Sums | Form::Ring { .. } => {}
        }
    }

    /// Adds and subtracts one reading of the clock.
    pub fn add(&mut self, ends: &[u32], begins: &[u32], count: Option<(u32, u32)>) {
        let clock = self.clock;
        ends.iter().for_each(|w| self.sums[*w as usize] = self.sums[*w as usize].wrapping_add(clock));
        begins.iter().for_each(|w| self.sums[*w as usize] = self.sums[*w as usize].wrapping_sub(clock));
        if let Some((word, by)) = count {
            self.sums[word as usize] = self.sums[word as usize].wrapping_add(by);
        }
    }

    /// Reserves slots. `stepped`: the distance is in a register.
    pub fn make_room(&mut self, layout: &Layout, slots: u32, stepped: bool) {
        let track = &mut self.track;
        if layout.ring().is_some() {
            track.room = track.limit != 0;
            return;
        }
        let by = if stepped { track.step(slots) as u32 } else { slots * SLOT as u32 };
        let low = (track.at as u32 + by).min(LAST);
        track.at = track.at >> 32 << 32 | u64::from(low);
        track.room = low <= track.limit;
    }

    pub fn anchor(&mut self, layout: &Layout, machine: &Machine) {
        let Track { at, limit, next, .. } = self.track;
        if (at as u32) < next {
            return;
        }
        let end = (at as u32).wrapping_add(ANCHOR_SLOTS * SLOT as u32);
        self.track.next = NEVER;
        if end > limit {
            return;
        }
        // The clocks do not advance here, so the timer's latency is 0.
        write(&mut self.memory, at, 4, machine.special("%clock64") & u64::from(u32::MAX));
        write(&mut self.memory, at + 4, 4, ANCHOR.into());
        write(&mut self.memory, at + SLOT, 8, machine.special("%globaltimer"));
        self.track.at = at >> 32 << 32 | u64::from(end);
        self.track.next = end.wrapping_add(layout.apart * SLOT as u32);
    }

    pub fn mark(&mut self, layout: &Layout, mark: u32, back: u32, words: &[u32]) {
        if layout.ring().is_some() {
            return self.entry(layout, mark, words);
        }
        if !self.track.room {
            return;
        }
        let at = self.track.at.wrapping_sub(u64::from(back) * SLOT);
        write(&mut self.memory, at, 4, self.clock.into());
        write(&mut self.memory, at + 4, 4, u64::from(mark) + 1);
        if !words.is_empty() {
            for i in 0..2 {
                write(
                    &mut self.memory,
                    at + SLOT + 4 * i as u64,
                    4,
                    words.get(i).copied().unwrap_or(0).into(),
                );
            }
        }
    }

    /// Ends and begins spans at one reading of the clock.
    pub fn span(&mut self, layout: &Layout, end: Option<SpanEnd>, begin: Option<(u32, Option<u32>)>) {
        if let Some(SpanEnd { span, back }) = end.filter(|_| self.track.room) {
            let from = layout.spans[span as usize].begin;
            let (began, said) = self.opened[from as usize];
            let word = if layout.shapes[from as usize].words > 0 { said } else { from + 1 };
            let at = self.track.at.wrapping_sub(u64::from(back) * SLOT);
            for (i, value) in [began, (span + 1) | SPAN, self.clock, word].into_iter().enumerate() {
                write(&mut self.memory, at + 4 * i as u64, 4, value.into());
            }
        }
        if let Some((mark, word)) = begin {
            let opened = &mut self.opened[mark as usize];
            *opened = (self.clock, word.unwrap_or(opened.1));
        }
    }

    fn entry(&mut self, layout: &Layout, mark: u32, words: &[u32]) {
        let Some(ring) = layout.ring() else { return };
        let Track { at, limit, room, turn, who, .. } = self.track;
        let word = |i: usize| words.get(i).copied().unwrap_or(0);
        let mut entry = vec![self.clock, who + mark + 1, turn, word(0)];
        if ring.entry > ENTRY {
            entry.extend([word(1), turn]);
        }
        for (i, value) in entry.into_iter().enumerate().filter(|_| room) {
            write(&mut self.memory, at + 4 * i as u64, 4, value.into());
        }
        let next = (at as u32).wrapping_add(ring.entry as u32);
        let turns = next == limit;
        let low = if turns { next.wrapping_sub((ring.entries * ring.entry) as u32) } else { next };
        self.track.at = at >> 32 << 32 | u64::from(low);
        self.track.turn = turn.wrapping_add(turns.into());
    }

    pub fn group(&mut self, layout: &Layout, machine: &Machine, values: &[u32]) {
        if let Some(leads) = values.get(1) {
            if let Some(at) = self.own().filter(|_| *leads == 0) {
                self.head(at, "left", 4, u64::from(self.lane) + 1);
            }
            self.track.limit = 0;
            self.track.next = NEVER;
            self.sums.fill(0);
            if *leads != 0 && self.recorded() {
                let at = self.region(layout);
                self.head(at, "left", 4, 0);
                self.take_region(layout, machine);
            }
        }
        if let (Some(at), Some(group)) = (self.own(), values.first()) {
            self.head(at, "group", 4, (*group).into());
            self.head(at, "grouped", 4, 1);
        }
    }
}
