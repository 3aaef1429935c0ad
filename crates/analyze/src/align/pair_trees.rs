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

struct Side<'d, 'n> {
    decoder: Decoder<'d>,
    builder: TreeBuilder<'n>,
}

impl Side<'_, '_> {
    /// Adds items up to one that ends a node at `level` or further out. Returns that one.
    fn advance(&mut self, mut item: Option<PathItem>, level: usize) -> Result<Option<PathItem>, Error> {
        while let Some(now) = item.filter(|now| !ends_node(*now) || self.builder.depth() > level) {
            self.builder.push(now)?;
            item = self.decoder.next()?;
        }
        Ok(item)
    }
}

struct Pair<'d, 'n> {
    sides: [Side<'d, 'n>; 2],
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
    let [a, b] = decoders;
    let side = |decoder: Decoder<'d>, i: usize| Side {
        decoder,
        builder: TreeBuilder::new(names[i], kernels[i], with_masks),
    };
    let mut pair = Pair { sides: [side(a, 0), side(b, 1)], pruned: 0 };
    pair.run()?;
    Ok(pair.sides.map(|s| s.builder.finish(&s.decoder)))
}

fn ends_node(item: PathItem) -> bool {
    matches!(item, PathItem::Trip(_) | PathItem::Leave(_) | PathItem::Return)
}

impl Pair<'_, '_> {
    fn run(&mut self) -> Result<(), Error> {
        loop {
            let [a, b] = &mut self.sides;
            let items = [a.decoder.next()?, b.decoder.next()?];
            match items {
                [Some(x), Some(y)] if self.agree(x, y) => self.both(x, y)?,
                [None, None] => return Ok(()),
                _ if self.meet(items)? => {}
                _ => return Ok(()),
            }
        }
    }

    /// Whether control goes the same way on both sides. Values may differ.
    fn agree(&self, x: PathItem, y: PathItem) -> bool {
        match (x, y) {
            (PathItem::Visit { site: s, .. }, PathItem::Visit { site: t, .. }) => {
                let [a, b] = &self.sides;
                s == t || a.builder.name(s) == b.builder.name(t)
            }
            _ => x == y,
        }
    }

    /// Adds an item of each side; both are at the same place.
    fn both(&mut self, x: PathItem, y: PathItem) -> Result<(), Error> {
        match x {
            PathItem::Trip(l) => self.next_trip(l),
            PathItem::Leave(_) => {
                self.close();
                self.close();
            }
            PathItem::Return => self.close(),
            _ => {
                let [a, b] = &mut self.sides;
                a.builder.push(x)?;
                return b.builder.push(y);
            }
        }
        self.sides.iter().try_for_each(|side| side.builder.check())
    }

    /// The number for the innermost nodes if they can be pruned.
    fn same(&mut self) -> Option<u32> {
        let [a, b] = &self.sides;
        let next = self.pruned.checked_add(1).filter(|_| a.builder.same_top(&b.builder))?;
        self.pruned = next;
        Some(next)
    }

    /// Closes the innermost node of both sides.
    fn close(&mut self) {
        let same = self.same();
        for Side { builder, .. } in &mut self.sides {
            match same {
                Some(number) => builder.prune(number),
                None => builder.close(),
            }
        }
    }

    /// Closes the innermost trip of both sides and opens the next one.
    fn next_trip(&mut self, of: LoopId) {
        let same = self.same();
        for Side { builder, .. } in &mut self.sides {
            match same {
                Some(number) => builder.prune_trip(number),
                None => {
                    builder.close();
                    builder.open(TreeNodeKind::Trip, Some(of));
                }
            }
        }
    }

    /// Runs both sides, whose next items differ, to where they close the same node, and closes it. `false` if
    /// both ended before.
    fn meet(&mut self, mut items: [Option<PathItem>; 2]) -> Result<bool, Error> {
        let mut level = self.sides[0].builder.depth().min(self.sides[1].builder.depth());
        loop {
            for (side, item) in self.sides.iter_mut().zip(&mut items) {
                *item = side.advance(*item, level)?;
            }
            let depths = [0, 1].map(|i| items[i].map_or(0, |_| self.sides[i].builder.depth()));
            level = depths[0].min(depths[1]);
            let on = match items {
                [None, None] => return Ok(false),
                [Some(x), Some(y)] if x == y && depths[0] == depths[1] => {
                    self.both(x, y)?;
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
                    self.sides[i].builder.push(item)?;
                    items[i] = self.sides[i].decoder.next()?;
                }
            }
        }
    }
}
