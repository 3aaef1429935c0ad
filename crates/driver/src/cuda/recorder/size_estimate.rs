//! How much of a pool a launch is likely to write, before it has run: what was promised to queued launches is
//! not given to others.
//!
//! Nothing is known of a kernel at first: then it is twice the first chunk of every warp, a guess. Launches
//! that were drained tell what they took; those of the same kernel are promised that in proportion to their
//! warps, and a little more, those of the same shape the most that it took lately. What tracks want is known
//! of a kernel as soon as one launch of it has ended.
//!
//! # Invariants
//! What is known is bounded, and no launch is promised more than there can be. Misses: data that makes a
//! launch write much more than those before it: then memory may run over, and what was lost is counted.

use std::collections::BTreeMap;

use prlx_trace::launch::Launch;
use prlx_trace::{FuncId, Level, ModuleId};

use super::layout::Layout;

/// Kernels in their shapes that are known at a time.
const KNOWN: usize = 1 << 14;
/// Chunks for each stream of a warp of a kernel of which nothing is known.
const FIRST: u64 = 2;

/// What launches took, by kernel and warps: bytes.
#[derive(Default)]
pub(super) struct SizeHistory {
    most: BTreeMap<(ModuleId, FuncId, u64), u64>,
    /// What the longest of a kernel's tracks wanted, by kernel: bytes.
    tracks: BTreeMap<(ModuleId, FuncId), u64>,
}

impl SizeHistory {
    /// Bytes of the pool that are promised to a launch that records so many warps: all that can be, at most.
    pub fn estimate(&self, layout: &Layout, launch: &Launch, warps: u64) -> u64 {
        // A probe program has no streams.
        if layout.level == Level::Probe {
            return 0;
        }
        let key = (launch.module, launch.kernel, warps);
        let below = self.most.range(..=key).next_back();
        let above = self.most.range(key..).next();
        // The nearest shape of the same kernel; of two the smaller one, whose warps have more to do if they
        // differ.
        let near = [below, above].into_iter().flatten().find(|(k, _)| (k.0, k.1) == (key.0, key.1));
        let size_estimate = match near {
            Some(((_, _, of), bytes)) => {
                let bytes = u128::from(*bytes) * u128::from(warps) / u128::from((*of).max(1));
                let chunks = u64::try_from(bytes).unwrap_or(u64::MAX).div_ceil(layout.chunk());
                chunks.saturating_add(chunks / 8).saturating_mul(layout.chunk())
            }
            None => warps.saturating_mul(layout.first()).saturating_mul(FIRST),
        };
        size_estimate.min(layout.capacity())
    }
    /// Bytes that each track of such a launch is likely to want; `None`: nothing is known of its kernel.
    pub fn track(&self, launch: &Launch) -> Option<u64> {
        self.tracks.get(&(launch.module, launch.kernel)).map(|bytes| bytes + bytes / 8)
    }
    /// The longest of a launch's tracks wanted these bytes.
    pub fn learn_track(&mut self, launch: &Launch, bytes: u64) {
        let key = (launch.module, launch.kernel);
        if self.tracks.len() >= KNOWN && !self.tracks.contains_key(&key) {
            self.tracks.clear();
        }
        let most = self.tracks.entry(key).or_default();
        *most = bytes.max(*most - *most / 8);
    }
    /// A launch that recorded so many warps took these bytes of the pool.
    pub fn learn(&mut self, launch: &Launch, warps: u64, bytes: u64) {
        let key = (launch.module, launch.kernel, warps);
        if self.most.len() >= KNOWN && !self.most.contains_key(&key) {
            self.most.clear();
        }
        let most = self.most.entry(key).or_default();
        // What is not seen again is forgotten, in small steps.
        *most = bytes.max(*most - *most / 8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_tell_of_later_ones() {
        let layout = Layout::new(Level::Path, 64 << 20, 0).unwrap();
        let chunk = layout.chunk();
        let mut size_history = SizeHistory::default();
        let of = |kernel| Launch { kernel: FuncId(kernel), ..Launch::default() };
        // Nothing is known.
        assert_eq!(size_history.estimate(&layout, &of(0), 10), 20 * chunk);
        size_history.learn(&of(0), 10, 80 * chunk);
        assert_eq!(size_history.estimate(&layout, &of(0), 10), 90 * chunk);
        assert_eq!(size_history.estimate(&layout, &of(0), 20), 180 * chunk);
        assert_eq!(size_history.estimate(&layout, &of(0), 5), 45 * chunk);
        assert_eq!(size_history.estimate(&layout, &of(1), 5), 10 * chunk);
        // Of several shapes the same one.
        size_history.learn(&of(0), 1000, 1000 * chunk);
        assert_eq!(size_history.estimate(&layout, &of(0), 1000), 1125 * chunk);
        assert_eq!(size_history.estimate(&layout, &of(0), 10), 90 * chunk);
        // One that writes nothing is promised nothing, in the end.
        size_history.learn(&of(2), 10, 0);
        assert_eq!(size_history.estimate(&layout, &of(2), 10), 0);
        for _ in 0..200 {
            size_history.learn(&of(0), 10, chunk);
        }
        assert_eq!(size_history.estimate(&layout, &of(0), 10), chunk);
        let huge = size_history.estimate(&layout, &of(0), u64::MAX);
        assert_eq!(huge, layout.capacity());
        for i in 0..2 * KNOWN as u64 {
            size_history.learn(&of(0), i, chunk);
            assert!(size_history.most.len() <= KNOWN);
        }
    }
}
