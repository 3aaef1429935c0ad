//! The `wgmma` products of a warp and of a warpgroup that are in flight.

use std::collections::VecDeque;

use prlx_lanes::{Planes, V32};
use rustc_hash::FxHashMap;

use crate::error::{EmuError, invalid};

/// Warps of a warpgroup.
pub const WARPS: usize = 4;

/// The most products of a warp in flight: more than any code has.
pub const MAX_PRODUCTS: usize = 1 << 12;

/// A product that was begun and not done.
#[derive(Clone, Copy, Debug)]
pub struct PendingProduct {
    /// Index in [`crate::code::Code::products`].
    pub product: u32,
    /// The step that began it.
    pub step: u32,
    /// Descriptors of A and B.
    pub descriptors: [u64; 2],
    /// C is D, not zero.
    pub scale_d: bool,
}

/// An accumulator in flight.
#[derive(Clone, Copy, Debug)]
pub struct HiddenAccumulator {
    /// What it really holds.
    pub value: V32,
    /// The last product that writes it, counted from the warp's first.
    pub last: u64,
}

/// A warp's products.
#[derive(Clone, Debug, Default)]
pub struct WarpProducts {
    /// Products that the warp has begun.
    pub begun: u64,
    /// Products of the warp that are done.
    pub done: u64,
    /// By group that was not waited for: products begun before its end.
    pub groups: VecDeque<u64>,
    pub pending: VecDeque<PendingProduct>,
    pub hidden: FxHashMap<u16, HiddenAccumulator>,
    /// The warp waits for others of its warpgroup, which have to begin this many.
    pub awaited: Option<u64>,
}

/// What a warpgroup's warps have begun.
#[derive(Clone, Debug, Default)]
pub struct WarpgroupProducts {
    pub begun: [u64; WARPS],
    pub done: [u64; WARPS],
    /// Steps of the products that not all have begun, from number `first` on.
    pub log: VecDeque<u32>,
    pub first: u64,
}

impl WarpgroupProducts {
    /// A warp begins its next product.
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
    /// Whether the warp waits for others.
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
    /// Whether some products are begun and not done, or done and not landed.
    pub fn any_hidden(&self) -> bool {
        !self.hidden.is_empty()
    }
    /// Ends a group.
    pub fn commit(&mut self) {
        self.groups.push_back(self.begun);
        // Groups that end at the same product are one to whoever waits; a loop may commit without beginning
        // any.
        if self.groups.len() > MAX_PRODUCTS {
            self.groups.pop_front();
        }
    }
    /// WgmmaStep that must be done for at most `left` groups to be under way.
    pub fn due(&self, left: u32) -> u64 {
        let n = self.groups.len().checked_sub(left as usize + 1);
        n.and_then(|i| self.groups.get(i)).copied().unwrap_or(0)
    }
    /// For whom the waiting warp number `warp` waits, in words.
    pub fn missing(&self, warp: u32, groups: &[WarpgroupProducts]) -> String {
        let (first, awaited) = (warp as usize / WARPS * WARPS, self.awaited.unwrap_or(0));
        let begun = groups.get(first / WARPS).map_or([0; WARPS], |g| g.begun);
        let missing =
            (0..WARPS).filter(|&w| begun[w] < awaited).map(|w| (first + w).to_string()).collect::<Vec<_>>();
        format!("warp {} of its warpgroup to begin the products", missing.join(" and warp "))
    }
    /// Lets the results of products before number `due` be seen.
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
