//! Places markers at waits, arrivals and asynchronous work, without a change of the source.
//!
//! - Barriers of a CTA or cluster: a region from arrival to departure, and an arrival. The word is the
//!   barrier's number, 16 for the cluster's barrier.
//! - mbarriers: a region around the loop that polls the phase, and arrivals, also those of asynchronous
//!   stores. The word is the low half of the barrier's address, which also names the CTA of the cluster.
//! - Tensor and bulk copies that complete on an mbarrier: an issue, with the barrier's address as its word.
//!   The copy is complete when a wait for that address ends. A multicast copy names its CTAs.
//! - `cp.async`, `wgmma` and other bulk copies form groups, which a lane commits and waits for. The issue is
//!   marked where the first of a group stands in its block, or else where the group is committed. The wait is
//!   a region, at whose end groups complete.
//! - Loop iterations: an instant at each back edge. Functions: regions. Lines: a region for each run of a
//!   line's instructions.
//!
//! # Limitations
//!
//! - An mbarrier address that is computed inside the polling loop is not found.
//! - Waits whose number of remaining groups is not a constant are not marked.
//! - Arrivals by hardware are not seen.

use prlx_isa::cfg::Loop;
use prlx_isa::view::{
    AsyncStep, Base, BlockId, Class, Effect, Guard, Inst, InstId, Operand, Participants, Queue, Role,
};
use prlx_trace::device::tracks::Group;
use prlx_trace::mark::{MarkKind, Via};

use super::options::MarkerOptions;
use super::placed::{PlacedMarker, edge, leaves, number};
use crate::function::body::end_place;
use crate::function::body::{Body, written};
use crate::function::spin_loops::polls_barrier;
use crate::pattern;
use crate::plan::{At, Word};

/// The cluster's barrier, as a number beyond the CTA's.
const CLUSTER: u32 = 16;

/// Queues of groups of asynchronous work.
const COPIES: u8 = 0;
const BULK: u8 = 1;
const PRODUCTS: u8 = 2;

/// Finds where to place markers that `marking` asks for.
pub(super) fn outside(
    marking: &MarkerOptions,
    body: &Body<'_>,
    found: &mut Vec<PlacedMarker>,
    missed: &mut Vec<(Option<InstId>, String)>,
) {
    let mut finder = Finder { body, reachable: body.reachable(), found, missed };
    let wants = |via| marking.outside.contains(&via);
    if wants(Via::Function) {
        finder.function();
    }
    if wants(Via::Trip) {
        finder.trips();
    }
    for i in (0..body.function.insts.len() as u32).map(InstId) {
        let inst = body.inst(i);
        if finder.reachable.get(inst.block.index()) != Some(&true) {
            continue;
        }
        if let Some(via) = finder.via(inst).filter(|via| wants(*via)) {
            match via {
                Via::Barrier => finder.barrier(i),
                Via::Mbarrier => finder.mbarrier(i),
                via => finder.copies(i, via),
            }
        }
    }
    for (file, line) in &marking.lines {
        finder.line(file, *line);
    }
}

struct Finder<'f, 'b> {
    body: &'f Body<'b>,
    reachable: Vec<bool>,
    found: &'f mut Vec<PlacedMarker>,
    missed: &'f mut Vec<(Option<InstId>, String)>,
}

impl Finder<'_, '_> {
    /// Why an instruction would be marked.
    fn via(&self, inst: &Inst) -> Option<Via> {
        Some(match inst.semantics.effect {
            Effect::Barrier(barrier) if barrier.participants != Participants::Warp => Via::Barrier,
            Effect::BarrierObject { arrives, polls } if arrives || polls => Via::Mbarrier,
            Effect::Access(access) if access.completes => Via::Mbarrier,
            Effect::Async(work) => match work.queue {
                Queue::Copies => Via::CpAsync,
                Queue::Bulk => Via::Tma,
                Queue::Products => Via::Wgmma,
            },
            _ => return None,
        })
    }

    fn push(
        &mut self,
        at: At,
        guard: Option<Guard>,
        what: (&str, MarkKind, Via),
        words: Vec<(&'static str, Word)>,
    ) {
        let loc = match at {
            At::Entry => self.body.function.insts.iter().find_map(|i| i.loc),
            At::Before(i) | At::After(i) => self.body.loc(i),
        };
        let (name, kind, via) = (what.0.to_owned(), what.1, what.2);
        self.found.push(PlacedMarker { at, guard, name, kind, via, loc, words, group: None });
    }

    /// A region around one instruction.
    fn around(&mut self, at: InstId, name: &str, via: Via, words: Vec<(&'static str, Word)>) {
        self.push(At::Before(at), self.body.inst(at).guard, (name, MarkKind::Begin, via), words);
        self.push(At::After(at), self.body.guard_after(at), (name, MarkKind::End, via), Vec::new());
    }

    fn barrier(&mut self, at: InstId) {
        let inst = self.body.inst(at);
        let Effect::Barrier(barrier) = inst.semantics.effect else { return };
        let cluster = barrier.participants == Participants::Cluster;
        let name = if cluster { "cluster barrier" } else { "barrier" };
        let which = match inst.operands.iter().zip(&inst.roles).find(|(_, role)| **role == Role::Use) {
            _ if cluster => number(CLUSTER),
            Some((operand @ (Operand::Int(_) | Operand::Reg(_)), _)) => Word { of: operand.clone(), add: 0 },
            _ => number(0),
        };
        let words = vec![("barrier", which)];
        // `bar.red` gives a value first; its barrier is what it uses first.
        if barrier.arrives {
            self.push(At::Before(at), inst.guard, (name, MarkKind::Arrive, Via::Barrier), words.clone());
        }
        if barrier.waits {
            self.around(at, name, Via::Barrier, words);
        }
    }

    fn mbarrier(&mut self, at: InstId) {
        let inst = self.body.inst(at);
        // A store that arrives says where last.
        let address = inst.operands.iter().zip(&inst.roles).rfind(|(_, role)| **role == Role::Addr);
        let word = address.and_then(|(operand, _)| low(operand));
        if !polls_barrier(inst) {
            let words = word.into_iter().map(|w| ("mbarrier", w)).collect();
            return self.push(
                At::Before(at),
                inst.guard,
                ("mbarrier arrive", MarkKind::Arrive, Via::Mbarrier),
                words,
            );
        }
        let what = "mbarrier wait";
        let waits = |l: &&Loop| l.blocks.contains(&inst.block) && self.waits(l);
        let around = self.body.graph.loops.iter().filter(waits).min_by_key(|l| l.blocks.len());
        let Some(l) = around else {
            let words = word.into_iter().map(|w| ("mbarrier", w)).collect();
            return self.around(at, what, Via::Mbarrier, words);
        };
        // One region, whatever it asks in one trip.
        let first = |i: InstId| polls_barrier(self.body.inst(i));
        if l.blocks
            .iter()
            .flat_map(|b| self.body.parts[b.index()].insts.clone())
            .map(InstId)
            .find(|i| first(*i))
            != Some(at)
        {
            return;
        }
        let l = l.clone();
        let inside = |reg| {
            let insts = l.blocks.iter().flat_map(|b| self.body.parts[b.index()].insts.clone());
            insts.map(InstId).any(|i| written(self.body.inst(i)).contains(&reg))
        };
        let known = word.filter(|w| !matches!(w.of, Operand::Reg(r) if inside(r)));
        if known.is_none() {
            let why = "the address of the mbarrier is computed in the loop that waits for it".to_owned();
            self.missed.push((Some(at), why));
        }
        let words: Vec<_> = known.into_iter().map(|w| ("mbarrier", w)).collect();
        let before = self.missed.len();
        let (into, out) = (self.edges(&l, true), self.edges(&l, false));
        // A region has all of its ends, or is none.
        if self.missed.len() > before {
            return;
        }
        for (edges, kind, words) in [(into, MarkKind::Begin, words), (out, MarkKind::End, Vec::new())] {
            for (place, guard) in edges {
                self.push(place, guard, (what, kind, Via::Mbarrier), words.clone());
                // An edge lies at whatever comes before the loop: the wait is where it polls.
                let loc = self.body.loc(at);
                if let Some(marker) = self.found.last_mut().filter(|_| loc.is_some()) {
                    marker.loc = loc;
                }
            }
        }
    }

    /// Whether a loop does nothing but wait for an mbarrier.
    fn waits(&self, l: &Loop) -> bool {
        let insts = l.blocks.iter().flat_map(|b| self.body.parts[b.index()].insts.clone()).map(InstId);
        let quiet = |inst: &Inst| {
            let class = matches!(
                inst.class,
                Class::Move
                    | Class::Integer
                    | Class::Convert
                    | Class::Compare
                    | Class::Select
                    | Class::Branch
            );
            class || polls_barrier(inst) || inst.semantics.effect == Effect::Sleep
        };
        !l.irreducible && insts.map(|i| self.body.inst(i)).all(quiet)
    }

    /// Where a loop is entered, or left.
    fn edges(&mut self, l: &Loop, entering: bool) -> Vec<(At, Option<Guard>)> {
        let inside = |b: BlockId| l.blocks.contains(&b);
        let mut all = Vec::new();
        for (from, part) in self.body.parts.iter().enumerate() {
            let from = BlockId(from as u32);
            for to in
                part.end.succs().into_iter().filter(|to| (inside(from), inside(*to)) == (!entering, entering))
            {
                if self.reachable.get(from.index()) != Some(&true) {
                    continue;
                }
                match edge(self.body, from, to) {
                    Ok((at, guard, _)) => all.push((at, guard)),
                    Err(why) => self.missed.push((None, why)),
                }
            }
        }
        all
    }

    /// Copies and products.
    fn copies(&mut self, at: InstId, via: Via) {
        let inst = self.body.inst(at);
        let (queue, name) = match via {
            Via::CpAsync => (COPIES, "cp.async"),
            Via::Wgmma => (PRODUCTS, "wgmma"),
            _ => (BULK, "bulk store"),
        };
        let Effect::Async(work) = inst.semantics.effect else { return };
        if work.step == AsyncStep::Commit {
            let place = self.first_of_group(at, via);
            self.push(
                At::Before(place),
                self.body.inst(place).guard,
                (name, MarkKind::Issue, via),
                Vec::new(),
            );
            self.in_group(Group::Commit { queue });
        } else if work.step == AsyncStep::Wait {
            let left = match inst.operands.first() {
                Some(Operand::Int(n)) => u32::try_from(*n).ok(),
                None => Some(0),
                _ => None,
            };
            let Some(left) = left else {
                return self.missed.push((Some(at), "how many groups may be left is no constant".to_owned()));
            };
            self.around(at, &format!("{name} wait"), via, Vec::new());
            let guard = self.body.guard_after(at);
            self.push(At::After(at), guard, (name, MarkKind::Complete, via), Vec::new());
            self.in_group(Group::Wait { queue, left });
        } else if work.queue == Queue::Bulk && work.completes {
            let last = inst.roles.iter().rposition(|role| *role == Role::Addr);
            let mut words: Vec<_> =
                last.and_then(|i| low(&inst.operands[i])).map(|w| ("mbarrier", w)).into_iter().collect();
            // It completes in each of these CTAs of the cluster, at that place of their shared memory.
            let ctas = last.filter(|_| work.multicast).and_then(|i| inst.operands.get(i + 1));
            let known = |o: &&Operand| matches!(o, Operand::Reg(_) | Operand::Int(_));
            if let Some(ctas) = ctas.filter(known).filter(|_| !words.is_empty()) {
                words.push(("ctas", Word { of: ctas.clone(), add: 0 }));
            }
            self.push(At::Before(at), inst.guard, ("bulk load", MarkKind::Issue, via), words);
        }
    }

    /// What was pushed last belongs to a queue.
    fn in_group(&mut self, group: Group) {
        if let Some(last) = self.found.last_mut() {
            last.group = Some(group);
        }
    }

    /// The first instruction of what is committed at `at`, as far back as its block goes.
    fn first_of_group(&self, at: InstId, via: Via) -> InstId {
        let block = self.body.inst(at).block;
        let start = self.body.function.blocks.get(block.index()).map_or(at.0, |b| b.insts.start);
        let mut first = at;
        for i in (start..at.0).rev().map(InstId) {
            let inst = self.body.inst(i);
            if self.via(inst) != Some(via) {
                continue;
            }
            if !matches!(inst.semantics.effect, Effect::Async(work) if work.step == AsyncStep::Issue) {
                break;
            }
            if inst.guard == self.body.inst(at).guard && inst.guard.is_none() {
                first = i;
            }
        }
        first
    }

    fn function(&mut self) {
        let body = self.body;
        let name = &body.function.name;
        self.push(At::Entry, None, (name, MarkKind::Begin, Via::Function), Vec::new());
        let ends: Vec<_> = body.leaves().map(|(part, at, _)| (part, at)).collect();
        for (part, at) in ends {
            if self.reachable.get(part.index()) == Some(&true) {
                let guard = at.and_then(|at| body.inst(at).guard);
                self.push(end_place(body, at), guard, (name, MarkKind::End, Via::Function), Vec::new());
            }
        }
    }

    fn trips(&mut self) {
        let body = self.body;
        // How often a wait asks says nothing.
        for (n, l) in body.graph.loops.iter().enumerate() {
            if self.waits(l) {
                continue;
            }
            for &from in &l.latches {
                match edge(body, from, l.header) {
                    Ok((at, guard, _)) => {
                        self.push(
                            at,
                            guard,
                            (&format!("loop {n}"), MarkKind::Instant, Via::Trip),
                            Vec::new(),
                        );
                    }
                    Err(why) => self.missed.push((None, why)),
                }
            }
        }
    }

    /// A region for each run of a line's instructions in a block.
    fn line(&mut self, file: &str, line: u32) {
        let body = self.body;
        let on_line = |i: &u32| {
            let loc = body.loc(InstId(*i)).and_then(|l| body.module.locs.get(l.index()));
            let path = loc.and_then(|l| body.module.files.get(l.file as usize)).map(|f| f.path.as_str());
            let name = path.map(|p| p.rsplit('/').next().unwrap_or(p));
            let named = |text: &str| pattern::matches(file.as_bytes(), text.as_bytes());
            loc.is_some_and(|l| l.line == line) && (path.is_some_and(named) || name.is_some_and(named))
        };
        let name = format!("{file}:{line}");
        for (n, block) in body.function.blocks.iter().enumerate() {
            if self.reachable.get(n) != Some(&true) {
                continue;
            }
            let mut insts = block.insts.clone().peekable();
            while let Some(first) = insts.next() {
                if !on_line(&first) {
                    continue;
                }
                let mut last = first;
                while let Some(next) = insts.next_if(|i| on_line(i)) {
                    last = next;
                }
                self.push(At::Before(InstId(first)), None, (&name, MarkKind::Begin, Via::Line), Vec::new());
                let jumps = leaves(body.inst(InstId(last)).class);
                let end = if jumps { At::Before(InstId(last)) } else { At::After(InstId(last)) };
                self.push(end, None, (&name, MarkKind::End, Via::Line), Vec::new());
            }
        }
    }
}

/// The low half of an address, as a word.
fn low(operand: &Operand) -> Option<Word> {
    match operand {
        Operand::Address(Base::Reg(r), add) => Some(Word { of: Operand::Reg(*r), add: *add }),
        Operand::Address(Base::Symbol(s), add) => Some(Word { of: Operand::Symbol(*s, *add), add: 0 }),
        Operand::Address(Base::Absolute, add) => Some(number(*add as u32)),
        _ => None,
    }
}
