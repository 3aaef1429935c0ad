//! One bit per byte of memory: whether the byte was never written.

use rustc_hash::FxHashMap;

use crate::mem::Region;

/// The bytes of a region that nothing wrote.
#[derive(Clone, Debug)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(len: u64, undefined: bool) -> Bits {
        Bits(vec![if undefined { u64::MAX } else { 0 }; len.div_ceil(64) as usize])
    }
    /// The bits of up to 64 bytes from `at` on.
    fn get(&self, at: u64, n: u32) -> u64 {
        let (word, bit) = ((at / 64) as usize, at % 64);
        let low = self.0.get(word).map_or(0, |w| w >> bit);
        let high = if bit == 0 { 0 } else { self.0.get(word + 1).map_or(0, |w| w << (64 - bit)) };
        (low | high) & mask(n)
    }
    fn set(&mut self, at: u64, n: u32, v: u64) {
        let (word, bit) = ((at / 64) as usize, at % 64);
        let keep = mask(n);
        if let Some(w) = self.0.get_mut(word) {
            *w = *w & !(keep << bit) | (v & keep) << bit;
        }
        if bit != 0
            && let Some(w) = self.0.get_mut(word + 1)
        {
            *w = *w & !(keep >> (64 - bit)) | (v & keep) >> (64 - bit);
        }
    }
}

fn mask(n: u32) -> u64 {
    if n >= 64 { u64::MAX } else { (1 << n) - 1 }
}

/// The undefined bytes of all regions, by [`Region::id`]. A region that is not listed is defined.
#[derive(Debug, Default)]
pub struct Undefined {
    regions: FxHashMap<usize, Bits>,
}

impl Undefined {
    /// Adds a region whose bytes are all undefined.
    pub fn begin(&mut self, region: &Region) {
        self.regions.insert(region.id(), Bits::new(region.len(), true));
    }
    /// Removes a region.
    pub fn end(&mut self, region: &Region) {
        self.regions.remove(&region.id());
    }
    /// Whether the region is listed.
    pub fn tracks(&self, region: &Region) -> bool {
        self.regions.contains_key(&region.id())
    }
    /// The bits of up to 64 bytes from `at` on; 1 means undefined.
    pub fn get(&self, region: &Region, at: u64, n: u32) -> u64 {
        self.regions.get(&region.id()).map_or(0, |b| b.get(at, n))
    }
    /// Sets the bits of `n` bytes at `at`.
    pub fn set(&mut self, region: &Region, at: u64, n: u32, v: u64) {
        if let Some(b) = self.regions.get_mut(&region.id()) {
            b.set(at, n, v);
        }
    }
    /// Marks a range as undefined.
    pub fn mark_undefined(&mut self, region: &Region, at: u64, bytes: u64) {
        let bits = self.regions.entry(region.id()).or_insert_with(|| Bits::new(region.len(), false));
        each_piece(bytes, |i, n| bits.set(at + i, n, u64::MAX));
    }
    /// Copies the bits of a range.
    pub fn copy(&mut self, from: (&Region, u64), to: (&Region, u64), bytes: u64) {
        if self.tracks(to.0) || self.tracks(from.0) {
            each_piece(bytes, |i, n| {
                let v = self.get(from.0, from.1 + i, n);
                self.set(to.0, to.1 + i, n, v);
            });
        }
    }
    /// Marks a range as defined.
    pub fn define(&mut self, region: &Region, at: u64, bytes: u64) {
        if self.tracks(region) {
            each_piece(bytes, |i, n| self.set(region, at + i, n, 0));
        }
    }
}

/// A range in pieces of up to 64 bytes.
fn each_piece(bytes: u64, mut f: impl FnMut(u64, u32)) {
    let mut done = 0;
    while done < bytes {
        let n = (bytes - done).min(64);
        f(done, n as u32);
        done += n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_across_words() {
        let (a, b) = (Region::new(200), Region::new(100));
        let mut u = Undefined::default();
        u.begin(&a);
        assert_eq!((u.get(&a, 60, 8), u.get(&b, 0, 64)), (0xff, 0));
        u.define(&a, 62, 70);
        assert_eq!((u.get(&a, 60, 8), u.get(&a, 128, 8)), (0b11, 0b1111_0000));
        u.mark_undefined(&b, 10, 5);
        assert_eq!(u.get(&b, 8, 8), 0b0111_1100);
        u.copy((&b, 8), (&a, 100), 8);
        assert_eq!(u.get(&a, 100, 8), 0b0111_1100);
        u.end(&a);
        assert_eq!(u.get(&a, 0, 64), 0);
    }
}
