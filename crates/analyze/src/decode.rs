//! The decoder: one lane's recorded words, walked through its function's decode program, give that lane's exact path.
//!
//! Holds: each decision is one [`Item::Visit`], in the order in which the lane met it, whether its value was recorded,
//! counted or is evaluated again. Loop, call and branch items give the visits their place (execution index). Streams are
//! pulled item by item; the decoder's own memory is the lane's registers and open loops. A lane whose recording ends
//! early is [`Outcome::Truncated`], never silently shorter; so is one whose launch was stopped before the lane's end.
//! Nothing here panics on a hostile trace: what decodes for ever runs into [`Limits`].
//!
//! Misses: what a function that is not recorded does (a call of one is stepped over). Where a launch was stopped: a lane is
//! walked on through decisions that can be evaluated, to where it would have gone.

use std::collections::VecDeque;

use prlx_trace::device::{COUNT_EVENT, COUNT_MORE, COUNT_WORD};
use prlx_trace::kernel::{Arg, End, Guard, Module, SiteClass, Source, Special, Step};
use prlx_trace::launch::{Event, Lanes};
use prlx_trace::{BlockId, FuncId, Lane, LaneMask, Launch, LoopId, SiteId, WarpId, WarpStream};

use crate::alu;
use crate::error::Error;
use crate::program::Program;

/// What a lane did next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item {
    /// It visited a site.
    Visit {
        /// Which.
        site: SiteId,
        /// A decision's value; at level `events`, what the event says of this lane; else 0.
        value: u64,
        /// The lanes that were there with it, where the stream says (level `events`); else none: see [`crate::whole`].
        mask: LaneMask,
    },
    /// If asked for: it passed a site without visiting it, for its guard did not hold.
    Beside(SiteId),
    /// If asked for: it passed a barrier, of which there is no event, with all of its warp.
    Meet(SiteId),
    /// It entered a loop: its first trip begins.
    Enter(LoopId),
    /// The next trip of the innermost open loop begins.
    Trip(LoopId),
    /// It left the innermost open loop.
    Leave(LoopId),
    /// It called a function.
    Call(FuncId),
    /// It came back.
    Return,
    /// It left `block` where ways part.
    Branch {
        /// Which block's end.
        block: BlockId,
        /// Which way: the predicate, or the index.
        to: u32,
    },
    /// It arrived where paths that parted before meet again at the latest.
    Join(BlockId),
    /// It arrived at a block, after it left and entered loops on the way ([`Decoder::with_blocks`]).
    At(BlockId),
}

/// How a lane's stream ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Not yet.
    Running,
    /// The lane returned or exited.
    Ended,
    /// The recording ends before the lane does.
    Truncated,
}

/// What decoding one lane may cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Steps and block ends.
    pub steps: u64,
    /// Open calls.
    pub depth: usize,
    /// Registers of all open calls.
    pub slots: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { steps: 1 << 30, depth: 1 << 10, slots: 1 << 22 }
    }
}

/// How many visits came from where.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Decisions read from recorded bits, counts or events.
    pub recorded: u64,
    /// Decisions evaluated again.
    pub computed: u64,
    /// Visits of sites that are no decisions.
    pub other: u64,
}

/// The recorded bits of a lane, oldest first.
#[derive(Clone, Debug)]
struct Bits<'a> {
    words: std::slice::Iter<'a, u32>,
    word: u32,
    left: u32,
}

impl Bits<'_> {
    /// The next `n` (at most 30) bits, first bit highest; `None` when fewer are left.
    fn take(&mut self, n: u32) -> Option<u64> {
        if n <= self.left {
            self.left -= n;
            return Some(u64::from(self.word >> self.left) & ((1 << n) - 1));
        }
        (0..n).try_fold(0u64, |acc, _| Some(acc << 1 | self.bit()?))
    }
    fn bit(&mut self) -> Option<u64> {
        while self.left == 0 {
            self.word = *self.words.find(|w| *w & COUNT_WORD == 0)?;
            // A zero word carries nothing, like a word of no decisions.
            self.left = self.word.checked_ilog2().unwrap_or(0);
        }
        self.left -= 1;
        Some(u64::from(self.word >> self.left & 1))
    }
    fn any_left(&mut self) -> bool {
        self.left > 0 || self.words.any(|w| w & COUNT_WORD == 0 && *w > 1)
    }
}

/// The recorded trip counts of a lane, oldest first.
#[derive(Clone, Debug)]
struct Trips<'a>(std::slice::Iter<'a, u32>);

impl Trips<'_> {
    fn word(&mut self) -> Option<u32> {
        self.0.find(|w| *w & COUNT_WORD != 0).copied()
    }
    /// The next count; `Err` when it has no end or does not fit.
    fn take(&mut self) -> Result<Option<u64>, &'static str> {
        let (mut count, mut shift) = (0u64, 0);
        loop {
            let Some(word) = self.word() else {
                // Half a count is a recording cut short.
                return Ok(None);
            };
            let part = u64::from(word & (COUNT_MORE - 1));
            if shift >= 64 || part << shift >> shift != part {
                return Err("a trip count of more than 64 bits");
            }
            count |= part << shift;
            shift += 30;
            if word & COUNT_MORE == 0 {
                return Ok(Some(count));
            }
        }
    }
}

/// Where decisions come from.
#[derive(Clone, Debug)]
enum Feed<'a> {
    Words(Bits<'a>, Trips<'a>),
    /// The warp's events; the lane takes those that it takes part in.
    Events(std::iter::Peekable<std::iter::Enumerate<std::slice::Iter<'a, Event>>>),
}

#[derive(Clone, Debug)]
struct Frame {
    function: FuncId,
    block: BlockId,
    step: usize,
    /// Where its registers begin.
    base: usize,
    /// How many loops were open when it was called.
    loops: usize,
}

#[derive(Clone, Debug)]
struct Open {
    of: LoopId,
    /// How often the counted decision still says to stay.
    stay: Option<u64>,
}

/// What special registers of one lane hold.
#[derive(Clone, Debug)]
struct Place([u64; Special::ALL.len()]);

impl Place {
    fn new(launch: &Launch, warp: WarpId, lane: Lane) -> Place {
        let (per_cta, size) = (launch.warps_per_cta().max(1), u64::from(launch.warp_size.max(1)));
        let tid = launch.block.position((warp.0 % per_cta) * size + u64::from(lane.0));
        let cta = launch.grid.position(warp.0 / per_cta);
        let eq = 1u64.checked_shl(u32::from(lane.0)).unwrap_or(0);
        let all = if size >= 64 { u64::MAX } else { (1 << size) - 1 };
        let (lt, le) = (eq.wrapping_sub(1), eq.wrapping_sub(1) | eq);
        let mut values = [0; Special::ALL.len()];
        for (value, special) in values.iter_mut().zip(Special::ALL) {
            *value = match special {
                Special::TidX => tid.x.into(),
                Special::TidY => tid.y.into(),
                Special::TidZ => tid.z.into(),
                Special::NtidX => launch.block.x.into(),
                Special::NtidY => launch.block.y.into(),
                Special::NtidZ => launch.block.z.into(),
                Special::CtaidX => cta.x.into(),
                Special::CtaidY => cta.y.into(),
                Special::CtaidZ => cta.z.into(),
                Special::NctaidX => launch.grid.x.into(),
                Special::NctaidY => launch.grid.y.into(),
                Special::NctaidZ => launch.grid.z.into(),
                Special::LaneId => lane.0.into(),
                Special::WarpSize => size,
                Special::LanemaskEq => eq,
                Special::LanemaskLt => lt,
                Special::LanemaskLe => le,
                Special::LanemaskGt => all & !le,
                Special::LanemaskGe => all & !lt,
            };
        }
        Place(values)
    }
}

/// The words of one lane in a stream of level `path`; `None` at another level. A lane beyond the stream has none.
///
/// # Errors
/// When the lane's ends are out of order or beyond the words.
pub fn lane_words(stream: &WarpStream, lane: Lane) -> Result<Option<&[u32]>, Error> {
    let Lanes::Path { words, ends } = &stream.lanes else { return Ok(None) };
    lane_part(words, ends, stream.warp, lane).map(Some)
}

/// The elements of `lane` in `all`.
pub(crate) fn lane_part<'a, T>(
    all: &'a [T],
    ends: &[u32],
    warp: WarpId,
    lane: Lane,
) -> Result<&'a [T], Error> {
    let Some(&end) = ends.get(usize::from(lane.0)) else { return Ok(&[]) };
    let start = usize::from(lane.0).checked_sub(1).map_or(0, |l| ends[l]);
    all.get(start as usize..end as usize)
        .ok_or_else(|| Error::new(format!("{warp}, {lane}"), "its elements lie outside of the stream"))
}

/// Pulls the items of one lane.
#[derive(Clone, Debug)]
pub struct Decoder<'a> {
    program: &'a Program<'a>,
    params: &'a [u8],
    place: Place,
    feed: Feed<'a>,
    warp: WarpId,
    lane: Lane,
    /// The launch was stopped before the lane's end.
    stopped: bool,
    frames: Vec<Frame>,
    slots: Vec<u64>,
    loops: Vec<Open>,
    pending: VecDeque<Item>,
    outcome: Outcome,
    limits: Limits,
    counts: Counts,
    /// Only visits are wanted.
    flat: bool,
    /// Blocks are wanted too.
    blocks: bool,
    /// The stream has all events.
    whole: bool,
    /// [`Item::Beside`] and [`Item::Meet`] are wanted.
    beside: bool,
    /// Which event was taken last.
    taken: usize,
}

impl<'a> Decoder<'a> {
    /// Starts at the kernel's entry. `program` is that of the launch's module.
    ///
    /// # Errors
    /// When the stream is of a level that records no path, or the kernel can't be walked.
    pub fn new(
        program: &'a Program<'a>,
        launch: &'a Launch,
        stream: &'a WarpStream,
        lane: Lane,
        limits: Limits,
    ) -> Result<Decoder<'a>, Error> {
        let feed = match &stream.lanes {
            Lanes::Path { words, ends } => {
                let words = lane_part(words, ends, stream.warp, lane)?;
                Feed::Words(Bits { words: words.iter(), word: 0, left: 0 }, Trips(words.iter()))
            }
            Lanes::Events(events) => Feed::Events(events.iter().enumerate().peekable()),
            Lanes::Fingerprint { .. } | Lanes::Operands { .. } => {
                return Err(Error::new(stream.warp.to_string(), "this level records no path"));
            }
        };
        let mut decoder = Decoder {
            program,
            params: &launch.params,
            place: Place::new(launch, stream.warp, lane),
            feed,
            warp: stream.warp,
            lane,
            stopped: lane.0 < 64 && launch.unfinished(stream.warp).has(lane),
            frames: Vec::new(),
            slots: Vec::new(),
            loops: Vec::new(),
            pending: VecDeque::new(),
            outcome: Outcome::Running,
            limits,
            counts: Counts::default(),
            flat: false,
            blocks: false,
            whole: false,
            beside: false,
            taken: 0,
        };
        if lane.0 >= 64 || !launch.lanes(stream.warp).has(lane) {
            decoder.outcome = Outcome::Ended;
            return Ok(decoder);
        }
        decoder.call(launch.kernel)?;
        Ok(decoder)
    }

    /// Gives visits alone from here on, which is faster.
    #[must_use]
    pub fn flat(mut self) -> Self {
        self.flat = true;
        self.pending.clear();
        self
    }

    /// Gives each block that the lane comes to, too.
    #[must_use]
    pub fn with_blocks(mut self) -> Self {
        self.blocks = true;
        // The kernel's first block, to which the lane came when it was called.
        if let Some(at) = self.frames.last().map(|f| f.block) {
            self.tell(Item::At(at));
        }
        self
    }

    /// Its stream was made by [`whole`](crate::whole): every visit of level `events` has its event.
    #[must_use]
    pub fn whole(self) -> Self {
        Decoder { whole: true, ..self }
    }

    /// Gives [`Item::Beside`] and [`Item::Meet`] too.
    #[must_use]
    pub(crate) fn beside(self) -> Self {
        Decoder { beside: true, ..self }
    }

    /// Which event of the stream the last visit with a mask is.
    pub(crate) fn taken(&self) -> usize {
        self.taken
    }

    fn tell(&mut self, item: Item) {
        if !self.flat {
            self.pending.push_back(item);
        }
    }

    /// How the stream ended, once [`Decoder::next`] has given `None`.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Where the visits so far came from.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    fn error(&self, what: impl Into<String>) -> Error {
        let mut at = format!("{}, {}", self.warp, self.lane);
        if let Some(f) = self.frames.last() {
            at += &format!(", {} {}", self.program.functions[f.function.index()].function.name, f.block);
        }
        Error::new(at, what)
    }

    fn call(&mut self, function: FuncId) -> Result<(), Error> {
        let callee = self.program.function(function)?;
        if let Some(why) = callee.function.skipped.as_ref().or(callee.lost.as_ref()) {
            return Err(self.error(format!("{} can't be walked: {why}", callee.function.name)));
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
        let loops = self.loops.len();
        self.frames.push(Frame { function, block: BlockId(0), step: 0, base, loops });
        self.arrive(None, BlockId(0))
    }

    /// Goes from one block of the innermost call to another.
    fn arrive(&mut self, from: Option<BlockId>, to: BlockId) -> Result<(), Error> {
        self.pass(from, to)?;
        if self.blocks {
            self.tell(Item::At(to));
        }
        Ok(())
    }

    /// Leaves and enters loops on the way from one block to another.
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
                self.tell(Item::Join(to));
            }
            return Ok(());
        }
        while let Some(open) = self.loops.get(base..).and_then(|l| l.last()) {
            if f.encloses(open.of, inner) {
                break;
            }
            let left = open.of;
            self.loops.pop();
            self.tell(Item::Leave(left));
        }
        let top = self.loops.get(base..).and_then(|l| l.last()).map(|o| o.of);
        if top.is_some() && top == here.heads {
            top.into_iter().for_each(|l| self.tell(Item::Trip(l)));
        }
        if here.join {
            self.tell(Item::Join(to));
        }
        // Loops entered, outer before inner: their ids ascend.
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
                        self.outcome = Outcome::Truncated;
                        return Ok(());
                    }
                    stay => stay,
                },
                _ => None,
            };
            self.tell(Item::Enter(l));
            self.loops.push(Open { of: l, stay });
        }
        Ok(())
    }

    /// Whether a loop's count, in `small` bits, is told before its trips.
    fn counts_ahead(&self, small: u8) -> bool {
        match self.feed {
            Feed::Words(..) => true,
            Feed::Events(_) => small == COUNT_EVENT && !self.whole,
        }
    }

    /// The next trip count, of the loop that `site` decides; `None` where the recording ends.
    fn count(&mut self, small: u8, site: SiteId) -> Result<Option<u64>, Error> {
        let wrong = |what: &str| Error::new(format!("{}, {}", self.warp, self.lane), what);
        match &mut self.feed {
            Feed::Words(..) if small == COUNT_EVENT => {
                Err(wrong("a count in an event, at a level without events"))
            }
            Feed::Words(bits, trips) => match bits.take(u32::from(small)) {
                Some(n) if n == (1 << small) - 1 => trips.take().map_err(wrong),
                small => Ok(small),
            },
            Feed::Events(_) => match self.event(site) {
                None if self.more_events() => {
                    Err(self.error(format!("the next event is no count of {site}")))
                }
                event => Ok(event.map(|e| e.value)),
            },
        }
    }

    /// The next item; `None` when the stream is over (see [`Decoder::outcome`]).
    ///
    /// # Errors
    /// When the recording does not fit the code, or a limit is reached.
    #[allow(
        clippy::should_implement_trait,
        reason = "an iterator of results would have to go on after an error"
    )]
    pub fn next(&mut self) -> Result<Option<Item>, Error> {
        loop {
            if let Some(item) = self.pending.pop_front() {
                return Ok(Some(item));
            }
            if self.outcome != Outcome::Running {
                return Ok(None);
            }
            let Some(left) = self.limits.steps.checked_sub(1) else {
                return Err(self.error("decoding takes more steps than it may"));
            };
            self.limits.steps = left;
            if let Some(item) = self.step()? {
                return Ok(Some(item));
            }
        }
    }

    fn holds(&self, base: usize, guard: Option<Guard>) -> bool {
        guard.is_none_or(|g| (self.slots[base + g.slot.index()] & 1 == 1) != g.negate)
    }

    fn step(&mut self) -> Result<Option<Item>, Error> {
        let program = self.program;
        let Some(frame) = self.frames.last_mut() else {
            self.outcome = Outcome::Ended;
            return Ok(None);
        };
        let (base, at, step) = (frame.base, frame.block, frame.step);
        let f = &program.functions[frame.function.index()];
        let block = &f.function.blocks[at.index()];
        let Some(what) = block.steps.get(step) else { return self.end(at, base, &block.end) };
        frame.step += 1;
        match what {
            Step::Let { to, op, ty, args, guard } => {
                if self.holds(base, *guard) {
                    let mut values = [0; 4];
                    for (value, arg) in values.iter_mut().zip(args) {
                        *value = self.arg(base, arg)?;
                    }
                    let result = alu::eval(*op, *ty, &values[..args.len().min(4)]);
                    self.slots[base + to.index()] =
                        result.ok_or_else(|| self.error("a step without a meaning"))?;
                }
                Ok(None)
            }
            Step::Decide { site, slot, guard } => {
                if f.hides(&program.sources, *site, *slot, *guard) {
                    return Ok(None);
                }
                if !self.holds(base, *guard) {
                    return Ok(self.beside.then_some(Item::Beside(*site)));
                }
                let source = program.sources[site.index()];
                self.decide(*site, base + slot.index(), source)
            }
            Step::Visit { site, guard } => {
                if guard.is_some_and(|g| f.unknown[g.slot.index()]) {
                    return Ok(None);
                }
                if !self.holds(base, *guard) {
                    return Ok(self.beside.then_some(Item::Beside(*site)));
                }
                let (mut value, mut mask) = (0, LaneMask(0));
                if let Feed::Events(_) = self.feed {
                    match (self.event(*site), program.module.sites[site.index()].class) {
                        (Some(event), _) => (value, mask) = (event.value, event.mask),
                        // Here it may never have been.
                        (None, _) if self.stopped && !self.more_events() => {
                            self.outcome = Outcome::Truncated;
                            return Ok(None);
                        }
                        // That it was here follows from the rest.
                        (None, SiteClass::Entry | SiteClass::Exit) => {}
                        (None, SiteClass::Sync) => return Ok(self.beside.then_some(Item::Meet(*site))),
                        (None, _) => return Ok(None),
                    }
                }
                self.counts.other += 1;
                Ok(Some(Item::Visit { site: *site, value, mask }))
            }
            Step::Call { function, guard, .. } => {
                let callee = program.function(*function)?;
                if !self.holds(base, *guard) || callee.function.skipped.is_some() {
                    return Ok(None);
                }
                self.tell(Item::Call(*function));
                self.call(*function)?;
                Ok(None)
            }
        }
    }

    fn arg(&self, base: usize, arg: &Arg) -> Result<u64, Error> {
        Ok(match arg {
            Arg::Slot(s) => self.slots[base + s.index()],
            Arg::Const(c) => *c,
            Arg::Special(s) => self.place.0[*s as usize],
            Arg::Param { offset, size } => {
                let (from, mut bytes) = (*offset as usize, [0; 8]);
                let part = self.params.get(from..from.saturating_add(usize::from(*size)));
                let part = part.ok_or_else(|| self.error("a parameter beyond the launch's parameters"))?;
                bytes[..part.len()].copy_from_slice(part);
                u64::from_le_bytes(bytes)
            }
        })
    }

    /// The lane's next event, if it is of `site`.
    fn event(&mut self, site: SiteId) -> Option<Event> {
        let (lane, site) = (self.lane, self.program.recorded(site));
        let Feed::Events(events) = &mut self.feed else { return None };
        while events.next_if(|(_, e)| !e.mask.has(lane)).is_some() {}
        let (at, event) = events.next_if(|(_, e)| e.site == site)?;
        self.taken = at;
        Some(*event)
    }

    fn decide(&mut self, site: SiteId, slot: usize, source: Source) -> Result<Option<Item>, Error> {
        let mut mask = LaneMask(0);
        let counted = matches!(source, Source::Trips { bits: COUNT_EVENT, .. }) && !self.whole;
        let by_event = matches!(self.feed, Feed::Events(_)) && !counted;
        let value = match source {
            _ if by_event => match self.event(site) {
                Some(e) => {
                    mask = e.mask;
                    let computed = self.whole && source == Source::Computed;
                    self.counts.computed += u64::from(computed);
                    self.counts.recorded += u64::from(!computed);
                    let switch = self.program.module.sites[site.index()].class == SiteClass::Switch;
                    Some(if switch { e.value } else { e.value >> self.lane.0 & 1 })
                }
                None => self.without_event(site, slot, source)?,
            },
            Source::Bits(n) => {
                self.counts.recorded += 1;
                if let Feed::Words(bits, _) = &mut self.feed { bits.take(u32::from(n)) } else { None }
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
            Source::None => return Ok(None),
        };
        let Some(value) = value else {
            self.counts.recorded -= u64::from(matches!(self.feed, Feed::Words(..)));
            self.outcome = Outcome::Truncated;
            return Ok(None);
        };
        self.slots[slot] = value;
        Ok(Some(Item::Visit { site, value, mask }))
    }

    /// At level `events`, a decision that wrote none here: computed, or the recording ends.
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

    /// Whether the lane has events left, once one was looked for.
    fn more_events(&mut self) -> bool {
        match &mut self.feed {
            Feed::Events(events) => events.peek().is_some(),
            Feed::Words(..) => false,
        }
    }

    fn end(&mut self, at: BlockId, base: usize, end: &'a End) -> Result<Option<Item>, Error> {
        match end {
            End::Jump(to) => self.arrive(Some(at), *to)?,
            End::Branch { guard, taken, other } => {
                let holds = self.holds(base, Some(*guard));
                self.tell(Item::Branch { block: at, to: u32::from(holds != guard.negate) });
                self.arrive(Some(at), if holds { *taken } else { *other })?;
            }
            End::Switch { index, targets } => {
                let index = self.slots[base + index.index()] & 0xffff_ffff;
                match targets.get(index as usize) {
                    Some(to) => {
                        self.tell(Item::Branch { block: at, to: index as u32 });
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
                    self.tell(Item::Leave(open.of));
                }
                self.slots.truncate(frame.base);
                self.tell(Item::Return);
            }
            End::Exit => self.finish()?,
        }
        Ok(None)
    }

    /// The lane ends here; its recording must end here too.
    fn finish(&mut self) -> Result<(), Error> {
        self.outcome = if self.stopped { Outcome::Truncated } else { Outcome::Ended };
        let lane = self.lane;
        let left = match &mut self.feed {
            Feed::Words(bits, trips) => bits.any_left() || trips.word().is_some(),
            Feed::Events(events) => events.any(|(_, e)| e.mask.has(lane)),
        };
        if left { Err(self.error("the lane ended, but its recording goes on")) } else { Ok(()) }
    }
}

/// All visits of one lane.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LaneVisits {
    /// Site and value (0 for sites that are no decisions), in order.
    pub visits: Vec<(SiteId, u64)>,
    /// Whether the recording reaches to the lane's end.
    pub complete: bool,
}

/// Decodes one lane at once; see [`Decoder`] for lanes that are too long for that.
///
/// # Errors
/// When the module is ill-formed or the recording does not fit it.
pub fn lane_visits(
    module: &Module,
    launch: &Launch,
    stream: &WarpStream,
    lane: Lane,
) -> Result<LaneVisits, Error> {
    let program = Program::new(module)?;
    let mut decoder = Decoder::new(&program, launch, stream, lane, Limits::default())?.flat();
    let mut visits = Vec::new();
    while let Some(item) = decoder.next()? {
        if let Item::Visit { site, value, .. } = item {
            visits.push((site, value));
        }
    }
    Ok(LaneVisits { visits, complete: decoder.outcome() == Outcome::Ended })
}
