//! Regions become sums and counts ([`Form::Sums`](prlx_trace::device::tracks::Form::Sums)) in place of records.
//!
//! What is open at each marker is known before anything runs, from the function's control flow: so an end knows what it ends, and what is still open
//! where a kernel's lane ends is ended there. Begins that can't be told apart at some end are one region. Regions that begin in one basic block share a
//! count. Where there are more than registers, regions of one name are one.
//!
//! Holds: each visit's begin and end are in one sum, whatever way a lane goes; a region of which that is not so is left out, with the place. Where
//! one is left out, so are those that a switch may have ended in its place. Misses: regions
//! that begin in one function and end in another; visits under way as a lane becomes leader are added from there on, and not counted.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use prlx_isa::view::{BlockId, FunctionKind, Guard, InstId, Reg};
use prlx_trace::device::tracks::{Layout, Total, WORDS};
use prlx_trace::mark::{Mark, MarkKind, Via};

use super::{Found, stands};
use crate::bind::end_place;
use crate::body::{Body, PartEnd};
use crate::place;
use crate::plan::{Action, At, Insertion, Missed};

/// A place, and what is wrong there.
type Wrong = (Option<InstId>, String);

/// Why a region is left out.
struct Unsure {
    region: String,
    at: Option<InstId>,
    why: String,
}

/// The insertions of each function; says in `layout` what words mean. Device functions share [`WORDS`] with the kernels that may call them, half of
/// them at most.
pub(super) fn sums(
    bodies: &[&Body<'_>],
    found: Vec<Vec<(u32, Found)>>,
    marks: &[Mark],
    layout: &mut Layout,
    missed: &mut Vec<Missed>,
) -> Vec<Vec<Insertion>> {
    let mut all: Vec<Vec<Insertion>> = vec![Vec::new(); bodies.len()];
    let mut first = 0;
    for (kind, most) in [(FunctionKind::Device, WORDS / 2), (FunctionKind::Kernel, WORDS)] {
        let mut used = first;
        for (i, (body, found)) in bodies.iter().zip(&found).enumerate() {
            if body.function.kind != kind || found.is_empty() {
                continue;
            }
            // Kernels have the same words, each its own regions.
            let mut words = if kind == FunctionKind::Kernel { first } else { used };
            let mut wrong = Vec::new();
            all[i] = function(body, found, marks, (&mut words, most), layout, &mut wrong);
            let miss = |(at, why)| Missed { clause: 0, function: body.id, at, why };
            missed.extend(wrong.into_iter().map(miss));
            used = used.max(words);
        }
        layout.words = layout.words.max(used);
        first = if kind == FunctionKind::Device { used } else { first };
    }
    all
}

fn function(
    body: &Body<'_>,
    found: &[(u32, Found)],
    marks: &[Mark],
    (words, most): (&mut u32, u32),
    layout: &mut Layout,
    missed: &mut Vec<Wrong>,
) -> Vec<Insertion> {
    let region = |kind| matches!(kind, MarkKind::Begin | MarkKind::End | MarkKind::Switch | MarkKind::Group);
    let others = found.iter().filter(|(_, f)| !region(f.kind)).count();
    if others > 0 {
        missed.push((None, format!("markers of moments and asynchronous work are not added up: {others}")));
    }
    let mut left = BTreeSet::new();
    let mut switches = Vec::new();
    for mark in body.function.marks.iter().filter(|m| stands(body, m).is_err()) {
        let kind = super::kind(mark.kind);
        if kind == MarkKind::Switch {
            switches.push(mark.at);
        }
        if matches!(kind, MarkKind::Begin | MarkKind::End | MarkKind::Switch) && left.insert(mark.name.clone()) {
            let why = format!("{} is not added up: this {} of it has no place", mark.name, mark.kind.name());
            missed.push((Some(mark.at), why));
        }
    }
    let walk = loop {
        let (one, steps, ends) = Default::default();
        let mut walk = Walk { body, found, marks, left: &left, switches: &switches, one, steps, ends };
        match walk.all() {
            Ok(()) => break walk,
            Err(Unsure { region, at, why }) => {
                missed.push((at, format!("{region} is not added up: {why}")));
                if !left.insert(region) {
                    return Vec::new();
                }
            }
        }
    };
    if body.function.kind == FunctionKind::Device && body.parts.iter().any(|p| matches!(p.end, PartEnd::Exit)) {
        missed.push((None, "lanes that exit in a device function leave no sums".to_owned()));
    }
    walk.emit((words, most), layout, missed)
}

const ONE_WAY: &str = "it is open here on one way and not on another";

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
struct Step {
    ends: Vec<u32>,
    begins: Vec<u32>,
    /// Whether visits begin there.
    visits: bool,
}

/// A function, walked once.
struct Walk<'a, 'b> {
    body: &'a Body<'b>,
    /// By place.
    found: &'a [(u32, Found)],
    marks: &'a [Mark],
    /// Regions that are left out.
    left: &'a BTreeSet<String>,
    /// Where switches stand that have no place.
    switches: &'a [InstId],
    /// Of markers whose regions are one: another one of them.
    one: HashMap<u32, u32>,
    /// By index into `found`.
    steps: BTreeMap<usize, Step>,
    /// Where lanes end with regions open: for whom, and which.
    ends: Vec<(At, Option<Guard>, Vec<u32>)>,
}

impl Walk<'_, '_> {
    fn device(&self) -> bool {
        self.body.function.kind == FunctionKind::Device
    }

    /// The marker that stands for a region.
    fn of(&self, mut mark: u32) -> u32 {
        while let Some(next) = self.one.get(&mark) {
            mark = *next;
        }
        mark
    }

    fn name(&self, mark: u32) -> &str {
        self.marks.get(mark as usize).map_or("", |m| &m.name)
    }

    /// Follows all ways through the function.
    fn all(&mut self) -> Result<(), Unsure> {
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
    fn part(&mut self, part: BlockId, marked: &[usize], open: Vec<Open>) -> Result<Vec<(BlockId, Vec<Open>)>, Unsure> {
        let of = &self.body.parts[part.index()];
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
                let on = f.guard.filter(|g| g.reg == guard.reg && last.is_some_and(|last| f.at == At::Before(last)))?;
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
        let alike = |a: &Open, b: &Open| self.name(a.mark) == self.name(b.mark) && a.guard == b.guard;
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
        let (mark, f) = &self.found[i];
        let left = self.left.contains(&f.name) && matches!(f.kind, MarkKind::Begin | MarkKind::End | MarkKind::Switch);
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

    /// Gives regions their words and writes the insertions. Where words are short, regions of one name are one, each with a count of its own.
    fn emit(mut self, (words, most): (&mut u32, u32), layout: &mut Layout, missed: &mut Vec<Wrong>) -> Vec<Insertion> {
        let begins: Vec<(usize, u32)> =
            self.steps.iter().filter(|(_, s)| s.visits).flat_map(|(i, s)| s.begins.iter().map(|m| (*i, *m))).collect();
        // By region: what counts its visits, and how many each time.
        let mut regions = self.regions(&begins, false);
        let counts: HashSet<_> = regions.values().flatten().map(|(of, _)| *of).collect();
        let coarse = *words + (regions.len() + counts.len()) as u32 > most;
        if coarse {
            let mut first: HashMap<String, u32> = HashMap::new();
            for (_, mark) in &begins {
                let of = self.of(*mark);
                let one = *first.entry(self.name(of).to_owned()).or_insert(of);
                if one != of {
                    self.one.insert(of.max(one), of.min(one));
                    first.insert(self.name(of).to_owned(), of.min(one));
                }
            }
            regions = self.regions(&begins, true);
        }
        let mut order: Vec<u32> = regions.keys().copied().collect();
        order.sort_by_key(|r| self.marks.get(*r as usize).is_none_or(|m| m.via != Via::Source));
        let (mut cycles, mut counters, mut left) = (HashMap::new(), HashMap::new(), Vec::new());
        for region in order {
            let times = &regions[&region];
            let new = times.iter().filter(|(of, _)| !counters.contains_key(of)).count() as u32;
            if *words + 1 + new > most {
                left.push(self.name(region));
                continue;
            }
            let mut word = || {
                *words += 1;
                *words - 1
            };
            let sum = word();
            cycles.insert(region, sum);
            let counts = times.iter().map(|(of, n)| (*counters.entry(*of).or_insert_with(&mut word), *n)).collect();
            let kernel = (!self.device()).then_some(prlx_trace::FuncId(self.body.id.0));
            layout.totals.push(Total { kernel, mark: region, cycles: sum, counts });
        }
        if !left.is_empty() {
            let why = format!("there are {most} registers for sums and counts");
            missed.push((None, format!("{why}: {} is not added up", left.join(", "))));
        }
        let words_of = |marks: &[u32]| -> Vec<u32> {
            marks.iter().filter_map(|mark| cycles.get(&self.of(*mark)).copied()).collect()
        };
        let mut counted = HashSet::new();
        let mut out = Vec::new();
        for (i, (_, f)) in self.found.iter().enumerate() {
            let Some(step) = self.steps.get(&i) else { continue };
            if f.kind == MarkKind::Group {
                let values = f.words.iter().map(|(_, word)| word.clone()).collect();
                out.push(Insertion { at: f.at, guard: f.guard, action: Action::Group { values } });
            }
            let (ends, begins) = (words_of(&step.ends), words_of(&step.begins));
            // The first of a section counts for all of them.
            let by =
                step.begins.first().filter(|_| step.visits && !begins.is_empty()).map(|m| self.count(i, *m, coarse));
            let by = by.filter(|by| coarse || counted.insert(*by));
            let count = by.and_then(|by| Some((*counters.get(&by)?, 1)));
            if !ends.is_empty() || !begins.is_empty() {
                out.push(Insertion { at: f.at, guard: f.guard, action: Action::Add { ends, begins, count } });
            }
        }
        for (at, guard, open) in &self.ends {
            let ends = words_of(open);
            if !ends.is_empty() {
                let action = Action::Add { ends, begins: Vec::new(), count: None };
                out.push(Insertion { at: *at, guard: *guard, action });
            }
        }
        out.sort_by_key(|i| place::order(i.at));
        out
    }

    /// By region, what counts its visits, and how many of them each time.
    fn regions(&self, begins: &[(usize, u32)], coarse: bool) -> BTreeMap<u32, Vec<(Count, u32)>> {
        let mut all: BTreeMap<u32, Vec<(Count, u32)>> = BTreeMap::new();
        for (i, mark) in begins {
            let (by, of) = (self.count(*i, *mark, coarse), all.entry(self.of(*mark)).or_default());
            match of.iter_mut().find(|(other, _)| *other == by) {
                Some((_, n)) if !coarse => *n += 1,
                Some(_) => {}
                None => of.push((by, 1)),
            }
        }
        all
    }

    /// What counts a visit that begins at a marker.
    fn count(&self, i: usize, mark: u32, coarse: bool) -> Count {
        let f = &self.found[i].1;
        let block = match f.at {
            At::Entry => None,
            At::Before(at) | At::After(at) => Some(self.body.inst(at).block),
        };
        if coarse { Count::Region(self.of(mark)) } else { Count::Section(block, f.guard.map(|g| (g.reg, g.negate))) }
    }
}

/// What counts visits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Count {
    /// Whoever comes through a block, or those of them for whom a guard holds.
    Section(Option<BlockId>, Option<(Reg, bool)>),
    /// A region counts for itself.
    Region(u32),
}
