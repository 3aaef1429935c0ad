//! The 16-bit formats binary16 and bfloat16 as lane values, and their conversions.
//!
//! # Invariants
//! A lane holds the binary32 number of the same value. Storing it rounds once, to nearest even. A NaN is
//! stored as `0x7fff`.

use crate::planes::{LANES, Planes, V32};
use crate::round::Round;
use crate::value::LaneValue;

/// A 16-bit format.
pub trait Half: LaneValue {
    /// The bits of positive infinity.
    const INF: u16;
    /// The least normal value.
    const MIN_NORMAL: u16;
    /// Half a unit of a normal value's last place below it.
    const TINY: f32;
    /// The bits of 1.
    const ONE: u16;
    /// Whether its products can leave binary32's range.
    const WIDE: bool;
    /// The value of the bits as binary32; exact.
    fn widen(bits: u16) -> f32;
    /// To nearest even.
    fn near(x: f32) -> u16;
    /// From its value.
    fn new(x: f32) -> Self;
    /// The value as binary32.
    fn get(self) -> f32;

    /// In a mode.
    #[inline(always)]
    fn round(x: f32, mode: Round) -> u16 {
        let n = Self::near(x);
        let back = Self::widen(n);
        if mode == Round::Near || back == x || x.is_nan() {
            return n;
        }
        let towards_zero = n - u16::from(back.abs() > x.abs());
        match mode {
            Round::Zero => towards_zero,
            Round::Down if back > x => step(n, false),
            Round::Up if back < x => step(n, true),
            Round::Odd => towards_zero | 1,
            Round::Near | Round::Down | Round::Up => n,
        }
    }
}

/// The next pattern up or down.
#[inline(always)]
fn step(n: u16, up: bool) -> u16 {
    match (n & 0x8000 == 0, up) {
        (true, true) => n + 1,
        (false, true) if n == 0x8000 => 1,
        (false, true) => n - 1,
        (true, false) if n == 0 => 0x8001,
        (true, false) => n - 1,
        (false, false) => n + 1,
    }
}

/// A lane of binary16.
#[derive(Clone, Copy, Default)]
pub struct F16(pub f32);
/// A lane of bfloat16.
#[derive(Clone, Copy, Default)]
pub struct Bf16(pub f32);

impl Half for F16 {
    const INF: u16 = 0x7c00;
    const MIN_NORMAL: u16 = 0x0400;
    const TINY: f32 = (1.0 - 1.0 / 4096.0) / 16_384.0;
    const ONE: u16 = 0x3c00;
    const WIDE: bool = false;
    #[inline(always)]
    fn widen(h: u16) -> f32 {
        let magnitude = u32::from(h & 0x7fff) << 13;
        // The exponent's bias differs by 112; subnormals become normal by the multiplication.
        let finite = f32::from_bits(magnitude) * f32::from_bits((127 + 112) << 23);
        let special = f32::from_bits(magnitude | 0x7f80_0000);
        let v = if h & 0x7c00 == 0x7c00 { special } else { finite };
        f32::from_bits(v.to_bits() | u32::from(h & 0x8000) << 16)
    }
    #[inline(always)]
    fn near(x: f32) -> u16 {
        let sign = (x.to_bits() >> 16) as u16 & 0x8000;
        let m = x.to_bits() & 0x7fff_ffff;
        // Normal results: rebias, round at bit 13. 65520 and more carry into infinity.
        let normal = m.wrapping_add(0xc800_0fff).wrapping_add(m >> 13 & 1) >> 13;
        // Subnormal results: adding 0.5 puts the last bit, 2^-24, where binary32 rounds.
        let subnormal = (f32::from_bits(m) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
        let r = if m < 0x3880_0000 { subnormal } else { normal };
        let r = if m >= 0x4780_0000 { 0x7c00 } else { r };
        if m > 0x7f80_0000 { 0x7fff } else { r as u16 | sign }
    }
    #[inline(always)]
    fn new(x: f32) -> F16 {
        F16(x)
    }
    #[inline(always)]
    fn get(self) -> f32 {
        self.0
    }
}

impl Half for Bf16 {
    const INF: u16 = 0x7f80;
    const MIN_NORMAL: u16 = 0x0080;
    const TINY: f32 = (1.0 - 1.0 / 512.0) * f32::MIN_POSITIVE;
    const ONE: u16 = 0x3f80;
    const WIDE: bool = true;
    #[inline(always)]
    fn widen(h: u16) -> f32 {
        f32::from_bits(u32::from(h) << 16)
    }
    #[inline(always)]
    fn near(x: f32) -> u16 {
        let b = x.to_bits();
        let r = b.wrapping_add(0x7fff).wrapping_add(b >> 16 & 1) >> 16;
        if b & 0x7fff_ffff > 0x7f80_0000 { 0x7fff } else { r as u16 }
    }
    #[inline(always)]
    fn new(x: f32) -> Bf16 {
        Bf16(x)
    }
    #[inline(always)]
    fn get(self) -> f32 {
        self.0
    }
}

/// Their sum, rounded once: binary32 has more than twice the bits, so that rounding to it first does no harm.
#[inline(always)]
pub fn sum<H: Half>(a: u16, b: u16) -> u16 {
    H::near(H::widen(a) + H::widen(b))
}

/// The lesser of two values. -0 is less than +0. If one value is NaN, the result is the other value.
#[inline(always)]
pub fn least<H: Half>(a: u16, b: u16) -> u16 {
    let nan = |x: u16| x & 0x7fff > H::INF;
    // Patterns in the order of their values.
    let key = |x: u16| if x & 0x8000 != 0 { !x } else { x | 0x8000 };
    match (nan(a), nan(b)) {
        (true, true) => 0x7fff,
        (true, false) => b,
        (false, true) => a,
        _ if key(a) < key(b) => a,
        _ => b,
    }
}

/// The greater of two values, by the rules of [`least`].
#[inline(always)]
pub fn greatest<H: Half>(a: u16, b: u16) -> u16 {
    match least::<H>(a ^ 0x8000, b ^ 0x8000) {
        0x7fff if a & 0x7fff > H::INF && b & 0x7fff > H::INF => 0x7fff,
        r => r ^ 0x8000,
    }
}

macro_rules! half_vals { ($($t:ident)*) => { $(
    impl LaneValue for $t {
        #[inline(always)]
        fn load(p: &Planes, i: u16) -> [Self; LANES] {
            let v = p.get32(i);
            let mut out = [$t(0.0); LANES];
            for l in 0..LANES { out[l] = $t($t::widen(v.0[l] as u16)); }
            out
        }
        #[inline(always)]
        fn store(p: &mut Planes, i: u16, mask: u32, v: &[Self; LANES]) {
            let mut out = V32([0; LANES]);
            for l in 0..LANES { out.0[l] = u32::from($t::near(v[l].0)); }
            p.put32(i, mask, out);
        }
    }
)* } }
half_vals! { F16 Bf16 }
