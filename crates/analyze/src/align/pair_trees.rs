//! Builds a lane's trees on both sides together and drops the parts that are equal.
//!
//! Both decoders run in step. Where a trip, loop or call ends on both sides and its hashes are equal, only a
//! pruned node is kept ([`execution_tree`](super::execution_tree)); neighbouring pruned trips become one
//! node. After control diverges, the sides run to the next place where they close the same node.
//!
//! # Invariants
//! Pruned trips have the same numbers on both sides.

use prlx_trace::{FuncId, LoopId};

use crate::builds::CommonIds;
use crate::decode::{Decoder, PathItem};
use crate::error::Error;

use super::execution_tree::{LaneTree, TreeBuilder, TreeNodeKind};

struct Pair<'d, 'n> {
    decoders: [Decoder<'d>; 2],
    trees: Builders<'n>,
}

/// The trees of both sides.
struct Builders<'n> {
    sides: [TreeBuilder<'n>; 2],
    /// The number of pruned nodes.
    pruned: u32,
}

/// Decodes the rest of a lane on both sides.
///
/// # Errors
/// Those of the decoders, and a lane that is too long or too deep.
pub(crate) fn build<'d>(
    decoders: [Decoder<'d>; 2],
    names: [&CommonIds; 2],
    kernels: [FuncId; 2],
    with_masks: bool,
) -> Result<[LaneTree; 2], Error> {
    let mut pair = Pair { decoders, trees: Builders::new(names, kernels, with_masks) };
    pair.run()?;
    let ([x, y], [a, b]) = (pair.trees.sides, pair.decoders);
    Ok([x.finish(&a), y.finish(&b)])
}

fn ends_node(item: PathItem) -> bool {
    matches!(item, PathItem::Trip(_) | PathItem::Leave(_) | PathItem::Return)
}

impl<'n> Builders<'n> {
    fn new(names: [&'n CommonIds; 2], kernels: [FuncId; 2], with_masks: bool) -> Builders<'n> {
        let sides = [0, 1].map(|i| TreeBuilder::new(names[i], kernels[i], with_masks));
        Builders { sides, pruned: 0 }
    }

    /// Whether control goes the same way on both sides. Values may differ.
    fn agree(&self, x: &PathItem, y: &PathItem) -> bool {
        match (x, y) {
            (PathItem::Visit { site: s, .. }, PathItem::Visit { site: t, .. }) => {
                let [a, b] = &self.sides;
                s == t || a.name(*s) == b.name(*t)
            }
            _ => x == y,
        }
    }

    /// Adds an item of each side; both are at the same place.
    fn both(&mut self, x: &PathItem, y: &PathItem) -> Result<(), Error> {
        match *x {
            PathItem::Trip(l) => self.next_trip(l),
            PathItem::Leave(_) => {
                self.close();
                self.close();
            }
            PathItem::Return => self.close(),
            _ => {
                let [a, b] = &mut self.sides;
                a.push(x)?;
                return b.push(y);
            }
        }
        self.sides.iter().try_for_each(TreeBuilder::check)
    }

    /// The number for the innermost nodes if they can be pruned.
    fn same(&mut self) -> Option<u32> {
        let [a, b] = &self.sides;
        let next = self.pruned.checked_add(1).filter(|_| a.same_top(b))?;
        self.pruned = next;
        Some(next)
    }

    /// Closes the innermost node of both sides.
    fn close(&mut self) {
        let same = self.same();
        for side in &mut self.sides {
            match same {
                Some(number) => side.prune(number),
                None => side.close(),
            }
        }
    }

    /// Closes the innermost trip of both sides and opens the next one.
    fn next_trip(&mut self, of: LoopId) {
        let same = self.same();
        for side in &mut self.sides {
            match same {
                Some(number) => side.prune_trip(number),
                None => {
                    side.close();
                    side.open(TreeNodeKind::Trip, Some(of));
                }
            }
        }
    }
}

impl Pair<'_, '_> {
    fn run(&mut self) -> Result<(), Error> {
        loop {
            let [a, b] = &mut self.decoders;
            let items = match (a.advance()?, b.advance()?) {
                (Some(x), Some(y)) if self.trees.agree(x, y) => {
                    self.trees.both(x, y)?;
                    continue;
                }
                (x, y) => [x.copied(), y.copied()],
            };
            if items == [None; 2] || !self.meet(items)? {
                return Ok(());
            }
        }
    }

    /// Adds items of a side up to one that ends a node at `level` or further out. Returns that one.
    fn advance(
        &mut self,
        side: usize,
        mut item: Option<PathItem>,
        level: usize,
    ) -> Result<Option<PathItem>, Error> {
        let (decoder, tree) = (&mut self.decoders[side], &mut self.trees.sides[side]);
        while let Some(now) = item.filter(|now| !ends_node(*now) || tree.depth() > level) {
            tree.push(&now)?;
            item = decoder.next()?;
        }
        Ok(item)
    }

    /// Runs both sides, whose next items differ, to where they close the same node, and closes it. `false` if
    /// both ended before.
    fn meet(&mut self, mut items: [Option<PathItem>; 2]) -> Result<bool, Error> {
        let depth = |trees: &Builders<'_>, side: usize| trees.sides[side].depth();
        let mut level = depth(&self.trees, 0).min(depth(&self.trees, 1));
        loop {
            for (side, item) in items.iter_mut().enumerate() {
                *item = self.advance(side, *item, level)?;
            }
            let depths = [0, 1].map(|i| items[i].map_or(0, |_| depth(&self.trees, i)));
            level = depths[0].min(depths[1]);
            let on = match items {
                [None, None] => return Ok(false),
                [Some(x), Some(y)] if x == y && depths[0] == depths[1] => {
                    self.trees.both(&x, &y)?;
                    return Ok(true);
                }
                _ if depths[0] != depths[1] => depths.map(|d| d > level),
                // One side leaves the loop; the other may have more trips.
                _ => match items.map(|i| matches!(i, Some(PathItem::Trip(_)))) {
                    [false, false] => [true; 2],
                    trips => trips,
                },
            };
            for i in (0..2).filter(|&i| on[i]) {
                if let Some(item) = items[i] {
                    self.trees.sides[i].push(&item)?;
                    items[i] = self.decoders[i].next()?;
                }
            }
        }
    }
}
