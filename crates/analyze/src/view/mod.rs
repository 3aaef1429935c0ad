//! What viewers show around a finding, built from the recordings in which it was found.

mod around_finding;
mod options;
mod view_model;

pub use crate::report::{AlignedStep, LaneRow, OpenScope, PathView, Scope, StepMatch};
pub use around_finding::path_view;
pub use options::PathViewOptions;
pub use view_model::ViewModel;
