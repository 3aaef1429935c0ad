//! Reads any bytes as a file of PRLX 0.x, and as the JSON beside one. The result is a value or an error,
//! never a panic or excessive memory.

use prlx_legacy::v1::{File, SessionEntry, SiteEntry, dump};

/// Runs the target on one input.
pub fn run(data: &[u8]) {
    if let Ok(file) = File::open(data) {
        let _ = dump(&mut std::io::sink(), &file);
    }
    if let Ok(entries) = serde_json::from_slice::<Vec<SessionEntry>>(data) {
        for place in entries.iter().filter_map(|e| e.places().ok()).flatten() {
            assert!(!place.starts_with('/') && !place.split('/').any(|p| p == ".."), "{place}");
        }
    }
    let _ = serde_json::from_slice::<Vec<SiteEntry>>(data);
}
