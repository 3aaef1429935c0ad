//! The driver library: found, opened, and each call as a safe function.
//!
//! # Safety contract
//! All unsafe code that calls the driver for this crate is in this folder. The `SAFETY` comments refer to
//! these clauses:
//!
//! - **C1, types.** Every pointer in [`Functions`](super::Functions) has the type that the table of calls
//!   declares. The table follows cuda.h, and a test compares it with the header.
//! - **C2, live arguments.** Every pointer that is passed points to a value that lives until the call
//!   returns, is writable where the call writes, and has the size that the call is told or that cuda.h fixes.
//! - **C3, handles.** Contexts, modules, functions, streams and events are private types. Their values come
//!   from the driver, or from the program through `foreign`, whose caller promises that the driver knows
//!   them. The driver checks a handle that has become stale; the pointer is never followed here.
//! - **C4, asynchronous copies.** Host memory of a copy that may still be under way is owned by a `PinnedBuffer` or a
//!   `MappedBuffer`, neither reads nor writes it meanwhile, and it is not freed before the context.
//!
//! # Limitations
//! The library is never closed, because drivers leave threads behind.

#[macro_use]
mod call;
pub(crate) mod failure;
pub(crate) mod handles;
pub(crate) mod launch;
pub(crate) mod mapped;
mod modules;
pub(crate) mod open;
pub(crate) mod pinned;
pub(crate) mod pointers;
mod streams;

pub use failure::{Failure, sticky};
pub use handles::{Context, Event, Stream};
pub use mapped::MappedBuffer;
pub use open::{Library, VARIABLE};
pub use pinned::PinnedBuffer;
pub use pointers::PointerInfo;
