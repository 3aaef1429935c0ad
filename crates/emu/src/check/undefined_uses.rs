//! Uses of undefined values and of memory that nothing wrote, as findings of the check for uninitialised
//! values.

use prlx_trace::check::{Kind, Side};

use crate::exec::launch::Launch;
use crate::mem::access::{VisibleMemory, each};

use super::accesses::{self, WarpAccess};
use super::findings::{self, CheckContext, WarpStep};
use super::undefined::{MemoryOrigin, Origin, Undefined};

/// The lanes of an access to bytes of which some are undefined.
pub fn undefined_lanes(memory: &Undefined, r: &VisibleMemory<'_>, t: &WarpAccess, m: u32) -> u32 {
    if let Some((region, first, last)) = t.span(r, t.lanes & m)
        && memory.of(region).is_none_or(|bits| bits.are_defined(first, last))
    {
        return 0;
    }
    let (mut lanes, mut hint, mut last) = (0, 0, None);
    each(t.lanes & m, |l| {
        let Some((region, at)) = t.near(r, l, &mut hint) else { return };
        let (_, bits) = match last.filter(|(id, _)| *id == region.id()) {
            Some(last) => last,
            None => *last.insert((region.id(), memory.of(region))),
        };
        lanes |= u32::from(bits.is_some_and(|bits| bits.get(at, t.bytes[l]) != 0)) << l;
    });
    lanes
}

/// Marks the bytes of an access as defined.
pub fn define(memory: &mut Undefined, r: &VisibleMemory<'_>, t: &WarpAccess, m: u32) {
    let mut hint = 0;
    each(t.lanes & m, |l| {
        if let Some((region, at)) = t.near(r, l, &mut hint) {
            memory.define(region, at, t.bytes[l].into());
        }
    });
}

/// An update of memory that reads the old value, unless the value is `exchanged`.
pub fn update(
    memory: &mut Undefined,
    cx: &mut CheckContext<'_, '_>,
    r: &VisibleMemory<'_>,
    t: &WarpAccess,
    m: u32,
    exchanged: bool,
) {
    let mut undefined = 0;
    each(t.lanes & m, |l| {
        let Some((region, at)) = t.at(r, l) else { return };
        if memory.get(region, at, t.bytes[l]) != 0 {
            undefined |= u32::from(!exchanged) << l;
            memory.define(region, at, t.bytes[l].into());
        }
    });
    if undefined != 0 {
        let (launch, who) = (cx.launch, WarpStep { lanes: undefined, ..cx.who });
        cx.log.add(launch, Kind::UndefinedUpdate, who, None, 0, || {
            let l = undefined.trailing_zeros() as usize;
            let what = format!(
                "{} {} bytes of {} memory that nothing wrote",
                t.kind.verb(),
                t.bytes[l],
                accesses::space(t.space, t.addr.0[l]).name()
            );
            let memory = Some(findings::memory(launch, t, l));
            findings::finding(
                Kind::UndefinedUpdate,
                what,
                vec![Side { memory, ..findings::side(launch, "this update", who) }],
            )
        });
    }
}

/// Reports a use of a value of this origin by these lanes.
pub fn report(
    cx: &mut CheckContext<'_, '_>,
    kind: Kind,
    lanes: u32,
    origin: Origin,
    touch: Option<&WarpAccess>,
) {
    let (launch, facts, who) = (cx.launch, cx.facts, WarpStep { lanes, ..cx.who });
    let other = match origin {
        Origin::Memory(origin) => Some(origin.by.step),
        Origin::Register(_) => None,
    };
    cx.log.add(launch, kind, who, other, 0, || {
        let name = |reg| format!("`{}`", facts.name(launch, reg));
        let from = match origin {
            Origin::Memory(..) => "comes from memory that nothing wrote".to_owned(),
            Origin::Register(r) => format!("comes from register {}, which nothing set", name(r)),
        };
        let (what, role) = match kind {
            Kind::UndefinedBranch => (format!("decides by a value that {from}"), "decided here"),
            Kind::UndefinedAddress => {
                (format!("takes its address from a value that {from}"), "used as an address here")
            }
            Kind::UndefinedCopy => (
                "copies bytes that nothing wrote, as those between the fields of a structure".into(),
                "stored here",
            ),
            _ => (format!("stores a value that {from}"), "stored here"),
        };
        let mut first = findings::side(launch, role, who);
        first.memory = touch.map(|t| findings::memory(launch, t, lanes.trailing_zeros() as usize));
        let mut sides = vec![first];
        if let Origin::Memory(origin) = origin {
            sides.push(read_side(launch, &origin));
        }
        findings::finding(kind, what, sides)
    });
}

/// The read of memory that nothing wrote, with the bytes in question.
fn read_side(launch: &Launch<'_>, origin: &MemoryOrigin) -> Side {
    let (space, address) =
        (accesses::space(origin.space, origin.at), accesses::within(origin.space, origin.at));
    let allocation = findings::allocation(launch, space, address);
    let memory = Some(prlx_trace::check::Memory { space, address, bytes: origin.bytes, allocation });
    let role = match origin.which() {
        all if all.is_empty() => "read here, where nothing had been written".to_owned(),
        which => format!("read here, where nothing had written {which}"),
    };
    Side { memory, ..findings::side(launch, &role, origin.by) }
}
