//! One bit per byte of memory: whether the byte was never written. Bytes of which an atomic defined some
//! bits, and the origin of copied undefined values, are listed apart.

use rustc_hash::FxHashMap;

use crate::code::AddrSpace;
use crate::mem::Region;

use super::findings::WarpStep;

/// The origin of an undefined value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Memory that nothing wrote.
    Memory(MemoryOrigin),
    /// A register that nothing wrote, by number.
    Register(u32),
}

/// A read of memory that nothing wrote.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryOrigin {
    /// The lanes and the step that read it.
    pub by: WarpStep,
    /// The state space.
    pub space: AddrSpace,
    /// The address of the first such lane.
    pub at: u64,
    /// The bytes that the lane read.
    pub bytes: u32,
    /// Which of them nothing had written, one bit each.
    pub unwritten: u64,
    /// Whether an operation made another value of it.
    pub computed: bool,
}

impl MemoryOrigin {
    /// Whether the read found defined bytes too, and the value was only copied since: it may be the padding
    /// of a structure.
    pub fn may_be_padding(&self) -> bool {
        !self.computed && self.unwritten != mask(self.bytes)
    }
    /// The unwritten bytes in words; empty if they are all that was read.
    pub fn which(&self) -> String {
        let (first, last) = (self.unwritten.trailing_zeros(), 63 - self.unwritten.leading_zeros());
        match self.unwritten {
            0 => String::new(),
            u if u == mask(self.bytes) => String::new(),
            _ if first == last => format!("byte {first} of {}", self.bytes),
            _ => format!("bytes {first} to {last} of {}", self.bytes),
        }
    }
}

impl Origin {
    /// The origin of a value that an operation computes from a value of this origin.
    pub fn computed(self) -> Origin {
        match self {
            Origin::Memory(m) => Origin::Memory(MemoryOrigin { computed: true, ..m }),
            register => register,
        }
    }
}

/// Words of 64 bytes that are looked at as a whole.
const FEW: usize = 64;

/// The bytes of a region that nothing wrote.
#[derive(Clone, Debug, Default)]
pub struct Bits {
    bytes: Vec<u64>,
    /// The undefined bits of bytes of which an atomic defined other bits.
    partial: FxHashMap<u64, u8>,
    /// By word of four bytes: the origin of an undefined value that was stored there.
    origins: FxHashMap<u64, Origin>,
}

impl Bits {
    fn new(len: u64, undefined: bool) -> Bits {
        let word = if undefined { u64::MAX } else { 0 };
        Bits { bytes: vec![word; len.div_ceil(64) as usize], ..Bits::default() }
    }
    /// The bits of up to 64 bytes from `at` on; 1 means undefined.
    pub fn get(&self, at: u64, n: u32) -> u64 {
        let (word, bit) = ((at / 64) as usize, at % 64);
        let low = self.bytes.get(word).map_or(0, |w| w >> bit);
        let high = if bit == 0 { 0 } else { self.bytes.get(word + 1).map_or(0, |w| w << (64 - bit)) };
        (low | high) & mask(n)
    }
    /// Whether the bytes from `first` to `last` are known to be defined: they are, and not many.
    pub fn are_defined(&self, first: u64, last: u64) -> bool {
        let (from, to) = ((first / 64) as usize, (last / 64) as usize);
        to - from < FEW && self.bytes.get(from..=to).is_some_and(|words| words.iter().all(|word| *word == 0))
    }
    fn set(&mut self, at: u64, n: u32, v: u64) {
        let (word, bit) = ((at / 64) as usize, at % 64);
        let keep = mask(n);
        if let Some(w) = self.bytes.get_mut(word) {
            *w = *w & !(keep << bit) | (v & keep) << bit;
        }
        if bit != 0
            && let Some(w) = self.bytes.get_mut(word + 1)
        {
            *w = *w & !(keep >> (64 - bit)) | (v & keep) >> (64 - bit);
        }
        if !self.partial.is_empty() {
            for byte in at..at + u64::from(n) {
                self.partial.remove(&byte);
            }
        }
        if !self.origins.is_empty() {
            for word in at / 4..=(at + u64::from(n.max(1)) - 1) / 4 {
                self.origins.remove(&word);
            }
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
    /// The bits of a region; `None` if it is defined.
    pub fn of(&self, region: &Region) -> Option<&Bits> {
        self.regions.get(&region.id())
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
    /// The undefined bits of an element of up to 8 bytes. Of a larger one, all or none are.
    pub fn element(&self, region: &Region, at: u64, bytes: u32) -> u64 {
        let Some(b) = self.regions.get(&region.id()) else { return 0 };
        match b.get(at, bytes) {
            0 => 0,
            _ if bytes > 8 => u64::MAX,
            unwritten => (0..u64::from(bytes))
                .filter(|i| unwritten >> i & 1 == 1)
                .fold(0, |v, i| v | u64::from(b.partial.get(&(at + i)).copied().unwrap_or(0xff)) << (8 * i)),
        }
    }
    /// Stores an element of `bytes` bytes with these undefined bits, which come from `origin`. Memory that
    /// was all defined is listed if it gets an undefined bit.
    pub fn set_element(&mut self, region: &Region, at: u64, bytes: u32, bits: u64, origin: Option<Origin>) {
        if bits == 0 {
            return self.set(region, at, bytes, 0);
        }
        let b = self.regions.entry(region.id()).or_insert_with(|| Bits::new(region.len(), false));
        if bytes > 8 {
            b.set(at, bytes, u64::MAX);
        } else {
            let byte = |i: u32| (bits >> (8 * i) & 0xff) as u8;
            let unwritten = (0..bytes).fold(0, |v, i| v | u64::from(byte(i) != 0) << i);
            b.set(at, bytes, unwritten);
            let partial = (0..bytes).filter(|&i| !matches!(byte(i), 0 | 0xff));
            b.partial.extend(partial.map(|i| (at + u64::from(i), byte(i))));
        }
        if let Some(origin) = origin {
            b.origins.extend((at / 4..=(at + u64::from(bytes) - 1) / 4).map(|word| (word, origin)));
        }
    }
    /// The origin of the undefined value that was stored at a byte.
    pub fn origin(&self, region: &Region, at: u64) -> Option<Origin> {
        self.regions.get(&region.id())?.origins.get(&(at / 4)).copied()
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
                (0..u64::from(n)).filter(|k| v >> k & 1 == 1).for_each(|k| self.copy_byte(from, to, i + k));
            });
        }
    }
    /// Copies what is listed of an undefined byte.
    fn copy_byte(&mut self, from: (&Region, u64), to: (&Region, u64), i: u64) {
        let Some(source) = self.regions.get(&from.0.id()) else { return };
        let bits = source.partial.get(&(from.1 + i)).copied();
        let origin = source.origins.get(&((from.1 + i) / 4)).copied();
        let Some(target) = self.regions.get_mut(&to.0.id()) else { return };
        target.partial.extend(bits.map(|bits| (to.1 + i, bits)));
        target.origins.extend(origin.map(|origin| ((to.1 + i) / 4, origin)));
    }
    /// Marks a range as defined.
    pub fn define(&mut self, region: &Region, at: u64, bytes: u64) {
        if let Some(bits) = self.regions.get_mut(&region.id()) {
            each_piece(bytes, |i, n| bits.set(at + i, n, 0));
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
        let bits = u.of(&a).unwrap();
        assert_eq!([(64, 127), (64, 128), (0, 3)].map(|(x, y)| bits.are_defined(x, y)), [true, false, false]);
        assert_eq!((u.get(&a, 60, 8), u.get(&a, 128, 8)), (0b11, 0b1111_0000));
        u.mark_undefined(&b, 10, 5);
        assert_eq!(u.get(&b, 8, 8), 0b0111_1100);
        u.copy((&b, 8), (&a, 100), 8);
        assert_eq!(u.get(&a, 100, 8), 0b0111_1100);
        u.end(&a);
        assert_eq!(u.get(&a, 0, 64), 0);
    }

    #[test]
    fn single_bits_and_origins_move_with_their_bytes() {
        let (a, b) = (Region::new(64), Region::new(64));
        let mut u = Undefined::default();
        u.begin(&a);
        assert_eq!(u.element(&a, 4, 4), 0xffff_ffff);
        u.set_element(&a, 4, 4, 0xff00_00fe, Some(Origin::Register(3)));
        assert_eq!((u.element(&a, 4, 4), u.element(&a, 5, 1), u.element(&a, 4, 1)), (0xff00_00fe, 0, 0xfe));
        u.set_element(&b, 8, 8, 0, None);
        assert!(!u.tracks(&b), "defined bytes of defined memory need no entry");
        u.mark_undefined(&b, 0, 1);
        u.copy((&a, 4), (&b, 12), 4);
        assert_eq!(u.element(&b, 8, 8), 0xff00_00fe_0000_0000);
        assert_eq!((u.origin(&b, 12), u.origin(&b, 8)), (Some(Origin::Register(3)), None));
        u.define(&b, 12, 4);
        assert_eq!((u.element(&b, 12, 4), u.origin(&b, 12)), (0, None));
    }
}
