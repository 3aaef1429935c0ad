//! What differs in lanes that were compared, for lanes of other warps that have the same paths.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::align::difference::LaneDiff;
use crate::decode::VisitCounts;

/// The largest number of lanes that are kept.
const MOST: usize = 1024;

/// What differs in a lane, and the visits of both sides.
pub(super) type Compared = (LaneDiff, [VisitCounts; 2]);

/// A hash of a lane's paths on both sides, and how many steps its decoder may take.
pub(super) type Paths = (u64, u64);

/// Results by the paths of the lane.
#[derive(Default)]
pub(crate) struct KnownLanes(Mutex<HashMap<Paths, Arc<Compared>>>);

impl KnownLanes {
    /// The result for these paths, or that of `compare`. Which thread computes it makes no difference.
    pub fn get<E>(
        &self,
        paths: Paths,
        compare: impl FnOnce() -> Result<Compared, E>,
    ) -> Result<Arc<Compared>, E> {
        let known = self.0.lock().map(|known| known.get(&paths).cloned());
        if let Ok(Some(compared)) = known {
            return Ok(compared);
        }
        let compared = Arc::new(compare()?);
        if let Ok(mut known) = self.0.lock()
            && known.len() < MOST
        {
            known.insert(paths, compared.clone());
        }
        Ok(compared)
    }
}
