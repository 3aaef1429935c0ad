//! What lanes of a warp do together: exchanges, votes, reductions, and the waiting for it.
//!
//! A lane that arrives waits until every lane of its mask that is alive has arrived at the same operation with the same
//! mask; then all do it at once.

use prlx_driver::ErrorKind;

use crate::code::{Code, MatrixOp, Op, Plane, WarpOp, WarpOpKind};
use crate::exec::cta::{Block, Launch};
use crate::exec::fault::Fault;
use crate::exec::warp::{Key, PARKED, Warp, reach};
use crate::matrix::mma::transposed;
use crate::mem::access::{self, each};
use prlx_lanes::{LANES, Planes, V32, V64};

impl Warp {
    /// Does it at once if the lanes that are here are all that it waits for; the usual case.
    #[inline(always)]
    pub(crate) fn sync_now(
        &mut self,
        launch: &Launch<'_>,
        block: &mut Block,
        sync: &WarpOp,
        m: u32,
        step: u32,
    ) -> Result<bool, Box<Fault>> {
        if let (WarpOpKind::Matrix(t), u32::MAX) = (sync.kind, m) {
            self.tiles(launch, block, &launch.code.matrix[t as usize], m, step)?;
            return Ok(true);
        }
        let Some(p) = sync.members else { return Ok(false) };
        let members = &self.planes.w32[usize::from(p)];
        let first = members.0[m.trailing_zeros() as usize & 31];
        let mut same = true;
        for l in 0..LANES {
            same &= m >> l & 1 == 0 || members.0[l] == first;
        }
        if !same || first & self.alive != m {
            return Ok(false);
        }
        (launch.host.exchange)(&mut self.planes, sync, m);
        Ok(true)
    }
    /// Lanes arrive and wait; whoever is complete goes on.
    pub(crate) fn arrive_sync(
        &mut self,
        launch: &Launch<'_>,
        block: &mut Block,
        sync: &WarpOp,
        m: u32,
        at: Key,
    ) -> Result<(), Box<Fault>> {
        let mut wrong = None;
        each(m, |l| {
            let bit = 1u32 << l;
            self.members[l] = sync.members.map_or(u32::MAX, |p| self.planes.w32[usize::from(p)].0[l]);
            if self.members[l] & bit == 0 {
                wrong = wrong.or(Some(l));
            }
            self.key[l] = PARKED;
            self.at[l] = at;
            self.at_sync |= bit;
        });
        if let Some(l) = wrong {
            let text =
                format!("is executed by lane {l}, which its mask {:#010x} does not name", self.members[l]);
            return Err(Fault::new(Warp::step_of(at), l as u32, text));
        }
        self.poll_sync(launch, block)
    }
    /// Lets complete groups do what they wait for.
    pub(crate) fn poll_sync(&mut self, launch: &Launch<'_>, block: &mut Block) -> Result<(), Box<Fault>> {
        let mut rest = self.at_sync;
        while rest != 0 {
            let l = rest.trailing_zeros() as usize;
            let (at, members) = (self.at[l], self.members[l]);
            let step = Warp::step_of(at);
            let code = launch.code;
            let Some(Op::WarpOp(i)) = code.steps.get(step as usize).map(|s| s.op) else { return Ok(()) };
            let sync = &code.warp_ops[i as usize];
            // A warp synchronisation moves no values, so that any of them will do.
            let meets = |a: Key| a == at || sync.kind == WarpOpKind::Warp && is_warp_sync(code, a);
            let there = (0..LANES).fold(0, |m, i| {
                m | u32::from(self.at_sync >> i & 1 == 1 && meets(self.at[i]) && self.members[i] == members)
                    << i
            });
            rest &= !there;
            if members & self.alive & !there != 0 {
                continue;
            }
            let allowed = block.check.is_none() || self.check_sync(launch, block, step, there);
            match sync.kind {
                _ if !allowed => {}
                WarpOpKind::Wgmma(what) => {
                    if !self.products(launch, block, what, there, step)? {
                        continue;
                    }
                }
                WarpOpKind::Matrix(t) => self.tiles(launch, block, &code.matrix[t as usize], there, step)?,
                WarpOpKind::Warp => {}
                _ => (launch.host.exchange)(&mut self.planes, sync, there),
            }
            self.at_sync &= !there;
            each(there, |i| self.key[i] = self.at[i] + 1);
        }
        Ok(())
    }
    /// Loads, stores and transposes 8×8 tiles of 16-bit elements: row `l / 4` of a tile has lane `l`'s two elements.
    fn tiles(
        &mut self,
        launch: &Launch<'_>,
        block: &mut Block,
        t: &MatrixOp,
        m: u32,
        step: u32,
    ) -> Result<(), Box<Fault>> {
        if m != u32::MAX {
            let kind = ErrorKind::Fault;
            let text = format!("needs all 32 lanes; only {:#010x} are left", m);
            return Err(Box::new(Fault { kind, step, lane: Some(m.trailing_zeros()), text }));
        }
        let reach = reach(launch, block, &self.local);
        let fault = |b: Box<access::Bad>| Fault::new(step, b.lane, format!("uses a matrix {}", b.text));
        match t {
            MatrixOp::Load { mem, trans } => {
                let (lower, upper) =
                    access::rows(&self.planes, &reach, &mut self.hint, mem).map_err(fault)?;
                for (i, &plane) in mem.planes.iter().enumerate() {
                    let tile = V32(std::array::from_fn(|l| {
                        let half = if l % 4 < 2 { &lower } else { &upper };
                        (half.0[8 * i + l / 4] >> (32 * (l % 2))) as u32
                    }));
                    if let Plane::W32(at) = plane {
                        self.planes.w32[usize::from(at)] = if *trans { transposed(&tile) } else { tile };
                    }
                }
            }
            MatrixOp::Store { mem, trans } => {
                let (mut lower, mut upper) = (V64([0; LANES]), V64([0; LANES]));
                for (i, &plane) in mem.planes.iter().enumerate() {
                    let tile = V32(std::array::from_fn(|l| access::value(&self.planes, plane, l) as u32));
                    let tile = if *trans { transposed(&tile) } else { tile };
                    for (row, words) in tile.0.as_chunks::<4>().0.iter().enumerate() {
                        let [a, b, c, d] = words.map(u64::from);
                        (lower.0[8 * i + row], upper.0[8 * i + row]) = (a | b << 32, c | d << 32);
                    }
                }
                access::put_rows(&self.planes, &reach, &mut self.hint, mem, (&lower, &upper))
                    .map_err(fault)?;
            }
            MatrixOp::Tile(t) => {
                crate::matrix::mma::tile(&mut self.planes, &reach, &mut self.hint, t).map_err(fault)?
            }
            MatrixOp::Mma(op) => (launch.host.mma)(&mut self.planes, op),
            MatrixOp::Transpose { dst, src } => {
                let out = transposed(&self.planes.get32(*src));
                self.planes.put32(*dst, m, out);
            }
        }
        Ok(())
    }
}

/// Moves the values, for the lanes `m`.
#[inline(always)]
pub fn exchange(p: &mut Planes, sync: &WarpOp, m: u32) {
    let w32 = |p: &Planes, i: usize| p.get32(sync.src[i]);
    let ballot = |p: &Planes| p.get_pred(sync.src[0]) & m;
    let to_pred = |b: bool| if b { m } else { 0 };
    match sync.kind {
        WarpOpKind::Up | WarpOpKind::Down | WarpOpKind::Bfly | WarpOpKind::Idx => {
            let (a, (from, ok)) = (w32(p, 0), shuffled(p, sync));
            let mut out = V32([0; LANES]);
            for (out, from) in out.0.iter_mut().zip(from) {
                *out = a.0[from as usize & 31];
            }
            p.put32(sync.dst, m, out);
            if let Some(d) = sync.pred {
                let mut v = 0;
                for (l, &ok) in ok.iter().enumerate() {
                    v |= u32::from(ok) << l;
                }
                p.put_pred(d, m, v);
            }
        }
        WarpOpKind::VoteAll => {
            let v = to_pred(ballot(p) == m);
            p.put_pred(sync.dst, m, v);
        }
        WarpOpKind::VoteAny => {
            let v = to_pred(ballot(p) != 0);
            p.put_pred(sync.dst, m, v);
        }
        WarpOpKind::VoteUni => {
            let v = to_pred(ballot(p) == m || ballot(p) == 0);
            p.put_pred(sync.dst, m, v);
        }
        WarpOpKind::VoteBallot => {
            let v = ballot(p);
            p.put32(sync.dst, m, V32([v; LANES]));
        }
        WarpOpKind::MatchAny | WarpOpKind::MatchAll => {
            let value = |l: usize| {
                if sync.flag {
                    p.w64[usize::from(sync.src[0])].0[l]
                } else {
                    p.w32[usize::from(sync.src[0])].0[l].into()
                }
            };
            let mut out = V32([0; LANES]);
            each(m, |l| each(m, |i| out.0[l] |= u32::from(value(i) == value(l)) << i));
            if sync.kind == WarpOpKind::MatchAll {
                let all = out.0[m.trailing_zeros() as usize & 31] == m;
                out = V32([if all { m } else { 0 }; LANES]);
                if let Some(d) = sync.pred {
                    p.put_pred(d, m, to_pred(all));
                }
            }
            p.put32(sync.dst, m, out);
        }
        WarpOpKind::Elect => {
            p.put32(sync.dst, m, V32([m.trailing_zeros(); LANES]));
            if let Some(d) = sync.pred {
                p.put_pred(d, m, m & m.wrapping_neg());
            }
        }
        WarpOpKind::Warp | WarpOpKind::Matrix(_) | WarpOpKind::Wgmma(_) => {}
        _ => {
            let v = w32(p, 0);
            let mut acc = None;
            each(m, |l| acc = Some(acc.map_or(v.0[l], |a| reduce(sync.kind, a, v.0[l]))));
            if let (
                WarpOpKind::ReduxMinF { abs: true, .. } | WarpOpKind::ReduxMaxF { abs: true, .. },
                Some(a),
            ) = (sync.kind, &mut acc)
            {
                *a &= 0x7fff_ffff;
            }
            p.put32(sync.dst, m, V32([acc.unwrap_or(0); LANES]));
        }
    }
}
/// By lane, for a shuffle: from which lane it takes its value, and whether that is the one that it asks for.
#[inline(always)]
pub fn shuffled(p: &Planes, sync: &WarpOp) -> ([u32; LANES], [bool; LANES]) {
    let (b, c) = (p.get32(sync.src[1]), p.get32(sync.src[2]));
    match sync.kind {
        WarpOpKind::Up => sources(&b, &c, |lane, b, _, max, _| (lane - b, lane - b >= max)),
        WarpOpKind::Down => sources(&b, &c, |lane, b, _, max, _| (lane + b, lane + b <= max)),
        WarpOpKind::Bfly => sources(&b, &c, |lane, b, _, max, _| (lane ^ b, lane ^ b <= max)),
        _ => sources(&b, &c, |_, b, min, max, segment| (min | b & !segment, min | b & !segment <= max)),
    }
}

/// By lane: from which lane it takes its value (its own if the one asked for is outside its segment), and whether it is
/// inside. `f` gets lane, distance, first and last of the segment, and the segment's mask.
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

fn is_warp_sync(code: &Code, at: Key) -> bool {
    match code.steps.get(Warp::step_of(at) as usize).map(|s| s.op) {
        Some(Op::WarpOp(i)) => code.warp_ops[i as usize].kind == WarpOpKind::Warp,
        _ => false,
    }
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
