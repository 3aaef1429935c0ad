//! Level `probe`: the user's program, and what it writes: tables, counters, records and shared variables.

mod counters;
pub(super) mod emitter;
mod known_values;
pub(super) mod operations;
mod program;
mod record_store;
mod reductions;
mod shared_variables;
mod tables;
mod thread_records;
