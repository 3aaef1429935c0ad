//! Decodes one lane's path from its recording. A module is checked once; then each lane's stream is walked
//! through it.

pub mod alu;
mod checked_module;
mod complete_events;
mod converged;
mod decision_source;
mod decoder;
mod lane_stream;
mod lane_visits;
pub(crate) mod lockstep;
mod mix;
mod path_item;
mod special_registers;

pub use checked_module::CheckedModule;
pub(crate) use checked_module::{can_be_omitted, is_decision};
pub use complete_events::complete_events;
pub use decoder::Decoder;
pub(crate) use lane_stream::lane_part;
pub use lane_stream::lane_words;
pub use lane_visits::{LaneVisits, lane_visits};
pub(crate) use mix::mix;
pub(crate) use path_item::MAX_ENTRIES;
pub use path_item::{DecodeLimits, DecodeOutcome, PathItem, VisitCounts};
