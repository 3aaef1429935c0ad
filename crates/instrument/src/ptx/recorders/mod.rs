//! The recorders of the levels `fingerprint`, `path`, `events` and `operands`, and the streams that they
//! append to.

mod append;
mod events;
mod fingerprint;
mod operands;
mod path;
