//! Phi nodes of one register: one wherever control joins and the register is live, then condensed.
//!
//! The places where definitions meet need not be found first. Phi nodes that reach each other see the same
//! definitions, so each such group becomes one value. A group without a definition that takes from one other
//! value becomes that value. The result is as small as with dominance frontiers, whose size can be the square
//! of the number of blocks.
//!
//! # Invariants
//! Notes by block are reused from register to register. Only the values outlive a register.
//!
//! # Limitations
//! The time is the number of blocks where the register is live, summed over registers.

use super::mentions::Mention;
use super::values::{ENTRY, Value, Values, id};
use crate::cfg::Cfg;
use crate::view::{BlockId, Function, InstId, Reg};

/// A value before condensing: an index into [`Builder::drafts`].
type Draft = u32;

/// The value from the entry: always the first draft.
const FROM_ENTRY: Draft = 0;

/// The index of no node.
const NONE: u32 = u32::MAX;

#[derive(Debug)]
enum Source {
    Entry,
    /// A definition by an instruction, and the value before it if the definition may not execute.
    Def(InstId, Option<Draft>),
    /// A phi node: one of these values, by the edge that control took. A range of [`Builder::arguments`].
    Join(u32, u32),
}

/// A note: an epoch and an index. It counts if the epoch is the current one.
type Note = (u32, u32);

/// Builds values, one register after the other.
pub struct Builder<'f> {
    f: &'f Function,
    graph: &'f Cfg,
    /// The register is live at the block's beginning.
    live: Vec<u32>,
    /// A definition in the block ends the values that reach its beginning.
    ended: Vec<u32>,
    /// The phi node at the block's beginning.
    join: Vec<Note>,
    /// The draft at the block's end.
    at_end: Vec<Note>,
    epoch: u32,
    drafts: Vec<Source>,
    arguments: Vec<Draft>,
}

impl<'f> Builder<'f> {
    pub fn new(f: &'f Function, graph: &'f Cfg) -> Self {
        let n = f.blocks.len();
        Builder {
            f,
            graph,
            live: vec![0; n],
            ended: vec![0; n],
            join: vec![(0, 0); n],
            at_end: vec![(0, 0); n],
            epoch: 0,
            drafts: vec![],
            arguments: vec![],
        }
    }

    fn place(&self, i: InstId) -> BlockId {
        self.f.insts[i.index()].block
    }

    fn draft(&mut self, source: Source) -> Draft {
        self.drafts.push(source);
        id(self.drafts.len() - 1)
    }

    /// Builds the values of a register that has several definitions, or may have none. `list` has its
    /// mentions in source order.
    pub fn register(&mut self, values: &mut Values, reg: Reg, list: &[Mention]) {
        self.epoch += 1;
        self.drafts.clear();
        self.arguments.clear();
        self.draft(Source::Entry);
        let joins = self.joins(list);
        // Blocks higher in the dominator tree are processed first.
        let mut groups: Vec<&[Mention]> =
            list.chunk_by(|a, b| self.place(a.inst) == self.place(b.inst)).collect();
        groups.sort_unstable_by_key(|g| self.graph.entered(self.place(g[0].inst)));
        let mut seen: Vec<(InstId, Draft)> = vec![];
        let mut made: Vec<(InstId, Draft)> = vec![];
        for group in groups {
            let block = self.place(group[0].inst);
            let mut now = self.graph.reaches(block).then(|| self.incoming(block));
            for m in group {
                if m.reads {
                    seen.extend(now.map(|v| (m.inst, v)));
                }
                if m.writes {
                    let v = self.draft(Source::Def(m.inst, if m.ends { None } else { now }));
                    made.push((m.inst, v));
                    now = Some(v);
                }
            }
            if let Some(v) = now {
                self.at_end[block.index()] = (self.epoch, v);
            }
        }
        for j in joins {
            let start = id(self.arguments.len());
            for p in &self.f.blocks[j.index()].preds {
                if self.graph.reaches(*p) {
                    let v = self.outgoing(*p);
                    self.arguments.push(v);
                }
            }
            if j.0 == 0 {
                self.arguments.push(FROM_ENTRY);
            }
            let join = self.join[j.index()].1 as usize;
            self.drafts[join] = Source::Join(start, id(self.arguments.len()));
        }
        let condensed = self.condense(values);
        values.seen.extend(seen.into_iter().map(|(i, v)| (i, reg, condensed[v as usize])));
        values.made.extend(made.into_iter().map(|(i, v)| (i, reg, condensed[v as usize])));
    }

    /// Marks the blocks where the register is live, and creates a phi node wherever it can arrive by several
    /// edges.
    fn joins(&mut self, list: &[Mention]) -> Vec<BlockId> {
        let f = self.f;
        let place = |m: &Mention| f.insts[m.inst.index()].block;
        let mut work = vec![];
        for group in list.chunk_by(|a, b| place(a) == place(b)) {
            let block = place(&group[0]);
            let until = group.iter().position(|m| m.ends);
            let exposed = &group[..until.map_or(group.len(), |i| i + 1)];
            if exposed.iter().any(|m| m.reads || m.writes && !m.ends) {
                self.live[block.index()] = self.epoch;
                work.push(block);
            }
            if until.is_some() {
                self.ended[block.index()] = self.epoch;
            }
        }
        let mut joins = vec![];
        while let Some(b) = work.pop() {
            let preds = &self.f.blocks[b.index()].preds;
            // The entry itself is one way into the first block.
            if preds.len() + usize::from(b.0 == 0) > 1 && self.graph.reaches(b) {
                let v = self.draft(Source::Join(0, 0));
                self.join[b.index()] = (self.epoch, v);
                joins.push(b);
            }
            for p in preds {
                let i = p.index();
                if self.live[i] != self.epoch && self.ended[i] != self.epoch {
                    self.live[i] = self.epoch;
                    work.push(*p);
                }
            }
        }
        joins
    }

    /// The draft at the end of a block.
    fn outgoing(&mut self, block: BlockId) -> Draft {
        let mut path = vec![];
        let mut b = block;
        let v = loop {
            let (epoch, v) = self.at_end[b.index()];
            if epoch == self.epoch {
                break v;
            }
            path.push(b);
            let (epoch, v) = self.join[b.index()];
            if epoch == self.epoch {
                break v;
            }
            match self.graph.idom[b.index()] {
                Some(up) => b = up,
                None => break FROM_ENTRY,
            }
        };
        for b in path {
            self.at_end[b.index()] = (self.epoch, v);
        }
        v
    }

    /// The draft at the beginning of a block.
    fn incoming(&mut self, block: BlockId) -> Draft {
        let (epoch, v) = self.join[block.index()];
        if epoch == self.epoch {
            return v;
        }
        match self.graph.idom[block.index()] {
            Some(up) => self.outgoing(up),
            None => FROM_ENTRY,
        }
    }

    /// Drafts that a draft takes definitions from, besides its own.
    fn from(&self, draft: Draft) -> &[Draft] {
        match &self.drafts[draft as usize] {
            Source::Entry | Source::Def(_, None) => &[],
            Source::Def(_, Some(before)) => std::slice::from_ref(before),
            Source::Join(start, end) => &self.arguments[*start as usize..*end as usize],
        }
    }

    /// Adds one value for each group of drafts that reach each other. Returns the value of each draft.
    fn condense(&self, values: &mut Values) -> Vec<Value> {
        // Tarjan's algorithm yields a component after the components it depends on.
        let n = self.drafts.len();
        let mut value = vec![NONE; n];
        let mut index = vec![NONE; n];
        let mut low = vec![0; n];
        let mut stack: Vec<Draft> = vec![];
        let mut path: Vec<(Draft, usize)> = vec![];
        let mut clock = 0;
        let (mut own, mut others) = (vec![], vec![]);
        for root in 0..id(n) {
            if index[root as usize] != NONE {
                continue;
            }
            path.push((root, 0));
            while let Some((draft, next)) = path.last_mut() {
                let (draft, i) = (*draft, *draft as usize);
                if index[i] == NONE {
                    index[i] = clock;
                    low[i] = clock;
                    clock += 1;
                    stack.push(draft);
                }
                if let Some(to) = self.from(draft).get(*next) {
                    *next += 1;
                    let to = *to as usize;
                    if index[to] == NONE {
                        path.push((id(to), 0));
                    } else if value[to] == NONE {
                        low[i] = low[i].min(index[to]);
                    }
                    continue;
                }
                path.pop();
                if let Some((above, _)) = path.last() {
                    low[*above as usize] = low[*above as usize].min(low[i]);
                }
                if low[i] != index[i] {
                    continue;
                }
                let start = stack.iter().rposition(|d| *d == draft).unwrap_or(0);
                own.clear();
                others.clear();
                let mut entry = false;
                for d in &stack[start..] {
                    match &self.drafts[*d as usize] {
                        Source::Entry => entry = true,
                        Source::Def(inst, _) => own.push(*inst),
                        Source::Join(..) => {}
                    }
                    // Within the group no draft has a value yet.
                    others.extend(self.from(*d).iter().map(|o| value[*o as usize]).filter(|v| *v != NONE));
                }
                others.sort_unstable();
                others.dedup();
                let v = match others[..] {
                    _ if entry => ENTRY,
                    [only] if own.is_empty() => only,
                    _ => values.add(&own, &others),
                };
                for d in stack.drain(start..) {
                    value[d as usize] = v;
                }
            }
        }
        value
    }
}
