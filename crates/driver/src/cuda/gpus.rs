//! Lists the CUDA driver and its devices, without creating a context.

use crate::cuda::calls::attribute;
use crate::cuda::library::modules::Device;
use crate::cuda::library::open::Library;
use crate::error::Error;
use crate::queue::Failure;

/// The installed CUDA driver and its devices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CudaInstallation {
    /// Newest CUDA version that the driver supports, for example `13.0`.
    pub version: String,
    /// Devices in the order of their ordinals.
    pub devices: Vec<Gpu>,
}

/// Properties of a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gpu {
    /// Name, for example `NVIDIA H200`.
    pub name: String,
    /// Compute capability: major, minor.
    pub capability: (u32, u32),
    /// Size of the memory in bytes.
    pub memory: u64,
    /// Number of lanes in a warp.
    pub warp_size: u32,
    /// Maximum shared memory of a CTA in bytes.
    pub shared: u32,
}

/// Finds the driver and its devices. Initialises the driver, but creates no context.
///
/// # Errors
/// If there is no driver, or it does not initialise.
pub fn installation() -> Result<CudaInstallation, Error> {
    let library = Library::open()?;
    let version = library.version().map_err(|e| e.during("the CUDA driver does not say its version"))?;
    let count = library.device_count().map_err(|e| e.during("the CUDA driver does not count its devices"))?;
    let devices = (0..count).map(|i| gpu(&library, i).map(|(_, gpu)| gpu)).collect::<Result<_, _>>();
    let devices = devices.map_err(|e| e.during("the CUDA driver does not describe its devices"))?;
    Ok(CudaInstallation { version: format!("{}.{}", version / 1000, version % 1000 / 10), devices })
}

pub(super) fn gpu(library: &Library, ordinal: u32) -> Result<(Device, Gpu), Failure> {
    let device = library.device(ordinal)?;
    let of = |attribute| library.attribute(device, attribute);
    let gpu = Gpu {
        name: library.device_name(device)?,
        capability: (of(attribute::MAJOR)?, of(attribute::MINOR)?),
        memory: library.device_memory(device)?,
        warp_size: of(attribute::WARP_SIZE)?,
        shared: of(attribute::MAX_SHARED_OPTIN)?,
    };
    Ok((device, gpu))
}
