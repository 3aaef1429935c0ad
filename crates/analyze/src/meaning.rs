//! Whether two builds' decisions mean the same when both hold: one may branch on `a < b` where the other does on `a >= b`.
//!
//! Holds: what a decision leads to proves more than how it is written. A branch is compared by where it goes, told by the
//! sites that both builds have there; a guard by whether it is negated; a select by constants that it chooses from. Where that
//! tells nothing, the same comparison means the same, and one that may be the opposite is not taken for anything.
//!
//! Misses: comparisons whose operands are swapped and whose ways tell nothing.

use std::collections::BTreeSet;

use prlx_trace::kernel::{End, Module, Site, SiteClass, Step};
use prlx_trace::{BlockId, FuncId};

use crate::flow::Flow;

/// What a decision of one build leads to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Meaning {
    /// Of a branch: what both builds have where it goes if it holds, and if not.
    ways: Option<[BTreeSet<u32>; 2]>,
    /// Of a guard: whether what it guards is executed if it holds.
    guards: Option<bool>,
    /// Of a select: what it chooses from, if that is constant.
    chooses: Option<[String; 2]>,
    /// What makes it: a comparison, or another instruction.
    made: String,
    /// The comparison, as `lt`, and its type.
    compares: Option<(String, String)>,
    /// Where what is compared comes from: constants, or the instructions that made it.
    operands: Option<[String; 2]>,
}

/// How two decisions mean the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Relation {
    /// When both hold.
    Same,
    /// When one holds and the other does not.
    Opposite,
    /// It may be either.
    Unknown,
    /// Nothing says that it is anything but the same.
    Taken,
}

/// The two ways out of a block, if the decision at `site` alone chooses: where it goes if it holds, and if not.
pub(crate) fn branch(m: &Module, site: usize) -> Option<[BlockId; 2]> {
    let s = &m.sites[site];
    let block = m.functions.get(s.function.index())?.blocks.get(s.block.index())?;
    let End::Branch { guard, taken, other } = &block.end else { return None };
    // The last decision that the slot was given here.
    let own = block.steps.iter().rev().find_map(|step| match step {
        Step::Decide { site, slot, .. } if *slot == guard.slot => Some(*site),
        _ => None,
    })?;
    (own.index() == site).then_some(if guard.negate { [*other, *taken] } else { [*taken, *other] })
}

/// Looks at a site. `groups` says by site what both builds have.
pub(crate) fn of(m: &Module, site: usize, groups: &[Option<u32>], in_block: &[Vec<u32>]) -> Meaning {
    let s = &m.sites[site];
    let steered = |class: SiteClass| s.steers.iter().find(move |i| i.class == class).map(|i| i.text.trim());
    Meaning {
        ways: branch(m, site).and_then(|ways| {
            let f = m.functions.get(s.function.index())?;
            let until = f.blocks.get(s.block.index())?.ipdom;
            Some(ways.map(|way| {
                let blocks = Flow::region(f, way, until);
                let sites = blocks.iter().flat_map(|b| in_block.get(b.index()).into_iter().flatten());
                sites.filter_map(|i| groups.get(*i as usize).copied().flatten()).collect()
            }))
        }),
        guards: steered(SiteClass::Guard).and_then(|t| t.strip_prefix('@')).map(|t| !t.starts_with('!')),
        chooses: steered(SiteClass::Select).and_then(chosen),
        made: match comparison(s) {
            Some(_) => String::new(),
            None => s.text.split_whitespace().next().unwrap_or_default().to_owned(),
        },
        compares: comparison(s),
        operands: operands(s),
    }
}

/// Where both operands come from, by the slice's first inputs.
fn operands(s: &Site) -> Option<[String; 2]> {
    let mut inputs = s.slice.first()?.inputs.iter();
    let mut one = |name: &str| match name.starts_with('%') {
        true => {
            let mut node = s.slice.get(*inputs.next()? as usize)?;
            for _ in 0..s.slice.len() {
                let [from] = &node.inputs[..] else { break };
                if !node.text.starts_with("mov.") {
                    break;
                }
                node = s.slice.get(*from as usize)?;
            }
            let op = node.text.split_whitespace().find(|w| !w.starts_with('@'))?;
            Some(format!("{} {op}", node.kind.name()))
        }
        false => Some(name.to_owned()),
    };
    let [a, b] = &s.operands[..] else { return None };
    let both = [one(&a.name)?, one(&b.name)?];
    (both[0] != both[1] && inputs.next().is_none()).then_some(both)
}

/// By block of a function: its sites.
pub(crate) fn in_blocks(m: &Module, f: FuncId) -> Vec<Vec<u32>> {
    let mut out = vec![Vec::new(); m.functions.get(f.index()).map_or(0, |f| f.blocks.len())];
    for (i, s) in m.sites.iter().enumerate().filter(|(_, s)| s.function == f) {
        if let Some(sites) = out.get_mut(s.block.index()) {
            sites.push(i as u32);
        }
    }
    out
}

/// The constants of `selp.b32 %r1, 1, 0, %p1`.
fn chosen(text: &str) -> Option<[String; 2]> {
    let (_, operands) = text.split_once("selp")?.1.split_once(char::is_whitespace)?;
    let mut operands = operands.split(',').map(|o| o.trim().to_owned());
    let both = [operands.nth(1)?, operands.next()?];
    (both[0] != both[1] && both.iter().all(|o| !o.starts_with('%') && !o.is_empty())).then_some(both)
}

/// `lt` and `s32` of `setp.lt.s32 %p1, %r1, %r2`; of a `not.pred` the opposite of what it turns round.
pub(crate) fn comparison(s: &Site) -> Option<(String, String)> {
    let of = |text: &str| {
        let op = text.split_whitespace().find(|w| w.starts_with("setp."))?;
        let mut parts = op.split('.').skip(1);
        let compares = parts.next()?.to_owned();
        Some((compares, parts.last()?.to_owned()))
    };
    of(&s.text).or_else(|| {
        let node = s.slice.first().filter(|n| n.text.starts_with("not.pred"))?;
        let (compares, ty) = of(&s.slice.get(*node.inputs.first()? as usize)?.text)?;
        Some((opposite(&compares, ty.contains('f'))?.to_owned(), ty))
    })
}

/// The comparison that holds where this one does not.
fn opposite(compares: &str, float: bool) -> Option<&'static str> {
    Some(match (compares, float) {
        ("eq", false) | ("equ", true) => "ne",
        ("ne", false) => "eq",
        ("eq", true) => "neu",
        ("ne", true) => "equ",
        ("neu", true) => "eq",
        ("lt", false) => "ge",
        ("ge", false) => "lt",
        ("gt", false) => "le",
        ("le", false) => "gt",
        ("lo", _) => "hs",
        ("hs", _) => "lo",
        ("hi", _) => "ls",
        ("ls", _) => "hi",
        ("lt", true) => "geu",
        ("geu", true) => "lt",
        ("gt", true) => "leu",
        ("leu", true) => "gt",
        ("le", true) => "gtu",
        ("gtu", true) => "le",
        ("ge", true) => "ltu",
        ("ltu", true) => "ge",
        ("num", true) => "nan",
        ("nan", true) => "num",
        _ => return None,
    })
}

/// The comparison that says the same of swapped operands.
fn swapped(compares: &str) -> Option<&'static str> {
    Some(match compares {
        "lt" => "gt",
        "gt" => "lt",
        "le" => "ge",
        "ge" => "le",
        "ltu" => "gtu",
        "gtu" => "ltu",
        "leu" => "geu",
        "geu" => "leu",
        "lo" => "hi",
        "hi" => "lo",
        "ls" => "hs",
        "hs" => "ls",
        _ => return None,
    })
}

/// Whether two decisions are seen to be of other things: then they are no copies of one.
pub(crate) fn apart(a: &Meaning, b: &Meaning) -> bool {
    let (Some([p, q]), Some([r, s])) = (&a.operands, &b.operands) else { return false };
    let open = |o: &String| o.starts_with("merge") || o.starts_with("op mov");
    ![p, q, r, s].into_iter().any(open) && (p, q) != (r, s) && (p, q) != (s, r)
}

/// How two decisions mean the same. `edited`: their source lines differ.
pub(crate) fn relate(a: &Meaning, b: &Meaning, edited: bool) -> Relation {
    let told = |same: bool, opposite: bool| match (same, opposite) {
        (true, false) => Some(Relation::Same),
        (false, true) => Some(Relation::Opposite),
        _ => None,
    };
    if !edited && a.made != b.made {
        // One of several conditions, or all of them.
        return Relation::Unknown;
    }
    if let (Some([t, f]), Some([u, g])) = (&a.ways, &b.ways) {
        let meet = |x: &BTreeSet<u32>, y: &BTreeSet<u32>| x.intersection(y).next().is_some();
        if let Some(r) = told(meet(t, u) || meet(f, g), meet(t, g) || meet(f, u)) {
            return r;
        }
    }
    if let (Some(x), Some(y)) = (a.guards, b.guards) {
        return if x == y { Relation::Same } else { Relation::Opposite };
    }
    if let (Some([t, f]), Some([u, g])) = (&a.chooses, &b.chooses)
        && let Some(r) = told((t, f) == (u, g), (t, f) == (g, u))
    {
        return r;
    }
    let (Some((x, tx)), Some((y, ty))) = (&a.compares, &b.compares) else { return Relation::Taken };
    if x == y {
        return Relation::Same;
    }
    if edited || tx != ty {
        return Relation::Taken;
    }
    let not = opposite(y, ty.contains('f'));
    let [turned, neither] = [swapped(y), not.and_then(swapped)];
    let is = |other: Option<&str>| other == Some(x.as_str());
    let order = match (&a.operands, &b.operands) {
        (Some([p, q]), Some([r, s])) => told((p, q) == (r, s), (p, q) == (s, r)),
        _ => None,
    };
    match order {
        Some(Relation::Same) if is(not) => Relation::Opposite,
        Some(Relation::Opposite) if is(turned) => Relation::Same,
        Some(Relation::Opposite) if is(neither) => Relation::Opposite,
        _ if is(not) || is(turned) || is(neither) => Relation::Unknown,
        _ => Relation::Taken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compares(op: &str) -> Meaning {
        let text = format!("{op} %p1, %f1, %f2");
        Meaning { compares: comparison(&Site { text, ..Site::default() }), ..Meaning::default() }
    }

    #[test]
    fn how_comparisons_relate() {
        for (a, b, want) in [
            ("setp.lt.s32", "setp.lt.s32", Relation::Same),
            ("setp.lt.s32", "setp.ge.s32", Relation::Unknown),
            ("setp.lt.s32", "setp.gt.s32", Relation::Unknown),
            ("setp.lt.f32", "setp.geu.f32", Relation::Unknown),
            ("setp.lt.f32", "setp.eq.f32", Relation::Taken),
        ] {
            assert_eq!(relate(&compares(a), &compares(b), false), want, "{a} {b}");
        }
        // What an edited line compares, it compares.
        assert_eq!(relate(&compares("setp.lt.s32"), &compares("setp.ge.s32"), true), Relation::Taken);
        let order =
            |op: &str, operands: [&str; 2]| Meaning { operands: Some(operands.map(str::to_owned)), ..compares(op) };
        let a = order("setp.lt.s32", ["load ld.global.u32", "5"]);
        assert_eq!(relate(&a, &order("setp.ge.s32", ["load ld.global.u32", "5"]), false), Relation::Opposite);
        assert_eq!(relate(&a, &order("setp.gt.s32", ["5", "load ld.global.u32"]), false), Relation::Same);
        assert_eq!(relate(&a, &order("setp.le.s32", ["5", "load ld.global.u32"]), false), Relation::Opposite);
        assert_eq!(relate(&a, &order("setp.gt.s32", ["load ld.global.u32", "5"]), false), Relation::Unknown);
    }

    #[test]
    fn what_is_steered_proves() {
        let same = |a: &Meaning, b: &Meaning| relate(a, b, false);
        let guard = |text: &str| Meaning { guards: Some(!text.starts_with("@!")), ..compares("setp.lt.s32") };
        assert_eq!(same(&guard("@%p1 st"), &guard("@!%p1 st")), Relation::Opposite);
        let select = |text: &str| Meaning { chooses: chosen(text), ..compares("setp.ge.s32") };
        assert_eq!(same(&select("selp.b32 %r1, 1, 0, %p1"), &select("selp.b32 %r9, 0, 1, %p7")), Relation::Opposite);
        assert_eq!(chosen("selp.f32 %f1, %f2, 0f00000000, %p1"), None);
        let ways = |t: &[u32], f: &[u32]| Meaning {
            ways: Some([t, f].map(|w| w.iter().copied().collect())),
            ..compares("setp.lt.s32")
        };
        assert_eq!(same(&ways(&[1], &[]), &ways(&[], &[1, 2])), Relation::Opposite);
        // Ways that lead to the same say nothing: how it is written does.
        assert_eq!(same(&ways(&[1], &[1]), &ways(&[1], &[1])), Relation::Same);
    }
}
