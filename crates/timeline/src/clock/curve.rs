//! A smooth curve from one clock to another whose rate may change.
//!
//! The curve is linear between equidistant knots, and its slope is a random walk from knot to knot: a
//! smoothing spline with a penalty on second differences (Eilers and Marx, Flexible smoothing with B-splines
//! and penalties, 1996). The variance of the walk is unknown. Of several candidates, the stiffest is taken
//! that is about as likely as any other (marginal likelihood; the noise is known).
//!
//! A moment far from the curve of the others was not read at once, because a warp can lose its turn between
//! two reads. Such moments are dropped. If moments scatter a little more than ticks explain, without
//! correlation between neighbours, the excess counts as noise. What the moments of one SM have in common is
//! its timer's skew: more moments do not reduce it.
//!
//! # Invariants
//! [`Curve::time`] never decreases as the clock grows. Computation is sequential, so equal moments give equal
//! bits.
//!
//! # Limitations
//! A jump of the rate appears as a change over one or two knots. Between distant moments the curve is a
//! guess; [`Curve::between`] bounds its error.

use std::collections::BTreeMap;

/// Knots of a line at most: enough for a launch in which the rate changes a few times. More are tried one
/// after the other, as long as the moments are clearly likelier under them, which they are where rates change
/// often.
const KNOTS: [usize; 3] = [64, 256, 1024];
/// Moments for each knot, at least.
const EACH: usize = 4;
/// By how much less likely a stiffer line may be (twice the logarithm; a fast pace has to show).
const DOUBT: f64 = 4.0;
/// Moments at which the error is looked at, at most.
const LOOKED: usize = 64;
/// By how much more than ticks explain moments may lie about their line for that to be noise (of standard
/// deviations), and how many beside one another are asked whether they have something in common.
const WIDER: f64 = 2.0;
const BESIDE: usize = 16;
/// Standard deviations of a moment that is no moment, and the share of all that such may be.
const FAR: f64 = 4.0;
const FEW: f64 = 0.1;
/// Standard deviations in the middle one of what lies to either side, and how often what lies off is left out
/// at most.
const MIDDLE: f64 = 1.4826;
const ROUNDS: usize = 6;
/// Nanoseconds by which the stiffest line bends over its length, the factor between tries, and how many there
/// are.
const STIFFEST: f64 = 0.1;
const SOFTER: f64 = 2.0;
const TRIES: i32 = 24;

/// A moment: cycles and nanoseconds, since some beginning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub cycles: f64,
    pub nanos: f64,
    /// The standard deviation of that.
    pub noise: f64,
    /// Which timer showed it: of which multiprocessor.
    pub timer: u32,
    /// Whether it is known that the timer was read at once; else it may be later than its noise says.
    pub sure: bool,
}

/// What is known of the rate before any moment is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    /// Most likely length of a cycle in nanoseconds.
    pub middle: f64,
    /// Standard deviation of `middle`.
    pub width: f64,
}

/// A piecewise linear function from cycles to nanoseconds, with knots at equal distances.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Curve {
    /// Clock at the first knot, in cycles.
    first: f64,
    /// Distance between knots, in cycles.
    step: f64,
    /// Nanoseconds at each knot. There are at least two.
    at: Vec<f64>,
    /// Standard error of times at the moments themselves (root mean square).
    pub error: f64,
    /// Largest standard error anywhere between the first moment and the last.
    pub between: f64,
    /// Deviation of the moments from the curve beyond the timer's tick (root mean square), or 0.
    pub misfit: f64,
}

impl Curve {
    /// Fits the curve to moments, which must be in ascending order. There must be at least one.
    pub fn new(moments: &[Moment], rate: Rate) -> Curve {
        let mut kept = moments.to_vec();
        let mut curve = Curve::through(&kept, rate);
        // What lies off pulls the line; without it more may lie well. How far is far, where much is pulled,
        // says the one in the middle.
        for _ in 0..ROUNDS {
            let off = |m: &Moment| ((curve.time(m.cycles) - m.nanos) / m.noise).abs();
            let mut all: Vec<f64> = kept.iter().map(off).collect();
            let half = all.len() / 2;
            let (_, middle, _) = all.select_nth_unstable_by(half, f64::total_cmp);
            let far = FAR * (MIDDLE * *middle).max(1.0);
            let near: Vec<Moment> = moments.iter().filter(|m| off(m) <= far).copied().collect();
            if near.len() == kept.len() || (near.len() as f64) < moments.len() as f64 * (1.0 - FEW) {
                break;
            }
            kept = near;
            curve = Curve::through(&kept, rate);
        }
        let explained = 1.0 + 3.0 * (2.0 / kept.len() as f64).sqrt();
        let mut left = Left::of(&kept, &curve);
        let mut misfit = 0.0;
        if left.square > explained {
            // How late timers are read differs from kernel to kernel.
            for sure in [false, true] {
                let of = kept.iter().filter(|m| m.sure == sure);
                let off = of.map(|m| ((m.nanos - curve.time(m.cycles)) / m.noise).powi(2));
                let (sum, n) = off.fold((0.0, 0.0), |(sum, n), y| (sum + y, n + 1.0));
                if n >= (4 * BESIDE) as f64 {
                    let wide = f64::sqrt(sum / n).clamp(1.0, WIDER);
                    kept.iter_mut().filter(|m| m.sure == sure).for_each(|m| m.noise *= wide);
                }
            }
            curve = Curve::through(&kept, rate);
            left = Left::of(&kept, &curve);
            let more = left.square > explained;
            misfit = if more { left.noise * (left.square - 1.0).sqrt() } else { left.common() };
        }
        let skew = left.skew();
        Curve { misfit, error: curve.error.hypot(skew), between: curve.between.hypot(skew), ..curve }
    }

    /// The line of moments as they are.
    fn through(moments: &[Moment], rate: Rate) -> Curve {
        let [first, last] = [&moments[0], &moments[moments.len() - 1]].map(|m| m.cycles);
        // Of one clock there is no line: then the rate alone gives it.
        let length = (last - first).max(1.0);
        let base = moments[0].nanos;
        // What is sought is by how much the true times differ from those at the middle rate.
        let apart = |m: &Moment| {
            let off = m.nanos - base - rate.middle * (m.cycles - first);
            ((m.cycles - first) / length, off, 1.0 / m.noise.powi(2))
        };
        let apart: Vec<(f64, f64, f64)> = moments.iter().map(apart).collect();
        let mut best: Option<(Pull, Band)> = None;
        for knots in KNOTS.map(|most| (moments.len() / EACH).clamp(2, most)) {
            let pull = Pull::new(&apart, knots);
            let stiffness = (0..if knots > 2 { TRIES } else { 1 }).map(|i| STIFFEST * SOFTER.powi(i));
            let bands: Vec<Band> =
                stiffness.map(|bend| Band::new(&pull, rate.width * length, bend)).collect();
            let least = bands.iter().map(|b| b.unlikely).fold(f64::INFINITY, f64::min);
            let band = bands.into_iter().find(|b| b.unlikely.is_finite() && b.unlikely <= least + DOUBT);
            let Some(band) =
                band.filter(|b| best.as_ref().is_none_or(|(_, best)| b.unlikely < best.unlikely - DOUBT))
            else {
                break;
            };
            best = Some((pull, band));
        }
        let Some((pull, band)) = best else {
            // Numbers that no arithmetic of 64 bits holds together.
            let at = vec![base, base + rate.middle * length];
            let error = moments[0].noise.hypot(length);
            return Curve { first, step: length, at, error, between: error, misfit: 0.0 };
        };
        let knots = pull.to.len();
        let step = length / (knots - 1) as f64;
        let line = band.solved(&pull.to);
        let looked = apart.iter().step_by(apart.len().div_ceil(LOOKED));
        let error = mean(looked.map(|m| band.variance(m.0 * (knots - 1) as f64))).sqrt();
        let between = (0..knots).map(|k| band.variance(k as f64)).fold(0.0, f64::max).sqrt();
        let mut at: Vec<f64> =
            line.iter().enumerate().map(|(k, z)| base + rate.middle * step * k as f64 + z).collect();
        for k in 1..knots {
            at[k] = at[k].max(at[k - 1]);
        }
        Curve { first, step, at, error, between, misfit: 0.0 }
    }

    /// Nanoseconds when the clock showed that many cycles; outside of all moments, as before the first or
    /// after the last.
    pub fn time(&self, cycles: f64) -> f64 {
        on(&self.at, (cycles - self.first) / self.step)
    }
}

fn mean(of: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = of.len().max(1) as f64;
    of.sum::<f64>() / n
}

/// The value of a line through knots at 0, 1, 2 …
fn on(line: &[f64], x: f64) -> f64 {
    let k = (x.max(0.0) as usize).min(line.len() - 2);
    line[k] + (line[k + 1] - line[k]) * (x - k as f64)
}

/// What moments lie off their line.
struct Left {
    /// The mean of the squares, in squares of what each is off by chance.
    square: f64,
    /// A moment's standard deviation: the mean of weights.
    noise: f64,
    /// In the moments' order: after which knot, and by how many standard deviations; without what those of
    /// one timer have in common.
    own: Vec<(usize, f64)>,
    /// By timer: the sum of weights, and the mean in nanoseconds.
    timers: BTreeMap<u32, (f64, f64)>,
}

impl Left {
    fn of(moments: &[Moment], curve: &Curve) -> Left {
        let off: Vec<f64> = moments.iter().map(|m| m.nanos - curve.time(m.cycles)).collect();
        let square = mean(moments.iter().zip(&off).map(|(m, y)| (y / m.noise).powi(2)));
        let noise = mean(moments.iter().map(|m| 1.0 / (m.noise * m.noise))).sqrt().recip();
        let mut timers: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
        for (m, y) in moments.iter().zip(&off) {
            let (of, weight) = (timers.entry(m.timer).or_default(), 1.0 / (m.noise * m.noise));
            *of = (of.0 + weight, of.1 + weight * y);
        }
        timers.values_mut().for_each(|of| of.1 /= of.0);
        let knot = |m: &Moment| ((m.cycles - curve.first) / curve.step).max(0.0) as usize;
        let own =
            moments.iter().zip(&off).map(|(m, y)| (knot(m), (y - timers[&m.timer].1) / m.noise)).collect();
        Left { square, noise, own, timers }
    }

    /// The standard error of a line's place that timers' skews make; 0 where there are too few moments of
    /// each to tell them.
    fn skew(&self) -> f64 {
        let n = self.timers.len() as f64;
        if (self.own.len() as f64) < n * BESIDE as f64 {
            return 0.0;
        }
        let skew =
            mean(self.timers.values().map(|(weight, mean)| mean * mean - self.square / weight)).max(0.0);
        (skew / n).sqrt()
    }

    /// What moments between two knots have in common, as a root mean square in nanoseconds, where that is
    /// more than chance.
    fn common(&self) -> f64 {
        let square = mean(self.own.iter().map(|(_, y)| y * y));
        let blocks: Vec<_> = self.own.chunk_by(|a, b| a.0 == b.0).collect();
        let n = blocks.len() as f64;
        let sum: f64 =
            blocks.iter().map(|b| b.iter().map(|(_, y)| y).sum::<f64>().powi(2) / b.len() as f64).sum();
        let share = sum / (n * square);
        if share <= 1.0 + 3.0 * (2.0 / n).sqrt() {
            return 0.0;
        }
        self.noise * (square * (share - 1.0) * n / self.own.len() as f64).sqrt()
    }
}

/// What moments pull a line's knots to: the part of its normal equations that is the same at every stiffness.
struct Pull {
    /// By knot: how strongly, and how strongly together with the next one.
    of: Vec<[f64; 2]>,
    to: Vec<f64>,
    square: f64,
}

impl Pull {
    /// Of moments at shares of the line's length, with their weights.
    fn new(moments: &[(f64, f64, f64)], knots: usize) -> Pull {
        let mut pull = Pull { of: vec![[0.0; 2]; knots], to: vec![0.0; knots], square: 0.0 };
        for &(x, y, weight) in moments {
            let x = x * (knots - 1) as f64;
            let k = (x.max(0.0) as usize).min(knots - 2);
            let (near, far) = (1.0 - (x - k as f64), x - k as f64);
            pull.of[k][0] += weight * near * near;
            pull.of[k][1] += weight * near * far;
            pull.of[k + 1][0] += weight * far * far;
            pull.square += weight * y * y;
            pull.to[k] += weight * near * y;
            pull.to[k + 1] += weight * far * y;
        }
        pull
    }
}

/// The normal equations of a line: a symmetric matrix with two diagonals beside the main one.
#[derive(Default)]
struct Band {
    /// The factor of the matrix, by columns: its diagonal (D of L·D·Lᵀ), and L's two entries below.
    factor: Vec<[f64; 3]>,
    /// How unlikely the moments are: twice the negative logarithm of their density, but for what is the same
    /// at every stiffness.
    unlikely: f64,
}

impl Band {
    fn new(pull: &Pull, fan: f64, bend: f64) -> Band {
        let knots = pull.to.len();
        let mut of: Vec<[f64; 3]> = pull.of.iter().map(|[own, next]| [*own, *next, 0.0]).collect();
        // The slope of each piece is known within what makes the line's ends fan out so far.
        let n = (knots - 1) as f64;
        let rate = n * n / (fan * fan);
        for k in 0..knots - 1 {
            of[k][0] += rate;
            of[k][1] -= rate;
            of[k + 1][0] += rate;
        }
        // A rate that walks at random: variances of second differences grow as the cube of the step.
        let stiff = n * n * n / (bend * bend);
        for k in 0..knots.saturating_sub(2) {
            for (row, column, product) in
                [(0, 0, 1.0), (0, 1, -2.0), (0, 2, 1.0), (1, 0, 4.0), (1, 1, -2.0), (2, 0, 1.0)]
            {
                of[k + row][column] += stiff * product;
            }
        }
        // L·D·Lᵀ in place.
        for k in 0..knots {
            let [d, one, two] = of[k];
            let (l1, l2) = (one / d, two / d);
            of[k] = [d, l1, l2];
            if k + 1 < knots {
                of[k + 1][0] -= l1 * one;
                of[k + 1][1] -= l1 * two;
            }
            if k + 2 < knots {
                of[k + 2][0] -= l2 * two;
            }
        }
        // What was expected of the slopes alone: rate·I + stiff·DᵀD over first differences has three
        // diagonals.
        let mut expected = 0.0;
        let mut before = f64::INFINITY;
        for k in 0..knots - 1 {
            let beside = [k > 0, k + 2 < knots].into_iter().filter(|there| *there).count() as f64;
            before = rate + stiff * beside - if k > 0 { stiff * stiff / before } else { 0.0 };
            expected += before.ln();
        }
        let mut band = Band { factor: of, unlikely: 0.0 };
        let explained: f64 = band.solved(&pull.to).iter().zip(&pull.to).map(|(z, b)| z * b).sum();
        band.unlikely =
            pull.square - explained + band.factor.iter().map(|f| f[0].ln()).sum::<f64>() - expected;
        band
    }

    /// What the matrix makes this of.
    fn solved(&self, pull: &[f64]) -> Vec<f64> {
        let n = pull.len();
        let mut out = pull.to_vec();
        for k in 0..n {
            for (below, l) in [(1, self.factor[k][1]), (2, self.factor[k][2])] {
                if k + below < n {
                    out[k + below] -= l * out[k];
                }
            }
        }
        for k in (0..n).rev() {
            out[k] /= self.factor[k][0];
            for (below, l) in [(1, self.factor[k][1]), (2, self.factor[k][2])] {
                if k + below < n {
                    out[k] -= l * out[k + below];
                }
            }
        }
        out
    }

    /// The variance of the line at a place, in knots.
    fn variance(&self, x: f64) -> f64 {
        let knots = self.factor.len();
        let k = (x.max(0.0) as usize).min(knots - 2);
        let mut at = vec![0.0; knots];
        (at[k], at[k + 1]) = (1.0 - (x - k as f64), x - k as f64);
        let out = self.solved(&at);
        at[k] * out[k] + at[k + 1] * out[k + 1]
    }
}
