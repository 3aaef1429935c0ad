//! The recorders: what each level inserts into a function.
//!
//! - `path`: bits after the instruction that decides; trip counts where the lanes of a counted loop have
//!   converged again, or else where they leave it; reservations of bits ([`crate::insert::reservation`]).
//! - `values`: likewise, and bits of a hash of what is stored ([`crate::choose::stored`]).
//! - `fingerprint`: recorded decisions and trip counts; of loaded and computed values those of the cut
//!   ([`crate::choose::hashes`]), loaded ones after the load; stored values before stores; operands of
//!   atomics before, results after. Only memory that other CTAs or the host can see counts. Computed
//!   decisions follow from what is hashed, and barriers follow from decisions. Nothing inside a spin loop is
//!   hashed ([`crate::function::spin_loops`]), nor its number of iterations. A checkpoint counts back edges
//!   of loops that hash something.
//! - `events`: the selected sites ([`crate::choose::select`]) that a reader cannot reconstruct
//!   ([`crate::choose::convergence`]), each with one value: the predicate, the index, or the first value
//!   moved. Some stores share the event of the branch before them ([`crate::insert::coalesced`]).
//! - `operands`: the sites of the window only: compared and stored values before, loaded and returned values
//!   after.
//!
//! # Invariants
//!
//! - An action runs for exactly the lanes for which its instruction does. (All lanes make a decision whose
//!   instruction overwrites its own guard.)
//! - No action reads an accumulator of tensor-core work in flight or a 128-bit register. Only `operands`
//!   reads the thread's own stack. A site that is left out for such a reason says so.
//!
//! # Limitations
//!
//! - Lanes that end in code that is not recorded (a function called through a pointer) write nothing at their
//!   end.

use std::collections::{BTreeMap, BTreeSet};

use prlx_isa::cfg::Cfg;
use prlx_isa::view::{self, Class, Effect, FunctionKind, Guard, InstId, Operand};
use prlx_trace::SiteId;
use prlx_trace::device::{ALL, value_parts};
use prlx_trace::kernel::{Level, SiteClass, Source};

use crate::choose::choice::Choice;
use crate::choose::choice::{Counted, Trip};
use crate::choose::cut;
use crate::choose::hashes::Hashable;
use crate::choose::stored::StoredHash;
use crate::function::body::end_place;
use crate::function::body::{Body, PartEnd, regs};
use crate::function::points::{self, Point};
use crate::function::spin_loops::{self, polls_barrier};
use crate::function::wgmma::WgmmaHazards;
use crate::insert::coalesced::{self, BranchEvent};
use crate::insert::event_site::{EventPlacement, decided_at, event_at, stays, stores, unreadable};
use crate::insert::reservation;
use crate::insert::spots::Spots;
use crate::insert::word;
use crate::plan::{Action, At, Insertion, MostWritten, RollingHash, WordBits};

/// Logarithm of the distance of checkpoints, in back edges of a lane.
const CHECKPOINT: u8 = 8;

/// What the recorder of a function is given.
pub(crate) struct Recorder<'r, 'b> {
    pub body: &'r Body<'b>,
    pub points: &'r [Point],
    pub choice: &'r Choice,
    /// By point: whether it is to be recorded (level `path` goes by `choice` alone).
    pub taken: &'r [bool],
    /// Whether calls of a function of the module hand the state over.
    pub recorded: &'r dyn Fn(view::FuncId) -> bool,
    /// Whether level `fingerprint` writes checkpoints.
    pub checkpoints: bool,
    /// Sites that level `operands` watches.
    pub watched: &'r [SiteId],
    /// What a probe program puts into the function.
    pub insertions: &'r [Insertion],
}

/// Insertions of one function, and points that nothing could be recorded at, with the reason.
#[derive(Default)]
pub(crate) struct Recorded {
    pub insertions: Vec<Insertion>,
    pub trip_counters: u32,
    pub most_written: Option<MostWritten>,
    pub skipped: Vec<(SiteId, String)>,
}

impl Recorder<'_, '_> {
    /// Records at `level`.
    pub fn record(&self, level: Level) -> Recorded {
        let mut out = Recorded::default();
        let mut spots = Spots::default();
        spots.push(At::Entry, None, Action::Begin);
        if level.in_words() && self.body.function.kind == FunctionKind::Device {
            spots.push(At::Entry, None, Action::Reserve { bits: 0 });
        }
        // Values before anything else at their place: the decoder reads them before the instruction there.
        let reachable = self.body.reachable();
        for value in self.choice.values.iter().filter(|v| reachable[self.body.inst(v.at).block.index()]) {
            let (reg, guard) = (value.reg, self.body.inst(value.at).guard);
            for (from, bits) in value_parts(value.bits) {
                spots.push(
                    value.place,
                    guard,
                    Action::Bits { site: None, reg, from, bits, into: WordBits::alone(bits) },
                );
            }
        }
        // Calls first: what follows one in the text may be a decision that it makes.
        for i in 0..self.body.function.insts.len() as u32 {
            let at = InstId(i);
            if self.body.callee(at).is_some_and(|f| (self.recorded)(f)) {
                let guard = self.body.inst(at).guard;
                spots.push(At::Before(at), guard, Action::Save);
                spots.push(At::After(at), self.body.guard_after(at), Action::Restore);
                if level.in_words() {
                    spots.push(At::After(at), None, Action::Reserve { bits: 0 });
                }
            }
        }
        match level {
            Level::Path | Level::Values => {
                out.trip_counters = self.path(&mut spots);
                out.most_written = reservation::most_written(self.body, &spots);
            }
            Level::Fingerprint => out.trip_counters = self.print(&mut spots, &mut out),
            Level::Events => out.trip_counters = self.events(&mut spots, &mut out),
            Level::Operands => self.operands(&mut spots, &mut out),
            Level::Probe => self.insertions.iter().for_each(|i| spots.push(i.at, i.guard, i.action.clone())),
        }
        for (_, at, _) in self.body.leaves() {
            let guard = at.and_then(|at| self.body.inst(at).guard);
            let trap = at.is_some_and(|at| self.body.inst(at).semantics.effect == Effect::Trap);
            spots.push(end_place(self.body, at), guard, Action::End { trap });
        }
        if level.in_words() {
            word::start_cursors(self.body, &mut spots);
        }
        out.insertions = spots.into_list();
        out
    }

    fn path(&self, spots: &mut Spots) -> u32 {
        let reachable = self.body.reachable();
        for p in self.points {
            let Some(at) = p.at else { continue };
            let Some(d) = p.decision else {
                if let Some(StoredHash { site, place, guard, values, bits }) = self.choice.stored.get(&at) {
                    let (site, values, bits) = (*site, values.clone(), *bits);
                    spots.push(*place, *guard, Action::ValueHash { site, values, bits });
                }
                continue;
            };
            let Source::Bits(bits) = self.choice.sources[d] else { continue };
            if !reachable[p.part.index()] {
                continue;
            }
            let reg = self.body.decisions[d].reg;
            let (place, guard) = decided_at(self.body, p, at);
            let into = WordBits::alone(bits);
            spots.push(place, guard, Action::Bits { site: Some(p.site), reg, from: 0, bits, into });
        }
        let counters = self.trips(
            spots,
            &self.choice.trips.iter().collect::<Vec<_>>(),
            &|_| Action::TripEnd { counter: 0, room: 0 },
            &[],
        );
        reservation::reserve(self.body, spots);
        word::share_shifts(self.body, spots);
        counters
    }

    /// Counts `trips`, and does `end` where that is best ([`crate::choose::trips`]). How many counters there
    /// are. Between the two, so that what is done on the way out comes last, checkpoints go to the back edges
    /// `checked`.
    fn trips(
        &self,
        spots: &mut Spots,
        trips: &[&Trip],
        end: &dyn Fn(&Trip) -> Action,
        checked: &[(At, Option<Guard>)],
    ) -> u32 {
        for trip in trips.iter().filter(|t| t.read.is_none()) {
            let stays = self.body.inst(trip.branch).guard.map(|g| Guard { reg: g.reg, negate: !trip.stay });
            spots.push(At::Before(trip.branch), stays, Action::TripAdd { counter: 0 });
        }
        for (at, guard) in checked {
            spots.push(*at, *guard, Action::Checkpoint { every: CHECKPOINT });
        }
        for trip in trips {
            if let Some(at) = trip.meets {
                spots.first(At::Before(at), end(trip));
                if let Some(Counted { reg, less }) = trip.read {
                    spots.first(At::Before(at), Action::TripRead { counter: 0, reg, less });
                }
                continue;
            }
            let leaves = self.body.inst(trip.branch).guard.map(|g| Guard { reg: g.reg, negate: trip.stay });
            spots.push(At::Before(trip.branch), leaves, end(trip));
            for (branch, leaves) in &trip.others {
                spots.push(At::Before(*branch), Some(*leaves), end(trip));
            }
        }
        // After the ends: what is left where the next is entered has ended before.
        for (at, guard) in trips.iter().flat_map(|t| &t.enters) {
            spots.push(*at, *guard, Action::TripBegin { counter: 0 });
        }
        u32::from(!trips.is_empty())
    }

    fn print(&self, spots: &mut Spots, out: &mut Recorded) -> u32 {
        let windows = WgmmaHazards::of(self.body);
        let waiting = spin_loops::asking_parts(self.body);
        let asks_first = spin_loops::asks_first(self.body, &waiting);
        // By part: whether something is folded there, perhaps by a callee.
        let mut folds = vec![false; self.body.parts.len()];
        for i in (0..self.body.function.insts.len() as u32).map(InstId) {
            if self.body.callee(i).is_some_and(|f| (self.recorded)(f)) {
                folds[self.body.part_of(i).index()] = true;
            }
        }
        // Loads that are hashed as such.
        let mut loads = BTreeSet::new();
        for (p, taken) in self.points.iter().zip(self.taken) {
            let Some(at) = p.at.filter(|_| *taken && !waiting[p.part.index()]) else { continue };
            let inst = self.body.inst(at);
            let fold = |into, values: &[Operand]| {
                let bits = p.moved_bits(self.body, values);
                Action::Fold { site: Some(p.site), into, values: values.to_vec(), bits }
            };
            if let Some(d) = p.decision {
                if !matches!(self.choice.sources[d], Source::Bits(_)) {
                    continue;
                }
                if polls_barrier(inst) && asks_first[p.part.index()] {
                    continue;
                }
                if polls_barrier(inst) {
                    out.skipped.push((p.site, "how often a wait asks depends on timing".to_owned()));
                    continue;
                }
                let (place, guard) = decided_at(self.body, p, at);
                spots.push(
                    place,
                    guard,
                    fold(RollingHash::Control, &[Operand::Reg(self.body.decisions[d].reg)]),
                );
                folds[p.part.index()] = true;
                continue;
            }
            let (before, after) = match p.class {
                SiteClass::Load => (None, Some(RollingHash::Loaded)),
                SiteClass::Store => (Some(RollingHash::Stored), None),
                SiteClass::Atomic => (Some(RollingHash::Stored), Some(RollingHash::Stored)),
                _ => continue,
            };
            if !points::outer_memory(inst) {
                continue;
            }
            let values: Vec<Operand> = p.before.iter().chain(&p.after).cloned().collect();
            if let Some(why) = unreadable(self.body, &windows, at, &values) {
                out.skipped.push((p.site, why));
                continue;
            }
            let hashed = |o: &&Operand| {
                let regs = regs(std::slice::from_ref(*o));
                p.class != SiteClass::Load || regs.iter().any(|reg| self.choice.hashed.contains(&(at, *reg)))
            };
            let after_values: Vec<Operand> = p.after.iter().filter(hashed).cloned().collect();
            if let Some(into) = before.filter(|_| !p.before.is_empty()) {
                folds[p.part.index()] = true;
                spots.push(At::Before(at), inst.guard, fold(into, &p.before));
            }
            if let Some(into) = after.filter(|_| !after_values.is_empty()) {
                folds[p.part.index()] = true;
                loads.insert(at);
                spots.push(At::After(at), p.guard, fold(into, &after_values));
            }
        }
        for &(at, reg) in self.choice.hashed.iter().filter(|(at, _)| !loads.contains(at)) {
            let guard = self.body.inst(at).guard;
            let action = Action::Fold {
                site: None,
                into: RollingHash::Loaded,
                values: vec![Operand::Reg(reg)],
                bits: ALL,
            };
            folds[self.body.part_of(at).index()] = true;
            spots.push(cut::place(self.body, at, reg, guard), guard, action);
        }
        word::gather(self.body, spots);
        let edges = match self.checkpoints {
            true => back_edges(self.body, &self.body.graph, &folds),
            false => Vec::new(),
        };
        let trips: Vec<&Trip> =
            self.choice.trips.iter().filter(|t| !waiting[self.body.inst(t.branch).block.index()]).collect();
        self.trips(spots, &trips, &|_| Action::TripFold { counter: 0 }, &edges)
    }

    fn events(&self, spots: &mut Spots, out: &mut Recorded) -> u32 {
        let windows = WgmmaHazards::of(self.body);
        let ahead = coalesced::coalesced(self.body, self.points, self.taken, &self.choice.trips);
        let mut shared: BTreeMap<usize, Vec<(&Point, Guard)>> = BTreeMap::new();
        for (store, with) in self.points.iter().zip(&ahead) {
            if let Some(BranchEvent { point, of }) = with {
                shared.entry(*point).or_default().push((store, *of));
            }
        }
        // The last event: its place, for whom, and whether it is one of memory that is written to.
        let mut head: Option<(InstId, Option<Guard>)> = None;
        for (i, (p, taken)) in self.points.iter().zip(self.taken).enumerate() {
            let Some(at) = p.at else {
                head = None;
                if *taken {
                    let place =
                        if p.class == SiteClass::Entry { At::Entry } else { end_place(self.body, None) };
                    spots.push(place, None, Action::Event { site: p.site, of: None, value: None, bits: ALL });
                }
                continue;
            };
            if !*taken || ahead[i].is_some() {
                continue;
            }
            let EventPlacement { mut place, guard, value } = event_at(self.body, p, at);
            if let Some(why) = unreadable(self.body, &windows, at, value.as_slice()) {
                out.skipped.push((p.site, why));
                continue;
            }
            let last = head.take().filter(|(first, of)| {
                stores(p)
                    && *of == guard
                    && stays(self.body, *first, at, value.as_slice(), guard)
                    && unreadable(self.body, &windows, *first, value.as_slice()).is_none()
            });
            if let Some((first, _)) = last {
                place = At::Before(first);
            }
            head = stores(p).then_some(last.unwrap_or((at, guard)));
            let event = |p: &Point, of: Option<Guard>, value: Option<Operand>| {
                let bits = p.moved_bits(self.body, value.as_slice());
                Action::Event { site: p.site, of, value, bits }
            };
            spots.push(place, guard, event(p, None, value));
            for (store, of) in shared.get(&i).into_iter().flatten() {
                if let Some(here) = store.at {
                    spots.push(place, guard, event(store, Some(*of), event_at(self.body, store, here).value));
                }
            }
        }
        let sites: BTreeMap<usize, SiteId> =
            self.points.iter().rev().filter_map(|p| Some((p.decision?, p.site))).collect();
        let site = |t: &Trip| sites.get(&t.decision).copied().unwrap_or(SiteId(0));
        let trips: Vec<&Trip> = self.choice.trips.iter().collect();
        self.trips(spots, &trips, &|t| Action::TripEvent { counter: 0, site: site(t) }, &[])
    }

    fn operands(&self, spots: &mut Spots, out: &mut Recorded) {
        let windows = WgmmaHazards::of(self.body);
        let mut counter = 0;
        for p in self.points.iter().filter(|p| self.watched.contains(&p.site)) {
            let (values, after) = p.operands();
            let (place, guard) = match p.at {
                None if p.class == SiteClass::Entry => (At::Entry, None),
                None => (end_place(self.body, None), None),
                Some(at) if after => (At::After(at), p.guard),
                // A decision that overwrites its own guard is a visit of every lane.
                Some(at) if p.decision.is_some() => {
                    (At::Before(at), p.guard.or(switch_guard(self.body, p, at)))
                }
                Some(at) => (At::Before(at), self.body.inst(at).guard),
            };
            if let Some(why) = p.at.and_then(|at| unreadable(self.body, &windows, at, values)) {
                out.skipped.push((p.site, why));
                continue;
            }
            let values = values.to_vec();
            spots.push(place, guard, Action::Operands { site: p.site, counter, values });
            counter += 1;
        }
    }
}

/// Accesses whose values level `fingerprint` can hash. A loop that waits loads as often as timing has it, so
/// what it loads is left out.
pub(crate) fn hashable(body: &Body<'_>, points: &[Point], taken: &[bool]) -> Hashable {
    let (windows, waiting) = (WgmmaHazards::of(body), spin_loops::asking_parts(body));
    let of = |classes: &[SiteClass]| {
        let points = points.iter().zip(taken).filter(|(p, taken)| **taken && classes.contains(&p.class));
        let hashed = points.filter_map(|(p, _)| {
            let at = p.at.filter(|at| !waiting[p.part.index()] && points::outer_memory(body.inst(*at)))?;
            let values: Vec<Operand> = p.before.iter().chain(&p.after).cloned().collect();
            (!values.is_empty() && unreadable(body, &windows, at, &values).is_none()).then_some(at)
        });
        hashed.collect()
    };
    Hashable { loads: of(&[SiteClass::Load]), stores: of(&[SiteClass::Store, SiteClass::Atomic]) }
}

/// By point: whether level `events` can write the event that is asked for.
pub(crate) fn writable(body: &Body<'_>, points: &[Point], taken: &[bool]) -> Vec<bool> {
    let windows = WgmmaHazards::of(body);
    let readable = |p: &Point, at: InstId| {
        unreadable(body, &windows, at, event_at(body, p, at).value.as_slice()).is_none()
    };
    points.iter().zip(taken).map(|(p, taken)| *taken && p.at.is_none_or(|at| readable(p, at))).collect()
}

fn switch_guard(body: &Body<'_>, p: &Point, at: InstId) -> Option<Guard> {
    if p.class == SiteClass::Switch { body.inst(at).guard } else { None }
}

/// Where back edges of loops with parts of `among` are taken, and under which guard.
fn back_edges(body: &Body<'_>, graph: &Cfg, among: &[bool]) -> Vec<(At, Option<Guard>)> {
    let mut out = Vec::new();
    for l in graph.loops.iter().filter(|l| l.blocks.iter().any(|b| among[b.index()])) {
        for &latch in &l.latches {
            let part = &body.parts[latch.index()];
            let Some(last) = part.insts.clone().next_back().map(InstId).or(part.of) else { continue };
            let class = body.inst(last).class;
            let place = match class {
                Class::Branch | Class::Switch | Class::Return | Class::Exit => At::Before(last),
                _ => At::After(last),
            };
            let guard = match part.end {
                PartEnd::Branch { taken, other, .. } if taken == other => None,
                PartEnd::Branch { guard, taken, .. } if taken == l.header => Some(guard),
                PartEnd::Branch { guard, .. } => Some(Guard { reg: guard.reg, negate: !guard.negate }),
                _ => body.inst(last).guard.filter(|_| class == Class::Switch),
            };
            if !out.contains(&(place, guard)) {
                out.push((place, guard));
            }
        }
    }
    out
}
