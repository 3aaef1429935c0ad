//! Which markers a recording request asks for, and what they leave.

use prlx_trace::device::tracks::Form;
use prlx_trace::mark::Via;

/// Which markers leave records, and how.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MarkerOptions {
    /// Those that stand in the source.
    pub source: bool,
    /// Those put there from outside, by why.
    pub outside: Vec<Via>,
    /// Source lines that become regions: a pattern of the file's name, and the line.
    pub lines: Vec<(String, u32)>,
    /// Every lane has a track; else each warp has one, of its lowest lane or of the one that leads its group.
    pub lanes: bool,
    /// What a lane leaves.
    pub form: Form,
    /// Spans in place of records where these leave room for fewer threads of a kernel than without its markers, and spans for more.
    pub spare: bool,
}
