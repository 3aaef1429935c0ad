//! Warp-level exchanges on registers: shuffles, votes, matches and reductions.

use prlx_lanes::{LANES, Planes, V32};

use crate::code::{WarpOp, WarpOpKind};
use crate::mem::access::each;

/// Runs an exchange for the lanes `m`.
#[inline(always)]
pub fn exchange(p: &mut Planes, op: &WarpOp, m: u32) {
    let w32 = |p: &Planes, i: usize| p.get32(op.src[i]);
    let ballot = |p: &Planes| p.get_pred(op.src[0]) & m;
    let to_pred = |b: bool| if b { m } else { 0 };
    match op.kind {
        WarpOpKind::Up | WarpOpKind::Down | WarpOpKind::Bfly | WarpOpKind::Idx => {
            let (a, (from, ok)) = (w32(p, 0), shuffled(p, op));
            let mut out = V32([0; LANES]);
            for (out, from) in out.0.iter_mut().zip(from) {
                *out = a.0[from as usize & 31];
            }
            p.put32(op.dst, m, out);
            if let Some(d) = op.pred {
                let mut v = 0;
                for (l, &ok) in ok.iter().enumerate() {
                    v |= u32::from(ok) << l;
                }
                p.put_pred(d, m, v);
            }
        }
        WarpOpKind::VoteAll => {
            let v = to_pred(ballot(p) == m);
            p.put_pred(op.dst, m, v);
        }
        WarpOpKind::VoteAny => {
            let v = to_pred(ballot(p) != 0);
            p.put_pred(op.dst, m, v);
        }
        WarpOpKind::VoteUni => {
            let v = to_pred(ballot(p) == m || ballot(p) == 0);
            p.put_pred(op.dst, m, v);
        }
        WarpOpKind::VoteBallot => {
            let v = ballot(p);
            p.put32(op.dst, m, V32([v; LANES]));
        }
        WarpOpKind::MatchAny | WarpOpKind::MatchAll => {
            let value = |l: usize| {
                if op.flag {
                    p.w64[usize::from(op.src[0])].0[l]
                } else {
                    p.w32[usize::from(op.src[0])].0[l].into()
                }
            };
            let mut out = V32([0; LANES]);
            each(m, |l| each(m, |i| out.0[l] |= u32::from(value(i) == value(l)) << i));
            if op.kind == WarpOpKind::MatchAll {
                let all = out.0[m.trailing_zeros() as usize & 31] == m;
                out = V32([if all { m } else { 0 }; LANES]);
                if let Some(d) = op.pred {
                    p.put_pred(d, m, to_pred(all));
                }
            }
            p.put32(op.dst, m, out);
        }
        WarpOpKind::Elect => {
            p.put32(op.dst, m, V32([m.trailing_zeros(); LANES]));
            if let Some(d) = op.pred {
                p.put_pred(d, m, m & m.wrapping_neg());
            }
        }
        WarpOpKind::Warp | WarpOpKind::Matrix(_) | WarpOpKind::Wgmma(_) | WarpOpKind::Tensor(_) => {}
        _ => {
            let v = w32(p, 0);
            let mut acc = None;
            each(m, |l| acc = Some(acc.map_or(v.0[l], |a| reduce(op.kind, a, v.0[l]))));
            if let (
                WarpOpKind::ReduxMinF { abs: true, .. } | WarpOpKind::ReduxMaxF { abs: true, .. },
                Some(a),
            ) = (op.kind, &mut acc)
            {
                *a &= 0x7fff_ffff;
            }
            p.put32(op.dst, m, V32([acc.unwrap_or(0); LANES]));
        }
    }
}

/// For each lane of a shuffle: the lane that it reads, and whether that lane is inside its segment.
#[inline(always)]
pub fn shuffled(p: &Planes, op: &WarpOp) -> ([u32; LANES], [bool; LANES]) {
    let (b, c) = (p.get32(op.src[1]), p.get32(op.src[2]));
    match op.kind {
        WarpOpKind::Up => sources(&b, &c, |lane, b, _, max, _| (lane - b, lane - b >= max)),
        WarpOpKind::Down => sources(&b, &c, |lane, b, _, max, _| (lane + b, lane + b <= max)),
        WarpOpKind::Bfly => sources(&b, &c, |lane, b, _, max, _| (lane ^ b, lane ^ b <= max)),
        _ => sources(&b, &c, |_, b, min, max, segment| (min | b & !segment, min | b & !segment <= max)),
    }
}

/// For each lane: the lane that it reads (itself if the requested lane is outside its segment), and whether
/// the requested lane is inside. `f` gets lane, distance, first and last of the segment, and the segment's
/// mask.
#[inline(always)]
fn sources(
    b: &V32,
    c: &V32,
    f: impl Fn(i32, i32, i32, i32, i32) -> (i32, bool),
) -> ([u32; LANES], [bool; LANES]) {
    let (mut from, mut inside) = ([0; LANES], [false; LANES]);
    for l in 0..LANES {
        let (lane, segment) = (l as i32, (c.0[l] >> 8 & 31) as i32);
        let max = lane & segment | (c.0[l] & 31) as i32 & !segment;
        let (j, ok) = f(lane, (b.0[l] & 31) as i32, lane & segment, max, segment);
        from[l] = if ok { j as u32 } else { l as u32 };
        inside[l] = ok;
    }
    (from, inside)
}

fn reduce(kind: WarpOpKind, a: u32, b: u32) -> u32 {
    let float = |a: u32, b: u32, abs: bool, nan: bool, less: bool| {
        let clean = |x: u32| f32::from_bits(if abs { x & 0x7fff_ffff } else { x });
        let (x, y) = (clean(a), clean(b));
        if nan && (x.is_nan() || y.is_nan()) {
            return 0x7fff_ffff;
        }
        match (x.is_nan(), y.is_nan()) {
            (true, true) => 0x7fff_ffff,
            (true, false) => y.to_bits(),
            (false, true) => x.to_bits(),
            // By total order, so that -0 is less than +0.
            _ => {
                if (x.total_cmp(&y) == std::cmp::Ordering::Less) == less {
                    x.to_bits()
                } else {
                    y.to_bits()
                }
            }
        }
    };
    match kind {
        WarpOpKind::ReduxAdd => a.wrapping_add(b),
        WarpOpKind::ReduxMinU => a.min(b),
        WarpOpKind::ReduxMaxU => a.max(b),
        WarpOpKind::ReduxMinS => (a as i32).min(b as i32) as u32,
        WarpOpKind::ReduxMaxS => (a as i32).max(b as i32) as u32,
        WarpOpKind::ReduxAnd => a & b,
        WarpOpKind::ReduxOr => a | b,
        WarpOpKind::ReduxXor => a ^ b,
        WarpOpKind::ReduxMinF { abs, nan } => float(a, b, abs, nan, true),
        WarpOpKind::ReduxMaxF { abs, nan } => float(a, b, abs, nan, false),
        _ => a,
    }
}
