//! Selects video instructions.

use prlx_isa::ptx::{Op, opcode};
use prlx_isa::view::{Operand, Type, VideoSelector};
use prlx_lanes::entry;
use prlx_lanes::video::*;

use super::selector::{AluOp, Selector};
use crate::error::{EmuError, unsupported};

/// The operation, and how many bits its parts have: 32 for scalar forms.
fn of(op: Op) -> Option<(First, u32)> {
    use First::*;
    Some(match op {
        Op::Vadd => (Add, 32),
        Op::Vsub => (Sub, 32),
        Op::Vabsdiff => (AbsDiff, 32),
        Op::Vmin => (Min, 32),
        Op::Vmax => (Max, 32),
        Op::Vshl => (Shl, 32),
        Op::Vshr => (Shr, 32),
        Op::Vmad => (Mad, 32),
        Op::Vset => (Set, 32),
        Op::Vadd2 => (Add, 16),
        Op::Vsub2 => (Sub, 16),
        Op::Vavrg2 => (Average, 16),
        Op::Vabsdiff2 => (AbsDiff, 16),
        Op::Vmin2 => (Min, 16),
        Op::Vmax2 => (Max, 16),
        Op::Vset2 => (Set, 16),
        Op::Vadd4 => (Add, 8),
        Op::Vsub4 => (Sub, 8),
        Op::Vavrg4 => (Average, 8),
        Op::Vabsdiff4 => (AbsDiff, 8),
        Op::Vmin4 => (Min, 8),
        Op::Vmax4 => (Max, 8),
        Op::Vset4 => (Set, 8),
        _ => return None,
    })
}

/// What an operand names; all of it by default.
fn parts(o: &Operand) -> Option<VideoSelector> {
    match o {
        Operand::Element(_, code) => VideoSelector::from_code(*code),
        _ => None,
    }
}

fn digits(p: VideoSelector) -> u32 {
    p.which.iter().take(p.count.into()).rev().fold(0, |v, w| v << 3 | u32::from(*w))
}

/// Chooses a video instruction.
pub(super) fn select(op: Op, x: &Selector) -> Result<AluOp, EmuError> {
    let Some((first, bits)) = of(op) else {
        return Err(unsupported(format!("`{}` is not an operation on registers alone", op.mnemonic())));
    };
    let packed = bits < 32;
    // Second operations, and comparisons where there are others, have a name of their own.
    let mut names: Vec<&str> = match first {
        First::Mad => vec!["sat", "po", "shr7", "shr15"],
        _ if packed => vec!["add"],
        _ => SECOND.to_vec(),
    };
    names.extend(match first {
        First::Shl | First::Shr => &["sat", "clamp", "wrap"][..],
        First::Set => &RELATIONS,
        First::Mad => &[],
        _ => &["sat"],
    });
    x.only(&names)?;
    let signs = opcode(x.inst).types.iter().map(|t| match t {
        Type::S32 => Ok(true),
        Type::U32 => Ok(false),
        _ => Err(x.untyped()),
    });
    let signs = signs.collect::<Result<Vec<_>, _>>()?;
    let signed = match (first, signs.as_slice()) {
        // Its results are 0 and 1; the type of `c` is that of `a`.
        (First::Set, &[a, b]) => [a, a, b],
        (First::Set, _) => return Err(x.untyped()),
        (_, &[d, a, b]) => [d, a, b],
        _ => return Err(x.untyped()),
    };
    let has = |i: usize| x.inst.operands.get(i);
    let (Some(d), Some(a), Some(b)) = (has(0), has(1), has(2)) else {
        return Err(unsupported("it has too few operands"));
    };
    let second = SECOND.iter().position(|s| x.has(s)).map_or(0, |i| i as u32 + 1);
    let relation = RELATIONS.iter().position(|r| x.has(r)).unwrap_or(0) as u32;
    let shift = if x.has("shr15") { 15 } else { 7 * u32::from(x.has("shr7")) };
    let mut form = Form {
        first,
        second,
        relation,
        signed,
        sat: x.has("sat"),
        wrap: x.has("wrap"),
        plus_one: x.has("po"),
        shift,
        bits: [bits; 3],
        from: [0; 2],
        mask: 15,
        packed,
    };
    if first == First::Set && !RELATIONS.iter().any(|r| x.has(r)) {
        return Err(unsupported("it names no comparison"));
    }
    for (i, o) in [d, a, b].into_iter().enumerate() {
        let Some(named) = parts(o) else {
            // By default parts of A come from A, those of B from B.
            if packed && i > 0 {
                form.from[i - 1] = [0o3210, 0o7654, 0o10, 0o32][(i - 1) + if bits == 16 { 2 } else { 0 }];
            }
            continue;
        };
        let (limit, wide) = if packed && i > 0 { (64, 32 / bits) } else { (32, 1) };
        let inside = digits_below(named, limit / u32::from(named.bits));
        let fits = match (packed, i) {
            (true, 0) => named.bits as u32 == bits && u32::from(named.count) <= 32 / bits,
            (true, _) => named.bits as u32 == bits && u32::from(named.count) == wide,
            (false, _) => u32::from(named.count) == wide,
        };
        if !inside || !fits || (first == First::Mad && i == 0) {
            return Err(unsupported(format!("its operand has no part `.{named}` here")));
        }
        match (i, packed) {
            (0, _) => {
                form.mask = named.which.iter().take(named.count.into()).fold(0, |m, w| m | 1 << w);
                form.bits[0] = named.bits.into();
            }
            (_, true) => form.from[i - 1] = digits(named),
            (_, false) => (form.from[i - 1], form.bits[i]) = (digits(named), named.bits.into()),
        }
    }
    let merges = packed || parts(d).is_some();
    let needs = if merges || second > 0 || first == First::Mad { 3 } else { 2 };
    if x.inst.operands.len() != needs + 1 {
        return Err(unsupported(format!("it has {} sources, not {needs}", x.inst.operands.len() - 1)));
    }
    if second > 0 && (form.sat && packed || parts(d).is_some() && !packed) {
        return Err(unsupported("its result is both merged and combined, or saturated and summed"));
    }
    x.op(Some(entry::<Video>(x.simd)), Type::U32, &[Type::U32; 3][..needs], form.pack())
}

/// Whether all parts named are below a number.
fn digits_below(p: VideoSelector, limit: u32) -> bool {
    p.which.iter().take(p.count.into()).all(|w| u32::from(*w) < limit)
}
