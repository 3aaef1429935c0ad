//! Fewer instructions and registers for a lane's word and cursor.
//!
//! - At `path`, predicates that are appended in one part share a shift of the word ([`share_shifts`]): each
//!   takes one instruction then, where it took two. At `fingerprint` they are gathered in the word
//!   ([`gather`]).
//! - Until the first word is written, the cursor is a constant. [`start_cursors`] says where that is so, and
//!   the assembler keeps no register for it up to there.

use prlx_isa::view::{BlockId, FunctionKind, Operand, Reg, Type};
use prlx_trace::SiteId;
use prlx_trace::device::WORD_BITS;

use crate::function::body::Body;
use crate::insert::spots::Spots;
use crate::plan::{Action, At, Insertion, RollingHash, WordBits};

/// Lets predicates that are appended in one part, with nothing between that reads the word, share the shift
/// of the first. To be called when the reserves are in place.
pub(crate) fn share_shifts(body: &Body<'_>, spots: &mut Spots) {
    for part in (0..body.parts.len() as u32).map(BlockId) {
        let mut group: Vec<&mut WordBits> = Vec::new();
        for insertion in spots.run_mut(body, part).flatten() {
            let reads = reads_word(&insertion.action);
            match &mut insertion.action {
                Action::Bits { reg, bits: 1, into, .. }
                    if insertion.guard.is_none() && is_predicate(body, *reg) =>
                {
                    group.push(into);
                }
                _ if reads => share_shift(&mut group),
                _ => {}
            }
        }
        share_shift(&mut group);
    }
}

/// The first of `group` shifts for all.
fn share_shift(group: &mut Vec<&mut WordBits>) {
    let mut shift = group.len() as u8;
    let mut to = shift;
    for into in group.drain(..) {
        to -= 1;
        *into = WordBits { shift, to };
        shift = 0;
    }
}

/// Level `fingerprint`: gathers predicates that are folded in one part in the lane's word, which is folded
/// once. Each takes one instruction then, where it took three.
pub(crate) fn gather(body: &Body<'_>, spots: &mut Spots) {
    for part in (0..body.parts.len() as u32).map(BlockId) {
        let mut lists: Vec<&mut Vec<Insertion>> = spots.run_mut(body, part).collect();
        // Places of the predicates that are folded together: of their lists, and in these.
        let mut groups: Vec<Vec<(usize, usize)>> = vec![Vec::new()];
        for (l, list) in lists.iter().enumerate() {
            for (i, insertion) in list.iter().enumerate() {
                let full = groups.last().is_some_and(|group| group.len() == WORD_BITS as usize);
                let gathered = folded(insertion).is_some_and(|(_, reg)| is_predicate(body, reg));
                if full || !gathered && breaks(&insertion.action) {
                    groups.push(Vec::new());
                }
                if let Some(group) = groups.last_mut().filter(|_| gathered) {
                    group.push((l, i));
                }
            }
        }
        for group in groups.into_iter().rev().filter(|group| group.len() > 1) {
            for &(l, i) in &group {
                let insertion = &mut lists[l][i];
                let Some((site, reg)) = folded(insertion) else { continue };
                let into = WordBits::alone(1);
                insertion.action = Action::Bits { site, reg, from: 0, bits: 1, into };
            }
            if let Some(&(l, i)) = group.last() {
                let at = lists[l][i].at;
                lists[l].insert(i + 1, Insertion { at, guard: None, action: Action::FoldWord });
            }
        }
    }
    share_shifts(body, spots);
}

/// The site and the register of a decision that all lanes fold into the hash of control.
fn folded(insertion: &Insertion) -> Option<(Option<SiteId>, Reg)> {
    match &insertion.action {
        Action::Fold { site, into: RollingHash::Control, values, .. } if insertion.guard.is_none() => {
            match values[..] {
                [Operand::Reg(reg)] => Some((*site, reg)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether a register is a predicate.
fn is_predicate(body: &Body<'_>, reg: Reg) -> bool {
    body.function.regs.get(reg.index()).is_some_and(|r| r.ty == Type::Pred)
}

/// Whether decisions on both sides of an action are not folded together: it folds into their hash itself, or
/// needs it.
fn breaks(action: &Action) -> bool {
    matches!(action, Action::Fold { into: RollingHash::Control, .. }) || reads_word(action)
}

/// Whether an action reads or replaces the lane's word, all of it.
fn reads_word(action: &Action) -> bool {
    use Action::{Fold, TripAdd, TripBegin, TripRead};
    !matches!(action, TripBegin { .. } | TripAdd { .. } | TripRead { .. } | Fold { .. })
}

/// That each shift of the word in a part is filled by the bits behind it.
pub(crate) fn filled<'i>(insertions: impl Iterator<Item = &'i Insertion>) -> Result<(), String> {
    let mut open = 0;
    let mut last = None;
    for i in insertions {
        last = Some(i.at);
        match i.action {
            Action::Bits { bits, into, .. } => {
                if open > 0 && (into.shift > 0 || i.guard.is_some()) {
                    return Err(format!("{:?} shifts the word, {open} of its bits are open", i.at));
                }
                open = (open + into.shift).wrapping_sub(bits);
                if open != into.to {
                    return Err(format!("{:?} fills bit {} of the word, not {open}", i.at, into.to));
                }
            }
            _ if open > 0 && reads_word(&i.action) => {
                return Err(format!("{:?} reads the word, {open} of its bits are open", i.at));
            }
            _ => {}
        }
    }
    if open > 0 {
        return Err(format!("{open} bits of the word are open behind {last:?}"));
    }
    Ok(())
}

/// Adds an [`Action::StartCursor`] before each action that uses the cursor of a kernel and is reached only
/// before any word is written. To be called when all else is in place.
pub(crate) fn start_cursors(body: &Body<'_>, spots: &mut Spots) {
    if !spots.all().any(|i| writes_words(&i.action)) {
        return;
    }
    let before = before_words(body, spots);
    for &part in &body.graph.order {
        let mut before = before[part.index()];
        for list in spots.run_mut(body, part) {
            let mut with = Vec::with_capacity(list.len());
            for insertion in list.drain(..) {
                let uses = writes_words(&insertion.action) || matches!(insertion.action, Action::End { .. });
                if before && uses && insertion.action != Action::Restore {
                    // For all lanes: a guard would cost a branch.
                    with.push(Insertion { at: insertion.at, guard: None, action: Action::StartCursor });
                }
                before &= !writes_words(&insertion.action);
                with.push(insertion);
            }
            *list = with;
        }
    }
}

/// That no way to an [`Action::StartCursor`] passes an action that writes words.
///
/// # Errors
/// Names the place.
pub(crate) fn unwritten(body: &Body<'_>, spots: &Spots) -> Result<(), String> {
    let before = before_words(body, spots);
    for &part in &body.graph.order {
        let mut before = before[part.index()];
        for i in spots.run(body, part) {
            if i.action == Action::StartCursor && !before {
                return Err(format!("{:?} starts a cursor that has words behind it", i.at));
            }
            before &= !writes_words(&i.action);
        }
    }
    Ok(())
}

/// By part: whether no way to its start passes an action that writes words.
fn before_words(body: &Body<'_>, spots: &Spots) -> Vec<bool> {
    let kernel = body.function.kind == FunctionKind::Kernel;
    let entry = spots.at(At::Entry).iter().any(|i| writes_words(&i.action));
    let mut before = vec![kernel && !entry; body.parts.len()];
    let mut open: Vec<BlockId> = body.graph.order.clone();
    while let Some(part) = open.pop() {
        if before[part.index()] && !spots.run(body, part).any(|i| writes_words(&i.action)) {
            continue;
        }
        for to in body.succs(part) {
            if std::mem::replace(&mut before[to.index()], false) {
                open.push(to);
            }
        }
    }
    before
}

/// Whether an action can write words of the lane's stream, in a callee or here.
fn writes_words(action: &Action) -> bool {
    matches!(action, Action::Reserve { .. } | Action::TripEnd { .. } | Action::Restore)
}
