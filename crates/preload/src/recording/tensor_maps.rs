//! The tensor maps that the program has encoded, by their bytes.
//!
//! # Invariants
//! At most [`MOST`] maps are kept; the oldest goes first.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use prlx_driver::tensor_map::{BYTES, TensorMap};

/// The most maps that are kept: a program that encodes more makes new ones for each launch.
const MOST: usize = 4096;

/// An encoded map, as it is passed to kernels.
type Encoded = [u8; BYTES];

/// All maps: the address of the tensor and the map, and the order in which they came.
#[derive(Default)]
struct Maps {
    by_bytes: BTreeMap<Encoded, (u64, TensorMap)>,
    order: VecDeque<Encoded>,
}

static MAPS: Mutex<Maps> = Mutex::new(Maps { by_bytes: BTreeMap::new(), order: VecDeque::new() });

/// Keeps a map that the driver has encoded over the tensor at `at`.
pub fn tensor_map_encoded(bytes: Encoded, at: u64, map: TensorMap) {
    let mut maps = MAPS.lock().unwrap_or_else(PoisonError::into_inner);
    if maps.by_bytes.insert(bytes, (at, map)).is_some() {
        return;
    }
    maps.order.push_back(bytes);
    if maps.order.len() > MOST
        && let Some(oldest) = maps.order.pop_front()
    {
        maps.by_bytes.remove(&oldest);
    }
}

/// The address of the tensor and the map that these bytes encode, if the program has encoded it.
pub(super) fn encoded_as(bytes: &[u8]) -> Option<(u64, TensorMap)> {
    let maps = MAPS.lock().unwrap_or_else(PoisonError::into_inner);
    maps.by_bytes.get(<&Encoded>::try_from(bytes).ok()?).cloned()
}
