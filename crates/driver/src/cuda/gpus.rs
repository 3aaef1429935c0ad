//! Lists the CUDA driver and its devices, without creating a context.

use crate::cuda::calls::attribute;
use crate::cuda::library::failure::Failure;
use crate::cuda::library::handles::Device;
use crate::cuda::library::open::Library;
use crate::error::Error;

/// What there is of CUDA here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CudaInstallation {
    /// The newest CUDA that the driver knows, as `13.0`.
    pub version: String,
    /// Its devices, in order.
    pub devices: Vec<Gpu>,
}

/// A device, as it says of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gpu {
    /// Name, as `NVIDIA H200`.
    pub name: String,
    /// Compute capability: (9, 0).
    pub capability: (u32, u32),
    /// Bytes of memory.
    pub memory: u64,
    /// Lanes in a warp.
    pub warp_size: u32,
    /// Most shared memory of a CTA, bytes.
    pub shared: u32,
}

/// Looks for the driver and its devices. It starts the driver, but makes no context.
///
/// # Errors
/// When there is no driver, or it does not start.
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
