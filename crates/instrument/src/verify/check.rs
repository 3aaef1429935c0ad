//! Invariants 2 to 6: the checks of all functions, and of labels and parameter lists.

use crate::verify::function::recorded;
use crate::verify::handover::record_layout;
use std::collections::{HashMap, HashSet};

use crate::error::Error;
use crate::tokens::tokens;
use crate::verify::behaviour::check_behaviour;
use crate::verify::fault::wrong;
use crate::verify::function::{FunctionPair, Inputs};
use crate::verify::next_chunk::check_next_chunk;
use crate::verify::plan_facts::{packed_counters_fit, saved_at_most_once};
use crate::verify::snippets::InsertedSnippet;

pub(super) fn check(texts: &Inputs<'_>, pieces: &[InsertedSnippet]) -> Result<(), Error> {
    let (before, after) = (&texts.module.functions, texts.functions);
    if before.len() != after.len() {
        return Err(wrong(0, "the functions are not the original's"));
    }
    for (i, part) in texts.plan.probe_state.records.parts.iter().enumerate() {
        if part.alone() && !saved_at_most_once(texts, i) {
            return Err(wrong(
                0,
                format!("a thread may write record {i} more than once, and there is no room to count that"),
            ));
        }
    }
    if !packed_counters_fit(texts) {
        return Err(wrong(0, "packed counters may overflow into each other"));
    }
    check_labels(texts, pieces)?;
    check_lists(texts, pieces)?;
    check_next_chunk(texts)?;
    let layout = record_layout(texts)?;
    let statements: Vec<&InsertedSnippet> = pieces.iter().filter(|p| !p.list).collect();
    for (index, (old, new)) in before.iter().zip(after).enumerate() {
        let recorded = recorded(texts.plan, index);
        // Snippets are in the order of the text.
        let before = |at: usize| statements.partition_point(|p| p.after.max(1) - 1 < at);
        let own = before(old.body.start as usize)..before(old.body.end as usize);
        let function = FunctionPair::new(texts, index, old, new, recorded)?;
        let places = function.places(statements.get(own).unwrap_or_default())?;
        check_behaviour(texts, &function, &layout, &places)?;
    }
    Ok(())
}

/// Inserted labels are unique.
fn check_labels(texts: &Inputs<'_>, pieces: &[InsertedSnippet]) -> Result<(), Error> {
    let mut seen = HashSet::new();
    for &(start, end) in pieces.iter().flat_map(|p| &p.units) {
        let unit = tokens(texts.rewritten, start, end);
        for pair in unit.windows(2) {
            if pair[1].text == ":" && !seen.insert(pair[0].text) {
                return Err(wrong(pair[0].at, format!("label {} is defined twice", pair[0].text)));
            }
        }
    }
    Ok(())
}

/// Parameter lists of recorded functions have exactly one more entry, and no other list has; the same holds
/// for arguments.
fn check_lists(texts: &Inputs<'_>, pieces: &[InsertedSnippet]) -> Result<(), Error> {
    let names: HashMap<&str, usize> =
        texts.module.functions.iter().enumerate().map(|(i, f)| (f.name.as_str(), i)).collect();
    let lists = || pieces.iter().filter(|p| p.list);
    let source =
        if lists().next().is_some() { tokens(texts.source, 0, texts.source.len()) } else { Vec::new() };
    for p in lists() {
        let (start, end) = p.units[0];
        // The name before the list, or before its opening bracket, is that of a recorded function.
        let mut at = source.partition_point(|t| t.at < p.before);
        let mut depth = 0i32;
        let name = loop {
            let Some(i) = at.checked_sub(1) else { break None };
            at = i;
            match source[i].text {
                ")" => depth += 1,
                "(" => depth -= 1,
                name if depth <= 0 && names.contains_key(name) => break names.get(name),
                ";" | "{" => break None,
                _ => {}
            }
        };
        if name.is_none_or(|&f| !recorded(texts.plan, f)) || p.units.len() != 1 {
            return Err(wrong(
                start,
                format!("`{}` is not in a recorded function's list", &texts.rewritten[start..end]),
            ));
        }
    }
    for (index, (old, new)) in texts.module.functions.iter().zip(texts.functions).enumerate() {
        let more = usize::from(recorded(texts.plan, index));
        if new.params.len() != old.params.len() + more {
            let what = format!("{}: {} parameters became {}", old.name, old.params.len(), new.params.len());
            return Err(wrong(new.params_span.start as usize, what));
        }
    }
    Ok(())
}
