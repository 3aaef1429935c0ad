//! The key that sites match by: function, source location with inlining, class, and number among equal ones.

use std::collections::{BTreeMap, VecDeque};

use prlx_trace::kernel::{Module, Site, SiteClass};
use prlx_trace::{FuncId, LocId};

use super::common_ids::CommonIds;
use super::source_diff::LineMap;

/// A location as a number in A's lines: the file in the high half, the line in the low half. All ones if
/// unknown.
pub(super) fn place(m: &Module, loc: Option<LocId>, to_a: impl Fn((u32, u32)) -> (u32, u32)) -> u64 {
    match loc.and_then(|l| m.locs.get(l.index())) {
        Some(l) => {
            let (file, line) = to_a((l.file.0, l.line));
            u64::from(file) << 32 | u64::from(line)
        }
        None => u64::MAX,
    }
}

/// A line of the source ([`place`]), a column, and the function that was inlined there.
pub(crate) type SourceLevel = (u64, u32, String);

/// What names a site in two builds of one kernel. Sites with equal keys are the same site.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct SiteKey {
    /// The function that holds the site, by its number in A.
    pub function: u32,
    /// Source location, and the calls that it was inlined by, innermost first. Empty if unknown.
    pub place: Vec<SourceLevel>,
    /// Class of the site.
    pub class: SiteClass,
    /// Number among the sites of the function with the same place and class, in the order of the code.
    pub ordinal: u32,
}

impl SiteKey {
    /// The line of the site; `None` if unknown.
    pub fn line(&self) -> Option<u64> {
        self.place.first().map(|level| level.0)
    }
}

pub(super) fn keys([a, b]: [&Module; 2], names: &CommonIds, lines: &LineMap) -> [Vec<SiteKey>; 2] {
    let all = |m: &Module, function: &dyn Fn(FuncId) -> u32, in_b: bool| -> Vec<SiteKey> {
        let mut numbers: BTreeMap<SiteKey, u32> = BTreeMap::new();
        let key = |s: &Site| {
            let mut at = stands(s);
            let mut place = Vec::new();
            while let Some(l) = at.and_then(|l| m.locs.get(l.index())) {
                let (file, line) = if in_b { lines.to_a((l.file.0, l.line)) } else { (l.file.0, l.line) };
                place.push((u64::from(file) << 32 | u64::from(line), l.column, l.function.clone()));
                at = l.inlined_at.filter(|_| place.len() < 64);
            }
            let mut key = SiteKey { function: function(s.function), place, class: s.class, ordinal: 0 };
            let n = numbers.entry(key.clone()).or_default();
            (key.ordinal, *n) = (*n, *n + 1);
            key
        };
        m.sites.iter().map(key).collect()
    };
    [all(a, &|f| f.0, false), all(b, &|f| names.function(f), true)]
}

/// The source location of a site. For a branch it is the branch instruction's: two branches may share one
/// comparison.
fn stands(s: &Site) -> Option<LocId> {
    let branch = s.steers.iter().find(|i| s.class == SiteClass::Branch && i.class == s.class);
    branch.and_then(|i| i.loc).or(s.loc)
}

/// Matches equal keys in order. Returns, for each key of `b`, its index in `a`.
pub(super) fn match_keys<K: Ord + Clone>(a: &[K], b: &[K]) -> Vec<Option<u32>> {
    let mut free: BTreeMap<K, VecDeque<u32>> = BTreeMap::new();
    for (i, k) in a.iter().enumerate() {
        free.entry(k.clone()).or_default().push_back(i as u32);
    }
    b.iter().map(|k| free.get_mut(k).and_then(|f| f.pop_front())).collect()
}
