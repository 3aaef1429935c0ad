//! A map of Neutrino's file: the records that its probes save.

/// `[map.NAME]`
#[derive(Debug)]
pub(super) struct Map {
    pub name: String,
    pub of_warp: bool,
    /// Name of each field, and whether it has 64 bits instead of 32.
    pub fields: Vec<(String, bool)>,
    /// Capacity in records; `None` if it is `dynamic`.
    pub keep: Option<u32>,
}
