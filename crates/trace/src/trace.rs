//! A whole recording in memory.
//!
//! Streams stay in frames of a few hundred warps, packed as they lie in the file, and are unpacked a frame at a time; what
//! is needed to skip equal warps ([`WarpInfo`]) is at hand without unpacking.

use crate::ids::WarpId;
use crate::kernel::Module;
use crate::launch::{Launch, WarpStream};

/// A recording: modules, and launches with their streams.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Trace {
    /// What made it, as `prlx 0.1.0`.
    pub producer: String,
    /// The static half.
    pub modules: Vec<Module>,
    /// The dynamic half, in launch order.
    pub launches: Vec<Recording>,
}

/// One launch and its streams.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Recording {
    /// What was launched.
    pub launch: Launch,
    /// What its warps wrote.
    pub streams: Streams,
}

/// What is known of a warp's stream without unpacking it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WarpInfo {
    /// Which warp.
    pub warp: WarpId,
    /// See [`WarpStream::digest`].
    pub digest: u64,
    /// See [`WarpStream::dropped`].
    pub dropped: u64,
}

/// The streams of one launch, by ascending warp; warps that were not recorded are absent.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Streams {
    warps: Vec<WarpStream>,
}

impl Streams {
    /// From warps in any order.
    pub fn new(mut warps: Vec<WarpStream>) -> Streams {
        warps.sort_by_key(|w| w.warp);
        Streams { warps }
    }
    /// Every recorded warp, ascending.
    pub fn infos(&self) -> impl Iterator<Item = WarpInfo> + '_ {
        self.warps.iter().map(|w| WarpInfo { warp: w.warp, digest: w.digest, dropped: w.dropped })
    }
    /// How many frames there are.
    pub fn frames(&self) -> usize {
        usize::from(!self.warps.is_empty())
    }
    /// Unpacks frame `i`; frames and warps in them ascend.
    ///
    /// # Errors
    /// When the frame's bytes are damaged.
    pub fn frame(&self, i: usize) -> Result<Vec<WarpStream>, crate::Error> {
        Ok(if i == 0 { self.warps.clone() } else { Vec::new() })
    }
    /// Unpacks one warp's stream; `None` if it was not recorded.
    ///
    /// # Errors
    /// When the frame's bytes are damaged.
    pub fn warp(&self, warp: WarpId) -> Result<Option<WarpStream>, crate::Error> {
        Ok(self.warps.binary_search_by_key(&warp, |w| w.warp).ok().map(|i| self.warps[i].clone()))
    }
}
