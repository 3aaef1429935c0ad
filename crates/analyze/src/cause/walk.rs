//! Follows a pair of values that differ back to the first difference that explains it.
//!
//! The walk goes from pair to pair: from a result to the operands that differ, from a load to the stores that
//! wrote the bytes, from a shuffle to the lane that gave the value. It ends where the operands agree and the
//! result does not, or where one side did something else. Where that is, a [`Found`] is noted. One start can
//! reach several; [`Walk::best`] chooses the one that was executed first.
//!
//! # Invariants
//! Work is bounded: each pair is looked at once, and at most [`MAX_PAIRS`] pairs.

use std::collections::{BTreeSet, HashSet};

use prlx_trace::check::Space;
use prlx_trace::dataflow::{Action, Instruction, Operand};

use super::code_match::{CodeMatch, alike, commutes, contracted};
use super::flow::{At, Flow, Source, Word, Writer, lanes};
use super::value::{Canonical, canonical, same_half};
use crate::report::CauseClass;

/// The most pairs of one walk.
const MAX_PAIRS: usize = 50_000;

/// The most addends of all sums of a walk: along a loop that adds, each value is a sum of all values before
/// it.
const MAX_TERMS: usize = 1 << 18;

/// Added to the rank of a difference between two threads, if threads correspond by their position.
const OTHER_THREAD: u8 = 3;

/// Two values to follow.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    /// By side: where the value comes from.
    pub sources: [Source; 2],
    /// By side: the visit that uses it.
    pub users: [At; 2],
    /// What the value decides or addresses, if it does.
    pub context: Context,
    /// The pair that this one was reached from.
    pub parent: Option<usize>,
}

/// What the values of a pair are used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Context {
    /// As data: nothing is decided or addressed by them.
    Data,
    /// As an address or a lane number.
    Address,
    /// As a predicate or an operand of one.
    Guard,
}

/// A first difference.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The class of the cause.
    pub class: CauseClass,
    /// By side: where it is.
    pub places: [Option<At>; 2],
    /// Of a stale read: the write that comes too late, and its side.
    pub other: Option<(usize, At)>,
    /// What differs, in words without a full stop.
    pub what: String,
    /// The pair at which it was found.
    pub pair: usize,
    /// How well it explains the difference; less is better.
    pub rank: u8,
}

/// A walk from one pair of values.
pub(super) struct Walk<'a> {
    /// By side: the data flow.
    pub flows: [&'a Flow<'a>; 2],
    /// Which instruction is which.
    pub code: &'a CodeMatch,
    /// Whether the threads of both sides correspond by their position.
    pub same_geometry: bool,
    /// All pairs so far.
    pub pairs: Vec<Pair>,
    /// What was found so far.
    pub found: Vec<Found>,
    /// CTAs that wrote what the walk met, and whose data flow is not recorded. It ends there.
    pub unrecorded: BTreeSet<u64>,
    /// Addends of sums that may still be looked at.
    pub terms_left: usize,
    seen: HashSet<[Source; 2]>,
}

impl<'a> Walk<'a> {
    /// Follows two values back.
    pub fn run(
        flows: [&'a Flow<'a>; 2],
        code: &'a CodeMatch,
        same_geometry: bool,
        sources: [Source; 2],
        users: [At; 2],
    ) -> Walk<'a> {
        let mut walk = Walk::at(flows, code, same_geometry, sources, users);
        walk.follow(0);
        walk
    }
    /// Follows back why the thread of `at`, a visit of `side`, does not come to its instruction as often on
    /// the other side; `None` if it does.
    pub fn of_visit(
        flows: [&'a Flow<'a>; 2],
        code: &'a CodeMatch,
        same_geometry: bool,
        (side, at): (usize, At),
    ) -> Option<Walk<'a>> {
        let nothing = [Source::Nothing, Source::Nothing];
        let mut walk = Walk::at(flows, code, same_geometry, nothing, [at; 2]);
        if !walk.missing(0, side, at, None) {
            return None;
        }
        walk.follow(1);
        Some(walk)
    }
    /// A walk that is at its first pair.
    pub fn at(
        flows: [&'a Flow<'a>; 2],
        code: &'a CodeMatch,
        same_geometry: bool,
        sources: [Source; 2],
        users: [At; 2],
    ) -> Walk<'a> {
        let first = Pair { sources, users, context: Context::Data, parent: None };
        Walk {
            flows,
            code,
            same_geometry,
            pairs: vec![first],
            found: Vec::new(),
            unrecorded: BTreeSet::new(),
            terms_left: MAX_TERMS,
            seen: HashSet::new(),
        }
    }
    /// Takes all pairs from `next` on.
    pub fn follow(&mut self, mut next: usize) {
        while next < self.pairs.len() && next < MAX_PAIRS {
            let pair = self.pairs[next].clone();
            self.step(next, &pair);
            next += 1;
        }
    }
    /// The best of what was found: on the one line that differs, then the best rank, and of that what was
    /// executed first.
    pub fn best(&self) -> Option<&Found> {
        let order = |f: &Found| {
            let order = |side: usize| f.places[side].map_or(u64::MAX, |at| self.flows[side].order(at));
            order(0).min(order(1))
        };
        self.found.iter().min_by_key(|f| (!self.leads(f), f.rank, order(f), f.pair))
    }
    /// Whether a first difference comes before others whatever its rank: it is on the one line of the source
    /// that differs, or the inputs differ.
    pub fn leads(&self, found: &Found) -> bool {
        found.class == CauseClass::Input || self.code.changes.count() == 1 && self.on_change(found)
    }
    /// Whether a first difference is on a line of the source that differs.
    pub fn on_change(&self, found: &Found) -> bool {
        !self.code.same
            && [0, 1].into_iter().any(|side| {
                let code = found.places[side].and_then(|at| self.flows[side].instruction(at));
                code.is_some_and(|i| self.code.changes.touch(side, &i.place))
            })
    }
    /// The pairs from the start to a pair.
    pub fn chain(&self, mut pair: usize) -> Vec<&Pair> {
        let mut out = vec![&self.pairs[pair]];
        while let Some(parent) = self.pairs[pair].parent {
            pair = parent;
            out.push(&self.pairs[pair]);
        }
        out.reverse();
        out
    }
    /// Adds a pair that was reached from pair `parent`.
    pub fn push(&mut self, parent: usize, sources: [Source; 2], users: [At; 2], context: Option<Context>) {
        if self.seen.insert(sources.clone()) {
            let context = context.unwrap_or(self.pairs[parent].context);
            self.pairs.push(Pair { sources, users, context, parent: Some(parent) });
        }
    }
    /// The context of a value that was stored: memory that threads share holds data, whatever is decided by
    /// it later. Local memory holds variables.
    fn stored(&self, pair: usize, word: &Word) -> Option<Context> {
        let shared = matches!(word.space, Space::Global | Space::Shared);
        (shared && self.pairs[pair].context == Context::Guard).then_some(Context::Data)
    }
    /// Notes a first difference at a pair.
    pub fn find(&mut self, pair: usize, class: CauseClass, rank: u8, places: [Option<At>; 2], what: String) {
        let class = match (class, self.pairs[pair].context) {
            (CauseClass::Operation, Context::Address) => CauseClass::Address,
            (CauseClass::Operation | CauseClass::Address, Context::Guard) => CauseClass::Guard,
            (class, _) => class,
        };
        // Values of two threads are computed in other ways anyway.
        let threads = [0, 1].map(|side| places[side].map(|at| self.flows[side].thread(at)));
        let apart = self.same_geometry && matches!(threads, [Some(a), Some(b)] if a != b);
        let rank = if apart { rank + OTHER_THREAD } else { rank };
        self.found.push(Found { class, places, other: None, what, pair, rank });
    }
    /// A source's value, in a form that compares between sides.
    pub fn canonical(&self, side: usize, source: &Source, user: At, bits: u32) -> Option<Canonical> {
        canonical(self.flows[side], source, user, bits)
    }
    /// Whether the values of two sources are known and differ.
    pub fn differ(&self, sources: &[Source; 2], users: [At; 2], bits: u32) -> bool {
        let [a, b] = [0, 1].map(|side| self.canonical(side, &sources[side], users[side], bits));
        match (a, b) {
            (Some(a), Some(b)) => a != b && !same_half(self.flows, [&a, &b]),
            (None, None) => sources[0] != sources[1] && !matches!(sources[0], Source::Memory(_)),
            _ => true,
        }
    }
    /// Whether the values of two sources are known and agree.
    pub fn agree(&self, sources: &[Source; 2], users: [At; 2], bits: u32) -> bool {
        let known = |side: usize| self.canonical(side, &sources[side], users[side], bits).is_some();
        known(0) && known(1) && !self.differ(sources, users, bits)
    }
    pub fn instructions(&self, at: [At; 2]) -> Option<[&'a Instruction; 2]> {
        Some([self.flows[0].instruction(at[0])?, self.flows[1].instruction(at[1])?])
    }
    fn step(&mut self, pair: usize, p: &Pair) {
        match &p.sources {
            [Source::Memory(a), Source::Memory(b)] => {
                if !self.sum(pair, p) {
                    self.memory(pair, p, [*a, *b]);
                }
            }
            [Source::Result(x, n), Source::Result(y, m)] => {
                if !self.sum(pair, p) {
                    self.results(pair, p, [*x, *y], [*n, *m]);
                }
            }
            [Source::Memory(word), other] | [other, Source::Memory(word)] => {
                if self.sum(pair, p) {
                    return;
                }
                let side = usize::from(!matches!(p.sources[0], Source::Memory(_)));
                let writer = self.flows[side].writer(word);
                match writer.and_then(|w| Some((w, self.flows[side].written(&w, word)?))) {
                    Some((w, source)) => {
                        let (mut sources, mut users) = (p.sources.clone(), p.users);
                        (sources[side], users[side]) = (source, w.at);
                        self.push(pair, sources, users, self.stored(pair, word));
                    }
                    None if writer.is_none() && self.ends_unrecorded(side, word) => {}
                    None => {
                        let other = other.clone();
                        self.only_memory(pair, p, side, word, &other);
                    }
                }
            }
            _ => self.leaves(pair, p),
        }
    }
    /// Looks for the reason why one side's value comes from an instruction that the other side's does not:
    /// the other side's thread skipped it, or never came there.
    pub fn counterpart(&mut self, pair: usize, p: &Pair) -> bool {
        if !self.code.similar {
            return false;
        }
        for side in [1, 0] {
            if let Source::Result(at, _) = p.sources[side]
                && self.missing(pair, side, at, None)
            {
                return true;
            }
        }
        false
    }
    /// Explains why the thread of `at`, a visit of `side`, did not do the same on the other side. `word`: the
    /// memory that it should have written there. Returns whether it found something.
    pub fn missing(&mut self, pair: usize, side: usize, at: At, word: Option<&Word>) -> bool {
        let other = 1 - side;
        let Some((warp, lane)) = self.partner(pair, side, at) else { return false };
        let both = |here: At, there: At| if side == 0 { [here, there] } else { [there, here] };
        let Some(partner) = self.code.of(side, self.flows[side].number(at)) else {
            let mut places = [None, None];
            places[side] = Some(at);
            let what = format!("only {} has this instruction", name(side));
            self.find(pair, CauseClass::Operation, 2, places, what);
            return true;
        };
        let visits = self.flows[other].visits_of(partner, warp, lane);
        let Some(&visit) = visits.get(self.flows[side].trip(at) as usize) else {
            return self.control(pair, both(at, At { warp, visit: 0, lane }));
        };
        let there = At { warp, visit, lane };
        let Some(v) = self.flows[other].visit(there) else { return false };
        let Some(instructions) = self.instructions(both(at, there)) else { return false };
        if v.lanes >> lane & 1 == 0 {
            let users = both(at, there);
            let guards = [0, 1].map(|s| instructions[s].guard.map(|g| Operand::Register(g.0)));
            match guards {
                [Some(a), Some(b)] => {
                    let sources = [self.flows[0].operand(&a, users[0]), self.flows[1].operand(&b, users[1])];
                    self.push(pair, sources, users, Some(Context::Guard));
                }
                // The checks drop accesses that are out of bounds.
                guards if guards[other].is_none() => self.dropped(pair, users, other),
                _ => {
                    let what = format!("a guard turns this off in {}", name(other));
                    self.find(pair, CauseClass::Guard, 1, users.map(Some), what);
                }
            }
            return true;
        }
        let Some(word) = word else { return false };
        self.other_address(pair, both(at, there), (other, there), word)
    }
    /// One side's access was not made although nothing turns it off: it was out of bounds.
    fn dropped(&mut self, pair: usize, users: [At; 2], side: usize) {
        let (pairs, found) = (self.pairs.len(), self.found.len());
        self.addresses(pair, users);
        if self.pairs.len() == pairs {
            self.found.truncate(found);
            let what = format!("this access is out of bounds in {}, and was not made", name(side));
            self.find(pair, CauseClass::Address, 1, users.map(Some), what);
        }
    }
    /// The warp and lane of the thread that corresponds to the thread of `at`, a visit of `side`: the one at
    /// the same position. With other launch dimensions it is the thread that uses the other value of the
    /// pair, and only for visits outside loops, since the numbers of iterations need not agree.
    fn partner(&self, pair: usize, side: usize, at: At) -> Option<(u32, u32)> {
        let other = 1 - side;
        if self.same_geometry {
            let (cta, thread) = self.flows[side].thread(at);
            return self.flows[other].find_thread(cta, thread);
        }
        let users = self.pairs[pair].users;
        let own = (users[side].warp, users[side].lane) == (at.warp, at.lane);
        (own && self.flows[side].trip(at) == 0).then_some((users[other].warp, users[other].lane))
    }
    /// The store was executed on both sides: at another address, or too late.
    fn other_address(&mut self, pair: usize, users: [At; 2], late: (usize, At), word: &Word) -> bool {
        let places = [0, 1].map(|s| self.stored_at(s, users[s]));
        if places[0] != places[1] {
            self.addresses(pair, users);
            return true;
        }
        let (other, there) = late;
        if self.flows[other].order(there) < word.before {
            return false;
        }
        let readers = self.pairs[pair].users;
        let atomic = |at: At, side: usize| {
            self.flows[side].instruction(at).is_some_and(|i| i.action == Action::Atomic)
        };
        // Two atomics need no barrier between them: which comes first may differ.
        let order = atomic(there, other) && atomic(readers[other], other);
        let (before, after) = (name(other), name(1 - other));
        let (class, what) = match order {
            true => (CauseClass::Order, format!("{before} runs these two atomics in the opposite order")),
            false => (
                CauseClass::Stale,
                format!("{before} reads the word before this write, and {after} reads it after the write"),
            ),
        };
        self.find(pair, class, 1, readers.map(Some), what);
        if let Some(found) = self.found.last_mut() {
            found.other = Some((other, there));
        }
        true
    }
    fn stored_at(&self, side: usize, at: At) -> Option<Canonical> {
        let flow = self.flows[side].data.warps.get(at.warp as usize)?;
        let access = flow.accesses_of(at.visit).iter().rfind(|a| a.lanes >> at.lane & 1 == 1)?;
        let address = flow.address(access, at.lane)?;
        Some(Canonical::of_address(self.flows[side], access.space, address))
    }
    /// Follows the addresses of an access of both sides.
    pub fn addresses(&mut self, pair: usize, users: [At; 2]) {
        let Some([a, b]) = self.instructions(users) else { return };
        let mut pushed = false;
        for (x, y) in a.addresses.iter().zip(&b.addresses) {
            if self.code.similar && x.offset != y.offset || self.code.another(&x.base, &y.base) {
                let what =
                    format!("A accesses memory by `{}`, B by `{}`", a.place.instruction, b.place.instruction);
                return self.find(pair, CauseClass::Address, 0, users.map(Some), what);
            }
            let sources =
                [self.flows[0].operand(&x.base, users[0]), self.flows[1].operand(&y.base, users[1])];
            if self.differ(&sources, users, 64) {
                self.push(pair, sources, users, Some(Context::Address));
                pushed = true;
            }
        }
        if !pushed {
            self.find(pair, CauseClass::Address, 1, users.map(Some), "the addresses differ".into());
        }
    }
    /// Follows the guards of two visits, if both have one and these differ. Returns whether they do.
    pub fn guards(&mut self, pair: usize, users: [At; 2]) -> bool {
        let guard = |side: usize| {
            let register = self.flows[side].instruction(users[side])?.guard?.0;
            Some(self.flows[side].operand(&Operand::Register(register), users[side]))
        };
        let (Some(a), Some(b)) = (guard(0), guard(1)) else { return false };
        let sources = [a, b];
        let differ = self.differ(&sources, users, 1);
        if differ {
            self.push(pair, sources, users, Some(Context::Guard));
        }
        differ
    }
    /// The threads of both sides took different ways before `at`: follows the branch at which they did.
    fn control(&mut self, pair: usize, at: [At; 2]) -> bool {
        let Some(branches) = super::paths::diverge(self.flows, self.code, at) else { return false };
        let Some(instructions) = self.instructions(branches) else { return false };
        if self.guards(pair, branches) {
            return true;
        }
        if instructions.iter().all(|i| i.action == Action::Call && !i.addresses.is_empty()) {
            self.addresses(pair, branches);
            return true;
        }
        let took = [0, 1].map(|s| self.flows[s].visit(branches[s]).map(|v| v.lanes >> branches[s].lane & 1));
        let polarity = instructions.map(|i| i.guard.map(|g| g.1));
        let (rank, what) = match took[0] == took[1] && polarity[0] == polarity[1] {
            true => (3, "the threads run other code after this branch"),
            false => (1, "the threads take different branches"),
        };
        self.find(pair, CauseClass::Guard, rank, branches.map(Some), what.into());
        true
    }
    fn memory(&mut self, pair: usize, p: &Pair, words: [Word; 2]) {
        let writers = [0, 1].map(|side| self.flows[side].writer(&words[side]));
        if (0..2).any(|side| writers[side].is_none() && self.ends_unrecorded(side, &words[side])) {
            return;
        }
        match writers {
            [None, None] => self.initial(pair, p, words),
            [Some(a), Some(b)] => self.both_written(pair, words, [a, b]),
            [Some(a), None] => self.one_written(pair, p, words, 0, a),
            [None, Some(b)] => self.one_written(pair, p, words, 1, b),
        }
    }
    /// Whether the walk ends at a word because the CTA that wrote it was not recorded. Notes the CTA.
    pub fn ends_unrecorded(&mut self, side: usize, word: &Word) -> bool {
        let cta = self.flows[side].unrecorded_writer(word);
        self.unrecorded.extend(cta);
        cta.is_some()
    }
    fn one_written(&mut self, pair: usize, p: &Pair, words: [Word; 2], side: usize, writer: Writer) {
        let lacking = 1 - side;
        let same_place = self.same_place(&words);
        if same_place && self.same_geometry && self.missing(pair, side, writer.at, Some(&words[lacking])) {
            return;
        }
        let mut places = [None, None];
        places[side] = Some(writer.at);
        let (class, what) = match words[lacking].space {
            Space::Global => (CauseClass::Guard, format!("only {} writes this element", name(side))),
            _ => (CauseClass::Undefined, format!("{} reads memory that nothing has written", name(lacking))),
        };
        if class == CauseClass::Undefined {
            places = p.users.map(Some);
        }
        self.find(pair, class, 2, places, what);
    }
    /// An element in words: `` `x`[12]``.
    pub fn element(&self, word: &Word) -> String {
        match self.flows[0].place_of(word.space, word.address) {
            Some((name, offset)) => format!("`{}`", self.flows[0].element(name, offset, word.bytes.into())),
            None => format!("{} bytes at {:#x}", word.bytes, word.address),
        }
    }
    fn both_written(&mut self, pair: usize, words: [Word; 2], writers: [Writer; 2]) {
        let at = writers.map(|w| w.at);
        let numbers = [0, 1].map(|s| self.flows[s].number(at[s]));
        let thread = [0, 1].map(|s| (self.flows[s].thread(at[s]), self.flows[s].trip(at[s])));
        let matches = self.code.matches(numbers[0], numbers[1]);
        let same = matches && thread[0] == thread[1];
        if self.same_geometry && self.code.similar && !same && self.same_place(&words) {
            // The later write is the one too many, or the one that the other side lacks.
            let a = self.missing(pair, 1, at[1], Some(&words[0]));
            if a || self.missing(pair, 0, at[0], Some(&words[1])) {
                return;
            }
        }
        if self.instructions(at).is_some_and(|i| i.iter().all(|i| i.action == Action::Atomic)) {
            return self.atomics(pair, words, writers);
        }
        if matches
            && let Some([a, b]) = self.instructions(at)
            && a.opcode != b.opcode
            && a.action != Action::Store
        {
            let what = format!("A runs `{}`, B `{}`", a.place.instruction, b.place.instruction);
            return self.find(pair, CauseClass::Operation, 0, at.map(Some), what);
        }
        if matches
            && let Some([a, b]) = self.instructions(at)
            && a.action == Action::Store
            && a.operands.len() == b.operands.len()
            && self.swapped(pair, at, [a, b], 0..a.operands.len())
        {
            return;
        }
        let sources = [0, 1].map(|s| self.flows[s].written(&writers[s], &words[s]));
        match sources {
            [Some(a), Some(b)] => self.push(pair, [a, b], at, self.stored(pair, &words[0])),
            _ if self.instructions(at).is_some_and(|i| i.iter().all(|i| i.action == Action::Call)) => {
                let what = "the results of the function differ".into();
                self.find(pair, CauseClass::Operation, 3, at.map(Some), what);
            }
            _ => self.copies(pair, at, "the copies that wrote the memory differ".into()),
        }
    }
    /// Both words were written by copies of tiles, or one by a copy and one by a store.
    fn copies(&mut self, pair: usize, at: [At; 2], what: String) {
        let Some([a, b]) = self.instructions(at) else { return };
        let operands: Vec<[Source; 2]> = a
            .operands
            .iter()
            .zip(&b.operands)
            .map(|(x, y)| [self.flows[0].operand(x, at[0]), self.flows[1].operand(y, at[1])])
            .filter(|sources| self.differ(sources, at, 64))
            .collect();
        if operands.is_empty() {
            return self.find(pair, CauseClass::Address, 3, at.map(Some), what);
        }
        for sources in operands {
            self.push(pair, sources, at, Some(Context::Address));
        }
    }
    /// Both words were updated by atomics that are no sums.
    fn atomics(&mut self, pair: usize, words: [Word; 2], writers: [Writer; 2]) {
        let at = writers.map(|w| w.at);
        let Some([a, b]) = self.instructions(at) else { return };
        if !alike(a, b) {
            return self.find(pair, CauseClass::Operation, 1, at.map(Some), "the atomics differ".into());
        }
        for (x, y) in a.operands.iter().zip(&b.operands) {
            let sources = [self.flows[0].operand(x, at[0]), self.flows[1].operand(y, at[1])];
            if self.differ(&sources, at, a.ty.bits()) {
                self.push(pair, sources, at, None);
            }
        }
        let old = [0, 1].map(|s| Source::Result(at[s], 0));
        let known = [0, 1].map(|s| self.flows[s].value(&old[s], at[s]));
        if known[0].is_none() || known[0] != known[1] {
            let before = [0, 1].map(|s| Word { before: self.flows[s].moment(at[s]), ..words[s] });
            self.push(pair, before.map(Source::Memory), at, None);
        }
    }
    fn results(&mut self, pair: usize, p: &Pair, at: [At; 2], n: [usize; 2]) {
        let Some([a, b]) = self.instructions(at) else { return };
        let numbers = [0, 1].map(|s| self.flows[s].number(at[s]));
        let parameter = |i: &Instruction| i.action == Action::Load && i.space == Space::Params;
        if parameter(a) && parameter(b) {
            return self.loads(pair, p, at, n);
        }
        if !self.code.matches(numbers[0], numbers[1]) {
            return self.unmatched(pair, p, at, n);
        }
        let trips = [0, 1].map(|s| (self.flows[s].thread(at[s]), self.flows[s].trip(at[s])));
        if self.same_geometry && self.code.similar && trips[0].0 == trips[1].0 && trips[0].1 != trips[1].1 {
            let later = usize::from(trips[1].1 > trips[0].1);
            if self.missing(pair, later, at[later], None) {
                return;
            }
        }
        match a.action {
            Action::Load => self.loads(pair, p, at, n),
            Action::Atomic => {
                let words = [0, 1].map(|s| self.flows[s].read_word(at[s], 0));
                if let [Some(x), Some(y)] = words {
                    self.push(pair, [x, y].map(Source::Memory), at, None);
                }
            }
            _ if !alike(a, b) => {
                let what = format!("A computes `{}`, B `{}`", a.place.instruction, b.place.instruction);
                self.find(pair, CauseClass::Operation, 0, at.map(Some), what);
            }
            Action::Clock => {
                let what = format!("`{}` reads a clock", a.place.instruction);
                self.find(pair, CauseClass::Timing, 0, at.map(Some), what);
            }
            Action::Select => self.select(pair, at, [a, b], n[0]),
            Action::Exchange => self.exchange(pair, at),
            Action::Matrix => self.matrix(pair, at, n),
            _ => self.operands(pair, at, [a, b], 0..a.operands.len()),
        }
    }
    fn loads(&mut self, pair: usize, p: &Pair, at: [At; 2], n: [usize; 2]) {
        let [Some(x), Some(y)] = [0, 1].map(|s| self.flows[s].read_word(at[s], n[s])) else { return };
        if x.space == Space::Params {
            let names = [0, 1].map(|s| super::value::parameter(self.flows[s], [x, y][s].address));
            if names[0] == names[1] {
                let what = format!("argument `{}` differs", names[0]);
                return self.find(pair, CauseClass::Input, 0, p.users.map(Some), what);
            }
            let what = format!("A uses argument `{}`, B argument `{}`", names[0], names[1]);
            return self.find(pair, CauseClass::Operation, 0, p.users.map(Some), what);
        }
        if !self.fragments(pair, at, n) {
            self.loaded(pair, [x, y], at, at);
        }
    }
    /// Follows two words that loads read; `users` have the addresses.
    pub(super) fn loaded(&mut self, pair: usize, words: [Word; 2], at: [At; 2], users: [At; 2]) {
        let same_layout = self.same_geometry && self.code.similar;
        if self.same_place(&words) || words[0].space != Space::Global && !same_layout {
            return self.push(pair, words.map(Source::Memory), at, None);
        }
        self.addresses(pair, users);
    }
    /// Whether two words are the same place on both sides.
    pub(super) fn same_place(&self, words: &[Word; 2]) -> bool {
        let [a, b] = [0, 1].map(|s| Canonical::of_address(self.flows[s], words[s].space, words[s].address));
        a == b
    }
    fn select(&mut self, pair: usize, at: [At; 2], [a, b]: [&Instruction; 2], n: usize) {
        let predicate =
            [(0, a), (1, b)].map(|(s, i)| i.operands.last().map(|o| self.flows[s].operand(o, at[s])));
        let [Some(x), Some(y)] = predicate else { return };
        let taken = self.flows[0].value(&x, at[0]);
        let sources = [x, y];
        if self.differ(&sources, at, 1) {
            return self.push(pair, sources, at, Some(Context::Guard));
        }
        let words = a.operands.len() / 2;
        let chosen = usize::from(taken == Some(0)) * words + n.min(words.saturating_sub(1));
        self.operands(pair, at, [a, b], chosen..chosen + 1);
    }
    fn exchange(&mut self, pair: usize, at: [At; 2]) {
        let lanes = [0, 1].map(|s| super::lanes::source_lane(self.flows[s], at[s]));
        let Some([a, b]) = self.instructions(at) else { return };
        let [Some(x), Some(y)] = lanes else {
            return self.each_lane(pair, at, 0..1);
        };
        if x != y {
            return self.operands(pair, at, [a, b], 1..a.operands.len());
        }
        let users = [At { lane: x, ..at[0] }, At { lane: y, ..at[1] }];
        let absent = [0, 1].map(|s| self.flows[s].visit(at[s]).is_none_or(|v| v.lanes >> x & 1 == 0));
        if absent.contains(&true) {
            let side = usize::from(absent[1]);
            let what = format!("{} reads lane {x}, which does not take part", name(side));
            return self.find(pair, CauseClass::Undefined, 0, at.map(Some), what);
        }
        let sources = [0, 1].map(|s| self.flows[s].operand(&[a, b][s].operands[0], users[s]));
        self.push(pair, sources, users, None);
    }
    /// The operands of all lanes count: those lanes are followed whose operands differ.
    fn each_lane(&mut self, pair: usize, at: [At; 2], which: std::ops::Range<usize>) {
        let Some([a, b]) = self.instructions(at) else { return };
        let mut pushed = false;
        for lane in lanes(self.flows[0].data.warp_size.full_mask().0) {
            let users = at.map(|at| At { lane, ..at });
            for i in which.clone() {
                let (Some(x), Some(y)) = (a.operands.get(i), b.operands.get(i)) else { continue };
                let sources = [self.flows[0].operand(x, users[0]), self.flows[1].operand(y, users[1])];
                if self.differ(&sources, users, 64) {
                    self.push(pair, sources, users, None);
                    pushed = true;
                }
            }
        }
        if !pushed {
            let what = "other lanes take part".into();
            self.find(pair, CauseClass::Operation, 2, at.map(Some), what);
        }
    }
    fn matrix(&mut self, pair: usize, at: [At; 2], n: [usize; 2]) {
        let Some([a, b]) = self.instructions(at) else { return };
        let mut pushed = false;
        for (i, lane) in super::lanes::matrix_inputs(a, at[0].lane, n[0]) {
            let users = at.map(|at| At { lane, ..at });
            let (Some(x), Some(y)) = (a.operands.get(i), b.operands.get(i)) else { continue };
            let sources = [self.flows[0].operand(x, users[0]), self.flows[1].operand(y, users[1])];
            if self.differ(&sources, users, 32) {
                self.push(pair, sources, users, None);
                pushed = true;
            }
        }
        if !pushed && a.opcode.starts_with("wgmma") {
            pushed = self.tiles(pair, at, [0; 2]);
        }
        if !pushed && a.opcode.starts_with("tcgen05.ld") {
            pushed = self.tensor_memory(pair, at);
        }
        if !pushed {
            let what = "the operands in registers agree and the product does not".into();
            self.find(pair, CauseClass::Operation, 2, at.map(Some), what);
        }
    }
    /// Follows the operands that differ; if none does, the instruction itself is the difference.
    pub fn operands(
        &mut self,
        pair: usize,
        at: [At; 2],
        code: [&Instruction; 2],
        which: std::ops::Range<usize>,
    ) {
        let source = |s: usize, i: usize| code[s].operands.get(i).map(|o| self.flows[s].operand(o, at[s]));
        let bits = code[0].ty.bits().max(1);
        let pairs = |order: &[usize]| -> Vec<[Source; 2]> {
            let list = which.clone().zip(order).filter_map(|(i, &j)| Some([source(0, i)?, source(1, j)?]));
            list.filter(|sources| self.differ(sources, at, bits)).collect()
        };
        let plain: Vec<usize> = which.clone().collect();
        let mut differing = pairs(&plain);
        if differing.len() > 1 && commutes(code[0]) && plain.len() >= 2 {
            let mut swapped = plain.clone();
            swapped.swap(0, 1);
            let other = pairs(&swapped);
            if other.len() < differing.len() {
                differing = other;
            }
        }
        if differing.is_empty() {
            let what = contracted(code).unwrap_or_else(|| {
                format!("the operands of `{}` agree and its result does not", code[0].opcode)
            });
            return self.find(pair, CauseClass::Operation, 1, at.map(Some), what);
        }
        let context = (code[0].action == Action::Compare).then_some(Context::Guard);
        if self.swapped(pair, at, code, which) {
            return;
        }
        for sources in differing {
            self.push(pair, sources, at, context);
        }
    }
    /// Whether the instructions take other variables as operands, which then is the difference.
    fn swapped(
        &mut self,
        pair: usize,
        at: [At; 2],
        code: [&Instruction; 2],
        which: std::ops::Range<usize>,
    ) -> bool {
        let operands = |s: usize| code[s].operands.get(which.clone()).unwrap_or_default();
        let (a, b) = (operands(0), operands(1));
        let crossed = commutes(code[0])
            && a.len() >= 2
            && b.len() >= 2
            && !self.code.another(&a[0], &b[1])
            && !self.code.another(&a[1], &b[0]);
        let other = a.iter().zip(b).any(|(x, y)| self.code.another(x, y));
        if !other || crossed {
            return false;
        }
        let text = |s: usize| &code[s].place.instruction;
        let what = format!("A computes `{}`, B `{}` with other operands", text(0), text(1));
        self.find(pair, CauseClass::Operation, 0, at.map(Some), what);
        true
    }
    /// The values come from instructions that are not each other's.
    fn unmatched(&mut self, pair: usize, p: &Pair, at: [At; 2], n: [usize; 2]) {
        // Which of the writes of a hardware register a thread executes depends on its path.
        let register = |s: usize| self.flows[s].instruction(at[s])?.results.get(n[s]).copied();
        let registers = register(0).zip(register(1));
        let path = registers.is_some_and(|(a, b)| self.code.live_ranges_of_one(a, b));
        if path && self.counterpart(pair, p) || self.origins(pair, p) {
            return;
        }
        let Some([a, b]) = self.instructions(at) else { return };
        // One value of each side that the other does not use: that is what differs.
        let values = [0, 1].map(|s| {
            let code = [a, b][s];
            let sources = code.operands.iter().map(|o| self.flows[s].operand(o, at[s]));
            sources.map(|x| (self.canonical(s, &x, at[s], code.ty.bits()), x)).collect::<Vec<_>>()
        });
        let alone = |s: usize| -> Vec<&Source> {
            let other = &values[1 - s];
            let list = values[s].iter().filter(|(v, _)| !other.iter().any(|(w, _)| v == w));
            list.map(|(_, x)| x).collect()
        };
        if a.action == b.action
            && let ([x], [y]) = (&alone(0)[..], &alone(1)[..])
            && a.opcode == b.opcode
        {
            return self.push(pair, [(*x).clone(), (*y).clone()], at, None);
        }
        let what = format!("A computes `{}`, B `{}`", a.place.instruction, b.place.instruction);
        self.find(pair, CauseClass::Operation, 1, at.map(Some), what);
    }
}

/// A side's name.
pub(super) fn name(side: usize) -> &'static str {
    ["A", "B"][side & 1]
}
