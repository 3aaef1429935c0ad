//! Data flow of one function: def-use chains, decisions, and the parameter bytes that a kernel never reads.

mod decisions;
mod def_use;
mod mentions;
mod phi;
mod unread_params;
mod values;

pub use decisions::{Decision, SteerKind, decisions};
pub use def_use::{Def, DefUse, Seen, ValueNode};
pub use unread_params::unread_param_bytes;
