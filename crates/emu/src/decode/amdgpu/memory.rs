//! Loads, stores and atomics (RDNA 3 ISA, "Scalar Memory Operations", "Vector Memory Operations", "Data Share
//! Operations"; CDNA 3 ISA, the same chapters).
//!
//! # Invariants
//! - The address of an access is computed before a result is written.
//! - Accesses of several words are accesses of single words, one after the other, as their alignment is that
//!   of a word.
//!
//! # Limitations
//! - Of buffers, formats, swizzled addresses and the conversion of elements are missing. An access outside a
//!   buffer is dropped as a whole.
//! - Loads by lane number, stores from LDS, GDS and image instructions are missing.

use prlx_isa::amdgpu::inst::table::Role;
use prlx_isa::amdgpu::inst::{Address, Encoding, Field, Reg, Value};
use prlx_isa::view;
use prlx_lanes::amd::part::AddressSum;
use prlx_lanes::{Args, LANES, Planes, V32, V64, entry};

use super::decoder::Decoder;
use crate::code::{AddrBase, AddrSpace, Atomic, MemAccess, Op, Plane, Rmw, window};
use crate::decode::binder::PlaneKind;
use crate::error::{EmuError, unsupported};

/// What a mnemonic says of an access.
#[derive(Clone, Copy, Debug)]
struct Access {
    kind: Kind,
    /// Bytes of an element, 1, 2, 4 or 8.
    size: u8,
    /// Elements that follow one another in memory.
    count: u8,
    /// Whether a loaded element is extended by its sign.
    signed: bool,
    /// Half of the register that is loaded or stored, while the other one is kept.
    half: Option<Half>,
    /// Bytes between two addresses, for each unit of the two offsets.
    stride: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Load,
    Store,
    Atomic(Rmw),
    /// Subtraction: the value is negated, then added.
    Subtract,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Half {
    Low,
    High,
}

impl Access {
    fn of(name: &str) -> Option<Access> {
        let rest = ["global_", "flat_", "scratch_", "s_buffer_", "buffer_", "ds_", "s_"]
            .iter()
            .find_map(|prefix| name.strip_prefix(prefix))?;
        let (verb, what) = rest.split_once('_').unwrap_or((rest, ""));
        let kind = match verb {
            "load" | "read" | "read2" | "read2st64" => Kind::Load,
            "store" | "write" | "write2" | "write2st64" => Kind::Store,
            _ => return Access::atomic(rest),
        };
        let verb_stride = if verb.ends_with("st64") { 64 } else { 1 };
        let (what, stride) = match what.strip_prefix("2addr_") {
            Some(what) => what.strip_prefix("stride64_").map_or((what, 1), |what| (what, 64)),
            None => (what, verb_stride),
        };
        let what = if kind == Kind::Load { what.strip_prefix("lds_").unwrap_or(what) } else { what };
        let half = match what {
            _ if what.contains("d16_hi") => Some(Half::High),
            _ if what.contains("d16") => Some(Half::Low),
            _ => None,
        };
        let what = what.replace("_d16_hi", "").replace("_d16", "").replace("d16_hi_", "").replace("d16_", "");
        let (size, count, signed) = match what.as_str() {
            "ubyte" | "u8" | "byte" | "b8" => (1, 1, false),
            "sbyte" | "i8" => (1, 1, true),
            "ushort" | "u16" | "b16" => (2, 1, false),
            "short" => (2, 1, false),
            "sshort" | "i16" => (2, 1, true),
            "dword" | "b32" => (4, 1, false),
            "dwordx2" | "b64" => (4, 2, false),
            "dwordx3" | "b96" => (4, 3, false),
            "dwordx4" | "b128" => (4, 4, false),
            "dwordx8" | "b256" => (4, 8, false),
            "dwordx16" | "b512" => (4, 16, false),
            _ => return None,
        };
        Some(Access { kind, size, count, signed, half, stride })
    }

    fn atomic(rest: &str) -> Option<Access> {
        let what = rest.strip_prefix("atomic_").unwrap_or(rest).replace("_rtn", "");
        let (stem, size) = match what.rsplit_once('_') {
            Some((stem, "x2" | "b64" | "u64" | "i64")) => (stem, 8),
            Some((stem, "b32" | "u32" | "i32")) => (stem, 4),
            _ => (what.as_str(), if what.ends_with("_f64") { 8 } else { 4 }),
        };
        let signed = what.ends_with("i32") || what.ends_with("i64");
        let rmw = match stem {
            "add" => Rmw::Add,
            "sub" => {
                return Some(Access {
                    kind: Kind::Subtract,
                    size,
                    count: 1,
                    signed: false,
                    half: None,
                    stride: 1,
                });
            }
            "smin" => Rmw::MinS,
            "smax" => Rmw::MaxS,
            "umin" => Rmw::MinU,
            "umax" => Rmw::MaxU,
            "min" if signed => Rmw::MinS,
            "max" if signed => Rmw::MaxS,
            "min" => Rmw::MinU,
            "max" => Rmw::MaxU,
            "and" => Rmw::And,
            "or" => Rmw::Or,
            "xor" => Rmw::Xor,
            "inc" => Rmw::Inc,
            "dec" => Rmw::Dec,
            "swap" | "wrxchg" | "storexchg" => Rmw::Exch,
            "cmpswap" | "cmpst" | "cmpstore" => Rmw::Cas,
            "add_f32" => Rmw::AddF32 { flush: false },
            "add_f64" => Rmw::AddF64,
            "pk_add_f16" => Rmw::AddF16x2,
            "pk_add_bf16" => Rmw::AddBf16x2,
            _ => return None,
        };
        Some(Access { kind: Kind::Atomic(rmw), size, count: 1, signed: false, half: None, stride: 1 })
    }
}

/// Where an access goes: its state space, the plane of the address, and bytes to add.
type Place = (AddrSpace, AddrBase, i64);

/// Appends the steps of an instruction that accesses memory; `None` if it does not.
///
/// # Errors
/// The device does not support the access.
pub fn memory(d: &mut Decoder<'_, '_>) -> Option<Result<(), EmuError>> {
    d.inst.access()?;
    Some(access(d))
}

fn access(d: &mut Decoder<'_, '_>) -> Result<(), EmuError> {
    let unknown = || unsupported("accesses of this kind are not implemented");
    let access = Access::of(d.inst.name()).ok_or_else(unknown)?;
    let address = d.inst.address().ok_or_else(unknown)?;
    if d.inst.get(Field::Gds) == 1 || d.inst.get(Field::Tfe) == 1 {
        return Err(unsupported("GDS and `tfe` are not implemented"));
    }
    if d.inst.get(Field::ScaleOffset) == 1 {
        return Err(unsupported("`scale_offset` is not implemented"));
    }
    let buffer = matches!(d.inst.encoding(), Some(Encoding::Mubuf));
    let guard = d.b.guard;
    let (space, base, offset) = place(d, &address, &access)?;
    let inside = d.b.guard;
    let places: Vec<Place> = match d.inst.two_offsets() {
        Some(two) => {
            let unit = i64::from(access.stride) * i64::from(access.size) * i64::from(access.count);
            two.iter().map(|n| (space, base, offset + i64::from(*n) * unit)).collect()
        }
        None => vec![(space, base, offset)],
    };
    match access.kind {
        Kind::Load if d.inst.loads_to_lds() => {
            load_to_lds(d, &access, (space, base, offset), (guard, inside), address.offset)?;
        }
        Kind::Load => {
            let scalar = d.inst.encoding() == Some(Encoding::Smem);
            let regs = result(d).ok_or_else(|| unsupported("it has no result"))?;
            if buffer || inside != guard {
                // What lies outside reads as 0.
                d.b.guard = guard;
                for reg in &regs {
                    let plane = d.word(*reg);
                    if access.half.is_none() {
                        d.alu(zero, Args { dst: [plane, 0, 0, 0], ..Args::default() });
                    }
                }
                d.b.guard = inside;
            }
            let count = usize::from(access.count);
            let results = planes(d, &regs);
            let base = kept_base(d, base, &results);
            for (at, (space, _, offset)) in places.iter().copied().enumerate() {
                let place = (space, base, offset);
                let some = regs.get(at * count..(at + 1) * count).unwrap_or_default();
                load(d, &access, place, some, at + 1 == places.len());
            }
            if scalar {
                d.wrote(&regs);
            }
        }
        Kind::Store => {
            let data = sources(d);
            let count = usize::from(access.count);
            for (at, place) in places.iter().enumerate() {
                let planes = data.get(at).cloned().unwrap_or_default();
                let planes = planes.get(..count).ok_or_else(|| unsupported("its data is missing"))?;
                store(d, &access, *place, planes, at + 1 == places.len());
            }
        }
        Kind::Atomic(rmw) => atomic(d, rmw, access.size, places.first().copied().ok_or_else(unknown)?)?,
        Kind::Subtract => atomic(d, Rmw::Add, access.size, places.first().copied().ok_or_else(unknown)?)?,
    }
    d.b.guard = guard;
    Ok(())
}

/// The 32-bit registers that a load or an atomic writes.
fn result(d: &Decoder<'_, '_>) -> Option<Vec<Reg>> {
    let operands = d.inst.operands();
    // Data of a buffer load that keeps a half is read, too.
    let written = operands
        .iter()
        .find(|o| matches!(o.slot.role, Role::Result | Role::Returned) || (o.slot.role == Role::Both));
    written.map(|o| o.value.registers())
}

/// The planes of each data operand, in the order of the text.
fn sources(d: &mut Decoder<'_, '_>) -> Vec<Vec<u16>> {
    let data = [Field::Data, Field::Data0, Field::Data1, Field::Vdata, Field::Sdata];
    let operands = d.inst.operands();
    let of = operands.iter().filter(|o| data.contains(&o.slot.field) && o.slot.role != Role::Result);
    of.map(|o| o.value.registers()).collect::<Vec<_>>().into_iter().map(|regs| planes(d, &regs)).collect()
}

fn planes(d: &mut Decoder<'_, '_>, regs: &[Reg]) -> Vec<u16> {
    regs.iter().map(|r| d.word(*r)).collect()
}

/// The place of an access. For buffers, the guard becomes the lanes whose access is inside.
fn place(d: &mut Decoder<'_, '_>, address: &Address, access: &Access) -> Result<Place, EmuError> {
    let none = || unsupported("its address is not understood");
    let vector = address.vector.map(Value::registers).unwrap_or_default();
    let vector = planes(d, &vector);
    let base = address.base.map(Value::registers).unwrap_or_default();
    Ok(match d.inst.encoding() {
        Some(Encoding::Ds) => {
            let base = vector.first().map_or(AddrBase::None, |v| AddrBase::W32(*v));
            (AddrSpace::Shared, base, address.offset)
        }
        Some(Encoding::Flat | Encoding::Global) => {
            // GLOBAL reads the arguments of a kernel, too, which are a window of their own here.
            let space = AddrSpace::Generic;
            let base = planes(d, &base);
            let at = match (&base[..], &vector[..]) {
                ([low, high], [offset, ..]) => {
                    let to = d.b.temp(PlaneKind::W64);
                    d.alu(
                        entry::<AddressSum>(d.simd),
                        Args { dst: [to, 0, 0, 0], src: [*low, *high, *offset, 0], imm: 0 },
                    );
                    to
                }
                (_, [low, high]) => d.pair(*low, *high),
                _ => return Err(none()),
            };
            (space, AddrBase::W64(at), address.offset)
        }
        Some(Encoding::Scratch) => {
            let base = planes(d, &base);
            let at = match (base.first(), vector.first()) {
                (None, None) => AddrBase::None,
                (Some(one), None) | (None, Some(one)) => AddrBase::W32(*one),
                (Some(a), Some(b)) => {
                    let to = d.b.temp(PlaneKind::W32);
                    d.alu(add, Args { dst: [to, 0, 0, 0], src: [*a, *b, 0, 0], imm: 0 });
                    AddrBase::W32(to)
                }
            };
            (AddrSpace::Local, at, address.offset)
        }
        Some(Encoding::Smem) => {
            let Some([low, high, rest @ ..]) = base.get(..) else { return Err(none()) };
            let (low, high) = (d.word(*low), d.word(*high));
            let register = match address.register.map(Value::registers).unwrap_or_default().first() {
                Some(reg) => d.word(*reg),
                None => d.b.const32(0),
            };
            let to = d.b.temp(PlaneKind::W64);
            // A buffer's base has 48 bits.
            let imm = if rest.is_empty() { u64::MAX } else { (1 << 48) - 1 };
            d.alu(
                entry::<AddressSum>(d.simd),
                Args { dst: [to, 0, 0, 0], src: [low, high, register, 0], imm },
            );
            if let [records, ..] = rest {
                let records = d.word(*records);
                let offset = d.b.const32(address.offset as u32);
                inside(d, [register, offset, records], u32::from(access.size) * u32::from(access.count));
            }
            (AddrSpace::Generic, AddrBase::W64(to), address.offset)
        }
        Some(Encoding::Mubuf) => buffer(d, address, &base, &vector, access)?,
        _ => return Err(none()),
    })
}

/// An address in a buffer (RDNA 3 ISA, "Buffer Addressing"; CDNA 3 ISA, "Buffer Addressing").
fn buffer(
    d: &mut Decoder<'_, '_>,
    address: &Address,
    base: &[Reg],
    vector: &[u16],
    access: &Access,
) -> Result<Place, EmuError> {
    let [low, high, records, _] = base else { return Err(unsupported("its buffer is not understood")) };
    let (low, high, records) = (d.word(*low), d.word(*high), d.word(*records));
    let register = match address.register {
        Some(Value::Integer(n)) => d.b.const32(n as u32),
        Some(Value::Literal(n)) => d.b.const32(n),
        Some(value) => match value.registers().first() {
            Some(reg) => d.word(*reg),
            None => d.b.const32(0),
        },
        None => d.b.const32(0),
    };
    let (index, offset) = match (d.inst.get(Field::Idxen), d.inst.get(Field::Offen), vector) {
        (0, 0, _) => (None, None),
        (0, _, [offset, ..]) => (None, Some(*offset)),
        (_, 0, [index, ..]) => (Some(*index), None),
        (_, _, [index, offset, ..]) => (Some(*index), Some(*offset)),
        _ => return Err(unsupported("its address is not understood")),
    };
    let fixed = d.b.const32(address.offset as u32);
    let mut at = match offset {
        Some(offset) => {
            let to = d.b.temp(PlaneKind::W32);
            d.alu(add, Args { dst: [to, 0, 0, 0], src: [offset, fixed, 0, 0], imm: 0 });
            to
        }
        None => fixed,
    };
    let zero = d.b.const32(0);
    match index {
        Some(index) => {
            inside(d, [zero, index, records], 1);
            let to = d.b.temp(PlaneKind::W32);
            d.alu(element, Args { dst: [to, 0, 0, 0], src: [at, index, high, 0], imm: 0 });
            at = to;
        }
        None => inside(d, [register, at, records], u32::from(access.size) * u32::from(access.count)),
    }
    let (first, to) = (d.b.temp(PlaneKind::W64), d.b.temp(PlaneKind::W64));
    let lanes = d.lanes.into();
    d.alu(buffer_base, Args { dst: [first, 0, 0, 0], src: [low, high, register, 0], imm: lanes });
    d.alu(farther, Args { dst: [to, 0, 0, 0], src: [first, at, 0, 0], imm: 0 });
    Ok((AddrSpace::Generic, AddrBase::W64(to), 0))
}

/// Restricts the guard to the lanes for which the sum of two offsets, and `bytes` behind it, are inside.
fn inside(d: &mut Decoder<'_, '_>, [register, offset, records]: [u16; 3], bytes: u32) {
    let to = d.b.temp(PlaneKind::Pred);
    let never = d.b.const_pred(false);
    d.alu_all(copy_pred, Args { dst: [to, 0, 0, 0], src: [never, 0, 0, 0], imm: 0 });
    d.alu(within, Args { dst: [to, 0, 0, 0], src: [register, offset, records, 0], imm: bytes.into() });
    d.b.guard = to;
}

fn load(d: &mut Decoder<'_, '_>, access: &Access, (space, base, offset): Place, to: &[Reg], last: bool) {
    let wanted = planes(d, to);
    let partial = access.half.is_some() || access.signed;
    let into = match (partial, wanted.first()) {
        (true, Some(_)) => vec![d.b.temp(PlaneKind::W32)],
        _ => wanted.clone(),
    };
    words(d, access, (space, base, offset), &into, last, Op::Ld);
    if let (true, Some(from), Some(to)) = (partial, into.first(), wanted.first()) {
        let bits = u64::from(access.size) * 8;
        if access.signed {
            d.alu(extend, Args { dst: [*from, 0, 0, 0], src: [*from, 0, 0, 0], imm: bits });
        }
        let args = Args { dst: [*to, 0, 0, 0], src: [*from, *to, 0, 0], imm: 0 };
        match access.half {
            None => d.alu(copy_word, args),
            Some(Half::Low) => d.alu(low_half, args),
            Some(Half::High) => d.alu(high_half, args),
        }
    }
}

/// A load to LDS: the words of a lane go to the byte that M0 says, plus the offset of the instruction, plus
/// the lane's number times their bytes, at least four (CDNA 3 ISA, "Memory Buffer Load to LDS"). `inside` is
/// the guard of lanes that read; the others of `guard` write 0.
fn load_to_lds(
    d: &mut Decoder<'_, '_>,
    access: &Access,
    place: Place,
    (guard, inside): (u16, u16),
    offset: i64,
) -> Result<(), EmuError> {
    if access.half.is_some() {
        return Err(unsupported("halves cannot be loaded to LDS"));
    }
    let lane = d.b.source(&view::Operand::Special("%laneid".to_owned()), view::Type::B32)?;
    let (m0, base) = (d.word(Reg::M0), d.b.temp(PlaneKind::W32));
    let bytes = u64::from(access.size.max(4)) * u64::from(access.count);
    let into: Vec<u16> = (0..access.count).map(|_| d.b.temp(PlaneKind::W32)).collect();
    d.b.guard = guard;
    d.alu(lds_place, Args { dst: [base, 0, 0, 0], src: [m0, lane, 0, 0], imm: bytes });
    for word in &into {
        d.alu(zero, Args { dst: [*word, 0, 0, 0], ..Args::default() });
    }
    d.b.guard = inside;
    words(d, access, place, &into, false, Op::Ld);
    d.b.guard = guard;
    if access.signed {
        let bits = u64::from(access.size) * 8;
        into.iter().for_each(|p| d.alu(extend, Args { dst: [*p, 0, 0, 0], src: [*p, 0, 0, 0], imm: bits }));
    }
    let whole = Access { size: 4, ..*access };
    words(d, &whole, (AddrSpace::Shared, AddrBase::W32(base), offset), &into, true, Op::St);
    Ok(())
}

/// The byte of LDS of a lane: 16 bits of M0, plus the lane's number times `imm`.
fn lds_place(p: &mut Planes, a: &Args, m: u32) {
    let (m0, lane, mut out) = (p.get32(a.src[0]), p.get32(a.src[1]), V32([0; LANES]));
    for l in 0..LANES {
        out.0[l] = (m0.0[l] & 0xffff).wrapping_add(lane.0[l].wrapping_mul(a.imm as u32));
    }
    p.put32(a.dst[0], m, out);
}

fn store(d: &mut Decoder<'_, '_>, access: &Access, (space, base, offset): Place, from: &[u16], last: bool) {
    let mut from = from.to_vec();
    if let (Some(Half::High), Some(first)) = (access.half, from.first_mut()) {
        let to = d.b.temp(PlaneKind::W32);
        d.alu(shifted, Args { dst: [to, 0, 0, 0], src: [*first, 0, 0, 0], imm: 16 });
        *first = to;
    }
    words(d, access, (space, base, offset), &from, last, Op::St);
}

/// Appends the accesses of single elements. The last one is the instruction, if `last`.
fn words(
    d: &mut Decoder<'_, '_>,
    access: &Access,
    (space, base, offset): Place,
    planes: &[u16],
    last: bool,
    op: fn(u32) -> Op,
) {
    let strong = is_strong(d);
    for (at, plane) in planes.iter().enumerate() {
        let offset = offset + at as i64 * i64::from(access.size);
        let planes = vec![Plane::W32(*plane)];
        d.b.code.mems.push(MemAccess { space, base, offset, size: access.size, strong, planes });
        let op = op(d.b.code.mems.len() as u32 - 1);
        if last && at + 1 == usize::from(access.count) { d.b.emit_main(op) } else { d.b.emit(op) }
    }
}

/// The register of an address; a copy if a load of several words writes that register.
fn kept_base(d: &mut Decoder<'_, '_>, base: AddrBase, into: &[u16]) -> AddrBase {
    match base {
        AddrBase::W32(plane) if into.contains(&plane) && into.len() > 1 => {
            let to = d.b.temp(PlaneKind::W32);
            d.alu(copy_word, Args { dst: [to, 0, 0, 0], src: [plane, 0, 0, 0], imm: 0 });
            AddrBase::W32(to)
        }
        base => base,
    }
}

fn atomic(d: &mut Decoder<'_, '_>, rmw: Rmw, size: u8, (space, base, offset): Place) -> Result<(), EmuError> {
    let subtracts = Access::of(d.inst.name()).is_some_and(|a| a.kind == Kind::Subtract);
    let missing = || unsupported("its data is missing");
    let data: Vec<u16> = sources(d).into_iter().flatten().collect();
    let words = usize::from(size / 4);
    let mut values = Vec::new();
    for words in data.chunks_exact(words) {
        values.push(match *words {
            [one] => Plane::W32(one),
            [low, high] => Plane::W64(d.pair(low, high)),
            _ => return Err(missing()),
        });
    }
    let mut first = *values.first().ok_or_else(missing)?;
    if subtracts {
        first = match first {
            Plane::W32(p) => {
                let to = d.b.temp(PlaneKind::W32);
                d.alu(negated32, Args { dst: [to, 0, 0, 0], src: [p, 0, 0, 0], imm: 0 });
                Plane::W32(to)
            }
            Plane::W64(p) => {
                let to = d.b.temp(PlaneKind::W64);
                d.alu(negated64, Args { dst: [to, 0, 0, 0], src: [p, 0, 0, 0], imm: 0 });
                Plane::W64(to)
            }
            other => other,
        };
    }
    // `ds_cmpst` compares with its first operand, all others with their second.
    let (value, swap) = match rmw {
        Rmw::Cas => {
            let second = *values.get(1).ok_or_else(missing)?;
            if d.inst.name().contains("cmpst_") { (first, Some(second)) } else { (second, Some(first)) }
        }
        _ => (first, None),
    };
    let lds = d.inst.encoding() == Some(Encoding::Ds);
    let returns = if lds { d.inst.name().contains("_rtn") } else { d.inst.returns() };
    let to = if returns { result(d).or_else(|| buffer_result(d)) } else { None };
    let to = to.map(|regs| planes(d, &regs)).unwrap_or_default();
    let old = match (size, to.first()) {
        (_, None) => Plane::None,
        (8, Some(_)) => Plane::W64(d.b.temp(PlaneKind::W64)),
        (_, Some(to)) => Plane::W32(*to),
    };
    let returned = if old == Plane::None { Vec::new() } else { vec![old] };
    let mem = MemAccess { space, base, offset, size, strong: true, planes: returned };
    d.b.code.atoms.push(Atomic { mem, rmw, values: vec![value], swap });
    let op = Op::Atom(d.b.code.atoms.len() as u32 - 1);
    d.b.emit_main(op);
    if let (Plane::W64(from), [low, high, ..]) = (old, &to[..]) {
        d.split(from, *low, *high);
    }
    Ok(())
}

/// Atomics of buffers return into the register of their data.
fn buffer_result(d: &Decoder<'_, '_>) -> Option<Vec<Reg>> {
    let data = d.inst.operands().into_iter().find(|o| o.slot.field == Field::Vdata)?;
    let mut regs = data.value.registers();
    if d.inst.name().contains("cmpswap") {
        regs.truncate(regs.len() / 2);
    }
    Some(regs)
}

/// Whether other lanes may change the memory meanwhile: what compilers emit for atomic and volatile accesses.
fn is_strong(d: &Decoder<'_, '_>) -> bool {
    [Field::Glc, Field::Sc0, Field::Sc1, Field::Dlc].into_iter().any(|f| d.inst.get(f) == 1)
        || d.inst.get(Field::Scope) > 0
}

/// The base of a buffer in waves of `imm` lanes, plus a scalar offset. Scratch memory is swizzled: there the
/// offset is that of the whole wave (LLVM, User Guide for AMDGPU Backend, "Private").
fn buffer_base(p: &mut Planes, a: &Args, m: u32) {
    let (low, high, offset) = (p.get32(a.src[0]), p.get32(a.src[1]), p.get32(a.src[2]));
    let mut out = V64([0; LANES]);
    for l in 0..LANES {
        let base = (u64::from(high.0[l]) << 32 | u64::from(low.0[l])) & ((1 << 48) - 1);
        let offset = u64::from(offset.0[l]);
        out.0[l] = base.wrapping_add(if base == window::LOCAL { offset / a.imm.max(1) } else { offset });
    }
    p.put64(a.dst[0], m, out);
}

/// A 64-bit address plus a 32-bit offset.
fn farther(p: &mut Planes, a: &Args, m: u32) {
    let (base, offset, mut out) = (p.get64(a.src[0]), p.get32(a.src[1]), V64([0; LANES]));
    for l in 0..LANES {
        out.0[l] = base.0[l].wrapping_add(u64::from(offset.0[l]));
    }
    p.put64(a.dst[0], m, out);
}

/// The sum of two words.
fn add(p: &mut Planes, a: &Args, m: u32) {
    let (x, y, mut out) = (p.get32(a.src[0]), p.get32(a.src[1]), V32([0; LANES]));
    for l in 0..LANES {
        out.0[l] = x.0[l].wrapping_add(y.0[l]);
    }
    p.put32(a.dst[0], m, out);
}

/// An offset plus an index times the stride, which is in bits 16 to 29 of the second word of a buffer.
fn element(p: &mut Planes, a: &Args, m: u32) {
    let (at, index, high, mut out) =
        (p.get32(a.src[0]), p.get32(a.src[1]), p.get32(a.src[2]), V32([0; LANES]));
    for l in 0..LANES {
        out.0[l] = at.0[l].wrapping_add(index.0[l].wrapping_mul(high.0[l] >> 16 & 0x3fff));
    }
    p.put32(a.dst[0], m, out);
}

/// Whether `imm` bytes at the sum of two offsets lie before an end.
fn within(p: &mut Planes, a: &Args, m: u32) {
    let (x, y, end, mut out) = (p.get32(a.src[0]), p.get32(a.src[1]), p.get32(a.src[2]), 0);
    for l in 0..LANES {
        let last = u64::from(x.0[l]) + u64::from(y.0[l]) + a.imm;
        out |= u32::from(last <= u64::from(end.0[l])) << l;
    }
    p.put_pred(a.dst[0], m, out);
}

fn copy_pred(p: &mut Planes, a: &Args, m: u32) {
    let v = p.get_pred(a.src[0]);
    p.put_pred(a.dst[0], m, v);
}

fn copy_word(p: &mut Planes, a: &Args, m: u32) {
    let v = p.get32(a.src[0]);
    p.put32(a.dst[0], m, v);
}

fn zero(p: &mut Planes, a: &Args, m: u32) {
    p.put32(a.dst[0], m, V32([0; LANES]));
}

/// The first source in the low half, and the high half of the second.
fn low_half(p: &mut Planes, a: &Args, m: u32) {
    let (v, old) = (p.get32(a.src[0]), p.get32(a.src[1]));
    let mut out = old;
    for l in 0..LANES {
        out.0[l] = old.0[l] & 0xffff_0000 | v.0[l] & 0xffff;
    }
    p.put32(a.dst[0], m, out);
}

/// The first source in the high half, and the low half of the second.
fn high_half(p: &mut Planes, a: &Args, m: u32) {
    let (v, old) = (p.get32(a.src[0]), p.get32(a.src[1]));
    let mut out = old;
    for l in 0..LANES {
        out.0[l] = v.0[l] << 16 | old.0[l] & 0xffff;
    }
    p.put32(a.dst[0], m, out);
}

/// A value of `imm` bits, extended by its sign.
fn extend(p: &mut Planes, a: &Args, m: u32) {
    let (v, up) = (p.get32(a.src[0]), 32 - (a.imm as u32).clamp(1, 32));
    p.put32(a.dst[0], m, V32(v.0.map(|x| ((x << up) as i32 >> up) as u32)));
}

/// A value shifted right by `imm` bits.
fn shifted(p: &mut Planes, a: &Args, m: u32) {
    let v = p.get32(a.src[0]);
    p.put32(a.dst[0], m, V32(v.0.map(|x| x >> (a.imm & 31))));
}

fn negated32(p: &mut Planes, a: &Args, m: u32) {
    let v = p.get32(a.src[0]);
    p.put32(a.dst[0], m, V32(v.0.map(u32::wrapping_neg)));
}

fn negated64(p: &mut Planes, a: &Args, m: u32) {
    let v = p.get64(a.src[0]);
    p.put64(a.dst[0], m, V64(v.0.map(u64::wrapping_neg)));
}
