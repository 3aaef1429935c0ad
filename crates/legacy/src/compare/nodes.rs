//! Numbers the sites of the two streams of a warp.
//!
//! A site's number is its node: nodes count from 0, in the order in which first A and then B meet them. B
//! mostly repeats what A does, so B takes its nodes from A's events as long as the sites are equal. Other
//! sites are looked up in a table with open addressing.
//!
//! # Invariants
//! Events of the same site have the same node, on both sides. The table's seed is drawn once per process, so
//! no file can choose sites that collide. Nodes do not depend on the seed.

use crate::v1::EventBytes;

use super::fast_hash::FastHash;

/// How far ahead in A the search for a site of B goes, where the two stop being equal.
const AHEAD: usize = 4;

/// The sites of two streams as nodes.
pub(super) struct Nodes {
    /// By node: its site.
    pub sites: Vec<u32>,
    /// By side and event: its node.
    pub of: [Vec<u32>; 2],
    /// Number of nodes that A has. The other nodes are B's alone.
    pub in_a: usize,
    /// Neither side meets a site twice, and both meet their common sites in the same order. Then there is no
    /// loop, and a node of A is the number of its event.
    pub straight: bool,
}

impl Nodes {
    /// Numbers the sites of two streams.
    pub fn new([a, b]: [&[EventBytes]; 2]) -> Nodes {
        let mut table = Table::default();
        let of_a: Vec<u32> = a.iter().map(|e| table.node(site(e))).collect();
        let in_a = table.sites.len();
        let mut of_b = Vec::with_capacity(b.len());
        let mut i = 0;
        while of_b.len() < b.len() {
            let j = of_b.len();
            let run = a[i..].iter().zip(&b[j..]).take_while(|(x, y)| site(x) == site(y)).count();
            of_b.extend_from_slice(&of_a[i..i + run]);
            i += run;
            let Some(next) = b.get(j + run).map(site) else { break };
            of_b.push(table.node(next));
            let ahead = a.iter().skip(i).take(AHEAD).position(|e| site(e) == next);
            i += ahead.map_or(0, |n| n + 1);
        }
        let straight = in_a == a.len() && ascends(&of_b, in_a, table.sites.len());
        Nodes { sites: table.sites, of: [of_a, of_b], in_a, straight }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.sites.len()
    }
}

/// Whether B's nodes below `in_a` ascend, and B meets each of the others, up to `len`, only once.
fn ascends(b: &[u32], in_a: usize, len: usize) -> bool {
    let (mut next, mut alone) = (0, 0);
    for &node in b {
        if node as usize >= in_a {
            alone += 1;
        } else if node < next {
            return false;
        } else {
            next = node + 1;
        }
    }
    alone == len - in_a
}

/// An event's site.
#[inline]
pub(super) fn site(e: &EventBytes) -> u32 {
    u32::from_le_bytes([e[0], e[1], e[2], e[3]])
}

/// Finds the node of a site.
struct Table {
    /// A site in the high half, its node plus 1 in the low half; 0 is a free slot.
    slots: Vec<u64>,
    /// The hash's lowest bits that do not choose the slot.
    shift: u32,
    seed: u64,
    sites: Vec<u32>,
}

impl Default for Table {
    fn default() -> Table {
        let bits = 9;
        Table {
            slots: vec![0; 1 << bits],
            shift: 64 - bits,
            seed: FastHash::default().seed(),
            sites: Vec::new(),
        }
    }
}

impl Table {
    /// The node of a site, a new one if the site has none yet.
    #[inline]
    fn node(&mut self, site: u32) -> u32 {
        let at = self.slot(site);
        match self.slots[at] as u32 {
            0 => self.add(at, site),
            node => node - 1,
        }
    }

    /// Where a site is, or the free slot for it.
    #[inline]
    fn slot(&self, site: u32) -> usize {
        let last = self.slots.len() - 1;
        let mut at = (u64::from(site).wrapping_mul(self.seed) >> self.shift) as usize;
        while self.slots[at & last] as u32 != 0 && (self.slots[at & last] >> 32) as u32 != site {
            at += 1;
        }
        at & last
    }

    /// Gives a site its node. At most half of the slots are in use, so a search always ends.
    fn add(&mut self, at: usize, site: u32) -> u32 {
        let node = self.sites.len() as u32;
        self.sites.push(site);
        self.slots[at] = u64::from(site) << 32 | u64::from(node + 1);
        if self.sites.len() * 2 >= self.slots.len() {
            self.slots = vec![0; self.slots.len() * 4];
            self.shift -= 2;
            for (node, &site) in self.sites.iter().enumerate() {
                let at = self.slot(site);
                self.slots[at] = u64::from(site) << 32 | (node as u64 + 1);
            }
        }
        node
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::Event;

    fn nodes(a: &[u32], b: &[u32]) -> Nodes {
        let events = |sites: &[u32]| -> Vec<EventBytes> {
            sites.iter().map(|&site| Event { site, ..Event::default() }.bytes()).collect()
        };
        Nodes::new([&events(a), &events(b)])
    }

    #[test]
    fn nodes_count_in_the_order_of_first_visits() {
        let n = nodes(&[7, 0, 7, 9], &[7, 0, 5, 9, 5, 7, 0]);
        assert_eq!((&n.of[0][..], &n.of[1][..]), (&[0, 1, 0, 2][..], &[0, 1, 3, 2, 3, 0, 1][..]));
        assert_eq!((n.sites, n.in_a), (vec![7, 0, 9, 5], 3));
    }

    #[test]
    fn many_sites_keep_their_nodes() {
        let sites: Vec<u32> = (0..5000u32).map(|i| i.wrapping_mul(0x0100_0001)).collect();
        let back: Vec<u32> = sites.iter().rev().copied().collect();
        let n = nodes(&sites, &back);
        assert!(n.of[0].iter().copied().eq(0..5000));
        assert!(n.of[1].iter().copied().eq((0..5000).rev()));
    }

    #[test]
    fn straight_streams() {
        assert!(nodes(&[1, 2, 3, 4], &[1, 9, 3, 4, 8]).straight);
        assert!(nodes(&[], &[1, 2]).straight);
        assert!(!nodes(&[1, 2, 1], &[]).straight);
        assert!(!nodes(&[1, 2], &[2, 1]).straight);
        assert!(!nodes(&[1, 2], &[1, 1]).straight);
        assert!(!nodes(&[1, 2], &[9, 1, 9]).straight);
    }
}
