//! The events of a frame's warps, in columns.

use super::columns::{differences, put_column, take_planes};
use crate::Error;
use crate::codec::{Reader, put_number};
use crate::ids::{LaneMask, SiteId};
use crate::launch::Event;
use crate::narrow::low32;

/// Appends events. Returns the size of `out` before their clocks.
pub(super) fn put_events(out: &mut Vec<u8>, warps: &[&[Event]]) -> usize {
    warps.iter().for_each(|events| put_number(out, events.len() as u64));
    let all: Vec<Event> = warps.iter().copied().flatten().copied().collect();
    put_column(out, all.iter().map(|e| e.site.0.to_le_bytes()));
    put_column(out, differences(&all.iter().map(|e| e.mask.0.to_le_bytes()).collect::<Vec<_>>()));
    put_column(out, all.iter().map(|e| e.value.to_le_bytes()));
    let size = out.len();
    let mut before = 0;
    let clocks = all.iter().map(|e| e.clock.wrapping_sub(std::mem::replace(&mut before, e.clock)));
    put_column(out, clocks.map(u32::to_le_bytes));
    size
}

/// Number of events that are read at once.
pub(super) const EVENTS: usize = 256;

/// Reads `n` elements of a column, from `from` on. The loop over one plane becomes vector code.
fn gather<const N: usize>(planes: &[&[u8]; N], from: usize, n: usize, to: &mut [u64; EVENTS]) {
    to.fill(0);
    for (plane, shift) in planes.iter().zip((0..).step_by(8)) {
        let bytes = plane.get(from..).unwrap_or_default();
        to.iter_mut().zip(bytes).take(n).for_each(|(to, byte)| *to |= u64::from(*byte) << shift);
    }
}

/// Reads events back, warp by warp.
pub(super) fn take_events(from: &mut Reader<'_>, warps: usize) -> Result<Vec<Vec<Event>>, Error> {
    let counts = (0..warps).map(|_| from.count(1)).collect::<Result<Vec<usize>, Error>>()?;
    let n = counts.iter().sum();
    // Events are made from the bytes of the file at once: columns of a long stream would take as much again.
    let sites = take_planes::<4>(from, n)?;
    let masks = take_planes::<8>(from, n)?;
    let values = take_planes::<8>(from, n)?;
    let clocks = take_planes::<4>(from, n)?;
    let (mut clock, mut mask) = (0u32, 0);
    let mut block = [[0; EVENTS]; 4];
    let mut from = 0;
    let mut of_warp = |n: usize| {
        let mut events = Vec::with_capacity(n);
        while events.len() < n {
            let some = EVENTS.min(n - events.len());
            let [site, change, value, later] = &mut block;
            gather(&sites, from, some, site);
            gather(&masks, from, some, change);
            gather(&values, from, some, value);
            gather(&clocks, from, some, later);
            from += some;
            let columns = site.iter().zip(change).zip(value.iter().zip(later)).take(some);
            events.extend(columns.map(|((site, change), (value, later))| {
                clock = clock.wrapping_add(low32(*later));
                mask ^= *change;
                Event { site: SiteId(low32(*site)), mask: LaneMask(mask), value: *value, clock }
            }));
        }
        events
    };
    Ok(counts.into_iter().map(&mut of_warp).collect())
}
