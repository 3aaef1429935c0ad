//! The host's clock on the axis of a device's global timer.
//!
//! The offset between the two clocks drifts slowly: both are quartz, and the host's is disciplined. Each
//! launch bounds the offset: its kernel did not begin before the host called the driver, and had ended when
//! the host saw its end. The offsets and drifts that satisfy all bounds form a polygon. At each moment the
//! middle of the polygon is taken.
//!
//! # Invariants
//! No kernel begins before its launch or ends after its end was seen, apart from the timer's ticks.
//! [`ClockOffset::within`] is half of the remaining range: a hard bound if the drift is constant and at most
//! [`DRIFT`].
//!
//! # Limitations
//! If the host's clock is stepped, or stops while the machine sleeps, no offset satisfies all bounds. A note
//! reports that.

/// By how much the timer may run faster or slower than the host's clock: that is slewed by 500 millionths at
/// most, and quartz is within 100.
const DRIFT: f64 = 1e-3;

/// A bound: when by the host's clock, and how far the timer was ahead then, at most or at least. Nanoseconds,
/// since some beginning of each, so that 53 bits hold them.
pub(crate) type Bound = (f64, f64);

/// How far the device's timer is ahead of the host's clock, as a range that may drift.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ClockOffset {
    /// Corners of the polygon: ahead at time 0, and by how much more each nanosecond.
    corners: Vec<[f64; 2]>,
    /// Whether there are bounds of both kinds; without those of one kind the others' tightest is taken.
    pub both: bool,
}

impl ClockOffset {
    /// From bounds, of which there are some. `None`: no line satisfies them.
    pub fn new(least: &[Bound], most: &[Bound]) -> Option<ClockOffset> {
        let tightest =
            |of: &[Bound], sign: f64| of.iter().map(|b| sign * b.1).reduce(f64::min).map(|b| sign * b);
        let (low, high) = match (tightest(least, -1.0), tightest(most, 1.0)) {
            (Some(low), Some(high)) => (low, high),
            (Some(one), None) | (None, Some(one)) => {
                return Some(ClockOffset { corners: vec![[one, 0.0]], both: false });
            }
            (None, None) => return None,
        };
        let long = least.iter().chain(most).map(|b| b.0.abs()).fold(0.0, f64::max);
        // The tightest bounds of both kinds may cross, by what drift explains; no line that satisfies all is
        // further off than that.
        let wide = (high - low).abs() + 4.0 * DRIFT * long + 1.0;
        let [low, high] = [low.min(high) - wide, low.max(high) + wide];
        let mut corners = vec![[low, -DRIFT], [high, -DRIFT], [high, DRIFT], [low, DRIFT]];
        for (sign, bounds) in [(1.0, most), (-1.0, least)] {
            for (at, bound) in bounds {
                clip(&mut corners, |[ahead, drift]| sign * (bound - ahead - drift * at));
                if corners.is_empty() {
                    return None;
                }
            }
        }
        Some(ClockOffset { corners, both: true })
    }

    /// The least and the most at a moment of the host's.
    fn range(&self, at: f64) -> [f64; 2] {
        let all = self.corners.iter().map(|[ahead, drift]| ahead + drift * at);
        all.fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], v| [a.min(v), b.max(v)])
    }

    /// Nanoseconds of the timer when the host's clock showed that many.
    pub fn timer(&self, at: f64) -> f64 {
        let [least, most] = self.range(at);
        at + (least + most) / 2.0
    }

    /// Nanoseconds by which that may be wrong.
    pub fn within(&self, at: f64) -> f64 {
        let [least, most] = self.range(at);
        (most - least) / 2.0
    }
}

/// Leaves the part of a convex polygon where `inside` is no less than 0.
fn clip(corners: &mut Vec<[f64; 2]>, inside: impl Fn([f64; 2]) -> f64) {
    let by: Vec<f64> = corners.iter().map(|c| inside(*c)).collect();
    if by.iter().all(|v| *v >= 0.0) {
        return;
    }
    let mut left = Vec::with_capacity(corners.len() + 1);
    for (i, (&a, &of_a)) in corners.iter().zip(&by).enumerate() {
        let next = (i + 1) % corners.len();
        let (b, of_b) = (corners[next], by[next]);
        if of_a >= 0.0 {
            left.push(a);
        }
        if (of_a >= 0.0) != (of_b >= 0.0) {
            let share = of_a / (of_a - of_b);
            left.push([0, 1].map(|k| a[k] + share * (b[k] - a[k])));
        }
    }
    *corners = left;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Launches of a run of `long` nanoseconds: when each was called and seen to end, with delays up to
    /// `most`, where the timer is ahead by that.
    fn launches(
        n: u64,
        long: f64,
        most: f64,
        ahead: [f64; 2],
        mut random: impl FnMut() -> f64,
    ) -> [Vec<Bound>; 2] {
        let timer = |at: f64| at + ahead[0] + ahead[1] * at;
        let mut out = [Vec::new(), Vec::new()];
        for i in 0..n {
            let called = long * i as f64 / n as f64;
            let begin = called + most * random();
            let end = begin + 1000.0 * random();
            let seen = end + most * random();
            out[0].push((seen, timer(end) - seen));
            out[1].push((called, timer(begin) - called));
        }
        out
    }

    proptest! {
        /// What was planted is within what is stated, and that is no more than the delays.
        #[test]
        fn what_was_planted_is_found(
            first in -1e12..1e12f64,
            drift in -0.0009..0.0009f64,
            n in 1..200u64,
            seed: u64,
        ) {
            let mut state = seed | 1;
            let random = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 11) as f64 / (1u64 << 53) as f64
            };
            let (long, most) = (1e8, 20_000.0);
            let [least, high] = launches(n, long, most, [first, drift], random);
            let found = ClockOffset::new(&least, &high).unwrap();
            prop_assert!(found.both);
            let exact = 1.0;
            for at in [0.0, long / 3.0, long] {
                let wrong = found.timer(at) - (at + first + drift * at);
                prop_assert!(wrong.abs() <= found.within(at) + exact, "{} {}", wrong, found.within(at));
            }
            let last = high[high.len() - 1].0;
            prop_assert!(found.within(last) <= most + 1000.0 * DRIFT + exact, "{}", found.within(last));
            // Time does not fall.
            let times: Vec<f64> = (0..100).map(|i| found.timer(long * f64::from(i) / 50.0)).collect();
            prop_assert!(times.is_sorted());
        }

        /// Whatever the bounds are: what satisfies them satisfies all, or there is nothing.
        #[test]
        fn any_bounds_have_an_answer(
            least in proptest::collection::vec((0.0..1e19f64, -1e19..1e19f64), 0..20),
            most in proptest::collection::vec((0.0..1e19f64, -1e19..1e19f64), 0..20),
        ) {
            if let Some(found) = ClockOffset::new(&least, &most) {
                for (at, _) in least.iter().chain(&most) {
                    prop_assert!(found.timer(*at).is_finite() && found.within(*at) >= 0.0);
                }
                for (sign, bounds) in [(1.0, &most), (-1.0, &least)] {
                    let kept = |b: &Bound| sign * (b.1 - (found.timer(b.0) - b.0)) >= -1e5;
                    prop_assert!(bounds.iter().all(kept), "{:?}", found);
                }
            }
        }
    }

    /// Many launches leave less than each: the quickest of both kinds count.
    #[test]
    fn the_quickest_count() {
        let found = ClockOffset::new(&[(10.0, 90.0), (20.0, 70.0)], &[(5.0, 200.0), (15.0, 110.0)]).unwrap();
        let within = found.within(12.0);
        assert!((9.9..=10.1).contains(&within) && (found.timer(12.0) - 112.0).abs() < 0.2, "{within}");
    }

    /// With a drift in between, what was bounded once is known less well later.
    #[test]
    fn drift_widens_what_is_long_ago() {
        let found = ClockOffset::new(&[(0.0, 99.0)], &[(0.0, 101.0)]).unwrap();
        assert!((found.within(0.0) - 1.0).abs() < 1e-6);
        assert!((found.within(1e6) - 1001.0).abs() < 1e-3, "{}", found.within(1e6));
    }

    #[test]
    fn bounds_of_one_kind_are_one_sided() {
        let found = ClockOffset::new(&[], &[(0.0, 7.0), (1.0, 5.0)]).unwrap();
        assert!(!found.both && found.timer(10.0) == 15.0);
        let found = ClockOffset::new(&[(0.0, 7.0), (1.0, 5.0)], &[]).unwrap();
        assert!(!found.both && found.timer(10.0) == 17.0);
        assert_eq!(ClockOffset::new(&[], &[]), None);
    }

    /// A clock that was put forward contradicts itself.
    #[test]
    fn what_contradicts_itself_is_nothing() {
        assert_eq!(ClockOffset::new(&[(0.0, 100.0)], &[(1000.0, 50.0)]), None);
        assert!(ClockOffset::new(&[(0.0, 100.0)], &[(1000.0, 99.5)]).is_some(), "a drift explains it");
    }
}
