//! Bulk and tensor copies, which the copy engine of the CTA performs while its threads continue; `st.async`
//! and `red.async`.
//!
//! Under the fair schedule a copy is complete when it begins. Under a hostile schedule the source is read and
//! the destination is written at two seeded points after that, in any order among copies. The latest point is
//! the wait for the copy's group (for `.read`, only the source is read by then), the end of the CTA, or the
//! barrier of the cluster. A wait for an mbarrier lasts until the bytes have been counted there.
//!
//! # Limitations
//! A fault of a copy is reported when the copy is performed, not when it begins.

use crate::code::{
    AddrSpace, AsyncStore, AsyncStoreKind, BulkCopy, MemAccess, Op, Plane, TensorCopy, TensorMapEdit,
    TensorMapOp, window,
};
use crate::copies::mbarrier;
use crate::copies::state::Transfer;
use crate::copies::state::TransferKind;
use crate::copies::tensor::{self, Tile};
use crate::error::{EmuError, invalid};
use crate::exec::cta_state::CtaState;
use crate::exec::fault::Fault;
use crate::exec::launch::Launch;
use crate::exec::rng::Rng;
use crate::exec::warp_state::{Warp, visible_memory};
use crate::mem::Region;
use crate::mem::access::{self, VisibleMemory};
use prlx_lanes::LANES;

/// The most copies in flight of a CTA; the oldest is performed when there are more.
const MAX_TRANSFERS: usize = 256;

/// The memory that bulk copies access: no local memory.
fn bulk_memory<'a>(launch: &'a Launch<'_>, cta: &'a CtaState) -> VisibleMemory<'a> {
    VisibleMemory { stride: 0, ..visible_memory(launch, cta, launch.params) }
}

impl Transfer {
    /// Reads the source, if it has not been read.
    fn read(&mut self, launch: &Launch<'_>, cta: &CtaState) -> Result<(), EmuError> {
        if self.data.is_some() {
            return Ok(());
        }
        let r = bulk_memory(launch, cta);
        self.data = Some(match &self.kind {
            TransferKind::Run { from: (space, at), to, bytes, .. } => {
                // Shared memory, on one side or the other, bounds what is allocated here.
                range(&r, to.0, to.1, *bytes)?;
                let (region, off) = range(&r, *space, *at, *bytes)?;
                let mut data = vec![0; *bytes as usize];
                region.read(off, &mut data);
                data
            }
            TransferKind::Load { tile, .. } => {
                check_tile_size(tile, cta)?;
                tile.read(launch.memory)?
            }
            TransferKind::Store { tile, from, .. } => {
                check_tile_size(tile, cta)?;
                let (region, off) = range(&r, AddrSpace::Shared, *from, tile.bytes())?;
                let mut data = vec![0; tile.bytes() as usize];
                tile.pieces(off, |at, i| region.read(at, &mut data[i..i + 16]));
                data
            }
            // The elements were read when the store began.
            TransferKind::Send { .. } => Vec::new(),
        });
        Ok(())
    }
    /// Writes the destination and counts the bytes.
    fn write(mut self, launch: &Launch<'_>, cta: &CtaState) -> Result<(), EmuError> {
        self.read(launch, cta)?;
        let (r, data) = (bulk_memory(launch, cta), self.data.take().unwrap_or_default());
        match &self.kind {
            TransferKind::Run { to: (space, at), bytes, reduce, .. } => {
                let places = if self.ranks.is_some() { targets(self.ranks, *at) } else { vec![*at] };
                for at in places {
                    let (region, off) = range(&r, *space, at, *bytes)?;
                    match reduce {
                        None => region.write(off, &data),
                        Some((rmw, size)) => tensor::reduce_into(region, off, &data, *rmw, *size),
                    }
                }
            }
            TransferKind::Load { tile, to } => {
                for at in targets(self.ranks, *to) {
                    let (region, off) = range(&r, AddrSpace::Cluster, at, tile.bytes())?;
                    tile.pieces(off, |at, i| region.write(at, &data[i..i + 16]));
                }
            }
            TransferKind::Store { tile, reduce, .. } => tile.write(launch.memory, &data, *reduce)?,
            TransferKind::Send { to, reduce } => {
                let (region, off) = range(&r, AddrSpace::Cluster, *to, data.len() as u64)?;
                match reduce {
                    None => region.write(off, &data),
                    Some((rmw, size)) => tensor::reduce_into(region, off, &data, *rmw, *size),
                }
            }
        }
        if let Some(at) = self.mbarrier {
            for at in targets(self.ranks, at) {
                let (region, off) = range(&r, AddrSpace::Cluster, at, 8)?;
                mbarrier::complete(region, off, data.len() as u32);
            }
        }
        Ok(())
    }
    /// The verb that describes the copy in messages.
    fn verb(&self) -> &'static str {
        if matches!(self.kind, TransferKind::Send { .. }) { "sends" } else { "copies" }
    }
    fn fault(&self, error: &EmuError) -> (usize, Box<Fault>) {
        (self.warp as usize, Fault::new(self.step, self.lane, format!("{} {error}", self.verb())))
    }
}

/// The address in the shared memory of each CTA that receives a copy: the CTAs of `ranks`, or the CTA of the
/// address.
pub fn targets(ranks: Option<u16>, at: u64) -> Vec<u64> {
    let Some(ranks) = ranks else { return vec![at] };
    let each = (0..16).filter(|r| ranks >> r & 1 == 1);
    each.map(|r: u64| (r + 1) * window::CTA + at % window::CTA).collect()
}

/// The region of a range of bytes, and its offset there.
fn range<'a>(
    r: &VisibleMemory<'a>,
    space: AddrSpace,
    at: u64,
    bytes: u64,
) -> Result<(&'a Region, u64), EmuError> {
    access::range(r, space, 0, at, bytes)
        .ok_or_else(|| invalid(format!("{bytes} bytes at {at:#x}, which are not all there")))
}

/// Refuses tiles that are larger than shared memory.
fn check_tile_size(tile: &Tile, cta: &CtaState) -> Result<(), EmuError> {
    let (bytes, room) = (tile.bytes(), cta.shared.len());
    if bytes <= room {
        Ok(())
    } else {
        Err(invalid(format!("a tile of {bytes} bytes; there are {room} bytes of shared memory")))
    }
}

impl CtaState {
    /// Reads or writes for a random copy in flight, under a hostile schedule.
    ///
    /// # Errors
    /// A fault of the copy, with the number of the warp that began it.
    pub fn advance_transfers(
        &mut self,
        launch: &Launch<'_>,
        rng: &mut Rng,
    ) -> Result<(), (usize, Box<Fault>)> {
        if self.transfers.is_empty() || rng.below(4) != 0 {
            return Ok(());
        }
        let i = rng.below(self.transfers.len() as u32) as usize;
        let mut next = self.transfers.swap_remove(i);
        let read = next.data.is_none();
        next.read(launch, self).map_err(|e| next.fault(&e))?;
        if read && rng.below(2) == 0 {
            self.transfers.push(next);
            return Ok(());
        }
        self.finish_transfer(launch, next)
    }
    /// Begins a copy. The fair schedule performs it at once.
    fn begin_transfer(&mut self, launch: &Launch<'_>, t: Transfer) -> Result<(), (usize, Box<Fault>)> {
        if launch.config.seed == 0 {
            return self.finish_transfer(launch, t);
        }
        self.transfers.push(t);
        if self.transfers.len() > MAX_TRANSFERS {
            let oldest = self.transfers.remove(0);
            return self.finish_transfer(launch, oldest);
        }
        Ok(())
    }
    /// Performs all copies in flight.
    ///
    /// # Errors
    /// A fault of a copy, with the number of the warp that began it.
    pub fn finish_transfers(&mut self, launch: &Launch<'_>) -> Result<(), (usize, Box<Fault>)> {
        for t in std::mem::take(&mut self.transfers) {
            self.finish_transfer(launch, t)?;
        }
        Ok(())
    }
    fn finish_transfer(&self, launch: &Launch<'_>, t: Transfer) -> Result<(), (usize, Box<Fault>)> {
        let (warp, lane, step, verb) = (t.warp as usize, t.lane, t.step, t.verb());
        t.write(launch, self).map_err(|e| (warp, Fault::new(step, lane, format!("{verb} {e}"))))
    }
}

impl Warp {
    /// Begins a copy of a range of bytes for each lane.
    pub(crate) fn begin_bulk_copies(
        &mut self,
        launch: &Launch<'_>,
        cta: &mut CtaState,
        op: &BulkCopy,
        m: u32,
        step: u32,
    ) -> Result<(), Box<Fault>> {
        let mut todo = Vec::new();
        access::each(m, |l| {
            let bytes = u64::from(self.planes.w32[usize::from(op.size)].0[l]);
            let [from, to] =
                [&op.src, &op.dst].map(|mem| (mem.space, access::address_of(&self.planes, mem, l)));
            let kind = TransferKind::Run { from, to, bytes, reduce: op.reduce };
            let wrong = if !bytes.is_multiple_of(16) {
                Some(format!("{bytes} bytes, which is not a multiple of 16"))
            } else if !from.1.is_multiple_of(16) || !to.1.is_multiple_of(16) {
                Some("from or to an address that is not a multiple of 16".into())
            } else {
                None
            };
            todo.push((l, kind, wrong));
        });
        let more = (op.mbarrier.as_ref(), op.multicast);
        todo.into_iter()
            .try_for_each(|(l, kind, wrong)| self.start_transfer(launch, cta, (l, step), kind, more, wrong))
    }
    /// Begins a copy of a tile for each lane.
    pub(crate) fn begin_tensor_copies(
        &mut self,
        launch: &Launch<'_>,
        cta: &mut CtaState,
        op: &TensorCopy,
        m: u32,
        step: u32,
    ) -> Result<(), Box<Fault>> {
        let mut todo = Vec::new();
        access::each(m, |l| {
            let shared = access::address_of(&self.planes, &op.shared, l);
            let tile = self.tile(&bulk_memory(launch, cta), op, l).and_then(|tile| {
                match shared.is_multiple_of(128) {
                    true => Ok(tile),
                    false => Err(invalid(format!(
                        "a tile at {shared:#x} of shared memory, which is not a multiple of 128"
                    ))),
                }
            });
            todo.push((l, shared, tile));
        });
        let more = (op.mbarrier.as_ref(), op.multicast);
        for (l, at, tile) in todo {
            let tile = tile.map_err(|e| Fault::new(step, l as u32, format!("copies {e}")))?;
            let kind = if op.load {
                TransferKind::Load { tile, to: at }
            } else {
                TransferKind::Store { tile, from: at, reduce: op.reduce }
            };
            self.start_transfer(launch, cta, (l, step), kind, more, None)?;
        }
        Ok(())
    }
    /// The tile that a lane copies.
    ///
    /// # Errors
    /// The tensor map or an address is invalid.
    pub(crate) fn tile(&self, r: &VisibleMemory<'_>, op: &TensorCopy, l: usize) -> Result<Tile, EmuError> {
        let at = access::address_of(&self.planes, &op.map, l);
        let coordinates: Vec<i32> =
            op.at.iter().map(|&p| self.planes.w32[usize::from(p)].0[l] as i32).collect();
        let bytes = read_map(r, op.map.space, at)?;
        let tile =
            Tile::new(&bytes, &coordinates).and_then(|tile| if op.load { Ok(tile) } else { tile.storable() });
        tile.map_err(|e| invalid(format!("by a tensor map at {at:#x}: {e}")))
    }
    fn start_transfer(
        &self,
        launch: &Launch<'_>,
        cta: &mut CtaState,
        (l, step): (usize, u32),
        kind: TransferKind,
        (mbarrier, ranks): (Option<&MemAccess>, Option<u16>),
        wrong: Option<String>,
    ) -> Result<(), Box<Fault>> {
        if let Some(text) = wrong {
            return Err(Fault::new(step, l as u32, format!("copies {text}")));
        }
        let t = Transfer {
            kind,
            warp: self.index,
            lane: l as u32,
            step,
            group: self.bulk_groups.0[l],
            mbarrier: mbarrier.map(|mem| access::address_of(&self.planes, mem, l)),
            ranks: ranks.map(|p| self.planes.w32[usize::from(p)].0[l] as u16),
            data: None,
        };
        cta.begin_transfer(launch, t).map_err(|(_, f)| f)
    }
    /// Stores elements of each lane in the shared memory of a CTA of the cluster. An mbarrier there counts
    /// the bytes.
    pub(crate) fn begin_async_stores(
        &mut self,
        launch: &Launch<'_>,
        cta: &mut CtaState,
        send: &AsyncStore,
        m: u32,
        step: u32,
    ) -> Result<(), Box<Fault>> {
        let (mem, values, reduce) = match &send.kind {
            AsyncStoreKind::Store(mem) => (mem, &mem.planes, None),
            AsyncStoreKind::Update(atom) => (&atom.mem, &atom.values, Some((atom.rmw, atom.mem.size))),
        };
        let bytes = u64::from(mem.size) * values.len() as u64;
        let mut hint = 0;
        for (mem, width) in [(mem, bytes), (&send.mbarrier, 8)] {
            let addresses = access::all_addresses(&self.planes, mem);
            access::fits(
                &visible_memory(launch, cta, &self.local),
                &mut hint,
                mem.space,
                &addresses,
                m,
                width,
            )
            .map_err(|bad| Fault::new(step, bad.lane, format!("sends {}", bad.text)))?;
        }
        let mut done = Ok(());
        access::each(m, |l| {
            let address = |mem: &MemAccess| {
                mbarrier::cluster_address(mem.space, access::address_of(&self.planes, mem, l))
            };
            let (to, counted) = (address(mem), address(&send.mbarrier));
            if done.is_ok() && to / window::CTA != counted / window::CTA {
                let text = "sends to one CTA's shared memory, and the bytes are to be counted in another's";
                done = Err(Fault::new(step, l as u32, text));
            }
            if done.is_err() {
                return;
            }
            let element = |&p: &Plane| access::value(&self.planes, p, l).to_le_bytes();
            let data = values.iter().flat_map(|p| element(p).into_iter().take(mem.size.into())).collect();
            let t = Transfer {
                kind: TransferKind::Send { to, reduce },
                warp: self.index,
                lane: l as u32,
                step,
                group: 0,
                mbarrier: Some(counted),
                ranks: None,
                data: Some(data),
            };
            done = cta.begin_transfer(launch, t).map_err(|(_, f)| f);
        });
        done
    }
    /// Counts the bytes of copies that a check has skipped, so that no thread waits for them forever.
    pub(crate) fn count_skipped_bytes(&self, launch: &Launch<'_>, cta: &CtaState, op: &Op, lanes: u32) {
        let (code, r) = (launch.code, bulk_memory(launch, cta));
        access::each(lanes, |l| {
            let (mem, bytes, ranks) = match *op {
                Op::BulkCopy(i) => {
                    let op = &code.bulks[i as usize];
                    (op.mbarrier.as_ref(), self.planes.w32[usize::from(op.size)].0[l], op.multicast)
                }
                Op::TensorCopy(i) => {
                    let op = &code.tensors[i as usize];
                    (op.mbarrier.as_ref(), self.tile(&r, op, l).map_or(0, |t| t.bytes() as u32), op.multicast)
                }
                _ => return,
            };
            let Some(mem) = mem else { return };
            let ranks = ranks.map(|p| self.planes.w32[usize::from(p)].0[l] as u16);
            for at in targets(ranks, access::address_of(&self.planes, mem, l)) {
                if let Some((region, off)) = access::range(&r, AddrSpace::Cluster, l, at, 8) {
                    mbarrier::complete(region, off, bytes);
                }
            }
        });
    }
    /// Performs the copies of some lanes, except those of their last `left` groups. With `read`, only reads
    /// their sources.
    pub(crate) fn wait_bulk_groups(
        &mut self,
        launch: &Launch<'_>,
        cta: &mut CtaState,
        left: u32,
        read: bool,
        m: u32,
    ) -> Result<(), Box<Fault>> {
        let due = |t: &Transfer| {
            let groups = self.bulk_groups.0[t.lane as usize & (LANES - 1)];
            t.warp == self.index
                && m >> t.lane & 1 == 1
                && t.mbarrier.is_none()
                && t.group + u64::from(left) < groups
        };
        let (now, mut rest): (Vec<Transfer>, Vec<Transfer>) =
            std::mem::take(&mut cta.transfers).into_iter().partition(due);
        for mut t in now {
            if read {
                t.read(launch, cta).map_err(|e| t.fault(&e).1)?;
                rest.push(t);
            } else {
                cta.finish_transfer(launch, t).map_err(|(_, f)| f)?;
            }
        }
        cta.transfers = rest;
        Ok(())
    }
}

impl Warp {
    /// Edits tensor maps: sets a field for each lane, or copies a map once for all lanes.
    pub(crate) fn edit_tensor_map(
        &mut self,
        launch: &Launch<'_>,
        cta: &CtaState,
        work: &TensorMapOp,
        m: u32,
        step: u32,
    ) -> Result<(), Box<Fault>> {
        let r = bulk_memory(launch, cta);
        let one = |l: usize| -> Result<(), EmuError> {
            let locate = |mem: &MemAccess| find_map(&r, mem.space, access::address_of(&self.planes, mem, l));
            let (region, off) = locate(&work.map)?;
            let mut bytes = [0; 128];
            match &work.kind {
                TensorMapEdit::Set(field, value) => {
                    region.read(off, &mut bytes);
                    field.set(&mut bytes, access::value(&self.planes, *value, l));
                }
                TensorMapEdit::Copy(from) => {
                    let (source, at) = locate(from)?;
                    source.read(at, &mut bytes);
                }
            }
            region.write(off, &bytes);
            Ok(())
        };
        let m = if matches!(work.kind, TensorMapEdit::Copy(_)) { m & m.wrapping_neg() } else { m };
        let mut done = Ok(());
        access::each(m, |l| {
            if done.is_ok() {
                done = one(l).map_err(|e| Fault::new(step, l as u32, format!("is done {e}")));
            }
        });
        done
    }
}

/// The bytes of a tensor map.
fn read_map(r: &VisibleMemory<'_>, space: AddrSpace, at: u64) -> Result<[u8; 128], EmuError> {
    let (region, off) = find_map(r, space, at)?;
    let mut bytes = [0; 128];
    region.read(off, &mut bytes);
    Ok(bytes)
}

/// The region and offset of a tensor map.
fn find_map<'a>(r: &VisibleMemory<'a>, space: AddrSpace, at: u64) -> Result<(&'a Region, u64), EmuError> {
    if !at.is_multiple_of(64) {
        return Err(invalid(format!("by a tensor map at {at:#x}, which is not a multiple of 64")));
    }
    access::range(r, space, 0, at, 128)
        .ok_or_else(|| invalid(format!("by a tensor map at {at:#x}, where there are no 128 bytes")))
}
