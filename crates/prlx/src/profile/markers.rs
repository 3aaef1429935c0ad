//! Which markers a profile records, and how.

use prlx_plan::markers::MarkerOptions;
use prlx_plan::{Filter, RecordingRequest};
use prlx_trace::device::tracks::Form;
use prlx_trace::mark::Via;

use crate::device::DeviceOptions;

/// How to profile.
#[derive(Clone, Debug)]
pub struct ProfileOptions {
    /// Kinds of instructions and code to mark, besides the markers of the source.
    pub auto: Vec<Via>,
    /// Source lines to mark as regions.
    pub lines: Vec<(String, u32)>,
    /// Give every lane a track, not only the lowest of its warp or the leader of its group.
    pub lanes: bool,
    /// What a marker leaves in its track.
    pub form: Form,
    /// Half-open ranges of warps of the grid; empty means all.
    pub warps: Vec<(u64, u64)>,
    /// Device memory for tracks, in MiB.
    pub memory: Option<u64>,
    /// On the CPU device, record with instrumented code, as on a GPU.
    pub rewritten: bool,
    /// On the CPU device, compare regions with the machine code that the assembler makes. A GPU always does.
    pub machine_code: bool,
    /// Where launch files run.
    pub device: DeviceOptions,
    /// What to tell a user whose kernels have no markers.
    pub hint: MarkerHint,
}

impl ProfileOptions {
    /// Tracks keep the last records only, as a flight recorder does.
    pub(super) fn is_flight_recorder(&self) -> bool {
        matches!(self.form, Form::Ring { .. })
    }

    /// The program that inserts the code for markers.
    pub(super) fn program(&self, filter: Filter) -> RecordingRequest {
        RecordingRequest { filter, ..RecordingRequest::of_markers(self.marking()) }
    }

    /// The markers to record.
    pub fn marking(&self) -> MarkerOptions {
        let marks = marking(self.auto.clone(), self.lines.clone(), self.lanes, self.form);
        MarkerOptions { spare: true, ..marks }
    }
}

/// The markers of the source, and those that are added, recorded in the given form.
pub fn marking(outside: Vec<Via>, lines: Vec<(String, u32)>, lanes: bool, form: Form) -> MarkerOptions {
    MarkerOptions { source: true, outside, lines, lanes, form, spare: false }
}

/// Advice for kernels without markers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MarkerHint {
    /// Nothing was marked from outside; that may help.
    Auto,
    /// Loops and functions could be marked, too.
    LoopsAndFunctions,
    /// There is nothing else to mark.
    #[default]
    None,
}

impl MarkerHint {
    /// The hint for markers of these kinds and lines.
    pub fn new(auto: &[Via], lines: &[(String, u32)]) -> MarkerHint {
        if auto.is_empty() && lines.is_empty() {
            MarkerHint::Auto
        } else if !auto.iter().any(|kind| matches!(kind, Via::Trip | Via::Function)) {
            MarkerHint::LoopsAndFunctions
        } else {
            MarkerHint::None
        }
    }

    /// The hint as a line of its own, or nothing.
    pub(super) fn text(self) -> &'static str {
        match self {
            MarkerHint::Auto => {
                "\n  --auto marks waits, arrivals and asynchronous work; docs/markers.md has the others"
            }
            MarkerHint::LoopsAndFunctions => "\n  --auto=trip,function marks loop iterations and functions",
            MarkerHint::None => "",
        }
    }
}
