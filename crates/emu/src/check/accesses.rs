//! The memory accesses of a step, lane by lane, before the step runs.
//!
//! # Limitations
//! Shared memory that only a multicast reaches is missing.

use prlx_trace::check::Space;

use crate::code::{
    AddrSpace, AsyncStoreKind, Code, MatrixOp, MemAccess, Op, Slot, TensorCopy, TensorOp, TensorWarpOp,
    WarpOpKind, WmmaTile, window,
};
use crate::exec::cta_state::CtaState;
use crate::exec::grid_shape;
use crate::exec::launch::Launch;
use crate::exec::warp_state::Warp;
use crate::matrix::mma;
use crate::mem::Region;
use crate::mem::access::{self, VisibleMemory, each};
use prlx_lanes::{LANES, V64};

/// How an access uses memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    /// The lanes read the bytes.
    Read,
    /// The lanes write the bytes.
    Write,
    /// The lanes read and write the bytes in one operation.
    Update,
}

impl AccessKind {
    /// As a verb: `reads`.
    pub fn verb(self) -> &'static str {
        match self {
            AccessKind::Read => "reads",
            AccessKind::Write => "writes",
            AccessKind::Update => "updates",
        }
    }
    /// As a noun.
    pub fn noun(self) -> &'static str {
        match self {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
            AccessKind::Update => "update",
        }
    }
}

/// One memory access of some lanes of a warp.
#[derive(Clone, Debug)]
pub struct WarpAccess {
    /// What the access does to the bytes.
    pub kind: AccessKind,
    /// The state space of the addresses.
    pub space: AddrSpace,
    /// The address of each lane.
    pub addr: V64,
    /// The number of bytes of each lane.
    pub bytes: [u32; LANES],
    /// Addresses must be multiples of this.
    pub align: u64,
    /// The lanes that access memory.
    pub lanes: u32,
}

impl WarpAccess {
    fn new(warp: &Warp, kind: AccessKind, mem: &MemAccess, bytes: u32, lanes: u32) -> WarpAccess {
        let addr = access::all_addresses(&warp.planes, mem);
        WarpAccess { kind, space: mem.space, addr, bytes: [bytes; LANES], align: bytes.into(), lanes }
    }
    /// The lanes whose access is invalid: out of bounds, misaligned, or a write to read-only memory.
    pub fn faulting_lanes(&self, r: &VisibleMemory<'_>, hint: &mut usize) -> u32 {
        let mut bad = 0;
        let first = self.bytes[self.lanes.trailing_zeros() as usize & 31];
        let mut even = first.is_power_of_two() && self.align == u64::from(first);
        each(self.lanes, |l| even &= self.bytes[l] == first);
        if even {
            while let Err(b) = access::fits(r, hint, self.space, &self.addr, self.lanes & !bad, first.into())
            {
                bad |= 1 << b.lane;
            }
        } else {
            each(self.lanes, |l| bad |= u32::from(self.at(r, l).is_none()) << l);
        }
        if self.kind != AccessKind::Read {
            each(self.lanes & !bad, |l| bad |= u32::from(self.read_only(r, l)) << l);
        }
        bad
    }
    /// The region of a lane's access, and where in it.
    pub fn at<'a>(&self, r: &VisibleMemory<'a>, l: usize) -> Option<(&'a Region, u64)> {
        self.near(r, l, &mut 0)
    }
    /// [`WarpAccess::at`], with the allocation that the last lane was in.
    pub fn near<'a>(&self, r: &VisibleMemory<'a>, l: usize, hint: &mut usize) -> Option<(&'a Region, u64)> {
        let (at, bytes) = (self.addr.0[l], self.bytes[l].into());
        let aligned = at.is_multiple_of(self.align.max(1));
        if aligned { access::range_near(r, self.space, l, at, bytes, hint) } else { None }
    }
    /// The lanes of a mask that access the same bytes, by the lowest of them.
    pub fn same_places(&self, m: u32) -> impl Iterator<Item = u32> + use<> {
        // By hash of the address: the first lane with it, and by first lane: all of them.
        let mut first = [u8::MAX; 64];
        let mut places = [0u32; LANES];
        let mut firsts = 0;
        each(m, |l| {
            let at = self.addr.0[l];
            let mut slot = (at ^ at >> 6) as usize >> 2 & 63;
            loop {
                let of = usize::from(first[slot]);
                if of == usize::from(u8::MAX) {
                    first[slot] = l as u8;
                    firsts |= 1u32 << l;
                    places[l] |= 1 << l;
                    break;
                }
                if self.addr.0[of] == at && self.bytes[of] == self.bytes[l] {
                    places[of] |= 1 << l;
                    break;
                }
                slot = (slot + 1) & 63;
            }
        });
        (0..LANES).filter(move |l| firsts >> l & 1 == 1).map(move |l| places[l])
    }
    /// The region that all lanes of a mask access, and the first and the last byte there; `None` if there may
    /// be several, or a lane has memory of its own.
    pub fn span<'a>(&self, r: &VisibleMemory<'a>, m: u32) -> Option<(&'a Region, u64, u64)> {
        let (mut low, mut high, mut all) = (u64::MAX, 0, 0);
        each(m, |l| {
            let at = self.addr.0[l];
            (low, all) = (low.min(at), all | at);
            high = high.max(at.saturating_add(self.bytes[l].into()));
        });
        let own = space(self.space, low) == Space::Local || space(self.space, high) == Space::Local;
        if low >= high || own || !self.align.is_power_of_two() || all & (self.align - 1) != 0 {
            return None;
        }
        let (region, at) = access::range_near(r, self.space, 0, low, high - low, &mut 0)?;
        Some((region, at, at + (high - low - 1)))
    }
    fn read_only(&self, r: &VisibleMemory<'_>, l: usize) -> bool {
        match space(self.space, self.addr.0[l]) {
            Space::Params => true,
            Space::Global => r.memory.is_constant(self.addr.0[l]),
            _ => false,
        }
    }
}

/// The space of an address.
pub fn space(space: AddrSpace, at: u64) -> Space {
    match (space, at) {
        (AddrSpace::Shared | AddrSpace::Cluster, _) | (AddrSpace::Generic, window::SHARED..window::LOCAL) => {
            Space::Shared
        }
        (AddrSpace::Local, _) | (AddrSpace::Generic, window::LOCAL..window::PARAMS) => Space::Local,
        (AddrSpace::Params, _) | (AddrSpace::Generic, window::PARAMS..window::CODE) => Space::Params,
        _ => Space::Global,
    }
}

/// The offset of an address in its space. In shared memory: the offset in the shared memory of its CTA.
pub fn within(space: AddrSpace, at: u64) -> u64 {
    match (space, self::space(space, at)) {
        (AddrSpace::Generic, Space::Shared) => (at - window::SHARED) % window::CTA,
        (_, Space::Shared) => at % window::CTA,
        (AddrSpace::Generic, Space::Local) => at - window::LOCAL,
        (AddrSpace::Generic, Space::Params) => at - window::PARAMS,
        _ => at,
    }
}

/// The number of the CTA whose shared memory a lane accesses.
pub fn owner(launch: &Launch<'_>, cta: &CtaState, t: &WarpAccess, l: usize) -> u64 {
    let at = t.addr.0[l];
    let inside = if at >= window::SHARED { at - window::SHARED } else { at };
    match inside / window::CTA {
        0 => cta.index,
        n => grid_shape::number(launch, cta.position, (n - 1) as u32),
    }
}

/// Adds the accesses of a step when the lanes `m` run it, reads first.
pub fn add_accesses(warp: &Warp, code: &Code, op: &Op, m: u32, out: &mut Vec<WarpAccess>) {
    let whole = |mem: &MemAccess| u32::from(mem.size) * mem.planes.len() as u32;
    match *op {
        Op::Alu(..) | Op::Bra(_) => {}
        Op::Ld(i) => {
            let mem = &code.mems[i as usize];
            out.push(WarpAccess::new(warp, AccessKind::Read, mem, whole(mem), m));
        }
        Op::St(i) => {
            let mem = &code.mems[i as usize];
            out.push(WarpAccess::new(warp, AccessKind::Write, mem, whole(mem), m));
        }
        _ => out.append(&mut special_accesses(warp, code, op, m)),
    }
}

/// The accesses of a step when the lanes `m` run it, reads first.
pub fn accesses(warp: &Warp, code: &Code, op: &Op, m: u32) -> Vec<WarpAccess> {
    let mut out = Vec::new();
    add_accesses(warp, code, op, m, &mut out);
    out
}

/// The memory that a call or a return copies when the lanes `m` run it, value by value: a read where memory
/// holds the value, then a write.
pub fn passed(warp: &Warp, launch: &Launch<'_>, op: &Op, m: u32) -> Vec<WarpAccess> {
    let mut out = Vec::new();
    for n in 0.. {
        let (mut lanes, mut more) = ([0; 2], false);
        let (mut addr, mut bytes) = ([V64([0; LANES]); 2], [0; LANES]);
        each(m, |l| {
            let (from, to) = warp.passed(launch, op, l);
            more |= n < to.len();
            let Some(&Slot::Bytes(at, size)) = to.get(n) else { return };
            (addr[1].0[l], bytes[l]) = (at.into(), size);
            lanes[1] |= 1 << l;
            if let Some(&Slot::Bytes(at, held)) = from.get(n) {
                (addr[0].0[l], bytes[l]) = (at.into(), size.min(held));
                lanes[0] |= 1 << l;
            }
        });
        if !more {
            break;
        }
        for (i, kind) in [AccessKind::Read, AccessKind::Write].into_iter().enumerate() {
            let access =
                WarpAccess { kind, space: AddrSpace::Local, addr: addr[i], bytes, align: 1, lanes: lanes[i] };
            out.extend((lanes[i] != 0).then_some(access));
        }
    }
    out
}

/// The accesses of a step that is no plain load or store.
fn special_accesses(warp: &Warp, code: &Code, op: &Op, m: u32) -> Vec<WarpAccess> {
    match *op {
        Op::Atom(i) => {
            let atom = &code.atoms[i as usize];
            let bytes = u32::from(atom.mem.size) * atom.values.len() as u32;
            vec![WarpAccess::new(warp, AccessKind::Update, &atom.mem, bytes, m)]
        }
        Op::LaneCopy(i) => {
            let copy = &code.copies[i as usize];
            let taken = warp.bytes_read(copy, m);
            let mut from = WarpAccess::new(warp, AccessKind::Read, &copy.src, copy.dst.size.into(), m);
            each(m, |l| {
                from.bytes[l] = taken[l].into();
                // Bytes that are not read need not exist.
                from.lanes &= !(u32::from(taken[l] == 0) << l);
            });
            vec![from, WarpAccess::new(warp, AccessKind::Write, &copy.dst, copy.dst.size.into(), m)]
        }
        Op::BulkCopy(i) => {
            let bulk = &code.bulks[i as usize];
            let sizes = &warp.planes.w32[usize::from(bulk.size)];
            let mut both =
                [(AccessKind::Read, &bulk.src), (AccessKind::Write, &bulk.dst)].map(|(kind, mem)| {
                    let mut t = WarpAccess::new(warp, kind, mem, 16, m);
                    t.bytes = sizes.0;
                    t
                });
            if bulk.reduce.is_some() {
                both[1].kind = AccessKind::Update;
            }
            let mut all = Vec::from(both);
            all.extend(
                bulk.mbarrier.as_ref().map(|mem| WarpAccess::new(warp, AccessKind::Update, mem, 8, m)),
            );
            all
        }
        Op::AsyncStore(i) => {
            let send = &code.async_stores[i as usize];
            let (kind, mem) = match &send.kind {
                AsyncStoreKind::Store(mem) => (AccessKind::Write, mem),
                AsyncStoreKind::Update(atom) => (AccessKind::Update, &atom.mem),
            };
            let elements = match &send.kind {
                AsyncStoreKind::Store(mem) => mem.planes.len(),
                AsyncStoreKind::Update(atom) => atom.values.len(),
            };
            let bytes = u32::from(mem.size) * elements as u32;
            vec![
                WarpAccess::new(warp, kind, mem, bytes, m),
                WarpAccess::new(warp, AccessKind::Update, &send.mbarrier, 8, m),
            ]
        }
        Op::Mbarrier(i) => {
            let bar = &code.mbarriers[i as usize];
            bar.mem.iter().map(|mem| WarpAccess::new(warp, AccessKind::Update, mem, 8, m)).collect()
        }
        Op::Exchange(i) => match code.warp_ops[i as usize].kind {
            WarpOpKind::Matrix(t) => match &code.matrix[t as usize] {
                MatrixOp::Load { mem, .. } => rows(warp, AccessKind::Read, mem, m),
                MatrixOp::Store { mem, .. } => rows(warp, AccessKind::Write, mem, m),
                MatrixOp::Tile(tile) => elements(warp, tile, m),
                _ => Vec::new(),
            },
            WarpOpKind::Tensor(t) => match &code.tensor_warp_ops[t as usize] {
                TensorWarpOp::Allocate { to, .. } => {
                    vec![WarpAccess::new(warp, AccessKind::Write, to, 4, m & m.wrapping_neg())]
                }
                _ => Vec::new(),
            },
            _ => Vec::new(),
        },
        Op::Tensor(i) => match &code.tensor_ops[i as usize] {
            TensorOp::Commit { mbarrier, .. } => {
                let mut access = WarpAccess::new(warp, AccessKind::Update, mbarrier, 8, m);
                // Compilers also give an address of shared memory where PTX has a generic one.
                access.space = AddrSpace::Cluster;
                each(m, |l| {
                    let at = &mut access.addr.0[l];
                    *at = at.checked_sub(window::SHARED).unwrap_or(*at);
                });
                vec![access]
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// The accesses of a tensor copy, for lanes whose tensor maps are valid: the tiles in shared memory, the
/// mbarriers, and the rows in global memory that lie inside the tensor.
pub fn tiles(warp: &Warp, r: &VisibleMemory<'_>, copy: &TensorCopy, m: u32) -> Vec<WarpAccess> {
    let kind = if copy.load { AccessKind::Write } else { AccessKind::Read };
    let mut tile = WarpAccess::new(warp, kind, &copy.shared, 128, m);
    let mut rows: Vec<WarpAccess> = Vec::new();
    let far = match (copy.load, copy.reduce) {
        (true, _) => AccessKind::Read,
        (false, None) => AccessKind::Write,
        (false, Some(_)) => AccessKind::Update,
    };
    each(m, |l| match warp.tile(r, copy, l).ok().and_then(|t| Some((u32::try_from(t.bytes()).ok()?, t))) {
        // A tile that does not fit shared memory is a fault of the copy itself.
        Some((bytes, t)) if u64::from(bytes) <= r.shared.len() => {
            tile.bytes[l] = bytes;
            for row in t.rows().filter(|row| row.bytes > 0) {
                let mut touch = WarpAccess {
                    kind: far,
                    space: AddrSpace::Global,
                    addr: V64([0; LANES]),
                    bytes: [0; LANES],
                    align: 1,
                    lanes: 1 << l,
                };
                (touch.addr.0[l], touch.bytes[l]) = (row.at, row.bytes as u32);
                match rows.last_mut() {
                    // Adjacent rows become one access.
                    Some(last)
                        if last.lanes == 1 << l && last.addr.0[l] + u64::from(last.bytes[l]) == row.at =>
                    {
                        last.bytes[l] += row.bytes as u32;
                    }
                    _ => rows.push(touch),
                }
            }
        }
        Some((bytes, _)) => tile.bytes[l] = bytes,
        None => tile.lanes &= !(1 << l),
    });
    let counted =
        copy.mbarrier.as_ref().map(|mem| WarpAccess::new(warp, AccessKind::Update, mem, 8, tile.lanes));
    [Some(tile), counted].into_iter().flatten().chain(rows).collect()
}

/// The accesses of `wmma.load` and `wmma.store`: each lane accesses its elements one after the other.
fn elements(warp: &Warp, tile: &WmmaTile, m: u32) -> Vec<WarpAccess> {
    let kind = if tile.store { AccessKind::Write } else { AccessKind::Read };
    let base = access::all_addresses(&warp.planes, &tile.mem);
    let element = |i: usize| WarpAccess {
        kind,
        space: tile.mem.space,
        addr: mma::element_addresses(&warp.planes, tile, &base, i),
        bytes: [tile.mem.size.into(); LANES],
        align: tile.mem.size.into(),
        lanes: m,
    };
    (0..mma::elements_per_lane(tile)).map(element).collect()
}

/// The access of a matrix load or store: each of the first lanes gives the address of a row of 16 bytes.
fn rows(warp: &Warp, kind: AccessKind, mem: &MemAccess, m: u32) -> Vec<WarpAccess> {
    let lanes = u32::MAX >> (LANES - (mem.planes.len() * 8).min(LANES));
    vec![WarpAccess::new(warp, kind, mem, 16, lanes & m)]
}
