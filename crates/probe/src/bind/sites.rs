//! Finds the sites in a function that a tracepoint matches.

use std::collections::HashMap;

use prlx_isa::view::{BlockId, Class, FunctionKind, Guard, Inst, InstId, LocId, MarkerKind, Reg, Space};

use super::machine_code::{self, is_added};
use super::switches;

use crate::lang::{Side, Tracepoint, What};
use prlx_plan::At;
use prlx_plan::function::body::{Body, PartEnd, end_place};
use prlx_plan::markers::{self, MarkerPosition};
use prlx_plan::pattern;

/// A site where a clause runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ProbeSite {
    pub at: At,
    /// The lanes that run the clause, as in [`crate::Insertion::guard`].
    pub guard: Option<Guard>,
    /// The instruction that builtins and operands refer to.
    pub inst: Option<InstId>,
    /// Whether the site is before or after the instruction.
    pub side: Side,
    /// What `taken` means: a predicate, or its opposite.
    pub taken: Option<Guard>,
    /// The clause runs only if the instruction's generic address lies in this space.
    pub only: Option<Space>,
    /// The part of the function that contains the site.
    pub part: BlockId,
    /// Index of the site among the tracepoint's sites in this function.
    pub nth: u32,
    /// Of a marker: its kind and name, and its own source location.
    pub marker: Option<(String, Option<LocId>)>,
}

/// The sites of `tracepoint` in `body`, and the instructions where no code can be inserted, with the reason.
pub(crate) fn sites(
    body: &Body<'_>,
    tracepoint: &Tracepoint,
) -> (Vec<ProbeSite>, Vec<(Option<InstId>, String)>) {
    let mut found = Finder { body, places: Vec::new(), unavailable: Vec::new() };
    let named = |pattern: &str| pattern::symbol(pattern, &body.function.name);
    let kernel = body.function.kind == FunctionKind::Kernel;
    match (&tracepoint.what, tracepoint.side) {
        (What::Kernel(name), Side::Begin) if kernel && named(name) => found.entry(),
        (What::Kernel(name), Side::End) if kernel && named(name) => found.leaves(|_| true),
        // A thread may end in a device function, where its kernel is not known.
        (What::Kernel(name), Side::End) if !kernel && name == "*" => {
            found.leaves(|end| matches!(end, PartEnd::Exit))
        }
        (What::Kernel(name), Side::End) if !kernel => {
            for (_, at, _) in body.leaves().filter(|(.., end)| matches!(end, PartEnd::Exit)) {
                found.unavailable.push((
                    at,
                    format!("a thread ends here, but the kernel is not known: `{name}` or another"),
                ));
            }
        }
        (What::Func(name), Side::Begin) if named(name) => found.entry(),
        (What::Func(name), Side::End) if named(name) => found.leaves(|_| true),
        (What::Kernel(_) | What::Func(_), _) => {}
        (What::Block, _) => found.blocks(),
        (What::Loop, side) => found.loops(Some(side)),
        (What::Trip, _) => found.loops(None),
        (What::Branch, _) => found.branches(),
        (What::Decision, _) => found.decisions(),
        (What::Inst(words), side) => found.insts(words, side),
        (What::Marker(name), side) => found.marks(name, side),
    }
    (found.places, found.unavailable)
}

struct Finder<'a> {
    body: &'a Body<'a>,
    places: Vec<ProbeSite>,
    unavailable: Vec<(Option<InstId>, String)>,
}

impl Finder<'_> {
    fn push(&mut self, at: At, guard: Option<Guard>, inst: Option<InstId>, side: Side, part: BlockId) {
        let nth = self.places.len() as u32;
        self.places.push(ProbeSite {
            at,
            guard,
            inst,
            side,
            taken: None,
            only: None,
            part,
            nth,
            marker: None,
        });
    }

    fn entry(&mut self) {
        self.push(At::Entry, None, None, Side::Begin, BlockId(0));
    }

    fn leaves(&mut self, wanted: impl Fn(&PartEnd) -> bool) {
        let body = self.body;
        for (part, at, _) in body.leaves().filter(|(.., end)| wanted(end)) {
            let guard = at.and_then(|at| body.inst(at).guard);
            self.push(end_place(body, at), guard, at, Side::Begin, part);
        }
    }

    fn blocks(&mut self) {
        for (i, block) in self.body.function.blocks.iter().enumerate() {
            if let Some(first) = block.insts.clone().next() {
                self.push(
                    At::Before(InstId(first)),
                    None,
                    Some(InstId(first)),
                    Side::Begin,
                    BlockId(i as u32),
                );
            }
        }
    }

    /// Edges into loops, out of them, or (`None`) back to their headers.
    fn loops(&mut self, which: Option<Side>) {
        let body = self.body;
        for l in &body.graph.loops {
            let inside = |b: BlockId| l.blocks.contains(&b);
            for (from, part) in body.parts.iter().enumerate() {
                let from = BlockId(from as u32);
                for to in part.end.succs() {
                    let (was, is) = (inside(from), inside(to));
                    let wanted = match which {
                        Some(Side::Begin) => !was && is,
                        Some(Side::End) => was && !is,
                        None => was && to == l.header,
                    };
                    if wanted {
                        self.edge(from, to);
                    }
                }
            }
        }
    }

    /// Lanes that go from one part to another.
    fn edge(&mut self, from: BlockId, to: BlockId) {
        match markers::edge(self.body, from, to) {
            Ok((at, guard, last)) => self.push(at, guard, Some(last), Side::Begin, from),
            Err(why) => {
                let part = &self.body.parts[from.index()];
                let last = part.insts.clone().next_back().map(InstId).or(part.of);
                self.unavailable.push((last, why));
            }
        }
    }

    /// Markers of a name: ends, or all others.
    fn marks(&mut self, name: &str, side: Side) {
        let named = |text: &str| pattern::matches(name.as_bytes(), text.as_bytes());
        let ended = if side == Side::End { switches::ended(self.body) } else { HashMap::new() };
        for (i, mark) in self.body.function.markers.iter().enumerate() {
            let wanted = match (side, mark.kind) {
                (Side::End, MarkerKind::End) => named(&mark.name),
                (Side::End, MarkerKind::Switch) => match ended.get(&i) {
                    Some(Some(region)) => named(region),
                    Some(None) => {
                        let why = format!(
                            "the switch to {} ends another region on another way to it, or {name} on some",
                            mark.name
                        );
                        self.unavailable.push((Some(mark.at), why));
                        false
                    }
                    None => false,
                },
                (Side::End, _) | (Side::Begin, MarkerKind::End) => false,
                (Side::Begin, _) => named(&mark.name),
            };
            if !wanted {
                continue;
            }
            match markers::positions(self.body, mark) {
                Ok(positions) => {
                    for MarkerPosition { at, guard, part } in positions {
                        let (inst, side) = match at {
                            At::Entry => (None, Side::Begin),
                            At::Before(at) => (Some(at), Side::Begin),
                            At::After(at) => (Some(at), Side::End),
                        };
                        self.push(at, guard, inst, side, part);
                        if let Some(place) = self.places.last_mut() {
                            place.marker = Some((format!("{} {}", mark.kind.name(), mark.name), mark.loc));
                        }
                    }
                }
                Err(why) => self.unavailable.push((None, why)),
            }
        }
    }

    fn branches(&mut self) {
        for i in (0..self.body.function.insts.len() as u32).map(InstId) {
            let inst = self.body.inst(i);
            let switch = inst.class == Class::Switch;
            if switch || inst.class == Class::Branch && inst.guard.is_some() {
                self.push(At::Before(i), inst.guard.filter(|_| switch), Some(i), Side::Begin, inst.block);
                if let Some(place) = self.places.last_mut() {
                    place.taken = inst.guard.filter(|_| !switch);
                }
            }
        }
    }

    fn decisions(&mut self) {
        let body = self.body;
        for (d, decision) in body.decisions.iter().enumerate() {
            let at = decision.at;
            let switch = body.is_switch(d);
            let place = if switch { At::Before(at) } else { At::After(at) };
            let guard = if switch { body.inst(at).guard } else { body.decision_guard(d) };
            self.push(place, guard, Some(at), if switch { Side::Begin } else { Side::End }, body.part_of(at));
            if let Some(place) = self.places.last_mut().filter(|_| !switch) {
                place.taken = Some(Guard { reg: decision.reg, negate: false });
            }
        }
    }

    fn insts(&mut self, words: &[String], side: Side) {
        for i in (0..self.body.function.insts.len() as u32).map(InstId) {
            let inst = self.body.inst(i);
            if is_added(inst) {
                continue;
            }
            let Some(only) = wanted_of(inst, words) else { continue };
            let (at, guard) = match side {
                Side::Begin => (At::Before(i), inst.guard),
                Side::End => (At::After(i), self.body.guard_after(i)),
            };
            let leaves = matches!(inst.class, Class::Branch | Class::Switch | Class::Return | Class::Exit);
            if side == Side::End && leaves {
                self.unavailable.push((Some(i), "control never continues after this instruction".to_owned()));
                continue;
            }
            self.push(at, guard, Some(i), side, inst.block);
            if let Some(place) = self.places.last_mut() {
                place.only = only;
            }
        }
    }
}

/// [`wanted`] for an instruction: by its own opcode, or by another of its names.
fn wanted_of(inst: &Inst, words: &[String]) -> Option<Option<Space>> {
    let own = wanted(&inst.semantics.opcode, inst.space, inst.class, words);
    // Which memory a generic address of AMD's lies in is not asked.
    let in_one_space = |only: &Option<Space>| only.is_none() || machine_code::native(inst).is_none();
    own.filter(in_one_space).or_else(|| {
        let names = inst.semantics.names.iter();
        names.filter_map(|name| wanted(name, inst.space, inst.class, words)).find(in_one_space)
    })
}

/// Whether an opcode has these words, in this order, and if that depends on it, in which space its address
/// must lie.
fn wanted(opcode: &str, space: Space, class: Class, words: &[String]) -> Option<Option<Space>> {
    let Some((first, rest)) = words.split_first() else { return Some(None) };
    let mut parts = opcode.split('.');
    if !parts.next().is_some_and(|op| pattern::matches(first.as_bytes(), op.as_bytes())) {
        return None;
    }
    let mut only = None;
    for word in rest {
        let found = parts.clone().position(|part| pattern::matches(word.as_bytes(), part.as_bytes()));
        match found {
            Some(n) => drop(parts.nth(n)),
            None => {
                let memory = matches!(class, Class::Load | Class::Store | Class::Atomic);
                only = Some(named_space(word).filter(|_| memory && space == Space::Generic)?);
            }
        }
    }
    Some(only)
}

/// A state space in which a generic address can lie.
fn named_space(word: &str) -> Option<Space> {
    Some(match word {
        "global" => Space::Global,
        "shared" => Space::Shared,
        "local" => Space::Local,
        "const" => Space::Const,
        _ => return None,
    })
}

/// Registers that an instruction writes.
pub(super) fn writes(body: &Body<'_>, at: InstId, reg: Reg) -> bool {
    prlx_plan::function::body::written(body.inst(at)).contains(&reg)
}
