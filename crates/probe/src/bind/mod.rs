//! Binds a probe program to a module: every clause becomes an insertion at every matching site.
//!
//! `sites` finds the sites that a tracepoint matches, `site_facts` says what is known there, `compile` makes
//! the [`Code`] of a clause with the operands of `operands`, and `tables` collects the types and rows of
//! tables over all sites.
//!
//! # Invariants
//!
//! - Where a clause asks for something that a site cannot give, the clause does nothing there, and an
//!   [`Unavailable`] says why.

mod compile;
mod machine_address;
mod machine_code;
mod operands;
mod pairs;
mod site_facts;
mod sites;
mod switches;
mod tables;
mod value;
mod value_type;

use std::collections::HashSet;
use std::sync::Arc;

use prlx_isa::view::{Class, FunctionKind};

use crate::lang::{Clause, Script};
use compile::ClauseCompiler;
use prlx_plan::code::Stmt;
use prlx_plan::function::body::{Body, warp_size_of};
use prlx_plan::function::wgmma::WgmmaHazards;
use prlx_plan::{
    Action, At, BoundProbe, Insertion, ProbeProgram, ProbeState, SharedVariable, ThreadVariable, Unavailable,
    VariableScope,
};
use site_facts::SiteFacts;
pub(crate) use sites::sites;
use tables::Tables;

/// Binds `script` to the functions of `bodies` for which `wanted` holds.
fn bind(script: &Script, bodies: &[&Body<'_>], wanted: &dyn Fn(usize) -> bool) -> BoundProbe {
    let windows: Vec<WgmmaHazards> = bodies.iter().map(|b| WgmmaHazards::of(b)).collect();
    let mut tables = Tables::new(script);
    // What types and rows there are is known when all places were seen.
    let all = |tables: &mut Tables| {
        let mut missed = Vec::new();
        let mut idle = vec![true; script.clauses.len()];
        let mut insertions = Vec::new();
        for (i, (body, windows)) in bodies.iter().zip(&windows).enumerate() {
            let mut out = Vec::new();
            if wanted(i) {
                for (n, clause) in script.clauses.iter().enumerate() {
                    let before = (out.len(), missed.len());
                    at_places(script, n, clause, body, windows, tables, &mut out, &mut missed);
                    idle[n] &= (out.len(), missed.len()) == before;
                }
            }
            insertions.push(out);
        }
        let idle: Vec<usize> = (0..idle.len()).filter(|n| idle[*n]).collect();
        (insertions, missed, idle)
    };
    all(&mut tables);
    tables.settle();
    let (insertions, missed, idle) = all(&mut tables);
    let once: Vec<bool> = (0..script.records.len()).map(|record| once(&insertions, bodies, record)).collect();
    let size = warp_size_of(bodies);
    let (tables, layouts, records) = tables.finish(script, &once, size);
    let (own, others): (Vec<_>, Vec<_>) = script.vars.iter().partition(|v| v.of == VariableScope::Thread);
    let vars =
        own.into_iter().map(|v| ThreadVariable { name: v.name.clone(), ty: v.ty, init: v.init }).collect();
    let held =
        others.into_iter().map(|v| SharedVariable { name: v.name.clone(), ty: v.ty, of: v.of }).collect();
    let kept = ProbeState {
        vars,
        shared_variables: held,
        tables: layouts,
        records,
        unavailable: missed,
        unmatched_clauses: idle,
        ..ProbeState::default()
    };
    BoundProbe { insertions, tables, state: kept }
}

/// Whether no thread saves more than one of a declaration's records: if that is done where threads end alone,
/// and there once.
fn once(insertions: &[Vec<Insertion>], bodies: &[&Body<'_>], record: usize) -> bool {
    let mut places = HashSet::new();
    insertions.iter().zip(bodies).all(|(list, body)| {
        list.iter().all(|insertion| {
            let Action::Probe(code) = &insertion.action else { return true };
            let times = saves(&code.body, record);
            let At::Before(id) = insertion.at else { return times == 0 };
            let inst = body.inst(id);
            let returns = inst.class == Class::Return && body.function.kind == FunctionKind::Kernel;
            let ends = (inst.class == Class::Exit || returns) && inst.guard == insertion.guard;
            times == 0 || times == 1 && ends && places.insert((body.id, id))
        })
    })
}

/// How often a code says that a record is saved.
fn saves(body: &[Stmt], record: usize) -> usize {
    let of = |stmt: &Stmt| match stmt {
        Stmt::Save { record: own, .. } => usize::from(*own as usize == record),
        Stmt::If(_, then, other) => saves(then, record) + saves(other, record),
        _ => 0,
    };
    body.iter().map(of).sum()
}

/// One clause in one function.
#[expect(clippy::too_many_arguments, reason = "called once, in a loop that has them all")]
fn at_places(
    script: &Script,
    number: usize,
    clause: &Clause,
    body: &Body<'_>,
    windows: &WgmmaHazards,
    tables: &mut Tables,
    out: &mut Vec<Insertion>,
    missed: &mut Vec<Unavailable>,
) {
    let reachable = body.reachable();
    for tracepoint in &clause.tracepoints {
        let (places, without) = sites::sites(body, tracepoint);
        let miss = |at, why| Unavailable { clause: number, function: body.id, at, why };
        missed.extend(without.into_iter().map(|(at, why)| miss(at, why)));
        for place in places.iter().filter(|p| reachable.get(p.part.index()) == Some(&true)) {
            let facts = SiteFacts { body, windows, place };
            match ClauseCompiler::new(script, &facts, tables, clause.locals.len()).clause(clause) {
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

impl ProbeProgram for Script {
    fn bind(&self, functions: &[&Body<'_>], recorded: &dyn Fn(usize) -> bool) -> BoundProbe {
        bind(self, functions, recorded)
    }
    fn clause(&self, clause: usize) -> String {
        let Some(clause) = self.clauses.get(clause) else { return String::new() };
        let points: Vec<String> = clause.tracepoints.iter().map(ToString::to_string).collect();
        points.join(", ")
    }
    fn keeps_records(&self) -> bool {
        !self.records.is_empty()
    }
}
