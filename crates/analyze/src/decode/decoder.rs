//! The decoder: walks one lane's recording through the decode program of its functions, and yields the lane's
//! exact path.
//!
//! The decoder is pulled item by item. Its memory is the lane's registers and open loops.
//!
//! # Invariants
//! Each decision is one [`PathItem::Visit`], in execution order, whether its value was recorded, counted or
//! computed. Loop, call and branch items give visits their execution index. A lane whose recording ends
//! early, or whose launch was stopped, ends as [`DecodeOutcome::Truncated`]. No input makes the decoder
//! panic; endless paths reach [`DecodeLimits`].
//!
//! # Limitations
//! Functions that were not recorded are stepped over. After a launch was stopped, the walk continues through
//! decisions that can be computed, as far as the lane would have gone.

use prlx_trace::device::{COUNT_EVENT, VALUE_BITS};
use prlx_trace::kernel::{Alu, Arg, End, Guard, Module, Scalar, SiteClass, Source, Step};
use prlx_trace::launch::{Event, Lanes};
use prlx_trace::{BlockId, FuncId, Lane, LaneMask, Launch, LoopId, SiteId, Slot, WarpId, WarpStream};

use crate::error::Error;

use super::alu;
use super::checked_module::{CheckedModule, can_be_omitted, is_decision};
use super::converged::{Call, ConvergedLanes};
use super::decision_source::{BitReader, DecisionSource, TripCountReader, take_count};
use super::lane_stream::lane_part;
use super::path_item::{DecodeLimits, DecodeOutcome, PathItem, VisitCounts};
use super::special_registers::SpecialRegisters;

#[derive(Clone, Debug)]
struct Frame {
    function: FuncId,
    block: BlockId,
    step: usize,
    /// The index of its first register.
    base: usize,
    /// The number of open loops at the call.
    loops: usize,
}

#[derive(Clone, Debug)]
struct OpenLoop {
    of: LoopId,
    /// For a counted loop: how many more times its decision says to stay.
    stay: Option<u64>,
}

/// The number of `size` bytes, at most eight, at `offset` in the parameter buffer; `None` beyond its end.
pub(super) fn param(params: &[u8], offset: u32, size: u8) -> Option<u64> {
    let (from, mut bytes) = (offset as usize, [0; 8]);
    let part = params.get(from..from.saturating_add(usize::from(size)))?;
    bytes.get_mut(..part.len())?.copy_from_slice(part);
    Some(u64::from_le_bytes(bytes))
}

/// Yields the path of one lane, item by item.
#[derive(Clone, Debug)]
pub struct Decoder<'a> {
    program: &'a CheckedModule<'a>,
    params: &'a [u8],
    special: SpecialRegisters,
    source: DecisionSource<'a>,
    warp: WarpId,
    lane: Lane,
    /// The launch was stopped before the lane's end.
    stopped: bool,
    frames: Vec<Frame>,
    slots: Vec<u64>,
    loops: Vec<OpenLoop>,
    /// Items of the last steps, of which the first `yielded` were yielded.
    pending: Vec<PathItem>,
    yielded: usize,
    outcome: DecodeOutcome,
    limits: DecodeLimits,
    counts: VisitCounts,
    /// Yield visits only.
    flat: bool,
    /// Yield [`PathItem::At`] for every block.
    blocks: bool,
    /// The stream has all events, see [`complete_events`](crate::complete_events).
    complete_stream: bool,
    /// Yield [`PathItem::Skipped`] and [`PathItem::Barrier`].
    skipped: bool,
    /// The index of the event that was consumed last.
    last_event: usize,
    /// The number of events that were consumed.
    taken: u64,
    /// All lanes of the warp, which must agree with this one.
    converged: Option<Box<ConvergedLanes>>,
}

impl<'a> Decoder<'a> {
    /// Starts at the kernel's entry. `program` is the checked module of the launch.
    ///
    /// # Errors
    /// The stream's level records no path, or the kernel cannot be decoded.
    pub fn new(
        program: &'a CheckedModule<'a>,
        launch: &'a Launch,
        stream: &'a WarpStream,
        lane: Lane,
        limits: DecodeLimits,
    ) -> Result<Decoder<'a>, Error> {
        let source = match &stream.lanes {
            Lanes::Path { words, ends } => {
                let words = lane_part(words, ends, stream.warp, lane)?;
                DecisionSource::Words(
                    BitReader { words: words.iter(), word: 0, remaining: 0 },
                    TripCountReader(words.iter()),
                )
            }
            Lanes::Events(events) => DecisionSource::Events(events.iter().enumerate().peekable()),
            Lanes::Fingerprint { .. } | Lanes::Operands { .. } => {
                return Err(Error::new(stream.warp.to_string(), "this level records no path"));
            }
        };
        let mut limits = limits;
        limits.steps = limits.steps.saturating_add(limits.steps_per_word.saturating_mul(source.words()));
        let mut decoder = Decoder {
            program,
            params: &launch.params,
            special: SpecialRegisters::new(launch, stream.warp, lane),
            source,
            warp: stream.warp,
            lane,
            stopped: lane.0 < 64 && launch.unfinished(stream.warp).has(lane),
            frames: Vec::new(),
            slots: Vec::new(),
            loops: Vec::new(),
            pending: Vec::new(),
            yielded: 0,
            outcome: DecodeOutcome::Running,
            limits,
            counts: VisitCounts::default(),
            flat: false,
            blocks: false,
            complete_stream: false,
            skipped: false,
            last_event: 0,
            taken: 0,
            converged: None,
        };
        if lane.0 >= 64 || !launch.lanes(stream.warp).has(lane) {
            decoder.outcome = DecodeOutcome::Ended;
            return Ok(decoder);
        }
        decoder.call(launch.kernel)?;
        Ok(decoder)
    }

    /// From here on, yields visits only, which is faster.
    #[must_use]
    pub fn flat(mut self) -> Self {
        self.flat = true;
        self.pending.clear();
        self.yielded = 0;
        self
    }

    /// Also yields each block that the lane arrives at.
    #[must_use]
    pub fn with_blocks(mut self) -> Self {
        self.blocks = true;
        // The lane arrived at the kernel's first block when the decoder was made.
        if let Some(at) = self.frames.last().map(|f| f.block) {
            self.emit(PathItem::At(at));
        }
        self
    }

    /// The stream comes from [`complete_events`](crate::complete_events): every visit of level `events` has
    /// its event.
    #[must_use]
    pub fn with_complete_stream(self) -> Self {
        Decoder { complete_stream: true, ..self }
    }

    /// Also yields [`PathItem::Skipped`] and [`PathItem::Barrier`].
    #[must_use]
    pub(crate) fn with_skipped(self) -> Self {
        Decoder { skipped: true, ..self }
    }

    /// Walks all lanes of `mask`, which includes this one, through a stream whose events have all of them. A
    /// branch in which they disagree is an error. Visits whose events the recorder omitted get the mask.
    #[must_use]
    pub(crate) fn converged(mut self, launch: &Launch, mask: LaneMask) -> Self {
        let mut lanes = Box::new(ConvergedLanes::new(self.program, launch, self.warp, mask));
        lanes.resize(self.slots.len());
        self.converged = Some(lanes);
        self
    }

    /// The module of the launch.
    pub(crate) fn module(&self) -> &'a Module {
        self.program.module
    }

    /// The number of events that were consumed.
    pub(crate) fn events_taken(&self) -> u64 {
        self.taken
    }

    /// The index, in the stream, of the event of the last visit that had a mask.
    pub(crate) fn last_event(&self) -> usize {
        self.last_event
    }

    fn emit(&mut self, item: PathItem) {
        if !self.flat {
            self.pending.push(item);
        }
    }

    /// How the lane ended, once [`Decoder::next`] has returned `None`.
    pub fn outcome(&self) -> DecodeOutcome {
        self.outcome
    }

    /// The sources of the visits so far.
    pub fn counts(&self) -> VisitCounts {
        self.counts
    }

    fn error(&self, what: impl Into<String>) -> Error {
        let mut at = format!("{}, {}", self.warp, self.lane);
        if let Some(f) = self.frames.last() {
            at += &format!(", {} {}", self.program.functions[f.function.index()].function.name, f.block);
        }
        Error::new(at, what)
    }

    fn too_long(&self) -> Error {
        Error { limit: true, ..self.error("the lane takes more steps than the limit allows") }
    }

    fn call(&mut self, function: FuncId) -> Result<(), Error> {
        let callee = self.program.function(function)?;
        if let Some(why) = callee.function.skipped.as_ref().or(callee.lost.as_ref()) {
            return Err(self.error(format!("{} cannot be decoded: {why}", callee.function.name)));
        }
        let base = self.slots.len();
        let top = base + callee.function.slots as usize;
        if self.frames.len() >= self.limits.depth || top > self.limits.slots {
            return Err(self.error("calls nest too deep"));
        }
        if callee.function.blocks.is_empty() {
            return Err(self.error(format!("{} has no blocks", callee.function.name)));
        }
        self.slots.resize(top, 0);
        self.converged.iter_mut().for_each(|lanes| lanes.resize(top));
        let loops = self.loops.len();
        self.frames.push(Frame { function, block: BlockId(0), step: 0, base, loops });
        self.arrive(None, BlockId(0))
    }

    /// Moves from one block of the innermost call to another.
    fn arrive(&mut self, from: Option<BlockId>, to: BlockId) -> Result<(), Error> {
        self.pass(from, to)?;
        if self.blocks {
            self.emit(PathItem::At(to));
        }
        Ok(())
    }

    /// Leaves and enters loops between two blocks.
    fn pass(&mut self, from: Option<BlockId>, to: BlockId) -> Result<(), Error> {
        let Some(frame) = self.frames.last_mut() else { return Ok(()) };
        frame.block = to;
        frame.step = 0;
        let base = frame.loops;
        let program = self.program;
        let f = &program.functions[frame.function.index()];
        let (here, inner) = (f.blocks[to.index()], f.blocks[to.index()].in_loop);
        let same = from.is_some_and(|b| f.blocks[b.index()].in_loop == inner);
        if same && here.heads.is_none() {
            if here.join {
                self.emit(PathItem::Join(to));
            }
            return Ok(());
        }
        while let Some(open) = self.loops.get(base..).and_then(|l| l.last()) {
            if f.encloses(open.of, inner) {
                break;
            }
            let left = open.of;
            self.loops.pop();
            self.emit(PathItem::Leave(left));
        }
        let top = self.loops.get(base..).and_then(|l| l.last()).map(|o| o.of);
        if top.is_some() && top == here.heads {
            top.into_iter().for_each(|l| self.emit(PathItem::Trip(l)));
        }
        if here.join {
            self.emit(PathItem::Join(to));
        }
        // Loops entered, outermost first: an outer loop has the lower number.
        let mut entered = Vec::new();
        let mut at = inner;
        while let Some(l) = at.filter(|&l| Some(l) != top) {
            entered.push(l);
            at = f.function.loops[l.index()].parent;
        }
        for &l in entered.iter().rev() {
            let stay = match f.counted[l.index()] {
                Some((small, site)) if self.counts_ahead(small) => match self.count(small, site)? {
                    None => {
                        self.outcome = DecodeOutcome::Truncated;
                        return Ok(());
                    }
                    stay => stay,
                },
                _ => None,
            };
            self.emit(PathItem::Enter(l));
            self.loops.push(OpenLoop { of: l, stay });
        }
        Ok(())
    }

    /// Whether a loop's count, in `small` bits, is recorded before its trips.
    fn counts_ahead(&self, small: u8) -> bool {
        match self.source {
            DecisionSource::Words(..) => true,
            DecisionSource::Events(_) => small == COUNT_EVENT && !self.complete_stream,
        }
    }

    /// The next trip count of the loop that `site` decides. `None` where the recording ends.
    fn count(&mut self, small: u8, site: SiteId) -> Result<Option<u64>, Error> {
        let wrong = |what: &str| Error::new(format!("{}, {}", self.warp, self.lane), what);
        match &mut self.source {
            DecisionSource::Words(..) if small == COUNT_EVENT => {
                Err(wrong("a count in an event, at a level without events"))
            }
            DecisionSource::Words(bits, trips) => take_count(bits, trips, small).map_err(wrong),
            DecisionSource::Events(_) => match self.event(site) {
                None if self.more_events() => {
                    Err(self.error(format!("the next event is no count of {site}")))
                }
                event => Ok(event.map(|e| e.value)),
            },
        }
    }

    /// The next item. `None` at the end of the stream; see [`Decoder::outcome`].
    ///
    /// # Errors
    /// The recording contradicts the code, or a limit is reached.
    #[allow(
        clippy::should_implement_trait,
        reason = "an iterator of results would have to go on after an error"
    )]
    pub fn next(&mut self) -> Result<Option<PathItem>, Error> {
        Ok(self.advance()?.copied())
    }

    /// As [`Decoder::next`], without a copy of the item. A copy is made with loads that are wider than the
    /// stores of the item's fields, so the processor has to wait for these stores.
    ///
    /// # Errors
    /// Those of [`Decoder::next`].
    pub(crate) fn advance(&mut self) -> Result<Option<&PathItem>, Error> {
        while self.yielded == self.pending.len() {
            self.pending.clear();
            self.yielded = 0;
            if self.outcome != DecodeOutcome::Running {
                return Ok(None);
            }
            self.limits.steps = self.limits.steps.checked_sub(1).ok_or_else(|| self.too_long())?;
            if let Some(item) = self.step()? {
                self.pending.push(item);
            }
        }
        self.yielded += 1;
        Ok(self.pending.get(self.yielded - 1))
    }

    fn holds(&self, base: usize, guard: Option<Guard>) -> bool {
        guard.is_none_or(|g| (self.slots[base + g.slot.index()] & 1 == 1) != g.negate)
    }

    /// Whether a guard holds; in a converged warp, for all lanes.
    fn holds_for_all(&self, call: Call, guard: Option<Guard>) -> Result<bool, Error> {
        guard.into_iter().try_for_each(|g| self.agree(call, g.slot, 1))?;
        Ok(self.holds(call.1, guard))
    }

    /// In a converged warp: whether the lanes agree in these bits of a register.
    fn agree(&self, call: Call, slot: Slot, bits: u64) -> Result<(), Error> {
        match &self.converged {
            Some(lanes) if !lanes.agree(call, slot, bits, &self.slots) => {
                Err(self.error("the lanes of the warp diverge"))
            }
            _ => Ok(()),
        }
    }

    /// In a converged warp: evaluates an operation for all lanes.
    fn evaluate_all(
        &mut self,
        call: Call,
        to: Slot,
        what: (Alu, Scalar, &[Arg]),
        guard: Option<Guard>,
    ) -> Result<(), Error> {
        let Some(mut lanes) = self.converged.take() else { return Ok(()) };
        let other = |arg: &Arg| self.arg(call.1, arg).ok();
        let done = lanes.evaluate(call, to, what, guard, &self.slots, other);
        self.converged = Some(lanes);
        done.ok_or_else(|| self.error("an undefined operation"))
    }

    fn step(&mut self) -> Result<Option<PathItem>, Error> {
        let program = self.program;
        let Some(frame) = self.frames.last_mut() else {
            self.outcome = DecodeOutcome::Ended;
            return Ok(None);
        };
        let (base, at) = (frame.base, frame.block);
        let call = (frame.function, base);
        let f = &program.functions[frame.function.index()];
        let block = &f.function.blocks[at.index()];
        let rest = block.steps.get(frame.step..).unwrap_or_default();
        // Most steps are operations.
        let operations = rest.iter().take_while(|step| matches!(step, Step::Let { .. })).count();
        frame.step += operations + 1;
        self.limits.steps =
            self.limits.steps.checked_sub(operations as u64).ok_or_else(|| self.too_long())?;
        for step in &rest[..operations] {
            self.operation(call, step)?;
        }
        let Some(what) = rest.get(operations) else { return self.end(at, call, &block.end) };
        match what {
            Step::Let { .. } => Ok(None),
            Step::Decide { site, slot, guard } => {
                if f.hides(&program.sources, *site, *slot, *guard) {
                    return Ok(None);
                }
                if !self.holds_for_all(call, *guard)? {
                    return Ok(self.skipped.then_some(PathItem::Skipped(*site)));
                }
                let source = program.sources[site.index()];
                // Lanes may select differently: that shows in no event.
                if source == Source::Computed && can_be_omitted(program, *site) {
                    self.agree(call, *slot, u64::MAX)?;
                }
                let visit = self.decide(*site, base + slot.index(), source)?;
                Ok(visit.map(|visit| self.with_all_lanes(call, *slot, source, visit)))
            }
            Step::Visit { site, guard } => {
                if guard.is_some_and(|g| f.unknown[g.slot.index()]) {
                    return Ok(None);
                }
                if !self.holds_for_all(call, *guard)? {
                    return Ok(self.skipped.then_some(PathItem::Skipped(*site)));
                }
                let (mut value, mut mask) = (0, LaneMask(0));
                if let DecisionSource::Events(_) = self.source {
                    match (self.event(*site), program.module.sites[site.index()].class) {
                        (Some(event), _) => (value, mask) = (event.value, event.mask),
                        // The launch was stopped: the lane may never have reached this site.
                        (None, _) if self.stopped && !self.more_events() => {
                            self.outcome = DecodeOutcome::Truncated;
                            return Ok(None);
                        }
                        // The recorder omits these events, since the rest implies them.
                        (None, SiteClass::Entry | SiteClass::Exit) => {
                            mask = self.converged.as_ref().map_or(mask, |lanes| lanes.mask);
                        }
                        (None, SiteClass::Sync) => {
                            return Ok(self.skipped.then_some(PathItem::Barrier(*site)));
                        }
                        (None, _) => return Ok(None),
                    }
                }
                self.counts.other += 1;
                Ok(Some(PathItem::Visit { site: *site, value, mask }))
            }
            Step::Read { to, bits, guard, .. } => {
                if !self.holds_for_all(call, *guard)? {
                    return Ok(None);
                }
                let value = match &mut self.source {
                    DecisionSource::Words(words, _) => words.value(*bits),
                    DecisionSource::Events(_) => None,
                };
                match value {
                    Some(value) => self.slots[base + to.index()] = value,
                    None => self.outcome = DecodeOutcome::Truncated,
                }
                Ok(None)
            }
            Step::Call { function, guard, .. } => {
                let callee = program.function(*function)?;
                if callee.function.skipped.is_some() || !self.holds_for_all(call, *guard)? {
                    return Ok(None);
                }
                self.emit(PathItem::Call(*function));
                self.call(*function)?;
                Ok(None)
            }
        }
    }

    /// Evaluates an operation.
    fn operation(&mut self, call: Call, step: &Step) -> Result<(), Error> {
        let Step::Let { to, op, ty, args, guard } = step else { return Ok(()) };
        if self.converged.as_ref().is_some_and(|lanes| lanes.varies(call, *to)) {
            self.evaluate_all(call, *to, (*op, *ty, args), *guard)?;
        }
        if self.holds(call.1, *guard) {
            let mut values = [0; 4];
            for (value, arg) in values.iter_mut().zip(args) {
                *value = self.arg(call.1, arg)?;
            }
            let result = alu::eval(*op, *ty, &values[..args.len().min(4)]);
            self.slots[call.1 + to.index()] = result.ok_or_else(|| self.error("an undefined operation"))?;
        }
        Ok(())
    }

    /// A decision that all lanes of a converged warp took; otherwise `visit` as it is.
    fn with_all_lanes(&mut self, call: Call, slot: Slot, source: Source, visit: PathItem) -> PathItem {
        let PathItem::Visit { site, value, mask } = visit else { return visit };
        let Some(lanes) = &mut self.converged else { return visit };
        if source != Source::Computed {
            lanes.set(call, slot, self.slots[call.1 + slot.index()]);
        }
        let omitted = mask.0 == 0 && can_be_omitted(self.program, site);
        PathItem::Visit { site, value, mask: if omitted { lanes.mask } else { mask } }
    }

    fn arg(&self, base: usize, arg: &Arg) -> Result<u64, Error> {
        Ok(match arg {
            Arg::Slot(s) => self.slots[base + s.index()],
            Arg::Const(c) => *c,
            Arg::Special(s) => self.special.0[*s as usize],
            Arg::Param { offset, size } => param(self.params, *offset, *size)
                .ok_or_else(|| self.error("a parameter beyond the launch's parameters"))?,
        })
    }

    /// The lane's next event, if it is an event of `site`.
    fn event(&mut self, site: SiteId) -> Option<Event> {
        let (lane, site) = (self.lane, self.program.recorded(site));
        let DecisionSource::Events(events) = &mut self.source else { return None };
        while events.next_if(|(_, e)| !e.mask.has(lane)).is_some() {}
        let (at, event) = events.next_if(|(_, e)| e.site == site)?;
        self.last_event = at;
        self.taken += 1;
        Some(*event)
    }

    fn decide(&mut self, site: SiteId, slot: usize, source: Source) -> Result<Option<PathItem>, Error> {
        let mut mask = LaneMask(0);
        let counted = matches!(source, Source::Trips { bits: COUNT_EVENT, .. }) && !self.complete_stream;
        let by_event = matches!(self.source, DecisionSource::Events(_)) && !counted;
        let value = match source {
            _ if by_event => match self.event(site) {
                Some(e) => {
                    mask = e.mask;
                    let computed = self.complete_stream && source == Source::Computed;
                    self.counts.computed += u64::from(computed);
                    self.counts.recorded += u64::from(!computed);
                    let switch = self.program.module.sites[site.index()].class == SiteClass::Switch;
                    Some(if switch { e.value } else { e.value >> self.lane.0 & 1 })
                }
                None => self.without_event(site, slot, source)?,
            },
            Source::Bits(n) => {
                let value = match &mut self.source {
                    DecisionSource::Words(bits, _) => bits.take(u32::from(n)),
                    DecisionSource::Events(_) => None,
                };
                // Only few decisions have as many bits as what stands for a stored value.
                match n == VALUE_BITS && !is_decision(self.program.module, site) {
                    true => self.counts.other += u64::from(value.is_some()),
                    false => self.counts.recorded += u64::from(value.is_some()),
                }
                value
            }
            Source::Computed => {
                self.counts.computed += 1;
                Some(self.slots[slot])
            }
            Source::Trips { of, stay, .. } => {
                self.counts.recorded += 1;
                let base = self.frames.last().map_or(0, |f| f.loops);
                let open = self.loops[base..].iter_mut().rev().find(|o| o.of == of);
                let Some(left) = open.and_then(|o| o.stay.as_mut()) else {
                    return Err(self.error(format!("{site} counts trips of {of} outside of it")));
                };
                let on = *left > 0;
                *left = left.saturating_sub(1);
                Some(u64::from(on == stay))
            }
            Source::None | Source::Follows => return Ok(None),
        };
        let Some(value) = value else {
            self.outcome = DecodeOutcome::Truncated;
            return Ok(None);
        };
        self.slots[slot] = value;
        Ok(Some(PathItem::Visit { site, value, mask }))
    }

    /// Level `events`, a decision without an event: it is computed, or the recording ends here.
    fn without_event(&mut self, site: SiteId, slot: usize, source: Source) -> Result<Option<u64>, Error> {
        if source == Source::Computed {
            self.counts.computed += 1;
            return Ok(Some(self.slots[slot]));
        }
        if self.more_events() {
            Err(self.error(format!("the next event is not of {site}")))
        } else {
            Ok(None)
        }
    }

    /// Whether the lane has more events, after a search for one.
    fn more_events(&mut self) -> bool {
        match &mut self.source {
            DecisionSource::Events(events) => events.peek().is_some(),
            DecisionSource::Words(..) => false,
        }
    }

    fn end(&mut self, at: BlockId, call: Call, end: &'a End) -> Result<Option<PathItem>, Error> {
        match end {
            End::Jump(to) => self.arrive(Some(at), *to)?,
            End::Branch { guard, taken, other } => {
                let holds = self.holds_for_all(call, Some(*guard))?;
                self.emit(PathItem::Branch { block: at, to: u32::from(holds != guard.negate) });
                self.arrive(Some(at), if holds { *taken } else { *other })?;
            }
            End::Switch { index, targets } => {
                self.agree(call, *index, 0xffff_ffff)?;
                let index = self.slots[call.1 + index.index()] & 0xffff_ffff;
                match targets.get(index as usize) {
                    Some(to) => {
                        self.emit(PathItem::Branch { block: at, to: index as u32 });
                        self.arrive(Some(at), *to)?;
                    }
                    None => self.finish()?,
                }
            }
            End::Return => {
                let Some(frame) = self.frames.pop() else { return Ok(None) };
                if self.frames.is_empty() {
                    self.finish()?;
                    return Ok(None);
                }
                while self.loops.len() > frame.loops {
                    let Some(open) = self.loops.pop() else { break };
                    self.emit(PathItem::Leave(open.of));
                }
                self.slots.truncate(frame.base);
                self.converged.iter_mut().for_each(|lanes| lanes.resize(frame.base));
                self.emit(PathItem::Return);
            }
            End::Exit => self.finish()?,
        }
        Ok(None)
    }

    /// Ends the lane. Its recording must end here as well.
    fn finish(&mut self) -> Result<(), Error> {
        self.outcome = if self.stopped { DecodeOutcome::Truncated } else { DecodeOutcome::Ended };
        let lane = self.lane;
        let left = match &mut self.source {
            DecisionSource::Words(bits, trips) => bits.any_remaining() || trips.word().is_some(),
            DecisionSource::Events(events) => events.any(|(_, e)| e.mask.has(lane)),
        };
        if left { Err(self.error("the lane ended, but its recording continues")) } else { Ok(()) }
    }
}
