//! A map of Neutrino's file: the records that its probes save.

/// `[map.NAME]`
#[derive(Debug)]
pub(super) struct Map {
    pub name: String,
    pub of_warp: bool,
    /// Names, and whether they have 64 bits; else 32.
    pub fields: Vec<(String, bool)>,
    /// How many records there is room for; none if it is `dynamic`.
    pub keep: Option<u32>,
}
