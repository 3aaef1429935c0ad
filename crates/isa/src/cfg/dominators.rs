//! Dominator trees of both directions, by semidominators.
//!
//! The algorithm is Semi-NCA, a variant of Lengauer and Tarjan's (Georgiadis, "Linear-Time Algorithms for
//! Dominators and Related Problems", 2005).
//!
//! # Invariants
//! - No recursion.
//! - A cascade of early returns stays linear. Iterative fixed-point algorithms are quadratic on it.

use crate::view::{BlockId, Function};

/// The index of no block.
const NONE: u32 = u32::MAX;

fn id(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(NONE)
}

/// Immediate dominator of each block.
pub fn forward(f: &Function, reached: &[bool]) -> Vec<Option<BlockId>> {
    let n = f.blocks.len();
    if n == 0 {
        return vec![];
    }
    let succs: Vec<Vec<u32>> = f.blocks.iter().map(|b| b.succs.iter().map(|s| s.0).collect()).collect();
    let preds = reversed(&succs, reached);
    tree(0, &succs, &preds).into_iter().map(|d| (d != NONE).then_some(BlockId(d))).collect()
}

/// Immediate post-dominator of each block.
pub fn backward(f: &Function, order: &[BlockId], reached: &[bool]) -> Vec<Option<BlockId>> {
    let n = f.blocks.len();
    let exit = id(n);
    let mut succs: Vec<Vec<u32>> = f.blocks.iter().map(|b| b.succs.iter().map(|s| s.0).collect()).collect();
    for b in order.iter().filter(|b| f.leaves(**b)) {
        succs[b.index()].push(exit);
    }
    succs.push(vec![]);
    let mut alive = reached.to_vec();
    alive.push(true);
    let mut preds = reversed(&succs, &alive);
    // A region without an exit gets one, from its last block.
    let mut out = vec![false; n + 1];
    climb(exit, &preds, &mut out);
    for b in order.iter().rev() {
        if !out[b.index()] {
            succs[b.index()].push(exit);
            preds[n].push(b.0);
            climb(b.0, &preds, &mut out);
        }
    }
    let mut ipdom: Vec<Option<BlockId>> = tree(exit, &preds, &succs)
        .into_iter()
        .map(|d| (d != NONE && d != exit).then_some(BlockId(d)))
        .collect();
    ipdom.truncate(n);
    ipdom
}

/// Marks in `out` every block from which a path leads to `from`.
fn climb(from: u32, preds: &[Vec<u32>], out: &mut [bool]) {
    let mut work = vec![from];
    out[from as usize] = true;
    while let Some(b) = work.pop() {
        for p in &preds[b as usize] {
            if !out[*p as usize] {
                out[*p as usize] = true;
                work.push(*p);
            }
        }
    }
}

/// Predecessors of each block, counting only edges from blocks in `alive`.
fn reversed(succs: &[Vec<u32>], alive: &[bool]) -> Vec<Vec<u32>> {
    let mut preds = vec![vec![]; succs.len()];
    for (b, list) in succs.iter().enumerate().filter(|(b, _)| alive[*b]) {
        for s in list {
            preds[*s as usize].push(id(b));
        }
    }
    preds
}

/// Immediate dominators of the blocks that `root` reaches.
fn tree(root: u32, succs: &[Vec<u32>], preds: &[Vec<u32>]) -> Vec<u32> {
    let n = succs.len();
    let mut number = vec![NONE; n];
    let mut vertex = vec![];
    let mut parent = vec![];
    // Preorder numbers. From here on blocks go by these numbers.
    let mut stack = vec![(root, NONE)];
    while let Some((b, from)) = stack.pop() {
        if number[b as usize] != NONE {
            continue;
        }
        let at = id(vertex.len());
        number[b as usize] = at;
        vertex.push(b);
        parent.push(from);
        for s in succs[b as usize].iter().rev().filter(|s| number[**s as usize] == NONE) {
            stack.push((*s, at));
        }
    }
    let count = vertex.len();
    let mut semi: Vec<u32> = (0..count).map(id).collect();
    let mut label = semi.clone();
    let mut ancestor = vec![NONE; count];
    let mut path = vec![];
    for w in (1..count).rev() {
        for p in &preds[vertex[w] as usize] {
            let v = number[*p as usize];
            if v == NONE {
                continue;
            }
            let u = least(v, &mut ancestor, &mut label, &semi, &mut path);
            semi[w] = semi[w].min(semi[u as usize]);
        }
        label[w] = id(w);
        ancestor[w] = parent[w];
    }
    let mut idom = parent.clone();
    for w in 1..count {
        let mut d = idom[w];
        while d > semi[w] {
            d = idom[d as usize];
        }
        idom[w] = d;
    }
    let mut result = vec![NONE; n];
    for w in 1..count {
        result[vertex[w] as usize] = vertex[idom[w] as usize];
    }
    result
}

/// The vertex with the least semidominator on the path up the forest. Compresses the path.
fn least(v: u32, ancestor: &mut [u32], label: &mut [u32], semi: &[u32], path: &mut Vec<u32>) -> u32 {
    if ancestor[v as usize] == NONE {
        return v;
    }
    path.clear();
    let mut x = v;
    while ancestor[ancestor[x as usize] as usize] != NONE {
        path.push(x);
        x = ancestor[x as usize];
    }
    while let Some(x) = path.pop() {
        let above = ancestor[x as usize] as usize;
        if semi[label[above] as usize] < semi[label[x as usize] as usize] {
            label[x as usize] = label[above];
        }
        ancestor[x as usize] = ancestor[above];
    }
    label[v as usize]
}

/// When a walk of the tree enters and leaves each block; `(0, 0)` for blocks outside the tree.
pub fn intervals(parent: &[Option<BlockId>], order: &[BlockId]) -> Vec<(u32, u32)> {
    let n = parent.len();
    let mut first = vec![NONE; n];
    let mut next = vec![NONE; n];
    let mut roots = vec![];
    for b in order.iter().rev() {
        match parent[b.index()] {
            Some(p) => {
                next[b.index()] = first[p.index()];
                first[p.index()] = b.0;
            }
            None => roots.push(b.0),
        }
    }
    let mut at = vec![(0, 0); n];
    let mut clock = 0;
    for root in roots {
        let mut stack = vec![(root, false)];
        while let Some((b, done)) = stack.pop() {
            clock += 1;
            if done {
                at[b as usize].1 = clock;
                continue;
            }
            at[b as usize].0 = clock;
            stack.push((b, true));
            let mut child = first[b as usize];
            while child != NONE {
                stack.push((child, false));
                child = next[child as usize];
            }
        }
    }
    at
}
