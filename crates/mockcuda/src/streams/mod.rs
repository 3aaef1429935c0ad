//! Streams and events.

pub mod data;
mod events;
mod queue;
