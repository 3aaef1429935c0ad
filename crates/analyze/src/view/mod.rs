//! What viewers show around a finding, from the recordings that it was found in.

mod options;
mod path_view;
mod view_model;

pub use crate::report::{LaneRow, Look, Mark, Nest, Step, Within};
pub use options::LookOptions;
pub use path_view::look;
pub use view_model::Scene;
