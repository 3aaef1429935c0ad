//! Insertions of the recorders.

pub(crate) mod coalesced;
pub(crate) mod event_site;
pub(crate) mod record;
pub(crate) mod reservation;
pub(crate) mod spots;
pub(crate) mod word;
