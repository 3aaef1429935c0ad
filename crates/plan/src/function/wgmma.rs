//! Which registers tensor-core work of a warpgroup is writing.
//!
//! From a `wgmma.mma_async` to the `wgmma.wait_group 0` after it, code may not touch its accumulators. (After
//! a `wait_group` of more than 0 some groups are done, but which registers they wrote is not followed: they
//! count as in flight.) Inserted code may not call there either, for then the assembler gives up overlapping;
//! no action is ever lowered to a call.

use std::collections::BTreeSet;

use prlx_isa::view::{AsyncStep, Effect, Inst, InstId, Operand, Queue, Reg, Role};

use crate::function::body::{Body, in_role, regs};

/// By instruction: accumulators in flight before it. Empty if the function has no such work.
pub struct WgmmaHazards(Vec<InFlight>, InFlight);

/// Accumulators of work that was started and not waited for.
pub type InFlight = BTreeSet<Reg>;

impl WgmmaHazards {
    /// Follows `body`'s windows.
    pub fn of(body: &Body<'_>) -> WgmmaHazards {
        if !body.function.insts.iter().any(|i| products(i).is_some()) {
            return WgmmaHazards(Vec::new(), InFlight::new());
        }
        let mut starts: Vec<Option<InFlight>> = vec![None; body.parts.len()];
        starts[0] = Some(InFlight::new());
        let mut before = vec![InFlight::new(); body.function.insts.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for &part in &body.graph.order {
                let Some(mut now) = starts[part.index()].clone() else { continue };
                for i in body.parts[part.index()].insts.clone() {
                    before[i as usize] = now.clone();
                    step(body.inst(InstId(i)), &mut now);
                }
                for s in body.parts[part.index()].end.succs() {
                    let mut joined = starts[s.index()].clone().unwrap_or_default();
                    joined.extend(&now);
                    if starts[s.index()].as_ref() != Some(&joined) {
                        starts[s.index()] = Some(joined);
                        changed = true;
                    }
                }
            }
        }
        WgmmaHazards(before, InFlight::new())
    }
    /// What is in flight before `at`.
    pub fn before(&self, at: InstId) -> &InFlight {
        self.0.get(at.index()).unwrap_or(&self.1)
    }
}

fn step(inst: &Inst, now: &mut InFlight) {
    match products(inst) {
        Some(AsyncStep::Issue) => now.extend(regs(&in_role(inst, &[Role::Def, Role::UseDef]))),
        Some(AsyncStep::Wait) if inst.operands.contains(&Operand::Int(0)) => now.clear(),
        _ => {}
    }
}

/// What an instruction contributes to asynchronous products.
pub fn products(inst: &Inst) -> Option<AsyncStep> {
    match inst.semantics.effect {
        Effect::Async(work) if work.queue == Queue::Products => Some(work.step),
        _ => None,
    }
}
