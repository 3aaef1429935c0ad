//! The model of one lane: what the plan's actions mean, written from `prlx_plan::Action` and
//! `prlx_trace::device` alone.
//!
//! One convention is the lowering's: a cursor whose lowest bits are 1 (not recorded) or 2 (lost, counted
//! above the chunk's bits) says that nothing is written.

use prlx_isa::view::FunctionKind;
use prlx_plan::{RollingHash, WordBits, value_hash};
use prlx_trace::device::tables::{Part, Records};
use prlx_trace::device::{
    COUNT_BITS, Context, Finals, Head, MAGAZINE_COUNT, MAGAZINE_STRIDE, MAGAZINES, Shape, VALUE_BITS,
    WORD_BITS, count_words, decisions_in, digest,
};
use prlx_trace::kernel::Level;

use crate::verify::memory::{Memory, read, write};
use crate::verify::model::track::Track;

/// State of a lane, and the memory of the recorder.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::verify) struct LaneModel {
    pub level: Level,
    pub kind: FunctionKind,
    pub word: u32,
    pub cursor: u64,
    pub trips: Vec<u64>,
    pub hashes: [u32; 4],
    pub finals: Finals,
    /// Whether the lowest active lane writes the hashes of all. If not, each lane writes its own.
    pub reduces: bool,
    pub edges: u32,
    pub first: u32,
    pub span: u32,
    pub visits: Vec<u32>,
    pub vars: Vec<u64>,
    pub counters: Vec<u64>,
    /// Address of its warp's records, or 0.
    pub records: u64,
    /// Number of records written, by declaration, of those that each thread numbers.
    pub saved: Vec<u64>,
    pub track: Track,
    /// Words of a track of sums.
    pub sums: Vec<u32>,
    /// When the span from each begin marker began, and its payload word.
    pub opened: Vec<(u32, u32)>,
    pub memory: Memory,
    /// Active lanes, itself included. The others contribute nothing to reductions.
    pub mask: u64,
    /// Lane in the warp.
    pub lane: u32,
    pub warp: u64,
    pub clock: u32,
    pub multiprocessor: u32,
    /// Address of the context, or 0.
    pub context: u64,
}

impl LaneModel {
    pub fn shape(&self) -> Shape {
        Shape::of(self.level, self.finals.warp_size)
    }

    pub fn field(&self, name: &str) -> u64 {
        read(&self.memory, self.context + Context::offset(name) as u64, 8)
    }

    pub fn recorded(&self) -> bool {
        let small = |name: &str| read(&self.memory, self.context + Context::offset(name) as u64, 4);
        self.context != 0 && self.warp.checked_sub(small("warp_first")).is_some_and(|n| n < small("warps"))
    }

    /// Address of its warp's records, or 0.
    pub fn own_records(&self, records: &Records) -> u64 {
        match records.parts.iter().any(Part::numbered) && self.context != 0 {
            true if self.field("records") != 0 => self.field("records") + self.warp * records.warp,
            _ => 0,
        }
    }

    /// Whether it is the lowest active lane.
    pub fn leads(&self) -> bool {
        self.mask.trailing_zeros() == self.lane
    }

    fn stream_head(&self) -> u64 {
        let heads = self.shape().heads(self.finals.warp_size);
        let index = if heads > 1 { self.warp * heads + u64::from(self.lane) } else { self.warp };
        self.field("heads") + index * Head::SIZE as u64
    }

    /// Sets the state at a kernel's entry.
    pub fn begin(&mut self) {
        self.word = 1;
        self.start_cursor();
        self.trips.fill(0);
        self.hashes = [RollingHash::START; 4];
        self.edges = 0;
        self.visits.fill(0);
        (self.first, self.span) = (0, 0);
        if self.level == Level::Operands && self.recorded() {
            let clamp = |v: u64| v.min(u64::from(u32::MAX)) as u32;
            self.first = clamp(self.field("visit_first"));
            self.span = clamp(self.field("visit_last")).saturating_sub(self.first);
        }
    }

    pub fn start_cursor(&mut self) {
        self.cursor = 0;
    }

    /// Sets the state that a device function initialises itself.
    pub fn begin_device(&mut self) {
        self.trips.fill(0);
        if self.level == Level::Fingerprint {
            self.word = 1;
        }
    }

    /// Writes pending elements and hashes at the end of the lane.
    pub fn end(&mut self) {
        match self.level {
            // A word without decisions is not written.
            Level::Path | Level::Values if self.word != 1 => self.last_word(),
            Level::Fingerprint if self.recorded() => {
                let at = self.field("finals") + self.warp * self.finals.bytes();
                let mut parts = Vec::new();
                for i in (0..4).filter(|i| self.finals.used[*i]) {
                    let part = RollingHash::of_lane(self.hashes[i], self.lane);
                    if self.leads() || !self.reduces {
                        let at = at + self.finals.hash(i);
                        let of_warp = read(&self.memory, at, 4) ^ u64::from(part);
                        write(&mut self.memory, at, 4, of_warp);
                    }
                    parts.push(part);
                }
                let signature = u64::from(RollingHash::signature(parts.into_iter()));
                write(&mut self.memory, at + self.finals.signatures() + u64::from(self.lane), 1, signature);
            }
            _ => {}
        }
        if self.cursor & 2 != 0 {
            let at = self.stream_head() + Head::offset("dropped") as u64;
            let lost = self.cursor >> self.shape().chunk().trailing_zeros();
            let dropped = read(&self.memory, at, 8) + lost;
            write(&mut self.memory, at, 8, dropped);
        }
    }

    /// Writes the word that is not full. If elements before it are lost, it is lost too.
    fn last_word(&mut self) {
        if self.cursor & 3 != 0 {
            self.cursor += self.shape().chunk();
        } else if self.recorded() {
            let lane = self.warp * self.finals.warp_size.lanes() + u64::from(self.lane);
            let bytes = self.finals.last_word.bytes();
            let at = self.field("finals") + lane * bytes;
            write(&mut self.memory, at, bytes, self.word.into());
        }
    }

    pub fn reserve(&mut self, bits: u32) {
        if decisions_in(self.word) + bits > WORD_BITS {
            self.element(&[u64::from(self.word)]);
            self.word = 1;
        }
    }

    pub fn bits(&mut self, value: u64, bits: u8, into: WordBits) {
        let low = value & ((1u64 << bits) - 1);
        self.word = self.word << into.shift | (low as u32) << into.to;
    }

    pub fn value_hash(&mut self, values: &[u64]) {
        let hash = value_hash(values.iter().copied());
        self.bits(hash.into(), VALUE_BITS, WordBits::alone(VALUE_BITS));
    }

    pub fn fold_word(&mut self) {
        let word = std::mem::replace(&mut self.word, 1);
        self.fold(RollingHash::Control, &[word.into()]);
    }

    pub fn trip_begin(&mut self, counter: usize) {
        self.trips[counter] = 1;
    }

    pub fn trip_add(&mut self, counter: usize) {
        self.trips[counter] = u64::from((self.trips[counter] as u32).wrapping_add(1));
    }

    pub fn trip_read(&mut self, counter: usize, count: u32) {
        if self.trips[counter] != 0 {
            self.trips[counter] = u64::from(count);
        }
    }

    pub fn trip_end(&mut self, counter: usize, room: u32) {
        self.reserve(room);
        let Some(count) = std::mem::take(&mut self.trips[counter]).checked_sub(1) else { return };
        let large = (1 << COUNT_BITS) - 1;
        self.bits(count.min(large), COUNT_BITS, WordBits::alone(COUNT_BITS));
        if count < large {
            return;
        }
        count_words(count).for_each(|word| self.element(&[word.into()]));
    }

    pub fn fold(&mut self, into: RollingHash, values: &[u64]) {
        let hash = &mut self.hashes[into as usize];
        *hash = values.iter().fold(*hash, |h, v| RollingHash::step(h, *v));
    }

    pub fn trip_fold(&mut self, counter: usize) {
        let Some(count) = std::mem::take(&mut self.trips[counter]).checked_sub(1) else { return };
        self.fold(RollingHash::Control, &[count]);
    }

    pub fn checkpoint(&mut self, every: u8) {
        self.edges = self.edges.wrapping_add(1);
        if self.edges.is_multiple_of(1 << every) {
            self.element(&[RollingHash::checkpoint(self.hashes)]);
        }
    }

    pub fn trip_event(&mut self, counter: usize, site: u32) {
        let Some(count) = std::mem::take(&mut self.trips[counter]).checked_sub(1) else { return };
        self.rows(&[vec![u64::from(site + 1), 1 << self.lane, u64::from(count as u32), self.clock.into()]]);
    }

    /// Words of an event. `ballot`: the value is a predicate. `index`: it is the index of a switch. Otherwise
    /// it is a digest.
    pub fn event(&self, site: u32, values: &[u64], ballot: bool, index: bool, digests: bool) -> [u64; 4] {
        let value = match values {
            [] => 0,
            [p] if ballot => (*p & 1) << self.lane,
            [i] if index => *i & u64::from(u32::MAX),
            values if digests => digest(self.lane, values).into(),
            _ => 0,
        };
        let mask = if index && !values.is_empty() { 1 << self.lane } else { self.mask };
        [u64::from(site + 1), mask, value, self.clock.into()]
    }

    /// Writes events under one header for the lanes `mask`, if this lane is the lowest of them.
    pub fn events(&mut self, mask: u64, rows: &[Vec<u64>]) {
        if mask.trailing_zeros() == self.lane {
            self.rows(rows);
        }
    }

    pub fn operands(&mut self, site: u32, counter: usize, values: &[u64]) {
        let visit = self.visits[counter];
        self.visits[counter] = visit.wrapping_add(1);
        if visit.wrapping_sub(self.first) < self.span {
            let at = |i: usize| values.get(i).copied().unwrap_or_default();
            self.element(&[u64::from(site + 1) | u64::from(visit) << 32, at(0), at(1)]);
        }
    }

    /// Links the first chunk, as another lane of this warp would.
    pub fn hand_out(&mut self) {
        let (taken, pool) = (self.take(), self.field("pool"));
        let head = self.stream_head();
        write(&mut self.memory, head, 8, pool + taken);
    }

    /// Takes a chunk from the magazine or the pool. Returns its offset in the pool.
    fn take(&mut self) -> u64 {
        let chunk = self.shape().chunk();
        if self.field("magazines") == 0 {
            return self.take_bytes(chunk);
        }
        let at = self.field("magazines") + u64::from(self.multiprocessor) % MAGAZINES * MAGAZINE_STRIDE;
        let was = read(&self.memory, at, 8);
        let (offset, left) = (was >> MAGAZINE_COUNT, was & ((1 << MAGAZINE_COUNT) - 1));
        write(&mut self.memory, at, 8, was.wrapping_add((chunk << MAGAZINE_COUNT) - 1));
        match left {
            0 => {
                let batch = self.field("batch");
                let taken = self.take_bytes(batch);
                write(&mut self.memory, at, 8, (taken + chunk) << MAGAZINE_COUNT | (batch / chunk - 1));
                taken
            }
            n if n < 1 << (MAGAZINE_COUNT - 1) => offset,
            _ => self.take_bytes(chunk),
        }
    }

    /// Takes bytes from the pool. Returns their offset.
    fn take_bytes(&mut self, bytes: u64) -> u64 {
        let at = self.field("cursor");
        let taken = read(&self.memory, at, 8);
        write(&mut self.memory, at, 8, taken + bytes);
        taken
    }

    /// Writes elements of a shared stream.
    fn element(&mut self, values: &[u64]) {
        let (size, row) = (self.shape().element, self.shape().row());
        if self.place(values.len() as u64) {
            for value in values {
                write(&mut self.memory, self.cursor, size, *value);
                self.cursor += row;
            }
        }
    }

    /// Writes rows of a private stream: the words at the beginning of each.
    fn rows(&mut self, rows: &[Vec<u64>]) {
        if self.place(rows.len() as u64) {
            for words in rows {
                for (i, word) in words.iter().enumerate() {
                    write(&mut self.memory, self.cursor + 4 * i as u64, 4, *word);
                }
                self.cursor += self.shape().row();
            }
        }
    }

    /// Moves the cursor to where `rows` rows have room. Counts them as lost if there is none.
    fn place(&mut self, rows: u64) -> bool {
        let shape = self.shape();
        let (row, chunk) = (shape.row(), shape.chunk());
        let at = self.cursor % chunk / row;
        if at == 0 || shape.lanes == 1 && at + rows > shape.rows() {
            if self.cursor & 3 != 0 {
                self.cursor += chunk * rows;
                return false;
            }
            let part = if shape.lanes > 1 { u64::from(self.lane) * shape.element } else { 0 };
            let base = self.cursor - self.cursor % row;
            if base == 0 && !self.recorded() {
                self.cursor = 1 + chunk * rows;
                return false;
            }
            let link = if base == 0 { self.stream_head() } else { (base - 1) / chunk * chunk };
            let index = self.warp.wrapping_sub(read(
                &self.memory,
                self.context + Context::offset("warp_first") as u64,
                4,
            ));
            let given = base == 0 && index < self.field("given") && (shape.lanes > 1 || self.lane == 0);
            let mut next = match (given, shape.lanes) {
                (true, _) => self.field("pool") + index * chunk,
                (false, 1) => 0,
                (false, _) => read(&self.memory, link, 8),
            };
            if next == 0 {
                let taken = self.take();
                next = if taken >= self.field("size") {
                    self.field("bucket")
                } else {
                    self.field("pool") + taken
                };
                write(&mut self.memory, link, 8, next);
            }
            if next == self.field("bucket") {
                self.cursor = 2 + chunk * rows;
                return false;
            }
            self.cursor = next + part + row;
        }
        true
    }
}
