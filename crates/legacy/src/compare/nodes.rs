//! Numbers the sites of the two streams of a warp.
//!
//! The number of a site is its node. Nodes count from 0 in the order of first visits, first A's, then B's. As
//! long as B visits the same sites as A, B's nodes are copied from A's. Other sites are looked up in a hash
//! table with open addressing.
//!
//! # Invariants
//! Events of the same site have the same node on both sides. The seed of the table is drawn once per process,
//! so a file cannot provoke collisions. Nodes do not depend on the seed.

use prlx_analyze::edit_script::Run;

use crate::v1::EventBytes;

use super::fast_hash::FastHash;

/// Number of events of A that are searched for a site of B where the sites stop being equal.
const AHEAD: usize = 4;

/// The sites of two streams as nodes.
pub(super) struct Nodes {
    /// By node: its site.
    pub sites: Vec<u32>,
    /// By side and event: its node.
    pub of: [Vec<u32>; 2],
    /// Number of nodes that A has. The other nodes are B's alone.
    pub in_a: usize,
    /// Neither side visits a site twice, and both visit their common sites in the same order. Then there is
    /// no loop, and a node of A is the index of its event.
    pub straight_line: bool,
    /// Runs of equal sites, in ascending order on both sides.
    pub runs: Vec<Run>,
}

/// The nodes of A in the previous warp. Most warps of a launch visit the same sites in the same order.
#[derive(Default)]
pub(super) struct PreviousWarp {
    table: Table,
    /// By event: its site, its node.
    sites: Vec<u32>,
    nodes: Vec<u32>,
}

impl PreviousWarp {
    /// Numbers A's sites, unless they are those of the previous warp.
    fn number(&mut self, a: &[EventBytes]) {
        if self.sites.len() == a.len() && self.sites.iter().zip(a).all(|(last, e)| *last == site(e)) {
            return;
        }
        self.table.clear();
        self.sites.clear();
        self.sites.extend(a.iter().map(site));
        self.nodes.clear();
        self.nodes.extend(self.sites.iter().map(|&site| self.table.node(site)));
    }
}

impl Nodes {
    /// Numbers the sites of two streams. `previous` changes the time that this takes, not the result.
    pub fn new([a, b]: [&[EventBytes]; 2], previous: &mut PreviousWarp) -> Nodes {
        previous.number(a);
        let PreviousWarp { table, sites, nodes } = previous;
        let in_a = table.sites.len();
        let (mut of_b, mut runs) = (Vec::with_capacity(b.len()), Vec::new());
        let mut i = 0;
        while of_b.len() < b.len() {
            let j = of_b.len();
            let len = sites[i..].iter().zip(&b[j..]).take_while(|(x, y)| **x == site(y)).count();
            if len > 0 {
                of_b.extend_from_slice(&nodes[i..i + len]);
                runs.push(Run { a: i, b: j, len });
                i += len;
            }
            let Some(next) = b.get(j + len).map(site) else { break };
            let ahead = sites[i..].iter().take(AHEAD).position(|s| *s == next);
            match ahead {
                Some(n) => i += n,
                None => of_b.push(table.node(next)),
            }
        }
        let straight_line = in_a == a.len() && ascends(&of_b, in_a, table.sites.len());
        let all = table.sites.clone();
        table.truncate(in_a);
        Nodes { sites: all, of: [nodes.clone(), of_b], in_a, straight_line, runs }
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
        let seed = FastHash::default().seed();
        Table { slots: vec![0; 1 << bits], shift: 64 - bits, seed, sites: Vec::new() }
    }
}

impl Table {
    /// Forgets all sites.
    fn clear(&mut self) {
        self.slots.fill(0);
        self.sites.clear();
    }

    /// The node of a site, a new one if the site has none yet.
    #[inline]
    fn node(&mut self, site: u32) -> u32 {
        let at = self.slot(site);
        match self.slots[at] as u32 {
            0 => self.add(at, site),
            node => node - 1,
        }
    }

    /// Where a site is, or the free slot for it. At most half of the slots are in use, so the search ends.
    #[inline]
    fn slot(&self, site: u32) -> usize {
        let last = self.slots.len() - 1;
        let mut at = (u64::from(site).wrapping_mul(self.seed) >> self.shift) as usize & last;
        while self.slots[at] as u32 != 0 && (self.slots[at] >> 32) as u32 != site {
            at = (at + 1) & last;
        }
        at
    }

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

    /// Forgets all but the first `len` sites.
    fn truncate(&mut self, len: usize) {
        // A site only takes a slot that those before it left free, so the last one leaves first.
        while let Some(&site) = self.sites.get(len..).and_then(<[u32]>::last) {
            let at = self.slot(site);
            self.slots[at] = 0;
            self.sites.pop();
        }
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
        Nodes::new([&events(a), &events(b)], &mut PreviousWarp::default())
    }

    #[test]
    fn the_previous_warp_changes_nothing() {
        let mut last = PreviousWarp::default();
        let mut seed = 1u32;
        for _ in 0..200 {
            let mut random = |n: u32| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (seed >> 16) % n
            };
            let len = 1 + random(600);
            let a: Vec<u32> = (0..len).map(|i| if random(40) == 0 { random(900) } else { i }).collect();
            for _ in 0..=random(2) {
                let b: Vec<u32> = (0..len).map(|i| if random(20) == 0 { random(5000) } else { i }).collect();
                let events = |sites: &[u32]| -> Vec<EventBytes> {
                    sites.iter().map(|&site| Event { site, ..Event::default() }.bytes()).collect()
                };
                let (one, other) = (Nodes::new([&events(&a), &events(&b)], &mut last), nodes(&a, &b));
                assert_eq!((&one.sites, &one.of, &one.runs), (&other.sites, &other.of, &other.runs));
                assert!(b.iter().zip(&one.of[1]).all(|(site, node)| one.sites[*node as usize] == *site));
            }
        }
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
        assert!(nodes(&[1, 2, 3, 4], &[1, 9, 3, 4, 8]).straight_line);
        assert!(nodes(&[], &[1, 2]).straight_line);
        assert!(!nodes(&[1, 2, 1], &[]).straight_line);
        assert!(!nodes(&[1, 2], &[2, 1]).straight_line);
        assert!(!nodes(&[1, 2], &[1, 1]).straight_line);
        assert!(!nodes(&[1, 2], &[9, 1, 9]).straight_line);
    }
}
