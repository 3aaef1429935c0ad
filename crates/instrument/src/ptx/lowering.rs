//! The lowering of one function: the facts and helpers that every part of it needs.

use std::collections::HashSet;

use prlx_isa::view::{Function, FunctionKind, Guard, Inst, Module, Operand};
use prlx_plan::{Action, FunctionPlan, Plan};
use prlx_trace::kernel::Level;
use prlx_trace::{SiteId, WarpSize};

use crate::error::{Error, ErrorKind};
use crate::ptx::call_sites::{Calls, register_list};
use crate::ptx::lane_state::{StateLayout, StateRegister};
use crate::ptx::markers::registers::LoopConstants;
use crate::ptx::snippet::{Snippet, guard_text};
use crate::ptx::values::{OperandValue, scalars_of};

/// What the routines become, which decides where the state of a lane is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Output {
    /// PTX. Device functions get the state from their caller.
    Ptx,
    /// Lines that an [`ObjectTarget`](crate::ObjectTarget) compiles to machine code of waves. All functions
    /// of a kernel have the state and the number of the warp in the same registers, which they do not use
    /// otherwise. The lanes that run a line run it together. So lanes need not agree on who takes part in an
    /// exchange, and a fence orders their accesses. Lanes form no groups.
    Wave,
}

/// Lowers one function.
pub(super) struct Lowering<'a> {
    pub(super) source: &'a str,
    pub(super) module: &'a Module,
    pub(super) plan: &'a Plan,
    pub(super) function: &'a Function,
    pub(super) of_plan: &'a FunctionPlan,
    /// Index of the function.
    pub(super) index: usize,
    pub(super) state: &'a StateLayout,
    /// Number of visit counters in the record, by function.
    pub(super) visits: &'a [u32],
    /// Number of visit counters that it keeps in registers. In AMD code all functions keep the counters of
    /// all.
    pub(super) own_visits: u32,
    pub(super) calls: &'a Calls,
    /// Constants that the function's loops keep in registers.
    pub(super) constants: LoopConstants,
    /// Decisions after whose bits the word is evaluated.
    pub(super) chain_ends: HashSet<SiteId>,
    /// Number of the target architecture: 80 for sm_80.
    pub(super) arch: u32,
    pub(super) output: Output,
    /// Whether the code that takes a chunk is a function that this one calls.
    pub(super) calls_next_chunk: bool,
}

impl Lowering<'_> {
    /// Wraps code in a branch that skips it for lanes whose guard is false.
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

    /// Operands as scalar values, in order.
    pub(super) fn scalars(&self, values: &[Operand]) -> Vec<OperandValue> {
        values.iter().filter_map(|v| scalars_of(self.module, self.function, v)).flatten().collect()
    }

    /// The values that an access moves: the low `bits` of each scalar.
    pub(super) fn moved(&self, values: &[Operand], bits: u8) -> Vec<OperandValue> {
        self.scalars(values).into_iter().map(|v| v.low(bits)).collect()
    }

    /// Whether lanes can exchange values.
    pub(super) fn exchanges(&self) -> bool {
        self.output == Output::Ptx && self.plan.warp_size == WarpSize::W32
    }

    pub(super) fn in_kernel(&self) -> bool {
        self.function.kind == FunctionKind::Kernel
    }

    /// Whether this function allocates the record: it passes state to others and received none.
    pub(super) fn has_record(&self) -> bool {
        (self.in_kernel() || self.of_plan.insertions.is_empty() && !self.is_recorded())
            && self.calls.from(self.index)
    }

    pub(super) fn is_recorded(&self) -> bool {
        self.plan.functions.get(self.index).is_some_and(|f| f.skipped.is_none())
    }

    /// Whether this function or its callees write elements. Often a decoder can evaluate all of a kernel's
    /// decisions again.
    pub(super) fn writes(&self) -> bool {
        // Level `fingerprint` folds the word that it gathers decisions in.
        let gathers = self.state.level == Level::Fingerprint;
        let writes = |a: &Action| writes_elements(a) && !(gathers && matches!(a, Action::Bits { .. }));
        let writes = || self.of_plan.insertions.iter().any(|i| writes(&i.action));
        self.state.level != Level::Probe && (!self.in_kernel() || writes())
    }

    /// Whether its parameters are registers, as in PTX before its ABI.
    pub(super) fn register_parameters(&self) -> bool {
        register_list(self.source, self.function)
    }

    /// State registers of the function.
    pub(super) fn state_registers(&self) -> Vec<StateRegister> {
        let mut kept = self.state.state_registers(self.of_plan.trip_counters, self.own_visits);
        kept.extend(
            self.constants.registers().map(|(name, _, none)| StateRegister::new(name, 4, Some(none), None)),
        );
        kept
    }

    /// Number of visit counters of function `index` in the record.
    pub(super) fn device_visits(&self, index: usize) -> u32 {
        self.visits.get(index).copied().unwrap_or_default()
    }

    pub(super) fn wrong(&self, inst: &Inst, what: &str) -> Error {
        Error::new(ErrorKind::Plan, inst.span, format!("{}: {what}", self.function.name))
    }
}

/// Number of visit counters of a function.
pub(super) fn visit_counters(plan: &FunctionPlan) -> u32 {
    let counters = plan.insertions.iter().filter_map(|i| match i.action {
        Action::Operands { counter, .. } => Some(counter.saturating_add(1)),
        _ => None,
    });
    counters.max().unwrap_or(0)
}

/// Whether an action writes elements: at once, in a callee, or at the end of the thread.
pub(super) fn writes_elements(action: &Action) -> bool {
    match action {
        Action::Begin
        | Action::End { .. }
        | Action::Restore
        | Action::StartCursor
        | Action::Fold { .. }
        | Action::FoldWord
        | Action::TripFold { .. } => false,
        // These only count. Level `path` writes the counts where the loop ends.
        Action::TripBegin { .. } | Action::TripAdd { .. } | Action::TripRead { .. } => false,
        // These write to tables and records.
        Action::Probe(_) | Action::Count { .. } => false,
        Action::Room { .. } | Action::Anchor | Action::Mark { .. } | Action::Add { .. } => false,
        Action::Span { .. } | Action::Group { .. } => false,
        Action::Reserve { bits } => *bits > 0,
        _ => true,
    }
}
