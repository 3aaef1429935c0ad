//! The loop nest: strongly connected regions, then the regions inside them without their headers.
//!
//! In a reducible graph these are the natural loops; loops with the same header are one. A region with
//! several entries is irreducible, and its header is the first entry in reverse post-order.
//!
//! # Invariants
//! A header comes before all other blocks of its loop in reverse post-order.
//!
//! # Limitations
//! See [`MOST_LOOP_BLOCKS`].

use crate::view::{BlockId, Function};

/// Maximum number of blocks listed over all loops; deeper loops than fit are omitted. Each loop lists the
/// blocks of its inner loops too, so a nest costs its depth times its size.
pub const MOST_LOOP_BLOCKS: usize = 1 << 26;

/// A natural loop or an irreducible region.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Loop {
    /// The block where control enters the loop: the first entry in reverse post-order if the loop is
    /// irreducible.
    pub header: BlockId,
    /// Enclosing loop, an index into `Cfg::loops`.
    pub parent: Option<usize>,
    /// Blocks of the loop, inner loops included, sorted.
    pub blocks: Vec<BlockId>,
    /// Blocks of the loop with an edge to the header.
    pub latches: Vec<BlockId>,
    /// Blocks outside the loop with an edge to the header, in reverse post-order.
    pub entries: Vec<BlockId>,
    /// Edges that leave the loop: from a block inside to a block outside. A block that leaves the function
    /// from inside counts as `(block, block)`.
    pub exits: Vec<(BlockId, BlockId)>,
    /// Whether control enters the loop at more than one block.
    pub irreducible: bool,
    /// Whether another loop is inside.
    pub has_inner: bool,
    /// Nesting depth; 1 for an outermost loop.
    pub depth: u32,
}

impl Loop {
    /// Whether the loop contains a block.
    pub fn contains(&self, block: BlockId) -> bool {
        self.blocks.binary_search(&block).is_ok()
    }
}

/// The index of no block.
const NONE: u32 = u32::MAX;

/// Finds the loops, outer loops before inner ones, and the innermost loop of each block.
pub fn nest(f: &Function, order: &[BlockId]) -> (Vec<Loop>, Vec<Option<usize>>) {
    let n = f.blocks.len();
    let mut position = vec![NONE; n];
    for (i, b) in order.iter().enumerate() {
        position[b.index()] = u32::try_from(i).unwrap_or(NONE);
    }
    let mut search = Search {
        f,
        region: vec![NONE; n],
        index: vec![NONE; n],
        low: vec![0; n],
        on_stack: vec![false; n],
        regions: 1,
    };
    for b in order {
        search.region[b.index()] = 0;
    }
    let mut loops: Vec<Loop> = vec![];
    let mut budget = MOST_LOOP_BLOCKS;
    let mut work = vec![(order.to_vec(), 0u32, None::<usize>)];
    while let Some((blocks, region, parent)) = work.pop() {
        for mut component in search.components(&blocks, region) {
            let Some(left) = budget.checked_sub(component.len()) else { continue };
            budget = left;
            component.sort_unstable_by_key(|b| position[b.index()]);
            let header = component[0];
            let inside = search.regions;
            search.regions += 1;
            for b in &component {
                search.region[b.index()] = inside;
            }
            let outside = |b: &BlockId| position[b.index()] != NONE && search.region[b.index()] != inside;
            let entries = component
                .iter()
                .filter(|b| b.0 == 0 || f.blocks[b.index()].preds.iter().any(outside))
                .count();
            let mut l = Loop { header, parent, irreducible: entries > 1, ..Loop::default() };
            l.entries = f.blocks[header.index()].preds.iter().copied().filter(outside).collect();
            l.entries.sort_unstable_by_key(|b| position[b.index()]);
            l.entries.dedup();
            l.depth = parent.map_or(1, |p| loops[p].depth + 1);
            for b in &component {
                let succs = &f.blocks[b.index()].succs;
                if succs.contains(&header) {
                    l.latches.push(*b);
                }
                l.exits.extend(succs.iter().filter(|s| search.region[s.index()] != inside).map(|s| (*b, *s)));
                if f.leaves(*b) {
                    l.exits.push((*b, *b));
                }
            }
            l.latches.sort_unstable();
            l.exits.sort_unstable();
            l.exits.dedup();
            // Without the header, the remaining blocks may hold inner loops.
            search.region[header.index()] = NONE;
            component.remove(0);
            l.blocks = component.clone();
            l.blocks.push(header);
            l.blocks.sort_unstable();
            loops.push(l);
            if !component.is_empty() {
                work.push((component, inside, Some(loops.len() - 1)));
            }
        }
    }
    sorted(loops, &position, n)
}

/// Sorts loops by the position of their header, which puts outer loops before inner ones.
fn sorted(loops: Vec<Loop>, position: &[u32], n: usize) -> (Vec<Loop>, Vec<Option<usize>>) {
    let mut ranks: Vec<usize> = (0..loops.len()).collect();
    ranks.sort_unstable_by_key(|i| position[loops[*i].header.index()]);
    let mut now = vec![0; loops.len()];
    for (rank, old) in ranks.iter().enumerate() {
        now[*old] = rank;
    }
    let mut result = vec![Loop::default(); loops.len()];
    for (old, mut l) in loops.into_iter().enumerate() {
        l.parent = l.parent.map(|p| now[p]);
        result[now[old]] = l;
    }
    let outer: Vec<usize> = result.iter().filter_map(|l| l.parent).collect();
    outer.into_iter().for_each(|p| result[p].has_inner = true);
    let mut innermost = vec![None; n];
    for (i, l) in result.iter().enumerate() {
        for b in &l.blocks {
            innermost[b.index()] = Some(i);
        }
    }
    (result, innermost)
}

/// Tarjan's search for strongly connected components, in one region at a time.
struct Search<'f> {
    f: &'f Function,
    /// Region of each block that is still to be searched for loops.
    region: Vec<u32>,
    index: Vec<u32>,
    low: Vec<u32>,
    on_stack: Vec<bool>,
    regions: u32,
}

impl Search<'_> {
    /// The components of a region that contain a cycle.
    fn components(&mut self, blocks: &[BlockId], region: u32) -> Vec<Vec<BlockId>> {
        for b in blocks {
            self.index[b.index()] = NONE;
        }
        let mut found = vec![];
        let mut clock = 0;
        let mut stack: Vec<BlockId> = vec![];
        let mut path: Vec<(BlockId, usize)> = vec![];
        for root in blocks {
            if self.index[root.index()] != NONE {
                continue;
            }
            path.push((*root, 0));
            while let Some((b, next)) = path.last_mut() {
                let (i, at) = (b.index(), *b);
                if *next == 0 && self.index[i] == NONE {
                    self.index[i] = clock;
                    self.low[i] = clock;
                    clock += 1;
                    stack.push(at);
                    self.on_stack[i] = true;
                }
                if let Some(s) = self.f.blocks[i].succs.get(*next) {
                    *next += 1;
                    let s = s.index();
                    if self.region[s] != region {
                        continue;
                    }
                    if self.index[s] == NONE {
                        path.push((BlockId(u32::try_from(s).unwrap_or(NONE)), 0));
                    } else if self.on_stack[s] {
                        self.low[i] = self.low[i].min(self.index[s]);
                    }
                    continue;
                }
                path.pop();
                if let Some((above, _)) = path.last() {
                    self.low[above.index()] = self.low[above.index()].min(self.low[i]);
                }
                if self.low[i] == self.index[i] {
                    let start = stack.iter().rposition(|b| *b == at).unwrap_or(0);
                    let component = stack.split_off(start);
                    for b in &component {
                        self.on_stack[b.index()] = false;
                    }
                    if component.len() > 1 || self.f.blocks[i].succs.contains(&at) {
                        found.push(component);
                    }
                }
            }
        }
        found
    }
}
