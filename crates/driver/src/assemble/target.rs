//! The architecture that PTX is assembled for.
//!
//! # Invariants
//! PTX for `sm_90a` is assembled for `sm_90a`, PTX for `sm_100f` for its family. Other PTX is assembled for
//! the device's own architecture.

use prlx_isa::image::Target;

use crate::error::{Error, ErrorKind};

/// What PTX must be assembled for to run on a device; `None` if its `.target` says nothing that is known.
///
/// # Errors
/// When it can't be run there.
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

/// What a module's `.target` says.
pub(super) fn declared_target(ptx: &str) -> Option<Target> {
    let line = ptx.lines().find_map(|l| l.trim_start().strip_prefix(".target"))?;
    Target::parse(line.split([',', ' ', '\t', '/', '\r']).find(|w| !w.is_empty())?)
}
