//! Room for recorded bits: where words are written out in time.
//!
//! A lane's word takes [`WORD_BITS`] decisions. A [`Action::Reserve`] with `bits: n` guarantees room for `n`;
//! `n` is the most that any path takes until the next one. Reserves stand
//! - once per trip of a loop that records bits, before the jump back; so that a long tail after the loop does
//!   not raise that one's `n`, also where the loop is left;
//! - after calls, and at the start of device functions: nothing is known of the word there;
//! - where a counted loop's count is written, as part of [`Action::TripEnd`]: if that is where the loop is
//!   left, no way through it takes bits before, so for those who stay it means nothing;
//! - where a path from the last one would take more than a word.
//!
//! Holds, and [`check_capacity`] proves it of any plan: on no path are bits appended without room, and
//! nothing reads a word with places that are not filled yet.

use std::collections::{BTreeMap, HashSet};
use std::convert::Infallible;

use prlx_isa::view::{self, BlockId, Class, InstId};
use prlx_trace::device::{COUNT_BITS, LastWord, VALUE_BITS, WORD_BITS};
use prlx_trace::kernel::Level;

use crate::function::body::Body;
use crate::insert::spots::Spots;
use crate::insert::word::{filled, unwritten};
use crate::plan::{Action, At, Insertion, MostWritten, Plan};

/// Adds the [`Action::Reserve`]s that the bits in `spots` need. Calls are followed by one already, and so is
/// a device function's beginning; their sizes are set here too.
pub(crate) fn reserve(body: &Body<'_>, spots: &mut Spots) {
    for l in (0..body.graph.loops.len()).rev() {
        jump_back(body, spots, l);
    }
    ways_out(body, spots);
    overflow(body, spots);
    let needs = needs(body, spots, &body.graph.order);
    let out = |part: BlockId| body.succs(part).map(|s| needs[s.index()]).max().unwrap_or(0);
    let reachable = body.reachable();
    for part in (0..body.parts.len() as u32).map(BlockId) {
        let mut need = if reachable[part.index()] { out(part) } else { 0 };
        spots.run_mut(body, part).rev().for_each(|list| size(list, &mut need));
    }
    let mut need = needs.first().copied().unwrap_or(0);
    if let Some(list) = spots.at_mut(At::Entry) {
        size(list, &mut need);
    }
    needless(body, spots);
}

/// Removes the rooms of iteration counts that are free anyway.
fn needless(body: &Body<'_>, spots: &mut Spots) {
    // An error is for `check_capacity` to report.
    let kernel = body.function.kind == view::FunctionKind::Kernel;
    let Ok(rooms) = rooms(body, spots, kernel) else { return };
    for (part, free) in rooms.into_iter().enumerate() {
        let Some(mut free) = free else { continue };
        for insertion in spots.run_mut(body, BlockId(part as u32)).flatten() {
            let before = free;
            free = room([&*insertion].into_iter(), before, kernel).unwrap_or(0);
            if let Action::TripEnd { room, .. } = &mut insertion.action
                && before >= *room
            {
                *room = 0;
            }
        }
    }
}

/// How much a lane writes in a kernel at most. `None` if a loop or a callee writes. To be called when the
/// reserves have their sizes.
pub(crate) fn most_written(body: &Body<'_>, spots: &Spots) -> Option<MostWritten> {
    let writes = |action: &Action| bits(action) > 0 || matches!(action, Action::Save);
    let in_loop = body.graph.loops.iter().flat_map(|l| &l.blocks);
    if body.function.kind != view::FunctionKind::Kernel
        || in_loop.flat_map(|b| spots.run(body, *b)).any(|i| writes(&i.action))
        || spots.all().any(|i| i.action == Action::Save)
    {
        return None;
    }
    let step = |most: MostWritten, i: &Insertion| {
        let words = match i.action {
            Action::Reserve { .. } => 1,
            // The count can take two words, and room for it a third.
            Action::TripEnd { room, .. } => 2 + u32::from(room > 0),
            _ => 0,
        };
        MostWritten { bits: most.bits + bits(&i.action), words: most.words + words }
    };
    let max = |a: MostWritten, b: MostWritten| MostWritten {
        bits: a.bits.max(b.bits),
        words: a.words.max(b.words),
    };
    // Loops add nothing, so ways back are left out.
    let mut before = vec![MostWritten::default(); body.parts.len()];
    if let Some(first) = before.first_mut() {
        *first = spots.at(At::Entry).iter().fold(MostWritten::default(), step);
    }
    let mut most = MostWritten::default();
    for &part in &body.graph.order {
        let after = spots.run(body, part).fold(before[part.index()], step);
        most = max(most, after);
        for s in body.succs(part) {
            before[s.index()] = max(before[s.index()], after);
        }
    }
    let counts = spots.all().any(|i| matches!(i.action, Action::TripEnd { .. }));
    if most.bits <= WORD_BITS && !counts {
        // The word has room for all of them.
        most.words = 0;
    }
    Some(most)
}

/// Sets the sizes of the reserves at one place, last first, and removes those that nothing needs.
fn size(list: &mut Vec<Insertion>, need: &mut u32) {
    for insertion in list.iter_mut().rev() {
        *need = before(insertion, *need);
        if let Action::Reserve { bits: room } | Action::TripEnd { room, .. } = &mut insertion.action {
            *room = std::mem::take(need);
        }
    }
    list.retain(|i| i.action != Action::Reserve { bits: 0 });
}

/// What must be free for `insertion` and what follows it, if that is `need`. (A reserve is sized by its
/// caller.)
fn before(insertion: &Insertion, need: u32) -> u32 {
    need + bits(&insertion.action)
}

/// Bits that an action appends.
fn bits(action: &Action) -> u32 {
    match *action {
        Action::Bits { bits, .. } => u32::from(bits),
        Action::ValueHash { .. } => u32::from(VALUE_BITS),
        Action::TripEnd { .. } => u32::from(COUNT_BITS),
        _ => 0,
    }
}

/// Whether an action appends bits to the word, without room of its own.
fn appends(action: &Action) -> bool {
    matches!(action, Action::Bits { .. } | Action::ValueHash { .. })
}

/// Whether an action makes room for all who go on from it.
fn makes_room(insertion: &Insertion) -> bool {
    match insertion.action {
        Action::Reserve { .. } => insertion.guard.is_none(),
        Action::TripEnd { .. } => true,
        _ => false,
    }
}

/// By part: the most bits that a path takes from its start to the next reserve, among `parts` alone (in
/// reverse post-order).
fn needs(body: &Body<'_>, spots: &Spots, parts: &[BlockId]) -> Vec<u32> {
    // Parts that are not asked for stay at 0: beyond them nothing counts.
    let mut needs = vec![0u32; body.parts.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for &part in parts.iter().rev() {
            let need = need_at(body, spots, part, &needs);
            changed |= std::mem::replace(&mut needs[part.index()], need) != need;
        }
    }
    needs
}

/// The most bits from the start of `part` to the next reserve, by what its successors need.
fn need_at(body: &Body<'_>, spots: &Spots, part: BlockId, needs: &[u32]) -> u32 {
    let after = body.succs(part).map(|s| needs[s.index()]).max().unwrap_or(0);
    let need =
        spots.run(body, part).rev().fold(after, |need, i| if makes_room(i) { 0 } else { before(i, need) });
    // Every cycle that takes bits has a reserve, so needs are bounded; this is for the day when that is
    // wrong.
    need.min(1 << 20)
}

/// A reserve at the end of each latch of loop `l` from which a trip can take bits without meeting one.
fn jump_back(body: &Body<'_>, spots: &mut Spots, l: usize) {
    let this = &body.graph.loops[l];
    let takes = |spots: &Spots, b: BlockId| spots.run(body, b).any(|i| appends(&i.action));
    if !this.blocks.iter().any(|&b| takes(spots, b)) {
        return;
    }
    let places: Vec<Option<At>> = this.latches.iter().map(|&b| end_of(body, b)).collect();
    if this.irreducible || places.contains(&None) {
        // No one place is passed in every trip: each block that takes bits makes its own room.
        for &b in &this.blocks {
            if takes(spots, b)
                && let Some(first) = body.parts[b.index()].insts.clone().next()
            {
                spots.insert(At::Before(InstId(first)), 0, Action::Reserve { bits: 0 });
            }
        }
        return;
    }
    // By part: whether it can be reached from the header without meeting a reserve, and whether with bits
    // taken.
    let mut state: BTreeMap<BlockId, (bool, bool)> = BTreeMap::from([(this.header, (true, false))]);
    let mut dirty: Vec<BlockId> = Vec::new();
    let mut changed = true;
    while changed {
        changed = false;
        dirty.clear();
        for &part in &body.in_order(l) {
            let Some(&(mut free, mut taken)) = state.get(&part) else { continue };
            for i in spots.run(body, part) {
                match i.action {
                    _ if makes_room(i) => (free, taken) = (false, false),
                    Action::Bits { .. } | Action::ValueHash { .. } if free => taken = true,
                    _ => {}
                }
            }
            if free && taken && this.latches.contains(&part) {
                dirty.push(part);
            }
            for s in body.succs(part).filter(|s| *s != this.header && this.blocks.binary_search(s).is_ok()) {
                let old = state.get(&s).copied();
                let new = (free || old.is_some_and(|o| o.0), taken || old.is_some_and(|o| o.1));
                changed |= old != Some(new);
                state.insert(s, new);
            }
        }
    }
    for (latch, at) in this.latches.iter().zip(places) {
        if let (true, Some(at)) = (dirty.contains(latch), at) {
            spots.push(at, None, Action::Reserve { bits: 0 });
        }
    }
}

/// The last place in a part: before what transfers control, else after its last instruction.
fn end_of(body: &Body<'_>, part: BlockId) -> Option<At> {
    let part = &body.parts[part.index()];
    let last = part.insts.clone().next_back().map(InstId).or(part.of)?;
    Some(match body.inst(last).class {
        Class::Branch | Class::Switch | Class::Return | Class::Exit => At::Before(last),
        _ => At::After(last),
    })
}

/// A reserve where a loop is left for a stretch that takes more bits than a trip, inner loops first.
fn ways_out(body: &Body<'_>, spots: &mut Spots) {
    let headers: HashSet<BlockId> = body.graph.loops.iter().map(|l| l.header).collect();
    let mut after = needs(body, spots, &body.graph.order);
    let mut preds: Vec<Vec<BlockId>> = vec![Vec::new(); body.parts.len()];
    for &part in &body.graph.order {
        for s in body.succs(part) {
            preds[s.index()].push(part);
        }
    }
    for l in (0..body.graph.loops.len()).rev() {
        let this = &body.graph.loops[l];
        let reserves = |i: &Insertion| matches!(i.action, Action::Reserve { .. });
        if !this.blocks.iter().any(|&b| spots.run(body, b).any(reserves)) {
            continue;
        }
        let parts = body.in_order(l);
        let within = needs(body, spots, &parts);
        let trip = parts.iter().map(|b| within[b.index()]).max().unwrap_or(0);
        for &(from, to) in &this.exits {
            let first = body.parts[to.index()].insts.clone().next();
            let Some(first) =
                first.filter(|_| from != to && !headers.contains(&to) && after[to.index()] > trip)
            else {
                continue;
            };
            spots.insert(At::Before(InstId(first)), 0, Action::Reserve { bits: 0 });
            // What needs less now. (In a cycle without bits old needs can keep each other up: an upper bound
            // will do.)
            let mut lower = vec![to];
            while let Some(part) = lower.pop() {
                let need = need_at(body, spots, part, &after);
                if std::mem::replace(&mut after[part.index()], need) > need {
                    lower.extend(&preds[part.index()]);
                }
            }
        }
    }
}

/// Reserves where the way from the last one takes more than a word.
fn overflow(body: &Body<'_>, spots: &mut Spots) {
    // In the graph's order, ways back left out: a natural loop takes no bits between its header and a way
    // back without a reserve, so those bring nothing that is not there already.
    let mut taken = vec![0u32; body.parts.len()];
    if let Some(first) = taken.first_mut() {
        *first = spots.at(At::Entry).iter().fold(0, |t, i| step(i, t));
    }
    for &part in &body.graph.order {
        let mut now = taken[part.index()];
        let mut full: Vec<(At, usize)> = Vec::new();
        let mut index = 0;
        let mut place = At::Entry;
        for insertion in spots.run(body, part) {
            index = if insertion.at == place { index + 1 } else { 0 };
            place = insertion.at;
            let before = now;
            now = step(insertion, now);
            if now > WORD_BITS {
                full.push((place, index));
                now -= before;
            }
        }
        for (at, index) in full.into_iter().rev() {
            spots.insert(at, index, Action::Reserve { bits: 0 });
        }
        for s in body.succs(part) {
            taken[s.index()] = taken[s.index()].max(now);
        }
    }
    // Irreducible regions can still be wrong; this is also the proof that the rest is right.
    loop {
        let taken = forward(body, spots);
        let mut found: Option<(At, usize)> = None;
        'parts: for &part in &body.graph.order {
            let Some(mut now) = taken[part.index()] else { continue };
            for insertion in spots.run(body, part) {
                now = step(insertion, now);
                if now > WORD_BITS {
                    let index = spots.at(insertion.at).iter().position(|i| i == insertion);
                    found = index.map(|index| (insertion.at, index));
                    break 'parts;
                }
            }
        }
        let Some((at, index)) = found else { return };
        spots.insert(at, index, Action::Reserve { bits: 0 });
    }
}

/// Bits taken since the last reserve.
fn step(insertion: &Insertion, taken: u32) -> u32 {
    let taken = if makes_room(insertion) { 0 } else { taken };
    (taken + bits(&insertion.action)).min(2 * WORD_BITS)
}

/// By part: the most bits that can have been taken since the last reserve when it is entered.
fn forward(body: &Body<'_>, spots: &Spots) -> Vec<Option<u32>> {
    let start = spots.at(At::Entry).iter().fold(0, |t, i| step(i, t));
    let through = |part: BlockId, taken: u32| spots.run(body, part).fold(taken, |t, i| step(i, t));
    let Ok(taken) = spread(body, start, |part, taken| Ok::<u32, Infallible>(through(part, taken)), u32::max);
    taken
}

/// By part: what holds when it is entered, if `start` holds at the entry and `through` says what a part makes
/// of it. Of several ways, `join` takes the one that counts. `None` if it can't be reached.
fn spread<E>(
    body: &Body<'_>,
    start: u32,
    through: impl Fn(BlockId, u32) -> Result<u32, E>,
    join: fn(u32, u32) -> u32,
) -> Result<Vec<Option<u32>>, E> {
    let mut before: Vec<Option<u32>> = vec![None; body.parts.len()];
    if let Some(first) = before.first_mut() {
        *first = Some(start);
    }
    let mut changed = true;
    while changed {
        changed = false;
        for &part in &body.graph.order {
            let Some(held) = before[part.index()] else { continue };
            let after = through(part, held)?;
            for s in body.succs(part) {
                let old = before[s.index()];
                let new = Some(old.map_or(after, |old| join(old, after)));
                changed |= new != old;
                before[s.index()] = new;
            }
        }
    }
    Ok(before)
}

/// Proves that no path appends bits without room, by what each reserve promises alone, that bits which share
/// a shift fill it before anything reads the word, that nothing is written before a cursor starts, and that
/// last words are large enough.
///
/// # Errors
/// Names the function and the place where room may be missing.
pub fn check_capacity(plan: &Plan, module: &view::Module) -> Result<(), String> {
    for (id, function) in plan.functions.iter().enumerate() {
        if function.insertions.iter().all(|i| !appends(&i.action)) {
            continue;
        }
        let body = Body::of(module, view::FuncId(id as u32));
        let spots = Spots::of(&function.insertions);
        let last_word = most_written(&body, &spots).map_or(LastWord::Whole, |most| LastWord::of(most.bits));
        if last_word > plan.finals.last_word {
            let too_small = plan.finals.last_word;
            return Err(format!(
                "{}: its last words can need {last_word:?}, not {too_small:?}",
                body.function.name
            ));
        }
        for &part in &body.graph.order {
            filled(spots.run(&body, part)).map_err(|e| format!("{} {part:?}: {e}", body.function.name))?;
        }
        unwritten(&body, &spots).map_err(|e| format!("{}: {e}", body.function.name))?;
        let own =
            body.function.kind == view::FunctionKind::Kernel || plan.request.level == Level::Fingerprint;
        rooms(&body, &spots, own)?;
    }
    Ok(())
}

/// By part: the bits that are surely free when it is entered. `None` if it can't be reached. `own`: whether
/// the function begins with an empty word of its own.
fn rooms(body: &Body<'_>, spots: &Spots, own: bool) -> Result<Vec<Option<u32>>, String> {
    let start = room(spots.at(At::Entry).iter(), 0, own)?;
    let through = |part: BlockId, free: u32| {
        let after = room(spots.run(body, part), free, own);
        after.map_err(|e| format!("{} {part:?}: {e}", body.function.name))
    };
    spread(body, start, through, u32::min)
}

/// The room that is surely left after `insertions`.
fn room<'i>(
    insertions: impl Iterator<Item = &'i Insertion>,
    mut free: u32,
    own: bool,
) -> Result<u32, String> {
    for i in insertions {
        match i.action {
            Action::Begin => free = if own { WORD_BITS } else { 0 },
            Action::FoldWord => free = WORD_BITS,
            Action::Restore => free = 0,
            Action::Reserve { bits: room } | Action::TripEnd { room, .. } if room > WORD_BITS => {
                return Err(format!("{:?} reserves {room}", i.at));
            }
            Action::Reserve { bits: room } | Action::TripEnd { room, .. } if makes_room(i) => {
                free = free.max(room)
            }
            _ => {}
        }
        let bits = bits(&i.action);
        free = free.checked_sub(bits).ok_or_else(|| format!("{:?} appends {bits}, {free} are free", i.at))?;
    }
    Ok(free)
}
