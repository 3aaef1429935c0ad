//! Compares launches of which hashes of all streams were kept, and not the streams.
//!
//! # Invariants
//! Equal hashes are equal streams, and so equal paths where equal words of a lane are. Other hashes are no
//! finding, since they do not tell which lanes differ.

use prlx_trace::launch::StreamHashes;

use crate::launches::order::Exchange;
use crate::report::{Coverage, HashInfo};

use super::context::{Context, totals};

/// Compares the hashes of both sides, and counts all warps and lanes. Returns which hashes differ; `None` if
/// none does.
pub(super) fn compare(
    cx: &Context<'_>,
    [a, b]: [StreamHashes; 2],
    coverage: &mut Coverage,
) -> Option<HashInfo> {
    let (mut warps, mut lanes) = totals(cx.launches);
    let total = warps.total;
    let whole = a.warps.min(b.warps) >= total && cx.launches.iter().all(|l| l.fault.is_none());
    let differ = a != b;
    *(match whole {
        false => &mut warps.missing,
        true if differ || !cx.equal_words_suffice => &mut warps.compared,
        true => &mut warps.equal,
    }) = total;
    *(match whole {
        false => &mut lanes.missing,
        true if differ => &mut lanes.compared,
        // What a parameter decides that differs is in no hash.
        true if !cx.equal_words_suffice => &mut lanes.truncated,
        true => &mut lanes.in_equal_warps,
    }) = lanes.total;
    (coverage.percent, coverage.warps, coverage.lanes) = (lanes.percent(), warps, lanes);
    let parts = [a.control != b.control, a.loaded != b.loaded, a.stored != b.stored, false];
    // A lane's signature that differs without a hash stands for control.
    let parts = if parts == [false; 4] { [true, false, false, false] } else { parts };
    differ.then(|| HashInfo { differ: parts, ..HashInfo::default() })
}

/// Whether other hashes can follow from the order of threads or from time.
pub(super) fn is_order(hashes: &HashInfo, exchange: Exchange) -> bool {
    match exchange {
        Exchange::Values => true,
        Exchange::Reductions => !hashes.differ[0],
        Exchange::None => false,
    }
}

/// What differs, in words.
pub(super) fn what_differs(hashes: &HashInfo) -> String {
    let names = ["decided", "loaded", "stored"];
    let differing: Vec<&str> =
        names.into_iter().zip(hashes.differ).filter_map(|(name, differs)| differs.then_some(name)).collect();
    format!("hashes of what all threads {} differ", differing.join(" and "))
}
