//! Matches the launches of two sessions.
//!
//! # Invariants
//! Launches match as those of current recordings do ([`prlx_analyze::launch_match`]). Files are read only if
//! it is unclear which of several launches of a kernel is the extra one.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::v1::{File, Flags, SessionEntry, Warp};

use prlx_analyze::Error;
use prlx_analyze::launch_match::{self as current_match, LaunchKey};
use prlx_analyze::report::UnmatchedLaunch;

use super::parallel::BATCH;

/// A digest of a launch's shape and events.
///
/// # Errors
/// When a packed file is damaged.
pub fn digest(file: &File<'_>) -> Result<u64, Error> {
    let mut hash = DefaultHasher::new();
    let header = &file.header;
    (header.grid, header.block, header.warps).hash(&mut hash);
    let mut cursor = file.cursor()?;
    let stride = file.layout.events.stride.max(1);
    let step = (BATCH / stride).clamp(1, 4096) as u32;
    for start in (0..header.warps).step_by(step as usize) {
        let bytes = cursor.events(start..header.warps.min(start.saturating_add(step)))?;
        for part in bytes.chunks(stride as usize) {
            let warp = Warp::new(part, header.flags.has(Flags::COMPACT));
            (warp.lost(), warp.events()).hash(&mut hash);
        }
    }
    Ok(hash.finish())
}

/// Pairs launches: indices into both sessions, and those without a partner. `digest` gives that of a side's
/// launch, by index.
///
/// # Errors
/// Those of `digest`.
pub fn pair<E>(
    sides: [&[SessionEntry]; 2],
    mut digest: impl FnMut(usize, usize) -> Result<u64, E>,
) -> Result<(Vec<[usize; 2]>, Vec<UnmatchedLaunch>), E> {
    // By kernel: its number, and how many launches each side has of it.
    let mut kernels: BTreeMap<&str, (u64, [u64; 2])> = BTreeMap::new();
    for (side, e) in sides.iter().enumerate().flat_map(|(side, all)| all.iter().map(move |e| (side, e))) {
        let number = kernels.len() as u64;
        kernels.entry(&e.kernel).or_insert((number, [0; 2])).1[side] += 1;
    }
    let mut items = [Vec::new(), Vec::new()];
    for (side, items) in items.iter_mut().enumerate() {
        for (i, e) in sides[side].iter().enumerate() {
            let (kernel, [a, b]) = kernels[e.kernel.as_str()];
            let open = a != b && a > 0 && b > 0;
            items.push(LaunchKey { kernel, dimensions: 0, digest: if open { digest(side, i)? } else { 0 } });
        }
    }
    let pairs = current_match::match_launches(&items[0], &items[1]);
    let mut alone = Vec::new();
    for (side, entries) in sides.into_iter().enumerate() {
        let mut partner = vec![false; entries.len()];
        pairs.iter().for_each(|p| partner[[p.0, p.1][side]] = true);
        let left = entries.iter().zip(partner).filter(|(_, has)| !has);
        alone.extend(left.map(|(e, _)| UnmatchedLaunch {
            process: 0,
            side: side as u8,
            launch: e.launch.into(),
            kernel: e.kernel.clone(),
            ..UnmatchedLaunch::default()
        }));
    }
    Ok((pairs.into_iter().map(|(i, j)| [i, j]).collect(), alone))
}
