//! Loads, stores and atomics of a warp. Every address is resolved to a region and checked.

use crate::code::{AddrBase, AddrSpace, Atomic, MemAccess, Plane, Rmw, window};
use crate::mem::peers::{MAX_CTAS, Peers};
use crate::mem::{CheckedLanes, Memory, Region};
use prlx_lanes::half::{Bf16, F16, greatest, least, sum};
use prlx_lanes::{LANES, Planes, V32, V64};

/// The memory that the lanes of a warp can access.
pub struct VisibleMemory<'a> {
    /// The global allocations.
    pub memory: &'a Memory,
    /// The CTA's shared memory.
    pub shared: &'a Region,
    /// The shared memory of the cluster.
    pub peers: &'a Peers,
    /// The rank of the CTA in the cluster.
    pub rank: u32,
    /// The warp's local memory: lane by lane, `stride` bytes each.
    pub local: &'a Region,
    /// Bytes of a lane's local memory.
    pub stride: u64,
    /// The kernel's parameters.
    pub params: &'a Region,
}

/// An invalid access of a lane.
#[derive(Debug)]
pub struct AccessError {
    /// The lane whose access is invalid.
    pub lane: u32,
    /// What is wrong: the end of a sentence after a verb such as "reads".
    pub text: String,
}

/// The addresses of an access.
#[inline(always)]
pub fn all_addresses(planes: &Planes, mem: &MemAccess) -> V64 {
    let mut out = V64([mem.offset as u64; LANES]);
    match mem.base {
        AddrBase::W64(i) => {
            let v = &planes.w64[usize::from(i)];
            for l in 0..LANES {
                out.0[l] = v.0[l].wrapping_add(mem.offset as u64);
            }
        }
        AddrBase::W32(i) => {
            let v = &planes.w32[usize::from(i)];
            for l in 0..LANES {
                out.0[l] = u64::from(v.0[l].wrapping_add(mem.offset as u32));
            }
        }
        AddrBase::None => {}
    }
    out
}

/// Calls `f` for each region that the active lanes touch, with their checked places in it.
#[inline(always)]
fn regions(
    r: &VisibleMemory<'_>,
    hint: &mut usize,
    space: AddrSpace,
    addr: &V64,
    mask: u32,
    width: u64,
    mut f: impl FnMut(&CheckedLanes<'_>, AddrSpace),
) -> Result<(), Box<AccessError>> {
    if space == AddrSpace::Generic {
        return generic_regions(r, hint, addr, mask, width, &mut f);
    }
    space_regions(r, hint, space, addr, mask, width, &mut f)
}

/// Calls `f` for each region of one state space.
#[inline(always)]
fn space_regions(
    r: &VisibleMemory<'_>,
    hint: &mut usize,
    space: AddrSpace,
    addr: &V64,
    mask: u32,
    width: u64,
    f: &mut impl FnMut(&CheckedLanes<'_>, AddrSpace),
) -> Result<(), Box<AccessError>> {
    let (region, what) = match space {
        AddrSpace::Shared => (r.shared, "bytes of shared memory in the CTA"),
        AddrSpace::Params => (r.params, "bytes of parameters"),
        AddrSpace::Local => return local(r, addr, mask, width, f),
        AddrSpace::Cluster => return cluster(r, addr, mask, width, f),
        AddrSpace::Global | AddrSpace::Generic => {
            let mut rest = mask;
            while rest != 0 {
                let l = rest.trailing_zeros();
                let at = addr.0[l as usize & 31];
                let Some(a) = r.memory.find(at, hint) else { return Err(unallocated(r.memory, l, at)) };
                let lanes = a.region.lanes(addr, a.base, rest, width);
                if lanes.mask() >> l & 1 == 0 {
                    return Err(out_of_bounds(l, at, width, || r.memory.describe_near(at + width)));
                }
                rest &= !lanes.mask();
                f(&lanes, AddrSpace::Global);
            }
            return Ok(());
        }
    };
    let lanes = region.lanes(addr, 0, mask, width);
    if lanes.mask() != mask {
        let l = (mask & !lanes.mask()).trailing_zeros();
        let at = addr.0[l as usize & 31];
        return Err(match at / window::CTA {
            // The address of the own shared memory in the cluster is valid, too.
            n if space == AddrSpace::Shared && n == u64::from(r.rank) + 1 => {
                return cluster(r, addr, mask, width, f);
            }
            n @ 1..=MAX_CTAS if space == AddrSpace::Shared => wrong_cta(l, at, n - 1),
            _ => out_of_bounds(l, at, width, || format!("there are {} {what}", region.len())),
        });
    }
    f(&lanes, space);
    Ok(())
}

/// The shared memory of the cluster, CTA by CTA.
#[cold]
fn cluster(
    r: &VisibleMemory<'_>,
    addr: &V64,
    mask: u32,
    width: u64,
    f: &mut impl FnMut(&CheckedLanes<'_>, AddrSpace),
) -> Result<(), Box<AccessError>> {
    let mut rest = mask;
    while rest != 0 {
        let l = rest.trailing_zeros();
        let at = addr.0[l as usize & 31];
        let (region, base) = r
            .peers
            .find(r.rank, at)
            .map_err(|text| Box::new(AccessError { lane: l, text: format!("at {at:#x}, {text}") }))?;
        let lanes = region.lanes(addr, base, rest, width);
        if lanes.mask() >> l & 1 == 0 {
            return Err(out_of_bounds(l, at, width, || {
                format!("there are {} bytes of shared memory in a CTA", region.len())
            }));
        }
        rest &= !lanes.mask();
        f(&lanes, AddrSpace::Cluster);
    }
    Ok(())
}

#[cold]
fn wrong_cta(lane: u32, at: u64, rank: u64) -> Box<AccessError> {
    let text = format!(
        "at {at:#x}, which lies in the shared memory of rank {rank} of the cluster: `.shared` and `.shared::cta` reach only the \
         CTA's own"
    );
    Box::new(AccessError { lane, text })
}

#[inline(always)]
fn local(
    r: &VisibleMemory<'_>,
    addr: &V64,
    mask: u32,
    width: u64,
    f: &mut impl FnMut(&CheckedLanes<'_>, AddrSpace),
) -> Result<(), Box<AccessError>> {
    let mut offs = *addr;
    for l in 0..LANES {
        // An address outside the memory of the lane is moved outside the whole region.
        let inside = addr.0[l] <= r.stride.wrapping_sub(width) && width <= r.stride;
        offs.0[l] = if inside { addr.0[l].wrapping_add(l as u64 * r.stride) } else { u64::MAX };
    }
    let lanes = r.local.lanes(&offs, 0, mask, width);
    if lanes.mask() != mask {
        let l = (mask & !lanes.mask()).trailing_zeros();
        let what = || format!("there are {} bytes of local memory in a thread of this kernel", r.stride);
        return Err(out_of_bounds(l, addr.0[l as usize & 31], width, what));
    }
    f(&lanes, AddrSpace::Local);
    Ok(())
}

/// Where the shared memory of the cluster's CTAs begins in generic addresses.
const OTHERS: u64 = window::SHARED + window::CTA;

/// Calls `f` for each region of generic addresses, window by window.
#[inline(always)]
fn generic_regions(
    r: &VisibleMemory<'_>,
    hint: &mut usize,
    addr: &V64,
    mask: u32,
    width: u64,
    f: &mut impl FnMut(&CheckedLanes<'_>, AddrSpace),
) -> Result<(), Box<AccessError>> {
    // Most accesses are to one allocation of global memory. AMD's GLOBAL instructions are all generic here.
    if let Some(a) = r.memory.find(addr.0[mask.trailing_zeros() as usize & 31], hint)
        && a.base.saturating_add(a.region.len()) <= window::SHARED
    {
        let lanes = a.region.lanes(addr, a.base, mask, width);
        if lanes.mask() == mask {
            f(&lanes, AddrSpace::Global);
            return Ok(());
        }
    }
    let mut rest = mask;
    while rest != 0 {
        let at = addr.0[rest.trailing_zeros() as usize & 31];
        let (space, from, to) = match at {
            window::SHARED..OTHERS => (AddrSpace::Shared, window::SHARED, OTHERS),
            OTHERS..window::LOCAL => (AddrSpace::Cluster, window::SHARED, window::LOCAL),
            window::LOCAL..window::PARAMS => (AddrSpace::Local, window::LOCAL, window::PARAMS),
            window::PARAMS..window::CODE => (AddrSpace::Params, window::PARAMS, window::CODE),
            0..window::SHARED => (AddrSpace::Global, 0, window::SHARED),
            _ => (AddrSpace::Global, 0, u64::MAX),
        };
        let (mut offs, mut here) = (*addr, 0);
        for l in 0..LANES {
            here |= u32::from(addr.0[l] >= from && addr.0[l] < to) << l;
            offs.0[l] = addr.0[l].wrapping_sub(from);
        }
        here &= rest;
        here |= rest & rest.wrapping_neg();
        space_regions(r, hint, space, &offs, here, width, f)?;
        rest &= !here;
    }
    Ok(())
}

#[cold]
fn unallocated(memory: &Memory, lane: u32, at: u64) -> Box<AccessError> {
    Box::new(AccessError {
        lane,
        text: format!("at {at:#x}, where nothing is allocated: {}", memory.describe_near(at)),
    })
}

#[cold]
fn out_of_bounds(lane: u32, at: u64, width: u64, around: impl Fn() -> String) -> Box<AccessError> {
    let text = if !at.is_multiple_of(width) {
        format!("at {at:#x}, which is not a multiple of {width}")
    } else {
        format!("at {at:#x}, out of bounds: {}", around())
    };
    Box::new(AccessError { lane, text })
}

/// Loads one element of each lane into a plane.
#[inline(always)]
fn load_plane(planes: &mut Planes, plane: Plane, size: u8, lanes: &CheckedLanes<'_>, at: u64) {
    match (plane, size) {
        (Plane::W32(i), 4) => lanes.load32(at, &mut planes.w32[usize::from(i)]),
        (Plane::W64(i), 8) => lanes.load64(at, &mut planes.w64[usize::from(i)]),
        (Plane::W32(i), 1) => lanes.load8(at, &mut planes.w32[usize::from(i)]),
        (Plane::W32(i), 2) => lanes.load16(at, &mut planes.w32[usize::from(i)]),
        (Plane::W32(i), _) => {
            let out = &mut planes.w32[usize::from(i)];
            each(lanes.mask(), |l| out.0[l] = lanes.region().load32(lanes.offset(l) + at));
        }
        (Plane::W64(i), _) => {
            let out = &mut planes.w64[usize::from(i)];
            each(lanes.mask(), |l| out.0[l] = lanes.region().load(lanes.offset(l) + at, size));
        }
        (Plane::W128(i), _) => {
            lanes.load64(at, &mut planes.w64[usize::from(i)]);
            lanes.load64(at + 8, &mut planes.w64[usize::from(i) + 1]);
        }
        (Plane::None, _) => {}
    }
}

/// Calls `f` for each lane of a mask, in order.
#[inline(always)]
pub fn each(mut mask: u32, mut f: impl FnMut(usize)) {
    while mask != 0 {
        f(mask.trailing_zeros() as usize);
        mask &= mask - 1;
    }
}

/// Runs a load for the lanes `mask`.
#[inline(always)]
pub fn load(
    planes: &mut Planes,
    r: &VisibleMemory<'_>,
    hint: &mut usize,
    mem: &MemAccess,
    mask: u32,
) -> Result<(), Box<AccessError>> {
    if mem.base == AddrBase::None && mem.space == AddrSpace::Params {
        return uniform(planes, r.params, mem, mask);
    }
    let addr = all_addresses(planes, mem);
    let (size, n) = (u64::from(mem.size), mem.planes.len() as u64);
    regions(r, hint, mem.space, &addr, mask, size * n, |lanes, _| {
        for (k, &p) in mem.planes.iter().enumerate() {
            load_plane(planes, p, mem.size, lanes, k as u64 * size);
        }
    })
}

/// Loads a parameter, which is the same for all lanes.
fn uniform(planes: &mut Planes, params: &Region, mem: &MemAccess, mask: u32) -> Result<(), Box<AccessError>> {
    let (size, mut at) = (u64::from(mem.size), mem.offset as u64);
    let width = size * mem.planes.len() as u64;
    if !at.is_multiple_of(size) || params.len().checked_sub(width).is_none_or(|last| at > last) {
        return Err(out_of_bounds(mask.trailing_zeros(), at, size, || {
            format!("there are {} bytes of parameters", params.len())
        }));
    }
    for &p in &mem.planes {
        match p {
            Plane::W32(i) => planes.put32(i, mask, V32([params.load(at, mem.size.min(4)) as u32; LANES])),
            Plane::W64(i) => planes.put64(i, mask, V64([params.load(at, mem.size.min(8)); LANES])),
            Plane::W128(i) => {
                planes.put64(i, mask, V64([params.load(at, 8); LANES]));
                planes.put64(i + 1, mask, V64([params.load(at + 8, 8); LANES]));
            }
            Plane::None => {}
        }
        at += size;
    }
    Ok(())
}

/// Stores one element of each lane from a plane.
#[inline(always)]
fn store_plane(planes: &Planes, plane: Plane, size: u8, lanes: &CheckedLanes<'_>, at: u64) {
    match (plane, size) {
        (Plane::W32(i), 4) => lanes.store32(at, &planes.w32[usize::from(i)]),
        (Plane::W64(i), 8) => lanes.store64(at, &planes.w64[usize::from(i)]),
        (Plane::W32(i), 1) => lanes.store8(at, &planes.w32[usize::from(i)]),
        (Plane::W32(i), 2) => lanes.store16(at, &planes.w32[usize::from(i)]),
        (Plane::W32(i), _) => {
            let v = &planes.w32[usize::from(i)];
            each(lanes.mask(), |l| lanes.region().store(lanes.offset(l) + at, size, v.0[l].into()));
        }
        (Plane::W64(i), _) => {
            let v = &planes.w64[usize::from(i)];
            each(lanes.mask(), |l| lanes.region().store(lanes.offset(l) + at, size, v.0[l]));
        }
        (Plane::W128(i), _) => {
            lanes.store64(at, &planes.w64[usize::from(i)]);
            lanes.store64(at + 8, &planes.w64[usize::from(i) + 1]);
        }
        (Plane::None, _) => {}
    }
}

/// Runs a store for the lanes `mask`.
#[inline(always)]
pub fn store(
    planes: &Planes,
    r: &VisibleMemory<'_>,
    hint: &mut usize,
    mem: &MemAccess,
    mask: u32,
) -> Result<(), Box<AccessError>> {
    let addr = all_addresses(planes, mem);
    let (size, n) = (u64::from(mem.size), mem.planes.len() as u64);
    let mut constant = 0;
    regions(r, hint, mem.space, &addr, mask, size * n, |lanes, space| {
        if space == AddrSpace::Params {
            constant |= lanes.mask();
            return;
        }
        for (k, &p) in mem.planes.iter().enumerate() {
            store_plane(planes, p, mem.size, lanes, k as u64 * size);
        }
    })?;
    if constant == 0 { Ok(()) } else { Err(read_only(constant.trailing_zeros())) }
}

#[cold]
fn read_only(lane: u32) -> Box<AccessError> {
    Box::new(AccessError { lane, text: "to the kernel's parameters, which can't be written".into() })
}

/// The value of a plane in one lane; of 128 bits the lower half.
pub fn value(planes: &Planes, plane: Plane, l: usize) -> u64 {
    match plane {
        Plane::W32(i) => planes.w32[usize::from(i)].0[l].into(),
        Plane::W64(i) | Plane::W128(i) => planes.w64[usize::from(i)].0[l],
        Plane::None => 0,
    }
}

/// Sets the value of a plane in one lane.
pub fn set(planes: &mut Planes, plane: Plane, l: usize, v: u64) {
    match plane {
        Plane::W32(i) => planes.w32[usize::from(i)].0[l] = v as u32,
        Plane::W64(i) => planes.w64[usize::from(i)].0[l] = v,
        Plane::W128(i) => {
            planes.w64[usize::from(i)].0[l] = v;
            planes.w64[usize::from(i) + 1].0[l] = 0;
        }
        Plane::None => {}
    }
}

/// 128 bits of a lane.
fn wide(planes: &Planes, i: u16, l: usize) -> u128 {
    let half = |i: u16| u128::from(planes.w64[usize::from(i)].0[l]);
    half(i) | half(i + 1) << 64
}

/// The value of a plane of any width in one lane.
fn get_wide(planes: &Planes, plane: Plane, l: usize) -> u128 {
    if let Plane::W128(i) = plane { wide(planes, i, l) } else { value(planes, plane, l).into() }
}

/// Writes a 128-bit value of one lane.
fn set_wide(planes: &mut Planes, i: u16, l: usize, v: u128) {
    planes.w64[usize::from(i)].0[l] = v as u64;
    planes.w64[usize::from(i) + 1].0[l] = (v >> 64) as u64;
}

/// Runs an atomic, lane by lane.
pub fn atomic(
    planes: &mut Planes,
    r: &VisibleMemory<'_>,
    hint: &mut usize,
    atom: &Atomic,
    mask: u32,
) -> Result<(), Box<AccessError>> {
    let mem = &atom.mem;
    let addr = all_addresses(planes, mem);
    let size = mem.size;
    let n = atom.values.len() as u64;
    let mut constant = 0;
    regions(r, hint, mem.space, &addr, mask, u64::from(size) * n, |lanes, space| {
        if space == AddrSpace::Params {
            constant |= lanes.mask();
            return;
        }
        let region = lanes.region();
        each(lanes.mask(), |l| {
            for (k, &operand) in atom.values.iter().enumerate() {
                let at = lanes.offset(l) + k as u64 * u64::from(size);
                if let Plane::W128(first) = operand {
                    // `cas` and `exch` of 128 bits.
                    let (v, c) = (wide(planes, first, l), atom.swap.map(|s| get_wide(planes, s, l)));
                    let old = region.update128(at, |old| c.map_or(v, |c| if old == v { c } else { old }));
                    if let Some(Plane::W128(p)) = mem.planes.get(k) {
                        set_wide(planes, *p, l, old);
                    }
                    continue;
                }
                let v = value(planes, operand, l);
                let c = atom.swap.map_or(0, |s| value(planes, s, l));
                let f = |old: u64| rmw(atom.rmw, size, old, v, c);
                let old = if space == AddrSpace::Global {
                    region.update(at, size, f)
                } else {
                    region.update_alone(at, size, f)
                };
                if let Some(&p) = mem.planes.get(k) {
                    set(planes, p, l, old);
                }
            }
        });
    })?;
    if constant == 0 { Ok(()) } else { Err(read_only(constant.trailing_zeros())) }
}

/// The new value of an atomic. `v` is the operand; `b` is the value that `cas` stores.
pub fn rmw(op: Rmw, size: u8, old: u64, v: u64, b: u64) -> u64 {
    let bits = u32::from(size) * 8;
    let keep = u64::MAX >> (64 - bits);
    let sign = |x: u64| ((x << (64 - bits)) as i64) >> (64 - bits);
    let v = v & keep;
    let pair = |f: fn(u16, u16) -> u16| {
        u64::from(f(old as u16, v as u16)) | u64::from(f((old >> 16) as u16, (v >> 16) as u16)) << 16
    };
    keep & match op {
        Rmw::Add => old.wrapping_add(v),
        Rmw::AddF32 { flush } => {
            let flushed = |x: f32| if flush && x.is_subnormal() { 0f32.copysign(x) } else { x };
            let sum = flushed(flushed(f32::from_bits(old as u32)) + flushed(f32::from_bits(v as u32)));
            if sum.is_nan() { 0x7fff_ffff } else { sum.to_bits().into() }
        }
        Rmw::AddF64 => (f64::from_bits(old) + f64::from_bits(v)).to_bits(),
        Rmw::AddF16 => sum::<F16>(old as u16, v as u16).into(),
        Rmw::AddBf16 => sum::<Bf16>(old as u16, v as u16).into(),
        Rmw::AddF16x2 => pair(sum::<F16>),
        Rmw::AddBf16x2 => pair(sum::<Bf16>),
        Rmw::Extreme16 { max, bf16, pair: two } => {
            let f = match (max, bf16) {
                (false, false) => least::<F16>,
                (true, false) => greatest::<F16>,
                (false, true) => least::<Bf16>,
                (true, true) => greatest::<Bf16>,
            };
            if two { pair(f) } else { f(old as u16, v as u16).into() }
        }
        Rmw::MinU => old.min(v),
        Rmw::MaxU => old.max(v),
        Rmw::MinS => sign(old).min(sign(v)) as u64,
        Rmw::MaxS => sign(old).max(sign(v)) as u64,
        Rmw::Inc => {
            if old >= v {
                0
            } else {
                old + 1
            }
        }
        Rmw::Dec => {
            if old == 0 || old > v {
                v
            } else {
                old - 1
            }
        }
        Rmw::And => old & v,
        Rmw::Or => old | v,
        Rmw::Xor => old ^ v,
        Rmw::Exch => v,
        Rmw::Cas => {
            if old == v {
                b
            } else {
                old
            }
        }
    }
}

/// Loads rows of tiles. Lane `l` gives the address of row `l % 8` of tile `l / 8`, 16 bytes. Returns the
/// lower and the upper half of each row.
pub fn rows(
    planes: &Planes,
    r: &VisibleMemory<'_>,
    hint: &mut usize,
    mem: &MemAccess,
) -> Result<(V64, V64), Box<AccessError>> {
    let addr = all_addresses(planes, mem);
    let (mut lower, mut upper) = (V64([0; LANES]), V64([0; LANES]));
    regions(r, hint, mem.space, &addr, rows_mask(mem), 16, |lanes, _| {
        lanes.load64(0, &mut lower);
        lanes.load64(8, &mut upper);
    })?;
    Ok((lower, upper))
}

/// Stores rows of tiles, with the addresses of [`rows`].
pub fn put_rows(
    planes: &Planes,
    r: &VisibleMemory<'_>,
    hint: &mut usize,
    mem: &MemAccess,
    (lower, upper): (&V64, &V64),
) -> Result<(), Box<AccessError>> {
    let addr = all_addresses(planes, mem);
    regions(r, hint, mem.space, &addr, rows_mask(mem), 16, |lanes, _| {
        lanes.store64(0, lower);
        lanes.store64(8, upper);
    })
}

/// The lanes that give a row's address.
fn rows_mask(mem: &MemAccess) -> u32 {
    u32::MAX >> (LANES - (8 * mem.planes.len()).clamp(1, LANES))
}

/// Calls `f` with the region and offset of each lane, for addresses that the caller computed.
pub fn each_address(
    r: &VisibleMemory<'_>,
    hint: &mut usize,
    space: AddrSpace,
    addr: &V64,
    width: u64,
    mut f: impl FnMut(usize, &Region, u64),
) -> Result<(), Box<AccessError>> {
    regions(r, hint, space, addr, u32::MAX, width, |lanes, _| {
        each(lanes.mask(), |l| f(l, lanes.region(), lanes.offset(l)));
    })
}

/// Checks that `width` bytes at the address of each lane exist.
///
/// # Errors
/// The first lane whose access is invalid.
pub fn fits(
    r: &VisibleMemory<'_>,
    hint: &mut usize,
    space: AddrSpace,
    addr: &V64,
    mask: u32,
    width: u64,
) -> Result<(), Box<AccessError>> {
    regions(r, hint, space, addr, mask, width, |_, _| {})
}

/// Calls `f` with the region and offset of each lane, in lane order, for accesses of `mem.size` bytes.
pub fn each_place(
    planes: &Planes,
    r: &VisibleMemory<'_>,
    hint: &mut usize,
    mem: &MemAccess,
    mask: u32,
    mut f: impl FnMut(usize, &Region, u64),
) -> Result<(), Box<AccessError>> {
    let addr = all_addresses(planes, mem);
    regions(r, hint, mem.space, &addr, mask, mem.size.into(), |lanes, _| {
        each(lanes.mask(), |l| f(l, lanes.region(), lanes.offset(l)));
    })
}

/// The address of a lane.
pub fn address_of(planes: &Planes, mem: &MemAccess, l: usize) -> u64 {
    all_addresses(planes, mem).0[l]
}

/// The region of a range of bytes that a lane accesses, and its offset there. An empty range is always found.
pub fn range<'a>(
    r: &VisibleMemory<'a>,
    space: AddrSpace,
    lane: usize,
    at: u64,
    bytes: u64,
) -> Option<(&'a Region, u64)> {
    range_near(r, space, lane, at, bytes, &mut 0)
}

/// [`range`], with the allocation that is looked at first. It becomes the one that was found.
pub fn range_near<'a>(
    r: &VisibleMemory<'a>,
    space: AddrSpace,
    lane: usize,
    at: u64,
    bytes: u64,
    hint: &mut usize,
) -> Option<(&'a Region, u64)> {
    if bytes == 0 {
        return Some((r.shared, 0));
    }
    let inside = |region: &'a Region, at: u64| {
        (at <= region.len() && region.len() - at >= bytes).then_some((region, at))
    };
    let cluster =
        |at: u64| r.peers.find(r.rank, at).ok().and_then(|(region, base)| inside(region, at - base));
    let local = |at: u64| {
        let last = r.stride.checked_sub(bytes)?;
        (at <= last).then(|| (r.local, at + lane as u64 * r.stride))
    };
    match (space, at) {
        // The CTA's own is also a part of the cluster's.
        (AddrSpace::Shared, _) if at / window::CTA == u64::from(r.rank) + 1 => {
            inside(r.shared, at % window::CTA)
        }
        (AddrSpace::Shared, _) => inside(r.shared, at),
        (AddrSpace::Cluster, _) => cluster(at),
        (AddrSpace::Local, _) => local(at),
        (AddrSpace::Params, _) => inside(r.params, at),
        (AddrSpace::Generic, window::SHARED..window::LOCAL) => cluster(at - window::SHARED),
        (AddrSpace::Generic, window::LOCAL..window::PARAMS) => local(at - window::LOCAL),
        (AddrSpace::Generic, window::PARAMS..window::CODE) => inside(r.params, at - window::PARAMS),
        (AddrSpace::Global | AddrSpace::Generic, _) => r.memory.range_near(at, bytes, hint),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::mem::Owner;

    #[test]
    fn runs_are_found_in_every_space() {
        let shared: Vec<_> = (0..2).map(|_| Arc::new(Region::new(64))).collect();
        let (local, params) = (Region::new(8 * LANES as u64), Region::new(16));
        let (own, peers) = (shared[1].clone(), Peers::new(shared, false));
        let mut memory = Memory::default();
        let base = memory.alloc(32, 16, 1 << 20, Owner::User("x".into())).unwrap();
        let r = VisibleMemory {
            memory: &memory,
            shared: &own,
            peers: &peers,
            rank: 1,
            local: &local,
            stride: 8,
            params: &params,
        };
        let found =
            |space, lane, at, bytes| range(&r, space, lane, at, bytes).map(|(region, at)| (region.id(), at));
        // The CTA's own shared memory by its rank; another's is not `.shared`.
        assert_eq!(found(AddrSpace::Shared, 0, 48, 16), Some((own.id(), 48)));
        assert_eq!(found(AddrSpace::Shared, 0, 2 * window::CTA + 48, 16), Some((own.id(), 48)));
        assert_eq!(found(AddrSpace::Shared, 0, window::CTA + 48, 16), None);
        assert_eq!(found(AddrSpace::Shared, 0, 2 * window::CTA + 49, 16), None);
        let other = found(AddrSpace::Cluster, 0, window::CTA + 48, 16).unwrap();
        assert!(other.0 != own.id() && other.1 == 48);
        assert_eq!(found(AddrSpace::Generic, 0, window::SHARED + window::CTA + 48, 16), Some(other));
        assert_eq!(found(AddrSpace::Cluster, 0, 3 * window::CTA, 16), None);
        // Each lane's local memory is its own.
        assert_eq!(found(AddrSpace::Local, 3, 4, 4), Some((local.id(), 28)));
        assert_eq!(found(AddrSpace::Generic, 3, window::LOCAL + 4, 4), Some((local.id(), 28)));
        assert_eq!(found(AddrSpace::Local, 3, 5, 4), None);
        assert_eq!(found(AddrSpace::Local, 3, 0, 16), None);
        // Parameters and global memory.
        assert_eq!(found(AddrSpace::Generic, 0, window::PARAMS + 8, 8), Some((params.id(), 8)));
        assert_eq!(found(AddrSpace::Params, 0, 9, 8), None);
        assert!(
            found(AddrSpace::Global, 0, base + 16, 16).is_some()
                && found(AddrSpace::Global, 0, base + 17, 16).is_none()
        );
        // No bytes are everywhere.
        for space in [
            AddrSpace::Shared,
            AddrSpace::Cluster,
            AddrSpace::Local,
            AddrSpace::Params,
            AddrSpace::Global,
            AddrSpace::Generic,
        ] {
            assert!(
                found(space, 0, base + 32, 0).is_some() && found(space, 0, u64::MAX, 0).is_some(),
                "{space:?}"
            );
            assert!(found(space, 0, u64::MAX, 16).is_none(), "{space:?}");
        }
    }
}
