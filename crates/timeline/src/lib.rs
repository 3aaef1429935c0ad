//! In-kernel timelines: what markers recorded becomes regions, waits, critical path and causes.
//!
//! A [`Timeline`] has one track per recording lane or group, with spans of regions on one time axis.
//! [`timeline()`] reads it from a recording; `prlx-legacy` reads it from buffers of other profilers.
//! [`analyze()`] and [`diff()`] take it.
//!
//! - `model`, `launch_calls`, `clusters`: the plain data.
//! - [`clock`]: the clocks of all SMs, and of the host, on one time axis.
//! - [`read`]: recorded markers become tracks, spans and moments.
//! - `analyze`: region times, waits, pipelines, overlap, critical path, tail, causes.
//! - `selection`: parts of a timeline. `diff`: two timelines compared.
//!
//! # Invariants
//! Functions over values: the same recording gives the same timeline, and the same timeline the same
//! analysis.

mod analyze;
pub mod clock;
mod clusters;
mod diff;
mod launch_calls;
mod model;
pub mod read;
mod selection;
mod statistics;

pub use analyze::causes::Cause;
pub use analyze::critical_path::CriticalPathPart;
pub use analyze::host::{DeviceIdle, Gap, GapCauses, HostSummary};
pub use analyze::overlap::Overlap;
pub use analyze::pipeline::{Loop, Stage};
pub use analyze::region_times::{GroupTimes, RegionTimes};
pub use analyze::stopped::StoppedTracks;
pub use analyze::tail::LaunchTail;
pub use analyze::waits::{Arrow, Blame, Wait, WaitKind, arrows};
pub use analyze::{Analysis, analyze};
pub use clusters::Clusters;
pub use diff::{Change, Diff, KernelChange, Pace, RegionChange, diff};
pub use launch_calls::{Call, Host, HostClock};
pub use model::{Axis, Calibration, Launch, Moment, Note, Region, Role, Span, Sum, Timeline, Track};
pub use read::{ThreadsPerSm, timeline};
pub use selection::Selection;
