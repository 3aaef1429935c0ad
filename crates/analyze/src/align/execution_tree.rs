//! A lane's path as a tree by execution index: a body holds visits, loops and calls; a loop holds trips; a
//! trip is a body.
//!
//! Every node has a Merkle hash, so equal parts of two lanes are recognised without walking them.
//!
//! # Invariants
//! Hashes cover common site numbers, decision values and structure, and nothing else. Divergence
//! ([`EntryKind::Branch`]) and reconvergence ([`EntryKind::Join`]) follow from the decisions and are not
//! hashed. A visit knows how often its lane had visited the site before.
//!
//! # Limitations
//! A lane of more than [`MAX_ENTRIES`] entries, or nested deeper than [`MAX_DEPTH`], is refused.

use std::collections::BTreeMap;

use prlx_trace::kernel::{Module, SiteClass};
use prlx_trace::launch::Event;
use prlx_trace::{BlockId, FuncId, Lane, LaneMask, LoopId, SiteId};

use crate::builds::CommonIds;
use crate::decode::{DecodeOutcome, Decoder, MAX_ENTRIES, PathItem, VisitCounts};
use crate::error::Error;

/// The largest number of open nodes.
const MAX_DEPTH: usize = 1000;

/// The kind of an [`Entry`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EntryKind {
    /// A visit. `id` is the site in this side's numbers; `value` is the visit's value.
    Visit,
    /// A loop, trip or call. `id` is the node.
    Child,
    /// The end of a block with several successors. `id` is the block; `value` is the successor taken.
    Branch,
    /// The arrival at a reconvergence point. `id` is the block.
    Join,
}

/// One item of a body, in 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    /// The kind in the two high bits, `id` in the others.
    packed: u32,
    /// For a visit: how often the lane had visited the site before.
    pub nth: u32,
    pub value: u64,
}

impl Entry {
    pub(crate) fn new(what: EntryKind, id: u32, nth: u32, value: u64) -> Entry {
        Entry { packed: (what as u32) << 30 | id & ((1 << 30) - 1), nth, value }
    }
    pub fn what(self) -> EntryKind {
        match self.packed >> 30 {
            0 => EntryKind::Visit,
            1 => EntryKind::Child,
            2 => EntryKind::Branch,
            _ => EntryKind::Join,
        }
    }
    pub fn id(self) -> u32 {
        self.packed & ((1 << 30) - 1)
    }
}

/// The kind of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TreeNodeKind {
    /// The kernel's body.
    Root,
    /// A loop, from entry to exit. Its children are trips.
    Loop(LoopId),
    /// One trip of a loop.
    Trip,
    /// The body of a call.
    Call(FuncId),
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub kind: TreeNodeKind,
    /// The function that contains the loop, trip or body.
    pub function: FuncId,
    /// The loop of a loop or trip node. `None` for other nodes.
    pub of: Option<LoopId>,
    pub hash: u64,
    /// The number of visits in it and below.
    pub visits: u64,
    /// The range of its entries in [`LaneTree::entries`].
    pub entries: std::ops::Range<u32>,
}

/// A lane's tree.
#[derive(Debug, Default)]
pub(crate) struct LaneTree {
    pub nodes: Vec<Node>,
    pub entries: Vec<Entry>,
    /// By entry, at level `events`: the lanes that took part. Empty at other levels.
    pub masks: Vec<LaneMask>,
    /// Whether the recording reaches the lane's end.
    pub complete: bool,
    pub counts: VisitCounts,
    pub root: u32,
}

/// A node under construction.
struct OpenNode {
    kind: TreeNodeKind,
    function: FuncId,
    of: Option<LoopId>,
    entries: Vec<Entry>,
    masks: Vec<LaneMask>,
    hash: u64,
    visits: u64,
}

/// One step of the hash. Two different sequences collide with a probability of about 2^-64.
fn mix(hash: u64, x: u64) -> u64 {
    let h = (hash ^ x).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (h ^ h >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9).rotate_left(23)
}

impl LaneTree {
    /// Decodes the rest of a lane.
    ///
    /// # Errors
    /// Those of the decoder, and a lane that is too long or too deep.
    pub fn build(
        mut decoder: Decoder<'_>,
        names: &CommonIds,
        kernel: FuncId,
        with_masks: bool,
    ) -> Result<LaneTree, Error> {
        let mut tree = LaneTree::default();
        let mut seen: Vec<u32> = vec![0; names.sites.len()];
        let mut stack = vec![open(TreeNodeKind::Root, kernel, None)];
        // Buffers of closed nodes, to be used again.
        let mut spare: Vec<(Vec<Entry>, Vec<LaneMask>)> = Vec::new();
        while let Some(item) = decoder.next()? {
            let Some(top) = stack.last_mut() else { break };
            match item {
                PathItem::Visit { site, value, mask } => {
                    let nth =
                        seen.get_mut(site.index()).map_or(0, |n| std::mem::replace(n, n.saturating_add(1)));
                    let id = names.site(site);
                    top.hash = mix(mix(top.hash, u64::from(id) << 1), value);
                    top.visits += 1;
                    top.push(Entry::new(EntryKind::Visit, site.0, nth, value), mask, with_masks);
                }
                PathItem::Branch { block, to } => {
                    top.push(Entry::new(EntryKind::Branch, block.0, 0, to.into()), LaneMask(0), with_masks)
                }
                PathItem::Join(block) => {
                    top.push(Entry::new(EntryKind::Join, block.0, 0, 0), LaneMask(0), with_masks)
                }
                PathItem::Enter(l) => {
                    let function = top.function;
                    stack.push(fresh(&mut spare, TreeNodeKind::Loop(l), function, Some(l)));
                    stack.push(fresh(&mut spare, TreeNodeKind::Trip, function, Some(l)));
                }
                PathItem::Trip(l) => {
                    let function = top.function;
                    tree.close(&mut stack, &mut spare, names, with_masks);
                    stack.push(fresh(&mut spare, TreeNodeKind::Trip, function, Some(l)));
                }
                PathItem::Leave(_) => {
                    tree.close(&mut stack, &mut spare, names, with_masks);
                    tree.close(&mut stack, &mut spare, names, with_masks);
                }
                PathItem::Call(f) => stack.push(fresh(&mut spare, TreeNodeKind::Call(f), f, None)),
                PathItem::Skipped(_) | PathItem::Barrier(_) => {}
                PathItem::Return => tree.close(&mut stack, &mut spare, names, with_masks),
                PathItem::At(_) => {}
            }
            if stack.len() > MAX_DEPTH {
                return Err(Error::new("lane", "loops and calls nest too deep to compare"));
            }
            if tree.entries.len() + stack.last().map_or(0, |t| t.entries.len()) > MAX_ENTRIES {
                return Err(Error::new("lane", "too long to compare as a whole"));
            }
        }
        while !stack.is_empty() {
            tree.close(&mut stack, &mut spare, names, with_masks);
        }
        tree.complete = decoder.outcome() == DecodeOutcome::Ended;
        tree.counts = decoder.counts();
        tree.root = tree.nodes.len().saturating_sub(1) as u32;
        Ok(tree)
    }

    /// A lane's events without structure, for events that contradict the code.
    pub fn flat(events: &[Event], lane: Lane, module: &Module, names: &CommonIds) -> LaneTree {
        let mut tree = LaneTree { complete: true, ..LaneTree::default() };
        let mut seen: BTreeMap<SiteId, u32> = BTreeMap::new();
        let mut node = open(TreeNodeKind::Root, FuncId(0), None);
        for e in events.iter().filter(|e| e.mask.has(lane)).take(MAX_ENTRIES) {
            let nth = seen.entry(e.site).or_default();
            let class = module.sites.get(e.site.index()).map(|s| s.class);
            let one_bit = matches!(class, Some(SiteClass::Branch | SiteClass::Guard | SiteClass::Select));
            let value = if one_bit { e.value >> lane.0 & 1 } else { e.value };
            node.hash = mix(mix(node.hash, u64::from(names.site(e.site)) << 1), value);
            node.visits += 1;
            node.push(Entry::new(EntryKind::Visit, e.site.0, *nth, value), e.mask, true);
            *nth = nth.saturating_add(1);
        }
        tree.counts.recorded = node.visits;
        tree.close(&mut vec![node], &mut Vec::new(), names, true);
        tree
    }

    fn close(
        &mut self,
        stack: &mut Vec<OpenNode>,
        spare: &mut Vec<(Vec<Entry>, Vec<LaneMask>)>,
        names: &CommonIds,
        masks: bool,
    ) {
        let Some(mut node) = stack.pop() else { return };
        let kind = match node.kind {
            TreeNodeKind::Root => 1,
            TreeNodeKind::Trip => 3,
            TreeNodeKind::Loop(l) => u64::from(names.loop_of(node.function, l)) << 2 | 2,
            TreeNodeKind::Call(f) => u64::from(names.function(f)) << 2,
        };
        let hash = mix(node.hash, kind);
        let from = self.entries.len() as u32;
        self.entries.append(&mut node.entries);
        self.masks.append(&mut node.masks);
        let id = self.nodes.len() as u32;
        self.nodes.push(Node {
            kind: node.kind,
            function: node.function,
            of: node.of,
            hash,
            visits: node.visits,
            entries: from..self.entries.len() as u32,
        });
        spare.push((node.entries, node.masks));
        if let Some(parent) = stack.last_mut() {
            parent.hash = mix(parent.hash, hash ^ 1);
            parent.visits += node.visits;
            parent.push(Entry::new(EntryKind::Child, id, 0, 0), LaneMask(0), masks);
        }
    }

    /// Adds a body of visits and of existing nodes. Returns its node.
    pub fn add(
        &mut self,
        kind: TreeNodeKind,
        function: FuncId,
        of: Option<LoopId>,
        entries: &[(Entry, LaneMask)],
        names: &CommonIds,
        masks: bool,
    ) -> u32 {
        let mut node = open(kind, function, of);
        for (e, mask) in entries {
            match e.what() {
                EntryKind::Visit => {
                    let id = names.site(site(*e));
                    node.hash = mix(mix(node.hash, u64::from(id) << 1), e.value);
                    node.visits += 1;
                }
                _ => {
                    let child = self.node(e.id());
                    node.hash = mix(node.hash, child.hash ^ 1);
                    node.visits += child.visits;
                }
            }
            node.push(*e, *mask, masks);
        }
        self.close(&mut vec![node], &mut Vec::new(), names, masks);
        self.nodes.len() as u32 - 1
    }

    pub fn node(&self, id: u32) -> &Node {
        &self.nodes[id as usize]
    }
    pub fn entries(&self, id: u32) -> &[Entry] {
        let r = &self.node(id).entries;
        &self.entries[r.start as usize..r.end as usize]
    }
    /// The lane mask of entry `i` of node `id`.
    pub fn mask(&self, id: u32, i: usize) -> LaneMask {
        self.masks.get(self.node(id).entries.start as usize + i).copied().unwrap_or_default()
    }
    /// The first visit in or below a node.
    pub fn first_visit(&self, id: u32) -> Option<Entry> {
        self.entries(id).iter().find_map(|e| match e.what() {
            EntryKind::Visit => Some(*e),
            EntryKind::Child => self.first_visit(e.id()),
            _ => None,
        })
    }
    /// The number of visits in the entries of a body.
    pub fn visits(&self, entries: &[Entry]) -> u64 {
        entries
            .iter()
            .map(|e| match e.what() {
                EntryKind::Visit => 1,
                EntryKind::Child => self.node(e.id()).visits,
                _ => 0,
            })
            .sum()
    }
    /// The index, from `from` on, of the entry that joins at `block`. The body's end if there is none.
    pub fn seek(entries: &[Entry], from: usize, block: Option<BlockId>) -> usize {
        let is = |e: &Entry| e.what() == EntryKind::Join && Some(BlockId(e.id())) == block;
        entries[from.min(entries.len())..].iter().position(is).map_or(entries.len(), |p| from + p)
    }
}

impl OpenNode {
    fn push(&mut self, entry: Entry, mask: LaneMask, masks: bool) {
        self.entries.push(entry);
        if masks {
            self.masks.push(mask);
        }
    }
}

fn open(kind: TreeNodeKind, function: FuncId, of: Option<LoopId>) -> OpenNode {
    OpenNode { kind, function, of, entries: Vec::new(), masks: Vec::new(), hash: 0, visits: 0 }
}

fn fresh(
    spare: &mut Vec<(Vec<Entry>, Vec<LaneMask>)>,
    kind: TreeNodeKind,
    function: FuncId,
    of: Option<LoopId>,
) -> OpenNode {
    let (entries, masks) = spare.pop().unwrap_or_default();
    OpenNode { entries, masks, ..open(kind, function, of) }
}

/// The site of a visit.
pub(crate) fn site(e: Entry) -> SiteId {
    SiteId(e.id())
}
