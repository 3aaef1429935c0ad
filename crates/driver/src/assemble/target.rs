//! Chooses the architecture that PTX is assembled for.
//!
//! # Invariants
//! - PTX for an architecture with suffix `a` is assembled for exactly that one.
//! - PTX for an architecture with suffix `f` is assembled for the device's member of that family.
//! - Other PTX is assembled for the device's own architecture.

use prlx_isa::image::Target;

use crate::error::{Error, ErrorKind};

/// Returns the architecture to assemble `ptx` for, so that it runs on `device`; `None` if its `.target` is
/// not known.
///
/// # Errors
/// If the code cannot run on the device.
pub fn target(ptx: &str, device: Target) -> Result<Option<Target>, Error> {
    let Some(own) = declared_target(ptx) else { return Ok(None) };
    if !own.assembles_for(device) {
        let why = match own.suffix {
            Some('a') => "code for an architecture with `a` runs on that one alone",
            Some(_) => "code for an architecture with `f` runs on its family alone",
            None => "it is older",
        };
        let what = format!("the module is for {own} and can't run on this device, {device}: {why}");
        return Err(Error::new(ErrorKind::Module, what)
            .help("compile it for this device, or for an older architecture"));
    }
    Ok(Some(match own.suffix {
        None => device,
        Some('f') => Target { suffix: Some('f'), ..device },
        Some(_) => own,
    }))
}

/// Reads the `.target` of a module.
pub(super) fn declared_target(ptx: &str) -> Option<Target> {
    let line = ptx.lines().find_map(|l| l.trim_start().strip_prefix(".target"))?;
    Target::parse(line.split([',', ' ', '\t', '/', '\r']).find(|w| !w.is_empty())?)
}
