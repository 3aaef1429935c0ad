//! Content of a buffer before the launch, stored as the launch file describes it. The bytes are generated on
//! demand.
//!
//! Random numbers come from [`SplitMix`], with one stream for each argument.

use prlx_trace::kernel::Scalar;

use crate::element;
use crate::element::Number;
use crate::random::SplitMix;

/// How the elements of a buffer are generated.
#[derive(Clone, PartialEq, Debug)]
pub enum Content {
    /// Elements from the launch file or a NumPy file, little-endian.
    Bytes(Vec<u8>),
    /// The same value everywhere, given by its bits.
    Fill(u64),
    /// Increasing numbers, from this one on.
    Iota(Number),
    /// Uniform random numbers in `[low, high)`. Integers are `low + (draw * (high - low) >> 64)`. Floats are
    /// `low + (draw >> 11) * 2^-53 * (high - low)` in binary64, rounded to the type.
    Random {
        /// Smallest possible number.
        low: Number,
        /// One past the largest possible number.
        high: Number,
    },
    /// Uninitialised memory: arbitrary bytes, taken from the random stream.
    Uninit,
}

impl Content {
    /// Generates `len` elements of type `ty`; `random` is the argument's stream.
    pub fn bytes(&self, ty: Scalar, len: u64, mut random: SplitMix) -> Vec<u8> {
        let n = len as usize * element::size(ty);
        if *self == Content::Fill(0) {
            // The system provides zeros without writing them.
            return vec![0; n];
        }
        let mut out = Vec::with_capacity(n);
        match self {
            Content::Bytes(bytes) => out.extend_from_slice(bytes),
            Content::Fill(bits) => (0..len).for_each(|_| element::put(ty, &mut out, *bits)),
            Content::Iota(start) => {
                for i in 0..len {
                    let bits = if element::is_float(ty) {
                        element::float_bits(ty, as_float(*start) + i as f64)
                    } else {
                        // Counting wraps around to the type's smallest value, as it does in a kernel.
                        as_int(*start).wrapping_add(i128::from(i)) as u64 & element::mask(ty.bits())
                    };
                    element::put(ty, &mut out, bits);
                }
            }
            Content::Random { low, high } => {
                for _ in 0..len {
                    let bits = if element::is_float(ty) {
                        let (low, high) = (as_float(*low), as_float(*high));
                        let unit = (random.draw() >> 11) as f64 * (-53f64).exp2();
                        element::float_bits(ty, low + unit * (high - low))
                    } else {
                        let (low, high) = (as_int(*low), as_int(*high));
                        let step = ((u128::from(random.draw()) * (high - low) as u128) >> 64) as i128;
                        (low + step) as u64 & element::mask(ty.bits())
                    };
                    element::put(ty, &mut out, bits);
                }
            }
            Content::Uninit => {
                while out.len() < n {
                    let word = random.draw().to_le_bytes();
                    out.extend_from_slice(&word[..(n - out.len()).min(8)]);
                }
            }
        }
        out
    }
}

/// The pieces of so many bytes: where each begins, and its length.
pub(crate) fn pieces(bytes: u64) -> impl Iterator<Item = (u64, usize)> {
    const PIECE: u64 = 1 << 20;
    (0..bytes).step_by(PIECE as usize).map(move |from| (from, (bytes - from).min(PIECE) as usize))
}

fn as_float(n: Number) -> f64 {
    match n {
        Number::Int(i) => i as f64,
        Number::Float(f) => f,
        Number::Bits(b) => b as f64,
    }
}

/// The caller has checked that the number is an integer within 64 bits.
fn as_int(n: Number) -> i128 {
    match n {
        Number::Int(i) => i,
        Number::Float(f) => f as i128,
        Number::Bits(b) => b.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_in_range_and_differ_by_argument() {
        let random = Content::Random { low: Number::Int(-3), high: Number::Int(4) };
        let a = random.bytes(Scalar::S8, 1000, SplitMix::of_argument(7, 0));
        let b = random.bytes(Scalar::S8, 1000, SplitMix::of_argument(7, 1));
        assert_ne!(a, b);
        assert!(a.iter().all(|&x| (-3..4).contains(&(x as i8))));
        assert_eq!((-3..4).filter(|v| a.contains(&(*v as u8))).count(), 7);
        let unit = Content::Random { low: Number::Int(0), high: Number::Float(1.0) };
        let f = unit.bytes(Scalar::F64, 100, SplitMix::of_argument(7, 2));
        assert!((0..100).all(|i| {
            (0.0..1.0).contains(&element::as_f64(Scalar::F64, element::get(Scalar::F64, &f, i).unwrap()))
        }));
        assert_eq!(Content::Uninit.bytes(Scalar::U8, 13, SplitMix::of_argument(0, 0)).len(), 13);
    }

    #[test]
    fn counting() {
        let iota = Content::Iota(Number::Int(254));
        assert_eq!(iota.bytes(Scalar::U8, 4, SplitMix::of_argument(0, 0)), [254, 255, 0, 1]);
        let half = Content::Iota(Number::Int(1)).bytes(Scalar::F16, 2, SplitMix::of_argument(0, 0));
        assert_eq!(half, [0x00, 0x3c, 0x00, 0x40]);
        assert_eq!(Content::Fill(0x0201).bytes(Scalar::U16, 2, SplitMix::of_argument(0, 0)), [1, 2, 1, 2]);
    }
}
