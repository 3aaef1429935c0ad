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
//! Parts that both sides have alike may be *pruned* ([`pair_trees`](super::pair_trees)): a pruned node has
//! its hash and its number of visits, and of its entries only the first visit.
//!
//! # Limitations
//! A lane of more than [`MAX_ENTRIES`] entries, or nested deeper than [`MAX_DEPTH`], is refused.

use std::collections::BTreeMap;

use prlx_trace::kernel::{Module, SiteClass};
use prlx_trace::launch::Event;
use prlx_trace::{BlockId, FuncId, Lane, LaneMask, LoopId, SiteId};

use crate::builds::CommonIds;
use crate::decode::{DecodeOutcome, Decoder, MAX_ENTRIES, PathItem, VisitCounts, mix};
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
    /// For a visit: how often the lane had visited the site before. For a child that is a run of pruned
    /// trips: how many trips follow its first.
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
    /// Not 0 if the node is pruned: the number that the pruned node of the other side has as well.
    pub pruned: u32,
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
    /// The number of its loops, trips and calls, pruned ones included.
    children: u64,
    /// The numbers of nodes and entries of the tree before it.
    first: [usize; 2],
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
        let mut builder = TreeBuilder::new(names, kernel, with_masks);
        while let Some(item) = decoder.advance()? {
            builder.push(item)?;
        }
        Ok(builder.finish(&decoder))
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
        tree.append(node, names);
        tree
    }

    /// Appends a node that is complete. Returns its number, its hash, and its buffers.
    fn append(&mut self, mut node: OpenNode, names: &CommonIds) -> (u32, u64, Buffers) {
        let hash = node.hash(names);
        let from = self.entries.len() as u32;
        self.entries.append(&mut node.entries);
        self.masks.append(&mut node.masks);
        self.nodes.push(Node {
            kind: node.kind,
            function: node.function,
            of: node.of,
            hash,
            visits: node.visits,
            pruned: 0,
            entries: from..self.entries.len() as u32,
        });
        (self.nodes.len() as u32 - 1, hash, (node.entries, node.masks))
    }

    /// Empties an open node and drops the closed ones in it.
    fn forget(&mut self, node: &mut OpenNode) {
        let [nodes, entries] = node.first;
        self.nodes.truncate(nodes);
        self.entries.truncate(entries);
        self.masks.truncate(entries);
        node.entries.clear();
        node.masks.clear();
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
        self.append(node, names).0
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

/// Buffers of a closed node, to be used again.
type Buffers = (Vec<Entry>, Vec<LaneMask>);

/// Builds a lane's tree from the items of its path.
pub(super) struct TreeBuilder<'n> {
    tree: LaneTree,
    names: &'n CommonIds,
    with_masks: bool,
    /// By site: the number of visits so far.
    seen: Vec<u32>,
    stack: Vec<OpenNode>,
    spare: Vec<Buffers>,
}

impl<'n> TreeBuilder<'n> {
    pub fn new(names: &'n CommonIds, kernel: FuncId, with_masks: bool) -> TreeBuilder<'n> {
        TreeBuilder {
            tree: LaneTree::default(),
            names,
            with_masks,
            seen: vec![0; names.sites.len()],
            stack: vec![open(TreeNodeKind::Root, kernel, None)],
            spare: Vec::new(),
        }
    }

    /// The number of open nodes.
    pub fn depth(&self) -> usize {
        self.stack.len()
    }

    /// The common number of a site.
    pub fn name(&self, s: SiteId) -> u32 {
        self.names.site(s)
    }

    /// Adds the next item of the path.
    ///
    /// # Errors
    /// The lane is too long or too deep.
    pub fn push(&mut self, item: &PathItem) -> Result<(), Error> {
        match *item {
            PathItem::Visit { site, value, mask } => self.visit(site, value, mask),
            PathItem::Branch { block, to } => {
                self.entry(Entry::new(EntryKind::Branch, block.0, 0, to.into()), LaneMask(0))
            }
            PathItem::Join(block) => self.entry(Entry::new(EntryKind::Join, block.0, 0, 0), LaneMask(0)),
            PathItem::Enter(l) => {
                self.open(TreeNodeKind::Loop(l), Some(l));
                self.open(TreeNodeKind::Trip, Some(l));
            }
            PathItem::Trip(l) => {
                self.close();
                self.open(TreeNodeKind::Trip, Some(l));
            }
            PathItem::Leave(_) => {
                self.close();
                self.close();
            }
            PathItem::Call(f) => {
                self.open(TreeNodeKind::Call(f), None);
                self.stack.last_mut().into_iter().for_each(|top| top.function = f);
            }
            PathItem::Return => self.close(),
            PathItem::Skipped(_) | PathItem::Barrier(_) | PathItem::At(_) => {}
        }
        self.check()
    }

    /// Whether the tree is within its bounds.
    pub fn check(&self) -> Result<(), Error> {
        if self.stack.len() > MAX_DEPTH {
            return Err(Error::new("lane", "loops and calls nest too deep to compare"));
        }
        if self.tree.entries.len() + self.stack.last().map_or(0, |t| t.entries.len()) > MAX_ENTRIES {
            return Err(Error::new("lane", "too long to compare as a whole"));
        }
        Ok(())
    }

    fn visit(&mut self, site: SiteId, value: u64, mask: LaneMask) {
        let nth = self.seen.get_mut(site.index()).map_or(0, |n| std::mem::replace(n, n.saturating_add(1)));
        let id = self.names.site(site);
        if let Some(top) = self.stack.last_mut() {
            top.hash = mix(mix(top.hash, u64::from(id) << 1), value);
            top.visits += 1;
        }
        self.entry(Entry::new(EntryKind::Visit, site.0, nth, value), mask);
    }

    fn entry(&mut self, entry: Entry, mask: LaneMask) {
        if let Some(top) = self.stack.last_mut() {
            top.push(entry, mask, self.with_masks);
        }
    }

    /// Opens a node in the function of the innermost one.
    pub fn open(&mut self, kind: TreeNodeKind, of: Option<LoopId>) {
        let function = self.stack.last().map_or(FuncId(0), |top| top.function);
        let (entries, masks) = self.spare.pop().unwrap_or_default();
        let first = [self.tree.nodes.len(), self.tree.entries.len()];
        self.stack.push(OpenNode { entries, masks, first, ..open(kind, function, of) });
    }

    /// Closes the innermost node.
    pub fn close(&mut self) {
        let Some(node) = self.stack.pop() else { return };
        let visits = node.visits;
        let (id, hash, buffers) = self.tree.append(node, self.names);
        self.spare.push(buffers);
        if let Some(parent) = self.stack.last_mut() {
            parent.add_child(hash, visits);
            parent.push(Entry::new(EntryKind::Child, id, 0, 0), LaneMask(0), self.with_masks);
        }
    }

    /// Whether the innermost nodes of two trees are the same part of the path, and equal.
    pub fn same_top(&self, other: &TreeBuilder<'_>) -> bool {
        let ([.., p, x], [.., q, y]) = (&self.stack[..], &other.stack[..]) else { return false };
        let numbers = x.kind != TreeNodeKind::Trip || p.children == q.children;
        numbers && x.visits == y.visits && x.hash(self.names) == y.hash(other.names)
    }

    /// Closes the innermost node and drops what is in it. The other side's node gets the same number.
    pub fn prune(&mut self, number: u32) {
        self.drop_top(number);
        self.spare.extend(self.stack.pop().map(|node| (node.entries, node.masks)));
    }

    /// [`TreeBuilder::prune`] for a trip, and opens the next one.
    pub fn prune_trip(&mut self, number: u32) {
        self.drop_top(number);
        if let Some(top) = self.stack.last_mut() {
            (top.hash, top.visits, top.children) = (0, 0, 0);
            top.first = [self.tree.nodes.len(), self.tree.entries.len()];
        }
    }

    /// Empties the innermost node, and adds it to its parent as a pruned one.
    fn drop_top(&mut self, number: u32) {
        let [.., parent, node] = &mut self.stack[..] else { return };
        let (hash, visits) = (node.hash(self.names), node.visits);
        parent.add_child(hash, visits);
        if node.kind == TreeNodeKind::Trip
            && let Some(last) = parent.entries.last_mut()
            && let Some(run) = self.tree.nodes.get_mut(last.id() as usize)
            && run.pruned != 0
            && last.nth < u32::MAX
        {
            last.nth += 1;
            run.visits += visits;
            return self.tree.forget(node);
        }
        let first = node.entries.iter().find_map(|e| match e.what() {
            EntryKind::Visit => Some(*e),
            EntryKind::Child => self.tree.first_visit(e.id()),
            _ => None,
        });
        self.tree.forget(node);
        let from = self.tree.entries.len() as u32;
        self.tree.entries.extend(first);
        if self.with_masks {
            self.tree.masks.resize(self.tree.entries.len(), LaneMask(0));
        }
        let entries = from..self.tree.entries.len() as u32;
        let OpenNode { kind, function, of, .. } = *node;
        let id = self.tree.nodes.len() as u32;
        self.tree.nodes.push(Node { kind, function, of, hash, visits, pruned: number, entries });
        parent.push(Entry::new(EntryKind::Child, id, 0, 0), LaneMask(0), self.with_masks);
    }

    /// Closes all nodes. `decoder` has yielded all items.
    pub fn finish(mut self, decoder: &Decoder<'_>) -> LaneTree {
        while !self.stack.is_empty() {
            self.close();
        }
        self.tree.complete = decoder.outcome() == DecodeOutcome::Ended;
        self.tree.counts = decoder.counts();
        self.tree.root = self.tree.nodes.len().saturating_sub(1) as u32;
        self.tree
    }
}

impl OpenNode {
    fn push(&mut self, entry: Entry, mask: LaneMask, masks: bool) {
        self.entries.push(entry);
        if masks {
            self.masks.push(mask);
        }
    }

    /// The hash that it has once it is complete.
    fn hash(&self, names: &CommonIds) -> u64 {
        let kind = match self.kind {
            TreeNodeKind::Root => 1,
            TreeNodeKind::Trip => 3,
            TreeNodeKind::Loop(l) => u64::from(names.loop_of(self.function, l)) << 2 | 2,
            TreeNodeKind::Call(f) => u64::from(names.function(f)) << 2,
        };
        mix(self.hash, kind)
    }

    fn add_child(&mut self, hash: u64, visits: u64) {
        self.hash = mix(self.hash, hash ^ 1);
        self.visits += visits;
        self.children += 1;
    }
}

fn open(kind: TreeNodeKind, function: FuncId, of: Option<LoopId>) -> OpenNode {
    let (entries, masks) = (Vec::new(), Vec::new());
    OpenNode { kind, function, of, entries, masks, hash: 0, visits: 0, children: 0, first: [0; 2] }
}

/// The site of a visit.
pub(crate) fn site(e: Entry) -> SiteId {
    SiteId(e.id())
}
