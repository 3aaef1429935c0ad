//! Which function, loop and site of one module is which of another.
//!
//! Holds: common names are those of side A; what only B has is numbered after them. Identical decode programs give the
//! identity. Otherwise functions match by name, kernels also by what they are called in the source ([`mangled`]), source lines
//! through a diff of the stored texts ([`crate::lines`]), sites by their key, then by line and class, then by class and
//! order between matches; loops by their header's line and order.
//!
//! Misses: renamed device functions. Sites without a partner are counted, and never guessed; what copies of one place make of that,
//! [`crate::fold`] says.

use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::kernel::{Module, Site, SiteClass, Step};
use prlx_trace::{FuncId, LocId, LoopId, SiteId};

use crate::describe;
use crate::fold;
use crate::lines::Lines;
use crate::mangled;
use crate::meaning;

/// One side's numbers in the common numbering.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Names {
    pub sites: Vec<u32>,
    functions: Vec<u32>,
    /// By function.
    loops: Vec<Vec<u32>>,
}

impl Names {
    fn identity(m: &Module) -> Names {
        Names {
            sites: (0..m.sites.len() as u32).collect(),
            functions: (0..m.functions.len() as u32).collect(),
            loops: m.functions.iter().map(|f| (0..f.loops.len() as u32).collect()).collect(),
        }
    }
    pub fn site(&self, s: SiteId) -> u32 {
        self.sites.get(s.index()).copied().unwrap_or(s.0)
    }
    pub fn function(&self, f: FuncId) -> u32 {
        self.functions.get(f.index()).copied().unwrap_or(f.0)
    }
    pub fn loop_of(&self, f: FuncId, l: LoopId) -> u32 {
        self.loops.get(f.index()).and_then(|ls| ls.get(l.index())).copied().unwrap_or(l.0)
    }
}

/// Two modules in one numbering.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Pairing {
    pub a: Names,
    pub b: Names,
    /// Both decode programs are the same: equal words mean equal paths.
    pub same: bool,
    /// How sites of both are brought to one form; of modules that are the same, nothing.
    pub fold: Option<Box<[fold::Side; 2]>>,
}

/// Whether two modules decode alike: the same steps, the same sources of values, and the same comparisons.
pub(crate) fn same_program(a: &Module, b: &Module, forced: Forced<'_>) -> bool {
    // Locations may differ in number only; the decode program does not read them.
    let decides = |s: &Site| (s.function, s.block, s.class, s.source, meaning::comparison(s));
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

/// Two kernels that are to be one whatever they are called: A's and B's.
pub(crate) type Forced<'a> = Option<[&'a str; 2]>;

/// Matches two modules.
pub(crate) fn modules(a: &Module, b: &Module, forced: Forced<'_>) -> Pairing {
    if same_program(a, b, forced) {
        return Pairing { a: Names::identity(a), b: Names::identity(b), same: true, fold: None };
    }
    builds(a, b, forced)
}

/// Matches two modules that are two builds.
pub(crate) fn builds(a: &Module, b: &Module, forced: Forced<'_>) -> Pairing {
    let lines = Lines::new(a, b);
    let mut names = Names::default();
    let mut extra = a.functions.len() as u32;
    let by_name: BTreeMap<&str, u32> = a.functions.iter().map(|f| f.name.as_str()).zip(0..).collect();
    let [ours, theirs] = [a, b].map(kernels);
    let mut renamed = mangled::renamed(&ours, &theirs);
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
    let keys = keys([a, b], &names, &lines);
    let sites = sites([a, b], &keys);
    let partners: Vec<Option<u32>> =
        sites.iter().map(|s| Some(*s).filter(|s| *s < a.sites.len() as u32)).collect();
    names.sites = sites;
    let ours = Names::identity(a);
    let edited = |x: usize, y: usize| {
        let [x, y] =
            [(a, x), (b, y)].map(|(m, s)| describe::location(m, m.sites[s].loc).and_then(|l| l.code));
        x.zip(y).is_some_and(|(x, y)| x.trim() != y.trim())
    };
    let input = fold::Input {
        modules: [a, b],
        keys: keys.each_ref().map(|k| &k[..]),
        partners: &partners,
        names: [&ours, &names],
        edited: &edited,
    };
    let fold = Some(Box::new(fold::plan(&input)));
    Pairing { a: ours, b: names, same: false, fold }
}

fn kernels(m: &Module) -> BTreeSet<&str> {
    m.functions.iter().filter(|f| f.kernel).map(|f| f.name.as_str()).collect()
}

/// The next number.
pub(crate) fn next(n: &mut u32) -> u32 {
    *n += 1;
    *n - 1
}

/// Matches equal keys in order: A's index for each of B's.
fn match_keys<K: Ord + Clone>(a: &[K], b: &[K]) -> Vec<Option<u32>> {
    let mut free: BTreeMap<K, std::collections::VecDeque<u32>> = BTreeMap::new();
    for (i, k) in a.iter().enumerate() {
        free.entry(k.clone()).or_default().push_back(i as u32);
    }
    b.iter().map(|k| free.get_mut(k).and_then(|f| f.pop_front())).collect()
}

/// A location as a number in A's lines: file and line; all ones without one.
fn place(m: &Module, loc: Option<LocId>, to_a: impl Fn((u32, u32)) -> (u32, u32)) -> u64 {
    match loc.and_then(|l| m.locs.get(l.index())) {
        Some(l) => {
            let (file, line) = to_a((l.file.0, l.line));
            u64::from(file) << 32 | u64::from(line)
        }
        None => u64::MAX,
    }
}

/// What a site is matched by: its function, places with inlining, class, and number.
pub(crate) type Key = (u32, Vec<(u64, u32, String)>, SiteClass, u32);

fn keys([a, b]: [&Module; 2], names: &Names, lines: &Lines) -> [Vec<Key>; 2] {
    let all = |m: &Module, function: &dyn Fn(FuncId) -> u32, in_b: bool| -> Vec<Key> {
        let mut numbers: BTreeMap<Key, u32> = BTreeMap::new();
        let key = |s: &Site| {
            let mut at = stands(s);
            let mut stack = Vec::new();
            while let Some(l) = at.and_then(|l| m.locs.get(l.index())) {
                let (file, line) = if in_b { lines.to_a((l.file.0, l.line)) } else { (l.file.0, l.line) };
                stack.push((u64::from(file) << 32 | u64::from(line), l.column, l.function.clone()));
                at = l.inlined_at.filter(|_| stack.len() < 64);
            }
            let mut key = (function(s.function), stack, s.class, 0);
            let n = numbers.entry(key.clone()).or_default();
            (key.3, *n) = (*n, *n + 1);
            key
        };
        m.sites.iter().map(key).collect()
    };
    [all(a, &|f| f.0, false), all(b, &|f| names.function(f), true)]
}

/// Where a site stands in the source: a branch where it branches, for two places that ask the same may share the comparison.
fn stands(s: &Site) -> Option<LocId> {
    let branch = s.steers.iter().find(|i| s.class == SiteClass::Branch && i.class == s.class);
    branch.and_then(|i| i.loc).or(s.loc)
}

fn sites([a, _]: [&Module; 2], [keys_a, keys_b]: &[Vec<Key>; 2]) -> Vec<u32> {
    let mut to: Vec<Option<u32>> = match_keys(keys_a, keys_b);
    // What an edit of a line moved: the same line and class, whatever the column.
    let rest = |to: &[Option<u32>]| -> (Vec<u32>, Vec<u32>) {
        let taken: BTreeSet<u32> = to.iter().flatten().copied().collect();
        let a = (0..a.sites.len() as u32).filter(|i| !taken.contains(i)).collect();
        let b = (0..to.len() as u32).filter(|&i| to[i as usize].is_none()).collect();
        (a, b)
    };
    let (free_a, free_b) = rest(&to);
    let coarse = |k: &Key| (k.0, k.1.first().map(|p| p.0), k.2);
    let ka: Vec<_> = free_a.iter().map(|&i| coarse(&keys_a[i as usize])).collect();
    let kb: Vec<_> = free_b.iter().map(|&i| coarse(&keys_b[i as usize])).collect();
    for (i, m) in free_b.iter().zip(match_keys(&ka, &kb)) {
        to[*i as usize] = m.map(|m| free_a[m as usize]);
    }
    // What is left between the same two matches, if there are equally many of a class.
    let (free_a, free_b) = rest(&to);
    let before_b: BTreeMap<u32, u32> =
        free_b.iter().map(|&i| (i, (0..i).rev().find_map(|j| to[j as usize]).map_or(0, |m| m + 1))).collect();
    let taken: BTreeSet<u32> = to.iter().flatten().copied().collect();
    let gap_a = |i: u32| taken.range(..i).next_back().map_or(0, |m| m + 1);
    let ka: Vec<_> = free_a.iter().map(|&i| (gap_a(i), keys_a[i as usize].0, keys_a[i as usize].2)).collect();
    let kb: Vec<_> =
        free_b.iter().map(|i| (before_b[i], keys_b[*i as usize].0, keys_b[*i as usize].2)).collect();
    let count = |keys: &[(u32, u32, SiteClass)], k| keys.iter().filter(|x| **x == k).count();
    for ((i, m), k) in free_b.iter().zip(match_keys(&ka, &kb)).zip(&kb) {
        if count(&ka, *k) == count(&kb, *k) {
            to[*i as usize] = m.map(|m| free_a[m as usize]);
        }
    }
    let mut extra = a.sites.len() as u32;
    to.into_iter().map(|t| t.unwrap_or_else(|| next(&mut extra))).collect()
}

/// By guarded site: the decisions that may have set its guard. If one of them differed, only one side visits the site.
pub(crate) fn guarded(m: &Module) -> BTreeMap<SiteId, Vec<SiteId>> {
    let mut out: BTreeMap<SiteId, Vec<SiteId>> = BTreeMap::new();
    for f in &m.functions {
        let steps = || f.blocks.iter().flat_map(|b| &b.steps);
        let mut deciders: BTreeMap<_, Vec<SiteId>> = BTreeMap::new();
        for s in steps() {
            if let Step::Decide { site, slot, .. } = s {
                deciders.entry(*slot).or_default().push(*site);
            }
        }
        for s in steps() {
            let (site, guard) = match s {
                Step::Visit { site, guard: Some(g) } | Step::Decide { site, guard: Some(g), .. } => {
                    (*site, g)
                }
                _ => continue,
            };
            out.entry(site).or_default().extend(deciders.get(&guard.slot).into_iter().flatten());
        }
    }
    out
}
