//! A probe program meets a module: every clause at every place of its tracepoints becomes an insertion.
//!
//! File by file: `places` finds where a tracepoint lands, `facts` says what is known there, `express` makes the [`Code`], `tables`
//! gathers what tables hold over all places. What only counts is made cheap here: where a clause adds a number to a row and
//! both are known, it becomes an addition to a counter in a register ([`Action::Count`]), and additions of one block become one.
//!
//! Holds: a place where a clause can't be told what it asks has a [`Missed`] that says why, and the clause does nothing there.

mod express;
mod facts;
mod places;
mod tables;

use std::collections::HashMap;
use std::sync::Arc;

use prlx_isa::view::{BlockId, Class, FunctionKind, InstId};
use prlx_trace::kernel::Scalar;
use prlx_trace::table::{Aggregate, Table};

use crate::body::Body;
use crate::code::{Code, Op, Row, Stmt};
use crate::lang::{Clause, Script};
use crate::place;
use crate::plan::{Action, At, Counter, Insertion, Kept, Missed, Var};
use crate::window::Windows;
use express::Express;
use facts::Facts;
use tables::Tables;

pub(crate) use places::end_place;

/// Most counters that a thread keeps in registers: two registers each.
const COUNTERS: usize = 4;

/// What a program is for a module.
pub(crate) struct Bound {
    /// By function: what goes into it.
    pub insertions: Vec<Vec<Insertion>>,
    /// Tables and records, for the trace.
    pub tables: Vec<Table>,
    /// What is kept.
    pub kept: Kept,
}

/// Binds `script` to the functions of `bodies` for which `wanted` holds.
pub(crate) fn bind(script: &Script, bodies: &[&Body<'_>], wanted: &dyn Fn(usize) -> bool) -> Bound {
    let windows: Vec<Windows> = bodies.iter().map(|b| Windows::of(b)).collect();
    let mut tables = Tables::new(script);
    // What types and rows there are is known when all places were seen.
    let all = |tables: &mut Tables| -> (Vec<Vec<Insertion>>, Vec<Missed>) {
        let mut missed = Vec::new();
        let mut insertions = Vec::new();
        for (i, (body, windows)) in bodies.iter().zip(&windows).enumerate() {
            let mut out = Vec::new();
            if wanted(i) {
                for (n, clause) in script.clauses.iter().enumerate() {
                    at_places(script, n, clause, body, windows, tables, &mut out, &mut missed);
                }
            }
            insertions.push(out);
        }
        (insertions, missed)
    };
    all(&mut tables);
    tables.settle();
    let (mut insertions, missed) = all(&mut tables);
    let (tables, layouts, records) = tables.finish(script);
    let vars = script.vars.iter().map(|v| Var { name: v.name.clone(), ty: v.ty, init: v.init }).collect();
    let mut kept = Kept { vars, tables: layouts, records, missed, counters: Vec::new() };
    count(&mut insertions, bodies, &mut kept);
    Bound { insertions, tables, kept }
}

/// One clause in one function.
#[expect(clippy::too_many_arguments, reason = "called once, in a loop that has them all")]
fn at_places(
    script: &Script,
    number: usize,
    clause: &Clause,
    body: &Body<'_>,
    windows: &Windows,
    tables: &mut Tables,
    out: &mut Vec<Insertion>,
    missed: &mut Vec<Missed>,
) {
    let reachable = body.reachable();
    for tracepoint in &clause.tracepoints {
        let (places, without) = places::places(body, tracepoint);
        let miss = |at, why| Missed { clause: number, function: body.id, at, why };
        missed.extend(without.into_iter().map(|(at, why)| miss(at, why)));
        for place in places.iter().filter(|p| reachable.get(p.part.index()) == Some(&true)) {
            let facts = Facts { body, windows, place };
            match Express::new(script, &facts, tables, clause.locals.len()).clause(clause) {
                Ok(Some(code)) => {
                    let action = Action::Probe(Arc::new(code));
                    out.push(Insertion { at: place.at, guard: place.guard, action });
                }
                Ok(None) => {}
                Err(why) => missed.push(miss(place.inst, why)),
            }
        }
    }
}

/// Turns clauses that only add known numbers to known rows into counters.
fn count(insertions: &mut [Vec<Insertion>], bodies: &[&Body<'_>], kept: &mut Kept) {
    let mut rows: HashMap<(u32, u32), usize> = HashMap::new();
    for insertion in insertions.iter().flatten() {
        for (table, row, _) in only_counts(insertion, kept).unwrap_or_default() {
            *rows.entry((table, row)).or_default() += 1;
        }
    }
    // Those of most places are worth a register.
    let mut order: Vec<((u32, u32), usize)> = rows.into_iter().collect();
    order.sort_unstable_by_key(|(row, n)| (std::cmp::Reverse(*n), *row));
    let chosen: HashMap<(u32, u32), u32> =
        order.iter().take(COUNTERS).enumerate().map(|(i, (row, _))| (*row, i as u32)).collect();
    for (list, body) in insertions.iter_mut().zip(bodies) {
        let mut out: Vec<Insertion> = Vec::with_capacity(list.len());
        let mut open: HashMap<(BlockId, u32), usize> = HashMap::new();
        let mut last = 0;
        let mut order: Vec<Insertion> = std::mem::take(list);
        // What is inserted at one place keeps its order.
        order.sort_by_key(|i| place::order(i.at));
        for insertion in order {
            let counts = only_counts(&insertion, kept).filter(|c| c.iter().all(|c| chosen.contains_key(&(c.0, c.1))));
            let Some(counts) = counts else {
                out.push(insertion);
                continue;
            };
            let (At::Before(at) | At::After(at)) = insertion.at else {
                for (table, row, add) in counts {
                    let counter = chosen[&(table, row)];
                    out.push(Insertion { action: Action::Count { counter, add }, ..insertion.clone() });
                }
                continue;
            };
            // A guarded way out, or a call, which may be one: lanes that come here are not all that came before.
            let block = body.inst(at).block;
            let first = body.function.blocks.get(block.index()).map_or(0, |b| b.insts.start);
            let parts = |i: u32| matches!(body.inst(InstId(i)).class, Class::Exit | Class::Return | Class::Call);
            if (last.max(first)..at.0).any(parts) {
                open.clear();
            }
            last = at.0;
            for (table, row, add) in counts {
                let counter = chosen[&(table, row)];
                let known = open.get(&(block, counter)).copied().filter(|_| insertion.guard.is_none());
                match known.and_then(|i| out.get_mut(i)) {
                    Some(Insertion { action: Action::Count { add: sum, .. }, .. }) => *sum = sum.wrapping_add(add),
                    _ => {
                        if insertion.guard.is_none() {
                            open.insert((block, counter), out.len());
                        }
                        out.push(Insertion { action: Action::Count { counter, add }, ..insertion.clone() });
                    }
                }
            }
        }
        *list = out;
    }
    let mut counters: Vec<((u32, u32), u32)> = chosen.into_iter().collect();
    counters.sort_unstable_by_key(|c| c.1);
    kept.counters = counters.into_iter().map(|((table, row), _)| Counter { table, row }).collect();
}

/// If all that an insertion does is to add known integers to known rows: table, row, how much.
fn only_counts(insertion: &Insertion, kept: &Kept) -> Option<Vec<(u32, u32, u64)>> {
    let Action::Probe(code) = &insertion.action else { return None };
    let mut out = Vec::new();
    for stmt in &code.body {
        match stmt {
            Stmt::Set(_, Op::Const(_)) => {}
            Stmt::Update { table, row: Row::At(row), value } => {
                let layout = kept.tables.get(*table as usize)?;
                let add = match (layout.aggregate, value) {
                    (Aggregate::Count, _) => 1,
                    (Aggregate::Sum, Some(value)) if layout.ty != Scalar::F64 => constant(code, value.index())?,
                    _ => return None,
                };
                out.push((*table, *row, add));
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

/// Whether a device function needs no state: nothing is inserted, and no thread ends there.
pub(crate) fn quiet(body: &Body<'_>, insertions: &[Insertion]) -> bool {
    let ends = body.leaves().any(|(.., end)| matches!(end, crate::body::PartEnd::Exit));
    body.function.kind == FunctionKind::Device && !ends && insertions.is_empty()
}
