//! Names of things in a recording: dense indices, places in a grid, lane masks, units of time.
//!
//! Every index is a newtype, so that a site can't be used where a block is meant. A warp has 32 lanes
//! (NVIDIA, RDNA) or 64 (CDNA); masks are 64 bits wide for both.

use std::fmt;

use crate::narrow::{low8, low32};

/// Declares dense index types, which print as `site3`.
macro_rules! ids {
    ($($(#[$m:meta])* $name:ident($int:ty) = $prefix:literal;)*) => { $(
        $(#[$m])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub $int);
        impl $name {
            /// The index into the table that it numbers.
            pub const fn index(self) -> usize { $crate::narrow::index(self.0 as u64) }
        }
        impl $crate::codec::Codec for $name {
            const MIN: usize = 1;
            fn put(&self, out: &mut Vec<u8>) {
                self.0.put(out);
            }
            fn take(from: &mut $crate::codec::Reader<'_>) -> Result<Self, $crate::Error> {
                <$int>::take(from).map($name)
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { write!(f, concat!($prefix, "{}"), self.0) }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { fmt::Display::fmt(self, f) }
        }
    )* };
}
ids! {
    /// A module of a recording, an index into `Trace::modules`.
    ModuleId(u32) = "module";
    /// A name of NVTX ranges, an index into `Trace::ranges`.
    RangeId(u32) = "range";
    /// A function of a module, an index into `Module::functions`.
    FuncId(u32) = "func";
    /// A basic block of a function (never a CTA).
    BlockId(u32) = "block";
    /// A loop of a function, an index into `Function::loops`.
    LoopId(u32) = "loop";
    /// A static program point of a module that carries a probe; dense, an index into `Module::sites`.
    SiteId(u32) = "site";
    /// A source location of a module, an index into `Module::locs`.
    LocId(u32) = "loc";
    /// A source file of a module, an index into `Module::files`.
    FileId(u32) = "file";
    /// A register of the decoder: a value that it follows through a function's slices.
    Slot(u32) = "slot";
    /// A CTA of one launch: its linear index, x fastest.
    Cta(u64) = "cta";
    /// A warp of one launch, numbered across the grid: `cta * warps_per_cta + warp in cta`.
    WarpId(u64) = "warp";
    /// A lane of a warp, from 0 to 31 or 63.
    Lane(u8) = "lane";
}

/// Number of lanes of a warp.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, serde::Serialize, serde::Deserialize,
)]
#[serde(try_from = "u8", into = "u8")]
pub enum WarpSize {
    /// 32 lanes: NVIDIA, and RDNA of AMD.
    #[default]
    W32,
    /// 64 lanes: CDNA of AMD.
    W64,
}

impl WarpSize {
    /// The size of a warp with so many lanes. `None` if there is no such warp.
    pub const fn of(lanes: u64) -> Option<WarpSize> {
        match lanes {
            32 => Some(WarpSize::W32),
            64 => Some(WarpSize::W64),
            _ => None,
        }
    }
    /// Number of lanes.
    pub const fn lanes(self) -> u64 {
        match self {
            WarpSize::W32 => 32,
            WarpSize::W64 => 64,
        }
    }
    /// All lanes of a warp.
    pub const fn full_mask(self) -> LaneMask {
        LaneMask(u64::MAX >> (64 - self.lanes()))
    }
    /// Number of warps of `threads` threads. The last warp may have fewer threads than lanes.
    pub const fn warps(self, threads: u64) -> u64 {
        threads.div_ceil(self.lanes())
    }
}

impl From<WarpSize> for u8 {
    fn from(size: WarpSize) -> u8 {
        low8(size.lanes())
    }
}

impl TryFrom<u8> for WarpSize {
    type Error = String;
    fn try_from(lanes: u8) -> Result<WarpSize, String> {
        WarpSize::of(lanes.into()).ok_or_else(|| format!("{lanes} lanes; a warp has 32 or 64"))
    }
}

impl crate::codec::Codec for WarpSize {
    const MIN: usize = 1;
    fn put(&self, out: &mut Vec<u8>) {
        out.push((*self).into());
    }
    fn take(from: &mut crate::codec::Reader<'_>) -> Result<Self, crate::Error> {
        u8::take(from)?.try_into().map_err(|what: String| from.error(what))
    }
}

/// Prints the number of lanes.
impl fmt::Display for WarpSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lanes().fmt(f)
    }
}

/// A set of lanes of one warp, lane 0 in the lowest bit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LaneMask(pub u64);

impl LaneMask {
    /// Whether `lane` is in the set.
    pub const fn has(self, lane: Lane) -> bool {
        self.0 >> lane.0 & 1 == 1
    }
    /// Adds `lane` to the set.
    pub fn insert(&mut self, lane: Lane) {
        self.0 |= 1 << lane.0;
    }
    /// Number of lanes in the set.
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }
    /// The lanes of the set, lowest first.
    pub fn lanes(self) -> impl Iterator<Item = Lane> {
        (0..64).map(Lane).filter(move |&l| self.has(l))
    }
}

impl crate::codec::Codec for LaneMask {
    const MIN: usize = 1;
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }
    fn take(from: &mut crate::codec::Reader<'_>) -> Result<Self, crate::Error> {
        u64::take(from).map(LaneMask)
    }
}

/// Prints the set as `lane 3`, `lanes 0-1, 5-7` or `no lanes`.
impl fmt::Display for LaneMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.count() {
            0 => "no lanes",
            1 => "lane ",
            _ => "lanes ",
        })?;
        let (mut rest, mut first) = (self.0, true);
        while rest != 0 {
            let from = rest.trailing_zeros();
            let run = (rest >> from).trailing_ones();
            f.write_str(if first { "" } else { ", " })?;
            write!(f, "{from}")?;
            if run > 1 {
                write!(f, "-{}", from + run - 1)?;
            }
            rest &= !(u64::MAX >> (64 - run) << from);
            first = false;
        }
        Ok(())
    }
}

impl fmt::Debug for LaneMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#010x}", self.0)
    }
}

structures! {
    /// Sizes or a position in three dimensions; x is fastest.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub struct Dim3 {
        /// The dimension that varies fastest.
        pub x: u32,
        /// The dimension between the others.
        pub y: u32,
        /// The dimension that varies slowest.
        pub z: u32,
    }
}

impl Dim3 {
    /// Number of elements of a box with these sizes.
    pub const fn volume(self) -> u64 {
        // Hardware limits keep it under 2^63: 2^31 x 2^16 x 2^16 CTAs.
        self.x as u64 * self.y as u64 * self.z as u64
    }
    /// The position of linear index `i` in a box of these sizes.
    pub const fn position(self, i: u64) -> Dim3 {
        let (x, y) =
            (if self.x == 0 { 1 } else { self.x as u64 }, if self.y == 0 { 1 } else { self.y as u64 });
        Dim3 { x: low32(i % x), y: low32(i / x % y), z: low32(i / x / y) }
    }
}

impl Default for Dim3 {
    fn default() -> Self {
        Dim3 { x: 1, y: 1, z: 1 }
    }
}

impl fmt::Display for Dim3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({},{},{})", self.x, self.y, self.z)
    }
}

/// Declares amounts of one unit, stored as a number.
macro_rules! quantities {
    ($($(#[$m:meta])* $name:ident;)*) => { $(
        $(#[$m])*
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub u64);
        impl $name {
            /// The largest amount.
            pub const MAX: $name = $name(u64::MAX);
            /// The number of units, rounded to the precision of `f64`.
            pub const fn as_f64(self) -> f64 { self.0 as f64 }
            /// The distance between two amounts.
            pub const fn abs_diff(self, other: $name) -> $name { $name(self.0.abs_diff(other.0)) }
            /// The sum; the largest value if it does not fit.
            pub const fn saturating_add(self, other: $name) -> $name { $name(self.0.saturating_add(other.0)) }
            /// The difference; zero if `other` is larger.
            pub const fn saturating_sub(self, other: $name) -> $name { $name(self.0.saturating_sub(other.0)) }
        }
        impl std::ops::Add for $name {
            type Output = $name;
            fn add(self, other: $name) -> $name { $name(self.0 + other.0) }
        }
        impl std::ops::Sub for $name {
            type Output = $name;
            fn sub(self, other: $name) -> $name { $name(self.0 - other.0) }
        }
        impl std::ops::AddAssign for $name {
            fn add_assign(&mut self, other: $name) { self.0 += other.0; }
        }
        impl std::ops::SubAssign for $name {
            fn sub_assign(&mut self, other: $name) { self.0 -= other.0; }
        }
        impl std::iter::Sum for $name {
            fn sum<I: Iterator<Item = $name>>(all: I) -> $name { all.fold($name(0), |sum, x| sum + x) }
        }
        impl $crate::codec::Codec for $name {
            const MIN: usize = 1;
            fn put(&self, out: &mut Vec<u8>) {
                self.0.put(out);
            }
            fn take(from: &mut $crate::codec::Reader<'_>) -> Result<Self, $crate::Error> {
                u64::take(from).map($name)
            }
        }
        /// The number alone, as in [`fmt::Display`]: texts of recordings print derived `Debug`.
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { fmt::Debug::fmt(&self.0, f) }
        }
        /// The number alone, without its unit.
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { fmt::Display::fmt(&self.0, f) }
        }
    )* };
}
quantities! {
    /// Nanoseconds: of a device's global timer, or of the host's clock. The item that has the value says
    /// which.
    Nanos;
    /// Picoseconds on a timeline's axis.
    Picos;
    /// Cycles of the clock of one SM. Every SM is a clock domain of its own: readings of two SMs do not
    /// compare, and cycles become time only through anchors ([`crate::mark::Anchor`]).
    Cycles;
}

/// Whose clock a number of cycles was read from: the SM of that number, within one launch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct ClockDomain(pub u32);

/// What the clock of one SM showed. Readings have no order: those of two SMs do not compare.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ClockReading {
    /// The clock that was read.
    pub domain: ClockDomain,
    /// The cycles that it showed.
    pub cycles: Cycles,
}

impl ClockReading {
    /// The cycles since an earlier reading, zero if that is later. `None` if the clocks are not the same.
    pub fn since(self, earlier: ClockReading) -> Option<Cycles> {
        (self.domain == earlier.domain).then(|| self.cycles.saturating_sub(earlier.cycles))
    }
}

impl From<std::time::Duration> for Nanos {
    /// Times above 584 years saturate.
    fn from(time: std::time::Duration) -> Nanos {
        Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for Picos {
    /// Converts the unit. Times above 213 days saturate.
    fn from(nanos: Nanos) -> Picos {
        Picos(nanos.0.saturating_mul(1000))
    }
}

/// Picoseconds on a timeline's axis; negative before its begin.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, serde::Serialize)]
pub struct SignedPicos(pub i64);

impl SignedPicos {
    /// The earliest time.
    pub const MIN: SignedPicos = SignedPicos(i64::MIN);
    /// The latest time.
    pub const MAX: SignedPicos = SignedPicos(i64::MAX);

    /// The time `by` later. It saturates.
    #[must_use]
    pub fn later(self, by: Picos) -> SignedPicos {
        SignedPicos(self.0.saturating_add_unsigned(by.0))
    }
    /// The time `by` earlier. It saturates.
    #[must_use]
    pub fn earlier(self, by: Picos) -> SignedPicos {
        SignedPicos(self.0.saturating_sub_unsigned(by.0))
    }
    /// The time from here until `end`; zero if `end` is earlier.
    pub fn until(self, end: SignedPicos) -> Picos {
        Picos(if end > self { end.0.abs_diff(self.0) } else { 0 })
    }
    /// The time on an axis that begins here; zero before its begin.
    pub fn on_axis(self) -> Picos {
        Picos(u64::try_from(self.0).unwrap_or(0))
    }
}

impl From<Picos> for SignedPicos {
    /// Times above 106 days saturate.
    fn from(at: Picos) -> SignedPicos {
        SignedPicos(i64::try_from(at.0).unwrap_or(i64::MAX))
    }
}

impl Picos {
    /// Whole nanoseconds, rounded down.
    pub const fn nanos(self) -> Nanos {
        Nanos(self.0 / 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_of_two_clocks_have_no_difference() {
        let [early, late, other] = [(1, 10), (1, 30), (2, 20)]
            .map(|(sm, n)| ClockReading { domain: ClockDomain(sm), cycles: Cycles(n) });
        assert_eq!(late.since(early), Some(Cycles(20)));
        assert_eq!(early.since(late), Some(Cycles(0)));
        assert_eq!(other.since(early), None);
    }

    #[test]
    fn sizes_of_warps() {
        use crate::codec::{Codec, Reader};
        for (size, lanes, full, warps) in
            [(WarpSize::W32, 32, u64::MAX >> 32, 4), (WarpSize::W64, 64, u64::MAX, 2)]
        {
            assert_eq!((size.lanes(), size.full_mask(), size.warps(100)), (lanes, LaneMask(full), warps));
            let mut bytes = Vec::new();
            size.put(&mut bytes);
            assert_eq!((u64::from(bytes[0]), bytes.len()), (lanes, 1));
            assert_eq!(Reader::new(&bytes, 1).whole("size"), Ok(size));
        }
        let odd = Reader::new(&[48], 1).whole::<WarpSize>("size").unwrap_err();
        assert_eq!((odd.field.as_str(), odd.what.as_str()), ("size", "48 lanes; a warp has 32 or 64"));
    }

    #[test]
    fn masks_in_words() {
        for (mask, words) in [
            (0, "no lanes"),
            (1 << 3, "lane 3"),
            (0xe3, "lanes 0-1, 5-7"),
            (0b101, "lanes 0, 2"),
            (u64::MAX, "lanes 0-63"),
            (1 << 63, "lane 63"),
        ] {
            assert_eq!(LaneMask(mask).to_string(), words);
        }
    }
}
