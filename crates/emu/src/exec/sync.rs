//! Warp-level operations that wait for other lanes: shuffles, votes, reductions, matrix operations.
//!
//! A lane that arrives waits until every living lane of its member mask has arrived at the same operation
//! with the same mask. Then all of them execute it together.

use crate::check::Checking;
use prlx_driver::ErrorKind;

use crate::code::{Code, MatrixOp, Plane, WarpOp, WarpOpKind};
use crate::exec::cta_state::CtaState;
use crate::exec::fault::Fault;
use crate::exec::launch::Launch;
use crate::exec::warp_state::{Key, PARKED, Warp, visible_memory};
use crate::matrix::mma::{stored_rows, transposed};
use crate::mem::access::{self, each};
use prlx_lanes::{LANES, V32};

impl Warp {
    /// Runs an exchange at once if the lanes `m` are all that it waits for, the usual case. Returns whether
    /// it ran.
    #[inline(always)]
    pub(crate) fn exchange_now(
        &mut self,
        launch: &Launch<'_>,
        cta: &mut CtaState,
        op: &WarpOp,
        m: u32,
        step: u32,
    ) -> Result<bool, Box<Fault>> {
        if let (WarpOpKind::Matrix(t), u32::MAX) = (op.kind, m) {
            self.matrix_op(launch, cta, &launch.code.matrix[t as usize], m, step)?;
            return Ok(true);
        }
        let Some(p) = op.members else { return Ok(false) };
        let members = &self.planes.w32[usize::from(p)];
        let first = members.0[m.trailing_zeros() as usize & 31];
        let mut same = true;
        for l in 0..LANES {
            same &= m >> l & 1 == 0 || members.0[l] == first;
        }
        if !same || first & self.alive != m {
            return Ok(false);
        }
        (launch.simd.exchange)(&mut self.planes, op, m);
        Ok(true)
    }
    /// Lanes `m` arrive at an exchange and wait. Exchanges that are now complete run.
    pub(crate) fn arrive_exchange(
        &mut self,
        launch: &Launch<'_>,
        cta: &mut CtaState,
        check: &mut Checking,
        op: &WarpOp,
        m: u32,
        at: Key,
    ) -> Result<(), Box<Fault>> {
        let mut wrong = None;
        each(m, |l| {
            let bit = 1u32 << l;
            self.members[l] = op.members.map_or(u32::MAX, |p| self.planes.w32[usize::from(p)].0[l]);
            if self.members[l] & bit == 0 {
                wrong = wrong.or(Some(l));
            }
            self.key[l] = PARKED;
            self.waits_at[l] = at;
            self.at_exchange |= bit;
        });
        if let Some(l) = wrong {
            let text =
                format!("is executed by lane {l}, which its mask {:#010x} does not name", self.members[l]);
            return Err(Fault::new(Warp::step_of(at), l as u32, text));
        }
        self.complete_exchanges(launch, cta, check)
    }
    /// Runs the exchanges at which all lanes have arrived.
    pub(crate) fn complete_exchanges(
        &mut self,
        launch: &Launch<'_>,
        cta: &mut CtaState,
        check: &mut Checking,
    ) -> Result<(), Box<Fault>> {
        let mut rest = self.at_exchange;
        while rest != 0 {
            let l = rest.trailing_zeros() as usize;
            let (at, members) = (self.waits_at[l], self.members[l]);
            let step = Warp::step_of(at);
            let code = launch.code;
            let Some(op) = code.warp_op(step) else { return Ok(()) };
            // A warp synchronisation moves no values, so lanes may arrive at different ones.
            let same_operation = |a: Key| a == at || op.kind == WarpOpKind::Warp && is_warp_sync(code, a);
            let there = (0..LANES).fold(0, |m, i| {
                m | u32::from(
                    self.at_exchange >> i & 1 == 1
                        && same_operation(self.waits_at[i])
                        && self.members[i] == members,
                ) << i
            });
            rest &= !there;
            if members & self.alive & !there != 0 {
                continue;
            }
            let allowed = match check {
                Some(c) => c.before_exchange(self, launch, cta, step, there),
                None => true,
            };
            match op.kind {
                _ if !allowed => {}
                WarpOpKind::Wgmma(what) => {
                    if !self.wgmma_step(launch, cta, what, there, step)? {
                        continue;
                    }
                }
                WarpOpKind::Tensor(t) => {
                    self.tensor_warp_op(launch, cta, &code.tensor_warp_ops[t as usize], there, step)?
                }
                WarpOpKind::Matrix(t) => {
                    self.matrix_op(launch, cta, &code.matrix[t as usize], there, step)?
                }
                WarpOpKind::Warp => {}
                _ => (launch.simd.exchange)(&mut self.planes, op, there),
            }
            self.at_exchange &= !there;
            each(there, |i| self.key[i] = self.waits_at[i] + 1);
        }
        Ok(())
    }
    /// Loads, stores and transposes 8×8 tiles of 16-bit elements: row `l / 4` of a tile has lane `l`'s two
    /// elements.
    fn matrix_op(
        &mut self,
        launch: &Launch<'_>,
        cta: &mut CtaState,
        t: &MatrixOp,
        m: u32,
        step: u32,
    ) -> Result<(), Box<Fault>> {
        if m != u32::MAX {
            let kind = ErrorKind::Fault;
            let text = format!("needs all 32 lanes; only {:#010x} are left", m);
            return Err(Box::new(Fault { kind, step, lane: Some(m.trailing_zeros()), text }));
        }
        let reach = visible_memory(launch, cta, &self.local);
        let fault =
            |b: Box<access::AccessError>| Fault::new(step, b.lane, format!("uses a matrix {}", b.text));
        match t {
            MatrixOp::Load { mem, trans } => {
                let (lower, upper) =
                    access::rows(&self.planes, &reach, &mut self.allocation_hint, mem).map_err(fault)?;
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
                let [lower, upper] = stored_rows(&self.planes, mem, *trans);
                access::put_rows(&self.planes, &reach, &mut self.allocation_hint, mem, (&lower, &upper))
                    .map_err(fault)?;
            }
            MatrixOp::Tile(t) => {
                crate::matrix::mma::tile(&mut self.planes, &reach, &mut self.allocation_hint, t)
                    .map_err(fault)?
            }
            MatrixOp::Mma(op) => (launch.simd.mma)(&mut self.planes, op),
            MatrixOp::Transpose { dst, src } => {
                let out = transposed(&self.planes.get32(*src));
                self.planes.put32(*dst, m, out);
            }
        }
        Ok(())
    }
}

fn is_warp_sync(code: &Code, at: Key) -> bool {
    code.warp_op(Warp::step_of(at)).is_some_and(|op| op.kind == WarpOpKind::Warp)
}
