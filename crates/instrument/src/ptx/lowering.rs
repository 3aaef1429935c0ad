//! The lowering of one function: what every part of it needs to know.

use prlx_isa::view::{Function, FunctionKind, Guard, Inst, Module, Operand};
use prlx_plan::{Action, FunctionPlan, Plan};
use prlx_trace::kernel::Level;

use crate::error::{Error, ErrorKind};
use crate::ptx::call_sites::{Calls, register_list};
use crate::ptx::lane_state::{Kept, State, WARP};
use crate::ptx::markers::registers::Constants;
use crate::ptx::snippet::{Snippet, guard_text};
use crate::ptx::values::{Value, scalars_of};

/// The lowering of one function.
pub(super) struct Lowering<'a> {
    pub(super) source: &'a str,
    pub(super) module: &'a Module,
    pub(super) plan: &'a Plan,
    pub(super) function: &'a Function,
    pub(super) of_plan: &'a FunctionPlan,
    /// Of the function.
    pub(super) index: usize,
    pub(super) state: &'a State,
    /// By function: visit counters in the record.
    pub(super) visits: &'a [u32],
    pub(super) calls: &'a Calls,
    /// What its loops have in registers.
    pub(super) constants: Constants,
    /// 80 for sm_80 and its kin.
    pub(super) arch: u32,
}

impl Lowering<'_> {
    /// Wraps code in a branch around it, for lanes whose guard does not hold.
    pub(super) fn guarded(
        &self,
        s: &mut Snippet<'_>,
        guard: Option<Guard>,
        body: impl FnOnce(&mut Snippet<'_>),
    ) {
        let skip = s.label("skip");
        if let Some(g) = guard {
            s.ptx(&format!("{} bra {skip};", guard_text(self.function, g, true)));
        }
        body(s);
        if guard.is_some() {
            s.ptx(&format!("{skip}:"));
        }
    }

    /// Operands as scalars, in order.
    pub(super) fn scalars(&self, values: &[Operand]) -> Vec<Value> {
        values.iter().filter_map(|v| scalars_of(self.module, self.function, v)).flatten().collect()
    }

    /// Of operands that an access moves, what it moves: `bits` of each scalar.
    pub(super) fn moved(&self, values: &[Operand], bits: u8) -> Vec<Value> {
        self.scalars(values).into_iter().map(|v| v.low(bits)).collect()
    }

    pub(super) fn in_kernel(&self) -> bool {
        self.function.kind == FunctionKind::Kernel
    }

    /// Whether this function makes the record: it hands state to others and got none.
    pub(super) fn has_record(&self) -> bool {
        (self.in_kernel() || self.of_plan.insertions.is_empty() && !self.is_recorded())
            && self.calls.from(self.index)
    }

    pub(super) fn is_recorded(&self) -> bool {
        self.plan.functions.get(self.index).is_some_and(|f| f.skipped.is_none())
    }

    /// Whether anything here or in its callees writes elements. Often all of a kernel's decisions can be evaluated again.
    pub(super) fn writes(&self) -> bool {
        let writes = || self.of_plan.insertions.iter().any(|i| writes_elements(&i.action));
        self.state.level != Level::Probe && (!self.in_kernel() || writes())
    }

    /// Whether its parameters are registers, as in PTX before there was an ABI.
    pub(super) fn register_parameters(&self) -> bool {
        register_list(self.source, self.function)
    }

    /// The registers that it keeps.
    pub(super) fn kept(&self) -> Vec<Kept> {
        let visits = if self.in_kernel() { visit_counters(self.of_plan) } else { 0 };
        let mut kept = self.state.kept(self.of_plan.trip_counters, visits);
        kept.extend(self.constants.registers().map(|(name, _, none)| Kept::new(name, 4, Some(none), None)));
        kept
    }

    /// Visit counters of function `index` in the record.
    pub(super) fn device_visits(&self, index: usize) -> u32 {
        self.visits.get(index).copied().unwrap_or_default()
    }

    pub(super) fn wrong(&self, inst: &Inst, what: &str) -> Error {
        Error::new(ErrorKind::Plan, inst.span, format!("{}: {what}", self.function.name))
    }
}

/// How many visit counters a function has.
pub(super) fn visit_counters(plan: &FunctionPlan) -> u32 {
    let counters = plan.insertions.iter().filter_map(|i| match i.action {
        Action::Operands { counter, .. } => Some(counter.saturating_add(1)),
        _ => None,
    });
    counters.max().unwrap_or(0)
}

/// Whether an action leads to elements in memory, at once, in a callee or at the lane's end.
pub(super) fn writes_elements(action: &Action) -> bool {
    match action {
        Action::Begin
        | Action::End { .. }
        | Action::Restore
        | Action::Fold { .. }
        | Action::TripFold { .. } => false,
        // It counts, and only level `path` writes what was counted: where a loop ends.
        Action::TripBegin { .. } | Action::TripAdd { .. } | Action::TripRead { .. } => false,
        // To tables and records.
        Action::Probe(_) | Action::Count { .. } => false,
        Action::Room { .. } | Action::Anchor | Action::Mark { .. } | Action::Add { .. } => false,
        Action::Span { .. } | Action::Group { .. } => false,
        Action::Reserve { bits } => *bits > 0,
        _ => true,
    }
}

/// Lanes of a warp, for the checks of this crate.
const _: () = assert!(WARP == 32);
