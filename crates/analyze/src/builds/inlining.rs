//! Inlines calls in a module, as its compiler could have done.
//!
//! If one build inlined a function that the other calls, both are compared in this form, provided that the
//! plain comparison left something out. A difference in this form is uncertain and never a finding: compilers
//! change code further once it is inlined. Decoding all lanes of a warp at once inlines the calls of one
//! module ([`inline_all`]).
//!
//! # Invariants
//! For a comparison, a function is inlined at all calls of both sides, or at none, and only if a location
//! shows that a compiler inlined it. The result decodes the same streams as the recorded module, step by
//! step. Each of its sites is one of the recorded module's ([`InlinedModule::recorded`]). Its locations name
//! the call, as compilers' locations do.
//!
//! # Limitations
//! Some calls stay calls: guarded calls, recursive functions, and functions of which nothing was recorded;
//! for a comparison also calls without a line (recordings before version 8).

use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::kernel::{
    Alu, Arg, Block, End, Function, Guard, Loop, Module, NodeKind, Scalar, Site, Source, Step,
};
use prlx_trace::{BlockId, FuncId, LocId, LoopId, SiteId, Slot};

/// The largest number of blocks of a function; [`super::control_flow`] analyses no more.
const MAX_BLOCKS: usize = 1 << 12;
/// The largest number of sites, locations and registers of a module.
const MAX_TABLE: usize = 1 << 19;
/// The largest depth of inlining that is followed.
const MAX_INLINED: usize = 64;

/// A module with some calls inlined.
#[derive(Debug)]
pub(crate) struct InlinedModule {
    pub module: Module,
    /// By site: its number in the recorded module.
    pub recorded: Vec<SiteId>,
}

/// Inlines, on both sides, all calls of functions that either compiler inlined. `None` if these kernels call
/// none.
pub(crate) fn inline_both(modules: [&Module; 2], kernels: [FuncId; 2]) -> Option<[InlinedModule; 2]> {
    let reach = [0, 1].map(|side| reachable(modules[side], kernels[side]));
    let called: BTreeSet<&str> = (0..2)
        .flat_map(|side| reach[side].iter().filter(move |f| **f != kernels[side]).map(move |f| (side, f)))
        .filter_map(|(side, f)| modules[side].functions.get(f.index()).map(|f| f.name.as_str()))
        .collect();
    let named = |name: &&str| modules.iter().any(|m| m.locs.iter().any(|l| l.function == **name));
    let possible = |name: &&str| modules.iter().all(|m| can_inline(m, name, true));
    let to_inline: BTreeSet<&str> = called.into_iter().filter(named).filter(possible).collect();
    if to_inline.is_empty() {
        return None;
    }
    let [a, b] = [0, 1].map(|side| inline_calls(modules[side], &reach[side], &to_inline));
    a.zip(b).map(|(a, b)| [a, b])
}

/// Inlines all calls that a kernel makes and that can be inlined. `None` if there is none.
pub(crate) fn inline_all(m: &Module, kernel: FuncId) -> Option<InlinedModule> {
    let reach = reachable(m, kernel);
    let called = reach.iter().filter(|f| **f != kernel).filter_map(|f| m.functions.get(f.index()));
    let to_inline: BTreeSet<&str> =
        called.map(|f| &*f.name).filter(|name| can_inline(m, name, false)).collect();
    (!to_inline.is_empty()).then(|| inline_calls(m, &reach, &to_inline)).flatten()
}

fn calls(f: &Function) -> impl Iterator<Item = &Step> {
    f.blocks.iter().flat_map(|b| &b.steps).filter(|s| matches!(s, Step::Call { .. }))
}

/// A function and all functions that it can call.
pub(crate) fn reachable(m: &Module, from: FuncId) -> BTreeSet<FuncId> {
    let mut out = BTreeSet::new();
    let mut todo = vec![from];
    while let Some(f) = todo.pop() {
        if !out.insert(f) {
            continue;
        }
        todo.extend(m.functions.get(f.index()).into_iter().flat_map(calls).filter_map(|s| match s {
            Step::Call { function, .. } => Some(*function),
            _ => None,
        }));
    }
    out
}

/// Whether all calls of a function can be inlined; with `lines`, only if each has a line. True for a function
/// that the module does not have.
fn can_inline(m: &Module, name: &str, lines: bool) -> bool {
    let mut named = m.functions.iter().enumerate().filter(|(_, f)| f.name == name);
    let Some((id, f)) = named.next() else { return true };
    let id = FuncId(id as u32);
    let plain = |s: &Step| match s {
        Step::Call { function, guard, loc } => {
            *function != id || guard.is_none() && (loc.is_some() || !lines)
        }
        _ => true,
    };
    let callees = calls(f).filter_map(|s| match s {
        Step::Call { function, .. } => Some(*function),
        _ => None,
    });
    // A decision that was not recorded can make its function undecodable. Its callers stay decodable only if
    // it is not inlined.
    let recorded = m.sites.iter().filter(|s| s.function == id).all(|s| s.skipped.is_none());
    named.next().is_none()
        && !f.kernel
        && f.skipped.is_none()
        && !f.blocks.is_empty()
        && recorded
        && m.functions.iter().flat_map(calls).all(plain)
        && !callees.collect::<BTreeSet<_>>().into_iter().any(|c| reachable(m, c).contains(&id))
}

/// Inlines the calls of one side. `None` if the module becomes too large.
fn inline_calls(m: &Module, reach: &BTreeSet<FuncId>, to_inline: &BTreeSet<&str>) -> Option<InlinedModule> {
    let of = |f: &FuncId| m.functions.get(f.index()).is_some_and(|f| to_inline.contains(f.name.as_str()));
    let mut work = Inliner {
        from: m,
        to_inline: reach.iter().copied().filter(of).collect(),
        sites: BTreeMap::new(),
        locs: BTreeMap::new(),
        out: InlinedModule { module: m.clone(), recorded: (0..m.sites.len() as u32).map(SiteId).collect() },
    };
    for (i, s) in m.sites.iter().enumerate() {
        work.sites.entry(s.function).or_default().push(SiteId(i as u32));
    }
    // A function that is inlined everywhere is not called any more, and may stay as it is.
    for f in reach.iter().filter(|f| !work.to_inline.contains(f)).copied().collect::<Vec<_>>() {
        work.function(f)?;
    }
    Some(work.out)
}

struct Inliner<'a> {
    from: &'a Module,
    to_inline: BTreeSet<FuncId>,
    /// By function of `from`: its sites.
    sites: BTreeMap<FuncId, Vec<SiteId>>,
    /// By location and call: the location in the caller.
    locs: BTreeMap<(LocId, LocId), LocId>,
    out: InlinedModule,
}

/// Where the parts of a callee start in its caller.
struct InlineSite {
    caller: FuncId,
    callee: FuncId,
    /// The line of the call. Without it, the callee's code has no lines.
    call: Option<LocId>,
    blocks: u32,
    loops: u32,
    slots: u32,
    /// The block after the call.
    after: BlockId,
    /// The loop around the call.
    around: Option<LoopId>,
}

impl InlineSite {
    fn block(&self, b: BlockId) -> BlockId {
        BlockId(b.0 + self.blocks)
    }
    fn slot(&self, s: Slot) -> Slot {
        Slot(s.0 + self.slots)
    }
    fn guard(&self, g: Option<Guard>) -> Option<Guard> {
        g.map(|g| Guard { slot: self.slot(g.slot), ..g })
    }
    fn inside(&self, l: LoopId) -> LoopId {
        LoopId(l.0 + self.loops)
    }
}

impl Inliner<'_> {
    fn function(&mut self, id: FuncId) -> Option<()> {
        let mut f = self.out.module.functions.get(id.index())?.clone();
        let mut at = 0;
        while at < f.blocks.len() {
            let call = f.blocks[at].steps.iter().enumerate().find_map(|(i, s)| match s {
                Step::Call { function, loc, .. } if self.to_inline.contains(function) => {
                    Some((i, *function, *loc))
                }
                _ => None,
            });
            if let Some((step, callee, loc)) = call {
                self.splice(id, &mut f, at, step, callee, loc)?;
            }
            at += 1;
        }
        self.out.module.functions[id.index()] = f;
        Some(())
    }

    /// Replaces a call by the callee's blocks. The steps after the call become the last new block.
    fn splice(
        &mut self,
        caller: FuncId,
        f: &mut Function,
        at: usize,
        step: usize,
        callee: FuncId,
        call: Option<LocId>,
    ) -> Option<()> {
        let from = self.from;
        let g = from.functions.get(callee.index())?;
        let place = InlineSite {
            caller,
            callee,
            call,
            blocks: f.blocks.len() as u32,
            loops: f.loops.len() as u32,
            slots: f.slots,
            after: BlockId((f.blocks.len() + g.blocks.len()) as u32),
            around: f.blocks[at].in_loop,
        };
        f.slots = f.slots.checked_add(g.slots)?;
        if place.after.index() >= MAX_BLOCKS || f.slots as usize > MAX_TABLE {
            return None;
        }
        let sites = self.copies(&place)?;
        let mut rest = f.blocks[at].clone();
        rest.steps.drain(..=step);
        for s in &rest.steps {
            if let Step::Decide { site, .. } | Step::Visit { site, .. } = s {
                self.out.module.sites.get_mut(site.index())?.block = place.after;
            }
        }
        let before = &mut f.blocks[at];
        before.steps.truncate(step);
        // A call starts with zeroed registers.
        let zero = |s| Step::Let {
            to: Slot(s),
            op: Alu::Mov,
            ty: Scalar::U64,
            args: vec![Arg::Const(0)],
            guard: None,
        };
        before.steps.extend((place.slots..f.slots).map(zero));
        before.end = End::Jump(place.block(BlockId(0)));
        before.ipdom = Some(place.block(BlockId(0)));
        let returns = !g.blocks.iter().any(|b| b.end == End::Exit);
        for b in &g.blocks {
            let block = Block {
                loc: self.loc(b.loc, &place)?,
                steps: b.steps.iter().map(|s| self.step(s, &place, &sites)).collect::<Option<_>>()?,
                end: end(&b.end, &place),
                // If some lanes exit, the others have no reconvergence block.
                ipdom: b.ipdom.map(|b| place.block(b)).or(returns.then_some(place.after)),
                in_loop: b.in_loop.map(|l| place.inside(l)).or(place.around),
            };
            f.blocks.push(block);
        }
        f.blocks.push(rest);
        let parent = |l: &LoopId| f.loops.get(l.index())?.parent;
        let around: Vec<LoopId> = std::iter::successors(place.around, parent).take(f.loops.len()).collect();
        for l in around {
            f.loops.get_mut(l.index())?.blocks.extend((place.blocks..=place.after.0).map(BlockId));
        }
        for l in &g.loops {
            f.loops.push(Loop {
                header: place.block(l.header),
                parent: l.parent.map(|p| place.inside(p)).or(place.around),
                blocks: l.blocks.iter().map(|b| place.block(*b)).collect(),
                irreducible: l.irreducible,
                loc: self.loc(l.loc, &place)?,
            });
        }
        Some(())
    }

    /// Copies a callee's sites. Returns the copy of each site.
    fn copies(&mut self, place: &InlineSite) -> Option<BTreeMap<SiteId, SiteId>> {
        let mut out = BTreeMap::new();
        for id in self.sites.get(&place.callee).cloned().unwrap_or_default() {
            let mut s: Site = self.from.sites[id.index()].clone();
            s.function = place.caller;
            s.block = place.block(s.block);
            s.loc = self.loc(s.loc, place)?;
            for steered in &mut s.steers {
                steered.loc = self.loc(steered.loc, place)?;
            }
            for node in &mut s.slice {
                node.loc = self.loc(node.loc, place)?;
                // A callee's parameter is not a parameter of the caller: the caller computes it.
                if node.kind == NodeKind::Param {
                    node.kind = NodeKind::Merge;
                }
            }
            if let Source::Trips { of, .. } = &mut s.source {
                *of = place.inside(*of);
            }
            out.insert(id, SiteId(self.out.module.sites.len() as u32));
            self.out.module.sites.push(s);
            self.out.recorded.push(id);
        }
        (self.out.module.sites.len() <= MAX_TABLE).then_some(out)
    }

    fn step(&mut self, s: &Step, place: &InlineSite, sites: &BTreeMap<SiteId, SiteId>) -> Option<Step> {
        Some(match s {
            Step::Let { to, op, ty, args, guard } => Step::Let {
                to: place.slot(*to),
                op: *op,
                ty: *ty,
                args: args
                    .iter()
                    .map(|a| match a {
                        Arg::Slot(s) => Arg::Slot(place.slot(*s)),
                        other => *other,
                    })
                    .collect(),
                guard: place.guard(*guard),
            },
            Step::Decide { site, slot, guard } => {
                Step::Decide { site: *sites.get(site)?, slot: place.slot(*slot), guard: place.guard(*guard) }
            }
            Step::Visit { site, guard } => {
                Step::Visit { site: *sites.get(site)?, guard: place.guard(*guard) }
            }
            Step::Read { to, bits, guard, text, loc } => Step::Read {
                to: place.slot(*to),
                bits: *bits,
                guard: place.guard(*guard),
                text: text.clone(),
                loc: self.loc(*loc, place)?,
            },
            Step::Call { function, guard, loc } => {
                Step::Call { function: *function, guard: place.guard(*guard), loc: self.loc(*loc, place)? }
            }
        })
    }

    /// The location in the caller of a callee's location. `None` if there are too many locations.
    fn loc(&mut self, loc: Option<LocId>, place: &InlineSite) -> Option<Option<LocId>> {
        let Some((loc, call)) = loc.zip(place.call) else { return Some(None) };
        // From the innermost location outwards.
        let inlined_at = |l: &LocId| self.from.locs.get(l.index())?.inlined_at;
        let chain: Vec<LocId> = std::iter::successors(Some(loc), inlined_at).take(MAX_INLINED).collect();
        let callee = &self.from.functions[place.callee.index()].name;
        let mut around = call;
        for (i, l) in chain.iter().rev().enumerate() {
            if let Some(known) = self.locs.get(&(*l, call)) {
                around = *known;
                continue;
            }
            let locs = &mut self.out.module.locs;
            let mut copy = locs.get(l.index())?.clone();
            // The callee's own locations now belong to an inlined function.
            if i == 0 {
                copy.function.clone_from(callee);
            }
            copy.inlined_at = Some(around);
            around = LocId(locs.len() as u32);
            locs.push(copy);
            self.locs.insert((*l, call), around);
        }
        (self.out.module.locs.len() <= MAX_TABLE).then_some(Some(around))
    }
}

fn end(end: &End, place: &InlineSite) -> End {
    match end {
        End::Jump(to) => End::Jump(place.block(*to)),
        End::Branch { guard, taken, other } => End::Branch {
            guard: Guard { slot: place.slot(guard.slot), ..*guard },
            taken: place.block(*taken),
            other: place.block(*other),
        },
        End::Switch { index, targets } => End::Switch {
            index: place.slot(*index),
            targets: targets.iter().map(|t| place.block(*t)).collect(),
        },
        End::Return => End::Jump(place.after),
        End::Exit => End::Exit,
    }
}
