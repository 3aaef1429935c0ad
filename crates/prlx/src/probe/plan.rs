//! The program that a plan is resolved from.

use std::sync::Arc;

use prlx_plan::{Filter, RecordingRequest};
use prlx_probe::lang::Script;

/// A request that inserts `script` into the kernels that match one of `kernels`; an empty list means all.
pub fn recording_request(script: &Arc<Script>, kernels: &[String]) -> RecordingRequest {
    let filter = Filter { kernels: kernels.to_vec(), ..Filter::default() };
    RecordingRequest { filter, ..RecordingRequest::of_probe(script.clone()) }
}
