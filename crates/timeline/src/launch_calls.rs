//! Launch calls of the host, on the axis of the tracks.

use prlx_trace::{Picos, SignedPicos};

/// The launch calls of a program's host, on the axis of the tracks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Host {
    /// Accuracy of the host's clock against each device's timer.
    pub clocks: Vec<HostClock>,
    /// Launch calls, by launch number, from the first launch with tracks to the last.
    pub calls: Vec<Call>,
}

/// Accuracy of the host's clock against the timer of a device.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct HostClock {
    /// Ordinal of the device.
    pub device: u32,
    /// Error of the host's times against those of the device. `None` if no bound is known.
    pub within: Option<Picos>,
    /// Number of bounds from the ends of kernels, and from their begins.
    pub bounds: [u64; 2],
}

/// A launch call of the host. Times are on the axis of the tracks.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Call {
    /// Number of the launch in its process.
    #[serde(rename = "launch")]
    pub number: u64,
    /// Name of the kernel, as in the source.
    pub kernel: String,
    /// Index in `Timeline::launches`, if the launch has tracks.
    #[serde(skip)]
    pub tracks: Option<usize>,
    /// Ordinal of the device.
    pub device: u32,
    /// Stream of the launch: 0 is the default stream.
    pub stream: u32,
    /// Number of the thread, by order of its first launch.
    pub thread: u32,
    /// When the program made the call.
    pub start: SignedPicos,
    /// When the driver was called, and when it returned. Recording takes the time from `start` until then.
    pub called: Option<[SignedPicos; 2]>,
    /// Begin and end of the kernel, from its tracks.
    pub ran: Option<[SignedPicos; 2]>,
    /// When the host learned that the kernel had ended.
    pub seen: Option<SignedPicos>,
    /// The thread's last wait for a device before the call: begin, end, and end of the delay by recording.
    pub waited: Option<[SignedPicos; 3]>,
}

impl Call {
    /// Time before which the kernel cannot have begun.
    pub fn at(&self) -> SignedPicos {
        self.called.map_or(self.start, |[at, _]| at)
    }

    /// All times of the call.
    fn times(&mut self) -> impl Iterator<Item = &mut SignedPicos> {
        let ran = self.called.iter_mut().chain(&mut self.ran).flatten();
        let more = ran.chain(&mut self.seen).chain(self.waited.iter_mut().flatten());
        [&mut self.start].into_iter().chain(more)
    }
}

impl Host {
    /// Moves all times back.
    pub(crate) fn back(&mut self, by: Picos) {
        self.calls.iter_mut().flat_map(Call::times).for_each(|at| *at = at.earlier(by));
    }
}
