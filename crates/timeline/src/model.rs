//! The timeline: what all readers produce and what all analyses and pictures take.
//!
//! # Invariants
//! - Times are picoseconds since the earliest moment of all tracks.
//! - Spans of a track nest, except those marked as asynchronous work.
//! - [`Timeline::notes`] lists everything that a reader repaired or dropped.

use prlx_trace::{Cycles, Nanos, Picos};

use crate::clusters::Clusters;
use crate::launch_calls::Host;
use crate::statistics::add;

/// Spans and moments, track by track.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Timeline {
    /// What spans and moments are of.
    pub regions: Vec<Region>,
    /// Launches, in order.
    pub launches: Vec<Launch>,
    /// Tracks, by launch, CTA, warp and group.
    pub tracks: Vec<Track>,
    /// What a program's host did, where that is known.
    pub host: Host,
    /// How exact times are.
    pub axis: Axis,
    /// What was repaired, what is missing.
    pub notes: Vec<Note>,
    /// What recording itself costs, by launch, where it was measured.
    pub calibrations: Vec<Calibration>,
}

/// What recording a kernel costs: `[bare, with markers recorded]` where there are two.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Calibration {
    /// The kernel, as users call it.
    pub kernel: String,
    /// Cycles that a region with nothing in it seems to take on this device.
    pub empty: Option<Cycles>,
    /// Its time in proportion to the bare kernel's (warp instructions, where the device counts them).
    pub dilation: Option<f64>,
    /// Registers of a thread.
    pub registers: Option<[u32; 2]>,
    /// Local memory of a thread, bytes: registers that were spilt lie there.
    pub local: Option<[u32; 2]>,
    /// Threads that a multiprocessor runs at once.
    pub resident: Option<[u32; 2]>,
    /// Threads that its registers leave room for on a multiprocessor, in whole CTAs:
    /// [`Calibration::resident`] is no more than this.
    pub room: Option<[u32; 2]>,
}

/// Something that spans or moments are of: a name at a place.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Region {
    /// The kernel marker's or function's name, as reports show it.
    pub name: String,
    /// Why it is marked.
    pub via: prlx_trace::mark::Via,
    /// Where it begins in the source: file and line.
    pub place: Option<(String, u32)>,
}

/// A launch, as far as a timeline tells of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Launch {
    /// Its number in its process.
    pub number: u64,
    /// The kernel, as users call it.
    pub kernel: String,
    /// CTAs of the grid, if known.
    pub ctas: Option<u64>,
    /// Warps of a CTA, if known.
    pub warps_per_cta: Option<u64>,
    /// Its clusters, if it has some.
    pub clusters: Option<Clusters>,
    /// Whether it was stopped while it ran.
    pub stopped: bool,
    /// How long it took as the host measured it; instrumented, and bare if that was measured too.
    pub took: [Option<Nanos>; 2],
}

/// What one lane, or the leader of a group, recorded.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Track {
    /// Which of [`Timeline::launches`].
    pub launch: usize,
    /// The multiprocessor, if known.
    pub sm: Option<u32>,
    /// Linear index of the CTA in the grid.
    pub cta: u64,
    /// The warp in its CTA, if known.
    pub warp: Option<u32>,
    /// The group that it said it belongs to: its role.
    pub group: Option<u32>,
    /// When it began and ended, if that is known.
    pub life: [Option<Picos>; 2],
    /// Spans, by begin; those of one time that are no asynchronous work in the order in which they began.
    pub spans: Vec<Span>,
    /// Moments, by time.
    pub moments: Vec<Moment>,
    /// Visits that were added up instead of kept.
    pub sums: Vec<Sum>,
    /// Records that are not there.
    pub lost: u64,
    /// Whether those are the first ones, not the last.
    pub last: bool,
}

/// A visit of a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// Which of [`Timeline::regions`].
    pub region: u32,
    /// When it begins.
    pub begin: Picos,
    /// When it ends.
    pub end: Picos,
    /// How long, in cycles of its multiprocessor; 0 if only a timer was read.
    pub cycles: Cycles,
    /// In how many spans of the track it lies; of asynchronous work 0.
    pub depth: u32,
    /// Which visit of this region by this track it is, from 0: where records are lost, of those that are
    /// there.
    pub trip: u32,
    /// Whether it is asynchronous work: from issue to completion.
    pub asynchronous: bool,
    /// Whether its begin, or its end, is not recorded: it is cut at the span's around it, or at its track's.
    pub open: [bool; 2],
    /// The words of its first record.
    pub payload: [u32; 2],
}

/// Visits of a region that were added up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sum {
    /// Which of [`Timeline::regions`].
    pub region: u32,
    /// Number of visits.
    pub count: u64,
    /// How long together.
    pub time: Picos,
    /// The same in cycles; 0 if only a timer was read.
    pub cycles: Cycles,
}

/// A point in time, without duration.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Moment {
    /// Which of [`Timeline::regions`].
    pub region: u32,
    /// When it is, since the begin of the axis.
    pub at: Picos,
    /// Whether somebody arrives at what others wait for: the first word says at what.
    pub arrival: bool,
    /// The words of its record.
    pub payload: [u32; 2],
}

/// How exact the time axis is.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Axis {
    /// Cycles a microsecond, fitted; 0: times are a timer's own.
    pub mhz: f64,
    /// By how much times near anchors may be early or late (95 of 100 are not).
    pub single: Picos,
    /// The same of times of two multiprocessors against each other.
    pub residual: Picos,
    /// The same anywhere: between anchors that are far apart, clocks may have changed their rates in other
    /// ways than was taken.
    pub between: Picos,
    /// Time between ticks of what times are read from.
    pub tick: Picos,
}

/// Something to know about a timeline.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Note {
    /// What kind, as scripts name it: `wrapped`, `orphan-end`, `lost` …
    pub kind: &'static str,
    /// Number of occurrences.
    pub count: u64,
    /// Explanation for the user.
    pub text: String,
}

impl Span {
    /// How long it lasts.
    pub fn time(&self) -> Picos {
        self.end.saturating_sub(self.begin)
    }
}

impl Track {
    /// What users call its role: the group that it said, or its warp.
    pub fn role(&self) -> Role {
        match (self.group, self.warp) {
            (Some(group), _) => Role::Group(group),
            (None, Some(warp)) => Role::Warp(warp),
            (None, None) => Role::None,
        }
    }

    /// When it began and ended: what is known of that, and what it holds. `None` if nothing is.
    pub fn range(&self) -> Option<[Picos; 2]> {
        let spans = self.spans.iter().flat_map(|s| [s.begin, s.end]);
        let all = spans.chain(self.moments.iter().map(|m| m.at)).chain(self.life.into_iter().flatten());
        all.fold(None, |range, at| Some(range.map_or([at; 2], |[a, b]: [Picos; 2]| [a.min(at), b.max(at)])))
    }

    /// Calls `edge` with the begin and the end of every span that is no asynchronous work, in order: the
    /// time, and the span that begins, or `None` as the innermost ends.
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

/// What a track does in its CTA.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Role {
    /// The recording names neither a group nor a warp.
    #[default]
    None,
    /// A group that it said it belongs to.
    Group(u32),
    /// Only its warp is known.
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
    /// When it ends.
    pub fn end(&self) -> Picos {
        self.tracks.iter().filter_map(Track::range).map(|[_, end]| end).max().unwrap_or_default()
    }

    /// The launches of each kernel by themselves, on an axis of their own, in the order of their first. Notes
    /// are of all, so the parts have none; so is what the host did.
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

    /// Adds a note, or to its count.
    pub fn note(&mut self, kind: &'static str, count: u64, text: impl Into<String>) {
        let text = text.into();
        match self.notes.iter_mut().find(|n| n.kind == kind && n.text == text) {
            _ if count == 0 => {}
            Some(note) => add(&mut note.count, count),
            None => self.notes.push(Note { kind, count, text }),
        }
    }

    /// Puts tracks and moments in order, and begins the axis at the earliest of all.
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
