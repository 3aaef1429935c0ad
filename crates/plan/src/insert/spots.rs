//! Insertions of a function while a plan is made, by place.

use std::collections::BTreeMap;
use std::ops::Range;

use prlx_isa::view::{self, BlockId};

use crate::function::body::Body;
use crate::plan::{Action, At, Insertion};

/// Insertions by place, in the order of the text; at one place in their order.
#[derive(Default)]
pub(crate) struct Spots(BTreeMap<(u32, u8), Vec<Insertion>>);

impl Spots {
    /// Adds `action` behind what is at `at`.
    pub fn push(&mut self, at: At, guard: Option<view::Guard>, action: Action) {
        self.0.entry(at.order()).or_default().push(Insertion { at, guard, action });
    }
    /// Puts `action` before what is at `at`, unless it stands there already.
    pub fn first(&mut self, at: At, action: Action) {
        if self.at(at).first().is_none_or(|i| i.action != action) {
            self.insert(at, 0, action);
        }
    }
    /// Adds `action` as number `index` of those at `at`.
    pub fn insert(&mut self, at: At, index: usize, action: Action) {
        self.0.entry(at.order()).or_default().insert(index, Insertion { at, guard: None, action });
    }
    /// What is at `at`, in order.
    pub fn at(&self, at: At) -> &[Insertion] {
        self.0.get(&at.order()).map_or(&[], Vec::as_slice)
    }
    /// All of them, in order.
    pub fn into_list(self) -> Vec<Insertion> {
        self.0.into_values().flatten().collect()
    }
    /// From such a list.
    pub fn of(list: &[Insertion]) -> Spots {
        let mut spots = Spots::default();
        for i in list {
            spots.push(i.at, i.guard, i.action.clone());
        }
        spots
    }
    /// What runs in `part`, in order.
    pub fn run<'s>(
        &'s self,
        body: &Body<'_>,
        part: BlockId,
    ) -> impl DoubleEndedIterator<Item = &'s Insertion> + 's {
        self.0.range(keys(body, part)).flat_map(|(_, list)| list)
    }
    /// The lists of what runs in `part`, in order.
    pub fn run_mut<'s>(
        &'s mut self,
        body: &Body<'_>,
        part: BlockId,
    ) -> impl DoubleEndedIterator<Item = &'s mut Vec<Insertion>> + 's {
        self.0.range_mut(keys(body, part)).map(|(_, list)| list)
    }
    /// The list at `at`.
    pub fn at_mut(&mut self, at: At) -> Option<&mut Vec<Insertion>> {
        self.0.get_mut(&at.order())
    }
    /// All of them, in order.
    pub fn all(&self) -> impl Iterator<Item = &Insertion> {
        self.0.values().flatten()
    }
}

/// The keys of what runs in `part`. The entry's own key comes first of all and is in no part.
fn keys(body: &Body<'_>, part: BlockId) -> Range<(u32, u8)> {
    let insts = &body.parts[part.index()].insts;
    (insts.start, 1)..(insts.end.max(insts.start), 1)
}
