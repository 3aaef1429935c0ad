//! `cp.async` and `cp.async.bulk`: copies that may end late.
//!
//! Under the fair schedule a copy is done at once. Under a hostile one it may be done as late as the wait for its group (or
//! the lane's end), so that a missing wait shows.
//!
//! Misses: bulk copies are always done at once.

use crate::access::{self, Bad};
use crate::code::{Bulk, Copy, Mem};
use crate::cta::{Block, Launch};
use crate::planes::LANES;
use crate::warp::{Warp, reach};

/// A copy that was begun and not done.
#[derive(Clone, Copy, Debug)]
struct Pending {
    lane: u8,
    bytes: u8,
    taken: u8,
    group: u32,
    from: u64,
    to: u64,
}

/// A warp's copies.
#[derive(Clone, Debug, Default)]
pub struct Copies {
    pending: Vec<Pending>,
    /// By lane: groups so far.
    groups: [u32; LANES],
}

impl Copies {
    /// Ends the group of some lanes.
    pub fn commit(&mut self, m: u32) {
        access::each(m, |l| self.groups[l] += 1);
    }
}

impl Warp {
    /// By lane of `m`: how many bytes a copy takes; zeros fill the rest.
    pub(crate) fn taken(&self, copy: &Copy, m: u32) -> [u8; LANES] {
        let mut taken = [copy.dst.size; LANES];
        access::each(m, |l| {
            if let Some(p) = copy.size {
                taken[l] = self.planes.w32[usize::from(p)].0[l].min(copy.dst.size.into()) as u8;
            }
            if copy.ignore.is_some_and(|p| self.planes.get_pred(p) >> l & 1 == 1) {
                taken[l] = 0;
            }
        });
        taken
    }
    /// Begins a copy of each lane.
    pub(crate) fn copy(&mut self, launch: &Launch<'_>, block: &Block, copy: &Copy, m: u32) -> Result<(), Box<Bad>> {
        let bytes = copy.dst.size;
        let taken = self.taken(copy, m);
        // What is not read need not be there.
        let read = (0..LANES).fold(0, |r, l| r | u32::from(taken[l] > 0) << l) & m;
        let r = reach(launch, block, &self.local);
        let mut from = [0; LANES];
        access::each_place(&self.planes, &r, &mut self.hint, &copy.src, read, |l, _, _| {
            from[l] = access::address_of(&self.planes, &copy.src, l);
        })?;
        let mut to = [0; LANES];
        access::each_place(&self.planes, &r, &mut 0, &copy.dst, m, |l, _, at| to[l] = at)?;
        let late = launch.config.seed != 0
            && (launch.config.seed ^ block.clock).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 63 == 1;
        access::each(m, |l| {
            let p = Pending {
                lane: l as u8,
                bytes,
                taken: taken[l],
                group: self.copies.groups[l],
                from: from[l],
                to: to[l],
            };
            if late { self.copies.pending.push(p) } else { perform(launch, block, &p) }
        });
        Ok(())
    }
    /// Ends copies of some lanes: all but those of the last `left` groups; `u32::MAX`: all.
    pub(crate) fn copies_wait(&mut self, launch: &Launch<'_>, block: &Block, left: u32, m: u32) {
        if self.copies.pending.is_empty() {
            return;
        }
        let groups = self.copies.groups;
        self.copies.pending.retain(|p| {
            let l = usize::from(p.lane);
            let due = m >> l & 1 == 1 && (left == u32::MAX || p.group < groups[l].saturating_sub(left));
            if due {
                perform(launch, block, p);
            }
            !due
        });
    }
}

impl Warp {
    /// Copies a run of bytes for each lane.
    pub(crate) fn bulk(&mut self, launch: &Launch<'_>, block: &Block, op: &Bulk, m: u32) -> Result<(), Box<Bad>> {
        let r = reach(launch, block, &self.local);
        let mut wrong = None;
        access::each(m, |l| {
            let bytes = u64::from(self.planes.w32[usize::from(op.size)].0[l]);
            let place = |mem: &Mem| {
                let at = access::address_of(&self.planes, mem, l);
                access::run(&r, mem.place, at, bytes)
                    .ok_or_else(|| format!("{bytes} bytes at {at:#x}, which are not all there"))
            };
            let done = (|| {
                if !bytes.is_multiple_of(16) {
                    return Err(format!("{bytes} bytes, which is not a multiple of 16"));
                }
                let ((from, a), (to, b)) = (place(&op.src)?, place(&op.dst)?);
                if !a.is_multiple_of(16) || !b.is_multiple_of(16) {
                    return Err("from or to an address that is not a multiple of 16".into());
                }
                match op.reduce {
                    None => (0..bytes).step_by(8).for_each(|i| to.store64(b + i, from.load64(a + i))),
                    Some((rmw, size)) => (0..bytes).step_by(size.into()).for_each(|i| {
                        let v = from.load(a + i, size);
                        to.update(b + i, size, |old| access::rmw(rmw, size, old, v, 0));
                    }),
                }
                Ok(())
            })();
            if let Err(text) = done {
                wrong = wrong.take().or(Some(Bad { lane: l as u32, text }));
            }
        });
        if let Some(bad) = wrong {
            return Err(Box::new(bad));
        }
        let Some(mem) = &op.mbarrier else { return Ok(()) };
        let mut counts = [0; LANES];
        access::each(m, |l| counts[l] = self.planes.w32[usize::from(op.size)].0[l]);
        access::each_place(&self.planes, &r, &mut self.hint, mem, m, |l, region, at| {
            crate::mbarrier::complete(region, at, counts[l]);
        })
    }
}

fn perform(launch: &Launch<'_>, block: &Block, p: &Pending) {
    let mut data = [0; 16];
    let data = &mut data[..usize::from(p.bytes)];
    // Both places were checked when the copy began, and allocations do not go away during a launch.
    if let Some((region, off)) = launch.memory.range(p.from, p.taken.into()) {
        region.read(off, &mut data[..usize::from(p.taken)]);
    }
    block.shared.write(p.to, data);
}
