//! Any bytes as a version 1 file of PRLX, or as the JSON beside one: an error or a value, never a panic,
//! never much memory.

use prlx_legacy::v1::{File, SessionEntry, SiteEntry, dump};

/// Runs it.
pub fn run(data: &[u8]) {
    if let Ok(file) = File::open(data) {
        let _ = dump(&mut std::io::sink(), &file, None);
    }
    if let Ok(entries) = serde_json::from_slice::<Vec<SessionEntry>>(data) {
        for place in entries.iter().filter_map(|e| e.places().ok()).flatten() {
            assert!(!place.starts_with('/') && !place.split('/').any(|p| p == ".."), "{place}");
        }
    }
    let _ = serde_json::from_slice::<Vec<SiteEntry>>(data);
}
