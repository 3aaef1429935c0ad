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

use prlx_isa::view::{BlockId, FunctionKind, InstId, Reg};
use prlx_trace::device::tracks::{Layout, Total, WORDS};
use prlx_trace::mark::{Mark, MarkKind, Via};

use super::open::{Unsure, Walk, Wanted};
use super::placed::{PlacedMarker, kind, positions};
use crate::function::body::{Body, PartEnd};
use crate::plan::{Action, At, Insertion};
use crate::probe::state::Unavailable;

/// A place, and what is wrong there.
type Wrong = (Option<InstId>, String);

/// The insertions of each function; says in `layout` what words mean. Device functions share [`WORDS`] with the kernels that may call them, half of
/// them at most.
pub(super) fn sums(
    bodies: &[&Body<'_>],
    found: Vec<Vec<(u32, PlacedMarker)>>,
    marks: &[Mark],
    layout: &mut Layout,
    missed: &mut Vec<Unavailable>,
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
            let miss = |(at, why)| Unavailable { clause: 0, function: body.id, at, why };
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
    found: &[(u32, PlacedMarker)],
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
    for mark in body.function.markers.iter().filter(|m| positions(body, m).is_err()) {
        let kind = kind(mark.kind);
        if kind == MarkKind::Switch {
            switches.push(mark.at);
        }
        if matches!(kind, MarkKind::Begin | MarkKind::End | MarkKind::Switch)
            && left.insert(mark.name.clone())
        {
            let why = format!("{} is not added up: this {} of it has no place", mark.name, mark.kind.name());
            missed.push((Some(mark.at), why));
        }
    }
    let walk = loop {
        let (one, steps, ends) = Default::default();
        let wanted = Wanted::Region;
        let mut walk =
            Walk { body, wanted, found, marks, left: &left, switches: &switches, one, steps, ends };
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
    if body.function.kind == FunctionKind::Device && body.parts.iter().any(|p| matches!(p.end, PartEnd::Exit))
    {
        missed.push((None, "lanes that exit in a device function leave no sums".to_owned()));
    }
    walk.emit((words, most), layout, missed)
}

impl Walk<'_, '_> {
    /// Gives regions their words and writes the insertions. Where words are short, regions of one name are one, each with a count of its own.
    fn emit(
        mut self,
        (words, most): (&mut u32, u32),
        layout: &mut Layout,
        missed: &mut Vec<Wrong>,
    ) -> Vec<Insertion> {
        let begins: Vec<(usize, u32)> = self
            .steps
            .iter()
            .filter(|(_, s)| s.visits)
            .flat_map(|(i, s)| s.begins.iter().map(|m| (*i, *m)))
            .collect();
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
            let counts =
                times.iter().map(|(of, n)| (*counters.entry(*of).or_insert_with(&mut word), *n)).collect();
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
            let by = step
                .begins
                .first()
                .filter(|_| step.visits && !begins.is_empty())
                .map(|m| self.count(i, *m, coarse));
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
        out.sort_by_key(|i| i.at.order());
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
        if coarse {
            Count::Region(self.of(mark))
        } else {
            Count::Section(block, f.guard.map(|g| (g.reg, g.negate)))
        }
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
