//! Memory of sample states, in bytes. What nobody has written holds arbitrary values, often zero.

use rustc_hash::FxHashMap;

use crate::verify::machine::mix;

/// Memory whose copies begin with the same content.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    seed: u64,
    /// Quads of eight bytes that were written to, by address / 8.
    written: FxHashMap<u64, u64>,
}

impl Memory {
    pub(crate) fn new(seed: u64) -> Memory {
        Memory { seed, written: FxHashMap::default() }
    }

    fn quad(&self, at: u64) -> u64 {
        let untouched = || {
            // Zero, a small number, or an arbitrary one.
            let value = mix(self.seed ^ at);
            match value >> 60 {
                0..5 => 0,
                5..9 => value & 7,
                9..11 => value & 0xffff_ffff,
                _ => mix(value),
            }
        };
        self.written.get(&at).copied().unwrap_or_else(untouched)
    }

    /// Reads so many bytes, 1 to 8.
    pub fn read(&self, at: u64, size: u64) -> u64 {
        let (first, bits) = (at >> 3, 8 * (at & 7) as u32);
        let low = self.quad(first) >> bits;
        let inside = u64::from(bits) + 8 * size <= 64;
        let high = if inside { 0 } else { self.quad(first.wrapping_add(1)) << (64 - bits) };
        (low | high) & u64::MAX >> (64 - 8 * size)
    }

    /// Writes so many bytes, 1 to 8.
    pub fn write(&mut self, at: u64, size: u64, value: u64) {
        let (first, bits) = (at >> 3, 8 * (at & 7) as u32);
        let mask = u64::MAX >> (64 - 8 * size);
        let value = value & mask;
        let mut put = |at: u64, mask: u64, value: u64| {
            let quad = self.quad(at) & !mask | value;
            self.written.insert(at, quad);
        };
        put(first, mask << bits, value << bits);
        if u64::from(bits) + 8 * size > 64 {
            put(first.wrapping_add(1), mask >> (64 - bits), value >> (64 - bits));
        }
    }

    /// The lowest address at which two memories that began alike differ.
    pub(crate) fn differs(&self, other: &Memory) -> Option<u64> {
        let all = self.written.keys().chain(other.written.keys());
        let quad = all.filter(|at| self.quad(**at) != other.quad(**at)).min().copied()?;
        let bits = self.quad(quad) ^ other.quad(quad);
        Some((quad << 3) + u64::from(bits.trailing_zeros() / 8))
    }
}

/// An atomic operation: what memory holds behind it, of `bits` bits. Signed ones have `signed`.
pub fn combine(operation: &str, old: u64, value: u64, bits: u32, signed: bool) -> Option<u64> {
    let extend = |v: u64| (v << (64 - bits)).cast_signed() >> (64 - bits);
    let less = if signed { extend(old) < extend(value) } else { old < value };
    let new = match operation {
        "add" => old.wrapping_add(value),
        "and" => old & value,
        "or" => old | value,
        "xor" => old ^ value,
        "exch" => value,
        "min" if less => old,
        "max" if !less => old,
        "min" | "max" => value,
        _ => return None,
    };
    Some(new & u64::MAX >> (64 - bits))
}

/// Bits of a binary32 result. All NaN results have the same bits here, as neither side defines them.
pub(crate) fn single(value: f32) -> u64 {
    u64::from(if value.is_nan() { f32::NAN.to_bits() } else { value.to_bits() })
}

/// The same of a binary64 result.
pub(crate) fn double(value: f64) -> u64 {
    if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() }
}
