//! Insertions of the recorders.

pub(crate) mod coalesced;
pub(crate) mod event_site;
pub(crate) mod record;
pub(crate) mod reservation;
