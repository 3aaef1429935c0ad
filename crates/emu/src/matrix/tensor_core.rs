//! The asynchronous instructions on tensor memory, which a single thread issues: `tcgen05.mma`, `.cp` and
//! `.commit`.
//!
//! Under the fair schedule they are performed when they are issued. Under a hostile schedule the CTA performs
//! them at seeded points after that, in the order in which its threads issued them: a product reads shared
//! memory at that point, and its D is the old one until then. A commit signals its mbarrier when its turn
//! comes.
//!
//! # Limitations
//! What one CTA issues is performed in order, which is more than PTX promises.

use crate::code::{TensorA, TensorOp};
use crate::copies::bulk::targets;
use crate::copies::mbarrier;
use crate::error::{EmuError, invalid};
use crate::exec::cta_state::CtaState;
use crate::exec::fault::Fault;
use crate::exec::launch::Launch;
use crate::exec::rng::Rng;
use crate::exec::warp_state::{Warp, visible_memory};
use crate::matrix::product::{Matrix, Row};
use crate::matrix::product_shape::ProductShape;
use crate::matrix::tensor_memory::address;
use crate::matrix::tensor_product::multiply;
use crate::matrix::tensor_state::{Cell, ProductOperands, ROWS, TensorWork, TensorWorkKind};
use crate::mem::Region;
use crate::mem::access::{self, each};

/// The most instructions of a CTA in flight; the oldest is performed when there are more.
const MAX_WORK: usize = 1 << 12;

/// The ranks of the CTAs that take part in an instruction that the CTA of rank `own` issues.
pub fn ranks(own: u32, pair: bool) -> Vec<u32> {
    if pair { vec![own & !1, own | 1] } else { vec![own] }
}

impl Warp {
    /// Issues an instruction for each lane.
    pub(crate) fn issue_tensor_op(
        &self,
        launch: &Launch<'_>,
        cta: &mut CtaState,
        i: u32,
        m: u32,
        step: u32,
    ) -> Result<(), Box<Fault>> {
        let mut done = Ok(());
        each(m, |l| {
            if done.is_ok() {
                let work = self.tensor_work(launch, cta, i, l);
                let begun = work.and_then(|kind| {
                    cta.begin_tensor_work(launch, TensorWork { kind, by: (self.index, l as u32, step) })
                });
                done = begun.map_err(|e| Fault::new(step, l as u32, e.to_string()));
            }
        });
        done
    }
    /// What an instruction of lane `l` does, with the operands that it has now.
    pub(crate) fn tensor_work(
        &self,
        launch: &Launch<'_>,
        cta: &CtaState,
        i: u32,
        l: usize,
    ) -> Result<TensorWorkKind, EmuError> {
        let (narrow, wide) =
            (|p: u16| self.planes.w32[usize::from(p)].0[l], |p: u16| self.planes.w64[usize::from(p)].0[l]);
        Ok(match &launch.code.tensor_ops[i as usize] {
            TensorOp::Product(op) => {
                let shape = ProductShape::new(op, narrow(op.descriptor))?;
                let now = ProductOperands {
                    shape,
                    d: address(&self.planes, op.d, l),
                    a: match op.a {
                        TensorA::Shared(plane) => wide(plane),
                        TensorA::Tensor(at) => address(&self.planes, at, l).into(),
                    },
                    b: wide(op.b),
                    scales: op.scales.map_or([0; 2], |s| s.map(|at| address(&self.planes, at, l))),
                    kept_lanes: op.kept_lanes.iter().map(|&p| narrow(p)).collect(),
                    add: self.planes.get_pred(op.add) >> l & 1 == 1,
                };
                cta.tensor_columns.check(Cell::new(now.d).column, shape.d_columns(op))?;
                TensorWorkKind::Product(i, Box::new(now))
            }
            TensorOp::Copy { shape, pair, to, from } => {
                let to = address(&self.planes, *to, l);
                cta.tensor_columns.check(Cell::new(to).column, shape.source().1 / 4)?;
                TensorWorkKind::Copy { shape: *shape, pair: *pair, to, from: wide(*from) }
            }
            TensorOp::Commit { mbarrier, multicast } => {
                let at = access::address_of(&self.planes, mbarrier, l);
                // Compilers also give an address of shared memory where PTX has a generic one.
                let generic = at >= crate::code::window::SHARED;
                let at = if generic { mbarrier::cluster_address(mbarrier.space, at) } else { at };
                TensorWorkKind::Commit { at, ranks: multicast.map(|p| narrow(p) as u16) }
            }
        })
    }
}

impl CtaState {
    fn begin_tensor_work(&mut self, launch: &Launch<'_>, work: TensorWork) -> Result<(), EmuError> {
        if launch.config.seed == 0 {
            return self.perform(launch, &work);
        }
        self.tensor_work.push_back(work);
        match self.tensor_work.len() > MAX_WORK {
            true => self.tensor_work.pop_front().map_or(Ok(()), |oldest| self.perform(launch, &oldest)),
            false => Ok(()),
        }
    }
    /// Performs some instructions in flight, under a hostile schedule.
    ///
    /// # Errors
    /// A fault of an instruction, with the number of the warp that issued it.
    pub fn advance_tensor_work(
        &mut self,
        launch: &Launch<'_>,
        rng: &mut Rng,
    ) -> Result<(), (usize, Box<Fault>)> {
        if self.tensor_work.is_empty() || rng.below(4) != 0 {
            return Ok(());
        }
        let count = 1 + rng.below(self.tensor_work.len() as u32);
        self.run_tensor_work(launch, count as usize)
    }
    /// Performs the first `count` instructions in flight.
    ///
    /// # Errors
    /// A fault of an instruction, with the number of the warp that issued it.
    pub fn run_tensor_work(&mut self, launch: &Launch<'_>, count: usize) -> Result<(), (usize, Box<Fault>)> {
        for _ in 0..count {
            let Some(next) = self.tensor_work.pop_front() else { break };
            let (warp, lane, step) = next.by;
            self.perform(launch, &next)
                .map_err(|e| (warp as usize, Fault::new(step, lane, e.to_string())))?;
        }
        Ok(())
    }
    /// The shared memory and the tensor memory of a CTA of the cluster.
    fn memory_of(&self, rank: u32) -> Result<(&Region, &Region), EmuError> {
        match (self.peers.shared.get(rank as usize), self.peers.tensor.get(rank as usize)) {
            (Some(shared), Some(tensor)) if self.peers.runs(rank) => Ok((shared, tensor)),
            _ => Err(invalid(format!("needs the CTA of rank {rank} of the cluster, which does not run"))),
        }
    }
    fn perform(&self, launch: &Launch<'_>, work: &TensorWork) -> Result<(), EmuError> {
        match &work.kind {
            TensorWorkKind::Product(i, now) => {
                let TensorOp::Product(op) = &launch.code.tensor_ops[*i as usize] else { return Ok(()) };
                let members: Vec<(&Region, &Region)> = ranks(self.rank, op.pair)
                    .into_iter()
                    .map(|r| self.memory_of(r))
                    .collect::<Result<_, _>>()?;
                let shared: Vec<&Region> = members.iter().map(|m| m.0).collect();
                members
                    .iter()
                    .enumerate()
                    .try_for_each(|(rank, (_, tensor))| multiply(launch, op, now, &shared, rank, tensor))
            }
            TensorWorkKind::Copy { shape, pair, to, from } => {
                let (count, bytes) = shape.source();
                let to = Cell::new(*to);
                for rank in ranks(self.rank, *pair) {
                    let (shared, tensor) = self.memory_of(rank)?;
                    let mut rows = vec![Row::default(); count as usize];
                    Matrix::of_tensor_core(*from)?.read_part(shared, bytes as usize, &mut rows)?;
                    for lane in 0..ROWS {
                        let Some(row) = shape.row(lane, to.lane) else { continue };
                        let cell = Cell { lane, column: to.column };
                        cell.offset(0, bytes / 4 - 1)?;
                        tensor.write(cell.at(), &rows[row as usize][..bytes as usize]);
                    }
                }
                Ok(())
            }
            TensorWorkKind::Commit { at, ranks } => {
                let r = visible_memory(launch, self, launch.params);
                let arrive =
                    |at| mbarrier::arrive(&r, at).map_err(|e| invalid(format!("arrives at an mbarrier {e}")));
                targets(*ranks, *at).into_iter().try_for_each(arrive)
            }
        }
    }
}
