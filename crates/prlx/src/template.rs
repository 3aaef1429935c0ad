//! Writes a first launch file for a kernel.
//!
//! The launch file has every parameter of the kernel, with a guess for each: a buffer for a pointer, a
//! number for a scalar, zeros for a structure. PRLX runs it on the CPU device, with several shapes of a
//! CTA if the first does not work: kernels assume a shape, which their code does not state. The user
//! then edits sizes and contents.
//!
//! # Invariants
//! - The text is a valid launch file: it is read back and run before it is returned.
//!
//! # Limitations
//! - A kernel that needs consistent contents, as the row pointers of a sparse matrix, may compute
//!   little.
//! - Structures get zeros. A structure that holds a pointer, or is a tensor map, must be edited first.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use prlx_driver::session::KernelPattern;
use prlx_driver::signature::{Signature, cluster_unit, limit};
use prlx_driver::{
    CompilerOptions, Error, ErrorKind, Job, Language, ParamUse, compile_cuda, compile_hip, element,
    param_uses, param_uses_amd, quoted, short_name, source_names,
};
use prlx_isa::amdgpu::object::{self, ValueKind};
use prlx_isa::ptx;
use prlx_isa::view::{Function, Module, Space};
use prlx_trace::Dim3;
use prlx_trace::kernel::{Param, Scalar};
use prlx_trace::names::{display_name, file_name};

use crate::code;
use crate::device::{Device, DeviceOptions};
use crate::input::{self, FileKind};

/// Elements of each buffer: enough for three dimensions of [`SCALAR`].
const LEN: u64 = 65_536;
/// Value of integer parameters, which are usually sizes.
const SCALAR: u64 = 32;
/// Shapes of a CTA that are tried, unless the kernel was compiled for one.
const BLOCKS: [Dim3; 4] = [
    Dim3 { x: 128, y: 1, z: 1 },
    Dim3 { x: 256, y: 1, z: 1 },
    Dim3 { x: 32, y: 1, z: 1 },
    Dim3 { x: 16, y: 16, z: 1 },
];
/// Steps after which a trial counts as stuck.
const MAX_STEPS: u64 = 4_000_000;
/// Bytes of dynamic shared memory, if the kernel uses any: the most that needs no opt-in.
const SHARED: u32 = 48 << 10;
/// Bytes and alignment of a `CUtensorMap` (CUDA Driver API).
const TENSOR_MAP: u32 = 128;

/// A launch file that was written for a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaunchTemplate {
    /// Name of the kernel in the module.
    pub kernel: String,
    /// Number of parameters.
    pub params: usize,
    /// The launch file.
    pub text: String,
    /// PTX of the module and the file for it, if the launch file names a file that does not exist yet: a
    /// launch file cannot choose an image of its module.
    pub module: Option<(PathBuf, String)>,
    /// Why the launch does not run on the CPU device as it is; `None` if it does.
    pub failure: Option<String>,
}

/// Writes a launch file for a kernel of the file `code`: PTX, CUDA or HIP source, or a file with images. The
/// launch file will be `output`, and names the module relative to that; with `image`, the module is a new
/// file. A module with several kernels needs `kernel`: a name as in the module or as in C++, with `*` and
/// `?`.
///
/// # Errors
/// If the file holds no code, or no kernel or several kernels match.
pub fn launch_template(
    code: &Path,
    image: Option<usize>,
    kernel: Option<&KernelPattern>,
    output: &Path,
) -> Result<LaunchTemplate> {
    let Code { content, text, module, amd } = code_of(code, image)?;
    let mut signature = choose(code, image, Signature::all(&module), kernel)?;
    // The runtime fills in the hidden arguments.
    signature.params.retain(|p| amd.is_none() || !p.name.starts_with("hidden_"));
    let function = module.functions.iter().find(|f| f.name == signature.name);
    let uses = match &amd {
        Some(amd) => amd.uses(&signature, function),
        None => function.map(|f| param_uses(&module, f, &text)).unwrap_or_default(),
    };
    let names = parameter_names(code, &module, &signature);
    let extracted = image.filter(|_| amd.is_none()).map(|_| output.with_extension("ptx"));
    let arch = amd.as_ref().and_then(|amd| amd.arch.as_deref());
    let place = relative(extracted.as_deref().unwrap_or(code), output);
    let name = output.display().to_string();
    let shared = shared(&module, function);
    let mut first = None;
    for block in blocks(&signature, amd.is_some()) {
        let mut out = String::new();
        head(&mut out, &signature, (&place, arch), &name, block, shared);
        for (i, (param, name)) in signature.params.iter().zip(&names).enumerate() {
            argument(&mut out, name, param, uses.get(i).cloned().unwrap_or_default());
        }
        let failure = trial(&name, &out, &content)?;
        let works = failure.is_none();
        let (kernel, params) = (signature.name.clone(), signature.params.len());
        let module = extracted.clone().map(|path| (path, text.clone()));
        let made = LaunchTemplate { kernel, params, text: out, module, failure };
        if works {
            return Ok(made);
        }
        first.get_or_insert(made);
    }
    first.ok_or_else(|| anyhow!("{}: the kernel has no possible block", code.display()))
}

/// Runs a launch file on the CPU device. Returns why it does not run.
fn trial(name: &str, text: &str, module: &[u8]) -> Result<Option<String>> {
    let job = Job::parse(name, text, &|_| Ok(module.to_owned()))?;
    let options = DeviceOptions { max_steps: Some(MAX_STEPS), ..DeviceOptions::default() };
    let mut device = Device::open(&options)?;
    Ok(prlx_driver::run(device.driver(), &job).err().map(|e| e.message))
}

/// The code of a file.
struct Code {
    /// What a launch file's module is.
    content: Vec<u8>,
    /// The text of PTX.
    text: String,
    module: Module,
    /// What is known of AMD's code; `None` for PTX.
    amd: Option<AmdCode>,
}

/// What a launch file must know of AMD's machine code.
struct AmdCode {
    /// The target that says which code object of the file is meant, if there are several.
    arch: Option<String>,
    metadata: object::Metadata,
}

impl AmdCode {
    /// How a kernel uses its parameters. The metadata says which are pointers.
    fn uses(&self, kernel: &Signature, function: Option<&Function>) -> Vec<ParamUse> {
        let named = self.metadata.kernels.iter().find(|k| k.name == kernel.name);
        let args = named.map_or(&[][..], |k| k.args.as_slice());
        let pointer = |param: &Param| {
            let arg = args.iter().find(|a| a.offset == u64::from(param.offset));
            arg.is_some_and(|a| a.kind == ValueKind::GlobalBuffer)
        };
        let pointers: Vec<bool> = kernel.params.iter().map(pointer).collect();
        function.map(|f| param_uses_amd(f, &kernel.params, &pointers)).unwrap_or_default()
    }
}

/// The code of a file: a code object of AMD's, HIP source, or what has or becomes PTX.
fn code_of(path: &Path, image: Option<usize>) -> Result<Code> {
    let content = match input::identify(path)? {
        FileKind::AmdCode => prlx_driver::files::read(path)?,
        FileKind::HipSource => compile_hip(path, &CompilerOptions::default())?,
        _ => {
            let text = ptx_of(path, image)?;
            let (module, _) = ptx::read(&text);
            return Ok(Code { content: text.clone().into_bytes(), text, module, amd: None });
        }
    };
    let images = object::read(&content).with_context(|| path.display().to_string())?;
    let name = input::shell(path);
    let chosen = match (image, &images[..]) {
        (None, [one]) => one,
        (None, _) => {
            let what = format!("{} has {} code objects", path.display(), images.len());
            let help = format!("`prlx inspect {name}` lists them; take one with: prlx new {name} --image 0");
            return Err(Error::new(ErrorKind::NotFound, what).help(help).into());
        }
        (Some(n), _) => images.get(n).ok_or_else(|| {
            let what = format!("{} has no code object {n}", path.display());
            Error::new(ErrorKind::NotFound, what).help(format!("`prlx inspect {name}` lists them"))
        })?,
    };
    let read = || -> Result<(Module, object::Metadata), prlx_isa::image::Error> {
        let object = chosen.code_object()?;
        Ok((prlx_isa::amdgpu::read(&object)?, object.metadata))
    };
    let (module, metadata) = read().with_context(|| path.display().to_string())?;
    let target = chosen.target.as_ref().map(ToString::to_string).ok();
    let arch = target.filter(|_| images.len() > 1);
    Ok(Code { text: String::new(), module, amd: Some(AmdCode { arch, metadata }), content })
}

/// The PTX of a file. CUDA source is compiled.
fn ptx_of(path: &Path, image: Option<usize>) -> Result<String> {
    let kind = input::identify(path)?;
    let name = input::shell(path);
    let help = match kind {
        FileKind::Ptx | FileKind::Image | FileKind::Program | FileKind::AmdCode | FileKind::Other => {
            return code::ptx(path, image);
        }
        FileKind::CudaSource => {
            return Ok(
                String::from_utf8_lossy(&compile_cuda(path, &CompilerOptions::default())?).into_owned()
            );
        }
        FileKind::Python => "write the PTX of the compiled kernel to a file, as \
             `open('kernel.ptx', 'w').write(compiled.asm['ptx'])` for Triton; then: prlx new kernel.ptx"
            .to_owned(),
        FileKind::HipSource => format!("write a launch file for it with: prlx new {name}"),
        FileKind::LaunchFile => format!("its launch runs with: prlx run {name}"),
        FileKind::Recording | FileKind::OldRecording => format!("show it with: prlx inspect {name}"),
        FileKind::Directory | FileKind::Array => {
            "name a PTX file, a cubin, a fatbin or CUDA source".to_owned()
        }
    };
    Err(input::refuse(path, kind, "PTX, a cubin, a fatbin or CUDA source", help))
}

/// The kernel that the user asks for, or the only one.
fn choose(
    code: &Path,
    image: Option<usize>,
    mut all: Vec<Signature>,
    asked: Option<&KernelPattern>,
) -> Result<Signature> {
    let names: Vec<String> = all.iter().map(|s| display_name(&s.name)).collect();
    let error = |what: String, help: String| Error::new(ErrorKind::NotFound, what).help(help).into();
    if let Some(asked) = asked {
        all.retain(|s| asked.matches(&s.name));
    }
    let file = code.display();
    match (all.len(), asked) {
        (1, _) => Ok(all.remove(0)),
        (0, _) if names.is_empty() => {
            Err(error(format!("{file} has no kernel"), "a kernel is an `.entry` of the PTX".into()))
        }
        (0, _) => {
            let asked = asked.map_or("", KernelPattern::text);
            Err(error(format!("{file} has no kernel {asked}"), format!("it has {}", names.join(", "))))
        }
        (n, _) => {
            let mut names: Vec<String> = all.iter().map(|s| display_name(&s.name)).collect();
            // Overloads have the same name in C++; their names in the module differ.
            if names.iter().collect::<BTreeSet<_>>().len() < n {
                names = all.iter().map(|s| s.name.clone()).collect();
            }
            let image = image.map_or_else(String::new, |n| format!(" --image {n}"));
            let (quoted, name) = (input::shell(code), input::shell(Path::new(&names[0])));
            let next = format!("prlx new {quoted}{image} --kernel {name}");
            let matching = asked.map_or_else(String::new, |a| format!(" that match {}", a.text()));
            let what = format!("{file} has {n} kernels{matching}: {}", names.join(", "));
            Err(error(what, format!("name one, as in: {next}")))
        }
    }
}

/// Bytes of dynamic shared memory to give the kernel.
fn shared(module: &Module, function: Option<&Function>) -> u32 {
    let dynamic = |s: &prlx_isa::view::Symbol| s.space == Space::Shared && s.external && s.size == 0;
    let inside = function.is_some() && module.symbols.iter().any(dynamic);
    if inside { SHARED } else { 0 }
}

/// Writes the keys of the launch.
fn head(
    out: &mut String,
    signature: &Signature,
    (place, arch): (&Path, Option<&str>),
    name: &str,
    block: Dim3,
    shared: u32,
) {
    let shown = display_name(&signature.name);
    let unit = limit(&signature.limits, "reqnctapercluster").unwrap_or_default();
    // If the grid counts clusters, one is enough.
    let grid = if cluster_unit(&signature.limits) == Dim3::default() { unit } else { Dim3::default() };
    let _ = write!(
        out,
        "# A launch of {shown}. PRLX guessed sizes and contents: edit them (docs/launch-file.md).\n\
         #   prlx run {name}\n\n\
         module = {}\n\
         kernel = {}\n\
         grid   = [{}, {}, {}]  # CTAs\n\
         block  = [{}, {}, {}]  # threads of a CTA\n",
        quoted(&place.display().to_string()),
        quoted(&signature.name),
        grid.x,
        grid.y,
        grid.z,
        block.x,
        block.y,
        block.z,
    );
    if place.extension().is_some_and(|e| e == "cu") {
        out.push_str(
            "# arch = \"sm_80\"  # how to compile it; also defines = { N = 4 }, include = [\"folder\"], \
             flags = [\"-use_fast_math\"]\n",
        );
    }
    if Language::of(&place.display().to_string()) == Some(Language::Hip) {
        let _ = writeln!(
            out,
            "arch   = {}  # how to compile it; also defines = {{ N = 4 }}, include = [\"folder\"], flags = [\"-O1\"]",
            quoted(Language::Hip.default_arch())
        );
    }
    if let Some(arch) = arch {
        let _ = writeln!(out, "arch   = {}  # which code object of the module", quoted(arch));
    }
    if shared > 0 {
        let _ = writeln!(out, "shared = {shared}  # bytes of dynamic shared memory");
    }
    out.push_str("seed   = 0  # schedule of the CPU device, and random contents\n");
}

/// The block that the kernel was compiled for, or the usual ones that it allows.
fn blocks(signature: &Signature, amd: bool) -> Vec<Dim3> {
    if let Some(required) = limit(&signature.limits, "reqntid") {
        return vec![required];
    }
    let limit = limit(&signature.limits, "maxntid");
    let most = limit.map_or(1024, |d| d.volume());
    let mut allowed: Vec<Dim3> = BLOCKS.into_iter().filter(|b| b.volume() <= most).collect();
    // A kernel that is compiled for at most so many threads is usually launched with all of them. Compilers
    // of HIP write 1024 if the source says nothing.
    if limit.is_some() && (1..=1024).contains(&most) && !(amd && most == 1024) {
        allowed.insert(0, Dim3 { x: most as u32, y: 1, z: 1 });
    }
    allowed
}

/// The names of the parameters: those in the source if it tells, or else those in the module.
fn parameter_names(code: &Path, module: &Module, signature: &Signature) -> Vec<String> {
    let folder = code.parent().unwrap_or(Path::new(""));
    let text = |path: &str| {
        let beside = folder.join(file_name(path));
        [Path::new(path), &beside].into_iter().find_map(|p| prlx_driver::files::read_text(p).ok())
    };
    let short = |p: &Param| short_name(&signature.name, &p.name).to_owned();
    source_names(module, &signature.name, signature.params.len(), &text)
        .unwrap_or_else(|| signature.params.iter().map(short).collect())
}

/// Writes the table of one parameter.
fn argument(out: &mut String, name: &str, param: &Param, used: ParamUse) {
    let size = element::size(param.ty) as u32;
    let _ = write!(out, "\n[[arg]]\nname  = {}\n", quoted(name));
    if param.size > size {
        let kind = if param.size == TENSOR_MAP { " If it is a tensor map, use `tensor_map`." } else { "" };
        let zeros = "00".repeat(param.size as usize);
        let _ = writeln!(out, "# A structure of {} bytes: `fields` gives its members.{kind}", param.size);
        let _ = writeln!(out, "bytes = \"0x{zeros}\"");
    } else if used.pointer && size == 8 {
        buffer(out, &used);
    } else {
        let ty = used.element.unwrap_or(param.ty);
        let value = if element::is_float(ty) { "1.0".to_owned() } else { scalar(ty).to_string() };
        // Machine code does not declare types.
        match ty == param.ty || !element::is_float(ty) {
            true => writeln!(out, "value = {value}  # {}", ty.name()),
            false => writeln!(out, "type  = \"{}\"\nvalue = {value}", ty.name()),
        }
        .unwrap_or_default();
    }
}

/// The value of an integer parameter.
fn scalar(ty: Scalar) -> u64 {
    // A byte is more often a truth value than a size.
    if ty.bits() == 8 { 1 } else { SCALAR }
}

/// Writes the keys of a buffer.
fn buffer(out: &mut String, used: &ParamUse) {
    let (ty, guess) = match used.element {
        Some(ty) => (ty, ""),
        None => (Scalar::F32, ": its type is unknown"),
    };
    let does = match (used.read, used.written) {
        (true, true) => "reads and writes",
        (false, true) => "writes",
        (true, false) => "reads",
        (false, false) => "takes, without an access that PRLX sees",
    };
    let content = match (used.written, element::is_float(ty)) {
        // What the kernel counts up, locks or only writes starts at zero.
        (true, false) => "fill  = 0",
        (true, true) if !used.read => "fill  = 0",
        (_, true) => "random = [0, 1]",
        (false, false) => "fill  = 1",
    };
    let _ = write!(
        out,
        "type  = \"{}\"  # a buffer that the kernel {does}{guess}\n{content}\nlen   = {LEN}\n",
        ty.name()
    );
    if used.written || !used.read {
        out.push_str("out   = true\n");
    }
}

/// The path of `code` as a launch file at `output` names it.
fn relative(code: &Path, output: &Path) -> PathBuf {
    let folder = output.parent().unwrap_or(Path::new(""));
    let plain = |p: &Path| p.components().all(|c| matches!(c, Component::Normal(_)));
    if code.is_absolute() || folder.as_os_str().is_empty() {
        return code.to_owned();
    }
    match code.strip_prefix(folder) {
        Ok(inside) => inside.to_owned(),
        Err(_) if plain(folder) => {
            folder.components().map(|_| Component::ParentDir).collect::<PathBuf>().join(code)
        }
        Err(_) => std::path::absolute(code).unwrap_or_else(|_| code.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_named_relative_to_the_launch_file() {
        let at =
            |code: &str, output: &str| relative(Path::new(code), Path::new(output)).display().to_string();
        assert_eq!(at("k.ptx", "k.toml"), "k.ptx");
        assert_eq!(at("a/k.ptx", "a/k.toml"), "k.ptx");
        assert_eq!(at("a/k.ptx", "b/c/k.toml"), "../../a/k.ptx");
        assert_eq!(at("/a/k.ptx", "b/k.toml"), "/a/k.ptx");
    }
}
