//! Flattens the nested spans of a track: at each time, the innermost region alone.
//!
//! # Invariants
//! The segments of a track adjoin, from its begin to its end. A segment without a span lies between regions.

use prlx_trace::Picos;

use crate::model::Track;

/// Time in one region, and in none inside of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Segment {
    pub begin: Picos,
    pub end: Picos,
    /// Which of [`Track::spans`].
    pub span: Option<u32>,
}

/// The segments of a track; those without length are there too, where a span has none.
pub(crate) fn segments(track: &Track) -> Vec<Segment> {
    let Some([begin, end]) = track.range() else { return Vec::new() };
    // Asynchronous work may end after its track.
    let end = track.life[1].unwrap_or_else(|| {
        let spans = track.spans.iter().filter(|s| !s.asynchronous).map(|s| s.end);
        spans.chain(track.moments.iter().map(|m| m.at)).max().unwrap_or(end)
    });
    let mut out: Vec<Segment> = Vec::with_capacity(track.spans.len() * 2);
    let mut now = begin;
    let mut open: Vec<(u32, Picos)> = Vec::new();
    let mut to = |out: &mut Vec<Segment>, at: Picos, span: Option<u32>, always: bool| {
        if at > now || always {
            out.push(Segment { begin: now, end: at.max(now), span });
        }
        now = now.max(at);
    };
    for (i, span) in (0u32..).zip(&track.spans).filter(|(_, s)| !s.asynchronous) {
        while open.len() > span.depth as usize {
            if let Some((inner, at)) = open.pop() {
                to(&mut out, at, Some(inner), false);
            }
        }
        to(&mut out, span.begin, open.last().map(|o| o.0), false);
        open.push((i, span.end));
    }
    while let Some((inner, at)) = open.pop() {
        to(&mut out, at, Some(inner), false);
    }
    to(&mut out, end, None, false);
    out
}
