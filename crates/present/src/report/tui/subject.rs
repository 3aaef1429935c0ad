//! What the viewer shows.

use prlx_analyze::report::Report;
use prlx_analyze::view::{PathView, ViewModel};

/// Looks at a finding: launch and finding by index; `Err` says why it can't.
pub type Looker<'a> = Box<dyn FnMut(usize, usize) -> Result<Option<PathView>, String> + 'a>;

/// What viewers need of a comparison.
pub struct Subject<'a> {
    /// What was found.
    pub report: &'a Report,
    /// Sources. Its looks are not used.
    pub scene: &'a ViewModel,
    /// Gives what there is to see around a finding.
    pub look: Looker<'a>,
}

/// What a line of the list stands for: a launch, or one of its findings; by index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ListRow {
    Launch(usize),
    Finding(usize, usize),
}
