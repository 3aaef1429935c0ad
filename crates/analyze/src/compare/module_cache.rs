//! What launches of the same modules share: checked modules, the functions that kernels reach, and which function, loop and site
//! of one module is which of another.
//!
//! Holds: each is made once for a comparison, however many launches there are.

use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::kernel::{Arg, Level, Module, Step};
use prlx_trace::{FuncId, Launch, SiteId, Trace};

use crate::align::build_pair::Sides;
use crate::builds::canonical_form as fold;
use crate::builds::guards::guarded;
use crate::builds::inlining::{self as inline, Inlined};
use crate::builds::site_match::{self as pair, Pairing};
use crate::decode::{Limits, Program};
use crate::error::Error;
use crate::launches::kernel_names as mangled;

use super::context::Context;

/// What launches of the same modules share, made once: 10⁵ launches have a handful of modules.
pub(crate) struct Shared<'a> {
    inlined: &'a Views,
    /// By side and module.
    modules: BTreeMap<(usize, u32), Checked<'a>>,
    /// By side, module and kernel.
    pub(crate) reach: BTreeMap<(usize, u32, u32), BTreeSet<FuncId>>,
    /// By A's and B's module, and their kernels where those are called otherwise.
    pairings: BTreeMap<Pair, Pairing>,
    /// By both launches' modules and kernels: what of [`Views`] was asked for; `None` if it can't be walked.
    views: BTreeMap<Kernels, Option<View<'a>>>,
}

/// Both launches' modules and kernels.
type Kernels = [(u32, u32); 2];

/// Both modules of kernels of which one calls what the other's compiler inlined, with these calls inlined.
pub(crate) type Views = BTreeMap<Kernels, [Inlined; 2]>;

/// Two modules in which calls were inlined, made ready.
struct View<'a> {
    modules: [Checked<'a>; 2],
    reach: [BTreeSet<FuncId>; 2],
    pairing: Pairing,
}

fn kernels(launches: [&Launch; 2]) -> Kernels {
    launches.map(|l| (l.module.0, l.kernel.0))
}

/// Makes modules with calls inlined, for those of the launches that need them.
pub(crate) fn inlined<'l>(traces: [&Trace; 2], launches: impl Iterator<Item = [&'l Launch; 2]>) -> Views {
    let mut seen = BTreeSet::new();
    let mut out = Views::new();
    for both in launches {
        // Hashes and operands are of sites as they were recorded.
        let walked =
            both.iter().all(|l| l.skipped.is_none() && matches!(l.level, Level::Path | Level::Events));
        if !walked || !seen.insert(kernels(both)) {
            continue;
        }
        let (Ok(a), Ok(b)) = (module(traces[0], both[0]), module(traces[1], both[1])) else { continue };
        if !pair::same_program(a, b, forced_names([a, b], both)) {
            out.extend(inline::both([a, b], both.map(|l| l.kernel)).map(|made| (kernels(both), made)));
        }
    }
    out
}

/// Two modules, and two kernels of theirs that are one although their names do not say so.
type Pair = ([u32; 2], Option<[u32; 2]>);

fn pair_of(launches: [&Launch; 2], names: pair::Forced<'_>) -> Pair {
    (launches.map(|l| l.module.0), names.map(|_| launches.map(|l| l.kernel.0)))
}

/// The kernels of two launches, if only the user says that they are one.
pub(crate) fn forced_names<'a>(modules: [&'a Module; 2], launches: [&Launch; 2]) -> pair::Forced<'a> {
    let [a, b] =
        [0, 1].map(|s| modules[s].functions.get(launches[s].kernel.index()).map(|f| f.name.as_str()));
    a.zip(b).map(|(a, b)| [a, b]).filter(|[a, b]| !mangled::alike(a, b))
}

/// A module, checked.
struct Checked<'a> {
    program: Program<'a>,
    guarded: BTreeMap<SiteId, Vec<SiteId>>,
}

impl<'a> Shared<'a> {
    pub fn new(inlined: &'a Views) -> Shared<'a> {
        let (modules, reach, pairings, views) = Default::default();
        Shared { inlined, modules, reach, pairings, views }
    }

    /// Makes what a pair of launches needs.
    pub fn prepare(&mut self, traces: [&'a Trace; 2], launches: [&Launch; 2]) -> Result<(), Error> {
        let modules = [module(traces[0], launches[0])?, module(traces[1], launches[1])?];
        for (side, (m, l)) in modules.iter().zip(launches).enumerate() {
            let id = l.module.0;
            if let std::collections::btree_map::Entry::Vacant(e) = self.modules.entry((side, id)) {
                e.insert(Checked { program: Program::new(m)?, guarded: guarded(m) });
            }
            self.reach.entry((side, id, l.kernel.0)).or_insert_with(|| inline::reachable(m, l.kernel));
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
        let uneven =
            |sides: &&[fold::Side; 2]| (0..2).any(|side| !sides[side].uneven.is_disjoint(reach[side]));
        let fold = pairing.fold.as_deref().filter(uneven);
        let names = fold.map_or([&pairing.a, &pairing.b], |sides| [&sides[0].names, &sides[1].names]);
        Context {
            sides: Sides { programs, names, fold, unsure: false, guarded: checked.map(|c| &c.guarded) },
            launches,
            reach,
            recorded: [0, 1].map(|side| (programs[side], reach[side])),
            fold,
            words_tell: pairing.same && places_agree(la, lb) && params_agree(modules, launches, reach),
            limits,
        }
    }

    /// Makes what [`Shared::view`] gives.
    pub fn prepare_view(&mut self, traces: [&Trace; 2], launches: [&Launch; 2]) -> Result<(), Error> {
        let at = kernels(launches);
        let Some(all) = self.inlined.get(&at).filter(|_| !self.views.contains_key(&at)) else {
            return Ok(());
        };
        let forced =
            forced_names([module(traces[0], launches[0])?, module(traces[1], launches[1])?], launches);
        let checked = |i: &'a Inlined| {
            let program = Program::inlined(&i.module, &i.recorded).ok()?;
            Some(Checked { program, guarded: guarded(&i.module) })
        };
        let [a, b] = all.each_ref().map(checked);
        let reach = [0, 1].map(|side| inline::reachable(&all[side].module, launches[side].kernel));
        let view = a.zip(b).map(|(a, b)| {
            let pairing = pair::builds(&all[0].module, &all[1].module, forced);
            View { modules: [a, b], reach, pairing }
        });
        self.views.insert(at, view);
        Ok(())
    }

    /// What all warps have in common of two launches that are looked at with calls inlined. Nothing in it is surely the same on both
    /// sides; `None` if no call is to be inlined.
    pub fn view<'s>(&'s self, plain: &Context<'s>) -> Option<Context<'s>> {
        let view = self.views.get(&kernels(plain.launches))?.as_ref()?;
        let fold = view.pairing.fold.as_deref()?;
        let (programs, guarded) =
            (view.modules.each_ref().map(|c| &c.program), view.modules.each_ref().map(|c| &c.guarded));
        Some(Context {
            sides: Sides {
                programs,
                names: [&fold[0].names, &fold[1].names],
                fold: Some(fold),
                unsure: true,
                guarded,
            },
            reach: view.reach.each_ref(),
            fold: Some(fold),
            words_tell: false,
            ..*plain
        })
    }
}

pub(crate) fn module<'a>(t: &'a Trace, l: &Launch) -> Result<&'a Module, Error> {
    t.modules.get(l.module.index()).ok_or_else(|| Error::new(l.module.to_string(), "no such module"))
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
