//! One time axis for all multiprocessors: each has a clock of its own, and all share a timer that ticks rarely.
//!
//! An anchor is one moment by both: when the timer showed `g`, the time was at least `g` and less than `g + tick`. All clocks are taken to
//! run at one rate; every anchor then is two half planes in (rate, offset), and what lies in all of them can be true. The middle of
//! that is taken; its farthest corner is the error that is stated. Least squares would use no more of an anchor than its middle.
//!
//! Holds: if clocks run evenly and the timer ticks as its values say, no time is farther from the true one than [`Fit::error`].
//! Where nothing can be true (the rate changed, the timer is skewed), the least slack is found under which something can, and
//! counts as error.
//!
//! Misses: a rate that changes within a launch is one rate with slack.

use std::collections::BTreeMap;

use prlx_trace::mark::Anchor;

/// Nanoseconds between ticks where too few moments tell: those of NVIDIA's GPUs since Hopper.
const TICK: u64 = 32;
/// The longest that any timer has.
const LONGEST: u64 = 1024;
/// Rates that a clock can have: nanoseconds in a cycle.
const RATES: [f64; 2] = [0.01, 1000.0];

/// How clocks become times.
#[derive(Default)]
pub(super) struct Fit {
    /// Nanoseconds in a cycle.
    rate: f64,
    /// By multiprocessor: a clock, and the nanoseconds since the origin at that.
    at: BTreeMap<u32, (u64, f64)>,
    /// Picoseconds between ticks of the timer.
    pub tick: u64,
    /// Picoseconds by which two times of two multiprocessors may be wrong against each other.
    pub error: u64,
    /// Nanoseconds that anchors had to be bent by.
    pub slack: f64,
    /// Whether the rate is known.
    pub rated: bool,
}

/// Nanoseconds between ticks of a timer that showed these, since any of them.
pub(super) fn tick(nanos: impl Iterator<Item = u64>) -> u64 {
    Some(nanos.fold(0, gcd)).filter(|tick| (1..=LONGEST).contains(tick)).unwrap_or(TICK)
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A point: cycles and nanoseconds since an anchor.
type Point = (f64, f64);

/// The anchors of a multiprocessor: what lies above, and what below its line.
struct Sm {
    clock: u64,
    /// Points on or below the line: the upper hull.
    floor: Vec<Point>,
    /// Points above it: the lower hull of the same, a tick later.
    roof: Vec<Point>,
    ends: [f64; 2],
}

impl Sm {
    fn new(anchors: &[Anchor], origin: u64, tick: f64) -> Option<Sm> {
        let clock = anchors.iter().map(|a| a.cycles).min()?;
        let point = |a: &Anchor| ((a.cycles - clock) as f64, (a.nanos - origin) as f64);
        let mut points: Vec<Point> = anchors.iter().map(point).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let ends = [points[0].0, points[points.len() - 1].0];
        let above: Vec<Point> = points.iter().map(|p| (p.0, p.1 + tick)).collect();
        Some(Sm { clock, floor: hull(&points, 1.0), roof: hull(&above, -1.0), ends })
    }

    /// Offsets that can be true at a rate.
    fn offsets(&self, rate: f64, slack: f64) -> [f64; 2] {
        let low = self.floor.iter().map(|p| p.1 - slack - rate * p.0).fold(f64::NEG_INFINITY, f64::max);
        let high = self.roof.iter().map(|p| p.1 + slack - rate * p.0).fold(f64::INFINITY, f64::min);
        [low, high]
    }
}

/// The upper hull of ascending points (`side` 1), or the lower one (-1).
fn hull(points: &[Point], side: f64) -> Vec<Point> {
    let mut out: Vec<Point> = Vec::new();
    for &p in points {
        while let [.., a, b] = out[..]
            && side * ((b.0 - a.0) * (p.1 - a.1) - (b.1 - a.1) * (p.0 - a.0)) >= 0.0
        {
            out.pop();
        }
        // Of one clock the farthest value counts; both stay in the hull's list, which does no harm.
        out.push(p);
    }
    out
}

/// Rates at which something can be true: at least, at most, over all multiprocessors.
fn rates(all: &[Sm], slack: f64) -> [f64; 2] {
    let [mut low, mut high] = RATES;
    for sm in all {
        for floor in &sm.floor {
            for roof in &sm.roof {
                let (run, rise) = (floor.0 - roof.0, floor.1 - roof.1 - 2.0 * slack);
                if run > 0.0 {
                    low = low.max(rise / run);
                } else if run < 0.0 {
                    high = high.min(rise / run);
                } else if rise > 0.0 {
                    // Of one clock, two times that are too far apart.
                    return [1.0, 0.0];
                }
            }
        }
    }
    [low, high]
}

impl Fit {
    /// Fits the anchors of each multiprocessor; times count from `origin`, which is no later than any of them.
    pub fn new(anchors: &BTreeMap<u32, Vec<Anchor>>, origin: u64) -> Fit {
        let tick = tick(anchors.values().flatten().map(|a| a.nanos - origin));
        let numbered: Vec<(u32, Sm)> =
            anchors.iter().filter_map(|(sm, a)| Some((*sm, Sm::new(a, origin, tick as f64)?))).collect();
        let (numbers, all): (Vec<u32>, Vec<Sm>) = numbered.into_iter().unzip();
        let fits = |slack: f64| {
            let [low, high] = rates(&all, slack);
            low <= high
        };
        let mut slack = 0.0;
        if !fits(slack) {
            let mut enough = 1.0;
            while !fits(enough) && enough < 1e18 {
                enough *= 2.0;
            }
            for _ in 0..40 {
                let middle = (slack + enough) / 2.0;
                if fits(middle) { enough = middle } else { slack = middle }
            }
            slack = enough;
        }
        let range = rates(&all, slack);
        let rated = all.iter().any(|sm| sm.ends[1] > sm.ends[0]);
        let rate = if rated { (range[0] + range[1]) / 2.0 } else { 1.0 };
        let range = if rated { range } else { [rate; 2] };
        let mut fit = Fit { rate, tick: tick * 1000, slack, rated, ..Fit::default() };
        let mut worst = [0.0f64; 2];
        for (number, sm) in numbers.into_iter().zip(&all) {
            let [low, high] = sm.offsets(rate, slack);
            let offset = (low + high) / 2.0;
            let wrong = error(sm, range, slack, [rate, offset]);
            if wrong > worst[0] {
                worst = [wrong, worst[0]];
            } else {
                worst[1] = worst[1].max(wrong);
            }
            fit.at.insert(number, (sm.clock, offset));
        }
        fit.error = ((worst[0] + worst[1] + 2.0 * slack) * 1000.0).ceil() as u64;
        fit
    }

    /// Cycles in a microsecond.
    pub fn mhz(&self) -> f64 {
        1000.0 / self.rate
    }

    /// Picoseconds of so many cycles.
    pub fn length(&self, cycles: u64) -> u64 {
        (cycles as f64 * self.rate * 1000.0).round() as u64
    }

    /// Picoseconds since the origin when a multiprocessor's clock showed that. `None`: it has no anchor.
    pub fn time(&self, sm: u32, cycles: u64) -> Option<i64> {
        let (clock, offset) = self.at.get(&sm)?;
        let since = i128::from(cycles) - i128::from(*clock);
        Some(((offset + since as f64 * self.rate) * 1000.0).round() as i64)
    }

    /// A clock that the multiprocessor's anchors begin with.
    pub fn first(&self, sm: u32) -> Option<u64> {
        self.at.get(&sm).map(|(clock, _)| *clock)
    }
}

/// How far a line can be from what may be true, between a multiprocessor's first and last anchor. That is a concave function of the
/// rate, which bends at the hulls' edges.
fn error(sm: &Sm, range: [f64; 2], slack: f64, [rate, offset]: [f64; 2]) -> f64 {
    let slopes =
        [&sm.floor, &sm.roof].into_iter().flat_map(|h| h.windows(2)).map(|e| (e[1].1 - e[0].1) / (e[1].0 - e[0].0));
    let bends = slopes.filter(|s| (range[0]..=range[1]).contains(s));
    let mut worst = 0.0f64;
    for candidate in bends.chain(range) {
        let [low, high] = sm.offsets(candidate, slack);
        for x in sm.ends {
            let line = offset + rate * x;
            worst = worst.max(high + candidate * x - line).max(line - low - candidate * x);
        }
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    /// Numbers from a seed.
    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A moment: the multiprocessor, its clock, and the true nanosecond.
    type Moment = (u32, u64, f64);

    /// Anchors of multiprocessors that began to count at any time, at one rate; what their clocks show is whole.
    fn anchors(
        seed: u64,
        sms: u32,
        each: u64,
        mhz: f64,
        span: u64,
        tick: u64,
    ) -> (BTreeMap<u32, Vec<Anchor>>, Vec<Moment>) {
        let mut state = seed;
        let mut all = BTreeMap::new();
        let mut truth = Vec::new();
        let origin = 1_700_000_000_000_000_000 + random(&mut state) % 1_000_000;
        for sm in 0..sms {
            let began = random(&mut state) % (1 << 50);
            let one = |state: &mut u64| {
                let cycles = random(state) % (span as f64 * mhz / 1000.0) as u64;
                // The clock shows this from here on; when exactly, it is read at once.
                let nanos = cycles as f64 * 1000.0 / mhz + f64::from(sm) * 0.37;
                (began + cycles, nanos)
            };
            let list = (0..each).map(|_| {
                let (cycles, nanos) = one(&mut state);
                Anchor { cycles, nanos: (origin + nanos as u64) / tick * tick }
            });
            all.insert(sm, list.collect());
            let origin = (origin % tick) as f64;
            for _ in 0..3 {
                let (cycles, nanos) = one(&mut state);
                truth.push((sm, cycles, nanos + origin));
            }
        }
        (all, truth)
    }

    /// The largest error of a time between two multiprocessors, of times within their anchors; and what was stated.
    fn errors(seed: u64, sms: u32, each: u64, mhz: f64, span: u64) -> (f64, f64) {
        let (all, truth) = anchors(seed, sms, each, mhz, span, 32);
        let origin = all.values().flatten().map(|a| a.nanos).min().unwrap();
        let fit = Fit::new(&all, origin);
        assert_eq!(fit.tick, 32_000);
        let within = |sm: u32, c: u64| {
            let clocks = all[&sm].iter().map(|a| a.cycles);
            (clocks.clone().min().unwrap()..=clocks.max().unwrap()).contains(&c)
        };
        let wrong = truth
            .iter()
            .filter(|(sm, c, _)| within(*sm, *c))
            .map(|(sm, cycles, nanos)| fit.time(*sm, *cycles).unwrap() as f64 / 1000.0 - nanos);
        let (low, high) = wrong.fold((f64::MAX, f64::MIN), |(low, high), e| (low.min(e), high.max(e)));
        assert!((fit.mhz() - mhz).abs() < mhz * 64.0 / span as f64 + 1e-9, "{} is not {mhz}", fit.mhz());
        (high - low, fit.error as f64 / 1000.0)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
        /// What is stated holds.
        #[test]
        fn no_time_is_farther_off_than_stated(seed: u64, sms in 2..140u32, each in 2..40u64, mhz in 300.0..2500.0f64) {
            let (wrong, stated) = errors(seed, sms, each, mhz, 400_000);
            prop_assert!(wrong <= stated + 0.01, "{wrong} ns, stated {stated} ns");
        }
    }

    /// Many anchors bring an H200 well below a tick: bound and truth.
    #[test]
    fn many_anchors_are_exact() {
        let (wrong, stated) = errors(1, 132, 256, 1755.0, 1_000_000);
        assert!(wrong < 1.5 && stated < 3.0, "{wrong} ns, stated {stated} ns");
    }

    /// A clock that changes its rate is bent, and says so.
    #[test]
    fn a_rate_that_changes_is_slack() {
        let anchor = |cycles, nanos| Anchor { cycles, nanos };
        let bent: Vec<Anchor> = (0..100).map(|i| anchor(i * 1000 * if i < 50 { 1 } else { 2 }, 512 * i)).collect();
        let fit = Fit::new(&BTreeMap::from([(0, bent)]), 0);
        assert!(fit.slack > 1000.0 && fit.error as f64 >= fit.slack * 1000.0, "{}", fit.slack);
    }

    /// One anchor has no rate.
    #[test]
    fn one_moment_has_no_rate() {
        let fit = Fit::new(&BTreeMap::from([(3, vec![Anchor { cycles: 7, nanos: 100 }])]), 100);
        assert!(!fit.rated);
        assert_eq!((fit.time(3, 7), fit.time(4, 7), fit.tick), (Some(16_000), None, 32_000));
    }
}
