//! What launches of the same modules share: checked modules, the functions that kernels reach, and which function, loop and site
//! of one module is which of another.
//!
//! Holds: each is made once for a comparison, however many launches there are.

use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::kernel::{Arg, Module, Step};
use prlx_trace::{FuncId, Launch, SiteId, Trace};

use crate::decode::Limits;
use crate::diverge::Sides;
use crate::error::Error;
use crate::fold;
use crate::mangled;
use crate::pair::{self, Pairing};
use crate::program::Program;
use crate::warp::Context;

/// What launches of the same modules share, made once: 10⁵ launches have a handful of modules.
#[derive(Default)]
pub(crate) struct Shared<'a> {
    /// By side and module.
    modules: BTreeMap<(usize, u32), Checked<'a>>,
    /// By side, module and kernel.
    pub(crate) reach: BTreeMap<(usize, u32, u32), BTreeSet<FuncId>>,
    /// By A's and B's module, and their kernels where those are called otherwise.
    pairings: BTreeMap<Pair, Pairing>,
}

/// Two modules, and two kernels of theirs that are one although their names do not say so.
type Pair = ([u32; 2], Option<[u32; 2]>);

fn pair_of(launches: [&Launch; 2], names: pair::Forced<'_>) -> Pair {
    (launches.map(|l| l.module.0), names.map(|_| launches.map(|l| l.kernel.0)))
}

/// The kernels of two launches, if only the user says that they are one.
pub(crate) fn forced_names<'a>(modules: [&'a Module; 2], launches: [&Launch; 2]) -> pair::Forced<'a> {
    let [a, b] = [0, 1].map(|s| modules[s].functions.get(launches[s].kernel.index()).map(|f| f.name.as_str()));
    a.zip(b).map(|(a, b)| [a, b]).filter(|[a, b]| !mangled::alike(a, b))
}

/// A module, checked.
struct Checked<'a> {
    program: Program<'a>,
    guarded: BTreeMap<SiteId, Vec<SiteId>>,
}

impl<'a> Shared<'a> {
    /// Makes what a pair of launches needs.
    pub fn prepare(&mut self, traces: [&'a Trace; 2], launches: [&Launch; 2]) -> Result<(), Error> {
        let modules = [module(traces[0], launches[0])?, module(traces[1], launches[1])?];
        for (side, (m, l)) in modules.iter().zip(launches).enumerate() {
            let id = l.module.0;
            if let std::collections::btree_map::Entry::Vacant(e) = self.modules.entry((side, id)) {
                e.insert(Checked { program: Program::new(m)?, guarded: pair::guarded(m) });
            }
            self.reach.entry((side, id, l.kernel.0)).or_insert_with(|| reachable(m, l.kernel));
        }
        let forced = forced_names(modules, launches);
        let paired = || pair::modules(modules[0], modules[1], forced);
        self.pairings.entry(pair_of(launches, forced)).or_insert_with(paired);
        Ok(())
    }

    /// Which function, loop and site of one module is which of another, once it is made.
    pub fn pairing(&self, modules: [&Module; 2], launches: [&Launch; 2]) -> &Pairing {
        &self.pairings[&pair_of(launches, forced_names(modules, launches))]
    }

    /// What all warps of two launches have in common, once it is made.
    pub fn context<'s>(&'s self, launches: [&'s Launch; 2], limits: Limits) -> Context<'s> {
        let [la, lb] = launches;
        let checked = [(0, la), (1, lb)].map(|(side, l)| &self.modules[&(side, l.module.0)]);
        let reach = [(0, la), (1, lb)].map(|(side, l)| &self.reach[&(side, l.module.0, l.kernel.0)]);
        let programs = checked.map(|c| &c.program);
        let modules = programs.map(|p| p.module);
        let pairing = self.pairing(modules, launches);
        let uneven = |sides: &&[fold::Side; 2]| (0..2).any(|side| !sides[side].uneven.is_disjoint(reach[side]));
        let fold = pairing.fold.as_deref().filter(uneven);
        let names = fold.map_or([&pairing.a, &pairing.b], |sides| [&sides[0].names, &sides[1].names]);
        Context {
            sides: Sides { programs, names, fold, guarded: checked.map(|c| &c.guarded) },
            launches,
            fold,
            words_tell: pairing.same && places_agree(la, lb) && params_agree(modules, launches, reach),
            limits,
        }
    }
}

pub(crate) fn module<'a>(t: &'a Trace, l: &Launch) -> Result<&'a Module, Error> {
    t.modules.get(l.module.index()).ok_or_else(|| Error::new(l.module.to_string(), "no such module"))
}

/// A kernel and the functions that it can call.
fn reachable(m: &Module, kernel: FuncId) -> BTreeSet<FuncId> {
    let mut out = BTreeSet::new();
    let mut todo = vec![kernel];
    while let Some(f) = todo.pop() {
        if !out.insert(f) {
            continue;
        }
        let blocks = m.functions.get(f.index()).map_or(&[][..], |f| &f.blocks);
        todo.extend(blocks.iter().flat_map(|b| &b.steps).filter_map(|s| match s {
            Step::Call { function, .. } => Some(*function),
            _ => None,
        }));
    }
    out
}

/// Whether lanes of the same number are at the same place.
fn places_agree(a: &Launch, b: &Launch) -> bool {
    (a.grid, a.block, a.warp_size) == (b.grid, b.block, b.warp_size)
}

/// Whether all parameters that decoding reads are the same.
fn params_agree(modules: [&Module; 2], launches: [&Launch; 2], reach: [&BTreeSet<FuncId>; 2]) -> bool {
    let functions = reach[0].iter().filter_map(|f| modules[0].functions.get(f.index()));
    let mut args = functions.flat_map(|f| &f.blocks).flat_map(|b| &b.steps).flat_map(|s| match s {
        Step::Let { args, .. } => &args[..],
        _ => &[],
    });
    args.all(|a| match a {
        Arg::Param { offset, size } => {
            let range = *offset as usize..(*offset as usize).saturating_add(usize::from(*size));
            launches[0].params.get(range.clone()) == launches[1].params.get(range)
        }
        _ => true,
    })
}
