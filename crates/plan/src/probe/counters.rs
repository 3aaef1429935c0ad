//! Turns probe insertions that only add known integers to known rows into counters.
//!
//! A *stretch* is a set of such insertions in one basic block with the same guard. Lanes that execute the
//! first of them execute all of them. One number, how often lanes came, therefore gives what every row gets.
//!
//! - Few rows: each row has a counter in a register ([`Action::Count`]). Rows that always grow in proportion
//!   share one.
//! - Many rows: stretches are counted instead. Those in the deepest loops, and some that a thread executes
//!   once, are counted in registers. The others are rows of a table behind the program's own tables.
//!   [`ProbeState::add_shares`] computes the program's rows from it when tables are read.
//!
//! Integers that are known only at run time are added in registers too, while there are registers
//! ([`Stmt::Tally`]).
//!
//! # Invariants
//!
//! - Each row gets what its clauses would have added.
//!
//! # Limitations
//!
//! - Stretches of several blocks are not joined, even where lanes always execute both.
//! - Sums of floats (their order matters), minima and maxima are not counted this way.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use prlx_isa::view::{BlockId, Class, FunctionKind, InstId, Reg};
use prlx_trace::device::tables::{Layout, Rows};
use prlx_trace::kernel::Scalar;
use prlx_trace::table::Aggregate;

use crate::function::body::{self, Body};
use crate::plan::{Action, At, Insertion};
use crate::probe::code::{Code, Op, Row, Stmt};
use crate::probe::state::{CountShare, Counter, PackedCounters, ProbeState};

/// Most counters that a thread keeps in registers: two registers each.
const COUNTERS: usize = 4;
/// And most besides of stretches that a thread comes to once: five in a register.
const ONCE: usize = 10;

/// What a table's row is added to.
type Target = (u32, u32);

/// A stretch of a block with places that only count.
struct Stretch {
    /// Loops that it is in.
    depth: u32,
    /// Its first place: function, and which of the function's insertions.
    first: (usize, usize),
    /// What is added, each time that a lane comes.
    adds: BTreeMap<Target, u64>,
}

/// Turns insertions that only add known numbers to known rows into counters.
pub(crate) fn count(insertions: &mut [Vec<Insertion>], bodies: &[&Body<'_>], kept: &mut ProbeState) {
    let all = insertions.iter().flatten().filter_map(|i| only_counts(i, kept)).flatten();
    let targets: BTreeSet<Target> = all.map(|(target, _)| target).collect();
    // What is inserted at one place keeps its order.
    insertions.iter_mut().for_each(|list| list.sort_by_key(|i| i.at.order()));
    let stretches = stretches(insertions, bodies, kept);
    let own = kept.tables.len();
    let classes = Classes::of(insertions, &stretches, kept);
    if classes.units.len() <= COUNTERS && classes.units.len() < targets.len() {
        alike(insertions, &stretches, &classes, kept);
    } else if targets.len() <= COUNTERS {
        rows(insertions, &stretches, &targets, kept);
    } else {
        blocks(insertions, stretches, bodies, kept);
    }
    tally(insertions, bodies, kept, own);
    pack(insertions, bodies, kept);
}

/// Counters that no thread adds much to share registers ([`PackedCounters`]): those that only places of
/// kernels add to that a thread comes to once at most.
fn pack(insertions: &mut [Vec<Insertion>], bodies: &[&Body<'_>], kept: &mut ProbeState) {
    let mut most: Vec<Option<u64>> = vec![Some(0); kept.counters.len()];
    for (list, body) in insertions.iter_mut().zip(bodies) {
        let again = again(body);
        // In this kernel.
        let mut here: Vec<Option<u64>> = vec![Some(0); most.len()];
        for insertion in list {
            let once = match insertion.at {
                At::Entry => true,
                At::Before(at) | At::After(at) => !again[body.inst(at).block.index()],
            };
            match &mut insertion.action {
                Action::Count { counter, add } => {
                    let all = &mut here[*counter as usize];
                    let kernel = body.function.kind == FunctionKind::Kernel;
                    *all = all.filter(|_| once && kernel).and_then(|sum| sum.checked_add(*add));
                }
                Action::Probe(code) => {
                    tallies(&mut Arc::make_mut(code).body, &mut |counter| here[*counter as usize] = None);
                }
                _ => {}
            }
        }
        for (most, here) in most.iter_mut().zip(here) {
            *most = most.zip(here).map(|(a, b)| a.max(b));
        }
    }
    let size = body::warp_size_of(bodies);
    let small = |n: usize| most[n].is_some_and(|most| most < 1 << PackedCounters::small(size));
    let (packed, others): (Vec<usize>, Vec<usize>) = (0..most.len()).partition(|n| small(*n));
    let widest = packed.iter().filter_map(|n| most[*n]).max().unwrap_or_default();
    let bits = 64 - (size.lanes() * widest.max(1)).leading_zeros();
    kept.packed = PackedCounters { counters: packed.len() as u32, bits };
    if packed.is_empty() {
        kept.packed = PackedCounters::default();
    }
    // They come first.
    let order = [packed, others].concat();
    let new =
        |old: &mut u32| *old = order.iter().position(|n| *n == *old as usize).unwrap_or_default() as u32;
    for insertion in insertions.iter_mut().flatten() {
        match &mut insertion.action {
            Action::Count { counter, .. } => new(counter),
            Action::Probe(code) => tallies(&mut Arc::make_mut(code).body, &mut |counter| new(counter)),
            _ => {}
        }
    }
    kept.counters = order.iter().map(|n| kept.counters[*n]).collect();
}

/// By block: whether a thread may come there more than once. There it goes back, over what lies between in
/// the text.
fn again(body: &Body<'_>) -> Vec<bool> {
    let blocks = &body.function.blocks;
    let mut again = vec![false; blocks.len()];
    for (from, block) in blocks.iter().enumerate() {
        for to in block.succs.iter().map(|b| b.index()).filter(|to| *to <= from) {
            again[to..=from].fill(true);
        }
    }
    again
}

/// Gives the counter of each [`Stmt::Tally`].
fn tallies(body: &mut [Stmt], give: &mut impl FnMut(&mut u32)) {
    for stmt in body {
        match stmt {
            Stmt::Tally { counter, .. } => give(counter),
            Stmt::If(_, then, other) => [then, other].into_iter().for_each(|body| tallies(body, give)),
            _ => {}
        }
    }
}

/// Sums of what is known only when the code runs, to rows that are: those in loops, the deepest first, have a
/// counter each, and others as long as there are few counters. `own`: how many tables the program has.
fn tally(insertions: &mut [Vec<Insertion>], bodies: &[&Body<'_>], kept: &mut ProbeState, own: usize) {
    let mut depths: BTreeMap<Target, u32> = BTreeMap::new();
    for (list, body) in insertions.iter_mut().zip(bodies) {
        for insertion in list {
            let depth = match insertion.at {
                At::Before(at) | At::After(at) => depth(body, body.part_of(at)),
                _ => 0,
            };
            sums(insertion, kept, own, &mut |target, _| {
                let deepest = depths.entry(target).or_default();
                *deepest = depth.max(*deepest);
            });
        }
    }
    let mut order: Vec<(Target, u32)> = depths.into_iter().collect();
    order.sort_by_key(|(target, depth)| (Reverse(*depth), *target));
    for (nth, (target, depth)) in order.into_iter().enumerate() {
        if counter(kept, target).is_none() && (kept.counters.len() < COUNTERS || depth > 0 && nth < COUNTERS)
        {
            kept.counters.push(Counter { table: target.0, row: target.1 });
        }
    }
    for insertion in insertions.iter_mut().flatten() {
        sums(insertion, kept, own, &mut |target, stmt| {
            if let (Some(counter), Stmt::Update { value, .. }) = (counter(kept, target), &*stmt) {
                // A count grows by 1, whatever is counted.
                let counts = kept.tables[target.0 as usize].aggregate == Aggregate::Count;
                *stmt = Stmt::Tally { counter, value: value.filter(|_| !counts) };
            }
        });
    }
}

/// The counter of a row, if it has one.
fn counter(kept: &ProbeState, target: Target) -> Option<u32> {
    kept.counters.iter().position(|c| (c.table, c.row) == target).map(|i| i as u32)
}

/// Gives each statement that adds an integer to a known row of the program's own tables.
fn sums(insertion: &mut Insertion, kept: &ProbeState, own: usize, give: &mut impl FnMut(Target, &mut Stmt)) {
    fn each(body: &mut [Stmt], give: &mut impl FnMut(&mut Stmt)) {
        for stmt in body {
            match stmt {
                Stmt::If(_, then, other) => [then, other].into_iter().for_each(|body| each(body, give)),
                stmt => give(stmt),
            }
        }
    }
    let Action::Probe(code) = &mut insertion.action else { return };
    each(&mut Arc::make_mut(code).body, &mut |stmt| {
        let Stmt::Update { table, row: Row::At(row), value } = stmt else { return };
        let Some(layout) = kept.tables[..own].get(*table as usize) else { return };
        let adds = match layout.aggregate {
            Aggregate::Count => true,
            Aggregate::Sum => value.is_some() && layout.ty != Scalar::F64,
            _ => false,
        };
        if adds {
            give((*table, *row), stmt);
        }
    });
}

/// The stretches of all functions, whose insertions are in order. Places under one guard are a stretch of
/// their own as long as nothing writes its register; those of no block are in none.
fn stretches(insertions: &[Vec<Insertion>], bodies: &[&Body<'_>], kept: &ProbeState) -> Vec<Stretch> {
    let mut all: Vec<Stretch> = Vec::new();
    for (function, (list, body)) in insertions.iter().zip(bodies).enumerate() {
        // By block, register and sign of the guard.
        let mut open: HashMap<(BlockId, Option<(Reg, bool)>), usize> = HashMap::new();
        let mut last = 0;
        for (nth, insertion) in list.iter().enumerate() {
            let Some(counts) = only_counts(insertion, kept) else { continue };
            let (at, end) = match insertion.at {
                At::Before(at) => (at, at.0),
                At::After(at) => (at, at.0 + 1),
                At::Entry => continue,
            };
            let block = body.inst(at).block;
            let first = body.function.blocks.get(block.index()).map_or(0, |b| b.insts.start);
            for i in (last.max(first)..end).map(InstId) {
                // A guarded way out, or a call, which may be one: lanes that come here are not all that came
                // before.
                if matches!(body.inst(i).class, Class::Exit | Class::Return | Class::Call) {
                    open.clear();
                }
                body.inst(i).for_each_reg(&mut |reg, _, written| {
                    if written {
                        open.retain(|(_, guard), _| guard.is_none_or(|guard| guard.0 != reg));
                    }
                });
            }
            last = end;
            let guard = insertion.guard.map(|g| (g.reg, g.negate));
            let stretch = *open.entry((block, guard)).or_insert_with(|| {
                all.push(Stretch {
                    depth: depth(body, body.part_of(at)),
                    first: (function, nth),
                    adds: BTreeMap::new(),
                });
                all.len() - 1
            });
            for (target, add) in counts {
                let sum = all[stretch].adds.entry(target).or_default();
                *sum = sum.wrapping_add(add);
            }
        }
    }
    all
}

/// Places, but for how often they add it, by what they add: of rows that grow together, one number says what
/// each of them gets.
struct Classes {
    /// Of each what is added, in numbers without a common factor.
    units: Vec<BTreeMap<Target, u64>>,
}

impl Classes {
    /// Those of all stretches, and of places that are in none.
    fn of(insertions: &[Vec<Insertion>], stretches: &[Stretch], kept: &ProbeState) -> Classes {
        let mut units: Vec<BTreeMap<Target, u64>> = Vec::new();
        let alone = insertions
            .iter()
            .flatten()
            .filter(|i| in_none(i))
            .filter_map(|i| only_counts(i, kept))
            .map(together);
        for adds in stretches.iter().map(|s| s.adds.clone()).chain(alone) {
            let (unit, _) = unit(&adds);
            if !units.contains(&unit) {
                units.push(unit);
            }
        }
        Classes { units }
    }
    /// Which one, and how often.
    fn count(&self, adds: &BTreeMap<Target, u64>) -> Vec<Action> {
        let (unit, times) = unit(adds);
        let class = self.units.iter().position(|u| *u == unit);
        class.map(|class| Action::Count { counter: class as u32, add: times }).into_iter().collect()
    }
}

/// What is added without a common factor, and that.
fn unit(adds: &BTreeMap<Target, u64>) -> (BTreeMap<Target, u64>, u64) {
    fn common(a: u64, b: u64) -> u64 {
        if b == 0 { a } else { common(b, a % b) }
    }
    let times = adds.values().copied().fold(0, common).max(1);
    (adds.iter().map(|(target, add)| (*target, add / times)).collect(), times)
}

/// What is added to each row in all.
fn together(counts: Vec<(Target, u64)>) -> BTreeMap<Target, u64> {
    let mut adds = BTreeMap::new();
    for (target, add) in counts {
        let sum: &mut u64 = adds.entry(target).or_default();
        *sum = sum.wrapping_add(add);
    }
    adds
}

/// Whether a place is in no stretch.
fn in_none(insertion: &Insertion) -> bool {
    insertion.at == At::Entry
}

/// Few classes: each has a counter, and rows are made of them when tables are read.
fn alike(insertions: &mut [Vec<Insertion>], stretches: &[Stretch], classes: &Classes, kept: &mut ProbeState) {
    let table = kept.tables.len() as u32;
    replace(
        insertions,
        stretches,
        kept,
        |stretch| classes.count(&stretches[stretch].adds),
        |adds| classes.count(adds),
    );
    kept.counters = (0..classes.units.len() as u32).map(|row| Counter { table, row }).collect();
    hide(classes.units.iter(), kept);
}

/// A table behind the program's own, of which each row says how often what `adds` has was added.
fn hide<'a>(adds: impl ExactSizeIterator<Item = &'a BTreeMap<Target, u64>>, kept: &mut ProbeState) {
    let keys = (0..adds.len() as u64).map(|row| vec![row]).collect();
    kept.tables.push(Layout { at: 0, rows: Rows::Known(keys), aggregate: Aggregate::Count, ty: Scalar::U64 });
    let shares = (0u32..).zip(adds).flat_map(|(stretch, adds)| {
        adds.iter().map(move |(&(table, row), &add)| CountShare { stretch, table, row, add })
    });
    kept.shares = shares.collect();
}

/// Few rows: each has a counter.
fn rows(
    insertions: &mut [Vec<Insertion>],
    stretches: &[Stretch],
    targets: &BTreeSet<Target>,
    kept: &mut ProbeState,
) {
    let number = |target: &Target| targets.iter().position(|t| t == target).unwrap_or_default() as u32;
    let counts = |adds: &BTreeMap<Target, u64>| -> Vec<Action> {
        adds.iter().map(|(target, add)| Action::Count { counter: number(target), add: *add }).collect()
    };
    replace(insertions, stretches, kept, |stretch| counts(&stretches[stretch].adds), counts);
    kept.counters = targets.iter().map(|&(table, row)| Counter { table, row }).collect();
}

/// Many rows: stretches are counted.
fn blocks(
    insertions: &mut [Vec<Insertion>],
    stretches: Vec<Stretch>,
    bodies: &[&Body<'_>],
    kept: &mut ProbeState,
) {
    if stretches.is_empty() {
        return;
    }
    let hidden = kept.tables.len() as u32;
    let mut deep: Vec<usize> = (0..stretches.len()).filter(|i| stretches[*i].depth > 0).collect();
    deep.sort_by_key(|i| (Reverse(stretches[*i].depth), *i));
    deep.truncate(COUNTERS);
    // Those that a thread comes to once take few bits.
    let again: Vec<Vec<bool>> = bodies.iter().map(|body| again(body)).collect();
    let once = |i: &usize| {
        let (function, nth) = stretches[*i].first;
        let (body, insertion) = (bodies[function], &insertions[function][nth]);
        let (At::Before(at) | At::After(at)) = insertion.at else { return false };
        body.function.kind == FunctionKind::Kernel && !again[function][body.inst(at).block.index()]
    };
    deep.extend((0..stretches.len()).filter(|i| stretches[*i].depth == 0).filter(once).take(ONCE));
    let counted = |stretch: usize| {
        vec![match deep.iter().position(|i| *i == stretch) {
            Some(counter) => Action::Count { counter: counter as u32, add: 1 },
            None => {
                let update = Stmt::Update { table: hidden, row: Row::At(stretch as u32), value: None };
                Action::Probe(Arc::new(Code { body: vec![update], ..Code::default() }))
            }
        }]
    };
    replace(insertions, &stretches, kept, counted, |_| Vec::new());
    kept.counters = deep.iter().map(|row| Counter { table: hidden, row: *row as u32 }).collect();
    hide(stretches.iter().map(|s| &s.adds), kept);
}

/// Replaces what only counts: a stretch's places by what `first` gives at the first of them, others by what
/// `alone` gives of them, unless that is nothing.
fn replace(
    insertions: &mut [Vec<Insertion>],
    stretches: &[Stretch],
    kept: &ProbeState,
    first: impl Fn(usize) -> Vec<Action>,
    alone: impl Fn(&BTreeMap<Target, u64>) -> Vec<Action>,
) {
    let firsts: HashMap<(usize, usize), usize> =
        stretches.iter().enumerate().map(|(i, s)| (s.first, i)).collect();
    for (function, list) in insertions.iter_mut().enumerate() {
        let mut out: Vec<Insertion> = Vec::with_capacity(list.len());
        for (nth, insertion) in std::mem::take(list).into_iter().enumerate() {
            let Some(counts) = only_counts(&insertion, kept) else {
                out.push(insertion);
                continue;
            };
            let actions = match firsts.get(&(function, nth)) {
                Some(stretch) => first(*stretch),
                None if !in_none(&insertion) => continue,
                None => {
                    let actions = alone(&together(counts));
                    if actions.is_empty() {
                        out.push(insertion);
                        continue;
                    }
                    actions
                }
            };
            out.extend(actions.into_iter().map(|action| Insertion { action, ..insertion.clone() }));
        }
        *list = out;
    }
}

/// If all that an insertion does is to add known integers to known rows: which, and how much.
fn only_counts(insertion: &Insertion, kept: &ProbeState) -> Option<Vec<(Target, u64)>> {
    let Action::Probe(code) = &insertion.action else { return None };
    let mut out = Vec::new();
    for stmt in &code.body {
        match stmt {
            Stmt::Set(_, Op::Const(_)) => {}
            Stmt::Update { table, row: Row::At(row), value } => {
                let layout = kept.tables.get(*table as usize)?;
                let add = match (layout.aggregate, value) {
                    (Aggregate::Count, _) => 1,
                    (Aggregate::Sum, Some(value)) if layout.ty != Scalar::F64 => {
                        constant(code, value.index())?
                    }
                    _ => return None,
                };
                out.push(((*table, *row), add));
            }
            _ => return None,
        }
    }
    (!out.is_empty()).then_some(out)
}

/// What a temporary is, if it is set once, to a constant.
fn constant(code: &Code, temp: usize) -> Option<u64> {
    let mut sets = code.body.iter().filter_map(|s| match s {
        Stmt::Set(to, op) if to.index() == temp => Some(op),
        _ => None,
    });
    match (sets.next(), sets.next()) {
        (Some(Op::Const(bits)), None) => Some(*bits),
        _ => None,
    }
}

/// How many loops a part is in.
fn depth(body: &Body<'_>, part: BlockId) -> u32 {
    let innermost = body.graph.innermost_loop(part);
    innermost.and_then(|l| body.graph.loops.get(l)).map_or(0, |l| l.depth)
}
