//! Compiles source files of a launch file with a compiler on this machine: `.cu` files to PTX, and `.hip`
//! files to a code object of AMD's.
//!
//! The CUDA compiler is `$PRLX_NVCC`, else `nvcc` (on `PATH`, in `$CUDA_HOME` or `$CUDA_PATH`), else `clang`.
//! The HIP compiler is `$PRLX_HIPCC`, else `hipcc` (on `PATH`, in `$ROCM_PATH`, `$HIP_PATH` or `/opt/rocm`),
//! else `clang`. The code is for `sm_80` or `gfx942`, optimised, with source lines, unless the launch file
//! says otherwise: `arch`, `defines`, `include` and `flags`.
//!
//! # Limitations
//! Only flags that change the code are allowed ([`FLAGS`]), so that a launch file can neither start other
//! programs nor choose where to write. Without ROCm, clang has neither HIP's headers nor the functions of its
//! device library.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use prlx_isa::amdgpu::object::TargetId;

use crate::error::{Error, ErrorKind};
use crate::files;
use crate::launch_file::compiler_errors::shorten;
use crate::launch_file::table::Table;
use crate::temporary::temporary_folder;

const NVCC: &[&str] = &["-O3", "-lineinfo", "--ptx"];

/// Options for clang. `-gline-directives-only` gives `.loc` lines without disabling optimisation in `ptxas`,
/// as `-g` would.
const CLANG: &[&str] = &["-x", "cuda", "--cuda-device-only", "-O3", "-gline-directives-only", "-S"];

/// Options for a HIP compiler: one code object, without code for the host.
const HIP: &[&str] = &[
    "-x",
    "hip",
    "--offload-device-only",
    "--no-gpu-bundle-output",
    "-O3",
    "-gline-tables-only",
    "-fdebug-compilation-dir=.",
];

/// Options for clang where there is no ROCm.
const WITHOUT_ROCM: &[&str] = &["-nogpuinc", "-nogpulib"];

/// What errors of clang contain if a source needs ROCm: its headers, its names, or its device library.
const MISSING_ROCM: &[&str] =
    &["file not found", "undefined symbol", "name '__", "identifier '__", "'threadIdx'", "'blockIdx'"];

/// Where ROCm is installed by default.
const ROCM: &str = "/opt/rocm";

/// Names of clang, the newest first. Distributions add the version.
const CLANGS: &[&str] =
    &["amdclang++", "clang-23", "clang-22", "clang-21", "clang-20", "clang-19", "clang-18", "clang"];

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

/// Beginnings of the flags that a launch file may give beside [`FLAGS`] for a `.hip` file.
const HIP_FLAGS: &[&str] = &[
    "-fgpu-approx-transcendentals",
    "-fgpu-flush-denormals-to-zero",
    "-fms-extensions",
    "-ffp-model=",
    "-mcode-object-version=",
    "-mcumode",
    "-mno-cumode",
    "-mno-wavefrontsize64",
    "-munsafe-fp-atomics",
    "-mwavefrontsize64",
    "-nogpuinc",
    "-nogpulib",
];

/// A language whose source files a launch file may name as its module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// CUDA, compiled to PTX.
    Cuda,
    /// HIP, compiled to a code object of AMD's.
    Hip,
}

impl Language {
    /// The language of a module by its name; `None` if the module is not compiled.
    pub fn of(module: &str) -> Option<Language> {
        let extension = Path::new(module).extension()?;
        match () {
            () if extension == "cu" => Some(Language::Cuda),
            () if extension == "hip" => Some(Language::Hip),
            () => None,
        }
    }
    /// The target of a launch file without `arch`.
    pub fn default_arch(self) -> &'static str {
        match self {
            Language::Cuda => "sm_80",
            Language::Hip => "gfx942",
        }
    }
}

/// How a launch file wants its `.cu` or `.hip` module compiled.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CompilerOptions {
    /// The target, such as `sm_90`; `None` for that of the language.
    arch: Option<String>,
    /// Other flags, in order.
    flags: Vec<String>,
    /// Folders of headers, relative to that of the module.
    include: Vec<PathBuf>,
}

impl CompilerOptions {
    /// Reads `arch`, `defines`, `include` and `flags` of a launch file.
    pub(super) fn read(file: &Table<'_>, language: Language) -> Result<CompilerOptions, Error> {
        let mut out = CompilerOptions::default();
        if let Some(arch) = file.get("arch") {
            let text = arch.text()?;
            match language {
                Language::Cuda => {
                    let number = text.strip_prefix("sm_").unwrap_or_default();
                    if number.is_empty() || !number.bytes().all(|b| b.is_ascii_alphanumeric()) {
                        let e = arch.error(format_args!("`{text}` is no target"));
                        return Err(e.help("as arch = \"sm_90\""));
                    }
                }
                Language::Hip => {
                    let parsed = TargetId::parse(text);
                    parsed.map_err(|why| arch.error(why).help("as arch = \"gfx942\""))?;
                }
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
                let more = if language == Language::Hip { HIP_FLAGS } else { &[] };
                if !FLAGS.iter().chain(more).any(|allowed| text.starts_with(allowed)) {
                    return Err(flag.error(format_args!("the flag `{text}` is not allowed here")).help(
                        "allowed are flags that change the code, each with its value in one text, as \
                         \"-maxrregcount=32\"; for others, compile the file, and name the .ptx file or the code object",
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
    readable(path)?;
    let (compiler, own) = find().ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, format!("{}: no CUDA compiler is there to make PTX from it", path.display()))
            .help("install nvcc (or set PRLX_NVCC to it) or clang, or compile it elsewhere with `nvcc -O3 -lineinfo --ptx` and name the .ptx file")
    })?;
    let arch = options.arch.as_deref().unwrap_or(Language::Cuda.default_arch());
    let arch = if own == NVCC { format!("-arch={arch}") } else { format!("--cuda-gpu-arch={arch}") };
    run(&compiler, &arguments(own, arch, options, path), path)
}

/// Compiles a `.hip` file to a code object.
///
/// # Errors
/// If there is no such file or no compiler, or it reports an error.
pub fn code_object(path: &Path, options: &CompilerOptions) -> Result<Vec<u8>, Error> {
    readable(path)?;
    let arch = options.arch.as_deref().unwrap_or(Language::Hip.default_arch());
    let (compiler, rocm) = find_hip().ok_or_else(|| {
        let what = format!("{}: no HIP compiler is there to make a code object from it", path.display());
        let command = [&["clang"], HIP].concat().join(" ");
        Error::new(ErrorKind::Unsupported, what).help(format!(
            "install clang and its linker (Debian: clang-22 and lld-22 from apt.llvm.org) or ROCm, set \
             PRLX_HIPCC to hipcc or clang, or compile it elsewhere with `{command} \
             --offload-arch={arch}` and name the code object"
        ))
    })?;
    let own = if rocm { HIP.to_vec() } else { [HIP, WITHOUT_ROCM].concat() };
    let made = run(&compiler, &arguments(&own, format!("--offload-arch={arch}"), options, path), path);
    made.map_err(|e| match MISSING_ROCM.iter().any(|text| e.message.contains(text)) {
        true if !rocm => e.help(
            "no ROCm is installed, so clang has no HIP headers and no device library: install ROCm (or set \
             ROCM_PATH), or name a folder with headers by `include`",
        ),
        _ => e,
    })
}

/// Fails if a file cannot be read.
fn readable(path: &Path) -> Result<(), Error> {
    let read = |e| Error::new(ErrorKind::File, format!("cannot read {}: {e}", path.display()));
    files::open(path).map(drop).map_err(read)
}

/// The compiler's arguments: its `own` ones, the one for the target, then those that the launch file wants.
fn arguments(own: &[&str], arch: String, options: &CompilerOptions, path: &Path) -> Vec<OsString> {
    let mut flags: Vec<OsString> = own.iter().map(Into::into).collect();
    flags.push(arch.into());
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
    let out = folder.path().join("kernel.out");
    let run = Command::new(compiler).args(flags).arg("-o").arg(&out).arg(path).output();
    let run = run.map_err(|e| failed(format!("cannot start {}: {e}", compiler.display())))?;
    if !run.status.success() {
        let output = String::from_utf8_lossy(&run.stderr);
        let shown = shorten(&output);
        let what = format!("{} does not compile {}:\n{}", compiler.display(), path.display(), shown.text);
        let words = flags.iter().map(|flag| flag.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let all = format!("{} {words} -o /dev/null {}", compiler.display(), path.display());
        return Err(if shown.cut {
            failed(what).help(format!("to see all errors: {all}"))
        } else {
            failed(what)
        });
    }
    std::fs::read(&out)
        .map_err(|e| failed(format!("{} gave no code for {}: {e}", compiler.display(), path.display())))
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

/// The compiler of `.hip` files; `None` if there is none.
pub fn hip_compiler() -> Option<PathBuf> {
    find_hip().map(|(path, _)| path)
}

/// Finds the HIP compiler, and whether it has a ROCm installation.
fn find_hip() -> Option<(PathBuf, bool)> {
    let homes = ["ROCM_PATH", "HIP_PATH"].into_iter().filter_map(env::var_os).filter(|home| !home.is_empty());
    let homes: Vec<PathBuf> =
        homes.map(PathBuf::from).chain([ROCM.into()]).filter(|home| home.is_dir()).collect();
    let is_hipcc = |path: &Path| path.file_name().is_some_and(|n| n.to_string_lossy().contains("hipcc"));
    let rocm = |compiler: &Path| is_hipcc(compiler) || !homes.is_empty();
    if let Some(named) = env::var_os("PRLX_HIPCC").filter(|v| !v.is_empty()) {
        let named = PathBuf::from(named);
        let rocm = rocm(&named);
        return Some((named, rocm));
    }
    let path: OsString = env::var_os("PATH").unwrap_or_default();
    let bins = homes.iter().map(|home| home.join("bin"));
    let hipcc = env::split_paths(&path).chain(bins).map(|dir| dir.join("hipcc")).find(|p| p.is_file());
    let on_path = |name: &&str| env::split_paths(&path).map(|dir| dir.join(name)).find(|p| p.is_file());
    let compiler = hipcc.or_else(|| CLANGS.iter().find_map(on_path))?;
    let rocm = rocm(&compiler);
    Some((compiler, rocm))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{CompilerOptions, Language, NVCC, arguments, run};
    use crate::temporary::temporary_folder;
    use crate::temporary::tests::among_prepared_links;

    #[test]
    fn a_launch_file_adds_to_the_arguments() {
        let options = CompilerOptions {
            arch: Some("sm_90".into()),
            flags: vec!["-DN=4".into()],
            include: vec!["inc".into()],
        };
        let said = arguments(NVCC, "-arch=sm_90".into(), &options, Path::new("folder/k.cu"));
        assert_eq!(said, ["-O3", "-lineinfo", "--ptx", "-arch=sm_90", "-I", "folder/inc", "-DN=4"]);
        let clang = arguments(&["-S"], "-x".into(), &CompilerOptions::default(), Path::new("k.cu"));
        assert_eq!(clang, ["-S", "-x"]);
    }

    #[test]
    fn the_extension_says_the_language() {
        let all = ["a/k.cu", "k.hip", "k.ptx", "hip"].map(Language::of);
        assert_eq!(all, [Some(Language::Cuda), Some(Language::Hip), None, None]);
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
