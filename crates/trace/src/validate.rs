//! Checks what was read: every id within its table, no cycles, plausible shapes.
//!
//! # Limitations
//! Whether the decode program makes sense is not checked. A decoder bounds its steps, and checks an
//! argument's place in the parameter buffer when it reads it.

use crate::device::COUNT_EVENT;
use crate::ids::{BlockId, Dim3, LocId};
use crate::kernel::{Arg, Block, End, Function, Guard, Module, Site, Source, Step};
use crate::launch::Launch;
use crate::mark::Marks;
use crate::narrow::saturated32;
use crate::outputs::OutputContents;
use crate::table::{Aggregate, NO_LINE, STEPS, Shown, Table, TableContents};
use crate::trace::Recording;

/// The path of the field, and what is wrong with its value.
type Wrong = (String, String);

/// Maximum number of decoder registers of a function. A lane's state needs one word for each.
const SLOTS: u32 = 1 << 20;
/// Maximum number of payload words in a marker's record.
const PAYLOAD: usize = 2;
/// Maximum number of lanes in a warp, on any device that the format knows.
const LANES: usize = 64;
/// Maximum number of threads in a CTA: far more than any device has, and enough to bound tables.
const THREADS: u64 = 1 << 16;

fn wrong<T>(field: impl Into<String>, what: impl Into<String>) -> Result<T, Wrong> {
    Err((field.into(), what.into()))
}

/// Checks an index against the length of its table.
fn below(field: impl FnOnce() -> String, id: u32, len: usize) -> Result<(), Wrong> {
    if (id as usize) < len { Ok(()) } else { wrong(field(), format!("{id} is not less than {len}")) }
}

/// The entry with an index in its table.
fn entry<'a, T>(field: &str, id: u32, table: &'a [T]) -> Result<&'a T, Wrong> {
    below(|| field.into(), id, table.len())?;
    table.get(id as usize).map_or_else(|| wrong(field, "there is no such entry"), Ok)
}

/// Checks the ids and shapes of a module.
pub fn module(m: &Module) -> Result<(), Wrong> {
    for (i, loc) in m.locs.iter().enumerate() {
        below(|| format!("locs[{i}].file"), loc.file.0, m.files.len())?;
        location(|| format!("locs[{i}].inlined_at"), loc.inlined_at, m)?;
    }
    inlining_ends(m)?;
    for (i, f) in m.functions.iter().enumerate() {
        function(f, m).map_err(|(field, what)| (format!("functions[{i}].{field}"), what))?;
    }
    for (i, s) in m.sites.iter().enumerate() {
        site(s, m).map_err(|(field, what)| (format!("sites[{i}].{field}"), what))?;
    }
    for (i, t) in m.tables.iter().enumerate() {
        table(t).map_err(|(field, what)| (format!("tables[{i}].{field}"), what))?;
    }
    for (i, mark) in m.marks.iter().enumerate() {
        below(|| format!("marks[{i}].function"), mark.function.0, m.functions.len())?;
        location(|| format!("marks[{i}].loc"), mark.loc, m)?;
        below(|| format!("marks[{i}].payload"), saturated32(mark.payload.len()), PAYLOAD + 1)?;
    }
    Ok(())
}

fn table(t: &Table) -> Result<(), Wrong> {
    let values = match t.aggregate {
        Aggregate::Count => 0..=0,
        Aggregate::Record { .. } => 0..=usize::MAX,
        _ => 1..=1,
    };
    if !values.contains(&t.values.len()) {
        return wrong("values", format!("{} are not what such a table has", t.values.len()));
    }
    match t.aggregate {
        Aggregate::Lhist { step: 0, .. } => wrong("aggregate.step", "it is 0"),
        Aggregate::Lhist { steps, .. } if steps > STEPS => {
            wrong("aggregate.steps", format!("{steps} are too many"))
        }
        _ => Ok(()),
    }
}

/// Checks what markers recorded: lanes, and the numbers of markers.
///
/// # Errors
/// The first field that is out of range.
pub fn marks(all: &Marks, modules: &[Module]) -> Result<(), Wrong> {
    let known = entry("module", all.module.0, modules)?.marks.len();
    for (i, track) in all.tracks.iter().enumerate() {
        below(|| format!("tracks[{i}].lane"), track.lane.into(), LANES)?;
        for (j, r) in track.records.0.iter().enumerate() {
            below(|| format!("tracks[{i}].records[{j}].mark"), r.mark, known)?;
        }
        for (j, s) in track.sums.iter().enumerate() {
            below(|| format!("tracks[{i}].sums[{j}].mark"), s.mark, known)?;
        }
    }
    Ok(())
}

/// Checks that the launch of an output is there, and that its shape fits its size.
pub fn output(o: &OutputContents, launches: &[Recording]) -> Result<(), Wrong> {
    if !launches.iter().any(|r| r.launch.number == o.launch) {
        return wrong("launch", format!("there is no launch {}", o.launch));
    }
    let elements = o.shape.iter().try_fold(1u64, |n, size| n.checked_mul(*size));
    let bytes = elements.and_then(|n| n.checked_mul(crate::element::size(o.ty) as u64));
    if bytes != Some(o.bytes) {
        return wrong("bytes", format!("{} bytes do not fit the shape {:?}", o.bytes, o.shape));
    }
    Ok(())
}

/// Checks the contents of a probe program's table against its declaration in the module.
///
/// # Errors
/// The first row or cell that does not fit.
pub fn tally(t: &TableContents, modules: &[Module]) -> Result<(), Wrong> {
    let m = entry("module", t.module.0, modules)?;
    let of = entry("table", t.table, &m.tables)?;
    let cells = of.aggregate.cells(of.values.len());
    for (i, row) in t.rows.iter().enumerate() {
        if row.key.len() != of.keys.len() || row.cells.len() != cells {
            return wrong(format!("rows[{i}]"), "it has not as many keys and cells as the table says");
        }
        for (j, (key, field)) in row.key.iter().zip(&of.keys).enumerate() {
            let most = match field.shown {
                Shown::Number | Shown::Address | Shown::Hex => continue,
                Shown::Line if *key == NO_LINE => continue,
                Shown::Word | Shown::Site => of.words.len(),
                Shown::Line => m.locs.len(),
            };
            below(|| format!("rows[{i}].key[{j}]"), u32::try_from(*key).unwrap_or(u32::MAX), most)?;
        }
    }
    Ok(())
}

fn location(field: impl FnOnce() -> String, loc: Option<LocId>, m: &Module) -> Result<(), Wrong> {
    loc.map_or(Ok(()), |loc| below(field, loc.0, m.locs.len()))
}

/// No location is inlined in itself.
fn inlining_ends(m: &Module) -> Result<(), Wrong> {
    let mut ends = vec![false; m.locs.len()];
    let mut chain = Vec::new();
    for start in 0..m.locs.len() {
        let mut at = Some(start);
        while let Some((i, loc)) =
            at.filter(|i| ends.get(*i) == Some(&false)).zip(at.and_then(|i| m.locs.get(i)))
        {
            if chain.len() == m.locs.len() {
                return wrong(format!("locs[{start}].inlined_at"), "it leads back to itself");
            }
            chain.push(i);
            at = loc.inlined_at.map(LocId::index);
        }
        for i in chain.drain(..) {
            ends.get_mut(i).into_iter().for_each(|end| *end = true);
        }
    }
    Ok(())
}

fn function(f: &Function, m: &Module) -> Result<(), Wrong> {
    if f.slots > SLOTS {
        return wrong("slots", format!("{} are more than {SLOTS}", f.slots));
    }
    for (i, b) in f.blocks.iter().enumerate() {
        block(b, f, m).map_err(|(field, what)| (format!("blocks[{i}].{field}"), what))?;
    }
    for (i, loc) in f.pointer_calls.iter().enumerate() {
        location(|| format!("pointer_calls[{i}]"), *loc, m)?;
    }
    for (i, l) in f.loops.iter().enumerate() {
        in_blocks(|| format!("loops[{i}].header"), l.header, f)?;
        l.parent.map_or(Ok(()), |p| below(|| format!("loops[{i}].parent"), p.0, i))?;
        l.blocks.iter().try_for_each(|b| in_blocks(|| format!("loops[{i}].blocks"), *b, f))?;
        if !l.blocks.is_sorted() {
            return wrong(format!("loops[{i}].blocks"), "they are not sorted");
        }
        location(|| format!("loops[{i}].loc"), l.loc, m)?;
    }
    Ok(())
}

/// Checks a block of a function: its steps, its end and its loop.
fn block(block: &Block, f: &Function, m: &Module) -> Result<(), Wrong> {
    location(|| "loc".into(), block.loc, m)?;
    for (j, s) in block.steps.iter().enumerate() {
        step(s, f, m).map_err(|(field, what)| (format!("steps[{j}].{field}"), what))?;
    }
    let end = || "end".into();
    match &block.end {
        End::Jump(to) => in_blocks(end, *to, f)?,
        End::Branch { guard, taken, other } => {
            in_slots(end, guard.slot, f)?;
            in_blocks(end, *taken, f)?;
            in_blocks(end, *other, f)?;
        }
        End::Switch { index, targets } => {
            in_slots(end, *index, f)?;
            targets.iter().try_for_each(|t| in_blocks(end, *t, f))?;
        }
        End::Return | End::Exit => {}
    }
    block.ipdom.map_or(Ok(()), |b| in_blocks(|| "ipdom".into(), b, f))?;
    block.in_loop.map_or(Ok(()), |l| below(|| "in_loop".into(), l.0, f.loops.len()))
}

/// Checks the ids in a step of a block.
fn step(step: &Step, f: &Function, m: &Module) -> Result<(), Wrong> {
    let guarded =
        |guard: &Option<Guard>| guard.map_or(Ok(()), |g| in_slots(|| "guard.slot".into(), g.slot, f));
    match step {
        Step::Let { to, args, guard, .. } => {
            in_slots(|| "to".into(), *to, f)?;
            guarded(guard)?;
            args.iter().try_for_each(|arg| match arg {
                Arg::Slot(slot) => in_slots(|| "args".into(), *slot, f),
                Arg::Param { size, .. } if !matches!(size, 1 | 2 | 4 | 8) => {
                    wrong("args", format!("a parameter of {size} bytes"))
                }
                _ => Ok(()),
            })
        }
        Step::Decide { site, slot, guard } => {
            below(|| "site".into(), site.0, m.sites.len())?;
            in_slots(|| "slot".into(), *slot, f)?;
            guarded(guard)
        }
        Step::Visit { site, guard } => {
            below(|| "site".into(), site.0, m.sites.len())?;
            guarded(guard)
        }
        Step::Read { to, bits, guard, loc, .. } => {
            if !(1..=64).contains(bits) {
                return wrong("bits", format!("a value of {bits} bits"));
            }
            in_slots(|| "to".into(), *to, f)?;
            location(|| "loc".into(), *loc, m)?;
            guarded(guard)
        }
        Step::Call { function, guard, loc } => {
            below(|| "function".into(), function.0, m.functions.len())?;
            location(|| "loc".into(), *loc, m)?;
            guarded(guard)
        }
    }
}

fn in_blocks(field: impl FnOnce() -> String, block: BlockId, f: &Function) -> Result<(), Wrong> {
    below(field, block.0, f.blocks.len())
}

fn in_slots(field: impl FnOnce() -> String, slot: crate::Slot, f: &Function) -> Result<(), Wrong> {
    below(field, slot.0, f.slots as usize)
}

fn site(s: &Site, m: &Module) -> Result<(), Wrong> {
    let f = entry("function", s.function.0, &m.functions)?;
    // A function that is skipped may come without blocks.
    below(|| "block".into(), s.block.0, f.blocks.len())?;
    location(|| "loc".into(), s.loc, m)?;
    match s.source {
        Source::Bits(n) if n > 32 => return wrong("source", format!("{n} bits are more than 32")),
        Source::Trips { bits, .. } if bits > 30 && bits != COUNT_EVENT => {
            return wrong("source", format!("{bits} bits are more than 30"));
        }
        Source::Trips { of, .. } => below(|| "source.of".into(), of.0, f.loops.len())?,
        _ => {}
    }
    s.steers.iter().try_for_each(|x| location(|| "steers.loc".into(), x.loc, m))?;
    for (i, node) in s.slice.iter().enumerate() {
        location(|| format!("slice[{i}].loc"), node.loc, m)?;
        node.inputs.iter().try_for_each(|n| below(|| format!("slice[{i}].inputs"), *n, s.slice.len()))?;
    }
    Ok(())
}

/// Checks the ids and shapes of a launch.
pub fn launch(l: &Launch, modules: &[Module], ranges: usize) -> Result<(), Wrong> {
    let m = entry("module", l.module.0, modules)?;
    below(|| "kernel".into(), l.kernel.0, m.functions.len())?;
    // The products below must not overflow wherever they are formed.
    let volume = |d: Dim3| u128::from(d.x) * u128::from(d.y) * u128::from(d.z);
    let (ctas, threads) = (volume(l.grid), volume(l.block));
    if threads > u128::from(THREADS) {
        return wrong("block", format!("{threads} threads are more than {THREADS}"));
    }
    if ctas >> 40 != 0 {
        return wrong("grid", format!("{ctas} CTAs are more than 2^40"));
    }
    l.ranges.iter().try_for_each(|r| below(|| "ranges".into(), r.name.0, ranges))?;
    if let Some(unfinished) = l.fault.as_ref().and_then(|f| f.unfinished.as_ref()) {
        if !unfinished.is_sorted_by(|a, b| a.0 < b.0) {
            return wrong("fault.unfinished", "its warps do not ascend");
        }
        if let Some((last, _)) = unfinished.last().filter(|(w, _)| w.0 >= l.warps()) {
            return wrong("fault.unfinished", format!("{last} is beyond the {} of the launch", l.warps()));
        }
    }
    let mut window = l.window.iter().flat_map(|w| &w.sites);
    window.try_for_each(|s| below(|| "window.sites".into(), s.0, m.sites.len()))
}
