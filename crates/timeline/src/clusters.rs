//! Maps addresses in distributed shared memory to CTAs of a cluster.
//!
//! The bits from 24 upwards of a 32-bit `.shared::cluster` address select the CTA. On a GPU they hold its
//! rank, even in a CTA's addresses of its own memory (`SR_CgaCtaId` is part of each address; `mapa` replaces
//! it by another rank). On the CPU device they hold the rank plus one, or 0 for the CTA's own memory.

use prlx_trace::Dim3;
use prlx_trace::launch::{CPU_DEVICE, Launch};

/// The bits that say where in a CTA's shared memory.
const INSIDE: u32 = (1 << 24) - 1;
/// The barrier of the cluster, as markers have it.
const BARRIER: u32 = 16;

/// The clusters of a launch that has some.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clusters {
    grid: Dim3,
    /// CTAs of one.
    size: Dim3,
    /// Ranks are counted from 1, and 0 is a CTA's own.
    own: bool,
}

impl Clusters {
    /// Of a launch; `None`: none are known.
    pub fn of(launch: &Launch) -> Option<Clusters> {
        let size = launch.cluster.filter(|c| c.volume() > 1)?;
        let whole = [(launch.grid.x, size.x), (launch.grid.y, size.y), (launch.grid.z, size.z)];
        let whole = whole.into_iter().all(|(n, by)| n.checked_rem(by) == Some(0));
        whole.then_some(Clusters { grid: launch.grid, size, own: launch.device == CPU_DEVICE })
    }

    /// The CTA of rank `rank` in the cluster of `cta`.
    pub fn peer(self, cta: u64, rank: u32) -> Option<u64> {
        if u64::from(rank) >= self.size.volume() || cta >= self.grid.volume() {
            return None;
        }
        let (at, inside) = (self.grid.position(cta), self.size.position(rank.into()));
        let of = |at: u32, size: u32, inside: u32| u64::from(at / size * size + inside);
        let [x, y, z] = [
            of(at.x, self.size.x, inside.x),
            of(at.y, self.size.y, inside.y),
            of(at.z, self.size.z, inside.z),
        ];
        Some(x + u64::from(self.grid.x) * (y + u64::from(self.grid.y) * z))
    }

    /// The CTA whose shared memory `address`, as `cta` has it, is in, and where there.
    pub fn addressed(self, cta: u64, address: u32) -> Option<(u64, u32)> {
        let of = match (self.own, address >> 24) {
            (true, 0) => cta,
            (true, rank) => self.peer(cta, rank - 1)?,
            (false, rank) => self.peer(cta, rank)?,
        };
        Some((of, address & INSIDE))
    }

    /// The CTA that stands for all that meet at a barrier.
    pub fn met(self, cta: u64, barrier: u32) -> u64 {
        if barrier == BARRIER { self.peer(cta, 0).unwrap_or(cta) } else { cta }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clusters(device: &str) -> Clusters {
        let dims = |x, y| Dim3 { x, y, z: 1 };
        let launch = Launch {
            grid: dims(4, 4),
            cluster: Some(dims(2, 2)),
            device: device.into(),
            ..Launch::default()
        };
        assert_eq!(Clusters::of(&Launch { cluster: Some(Dim3::default()), ..launch.clone() }), None);
        assert_eq!(Clusters::of(&Launch { cluster: Some(dims(3, 1)), ..launch.clone() }), None);
        Clusters::of(&launch).unwrap()
    }

    #[test]
    fn ranks_count_within_a_cluster() {
        // CTA 7 is (3, 1), in the cluster of (2, 0), (3, 0), (2, 1) and (3, 1).
        let c = clusters("NVIDIA H200");
        assert_eq!([0, 1, 2, 3, 4].map(|rank| c.peer(7, rank)), [Some(2), Some(3), Some(6), Some(7), None]);
        assert_eq!((c.met(7, 16), c.met(7, 3), c.peer(16, 0)), (2, 7, None));
    }

    #[test]
    fn addresses_say_which_cta() {
        let (gpu, cpu) = (clusters("NVIDIA H200"), clusters("CPU device"));
        let at = |rank: u32| rank << 24 | 0x400;
        assert_eq!([0, 3, 4].map(|r| gpu.addressed(7, at(r))), [Some((2, 0x400)), Some((7, 0x400)), None]);
        assert_eq!(
            [0, 1, 4, 5].map(|r| cpu.addressed(7, at(r))),
            [Some((7, 0x400)), Some((2, 0x400)), Some((7, 0x400)), None]
        );
    }
}
