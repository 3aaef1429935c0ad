//! One lane's part of a warp's stream.

use prlx_trace::launch::Lanes;
use prlx_trace::{Lane, WarpId, WarpStream};

use crate::error::Error;

/// The words of one lane in a stream of level `path`; `None` at another level. A lane beyond the stream has
/// no words.
///
/// # Errors
/// The lane's end offsets are out of order or beyond the words.
pub fn lane_words(stream: &WarpStream, lane: Lane) -> Result<Option<&[u32]>, Error> {
    let Lanes::Path { words, ends } = &stream.lanes else { return Ok(None) };
    lane_part(words, ends, stream.warp, lane).map(Some)
}

/// The part of `all` that belongs to `lane`. `ends` holds each lane's end offset.
pub(crate) fn lane_part<'a, T>(
    all: &'a [T],
    ends: &[u32],
    warp: WarpId,
    lane: Lane,
) -> Result<&'a [T], Error> {
    let Some(&end) = ends.get(usize::from(lane.0)) else { return Ok(&[]) };
    let start = usize::from(lane.0).checked_sub(1).map_or(0, |l| ends[l]);
    all.get(start as usize..end as usize)
        .ok_or_else(|| Error::new(format!("{warp}, {lane}"), "its elements lie outside of the stream"))
}
