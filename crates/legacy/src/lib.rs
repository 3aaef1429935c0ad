//! Formats that PRLX did not define, or does not write by default any more: read, written and compared.
//!
//! - [`v1`]: recordings and site tables of PRLX 0.x, and with them the event streams of GPU DiffDbg.
//! - [`compare`]: two such recordings become a launch report. It fills `prlx_analyze`'s report and uses its
//!   alignment of sequences, so that both kinds of recordings are presented alike.
//! - [`cudaprofiler`]: buffers of TVM's CudaProfiler and of FlashInfer, and their conversion to and from
//!   timelines.
//!
//! # Invariants
//! No reader panics on hostile input; every refusal names its place.

pub mod compare;
pub mod cudaprofiler;
pub mod v1;
