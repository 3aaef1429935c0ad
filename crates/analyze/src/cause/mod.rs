//! Why outputs differ: from an element back to the first difference on the way to it.
//!
//! | file | in one sentence |
//! |---|---|
//! | `flow` | where a value came from, in one launch |
//! | `code_match` | which instruction of one build is which of the other |
//! | `value` | values of both sides in a form that compares |
//! | `lanes` | what exchanges and matrix products depend on |
//! | `paths` | where two threads take different branches |
//! | `origins` | values that one side copies and the other makes |
//! | `walk` | from a pair of values to the first difference |
//! | `sums` | sums by their addends |
//! | `nan` | where a NaN is made |
//! | `checks` | races and the like that explain a difference |
//! | `decision` | why a thread makes another decision, where outputs agree |
//! | `errors` | guards that let a thread make an error |
//! | `stuck` | what threads that wait for ever would need |
//! | `place` | places in the code as reports show them |
//! | `relocate` | moves a cause to the line of the source that differs |
//! | `source_changes` | which lines of the source differ |
//! | `explain` | one cause for each group of elements |
//!
//! # Limitations
//! Both sides need their data flow, which only the CPU device records. Products of `wgmma` are followed
//! through their registers alone.

mod checks;
mod code_match;
mod decision;
mod duplicates;
mod errors;
mod explain;
mod flow;
mod fragments;
mod lanes;
mod nan;
mod origins;
mod paths;
mod place;
mod relocate;
mod source_changes;
mod stuck;
mod sums;
mod tiles;
mod unwritten;
mod value;
mod walk;

pub use checks::{add_check_findings, add_error_of_both};
pub use decision::explain_decision;
pub use errors::{error_ctas, explain_error};
pub use explain::{DifferingOutput, ExplainedLaunch, Explanation, StoringCtas, explain, storing_ctas};
pub use source_changes::{SourceChanges, SourceFiles};
