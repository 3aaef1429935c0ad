//! `wgmma`: asynchronous products of a warpgroup, which is four warps.
//!
//! Each warp multiplies its own 16 of the 64 rows. A and B lie in shared memory at the place that a 64-bit
//! descriptor gives (PTX ISA, Asynchronous Warpgroup-Level Matrix Instructions: Shared Memory Matrix Layout),
//! or A lies in registers. The fragments of A and D are those of `mma`, repeated for every 8 columns of D.
//!
//! Under the fair schedule a product is computed when it begins. Under a hostile schedule it is computed at a
//! seeded point before the wait for its group: it reads shared memory and the registers of A at that point,
//! and until then its accumulators hold NaNs and noise. A wait for a group ends when all four warps have
//! begun its products and all of them are done. The warps must begin the same products; this is checked.
//!
//! # Invariants
//! Integers and bits are exact. In other types a product is rounded to binary32 (exact except for overflow
//! and underflow), sums are binary32, to nearest, from C in the order of k, and a binary16 D is rounded once.
//! A result is within `k · 2^-24 · (|c| + Σ|a·b|)` of the exact one.
//!
//! # Limitations
//! Sparse A is missing. Products end in the order in which they begin. Hardware sums in other orders, and
//! truncates more for 8-bit floats.

use crate::error::{EmuError, invalid};
use crate::matrix::wgmma_state::{HiddenAccumulator, MAX_PRODUCTS, PendingProduct, WARPS, WarpgroupProducts};

use crate::code::{WgmmaA, WgmmaStep};
use crate::exec::cta_state::CtaState;
use crate::exec::fault::Fault;
use crate::exec::launch::Launch;
use crate::exec::rng::Rng;
use crate::exec::warp_state::Warp;
use crate::matrix::product::{self, Matrix, ROWS, Row};
use prlx_lanes::V32;

impl Warp {
    /// Runs a step of `wgmma` with all lanes; false: the warp has to wait.
    pub(crate) fn wgmma_step(
        &mut self,
        launch: &Launch<'_>,
        cta: &mut CtaState,
        what: WgmmaStep,
        m: u32,
        step: u32,
    ) -> Result<bool, Box<Fault>> {
        let fault = |text: String| Fault::new(step, m.trailing_zeros(), text);
        if m != u32::MAX {
            return Err(fault(format!("needs all 32 lanes; only {m:#010x} are left")));
        }
        let (group, place) = (self.index as usize / WARPS, self.index as usize % WARPS);
        let warps = launch.warps as usize;
        if cta.warpgroups.len() <= group {
            cta.warpgroups.resize(warps.div_ceil(WARPS), WarpgroupProducts::default());
        }
        if group * WARPS + WARPS > warps {
            return Err(fault(format!("needs a warpgroup of 4 warps; this CTA has {warps} warps")));
        }
        match what {
            WgmmaStep::Fence => {}
            WgmmaStep::Commit => self.wgmma.commit(),
            WgmmaStep::Begin(i) => {
                cta.warpgroups[group].begin(place, step).map_err(|e| fault(e.into()))?;
                let next = self.pending(launch, i, step).map_err(|e| fault(e.into()))?;
                self.wgmma.begun += 1;
                self.wgmma.pending.push_back(next);
                if launch.config.seed == 0 {
                    self.run_products(launch, cta, self.wgmma.begun)?;
                } else {
                    self.hide(launch, cta, i);
                    if self.wgmma.pending.len() > MAX_PRODUCTS {
                        self.run_products(launch, cta, self.wgmma.done + 1)?;
                    }
                }
            }
            WgmmaStep::Wait(left) => {
                let due = self.wgmma.due(left);
                self.run_products(launch, cta, due)?;
                // A group belongs to the warpgroup: it is complete when the parts of all four warps are.
                if cta.warpgroups[group].done.iter().any(|&d| d < due) {
                    self.wgmma.awaited = Some(due);
                    return Ok(false);
                }
                self.wgmma.awaited = None;
                self.wgmma.reveal(&mut self.planes, due);
                let n = self.wgmma.groups.len().saturating_sub(left as usize);
                self.wgmma.groups.drain(..n);
            }
        }
        Ok(true)
    }
    /// Performs some products in flight and may reveal their results, under a hostile schedule.
    pub(crate) fn advance_products(
        &mut self,
        launch: &Launch<'_>,
        cta: &mut CtaState,
        rng: &mut Rng,
    ) -> Result<(), Box<Fault>> {
        if rng.below(4) != 0 {
            return Ok(());
        }
        let due = self.wgmma.done + u64::from(rng.below(self.wgmma.pending.len() as u32 + 1));
        self.run_products(launch, cta, due)?;
        if rng.below(4) == 0 {
            self.wgmma.reveal(&mut self.planes, due);
        }
        Ok(())
    }
    /// Performs the products before number `due` that are not complete.
    pub(crate) fn run_products(
        &mut self,
        launch: &Launch<'_>,
        cta: &mut CtaState,
        due: u64,
    ) -> Result<(), Box<Fault>> {
        while self.wgmma.done < due
            && let Some(next) = self.wgmma.pending.pop_front()
        {
            self.wgmma.done += 1;
            self.product(launch, cta, &next)?;
        }
        if let Some(group) = cta.warpgroups.get_mut(self.index as usize / WARPS) {
            group.done[self.index as usize % WARPS] = self.wgmma.done;
        }
        Ok(())
    }
    /// The operands that a product has when it begins.
    fn pending(&self, launch: &Launch<'_>, i: u32, step: u32) -> Result<PendingProduct, EmuError> {
        let op = &launch.code.products[i as usize];
        let uniform = |plane: u16| {
            let v = &self.planes.w64[usize::from(plane)].0;
            if v.iter().all(|x| *x == v[0]) {
                Ok(v[0])
            } else {
                Err(invalid("is given other descriptors in other lanes"))
            }
        };
        let a = if let WgmmaA::Shared(plane) = op.a { uniform(plane)? } else { 0 };
        let scale_d = self.planes.get_pred(op.scale_d) & 1 == 1;
        Ok(PendingProduct { product: i, step, descriptors: [a, uniform(op.b)?], scale_d })
    }
    /// Replaces the accumulators of product `i`, which was just begun, by noise.
    fn hide(&mut self, launch: &Launch<'_>, cta: &CtaState, i: u32) {
        let last = self.wgmma.begun - 1;
        for &plane in &launch.code.products[i as usize].d {
            let at = &mut self.planes.w32[usize::from(plane)];
            if let Some(hidden) = self.wgmma.hidden.get_mut(&plane) {
                hidden.last = last;
                continue;
            }
            self.wgmma.hidden.insert(plane, HiddenAccumulator { value: *at, last });
            let mut noise = Rng::new(launch.config.seed ^ cta.clock, plane.into());
            // A NaN as binary32, and as the upper binary16.
            at.0 = std::array::from_fn(|_| 0x7fc0_0000 | noise.next() as u32);
        }
    }
    /// Performs a product.
    fn product(
        &mut self,
        launch: &Launch<'_>,
        cta: &CtaState,
        now: &PendingProduct,
    ) -> Result<(), Box<Fault>> {
        let op = &launch.code.products[now.product as usize];
        let fault = |what: &str, e: EmuError| Fault::new(now.step, 0, format!("{e}, for {what}"));
        let [a, b] = now.descriptors.map(Matrix::new);
        let left = match &op.a {
            WgmmaA::Registers(planes) => product::fragment(&self.planes, planes),
            WgmmaA::Shared(_) => {
                let (mut rows, first) = ([Row::default(); ROWS], self.index as usize % WARPS * ROWS);
                a.read(&cta.shared, first, !op.transpose[0], 2, &mut rows).map_err(|e| fault("A", e))?;
                rows
            }
        };
        let mut right = [Row::default(); 256];
        let right = &mut right[..(op.n as usize).min(256)];
        b.read(&cta.shared, 0, !op.transpose[1], 2, right).map_err(|e| fault("B", e))?;
        let wgmma = &mut self.wgmma;
        let mut d: Vec<V32> =
            op.d.iter().map(|p| wgmma.hidden.get(p).map_or(self.planes.get32(*p), |h| h.value)).collect();
        (launch.simd.product)(op, now.scale_d, &left, right, &mut d);
        for (plane, v) in op.d.iter().zip(d) {
            match wgmma.hidden.get_mut(plane) {
                Some(hidden) => hidden.value = v,
                None => self.planes.w32[usize::from(*plane)] = v,
            }
        }
        Ok(())
    }
}
