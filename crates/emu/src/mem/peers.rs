//! The shared memory and the tensor memory of the CTAs of a cluster.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::region::Region;
use crate::code::window;
use crate::error::{EmuError, invalid};

/// The most CTAs of a cluster: the limit of an H100 for non-portable sizes.
pub const MAX_CTAS: u64 = 16;

/// Bytes of the tensor memory of a CTA: 128 lanes of 512 columns of 4 bytes (PTX ISA, Tensor Memory).
pub const TENSOR_BYTES: u64 = 128 * 512 * 4;

/// The memory of the CTAs of a cluster, by rank.
#[derive(Debug)]
pub struct Peers {
    /// The shared memory of each CTA.
    pub shared: Vec<Arc<Region>>,
    /// The tensor memory of each CTA; empty if the kernel uses none.
    pub tensor: Vec<Region>,
    ended: AtomicU32,
}

impl Peers {
    /// The peers of a cluster whose CTAs have these regions, in the order of their ranks, and tensor memory
    /// if `tensor` is set.
    pub fn new(shared: Vec<Arc<Region>>, tensor: bool) -> Peers {
        let count = if tensor { shared.len() } else { 0 };
        let tensor = (0..count).map(|_| Region::new(TENSOR_BYTES)).collect();
        Peers { shared, tensor, ended: AtomicU32::new(0) }
    }
    /// Whether the CTA of a rank exists and has not ended.
    pub fn runs(&self, rank: u32) -> bool {
        (rank as usize) < self.shared.len() && self.ended.load(Relaxed) >> rank & 1 == 0
    }
    /// A new cluster starts: all its CTAs run.
    pub fn begin(&self) {
        self.ended.store(0, Relaxed);
    }
    /// The CTA of a rank has ended.
    pub fn end(&self, rank: usize) {
        self.ended.fetch_or(1 << rank, Relaxed);
    }
    /// The shared memory that the cluster's address `at` lies in for the CTA of rank `own`, and the address
    /// of its first byte.
    ///
    /// # Errors
    /// The cluster has no such CTA, or the CTA has ended.
    pub fn find(&self, own: u32, at: u64) -> Result<(&Region, u64), EmuError> {
        let rank = match at / window::CTA {
            0 => own,
            n => (n - 1) as u32,
        };
        let Some(region) = self.shared.get(rank as usize) else {
            return Err(invalid(format!(
                "in the shared memory of rank {rank} of the cluster, which has {} CTAs",
                self.shared.len()
            )));
        };
        if self.ended.load(Relaxed) >> rank & 1 == 1 {
            return Err(invalid(format!(
                "in the shared memory of rank {rank} of the cluster, a CTA that has ended"
            )));
        }
        Ok((region, at / window::CTA * window::CTA))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_rank() {
        let peers = Peers::new((0..2).map(|_| Arc::new(Region::new(64))).collect(), false);
        peers.shared[1].store32(8, 7);
        let (own, base) = peers.find(1, 8).unwrap();
        assert_eq!((own.load32(8 - base), base), (7, 0));
        let at = 2 * window::CTA + 8;
        let (other, base) = peers.find(0, at).unwrap();
        assert_eq!((other.load32(at - base), base), (7, 2 * window::CTA));
        assert!(
            peers
                .find(0, 3 * window::CTA)
                .unwrap_err()
                .to_string()
                .contains("rank 2 of the cluster, which has 2")
        );
        peers.ended.store(2, Relaxed);
        assert!(
            peers
                .find(0, at)
                .unwrap_err()
                .to_string()
                .contains("rank 1 of the cluster, a CTA that has ended")
        );
    }
}
