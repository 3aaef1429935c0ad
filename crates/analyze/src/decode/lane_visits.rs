//! All visits of one lane at once.

use prlx_trace::kernel::Module;
use prlx_trace::{Lane, Launch, SiteId, WarpStream};

use crate::error::Error;

use super::checked_module::CheckedModule;
use super::decoder::Decoder;
use super::path_item::{DecodeLimits, DecodeOutcome, PathItem};

/// All visits of one lane.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LaneVisits {
    /// Site and value (0 for sites that are not decisions), in execution order.
    pub visits: Vec<(SiteId, u64)>,
    /// Whether the recording reaches the lane's end.
    pub complete: bool,
}

/// Decodes one lane at once. For lanes that are too long for memory, use [`Decoder`].
///
/// # Errors
/// The module is malformed, or the recording contradicts it.
pub fn lane_visits(
    module: &Module,
    launch: &Launch,
    stream: &WarpStream,
    lane: Lane,
) -> Result<LaneVisits, Error> {
    let program = CheckedModule::new(module)?;
    let mut decoder = Decoder::new(&program, launch, stream, lane, DecodeLimits::default())?.flat();
    let mut visits = Vec::new();
    while let Some(item) = decoder.next()? {
        if let PathItem::Visit { site, value, .. } = item {
            visits.push((site, value));
        }
    }
    Ok(LaneVisits { visits, complete: decoder.outcome() == DecodeOutcome::Ended })
}
