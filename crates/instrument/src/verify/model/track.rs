//! The state of a lane's track: its cursor, its limit, and the registers that hold them.

use prlx_trace::device::TrackHead;
use prlx_trace::device::tracks::{LANE_BIT, LAST, Layout, SLOT};

use crate::verify::machine::mix;

/// A cursor position that is never reached.
pub(in crate::verify) const NEVER: u32 = u32::MAX;

/// State of a lane's track.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::verify) struct Track {
    /// Address of the next slot; only its low half advances.
    pub at: u64,
    /// Low half of the region's end; 0: the lane has no track.
    pub limit: u32,
    /// Result of the last test for room.
    pub room: bool,
    /// Low half of the address from which the next anchor is due.
    pub next: u32,
    /// Rings: number of wrap-arounds.
    pub turn: u32,
    /// Rings: the lane, as entries encode it.
    pub who: u32,
}

impl Track {
    /// A state that a lane may be in: with or without `region`, with much room, little, or none.
    pub fn sample(seed: u64, region: u64, log: u32, layout: &Layout, lane: u32) -> Track {
        let end = (region as u32).wrapping_add(1 << log);
        let first = (region as u32).wrapping_add(TrackHead::SIZE as u32);
        // Without a track there is never room.
        let room = mix(seed) & 1 == 1 && !seed.is_multiple_of(5);
        let (low, limit) = match seed % 5 {
            0 => ((mix(seed) as u32).min(LAST) & !7, 0),
            1 => (end - 8 * (mix(seed) % 3) as u32, end),
            2 if seed.is_multiple_of(2) => (LAST, end),
            2 => (end + 8 * (mix(seed) % 64) as u32, end),
            _ => (first, end),
        };
        let at = |low: u32| region >> 32 << 32 | u64::from(low);
        let Some(ring) = layout.ring() else {
            let next = match mix(seed + 9) % 4 {
                _ if limit == 0 => NEVER,
                0 => NEVER,
                1 => low,
                2 => low.wrapping_sub(8),
                _ => low.saturating_add(8),
            };
            return Track { at: at(low), limit, room, next, ..Track::default() };
        };
        // The last entry of the ring, or any other.
        let entry = if seed.is_multiple_of(3) { ring.entries - 1 } else { mix(seed) % ring.entries };
        let there = limit != 0;
        Track {
            at: if there { at(first + (entry * ring.entry) as u32) } else { 0 },
            limit,
            room: there,
            next: NEVER,
            turn: mix(seed * 3) as u32,
            who: if there { lane << LANE_BIT } else { 0 },
        }
    }
    /// Its registers: name, size in bytes, value.
    pub fn registers(self) -> [(&'static str, u64, u64); 6] {
        [
            ("at", 8, self.at),
            ("limit", 4, self.limit.into()),
            ("room", 4, self.room.into()),
            ("next", 4, self.next.into()),
            ("turn", 4, self.turn.into()),
            ("who", 4, self.who.into()),
        ]
    }
    /// Value of a register with a number: the number in a lane with a track, 0 in others.
    pub fn tag(self, number: u32) -> u64 {
        if self.limit == 0 { 0 } else { number.into() }
    }
    /// Value of a register with a distance.
    pub fn step(self, slots: u32) -> u64 {
        u64::from(slots + u32::from(self.limit == 0)) * SLOT
    }
}
