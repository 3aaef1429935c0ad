//! The interpreter: runs the steps of a warp, group of lanes by group of lanes.
//!
//! [`Warp::run`] picks a group ([`groups`](super::groups)) and runs its steps until another group is at a
//! lower position. Its match handles the frequent operations. Operations that move lanes to different
//! positions are in [`Warp::control_step`], which is inlined; all others are in [`Warp::straight_step`],
//! which is not. A larger match in the loop makes operations on registers slower.
//!
//! # Invariants
//! - The registers of an inactive lane never change.
//! - A `.sync` operation runs when every living lane of its mask has arrived.

use std::sync::atomic::{Ordering::SeqCst, fence};

use prlx_driver::ErrorKind;

use crate::check::Checking;
use crate::code::{Clock, Correction, GuardBits, MbarrierKind, NEGATE, NO_GUARD, Op};
use crate::exec::cta_state::CtaState;
use crate::exec::fault::Fault;
use crate::exec::groups::Group;
use crate::exec::launch::Launch;
use crate::exec::rng::Rng;
use crate::exec::time::SMS;
use crate::exec::warp_state::{GROUP_QUANTUM, Key, PARKED, STEP, Stop, Warp, visible_memory};
use crate::hooks::recorder::Recorder;
use crate::hooks::value::{HookContext, Registers};
use crate::mem::access::{self, AccessError, each};
use prlx_lanes::{LANES, Planes, V32, V64};
use prlx_trace::WarpSize;

/// Steps of a budget that an atomic or volatile access uses up: a loop of them probably waits for others.
const SPIN: u32 = 256;

impl Warp {
    /// Runs the hooks at `pc` for the lanes of `mask` and returns the first step behind them.
    ///
    /// With `after`, runs the hooks that belong to the instruction before them; else those that belong to the
    /// instruction behind them. Hooks run together with their instruction. Lanes therefore only rest where
    /// they would rest without hooks, and a hook sees the lanes that run its instruction together.
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
            let m = self.guarded(step.guard, mask);
            run_hook(&mut self.recorder, &mut [&mut self.planes], launch, cta, i, m.into());
            pc += 1;
        }
        pc
    }
    /// Runs the hooks behind an instruction for lanes that have waited at it and can run again.
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
    /// The lanes of `mask` that execute a step with this guard.
    #[inline(always)]
    pub fn guarded(&self, guard: GuardBits, mask: u32) -> u32 {
        if guard == NO_GUARD {
            return mask;
        }
        let p = self.planes.pred[usize::from(guard & !NEGATE)];
        mask & if guard & NEGATE != 0 { !p } else { p }
    }
    /// Runs until no lane can run, or until `budget` steps are used up. With `rng`, runs one random group.
    ///
    /// # Errors
    /// A fault of the kernel.
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
        // Hooks use up no step, no time and no turn, and run even in warps that are not recorded. The
        // schedule is therefore that of the code without hooks. `wide` runs those of both halves of a warp.
        let hooked = launch.observe.is_some() && launch.warp_size == WarpSize::W32;
        let checked = check.is_some();
        'group: loop {
            if hooked {
                self.run_after_hooks(launch, cta);
            }
            if rng.is_some() && left < budget {
                return Ok(Stop::Budget);
            }
            let group = self.next_group(launch, rng.as_deref_mut());
            let Some(Group { key: first, mask, limit }) = group else { return Ok(Stop::Idle) };
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
                let m = self.guarded(step.guard, mask);
                let m = match check {
                    Some(c) if checked => c.before_step(self, launch, cta, pc, mask, m),
                    _ => m,
                };
                if let Op::Alu(run, args) = &step.op {
                    run(&mut self.planes, args, m);
                    pc += 1;
                    continue;
                }
                match step.op {
                    _ if m == 0 => {}
                    Op::Alu(..) | Op::Nop | Op::Hook(_) => {}
                    Op::Bra(to) if m == mask => {
                        pc = to;
                        continue;
                    }
                    Op::Bra(to) => {
                        self.put(launch, m, base | to);
                        self.put(launch, mask & !m, base | (pc + 1));
                        continue 'group;
                    }
                    Op::Ld(i) => {
                        let mem = &code.mems[i as usize];
                        if mem.strong {
                            left = left.saturating_sub(SPIN);
                            cta.spins += 1;
                        }
                        let r = visible_memory(launch, cta, &self.local);
                        (launch.simd.load)(&mut self.planes, &r, &mut self.allocation_hint, mem, m)
                            .map_err(|bad| access_fault(bad, pc, "reads"))?;
                    }
                    Op::St(i) => {
                        let r = visible_memory(launch, cta, &self.local);
                        let mem = &code.mems[i as usize];
                        (launch.simd.store)(&self.planes, &r, &mut self.allocation_hint, mem, m)
                            .map_err(|bad| access_fault(bad, pc, "writes"))?;
                    }
                    Op::Exchange(i)
                        if m == mask
                            && !checked
                            && self.exchange_now(launch, cta, &code.warp_ops[i as usize], m, pc)? => {}
                    Op::Exchange(_) | Op::Barrier(_) | Op::Brx(_) | Op::Call(_) | Op::Ret | Op::Exit => {
                        self.put(launch, mask & !m, base | (pc + 1));
                        self.control_step(launch, cta, check, &step.op, m, base | pc)?;
                        continue 'group;
                    }
                    Op::ActiveMask(dst) => self.planes.put32(dst, m, V32([m; LANES])),
                    Op::Clock(which, dst) => self.clock(cta, which, dst, m),
                    Op::Fence => fence(SeqCst),
                    Op::Yield => {
                        self.put(launch, mask, base | (pc + 1));
                        self.charge_budget(first, GROUP_QUANTUM);
                        return Ok(Stop::Budget);
                    }
                    _ => {
                        let used = self.straight_step(launch, cta, &step.op, m, pc)?;
                        left = left.saturating_sub(used);
                    }
                }
                pc += 1;
            }
        }
    }
    /// Runs a step that can park lanes `m` or move them to different positions. `at` is their position.
    #[inline(always)]
    fn control_step(
        &mut self,
        launch: &Launch<'_>,
        cta: &mut CtaState,
        check: &mut Checking,
        op: &Op,
        m: u32,
        at: Key,
    ) -> Result<(), Box<Fault>> {
        let code = launch.code;
        match *op {
            Op::Exchange(i) => self.arrive_exchange(launch, cta, check, &code.warp_ops[i as usize], m, at),
            Op::Barrier(i) => self.arrive_barrier(launch, cta, &code.barriers[i as usize], m, at),
            Op::Brx(i) => {
                let brx = &code.branch_tables[i as usize];
                let index = self.planes.w32[usize::from(brx.index)];
                let mut outside = None;
                each(m, |l| match brx.targets.get(index.0[l] as usize) {
                    Some(&to) => self.key[l] = at & !STEP | to,
                    None => outside = outside.or(Some(l)),
                });
                let Some(l) = outside else { return Ok(()) };
                let text = format!("has {} targets and is given index {}", brx.targets.len(), index.0[l]);
                Err(Fault::new(at & STEP, l as u32, text))
            }
            Op::Call(i) => self.call(launch, cta, check, i, m, at),
            Op::Ret => {
                let mut ended = 0;
                each(m, |l| {
                    if !self.return_lane(code, l) {
                        ended |= 1 << l;
                    }
                });
                self.exit_lanes(launch, cta, check, ended)
            }
            _ => self.exit_lanes(launch, cta, check, m),
        }
    }
    /// Runs a step after which the lanes `m` go on at the next step. Returns how much of the budget the step
    /// uses up beyond itself.
    pub(super) fn straight_step(
        &mut self,
        launch: &Launch<'_>,
        cta: &mut CtaState,
        op: &Op,
        m: u32,
        pc: u32,
    ) -> Result<u32, Box<Fault>> {
        let code = launch.code;
        match *op {
            Op::Atom(i) => {
                cta.spins += 1;
                let r = visible_memory(launch, cta, &self.local);
                let atom = &code.atoms[i as usize];
                access::atomic(&mut self.planes, &r, &mut self.allocation_hint, atom, m)
                    .map_err(|bad| access_fault(bad, pc, "updates"))?;
                return Ok(SPIN);
            }
            Op::Mbarrier(i) => {
                cta.spins += 1;
                let bar = &code.mbarriers[i as usize];
                self.mbarrier(launch, cta, bar, m, pc)
                    .map_err(|bad| access_fault(bad, pc, "uses an mbarrier"))?;
                let yields = matches!(bar.kind, MbarrierKind::Test { yields: true, .. });
                return Ok(if yields { u32::MAX } else { SPIN });
            }
            Op::LocalAddr(dst, offset) => {
                let v = V64(self.stack_pointer.map(|at| u64::from(at) + u64::from(offset)));
                self.planes.put64(dst, m, v);
            }
            Op::Alloca(dst, size, align) => self.alloca(launch, (dst, size, align), m, pc)?,
            Op::StackSave(dst) => {
                let v = V64(self.alloca_bytes.map(|n| launch.stride - u64::from(n)));
                self.planes.put64(dst, m, v);
            }
            Op::StackRestore(src) => self.stack_restore(launch, src, m, pc)?,
            Op::LaneCopy(i) => self
                .begin_lane_copies(launch, cta, &code.copies[i as usize], m)
                .map_err(|bad| access_fault(bad, pc, "copies"))?,
            Op::LaneCopyCommit => self.copies.commit(m),
            Op::LaneCopyWait(n) => self.finish_copies(launch, cta, n, m)?,
            Op::BulkCopy(i) => self.begin_bulk_copies(launch, cta, &code.bulks[i as usize], m, pc)?,
            Op::TensorCopy(i) => self.begin_tensor_copies(launch, cta, &code.tensors[i as usize], m, pc)?,
            Op::BulkCommit => self.bulk_groups.commit(m),
            Op::BulkWait(left, read) => self.wait_bulk_groups(launch, cta, left, read, m)?,
            Op::TensorMap(i) => self.edit_tensor_map(launch, cta, &code.maps[i as usize], m, pc)?,
            Op::AsyncStore(i) => {
                self.begin_async_stores(launch, cta, &code.async_stores[i as usize], m, pc)?
            }
            Op::Tensor(i) => self.issue_tensor_op(launch, cta, i, m, pc)?,
            Op::Correct(i) => {
                let Correction { table, planes: [src, got, dst] } = code.corrections[i as usize];
                let (src, got) = (self.planes.get32(src), self.planes.get32(got));
                let table = &code.calibrations[table as usize];
                let to = &mut self.planes.w32[usize::from(dst)];
                each(m, |l| to.0[l] = table.correct(src.0[l], got.0[l]));
            }
            Op::Trap => return Err(Fault::new(pc, m.trailing_zeros(), "stops the kernel")),
            Op::End => {
                let text = "is the last instruction, and control runs past it";
                return Err(Fault::new(pc, m.trailing_zeros(), text));
            }
            // `run` and `control_step` handle these, and `wave` those of a wave.
            Op::Alu(..)
            | Op::Wave(..)
            | Op::WaveBranch(_)
            | Op::WaveJump(..)
            | Op::Join
            | Op::Bra(_)
            | Op::Brx(_)
            | Op::Ld(_)
            | Op::St(_)
            | Op::Exchange(_)
            | Op::Barrier(_)
            | Op::Call(_)
            | Op::Ret
            | Op::Exit
            | Op::Nop
            | Op::ActiveMask(_)
            | Op::Clock(..)
            | Op::Fence
            | Op::Yield
            | Op::Hook(_) => {}
        }
        Ok(0)
    }
    /// Writes a clock to a plane. A step counts as a cycle, and a cycle as half a nanosecond.
    pub(super) fn clock(&mut self, cta: &CtaState, which: Clock, dst: u16, m: u32) {
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
    /// Ends lanes. An exchange that waited only for them can then complete.
    ///
    /// # Errors
    /// A fault of a copy or an exchange that completes now.
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
}

/// Runs a hook for the lanes `m` of a warp with these registers.
#[inline(always)]
pub(super) fn run_hook(
    recorder: &mut Option<Box<Recorder>>,
    planes: &mut [&mut Planes],
    launch: &Launch<'_>,
    cta: &CtaState,
    hook: u32,
    m: u64,
) {
    let (Some(recorder), Some(observe)) = (recorder, &launch.observe) else { return };
    let context = HookContext {
        clock: cta.clock,
        params: launch.params,
        rank: cta.rank,
        sm: (cta.index % u64::from(SMS)) as u32,
        cta_variables: &cta.probe_variables,
        constants: launch.code.constants,
    };
    let hook = &launch.code.hooks[hook as usize];
    recorder.run_action(&observe.plan.probe_state, hook, &mut Registers(planes), m, context);
}

#[cold]
#[allow(clippy::boxed_local, reason = "it comes boxed")]
pub(super) fn access_fault(bad: Box<AccessError>, step: u32, verb: &str) -> Box<Fault> {
    Box::new(Fault {
        kind: ErrorKind::Fault,
        step,
        lane: Some(bad.lane),
        text: format!("{verb} {}", bad.text),
    })
}
