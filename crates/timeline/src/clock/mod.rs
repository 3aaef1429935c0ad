//! One time axis for all SMs. Each SM has its own clock; all share a global timer that ticks rarely.
//!
//! An anchor reads both clocks at one moment. If the timer showed `g`, the true time was between `g` and `g +
//! tick`, apart from a small jitter of the ticks. On an H200 (bench/runs/2026-11-23-h200-clocks.md) the SMs
//! of one GPC show the same clock to within a few cycles. SMs of different GPCs share nothing, not even the
//! rate, which changes by ten percent within a launch. So SMs whose clocks agree form a group, and each group
//! gets one curve (`Curve`) through all its anchors: the error of one tick shrinks with the square root of
//! their number.
//!
//! When many warps read the timer at once, it answers late. Anchors between a track's ends record how long
//! the answer took.
//!
//! # Invariants
//! [`Fit::error`] is two standard errors: 95 of 100 times near anchors are within it. Misfit of the curve
//! counts as error.
//!
//! # Limitations
//! SMs whose clocks agree within a tick are assumed to belong to one GPC.

mod curve;
pub(crate) mod host_clock;

use std::collections::BTreeMap;

use prlx_trace::mark::Anchor;
use prlx_trace::{ClockReading, Cycles, Nanos, Picos, SignedPicos};

use crate::clock::curve::{Curve, Moment, Rate};

/// Nanoseconds between ticks where too few moments tell: those of NVIDIA's GPUs since Hopper.
const TICK: Nanos = Nanos(32);
/// The longest that any timer has.
const LONGEST: Nanos = Nanos(1024);
/// Rates that a clock can have: nanoseconds in a cycle.
const RATES: [f64; 2] = [0.01, 1000.0];
/// By how much of a tick it comes early or late (standard deviation; 3.8 ns of 32 on an H200), and by how
/// much it seems to where nobody knows how long it took to answer (5.1 ns).
const JITTER: [f64; 2] = [0.12, 0.16];
/// What the rates of two clocks may differ by, as a share (one standard deviation).
const APART: f64 = 0.05;
/// Maximum distance of two anchors that are compared to decide whether two multiprocessors share a clock.
const NEAR: Cycles = Cycles(4096);
/// One in this many comparisons may disagree: an interrupted read makes an anchor late.
const FEW: u32 = 5;
/// The fastest one in this many reads of the timer gives the time that a prompt read takes.
const PROMPT: usize = 4;
/// A read that takes more than this many times the prompt time is not used: it may have been delayed before
/// or after the moment that it reports.
const SLOW: u32 = 2;

/// Conversion of the clocks of all multiprocessors of a launch to nanoseconds, with its errors.
#[derive(Default)]
pub struct Fit {
    /// Mean length of a cycle in nanoseconds.
    rate: f64,
    /// Groups of multiprocessors that share a clock.
    groups: Vec<Group>,
    /// Index of each multiprocessor's group.
    of: BTreeMap<u32, usize>,
    /// Time between ticks of the timer.
    pub tick: Picos,
    /// Error of a time near an anchor; 95 % of the times are within it.
    pub single: Picos,
    /// Error of the difference between times on two multiprocessors, with the same confidence.
    pub error: Picos,
    /// Error of a time between anchors that are far apart, with the same confidence.
    pub between: Picos,
    /// Deviation of the anchors from their curve in nanoseconds, beyond the length of a tick.
    pub slack: f64,
    /// Whether the anchors determine the rate; otherwise it is a guess.
    pub rated: bool,
}

/// The time between ticks of a timer, from times that it showed: their greatest common divisor. Returns the
/// usual tick if that is out of range.
pub fn tick(nanos: impl Iterator<Item = Nanos>) -> Nanos {
    let tick = nanos.fold(0, |tick, at| gcd(tick, at.0));
    Some(Nanos(tick)).filter(|tick| (Nanos(1)..=LONGEST).contains(tick)).unwrap_or(TICK)
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Multiprocessors that share a clock.
struct Group {
    /// The clock of its first anchor.
    clock: Cycles,
    curve: Curve,
}

/// The common rate of all multiprocessors, by least squares over their anchors. `None` if the anchors do not
/// determine a plausible rate.
fn rate(anchors: &BTreeMap<u32, Vec<Anchor>>, noise: f64) -> Option<Rate> {
    let (mut square, mut product) = (0.0, 0.0);
    for all in anchors.values() {
        let Some(first) = all.first() else { continue };
        let since = |a: u64, b: u64| (i128::from(a) - i128::from(b)) as f64;
        let points = all.iter().map(|a| (since(a.cycles.0, first.cycles.0), since(a.nanos.0, first.nanos.0)));
        let [x, y] =
            points.clone().fold([0.0; 2], |[x, y], p| [x + p.0, y + p.1]).map(|sum| sum / all.len() as f64);
        for p in points {
            square += (p.0 - x) * (p.0 - x);
            product += (p.0 - x) * (p.1 - y);
        }
    }
    let middle = product / square;
    let known = square > 0.0 && (RATES[0]..=RATES[1]).contains(&middle);
    known.then(|| Rate { middle, width: (APART * middle).hypot(noise / square.sqrt()) })
}

/// An anchor together with the number of the multiprocessor that read it.
#[derive(Clone, Copy)]
struct Own {
    sm: u32,
    anchor: Anchor,
}

/// Maximum number of cycles of a prompt read of the timer, see [`PROMPT`] and [`SLOW`].
fn prompt<'a>(anchors: impl Iterator<Item = &'a Anchor>) -> u32 {
    let mut took: Vec<u32> = anchors.filter_map(|a| a.took).collect();
    let at = took.len() / PROMPT;
    if took.is_empty() { 0 } else { took.select_nth_unstable(at).1.saturating_mul(SLOW) }
}

/// Multiprocessors with their anchors, those together whose clocks show the same: where anchors of two are
/// near each other by the clock, they are by the timer, too, but for few.
fn groups(anchors: &BTreeMap<u32, Vec<Anchor>>, rate: Rate, tick: Nanos) -> Vec<(Vec<u32>, Vec<Own>)> {
    let mut groups: Vec<(Vec<u32>, Vec<Own>)> = Vec::new();
    let order = |own: &Own| (own.anchor.cycles, own.anchor.nanos, own.sm);
    let prompt = prompt(anchors.values().flatten());
    let quick = |a: &&Anchor| a.took.is_none_or(|took| took <= prompt);
    for (&sm, own) in anchors.iter().filter(|(_, own)| !own.is_empty()) {
        let kept =
            |of: &dyn Fn(&&Anchor) -> bool| own.iter().filter(of).map(|&anchor| Own { sm, anchor }).collect();
        let mut own: Vec<Own> = if own.iter().any(|a| quick(&a)) { kept(&quick) } else { kept(&|_| true) };
        own.sort_by_key(order);
        let same = |group: &[Own]| {
            let (mut met, mut apart) = (0, 0);
            for a in own.iter().map(|own| own.anchor) {
                let at = group.partition_point(|b| b.anchor.cycles < a.cycles);
                let beside = group[at.saturating_sub(1)..]
                    .iter()
                    .take(2)
                    .map(|b| (a.cycles.abs_diff(b.anchor.cycles), b.anchor));
                let Some((cycles, b)) = beside.min_by_key(|b| b.0).filter(|b| b.0 <= NEAR) else { continue };
                met += 1;
                let cycles = if a.cycles < b.cycles { -cycles.as_f64() } else { cycles.as_f64() };
                let nanos = (i128::from(a.nanos.0) - i128::from(b.nanos.0)) as f64 - rate.middle * cycles;
                // A tick, early or late, and what a rate of the group's own makes of the cycles between.
                let agree =
                    nanos.abs() <= tick.as_f64() * (1.0 + 6.0 * JITTER[1]) + 4.0 * rate.width * cycles.abs();
                apart += u32::from(!agree);
            }
            met > 0 && apart * FEW <= met
        };
        match groups.iter_mut().find(|(_, group)| same(group)) {
            Some((sms, group)) => {
                sms.push(sm);
                group.extend(own);
                // Two lists in order: what sorts them finds that out.
                group.sort_by_key(order);
            }
            None => groups.push((vec![sm], own)),
        }
    }
    groups
}

impl Fit {
    /// Fits the anchors of each multiprocessor; times count from `origin`, which is no later than any of
    /// them. `known`: nanoseconds of a cycle, of a simulated clock.
    pub fn new(anchors: &BTreeMap<u32, Vec<Anchor>>, origin: Nanos, known: Option<f64>) -> Fit {
        let tick = tick(anchors.values().flatten().map(|a| a.nanos - origin));
        // A tick's width, evenly; and how it comes.
        let noise = |of: usize| tick.as_f64() * (1.0f64 / 12.0 + JITTER[of] * JITTER[of]).sqrt();
        let known = known.map(|middle| Rate { middle, width: 0.0 });
        let told = known.or_else(|| rate(anchors, noise(1)));
        let mut fit = Fit { tick: tick.into(), rated: told.is_some(), ..Fit::default() };
        let rate = told.unwrap_or(Rate { middle: 1.0, width: APART });
        fit.rate = rate.middle;
        let mut wrong = [[0.0f64; 2]; 2];
        for (sms, all) in groups(anchors, rate, tick) {
            let clock = all[0].anchor.cycles;
            let moment = |own: &Own| Moment {
                cycles: (own.anchor.cycles - clock).as_f64(),
                nanos: (own.anchor.nanos - origin).as_f64() + tick.as_f64() / 2.0,
                noise: noise(usize::from(own.anchor.took.is_none())),
                timer: own.sm,
                sure: own.anchor.took.is_some(),
            };
            let moments: Vec<Moment> = all.iter().map(moment).collect();
            let curve = Curve::new(&moments, rate);
            fit.slack = fit.slack.max(curve.misfit);
            for (worst, error) in wrong.iter_mut().zip([curve.error, curve.between]) {
                let error = error.hypot(curve.misfit);
                *worst = if error > worst[0] { [error, worst[0]] } else { [worst[0], worst[1].max(error)] };
            }
            fit.of.extend(sms.into_iter().map(|sm| (sm, fit.groups.len())));
            fit.groups.push(Group { clock, curve });
        }
        let ps = |error: f64| Picos((2.0 * error * 1000.0).ceil() as u64);
        fit.single = ps(wrong[0][0]);
        [fit.error, fit.between] = wrong.map(|[most, next]| ps(most.hypot(next)));
        fit
    }

    /// Cycles in a microsecond.
    pub fn mhz(&self) -> f64 {
        1000.0 / self.rate
    }

    /// How long so many cycles take, at the mean rate.
    pub fn length(&self, cycles: Cycles) -> Picos {
        Picos((cycles.as_f64() * self.rate * 1000.0).round() as u64)
    }

    fn group(&self, sm: u32) -> Option<&Group> {
        self.groups.get(*self.of.get(&sm)?)
    }

    /// When a clock showed that, on an axis that begins at the origin. `None` if the clock has no anchor.
    pub fn time(&self, reading: ClockReading) -> Option<SignedPicos> {
        let group = self.group(reading.domain.0)?;
        let since = i128::from(reading.cycles.0) - i128::from(group.clock.0);
        Some(SignedPicos((group.curve.time(since as f64) * 1000.0).round() as i64))
    }

    /// A clock that the multiprocessor's anchors begin with.
    pub fn first(&self, sm: u32) -> Option<Cycles> {
        self.group(sm).map(|group| group.clock)
    }
}

#[cfg(test)]
mod tests {
    use prlx_trace::ClockDomain;
    use prlx_trace::device::tracks::SLOWEST;

    use super::*;

    /// [`Fit::time`] of one SM's clock.
    fn time(fit: &Fit, sm: u32, cycles: u64) -> Option<i64> {
        Some(fit.time(ClockReading { domain: ClockDomain(sm), cycles: Cycles(cycles) })?.0)
    }

    /// Numbers from a seed.
    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A GPU's clocks: what its multiprocessors' clocks show at a true nanosecond.
    struct Clocks {
        began: Vec<u64>,
        mhz: Vec<f64>,
        /// By how much a rate has fallen at the launch's end, as a share.
        falls: f64,
        span: f64,
    }

    impl Clocks {
        fn new(state: &mut u64, gpcs: usize, mhz: f64, span: f64, falls: f64) -> Clocks {
            let began = (0..gpcs).map(|_| random(state) % (1 << 50)).collect();
            let mhz =
                (0..gpcs).map(|_| mhz * (1.0 - 0.05 * (random(state) % 1000) as f64 / 1000.0)).collect();
            Clocks { began, mhz, falls, span }
        }
        fn at(&self, gpc: usize, nanos: f64) -> u64 {
            let fallen = nanos * (1.0 - self.falls * nanos / self.span / 2.0);
            self.began[gpc] + (fallen * self.mhz[gpc] / 1000.0) as u64
        }
    }

    const ORIGIN: u64 = 1_700_000_000_000_000_000;

    /// What the timer shows: ticks that come up to a quarter of one early or late.
    fn shown(state: &mut u64, nanos: f64, tick: u64) -> u64 {
        let early = (random(state) % 1000) as f64 / 1000.0 - 0.5;
        (ORIGIN + (nanos + early * 0.5 * tick as f64).max(0.0) as u64) / tick * tick
    }

    /// Stated error, and the errors of times between two multiprocessors, of a launch in which each warp
    /// leaves an anchor as it begins and one as it ends.
    fn errors(seed: u64, gpcs: usize, sms: usize, warps: u64, falls: f64) -> (f64, Vec<f64>) {
        let mut state = seed;
        let span = 50_000.0;
        let clocks = Clocks::new(&mut state, gpcs, 1755.0, span, falls);
        let mut all: BTreeMap<u32, Vec<Anchor>> = BTreeMap::new();
        for sm in 0..gpcs * sms {
            for i in 0..2 * warps {
                let nanos = (random(&mut state) % 1000) as f64 + if i % 2 == 0 { 0.0 } else { span - 1000.0 };
                let cycles = clocks.at(sm % gpcs, nanos);
                all.entry(sm as u32).or_default().push(Anchor {
                    cycles: Cycles(cycles),
                    nanos: Nanos(shown(&mut state, nanos, 32)),
                    took: None,
                });
            }
        }
        let origin = all.values().flatten().map(|a| a.nanos).min().unwrap();
        let fit = Fit::new(&all, origin, None);
        assert_eq!(fit.tick, Picos(32_000));
        assert_eq!(fit.groups.len(), gpcs, "each GPC's clock is found");
        let wrong = |sm: usize, nanos: f64| {
            let told = time(&fit, sm as u32, clocks.at(sm % gpcs, nanos)).unwrap() as f64 / 1000.0;
            told + (origin - Nanos(ORIGIN)).0 as f64 - nanos
        };
        let pairs = (0..100).map(|_| {
            let mut pick = || random(&mut state) as usize % (gpcs * sms);
            let (a, b) = (pick(), pick());
            let near = [500.0, span - 500.0][random(&mut state) as usize % 2];
            wrong(a, near) - wrong(b, near)
        });
        (fit.error.as_f64() / 1000.0, pairs.collect())
    }

    /// What is stated holds nearly always; and twice as much, always.
    #[test]
    fn times_are_as_right_as_stated() {
        let mut state = 7;
        let [mut beyond, mut all] = [0; 2];
        for seed in 0..300 {
            let mut pick = |most: u64| random(&mut state) % most;
            let (gpcs, sms, warps) = (pick(8) as usize + 1, pick(18) as usize + 1, pick(8) + 1);
            let falls = pick(100) as f64 / 1000.0;
            let (stated, wrong) = errors(seed, gpcs, sms, warps, falls);
            let worst = wrong.iter().fold(0.0f64, |worst, w| worst.max(w.abs()));
            assert!(worst <= 2.0 * stated, "{worst} ns, stated {stated} ns: {gpcs} {sms} {warps} {falls}");
            beyond += wrong.iter().filter(|w| w.abs() > stated).count();
            all += wrong.len();
        }
        assert!(beyond * 20 <= all, "{beyond} of {all}");
    }

    /// A launch that fills an H200 comes well below a tick: stated and true.
    #[test]
    fn many_anchors_are_exact() {
        let (stated, wrong) = errors(1, 8, 16, 32, 0.0);
        assert!(stated < 3.0 && wrong.iter().all(|w| w.abs() < 2.0), "{wrong:?} ns, stated {stated} ns");
    }

    /// A launch of 60 us on 8 GPCs of 16 multiprocessors, in which each GPC's rate falls by a tenth and rises
    /// again: three waves of 8 warps, which leave `each` anchors between begin and end. Timers are up to
    /// `skew` ns off, one of `late` anchors was read up to two microseconds late; all of that so many
    /// `times`. Gives what is stated, and errors of pairs of times anywhere.
    fn bent(seed: u64, each: u64, skew: f64, late: u64, times: u64) -> (Fit, Vec<f64>) {
        let mut state = seed;
        let mut even = |most: f64| (random(&mut state) % 1_000_000) as f64 / 1e6 * most;
        let (gpcs, sms, waves, span) = (8, 16, 3 * times, 60_000.0 * times as f64);
        let shape: Vec<[f64; 4]> = (0..gpcs)
            .map(|_| [even(1e12), 1.65 + even(0.1), 5_000.0 + even(20_000.0), 4_000.0 + even(20_000.0)])
            .collect();
        // Cycles in a nanosecond fall by a tenth about one moment, and rise about another.
        let clock = |gpc: usize, t: f64| {
            let [from, rate, falls, takes] = shape[gpc];
            let step = |at: f64| 1_500.0 * (((t - at) / 1_500.0).exp() + 1.0).ln();
            let changes =
                (0..times).map(|i| i as f64 * 60_000.0).map(|i| step(i + falls) - step(i + falls + takes));
            (from + rate * (t - 0.1 * changes.sum::<f64>())) as u64
        };
        // Each tick comes up to a fifth of one early or late.
        let ticked = |sm: usize, tick: f64| {
            let mut state = seed ^ (tick as u64) << 8 ^ sm as u64;
            (tick + 0.42 * (random(&mut state) % 1000) as f64 / 1000.0 - 0.21) * 32.0
        };
        let shown = |sm: usize, nanos: f64| {
            let tick = (nanos / 32.0).floor();
            let tick =
                tick + f64::from(nanos >= ticked(sm, tick + 1.0)) - f64::from(nanos < ticked(sm, tick));
            ORIGIN + tick as u64 * 32
        };
        let mut all: BTreeMap<u32, Vec<Anchor>> = BTreeMap::new();
        for sm in 0..gpcs * sms {
            let timer = 100.0 + even(2.0 * skew) - skew;
            let mut other = seed ^ timer.to_bits();
            let mut read = |nanos: f64, says: bool| {
                let late = late > 0 && random(&mut other).is_multiple_of(late);
                let late = if late { (random(&mut other) % 2_000) as f64 } else { 0.0 };
                // The answer takes a while, too.
                let took = (late * 1.7) as u32 + 30 + (random(&mut other) % 10) as u32;
                Anchor {
                    cycles: Cycles(clock(sm % gpcs, nanos)),
                    nanos: Nanos(shown(sm, nanos + timer + late)),
                    took: says.then_some(took.min(SLOWEST)),
                }
            };
            let of = all.entry(sm as u32).or_default();
            for track in 0..waves * 8 {
                let (begin, takes) =
                    ((track / 8) as f64 * span / waves as f64, span / waves as f64 - 1_000.0);
                let (begin, phase) = (begin + even(1_000.0), (track % 8 + 1) as f64 / 8.0);
                of.push(read(begin, false));
                of.extend(
                    (0..each).map(|i| read(begin + takes * (i as f64 + phase) / each as f64 - 100.0, true)),
                );
                of.push(read(begin + takes, false));
            }
        }
        let origin = all.values().flatten().map(|a| a.nanos).min().unwrap();
        let fit = Fit::new(&all, origin, None);
        let wrong = |sm: usize, nanos: f64| {
            time(&fit, sm as u32, clock(sm % gpcs, nanos)).unwrap() as f64 / 1000.0
                + (origin - Nanos(ORIGIN)).0 as f64
                - 100.0
                - nanos
        };
        let mut pick = |most: f64| even(most);
        let pairs = (0..2000).map(|_| {
            let [a, b] = [0; 2].map(|_: u8| pick((gpcs * sms) as f64) as usize);
            let at = pick(span - 1_000.0);
            wrong(a, at) - wrong(b, at)
        });
        let pairs = pairs.collect();
        (fit, pairs)
    }

    /// Anchors within tracks bring what is stated between their ends from hundreds of nanoseconds to a few,
    /// and the stated bounds are right: also where timers are apart, some anchors were read late, or a launch
    /// is ten times as long.
    #[test]
    fn anchors_within_tracks_tell_what_is_between() {
        for (seed, skew, late, times) in [(0, 0.0, 0, 1), (1, 4.0, 0, 1), (2, 4.0, 100, 1), (3, 0.0, 0, 10)] {
            let (bare, _) = bent(seed, 0, skew, late, times);
            let (fit, wrong) = bent(seed, 13, skew, late, times);
            assert!(
                (fit.groups.len(), fit.slack) == (8, 0.0),
                "{} groups, {} ns of slack",
                fit.groups.len(),
                fit.slack
            );
            let [bare, between] = [bare.between, fit.between].map(|ps: Picos| ps.as_f64() / 1000.0);
            assert!(
                fit.error < Picos(3_500) && between < 6.0 && bare > 100.0,
                "{} ps, {between} ns, {bare} ns without",
                fit.error
            );
            let beyond = wrong.iter().filter(|w| w.abs() > between).count();
            let worst = wrong.iter().fold(0.0f64, |worst, w| worst.max(w.abs()));
            assert!(
                beyond * 20 <= wrong.len() && worst <= 3.0 * between,
                "{beyond} of {}, {worst} ns, {between} ns stated",
                wrong.len()
            );
        }
    }

    /// Anchors that an H200 left: `sm cycles ticks`, and how long the timer took where that is known.
    fn seen(text: &str) -> Vec<(u32, Anchor)> {
        let numbers = |line: &str| line.split(' ').map(|n| n.parse().unwrap()).collect::<Vec<u64>>();
        let anchor = |n: Vec<u64>| {
            let took = n.get(3).map(|took| *took as u32);
            (n[0] as u32, Anchor { cycles: Cycles(n[1]), nanos: Nanos(n[2] * 32), took })
        };
        text.lines().filter(|l| !l.starts_with('#')).map(|l| anchor(numbers(l))).collect()
    }

    fn by_sm<'a>(all: impl Iterator<Item = &'a (u32, Anchor)>) -> BTreeMap<u32, Vec<Anchor>> {
        let mut out: BTreeMap<u32, Vec<Anchor>> = BTreeMap::new();
        all.for_each(|(sm, anchor)| out.entry(*sm).or_default().push(*anchor));
        out
    }

    /// On real anchors: eight GPCs are found, and a line through half of the anchors passes the other half as
    /// ticks allow.
    #[test]
    fn anchors_of_an_h200_fit() {
        for text in
            [include_str!("../../tests/data/h200-s2.txt"), include_str!("../../tests/data/h200-epilogue.txt")]
        {
            let all = seen(text);
            let [fitted, left] = [0, 1].map(|half| all.chunks(2).skip(half).step_by(2).flatten());
            let fit = Fit::new(&by_sm(fitted), Nanos(0), None);
            let sizes: Vec<usize> =
                (0..fit.groups.len()).map(|g| fit.of.values().filter(|of| **of == g).count()).collect();
            assert!(sizes.len() == 8 && sizes.iter().all(|n| (15..=16).contains(n)), "{sizes:?}");
            assert_eq!(fit.slack, 0.0);
            assert!(
                fit.error < Picos(8_000) && fit.between < Picos(800_000),
                "{} ps, {} ps",
                fit.error,
                fit.between
            );
            let told = left.filter_map(|(sm, a)| {
                Some((time(&fit, *sm, a.cycles.0)? as f64 / 1000.0, a.nanos.0 as f64 + 16.0))
            });
            let miss = told.map(|(told, shown)| told - shown);
            let mut miss: Vec<f64> = miss.map(f64::abs).collect();
            miss.sort_by(f64::total_cmp);
            // A tick alone gives 8 and 16; one anchor of the epilogue's launch was read a microsecond late.
            let [middle, most] = [50, 99].map(|percent| miss[miss.len() * percent / 100]);
            assert!(middle < 8.5 && most < 24.0, "{middle} ns, {most} ns");
        }
    }

    /// Where many warps ask the timer, those that it answers at once tell the line; all together would make
    /// it nanoseconds late.
    #[test]
    fn late_answers_are_left_out() {
        let all = seen(include_str!("../../tests/data/h200-auto.txt"));
        let told = Fit::new(&by_sm(all.iter()), Nanos(0), None);
        let untold: Vec<_> = all.iter().map(|(sm, a)| (*sm, Anchor { took: None, ..*a })).collect();
        let untold = Fit::new(&by_sm(untold.iter()), Nanos(0), None);
        assert_eq!(told.slack, 0.0);
        assert!(
            told.error < Picos(11_000) && told.error < untold.error,
            "{} ps, {} ps",
            told.error,
            untold.error
        );
        let quick: Vec<_> = all.iter().filter(|(_, a)| a.took.is_some_and(|took| took <= 30)).collect();
        let miss = |fit: &Fit| {
            let of = |(sm, a): &&(u32, Anchor)| {
                Some(time(fit, *sm, a.cycles.0)? as f64 / 1000.0 - a.nanos.0 as f64 - 16.0)
            };
            quick.iter().filter_map(of).collect::<Vec<f64>>()
        };
        let early = |miss: &[f64]| miss.iter().sum::<f64>() / miss.len() as f64;
        let [miss, other] = [miss(&told), miss(&untold)];
        assert!(early(&miss).abs() < 1.0 && early(&other) > 2.0, "{} ns, {} ns", early(&miss), early(&other));
        let mut miss: Vec<f64> = miss.into_iter().map(f64::abs).collect();
        miss.sort_by(f64::total_cmp);
        // A tick alone gives 8 and 16.
        let [middle, most] = [50, 99].map(|percent| miss[miss.len() * percent / 100]);
        assert!(middle < 8.5 && most < 24.0, "{middle} ns, {most} ns");
    }

    /// A clock that changes its rate is followed.
    #[test]
    fn a_rate_that_changes_is_followed() {
        let anchor = |cycles, nanos| Anchor { cycles, nanos, took: None };
        let bent: Vec<Anchor> = (0..100)
            .map(|i| anchor(if i < 50 { Cycles(i * 1000) } else { Cycles(i * 1100 - 5000) }, Nanos(512 * i)))
            .collect();
        let fit = Fit::new(&BTreeMap::from([(0, bent)]), Nanos(0), None);
        assert!(fit.slack == 0.0 && fit.error < Picos(512_000), "{} {}", fit.slack, fit.error);
        let wrong = |i: u64| time(&fit, 0, i * 1100 - 5000).unwrap() - 512_000 * i as i64 - 256_000;
        assert!((55..95).all(|i| wrong(i).unsigned_abs() <= fit.error.0), "{} {}", wrong(55), wrong(75));
    }

    /// Anchors that contradict each other count as error, and say so.
    #[test]
    fn what_no_line_explains_is_slack() {
        let anchor = |i: u64| Anchor {
            cycles: Cycles(i / 2 * 1000),
            nanos: Nanos(512 * i + i % 2 * 4096),
            took: None,
        };
        let fit = Fit::new(&BTreeMap::from([(0, (0..100).map(anchor).collect())]), Nanos(0), None);
        assert!(
            fit.slack > 1000.0 && fit.error.as_f64() >= fit.slack * 1000.0,
            "{} {}",
            fit.slack,
            fit.error
        );
    }

    /// Whatever anchors are, times are some, and do not fall.
    #[test]
    fn any_anchors_have_times() {
        let mut state = 3;
        for _ in 0..500 {
            let mut all: BTreeMap<u32, Vec<Anchor>> = BTreeMap::new();
            let ranges = [0, 0].map(|_: u32| 1 << (random(&mut state) % 63 + 1));
            for _ in 0..random(&mut state) % 200 + 1 {
                let [cycles, nanos] = ranges.map(|most: u64| u64::MAX - random(&mut state) % most);
                all.entry((random(&mut state) % 3) as u32).or_default().push(Anchor {
                    cycles: Cycles(cycles),
                    nanos: Nanos(nanos),
                    took: None,
                });
            }
            let fit = Fit::new(&all, all.values().flatten().map(|a| a.nanos).min().unwrap(), None);
            for (sm, anchors) in &all {
                let mut clocks: Vec<u64> = anchors.iter().map(|a| a.cycles.0).chain([0, u64::MAX]).collect();
                clocks.sort_unstable();
                let times: Vec<i64> = clocks.iter().map(|c| time(&fit, *sm, *c).unwrap()).collect();
                assert!(times.is_sorted(), "{times:?}");
            }
        }
    }

    /// One anchor has no rate.
    #[test]
    fn one_moment_has_no_rate() {
        let fit = Fit::new(
            &BTreeMap::from([(3, vec![Anchor { cycles: Cycles(7), nanos: Nanos(100), took: None }])]),
            Nanos(100),
            None,
        );
        assert!(!fit.rated);
        assert_eq!((time(&fit, 3, 7), time(&fit, 4, 7), fit.tick), (Some(16_000), None, Picos(32_000)));
    }
}
