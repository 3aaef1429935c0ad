//! Digests of warps: equal digests mean equal decoded streams, so equal warps need no decoding.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use prlx_trace::kernel::{Arg, Function, Module, Step};
use prlx_trace::launch::{Lanes, Launch};
use prlx_trace::{FuncId, Level, WarpStream};
use xxhash_rust::xxh3::Xxh3;

/// Takes text in.
struct Text<'a>(&'a mut Xxh3);

impl Write for Text<'_> {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        self.0.update(s.as_bytes());
        Ok(())
    }
}

/// Digest of what decoding any warp of a launch reads: sites, and at levels `path` and `print`, which leave out what can be
/// computed, the decode program, the shape, and the
/// parameters that slices use. Source locations and texts are left out, so that a moved line changes nothing.
pub fn base(module: &Module, launch: &Launch) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(&[launch.level.code(), launch.warp_size]);
    // The Debug forms of these types are as stable as the types themselves: what changes one should change digests.
    let mut text = Text(&mut hash);
    for site in &module.sites {
        let _ = write!(text, "{:?} {:?} {:?} {:?};", site.function, site.block, site.class, site.source);
    }
    if matches!(launch.level, Level::Path | Level::Print) {
        let _ = write!(text, "{} {} {:?};", launch.grid, launch.block, launch.kernel);
        for id in reachable(module, launch.kernel) {
            let Some(function) = module.functions.get(id.index()) else { continue };
            let _ = write!(text, "{:?}: {:?};", id, function.skipped.is_some());
            for block in &function.blocks {
                let _ = write!(text, "{:?} {:?} {:?};", block.steps, block.end, block.in_loop);
            }
            for l in &function.loops {
                let _ = write!(text, "{:?} {:?};", l.header, l.blocks);
            }
            for (offset, size) in params(function) {
                let bytes = launch.params.get(offset as usize..).map(|b| &b[..b.len().min(size.into())]);
                let _ = write!(text, "{offset} {size} {bytes:?};");
            }
        }
    }
    hash.digest()
}

/// The functions that a walk from `kernel` can come to.
fn reachable(module: &Module, kernel: FuncId) -> BTreeSet<FuncId> {
    let (mut all, mut open) = (BTreeSet::from([kernel]), vec![kernel]);
    while let Some(function) = open.pop().and_then(|id| module.functions.get(id.index())) {
        for step in function.blocks.iter().flat_map(|b| &b.steps) {
            if let Step::Call { function, .. } = step
                && all.insert(*function)
            {
                open.push(*function);
            }
        }
    }
    all
}

/// The parameter bytes that a function's slices read.
fn params(function: &Function) -> BTreeSet<(u32, u8)> {
    let steps = function.blocks.iter().flat_map(|b| &b.steps);
    let args = steps.filter_map(|s| if let Step::Let { args, .. } = s { Some(args) } else { None }).flatten();
    args.filter_map(|a| if let Arg::Param { offset, size } = a { Some((*offset, *size)) } else { None }).collect()
}

/// Digest of one warp's streams. Clocks are left out: two runs never agree on them.
pub fn warp(base: u64, stream: &WarpStream) -> u64 {
    let mut hash = Xxh3::with_seed(base);
    let mut put = |x: u64| hash.update(&x.to_le_bytes());
    // A warp's place in the grid is an input of its slices.
    put(stream.warp.0);
    match &stream.lanes {
        Lanes::Path { words, ends } => {
            ends.iter().for_each(|e| put((*e).into()));
            words.iter().for_each(|w| put((*w).into()));
        }
        Lanes::Print { checkpoints, ends, hashes } => {
            ends.iter().for_each(|e| put((*e).into()));
            checkpoints.iter().chain(hashes.as_flattened()).for_each(|c| put(*c));
        }
        Lanes::Events(events) => {
            for e in events {
                put(e.site.0.into());
                put(e.mask.0);
                put(e.value);
            }
        }
        Lanes::Operands { records, ends } => {
            ends.iter().for_each(|e| put((*e).into()));
            for r in records {
                put(u64::from(r.visit) << 32 | u64::from(r.site.0));
                put(r.values[0]);
                put(r.values[1]);
            }
        }
    }
    // 0 means that there is none.
    hash.digest().max(1)
}
