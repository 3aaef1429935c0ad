//! The timeline: what all readers produce and what all analyses and pictures take.
//!
//! # Invariants
//! - Times are picoseconds since the earliest moment of all tracks.
//! - Spans of a track nest, except those marked as asynchronous work.
//! - [`Timeline::notes`] lists everything that a reader repaired or dropped.

use prlx_trace::mark::Via;
use prlx_trace::{Cycles, Nanos, Picos};

use crate::clusters::Clusters;
use crate::launch_calls::Host;
use crate::statistics::add;

/// The regions, launches and tracks of one or more launches, on one time axis.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Timeline {
    /// Regions; spans, moments and sums refer to them by index.
    pub regions: Vec<Region>,
    /// Launches, in the order of their numbers.
    pub launches: Vec<Launch>,
    /// Tracks, sorted by launch, CTA, warp and group.
    pub tracks: Vec<Track>,
    /// What the host did to launch the kernels, if it is known.
    pub host: Host,
    /// Accuracy of the time axis.
    pub axis: Axis,
    /// What a reader repaired or dropped.
    pub notes: Vec<Note>,
    /// Measured overhead of the markers, one entry for each kernel.
    pub calibrations: Vec<Calibration>,
}

/// The overhead of a kernel's markers. Pairs are `[without markers, with markers]`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Calibration {
    /// Name of the kernel, as in the source.
    pub kernel: String,
    /// Measured length of an empty region on this device.
    pub empty: Option<Cycles>,
    /// Time with markers divided by the time without, in warp instructions if the device counts them.
    pub dilation: Option<f64>,
    /// Number of registers of a thread.
    pub registers: Option<[u32; 2]>,
    /// Local memory of a thread in bytes, with spilled registers.
    pub local: Option<[u32; 2]>,
    /// Number of resident threads of an SM.
    pub resident: Option<[u32; 2]>,
    /// Threads that its registers leave room for on a multiprocessor, in whole CTAs:
    /// [`Calibration::resident`] is no more than this.
    pub room: Option<[u32; 2]>,
}

/// A region of the code: a name at a source location.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Region {
    /// Name of the marker or function, for reports.
    pub name: String,
    /// Why the region is marked.
    pub via: Via,
    /// File and line at which the region begins.
    pub place: Option<(String, u32)>,
    /// Files and lines of the calls that the region's code was inlined at, the innermost first. A helper that
    /// is called twice has two regions.
    pub calls: Vec<(String, u32)>,
}

impl Region {
    /// The name for reports: where code inserted the marker by itself, with its place, as `barrier a.cu:3`.
    pub fn title(&self) -> String {
        match (self.via, self.place_text()) {
            (Via::Source | Via::Function | Via::Line, _) | (_, None) => self.name.clone(),
            (_, Some(place)) => format!("{} {place}", self.name),
        }
    }

    /// Where the region is, as `a.cu:3 < a.cu:9`: its line, and the calls around it. `None` if it is not
    /// known.
    pub fn place_text(&self) -> Option<String> {
        let of = |(file, line): &(String, u32)| format!("{}:{line}", file.rsplit('/').next().unwrap_or(file));
        let all: Vec<String> = self.place.iter().chain(&self.calls).map(of).collect();
        self.place.as_ref().map(|_| all.join(" < "))
    }
}

/// A launch of a kernel.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Launch {
    /// Number of the launch in its process.
    pub number: u64,
    /// Name of the kernel, as in the source.
    pub kernel: String,
    /// Number of CTAs of the grid, if it is known.
    pub ctas: Option<u64>,
    /// Number of warps of a CTA, if it is known.
    pub warps_per_cta: Option<u64>,
    /// Clusters of the launch, if it has clusters.
    pub clusters: Option<Clusters>,
    /// Whether the launch ended early.
    pub stopped: bool,
    /// Duration of the launch, with instrumentation and without, if they were measured. The CPU device has
    /// no time: it counts executed warp instructions here.
    pub took: [Option<Nanos>; 2],
}

/// What one lane recorded. The lane may stand for a group of warps.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Track {
    /// Which of [`Timeline::launches`].
    pub launch: usize,
    /// The SM on which the lane ran, if it is known.
    pub sm: Option<u32>,
    /// Linear index of the CTA in the grid.
    pub cta: u64,
    /// Number of the warp in the CTA, if it is known.
    pub warp: Option<u32>,
    /// The group that the lane declared, if any.
    pub group: Option<u32>,
    /// When the lane began and ended, if it is known.
    pub life: [Option<Picos>; 2],
    /// Spans, sorted by begin. Nested spans with equal begins are in the order in which they were recorded.
    pub spans: Vec<Span>,
    /// Moments, sorted by time.
    pub moments: Vec<Moment>,
    /// Visits that were summed up instead of recorded.
    pub sums: Vec<Sum>,
    /// Number of records that were lost.
    pub lost: u64,
    /// Whether the first records were lost, not the last ones.
    pub last: bool,
}

/// One visit of a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// Which of [`Timeline::regions`].
    pub region: u32,
    /// Begin of the span.
    pub begin: Picos,
    /// End of the span.
    pub end: Picos,
    /// Length in cycles of the SM's clock. 0 if only a timer was read, or two SMs took part.
    pub cycles: Cycles,
    /// Number of spans of the track that contain this span; 0 for asynchronous work.
    pub depth: u32,
    /// Number of this visit of the region by the track, from 0. Lost visits do not count.
    pub trip: u32,
    /// Whether the span is asynchronous work, from issue to completion.
    pub asynchronous: bool,
    /// Whether its begin, and whether its end, was not recorded. Such a span begins or ends with the
    /// enclosing span or with the track.
    pub open: [bool; 2],
    /// Payload words of the first record of the span.
    pub payload: [u32; 2],
}

/// Sums over the visits of a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sum {
    /// Which of [`Timeline::regions`].
    pub region: u32,
    /// Number of visits.
    pub count: u64,
    /// Total time of the visits.
    pub time: Picos,
    /// Total length in cycles; 0 if only a timer was read.
    pub cycles: Cycles,
}

/// A point in time, without duration.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Moment {
    /// Which of [`Timeline::regions`].
    pub region: u32,
    /// Time of the moment, since the begin of the axis.
    pub at: Picos,
    /// Whether the lane arrives at a barrier, which the first word identifies.
    pub arrival: bool,
    /// Payload words of the record.
    pub payload: [u32; 2],
}

/// Accuracy of the time axis.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Axis {
    /// Whether the CPU device made the times: a simulated clock, which says nothing of a GPU's speed.
    pub simulated: bool,
    /// Fitted clock rate in MHz; 0 if times come from a timer alone.
    pub mhz: f64,
    /// Error of times near anchors: 95 of 100 times are within it.
    pub single: Picos,
    /// Error of the difference of times of two SMs, near anchors.
    pub residual: Picos,
    /// Error of such a difference far from anchors, where the rates of clocks may have changed unnoticed.
    pub between: Picos,
    /// Time between two ticks of the timer.
    pub tick: Picos,
}

/// A note on what a reader repaired or dropped.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Note {
    /// Kind of the note for scripts: `wrapped`, `orphan-end`, `lost` …
    pub kind: &'static str,
    /// Number of occurrences.
    pub count: u64,
    /// Explanation for the user.
    pub text: String,
}

impl Span {
    /// Length of the span.
    pub fn time(&self) -> Picos {
        self.end.saturating_sub(self.begin)
    }
}

impl Track {
    /// The role of the track in its CTA: the declared group, or else the warp.
    pub fn role(&self) -> Role {
        match (self.group, self.warp) {
            (Some(group), _) => Role::Group(group),
            (None, Some(warp)) => Role::Warp(warp),
            (None, None) => Role::None,
        }
    }

    /// Earliest and latest time of the track. `None` if the track is empty.
    pub fn range(&self) -> Option<[Picos; 2]> {
        let spans = self.spans.iter().flat_map(|s| [s.begin, s.end]);
        let all = spans.chain(self.moments.iter().map(|m| m.at)).chain(self.life.into_iter().flatten());
        all.fold(None, |range, at| Some(range.map_or([at; 2], |[a, b]: [Picos; 2]| [a.min(at), b.max(at)])))
    }

    /// Calls `edge` for the begin and the end of each nested span, in order of time. It receives the time,
    /// and the span that begins, or `None` if the innermost span ends.
    pub fn walk<E>(&self, mut edge: impl FnMut(Picos, Option<&Span>) -> Result<(), E>) -> Result<(), E> {
        let mut open: Vec<Picos> = Vec::new();
        for span in self.spans.iter().filter(|s| !s.asynchronous) {
            while open.len() > span.depth as usize {
                edge(open.pop().unwrap_or_default(), None)?;
            }
            edge(span.begin, Some(span))?;
            open.push(span.end);
        }
        open.into_iter().rev().try_for_each(|at| edge(at, None))
    }
}

/// The role of a track in its CTA.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Role {
    /// The recording names neither a group nor a warp.
    #[default]
    None,
    /// The number of a declared group.
    Group(u32),
    /// The number of the warp; no group was declared.
    Warp(u32),
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Role::None => f.write_str("all"),
            Role::Group(n) => write!(f, "group {n}"),
            Role::Warp(n) => write!(f, "warp {n}"),
        }
    }
}

impl Timeline {
    /// The title of a region; empty if there is no such region.
    pub fn region_title(&self, region: u32) -> String {
        self.regions.get(region as usize).map(Region::title).unwrap_or_default()
    }

    /// The latest time of all tracks.
    pub fn end(&self) -> Picos {
        self.tracks.iter().filter_map(Track::range).map(|[_, end]| end).max().unwrap_or_default()
    }

    /// One timeline for each kernel, with an axis of its own, in the order of the first launches. The parts
    /// have no notes and no host calls, because these concern all kernels.
    pub fn by_kernel(&self) -> Vec<Timeline> {
        let mut kernels: Vec<&str> = Vec::new();
        for launch in &self.launches {
            if !kernels.contains(&launch.kernel.as_str()) {
                kernels.push(&launch.kernel);
            }
        }
        let part = |kernel: &str| {
            let mut part = Timeline { regions: self.regions.clone(), axis: self.axis, ..Timeline::default() };
            let mut number = vec![None; self.launches.len()];
            for (i, launch) in self.launches.iter().enumerate().filter(|(_, l)| l.kernel == kernel) {
                number[i] = Some(part.launches.len());
                part.launches.push(launch.clone());
            }
            let tracks =
                self.tracks.iter().filter_map(|t| Some(Track { launch: number[t.launch]?, ..t.clone() }));
            part.tracks = tracks.collect();
            part.settle();
            part
        };
        kernels.into_iter().map(part).collect()
    }

    /// Adds a note, or adds to the count of an equal note. Does nothing if `count` is 0.
    pub fn note(&mut self, kind: &'static str, count: u64, text: impl Into<String>) {
        let text = text.into();
        match self.notes.iter_mut().find(|n| n.kind == kind && n.text == text) {
            _ if count == 0 => {}
            Some(note) => add(&mut note.count, count),
            None => self.notes.push(Note { kind, count, text }),
        }
    }

    /// Sorts tracks, spans and moments, and lets the axis begin at the earliest time.
    pub fn settle(&mut self) {
        let first =
            self.tracks.iter().filter_map(Track::range).map(|[begin, _]| begin).min().unwrap_or_default();
        for track in &mut self.tracks {
            track.life.iter_mut().flatten().for_each(|at| *at -= first);
            track.spans.iter_mut().for_each(|s| (s.begin, s.end) = (s.begin - first, s.end - first));
            track.moments.iter_mut().for_each(|m| m.at -= first);
            track.spans.sort_by_key(|s| s.begin);
            track.moments.sort_by_key(|m| m.at);
        }
        self.host.back(first);
        self.tracks.sort_by_key(|t| (t.launch, t.cta, t.warp, t.group));
    }
}
