//! Warps of 64 lanes: a test mode, in which the two halves of a warp run in lockstep.
//!
//! Each half is a [`Warp`] with 32 lanes of its own: registers, positions, calls and local memory. This file
//! picks the lanes of both halves that run next, runs the hooks for all of them at once, and lets each half
//! run its lanes for one step. So planes and masks keep 32 lanes, and warps of 32 lanes pay nothing.
//!
//! # Invariants
//! - The halves may run one after the other, because no instruction of such code reads a register of another
//!   lane (see `decode::warp_width`).
//! - Lanes of both halves at the same position run together under the fair schedule, and a step that both run
//!   counts once.
//!
//! # Limitations
//! Every step searches for its group, so the mode is several times slower than warps of 32 lanes.

use crate::check::Checking;
use crate::code::{GuardBits, Op};
use crate::exec::cta_state::CtaState;
use crate::exec::fault::Fault;
use crate::exec::groups::Group;
use crate::exec::interpreter::run_hook;
use crate::exec::launch::Launch;
use crate::exec::rng::Rng;
use crate::exec::warp_state::{GROUP_QUANTUM, Key, PARKED, STEP, Stop, Warp};
use crate::hooks::value::each_lane;
use crate::mem::access::each;
use prlx_lanes::LANES;

/// Runs the halves of a warp until no lane can run, or until `budget` steps are used up. With `rng`, every
/// step runs random lanes. `alone`: the steps that each half ran while the other was at another position.
///
/// # Errors
/// A fault of the kernel, with the half that faults.
pub fn run(
    halves: &mut [Warp],
    alone: &mut [u32],
    launch: &Launch<'_>,
    cta: &mut CtaState,
    check: &mut Checking,
    budget: u32,
    mut rng: Option<&mut Rng>,
) -> Result<Stop, (usize, Box<Fault>)> {
    let hooked = launch.observe.is_some();
    for _ in 0..budget {
        if hooked {
            run_after_hooks(halves, launch, cta);
        }
        let groups = next_groups(halves, alone, launch, rng.as_deref_mut());
        let Some(first) = groups.iter().flatten().next().copied() else { return Ok(Stop::Idle) };
        let mut pc = first.key & STEP;
        if hooked {
            let lanes = |group: Option<Group>| group.map_or(0, |g| u64::from(g.mask));
            let mask = lanes(groups[0]) | lanes(groups[1]) << LANES;
            pc = past_hooks(halves, launch, pc, mask, cta, false);
        }
        let begun = cta.clock;
        let mut ended = begun;
        for (i, (half, group)) in halves.iter_mut().zip(groups).enumerate() {
            let Some(group) = group else { continue };
            cta.clock = begun;
            step(half, launch, cta, check, Group { key: group.key & !STEP | pc, ..group })
                .map_err(|f| (i, f))?;
            ended = ended.max(cta.clock);
        }
        cta.clock = ended;
    }
    if hooked {
        run_after_hooks(halves, launch, cta);
    }
    Ok(Stop::Budget)
}

/// Runs one step of a group of a half, as if its other lanes could not run.
fn step(
    half: &mut Warp,
    launch: &Launch<'_>,
    cta: &mut CtaState,
    check: &mut Checking,
    group: Group,
) -> Result<(), Box<Fault>> {
    let (keys, turn) = (half.key, half.turn.take());
    half.key = [PARKED; LANES];
    each(group.mask, |l| half.key[l] = group.key);
    let ran = half.run(launch, cta, check, 1, None);
    each(!group.mask, |l| half.key[l] = keys[l]);
    half.turn = turn.or(half.turn);
    ran.map(drop)
}

/// The groups of both halves that run the next step. If both halves have one, they are at the same position.
fn next_groups(
    halves: &mut [Warp],
    alone: &mut [u32],
    launch: &Launch<'_>,
    mut rng: Option<&mut Rng>,
) -> [Option<Group>; 2] {
    let mut groups = [None; 2];
    for (group, half) in groups.iter_mut().zip(halves) {
        *group = half.next_group(launch, rng.as_deref_mut());
    }
    let [Some(lower), Some(upper)] = groups else { return groups };
    let same = lower.key == upper.key;
    let only = match rng {
        Some(rng) if same => [Some(0), Some(1), None, None][rng.below(4) as usize],
        Some(rng) => Some(rng.below(2) as usize),
        None if same => {
            alone.fill(0);
            None
        }
        None => Some(half_alone(alone, usize::from(lower.key > upper.key))),
    };
    if let Some(half) = only {
        groups[1 - half] = None;
    }
    groups
}

/// Which half runs alone, where `behind` is the one at the lower position. It runs until it has caught up,
/// but in between the other half gets a turn, so that a lane may wait for another lane of its warp.
fn half_alone(alone: &mut [u32], behind: usize) -> usize {
    let half = if alone[behind] < GROUP_QUANTUM { behind } else { 1 - behind };
    alone[half] += 1;
    if half != behind && alone[half] >= GROUP_QUANTUM / 8 {
        alone.fill(0);
    }
    half
}

/// `Warp::past_hooks` for both halves. The lower one has the recorder.
fn past_hooks(
    halves: &mut [Warp],
    launch: &Launch<'_>,
    mut pc: u32,
    mask: u64,
    cta: &CtaState,
    after: bool,
) -> u32 {
    while let Some(step) = launch.code.steps.get(pc as usize)
        && let Op::Hook(i) = step.op
        && launch.code.hooks[i as usize].after == after
    {
        let m = guarded(halves, step.guard, mask);
        if let [lower, upper] = halves {
            let planes = &mut [&mut lower.planes, &mut upper.planes];
            run_hook(&mut lower.recorder, planes, launch, cta, i, m);
        }
        pc += 1;
    }
    pc
}

/// `Warp::run_after_hooks` for both halves.
fn run_after_hooks(halves: &mut [Warp], launch: &Launch<'_>, cta: &CtaState) {
    let mut left = wide(halves, |half| half.alive);
    while left != 0 {
        let k = key(halves, left.trailing_zeros() as usize);
        let mut there = 0;
        each_lane(left, |l| there |= u64::from(key(halves, l) == k) << l);
        left &= !there;
        if k != PARKED {
            let pc = k & STEP;
            let past = past_hooks(halves, launch, pc, there, cta, true);
            if past != pc {
                each_lane(there, |l| halves[l / LANES].key[l % LANES] = k & !STEP | past);
            }
        }
    }
}

/// A mask of the whole warp, from the masks of its halves.
fn wide(halves: &[Warp], of: impl Fn(&Warp) -> u32) -> u64 {
    halves.iter().rev().fold(0, |lanes, half| lanes << LANES | u64::from(of(half)))
}

/// The lanes of `mask` that execute a step with this guard.
fn guarded(halves: &[Warp], guard: GuardBits, mask: u64) -> u64 {
    mask & wide(halves, |half| half.guarded(guard, u32::MAX))
}

/// The position of a lane.
fn key(halves: &[Warp], l: usize) -> Key {
    halves.get(l / LANES).map_or(PARKED, |half| half.key[l % LANES])
}
