//! Finds the PTX that an image was compiled from, and how certain that is.
//!
//! The driver takes one image of a fatbin ([`prlx_isa::image::choose`]). If that image is PTX, it is the
//! source. If it is machine code, the PTX is the first of: a PTX image of the fatbin for the same target; PTX
//! inside the machine code, where `-lineinfo` puts it; a PTX image for an earlier target. PTX inside machine
//! code has lost its comments; that of Triton is taken from [its cache](triton_cache) if it is there.
//!
//! # Invariants
//! - An image without readable PTX has a reason.
//! - Images are decompressed only when they are needed.
//!
//! # Limitations
//! Other PTX outside of the image, as in a file, is not found.

use prlx_driver::{assemble, triton_cache};
use prlx_isa::image::{self, Image, Kind, Target, cubin};
use prlx_trace::kernel::Fidelity;

/// The PTX of an image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    /// Text of the PTX.
    pub ptx: String,
    /// The target to assemble it for.
    pub target: Target,
    /// The options that it was assembled with, as far as they change code.
    pub options: Vec<String>,
    /// The machine code that would have run. `None` if the driver assembles the PTX.
    pub code: Option<Vec<u8>>,
    /// How certain it is that this is the source, before the proof.
    pub fidelity: Fidelity,
}

/// Finds the PTX of an image that is loaded on a device with target `device`.
///
/// # Errors
/// Why there is no PTX.
pub fn find(bytes: &[u8], device: Target) -> Result<Source, String> {
    let images = image::read(bytes).map_err(|e| e.to_string())?;
    let chosen = image::choose(&images, 0, device).ok_or("nothing in it runs on this device")?;
    if chosen.kind == Kind::Ptx {
        return text(chosen, device, None, Fidelity::Source);
    }
    let beside = |same: bool| {
        let fits = |i: &&Image<'_>| {
            i.module == chosen.module && i.kind == Kind::Ptx && i.target.assembles_for(device)
        };
        let all = images.iter().filter(fits).filter(|i| !same || i.target == chosen.target);
        all.max_by_key(|i| i.target.number)
    };
    let code = chosen.bytes().map_err(|e| e.to_string())?.into_owned();
    if let Some(image) = beside(true) {
        // Assembled for the target of the machine code, not of the device, so that the two can be compared.
        return text(image, chosen.target, Some(code), Fidelity::Unproven);
    }
    let inside = cubin::read(&code).map_err(|e| e.to_string())?;
    if let Some(ptx) = inside.ptx {
        let ptx = triton_cache::find(&inside.kernels, &ptx).unwrap_or(ptx);
        let (target, options) = (inside.target, assemble::code_options(&inside.options));
        return Ok(Source { ptx, target, options, code: Some(code), fidelity: Fidelity::Unproven });
    }
    match beside(false) {
        Some(image) => text(image, device, Some(code), Fidelity::LowerArch),
        None => Err("it holds machine code and no PTX".into()),
    }
}

/// The source from a PTX image.
fn text(
    image: &Image<'_>,
    device: Target,
    code: Option<Vec<u8>>,
    fidelity: Fidelity,
) -> Result<Source, String> {
    let ptx = image.ptx().map_err(|e| e.to_string())?.ok_or("it holds no PTX")?;
    let target =
        assemble::target(&ptx, device).map_err(|e| e.message)?.ok_or("its `.target` is not known")?;
    Ok(Source { ptx, target, options: assemble::code_options(&image.options), code, fidelity })
}

/// Whether two cubins have the same machine code: the same functions, byte for byte.
pub fn same_code(a: &[u8], b: &[u8]) -> bool {
    let code = |bytes| {
        let mut all = cubin::code(bytes).ok()?;
        all.sort_unstable();
        Some(all)
    };
    matches!((code(a), code(b)), (Some(a), Some(b)) if a == b && !a.is_empty())
}
