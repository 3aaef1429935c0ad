//! Device memory of a recording, kept in a list so that it is freed on every way out.

use prlx_trace::device::tracks;

use crate::driver::{DevicePtr, Driver};
use crate::error::Error;

/// Allocations of the recorder: address and bytes of each.
#[derive(Default)]
pub(super) struct DeviceAllocations(pub(super) Vec<(DevicePtr, u64)>);

impl DeviceAllocations {
    pub(super) fn zeroed(&mut self, driver: &mut dyn Driver, bytes: u64, align: u64) -> Result<u64, Error> {
        let at = driver.alloc(bytes.max(1), align);
        self.take(driver, bytes, at)
    }
    /// Zeroes an allocation and adds it to the list.
    fn take(
        &mut self,
        driver: &mut dyn Driver,
        bytes: u64,
        at: Result<DevicePtr, Error>,
    ) -> Result<u64, Error> {
        let none = |e: Error| Error {
            message: format!("no room for the recording, {bytes} bytes: {}", e.message),
            ..e
        };
        let at = at.map_err(none)?;
        self.0.push((at, bytes.max(1)));
        driver.fill(at, bytes.max(1), 0)?;
        Ok(at.0)
    }
    /// Allocates zeroed memory for the regions of tracks, at a place where their 32-bit cursors do not wrap.
    /// Rings get memory that the host can read while a kernel hangs.
    pub(super) fn regions(
        &mut self,
        driver: &mut dyn Driver,
        bytes: u64,
        align: u64,
        ring: bool,
    ) -> Result<u64, Error> {
        let get = |held: &mut DeviceAllocations, driver: &mut dyn Driver, bytes: u64| {
            let at = if ring {
                driver.alloc_host_mapped(bytes.max(1), align)
            } else {
                driver.alloc(bytes.max(1), align)
            };
            held.take(driver, bytes, at)
        };
        let at = get(self, driver, bytes)?;
        if tracks::fits(at, bytes) {
            return Ok(at);
        }
        // One half of a range of twice the size never crosses a 4 GiB boundary.
        let last = self.0.pop().map_or(Ok(()), |(at, _)| driver.free(at));
        let at = last.and_then(|()| get(self, driver, 2 * bytes + tracks::BEYOND))?;
        Ok(if tracks::fits(at, bytes) { at } else { at.next_multiple_of(1 << 32) })
    }
    pub(super) fn release(&mut self, driver: &mut dyn Driver) -> Result<(), Error> {
        self.0.drain(..).rev().map(|(at, _)| driver.free(at)).fold(Ok(()), Result::and)
    }
}
