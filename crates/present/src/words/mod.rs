//! The words of a report. Text, HTML, Perfetto and the terminal viewer all take their sentences from here.
//!
//! `slice` draws the tree of a value's origin, `names` names things (launches, kernels, places, lanes),
//! `headline` sums up a report, `finding` describes one finding, and `coverage` says how much was compared
//! and how it was recorded. `output` describes an output that differs, and `cause` why it does.
//!
//! # Invariants
//! Every string that comes from a trace is escaped for a terminal ([`crate::format::clean`]).

mod cause;
mod coverage;
mod finding;
mod headline;
mod names;
mod output;
mod slice;

pub(crate) use cause::{element as cause_element, rows as cause_rows};
pub(crate) use coverage::{recorded, rows as coverage};
pub(crate) use finding::{
    ALREADY_DIVERGED, CONTROLS, Fact, consequence, facts, iterations, nest, sentence, step_value, warp_hit,
    warp_shown,
};
pub(crate) use headline::{culprit, decisions_agree, headline, nothing_compared, suspect};
pub(crate) use names::{
    chain, exact, exact_place, findings_cut, folded_launches, innermost_ranges, kernel, lanes, launch, noun,
    own, place, short, stops, unmatched_launches,
};
pub(crate) use output::{OutputRow, differing, other_differences, rows as output_rows, shape};
pub(crate) use slice::lead;
