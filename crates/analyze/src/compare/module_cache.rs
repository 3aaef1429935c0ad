//! What launches of the same modules share: checked modules, reachable functions, and the match of both
//! modules.
//!
//! # Invariants
//! Each is computed once in a comparison, however many launches there are.

use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::kernel::{Arg, Module, Source, Step};
use prlx_trace::{FuncId, Launch, SiteId, Trace};

use crate::align::build_pair::BuildPair;
use crate::builds::canonical_form::CanonicalForm;
use crate::builds::guards::guarded;
use crate::builds::inlining::{self, InlinedModule};
use crate::builds::site_match::{self, ForcedKernels, ModuleMatch};
use crate::decode::{CheckedModule, DecodeLimits};
use crate::error::Error;
use crate::launches::kernel_names;

use super::context::Context;
use super::known_lanes::KnownLanes;

/// What launches of the same modules share. 10⁵ launches have a handful of modules.
pub(crate) struct ModuleCache<'a> {
    inlined: &'a InlinedModules,
    /// By side and module.
    modules: BTreeMap<(usize, u32), CachedModule<'a>>,
    /// By side, module and kernel: the kernel and all functions that it can call.
    pub(crate) reach: BTreeMap<(usize, u32, u32), BTreeSet<FuncId>>,
    /// By A's and B's module, and their kernels if the user forced their match.
    pairings: BTreeMap<ModulePairKey, ModuleMatch>,
    /// The inlined modules that were requested. `None` if they cannot be decoded.
    views: BTreeMap<KernelPair, Option<InlinedView<'a>>>,
}

/// Both launches' modules and kernels.
type KernelPair = [(u32, u32); 2];

/// Both modules with calls inlined, for kernels of which one calls what the other's compiler inlined.
pub(crate) type InlinedModules = BTreeMap<KernelPair, [InlinedModule; 2]>;

/// Two modules with inlined calls, ready to compare.
struct InlinedView<'a> {
    modules: [CachedModule<'a>; 2],
    reach: [BTreeSet<FuncId>; 2],
    pairing: ModuleMatch,
}

fn kernel_pair(launches: [&Launch; 2]) -> KernelPair {
    launches.map(|l| (l.module.0, l.kernel.0))
}

/// Inlines calls for the launches that need it.
pub(crate) fn inline_modules<'l>(
    traces: [&Trace; 2],
    launches: impl Iterator<Item = [&'l Launch; 2]>,
) -> InlinedModules {
    let mut seen = BTreeSet::new();
    let mut out = InlinedModules::new();
    for both in launches {
        // Hashes and operands refer to sites as they were recorded.
        let walked = both.iter().all(|l| l.skipped.is_none() && l.level.has_paths());
        if !walked || !seen.insert(kernel_pair(both)) {
            continue;
        }
        let (Ok(a), Ok(b)) = (module(traces[0], both[0]), module(traces[1], both[1])) else { continue };
        if !site_match::same_program(a, b, forced_names([a, b], both)) {
            out.extend(
                inlining::inline_both([a, b], both.map(|l| l.kernel)).map(|made| (kernel_pair(both), made)),
            );
        }
    }
    out
}

/// Both modules, and both kernels if the user forced their match.
type ModulePairKey = ([u32; 2], Option<[u32; 2]>);

fn module_pair_key(launches: [&Launch; 2], names: ForcedKernels<'_>) -> ModulePairKey {
    (launches.map(|l| l.module.0), names.map(|_| launches.map(|l| l.kernel.0)))
}

/// The kernel names of two launches, if only the user's option matches them.
pub(crate) fn forced_names<'a>(modules: [&'a Module; 2], launches: [&Launch; 2]) -> ForcedKernels<'a> {
    let [a, b] =
        [0, 1].map(|s| modules[s].functions.get(launches[s].kernel.index()).map(|f| f.name.as_str()));
    a.zip(b).map(|(a, b)| [a, b]).filter(|[a, b]| !kernel_names::same_in_source(a, b))
}

/// A checked module, with the guards of its sites.
struct CachedModule<'a> {
    program: CheckedModule<'a>,
    guarded: BTreeMap<SiteId, Vec<SiteId>>,
}

impl<'a> ModuleCache<'a> {
    pub fn new(inlined: &'a InlinedModules) -> ModuleCache<'a> {
        let (modules, reach, pairings, views) = Default::default();
        ModuleCache { inlined, modules, reach, pairings, views }
    }

    /// Computes what a pair of launches needs.
    pub fn prepare(&mut self, traces: [&'a Trace; 2], launches: [&Launch; 2]) -> Result<(), Error> {
        let modules = [module(traces[0], launches[0])?, module(traces[1], launches[1])?];
        for (side, (m, l)) in modules.iter().zip(launches).enumerate() {
            let id = l.module.0;
            if let std::collections::btree_map::Entry::Vacant(e) = self.modules.entry((side, id)) {
                e.insert(CachedModule { program: CheckedModule::new(m)?, guarded: guarded(m) });
            }
            self.reach.entry((side, id, l.kernel.0)).or_insert_with(|| inlining::reachable(m, l.kernel));
        }
        let forced = forced_names(modules, launches);
        let paired = || site_match::match_modules(modules[0], modules[1], forced);
        self.pairings.entry(module_pair_key(launches, forced)).or_insert_with(paired);
        Ok(())
    }

    /// The match of two modules. Call [`ModuleCache::prepare`] first.
    pub fn pairing(&self, modules: [&Module; 2], launches: [&Launch; 2]) -> &ModuleMatch {
        &self.pairings[&module_pair_key(launches, forced_names(modules, launches))]
    }

    /// What all warps of two launches share. Call [`ModuleCache::prepare`] first.
    pub fn context<'s>(&'s self, launches: [&'s Launch; 2], limits: DecodeLimits) -> Context<'s> {
        let [la, lb] = launches;
        let checked = [(0, la), (1, lb)].map(|(side, l)| &self.modules[&(side, l.module.0)]);
        let reach = [(0, la), (1, lb)].map(|(side, l)| &self.reach[&(side, l.module.0, l.kernel.0)]);
        let programs = checked.map(|c| &c.program);
        let modules = programs.map(|p| p.module);
        let pairing = self.pairing(modules, launches);
        let uneven = |sides: &&[CanonicalForm; 2]| {
            (0..2).any(|side| !sides[side].changed_functions.is_disjoint(reach[side]))
        };
        let canonical = pairing.canonical.as_deref().filter(uneven);
        let names = canonical.map_or([&pairing.a, &pairing.b], |sides| [&sides[0].names, &sides[1].names]);
        Context {
            sides: BuildPair {
                programs,
                names,
                canonical,
                all_uncertain: false,
                guarded: checked.map(|c| &c.guarded),
            },
            launches,
            reach,
            recorded: [0, 1].map(|side| (programs[side], reach[side])),
            canonical,
            equal_words_suffice: pairing.same
                && places_agree(la, lb)
                && params_agree(modules, launches, reach)
                && (la.device == lb.device || !device_decides(modules[0], reach[0])),
            lockstep: Default::default(),
            known_warps: KnownLanes::default(),
            known: KnownLanes::default(),
            known_of_builds: KnownLanes::default(),
            same_program: pairing.same,
            limits: limits.shared_by(la.warps().max(lb.warps())),
        }
    }

    /// Computes what [`ModuleCache::inlined_context`] needs.
    pub fn prepare_inlined(&mut self, traces: [&Trace; 2], launches: [&Launch; 2]) -> Result<(), Error> {
        let at = kernel_pair(launches);
        let Some(all) = self.inlined.get(&at).filter(|_| !self.views.contains_key(&at)) else {
            return Ok(());
        };
        let forced =
            forced_names([module(traces[0], launches[0])?, module(traces[1], launches[1])?], launches);
        let checked = |i: &'a InlinedModule| {
            let program = CheckedModule::inlined(&i.module, &i.recorded).ok()?;
            Some(CachedModule { program, guarded: guarded(&i.module) })
        };
        let [a, b] = all.each_ref().map(checked);
        let reach = [0, 1].map(|side| inlining::reachable(&all[side].module, launches[side].kernel));
        let view = a.zip(b).map(|(a, b)| {
            let pairing = site_match::match_builds(&all[0].module, &all[1].module, forced);
            InlinedView { modules: [a, b], reach, pairing }
        });
        self.views.insert(at, view);
        Ok(())
    }

    /// As [`ModuleCache::context`], with calls inlined. No match in it is certain. `None` if there is no call
    /// to inline.
    pub fn inlined_context<'s>(&'s self, plain: &Context<'s>) -> Option<Context<'s>> {
        let view = self.views.get(&kernel_pair(plain.launches))?.as_ref()?;
        let canonical = view.pairing.canonical.as_deref()?;
        let (programs, guarded) =
            (view.modules.each_ref().map(|c| &c.program), view.modules.each_ref().map(|c| &c.guarded));
        Some(Context {
            sides: BuildPair {
                programs,
                names: [&canonical[0].names, &canonical[1].names],
                canonical: Some(canonical),
                all_uncertain: true,
                guarded,
            },
            reach: view.reach.each_ref(),
            canonical: Some(canonical),
            equal_words_suffice: false,
            lockstep: Default::default(),
            known_warps: KnownLanes::default(),
            known: KnownLanes::default(),
            known_of_builds: KnownLanes::default(),
            same_program: false,
            ..*plain
        })
    }
}

pub(crate) fn module<'a>(t: &'a Trace, l: &Launch) -> Result<&'a Module, Error> {
    t.modules.get(l.module.index()).ok_or_else(|| Error::new(l.module.to_string(), "no such module"))
}

/// Whether equal lane numbers mean equal places in the grid.
fn places_agree(a: &Launch, b: &Launch) -> bool {
    (a.grid, a.block, a.warp_size) == (b.grid, b.block, b.warp_size)
}

/// Whether a decision follows from hashed values by arithmetic of the device. Other devices may round another
/// way.
fn device_decides(module: &Module, reach: &BTreeSet<FuncId>) -> bool {
    module.sites.iter().any(|site| site.source == Source::Follows && reach.contains(&site.function))
}

/// Whether all parameters that decoding reads are equal.
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
