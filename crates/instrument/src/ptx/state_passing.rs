//! How the state of a lane passes between functions: stored to the record before a call, loaded from it
//! afterwards.

use prlx_plan::Action;
use prlx_trace::kernel::Level;

use crate::ptx::addressing::unsigned;
use crate::ptx::lane_state::{CONTEXT_AT, CURSOR_AT, NOT_RECORDED, StateRegister};
use crate::ptx::lowering::Lowering;
use crate::ptx::snippet::Snippet;

impl Lowering<'_> {
    /// Stores the state to the record, for a callee or (`back`) for the caller.
    pub(super) fn hand_over(&self, s: &mut Snippet<'_>, back: bool) {
        let record = self.record();
        for StateRegister { name, size, offset, changes, .. } in self.state_registers() {
            if let Some(at) = offset
                && (changes || !back)
            {
                s.ptx(&format!("st.local.{} [{record}+{at}], %~{name};", unsigned(size)));
            }
        }
    }

    /// Loads the registers that a callee may have changed.
    pub(super) fn take_back(&self, s: &mut Snippet<'_>) {
        let record = self.record();
        for StateRegister { name, size, offset, changes, .. } in self.state_registers() {
            if let Some(at) = offset
                && changes
            {
                s.ptx(&format!("ld.local.{} %~{name}, [{record}+{at}];", unsigned(size)));
            }
        }
    }

    /// Base of the record's address.
    fn record(&self) -> &'static str {
        if self.in_kernel() { "~record" } else { "%~state" }
    }
}

/// Emits the state that an unrecorded function passes to a recorded one: no context, cursor off, an empty
/// window.
pub(super) fn unrecorded(lowering: &Lowering<'_>, s: &mut Snippet<'_>) {
    if lowering.state.level != Level::Probe {
        s.ptx(&format!("st.local.u64 [~record+{CURSOR_AT}], {NOT_RECORDED};"));
    }
    s.ptx(&format!("st.local.u64 [~record+{CONTEXT_AT}], 0;"));
    for StateRegister { name, size, init, offset, .. } in &lowering.state.shared {
        if let Some(at) = offset
            && name != "cursor"
        {
            s.ptx(&format!("st.local.{} [~record+{at}], {};", unsigned(*size), init.unwrap_or(0)));
        }
    }
}

/// Whether an action only passes state.
pub(super) fn passes_state(action: &Action) -> bool {
    matches!(action, Action::Save | Action::Restore)
}
