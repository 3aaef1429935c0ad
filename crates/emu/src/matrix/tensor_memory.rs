//! Tensor memory: its allocation, and the instructions on it that a warp runs as a whole (PTX ISA, Tensor
//! Memory; `tcgen05.alloc`, `.dealloc`, `.ld`, `.st`, `.wait`).
//!
//! # Invariants
//! Only allocated columns are accessed.
//!
//! # Limitations
//! A CTA has the 512 columns of its multiprocessor alone, so an allocation that does not fit fails instead of
//! waiting. With `.cta_group::2`, each CTA of the pair allocates for itself. Loads and stores are complete
//! when they are issued.

use crate::code::{MemAccess, TensorAddress, TensorFragment, TensorWarpOp};
use crate::error::{EmuError, invalid};
use crate::exec::cta_state::CtaState;
use crate::exec::fault::Fault;
use crate::exec::launch::Launch;
use crate::exec::rng::Rng;
use crate::exec::warp_state::{Warp, visible_memory};
use crate::matrix::tensor_state::{Cell, ROWS};
use crate::mem::Region;
use crate::mem::access;
use prlx_lanes::{LANES, Planes};

/// The address that a lane gives.
pub fn address(planes: &Planes, a: TensorAddress, l: usize) -> u32 {
    planes.w32[usize::from(a.plane)].0[l].wrapping_add(a.offset)
}

impl Warp {
    /// Runs an instruction on tensor memory with all lanes.
    pub(crate) fn tensor_warp_op(
        &mut self,
        launch: &Launch<'_>,
        cta: &mut CtaState,
        op: &TensorWarpOp,
        m: u32,
        step: u32,
    ) -> Result<(), Box<Fault>> {
        let done = if m == u32::MAX {
            self.tensor_step(launch, cta, op, step)
        } else {
            Err(invalid(format!("needs all 32 lanes; only {m:#010x} are left")))
        };
        done.map_err(|e| Fault::new(step, m.trailing_zeros(), e.to_string()))
    }
    fn tensor_step(
        &mut self,
        launch: &Launch<'_>,
        cta: &mut CtaState,
        op: &TensorWarpOp,
        step: u32,
    ) -> Result<(), EmuError> {
        match op {
            TensorWarpOp::Allocate { to, columns } => {
                let columns = self.uniform(*columns, "numbers of columns")?;
                let first = cta.tensor_columns.allocate(columns, self.index, step)?;
                if launch.config.seed != 0 {
                    // PTX does not define the initial contents.
                    let mut noise = Rng::new(launch.config.seed ^ cta.clock, first.into());
                    let memory = &cta.peers.tensor[cta.rank as usize];
                    for lane in 0..ROWS {
                        for column in first..first + columns {
                            // A NaN as binary32, and as the upper binary16.
                            memory.store32(Cell { lane, column }.at(), 0x7fc0_0000 | noise.next() as u32);
                        }
                    }
                }
                self.store_address(launch, cta, to, first)
            }
            TensorWarpOp::Free { at, columns } => {
                let columns = self.uniform(*columns, "numbers of columns")?;
                let at = Cell::new(self.uniform(*at, "addresses")?);
                cta.tensor_columns.free(at.column, columns)
            }
            TensorWarpOp::Relinquish => {
                cta.tensor_columns.relinquished = true;
                Ok(())
            }
            TensorWarpOp::Load(f) => self.move_fragment(cta, f, |memory, at, planes, plane, l, packed| {
                let low = memory.load32(at);
                planes.w32[usize::from(plane)].0[l] =
                    if packed { low & 0xffff | memory.load32(at + 4) << 16 } else { low };
            }),
            TensorWarpOp::Store(f) => self.move_fragment(cta, f, |memory, at, planes, plane, l, packed| {
                let v = planes.w32[usize::from(plane)].0[l];
                memory.store32(at, if packed { v & 0xffff } else { v });
                if packed {
                    memory.store32(at + 4, v >> 16);
                }
            }),
            TensorWarpOp::Wait { .. } => Ok(()),
        }
    }
    /// The value of a 32-bit plane, which must be the same in all lanes.
    fn uniform(&self, plane: u16, what: &str) -> Result<u32, EmuError> {
        let v = &self.planes.w32[usize::from(plane)].0;
        if v.iter().all(|x| *x == v[0]) {
            Ok(v[0])
        } else {
            Err(invalid(format!("is given other {what} in other lanes")))
        }
    }
    fn store_address(
        &self,
        launch: &Launch<'_>,
        cta: &CtaState,
        to: &MemAccess,
        first: u32,
    ) -> Result<(), EmuError> {
        let (r, at) = (visible_memory(launch, cta, &self.local), access::address_of(&self.planes, to, 0));
        match access::range(&r, to.space, 0, at, 4) {
            Some((region, off)) if region.id() == cta.shared.id() && off.is_multiple_of(4) => {
                region.store32(off, first);
                Ok(())
            }
            _ => Err(invalid(format!("writes the address to {at:#x}, which is not a word of shared memory"))),
        }
    }
    /// Calls `f` for each register of each lane: with the memory, the offset there, the registers, the plane,
    /// the lane, and whether two columns are packed.
    fn move_fragment(
        &mut self,
        cta: &CtaState,
        fragment: &TensorFragment,
        f: impl Fn(&Region, u64, &mut Planes, u16, usize, bool),
    ) -> Result<(), EmuError> {
        let start = self.uniform(fragment.at.plane, "addresses")?.wrapping_add(fragment.at.offset);
        let (start, quarter) = (Cell::new(start), self.index % 4 * 32);
        let last = start.lane + fragment.shape.rows();
        if start.lane < quarter || last > quarter + 32 {
            return Err(invalid(format!(
                "accesses lanes {} to {} of tensor memory; warp {} of its warpgroup can access lanes {quarter} to {}",
                start.lane,
                last - 1,
                self.index % 4,
                quarter + 31
            )));
        }
        let (memory, width) = (&cta.peers.tensor[cta.rank as usize], if fragment.packed { 2 } else { 1 });
        for (r, &plane) in (0..).zip(&fragment.planes) {
            for l in 0..LANES {
                let (lane, column) = fragment.shape.cell(l as u32, r);
                let cell = start.offset(lane, column * width)?;
                start.offset(lane, column * width + width - 1)?;
                cta.tensor_columns.check(cell.column, width)?;
                f(memory, cell.at(), &mut self.planes, plane, l, fragment.packed);
            }
        }
        Ok(())
    }
}
