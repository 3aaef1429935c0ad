//! Random functions, as text: dominators, loops and data flow are compared with their definitions, computed
//! by brute force.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::common::Random;
use prlx_isa::cfg::Cfg;
use prlx_isa::dataflow::{Def, DefUse, SteerKind, decisions};
use prlx_isa::ptx;
use prlx_isa::view::{BlockId, Class, Function, InstId, Operand, Reg};

const REGS: usize = 4;

fn random_function(r: &mut Random) -> String {
    let n = 1 + r.below(12);
    let mut s = String::from(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\n.reg .b32 %r<8>;\n.reg .pred %p<8>;\n",
    );
    for b in 0..n {
        let _ = writeln!(s, "L{b}:");
        for _ in 0..r.below(4) {
            let guard = match r.below(4) {
                0 => format!("@{}%p{} ", ["", "!"][r.below(2)], r.below(REGS)),
                _ => String::new(),
            };
            let (d, a, c, p) = (r.below(REGS), r.below(REGS), r.below(REGS), r.below(REGS));
            let _ = match r.below(4) {
                0 => writeln!(s, "{guard}setp.lt.s32 %p{p}|%p{a}, %r{a}, %r{c};"),
                1 => writeln!(s, "{guard}selp.s32 %r{d}, %r{a}, %r{c}, %p{p};"),
                2 => writeln!(s, "{guard}add.s32 %r{d}, %r{a}, %r{c};"),
                _ => writeln!(s, "{guard}ld.global.u32 %r{d}, [%r{a}+4];"),
            };
        }
        let to = r.below(n);
        let _ = match r.below(10) {
            0 => writeln!(s, "bra L{to};"),
            1..=4 => writeln!(s, "@%p{} bra L{to};", r.below(REGS)),
            5 => writeln!(s, "ret;"),
            6 => writeln!(s, "@!%p{} exit;", r.below(REGS)),
            7 => writeln!(
                s,
                "T{b}: .branchtargets L{to}, L{}, L{to};\nbrx.idx %r{}, T{b};",
                r.below(n),
                r.below(REGS)
            ),
            _ => Ok(()),
        };
    }
    s.push_str("}\n");
    s
}

/// The blocks that `from` reaches without going through `without`.
fn reach(n: usize, succs: &dyn Fn(usize) -> Vec<usize>, from: usize, without: Option<usize>) -> Vec<bool> {
    let mut seen = vec![false; n];
    if Some(from) == without {
        return seen;
    }
    let mut work = vec![from];
    seen[from] = true;
    while let Some(b) = work.pop() {
        for s in succs(b) {
            if Some(s) != without && !seen[s] {
                seen[s] = true;
                work.push(s);
            }
        }
    }
    seen
}

fn succs_of(f: &Function) -> impl Fn(usize) -> Vec<usize> + '_ {
    |b| f.blocks[b].succs.iter().map(|s| s.index()).collect()
}

fn check_dominators(f: &Function, g: &Cfg, text: &str) {
    let n = f.blocks.len();
    let succs = succs_of(f);
    let reachable = reach(n, &succs, 0, None);
    let mut order: Vec<usize> = g.order.iter().map(|b| b.index()).collect();
    assert_eq!(order.first(), Some(&0), "{text}");
    order.sort_unstable();
    assert_eq!(order, (0..n).filter(|b| reachable[*b]).collect::<Vec<_>>(), "{text}");
    for a in 0..n {
        let around = reach(n, &succs, 0, Some(a));
        for b in 0..n {
            let expected = if reachable[a] && reachable[b] { a == b || !around[b] } else { a == b };
            assert_eq!(
                g.dominates(BlockId(a as u32), BlockId(b as u32)),
                expected,
                "block{a} dominates block{b} in\n{text}"
            );
        }
    }
    // The immediate dominator is the strict dominator that all others dominate.
    for (b, reached) in reachable.iter().enumerate() {
        let strict = |a: usize| a != b && *reached && g.dominates(BlockId(a as u32), BlockId(b as u32));
        let nearest = (0..n).find(|a| {
            strict(*a) && (0..n).all(|o| !strict(o) || g.dominates(BlockId(o as u32), BlockId(*a as u32)))
        });
        assert_eq!(g.idom[b].map(BlockId::index), nearest, "{text}");
    }
}

fn check_post_dominators(f: &Function, g: &Cfg, text: &str) {
    let n = f.blocks.len();
    let succs = succs_of(f);
    let reachable = reach(n, &succs, 0, None);
    // The documented rule for regions without a way out.
    let mut extra = vec![false; n];
    loop {
        let with_exit = |b: usize| -> Vec<usize> {
            if b == n {
                return vec![];
            }
            let mut s = succs(b);
            if extra[b] || f.leaves(BlockId(b as u32)) {
                s.push(n);
            }
            s
        };
        let stuck = g.order.iter().rev().find(|b| !reach(n + 1, &with_exit, b.index(), None)[n]);
        if let Some(b) = stuck {
            extra[b.index()] = true;
            continue;
        }
        for a in 0..n {
            for b in 0..n {
                let expected = if reachable[a] && reachable[b] {
                    a == b || !reach(n + 1, &with_exit, b, Some(a))[n]
                } else {
                    a == b
                };
                let got = g.post_dominates(BlockId(a as u32), BlockId(b as u32));
                assert_eq!(got, expected, "block{a} post-dominates block{b} in\n{text}");
            }
        }
        return;
    }
}

/// Loops by their definition: (header, blocks, irreducible, depth).
type Named = BTreeSet<(usize, Vec<usize>, bool, u32)>;

fn loops_in(f: &Function, g: &Cfg, blocks: &[usize], depth: u32, out: &mut Named) {
    let n = f.blocks.len();
    let inside =
        |b: usize| f.blocks[b].succs.iter().map(|s| s.index()).filter(|s| blocks.contains(s)).collect();
    let reaches: Vec<Vec<bool>> = (0..n)
        .map(|b| {
            // In one step or more.
            let mut all = vec![false; n];
            if blocks.contains(&b) {
                for s in inside(b) {
                    for (i, r) in reach(n, &inside, s, None).into_iter().enumerate() {
                        all[i] |= r;
                    }
                }
            }
            all
        })
        .collect();
    let mut done = vec![false; n];
    for b in blocks.iter().copied() {
        if done[b] || !reaches[b][b] {
            continue;
        }
        let members: Vec<usize> = (0..n).filter(|o| *o == b || reaches[b][*o] && reaches[*o][b]).collect();
        members.iter().for_each(|m| done[*m] = true);
        let entries: Vec<usize> = g
            .order
            .iter()
            .map(|b| b.index())
            .filter(|m| {
                members.contains(m)
                    && (*m == 0
                        || g.order.iter().any(|p| {
                            !members.contains(&p.index())
                                && f.blocks[p.index()].succs.iter().any(|s| s.index() == *m)
                        }))
            })
            .collect();
        let header = entries[0];
        out.insert((header, members.clone(), entries.len() > 1, depth));
        let rest: Vec<usize> = members.into_iter().filter(|m| *m != header).collect();
        loops_in(f, g, &rest, depth + 1, out);
    }
}

fn check_loops(f: &Function, g: &Cfg, text: &str) {
    let mut expected = Named::new();
    let reachable: Vec<usize> = g.order.iter().map(|b| b.index()).collect();
    loops_in(f, g, &reachable, 1, &mut expected);
    let indices = |list: &[BlockId]| list.iter().map(|b| b.index()).collect::<Vec<_>>();
    let got: Named =
        g.loops.iter().map(|l| (l.header.index(), indices(&l.blocks), l.irreducible, l.depth)).collect();
    assert_eq!(got, expected, "{text}");
    assert_eq!(g.loops.len(), expected.len(), "{text}");
    for (i, l) in g.loops.iter().enumerate() {
        assert!(l.parent.is_none_or(|p| p < i), "outer before inner in\n{text}");
        for b in &l.blocks {
            assert!(l.parent.is_none_or(|p| g.loops[p].contains(*b)), "{text}");
        }
        let mut exits = BTreeSet::new();
        let mut latches = BTreeSet::new();
        for b in &l.blocks {
            for s in &f.blocks[b.index()].succs {
                if !l.contains(*s) {
                    exits.insert((*b, *s));
                }
                if *s == l.header {
                    latches.insert(*b);
                }
            }
            if f.leaves(*b) {
                exits.insert((*b, *b));
            }
        }
        assert_eq!(l.exits, exits.into_iter().collect::<Vec<_>>(), "{text}");
        assert_eq!(l.latches, latches.into_iter().collect::<Vec<_>>(), "{text}");
        // In a reducible loop the header dominates everything.
        assert_eq!(l.irreducible, !l.blocks.iter().all(|b| g.dominates(l.header, *b)), "{text}");
    }
    for b in 0..f.blocks.len() {
        let deepest = g
            .loops
            .iter()
            .enumerate()
            .filter(|(_, l)| l.contains(BlockId(b as u32)))
            .max_by_key(|(_, l)| l.depth);
        assert_eq!(g.innermost[b], deepest.map(|(i, _)| i), "{text}");
    }
}

fn check_flow(f: &Function, g: &Cfg, flow: &DefUse, text: &str) {
    let n = f.blocks.len();
    type Set = BTreeSet<(Reg, Def)>;
    let transfer = |set: &mut Set, i: u32| {
        let inst = &f.insts[i as usize];
        for d in inst.defs() {
            if inst.guard.is_none() {
                set.retain(|(r, _)| *r != d);
            }
        }
        for d in inst.defs() {
            set.insert((d, Def::Inst(InstId(i))));
        }
    };
    let mut at: Vec<Set> = vec![Set::new(); n];
    at[0] = (0..f.regs.len()).map(|r| (Reg(r as u32), Def::Entry)).collect();
    loop {
        let mut changed = false;
        for b in &g.order {
            let mut set = at[b.index()].clone();
            f.blocks[b.index()].insts.clone().for_each(|i| transfer(&mut set, i));
            for s in &f.blocks[b.index()].succs {
                let before = at[s.index()].len();
                at[s.index()].extend(set.iter().copied());
                changed |= at[s.index()].len() != before;
            }
        }
        if !changed {
            break;
        }
    }
    let mut chains = BTreeSet::new();
    for b in &g.order {
        let mut set = at[b.index()].clone();
        for i in f.blocks[b.index()].insts.clone() {
            for r in f.insts[i as usize].uses() {
                let expected: Vec<Def> = set.iter().filter(|(o, _)| *o == r).map(|(_, d)| *d).collect();
                assert_eq!(
                    flow.defs(InstId(i), r),
                    expected,
                    "inst{i} {:?} in\n{text}",
                    f.regs[r.index()].name
                );
                for d in expected {
                    if let Def::Inst(d) = d {
                        chains.insert((d, r, InstId(i)));
                    }
                }
            }
            transfer(&mut set, i);
        }
    }
    for (i, inst) in f.insts.iter().enumerate().filter(|(_, inst)| g.reaches(inst.block)) {
        for r in inst.defs() {
            let id = InstId(i as u32);
            let expected: Vec<InstId> =
                chains.iter().filter(|c| (c.0, c.1) == (id, r)).map(|c| c.2).collect();
            let got: Vec<InstId> =
                flow.uses(id, r).into_iter().filter(|u| g.reaches(f.insts[u.index()].block)).collect();
            assert_eq!(got, expected, "uses of inst{i} {:?} in\n{text}", f.regs[r.index()].name);
        }
    }
    let mut steers = BTreeSet::new();
    for (i, inst) in f.insts.iter().enumerate().filter(|(_, inst)| g.reaches(inst.block)) {
        let i = InstId(i as u32);
        if let Some(guard) = inst.guard {
            let kind = match inst.class {
                Class::Branch | Class::Switch | Class::Return | Class::Exit => SteerKind::Branch,
                _ => SteerKind::Guard,
            };
            steers
                .extend(chains.iter().filter(|c| c.2 == i && c.1 == guard.reg).map(|c| (c.0, c.1, i, kind)));
        }
        if inst.class == Class::Select
            && let Some(Operand::Reg(p)) = inst.operands.last()
        {
            steers.extend(
                chains.iter().filter(|c| c.2 == i && c.1 == *p).map(|c| (c.0, c.1, i, SteerKind::Select)),
            );
        }
        if inst.class == Class::Switch
            && let Some(Operand::Reg(r)) = inst.operands.first()
        {
            steers.insert((i, *r, i, SteerKind::Switch));
        }
    }
    let all = decisions(f, flow);
    assert!(all.windows(2).all(|w| (w[0].at, w[0].reg) < (w[1].at, w[1].reg)), "{text}");
    let got: BTreeSet<_> = all
        .iter()
        .flat_map(|d| d.steers.iter().map(|(i, k)| (d.at, d.reg, *i, *k)))
        .filter(|s| g.reaches(f.insts[s.2.index()].block))
        .collect();
    assert_eq!(got, steers, "{text}");
}

#[test]
fn graphs_and_flow_agree_with_their_definitions() {
    // What the random functions must have held for this to mean something.
    let (mut irreducible, mut endless, mut unreached, mut nested) = (0, 0, 0, 0);
    for seed in 0..3000 {
        let text = random_function(&mut Random(seed));
        let (module, diagnostics) = ptx::read(&text);
        assert_eq!(diagnostics, [], "{text}");
        let f = &module.functions[0];
        let g = Cfg::of(f);
        check_dominators(f, &g, &text);
        check_post_dominators(f, &g, &text);
        check_loops(f, &g, &text);
        check_flow(f, &g, &DefUse::of(f, &g), &text);
        irreducible += usize::from(g.loops.iter().any(|l| l.irreducible));
        endless += usize::from(g.loops.iter().any(|l| l.exits.is_empty()));
        nested += usize::from(g.loops.iter().any(|l| l.depth > 2));
        unreached += usize::from(g.order.len() < f.blocks.len());
    }
    assert!(irreducible > 100 && endless > 100 && nested > 100 && unreached > 100);
}
