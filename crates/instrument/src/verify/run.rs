//! Invariant 7: every piece does what the plan says, on sample states.

use std::collections::HashMap;

use prlx_isa::view::{Class, FunctionKind, InstId, Operand, Reg, Role, Space, Type};
use prlx_plan::code::{Ask, Code, Op, Stmt};
use prlx_plan::{Action, At, Insertion, Plan, Word};
use prlx_trace::device::tables::{Part, Which};
use prlx_trace::device::{Followers, low};
use prlx_trace::kernel::{Level, SiteClass};

use super::check::{Checked, Inserted, Texts, calls_recorded};
use super::machine::{Machine, address, mix};
use super::model::Lane;
use super::sample::Sample::{Filtered, Fresh, NoContext, Room, Whole};
use super::sample::{RECORDS_WHOLE, State, Tried, held};
use super::wrong;
use crate::error::Error;

/// Checks all pieces of a function; `places` are the same piece's possible places, in order.
pub(super) fn run(
    texts: &Texts<'_>,
    f: &Checked<'_>,
    layout: &HashMap<String, i64>,
    places: &[(At, Inserted)],
) -> Result<(), Error> {
    let mut expected: HashMap<At, Vec<&Insertion>> = HashMap::new();
    if f.recorded {
        let insertions = || texts.plan.functions[f.index].insertions.iter();
        for insertion in insertions().filter(|i| effective(f, i) != i.at) {
            expected.entry(effective(f, insertion)).or_default().push(insertion);
        }
        for insertion in insertions().filter(|i| effective(f, i) == i.at) {
            expected.entry(insertion.at).or_default().push(insertion);
        }
    }
    let mut works: Vec<Work<'_>> = Vec::new();
    let mut i = 0;
    while i < places.len() {
        let (first, inserted) = (i, &places[i].1);
        let mut here: Vec<&Insertion> = Vec::new();
        let mut call = false;
        while i < places.len() && places[i].1.at == inserted.at {
            let at = places[i].0;
            here.extend(expected.remove(&at).unwrap_or_default());
            if let At::Before(id) = at {
                call |= calls_recorded(texts, texts.module, &f.old.insts[id.index()]);
            }
            i += 1;
        }
        if here.is_empty() && !call {
            return Err(wrong(inserted.at, format!("{}: the plan has nothing here", f.old.name)));
        }
        state_moves(f, &here, inserted)?;
        works.push(Work { here, inserted, places: &places[first..i] });
    }
    try_all(texts, f, &Tried::of(texts, f, layout), &works)?;
    let missing = expected.into_iter().filter(|(_, list)| list.iter().any(|x| has_effect(texts, f, x)));
    if let Some((at, list)) = missing.min_by_key(|(at, _)| *at) {
        let message =
            format!("{}: nothing was inserted {at:?}, where the plan has {:?}", f.old.name, list[0].action);
        return Err(wrong(f.new.body.start as usize, message));
    }
    Ok(())
}

/// A piece, and what the plan has at its place.
struct Work<'a> {
    here: Vec<&'a Insertion>,
    /// Where it may stand.
    places: &'a [(At, Inserted)],
    inserted: &'a Inserted,
}

/// So many pieces are worth a thread, and most threads.
const SHARE: usize = 16;
const THREADS: usize = 8;

/// Tries all pieces of a function, several at a time if there are many and there are processors for it; the first fault, in their order.
fn try_all(texts: &Texts<'_>, f: &Checked<'_>, tried: &Tried<'_>, works: &[Work<'_>]) -> Result<(), Error> {
    let some = |works: &[Work<'_>]| works.iter().try_for_each(|work| try_one(texts, f, tried, work));
    let most = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS);
    let threads = (works.len() / SHARE).clamp(1, most);
    let mut shares = works.chunks(works.len().div_ceil(threads).max(1));
    let own = shares.next().unwrap_or_default();
    std::thread::scope(|scope| {
        let others: Vec<_> = shares
            .map(|share| (share, std::thread::Builder::new().spawn_scoped(scope, move || some(share))))
            .collect();
        let first = some(own);
        others.into_iter().fold(first, |so_far, (share, thread)| {
            // Where there are no threads to be had, or one has died, its share is tried here.
            let result = thread.ok().and_then(|t| t.join().ok());
            so_far.and_then(|()| result.unwrap_or_else(|| some(share)))
        })
    })
}

/// Holds one piece to the rules, and tries it on all states that matter to it.
fn try_one(texts: &Texts<'_>, f: &Checked<'_>, tried: &Tried<'_>, work: &Work<'_>) -> Result<(), Error> {
    work.places.iter().try_for_each(|(place, inserted)| f.rules(*place, inserted))?;
    if !f.recorded {
        return Ok(());
    }
    // Code that reaches no memory does not care where the cursor is.
    let insts = &f.new.insts[work.inserted.insts.clone()];
    let writes = insts.iter().any(|i| i.space == Space::Global);
    let probe = texts.plan.request.level == Level::Probe;
    let pieces: Vec<&[&Insertion]> = texts.plan.pieces(&work.here).collect();
    let alike = |i: &&Insertion| match &i.action {
        Action::Probe(code) => saves(texts, code),
        Action::End { .. } => texts.plan.kept.tracks.is_none(),
        _ => false,
    };
    let alike = probe && work.here.iter().all(alike);
    let ends = work.here.iter().any(|i| matches!(i.action, Action::End { .. }));
    let wanted = |state: &&State| match state.sample {
        Whole if probe => alike && (ends || state.seed < RECORDS_WHOLE),
        _ if probe => true,
        sample if f.idle => matches!(sample, Whole | Fresh | NoContext | Filtered),
        sample => writes || sample == Room,
    };
    tried
        .states
        .iter()
        .filter(wanted)
        .try_for_each(|state| execute(texts, f, tried, &pieces, work.inserted, state))
}

/// Whether all that a code does with lanes is to save records, not in a log.
fn saves(texts: &Texts<'_>, code: &Code) -> bool {
    let parts = &texts.plan.kept.records.parts;
    code.body.iter().all(|stmt| match stmt {
        Stmt::Set(_, op) => !matches!(
            op,
            Op::Ask(Ask::Active | Ask::Leader) | Op::Ballot(_) | Op::Same(_) | Op::Reduce(..) | Op::Get(_)
        ),
        Stmt::Save { record, .. } => parts.get(*record as usize).is_some_and(|p| p.which != Which::Room),
        _ => false,
    })
}

/// Where an insertion's text stands: what is not part of a call goes before the stores of its arguments, or after the
/// loads of its results.
fn effective(f: &Checked<'_>, insertion: &Insertion) -> At {
    let (At::Before(id) | At::After(id)) = insertion.at else { return insertion.at };
    let insts = &f.old.insts;
    let mut at = id.index();
    if insts[at].class != Class::Call || matches!(insertion.action, Action::Save | Action::Restore) {
        return insertion.at;
    }
    let block = f.old.blocks[insts[at].block.index()].insts.clone();
    let moves = |i: usize, class| insts[i].class == class && insts[i].space == Space::Param;
    if matches!(insertion.at, At::Before(_)) {
        while at > block.start as usize && moves(at - 1, Class::Store) {
            at -= 1;
        }
        return At::Before(InstId(at as u32));
    }
    while at + 1 < block.end as usize && moves(at + 1, Class::Load) {
        at += 1;
    }
    At::After(InstId(at as u32))
}

fn has_effect(texts: &Texts<'_>, f: &Checked<'_>, insertion: &Insertion) -> bool {
    match (&insertion.action, insertion.at) {
        (Action::Save | Action::Restore, At::Before(id) | At::After(id)) => {
            calls_recorded(texts, texts.module, &f.old.insts[id.index()])
                && !handed(texts.plan, true).is_empty()
        }
        (Action::Fold { values, .. }, _) => !values.is_empty(),
        (Action::Reserve { bits }, _) => *bits > 0,
        // Without variables and counters there is nothing to begin or to end with.
        (Action::Begin, _) if texts.plan.request.level == Level::Probe && f.kernel() => {
            let kept = &texts.plan.kept;
            let numbered = kept.records.parts.iter().any(Part::numbered);
            !kept.counters.is_empty() || kept.tracks.is_some() || !kept.vars.is_empty() || numbered
        }
        (Action::End { trap }, _) if texts.plan.request.level == Level::Probe => {
            let kept = &texts.plan.kept;
            !kept.counters.is_empty() || kept.tracks.as_ref().is_some_and(|t| t.ends(*trap))
        }
        (Action::End { .. }, _) => !f.idle || texts.plan.request.level == Level::Fingerprint,
        // All that an idle kernel keeps at level `events` is a cursor that nothing moves.
        (Action::Begin, _) => !f.idle || texts.plan.request.level != Level::Events,
        _ => true,
    }
}

/// Whether a place is right before the lane ends, and not the function.
fn exits(f: &Checked<'_>, at: At) -> bool {
    matches!(at, At::Before(id) if f.old.insts[id.index()].class == Class::Exit)
}

/// What a callee has to get, and gives back.
fn handed(plan: &Plan, back: bool) -> Vec<String> {
    let names: &[&str] = match (plan.request.level, back) {
        (Level::Path, _) => &["cursor", "word"],
        (Level::Fingerprint, _) => &["cursor", "hash0", "hash1", "hash2", "hash3", "edges"],
        (Level::Events, _) | (Level::Operands, true) => &["cursor"],
        (Level::Operands, false) => &["cursor", "first", "span"],
        (Level::Probe, _) => {
            let vars = (0..plan.kept.vars.len()).map(|i| format!("var{i}"));
            let packed = plan.kept.packed;
            let counters =
                (packed.counters as usize..plan.kept.counters.len()).map(|i| format!("counter{i}"));
            let counters = counters.chain((0..packed.words()).map(|i| format!("packed{i}")));
            let numbered = || plan.kept.records.parts.iter().enumerate().filter(|(_, part)| part.numbered());
            let counters = counters.chain(numbered().map(|(i, _)| format!("saved{i}")));
            let counters = counters.chain(numbered().take(usize::from(!back)).map(|_| "records".to_owned()));
            let ring = plan.kept.tracks.as_ref().is_some_and(|t| t.ring().is_some());
            let anchors = plan.kept.tracks.as_ref().is_some_and(|t| t.apart > 0);
            let track: &[&str] = match (ring, anchors) {
                (true, _) => &["at", "limit", "turn", "who"],
                (_, true) => &["at", "limit", "next"],
                _ => &["at", "limit"],
            };
            let track = track.iter().filter(|_| plan.kept.tracks.is_some());
            let sums = (0..plan.kept.tracks.as_ref().map_or(0, |t| t.words)).map(|i| format!("sum{i}"));
            return vars.chain(counters).chain(track.map(|n| (*n).to_owned())).chain(sums).collect();
        }
    };
    names.iter().map(|n| (*n).to_owned()).collect()
}

/// Actions that hand state over move all of it.
fn state_moves(f: &Checked<'_>, here: &[&Insertion], inserted: &Inserted) -> Result<(), Error> {
    for insertion in here {
        let (load, back) = match (&insertion.action, insertion.at) {
            (Action::Save, _) => (false, false),
            (Action::Restore, _) => (true, true),
            (Action::Begin, _) if !f.kernel() => (true, false),
            (Action::End { .. }, at) if !f.kernel() && !exits(f, at) => (false, true),
            _ => continue,
        };
        let called = match insertion.at {
            At::Before(id) | At::After(id) => {
                calls_recorded(f.texts, f.texts.module, &f.old.insts[id.index()])
            }
            At::Entry => true,
        };
        if !called && matches!(insertion.action, Action::Save | Action::Restore) {
            continue;
        }
        for name in handed(f.texts.plan, back) {
            let reg = f.state(&name);
            let moved = f.new.insts[inserted.insts.clone()].iter().any(|inst| {
                let class = if load { Class::Load } else { Class::Store };
                let data = if load { 0 } else { 1 };
                inst.space == Space::Local
                    && inst.class == class
                    && reg.is_some_and(|r| inst.operands.get(data) == Some(&Operand::Reg(r)))
            });
            if !moved {
                return Err(wrong(inserted.at, format!("{}: {name} is not handed on", f.old.name)));
            }
        }
    }
    Ok(())
}

/// Where the record keeps which state: all of the module has to agree.
pub(super) fn layout(texts: &Texts<'_>) -> Result<HashMap<String, i64>, Error> {
    let mut layout: HashMap<String, i64> = HashMap::new();
    let handed = handed(texts.plan, false);
    for function in &texts.after.functions {
        for inst in function.insts.iter().filter(|i| i.space == Space::Local) {
            let data =
                inst.operands.iter().zip(&inst.roles).find(|(_, role)| **role != Role::Addr).map(|(o, _)| o);
            let at = inst
                .operands
                .iter()
                .find_map(|o| if let Operand::Address(_, n) = o { Some(*n) } else { None });
            let (Some(Operand::Reg(r)), Some(at)) = (data, at) else { continue };
            let name = &function.regs[r.index()].name;
            let Some(name) = name.strip_prefix('%').and_then(|n| n.strip_prefix(texts.prefix)) else {
                continue;
            };
            let state = name == "context" || handed.iter().any(|h| h == name);
            if state && *layout.entry(name.to_owned()).or_insert(at) != at {
                let message = format!("{}: {name} is not where others look for it", function.name);
                return Err(wrong(inst.span.start as usize, message));
            }
        }
    }
    let mut seen: Vec<i64> = layout.values().copied().collect();
    seen.sort_unstable();
    match seen.windows(2).any(|w| w[0] == w[1]) {
        true => Err(wrong(0, "two parts of the state share a place in the record")),
        false => Ok(layout),
    }
}

/// Runs one piece and the model on one sample; the plan has `pieces` there.
fn execute(
    texts: &Texts<'_>,
    f: &Checked<'_>,
    tried: &Tried<'_>,
    pieces: &[&[&Insertion]],
    inserted: &Inserted,
    state: &State,
) -> Result<(), Error> {
    let &State { sample, seed, .. } = state;
    let (mut machine, mut lane) = (state.machine.clone(), state.lane.clone());
    // Guards hold in some samples and not in others.
    for (n, guard) in pieces.iter().copied().flatten().filter_map(|x| x.guard).enumerate() {
        machine.regs.insert(f.regs[guard.reg.index()], mix(seed ^ n as u64 ^ 0x5eed) & 1);
    }
    let holds = |piece: &[&Insertion]| {
        let guard = piece[0].guard.is_none_or(|g| {
            let reg = f.regs[g.reg.index()];
            (machine.regs.get(&reg).copied().unwrap_or_default() != 0) != g.negate
        });
        guard || matches!(piece[0].action, Action::Begin | Action::Save | Action::Restore)
    };
    let held: Vec<bool> = pieces.iter().map(|piece| holds(piece)).collect();
    machine
        .run(texts.after, f.new, inserted.insts.clone())
        .map_err(|e| wrong(inserted.at, format!("{}: {e}", f.old.name)))?;
    for (piece, _) in pieces.iter().zip(held).filter(|(_, holds)| *holds) {
        match events(texts, f, &machine, &lane, piece) {
            rows if !rows.is_empty() => {
                // Who leads a switch's is one of those that go its way.
                let of_all = matches!(piece[0].action, Action::Event { of: None, .. });
                lane.events(if of_all { rows[0][1] } else { u64::from(machine.mask) }, &rows);
            }
            _ => piece.iter().for_each(|one| apply(texts, f, &machine, &mut lane, one)),
        }
    }
    compare(texts, f, tried, &machine, &lane).map_err(|what| {
        let actions: Vec<String> =
            pieces.iter().copied().flatten().map(|x| format!("{:?}", x.action)).collect();
        let message = format!(
            "{}: {what}, where the plan has {} (sample {sample:?}, {seed})",
            f.old.name,
            actions.join(", ")
        );
        wrong(inserted.at, message)
    })
}

/// The rows of events under one head, of a lane that is there and leads; none if that is no such piece.
fn events(
    texts: &Texts<'_>,
    f: &Checked<'_>,
    machine: &Machine,
    lane: &Lane,
    piece: &[&Insertion],
) -> Vec<Vec<u64>> {
    let words: Option<Vec<[u64; 4]>> = piece.iter().map(|i| event(texts, f, machine, lane, i)).collect();
    let mut words = words.unwrap_or_default().into_iter();
    let mut rows = Vec::new();
    for row in Plan::rows(piece) {
        let Some([site, rest @ ..]) = words.next() else { break };
        rows.push([&[site | u64::from(row.more.map_or(0, Followers::tag))], &rest[..]].concat());
        if let Some(more) = row.more {
            rows.push(words.by_ref().take(more.count as usize).map(|[_, _, value, _]| value).collect());
        }
    }
    rows
}

/// The words of an event.
fn event(
    texts: &Texts<'_>,
    f: &Checked<'_>,
    machine: &Machine,
    lane: &Lane,
    i: &Insertion,
) -> Option<[u64; 4]> {
    let Action::Event { site, of, value, bits } = &i.action else { return None };
    let values = value.iter().filter_map(|o| machine.values(texts.after, f.new, &translated(f, o)));
    let values: Vec<u64> = values.flatten().map(|v| low(v, *bits)).collect();
    let ballot = match value {
        Some(Operand::Reg(r)) => f.old.regs[r.index()].ty == Type::Pred,
        Some(Operand::Not(_)) => true,
        _ => false,
    };
    let class = texts.plan.module.sites.get(site.index()).map(|s| s.class);
    let digests = super::tables::together(texts);
    let [site, mask, value, clock] =
        lane.event(site.0, &values, ballot, class == Some(SiteClass::Switch), digests);
    // Of what other lanes have, a sample knows nothing.
    Some(match of.map(|g| (machine.reg(f.new, f.regs[g.reg.index()]) & 1 != 0) != g.negate) {
        None => [site, mask, value, clock],
        Some(true) => [site, 1 << lane.lane, value, clock],
        Some(false) => [site, 0, 0, clock],
    })
}

/// One action on the model.
fn apply(texts: &Texts<'_>, f: &Checked<'_>, machine: &Machine, lane: &mut Lane, insertion: &Insertion) {
    let scalars = |operands: &[Operand]| -> Vec<u64> {
        let all = operands.iter().filter_map(|o| machine.values(texts.after, f.new, &translated(f, o)));
        all.flatten().collect()
    };
    let words = |words: &[Word]| -> Vec<u32> {
        let value = |w: &Word| scalars(std::slice::from_ref(&w.of)).first().copied().unwrap_or(0);
        words.iter().map(|w| (value(w) as u32).wrapping_add(w.add as u32)).collect()
    };
    match &insertion.action {
        Action::Begin if f.kernel() => {
            lane.begin();
            lane.vars = texts.plan.kept.vars.iter().map(|v| v.init).collect();
            lane.counters.fill(0);
            lane.saved.fill(0);
            lane.records = lane.own_records(&texts.plan.kept.records);
            if let Some(layout) = &texts.plan.kept.tracks {
                lane.begin_track(layout, machine);
            }
        }
        Action::Room { slots } => {
            if let Some(layout) = &texts.plan.kept.tracks {
                lane.make_room(layout, *slots, f.state(&format!("step{slots}")).is_some());
            }
        }
        Action::Anchor => {
            if let Some(layout) = &texts.plan.kept.tracks {
                lane.anchor(layout, machine);
            }
        }
        Action::Mark { mark, back, words: list } => {
            if let Some(layout) = &texts.plan.kept.tracks {
                lane.mark(layout, *mark, *back, &words(list));
            }
        }
        Action::Add { ends, begins, count } => lane.add(ends, begins, *count),
        Action::Span { end, begin } => {
            if let Some(layout) = &texts.plan.kept.tracks {
                let word = |w: &Word| words(std::slice::from_ref(w)).first().copied();
                lane.span(layout, *end, begin.as_ref().map(|b| (b.mark, b.word.as_ref().and_then(word))));
            }
        }
        Action::Group { values } => {
            if let Some(layout) = &texts.plan.kept.tracks {
                lane.group(layout, machine, &words(values));
            }
        }
        Action::Probe(code) => super::tables::probe(texts, f, machine, lane, code),
        Action::Count { counter, add } => {
            let counter = &mut lane.counters[*counter as usize];
            *counter = counter.wrapping_add(*add);
        }
        Action::Begin => lane.begin_device(),
        Action::End { trap } => {
            if lane.kind == FunctionKind::Kernel || exits(f, insertion.at) {
                if texts.plan.request.level == Level::Probe && lane.context != 0 {
                    super::tables::flush(lane, texts, machine);
                }
                if let Some(layout) = texts.plan.kept.tracks.as_ref().filter(|t| t.ends(*trap)) {
                    lane.end_track(layout, machine);
                }
                lane.end();
            }
        }
        Action::Save | Action::Restore => {}
        Action::Reserve { bits } => lane.reserve(*bits),
        Action::Bits { reg, bits, .. } => lane.bits(machine.reg(f.new, f.regs[reg.index()]), *bits),
        Action::TripBegin { counter } => lane.trip_begin(*counter as usize),
        Action::TripAdd { counter } => lane.trip_add(*counter as usize),
        Action::TripEnd { counter, room } => lane.trip_end(*counter as usize, *room),
        Action::TripEvent { counter, site } => lane.trip_event(*counter as usize, site.0),
        Action::TripRead { counter, reg, less } => {
            let own = machine.reg(f.new, f.regs[reg.index()]) as u32;
            lane.trip_read(*counter as usize, own.wrapping_sub(*less));
        }
        Action::TripFold { counter } => lane.trip_fold(*counter as usize),
        Action::Fold { into, values, bits, .. } => {
            let moved: Vec<u64> = scalars(values).into_iter().map(|v| low(v, *bits)).collect();
            lane.fold(*into, &moved);
        }
        Action::Checkpoint { every } => lane.checkpoint(*every),
        Action::Event { .. } => {} // see `event`
        Action::Operands { site, counter, values } => {
            lane.operands(site.0, *counter as usize, &scalars(values))
        }
    }
}

/// An operand of the original in the registers and symbols of the rewritten function.
pub(super) fn translated(f: &Checked<'_>, operand: &Operand) -> Operand {
    let reg = |r: Reg| f.regs[r.index()];
    match operand {
        Operand::Reg(r) => Operand::Reg(reg(*r)),
        Operand::Not(r) => Operand::Not(reg(*r)),
        Operand::Element(r, i) => Operand::Element(reg(*r), *i),
        Operand::Vector(parts) => Operand::Vector(parts.iter().map(|p| translated(f, p)).collect()),
        Operand::Pair(a, b) => Operand::Pair(Box::new(translated(f, a)), Box::new(translated(f, b))),
        Operand::Symbol(id, offset) => {
            let name = f.texts.module.symbols.get(id.index()).map(|s| &s.name);
            let new = f.texts.after.symbols.iter().position(|s| Some(&s.name) == name).unwrap_or(usize::MAX);
            Operand::Symbol(prlx_isa::view::SymbolId(new as u32), *offset)
        }
        other => other.clone(),
    }
}

/// The first difference between what ran and what was meant.
fn compare(
    texts: &Texts<'_>,
    f: &Checked<'_>,
    tried: &Tried<'_>,
    machine: &Machine,
    lane: &Lane,
) -> Result<(), String> {
    for ((name, reg), wanted) in tried.parts.iter().zip(held(texts, f, lane)) {
        if let Some(value) = reg.map(|r| machine.reg(f.new, r)).filter(|value| *value != wanted) {
            return Err(format!("{name} becomes {value:#x} and not {wanted:#x}"));
        }
    }
    if !f.kernel() {
        let record = address(&format!("{}record", texts.prefix));
        let var = |name: &str| {
            name.strip_prefix("var").and_then(|i| texts.plan.kept.vars.get(i.parse::<usize>().ok()?))
        };
        let small = |name: &str| {
            let small =
                matches!(name, "word" | "edges" | "first" | "span" | "limit" | "next" | "turn" | "who");
            small
                || ["sum", "saved", "packed"].iter().any(|of| name.starts_with(of))
                || var(name).is_some_and(|v| v.ty.bits() < 64)
        };
        let known: Vec<u64> = tried
            .layout
            .iter()
            .flat_map(|(name, at)| {
                (0..if small(name) { 1 } else { 2 }).map(|n| record.wrapping_add_signed(*at) + 4 * n)
            })
            .collect();
        let mut counted: Vec<u32> =
            machine.local.words().filter(|(at, n)| !known.contains(at) && *n != 0).map(|(_, n)| n).collect();
        let mut wanted: Vec<u32> = lane.visits.iter().copied().filter(|n| *n != 0).collect();
        counted.sort_unstable();
        wanted.sort_unstable();
        if counted != wanted {
            return Err(format!("visits in the record become {counted:?} and not {wanted:?}"));
        }
    }
    match machine.global.differs(&lane.memory) {
        None => Ok(()),
        Some(at) => {
            let (is, wanted) = (machine.global.word(at), lane.memory.word(at));
            Err(format!("memory at {at:#x} becomes {is:#x} and not {wanted:#x}"))
        }
    }
}
