//! Loads, stores and atomics of a warp: addresses to regions, with every access checked.

use crate::code::{AddrBase, Atom, Mem, Place, Plane, Rmw, window};
use crate::half;
use crate::memory::{Memory, Region};
use crate::planes::{LANES, Planes, V32, V64};

/// What a warp can reach.
pub struct Reach<'a> {
    /// Global memory.
    pub memory: &'a Memory,
    /// The CTA's shared memory.
    pub shared: &'a Region,
    /// The warp's local memory: lane by lane, `stride` bytes each.
    pub local: &'a Region,
    /// Bytes of a lane's local memory.
    pub stride: u64,
    /// The kernel's parameters.
    pub params: &'a Region,
}

/// An access that no memory answers.
#[derive(Debug)]
pub struct Bad {
    /// Whose.
    pub lane: u32,
    /// What is wrong, in words.
    pub text: String,
}

/// The addresses of an access.
#[inline(always)]
fn addresses(planes: &Planes, mem: &Mem) -> V64 {
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

/// Lanes of `mask` whose address and width lie inside `len` bytes, aligned.
#[inline(always)]
fn inside(offs: &V64, mask: u32, len: u64, width: u64) -> u32 {
    let Some(last) = len.checked_sub(width) else { return 0 };
    let mut ok = 0;
    for l in 0..LANES {
        ok |= u32::from(offs.0[l] <= last && offs.0[l] & (width - 1) == 0) << l;
    }
    ok & mask
}

/// Calls `f` for each region that the active lanes touch, with their offsets in it.
#[inline(always)]
fn regions(
    r: &Reach<'_>,
    hint: &mut usize,
    place: Place,
    addr: &V64,
    mask: u32,
    width: u64,
    f: &mut impl FnMut(&Region, &V64, u32, Place),
) -> Result<(), Bad> {
    match place {
        Place::Global => {
            let mut rest = mask;
            while rest != 0 {
                let l = rest.trailing_zeros();
                let at = addr.0[l as usize];
                let Some(a) = r.memory.find(at, hint) else {
                    return Err(Bad {
                        lane: l,
                        text: format!("at {at:#x}, where nothing is allocated: {}", r.memory.around(at)),
                    });
                };
                let mut offs = V64([0; LANES]);
                for i in 0..LANES {
                    offs.0[i] = addr.0[i].wrapping_sub(a.base);
                }
                let ok = inside(&offs, rest, a.region.len(), width);
                if ok >> l & 1 == 0 {
                    return Err(bad(l, at, width, || r.memory.around(at + width)));
                }
                f(&a.region, &offs, ok, Place::Global);
                rest &= !ok;
            }
            Ok(())
        }
        Place::Shared => {
            let ok = inside(addr, mask, r.shared.len(), width);
            if ok != mask {
                let l = (mask & !ok).trailing_zeros();
                return Err(bad(l, addr.0[l as usize], width, || {
                    format!("the CTA has {} bytes of shared memory", r.shared.len())
                }));
            }
            f(r.shared, addr, mask, Place::Shared);
            Ok(())
        }
        Place::Local => {
            let ok = inside(addr, mask, r.stride, width);
            if ok != mask {
                let l = (mask & !ok).trailing_zeros();
                return Err(bad(l, addr.0[l as usize], width, || {
                    format!("a thread has {} bytes of local memory here", r.stride)
                }));
            }
            let mut offs = *addr;
            for l in 0..LANES {
                offs.0[l] = offs.0[l].wrapping_add(l as u64 * r.stride);
            }
            f(r.local, &offs, mask, Place::Local);
            Ok(())
        }
        Place::Params => {
            let ok = inside(addr, mask, r.params.len(), width);
            if ok != mask {
                let l = (mask & !ok).trailing_zeros();
                return Err(bad(l, addr.0[l as usize], width, || {
                    format!("the kernel has {} bytes of parameters", r.params.len())
                }));
            }
            f(r.params, addr, mask, Place::Params);
            Ok(())
        }
        Place::Generic => {
            let mut high = 0;
            for l in 0..LANES {
                high |= u32::from(addr.0[l] >= window::SHARED) << l;
            }
            if high & mask == 0 {
                return regions(r, hint, Place::Global, addr, mask, width, f);
            }
            let low = mask & !high;
            if low != 0 {
                regions(r, hint, Place::Global, addr, low, width, f)?;
            }
            let windows = [
                (Place::Shared, window::SHARED, window::LOCAL),
                (Place::Local, window::LOCAL, window::PARAMS),
                (Place::Params, window::PARAMS, window::CODE),
                (Place::Global, window::CODE, u64::MAX),
            ];
            for (place, from, to) in windows {
                let mut sub = 0;
                let mut offs = *addr;
                for l in 0..LANES {
                    sub |= u32::from(addr.0[l] >= from && addr.0[l] < to) << l;
                    if place != Place::Global {
                        offs.0[l] = addr.0[l].wrapping_sub(from);
                    }
                }
                if sub & mask != 0 {
                    regions(r, hint, place, &offs, sub & mask, width, f)?;
                }
            }
            Ok(())
        }
    }
}

#[cold]
fn bad(lane: u32, at: u64, width: u64, around: impl Fn() -> String) -> Bad {
    let text = if !at.is_multiple_of(width) {
        format!("at {at:#x}, which is not a multiple of {width}")
    } else {
        format!("at {at:#x}, out of bounds: {}", around())
    };
    Bad { lane, text }
}

fn offset(offs: &V64, by: u64) -> V64 {
    let mut out = *offs;
    for o in &mut out.0 {
        *o = o.wrapping_add(by);
    }
    out
}

/// Loads one element of each lane into a plane.
#[inline(always)]
fn load_plane(planes: &mut Planes, plane: Plane, size: u8, region: &Region, offs: &V64, mask: u32) {
    match (plane, size) {
        (Plane::W32(i), 4) => region.gather32(offs, mask, &mut planes.w32[usize::from(i)]),
        (Plane::W64(i), 8) => region.gather64(offs, mask, &mut planes.w64[usize::from(i)]),
        (Plane::W32(i), _) => {
            let out = &mut planes.w32[usize::from(i)];
            each(mask, |l| out.0[l] = region.load(offs.0[l], size.min(4)) as u32);
        }
        (Plane::W64(i), _) => {
            let out = &mut planes.w64[usize::from(i)];
            each(mask, |l| out.0[l] = region.load(offs.0[l], size));
        }
        (Plane::W128(i), _) => {
            region.gather64(offs, mask, &mut planes.w64[usize::from(i)]);
            region.gather64(&offset(offs, 8), mask, &mut planes.w64[usize::from(i) + 1]);
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

/// Does a load.
#[inline(always)]
pub fn load(planes: &mut Planes, r: &Reach<'_>, hint: &mut usize, mem: &Mem, mask: u32) -> Result<(), Bad> {
    if mem.base == AddrBase::None && mem.place == Place::Params {
        return uniform(planes, r.params, mem, mask);
    }
    let addr = addresses(planes, mem);
    let (size, n) = (u64::from(mem.size), mem.planes.len() as u64);
    regions(r, hint, mem.place, &addr, mask, size * n, &mut |region, offs, sub, _| {
        load_plane(planes, mem.planes[0], mem.size, region, offs, sub);
        for (k, &p) in mem.planes.iter().enumerate().skip(1) {
            load_plane(planes, p, mem.size, region, &offset(offs, k as u64 * size), sub);
        }
    })
}

/// A parameter: the same for all lanes.
fn uniform(planes: &mut Planes, params: &Region, mem: &Mem, mask: u32) -> Result<(), Bad> {
    let (size, mut at) = (u64::from(mem.size), mem.offset as u64);
    let width = size * mem.planes.len() as u64;
    let first = || Bad {
        lane: mask.trailing_zeros(),
        text: format!("at {at:#x}, out of bounds: the kernel has {} bytes of parameters", params.len()),
    };
    if !at.is_multiple_of(size) || params.len().checked_sub(width).is_none_or(|last| at > last) {
        return Err(first());
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
fn store_plane(planes: &Planes, plane: Plane, size: u8, region: &Region, offs: &V64, mask: u32) {
    match (plane, size) {
        (Plane::W32(i), 4) => region.scatter32(offs, mask, &planes.w32[usize::from(i)]),
        (Plane::W32(i), _) => {
            let v = &planes.w32[usize::from(i)];
            each(mask, |l| region.store(offs.0[l], size, v.0[l].into()));
        }
        (Plane::W64(i), _) => {
            let v = &planes.w64[usize::from(i)];
            each(mask, |l| region.store(offs.0[l], size, v.0[l]));
        }
        (Plane::W128(i), _) => {
            let (lo, hi) = (&planes.w64[usize::from(i)], &planes.w64[usize::from(i) + 1]);
            each(mask, |l| {
                region.store64(offs.0[l], lo.0[l]);
                region.store64(offs.0[l] + 8, hi.0[l]);
            });
        }
        (Plane::None, _) => {}
    }
}

/// Does a store.
#[inline(always)]
pub fn store(planes: &Planes, r: &Reach<'_>, hint: &mut usize, mem: &Mem, mask: u32) -> Result<(), Bad> {
    let addr = addresses(planes, mem);
    let (size, n) = (u64::from(mem.size), mem.planes.len() as u64);
    regions(r, hint, mem.place, &addr, mask, size * n, &mut |region, offs, sub, _| {
        store_plane(planes, mem.planes[0], mem.size, region, offs, sub);
        for (k, &p) in mem.planes.iter().enumerate().skip(1) {
            store_plane(planes, p, mem.size, region, &offset(offs, k as u64 * size), sub);
        }
    })
}

fn get(planes: &Planes, plane: Plane, l: usize) -> u64 {
    match plane {
        Plane::W32(i) => planes.w32[usize::from(i)].0[l].into(),
        Plane::W64(i) | Plane::W128(i) => planes.w64[usize::from(i)].0[l],
        Plane::None => 0,
    }
}

/// The value of a plane in one lane.
pub fn value(planes: &Planes, plane: Plane, l: usize) -> u64 {
    get(planes, plane, l)
}

/// Sets a plane's value in one lane.
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

/// Does an atomic, lane by lane.
pub fn atomic(planes: &mut Planes, r: &Reach<'_>, hint: &mut usize, atom: &Atom, mask: u32) -> Result<(), Bad> {
    let mem = &atom.mem;
    let addr = addresses(planes, mem);
    let size = mem.size;
    let n = atom.values.len() as u64;
    regions(r, hint, mem.place, &addr, mask, u64::from(size) * n, &mut |region, offs, sub, place| {
        each(sub, |l| {
            for (k, &value) in atom.values.iter().enumerate() {
                let at = offs.0[l] + k as u64 * u64::from(size);
                let v = get(planes, value, l);
                let c = atom.swap.map_or(0, |s| get(planes, s, l));
                let f = |old: u64| rmw(atom.rmw, size, old, v, c);
                let old =
                    if place == Place::Global { region.update(at, size, f) } else { region.update_alone(at, size, f) };
                if let Some(&p) = mem.planes.get(k) {
                    set(planes, p, l, old);
                }
            }
        });
    })
}

/// The new value; `b` is what `cas` exchanges for.
fn rmw(op: Rmw, size: u8, old: u64, v: u64, b: u64) -> u64 {
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
        Rmw::AddF16 => half::add_f16(old as u16, v as u16).into(),
        Rmw::AddBf16 => half::add_bf16(old as u16, v as u16).into(),
        Rmw::AddF16x2 => pair(half::add_f16),
        Rmw::AddBf16x2 => pair(half::add_bf16),
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

/// The rows of tiles: lane `l` gives the address of row `l % 8` of tile `l / 8`, 16 bytes.
pub fn rows(planes: &Planes, r: &Reach<'_>, hint: &mut usize, mem: &Mem) -> Result<Vec<[u16; 8]>, Bad> {
    let n = mem.planes.len() * 8;
    let addr = addresses(planes, mem);
    let mask = u32::MAX >> (LANES - n.min(LANES));
    let mut out = vec![[0; 8]; n];
    regions(r, hint, mem.place, &addr, mask, 16, &mut |region, offs, sub, _| {
        each(sub, |l| {
            for (k, v) in out[l].iter_mut().enumerate() {
                *v = region.load16(offs.0[l] + 2 * k as u64);
            }
        });
    })?;
    Ok(out)
}

/// Stores such rows.
pub fn put_rows(planes: &Planes, r: &Reach<'_>, hint: &mut usize, mem: &Mem, rows: &[[u16; 8]]) -> Result<(), Bad> {
    let addr = addresses(planes, mem);
    let mask = u32::MAX >> (LANES - rows.len().min(LANES));
    regions(r, hint, mem.place, &addr, mask, 16, &mut |region, offs, sub, _| {
        each(sub, |l| {
            for (k, &v) in rows[l].iter().enumerate() {
                region.store16(offs.0[l] + 2 * k as u64, v);
            }
        });
    })
}
