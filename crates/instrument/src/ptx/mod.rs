//! Lowers a plan to insertions of PTX text.
//!
//! Every recorded function gets a parameter at the end of its list, declarations of its state registers at
//! the top of its body, and one snippet per insertion, each in a scope of its own. A kernel's parameter holds
//! the address of the launch's context, a device function's the address of its caller's record.
//! [`lane_state`] describes the state, [`recorders`] describe what is recorded, and `recorders/append.rs`
//! describes how elements reach memory. If a function has many places that may take a chunk of memory, the
//! module gets a function of its own for that, before its first one.
//!
//! # Invariants
//! - Snippets write only registers, labels and variables with the module's prefix.
//! - Branches go forward and stay inside their snippet. The only function that snippets call is the module's
//!   own, which returns at its end.
//! - Snippets wait only for lanes that `activemask` returned a few instructions before.
//! - No instruction of the source is moved or changed, except that direct calls of recorded functions pass
//!   one more argument.
//!
//! # Limitations
//! Refused are: targets before sm_70 (no `match`), 32-bit addresses, kernels that launch kernels, and
//! recorded functions whose address is taken. The plan should omit the last.

mod addressing;
mod call_sites;
mod calls;
mod exchanges;
mod lane_state;
mod lifetime;
mod lower;
mod lowering;
mod markers;
mod preconditions;
mod probe;
mod recorders;
mod routines;
mod snippet;
mod state_passing;
mod values;

pub use addressing::GRID_WARP;
pub use lower::ptx;
pub(crate) use preconditions::{can_exchange, fits};
pub(crate) use probe::operations::PARAMETERS;
pub use routines::{KEPT_SPECIALS, PREFIX, Routines, Text};
pub use snippet::temporary_type;
