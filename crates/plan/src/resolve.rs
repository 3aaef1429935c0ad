//! Resolves a recording request against a module: [`Plan::resolve`].
//!
//! Every front end and the emulator get their plan here, so all of them record the same sites.
//!
//! # Invariants
//!
//! - Sites have the same numbers at every level, with every filter, elided or not.
//! - `plan.module.functions[i]` and `plan.functions[i]` are function `i` of the module.
//! - A device function is recorded only if every recorded caller hands over the lane state.
//!
//! # Limitations
//!
//! - Functions whose address is taken are not recorded, nor is what only they call.

use std::collections::BTreeSet;

use prlx_isa::view::{self, Class, FuncId, FunctionKind, InstId, Operand, Role};
use prlx_trace::SiteId;
use prlx_trace::device::{VALUE_BITS, hashing};
use prlx_trace::kernel::{Function, Level, Module, Site, Source};

use crate::choose::elide::{self, Given};
use crate::choose::{choice, convergence, cut, select, stored};
use crate::decode::{program, statics};
use crate::function::body::{self, Body, PartEnd};
use crate::function::points::{self, Point};
use crate::insert::record::{self, Recorder};
use crate::markers;
use crate::pattern;
use crate::plan::{FunctionPlan, Insertion, Plan, RecordingRequest};
use crate::probe::counters;
use crate::probe::state::ProbeState;

impl Plan {
    /// Resolves `request` against `module`, which the user calls `name`. `sources` gives the text of a source
    /// file by its path in the debug information, if it is at hand.
    pub fn resolve(
        request: &RecordingRequest,
        module: &view::Module,
        name: &str,
        sources: &dyn Fn(&str) -> Option<String>,
    ) -> Plan {
        let (skipped, warp_size) = (skipped(request, module), body::warp_size(module));
        let mut statics = Module {
            name: name.to_owned(),
            target: module.target.clone(),
            digest: module.digest,
            files: statics::files(module, sources),
            locs: statics::locs(module),
            hashing: hashing(request.level),
            ..Module::default()
        };
        let walked = |f: FuncId| skipped.get(f.index()).is_some_and(Option::is_none);
        let mut prepared: Vec<Prepared<'_>> = Vec::with_capacity(module.functions.len());
        for id in (0..module.functions.len() as u32).map(FuncId) {
            let first = prepared.last().map_or(0, |p| p.points.last().map_or(0, |p| p.site.0 + 1));
            let body = Body::of(module, id);
            prepared.push(Prepared::of(
                request,
                &statics,
                body,
                first,
                skipped[id.index()].as_deref(),
                &walked,
            ));
        }
        let (mut bound, mut kept) = (vec![Vec::new(); prepared.len()], ProbeState::default());
        if request.level == Level::Probe {
            let bodies: Vec<&Body<'_>> = prepared.iter().map(|p| &p.body).collect();
            let recorded = |f: usize| skipped[f].is_none();
            if let Some(probe) = &request.probe {
                let program = probe.bind(&bodies, &recorded);
                (bound, kept, statics.tables) = (program.insertions, program.state, program.tables);
                counters::count(&mut bound, &bodies, &mut kept);
                kept.lay_out();
            }
            if let Some(marking) = &request.markers {
                let marked = markers::marks(marking, &bodies, &recorded, &walked);
                for (bound, more) in bound.iter_mut().zip(marked.insertions) {
                    bound.extend(more);
                }
                statics.marks = marked.marks;
                kept.unrecorded_markers = marked.missed;
                kept.tracks = marked.layout;
            }
        }
        let idle = idle(request, &prepared, &skipped, &bound);
        let recorded = |f: FuncId| walked(f) && !idle[f.index()];
        let mut functions = Vec::with_capacity(prepared.len());
        for (i, p) in prepared.into_iter().enumerate() {
            let mut plan =
                FunctionPlan { function: p.body.id, skipped: skipped[i].clone(), ..FunctionPlan::default() };
            if idle[i] {
                let why = match request.level {
                    Level::Probe => UNPROBED,
                    _ => "it records nothing: all that it decides is computed",
                };
                plan.skipped = Some(why.to_owned());
            }
            let (function, sites) = p.finish(request, &mut plan, skipped[i].clone(), &recorded, &bound[i]);
            statics.functions.push(function);
            statics.sites.extend(sites);
            functions.push(plan);
        }
        let finals = Plan::finals(&functions, warp_size);
        Plan { request: request.clone(), warp_size, module: statics, functions, probe_state: kept, finals }
    }
}

/// A function, and what of it a recording consists of.
struct Prepared<'a> {
    body: Body<'a>,
    points: Vec<Point>,
    sites: Vec<Site>,
    /// By point: whether it is to be recorded.
    taken: Vec<bool>,
    /// By point: at level `events`, whether its event is left to the reader.
    quiet: Vec<bool>,
    choice: choice::Choice,
}

impl<'a> Prepared<'a> {
    /// Chooses. `first` is the number of its first site; `why` it is skipped, if it is.
    fn of(
        request: &RecordingRequest,
        statics: &Module,
        body: Body<'a>,
        first: u32,
        why: Option<&str>,
        walked: &dyn Fn(FuncId) -> bool,
    ) -> Prepared<'a> {
        let points = points::points(&body, first);
        // Nobody compares the decisions of a probe program's launches.
        let mut sites = statics::sites(&body, &points, request.level != Level::Probe);
        let filtered = |s: &Site| why.is_none() && request.filter.takes_site(statics, s);
        let mut taken: Vec<bool> = sites.iter().map(filtered).collect();
        let kept = match why {
            Some(_) => vec![false; body.decisions.len()],
            None => select::kept(request.level, &request.filter, &body, &points, &taken, walked),
        };
        // Other levels have visits of single sites, of which none is left out.
        let waits = !request.level.in_words() && request.level != Level::Fingerprint;
        let (stored, unhashed) = match request.level {
            Level::Values if why.is_none() => {
                let asked = select::values(&request.filter, &body, &points, &taken);
                stored::hashes(&body, &points, &asked, &kept)
            }
            _ => Default::default(),
        };
        let hashable = || record::hashable(&body, &points, &taken);
        let mut choice = match request.level {
            Level::Fingerprint if !request.elide => {
                choice::Choice { hashed: cut::results(&body, &hashable().loads), ..elide::all(&body, &kept) }
            }
            _ if !request.elide => choice::Choice { stored: stored.clone(), ..elide::all(&body, &kept) },
            Level::Path | Level::Values => cut::choose(&body, &kept, &stored),
            Level::Fingerprint => cut::choose_hashed(&body, &kept, &hashable()),
            _ => {
                let hashed = BTreeSet::new();
                let (body, kept, stored) = (&body, &kept, &stored);
                elide::choose(&Given { body, kept, waits, values: &[], stored, hashed: &hashed })
            }
        };
        for ((p, site), taken) in points.iter().zip(&mut sites).zip(&taken) {
            if let Some(d) = p.decision {
                site.source = choice.sources[d];
            }
            let needed = p.decision.is_some_and(|d| kept[d]) && request.level.has_paths();
            let left_out = p.decision.is_some_and(|d| !kept[d]);
            site.skipped = match why {
                Some(why) => Some(why.to_owned()),
                None if !taken && !needed => Some(FILTERED.to_owned()),
                None if left_out => Some("not recorded at this level".to_owned()),
                None => None,
            };
        }
        for hash in choice.stored.values() {
            sites[(hash.site.0 - first) as usize].source = Source::Bits(VALUE_BITS);
        }
        for (site, why) in unhashed {
            sites[(site.0 - first) as usize].skipped = Some(why);
        }
        let mut quiet = vec![false; points.len()];
        if request.level == Level::Events {
            taken = select::events(&request.filter, &body, &points, &taken, &kept, &choice);
            if request.elide {
                quiet = convergence::reconstructed(
                    &body,
                    &points,
                    &record::writable(&body, &points, &taken),
                    &mut choice,
                );
                for (p, site) in points.iter().zip(&mut sites) {
                    site.source = p.decision.map_or(site.source, |d| choice.sources[d]);
                }
            }
        }
        Prepared { body, points, sites, taken, quiet, choice }
    }

    /// Inserts, into `plan` unless that is skipped, and writes the static half.
    fn finish(
        self,
        request: &RecordingRequest,
        plan: &mut FunctionPlan,
        skipped: Option<String>,
        recorded: &dyn Fn(FuncId) -> bool,
        bound: &[Insertion],
    ) -> (Function, Vec<Site>) {
        let Prepared { body, points, mut sites, taken, quiet, choice } = self;
        let (body, points, choice) = (&body, &points, &choice);
        let index = |site: SiteId| points.first().map_or(0, |first| (site.0 - first.site.0) as usize);
        if plan.skipped.is_none() {
            let watched = request.window.as_ref().map(|w| w.sites.as_slice()).unwrap_or_default();
            let written: Vec<bool> =
                taken.iter().zip(&quiet).map(|(taken, quiet)| *taken && !quiet).collect();
            let recorder = Recorder {
                body,
                points,
                choice,
                taken: &written,
                recorded,
                checkpoints: request.writes_checkpoints(),
                watched,
                insertions: bound,
            };
            let out = recorder.record(request.level);
            plan.insertions = out.insertions;
            plan.trip_counters = out.trip_counters;
            plan.most_written = out.most_written;
            for (site, why) in out.skipped {
                sites[index(site)].skipped = Some(why);
            }
        }
        let visits = |p: &Point| {
            let written = || taken[index(p.site)] && sites[index(p.site)].skipped.is_none();
            request.level == Level::Events && (written() || request.elide && convergence::whole_warp(body, p))
        };
        let (blocks, slots) = program::blocks(body, points, choice, visits);
        let function = Function {
            name: body.function.name.clone(),
            kernel: body.function.kind == FunctionKind::Kernel,
            params: statics::kernel_params(body.module, body.function),
            slots,
            blocks,
            loops: statics::loops(body),
            skipped,
            needs: None,
            pointer_calls: statics::pointer_calls(body),
        };
        (function, sites)
    }
}

/// Device functions that write nothing at level `path`, nor what they call: they need no state, and their
/// callers hand none over. The decoder walks them all the same. A function that can end the lane writes what
/// is pending. For a probe program kernels too, which stay as they are then.
fn idle(
    request: &RecordingRequest,
    prepared: &[Prepared<'_>],
    skipped: &[Option<String>],
    bound: &[Vec<Insertion>],
) -> Vec<bool> {
    let quiet = |p: &Prepared<'_>| {
        let ends = p.body.parts.iter().any(|part| matches!(part.end, PartEnd::Exit));
        let writes = |s: &Source| matches!(s, Source::Bits(_) | Source::Trips { .. });
        p.body.function.kind == FunctionKind::Device
            && !ends
            && p.choice.values.is_empty()
            && p.choice.stored.is_empty()
            && !p.choice.sources.iter().any(writes)
    };
    let mut idle: Vec<bool> = prepared
        .iter()
        .zip(bound)
        .map(|(p, bound)| match request.level {
            Level::Path | Level::Values => request.elide && quiet(p),
            Level::Probe => needs_no_state(&p.body, bound),
            _ => false,
        })
        .collect();
    loop {
        let mut changed = false;
        for (f, p) in prepared.iter().enumerate() {
            let mut callees =
                (0..p.body.function.insts.len() as u32).filter_map(|i| p.body.callee(InstId(i)));
            if idle[f]
                && (skipped[f].is_some() || callees.any(|c| skipped[c.index()].is_none() && !idle[c.index()]))
            {
                idle[f] = false;
                changed = true;
            }
        }
        if !changed {
            return idle;
        }
    }
}

/// Whether a function needs no state for a probe program: nothing is inserted, and no thread ends there that
/// came from elsewhere.
fn needs_no_state(body: &Body<'_>, insertions: &[Insertion]) -> bool {
    let device = body.function.kind == FunctionKind::Device;
    let ends = body.leaves().any(|(.., end)| matches!(end, PartEnd::Exit));
    insertions.is_empty() && !(device && ends)
}

/// Why functions are left as they are in which a probe program has nothing to do.
pub const UNPROBED: &str = "the program does nothing in it";

/// Why functions and sites are left as they are that a filter leaves out.
pub const FILTERED: &str = "left out by the filter";

/// By function: why it is not recorded.
fn skipped(request: &RecordingRequest, module: &view::Module) -> Vec<Option<String>> {
    let mut why: Vec<Option<String>> = module
        .functions
        .iter()
        .map(|f| {
            let kernel = f.kind == FunctionKind::Kernel;
            let filter = &request.filter;
            let out = !pattern::any(&filter.functions, &f.name)
                || kernel && !pattern::any(&filter.kernels, &f.name);
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
        if let Some(place) = &f.unknown_control {
            why.get_or_insert_with(|| format!("where control goes is not known: {place}"));
        }
        // A branch to a label behind the last instruction: nothing can be inserted there.
        if f.blocks.last().is_some_and(|b| b.insts.is_empty() && !b.preds.is_empty()) && !f.insts.is_empty() {
            why.get_or_insert_with(|| "a label stands behind its last instruction".to_owned());
        }
    }
    unreached(module, &callers, &mut why);
    // What a walk of a recorded kernel steps over must not record, whoever else calls it: the words would
    // have no reader. (Code that no recorded kernel comes to may call recorded functions; it says that
    // nothing is recorded.)
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
                why[f] = Some(format!(
                    "called from `{}`, which is not recorded",
                    module.functions[c.index()].name
                ));
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
    let mut callees: Vec<Vec<usize>> = vec![Vec::new(); marked.len()];
    for (f, callers) in callers.iter().enumerate() {
        callers.iter().for_each(|c| callees[c.index()].push(f));
    }
    let mut left: Vec<usize> = (0..marked.len()).filter(|f| marked[*f]).collect();
    while let Some(f) = left.pop() {
        for callee in std::mem::take(&mut callees[f]) {
            if !std::mem::replace(&mut marked[callee], true) {
                left.push(callee);
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
                crate::function::body::leaves(operand, &mut |o| {
                    let symbol = match o {
                        Operand::Symbol(s, _) | Operand::Address(view::Base::Symbol(s), _) => s,
                        _ => return,
                    };
                    let Some(to) = function(symbol) else { return };
                    if inst.class == Class::Call && *role == Role::Target {
                        let list = &mut callers[to.index()];
                        // Callers come in order.
                        if list.last() != Some(&FuncId(id as u32)) {
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
