//! Finds and opens the driver library, and wraps each call in a safe function.
//!
//! # Safety contract
//! All unsafe code with which this crate calls the driver is in this folder. The `SAFETY` comments refer to
//! these clauses:
//!
//! - **C1, types.** Every pointer in [`Functions`](super::Functions) has the type that the call table
//!   declares. The table follows cuda.h, and a test compares it with the header.
//! - **C2, live arguments.** Every pointer that is passed points to a value that lives until the call
//!   returns, is writable where the call writes, and has the size that the call is given or that cuda.h
//!   fixes.
//! - **C3, handles.** Contexts, modules, functions, streams and events are private types. Their values come
//!   from the driver, or from the program through `foreign`, whose caller guarantees that the driver knows
//!   them. The driver checks stale handles; the pointer is never followed here.
//! - **C4, asynchronous copies.** Host memory of a copy that may still be in progress is owned by a
//!   `PinnedBuffer` or a `MappedBuffer`. A `PinnedBuffer` neither reads nor writes it until the copy has
//!   ended, and does not free it before the context. A `MappedBuffer` reads it only with volatile reads, and
//!   unmaps it only after the driver has released it.
//!
//! # Limitations
//! The library is never closed, because drivers leave threads behind.

#[macro_use]
mod call;
pub(crate) mod launch;
pub(crate) mod mapped;
pub(crate) mod modules;
pub(crate) mod open;
pub(crate) mod pinned;
pub(crate) mod pointers;
pub(crate) mod streams;

pub use open::{Library, VARIABLE};
pub use pointers::PointerInfo;
