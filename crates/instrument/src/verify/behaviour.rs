//! Invariant 7: every snippet does what the plan says, on sample states.

use std::collections::HashMap;

use prlx_isa::view::{Class, InstId, Space};
use prlx_plan::code::{Code, LaneQuery, Op, Stmt};
use prlx_plan::{Action, At, Insertion};
use prlx_trace::device::tables::{Part, Which};
use prlx_trace::kernel::Level;

use crate::error::Error;
use crate::verify::execute::execute;
use crate::verify::fault::wrong;
use crate::verify::function::{FunctionPair, Inputs, InsertedCode, calls_recorded};
use crate::verify::handover::{check_handover, handed_over};
use crate::verify::states::Sample::{Filtered, Fresh, NoContext, Room, Whole};
use crate::verify::states::{RECORDS_WHOLE, SampleState, Samples};

/// Checks all snippets of a function. `places` has the possible positions of each snippet, in order.
pub(super) fn check_behaviour(
    texts: &Inputs<'_>,
    f: &FunctionPair<'_>,
    layout: &HashMap<String, i64>,
    places: &[(At, InsertedCode)],
) -> Result<(), Error> {
    let mut expected: HashMap<At, Vec<&Insertion>> = HashMap::new();
    if f.recorded {
        let insertions = || texts.plan.functions[f.index].insertions.iter();
        for insertion in insertions().filter(|i| insertion_place(f, i) != i.at) {
            expected.entry(insertion_place(f, insertion)).or_default().push(insertion);
        }
        for insertion in insertions().filter(|i| insertion_place(f, i) == i.at) {
            expected.entry(insertion.at).or_default().push(insertion);
        }
    }
    let mut works: Vec<Placement<'_>> = Vec::new();
    let mut i = 0;
    while i < places.len() {
        let (first, inserted) = (i, &places[i].1);
        let mut here: Vec<&Insertion> = Vec::new();
        let mut call = false;
        while i < places.len() && places[i].1.at == inserted.at {
            let at = places[i].0;
            here.extend(expected.remove(&at).unwrap_or_default());
            if let At::Before(id) = at {
                call |= calls_recorded(texts, &f.old.insts[id.index()]);
            }
            i += 1;
        }
        if here.is_empty() && !call {
            return Err(wrong(inserted.at, format!("{}: the plan has nothing here", f.old.name)));
        }
        check_handover(f, &here, inserted)?;
        works.push(Placement { here, inserted, places: &places[first..i] });
    }
    check_all(texts, f, &Samples::of(texts, f, layout), &works)?;
    let missing = expected.into_iter().filter(|(_, list)| list.iter().any(|x| has_effect(texts, f, x)));
    if let Some((at, list)) = missing.min_by_key(|(at, _)| *at) {
        let message =
            format!("{}: nothing was inserted {at:?}, where the plan has {:?}", f.old.name, list[0].action);
        return Err(wrong(f.new.body.start as usize, message));
    }
    Ok(())
}

/// A snippet, and the plan's insertions at its position.
struct Placement<'a> {
    here: Vec<&'a Insertion>,
    /// Its possible positions.
    places: &'a [(At, InsertedCode)],
    inserted: &'a InsertedCode,
}

/// Number of snippets that justify a thread, and maximum number of threads.
const SHARE: usize = 16;

const THREADS: usize = 8;

/// Checks all snippets of a function, in parallel if there are many. Returns the first fault in their order.
fn check_all(
    texts: &Inputs<'_>,
    f: &FunctionPair<'_>,
    tried: &Samples<'_>,
    works: &[Placement<'_>],
) -> Result<(), Error> {
    let some = |works: &[Placement<'_>]| works.iter().try_for_each(|work| check_one(texts, f, tried, work));
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
            // If a thread could not be started or has died, its share is checked here.
            let result = thread.ok().and_then(|t| t.join().ok());
            so_far.and_then(|()| result.unwrap_or_else(|| some(share)))
        })
    })
}

/// Checks the rules for one snippet, then executes it on all states that matter to it.
fn check_one(
    texts: &Inputs<'_>,
    f: &FunctionPair<'_>,
    tried: &Samples<'_>,
    work: &Placement<'_>,
) -> Result<(), Error> {
    work.places.iter().try_for_each(|(place, inserted)| f.rules(*place, inserted))?;
    if !f.recorded {
        return Ok(());
    }
    // Code that accesses no memory does not depend on the cursor.
    let insts = &f.new.insts[work.inserted.insts.clone()];
    let writes = insts.iter().any(|i| i.space == Space::Global);
    let probe = texts.plan.request.level == Level::Probe;
    let pieces: Vec<&[&Insertion]> = texts.plan.event_groups(&work.here).collect();
    let alike = |i: &&Insertion| match &i.action {
        Action::Probe(code) => saves(texts, code),
        Action::End { .. } => texts.plan.probe_state.tracks.is_none(),
        _ => false,
    };
    let alike = probe && work.here.iter().all(alike);
    let ends = work.here.iter().any(|i| matches!(i.action, Action::End { .. }));
    let wanted = |state: &&SampleState| match state.sample {
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

/// Whether a program does nothing with other lanes except save records that are not in a log.
fn saves(texts: &Inputs<'_>, code: &Code) -> bool {
    let parts = &texts.plan.probe_state.records.parts;
    code.body.iter().all(|stmt| match stmt {
        Stmt::Set(_, op) => !matches!(
            op,
            Op::Query(LaneQuery::Active | LaneQuery::Leader)
                | Op::Ballot(_)
                | Op::Same(_)
                | Op::Reduce(..)
                | Op::Get(_)
        ),
        Stmt::Save { record, .. } => parts.get(*record as usize).is_some_and(|p| p.which != Which::Room),
        _ => false,
    })
}

/// Position of an insertion's text. Insertions that are not part of a call precede the stores of its
/// arguments, or follow the loads of its results.
fn insertion_place(f: &FunctionPair<'_>, insertion: &Insertion) -> At {
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

fn has_effect(texts: &Inputs<'_>, f: &FunctionPair<'_>, insertion: &Insertion) -> bool {
    match (&insertion.action, insertion.at) {
        (Action::Save | Action::Restore, At::Before(id) | At::After(id)) => {
            calls_recorded(texts, &f.old.insts[id.index()]) && !handed_over(texts.plan, true).is_empty()
        }
        (Action::Fold { values, .. }, _) => !values.is_empty(),
        (Action::Reserve { bits }, _) => *bits > 0,
        // Without variables and counters nothing begins or ends.
        (Action::Begin, _) if texts.plan.request.level == Level::Probe && f.kernel() => {
            let kept = &texts.plan.probe_state;
            let numbered = kept.records.parts.iter().any(Part::numbered);
            !kept.counters.is_empty() || kept.tracks.is_some() || !kept.vars.is_empty() || numbered
        }
        (Action::End { trap }, _) if texts.plan.request.level == Level::Probe => {
            let kept = &texts.plan.probe_state;
            !kept.counters.is_empty() || kept.tracks.as_ref().is_some_and(|t| t.ends(*trap))
        }
        (Action::End { .. }, _) => !f.idle || texts.plan.request.level == Level::Fingerprint,
        // An idle kernel at level `events` keeps only a cursor that never moves.
        (Action::Begin, _) => !f.idle || texts.plan.request.level != Level::Events,
        _ => true,
    }
}
