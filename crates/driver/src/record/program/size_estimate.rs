//! Estimates how much of a pool a launch will write before it has run. The estimate is reserved for it, so
//! that queued launches do not take each other's memory.
//!
//! For an unknown kernel, the estimate is twice the first chunks of all warps. After a launch of the kernel
//! was decoded, the estimate is what it used, in proportion to the number of warps, plus an eighth. Launches
//! of the same shape get the most that such a launch used recently. No estimate exceeds what the plan says
//! that the kernel can write. The size of tracks is known after one launch of the kernel.
//!
//! # Invariants
//! - The history is bounded.
//! - No estimate exceeds the capacity of a pool.
//!
//! # Limitations
//! Data can make a launch write much more than the ones before. The pool may then overflow, and dropped
//! elements are counted.

use std::collections::BTreeMap;

use prlx_trace::launch::Launch;
use prlx_trace::{FuncId, Level, ModuleId};

use crate::record::program::layout::Layout;

/// Maximum number of kernel shapes in the history.
const KNOWN: usize = 1 << 14;
/// Chunks per stream of a warp, for a kernel that is not in the history.
const FIRST: u64 = 2;

/// Pool bytes that launches used, by kernel and number of warps.
#[derive(Default)]
pub(super) struct SizeHistory {
    most: BTreeMap<(ModuleId, FuncId, u64), u64>,
    /// Bytes that a kernel's longest track needed, by kernel.
    tracks: BTreeMap<(ModuleId, FuncId), u64>,
    /// How long the last measured launch ran, in nanoseconds, by kernel.
    times: BTreeMap<(ModuleId, FuncId), u64>,
}

impl SizeHistory {
    /// Estimated pool bytes of a launch that records `warps` warps, at most the pool's capacity. `most` is
    /// [`Plan::most_elements`](prlx_plan::Plan::most_elements) of its kernel.
    pub fn estimate(&self, layout: &Layout, launch: &Launch, warps: u64, most: Option<u32>) -> u64 {
        // A probe program has no streams.
        if layout.level == Level::Probe {
            return 0;
        }
        let key = (launch.module, launch.kernel, warps);
        let below = self.most.range(..=key).next_back();
        let above = self.most.range(key..).next();
        // The nearest shape of the same kernel. Of two, the smaller one: if they differ, its warps have more
        // work.
        let near = [below, above].into_iter().flatten().find(|(k, _)| (k.0, k.1) == (key.0, key.1));
        let size_estimate = match near {
            Some(((_, _, of), bytes)) => {
                let bytes = u128::from(*bytes) * u128::from(warps) / u128::from((*of).max(1));
                let chunks = u64::try_from(bytes).unwrap_or(u64::MAX).div_ceil(layout.chunk());
                chunks.saturating_add(chunks / 8).saturating_mul(layout.chunk())
            }
            None => warps.saturating_mul(layout.first()).saturating_mul(FIRST),
        };
        let most = most.map_or(u64::MAX, |most| warps.saturating_mul(layout.chunks(most) * layout.chunk()));
        size_estimate.min(most).min(layout.capacity())
    }
    /// Estimated bytes of each track of such a launch; `None` for an unknown kernel.
    pub fn track(&self, launch: &Launch) -> Option<u64> {
        self.tracks.get(&(launch.module, launch.kernel)).map(|bytes| bytes + bytes / 8)
    }
    /// How long the kernel's last measured launch ran, in nanoseconds.
    pub fn time(&self, kernel: (ModuleId, FuncId)) -> Option<u64> {
        self.times.get(&kernel).copied()
    }
    /// Adds to the history: a launch of the kernel ran for `nanos` nanoseconds.
    pub fn learn_time(&mut self, kernel: (ModuleId, FuncId), nanos: u64) {
        if self.times.len() >= KNOWN && !self.times.contains_key(&kernel) {
            self.times.clear();
        }
        self.times.insert(kernel, nanos);
    }
    /// Adds to the history: the launch's longest track needed `bytes` bytes.
    pub fn learn_track(&mut self, launch: &Launch, bytes: u64) {
        let key = (launch.module, launch.kernel);
        if self.tracks.len() >= KNOWN && !self.tracks.contains_key(&key) {
            self.tracks.clear();
        }
        let most = self.tracks.entry(key).or_default();
        *most = bytes.max(*most - *most / 8);
    }
    /// Adds to the history: a launch that recorded `warps` warps used `bytes` bytes of the pool.
    pub fn learn(&mut self, launch: &Launch, warps: u64, bytes: u64) {
        let key = (launch.module, launch.kernel, warps);
        if self.most.len() >= KNOWN && !self.most.contains_key(&key) {
            self.most.clear();
        }
        let most = self.most.entry(key).or_default();
        // A maximum that is not reached again decays in small steps.
        *most = bytes.max(*most - *most / 8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prlx_trace::WarpSize;

    #[test]
    fn launches_tell_of_later_ones() {
        let layout = Layout::new(Level::Path, WarpSize::W32, 64 << 20, 0).unwrap();
        let chunk = layout.chunk();
        let mut size_history = SizeHistory::default();
        let of = |kernel| Launch { kernel: FuncId(kernel), ..Launch::default() };
        // Nothing is known.
        assert_eq!(size_history.estimate(&layout, &of(0), 10, None), 20 * chunk);
        size_history.learn(&of(0), 10, 80 * chunk);
        assert_eq!(size_history.estimate(&layout, &of(0), 10, None), 90 * chunk);
        assert_eq!(size_history.estimate(&layout, &of(0), 20, None), 180 * chunk);
        assert_eq!(size_history.estimate(&layout, &of(0), 5, None), 45 * chunk);
        assert_eq!(size_history.estimate(&layout, &of(1), 5, None), 10 * chunk);
        // Of several shapes the same one.
        size_history.learn(&of(0), 1000, 1000 * chunk);
        assert_eq!(size_history.estimate(&layout, &of(0), 1000, None), 1125 * chunk);
        assert_eq!(size_history.estimate(&layout, &of(0), 10, None), 90 * chunk);
        // One that writes nothing is promised nothing, in the end.
        size_history.learn(&of(2), 10, 0);
        assert_eq!(size_history.estimate(&layout, &of(2), 10, None), 0);
        for _ in 0..200 {
            size_history.learn(&of(0), 10, chunk);
        }
        assert_eq!(size_history.estimate(&layout, &of(0), 10, None), chunk);
        // Not more than the plan knows: 15 words fit a chunk.
        assert_eq!(size_history.estimate(&layout, &of(1), 5, Some(0)), 0);
        assert_eq!(size_history.estimate(&layout, &of(1), 5, Some(15)), 5 * chunk);
        assert_eq!(size_history.estimate(&layout, &of(1), 5, Some(16)), 10 * chunk);
        let huge = size_history.estimate(&layout, &of(0), u64::MAX, None);
        assert_eq!(huge, layout.capacity());
        for i in 0..2 * KNOWN as u64 {
            size_history.learn(&of(0), i, chunk);
            assert!(size_history.most.len() <= KNOWN);
        }
    }
}
