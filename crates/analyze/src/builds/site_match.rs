//! Matches the functions, loops and sites of two modules.
//!
//! Identical decode programs of lines in one order match by number. Otherwise functions match by name, and
//! kernels also by their name in the source ([`kernel_names`]). Source lines match by a diff of the stored
//! texts ([`super::source_diff`]). Sites match by their key, then by line and class, then by class and order
//! between matched sites, of one source only on one line. Loops match by the line of their header, and order.
//!
//! # Invariants
//! Common numbers are A's numbers; what only B has gets the numbers after them. A site without a match is
//! counted, never guessed. [`super::unroll_match`] handles copies of one place.
//!
//! # Limitations
//! Renamed device functions do not match.

use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::kernel::{Module, Site, SiteClass};

use crate::launches::kernel_names;
use crate::report::describe;

use super::canonical_form::{CanonicalForm, MatchInput};
use super::common_ids::{CommonIds, next};
use super::match_key::{SiteKey, keys, match_keys, place};
use super::polarity;
use super::source_diff::LineMap;
use super::unroll_match::match_unrolled;

/// Two modules in one numbering.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ModuleMatch {
    pub a: CommonIds,
    pub b: CommonIds,
    /// Both decode programs are equal, so equal words mean equal paths.
    pub same: bool,
    /// Both sides' mapping to the canonical form. `None` for equal decode programs.
    pub canonical: Option<Box<[CanonicalForm; 2]>>,
}

/// Whether two modules decode alike: equal steps, sources of values, and comparisons.
pub(crate) fn same_program(a: &Module, b: &Module, forced: ForcedKernels<'_>) -> bool {
    // Locations may differ in number; the decode program does not read them.
    let decides = |s: &Site| (s.function, s.block, s.class, s.source, polarity::comparison(s));
    a.sites.len() == b.sites.len()
        && a.functions.len() == b.functions.len()
        && a.sites.iter().map(decides).eq(b.sites.iter().map(decides))
        && a.functions.iter().zip(&b.functions).all(|(f, g)| {
            (f.name == g.name || forced == Some([&f.name, &g.name]))
                && f.slots == g.slots
                && f.skipped.is_some() == g.skipped.is_some()
                && f.loops.len() == g.loops.len()
                && f.loops.iter().zip(&g.loops).all(|(l, m)| (l.header, l.parent) == (m.header, m.parent))
                && f.blocks.len() == g.blocks.len()
                && f.blocks.iter().zip(&g.blocks).all(|(x, y)| {
                    (&x.steps, &x.end, x.ipdom, x.in_loop) == (&y.steps, &y.end, y.ipdom, y.in_loop)
                })
        })
}

/// Whether sites of equal number are on lines of the source that have changed places: two stores look the
/// same in a decode program, whatever they store.
fn reordered([a, b]: [&Module; 2], lines: &LineMap) -> bool {
    let line = |m: &Module, s: &Site| s.loc.and_then(|l| m.locs.get(l.index())).map(|l| (l.file.0, l.line));
    let mut places = a.sites.iter().zip(&b.sites).filter_map(|(x, y)| line(a, x).zip(line(b, y)));
    places.any(|(x, y)| lines.moved(x, y))
}

/// Two kernels to match whatever their names are: A's and B's.
pub(crate) type ForcedKernels<'a> = Option<[&'a str; 2]>;

/// Matches two modules.
pub(crate) fn match_modules(a: &Module, b: &Module, forced: ForcedKernels<'_>) -> ModuleMatch {
    let lines = LineMap::new(a, b);
    if same_program(a, b, forced) && !reordered([a, b], &lines) {
        return ModuleMatch {
            a: CommonIds::identity(a),
            b: CommonIds::identity(b),
            same: true,
            canonical: None,
        };
    }
    match_by_lines([a, b], forced, &lines)
}

/// Matches two modules as two builds, even if they are equal.
pub(crate) fn match_builds(a: &Module, b: &Module, forced: ForcedKernels<'_>) -> ModuleMatch {
    match_by_lines([a, b], forced, &LineMap::new(a, b))
}

fn match_by_lines([a, b]: [&Module; 2], forced: ForcedKernels<'_>, lines: &LineMap) -> ModuleMatch {
    let mut names = CommonIds::default();
    let mut extra = a.functions.len() as u32;
    let by_name: BTreeMap<&str, u32> = a.functions.iter().map(|f| f.name.as_str()).zip(0..).collect();
    let [ours, theirs] = [a, b].map(kernels);
    let mut renamed = kernel_names::renamed(&ours, &theirs);
    renamed.extend(forced.map(|[x, y]| (y, x)));
    for f in &b.functions {
        let name = renamed.get(f.name.as_str()).copied().unwrap_or(&f.name);
        names.functions.push(by_name.get(name).copied().unwrap_or_else(|| next(&mut extra)));
    }
    for (f, &of) in b.functions.iter().zip(&names.functions) {
        let theirs = a.functions.get(of as usize).map_or(&[][..], |g| &g.loops);
        let mut extra = theirs.len() as u32;
        let key_a: Vec<u64> = theirs.iter().map(|l| place(a, l.loc, |x| x)).collect();
        let key_b: Vec<u64> = f.loops.iter().map(|l| place(b, l.loc, |x| lines.to_a(x))).collect();
        let mut ids = match_keys(&key_a, &key_b);
        if theirs.len() == f.loops.len() {
            ids = (0..theirs.len() as u32).map(Some).collect();
        }
        names.loops.push(ids.into_iter().map(|id| id.unwrap_or_else(|| next(&mut extra))).collect());
    }
    let keys = keys([a, b], &names, lines);
    let sites = sites([a, b], &keys);
    let partners: Vec<Option<u32>> =
        sites.iter().map(|s| Some(*s).filter(|s| *s < a.sites.len() as u32)).collect();
    names.sites = sites;
    let ours = CommonIds::identity(a);
    let edited = |x: usize, y: usize| {
        let [x, y] =
            [(a, x), (b, y)].map(|(m, s)| describe::location(m, m.sites[s].loc).and_then(|l| l.code));
        x.zip(y).is_some_and(|(x, y)| x.trim() != y.trim())
    };
    let input = MatchInput {
        modules: [a, b],
        keys: keys.each_ref().map(|k| &k[..]),
        partners: &partners,
        names: [&ours, &names],
        edited: &edited,
    };
    let canonical = Some(Box::new(match_unrolled(&input)));
    ModuleMatch { a: ours, b: names, same: false, canonical }
}

fn kernels(m: &Module) -> BTreeSet<&str> {
    m.functions.iter().filter(|f| f.kernel).map(|f| f.name.as_str()).collect()
}

/// Whether both sides were built from the same text, as far as texts were recorded.
fn same_source([a, b]: [&Module; 2]) -> bool {
    let [a, b] = [a, b].map(|m| m.files.iter().filter_map(|f| f.text.as_deref()).collect::<BTreeSet<&str>>());
    !a.is_empty() && a == b
}

fn sites([a, b]: [&Module; 2], [keys_a, keys_b]: &[Vec<SiteKey>; 2]) -> Vec<u32> {
    let mut to: Vec<Option<u32>> = match_keys(keys_a, keys_b);
    // Compilers give line 0 to code that merges values of several lines. It has no place in the source by
    // which to match it.
    let placed = |k: &SiteKey| k.line().is_none_or(|line| line as u32 != 0);
    // An edit of a line changes columns: match by line and class.
    let rest = |to: &[Option<u32>]| -> (Vec<u32>, Vec<u32>) {
        let taken: BTreeSet<u32> = to.iter().flatten().copied().collect();
        let free_a = |i: &u32| !taken.contains(i) && placed(&keys_a[*i as usize]);
        let free_b = |i: &u32| to[*i as usize].is_none() && placed(&keys_b[*i as usize]);
        ((0..a.sites.len() as u32).filter(free_a).collect(), (0..to.len() as u32).filter(free_b).collect())
    };
    let (free_a, free_b) = rest(&to);
    let coarse = |k: &SiteKey| (k.function, k.line(), k.class);
    let ka: Vec<_> = free_a.iter().map(|&i| coarse(&keys_a[i as usize])).collect();
    let kb: Vec<_> = free_b.iter().map(|&i| coarse(&keys_b[i as usize])).collect();
    for (i, m) in free_b.iter().zip(match_keys(&ka, &kb)) {
        to[*i as usize] = m.map(|m| free_a[m as usize]);
    }
    // Between two matched sites, match by class if both sides have equally many.
    let (free_a, free_b) = rest(&to);
    let before_b: BTreeMap<u32, u32> =
        free_b.iter().map(|&i| (i, (0..i).rev().find_map(|j| to[j as usize]).map_or(0, |m| m + 1))).collect();
    let taken: BTreeSet<u32> = to.iter().flatten().copied().collect();
    let gap_a = |i: u32| taken.range(..i).next_back().map_or(0, |m| m + 1);
    let coarsest = |gap: u32, k: &SiteKey| (gap, k.function, k.class);
    let ka: Vec<_> = free_a.iter().map(|&i| coarsest(gap_a(i), &keys_a[i as usize])).collect();
    let kb: Vec<_> = free_b.iter().map(|i| coarsest(before_b[i], &keys_b[*i as usize])).collect();
    let count = |keys: &[(u32, u32, SiteClass)], k| keys.iter().filter(|x| **x == k).count();
    // In one source, another line is another place.
    let same_source = same_source([a, b]);
    let elsewhere = |a: u32, b: u32| same_source && keys_a[a as usize].line() != keys_b[b as usize].line();
    for ((i, m), k) in free_b.iter().zip(match_keys(&ka, &kb)).zip(&kb) {
        if count(&ka, *k) == count(&kb, *k) {
            to[*i as usize] = m.map(|m| free_a[m as usize]).filter(|m| !elsewhere(*m, *i));
        }
    }
    let mut extra = a.sites.len() as u32;
    to.into_iter().map(|t| t.unwrap_or_else(|| next(&mut extra))).collect()
}
