//! Decides whether two builds' decisions have the same meaning when both are true. One build may branch on `a
//! < b` where the other branches on `a >= b`.
//!
//! # Invariants
//! The polarity follows from what a decision leads to: for a branch, the matched sites on each side of it;
//! for a guard, whether it is negated; for a select, its constants or the values that are compared. The
//! comparison itself must not contradict. Only decisions that compare values of the same origin in the same
//! way match with certainty. For others, equal outcomes are all that can be said. A decision that may be the
//! opposite is not compared.
//!
//! # Limitations
//! Operands are compared by the kind of their origin only. Comparisons that a compiler rewrote into others
//! (`a < 1 << n` into `a >> n == 0`) are not recognised.

use std::collections::BTreeSet;

use prlx_trace::kernel::{End, Module, NodeKind, Site, SiteClass, Step};
use prlx_trace::{BlockId, FuncId};

use super::control_flow::ControlFlow;

/// What decides the meaning of a build's decision.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct DecisionTraits {
    /// Of a branch: the groups reached if the decision is true, and if it is false.
    ways: Option<[BTreeSet<u32>; 2]>,
    /// Of a guard: whether the guarded instruction runs if the decision is true.
    guards: Option<bool>,
    /// Of a select: its constants, or which of the compared values it chooses.
    chooses: Option<[String; 2]>,
    /// The instruction that makes the decision, if it is not a comparison.
    made: String,
    /// The comparison (such as `lt`) and its type.
    compares: Option<(String, String)>,
    /// The origins of the compared values: constants, or the kind of instruction that made them.
    operands: Option<[String; 2]>,
}

/// How the meanings of two decisions relate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PolarityMatch {
    /// They are equal, or opposite if `inverted`. Unless `certain`, they may be two separate decisions.
    Known { inverted: bool, certain: bool },
    /// They may be equal or opposite.
    Ambiguous,
    /// No evidence against equality, and none for it.
    Assumed,
}

/// The targets of the branch that ends a site's block, if the site alone decides it: if true, and if false.
pub(crate) fn branch_targets(m: &Module, site: usize) -> Option<[BlockId; 2]> {
    let s = &m.sites[site];
    let block = m.functions.get(s.function.index())?.blocks.get(s.block.index())?;
    let End::Branch { guard, taken, other } = &block.end else { return None };
    // The last decision that set the register in this block.
    let own = block.steps.iter().rev().find_map(|step| match step {
        Step::Decide { site, slot, .. } if *slot == guard.slot => Some(*site),
        _ => None,
    })?;
    (own.index() == site).then_some(if guard.negate { [*other, *taken] } else { [*taken, *other] })
}

/// Collects the traits of a decision. `groups` gives each site's group.
pub(crate) fn traits_of(
    m: &Module,
    site: usize,
    groups: &[Option<u32>],
    in_block: &[Vec<u32>],
) -> DecisionTraits {
    let s = &m.sites[site];
    let (compares, operands) = plain(comparison(s), operands(s));
    let steered = |class: SiteClass| s.steers.iter().find(move |i| i.class == class).map(|i| i.text.trim());
    DecisionTraits {
        ways: branch_targets(m, site).and_then(|ways| {
            let f = m.functions.get(s.function.index())?;
            let until = f.blocks.get(s.block.index())?.ipdom;
            Some(ways.map(|way| {
                let blocks = ControlFlow::region(f, way, until);
                let sites = blocks.iter().flat_map(|b| in_block.get(b.index()).into_iter().flatten());
                sites.filter_map(|i| groups.get(*i as usize).copied().flatten()).collect()
            }))
        }),
        guards: steered(SiteClass::Guard).and_then(|t| t.strip_prefix('@')).map(|t| !t.starts_with('!')),
        chooses: steered(SiteClass::Select)
            .and_then(|t| select_constants(t).or_else(|| compared(t, &s.text))),
        made: match &compares {
            Some(_) => String::new(),
            None => s.text.split_whitespace().next().unwrap_or_default().to_owned(),
        },
        compares,
        operands,
    }
}

/// The origins of both operands, from the first inputs of the slice.
fn operands(s: &Site) -> Option<[String; 2]> {
    let mut node = s.slice.first()?;
    if node.text.starts_with("not.pred") {
        node = s.slice.get(*node.inputs.first()? as usize)?;
    }
    let (_, written) = node.text.split_once("setp.")?.1.split_once(char::is_whitespace)?;
    let written: Vec<&str> = written.split(',').map(|o| o.trim().trim_end_matches(';')).collect();
    let [_, a, b] = written[..] else { return None };
    let mut inputs = node.inputs.iter();
    let mut one = |name: &str| match name.starts_with('%') {
        true => origin(s, *inputs.next()? as usize),
        false => Some(name.to_owned()),
    };
    let both = [one(a)?, one(b)?];
    (both[0] != both[1] && inputs.next().is_none()).then_some(both)
}

/// Where a value comes from: a constant, a special register, a parameter by its number, or a kind of
/// instruction.
fn origin(s: &Site, at: usize) -> Option<String> {
    let mut node = s.slice.get(at)?;
    for _ in 0..s.slice.len() {
        let [from] = &node.inputs[..] else { break };
        if !node.text.starts_with("mov.") && !node.text.starts_with("cvta.") {
            break;
        }
        node = s.slice.get(*from as usize)?;
    }
    let last = || node.text.rsplit([',', ' ']).next().unwrap_or_default().trim_end_matches(';').to_owned();
    Some(match node.kind {
        NodeKind::Const | NodeKind::Special if node.text.starts_with("mov.") => last(),
        NodeKind::Param => format!("param{}", last().rsplit("_param").next().unwrap_or_default()),
        kind => kind.name().to_owned(),
    })
}

/// Normalises comparisons with a constant: `a > 1` becomes `a >= 2`.
fn plain(compares: Option<(String, String)>, operands: Option<[String; 2]>) -> Compared {
    let (Some((compares, ty)), Some([a, b])) = (&compares, &operands) else { return (compares, operands) };
    let (a, b, compares) = match (a.parse::<i64>(), swapped(compares)) {
        (Ok(_), Some(turned)) => (b, a, turned),
        (Ok(_), None) if matches!(&compares[..], "eq" | "ne") => (b, a, &compares[..]),
        _ => (a, b, &compares[..]),
    };
    let small = b.parse::<i64>().ok().filter(|c| c.unsigned_abs() < 1 << 30 && !ty.contains('f'));
    let unsigned = ty.starts_with('u');
    let (compares, b) = match (compares, small) {
        ("gt", Some(c)) => ("ge", (c + 1).to_string()),
        ("le", Some(c)) => ("lt", (c + 1).to_string()),
        ("hi", Some(c)) => ("hs", (c + 1).to_string()),
        ("ls", Some(c)) => ("lo", (c + 1).to_string()),
        _ => (compares, b.clone()),
    };
    let (compares, b) = match (compares, &b[..]) {
        ("ge", "1") if unsigned => ("ne", "0".to_owned()),
        ("lt", "1") if unsigned => ("eq", "0".to_owned()),
        _ => (compares, b),
    };
    (Some((compares.to_owned(), ty.clone())), Some([a.clone(), b]))
}

/// A comparison with its type, and the origins of its operands.
type Compared = (Option<(String, String)>, Option<[String; 2]>);

/// By block of a function: its sites.
pub(crate) fn sites_by_block(m: &Module, f: FuncId) -> Vec<Vec<u32>> {
    let mut out = vec![Vec::new(); m.functions.get(f.index()).map_or(0, |f| f.blocks.len())];
    for (i, s) in m.sites.iter().enumerate().filter(|(_, s)| s.function == f) {
        if let Some(sites) = out.get_mut(s.block.index()) {
            sites.push(i as u32);
        }
    }
    out
}

/// Which of the compared values a select chooses if the decision is true, and if it is false: `x > 0 ? x : y`
/// chooses the first one or another value.
fn compared(select: &str, comparison: &str) -> Option<[String; 2]> {
    let [first, second] = two_sources(comparison, "setp.")?;
    let chosen = two_sources(select, "selp.")?;
    let both = chosen.map(|o| match o {
        o if o == first => "first",
        o if o == second => "second",
        _ => "other",
    });
    (first != second && both[0] != both[1]).then_some(both.map(str::to_owned))
}

/// The first two sources of an instruction whose opcode begins with `op`, as it is written.
fn two_sources(text: &str, op: &str) -> Option<[String; 2]> {
    let (_, operands) = text.split_once(op)?.1.split_once(char::is_whitespace)?;
    let mut operands = operands.split(',').map(|o| o.trim().trim_end_matches(';').to_owned());
    Some([operands.nth(1)?, operands.next()?])
}

/// What a select such as `selp.b32 %r1, 1, 0, %p1` chooses, if one of both is a constant. A register counts
/// as another value.
fn select_constants(text: &str) -> Option<[String; 2]> {
    let both = two_sources(text, "selp")?.map(|o| if o.starts_with('%') { "other".to_owned() } else { o });
    (both[0] != both[1] && both.iter().all(|o| !o.is_empty())).then_some(both)
}

/// The comparison and type of `setp.lt.s32 %p1, %r1, %r2`: `lt` and `s32`. For a `not.pred`, the opposite of
/// what it negates.
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

/// The comparison that is true exactly where this one is false.
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

/// The comparison that gives the same result with swapped operands.
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

/// Whether the operands show that two decisions are different decisions.
pub(crate) fn known_different(a: &DecisionTraits, b: &DecisionTraits) -> bool {
    let (Some([p, q]), Some([r, s])) = (&a.operands, &b.operands) else { return false };
    // A call's result may be computed in place where the call was inlined.
    let open = |o: &String| matches!(&o[..], "merge" | "call");
    let one = |x: &String, y: &String| x == y || open(x) || open(y);
    !(one(p, r) && one(q, s) || one(p, s) && one(q, r))
}

/// How two decisions relate. `edited` says that their source lines differ.
pub(crate) fn relate(a: &DecisionTraits, b: &DecisionTraits, edited: bool) -> PolarityMatch {
    let decided = |same: bool, opposite: bool| (same != opposite).then_some(opposite);
    if !edited && a.made != b.made {
        // One may be a single condition, the other a conjunction.
        return PolarityMatch::Ambiguous;
    }
    let meet = |x: &BTreeSet<u32>, y: &BTreeSet<u32>| x.intersection(y).next().is_some();
    let both = a.ways.as_ref().zip(b.ways.as_ref());
    let ways = both.and_then(|([t, f], [u, g])| decided(meet(t, u) || meet(f, g), meet(t, g) || meet(f, u)));
    let guards = a.guards.zip(b.guards).map(|(x, y)| x != y);
    let both = a.chooses.as_ref().zip(b.chooses.as_ref());
    let chooses = both.and_then(|([t, f], [u, g])| decided((t, f) == (u, g), (t, f) == (g, u)));
    let leads = ways.or(guards).or(chooses);
    let written = written(a, b);
    match (leads, written) {
        (Some(inverted), _) if edited => PolarityMatch::Known { inverted, certain: true },
        (None, Spelling::Identical) | (None, Spelling::Different) if edited => {
            PolarityMatch::Known { inverted: false, certain: true }
        }
        // The operands contradict the targets: the targets are not what they seem.
        (Some(inverted), Spelling::Known(other)) if inverted != other => PolarityMatch::Ambiguous,
        (Some(inverted), Spelling::Known(_)) => {
            PolarityMatch::Known { inverted, certain: !known_different(a, b) }
        }
        (Some(inverted), Spelling::Identical) => {
            PolarityMatch::Known { inverted, certain: !inverted && !known_different(a, b) }
        }
        (Some(inverted), Spelling::Reversed(may)) => {
            PolarityMatch::Known { inverted, certain: may[usize::from(inverted)] && !known_different(a, b) }
        }
        (Some(inverted), Spelling::Different) => PolarityMatch::Known { inverted, certain: false },
        (None, Spelling::Known(inverted)) => {
            PolarityMatch::Known { inverted, certain: !known_different(a, b) }
        }
        (None, Spelling::Identical) => {
            PolarityMatch::Known { inverted: false, certain: !known_different(a, b) }
        }
        (None, Spelling::Reversed(_)) if edited => PolarityMatch::Assumed,
        (None, Spelling::Reversed(_)) => PolarityMatch::Ambiguous,
        (None, Spelling::Different) => PolarityMatch::Assumed,
    }
}

/// How two comparisons are written.
enum Spelling {
    /// With the same operands: whether one is the opposite of the other.
    Known(bool),
    /// In the same way, whatever the operands.
    Identical,
    /// One may be the other with swapped operands or negated: whether it may be equal then, and whether
    /// opposite.
    Reversed([bool; 2]),
    /// In unrelated ways.
    Different,
}

fn written(a: &DecisionTraits, b: &DecisionTraits) -> Spelling {
    let ((x, tx), (y, ty)) = match (&a.compares, &b.compares) {
        (Some(x), Some(y)) => (x, y),
        // The same instruction makes both, and it is not a comparison.
        (None, None) => return Spelling::Identical,
        _ => return Spelling::Different,
    };
    let equality = |c: &str| matches!(c, "eq" | "ne");
    let signless = |t: &str| t.trim_start_matches(['s', 'u', 'b']).to_owned();
    if tx != ty && !(equality(x) && equality(y) && signless(tx) == signless(ty)) {
        return Spelling::Different;
    }
    let not = opposite(y, ty.contains('f'));
    let [turned, neither] = [swapped(y), not.and_then(swapped)];
    let is = |other: Option<&str>| other == Some(x.as_str());
    let order = a.operands.as_ref().zip(b.operands.as_ref());
    match order {
        Some(([p, q], [r, s])) if (p, q) == (r, s) && x == y => Spelling::Known(false),
        Some(([p, q], [r, s])) if (p, q) == (r, s) && is(not) => Spelling::Known(true),
        Some(([p, q], [r, s])) if (p, q) == (s, r) && (is(turned) || x == y && equality(x)) => {
            Spelling::Known(false)
        }
        Some(([p, q], [r, s])) if (p, q) == (s, r) && (is(neither) || equality(x) && is(not)) => {
            Spelling::Known(true)
        }
        Some(([p, q], [r, s])) if (p, q) == (s, r) && x == y => Spelling::Reversed([false; 2]),
        _ if x == y => Spelling::Identical,
        _ if is(not) || is(turned) || is(neither) => Spelling::Reversed([is(turned), is(not) || is(neither)]),
        _ => Spelling::Different,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAME: PolarityMatch = PolarityMatch::Known { inverted: false, certain: true };
    const OPPOSITE: PolarityMatch = PolarityMatch::Known { inverted: true, certain: true };

    fn compares(op: &str) -> DecisionTraits {
        let text = format!("{op} %p1, %f1, %f2");
        DecisionTraits {
            compares: comparison(&Site { text, ..Site::default() }),
            ..DecisionTraits::default()
        }
    }
    fn order(op: &str, operands: [&str; 2]) -> DecisionTraits {
        let (compares, operands) = plain(compares(op).compares, Some(operands.map(str::to_owned)));
        DecisionTraits { compares, operands, ..DecisionTraits::default() }
    }

    #[test]
    fn how_comparisons_relate() {
        for (a, b, want) in [
            ("setp.lt.s32", "setp.lt.s32", SAME),
            ("setp.lt.s32", "setp.ge.s32", PolarityMatch::Ambiguous),
            ("setp.lt.s32", "setp.gt.s32", PolarityMatch::Ambiguous),
            ("setp.lt.f32", "setp.geu.f32", PolarityMatch::Ambiguous),
            ("setp.lt.f32", "setp.eq.f32", PolarityMatch::Assumed),
            ("setp.lt.s32", "setp.lt.u32", PolarityMatch::Assumed),
            ("setp.eq.s32", "setp.eq.u32", SAME),
        ] {
            assert_eq!(relate(&compares(a), &compares(b), false), want, "{a} {b}");
        }
        // What an edited line compares, it compares.
        assert_eq!(relate(&compares("setp.lt.s32"), &compares("setp.ge.s32"), true), PolarityMatch::Assumed);
        let a = order("setp.lt.s32", ["load", "op"]);
        assert_eq!(relate(&a, &order("setp.ge.s32", ["load", "op"]), false), OPPOSITE);
        assert_eq!(relate(&a, &order("setp.gt.s32", ["op", "load"]), false), SAME);
        assert_eq!(relate(&a, &order("setp.le.s32", ["op", "load"]), false), OPPOSITE);
        assert_eq!(relate(&a, &order("setp.gt.s32", ["load", "op"]), false), PolarityMatch::Ambiguous);
        // The same comparison of others, and of the same ones swapped.
        let unsure = PolarityMatch::Known { inverted: false, certain: false };
        assert_eq!(relate(&a, &order("setp.lt.s32", ["load", "%tid.x"]), false), unsure);
        assert_eq!(relate(&a, &order("setp.lt.s32", ["op", "load"]), false), PolarityMatch::Ambiguous);
        assert_eq!(relate(&a, &order("setp.lt.s32", ["merge", "op"]), false), SAME);
    }

    #[test]
    fn comparisons_with_constants() {
        let a = order("setp.lt.s32", ["load", "5"]);
        for (op, operands, want) in [
            ("setp.le.s32", ["load", "4"], SAME),
            ("setp.ge.s32", ["load", "5"], OPPOSITE),
            ("setp.gt.s32", ["load", "4"], OPPOSITE),
            ("setp.gt.s32", ["5", "load"], SAME),
            ("setp.lt.s32", ["load", "4"], PolarityMatch::Known { inverted: false, certain: false }),
        ] {
            assert_eq!(relate(&a, &order(op, operands), false), want, "{op} {operands:?}");
        }
        let zero = order("setp.eq.u32", ["load", "0"]);
        assert_eq!(relate(&zero, &order("setp.lt.u32", ["load", "1"]), false), SAME);
        assert_eq!(relate(&zero, &order("setp.gt.u32", ["load", "0"]), false), OPPOSITE);
        assert_eq!(relate(&zero, &order("setp.ne.s32", ["0", "load"]), false), OPPOSITE);
    }

    #[test]
    fn what_is_steered_proves() {
        let same = |a: &DecisionTraits, b: &DecisionTraits| relate(a, b, false);
        let guard = |op: &str, guards: bool| DecisionTraits { guards: Some(guards), ..compares(op) };
        assert_eq!(same(&guard("setp.lt.s32", true), &guard("setp.ge.s32", false)), OPPOSITE);
        let select =
            |op: &str, text: &str| DecisionTraits { chooses: select_constants(text), ..compares(op) };
        let one = select("setp.ge.s32", "selp.b32 %r1, 1, 0, %p1");
        assert_eq!(same(&one, &select("setp.lt.s32", "selp.b32 %r9, 0, 1, %p7")), OPPOSITE);
        // Another comparison of the same values, and the constant in the other place.
        let masked = select("setp.gt.f32", "selp.f32 %f1, %f2, 0f00000000, %p1");
        let turned = select("setp.le.f32", "selp.f32 %f1, 0f00000000, %f7, %p1");
        assert_eq!(relate(&masked, &turned, true), OPPOSITE);
        assert_eq!(select_constants("selp.f32 %f1, %f2, %f3, %p1"), None);
        let leads = |op: &str, t: &[u32], f: &[u32]| DecisionTraits {
            ways: Some([t, f].map(|w| w.iter().copied().collect())),
            ..compares(op)
        };
        let ways = |t: &[u32], f: &[u32]| leads("setp.lt.s32", t, f);
        assert_eq!(same(&ways(&[1], &[]), &leads("setp.ge.s32", &[], &[1, 2])), OPPOSITE);
        // Spelling in the same way, and leading elsewhere: another one.
        assert_eq!(
            same(&ways(&[1], &[]), &ways(&[], &[1])),
            PolarityMatch::Known { inverted: true, certain: false }
        );
        // Ways that lead to the same say nothing: how it is written does.
        assert_eq!(same(&ways(&[1], &[1]), &ways(&[1], &[1])), SAME);
        // Seen to ask the same, where it leads cannot say the opposite.
        let of = |m: DecisionTraits| DecisionTraits { operands: Some(["load".into(), "%tid.x".into()]), ..m };
        assert_eq!(same(&of(ways(&[1], &[])), &of(ways(&[], &[1]))), PolarityMatch::Ambiguous);
        // Where it leads tells the way round of a comparison that is written in another way, not that it is
        // the same decision.
        let other = DecisionTraits { compares: Some(("eq".into(), "s32".into())), ..ways(&[1], &[]) };
        assert_eq!(same(&ways(&[1], &[]), &other), PolarityMatch::Known { inverted: false, certain: false });
    }
}
