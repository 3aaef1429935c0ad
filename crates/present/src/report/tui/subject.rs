//! What the viewer shows.

use prlx_analyze::report::Report;
use prlx_analyze::view::{PathView, ViewModel};

/// Builds the path view of a finding, given the indices of the launch and of the finding. `Ok(None)` means
/// that the level records no paths; `Err` gives the reason for a failure.
pub type Looker<'a> = Box<dyn FnMut(usize, usize) -> Result<Option<PathView>, String> + 'a>;

/// A comparison that the viewer shows.
pub struct Subject<'a> {
    /// The report of the comparison.
    pub report: &'a Report,
    /// The source files. Its path views are not used.
    pub scene: &'a ViewModel,
    /// Builds the path view of a finding on demand.
    pub look: Looker<'a>,
}

/// A line of the list: a launch, or one of its findings, by index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ListRow {
    Launch(usize),
    Finding(usize, usize),
}
