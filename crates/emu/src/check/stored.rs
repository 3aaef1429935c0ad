//! The values that a store writes.

use crate::code::{MemAccess, Plane, WmmaTile};
use crate::exec::warp_state::Warp;
use crate::matrix::mma;
use crate::mem::Region;
use crate::mem::access::value;
use prlx_lanes::V64;

/// The values of a plain store, by lane.
#[derive(Clone, Copy)]
pub enum Stored<'a> {
    /// Those of registers, one after the other.
    Registers(&'a MemAccess),
    /// Rows of 16 bytes, of `stmatrix`: the lower and the upper halves.
    Rows(&'a [V64; 2]),
    /// One element of each lane, of `wmma.store`.
    Element(&'a WmmaTile, usize),
}

impl Stored<'_> {
    /// What lane `l` writes: sizes in bytes, at most 8, and values.
    pub fn values(self, warp: &Warp, l: usize) -> impl Iterator<Item = (u8, u64)> {
        (0..).map_while(move |n| self.value(warp, l, n))
    }

    /// Number `n` of them.
    fn value(self, warp: &Warp, l: usize, n: usize) -> Option<(u8, u64)> {
        let whole = |size: u8, value: u64| (size, value & u64::MAX >> (64 - 8 * u32::from(size)));
        match self {
            Stored::Registers(mem) if matches!(mem.planes[..], [Plane::W128(_), ..]) => {
                let Plane::W128(low) = *mem.planes.get(n / 2)? else { return None };
                Some((8, value(&warp.planes, Plane::W64(low + (n % 2) as u16), l)))
            }
            Stored::Registers(mem) => {
                Some(whole(mem.size.min(8), value(&warp.planes, *mem.planes.get(n)?, l)))
            }
            Stored::Rows(halves) => Some((8, halves.get(n)?.0[l])),
            Stored::Element(tile, i) => {
                (n == 0).then(|| whole(tile.mem.size, mma::element(&warp.planes, tile, i, l)))
            }
        }
    }

    /// Whether lane `l` leaves the memory at `at` unchanged.
    pub fn keeps(self, warp: &Warp, l: usize, region: &Region, at: u64) -> bool {
        let mut next = at;
        self.values(warp, l).all(|(size, value)| {
            let there = region.load(next, size);
            next += u64::from(size);
            there == value
        })
    }
}
