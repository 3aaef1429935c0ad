//! A plan becomes insertions of PTX text.
//!
//! Every recorded function gets: a parameter at the end of its list, declarations of the state's registers at the top of
//! its body, and one piece of text an insertion, each in a scope of its own. Kernels get the address of the launch's
//! context, device functions that of their caller's state; see [`state`] for what the state is, [`chunk`] for how
//! elements reach memory.
//!
//! Holds: only registers, labels and variables with the module's prefix are written; branches go forward, inside their
//! piece; nothing waits but for lanes that `activemask` saw a few instructions before; no instruction of the source is
//! moved or changed, except that direct calls of recorded functions pass one more argument.
//!
//! Misses: modules for targets before sm_70 (no `match`), 32-bit addresses, kernels that other kernels launch, recorded
//! functions whose address is taken (the plan should leave those out; they are refused here).

mod addressing;
mod call_sites;
mod calls;
mod lane_state;
mod lifetime;
mod lower;
mod lowering;
mod markers;
mod preconditions;
mod probe;
mod recorders;
mod snippet;
mod state_passing;
mod values;

pub use lower::ptx;
pub(crate) use preconditions::fits;
pub(crate) use probe::operations::PARAMETERS;
