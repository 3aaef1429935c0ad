//! Values of both sides in a form in which they can be compared: an address is a place in a named buffer.

use prlx_trace::check::Space;

use super::flow::{At, Flow, Source};

/// A value that compares between sides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Canonical {
    /// Bits that are no address of a known buffer.
    Bits(u64),
    /// A place in a buffer or shared variable: its name, and the offset in bytes.
    Place(String, u64),
}

impl Canonical {
    /// An address, as a place in the buffer that holds it.
    pub fn of_address(flow: &Flow<'_>, space: Space, address: u64) -> Canonical {
        match flow.place_of(space, address) {
            Some((name, offset)) => Canonical::Place(name.to_owned(), offset),
            None => Canonical::Bits(address),
        }
    }
}

/// The value of a source of `bits` bits; `None` if it is not known.
pub(super) fn canonical(flow: &Flow<'_>, source: &Source, user: At, bits: u32) -> Option<Canonical> {
    let value = flow.value(source, user)?;
    let wide = match source {
        Source::Result(at, n) => {
            let register = flow.instruction(*at).and_then(|i| i.results.get(*n).copied());
            register.and_then(|r| flow.data.registers.get(r as usize)).map_or(bits, |r| r.ty.bits())
        }
        _ => bits,
    };
    let low = if wide >= 64 { value } else { value & ((1 << wide) - 1) };
    match wide {
        64 if low > u64::from(u32::MAX) => Some(Canonical::of_address(flow, Space::Global, low)),
        _ => Some(Canonical::Bits(low)),
    }
}

/// Whether two words are the lower halves of one address: that of the same place of a buffer, which lies
/// elsewhere on each side. Machine code computes the halves of an address one by one.
pub(super) fn same_half(flows: [&Flow<'_>; 2], values: [&Canonical; 2]) -> bool {
    let [Canonical::Bits(a), Canonical::Bits(b)] = values else { return false };
    let (Ok(a), Ok(b)) = (u32::try_from(*a), u32::try_from(*b)) else { return false };
    let places = |side: usize, low: u32| {
        let buffers = flows[side].data.buffers.iter();
        let offsets = buffers.map(move |b| (b, low.wrapping_sub(b.base as u32)));
        let inside = offsets.filter(|(b, offset)| u64::from(*offset) < b.bytes);
        inside.map(|(b, offset)| (b.name.as_str(), offset))
    };
    a != b && places(0, a).any(|place| places(1, b).any(|other| other == place))
}

/// The name of the parameter at an offset of the parameter buffer.
pub(super) fn parameter(flow: &Flow<'_>, offset: u64) -> String {
    let params = &flow.data.params;
    let found =
        params.iter().position(|p| (u64::from(p.offset)..u64::from(p.offset + p.size)).contains(&offset));
    match found {
        Some(i) => {
            let rest = offset - u64::from(params[i].offset);
            let name = &params[i].name;
            if rest == 0 { name.clone() } else { format!("{name}+{rest}") }
        }
        None => format!("parameter at {offset}"),
    }
}
