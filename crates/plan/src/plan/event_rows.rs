//! How events of one place share a header.

use prlx_isa::view::Operand;
use prlx_trace::device::{Follow, Followers};
use prlx_trace::kernel::SiteClass;

use super::Plan;
use super::insertion::{Action, Insertion};

/// An event that is written in full, and what follows it in the next row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EventRow<'p> {
    /// The event.
    pub first: &'p Insertion,
    /// How many of the events behind it follow with their values alone.
    pub more: Option<Followers>,
}

impl Plan {
    /// Insertions, in order, by what is done at once: plain events of one place for the same lanes have one head, which finds
    /// their leader and room for all of them. (A switch's have many leaders.)
    pub fn event_groups<'i, 'p>(
        &self,
        here: &'i [&'p Insertion],
    ) -> impl Iterator<Item = &'i [&'p Insertion]> {
        let plain = |i: &Insertion| match i.action {
            Action::Event { site, .. } => {
                self.module.sites.get(site.index()).is_none_or(|s| s.class != SiteClass::Switch)
            }
            _ => false,
        };
        let alike =
            move |a: &&Insertion, b: &&Insertion| (a.at, a.guard) == (b.at, b.guard) && plain(a) && plain(b);
        here.chunk_by(alike).flat_map(|c| c.chunks(Self::HEAD))
    }
    /// Most events under one head.
    pub const HEAD: usize = 8;
    /// The events under one head, as they are written: of those whose sites follow each other, only the first's in full if the others are of lanes
    /// that it knows.
    pub fn event_rows<'p>(mut piece: &[&'p Insertion]) -> Vec<EventRow<'p>> {
        let event = |i: &Insertion| match &i.action {
            Action::Event { site, of, value, .. } => Some((site.0, *of, value.clone())),
            _ => None,
        };
        let mut rows = Vec::new();
        while let Some((first, rest)) = piece.split_first() {
            let lanes = |i: &Insertion, nth: usize| {
                let ((site, of, value), (own, own_of, _)) = (event(first)?, event(i)?);
                match own_of {
                    _ if own != site + 1 + nth as u32 => None,
                    same if same == of => Some(Follow::All),
                    Some(g) if of.is_none() && value == Some(Operand::Reg(g.reg)) => {
                        Some(if g.negate { Follow::Without } else { Follow::With })
                    }
                    _ => None,
                }
            };
            let lanes: Vec<Option<Follow>> = rest.iter().enumerate().map(|(n, i)| lanes(i, n)).collect();
            let more = lanes.first().copied().flatten();
            let count =
                lanes.iter().take(Followers::MOST).take_while(|l| more.is_some() && **l == more).count();
            // Vectors of three there are not.
            let count = if count == 3 { 2 } else { count };
            rows.push(EventRow { first, more: more.map(|lanes| Followers { count: count as u32, lanes }) });
            piece = &rest[count..];
        }
        rows
    }
}
