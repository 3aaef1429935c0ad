//! One warp on both sides in step, or on one side alone.

use std::collections::BTreeMap;

use prlx_lanes::{LANES, Planes, V64};
use prlx_trace::kernel::Alu;
use prlx_trace::{Lane, LaneMask, Launch, WarpStream};

use super::super::alu;
use super::super::decision_source::{BitReader, TripCountReader, take_count};
use super::super::decoder::param;
use super::super::lane_stream::lane_words;
use super::super::mix::mix;
use super::super::path_item::{DecodeLimits, VisitCounts};
use super::super::special_registers::SpecialRegisters;
use super::program::{BlockEnd, Decision, Edge, Input, LogicOperand, Op, Operand, Predicate, Program};

/// What was found about the lanes of a warp. Other lanes are left to the decoder of single lanes.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Lockstep {
    /// Lanes whose paths are equal.
    pub equal: LaneMask,
    /// Lanes whose sides made a decision differently.
    pub differ: LaneMask,
    /// Of each of these lanes, a hash of the path that both sides share and of all that the rest follows
    /// from: lanes with equal hashes have equal paths on each side.
    pub hashes: BTreeMap<u8, u64>,
    /// Lanes that were not followed to their end, since the warp took more steps than the limit allows.
    pub unfinished: LaneMask,
    /// The visits of the equal lanes, which are those of each side.
    pub visits: VisitCounts,
}

/// One warp in two recordings of level `path`.
pub(crate) struct WarpPair<'a> {
    /// Its halves, by their first lanes.
    halves: Vec<(u8, Sides<'a, 2>)>,
}

impl<'a> WarpPair<'a> {
    /// These lanes of the warp.
    pub fn new(
        program: &'a Program,
        launches: [&'a Launch; 2],
        warps: [&'a WarpStream; 2],
        lanes: LaneMask,
        limits: DecodeLimits,
    ) -> WarpPair<'a> {
        let half = |first: u8| {
            let lanes = (first, (lanes.0 >> first) as u32);
            Some((first, Sides::new(program, launches, warps, lanes, limits)?))
        };
        WarpPair { halves: [0, LANES as u8].into_iter().filter_map(half).collect() }
    }

    /// A hash of all that its comparison follows from, beside the program, the launches and the limits.
    pub fn key(&self) -> u64 {
        self.halves.iter().fold(0, |hash, (first, sides)| sides.key(mix(hash, u64::from(*first))))
    }

    /// Compares the paths of its lanes.
    pub fn compare(self) -> Lockstep {
        let mut out = Lockstep::default();
        for (first, mut pair) in self.halves {
            pair.run();
            out.equal.0 |= u64::from(pair.equal) << first;
            out.differ.0 |= u64::from(pair.differ) << first;
            out.unfinished.0 |= u64::from(pair.unfinished) << first;
            out.hashes.extend(lanes_of(pair.differ).map(|l| (first + l as u8, pair.hashes[l])));
            for l in lanes_of(pair.equal) {
                out.visits += pair.counts[l];
            }
        }
        out
    }
}

/// By lane of `lanes`: a hash of its path, if it ends where its recording ends. Lanes with equal hashes have
/// equal paths, in other warps too.
pub(crate) fn path_hashes(
    program: &Program,
    launch: &Launch,
    warp: &WarpStream,
    lanes: LaneMask,
    limits: DecodeLimits,
) -> BTreeMap<u8, u64> {
    let mut out = BTreeMap::new();
    for first in [0, LANES as u8] {
        let half = (lanes.0 >> first) as u32;
        let Some(mut alone) = Sides::new(program, [launch], [warp], (first, half), limits) else { continue };
        alone.run();
        out.extend(lanes_of(alone.equal).map(|l| (first + l as u8, alone.hashes[l])));
    }
    out
}

fn lanes_of(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}

/// One side's state of 32 lanes.
struct Side<'a> {
    planes: Planes,
    bits: Vec<BitReader<'a>>,
    trips: Vec<TripCountReader<'a>>,
    /// By loop and lane: how many more times its decision says to stay.
    stays: Vec<[u64; LANES]>,
}

impl<'a> Side<'a> {
    fn new(
        program: &Program,
        launch: &'a Launch,
        warp: &'a WarpStream,
        first: u8,
        lanes: u32,
    ) -> Option<Side<'a>> {
        let zero = V64([0; LANES]);
        let mut planes = Planes {
            w64: vec![zero; program.values],
            pred: vec![0; program.predicates],
            ..Planes::default()
        };
        let specials: Vec<SpecialRegisters> =
            (0..LANES as u8).map(|l| SpecialRegisters::new(launch, warp.warp, Lane(first + l))).collect();
        let inputs =
            program.inputs.iter().zip(planes.w64.iter_mut().skip(program.values - program.inputs.len()));
        for (input, plane) in inputs {
            *plane = match input {
                Input::Const(c) => V64([*c; LANES]),
                Input::Special(s) => V64(std::array::from_fn(|l| specials[l].0[*s as usize])),
                Input::Param { offset, size } => V64([param(&launch.params, *offset, *size)?; LANES]),
            };
        }
        let words = |l: u8| match lanes >> l & 1 {
            0 => Some(&[][..]),
            _ => lane_words(warp, Lane(first + l)).ok()?,
        };
        let words = (0..LANES as u8).map(words).collect::<Option<Vec<&[u32]>>>()?;
        Some(Side {
            planes,
            bits: words.iter().map(|w| BitReader { words: w.iter(), word: 0, remaining: 0 }).collect(),
            trips: words.iter().map(|w| TripCountReader(w.iter())).collect(),
            stays: vec![[0; LANES]; program.loops],
        })
    }

    /// The lanes of `mask` for which a guard holds.
    fn holds(&self, guard: Option<Predicate>, mask: u32) -> u32 {
        guard.map_or(mask, |g| mask & (self.planes.pred[usize::from(g.slot)] ^ negated(g.negate)))
    }

    fn get(&self, operand: Operand, lane: usize) -> u64 {
        match operand {
            Operand::Value(v) => self.planes.w64[usize::from(v)].0[lane],
            Operand::Predicate(p) => u64::from(self.planes.pred[usize::from(p)] >> lane & 1),
        }
    }

    fn set(&mut self, to: Operand, lane: usize, value: u64) {
        match to {
            Operand::Value(v) => self.planes.w64[usize::from(v)].0[lane] = value,
            Operand::Predicate(p) => self.planes.put_pred(p, 1 << lane, (value as u32 & 1) << lane),
        }
    }

    /// Runs an operation that no decision and no recording takes part in.
    fn operation(&mut self, op: &Op, mask: u32) {
        match op {
            Op::Lanes { f, args, guard, .. } => {
                let mask = self.holds(*guard, mask);
                f(&mut self.planes, args, mask);
            }
            Op::Value { op, ty, to, from, guard } => {
                for l in lanes_of(self.holds(*guard, mask)) {
                    let value = self.evaluate(*op, *ty, from, l);
                    self.set(Operand::Value(*to), l, value);
                }
            }
            Op::Predicate { op, ty, to, from, guard } => {
                for l in lanes_of(self.holds(*guard, mask)) {
                    let value = self.evaluate(*op, *ty, from, l);
                    self.set(Operand::Predicate(*to), l, value);
                }
            }
            Op::Logic { op, to, from, guard } => {
                let mask = self.holds(*guard, mask);
                let [a, b] = from.map(|o| match o {
                    LogicOperand::Predicate(p) => self.planes.pred[usize::from(p)],
                    LogicOperand::All(value) => negated(value),
                });
                let value = match op {
                    Alu::And => a & b,
                    Alu::Or => a | b,
                    Alu::Xor | Alu::Ne => a ^ b,
                    Alu::Eq => !(a ^ b),
                    Alu::Not => !a,
                    _ => a,
                };
                self.planes.put_pred(*to, mask, value);
            }
            Op::Decide { .. } | Op::Read { .. } => {}
        }
    }

    fn evaluate(&self, op: Alu, ty: prlx_trace::kernel::Scalar, from: &[Operand], lane: usize) -> u64 {
        let mut args = [0; 4];
        for (value, operand) in args.iter_mut().zip(from) {
            *value = self.get(*operand, lane);
        }
        alu::eval(op, ty, &args[..from.len().min(4)]).unwrap_or_default()
    }

    /// Takes a count of a loop that a lane enters. `false` if the recording has none.
    fn count(&mut self, l: usize, lane: usize, small: u8) -> bool {
        let count = take_count(&mut self.bits[lane], &mut self.trips[lane], small).ok().flatten();
        self.stays[l][lane] = count.unwrap_or_default();
        count.is_some()
    }

    /// Takes the recorded bits of a decision into its slot. Returns the lanes whose recording had them.
    fn take(&mut self, slot: Operand, bits: u8, mask: u32) -> u32 {
        let mut taken = 0;
        for l in lanes_of(mask) {
            if let Some(value) = self.bits[l].take(bits.into()) {
                self.set(slot, l, value);
                taken |= 1 << l;
            }
        }
        taken
    }

    /// Decides by the counts of a loop.
    fn decide_by_count(&mut self, slot: Operand, of: usize, stay: bool, mask: u32) {
        let mut on = 0;
        for (l, left) in self.stays[of].iter_mut().enumerate() {
            let more = u32::from(*left > 0);
            on |= more << l;
            *left -= u64::from(more & mask >> l);
        }
        match slot {
            Operand::Predicate(p) => self.planes.put_pred(p, mask, on ^ negated(!stay)),
            value => lanes_of(mask).for_each(|l| self.set(value, l, u64::from((on >> l & 1 == 1) == stay))),
        }
    }

    /// The value of an operand of a lane. 0 for an operand that there is not.
    fn value_if_any(&self, operand: Operand, lane: usize) -> u64 {
        match operand {
            Operand::Value(v) => self.planes.w64.get(usize::from(v)).map_or(0, |plane| plane.0[lane]),
            Operand::Predicate(p) => {
                self.planes.pred.get(usize::from(p)).map_or(0, |p| u64::from(p >> lane & 1))
            }
        }
    }

    /// All that a lane may still take from its recording.
    fn rest(&self, lane: usize) -> impl Iterator<Item = u64> {
        let (bits, trips) = (&self.bits[lane], &self.trips[lane]);
        let open = u64::from(bits.word) & ((1u64 << bits.remaining) - 1);
        let lengths = [u64::from(bits.remaining), open, bits.words.len() as u64, trips.0.len() as u64];
        let words = bits.words.as_slice().iter().chain(trips.0.as_slice());
        lengths.into_iter().chain(words.map(|w| u64::from(*w)))
    }

    fn exhausted(&mut self, lane: usize) -> bool {
        !self.bits[lane].any_remaining() && self.trips[lane].word().is_none()
    }
}

fn negated(negate: bool) -> u32 {
    0u32.wrapping_sub(u32::from(negate))
}

/// Lanes that are at the same block.
#[derive(Clone, Copy, Debug)]
struct Group {
    mask: u32,
    /// Visits of each of its lanes since it is a group.
    since: VisitCounts,
    /// A hash of what each of its lanes did since then.
    hash: u64,
}

impl Group {
    fn new(mask: u32) -> Group {
        Group { mask, since: VisitCounts::default(), hash: 0 }
    }
}

/// 32 lanes of a warp, on `N` sides in step.
struct Sides<'a, const N: usize> {
    program: &'a Program,
    sides: [Side<'a>; N],
    /// Groups by the block that they run next.
    waiting: BTreeMap<usize, Group>,
    counts: Vec<VisitCounts>,
    /// By lane: a hash of its path, up to where its group was made, or to its end; or of a lane that differs,
    /// as [`Lockstep::hashes`] has it.
    hashes: [u64; LANES],
    /// Steps that the warp may take, and how many of them are left.
    limit: u64,
    steps: u64,
    equal: u32,
    differ: u32,
    /// Lanes that were running when the steps ran out.
    unfinished: u32,
}

impl<'a, const N: usize> Sides<'a, N> {
    /// `lanes` from lane `first` on, at the kernel's begin. `None` if there are none, or a warp has no words
    /// to decode.
    fn new(
        program: &'a Program,
        launches: [&'a Launch; N],
        warps: [&'a WarpStream; N],
        (first, lanes): (u8, u32),
        limits: DecodeLimits,
    ) -> Option<Sides<'a, N>> {
        if lanes == 0 {
            return None;
        }
        let mut all = Vec::with_capacity(N);
        for (launch, warp) in launches.into_iter().zip(warps) {
            all.push(Side::new(program, launch, warp, first, lanes)?);
        }
        let sides: [Side<'a>; N] = all.try_into().ok()?;
        let words = |s: &Side<'_>| s.bits.iter().map(|b| b.words.len() as u64).max().unwrap_or(0);
        let most = sides.iter().map(words).min().unwrap_or(0);
        let limit = limits.warp_steps.saturating_add(limits.steps_per_word.saturating_mul(most));
        let mut new = Sides {
            program,
            sides,
            waiting: BTreeMap::new(),
            counts: vec![VisitCounts::default(); LANES],
            hashes: [0; LANES],
            limit,
            steps: limit,
            equal: 0,
            differ: 0,
            unfinished: 0,
        };
        let mut group = Group::new(lanes);
        if new.enter(&program.start, &mut group) {
            new.waiting.insert(program.start.to, group);
        }
        Some(new)
    }

    /// Adds the lanes, before they run, to a hash: their special registers, their recordings and the limit.
    fn key(&self, hash: u64) -> u64 {
        let lanes = self.waiting.values().fold(0, |all, group| all | group.mask);
        let mut hash = mix(mix(hash, u64::from(lanes)), self.limit);
        let inputs = &self.program.inputs;
        let specials: Vec<usize> = (self.program.values - inputs.len()..)
            .zip(inputs)
            .filter_map(|(plane, input)| matches!(input, Input::Special(_)).then_some(plane))
            .collect();
        for side in &self.sides {
            for l in lanes_of(lanes) {
                hash = specials.iter().fold(hash, |hash, plane| mix(hash, side.planes.w64[*plane].0[l]));
                hash = side.stays.iter().fold(hash, |hash, stay| mix(hash, stay[l]));
                hash = side.rest(l).fold(hash, mix);
            }
        }
        hash
    }

    fn run(&mut self) {
        let program = self.program;
        while let Some((mut at, mut group)) = self.waiting.pop_first() {
            loop {
                let block = &program.blocks[at];
                let Some(left) = self.steps.checked_sub(block.steps) else {
                    self.unfinished |= self.waiting.values().fold(group.mask, |all, g| all | g.mask);
                    return;
                };
                self.steps = left;
                group.hash = mix(group.hash, at as u64);
                if let Some(of) = block.counts {
                    self.count_off(of, at, &mut group);
                }
                for step in 0..block.ops.len() {
                    self.op((at, step), &mut group);
                }
                let Some(to) = self.end(&block.end, &mut group) else { break };
                // Most groups go on alone.
                if self.waiting.first_key_value().is_some_and(|(first, _)| to >= *first) {
                    self.arrive(to, group);
                    break;
                }
                at = to;
            }
        }
    }

    /// Takes all iterations but the last of a loop that only counts them. Lanes whose counts differ after
    /// more steps than a warp may take are not followed: their trees would take as many.
    fn count_off(&mut self, of: usize, at: usize, group: &mut Group) {
        let steps = self.program.blocks[at].steps;
        for l in lanes_of(group.mask) {
            let counts = self.sides.each_ref().map(|side| side.stays[of][l]);
            let [fewest, most] = [counts.iter().min(), counts.iter().max()].map(|n| *n.unwrap_or(&0));
            self.counts[l].recorded = self.counts[l].recorded.saturating_add(counts[0]);
            if fewest != most {
                let long = fewest.saturating_mul(steps) > self.limit;
                if long {
                    self.unfinished |= 1 << l
                } else {
                    self.part(l, (at, 0), group);
                }
                group.mask &= !(1 << l);
            } else {
                self.hashes[l] = mix(self.hashes[l], most);
            }
            self.sides.iter_mut().for_each(|side| side.stays[of][l] = 0);
        }
    }

    /// A lane whose sides disagree at a step of a block leaves. What follows on each side is determined by
    /// the step, by all that can be read from there on, and by the rest of the recording.
    fn part(&mut self, lane: usize, (block, step): (usize, usize), group: &Group) {
        self.differ |= 1 << lane;
        let mut hash = mix(mix(mix(self.hashes[lane], group.hash), block as u64), step as u64);
        for side in &self.sides {
            for operand in &self.program.blocks[block].reads {
                hash = mix(hash, side.value_if_any(*operand, lane));
            }
            side.stays.iter().for_each(|stay| hash = mix(hash, stay[lane]));
            hash = side.rest(lane).fold(hash, mix);
        }
        self.hashes[lane] = hash;
    }

    fn op(&mut self, (at, step): (usize, usize), group: &mut Group) {
        let program = self.program;
        match &program.blocks[at].ops[step] {
            Op::Decide { slot, source, guard } => {
                let mask = self.agreed(*guard, group);
                if mask == 0 {
                    return;
                }
                for side in &mut self.sides {
                    match *source {
                        Decision::Computed => {}
                        Decision::Bits(n) | Decision::Stored(n) => {
                            group.mask &= side.take(*slot, n, mask) | !mask
                        }
                        Decision::Trips { of, stay } => side.decide_by_count(*slot, of, stay, mask),
                    }
                }
                let mask = mask & group.mask;
                let other = mask & self.disagree(*slot, mask);
                lanes_of(other).for_each(|l| self.part(l, (at, step), group));
                group.mask &= !other;
                self.add_decision(*slot, guard.is_some(), mask & !other, group);
                let mut one = VisitCounts::default();
                match source {
                    Decision::Bits(_) | Decision::Trips { .. } => one.recorded = 1,
                    Decision::Stored(_) => one.other = 1,
                    Decision::Computed => one.computed = 1,
                }
                if guard.is_none() {
                    group.since += one;
                } else {
                    lanes_of(mask & !other).for_each(|l| self.counts[l] += one);
                }
            }
            Op::Read { to, bits, guard } => {
                for l in lanes_of(self.agreed(*guard, group)) {
                    for side in &mut self.sides {
                        match side.bits[l].value(*bits) {
                            Some(value) => side.set(*to, l, value),
                            None => group.mask &= !(1 << l),
                        }
                    }
                }
            }
            op => self.sides.iter_mut().for_each(|side| side.operation(op, group.mask)),
        }
    }

    /// Adds a decision that lanes of a group took to the hashes.
    fn add_decision(&mut self, slot: Operand, guarded: bool, mask: u32, group: &mut Group) {
        if let Operand::Predicate(p) = slot
            && !guarded
        {
            let yes = self.sides[0].planes.pred[usize::from(p)] & mask;
            if yes == 0 || yes == mask {
                group.hash = mix(group.hash, u64::from(yes != 0));
                return;
            }
        }
        self.flush(group);
        for l in lanes_of(mask) {
            self.hashes[l] = mix(self.hashes[l], self.sides[0].get(slot, l) ^ 1 << 63);
        }
    }

    /// Gives a group's hash to its lanes.
    fn flush(&mut self, group: &mut Group) {
        let hash = std::mem::take(&mut group.hash);
        lanes_of(group.mask).for_each(|l| self.hashes[l] = mix(self.hashes[l], hash));
    }

    /// The lanes for which a guard holds. Lanes whose sides disagree leave.
    fn agreed(&self, guard: Option<Predicate>, group: &mut Group) -> u32 {
        let holds = self.sides.each_ref().map(|side| side.holds(guard, group.mask));
        group.mask &= !holds.iter().fold(0, |differ, other| differ | holds[0] ^ other);
        holds[0] & group.mask
    }

    /// Lanes of `mask` in which a slot differs between the sides.
    fn disagree(&self, slot: Operand, mask: u32) -> u32 {
        let [first, others @ ..] = &self.sides[..] else { return 0 };
        others.iter().fold(0, |all, other| {
            all | match slot {
                Operand::Predicate(p) => {
                    let [a, b] = [first, other].map(|side| side.planes.pred[usize::from(p)]);
                    (a ^ b) & mask
                }
                value => lanes_of(mask)
                    .filter(|l| first.get(value, *l) != other.get(value, *l))
                    .fold(0, |all, l| all | 1 << l),
            }
        })
    }

    /// Follows the end of a block. The group becomes the only one that goes on. Returns where, if there is
    /// one.
    fn end(&mut self, end: &BlockEnd, group: &mut Group) -> Option<usize> {
        match end {
            BlockEnd::Jump(to) => self.enter(to, group).then_some(to.to),
            BlockEnd::Branch { guard, taken, other } => {
                let mask = self.agreed(Some(*guard), group);
                if mask == 0 || mask == group.mask {
                    let to = if mask == 0 { other } else { taken };
                    return self.enter(to, group).then_some(to.to);
                }
                self.split(group, [(mask, taken), (group.mask & !mask, other)].into_iter())
            }
            BlockEnd::Switch { index, targets } => {
                let differ = self.disagree(Operand::Value(*index), group.mask);
                group.mask &= !differ;
                let mut to: BTreeMap<u64, u32> = BTreeMap::new();
                for l in lanes_of(group.mask) {
                    let index = self.sides[0].get(Operand::Value(*index), l) & 0xffff_ffff;
                    *to.entry(index).or_default() |= 1 << l;
                }
                let mut parts = Vec::new();
                for (index, mask) in to {
                    match usize::try_from(index).ok().and_then(|i| targets.get(i)) {
                        Some(edge) => parts.push((mask, edge)),
                        None => self.finish(Group { mask, ..*group }),
                    }
                }
                self.split(group, parts.into_iter())
            }
            BlockEnd::Leave => {
                self.finish(*group);
                None
            }
        }
    }

    /// Sends the parts of a group on their ways.
    fn split<'e>(&mut self, on: &mut Group, parts: impl Iterator<Item = (u32, &'e Edge)>) -> Option<usize> {
        let group = *on;
        let mut only = None;
        let mut parts = parts.filter(|(mask, _)| *mask != 0).peekable();
        while let Some((mask, edge)) = parts.next() {
            let whole = mask == group.mask;
            if !whole {
                lanes_of(mask).for_each(|l| self.counts[l] += group.since);
            }
            let since = if whole { group.since } else { VisitCounts::default() };
            let mut part = Group { mask, since, ..group };
            if !self.enter(edge, &mut part) {
                continue;
            }
            match parts.peek() {
                None if only.is_none() => (only, *on) = (Some(edge.to), part),
                _ => self.arrive(edge.to, part),
            }
        }
        // Of several parts, the one that comes first goes on.
        only
    }

    /// Enters the loops on a way. `false` if no lane is left.
    #[inline]
    fn enter(&mut self, edge: &Edge, group: &mut Group) -> bool {
        for &(l, small) in &edge.enters {
            for lane in lanes_of(group.mask) {
                for side in &mut self.sides {
                    if !side.count(l, lane, small) {
                        group.mask &= !(1 << lane);
                    }
                }
            }
        }
        group.mask != 0
    }

    /// Puts a group to those that wait, together with one that waits for the same block.
    fn arrive(&mut self, at: usize, group: Group) {
        let (counts, hashes) = (&mut self.counts, &mut self.hashes);
        self.waiting
            .entry(at)
            .and_modify(|other| {
                for group in [*other, group] {
                    lanes_of(group.mask).for_each(|l| {
                        counts[l] += group.since;
                        hashes[l] = mix(hashes[l], group.hash);
                    });
                }
                *other = Group::new(other.mask | group.mask);
            })
            .or_insert(group);
    }

    /// Ends lanes. Their recordings must end as well.
    fn finish(&mut self, group: Group) {
        for l in lanes_of(group.mask) {
            self.counts[l] += group.since;
            self.hashes[l] = mix(self.hashes[l], group.hash);
            if self.sides.iter_mut().all(|side| side.exhausted(l)) {
                self.equal |= 1 << l;
            }
        }
    }
}
