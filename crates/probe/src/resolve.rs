//! [`Plan::resolve`]: the only matcher, for every front door and for the emulator.
//!
//! Holds: sites have the same numbers at every level, elision and filter; `plan.module.functions[i]` and
//! `plan.functions[i]` are the view's function `i`.

use prlx_isa::view::{self, Class, FuncId, FunctionKind, Operand, Role};
use prlx_trace::kernel::{Function, Level, Module, Site};
use xxhash_rust::xxh3::xxh3_128;

use crate::body::Body;
use crate::elide;
use crate::pattern;
use crate::plan::{FunctionPlan, Plan, Program};
use crate::points::{self, Point};
use crate::record::Recorder;
use crate::{select, statics, steps};

impl Plan {
    /// Resolves `program` against `module`, whose text is `source` and which the user calls `name`. `sources` gives the
    /// text of a source file by its path in the debug information, if it is at hand.
    pub fn resolve(
        program: &Program,
        module: &view::Module,
        source: &str,
        name: &str,
        sources: &dyn Fn(&str) -> Option<String>,
    ) -> Plan {
        let skipped = skipped(program, module);
        let mut statics = Module {
            name: name.to_owned(),
            target: module.target.clone(),
            digest: xxh3_128(source.as_bytes()),
            files: statics::files(module, sources),
            locs: statics::locs(module),
            ..Module::default()
        };
        let mut functions = Vec::with_capacity(module.functions.len());
        for id in (0..module.functions.len() as u32).map(FuncId) {
            let body = Body::of(module, id, source);
            let points = points::points(&body, statics.sites.len() as u32);
            let mut sites = statics::sites(&body, &points);
            let why = skipped[id.index()].as_deref();
            let recorded = |f: FuncId| skipped.get(f.index()).is_some_and(Option::is_none);
            let (function, plan) = one(program, &statics, &body, &points, &mut sites, why, &recorded);
            statics.functions.push(function);
            statics.sites.extend(sites);
            functions.push(plan);
        }
        Plan { program: program.clone(), module: statics, functions }
    }
}

/// One function: its half of the statics and its insertions. `sites` get their sources and reasons.
fn one(
    program: &Program,
    statics: &Module,
    body: &Body<'_>,
    points: &[Point],
    sites: &mut [Site],
    why: Option<&str>,
    recorded: &dyn Fn(FuncId) -> bool,
) -> (Function, FunctionPlan) {
    let taken: Vec<bool> = sites.iter().map(|s| why.is_none() && pattern::takes(&program.filter, statics, s)).collect();
    let kept = match why {
        Some(_) => vec![false; body.decisions.len()],
        None => select::kept(program.level, &program.filter, body, points, &taken, recorded),
    };
    let choice = elide::choose(body, program.elide, &kept);
    for (p, site) in points.iter().zip(&mut *sites) {
        if let Some(d) = p.decision {
            site.source = choice.sources[d];
        }
        let left_out = match p.decision {
            Some(d) if matches!(program.level, Level::Path | Level::Events) => !kept[d],
            _ => !taken[index(points, p)],
        };
        if let Some(why) = why {
            site.skipped = Some(why.to_owned());
        } else if left_out {
            site.skipped = Some(FILTERED.to_owned());
        }
    }
    let taken = match program.level {
        Level::Events => select::events(&program.filter, body, points, &taken, &kept, &choice),
        _ => taken,
    };
    let mut plan = FunctionPlan { function: body.id, skipped: why.map(str::to_owned), ..FunctionPlan::default() };
    if why.is_none() {
        let watched = program.window.as_ref().map(|w| w.sites.as_slice()).unwrap_or_default();
        let recorder = Recorder { body, points, choice: &choice, taken: &taken, recorded, watched };
        let out = recorder.record(program.level);
        plan.insertions = out.insertions;
        plan.trip_counters = out.trip_counters;
        for (site, why) in out.skipped {
            if let Some(site) = points.first().and_then(|p| sites.get_mut((site.0 - p.site.0) as usize)) {
                site.skipped = Some(why);
            }
        }
    }
    let visits = |p: &Point| {
        let i = index(points, p);
        program.level == Level::Events && taken[i] && sites[i].skipped.is_none()
    };
    let (blocks, slots) = steps::blocks(body, points, &choice, visits);
    let function = Function {
        name: body.function.name.clone(),
        kernel: body.function.kind == FunctionKind::Kernel,
        params: statics::params(body),
        slots,
        blocks,
        loops: statics::loops(body),
        skipped: plan.skipped.clone(),
    };
    (function, plan)
}

const FILTERED: &str = "left out by the filter";

/// A point's place among `points`.
fn index(points: &[Point], p: &Point) -> usize {
    points.first().map_or(0, |first| (p.site.0 - first.site.0) as usize)
}

/// By function: why it is not recorded.
fn skipped(program: &Program, module: &view::Module) -> Vec<Option<String>> {
    let mut why: Vec<Option<String>> = module
        .functions
        .iter()
        .map(|f| {
            let kernel = f.kind == FunctionKind::Kernel;
            let filter = &program.filter;
            let out = !pattern::any(&filter.functions, &f.name) || kernel && !pattern::any(&filter.kernels, &f.name);
            out.then(|| FILTERED.to_owned())
        })
        .collect();
    let (callers, pointed) = calls(module);
    for (f, at) in pointed.iter().enumerate() {
        if let Some(at) = at.as_ref().filter(|_| module.functions[f].kind == FunctionKind::Device) {
            why[f].get_or_insert_with(|| {
                format!("its address is taken {at}: calls through a pointer hand over no state")
            });
        }
    }
    for (f, why) in module.functions.iter().zip(&mut why) {
        // A branch to a label behind the last instruction: nothing can be inserted there.
        if f.blocks.last().is_some_and(|b| b.insts.is_empty() && !b.preds.is_empty()) && !f.insts.is_empty() {
            why.get_or_insert_with(|| "a label stands behind its last instruction".to_owned());
        }
    }
    unreached(module, &callers, &mut why);
    // What a walk of a recorded kernel steps over must not record, whoever else calls it: the words would have no reader.
    // (Code that no recorded kernel comes to may call recorded functions; it says that nothing is recorded.)
    let kernel = |f: usize| module.functions[f].kind == FunctionKind::Kernel && why[f].is_none();
    let mut live: Vec<bool> = (0..why.len()).map(|f| kernel(f) || pointed[f].is_some()).collect();
    spread(&mut live, &callers);
    loop {
        let mut changed = false;
        for f in 0..why.len() {
            if why[f].is_some() || module.functions[f].kind != FunctionKind::Device {
                continue;
            }
            if let Some(c) = callers[f].iter().find(|c| live[c.index()] && why[c.index()].is_some()) {
                why[f] = Some(format!("called from `{}`, which is not recorded", module.functions[c.index()].name));
                changed = true;
            }
        }
        if !changed {
            return why;
        }
    }
}

/// Marks what marked functions call, directly or not.
fn spread(marked: &mut [bool], callers: &[Vec<FuncId>]) {
    let mut changed = true;
    while changed {
        changed = false;
        for f in 0..marked.len() {
            if !marked[f] && callers[f].iter().any(|c| marked[c.index()]) {
                marked[f] = true;
                changed = true;
            }
        }
    }
}

/// Functions that only call each other are called by no kernel.
fn unreached(module: &view::Module, callers: &[Vec<FuncId>], why: &mut [Option<String>]) {
    let mut reached: Vec<bool> = module.functions.iter().map(|f| f.kind == FunctionKind::Kernel).collect();
    spread(&mut reached, callers);
    for (why, reached) in why.iter_mut().zip(reached) {
        if !reached {
            why.get_or_insert_with(|| "no kernel of this module calls it".to_owned());
        }
    }
}

/// By function: who calls it directly, and where its address is taken.
fn calls(module: &view::Module) -> (Vec<Vec<FuncId>>, Vec<Option<String>>) {
    let mut callers: Vec<Vec<FuncId>> = vec![Vec::new(); module.functions.len()];
    let mut pointed: Vec<Option<String>> = vec![None; module.functions.len()];
    let function = |s: &view::SymbolId| module.symbols.get(s.index()).and_then(|s| s.function);
    for (id, f) in module.functions.iter().enumerate() {
        for inst in &f.insts {
            for (operand, role) in inst.operands.iter().zip(&inst.roles) {
                crate::body::leaves(operand, &mut |o| {
                    let symbol = match o {
                        Operand::Symbol(s, _) | Operand::Address(view::Base::Symbol(s), _) => s,
                        _ => return,
                    };
                    let Some(to) = function(symbol) else { return };
                    if inst.class == Class::Call && *role == Role::Target {
                        let list = &mut callers[to.index()];
                        if !list.contains(&FuncId(id as u32)) {
                            list.push(FuncId(id as u32));
                        }
                    } else {
                        pointed[to.index()].get_or_insert_with(|| format!("in `{}`", f.name));
                    }
                });
            }
        }
    }
    for s in &module.symbols {
        for to in s.relocs.iter().filter_map(|(_, to, ..)| function(to)) {
            pointed[to.index()].get_or_insert_with(|| format!("by variable `{}`", s.name));
        }
    }
    (callers, pointed)
}
