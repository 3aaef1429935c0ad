//! What is open at each marker, from a function's control flow, before anything runs: which begin an end ends, whatever way a lane goes.
//!
//! Regions of which that is not one answer are unsure; whoever walks leaves them out and walks again.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use prlx_isa::view::{BlockId, Class, FunctionKind, Guard, InstId};
use prlx_trace::mark::{Mark, MarkKind};

use super::placed::PlacedMarker;
use crate::function::body::end_place;
use crate::function::body::{Body, PartEnd};
use crate::plan::At;

/// Why a region is left out.
pub(super) struct Unsure {
    pub region: String,
    pub at: Option<InstId>,
    pub why: String,
}

pub(super) const ONE_WAY: &str = "it is open here on one way and not on another";
const CALLED: &str = "it is open at this call, and lanes may end or get a track in what is called";

/// What has to be known of an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wanted {
    /// Which region it ends: begins that can't be told apart are one.
    Region,
    /// Which marker it began at, in a lane that keeps its track from there on.
    Begin {
        /// Whether lanes may end, or tracks change hands, in device functions.
        calls: bool,
    },
}

/// A region that is open.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Open {
    /// The marker at which it began.
    mark: u32,
    /// For whom, where that is not everybody who is here.
    guard: Option<Guard>,
}

/// What happens at a marker: markers at which what ends and begins there has begun.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Step {
    pub ends: Vec<u32>,
    pub begins: Vec<u32>,
    /// Whether visits begin there.
    pub visits: bool,
}

/// A function, walked once.
pub(super) struct Walk<'a, 'b> {
    pub body: &'a Body<'b>,
    pub wanted: Wanted,
    /// By place.
    pub found: &'a [(u32, PlacedMarker)],
    pub marks: &'a [Mark],
    /// Regions that are left out.
    pub left: &'a BTreeSet<String>,
    /// Where switches stand that have no place.
    pub switches: &'a [InstId],
    /// Of markers whose regions are one: another one of them.
    pub one: HashMap<u32, u32>,
    /// By index into `found`.
    pub steps: BTreeMap<usize, Step>,
    /// Where lanes end with regions open: for whom, and which.
    pub ends: Vec<(At, Option<Guard>, Vec<u32>)>,
}

impl Walk<'_, '_> {
    pub fn device(&self) -> bool {
        self.body.function.kind == FunctionKind::Device
    }

    /// The marker that stands for a region.
    pub fn of(&self, mut mark: u32) -> u32 {
        while let Some(next) = self.one.get(&mark) {
            mark = *next;
        }
        mark
    }

    pub fn name(&self, mark: u32) -> &str {
        self.marks.get(mark as usize).map_or("", |m| &m.name)
    }

    /// Follows all ways through the function.
    pub fn all(&mut self) -> Result<(), Unsure> {
        let mut entry = Vec::new();
        let mut here: HashMap<BlockId, Vec<usize>> = HashMap::new();
        for (i, (_, f)) in self.found.iter().enumerate() {
            match f.at {
                At::Entry => self.step(i, f.guard, &mut entry)?,
                At::Before(at) | At::After(at) => here.entry(self.body.inst(at).block).or_default().push(i),
            }
        }
        let mut known: HashMap<BlockId, Vec<Open>> = HashMap::from([(BlockId(0), entry)]);
        let mut rest = vec![BlockId(0)];
        while let Some(part) = rest.pop() {
            let open = known.get(&part).cloned().unwrap_or_default();
            let first = self.body.parts[part.index()].insts.start;
            if let (Some(at), Some(open)) = (self.switches.iter().find(|at| at.0 == first), open.last()) {
                return Err(self.unsure(open.mark, Some(*at), "a switch that has no place may end it here"));
            }
            let marked = here.get(&part).map_or(&[][..], Vec::as_slice);
            for (to, open) in self.part(part, marked, open)? {
                match known.get(&to) {
                    Some(before) => self.meet(to, &before.clone(), &open)?,
                    None => {
                        known.insert(to, open);
                        rest.push(to);
                    }
                }
            }
        }
        Ok(())
    }

    /// What is open behind a part, by where it goes.
    fn part(
        &mut self,
        part: BlockId,
        marked: &[usize],
        open: Vec<Open>,
    ) -> Result<Vec<(BlockId, Vec<Open>)>, Unsure> {
        let of = &self.body.parts[part.index()];
        let calls = self.wanted == Wanted::Begin { calls: true };
        let call = of
            .insts
            .clone()
            .chain(of.of.map(|i| i.0))
            .map(InstId)
            .find(|i| calls && self.body.inst(*i).class == Class::Call);
        if let (Some(at), Some(open)) = (call, open.first()) {
            return Err(self.unsure(open.mark, Some(at), CALLED));
        }
        let last = of.insts.clone().next_back().map(InstId);
        // Markers on one of two ways stand before the branch, with its guard or the opposite.
        let mut ways = [open, Vec::new()];
        let mut apart = false;
        let branch = match of.end {
            PartEnd::Branch { guard, taken, other } if taken != other => Some((guard, taken, other)),
            _ => None,
        };
        for &i in marked {
            let f = &self.found[i].1;
            let way = branch.and_then(|(guard, ..)| {
                let on = f
                    .guard
                    .filter(|g| g.reg == guard.reg && last.is_some_and(|last| f.at == At::Before(last)))?;
                Some(usize::from(on.negate != guard.negate))
            });
            if way.is_some() && !apart {
                (apart, ways[1]) = (true, ways[0].clone());
            }
            let [taken, other] = &mut ways;
            match way {
                Some(0) => self.step(i, None, taken)?,
                Some(_) => self.step(i, None, other)?,
                None => {
                    self.step(i, f.guard, taken)?;
                    if apart {
                        self.step(i, f.guard, other)?;
                    }
                }
            }
        }
        let [taken_with, other_with] = ways;
        if let (Some(at), Some(open)) = (call, taken_with.first().or(other_with.first())) {
            return Err(self.unsure(open.mark, Some(at), CALLED));
        }
        if let Some((_, taken, other)) = branch {
            let second = if apart { other_with } else { taken_with.clone() };
            return Ok(vec![(taken, taken_with), (other, second)]);
        }
        if matches!(of.end, PartEnd::Return | PartEnd::Exit) {
            self.leave(part, &taken_with)?;
        }
        Ok(of.end.succs().into_iter().map(|to| (to, taken_with.clone())).collect())
    }

    /// Control leaves the function at a part's end.
    fn leave(&mut self, part: BlockId, open: &[Open]) -> Result<(), Unsure> {
        let at = self.body.leaves().find(|(p, ..)| *p == part).and_then(|(_, at, _)| at);
        let Some(first) = open.first() else { return Ok(()) };
        if self.device() {
            return Err(self.unsure(first.mark, at, "it is open where its function ends"));
        }
        if let Some(some) = open.iter().find(|o| o.guard.is_some()) {
            return Err(self.unsure(some.mark, at, ONE_WAY));
        }
        let guard = at.and_then(|at| self.body.inst(at).guard);
        self.ends.push((end_place(self.body, at), guard, open.iter().map(|o| o.mark).collect()));
        Ok(())
    }

    fn unsure(&self, mark: u32, at: Option<InstId>, why: &str) -> Unsure {
        Unsure { region: self.name(mark).to_owned(), at, why: why.to_owned() }
    }

    /// Two ways come together: the same must be open on both.
    fn meet(&mut self, part: BlockId, before: &[Open], now: &[Open]) -> Result<(), Unsure> {
        let exact = self.wanted != Wanted::Region;
        let alike = |a: &Open, b: &Open| match exact {
            true => a.mark == b.mark && a.guard == b.guard,
            false => self.name(a.mark) == self.name(b.mark) && a.guard == b.guard,
        };
        let same = before.iter().zip(now).take_while(|(a, b)| alike(a, b)).count();
        if let Some(differs) = before.get(same).or(now.get(same)) {
            // Rather one that is open on one way alone than one that lies elsewhere among them.
            let times = |of: &Open, open: &[Open]| open.iter().filter(|o| alike(of, o)).count();
            let alone = before.iter().chain(now).find(|o| times(o, before) != times(o, now));
            let at = self.body.parts[part.index()].insts.clone().next().map(InstId);
            return Err(self.unsure(alone.unwrap_or(differs).mark, at, ONE_WAY));
        }
        for (a, b) in before.iter().zip(now) {
            let (a, b) = (self.of(a.mark), self.of(b.mark));
            if a != b {
                self.one.insert(a.max(b), a.min(b));
            }
        }
        Ok(())
    }

    /// A marker is passed by those for whom `guard` holds.
    fn step(&mut self, i: usize, guard: Option<Guard>, open: &mut Vec<Open>) -> Result<(), Unsure> {
        if self.wanted != Wanted::Region {
            return self.pair(i, guard, open);
        }
        let (mark, f) = &self.found[i];
        let left = self.left.contains(&f.name)
            && matches!(f.kind, MarkKind::Begin | MarkKind::End | MarkKind::Switch);
        if left && f.kind != MarkKind::Switch {
            return Ok(());
        }
        let at = match f.at {
            At::Entry => None,
            At::Before(at) | At::After(at) => Some(at),
        };
        let mut step = Step::default();
        let ended = match f.kind {
            MarkKind::End => open.iter().rposition(|o| self.name(o.mark) == f.name),
            MarkKind::Switch => open.len().checked_sub(1),
            _ => None,
        };
        if let Some(ended) = ended {
            let ended = open.remove(ended);
            if ended.guard != guard {
                return Err(self.unsure(ended.mark, at, ONE_WAY));
            }
            if let (MarkKind::Switch, Some(other)) = (f.kind, self.left.first()) {
                return Err(self.unsure(
                    ended.mark,
                    at,
                    &format!("this switch may end {other} instead, which is left out"),
                ));
            }
            step.ends.push(ended.mark);
        } else if self.device() && !left && matches!(f.kind, MarkKind::End | MarkKind::Switch) {
            return Err(self.unsure(*mark, at, "this ends something that began in another function"));
        }
        match f.kind {
            MarkKind::Begin | MarkKind::Switch if left => {}
            MarkKind::Begin | MarkKind::Switch => {
                step.begins.push(*mark);
                step.visits = true;
                open.push(Open { mark: *mark, guard });
            }
            // Who becomes leader begins a track.
            MarkKind::Group if f.words.len() > 1 => {
                if let Some(some) = open.iter().find(|o| o.guard.is_some()) {
                    return Err(self.unsure(some.mark, at, ONE_WAY));
                }
                step.begins.extend(open.iter().map(|o| o.mark));
            }
            _ => {}
        }
        self.steps.insert(i, step);
        Ok(())
    }

    /// The same, where a begin and its end become one: what is not found here has records of its own, and is on nobody's way.
    fn pair(&mut self, i: usize, guard: Option<Guard>, open: &mut Vec<Open>) -> Result<(), Unsure> {
        let (mark, f) = &self.found[i];
        let at = match f.at {
            At::Entry => None,
            At::Before(at) | At::After(at) => Some(at),
        };
        let left = self.left.contains(&f.name);
        let mut step = Step::default();
        let ended = match f.kind {
            MarkKind::End if !left => open.iter().rposition(|o| self.name(o.mark) == f.name),
            MarkKind::Switch => open.len().checked_sub(1),
            _ => None,
        };
        if let Some(ended) = ended {
            let ended = open.remove(ended).mark;
            if guard.is_some() {
                return Err(self.unsure(ended, at, ONE_WAY));
            }
            if !f.words.is_empty() {
                return Err(self.unsure(ended, at, "what ends it has words"));
            }
            step.ends.push(ended);
        }
        let most = match f.kind {
            MarkKind::Begin => 1,
            _ => 0,
        };
        match f.kind {
            MarkKind::Begin | MarkKind::Switch if !left && guard.is_none() && f.words.len() <= most => {
                if open.iter().any(|o| o.mark == *mark) {
                    return Err(self.unsure(*mark, at, "it is open already"));
                }
                step.begins.push(*mark);
                step.visits = true;
                open.push(Open { mark: *mark, guard });
            }
            MarkKind::Group if f.words.len() > 1 => {
                if let Some(some) = open.first() {
                    return Err(self.unsure(some.mark, at, "another lane may get the track here"));
                }
            }
            _ => {}
        }
        let before = self.steps.get(&i).filter(|before| **before != step);
        if let Some(some) =
            before.into_iter().chain([&step]).filter(|_| before.is_some()).find_map(|s| s.ends.first())
        {
            return Err(self.unsure(*some, at, ONE_WAY));
        }
        self.steps.insert(i, step);
        Ok(())
    }
}
