//! Findings of the bounds check: accesses out of bounds, misaligned, to freed memory and to constants.

use prlx_lanes::Planes;
use prlx_trace::check::{Kind, Memory, Side, Space};

use crate::code::window;
use crate::exec::launch::Launch;
use crate::exec::pointer;

use super::accesses::{self, WarpAccess};
use super::findings::{self, FindingLog, WarpStep};
use super::heap_blocks::HeapBlocks;

/// Reports the accesses of lanes `bad`, which are invalid, and of lanes `outside`, which lie in the heap of
/// `malloc` but in no live block.
#[allow(clippy::too_many_arguments, reason = "the parts of an access")]
pub fn report(
    launch: &Launch<'_>,
    log: &mut FindingLog,
    blocks: &HeapBlocks,
    planes: &Planes,
    t: &WarpAccess,
    bad: u32,
    outside: u32,
    here: WarpStep,
) {
    // Lanes with the same kind of error at the same allocation share a finding, in the words of the first.
    // The allocation is the buffer of the pointer, if that is known: the nearest one may be another.
    let first = (bad | outside).trailing_zeros() as usize & 31;
    let buffer = log.pointer_buffer(here.step, || {
        let origin = pointer::origin(launch, planes, here.step, first, t.addr.0[first])?;
        Some(origin.buffer(launch)?.base)
    });
    let about = |l: usize| {
        let m = findings::memory(launch, t, l);
        let block = blocks.near(t.addr.0[l]).map(|b| b.allocation());
        let m = Memory { allocation: block.or(m.allocation), ..m };
        let kind = kind(launch, blocks, t, l);
        let base = buffer.filter(|_| kind == Kind::OutOfBounds && m.space == Space::Global);
        let base = base.or(m.allocation.as_ref().map(|a| a.base)).unwrap_or(0);
        // Accesses before and behind an allocation are two errors. The bases are even.
        let before = kind == Kind::OutOfBounds && m.address < base;
        (kind, base ^ u64::from(before), m)
    };
    let mut rest = bad | outside;
    while rest != 0 {
        let l = rest.trailing_zeros() as usize;
        let (kind, base, memory) = about(l);
        let mut same = 0;
        crate::mem::access::each(rest, |i| {
            let (k, b, _) = about(i);
            same |= u32::from((k, b) == (kind, base)) << i;
        });
        rest &= !same;
        let who = WarpStep { lanes: same, ..here };
        log.add(launch, kind, who, None, base, || {
            let origin = (kind == Kind::OutOfBounds && memory.space == Space::Global)
                .then(|| pointer::origin(launch, planes, who.step, l, t.addr.0[l]))
                .flatten();
            let (what, memory) = match origin {
                Some(origin) => {
                    let does = format!("{} {}", t.kind.verb(), count(t.bytes[l].into(), "byte"));
                    let what = format!("{does}, {}", origin.words(launch, t.addr.0[l], t.bytes[l].into()));
                    let buffer = origin.buffer(launch).map(findings::buffer);
                    (what, Memory { allocation: buffer.or(memory.allocation), ..memory })
                }
                None => (words(launch, blocks, t, l, kind, &memory), memory),
            };
            let role = format!("this {}", t.kind.noun());
            let mut sides = vec![Side { memory: Some(memory), ..findings::side(launch, role, who) }];
            if let Some(b) = blocks.near(t.addr.0[l]) {
                sides.push(findings::side(launch, "allocated here", b.by));
                sides.extend(b.freed.map(|by| findings::side(launch, "freed here", by)));
            }
            findings::finding(kind, what, sides)
        });
    }
}

fn kind(launch: &Launch<'_>, blocks: &HeapBlocks, t: &WarpAccess, l: usize) -> Kind {
    let at = t.addr.0[l];
    if !at.is_multiple_of(t.align.max(1)) {
        return Kind::Misaligned;
    }
    let space = accesses::space(t.space, at);
    let constant = space == Space::Global && launch.memory.is_constant(at) || space == Space::Params;
    if constant && t.kind != accesses::AccessKind::Read && inside(launch, t, l) {
        return Kind::ReadOnly;
    }
    let freed = blocks.near(at).is_some_and(|b| b.freed.is_some() && b.holds(at));
    if freed || space == Space::Global && launch.memory.was_freed(at) {
        Kind::Freed
    } else {
        Kind::OutOfBounds
    }
}

fn inside(launch: &Launch<'_>, t: &WarpAccess, l: usize) -> bool {
    let (at, bytes) = (accesses::within(t.space, t.addr.0[l]), u64::from(t.bytes[l]));
    match accesses::space(t.space, t.addr.0[l]) {
        Space::Params => launch.params.len().checked_sub(bytes).is_some_and(|last| at <= last),
        _ => launch.memory.range(at, bytes).is_some(),
    }
}

fn words(
    launch: &Launch<'_>,
    blocks: &HeapBlocks,
    t: &WarpAccess,
    l: usize,
    kind: Kind,
    m: &Memory,
) -> String {
    let (verb, bytes, at) = (t.kind.verb(), t.bytes[l], t.addr.0[l]);
    let does = format!("{verb} {}", count(bytes.into(), "byte"));
    let of = m
        .allocation
        .as_ref()
        .map_or_else(String::new, |a| format!("{} ({})", name(a), count(a.bytes, "byte")));
    match kind {
        Kind::Misaligned => {
            format!("{does} at {:#x}, which is not a multiple of {}", m.address, t.align)
        }
        Kind::ReadOnly if m.space == Space::Params => {
            format!("{verb} the kernel's parameters, which can't be written")
        }
        Kind::ReadOnly => format!("{verb} {of}, which is constant"),
        Kind::Freed => match (blocks.near(at), &m.allocation) {
            (Some(b), _) => {
                format!("{does}, {} of {}", count(at - b.at, "byte into a block"), count(b.bytes, "byte"))
                    + " that has been freed"
            }
            _ => format!("{does} in memory that has been freed: {}", launch.memory.describe_near(at)),
        },
        _ => {
            let Some(a) = &m.allocation else { return format!("{does}, and nothing is allocated") };
            if let Some(n) = before_space(m.space, m.address) {
                return format!("{does}, {} before the first of {} memory", count(n, "byte"), m.space.name());
            }
            let end = a.base.saturating_add(a.bytes);
            let last = m.address.saturating_add(bytes.into());
            let where_ = if m.address >= end {
                match m.address - end {
                    0 => format!("right past the end of {of}"),
                    n => format!("{} past the end of {of}", count(n, "byte")),
                }
            } else if m.address < a.base {
                match a.base - m.address {
                    n if n == u64::from(bytes) => format!("right before {of}"),
                    n => format!("{} before {of}", count(n, "byte")),
                }
            } else {
                format!("{} of them past the end of {of}", last - end.min(last))
            };
            format!("{does}, {where_}")
        }
    }
}

/// How many bytes an address lies before the first one of its space, whose addresses begin at 0: an offset
/// below 0, as far as instructions have bits for it.
fn before_space(space: Space, address: u64) -> Option<u64> {
    let size = match space {
        Space::Shared => u128::from(window::CTA),
        Space::Local => 1 << 64,
        _ => return None,
    };
    let before = size.checked_sub(u128::from(address))?;
    (before < size / 2).then_some(before as u64)
}

/// The name of an allocation, in backquotes.
fn name(a: &prlx_trace::check::Allocation) -> String {
    // Descriptions have spaces, names have none.
    if a.name.contains(' ') { a.name.clone() } else { format!("`{}`", a.name) }
}

/// `1 byte`, `4 bytes`.
fn count(n: u64, one: &str) -> String {
    let (first, rest) = one.split_once(' ').map_or((one, String::new()), |(f, r)| (f, format!(" {r}")));
    format!("{n} {first}{}{rest}", if n == 1 { "" } else { "s" })
}
