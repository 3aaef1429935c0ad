//! Results of comparisons, for lanes and warps that have the same paths as ones that were compared.

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::Hash;
use std::sync::{Arc, Mutex};

/// The largest number of results that are kept.
const MOST: usize = 1024;

/// Results by hashes of all that they follow from.
pub(crate) struct KnownLanes<K, T>(Mutex<HashMap<K, Arc<T>>>);

impl<K, T> Default for KnownLanes<K, T> {
    fn default() -> KnownLanes<K, T> {
        KnownLanes(Mutex::default())
    }
}

impl<K: Hash + Eq, T> KnownLanes<K, T> {
    /// As [`KnownLanes::get`], of a comparison that cannot fail.
    pub fn get_or_compute(&self, paths: K, compare: impl FnOnce() -> T) -> Arc<T> {
        let Ok(compared) = self.get(paths, || Ok::<T, Infallible>(compare()));
        compared
    }

    /// The result for these paths, or that of `compare`. Which thread computes it makes no difference.
    pub fn get<E>(&self, paths: K, compare: impl FnOnce() -> Result<T, E>) -> Result<Arc<T>, E> {
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
