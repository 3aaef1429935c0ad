//! A module checked and prepared for decoding: everything that the decoder looks up at each step is computed
//! once.
//!
//! A decision that was not recorded has no value. Decoder registers that depend on such a decision are
//! *unknown*. Visits guarded by an unknown register are omitted; a function whose branches depend on one
//! cannot be decoded.
//!
//! # Invariants
//! After [`CheckedModule::new`], every index that decoding uses is in range. Every operation is defined and
//! has its arguments, and loops nest. Decoding therefore fails only on errors in a stream.

use prlx_trace::device::COUNT_EVENT;
use prlx_trace::kernel::{Arg, End, Function, Guard, Module, SiteClass, Source, Step};
use prlx_trace::{BlockId, FuncId, LoopId, SiteId, Slot};

use crate::error::Error;
use crate::report::{SiteInfo, describe};

use super::alu;

/// The largest number of decoder registers in one function.
const MAX_SLOTS: u32 = 1 << 20;

/// A module whose tables were checked.
#[derive(Debug)]
pub struct CheckedModule<'a> {
    /// The module that was checked.
    pub module: &'a Module,
    pub(crate) functions: Vec<CheckedFunction<'a>>,
    /// The source of each site's value, by site.
    pub(crate) sources: Vec<Source>,
    /// For a module with inlined calls: each site's number in the recorded module. `None` for the recorded
    /// module itself.
    recorded: Option<&'a [SiteId]>,
}

/// Whether a site is a decision: a branch, guard, select or switch.
pub(crate) fn is_decision(m: &Module, s: SiteId) -> bool {
    m.sites.get(s.index()).is_some_and(|s| s.class.decides())
}

/// Whether the recorder omits events of a site at level `events` where they follow from others.
pub(crate) fn can_be_omitted(program: &CheckedModule<'_>, site: SiteId) -> bool {
    program.module.sites.get(site.index()).is_some_and(|s| match s.class {
        SiteClass::Entry | SiteClass::Exit => true,
        SiteClass::Branch => matches!(s.source, Source::Computed | Source::Trips { bits: COUNT_EVENT, .. }),
        _ => false,
    })
}

/// A function whose tables were checked.
#[derive(Debug)]
pub(crate) struct CheckedFunction<'a> {
    pub function: &'a Function,
    /// Facts about each block, by block.
    pub blocks: Vec<BlockFacts>,
    /// By loop, if its trip count is recorded on entry: the width of the count in bits, and the deciding
    /// site.
    pub counted: Vec<Option<(u8, SiteId)>>,
    /// By decoder register: whether its value depends on a decision that was not recorded.
    pub unknown: Vec<bool>,
    /// Why the function cannot be decoded; `None` if it can.
    pub lost: Option<String>,
}

/// What the decoder needs to know when a lane arrives at a block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BlockFacts {
    pub in_loop: Option<LoopId>,
    /// The loop whose header this block is.
    pub heads: Option<LoopId>,
    /// Whether the block is the immediate post-dominator of some branch: diverged paths reconverge here.
    pub join: bool,
}

impl<'a> CheckedModule<'a> {
    /// Checks a module.
    ///
    /// # Errors
    /// An index is out of range, an operation is undefined, or loops do not nest.
    pub fn new(module: &'a Module) -> Result<CheckedModule<'a>, Error> {
        let functions = module
            .functions
            .iter()
            .enumerate()
            .map(|(i, f)| prepare(module, FuncId(i as u32), f).map_err(|(at, what)| Error::new(at, what)))
            .collect::<Result<_, _>>()?;
        Ok(CheckedModule {
            module,
            functions,
            sources: module.sites.iter().map(|s| s.source).collect(),
            recorded: None,
        })
    }

    /// Checks a module whose calls were inlined. `recorded` gives each site's number in the recorded module.
    ///
    /// # Errors
    /// As [`CheckedModule::new`].
    pub(crate) fn inlined(module: &'a Module, recorded: &'a [SiteId]) -> Result<CheckedModule<'a>, Error> {
        Ok(CheckedModule { recorded: Some(recorded), ..CheckedModule::new(module)? })
    }

    /// The number that a site has in the recorded module.
    pub(crate) fn recorded(&self, s: SiteId) -> SiteId {
        self.recorded.and_then(|r| r.get(s.index())).copied().unwrap_or(s)
    }

    /// A site for reports, with its number in the recorded module.
    pub(crate) fn site_info(&self, s: SiteId) -> Option<SiteInfo> {
        describe::site_info(self.module, s).map(|info| SiteInfo { id: self.recorded(s), ..info })
    }

    pub(crate) fn function(&self, f: FuncId) -> Result<&CheckedFunction<'a>, Error> {
        self.functions.get(f.index()).ok_or_else(|| Error::new(f.to_string(), "no such function"))
    }

    /// Sites of `f` that decoding never shows, with the reason: their value or their guard's value was not
    /// recorded.
    pub fn hidden(&self, f: FuncId) -> Vec<(SiteId, String)> {
        let Some(p) = self.functions.get(f.index()) else { return Vec::new() };
        let mut out = Vec::new();
        for step in p.function.blocks.iter().flat_map(|b| &b.steps) {
            let (site, hidden) = match step {
                Step::Decide { site, slot, guard } => (*site, p.hides(&self.sources, *site, *slot, *guard)),
                Step::Visit { site, guard: Some(g) } => (*site, p.unknown[g.slot.index()]),
                _ => continue,
            };
            if hidden {
                let why = self.module.sites.get(site.index()).and_then(|s| s.skipped.clone());
                out.push((
                    site,
                    why.unwrap_or_else(|| "it depends on a decision that was not recorded".into()),
                ));
            }
        }
        out
    }
}

impl CheckedFunction<'_> {
    /// Whether a decision has no value: it was not recorded, or is computed from one that was not.
    pub fn hides(&self, sources: &[Source], site: SiteId, slot: Slot, guard: Option<Guard>) -> bool {
        guard.is_some_and(|g| self.unknown[g.slot.index()])
            || match sources[site.index()] {
                Source::None => true,
                Source::Computed => self.unknown[slot.index()],
                // What it follows from was compared.
                Source::Bits(_) | Source::Trips { .. } | Source::Follows => false,
            }
    }

    /// The innermost loop that contains both blocks.
    pub fn common_loop(&self, a: BlockId, b: BlockId) -> Option<LoopId> {
        let mut at = self.blocks[a.index()].in_loop;
        while let Some(l) = at {
            if self.encloses(l, self.blocks[b.index()].in_loop) {
                return Some(l);
            }
            at = self.function.loops[l.index()].parent;
        }
        None
    }

    /// Whether loop `outer` is `inner` or encloses it.
    pub fn encloses(&self, outer: LoopId, inner: Option<LoopId>) -> bool {
        let mut at = inner;
        while let Some(l) = at {
            if l == outer {
                return true;
            }
            at = self.function.loops[l.index()].parent;
        }
        false
    }
}

type LocatedError = (String, String);

fn prepare<'a>(module: &Module, id: FuncId, f: &'a Function) -> Result<CheckedFunction<'a>, LocatedError> {
    let at = |b: usize| format!("{}.functions[{}].blocks[{b}]", module.name, id.0);
    let here = |what: &str| (format!("{}.functions[{}]", module.name, id.0), what.to_string());
    if f.slots > MAX_SLOTS {
        return Err(here("more decoder registers than a function can have"));
    }
    for (i, l) in f.loops.iter().enumerate() {
        if l.header.index() >= f.blocks.len() || l.parent.is_some_and(|p| p.index() >= i) {
            return Err(here(&format!("loop {i} has no header, or comes before its parent")));
        }
    }
    let mut blocks = vec![BlockFacts::default(); f.blocks.len()];
    let mut counted = vec![None; f.loops.len()];
    for (b, block) in f.blocks.iter().enumerate() {
        if block.in_loop.is_some_and(|l| l.index() >= f.loops.len()) {
            return Err((at(b), "in a loop that does not exist".into()));
        }
        blocks[b].in_loop = block.in_loop;
        if let (Some(p), End::Branch { .. } | End::Switch { .. }) = (block.ipdom, &block.end) {
            blocks.get_mut(p.index()).ok_or_else(|| (at(b), format!("no {p}")))?.join = true;
        }
    }
    for (i, l) in f.loops.iter().enumerate() {
        // Of two loops with one header, the inner one counts the arrivals as trips.
        blocks[l.header.index()].heads = Some(LoopId(i as u32));
    }
    for (b, block) in f.blocks.iter().enumerate() {
        check_block(module, f, block, &mut counted).map_err(|what| (at(b), what))?;
    }
    let unknown = unknown_slots(module, f);
    let mut lost = None;
    for (b, block) in f.blocks.iter().enumerate() {
        let steers = match &block.end {
            End::Branch { guard, .. } => Some(guard.slot),
            End::Switch { index, .. } => Some(*index),
            _ => None,
        };
        // Calls and recorded bits under a guard can be followed only if the guard's value is known.
        let calls = block.steps.iter().filter_map(|s| match s {
            Step::Call { guard: Some(g), .. } | Step::Read { guard: Some(g), .. } => Some(g.slot),
            Step::Decide { site, guard: Some(g), .. } => {
                let source = module.sites[site.index()].source;
                matches!(source, Source::Bits(_) | Source::Trips { .. }).then_some(g.slot)
            }
            _ => None,
        });
        if steers.into_iter().chain(calls).any(|s| unknown[s.index()]) {
            lost = Some(format!(
                "control flow in {} depends on a decision that was not recorded",
                BlockId(b as u32)
            ));
            break;
        }
    }
    Ok(CheckedFunction { function: f, blocks, counted, unknown, lost })
}

/// Checks one block's steps and end. Marks the loops whose trip counts are recorded.
fn check_block(
    module: &Module,
    f: &Function,
    block: &prlx_trace::kernel::Block,
    counted: &mut [Option<(u8, SiteId)>],
) -> Result<(), String> {
    let slot = |s: Slot| if s.0 < f.slots { Ok(()) } else { Err(format!("no {s}")) };
    let guard = |g: &Option<Guard>| g.as_ref().map_or(Ok(()), |g| slot(g.slot));
    let to = |b: BlockId| if b.index() < f.blocks.len() { Ok(()) } else { Err(format!("no {b}")) };
    for step in &block.steps {
        match step {
            Step::Let { to, op, ty, args, guard: g } => {
                slot(*to)?;
                guard(g)?;
                if !alu::defined(*op, *ty) || args.len() < alu::arity(*op) || args.len() > 4 {
                    return Err(format!(
                        "{}.{} with {} arguments is undefined",
                        op.name(),
                        ty.name(),
                        args.len()
                    ));
                }
                for a in args {
                    match a {
                        Arg::Slot(s) => slot(*s)?,
                        Arg::Param { size: 1 | 2 | 4 | 8, .. } | Arg::Const(_) | Arg::Special(_) => {}
                        Arg::Param { size, .. } => return Err(format!("a parameter of {size} bytes")),
                    }
                }
            }
            Step::Decide { site, slot: s, guard: g } => {
                slot(*s)?;
                guard(g)?;
                match module.sites.get(site.index()).ok_or_else(|| format!("no {site}"))?.source {
                    Source::Bits(1..=30) | Source::Computed | Source::Follows | Source::None => {}
                    Source::Bits(n) => return Err(format!("{site} takes {n} bits")),
                    Source::Trips { of, bits: bits @ (0..=30 | COUNT_EVENT), .. } => {
                        let counted = counted.get_mut(of.index());
                        *counted.ok_or_else(|| format!("{site} counts trips of no {of}"))? =
                            Some((bits, *site));
                    }
                    Source::Trips { bits, .. } => return Err(format!("{site} counts trips in {bits} bits")),
                }
            }
            Step::Visit { site, guard: g } => {
                guard(g)?;
                module.sites.get(site.index()).ok_or_else(|| format!("no {site}"))?;
            }
            Step::Read { to, bits, guard: g, .. } => {
                slot(*to)?;
                guard(g)?;
                if !(1..=64).contains(bits) {
                    return Err(format!("a value of {bits} bits"));
                }
            }
            Step::Call { function, guard: g, .. } => {
                guard(g)?;
                module.functions.get(function.index()).ok_or_else(|| format!("no {function}"))?;
            }
        }
    }
    match &block.end {
        End::Jump(b) => to(*b),
        End::Branch { guard, taken, other } => slot(guard.slot).and(to(*taken)).and(to(*other)),
        End::Switch { index, targets } => targets.iter().try_fold((), |(), &t| to(t)).and(slot(*index)),
        End::Return | End::Exit => Ok(()),
    }
}

/// Decoder registers whose value may depend on a decision that was not recorded, on any path.
fn unknown_slots(module: &Module, f: &Function) -> Vec<bool> {
    let mut unknown = vec![false; f.slots as usize];
    let steps = || f.blocks.iter().flat_map(|b| &b.steps);
    for step in steps() {
        if let Step::Decide { site, slot, .. } = step {
            unknown[slot.index()] |= module.sites[site.index()].source == Source::None;
        }
    }
    let guarded = |g: &Option<Guard>, unknown: &[bool]| g.is_some_and(|g| unknown[g.slot.index()]);
    loop {
        let mut changed = false;
        for step in steps() {
            let (to, depends) = match step {
                Step::Let { to, args, guard, .. } => {
                    let mut from =
                        args.iter().filter_map(|a| if let Arg::Slot(s) = a { Some(*s) } else { None });
                    (to, guarded(guard, &unknown) || from.any(|s| unknown[s.index()]))
                }
                Step::Decide { slot: to, guard, .. } | Step::Read { to, guard, .. } => {
                    (to, guarded(guard, &unknown))
                }
                Step::Visit { .. } | Step::Call { .. } => continue,
            };
            if depends && !unknown[to.index()] {
                unknown[to.index()] = true;
                changed = true;
            }
        }
        if !changed {
            return unknown;
        }
    }
}
