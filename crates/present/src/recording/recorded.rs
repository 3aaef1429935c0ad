//! What a recording of a function at level `path` consists of, as text: recorded values, bits and counts.

use std::collections::BTreeSet;
use std::io::{self, Write};

use prlx_trace::device::COUNT_BITS;
use prlx_trace::kernel::{Arg, Function, Module, Site, Source, Step};
use prlx_trace::{LocId, LoopId, Slot};

use super::place::{one_line, place};

/// One recorded part.
struct Row {
    bits: u32,
    in_loop: Option<LoopId>,
    what: String,
    loc: Option<LocId>,
    text: String,
}

/// Writes what a lane records in `function`, and how often.
pub(super) fn recorded(
    out: &mut impl Write,
    module: &Module,
    function: &Function,
    sites: &[&Site],
) -> io::Result<()> {
    let mut rows = Vec::new();
    for block in &function.blocks {
        for step in &block.steps {
            let row = match step {
                Step::Read { to, bits, text, loc, .. } => Row {
                    bits: (*bits).into(),
                    in_loop: block.in_loop,
                    what: match decisions_from(module, function, *to) {
                        1 => "value, for 1 decision".to_owned(),
                        n => format!("value, for {n} decisions"),
                    },
                    loc: *loc,
                    text: one_line(text),
                },
                Step::Decide { site, .. } => {
                    let Some(site) = module.sites.get(site.index()) else { continue };
                    let (bits, in_loop, what) = match site.source {
                        Source::Bits(n) if site.class.decides() => (n.into(), block.in_loop, "decision"),
                        Source::Bits(n) => (n.into(), block.in_loop, "hash of what it stores"),
                        Source::Trips { of, .. } => {
                            let around = function.loops.get(of.index()).and_then(|l| l.parent);
                            (COUNT_BITS.into(), around, "iteration count")
                        }
                        Source::Computed | Source::Follows | Source::None => continue,
                    };
                    let text = one_line(&site.text);
                    Row { bits, in_loop, what: what.to_owned(), loc: site.loc, text }
                }
                _ => continue,
            };
            rows.push(row);
        }
    }
    let cells: Vec<[String; 4]> = rows
        .iter()
        .map(|row| {
            let bits = bits_in_words(row.bits);
            let often = often(module, function, row.in_loop);
            [bits, often, row.what.clone(), place(module, row.loc)]
        })
        .collect();
    let width = |i: usize| cells.iter().map(|c| c[i].chars().count()).max().unwrap_or(0);
    let (bits, often, what, at) = (width(0), width(1), width(2), width(3));
    for (row, [a, b, c, d]) in rows.iter().zip(&cells) {
        writeln!(out, "    {a:<bits$}  {b:<often$}  {c:<what$}  {d:<at$}  {}", row.text)?;
    }
    let computed = sites.iter().filter(|s| s.source == Source::Computed).count();
    let once: u32 = rows.iter().filter(|r| r.in_loop.is_none()).map(|r| r.bits).sum();
    let sum = match (once, rows.iter().any(|r| r.in_loop.is_some())) {
        (0, true) => "a lane records only in loops".to_owned(),
        (once, true) => format!("a lane records {}, and those in loops", bits_in_words(once)),
        (once, false) => format!("a lane records {}", bits_in_words(once)),
    };
    writeln!(out, "    {sum}; {computed} decisions are computed")
}

/// A number of bits in words.
fn bits_in_words(n: u32) -> String {
    format!("{n} {}", if n == 1 { "bit" } else { "bits" })
}

/// How often a part in loop `l` is recorded.
fn often(module: &Module, function: &Function, l: Option<LoopId>) -> String {
    match l.and_then(|l| function.loops.get(l.index())) {
        None => "once".to_owned(),
        Some(l) => format!("each iteration, {}", place(module, l.loc)),
    }
}

/// The number of computed decisions that depend on a decoder register, on any path.
fn decisions_from(module: &Module, function: &Function, slot: Slot) -> usize {
    let mut from = BTreeSet::from([slot]);
    let steps = || function.blocks.iter().flat_map(|b| &b.steps);
    loop {
        let before = from.len();
        for step in steps() {
            if let Step::Let { to, args, .. } = step
                && args.iter().any(|a| matches!(a, Arg::Slot(s) if from.contains(s)))
            {
                from.insert(*to);
            }
        }
        if from.len() == before {
            break;
        }
    }
    let computed = |step: &&Step| match step {
        Step::Decide { site, slot, .. } => {
            let source = module.sites.get(site.index()).map(|s| s.source);
            from.contains(slot) && source == Some(Source::Computed)
        }
        _ => false,
    };
    steps().filter(computed).count()
}
