//! Values of registers as a graph: each value has definitions of its own, and values whose definitions count
//! too.
//!
//! [`super::phi`] builds the graph, one register after the other. [`super::def_use`] walks it to answer
//! queries.

use rustc_hash::FxHashSet;

use crate::view::{InstId, Reg};

/// A value that a register can hold: a set of definitions. An index into the nodes of [`Values`].
pub(super) type Value = u32;

/// The value from the function's entry, for all registers.
pub(super) const ENTRY: Value = 0;

#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// Start of the node's own definitions in [`Values::own`]; the next node's start ends them.
    own: u32,
    /// Start of the values whose definitions count too, in [`Values::others`].
    others: u32,
}

/// The values of all registers that have no single definition.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    /// Values, and one node more than there are, which ends the last.
    nodes: Vec<Node>,
    own: Vec<InstId>,
    others: Vec<Value>,
    /// The value that a use sees, for registers without a single definition; sorted by [`Values::link`].
    pub seen: Vec<(InstId, Reg, Value)>,
    /// Values by the instruction and register that make them; sorted by [`Values::link`].
    pub made: Vec<(InstId, Reg, Value)>,
    /// The reverse direction: by value, offsets into `onward` (values that include its definitions) and
    /// `users`.
    back: Vec<Node>,
    onward: Vec<Value>,
    users: Vec<InstId>,
}

impl Values {
    /// No values but [`ENTRY`], which has no definition of its own.
    pub fn new() -> Values {
        Values { nodes: vec![Node::default(); 2], ..Values::default() }
    }

    /// Adds a value with definitions of its own, and values whose definitions count too.
    pub fn add(&mut self, own: &[InstId], others: &[Value]) -> Value {
        self.own.extend(own);
        self.others.extend(others);
        self.nodes.push(Node { own: id(self.own.len()), others: id(self.others.len()) });
        id(self.nodes.len() - 2)
    }

    /// How many values there are.
    pub fn count(&self) -> usize {
        self.nodes.len() - 1
    }

    /// Own definitions of a value, and the values whose definitions count too.
    pub fn node(&self, v: Value) -> (&[InstId], &[Value]) {
        split(&self.nodes, v, &self.own, &self.others)
    }

    /// Values that include the definitions of `v`, and the instructions that use them.
    pub fn users(&self, v: Value) -> (&[InstId], &[Value]) {
        split(&self.back, v, &self.users, &self.onward)
    }

    /// Sorts the lists, and links each value to its users.
    pub fn link(&mut self) {
        self.seen.sort_unstable();
        self.made.sort_unstable();
        let n = self.count();
        let mut back = vec![Node::default(); n + 1];
        for v in &self.others {
            back[*v as usize + 1].others += 1;
        }
        for (_, _, v) in &self.seen {
            back[*v as usize + 1].own += 1;
        }
        for i in 0..n {
            back[i + 1].own += back[i].own;
            back[i + 1].others += back[i].others;
        }
        let mut next = back.clone();
        self.onward = vec![0; self.others.len()];
        self.users = vec![InstId(0); self.seen.len()];
        for v in 0..n {
            for k in self.nodes[v].others..self.nodes[v + 1].others {
                let at = &mut next[self.others[k as usize] as usize].others;
                self.onward[*at as usize] = id(v);
                *at += 1;
            }
        }
        for (inst, _, v) in &self.seen {
            let at = &mut next[*v as usize].own;
            self.users[*at as usize] = *inst;
            *at += 1;
        }
        self.back = back;
    }
}

/// Entries of a node: from its start to the start of the next node.
fn split<'s, T>(nodes: &[Node], v: Value, own: &'s [T], others: &'s [Value]) -> (&'s [T], &'s [Value]) {
    let (a, b) = (nodes[v as usize], nodes[v as usize + 1]);
    (&own[a.own as usize..b.own as usize], &others[a.others as usize..b.others as usize])
}

/// Visits a value and all values that follow from it, each once.
pub(super) fn walk<'s>(from: Value, mut visit: impl FnMut(Value) -> &'s [Value]) {
    let first = visit(from);
    if first.is_empty() {
        return;
    }
    let mut done = FxHashSet::from_iter([from]);
    let mut work = first.to_vec();
    while let Some(v) = work.pop() {
        if done.insert(v) {
            work.extend(visit(v));
        }
    }
}

pub(super) fn id(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(u32::MAX)
}
