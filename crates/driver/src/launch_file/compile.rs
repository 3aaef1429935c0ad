//! Compiles `.cu` files to PTX with the CUDA compiler on this machine.
//!
//! The compiler is `$PRLX_NVCC`, else `nvcc` (on `PATH`, in `$CUDA_HOME` or `$CUDA_PATH`), else `clang`. The
//! PTX is for `sm_80`, optimised, with source lines, unless the launch file says otherwise: `arch`,
//! `defines`, `include` and `flags`.
//!
//! # Limitations
//! Only flags that change the code are allowed ([`FLAGS`]), so that a launch file can neither start other
//! programs nor choose where to write.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, ErrorKind};
use crate::files;
use crate::launch_file::table::Table;
use crate::temporary::temporary_folder;

const NVCC: &[&str] = &["-O3", "-lineinfo", "--ptx"];

/// Options for clang. `-gline-directives-only` gives `.loc` lines without disabling optimisation in `ptxas`,
/// as `-g` would.
const CLANG: &[&str] = &["-x", "cuda", "--cuda-device-only", "-O3", "-gline-directives-only", "-S"];

/// Beginnings of the flags that a launch file may give.
const FLAGS: &[&str] = &[
    "-D",
    "-U",
    "-O",
    "-G",
    "-g",
    "-w",
    "-Wno-",
    "-Wall",
    "-Wextra",
    "-std=",
    "--std=",
    "-lineinfo",
    "-use_fast_math",
    "--use_fast_math",
    "-fmad=",
    "--fmad=",
    "-ftz=",
    "--ftz=",
    "-prec-div=",
    "--prec-div=",
    "-prec-sqrt=",
    "--prec-sqrt=",
    "-maxrregcount=",
    "--maxrregcount=",
    "-expt-",
    "--expt-",
    "-extended-lambda",
    "--extended-lambda",
    "-extra-device-vectorization",
    "-restrict",
    "--restrict",
    "-default-stream=",
    "--default-stream=",
    "-diag-",
    "--diag-",
    "-ffast-math",
    "-fno-fast-math",
    "-ffp-contract=",
    "-funroll-loops",
    "-fno-unroll-loops",
    "-fcuda-",
    "-m64",
];

/// How a launch file wants its `.cu` module compiled.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CompilerOptions {
    /// The target, such as `sm_90`; `None` for `sm_80`.
    arch: Option<String>,
    /// Other flags, in order.
    flags: Vec<String>,
    /// Folders of headers, relative to that of the module.
    include: Vec<PathBuf>,
}

impl CompilerOptions {
    /// Reads `arch`, `defines`, `include` and `flags` of a launch file.
    pub(super) fn read(file: &Table<'_>) -> Result<CompilerOptions, Error> {
        let mut out = CompilerOptions::default();
        if let Some(arch) = file.get("arch") {
            let text = arch.text()?;
            let number = text.strip_prefix("sm_").unwrap_or_default();
            if number.is_empty() || !number.bytes().all(|b| b.is_ascii_alphanumeric()) {
                return Err(arch.error(format_args!("`{text}` is no target")).help("as arch = \"sm_90\""));
            }
            out.arch = Some(text.to_owned());
        }
        match file.get("defines") {
            Some(list) if list.is_list() => {
                for definition in list.list()? {
                    out.flags.push(format!("-D{}", definition.text()?));
                }
            }
            Some(table) => {
                for (name, value) in table.entries()? {
                    out.flags.push(match (value.bool(), value.text()) {
                        (Some(true), _) => format!("-D{name}"),
                        (Some(false), _) => format!("-U{name}"),
                        (_, Ok(text)) => format!("-D{name}={text}"),
                        _ => format!("-D{name}={}", value.literal()?),
                    });
                }
            }
            None => {}
        }
        if let Some(include) = file.get("include") {
            for folder in include.list()? {
                out.include.push(PathBuf::from(folder.text()?));
            }
        }
        if let Some(flags) = file.get("flags") {
            for flag in flags.list()? {
                let text = flag.text()?;
                if !FLAGS.iter().any(|allowed| text.starts_with(allowed)) {
                    return Err(flag.error(format_args!("the flag `{text}` is not allowed here")).help(
                        "allowed are flags that change the code, each with its value in one text, as \
                         \"-maxrregcount=32\"; for others, compile the file and name the .ptx file",
                    ));
                }
                out.flags.push(text.to_owned());
            }
        }
        Ok(out)
    }
}

/// Compiles a `.cu` file to PTX.
///
/// # Errors
/// If there is no such file or no compiler, or it reports an error.
pub fn ptx(path: &Path, options: &CompilerOptions) -> Result<Vec<u8>, Error> {
    if let Err(e) = files::open(path) {
        return Err(Error::new(ErrorKind::File, format!("cannot read {}: {e}", path.display())));
    }
    let (compiler, own) = find().ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, format!("{}: no CUDA compiler is there to make PTX from it", path.display()))
            .help("install nvcc (or set PRLX_NVCC to it) or clang, or compile it elsewhere with `nvcc -O3 -lineinfo --ptx` and name the .ptx file")
    })?;
    run(&compiler, &arguments(own, options, path), path)
}

/// The compiler's arguments: its `own` ones, then those that the launch file wants.
fn arguments(own: &[&str], options: &CompilerOptions, path: &Path) -> Vec<OsString> {
    let mut flags: Vec<OsString> = own.iter().map(Into::into).collect();
    let arch = options.arch.as_deref().unwrap_or("sm_80");
    flags.push(if own == NVCC { format!("-arch={arch}") } else { format!("--cuda-gpu-arch={arch}") }.into());
    let folder = path.parent().unwrap_or(Path::new(""));
    for include in &options.include {
        flags.push("-I".into());
        flags.push(folder.join(include).into());
    }
    flags.extend(options.flags.iter().map(Into::into));
    flags
}

fn run(compiler: &Path, flags: &[OsString], path: &Path) -> Result<Vec<u8>, Error> {
    let failed = |what: String| Error::new(ErrorKind::Module, what);
    let folder = temporary_folder().map_err(|e| failed(format!("cannot create a temporary folder: {e}")))?;
    let out = folder.path().join("kernel.ptx");
    let run = Command::new(compiler).args(flags).arg("-o").arg(&out).arg(path).output();
    let run = run.map_err(|e| failed(format!("cannot start {}: {e}", compiler.display())))?;
    if !run.status.success() {
        let output = String::from_utf8_lossy(&run.stderr);
        return Err(failed(format!(
            "{} does not compile {}:\n{}",
            compiler.display(),
            path.display(),
            output.trim_end()
        )));
    }
    std::fs::read(&out)
        .map_err(|e| failed(format!("{} gave no PTX for {}: {e}", compiler.display(), path.display())))
}

/// Finds the compiler and its options.
fn find() -> Option<(PathBuf, &'static [&'static str])> {
    if let Some(named) = env::var_os("PRLX_NVCC").filter(|v| !v.is_empty()) {
        return Some((named.into(), NVCC));
    }
    let path: OsString = env::var_os("PATH").unwrap_or_default();
    let homes =
        ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(env::var_os).map(|h| PathBuf::from(h).join("bin"));
    let nvcc = env::split_paths(&path).chain(homes).map(|dir| dir.join("nvcc")).find(|p| p.is_file());
    let clang = || env::split_paths(&path).map(|dir| dir.join("clang")).find(|p| p.is_file());
    nvcc.map(|p| (p, NVCC)).or_else(|| clang().map(|p| (p, CLANG)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{CompilerOptions, NVCC, arguments, run};
    use crate::temporary::temporary_folder;
    use crate::temporary::tests::among_prepared_links;

    #[test]
    fn a_launch_file_adds_to_the_arguments() {
        let options = CompilerOptions {
            arch: Some("sm_90".into()),
            flags: vec!["-DN=4".into()],
            include: vec!["inc".into()],
        };
        let said = arguments(NVCC, &options, Path::new("folder/k.cu"));
        assert_eq!(said, ["-O3", "-lineinfo", "--ptx", "-arch=sm_90", "-I", "folder/inc", "-DN=4"]);
        let clang = arguments(&["-S"], &CompilerOptions::default(), Path::new("k.cu"));
        assert_eq!(clang, ["-S", "--cuda-gpu-arch=sm_80"]);
    }

    #[test]
    fn prepared_links_are_not_followed() {
        let folder = temporary_folder().unwrap();
        let source = folder.path().join("k.cu");
        std::fs::write(&source, "the text").unwrap();
        // The shell stands in for the compiler: `$0` is -o, `$1` the output, `$2` the source.
        let flags = ["-c", "cat \"$2\" > \"$1\""].map(Into::into);
        let ptx = among_prepared_links(|| run(Path::new("/bin/sh"), &flags, &source));
        assert_eq!(ptx.unwrap(), b"the text");
    }
}
