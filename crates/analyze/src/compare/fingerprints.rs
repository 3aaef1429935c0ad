//! Compares two warps recorded at level `fingerprint`: running hashes with checkpoints.

use std::collections::BTreeMap;

use prlx_trace::launch::{Lanes, warp_hashes};
use prlx_trace::{Lane, LaneMask, WarpStream};

use crate::align::difference::{Difference, LaneFinding};
use crate::decode::lane_part;
use crate::report::{FindingKind, HashInfo};

use super::context::Context;
use super::warp_diff::{LaneOutcome, WarpDiff};

/// The final hashes of a warp, by side.
enum FinalHashes<'a> {
    /// One entry for each lane; zero if the lane never ended.
    Lanes([&'a [[u64; 4]]; 2]),
    /// Which hashes of the whole warp differ, and one signature byte for each lane.
    Warp { differ: [bool; 4], any: bool, signatures: [&'a [[u64; 4]]; 2] },
}

impl<'a> FinalHashes<'a> {
    fn of(a: &'a [[u64; 4]], b: &'a [[u64; 4]], lanes: LaneMask) -> FinalHashes<'a> {
        let Some(((wa, sa), (wb, sb))) = warp_hashes(a).zip(warp_hashes(b)) else {
            return FinalHashes::Lanes([a, b]);
        };
        let of = |lane: Lane| [sa, sb].map(|s| signature(s, lane));
        let mut differ = std::array::from_fn(|i| wa[i] != wb[i]);
        if lanes.lanes().any(|l| of(l).contains(&0) && of(l) != [0, 0]) {
            // Some lanes ended on one side only: only signatures can be compared.
            differ = [false; 4];
        }
        // Signatures show which lanes differ. If none does, any lane may.
        let shown = lanes.lanes().any(|l| of(l)[0] != of(l)[1]);
        FinalHashes::Warp { differ, any: !shown, signatures: [sa, sb] }
    }

    /// Which hashes of a lane differ: control, loads, stores, synchronisation. `None` if the lane did not end
    /// on both sides.
    fn lane(&self, lane: Lane) -> Option<[bool; 4]> {
        match self {
            FinalHashes::Lanes(sides) => {
                let [p, q] = sides.map(|h| h.get(usize::from(lane.0)).filter(|h| **h != [0; 4]));
                let (p, q) = p.zip(q)?;
                Some(std::array::from_fn(|i| p[i] != q[i]))
            }
            FinalHashes::Warp { differ, any, signatures } => {
                let [p, q] = signatures.map(|s| signature(s, lane));
                // A signature that differs without a hash stands for control.
                let some = if *differ == [false; 4] { [true, false, false, false] } else { *differ };
                match (p, q) {
                    (0, _) | (_, 0) => None,
                    _ if p != q => Some(some),
                    _ if *any => Some(*differ),
                    _ => Some([false; 4]),
                }
            }
        }
    }
}

/// The signature byte of a lane.
fn signature(signatures: &[[u64; 4]], lane: Lane) -> u8 {
    let word = signatures.as_flattened().get(usize::from(lane.0 / 8)).copied().unwrap_or_default();
    (word >> (lane.0 % 8 * 8)) as u8
}

pub(super) fn fingerprints(
    cx: &Context<'_>,
    a: &WarpStream,
    b: &WarpStream,
    lanes: LaneMask,
    out: &mut WarpDiff,
) {
    let (
        Lanes::Fingerprint { checkpoints: ca, ends: ea, hashes: ha },
        Lanes::Fingerprint { checkpoints: cb, ends: eb, hashes: hb },
    ) = (&a.lanes, &b.lanes)
    else {
        return;
    };
    let finals = FinalHashes::of(ha, hb, lanes);
    for lane in lanes.lanes() {
        let parts = (lane_part(ca, ea, a.warp, lane), lane_part(cb, eb, b.warp, lane));
        let (x, y) = match parts {
            (Ok(x), Ok(y)) => (x, y),
            (Err(e), _) | (_, Err(e)) => {
                out.fail(&e);
                continue;
            }
        };
        let differ = finals.lane(lane);
        let ended = differ.is_some();
        let differ = differ.unwrap_or_default();
        // Checkpoints are lost at the end only, so common ones compare. Once two running hashes differ, they
        // stay different.
        let both = x.len().min(y.len());
        let equal = (x[..both] != y[..both]).then(|| {
            let (mut low, mut high) = (0, both);
            while low < high {
                let mid = (low + high) / 2;
                if x[mid] == y[mid] { low = mid + 1 } else { high = mid }
            }
            low
        });
        let agree = equal.is_none() && differ == [false; 4];
        // Hashes do not cover computed decisions. If their inputs may differ, equal hashes prove nothing.
        let compared = ended && (cx.equal_words_suffice || !agree);
        out.count(if compared { LaneOutcome::Compared } else { LaneOutcome::Truncated });
        if agree {
            continue;
        }
        let kind = if differ[0] || !ended { FindingKind::Branch } else { FindingKind::Value };
        let bits = differ.iter().enumerate().fold(0, |n, (i, d)| n | u8::from(*d) << i);
        let difference =
            Difference { position: equal.map_or(u64::MAX >> 1, |c| c as u64), ..Difference::new(kind) };
        let found = LaneFinding { first: difference, count: 1, ways: [0; 2], follows: [0; 2], root: true };
        out.add(lane, BTreeMap::from([((kind, u32::MAX, bits), found)]));
        let info = HashInfo {
            differ,
            checkpoint: equal.map(|c| c as u64),
            checkpoints: [x.len() as u64, y.len() as u64],
        };
        if let Some(f) = out.found.get_mut(&(kind, u32::MAX, bits)) {
            // Keep the checkpoint of the earliest lane.
            let earlier = f
                .hashes
                .as_ref()
                .is_none_or(|h| info.checkpoint.unwrap_or(u64::MAX) < h.checkpoint.unwrap_or(u64::MAX));
            if earlier {
                f.hashes = Some(info);
            }
        }
    }
}
