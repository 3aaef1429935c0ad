//! The `wgmma` products of a warp and of a warpgroup that are in flight.

use std::collections::VecDeque;

use prlx_lanes::{Planes, V32};
use rustc_hash::FxHashMap;

use crate::error::{EmuError, invalid};

/// Warps of a warpgroup.
pub const WARPS: usize = 4;

/// The most products of a warp in flight: more than any code has.
pub const MAX_PRODUCTS: usize = 1 << 12;

/// A product in flight.
#[derive(Clone, Copy, Debug)]
pub struct PendingProduct {
    /// Index in [`crate::code::Code::products`].
    pub product: u32,
    /// The step that began it.
    pub step: u32,
    /// Descriptors of A and B.
    pub descriptors: [u64; 2],
    /// Whether D is added; else the sum starts at zero.
    pub scale_d: bool,
}

/// An accumulator of a product in flight. Its register holds noise until the product may be seen.
#[derive(Clone, Copy, Debug)]
pub struct HiddenAccumulator {
    /// The true value.
    pub value: V32,
    /// The last product that writes it, counted from the warp's first.
    pub last: u64,
}

/// The products of a warp.
#[derive(Clone, Debug, Default)]
pub struct WarpProducts {
    /// Products that the warp has begun.
    pub begun: u64,
    /// Products of the warp that are complete.
    pub done: u64,
    /// For each group that nobody has waited for: the number of products begun before its end.
    pub groups: VecDeque<u64>,
    /// The products in flight, in the order in which they began.
    pub pending: VecDeque<PendingProduct>,
    /// The hidden accumulators, by 32-bit plane.
    pub hidden: FxHashMap<u16, HiddenAccumulator>,
    /// The number of products that the other warps of the warpgroup must have begun, if the warp waits.
    pub awaited: Option<u64>,
}

/// The products of a warpgroup.
#[derive(Clone, Debug, Default)]
pub struct WarpgroupProducts {
    /// By warp: products that it has begun.
    pub begun: [u64; WARPS],
    /// By warp: products that are complete.
    pub done: [u64; WARPS],
    /// The steps of the products that not all warps have begun, from number `first` on.
    pub log: VecDeque<u32>,
    /// The number of the first product in `log`.
    pub first: u64,
}

impl WarpgroupProducts {
    /// A warp begins its next product.
    ///
    /// # Errors
    /// The warps of the warpgroup begin different products, or one is too far ahead.
    pub fn begin(&mut self, warp: usize, step: u32) -> Result<(), EmuError> {
        let n = (self.begun[warp] - self.first) as usize;
        match self.log.get(n) {
            Some(&other) if other != step => {
                return Err(invalid("is not the product that the others of the warpgroup begin"));
            }
            Some(_) => {}
            None if n == MAX_PRODUCTS => {
                return Err(invalid(format!(
                    "is begun when other warps of its warpgroup are {MAX_PRODUCTS} products behind"
                )));
            }
            None => self.log.push_back(step),
        }
        self.begun[warp] += 1;
        while self.begun.iter().all(|&b| b > self.first) {
            self.log.pop_front();
            self.first += 1;
        }
        Ok(())
    }
}

impl WarpProducts {
    /// Whether the warp waits for other warps.
    pub fn is_waiting(&self) -> bool {
        self.awaited.is_some()
    }
    /// The first warp of the warpgroup, if the warp waits for products that all four have begun; and how
    /// many.
    pub fn ready(&self, warp: usize, groups: &[WarpgroupProducts]) -> Option<(usize, u64)> {
        let awaited = self.awaited?;
        let all = groups.get(warp / WARPS)?.begun.iter().all(|&b| b >= awaited);
        all.then_some((warp / WARPS * WARPS, awaited))
    }
    /// Whether some accumulators are hidden.
    pub fn any_hidden(&self) -> bool {
        !self.hidden.is_empty()
    }
    /// Commits the current group.
    pub fn commit(&mut self) {
        self.groups.push_back(self.begun);
        // Groups that end at the same product are equal for a wait. A loop may commit without products.
        if self.groups.len() > MAX_PRODUCTS {
            self.groups.pop_front();
        }
    }
    /// The number of products that must be complete so that at most `left` groups are in flight.
    pub fn due(&self, left: u32) -> u64 {
        let n = self.groups.len().checked_sub(left as usize + 1);
        n.and_then(|i| self.groups.get(i)).copied().unwrap_or(0)
    }
    /// What warp number `warp` waits for: the end of a sentence that begins with "waits for".
    pub fn missing(&self, warp: u32, groups: &[WarpgroupProducts]) -> String {
        let (first, awaited) = (warp as usize / WARPS * WARPS, self.awaited.unwrap_or(0));
        let begun = groups.get(first / WARPS).map_or([0; WARPS], |g| g.begun);
        let missing =
            (0..WARPS).filter(|&w| begun[w] < awaited).map(|w| (first + w).to_string()).collect::<Vec<_>>();
        format!("warp {} of its warpgroup to begin the products", missing.join(" and warp "))
    }
    /// Writes the results of products before number `due` to their registers.
    pub fn reveal(&mut self, planes: &mut Planes, due: u64) {
        self.hidden.retain(|&plane, hidden| {
            let there = hidden.last < due;
            if there {
                planes.w32[usize::from(plane)] = hidden.value;
            }
            !there
        });
    }
}
