//! Invariant 7 for calls: all of the state is passed, and the whole module agrees on its layout in the
//! record.

use std::collections::HashMap;

use prlx_isa::view::{Class, Operand, Role, Space};
use prlx_plan::{Action, At, Insertion, Plan};
use prlx_trace::kernel::Level;

use crate::error::Error;
use crate::verify::fault::wrong;
use crate::verify::function::{FunctionPair, Inputs, InsertedCode, calls_recorded};

/// Names of the state registers that a callee receives, or (`back`) returns.
pub(super) fn handed_over(plan: &Plan, back: bool) -> Vec<String> {
    let names: &[&str] = match (plan.request.level, back) {
        (Level::Path | Level::Values, _) => &["cursor", "word"],
        (Level::Fingerprint, _) => &["cursor", "hash0", "hash1", "hash2", "hash3", "edges"],
        (Level::Events, _) | (Level::Operands, true) => &["cursor"],
        (Level::Operands, false) => &["cursor", "first", "span"],
        (Level::Probe, _) => {
            let vars = (0..plan.probe_state.vars.len()).map(|i| format!("var{i}"));
            let packed = plan.probe_state.packed;
            let counters =
                (packed.counters as usize..plan.probe_state.counters.len()).map(|i| format!("counter{i}"));
            let counters = counters.chain((0..packed.words()).map(|i| format!("packed{i}")));
            let numbered =
                || plan.probe_state.records.parts.iter().enumerate().filter(|(_, part)| part.numbered());
            let counters = counters.chain(numbered().map(|(i, _)| format!("saved{i}")));
            let counters = counters.chain(numbered().take(usize::from(!back)).map(|_| "records".to_owned()));
            let ring = plan.probe_state.tracks.as_ref().is_some_and(|t| t.ring().is_some());
            let anchors = plan.probe_state.tracks.as_ref().is_some_and(|t| t.apart > 0);
            let track: &[&str] = match (ring, anchors) {
                (true, _) => &["at", "limit", "turn", "who"],
                (_, true) => &["at", "limit", "next"],
                _ => &["at", "limit"],
            };
            let track = track.iter().filter(|_| plan.probe_state.tracks.is_some());
            let sums =
                (0..plan.probe_state.tracks.as_ref().map_or(0, |t| t.words)).map(|i| format!("sum{i}"));
            return vars.chain(counters).chain(track.map(|n| (*n).to_owned())).chain(sums).collect();
        }
    };
    names.iter().map(|n| (*n).to_owned()).collect()
}

/// Checks that actions which pass state pass all of it.
pub(super) fn check_handover(
    f: &FunctionPair<'_>,
    here: &[&Insertion],
    inserted: &InsertedCode,
) -> Result<(), Error> {
    for insertion in here {
        let (load, back) = match (&insertion.action, insertion.at) {
            (Action::Save, _) => (false, false),
            (Action::Restore, _) => (true, true),
            (Action::Begin, _) if !f.kernel() => (true, false),
            (Action::End { .. }, at) if !f.kernel() && !exits(f, at) => (false, true),
            _ => continue,
        };
        let called = match insertion.at {
            At::Before(id) | At::After(id) => calls_recorded(f.texts, &f.old.insts[id.index()]),
            At::Entry => true,
        };
        if !called && matches!(insertion.action, Action::Save | Action::Restore) {
            continue;
        }
        for name in handed_over(f.texts.plan, back) {
            let reg = f.state(&name);
            let moved = f.new.insts[inserted.insts.clone()].iter().any(|inst| {
                let class = if load { Class::Load } else { Class::Store };
                let data = if load { 0 } else { 1 };
                inst.space == Space::Local
                    && inst.class == class
                    && reg.is_some_and(|r| inst.operands.get(data) == Some(&Operand::Reg(r)))
            });
            if !moved {
                return Err(wrong(inserted.at, format!("{}: {name} is not passed on", f.old.name)));
            }
        }
    }
    Ok(())
}

/// Layout of the state in the record. The whole module has to agree on it.
pub(super) fn record_layout(texts: &Inputs<'_>) -> Result<HashMap<String, i64>, Error> {
    let mut layout: HashMap<String, i64> = HashMap::new();
    let handed = handed_over(texts.plan, false);
    for function in &texts.after.functions {
        for inst in function.insts.iter().filter(|i| i.space == Space::Local) {
            let data =
                inst.operands.iter().zip(&inst.roles).find(|(_, role)| **role != Role::Addr).map(|(o, _)| o);
            let at = inst
                .operands
                .iter()
                .find_map(|o| if let Operand::Address(_, n) = o { Some(*n) } else { None });
            let (Some(Operand::Reg(r)), Some(at)) = (data, at) else { continue };
            let name = &function.regs[r.index()].name;
            let Some(name) = name.strip_prefix('%').and_then(|n| n.strip_prefix(texts.prefix)) else {
                continue;
            };
            let state = name == "context" || handed.iter().any(|h| h == name);
            if state && *layout.entry(name.to_owned()).or_insert(at) != at {
                let message =
                    format!("{}: {name} is at another offset of the record than elsewhere", function.name);
                return Err(wrong(inst.span.start as usize, message));
            }
        }
    }
    let mut seen: Vec<i64> = layout.values().copied().collect();
    seen.sort_unstable();
    match seen.windows(2).any(|w| w[0] == w[1]) {
        true => Err(wrong(0, "two parts of the state share an offset in the record")),
        false => Ok(layout),
    }
}

/// Whether a position is directly before the end of the thread, not of the function.
pub(super) fn exits(f: &FunctionPair<'_>, at: At) -> bool {
    matches!(at, At::Before(id) if f.old.insts[id.index()].class == Class::Exit)
}
