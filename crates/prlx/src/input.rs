//! Finds out what an input file is, and refuses it with the command that takes it.
//!
//! Commands take launch files, recordings, or code. A user who gives one for another gets an error that names
//! what the file is, and the command to run instead.
//!
//! # Invariants
//! - A file is refused only if it is certainly of another kind. Other files go on to the reader, whose error
//!   names the place that is wrong.
//!
//! # Limitations
//! - Source files (`.cu`, `.py`) and launch files (`.toml`) are recognised by their extension.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use prlx_driver::files;
use prlx_driver::session::Session;
use prlx_driver::{Error, ErrorKind};
use prlx_isa::amdgpu::object;
use prlx_isa::image;
use prlx_legacy::v1::is_v1;
use prlx_trace::MAGIC;

/// Bytes at the start of a file that tell its kind. Comments of a compiler stand before `.version` in PTX.
const FRONT: u64 = 64 << 10;
/// `e_machine` of host programs is not that of CUDA code (`EM_CUDA`).
const CUDA_MACHINE: [u8; 2] = [190, 0];

/// What a file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileKind {
    /// A launch file (`docs/launch-file.md`).
    LaunchFile,
    /// PTX, as text.
    Ptx,
    /// CUDA source text.
    CudaSource,
    /// HIP source text.
    HipSource,
    /// Python source text.
    Python,
    /// A cubin or a fatbin.
    Image,
    /// An AMD code object, or an offload bundle.
    AmdCode,
    /// A program or a library for the host, which may hold images.
    Program,
    /// A recording of this version: a file.
    Recording,
    /// A recording of PRLX 0.x: a file.
    OldRecording,
    /// A directory: the recording of a program, or something else.
    Directory,
    /// A NumPy array, as other profilers write their buffers.
    Array,
    /// A file that is none of the above, or that cannot be identified, as a pipe.
    Other,
}

impl FileKind {
    /// The kind in a message, with its article.
    pub fn noun(self) -> &'static str {
        match self {
            FileKind::LaunchFile => "a launch file",
            FileKind::Ptx => "PTX",
            FileKind::CudaSource => "CUDA source",
            FileKind::HipSource => "HIP source",
            FileKind::Python => "a Python program",
            FileKind::Image => "a cubin or fatbin",
            FileKind::AmdCode => "AMD machine code",
            FileKind::Program => "a program",
            FileKind::Recording => "a recording",
            FileKind::OldRecording => "a recording of PRLX 0.x",
            FileKind::Directory => "a directory",
            FileKind::Array => "a NumPy array",
            FileKind::Other => "a file of another kind",
        }
    }

    /// Whether `prlx new` writes a launch file for it.
    pub fn is_code(self) -> bool {
        matches!(self, FileKind::Ptx | FileKind::CudaSource | FileKind::HipSource | FileKind::Image)
    }
}

/// Finds out what a file is, by its first bytes and its extension.
///
/// # Errors
/// If the file cannot be read.
pub fn identify(path: &Path) -> Result<FileKind> {
    match std::fs::metadata(path) {
        Ok(m) if m.is_dir() => return Ok(FileKind::Directory),
        // What is read from a pipe is gone.
        Ok(m) if !m.is_file() => return Ok(FileKind::Other),
        _ => {}
    }
    let mut front = Vec::new();
    let read = files::open(path).and_then(|f| f.take(FRONT).read_to_end(&mut front));
    read.with_context(|| format!("cannot read {}", path.display()))?;
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    Ok(match extension {
        _ if front.starts_with(MAGIC) => FileKind::Recording,
        _ if front.first_chunk::<8>().is_some_and(|magic| is_v1(magic)) => FileKind::OldRecording,
        _ if front.starts_with(b"\x93NUMPY") => FileKind::Array,
        _ if object::is_binary(&front) => FileKind::AmdCode,
        _ if image::is_binary(&front) => match front.get(18..20) {
            Some(machine) if front.starts_with(b"\x7fELF") && machine != CUDA_MACHINE => FileKind::Program,
            _ => FileKind::Image,
        },
        "toml" => FileKind::LaunchFile,
        "cu" => FileKind::CudaSource,
        "hip" => FileKind::HipSource,
        "py" => FileKind::Python,
        _ if has_version(&front) => FileKind::Ptx,
        _ => FileKind::Other,
    })
}

/// What to do about HIP source where code is wanted.
pub(crate) fn compile_hip(path: &Path) -> String {
    let (name, object) = (shell(path), shell(&path.with_extension("co")));
    format!(
        "compile it first, and name the code object: clang -x hip --offload-arch=gfx942 --offload-device-only \
         --no-gpu-bundle-output -O3 -gline-tables-only {name} -o {object}; a launch file takes it as it is: \
         prlx new {name}"
    )
}

/// Whether a line begins with the directive `.version`, which every PTX module has.
pub(crate) fn has_version(text: &[u8]) -> bool {
    text.split(|b| *b == b'\n').any(|line| line.trim_ascii_start().starts_with(b".version"))
}

/// Refuses a file that is certainly no launch file.
///
/// # Errors
/// If the file is of another kind or cannot be read. The advice is the command that takes the file.
pub fn require_launch_file(path: &Path) -> Result<()> {
    let name = shell(path);
    let kind = match identify(path) {
        // The reader's own error says that a launch file is missing.
        Err(_) | Ok(FileKind::LaunchFile | FileKind::Other) => return Ok(()),
        Ok(kind) => kind,
    };
    let help = match kind {
        FileKind::Recording | FileKind::OldRecording => format!("show it with: prlx inspect {name}"),
        FileKind::Directory => format!("if it is the recording of a program: prlx inspect {name}"),
        FileKind::Program => format!("record it with: prlx record -- {}", program(path)),
        FileKind::Python => format!("record it with: prlx record -- python3 {name}"),
        FileKind::Array => format!("if it is a profiler's buffer: prlx timeline {name}"),
        _ => format!("write a launch file for it with: prlx new {name}"),
    };
    Err(refuse(path, kind, "a launch file", help))
}

/// Refuses a pair of files to compare that are certainly no launch files.
///
/// # Errors
/// If one of the files is of another kind. The advice is the command that takes both.
pub fn require_launch_files(paths: [&Path; 2]) -> Result<()> {
    let kinds = paths.map(|p| identify(p).unwrap_or(FileKind::Other));
    let recording =
        |k: FileKind| matches!(k, FileKind::Recording | FileKind::OldRecording | FileKind::Directory);
    let [a, b] = paths.map(shell);
    let help = match (kinds, kinds.map(recording)) {
        (_, [true, true]) => format!("compare recordings with: prlx diff {a} {b}"),
        (_, [true, false]) => format!("record {b} first: {}", record_then_diff(paths, 1)),
        (_, [false, true]) => format!("record {a} first: {}", record_then_diff(paths, 0)),
        ([FileKind::Program, _] | [_, FileKind::Program], _) => {
            let [a, b] = paths.map(program);
            format!("compare programs with: prlx compare --a '{a}' --b '{b}'")
        }
        _ => return paths.into_iter().try_for_each(require_launch_file),
    };
    let wrong = kinds.iter().position(|k| recording(*k) || *k == FileKind::Program).unwrap_or(0);
    Err(refuse(paths[wrong], kinds[wrong], "a launch file", help))
}

/// Refuses a pair of files to compare, of which one is certainly no recording. For a `gate`, the advice is to
/// record both sides; otherwise it is a command that compares them at once.
///
/// # Errors
/// If one of the files is of another kind.
pub fn require_recordings(paths: [&Path; 2], gate: bool) -> Result<()> {
    let kinds = paths.map(|p| identify(p).unwrap_or(FileKind::Other));
    let [a, b] = paths.map(shell);
    let help = match kinds {
        [FileKind::LaunchFile, FileKind::LaunchFile] => {
            let compare = format!("prlx compare {a} {b}");
            match gate {
                false => format!("compare launch files with: {compare}"),
                true => {
                    let [x, y] = paths.map(|p| shell(&p.with_extension("prlx")));
                    format!(
                        "compare launch files with: {compare}; or record both first: prlx record {a} -o {x} && \
                         prlx record {b} -o {y}"
                    )
                }
            }
        }
        [FileKind::LaunchFile, FileKind::Recording] => {
            format!("record {a} first: {}", record_then_diff(paths, 0))
        }
        [FileKind::Recording, FileKind::LaunchFile] => {
            format!("record {b} first: {}", record_then_diff(paths, 1))
        }
        [FileKind::Program, FileKind::Program] => {
            let [a, b] = paths.map(program);
            format!("compare programs with: prlx compare --a '{a}' --b '{b}'")
        }
        _ => return paths.into_iter().try_for_each(require_recording),
    };
    let wrong = usize::from(kinds[0] == FileKind::Recording);
    Err(refuse(paths[wrong], kinds[wrong], "a recording", help))
}

/// The commands that record side `side` of a pair, and compare it with the other one.
fn record_then_diff(paths: [&Path; 2], side: usize) -> String {
    let mut recorded = paths[side].with_extension("prlx");
    if recorded == paths[1 - side] {
        recorded.set_extension("new.prlx");
    }
    let mut sides = paths;
    sides[side] = &recorded;
    let [a, b] = sides.map(shell);
    format!("prlx record {} -o {} && prlx diff {a} {b}", shell(paths[side]), shell(&recorded))
}

/// Refuses a file that is certainly no recording.
///
/// # Errors
/// If the file is of another kind or cannot be read. The advice is the command that takes the file.
pub fn require_recording(path: &Path) -> Result<()> {
    let name = shell(path);
    let kind = identify(path)?;
    let help = match kind {
        FileKind::Recording | FileKind::OldRecording | FileKind::Directory => return Ok(()),
        // The reader says what is wrong with a recording of another version, or reads the pipe.
        FileKind::Other if !path.is_file() || begins_as_recording(path) => return Ok(()),
        FileKind::Other => "a recording is made with: prlx record".to_owned(),
        FileKind::LaunchFile => {
            format!("record it with: prlx record {name} -o {}", shell(&path.with_extension("prlx")))
        }
        FileKind::Program => format!("record it with: prlx record -- {}", program(path)),
        FileKind::Python => format!("record it with: prlx record -- python3 {name}"),
        FileKind::Array => format!("if it is a profiler's buffer: prlx timeline {name}"),
        FileKind::Ptx | FileKind::CudaSource | FileKind::HipSource | FileKind::Image | FileKind::AmdCode => {
            format!("write a launch file for it with: prlx new {name}")
        }
    };
    Err(refuse(path, kind, "a recording", help))
}

/// Whether a file begins with the letters that recordings of every version of this format begin with.
fn begins_as_recording(path: &Path) -> bool {
    let mut front = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut front));
    read.is_ok() && MAGIC.starts_with(&front)
}

/// Opens a recording of this version: a file, or a program's directory.
///
/// # Errors
/// If `path` is something else, or the recording cannot be read.
pub fn open_session(path: &Path) -> Result<Session> {
    require_recording(path)?;
    if identify(path)? == FileKind::OldRecording {
        let what = format!("{} is a recording of PRLX 0.x, which this command cannot read", path.display());
        let help = format!("show it with: prlx inspect {}", shell(path));
        return Err(Error::new(ErrorKind::File, what).help(help).into());
    }
    Ok(Session::open(path)?)
}

/// The error for AMD code where something else is wanted.
pub(crate) fn refuse_amd(path: &Path, wanted: &str) -> anyhow::Error {
    let name = shell(path);
    let help = format!(
        "PRLX shows what it holds with: prlx inspect {name}; it runs it with a launch file: prlx new {name}"
    );
    refuse(path, FileKind::AmdCode, wanted, help)
}

/// The error for a file of another kind than `wanted`.
pub(crate) fn refuse(path: &Path, kind: FileKind, wanted: &str, help: String) -> anyhow::Error {
    let what = match kind {
        FileKind::Other => format!("{} is not {wanted}", path.display()),
        kind => format!("{} is {}, not {wanted}", path.display(), kind.noun()),
    };
    Error::new(ErrorKind::File, what).help(help).into()
}

/// A path as a word of a shell command.
pub fn shell(path: &Path) -> String {
    prlx_present::shell_word(&path.display().to_string())
}

/// A program as the first word of a command: a shell does not look for it in the working directory.
fn program(path: &Path) -> String {
    let name = shell(path);
    if path.components().count() == 1 { format!("./{name}") } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_words_of_a_shell() {
        assert_eq!(shell(Path::new("a/b-1.ptx")), "a/b-1.ptx");
        assert_eq!(shell(Path::new("it's $x")), r"'it'\''s $x'");
        assert_eq!([program(Path::new("app")), program(Path::new("bin/app"))], ["./app", "bin/app"]);
    }

    #[test]
    fn ptx_begins_with_its_version_after_comments() {
        assert!(has_version(b"// a comment\n\n  .version 8.0\n"));
        assert!(!has_version(b"# The .version directive\n"));
    }
}
