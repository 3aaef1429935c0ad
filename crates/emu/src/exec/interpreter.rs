//! The interpreter: runs the lanes of a warp, group by group.
//!
//! Every lane has a position: the depth of its calls, and a step. A *group* is the set of lanes that run
//! together: the deepest in calls, and among these the ones at the lowest step. Lanes that took different
//! branches meet again where their paths join. A group that runs for long while others are ready is set
//! aside, so that a lane may wait for another lane of its warp.
//!
//! The dispatch over [`Op`] is one match inside the loop over steps. Splitting its arms into functions costs
//! a call and spilled registers per step, so the hot match stays whole; every arm that does more than a few
//! statements calls a method.
//!
//! # Invariants
//! - The registers of an inactive lane never change.
//! - A `.sync` operation runs when every living lane of its mask has arrived.
//!
//! # Limitations
//! Groups may be larger than on hardware, whose convergence barriers are not modelled.

use crate::check::Checking;
use crate::exec::warp_state::Key;
use crate::exec::warp_state::PARKED;
use crate::exec::warp_state::STEP;
use crate::exec::warp_state::Stop;
use crate::exec::warp_state::Warp;
use crate::exec::warp_state::visible_memory;
use prlx_driver::ErrorKind;

use crate::exec::time::SMS;
use crate::exec::warp_state::GROUP_QUANTUM;

use crate::code::{BarrierKind, BarrierOp, Clock, Code, Correction, MbarrierKind, NEGATE, NO_GUARD, Op};
use crate::exec::cta_state::{CLUSTER, CtaState};
use crate::exec::fault::Fault;
use crate::exec::launch::Launch;
use crate::exec::rng::Rng;
use crate::hooks::value::HookContext;
use crate::mem::access::{self, AccessError, each};
use prlx_lanes::{LANES, V32, V64};

/// Steps that an atomic or volatile access counts for.
const SPIN: u32 = 256;

/// A group that runs.
struct Group {
    key: Key,
    mask: u32,
    /// The lowest key among the others.
    limit: Key,
}

impl Warp {
    #[inline(always)]
    fn put(&mut self, launch: &Launch<'_>, lanes: u32, k: Key) {
        (launch.simd.put)(&mut self.key, lanes, k);
    }
    #[inline(always)]
    fn pick(&mut self, launch: &Launch<'_>) -> Option<Group> {
        let (key, mask, limit) = (launch.simd.lowest)(&self.key);
        (key != PARKED).then_some(Group { key, mask, limit })
    }
    /// The group whose turn it is when the lowest has had its share: the groups in order, again and again.
    fn pick_turn(&mut self, launch: &Launch<'_>) -> Option<Group> {
        let lowest = self.pick(launch)?;
        if lowest.limit == PARKED {
            self.turn = None;
            self.group_budget = GROUP_QUANTUM;
            return Some(lowest);
        }
        let Some(last) = self.turn else { return Some(lowest) };
        let next = self.key.iter().copied().filter(|&k| k > last && k != PARKED).min().unwrap_or(lowest.key);
        self.turn = Some(next);
        let mask = (0..LANES).fold(0, |m, l| m | u32::from(self.key[l] == next) << l);
        let limit = self.key.iter().copied().filter(|&k| k > next).min().unwrap_or(PARKED);
        Some(Group { key: next, mask, limit })
    }
    /// Any group, or a part of one.
    fn pick_random(&mut self, launch: &Launch<'_>, rng: &mut Rng) -> Option<Group> {
        let ready: Vec<usize> = (0..LANES).filter(|&l| self.key[l] != PARKED).collect();
        let lane = *ready.get(rng.below(ready.len().max(1) as u32) as usize)?;
        let k = self.key[lane];
        let mut mask = (0..LANES).fold(0, |m, l| m | u32::from(self.key[l] == k) << l);
        match rng.below(8) {
            0..=3 => return self.pick(launch),
            4 => mask = 1 << lane,
            5 => mask = mask & rng.next() as u32 | 1 << lane,
            _ => {}
        }
        Some(Group { key: k, mask, limit: PARKED })
    }
    /// Runs the hooks at `pc` for the lanes of `mask`, those that belong to the instruction before or (not
    /// `after`) to the one behind; the first step past them. The former run with that instruction and the
    /// latter with theirs, so lanes only ever rest where they would without hooks, and a hook sees the lanes
    /// that run its instruction together.
    fn past_hooks(
        &mut self,
        launch: &Launch<'_>,
        mut pc: u32,
        mask: u32,
        cta: &CtaState,
        after: bool,
    ) -> u32 {
        while let Some(step) = launch.code.steps.get(pc as usize)
            && let Op::Hook(i) = step.op
            && launch.code.hooks[i as usize].after == after
        {
            let guard = match step.guard {
                NO_GUARD => u32::MAX,
                plane => {
                    let p = self.planes.pred[usize::from(plane & !NEGATE)];
                    if plane & NEGATE != 0 { !p } else { p }
                }
            };
            if let (Some(r), Some(o)) = (&mut self.recorder, &launch.observe) {
                let sm = (cta.index % u64::from(SMS)) as u32;
                let asked = HookContext {
                    clock: cta.clock,
                    params: launch.params,
                    rank: cta.rank,
                    sm,
                    cta_variables: &cta.probe_variables,
                    constants: launch.code.constants,
                };
                r.run_action(
                    &o.plan.probe_state,
                    &launch.code.hooks[i as usize],
                    &mut self.planes,
                    mask & guard,
                    asked,
                );
            }
            pc += 1;
        }
        pc
    }
    /// Takes lanes that come back from a wait past the hooks of what they waited for.
    fn run_after_hooks(&mut self, launch: &Launch<'_>, cta: &CtaState) {
        let mut left = self.alive;
        while left != 0 {
            let k = self.key[left.trailing_zeros() as usize];
            let mut there = 0;
            each(left, |l| there |= u32::from(self.key[l] == k) << l);
            left &= !there;
            if k != PARKED {
                let pc = k & STEP;
                let past = self.past_hooks(launch, pc, there, cta, true);
                if past != pc {
                    each(there, |l| self.key[l] = k & !STEP | past);
                }
            }
        }
    }
    /// Runs until nothing can, or `budget` steps are done. With `rng`, one group of its choice.
    ///
    /// # Errors
    /// When the code faults.
    pub fn run(
        &mut self,
        launch: &Launch<'_>,
        cta: &mut CtaState,
        check: &mut Checking,
        budget: u32,
        mut rng: Option<&mut Rng>,
    ) -> Result<Stop, Box<Fault>> {
        let code = launch.code;
        let mut left = budget;
        // Hooks take no step, no time and no turn, also in warps that are not recorded: the schedule is that
        // of the code without them.
        let hooked = launch.observe.is_some();
        let checked = check.is_some();
        'group: loop {
            if hooked {
                self.run_after_hooks(launch, cta);
            }
            let group = match &mut rng {
                Some(_) if left < budget => return Ok(Stop::Budget),
                Some(rng) => self.pick_random(launch, rng),
                None if self.turn.is_some() => self.pick_turn(launch),
                None => self.pick(launch),
            };
            let Some(Group { key: first, mut mask, limit }) = group else { return Ok(Stop::Idle) };
            let (base, mut pc) = (first & !STEP, first & STEP);
            let limit = if limit & !STEP == base { limit & STEP } else { u32::MAX };
            let begun = left;
            loop {
                if hooked {
                    pc = self.past_hooks(launch, pc, mask, cta, true);
                }
                if pc >= limit || left == 0 {
                    self.put(launch, mask, base | pc);
                    if limit != u32::MAX || left == 0 {
                        self.charge_budget(first, begun - left);
                    }
                    if left == 0 {
                        return Ok(Stop::Budget);
                    }
                    continue 'group;
                }
                if hooked {
                    pc = self.past_hooks(launch, pc, mask, cta, false);
                }
                let step = &code.steps[pc as usize];
                left -= 1;
                cta.clock += u64::from(step.cost);
                let m = if step.guard == NO_GUARD {
                    mask
                } else {
                    let p = self.planes.pred[usize::from(step.guard & !NEGATE)];
                    mask & if step.guard & NEGATE != 0 { !p } else { p }
                };
                let m = match check {
                    Some(c) if checked => c.before_step(self, launch, cta, pc, mask, m),
                    _ => m,
                };
                if let Op::Alu(run, args) = &step.op {
                    run(&mut self.planes, args, m);
                    pc += 1;
                    continue;
                }
                if m == 0 {
                    pc += 1;
                    continue;
                }
                match step.op {
                    Op::Alu(..) | Op::Nop | Op::Hook(_) => pc += 1,
                    Op::Bra(to) => {
                        if m == mask {
                            pc = to;
                        } else {
                            self.put(launch, m, base | to);
                            self.put(launch, mask & !m, base | (pc + 1));
                            continue 'group;
                        }
                    }
                    Op::Ld(i) => {
                        let mem = &code.mems[i as usize];
                        if mem.strong {
                            left = left.saturating_sub(SPIN);
                            cta.spins += 1;
                        }
                        let r = visible_memory(launch, cta, &self.local);
                        if let Err(bad) =
                            (launch.simd.load)(&mut self.planes, &r, &mut self.allocation_hint, mem, m)
                        {
                            return Err(access_fault(bad, pc, "reads"));
                        }
                        pc += 1;
                    }
                    Op::St(i) => {
                        let r = visible_memory(launch, cta, &self.local);
                        let mem = &code.mems[i as usize];
                        if let Err(bad) =
                            (launch.simd.store)(&self.planes, &r, &mut self.allocation_hint, mem, m)
                        {
                            return Err(access_fault(bad, pc, "writes"));
                        }
                        pc += 1;
                    }
                    Op::Atom(i) => {
                        left = left.saturating_sub(SPIN);
                        cta.spins += 1;
                        let r = visible_memory(launch, cta, &self.local);
                        let atom = &code.atoms[i as usize];
                        if let Err(bad) =
                            access::atomic(&mut self.planes, &r, &mut self.allocation_hint, atom, m)
                        {
                            return Err(access_fault(bad, pc, "updates"));
                        }
                        pc += 1;
                    }
                    Op::LocalAddr(dst, offset) => {
                        let mut v = V64([0; LANES]);
                        for l in 0..LANES {
                            v.0[l] = u64::from(self.stack_pointer[l]) + u64::from(offset);
                        }
                        self.planes.put64(dst, m, v);
                        pc += 1;
                    }
                    Op::Alloca(dst, size, align) => {
                        self.alloca(launch, (dst, size, align), m, pc)?;
                        pc += 1;
                    }
                    Op::StackSave(dst) => {
                        let v = V64(self.alloca_bytes.map(|n| launch.stride - u64::from(n)));
                        self.planes.put64(dst, m, v);
                        pc += 1;
                    }
                    Op::StackRestore(src) => {
                        self.stack_restore(launch, src, m, pc)?;
                        pc += 1;
                    }
                    Op::ActiveMask(dst) => {
                        self.planes.put32(dst, m, V32([m; LANES]));
                        pc += 1;
                    }
                    Op::Clock(which, dst) => {
                        self.clock(cta, which, dst, m);
                        pc += 1;
                    }
                    Op::Fence => {
                        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
                        pc += 1;
                    }
                    Op::LaneCopy(i) => {
                        self.begin_lane_copies(launch, cta, &code.copies[i as usize], m)
                            .map_err(|b| access_fault(b, pc, "copies"))?;
                        pc += 1;
                    }
                    Op::LaneCopyCommit => {
                        self.copies.commit(m);
                        pc += 1;
                    }
                    Op::LaneCopyWait(n) => {
                        self.finish_copies(launch, cta, n, m)?;
                        pc += 1;
                    }
                    Op::BulkCopy(i) => {
                        self.begin_bulk_copies(launch, cta, &code.bulks[i as usize], m, pc)?;
                        pc += 1;
                    }
                    Op::TensorCopy(i) => {
                        self.begin_tensor_copies(launch, cta, &code.tensors[i as usize], m, pc)?;
                        pc += 1;
                    }
                    Op::BulkCommit => {
                        self.bulk_groups.commit(m);
                        pc += 1;
                    }
                    Op::BulkWait(left, read) => {
                        self.wait_bulk_groups(launch, cta, left, read, m)?;
                        pc += 1;
                    }
                    Op::TensorMap(i) => {
                        self.edit_tensor_map(launch, cta, &code.maps[i as usize], m, pc)?;
                        pc += 1;
                    }
                    Op::AsyncStore(i) => {
                        self.begin_async_stores(launch, cta, &code.async_stores[i as usize], m, pc)?;
                        pc += 1;
                    }
                    Op::Correct(i) => {
                        let Correction { table, planes: [src, got, dst] } = code.corrections[i as usize];
                        let (src, got) = (self.planes.get32(src), self.planes.get32(got));
                        let table = &code.calibrations[table as usize];
                        let to = &mut self.planes.w32[usize::from(dst)];
                        each(m, |l| to.0[l] = table.correct(src.0[l], got.0[l]));
                        pc += 1;
                    }
                    Op::Mbarrier(i) => {
                        left = left.saturating_sub(SPIN);
                        cta.spins += 1;
                        let bar = &code.mbarriers[i as usize];
                        if let Err(bad) = self.mbarrier(launch, cta, bar, m, pc) {
                            return Err(access_fault(bad, pc, "uses an mbarrier"));
                        }
                        pc += 1;
                        if matches!(bar.kind, MbarrierKind::Test { yields: true, .. }) {
                            left = 0;
                        }
                    }
                    Op::Exchange(i) => {
                        // Lanes that don't take part go on.
                        self.put(launch, mask & !m, base | (pc + 1));
                        let op = &code.warp_ops[i as usize];
                        if m == mask && !checked && self.exchange_now(launch, cta, op, m, pc)? {
                            pc += 1;
                            continue;
                        }
                        self.arrive_exchange(launch, cta, check, op, m, base | pc)?;
                        continue 'group;
                    }
                    Op::Barrier(i) => {
                        self.put(launch, mask & !m, base | (pc + 1));
                        self.arrive_barrier(cta, &code.barriers[i as usize], m, base | pc)?;
                        continue 'group;
                    }
                    Op::Yield => {
                        self.put(launch, m, base | (pc + 1));
                        self.put(launch, mask & !m, base | (pc + 1));
                        self.charge_budget(first, GROUP_QUANTUM);
                        return Ok(Stop::Budget);
                    }
                    Op::Brx(i) => {
                        let brx = &code.branch_tables[i as usize];
                        self.put(launch, mask & !m, base | (pc + 1));
                        let index = self.planes.w32[usize::from(brx.index)];
                        let mut out = None;
                        each(m, |l| match brx.targets.get(index.0[l] as usize) {
                            Some(&to) => self.key[l] = base | to,
                            None => out = out.or(Some(l)),
                        });
                        if let Some(l) = out {
                            let text = format!(
                                "has {} targets and is given index {}",
                                brx.targets.len(),
                                index.0[l]
                            );
                            return Err(Fault::new(pc, l as u32, text));
                        }
                        continue 'group;
                    }
                    Op::Call(i) => {
                        self.put(launch, mask & !m, base | (pc + 1));
                        self.call(launch, cta, check, i, m, base | pc)?;
                        continue 'group;
                    }
                    Op::Ret => {
                        self.put(launch, mask & !m, base | (pc + 1));
                        let mut out = 0;
                        each(m, |l| {
                            if !self.return_lane(code, l) {
                                out |= 1 << l;
                            }
                        });
                        self.exit_lanes(launch, cta, check, out)?;
                        continue 'group;
                    }
                    Op::Exit => {
                        mask &= !m;
                        self.put(launch, mask, base | (pc + 1));
                        self.exit_lanes(launch, cta, check, m)?;
                        continue 'group;
                    }
                    Op::Trap => return Err(Fault::new(pc, m.trailing_zeros(), "stops the kernel")),
                    Op::End => {
                        return Err(Fault::new(
                            pc,
                            m.trailing_zeros(),
                            "is the last instruction, and control runs past it",
                        ));
                    }
                }
            }
        }
    }
    /// Lets others of the warp go first after a while.
    fn charge_budget(&mut self, first: Key, steps: u32) {
        self.group_budget = self.group_budget.saturating_sub(steps.max(1));
        if self.group_budget == 0 {
            self.group_budget = GROUP_QUANTUM / 8;
            self.turn.get_or_insert(first);
        }
    }
    fn clock(&mut self, cta: &CtaState, which: Clock, dst: u16, m: u32) {
        // A step is a cycle, and a cycle half a nanosecond.
        let (cycles, nanos) = (cta.clock, cta.epoch.wrapping_add(cta.clock / 2));
        match which {
            Clock::Low => self.planes.put32(dst, m, V32([cycles as u32; LANES])),
            Clock::High => self.planes.put32(dst, m, V32([(cycles >> 32) as u32; LANES])),
            Clock::Wide => self.planes.put64(dst, m, V64([cycles; LANES])),
            Clock::Global => self.planes.put64(dst, m, V64([nanos; LANES])),
            Clock::GlobalLow => self.planes.put32(dst, m, V32([nanos as u32; LANES])),
            Clock::GlobalHigh => self.planes.put32(dst, m, V32([(nanos >> 32) as u32; LANES])),
        }
    }
    /// Ends lanes; others may have waited only for them.
    pub fn exit_lanes(
        &mut self,
        launch: &Launch<'_>,
        cta: &mut CtaState,
        check: &mut Checking,
        lanes: u32,
    ) -> Result<(), Box<Fault>> {
        if lanes == 0 {
            return Ok(());
        }
        self.finish_copies(launch, cta, u32::MAX, lanes)?;
        self.end_lanes(lanes);
        if self.at_exchange != 0 {
            self.complete_exchanges(launch, cta, check)?;
        }
        Ok(())
    }
    fn arrive_barrier(
        &mut self,
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
                // It is over as soon as the arrival that it waits for no longer stands.
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
            if let Some(n) = count.filter(|&n| n == 0 || !n.is_multiple_of(LANES as u32)) {
                let text =
                    format!("tells barrier {id} to wait for {n} threads, which is not a multiple of 32");
                wrong = wrong.take().or(Some((l, text)));
            }
            if b.waiting && b.count != count {
                let text = format!(
                    "gives barrier {id} another thread count ({count:?}) than others did ({:?})",
                    b.count
                );
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
    /// Lets the lanes that wait at a barrier go on, with the result of its reduction.
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

#[cold]
#[allow(clippy::boxed_local, reason = "it comes boxed")]
fn access_fault(bad: Box<AccessError>, step: u32, verb: &str) -> Box<Fault> {
    Box::new(Fault {
        kind: ErrorKind::Fault,
        step,
        lane: Some(bad.lane),
        text: format!("{verb} {}", bad.text),
    })
}
