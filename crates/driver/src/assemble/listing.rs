//! Disassembles the machine code of PTX with NVIDIA's `nvdisasm`, with the PTX line of each instruction.
//!
//! # Limitations
//! Only code that `ptxas` assembled has these lines; nvJitLink drops them.

use std::path::Path;
use std::process::{Command, Stdio};

use prlx_isa::image::Target;

use crate::assemble::assemblers::Assemblers;
use crate::assemble::search::{find_program, path_from_variable};
use crate::assemble::target::{declared_target, target};
use crate::assemble::tool::AssembleError;
use crate::temporary::temporary_folder;

/// Environment variable: path of the `nvdisasm` to use.
pub const NVDISASM: &str = "PRLX_NVDISASM";

/// Returns a listing of `ptx`, assembled for `device` or, without one, for its own `.target`.
///
/// # Errors
/// If a tool is missing or fails. The text says which.
pub fn listing(ptx: &str, device: Option<Target>) -> Result<String, String> {
    let target = match device {
        Some(device) => target(ptx, device).map_err(|e| e.to_string())?,
        None => declared_target(ptx),
    };
    let target = target.ok_or("its `.target` is not known")?;
    let nvdisasm = path_from_variable(NVDISASM).or_else(|| find_program("nvdisasm"));
    let nvdisasm = nvdisasm
        .ok_or_else(|| format!("there is no nvdisasm (on PATH, in CUDA_HOME/bin, or named by {NVDISASM})"))?;
    let mut assemblers = Assemblers::find();
    assemblers.tools.retain(|t| t.version().starts_with("ptxas"));
    let ptxas = assemblers
        .tools
        .first()
        .ok_or("there is no ptxas (on PATH, in CUDA_HOME/bin, or named by PRLX_PTXAS)")?;
    let code = assemblers.assemble(ptxas, ptx, target, &[]).map_err(|e| match e {
        AssembleError::Unsuitable(why) => why,
        AssembleError::InvalidCode(e) => e.to_string(),
    })?;
    run(&nvdisasm, &code).map_err(|e| format!("{}: {e}", nvdisasm.display()))
}

fn run(nvdisasm: &Path, code: &[u8]) -> Result<String, String> {
    let inside = || -> std::io::Result<_> {
        let folder = temporary_folder()?;
        let file = folder.path().join("kernel.cubin");
        std::fs::write(&file, code)?;
        Command::new(nvdisasm)
            .args(["-c", "-gp"])
            .arg(&file)
            .env_remove("LD_PRELOAD")
            .stdin(Stdio::null())
            .output()
    };
    let out = inside().map_err(|e| e.to_string())?;
    if !out.status.success() {
        return Err(format!("{}: {}", out.status, String::from_utf8_lossy(&out.stderr).trim_end()));
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::run;
    use crate::temporary::tests::among_prepared_links;

    #[test]
    fn prepared_links_are_not_followed() {
        // `echo` stands in for the disassembler and prints its arguments.
        let text = among_prepared_links(|| run(Path::new("/bin/echo"), b"the code")).unwrap();
        assert!(text.starts_with("-c -gp ") && text.trim_end().ends_with("/kernel.cubin"), "{text}");
    }
}
