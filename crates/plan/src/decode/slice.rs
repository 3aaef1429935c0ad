//! Static backward slices: the instructions from which the value of a decision can come.
//!
//! # Invariants
//!
//! - Node 0 is the defining instruction. Inputs have higher numbers than the node that reads them.
//! - An input that would close a cycle, such as a loop-carried value, is left out. [`NodeKind::Merge`] shows
//!   that it exists.
//! - A slice has at most [`MOST`] nodes, the nearest ones.
//!
//! # Limitations
//!
//! - Slices stop at loads, atomics, exchanges, calls and parameters. They do not follow addresses.

use std::collections::VecDeque;

use prlx_isa::dataflow::Def;
use prlx_isa::view::{Class, Inst, InstId, Operand, Reg, Role};
use prlx_trace::LocId;
use prlx_trace::kernel::{Node, NodeKind};
use rustc_hash::FxHashMap;

use crate::function::body::{Body, in_role, read, regs};

/// Most nodes of a slice.
const MOST: usize = 64;

#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Inst(InstId),
    /// Several definitions of a register.
    Merge(Reg, Vec<Def>),
    /// What was there at the function's entry.
    Entry(Reg),
}

/// The slice of the value that instruction `at` gives (for a switch: that it takes, `reg`).
pub(crate) fn slice(body: &Body<'_>, at: InstId, switch_on: Option<Reg>) -> Vec<Node> {
    let root = match switch_on {
        None => Key::Inst(at),
        Some(reg) => seen(body, at, reg),
    };
    // Breadth first, so that the bound cuts the farthest.
    let mut found: Vec<Key> = vec![root.clone()];
    let mut numbers = FxHashMap::from_iter([(root.clone(), 0)]);
    let mut inputs: Vec<Vec<usize>> = Vec::new();
    let mut queue = VecDeque::from([root]);
    while let Some(k) = queue.pop_front() {
        let mut ins = Vec::new();
        for next in parents(body, &k) {
            let number = match numbers.get(&next) {
                Some(n) => *n,
                None if found.len() < MOST => {
                    let n = found.len();
                    numbers.insert(next.clone(), n);
                    found.push(next.clone());
                    queue.push_back(next);
                    n
                }
                None => continue,
            };
            if !ins.contains(&number) {
                ins.push(number);
            }
        }
        inputs.push(ins);
    }
    let order = order(&inputs);
    let mut place = vec![0u32; found.len()];
    for (i, &n) in order.iter().enumerate() {
        place[n] = i as u32;
    }
    order
        .iter()
        .map(|&n| {
            let mut ins: Vec<u32> = inputs[n].iter().map(|&i| place[i]).filter(|&i| i > place[n]).collect();
            ins.sort_unstable();
            node(body, &found[n], ins)
        })
        .collect()
}

/// Numbers in an order that puts nodes before their inputs, cycles cut: reverse post-order from node 0.
fn order(inputs: &[Vec<usize>]) -> Vec<usize> {
    let mut post = Vec::with_capacity(inputs.len());
    let mut seen = vec![false; inputs.len()];
    let mut stack: Vec<(usize, usize)> = vec![(0, 0)];
    seen[0] = true;
    while let Some((n, next)) = stack.last_mut() {
        // Last input first, so that the reversed order lists inputs as they are written.
        let ins = &inputs[*n];
        if *next < ins.len() {
            let child = ins[ins.len() - 1 - *next];
            *next += 1;
            if !std::mem::replace(&mut seen[child], true) {
                stack.push((child, 0));
            }
        } else {
            post.push(*n);
            stack.pop();
        }
    }
    post.reverse();
    post
}

/// What an instruction sees of a register: at most as many definitions as a slice has nodes.
fn seen(body: &Body<'_>, at: InstId, reg: Reg) -> Key {
    let defs = body.flow.some_defs(at, reg, MOST);
    match defs.as_slice() {
        [Def::Inst(i)] => Key::Inst(*i),
        [Def::Entry] | [] => Key::Entry(reg),
        _ => Key::Merge(reg, defs),
    }
}

fn parents(body: &Body<'_>, key: &Key) -> Vec<Key> {
    match key {
        Key::Entry(_) => Vec::new(),
        Key::Merge(reg, defs) => defs
            .iter()
            .map(|d| match d {
                Def::Entry => Key::Entry(*reg),
                Def::Inst(i) => Key::Inst(*i),
            })
            .collect(),
        Key::Inst(i) => {
            let inst = body.inst(*i);
            let mut from = match kind(body, inst) {
                NodeKind::Op => read(inst),
                NodeKind::Exchange => regs(&in_role(inst, &[Role::Use, Role::UseDef])),
                _ => Vec::new(),
            };
            from.extend(inst.guard.map(|g| g.reg));
            let mut out = Vec::new();
            for reg in from {
                let next = seen(body, *i, reg);
                if !out.contains(&next) {
                    out.push(next);
                }
            }
            out
        }
    }
}

fn kind(body: &Body<'_>, inst: &Inst) -> NodeKind {
    match inst.class {
        Class::Load if crate::function::body::is_param(inst) => match param_owner(body, inst) {
            true => NodeKind::Param,
            false => NodeKind::Call,
        },
        Class::Load | Class::Texture => NodeKind::Load,
        Class::Atomic | Class::Warp => NodeKind::Exchange,
        Class::Call => NodeKind::Call,
        _ if read(inst).is_empty() => {
            let uses = in_role(inst, &[Role::Use]);
            match uses.iter().any(|o| matches!(o, Operand::Special(_))) {
                true => NodeKind::Special,
                false => NodeKind::Const,
            }
        }
        _ => NodeKind::Op,
    }
}

/// Whether a load from parameter space reads the function's own parameters, not what a call gave back.
fn param_owner(body: &Body<'_>, inst: &Inst) -> bool {
    use prlx_isa::view::Base;
    inst.operands.iter().any(|o| match o {
        Operand::Address(Base::Symbol(s), _) => body.function.params.contains(s),
        Operand::Address(Base::Reg(_), _) => true,
        _ => false,
    })
}

fn node(body: &Body<'_>, key: &Key, inputs: Vec<u32>) -> Node {
    let name = |reg: &Reg| body.function.regs.get(reg.index()).map(|r| r.name.clone()).unwrap_or_default();
    match key {
        Key::Inst(i) => {
            let inst = body.inst(*i);
            Node { kind: kind(body, inst), text: body.text(*i), loc: inst.loc.map(|l| LocId(l.0)), inputs }
        }
        Key::Merge(reg, defs) => Node {
            kind: NodeKind::Merge,
            text: match defs.len() {
                MOST => format!("{}: one of {MOST} or more", name(reg)),
                n => format!("{}: one of {n}", name(reg)),
            },
            loc: None,
            inputs,
        },
        Key::Entry(reg) => {
            let kind = match body.function.reg_params.contains(reg) {
                true => NodeKind::Param,
                false => NodeKind::Const,
            };
            let what = if kind == NodeKind::Param { "parameter" } else { "not written yet" };
            Node { kind, text: format!("{}: {what}", name(reg)), loc: None, inputs }
        }
    }
}
