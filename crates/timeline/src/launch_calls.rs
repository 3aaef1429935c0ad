//! Launch calls of the host, on the axis of the tracks.

use prlx_trace::Picos;

/// What a program's host did to launch kernels, on the axis of their times.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Host {
    /// By device: how its timer and the host's clock come together.
    pub clocks: Vec<HostClock>,
    /// Launches, in order: from the first that has tracks to the last.
    pub calls: Vec<Call>,
}

/// How well a device's timer and the host's clock come together.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct HostClock {
    /// The device's ordinal.
    pub device: u32,
    /// Picoseconds by which times of the host may be early or late beside those of the device. `None`:
    /// nothing says how early or late.
    pub within: Option<Picos>,
    /// How many bounds there are: kernels that ended before that was seen, and that began after they were
    /// launched.
    pub bounds: [u64; 2],
}

/// A launch, as its host made it. Times are picoseconds on the axis of tracks, which may lie before its
/// beginning.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Call {
    /// Its number in its process.
    #[serde(rename = "launch")]
    pub number: u64,
    /// The kernel, as users call it.
    pub kernel: String,
    /// Which of `Timeline::launches`, if it has tracks.
    #[serde(skip)]
    pub tracks: Option<usize>,
    /// The device's ordinal.
    pub device: u32,
    /// Stream of the launch: 0 is the default stream.
    pub stream: u32,
    /// The thread, by order of first launch.
    pub thread: u32,
    /// When the program launched it.
    pub start: i64,
    /// When the driver was called to, and when it answered; between the start and that it is made ready to be
    /// recorded.
    pub called: Option<[i64; 2]>,
    /// When it ran, as all of its tracks say.
    pub ran: Option<[i64; 2]>,
    /// When its end was seen.
    pub seen: Option<i64>,
    /// The thread's last wait for a device before it: begin, end, and until when recording held the thread.
    pub waited: Option<[i64; 3]>,
}

impl Call {
    /// Before this it did not begin.
    pub fn at(&self) -> i64 {
        self.called.map_or(self.start, |[at, _]| at)
    }

    /// All times that it has.
    fn times(&mut self) -> impl Iterator<Item = &mut i64> {
        let ran = self.called.iter_mut().chain(&mut self.ran).flatten();
        let more = ran.chain(&mut self.seen).chain(self.waited.iter_mut().flatten());
        [&mut self.start].into_iter().chain(more)
    }
}

impl Host {
    /// Moves all times back.
    pub(crate) fn back(&mut self, by: Picos) {
        let by = i64::try_from(by.0).unwrap_or(i64::MAX);
        self.calls.iter_mut().flat_map(Call::times).for_each(|at| *at = at.saturating_sub(by));
    }
}
