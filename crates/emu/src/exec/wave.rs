//! Waves of AMD's: all lanes of a wave are at one position, and EXEC says which of them run a vector
//! instruction.
//!
//! A wave is one [`Warp`], or two with 32 lanes each (`halves`). Scalar steps write all lanes of both.
//!
//! The neutral view is that of one lane. There, a branch over a region that EXEC leaves no lane for is taken
//! by each lane whose own bit is 0. The wave may go on without it: such a lane is *away*. It waits where its
//! branch leads, and joins the wave when the wave comes there. Hooks and checks see the lanes that are not
//! away. Where the wave may never come there, the view has a branch of the whole wave instead.
//!
//! # Invariants
//! - All lanes that have not ended have the position of the wave in [`Warp::key`].
//! - A lane that is away stays so, even if the wave enables all lanes for a while, as it does to spill
//!   registers.

use std::sync::atomic::{Ordering::SeqCst, fence};

use crate::check::{Checker, Checking};
use crate::code::{Code, Jump, Op, Step, Wave, WaveBranch, WaveCondition};
use crate::exec::cta_state::CtaState;
use crate::exec::fault::Fault;
use crate::exec::interpreter::{access_fault, run_hook};
use crate::exec::launch::Launch;
use crate::exec::warp_state::{STEP, Stop, Warp, WaveCall, key, visible_memory};
use crate::mem::access::each;
use prlx_lanes::{Args, LANES, LaneFn, Planes};

/// Steps of a budget that an access which may wait for others uses up.
const SPIN: u32 = 256;

/// The most nested calls of a wave. One that needs no stack could go on for ever.
const WAVE_DEPTH: usize = 1 << 16;

/// Runs a wave until its lanes wait or have ended, or until `budget` steps are used up.
///
/// # Errors
/// A fault of the kernel, with the half that faults.
pub fn run(
    halves: &mut [Warp],
    launch: &Launch<'_>,
    cta: &mut CtaState,
    check: &mut Checking,
    budget: u32,
) -> Result<Stop, (usize, Box<Fault>)> {
    let code = launch.code;
    let checked = check.is_some();
    let exec = code.exec.unwrap_or(0);
    let Some(at) = halves.iter().find(|h| h.ready() != 0).map(|h| h.key[h.ready().trailing_zeros() as usize])
    else {
        return Ok(Stop::Idle);
    };
    let mut pc = at & STEP;
    let mut left = budget;
    loop {
        if left == 0 {
            put(halves, pc);
            return Ok(Stop::Budget);
        }
        let Some(step) = code.steps.get(pc as usize) else {
            return Err((0, Fault::new(pc.saturating_sub(1), 0, "is the last instruction")));
        };
        if !checked && matches!(step.op, Op::Alu(..)) {
            let (ran, cost) = register_steps(halves, &code.steps[pc as usize..], left);
            pc += ran;
            left -= ran;
            cta.clock += cost;
            continue;
        }
        if let Op::Hook(i) = step.op {
            let lanes = all(halves, |h| h.guarded(step.guard, h.alive & !h.away));
            hook(halves, launch, cta, i, lanes);
            pc += 1;
            continue;
        }
        left -= 1;
        cta.clock += u64::from(step.cost);
        if let (true, Some(c)) = (checked, check.as_mut()) {
            before(halves, launch, cta, c, pc);
        }
        match step.op {
            Op::Alu(run, ref args) => halves.iter_mut().for_each(|h| register_step(h, step, run, args)),
            Op::Wave(run, ref args) => {
                let lanes = all(halves, |h| h.guarded(step.guard, u32::MAX));
                with_planes(halves, |wave| run(wave, args, lanes));
            }
            Op::WaveBranch(i) => {
                let branch = &code.wave_branches[i as usize];
                let taken = branches(halves, branch, exec, pc);
                if taken {
                    pc = branch.to;
                    continue;
                }
            }
            Op::WaveJump(low, high, kind) => {
                let word = |plane: u16| halves.first().map_or(0, |h| h.planes.get32(plane).0[0]);
                let to = u64::from(word(high)) << 32 | u64::from(word(low));
                pc = jump(halves, code, to, kind, pc).map_err(|what| (0, Fault::new(pc, 0, what)))?;
                continue;
            }
            Op::Join => {
                join(halves, pc);
            }
            Op::Bra(to) => {
                pc = to;
                continue;
            }
            Op::Barrier(i) => {
                for (at, half) in halves.iter_mut().enumerate() {
                    let alive = half.alive;
                    half.arrive_barrier(launch, cta, &code.barriers[i as usize], alive, key(0, pc))
                        .map_err(|f| (at, f))?;
                }
                if halves.iter().all(|h| h.ready() == 0) {
                    return Ok(Stop::Idle);
                }
            }
            Op::Ret | Op::Exit => {
                for (at, half) in halves.iter_mut().enumerate() {
                    let alive = half.alive;
                    half.away = 0;
                    half.exit_lanes(launch, cta, check, alive).map_err(|f| (at, f))?;
                }
                return Ok(Stop::Idle);
            }
            Op::Yield => {
                put(halves, pc + 1);
                return Ok(Stop::Budget);
            }
            Op::Nop => {}
            Op::Fence => fence(SeqCst),
            _ => {
                // The data flow has the accesses of an instruction one after the other.
                let last = if checked { last_access(code, pc) } else { pc };
                let used = memory_steps(halves, launch, cta, check, (pc, last))?;
                left = left.saturating_sub(used);
                pc = last;
            }
        }
        pc += 1;
    }
}

/// Runs operations on registers up to another step, at most `most`. Returns their number and their cost.
///
/// Most steps are such operations. In a function of their own, the compiler keeps what they need in
/// registers, which in the loop of [`run`] hold the state of other steps.
#[inline(never)]
fn register_steps(halves: &mut [Warp], steps: &[Step], most: u32) -> (u32, u64) {
    let (mut ran, mut cost) = (0, 0);
    for step in steps.iter().take(most as usize) {
        let Op::Alu(run, args) = &step.op else { break };
        ran += 1;
        cost += u64::from(step.cost);
        match halves {
            [one] => register_step(one, step, *run, args),
            _ => halves.iter_mut().for_each(|half| register_step(half, step, *run, args)),
        }
    }
    (ran, cost)
}

#[inline(always)]
fn register_step(half: &mut Warp, step: &Step, run: LaneFn, args: &Args) {
    let m = half.guarded(step.guard, u32::MAX);
    if m != 0 {
        run(&mut half.planes, args, m);
    }
}

/// Whether the wave takes a branch at `pc`. Lanes that part from it there, in the view of one lane, are away
/// from now on.
fn branches(halves: &mut [Warp], branch: &WaveBranch, exec: u16, pc: u32) -> bool {
    let lanes = all(halves, |h| h.planes.get_pred(branch.of));
    let taken = match branch.when {
        WaveCondition::Any | WaveCondition::Active => lanes != 0,
        WaveCondition::None | WaveCondition::Inactive => lanes == 0,
    };
    // In the view, lanes with this bit take the branch.
    let bit = match branch.when {
        WaveCondition::Active => true,
        WaveCondition::Inactive => false,
        WaveCondition::Any | WaveCondition::None => return taken,
    };
    for half in halves {
        let here = half.alive & !half.away;
        let takes = here & if bit { half.planes.get_pred(exec) } else { !half.planes.get_pred(exec) };
        let (leave, to) = if taken { (here & !takes, pc + 1) } else { (takes, branch.to) };
        half.away |= leave;
        let at = (half.wave_calls.len(), to);
        each(leave, |l| half.away_at[l] = at);
    }
    taken
}

/// Lanes that wait at `pc` join the wave.
fn join(halves: &mut [Warp], pc: u32) {
    for half in halves {
        let (mut back, here) = (0, (half.wave_calls.len(), pc));
        each(half.away, |l| back |= u32::from(half.away_at[l] == here) << l);
        half.away &= !back;
    }
}

/// Runs the steps `from` to `to` of an instruction, for one half after the other. Returns how much of the
/// budget they use up beyond themselves.
fn memory_steps(
    halves: &mut [Warp],
    launch: &Launch<'_>,
    cta: &mut CtaState,
    check: &mut Checking,
    (from, to): (u32, u32),
) -> Result<u32, (usize, Box<Fault>)> {
    let mut used = 0u32;
    for (at, half) in halves.iter_mut().enumerate() {
        for step in from..=to {
            used = used.saturating_add(memory_step(half, launch, cta, check, step).map_err(|f| (at, f))?);
        }
    }
    let more = launch.code.steps.get(from as usize + 1..=to as usize).unwrap_or_default();
    cta.clock += more.iter().map(|s| u64::from(s.cost)).sum::<u64>();
    Ok(used)
}

/// Jumps to an address. Returns the step there.
///
/// # Errors
/// No code is there, or the calls are nested too deeply.
fn jump(halves: &mut [Warp], code: &Code, to: u64, kind: Jump, pc: u32) -> Result<u32, String> {
    let nowhere = || format!("jumps to {to:#x}, where no code is");
    let kept = usize::from(code.kept_counters.0)..usize::from(code.kept_counters.1);
    let depth = match kind {
        Jump::Within => None,
        Jump::Return => {
            let step = code.returns.get(&to);
            // Callers that the jump skips do not go on.
            halves.first().and_then(|h| h.wave_calls.iter().rposition(|call| Some(&call.ret) == step))
        }
        Jump::Call => {
            for half in &mut *halves {
                if half.wave_calls.len() >= WAVE_DEPTH {
                    return Err(format!("nests more than {WAVE_DEPTH} calls"));
                }
                let counters = half.planes.w64.get(kept.clone()).unwrap_or_default().into();
                half.wave_calls.push(WaveCall { ret: pc + 1, counters });
            }
            None
        }
    };
    let Some(depth) = depth else { return code.addresses.get(&to).copied().ok_or_else(nowhere) };
    let mut step = None;
    for half in halves {
        half.wave_calls.truncate(depth + 1);
        let Some(call) = half.wave_calls.pop() else { continue };
        if let Some(counters) = half.planes.w64.get_mut(kept.clone()) {
            counters.iter_mut().zip(call.counters).for_each(|(now, before)| *now = before);
        }
        step = Some(call.ret);
    }
    step.ok_or_else(nowhere)
}

/// The last of the steps that access memory for the instruction of a step.
fn last_access(code: &Code, pc: u32) -> u32 {
    let of = |at: u32| {
        let step = code.steps.get(at as usize).filter(|s| matches!(s.op, Op::Ld(_) | Op::St(_)))?;
        Some((step.guard, code.origin.get(at as usize)?))
    };
    let first = of(pc);
    let mut last = pc;
    while first.is_some() && of(last + 1) == first {
        last += 1;
    }
    last
}

/// Shows a step to the checks, unless it accesses memory: then [`memory_step`] does, as the checks may keep
/// lanes from it.
fn before(halves: &mut [Warp], launch: &Launch<'_>, cta: &mut CtaState, check: &mut Checker, pc: u32) {
    let step = &launch.code.steps[pc as usize];
    check.before_wave(launch, cta, halves, pc);
    if matches!(step.op, Op::Ld(_) | Op::St(_) | Op::Atom(_) | Op::Clock(..) | Op::Join) {
        return;
    }
    for half in halves {
        // All lanes of a wave arrive at a barrier.
        let here = if matches!(step.op, Op::Barrier(_)) { half.alive } else { half.alive & !half.away };
        check.before_step(half, launch, cta, pc, here, half.guarded(step.guard, here));
    }
}

/// Runs a step of one half that accesses memory or the state of lanes. Returns how much of the budget it uses
/// up beyond itself.
fn memory_step(
    half: &mut Warp,
    launch: &Launch<'_>,
    cta: &mut CtaState,
    check: &mut Checking,
    pc: u32,
) -> Result<u32, Box<Fault>> {
    // A scalar load is one access of the wave: it writes all lanes, also of a half that EXEC leaves out.
    let m = half.guarded(launch.code.steps[pc as usize].guard, u32::MAX);
    let Some(c) = check else { return access(half, launch, cta, pc, m) };
    let here = half.alive & !half.away;
    let good = c.before_step(half, launch, cta, pc, here, m & here) | m & !here;
    c.before_wave_access(launch, cta, half, pc, good);
    let used = access(half, launch, cta, pc, good)?;
    if let Some(c) = check {
        c.after_wave_access(launch, cta.index, half, pc, m);
    }
    Ok(used)
}

/// [`memory_step`] of the lanes `m`, after the checks.
fn access(
    half: &mut Warp,
    launch: &Launch<'_>,
    cta: &mut CtaState,
    pc: u32,
    m: u32,
) -> Result<u32, Box<Fault>> {
    let code = launch.code;
    let step = &code.steps[pc as usize];
    if m == 0 {
        return Ok(0);
    }
    match step.op {
        Op::Ld(i) => {
            let mem = &code.mems[i as usize];
            let r = visible_memory(launch, cta, &half.local);
            (launch.simd.load)(&mut half.planes, &r, &mut half.allocation_hint, mem, m)
                .map_err(|bad| access_fault(bad, pc, "reads"))?;
            if mem.strong {
                cta.spins += 1;
                return Ok(SPIN);
            }
        }
        Op::St(i) => {
            let r = visible_memory(launch, cta, &half.local);
            let mem = &code.mems[i as usize];
            (launch.simd.store)(&half.planes, &r, &mut half.allocation_hint, mem, m)
                .map_err(|bad| access_fault(bad, pc, "writes"))?;
        }
        Op::Clock(which, dst) => half.clock(cta, which, dst, u32::MAX),
        ref op => return half.straight_step(launch, cta, op, m, pc),
    }
    Ok(0)
}

/// Sets the position of the wave.
fn put(halves: &mut [Warp], pc: u32) {
    for half in halves {
        each(half.alive, |l| half.key[l] = key(0, pc));
    }
}

/// A mask of the wave, from the masks of its halves.
fn all(halves: &[Warp], of: impl Fn(&Warp) -> u32) -> u64 {
    halves.iter().rev().fold(0, |lanes, half| lanes << LANES | u64::from(of(half)))
}

/// Calls `f` with the registers of the wave.
fn with_planes(halves: &mut [Warp], f: impl FnOnce(&mut Wave<'_, '_>)) {
    match halves {
        [one] => f(&mut Wave(&mut [&mut one.planes])),
        [low, high] => f(&mut Wave(&mut [&mut low.planes, &mut high.planes])),
        _ => {}
    }
}

/// Runs a hook for the lanes `m` of the wave. The lower half has the recorder.
///
/// It is never inlined: what it computes from the launch would be computed for every step.
#[inline(never)]
fn hook(halves: &mut [Warp], launch: &Launch<'_>, cta: &CtaState, i: u32, m: u64) {
    let run = |lower: &mut Warp, higher: Option<&mut Planes>| {
        let Warp { recorder, planes, .. } = lower;
        match higher {
            Some(higher) => run_hook(recorder, &mut [planes, higher], launch, cta, i, m),
            None => run_hook(recorder, &mut [planes], launch, cta, i, m),
        }
    };
    match halves {
        [one] => run(one, None),
        [low, high] => run(low, Some(&mut high.planes)),
        _ => {}
    }
}
