//! The two launches that are compared: their files, the tables of their sites, and the shape of their grid.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use prlx_trace::{Dim3, Launch, WarpId, WarpSize};

use crate::v1::{File, Flags, SiteEntry};

/// The sites of a recording by id: their places in the source.
#[derive(Clone, Default, Debug)]
pub struct SiteTable {
    rows: BTreeMap<u32, SiteEntry>,
    /// By low half, for compact events; `None` where several share it.
    halves: BTreeMap<u16, Option<u32>>,
}

impl SiteTable {
    /// A table of these rows; of rows with the same id, the first.
    pub fn new(rows: Vec<SiteEntry>) -> SiteTable {
        let mut table = SiteTable::default();
        for row in rows {
            let id = row.site_id;
            if table.rows.contains_key(&id) {
                continue;
            }
            table.halves.entry(id as u16).and_modify(|h| *h = None).or_insert(Some(id));
            table.rows.insert(id, row);
        }
        table
    }
    /// With the rows of `other` for ids that it does not have.
    pub fn and(&self, other: &SiteTable) -> SiteTable {
        SiteTable::new(self.rows.values().chain(other.rows.values()).cloned().collect())
    }
    /// Number of sites.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }
    pub(super) fn row(&self, id: u32) -> Option<&SiteEntry> {
        self.rows.get(&id).or_else(|| {
            let half = self.halves.get(&u16::try_from(id).ok()?)?;
            self.rows.get(half.as_ref()?)
        })
    }
    /// Whether both tables know places, and none has the same id in both.
    pub fn apart(&self, other: &SiteTable) -> bool {
        !self.rows.is_empty()
            && !other.rows.is_empty()
            && self.rows.keys().all(|id| !other.rows.contains_key(id))
    }
    /// Which of this table's ids is which of `other`'s: those of the same place and kind; files that were
    /// compiled in another folder go by their last names, where only one place can be meant.
    pub fn to(&self, other: &SiteTable) -> HashMap<u32, u32> {
        let place = |r: &SiteEntry, whole: bool| {
            let file = if whole {
                &r.filename[..]
            } else {
                r.filename.rsplit(['/', '\\']).next().unwrap_or_default()
            };
            let ordinal = if r.line == 0 { r.ordinal } else { 0 };
            (file.to_owned(), r.function.clone(), r.line, r.column, r.event_type, ordinal)
        };
        let theirs: BTreeMap<_, u32> = other.rows.iter().rev().map(|(id, r)| (place(r, true), *id)).collect();
        let ids = self.rows.iter().filter_map(|(id, r)| Some((*id, *theirs.get(&place(r, true))?)));
        let mut ids: HashMap<u32, u32> = ids.collect();
        let taken: BTreeSet<u32> = ids.values().copied().collect();
        let mut left: BTreeMap<_, [Vec<u32>; 2]> = BTreeMap::new();
        for (id, r) in self.rows.iter().filter(|(id, _)| !ids.contains_key(id)) {
            left.entry(place(r, false)).or_default()[0].push(*id);
        }
        for (id, r) in other.rows.iter().filter(|(id, _)| !taken.contains(id)) {
            left.entry(place(r, false)).or_default()[1].push(*id);
        }
        ids.extend(left.values().filter_map(|both| match both.each_ref().map(|ids| &ids[..]) {
            [[mine], [other]] => Some((*mine, *other)),
            _ => None,
        }));
        ids.retain(|mine, other| mine != other);
        ids
    }
}

/// One of the two launches to compare: its file, its sites, and how its site numbers map to the other side.
pub struct Input<'a> {
    /// The file of the launch, in version 1 of the format.
    pub file: &'a File<'a>,
    /// The sites of the recording.
    pub sites: &'a SiteTable,
    /// Site numbers of this side that differ on the other side, with the number there.
    pub renamed: &'a HashMap<u32, u32>,
    /// Called with ranges of the file that are no longer needed, so that their pages can be released.
    pub done: &'a (dyn Fn(Range<u64>) + Sync),
}

impl Input<'_> {
    pub(super) fn site(&self, id: u32) -> u32 {
        let id = if self.compact() { u32::from(id as u16) } else { id };
        self.renamed.get(&id).copied().unwrap_or(id)
    }
    pub(super) fn compact(&self) -> bool {
        self.file.header.flags.has(Flags::COMPACT)
    }
}

/// How the warps of a launch divide into CTAs.
pub(super) struct LaunchShape {
    pub grid: Dim3,
    /// Gives the lanes of each warp. `None`: every warp counts as full.
    launch: Option<Launch>,
    per_cta: u64,
}

impl LaunchShape {
    pub fn new(file: &File<'_>, warps: u32) -> LaunchShape {
        let h = &file.header;
        let launch = Launch { grid: h.grid, block: h.block, warp_size: WarpSize::W32, ..Launch::default() };
        let fits = launch.warps() == u64::from(warps);
        let per_cta = if fits { launch.warps_per_cta() } else { h.warps_per_block.into() };
        LaunchShape { grid: h.grid, launch: fits.then_some(launch), per_cta: per_cta.max(1) }
    }
    pub fn place(&self, warp: u32) -> (u64, u64) {
        (u64::from(warp) / self.per_cta, u64::from(warp) % self.per_cta)
    }
    pub fn lanes(&self, warp: u32) -> u64 {
        self.launch.as_ref().map_or(32, |l| u64::from(l.lanes(WarpId(warp.into())).count()))
    }
}
