//! Compares recordings: sessions of this version, and files and sessions of PRLX 0.x.

mod legacy;
mod sessions;

pub use legacy::{Histories, LegacyComparison, LegacyOptions, diff_legacy};
pub use sessions::{
    Compared, diff_sessions, diff_traces, kernel_name, launches_by_number, match_processes, read_file,
    trace_pairs,
};
