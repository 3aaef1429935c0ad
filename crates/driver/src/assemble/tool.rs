//! One assembler, `ptxas` or nvJitLink: runs it and interprets its errors.
//!
//! Every run has the same options: the architecture, and `-lineinfo`. The latter changes no code and keeps
//! source lines in the cubin (with `ptxas`, the PTX as well). A `ptxas` that can divides the functions of a
//! module among the processors, which changes no code either.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use prlx_isa::image::Target;

use crate::assemble::jitlink;
use crate::error::{Error, ErrorKind};
use crate::temporary::temporary_folder;

/// Options for every assembler, besides the architecture.
pub(super) const OPTIONS: &[&str] = &["-lineinfo"];

/// Messages with which an assembler rejects the architecture or PTX version instead of the code.
const UNSUITABLE: &[&str] = &[
    "is not defined for option 'gpu-name'",
    "Unsupported .version",
    "does not support .target",
    "Unsupported architecture",
    "unsupported toolchain",
];

/// Why PTX was not assembled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AssembleError {
    /// This assembler does not support the architecture or PTX version, or it cannot be run. Another one may
    /// work.
    Unsuitable(String),
    /// The code is invalid.
    InvalidCode(Error),
}

/// An installed assembler.
pub struct Assembler {
    tool: Tool,
    /// Name and version, as the tool prints them.
    pub(super) version: String,
}

enum Tool {
    Ptxas(Ptxas),
    JitLink(jitlink::Library),
}

struct Ptxas {
    path: PathBuf,
    /// Whether it knows [`PARALLEL`], once it was asked.
    parallel: OnceLock<bool>,
}

/// Option of `ptxas` for as many threads as there are processors.
const PARALLEL: [&str; 2] = ["--split-compile", "0"];

impl std::fmt::Debug for Assembler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.version)
    }
}

impl Assembler {
    /// Uses the `ptxas` at `path`; `None` if it does not start.
    pub fn ptxas(path: &Path) -> Option<Assembler> {
        let out = Command::new(path)
            .arg("--version")
            .env_remove("LD_PRELOAD")
            .stdin(Stdio::null())
            .output()
            .ok()?;
        let output = String::from_utf8_lossy(&out.stdout).into_owned();
        // The last line has the build: "Build cuda_13.0.r13.0/compiler.36424714_0".
        let version = output.lines().rev().map(str::trim).find(|l| !l.is_empty()).unwrap_or_default();
        let version = format!("ptxas {version}");
        let ptxas = Ptxas { path: path.to_owned(), parallel: OnceLock::new() };
        out.status.success().then(|| Assembler { tool: Tool::Ptxas(ptxas), version })
    }

    /// Uses the nvJitLink library with that name or path; `None` if it cannot be loaded.
    pub fn jit_link(path: &Path) -> Option<Assembler> {
        let (library, (major, minor)) = jitlink::Library::open(path)?;
        Some(Assembler { tool: Tool::JitLink(library), version: format!("nvJitLink {major}.{minor}") })
    }

    /// Name and version of the assembler.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Assembles `ptx` for `target` with additional options.
    ///
    /// # Errors
    /// See [`AssembleError`].
    pub fn assemble(&self, ptx: &str, target: Target, more: &[String]) -> Result<Vec<u8>, AssembleError> {
        let mut options = vec![format!("-arch={target}")];
        options.extend(OPTIONS.iter().map(|o| (*o).to_owned()));
        options.extend_from_slice(more);
        let done = match &self.tool {
            Tool::Ptxas(ptxas) => {
                if ptxas.is_parallel() {
                    options.extend(PARALLEL.map(str::to_owned));
                }
                run(&ptxas.path, ptx, &options)
            }
            Tool::JitLink(library) => library.assemble(ptx, &options),
        }
        .map_err(AssembleError::Unsuitable)?;
        done.map_err(|output| match UNSUITABLE.iter().any(|text| output.contains(text)) {
            true => AssembleError::Unsuitable(format!("{}: {output}", self.version)),
            false => AssembleError::InvalidCode(Error::new(
                ErrorKind::Module,
                format!("{} refuses the PTX:\n{output}", self.version),
            )),
        })
    }
}

impl Ptxas {
    fn is_parallel(&self) -> bool {
        *self.parallel.get_or_init(|| {
            let help =
                Command::new(&self.path).arg("--help").env_remove("LD_PRELOAD").stdin(Stdio::null()).output();
            help.is_ok_and(|help| String::from_utf8_lossy(&help.stdout).contains(PARALLEL[0]))
        })
    }
}

/// Runs `ptxas` in a new private folder. The outer error means that it could not be run; the inner error is
/// its message about the PTX.
fn run(ptxas: &Path, ptx: &str, options: &[String]) -> Result<Result<Vec<u8>, String>, String> {
    let inside = || -> Result<Result<Vec<u8>, String>, std::io::Error> {
        let folder = temporary_folder()?;
        let folder = folder.path();
        std::fs::write(folder.join("PTX"), ptx)?;
        let mut command = Command::new(ptxas);
        let command =
            command.current_dir(folder).args(options).args(["-o", "cubin", "PTX"]).stdin(Stdio::null());
        // The library that PRLX preloads into a program must not run in its assembler.
        let command = command.env_remove("LD_PRELOAD");
        let out = command.output()?;
        if !out.status.success() {
            let output = [out.stdout, out.stderr].concat();
            return Ok(Err(format!("{}\n{}", out.status, String::from_utf8_lossy(&output))
                .trim_end()
                .to_owned()));
        }
        Ok(Ok(std::fs::read(folder.join("cubin"))?))
    };
    inside().map_err(|e| format!("{}: {e}", ptxas.display()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::run;
    use crate::temporary::tests::among_prepared_links;

    #[test]
    fn prepared_links_are_not_followed() {
        // The shell stands in for the assembler: `$0` is -o, `$1` the output, `$2` the PTX.
        let options = ["-c", "cat \"$2\" > \"$1\""].map(str::to_owned);
        let code = among_prepared_links(|| run(Path::new("/bin/sh"), "the text", &options));
        assert_eq!(code.unwrap().unwrap(), b"the text");
    }
}
