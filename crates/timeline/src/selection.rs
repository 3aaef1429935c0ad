//! Selects part of a timeline: by SM, CTA, role and time.
//!
//! # Invariants
//! Notes count everything that was dropped. Spans across the edge of the time window stay whole, and so do
//! the spans around those that stay.

use prlx_trace::{Picos, SignedPicos};

use crate::model::{Role, Timeline, Track};

/// The part of a timeline to keep. Empty lists keep everything.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Selection {
    /// Multiprocessors: first, and end.
    pub sms: Vec<(u64, u64)>,
    /// CTAs by linear index: first, and one past the last.
    pub ctas: Vec<(u64, u64)>,
    /// Groups, or warps where no groups are known.
    pub groups: Vec<(u64, u64)>,
    /// The begin of the time window.
    pub from: Option<Picos>,
    /// The end of the time window, which belongs to it.
    pub to: Option<Picos>,
}

impl Selection {
    /// Drops everything else from a timeline, and adds notes with the numbers of dropped items.
    pub fn apply(&self, timeline: &mut Timeline) {
        if *self == Selection::default() {
            return;
        }
        let has = |list: &[(u64, u64)], n: Option<u64>| {
            list.is_empty() || n.is_some_and(|n| list.iter().any(|(first, end)| (*first..*end).contains(&n)))
        };
        let (mut tracks, mut spans, mut moments) = (0, 0, 0);
        timeline.tracks.retain_mut(|t| {
            let group = match t.role() {
                Role::None => None,
                Role::Group(n) | Role::Warp(n) => Some(u64::from(n)),
            };
            let keep = has(&self.sms, t.sm.map(u64::from))
                && has(&self.ctas, Some(t.cta))
                && has(&self.groups, group);
            if !keep {
                tracks += 1;
                spans += t.spans.len() as u64;
                moments += t.moments.len() as u64;
                return false;
            }
            let (s, m) = self.window(t);
            spans += s;
            moments += m;
            true
        });
        let from = self.from.map_or(SignedPicos::MIN, SignedPicos::from);
        let to = self.to.map_or(SignedPicos::MAX, SignedPicos::from);
        let before = timeline.host.calls.len();
        timeline
            .host
            .calls
            .retain(|c| c.at() <= to && c.ran.map_or(c.at(), |[_, end]| end.max(c.at())) >= from);
        let calls = (before - timeline.host.calls.len()) as u64;
        timeline.note("cut", calls, "launch calls were left out, as asked for");
        timeline.note("cut", tracks, "tracks were left out, as asked for");
        timeline.note("cut", spans, "spans were left out, as asked for");
        timeline.note("cut", moments, "moments were left out, as asked for");
    }

    fn window(&self, track: &mut Track) -> (u64, u64) {
        let (from, to) = (self.from.unwrap_or_default(), self.to.unwrap_or(Picos::MAX));
        let before = (track.spans.len() as u64, track.moments.len() as u64);
        track.spans.retain(|s| s.begin <= to && s.end >= from);
        track.moments.retain(|m| (from..=to).contains(&m.at));
        (before.0 - track.spans.len() as u64, before.1 - track.moments.len() as u64)
    }
}
