//! The line that moments by two clocks lie on, where the one clock's rate may change.
//!
//! The line is straight between knots that lie evenly, and its slope walks at random from knot to knot: a smoothing spline with a penalty
//! on second differences (Eilers and Marx, Flexible smoothing with B-splines and penalties, 1996). How fast the slope walks is not known
//! before: of some paces the slowest is taken under which the moments are about as likely as under any (marginal likelihood; the noise is known).
//!
//! A moment that lies far off the line of the others was not read at once (a warp can lose its turn between two reads); it is left out.
//!
//! Holds: [`Curve::time`] never falls as the clock grows; everything is computed in one order, so the same moments give the same bits.
//! Misses: a rate that jumps is drawn as one that changes over a knot or two; what happens between moments that are far apart is a guess,
//! and [`Curve::between`] says how far off it may be.

/// Knots of a line at most: enough for a launch in which the rate changes a few times, and cheap.
const KNOTS: usize = 64;
/// Moments for each knot, at least.
const EACH: usize = 4;
/// By how much less likely a stiffer line may be (twice the logarithm; a fast pace has to show).
const DOUBT: f64 = 4.0;
/// Moments at which the error is looked at, at most.
const LOOKED: usize = 64;
/// Standard deviations of a moment that is no moment, and the share of all that such may be.
const FAR: f64 = 4.0;
const FEW: f64 = 0.1;
/// Nanoseconds by which the stiffest line bends over its length, the factor between tries, and how many there are.
const STIFFEST: f64 = 0.1;
const SOFTER: f64 = 2.0;
const TRIES: i32 = 24;

/// A moment: cycles and nanoseconds, since some beginning.
pub(super) type Moment = (f64, f64);

/// What is known of the rate before any moment is looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    /// Nanoseconds in a cycle.
    pub middle: f64,
    /// How far from that it may be (one standard deviation).
    pub width: f64,
}

/// Nanoseconds by cycles.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Curve {
    /// The first knot's and the distance between knots, in cycles.
    first: f64,
    step: f64,
    /// Nanoseconds at each knot; two at least.
    at: Vec<f64>,
    /// The standard error of a time at a moment: a root mean square.
    pub error: f64,
    /// The worst of a time anywhere between the first and the last.
    pub between: f64,
    /// What the line misses the moments by beyond what the timer's steps explain: a root mean square, or 0.
    pub misfit: f64,
}

impl Curve {
    /// The line of some moments, one at least, ascending; `noise` is a moment's standard deviation in nanoseconds.
    pub fn new(moments: &[Moment], rate: Rate, noise: f64) -> Curve {
        let mut curve = Curve::through(moments, rate, noise);
        // What lies off pulls the line; without it more may lie well.
        for _ in 0..3 {
            let near: Vec<Moment> =
                moments.iter().filter(|m| (curve.time(m.0) - m.1).abs() <= FAR * noise).copied().collect();
            if near.len() == moments.len() || (near.len() as f64) < moments.len() as f64 * (1.0 - FEW) {
                break;
            }
            curve = Curve::through(&near, rate, noise);
        }
        curve
    }

    fn through(moments: &[Moment], rate: Rate, noise: f64) -> Curve {
        let [first, last] = [moments[0].0, moments[moments.len() - 1].0];
        // Of one clock there is no line: then the rate alone gives it.
        let length = (last - first).max(1.0);
        let knots = (moments.len() / EACH).clamp(2, KNOTS);
        let step = length / (knots - 1) as f64;
        let base = moments[0].1;
        // What is sought is by how much the true times differ from those at the middle rate.
        let apart: Vec<Moment> =
            moments.iter().map(|m| ((m.0 - first) / step, m.1 - base - rate.middle * (m.0 - first))).collect();
        let stiffness = (0..if knots > 2 { TRIES } else { 1 }).map(|i| STIFFEST * SOFTER.powi(i));
        let bands: Vec<Band> =
            stiffness.map(|bend| Band::new(&apart, knots, noise, rate.width * length, bend)).collect();
        let least = bands.iter().map(|b| b.unlikely).fold(f64::INFINITY, f64::min);
        let Some(band) = bands.into_iter().find(|b| b.unlikely.is_finite() && b.unlikely <= least + DOUBT) else {
            // Numbers that no arithmetic of 64 bits holds together.
            let at = vec![base, base + rate.middle * length];
            return Curve { first, step: length, at, error: noise, between: noise, misfit: length };
        };
        let line = band.solved(&band.pull);
        let share = mean(apart.iter().map(|&(x, y)| (y - on(&line, x)).powi(2))) / (noise * noise);
        let explained = 1.0 + 3.0 * (2.0 / moments.len() as f64).sqrt();
        let misfit = if share <= explained { 0.0 } else { noise * (share - 1.0).sqrt() };
        let looked = apart.iter().step_by(apart.len().div_ceil(LOOKED));
        let error = mean(looked.map(|m| band.variance(m.0))).sqrt();
        let between = (0..knots).map(|k| band.variance(k as f64)).fold(0.0, f64::max).sqrt();
        let mut at: Vec<f64> = line.iter().enumerate().map(|(k, z)| base + rate.middle * step * k as f64 + z).collect();
        for k in 1..knots {
            at[k] = at[k].max(at[k - 1]);
        }
        Curve { first, step, at, error, between, misfit }
    }

    /// Nanoseconds when the clock showed that many cycles; outside of all moments, as before the first or after the last.
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

/// The normal equations of a line: a symmetric matrix with two diagonals beside the main one, and what the moments pull it to.
#[derive(Default)]
struct Band {
    /// The factor of the matrix, by columns: its diagonal (D of L·D·Lᵀ), and L's two entries below.
    factor: Vec<[f64; 3]>,
    pull: Vec<f64>,
    /// How unlikely the moments are: twice the negative logarithm of their density, but for what is the same at every stiffness.
    unlikely: f64,
}

impl Band {
    fn new(moments: &[Moment], knots: usize, noise: f64, fan: f64, bend: f64) -> Band {
        let mut of = vec![[0.0; 3]; knots];
        let mut pull = vec![0.0; knots];
        let mut square = 0.0;
        let weight = 1.0 / (noise * noise);
        for &(x, y) in moments {
            let k = (x.max(0.0) as usize).min(knots - 2);
            let (near, far) = (1.0 - (x - k as f64), x - k as f64);
            of[k][0] += weight * near * near;
            of[k][1] += weight * near * far;
            of[k + 1][0] += weight * far * far;
            square += weight * y * y;
            pull[k] += weight * near * y;
            pull[k + 1] += weight * far * y;
        }
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
        // What was expected of the slopes alone: rate·I + stiff·DᵀD over first differences has three diagonals.
        let mut expected = 0.0;
        let mut before = f64::INFINITY;
        for k in 0..knots - 1 {
            let beside = [k > 0, k + 2 < knots].into_iter().filter(|there| *there).count() as f64;
            before = rate + stiff * beside - if k > 0 { stiff * stiff / before } else { 0.0 };
            expected += before.ln();
        }
        let mut band = Band { factor: of, pull, unlikely: 0.0 };
        let explained: f64 = band.solved(&band.pull).iter().zip(&band.pull).map(|(z, b)| z * b).sum();
        band.unlikely = square - explained + band.factor.iter().map(|f| f[0].ln()).sum::<f64>() - expected;
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
