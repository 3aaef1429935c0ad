//! mbarriers: 64-bit objects in shared memory that count arrivals and bytes, phase by phase.
//!
//! PTX leaves the layout open. This device uses bit 63 for the parity of the phase, then 20 bits each for
//! expected and pending arrivals, then 22 bits for pending bytes, offset so that 0 lies in the middle.

use crate::code::{AddrSpace, MbarrierKind, MbarrierOp, window};
use crate::error::{EmuError, invalid};
use crate::exec::cta_state::CtaState;
use crate::exec::launch::Launch;
use crate::exec::warp_state::{Warp, visible_memory};
use crate::mem::Region;
use crate::mem::access::{self, AccessError, VisibleMemory};
use prlx_lanes::Planes;

/// The largest count of arrivals.
const COUNT: u64 = (1 << 20) - 1;
/// The value of the byte field that means 0.
const TX_ZERO: u64 = 1 << 21;
/// The bits of the byte field.
const TX: u64 = (1 << 22) - 1;

/// An mbarrier, unpacked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MbarrierState {
    parity: bool,
    expected: u32,
    pending: u32,
    bytes: i32,
}

impl MbarrierState {
    /// Unpacks the 64 bits of an mbarrier.
    pub fn read(v: u64) -> MbarrierState {
        MbarrierState {
            parity: v >> 63 == 1,
            expected: (v >> 42 & COUNT) as u32,
            pending: (v >> 22 & COUNT) as u32,
            bytes: (v & TX) as i32 - TX_ZERO as i32,
        }
    }
    fn bits(self) -> u64 {
        u64::from(self.parity) << 63
            | (u64::from(self.expected) & COUNT) << 42
            | (u64::from(self.pending) & COUNT) << 22
            | ((i64::from(self.bytes) + TX_ZERO as i64) as u64 & TX)
    }
    /// Begins the next phase if this one is complete.
    fn advance_phase(mut self) -> MbarrierState {
        if self.pending == 0 && self.bytes == 0 {
            self.parity = !self.parity;
            self.pending = self.expected;
        }
        self
    }
    fn arrive(mut self, n: u32, drop: bool) -> Result<MbarrierState, EmuError> {
        if n > self.pending {
            return Err(invalid(format!("at which {n} arrive where {} are awaited", self.pending)));
        }
        self.pending -= n;
        if drop {
            self.expected = self.expected.saturating_sub(n);
        }
        Ok(self.advance_phase())
    }
    /// The parity of the phase that is not complete.
    pub fn parity(self) -> bool {
        self.parity
    }
    /// Whether the phase with this parity is complete.
    pub fn passed(self, parity: bool) -> bool {
        self.parity != parity
    }
    /// Bytes beyond those that the phase expects, once all threads have arrived.
    pub fn excess(self) -> u32 {
        if self.pending == 0 { self.bytes.min(0).unsigned_abs() } else { 0 }
    }
    /// What the phase still waits for: the end of a sentence about the mbarrier.
    pub fn missing(self) -> String {
        let arrivals = (self.pending > 0).then(|| format!("{} of {} arrivals", self.pending, self.expected));
        let bytes = (self.bytes > 0).then(|| format!("{} bytes", self.bytes));
        let parts: Vec<String> = arrivals.into_iter().chain(bytes).collect();
        if parts.is_empty() {
            "whose next phase has not begun".into()
        } else {
            format!("which lacks {}", parts.join(" and "))
        }
    }
    /// The bits of the mbarrier when the phase awaits `n` more arrivals.
    fn with_pending(mut self, n: u32) -> Result<u64, EmuError> {
        self.pending += n;
        if self.pending > COUNT as u32 { Err(invalid("at which too many arrive")) } else { Ok(self.bits()) }
    }
    fn expect(mut self, bytes: i32) -> MbarrierState {
        self.bytes = self.bytes.wrapping_add(bytes);
        self
    }
}

/// The operand of a lane: count, bytes, state or parity.
pub fn operand(bar: &MbarrierOp, planes: &Planes, l: usize) -> Option<u64> {
    bar.value.map(|p| access::value(planes, p, l))
}

/// The parity of the phase that the test of a lane waits for.
pub fn phase(bar: &MbarrierOp, planes: &Planes, l: usize) -> bool {
    let v = operand(bar, planes, l).unwrap_or(0);
    if matches!(bar.kind, MbarrierKind::Test { parity: true, .. }) {
        v & 1 == 1
    } else {
        MbarrierState::read(v).parity
    }
}

/// The bits of an mbarrier after an operation.
///
/// # Errors
/// What is wrong with the operation: the end of a sentence after "uses an mbarrier".
pub fn after(kind: MbarrierKind, old: u64, operand: Option<u64>) -> Result<u64, EmuError> {
    let (state, count) = (MbarrierState::read(old), operand.unwrap_or(1) as u32);
    let new = match kind {
        MbarrierKind::Init if !(1..=COUNT as u32).contains(&count) => {
            return Err(invalid(format!("with a count of {count}")));
        }
        MbarrierKind::Init => MbarrierState { parity: false, expected: count, pending: count, bytes: 0 },
        MbarrierKind::Invalidate => MbarrierState { parity: false, expected: 0, pending: 0, bytes: 0 },
        MbarrierKind::Arrive { drop } => state.arrive(count, drop)?,
        MbarrierKind::ArriveExpect { drop } => state.expect(count as i32).arrive(1, drop)?,
        // The counted form raises the count by one before it arrives.
        MbarrierKind::ArriveCopies { counted: true } => state,
        MbarrierKind::ArriveCopies { counted: false } => state.arrive(1, false)?,
        MbarrierKind::Expect => state.expect(count as i32),
        MbarrierKind::Complete => state.expect((count as i32).wrapping_neg()).advance_phase(),
        MbarrierKind::Test { .. } | MbarrierKind::Pending => state,
    };
    // An operation without effect keeps the bits, even if they are no valid mbarrier.
    Ok(if new == state { old } else { new.bits() })
}

impl Warp {
    /// Runs an mbarrier operation, lane by lane.
    pub(crate) fn mbarrier(
        &mut self,
        launch: &Launch<'_>,
        cta: &CtaState,
        bar: &MbarrierOp,
        m: u32,
        step: u32,
    ) -> Result<(), Box<AccessError>> {
        let Some(mem) = &bar.mem else {
            access::each(m, |l| {
                let pending = MbarrierState::read(operand(bar, &self.planes, l).unwrap_or(0)).pending;
                if let Some(d) = bar.result {
                    self.planes.w32[usize::from(d)].0[l] = pending;
                }
            });
            return Ok(());
        };
        // Under a hostile schedule copies may be in flight: the lane arrives when they are complete.
        let late = match bar.kind {
            MbarrierKind::ArriveCopies { counted } if launch.config.seed != 0 => Some(counted),
            _ => None,
        };
        if late.is_some() {
            let at =
                std::array::from_fn(|l| cluster_address(mem.space, access::address_of(&self.planes, mem, l)));
            self.arrive_after_copies(m, &at, step);
        }
        let r = visible_memory(launch, cta, &self.local);
        let (mut results, mut wrong) = ([0u64; prlx_lanes::LANES], None);
        access::each_place(&self.planes, &r, &mut self.allocation_hint, mem, m, |l, region, at| {
            let old = region.load64(at);
            results[l] = old;
            if matches!(bar.kind, MbarrierKind::Test { .. }) {
                results[l] = MbarrierState::read(old).passed(phase(bar, &self.planes, l)).into();
            }
            let new = match late {
                Some(counted) => MbarrierState::read(old).with_pending(counted.into()),
                None => after(bar.kind, old, operand(bar, &self.planes, l)),
            };
            match new {
                Ok(new) if new != old => region.store64(at, new),
                Ok(_) => {}
                Err(text) => wrong = wrong.take().or(Some((l, text))),
            }
        })?;
        if let Some((l, text)) = wrong {
            return Err(Box::new(AccessError { lane: l as u32, text: text.into() }));
        }
        if let Some(d) = bar.result {
            match bar.kind {
                MbarrierKind::Test { .. } => {
                    let v = results.iter().enumerate().fold(0, |v, (l, &r)| v | (r as u32 & 1) << l);
                    self.planes.put_pred(d, m, v);
                }
                _ => access::each(m, |l| self.planes.w64[usize::from(d)].0[l] = results[l]),
            }
        }
        Ok(())
    }
}

/// An address in `.shared::cluster`.
pub(crate) fn cluster_address(space: AddrSpace, at: u64) -> u64 {
    if space == AddrSpace::Generic { at.wrapping_sub(window::SHARED) } else { at }
}

/// Arrives once at the mbarrier at an address of the cluster.
///
/// # Errors
/// There is no mbarrier, or its phase awaits no arrival.
pub fn arrive(r: &VisibleMemory<'_>, at: u64) -> Result<(), EmuError> {
    let found = access::range(r, AddrSpace::Cluster, 0, at, 8).filter(|_| at.is_multiple_of(8));
    let (region, off) = found.ok_or_else(|| invalid(format!("at {at:#x}, where none is")))?;
    let state = MbarrierState::read(region.load64(off)).arrive(1, false)?;
    region.store64(off, state.bits());
    Ok(())
}

/// Counts bytes that have arrived.
pub fn complete(region: &Region, at: u64, bytes: u32) {
    let state = MbarrierState::read(region.load64(at));
    region.store64(at, state.expect((bytes as i32).wrapping_neg()).advance_phase().bits());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases() {
        let s = MbarrierState { parity: false, expected: 3, pending: 3, bytes: 0 };
        assert_eq!(MbarrierState::read(s.bits()), s);
        let s = s.arrive(1, false).unwrap().expect(16).arrive(2, false).unwrap();
        assert_eq!((s.parity, s.pending, s.bytes), (false, 0, 16));
        assert_eq!(MbarrierState::read(s.bits()), s);
        let s = s.expect(-16).advance_phase();
        assert_eq!((s.parity, s.pending, s.bytes), (true, 3, 0));
        assert!(s.arrive(4, false).is_err());
        let early = MbarrierState { bytes: -48, ..s };
        assert_eq!(MbarrierState::read(early.bits()), early);
    }
}
