//! Level `fingerprint`: which values can stand for others in a hash.
//!
//! Stored values are hashed in any case. A load needs to be hashed only if a decision or the address of a
//! store follows from it, and then something between the two can be hashed in its place
//! ([`crate::choose::cut`]). What a decision depends on leads to it by all arithmetic of which equal inputs
//! make equal results on one device. Parameters of the kernel take no part in floating-point arithmetic
//! there, so that recordings with other parameters still say which lanes take another branch.
//!
//! # Limitations
//! - All loads are hashed in functions that call or are called, where an address depends on memory of the CTA
//!   or the lane or on what lanes exchange, and where something is stored that is not hashed: by bulk copies
//!   from shared memory, to surfaces, or at sites that a filter leaves out.

use std::collections::BTreeSet;

use prlx_isa::view::{Async, AsyncStep, Class, Effect, FunctionKind, Inst, InstId, Queue, Reg, Role, Space};

use crate::choose::lower;
use crate::function::body::{Body, SeenOnce, in_role, is_param, read, regs, written};
use crate::function::points::outer_memory;

/// Accesses of a function whose values can be hashed.
pub(crate) struct Hashable {
    /// Loads whose results can be hashed.
    pub loads: BTreeSet<InstId>,
    /// Stores and atomics: all of these are hashed.
    pub stores: BTreeSet<InstId>,
}

/// What level `fingerprint` may hash in a function, and must.
pub(crate) struct Hashes<'a> {
    /// Loads whose results can be hashed.
    pub loads: &'a BTreeSet<InstId>,
    /// Those of them that addresses of stores follow from.
    pub addresses: BTreeSet<InstId>,
    /// Instructions that no decoder evaluates, but of which equal inputs make equal results.
    pub on_device: BTreeSet<InstId>,
}

impl<'a> Hashes<'a> {
    /// `None` if all loads must be hashed.
    pub fn of(body: &Body<'_>, hashable: &'a Hashable) -> Option<Hashes<'a>> {
        if body.function.kind == FunctionKind::Device {
            return None;
        }
        let addresses = addresses(body, hashable)?;
        let by_parameters = by_parameters(body);
        let mut on_device = lower::on_device(body);
        on_device.retain(|at| !by_parameters.contains(at));
        Some(Hashes { loads: &hashable.loads, addresses, on_device })
    }
}

/// The loads that addresses of stores follow from. `None` if one follows from something else that no
/// parameter gives, or if something is stored that is not hashed.
fn addresses(body: &Body<'_>, hashable: &Hashable) -> Option<BTreeSet<InstId>> {
    let mut found = BTreeSet::new();
    let mut passed: BTreeSet<InstId> = BTreeSet::new();
    let mut seen = SeenOnce::new(body);
    let mut open: Vec<(InstId, Reg)> = Vec::new();
    for at in (0..body.function.insts.len() as u32).map(InstId) {
        let inst = body.inst(at);
        match inst.class {
            Class::Store | Class::Atomic if outer_memory(inst) => {
                if !hashable.stores.contains(&at) {
                    return None;
                }
                let addresses = regs(&in_role(inst, &[Role::Addr]));
                open.extend(addresses.into_iter().map(|reg| (at, reg)));
            }
            _ if writes_unseen(inst) => return None,
            _ => {}
        }
    }
    while let Some((at, reg)) = open.pop() {
        for def in seen.defs(body, at, reg).into_iter().filter(|def| passed.insert(*def)) {
            let inst = body.inst(def);
            match inst.class {
                _ if hashable.loads.contains(&def) => {
                    found.insert(def);
                }
                Class::Load if is_param(inst) => {}
                Class::Move
                | Class::Integer
                | Class::Float
                | Class::Convert
                | Class::Compare
                | Class::Select => {
                    let inputs = read(inst).into_iter().chain(inst.guard.map(|g| g.reg));
                    open.extend(inputs.map(|reg| (def, reg)));
                }
                _ => return None,
            }
        }
    }
    Some(found)
}

/// Whether an instruction can write memory that other CTAs or the host see, without values in registers.
fn writes_unseen(inst: &Inst) -> bool {
    match (inst.class, inst.semantics.effect) {
        (Class::Call | Class::Opaque, _) => true,
        (Class::Texture, Effect::Access(access)) => access.writes,
        // Copies to shared memory count at a barrier object, or are of single elements.
        (Class::AsyncCopy, Effect::Async(Async { queue, step, completes, .. })) => {
            step == AsyncStep::Issue && queue != Queue::Copies && !completes
        }
        (class, _) => matches!(class, Class::AsyncCopy | Class::Texture),
    }
}

/// Instructions whose results follow from parameters of the kernel, but not through memory.
fn by_parameters(body: &Body<'_>) -> BTreeSet<InstId> {
    let ids = (0..body.function.insts.len() as u32).map(InstId);
    let reads = |at: &InstId| lower::lower(body, *at).is_some_and(|o| lower::reads_parameters(&o));
    let mut by_parameters: BTreeSet<InstId> = ids.filter(reads).collect();
    let mut open: Vec<InstId> = by_parameters.iter().copied().collect();
    let mut seen = SeenOnce::new(body);
    while let Some(at) = open.pop() {
        for reg in written(body.inst(at)) {
            for user in seen.uses(body, at, reg) {
                let memory = matches!(body.inst(user).class, Class::Load | Class::Atomic)
                    && body.inst(user).space != Space::Param;
                if !memory && by_parameters.insert(user) {
                    open.push(user);
                }
            }
        }
    }
    by_parameters
}
