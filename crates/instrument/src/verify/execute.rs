//! Executes one inserted snippet and the model on one sample state, and compares the results.

use crate::verify::states::register_values;
use prlx_isa::view::{FunctionKind, Operand, Type};
use prlx_plan::{Action, Insertion, Plan, Word};
use prlx_trace::device::{Followers, low};
use prlx_trace::kernel::{Level, SiteClass};

use crate::error::Error;
use crate::verify::fault::wrong;
use crate::verify::function::{FunctionPair, Inputs, InsertedCode, translated};
use crate::verify::handover::exits;
use crate::verify::machine::{Machine, address, mix};
use crate::verify::model::lane::LaneModel;
use crate::verify::model::tables::{flush, probe};
use crate::verify::plan_facts::has_warp_reductions;
use crate::verify::states::{SampleState, Samples};

/// Executes one snippet and the model on one sample state. The plan has `pieces` there.
pub(super) fn execute(
    texts: &Inputs<'_>,
    f: &FunctionPair<'_>,
    tried: &Samples<'_>,
    pieces: &[&[&Insertion]],
    inserted: &InsertedCode,
    state: &SampleState,
) -> Result<(), Error> {
    let &SampleState { sample, seed, .. } = state;
    let (mut machine, mut lane) = (state.machine.clone(), state.lane.clone());
    // Guards are true in some samples and false in others.
    for (n, guard) in pieces.iter().copied().flatten().filter_map(|x| x.guard).enumerate() {
        machine.regs.insert(f.regs[guard.reg.index()], mix(seed ^ n as u64 ^ 0x5eed) & 1);
    }
    let holds = |snippet: &[&Insertion]| {
        let guard = snippet[0].guard.is_none_or(|g| {
            let reg = f.regs[g.reg.index()];
            (machine.regs.get(&reg).copied().unwrap_or_default() != 0) != g.negate
        });
        guard || matches!(snippet[0].action, Action::Begin | Action::Save | Action::Restore)
    };
    let held: Vec<bool> = pieces.iter().map(|snippet| holds(snippet)).collect();
    machine
        .run(texts.after, f.new, inserted.insts.clone())
        .map_err(|e| wrong(inserted.at, format!("{}: {e}", f.old.name)))?;
    for (snippet, _) in pieces.iter().zip(held).filter(|(_, holds)| *holds) {
        match events(texts, f, &machine, &lane, snippet) {
            rows if !rows.is_empty() => {
                // The leader of a switch event is one of the lanes that take its target.
                let of_all = matches!(snippet[0].action, Action::Event { of: None, .. });
                lane.events(if of_all { rows[0][1] } else { machine.mask }, &rows);
            }
            _ => snippet.iter().for_each(|one| apply(texts, f, &machine, &mut lane, one)),
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

/// Rows of events under one header, of a lane that is active and leads; empty if the snippet has no events.
fn events(
    texts: &Inputs<'_>,
    f: &FunctionPair<'_>,
    machine: &Machine,
    lane: &LaneModel,
    snippet: &[&Insertion],
) -> Vec<Vec<u64>> {
    let words: Option<Vec<[u64; 4]>> = snippet.iter().map(|i| event(texts, f, machine, lane, i)).collect();
    let mut words = words.unwrap_or_default().into_iter();
    let mut rows = Vec::new();
    for row in Plan::event_rows(snippet) {
        let Some([site, rest @ ..]) = words.next() else { break };
        rows.push([&[site | u64::from(row.more.map_or(0, Followers::tag))], &rest[..]].concat());
        if let Some(more) = row.more {
            rows.push(words.by_ref().take(more.count as usize).map(|[_, _, value, _]| value).collect());
        }
    }
    rows
}

/// Words of an event.
fn event(
    texts: &Inputs<'_>,
    f: &FunctionPair<'_>,
    machine: &Machine,
    lane: &LaneModel,
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
    let digests = has_warp_reductions(texts);
    let [site, mask, value, clock] =
        lane.event(site.0, &values, ballot, class == Some(SiteClass::Switch), digests);
    // A sample knows nothing about other lanes.
    Some(match of.map(|g| (machine.reg(f.new, f.regs[g.reg.index()]) & 1 != 0) != g.negate) {
        None => [site, mask, value, clock],
        Some(true) => [site, 1 << lane.lane, value, clock],
        Some(false) => [site, 0, 0, clock],
    })
}

/// Applies one action to the model.
fn apply(
    texts: &Inputs<'_>,
    f: &FunctionPair<'_>,
    machine: &Machine,
    lane: &mut LaneModel,
    insertion: &Insertion,
) {
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
            lane.vars = texts.plan.probe_state.vars.iter().map(|v| v.init).collect();
            lane.counters.fill(0);
            lane.saved.fill(0);
            lane.records = lane.own_records(&texts.plan.probe_state.records);
            if let Some(layout) = &texts.plan.probe_state.tracks {
                lane.begin_track(layout, machine);
            }
        }
        Action::Room { slots } => {
            if let Some(layout) = &texts.plan.probe_state.tracks {
                lane.make_room(layout, *slots, f.state(&format!("step{slots}")).is_some());
            }
        }
        Action::Anchor => {
            if let Some(layout) = &texts.plan.probe_state.tracks {
                lane.anchor(layout, machine);
            }
        }
        Action::Mark { mark, back, words: list } => {
            if let Some(layout) = &texts.plan.probe_state.tracks {
                lane.mark(layout, *mark, *back, &words(list));
            }
        }
        Action::Add { ends, begins, count } => lane.add(ends, begins, *count),
        Action::Span { end, begin } => {
            if let Some(layout) = &texts.plan.probe_state.tracks {
                let word = |w: &Word| words(std::slice::from_ref(w)).first().copied();
                lane.span(layout, *end, begin.as_ref().map(|b| (b.mark, b.word.as_ref().and_then(word))));
            }
        }
        Action::Group { values } => {
            if let Some(layout) = &texts.plan.probe_state.tracks {
                lane.group(layout, machine, &words(values));
            }
        }
        Action::Probe(code) => probe(texts, f, machine, lane, code),
        Action::Count { counter, add } => {
            let counter = &mut lane.counters[*counter as usize];
            *counter = counter.wrapping_add(*add);
        }
        Action::Begin => lane.begin_device(),
        Action::End { trap } => {
            if lane.kind == FunctionKind::Kernel || exits(f, insertion.at) {
                if texts.plan.request.level == Level::Probe && lane.context != 0 {
                    flush(lane, texts, machine);
                }
                if let Some(layout) = texts.plan.probe_state.tracks.as_ref().filter(|t| t.ends(*trap)) {
                    lane.end_track(layout, machine);
                }
                lane.end();
            }
        }
        Action::Save | Action::Restore => {}
        Action::StartCursor => lane.start_cursor(),
        Action::Reserve { bits } => lane.reserve(*bits),
        Action::Bits { reg, from, bits, into, .. } => {
            lane.bits(machine.reg(f.new, f.regs[reg.index()]) >> from, *bits, *into);
        }
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
        Action::ValueHash { values, bits, .. } => {
            let moved: Vec<u64> = scalars(values).into_iter().map(|v| low(v, *bits)).collect();
            lane.value_hash(&moved);
        }
        Action::FoldWord => lane.fold_word(),
        Action::Checkpoint { every } => lane.checkpoint(*every),
        Action::Event { .. } => {} // see `event`
        Action::Operands { site, counter, values } => {
            lane.operands(site.0, *counter as usize, &scalars(values))
        }
    }
}

/// The first difference between the machine and the model.
fn compare(
    texts: &Inputs<'_>,
    f: &FunctionPair<'_>,
    tried: &Samples<'_>,
    machine: &Machine,
    lane: &LaneModel,
) -> Result<(), String> {
    for ((name, reg), wanted) in tried.parts.iter().zip(register_values(texts, f, lane)) {
        if let Some(value) = reg.map(|r| machine.reg(f.new, r)).filter(|value| *value != wanted) {
            return Err(format!("{name} becomes {value:#x}, expected {wanted:#x}"));
        }
    }
    if !f.kernel() {
        let record = address(&format!("{}record", texts.prefix));
        let var = |name: &str| {
            name.strip_prefix("var").and_then(|i| texts.plan.probe_state.vars.get(i.parse::<usize>().ok()?))
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
            return Err(format!("visits in the record become {counted:?}, expected {wanted:?}"));
        }
    }
    match machine.global.differs(&lane.memory) {
        None => Ok(()),
        Some(at) => {
            let (is, wanted) = (machine.global.word(at), lane.memory.word(at));
            Err(format!("memory at {at:#x} becomes {is:#x}, expected {wanted:#x}"))
        }
    }
}
