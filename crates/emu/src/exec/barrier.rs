//! Lanes at the barriers of a CTA and of a cluster (PTX ISA, `barrier`, `barrier.cluster`): arrival, waiting
//! and release.
//!
//! # Invariants
//! A lane that waits is parked. [`Warp::release_barrier`] lets it run again, once the CTA or the cluster has
//! found the barrier complete.

use crate::code::{BarrierKind, BarrierOp, Code, Op};
use crate::exec::cta_state::{CLUSTER, CtaState};
use crate::exec::fault::Fault;
use crate::exec::launch::Launch;
use crate::exec::warp_state::{Key, PARKED, STEP, Warp};
use crate::mem::access::each;

impl Warp {
    /// Lanes `m` at the position `at` arrive at a barrier, and wait there if the operation waits.
    ///
    /// # Errors
    /// A fault if the barrier does not exist or is misused.
    pub(super) fn arrive_barrier(
        &mut self,
        launch: &Launch<'_>,
        cta: &mut CtaState,
        bar: &BarrierOp,
        m: u32,
        at: Key,
    ) -> Result<(), Box<Fault>> {
        let pc = at & STEP;
        let mut wrong = None;
        each(m, |l| {
            let cluster = matches!(bar.kind, BarrierKind::ClusterArrive | BarrierKind::ClusterWait);
            let id = if cluster { CLUSTER as u32 } else { self.planes.w32[usize::from(bar.id)].0[l] };
            let count = bar.count.map(|c| self.planes.w32[usize::from(c)].0[l]);
            let Some(b) = cta.barriers.get_mut(id as usize).filter(|_| cluster || id < CLUSTER as u32) else {
                wrong = wrong.take().or(Some((l, format!("names barrier {id}; there are 16"))));
                return;
            };
            let bit = 1u32 << l;
            let arrived = &mut b.arrived[self.index as usize];
            if cluster && (self.cluster_arrived & bit != 0) != (bar.kind == BarrierKind::ClusterWait) {
                let text = match bar.kind {
                    BarrierKind::ClusterWait => {
                        "waits for the cluster's barrier without having arrived at it"
                    }
                    _ => "arrives at the cluster's barrier again before it waited for it",
                };
                wrong = wrong.take().or(Some((l, text.into())));
            }
            if cluster {
                self.cluster_arrived ^= bit;
            }
            if bar.kind == BarrierKind::ClusterWait {
                // The wait is over as soon as the arrival that it waits for is cleared.
                if *arrived & bit == 0 {
                    self.key[l] = at + 1;
                } else {
                    (self.key[l], self.waits_at[l], self.barrier_id[l]) = (PARKED, at, CLUSTER as u8);
                    self.at_barrier |= bit;
                }
                return;
            }
            if *arrived & bit != 0 {
                wrong =
                    wrong.take().or(Some((l, format!("arrives at barrier {id} again before it completed"))));
            }
            let lanes = launch.warp_size.lanes() as u32;
            if let Some(n) = count.filter(|&n| n == 0 || !n.is_multiple_of(lanes)) {
                let text =
                    format!("tells barrier {id} to wait for {n} threads, which is not a multiple of {lanes}");
                wrong = wrong.take().or(Some((l, text)));
            }
            if b.waiting && b.count != count {
                let words = |n: Option<u32>| n.map_or("all threads".to_owned(), |n| format!("{n} threads"));
                let (this, others) = (words(count), words(b.count));
                let text = format!("lets barrier {id} wait for {this}, where other lanes gave {others}");
                wrong = wrong.take().or(Some((l, text)));
            }
            *arrived |= bit;
            b.count = count;
            b.waiting = true;
            if matches!(bar.kind, BarrierKind::Arrive | BarrierKind::ClusterArrive) {
                self.key[l] = at + 1;
                return;
            }
            if self.planes.pred.get(usize::from(bar.src)).is_some_and(|p| p & bit != 0) {
                b.votes[self.index as usize] |= bit;
            }
            self.key[l] = PARKED;
            self.waits_at[l] = at;
            self.barrier_id[l] = id as u8;
            self.at_barrier |= bit;
        });
        match wrong {
            Some((l, text)) => Err(Fault::new(pc, l as u32, text)),
            None => Ok(()),
        }
    }
    /// Lets the lanes that wait at barrier `id` run again. `votes` is the result of its reduction: how many
    /// predicates were true, whether all were, and whether any was.
    pub fn release_barrier(&mut self, code: &Code, id: u8, votes: (u32, bool, bool)) {
        let (count, all, any) = votes;
        each(self.at_barrier, |l| {
            if self.barrier_id[l] != id {
                return;
            }
            let bit = 1u32 << l;
            if let Some(Op::Barrier(i)) = code.steps.get((self.waits_at[l] & STEP) as usize).map(|s| s.op) {
                let bar = &code.barriers[i as usize];
                match bar.kind {
                    BarrierKind::Popc => self.planes.w32[usize::from(bar.dst)].0[l] = count,
                    BarrierKind::And => self.planes.put_pred(bar.dst, bit, if all { bit } else { 0 }),
                    BarrierKind::Or => self.planes.put_pred(bar.dst, bit, if any { bit } else { 0 }),
                    BarrierKind::Sync
                    | BarrierKind::Arrive
                    | BarrierKind::ClusterArrive
                    | BarrierKind::ClusterWait => {}
                }
            }
            self.at_barrier &= !bit;
            self.key[l] = self.waits_at[l] + 1;
        });
    }
}
