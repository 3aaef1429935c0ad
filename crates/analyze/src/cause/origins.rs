//! Looks behind copies: a value of one side that the other side takes from another kind of place.

use prlx_trace::check::Space;
use prlx_trace::dataflow::{Action, Instruction, Operand};

use super::flow::{At, Flow, Source, Word};
use super::walk::{Pair, Walk, name};
use crate::report::CauseClass;

impl Walk<'_> {
    /// One side has memory that nothing in the kernel wrote, the other a computed value or a constant.
    pub fn only_memory(&mut self, pair: usize, p: &Pair, side: usize, word: &Word, other: &Source) {
        if let Source::Result(at, n) = other
            && self.see_through(pair, p, 1 - side, *at, *n)
        {
            return;
        }
        if let Some(skipped) = self.skipped_load(pair, p, 1 - side) {
            let mut users = p.users;
            users[1 - side] = skipped;
            if self.guards(pair, users) {
                return;
            }
            // The checks drop loads that are out of bounds.
            let guarded = self.flows[1 - side].instruction(skipped).is_some_and(|i| i.guard.is_some());
            let (class, what) = match guarded {
                true => (CauseClass::Guard, "a guard turns this load off in"),
                false => (CauseClass::Address, "this load is out of bounds and was not made in"),
            };
            return self.find(pair, class, 1, users.map(Some), format!("{what} {}", name(1 - side)));
        }
        if self.counterpart(pair, p) {
            return;
        }
        let undefined = word.space != Space::Global && self.flows[side].writer(word).is_none();
        let class = if undefined { CauseClass::Undefined } else { CauseClass::Operation };
        let what = match undefined {
            true => format!("{} reads memory that nothing has written", name(side)),
            false => format!("{} takes the value from memory, {} computes it", name(side), name(1 - side)),
        };
        self.find(pair, class, 3, p.users.map(Some), what);
    }
    /// The load whose result the value of one side replaces, because a guard turned the load off.
    fn skipped_load(&self, pair: usize, p: &Pair, side: usize) -> Option<At> {
        let flow = self.flows[side];
        if let Source::Result(at, _) = p.sources[side]
            && let Some(load) = flow.skipped_load(at)
        {
            return Some(load);
        }
        // The value can be a copy of a copy.
        let mut copy = Some((pair, p.users[side]));
        while let Some((pair, at)) = copy {
            if !matches!(flow.instruction(at)?.action, Action::Move | Action::Convert) {
                return None;
            }
            if let Some(load) = flow.skipped_load(at) {
                return Some(load);
            }
            copy = self.pairs[pair].parent.map(|up| (up, self.pairs[up].users[side]));
        }
        None
    }
    /// At least one side is a constant, a special register or an unwritten register.
    pub fn leaves(&mut self, pair: usize, p: &Pair) {
        if self.origins(pair, p) {
            return;
        }
        let undefined = [0, 1].map(|s| p.sources[s] == Source::Nothing);
        if undefined[0] != undefined[1] {
            let what =
                format!("{} uses a register that nothing has written", name(usize::from(undefined[1])));
            return self.find(pair, CauseClass::Undefined, 1, p.users.map(Some), what);
        }
        let (what, rank) = match &p.sources {
            [Source::Constant(_), Source::Constant(_)] => ("the constants differ".to_owned(), 2),
            [Source::Special(a), Source::Special(b)] if a == b && self.same_geometry => {
                return self.other_thread(pair);
            }
            [Source::Special(a), Source::Special(b)] if a == b => (format!("`{a}` differs"), 2),
            _ => ("the operands come from other places".to_owned(), self.rank_of_origin()),
        };
        self.find(pair, CauseClass::Operation, rank, p.users.map(Some), what);
    }
    /// The value comes from another thread on each side: notes where the way to it leaves the common thread.
    fn other_thread(&mut self, pair: usize) {
        let threads = |users: [At; 2]| [0, 1].map(|side| self.flows[side].thread(users[side]));
        let [(_, a), (_, b)] = threads(self.pairs[pair].users);
        let mut common = pair;
        while let Some(parent) = self.pairs[common].parent {
            common = parent;
            let [x, y] = threads(self.pairs[common].users);
            if x == y {
                break;
            }
        }
        let what = format!("the value comes from thread {} in A and {} in B", position(a), position(b));
        let users = self.pairs[common].users.map(Some);
        self.find(common, CauseClass::Operation, 4, users, what);
    }
    /// The rank of another origin: code of which large parts have no counterpart has such differences anyway,
    /// so there anything else explains more.
    pub fn rank_of_origin(&self) -> u8 {
        if self.code.similar { 2 } else { 5 }
    }
    /// Replaces copies by what they copy; then looks for why one side does what the other does not; then
    /// looks behind loads. Returns whether it did one of these.
    pub fn origins(&mut self, pair: usize, p: &Pair) -> bool {
        if self.one_more(pair, p) {
            return true;
        }
        for loads in [false, true] {
            for side in [0, 1] {
                if let Source::Result(at, n) = p.sources[side]
                    && self.flows[side].instruction(at).is_some_and(|i| (i.action == Action::Load) == loads)
                    && self.see_through(pair, p, side, at, n)
                {
                    return true;
                }
            }
            if !loads && self.counterpart(pair, p) {
                return true;
            }
        }
        false
    }
    /// One side computes something from the value that the other side uses as it is: that instruction is the
    /// difference. Returns whether it is so.
    fn one_more(&mut self, pair: usize, p: &Pair) -> bool {
        for side in [1, 0] {
            let Source::Result(at, _) = p.sources[side] else { continue };
            let Some(instruction) = self.flows[side].instruction(at) else { continue };
            // The other side may have another copy of it, as in unrolled loops.
            let also = match p.sources[1 - side] {
                Source::Result(at, _) => self.flows[1 - side].instruction(at),
                _ => None,
            };
            if instruction.action != Action::Compute
                || self.code.of(side, self.flows[side].number(at)).is_some()
                || also.is_some_and(|i| i.opcode == instruction.opcode)
            {
                continue;
            }
            let uses_it = instruction.operands.iter().filter(|o| o.register().is_some()).any(|o| {
                let (mut sources, mut users) = (p.sources.clone(), p.users);
                (sources[side], users[side]) = (self.flows[side].operand(o, at), at);
                self.agree(&sources, users, instruction.ty.bits())
            });
            if uses_it {
                let mut places = [None, None];
                places[side] = Some(at);
                let what = format!("only {} computes `{}`", name(side), instruction.place.instruction);
                self.find(pair, CauseClass::Operation, 0, places, what);
                return true;
            }
        }
        false
    }
    /// Replaces a result by what it copies: of a move, a conversion, a shuffle, a load.
    fn see_through(&mut self, pair: usize, p: &Pair, side: usize, at: At, n: usize) -> bool {
        let flow = self.flows[side];
        let Some(instruction) = flow.instruction(at) else { return false };
        let (source, user) = match instruction.action {
            Action::Move | Action::Convert => match instruction.copied(n) {
                Some(operand) => (flow.operand(operand, at), at),
                None => return false,
            },
            Action::Load if instruction.space != Space::Params => match flow.read_word(at, n) {
                Some(word) => (Source::Memory(word), at),
                None => return false,
            },
            Action::Select => match chosen(flow, instruction, at, n) {
                Some(source) => (source, at),
                None => return false,
            },
            Action::Exchange => match super::lanes::source_lane(flow, at) {
                Some(lane) => {
                    let user = At { lane, ..at };
                    (flow.operand(&instruction.operands[0], user), user)
                }
                None => return false,
            },
            _ => return false,
        };
        let (mut sources, mut users) = (p.sources.clone(), p.users);
        (sources[side], users[side]) = (source, user);
        if instruction.action == Action::Convert && self.agree(&sources, users, instruction.ty.bits()) {
            let mut places = p.users.map(Some);
            places[side] = Some(at);
            let text = &instruction.place.instruction;
            let what = format!("only {} converts the value, by `{text}`", name(side));
            self.find(pair, CauseClass::Operation, 0, places, what);
            return true;
        }
        self.push(pair, sources, users, None);
        true
    }
}

/// What a selection gives as result `n`: the operand that the predicate chooses, or of two constants, the
/// predicate.
fn chosen(flow: &Flow<'_>, instruction: &Instruction, at: At, n: usize) -> Option<Source> {
    let (predicate, values) = instruction.operands.split_last()?;
    let (a, b) = values.split_at(values.len() / 2);
    let (a, b) = (a.get(n)?, b.get(n)?);
    let predicate = flow.operand(predicate, at);
    if matches!((a, b), (Operand::Constant(_), Operand::Constant(_))) {
        return Some(predicate);
    }
    let taken = flow.value(&predicate, at)?;
    Some(flow.operand(if taken == 0 { b } else { a }, at))
}

/// A position in a CTA or a grid, as `(1,0,0)`.
fn position([x, y, z]: [u32; 3]) -> String {
    format!("({x},{y},{z})")
}
