//! A job: one launch with all its data, as a launch file describes it (`docs/launch-file.md`).
//!
//! Holds: one [`Arg`] for each parameter of the kernel, in order, of its size; every value fits its type; the shape keeps
//! to the limits of the hardware and of the kernel. Tensor maps lie inside their buffers. Buffers are bytes only when [`Buffer::bytes`] is called.
//! Misses: pointers inside struct parameters; aliases (two arguments with one buffer).

use std::path::{Path, PathBuf};

use prlx_isa::view;
use prlx_trace::Dim3;
use prlx_trace::kernel::{Param, Scalar};

use crate::content::{Content, SplitMix};
use crate::{Error, ErrorKind, LaunchConfig, TensorMap, compile, element, launch_file};

/// One kernel launch: what to load, what to start, with which data.
#[derive(Clone, PartialEq, Debug)]
pub struct Job {
    /// The launch file's name, for messages.
    pub name: String,
    /// The module's file name as the launch file spells it.
    pub module: String,
    /// The module's text: PTX.
    pub text: String,
    /// The folder of the launch file: where outputs go.
    pub folder: PathBuf,
    /// Where files named by `.loc` are looked up.
    pub source: PathBuf,
    /// The kernel's name.
    pub kernel: String,
    /// Shape and seed.
    pub config: LaunchConfig,
    /// The kernel's parameters.
    pub params: Vec<Param>,
    /// Their values.
    pub args: Vec<Arg>,
}

/// The value of a parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct Arg {
    /// Name that reports use.
    pub name: String,
    /// What it is.
    pub value: ArgValue,
}

/// What a parameter receives.
#[derive(Clone, PartialEq, Debug)]
pub enum ArgValue {
    /// A scalar of a type: its bits.
    Scalar(Scalar, u64),
    /// A struct: its bytes.
    Bytes(Vec<u8>),
    /// The address of a buffer, or a tensor map over it ([`Buffer::map`]).
    Buffer(Buffer),
    /// A tensor map over another argument's buffer.
    TensorMap {
        /// Whose.
        over: usize,
        /// The map.
        map: TensorMap,
    },
}

/// A buffer in device memory.
#[derive(Clone, PartialEq, Debug)]
pub struct Buffer {
    /// Type of its elements.
    pub ty: Scalar,
    /// Sizes, slowest first; C order.
    pub shape: Vec<u64>,
    /// What it holds before the launch.
    pub content: Content,
    /// The root of its random numbers, and its parameter's position.
    pub random: (u64, usize),
    /// Whether it is read back and reported.
    pub out: bool,
    /// The `.npy` file to write it to.
    pub save: Option<PathBuf>,
    /// What it must hold after the launch.
    pub expect: Option<Expect>,
    /// The parameter is a tensor map over it, not its address.
    pub map: Option<TensorMap>,
}

/// What a buffer must hold after the launch.
#[derive(Clone, PartialEq, Debug)]
pub struct Expect {
    /// The file that says so.
    pub file: String,
    /// Its elements, of the buffer's type.
    pub bytes: Vec<u8>,
    /// Tolerance relative to the wanted value.
    pub rtol: f64,
    /// Absolute tolerance.
    pub atol: f64,
}

impl Buffer {
    /// Number of elements.
    pub fn len(&self) -> u64 {
        self.shape.iter().product()
    }
    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.len() * element::size(self.ty) as u64
    }
    /// What it holds before the launch.
    pub fn bytes(&self) -> Vec<u8> {
        let (seed, position) = self.random;
        self.content.bytes(self.ty, self.len(), SplitMix::of_argument(seed, position))
    }
}

impl Job {
    /// Reads a launch file, the module and the files that it names. A `.cu` module is compiled.
    ///
    /// # Errors
    /// When a file can't be read or a key is wrong; the error names file, line, key, and what to do.
    pub fn load(path: &Path) -> Result<Job, Error> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|e| Error::new(ErrorKind::File, format!("cannot read the launch file {name}: {e}")))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut job = Job::parse(&name, &text, &|file| {
            let file = folder.join(file);
            if file.extension().is_some_and(|e| e == "cu") {
                return compile::ptx(&file);
            }
            std::fs::read(&file)
                .map_err(|e| Error::new(ErrorKind::File, format!("cannot read {}: {e}", file.display())))
        })?;
        job.folder = folder.to_owned();
        job.source = folder.join(&job.source);
        Ok(job)
    }

    /// Reads a launch file's text. `files` gives the content of the files that it names, for a `.cu` file the PTX of it.
    /// [`Job::folder`] is empty and [`Job::source`] as written.
    ///
    /// # Errors
    /// When a key is wrong or `files` fails.
    pub fn parse(name: &str, text: &str, files: &launch_file::Files<'_>) -> Result<Job, Error> {
        launch_file::read(name, text, files)
    }

    /// Bytes that a run of it keeps on this side at once: what the launch file gave, what is expected, what every buffer holds
    /// afterwards, and one buffer on its way.
    pub fn kept_bytes(&self) -> u64 {
        let buffers = self.args.iter().filter_map(|arg| match &arg.value {
            ArgValue::Buffer(buffer) => Some(buffer),
            _ => None,
        });
        let (mut kept, mut largest) = (0u64, 0);
        for b in buffers {
            let given = if let Content::Bytes(bytes) = &b.content { bytes.len() } else { 0 };
            let expected = b.expect.as_ref().map_or(0, |e| e.bytes.len());
            kept = kept.saturating_add((given + expected) as u64).saturating_add(b.size());
            largest = b.size().max(largest);
        }
        kept.saturating_add(largest)
    }

    /// Bytes of the parameter buffer.
    pub fn params_size(&self) -> u32 {
        self.params.iter().map(|p| p.offset + p.size).max().unwrap_or(0)
    }

    /// The text of a source file, by its path in the debug information, where it is found: as the path says, in
    /// [`Job::source`], or there by its last name. What `Plan::resolve` asks for.
    pub fn source_text(&self, path: &str) -> Option<String> {
        let path = Path::new(path);
        let named = path.file_name().map(|n| self.source.join(n));
        let places = [Some(self.source.join(path)), named];
        places.into_iter().flatten().find_map(|p| std::fs::read_to_string(p).ok())
    }
}

/// A kernel as its declaration has it.
#[derive(Clone, PartialEq, Debug)]
pub struct Signature {
    /// Name.
    pub name: String,
    /// Parameters.
    pub params: Vec<Param>,
    /// `.reqntid`, `.maxntid` …: name without the dot, values.
    pub limits: Vec<(String, Vec<u32>)>,
}

/// What a kernel's declaration says by a directive, as `reqntid`, in up to three dimensions.
pub fn limit(limits: &[(String, Vec<u32>)], directive: &str) -> Option<Dim3> {
    let (_, sizes) = limits.iter().find(|(name, _)| name == directive)?;
    let axis = |i: usize| sizes.get(i).copied().unwrap_or(1);
    Some(Dim3 { x: axis(0), y: axis(1), z: axis(2) })
}

/// The CTAs that each of a grid's numbers stands for when CUDA launches a kernel with such limits: clusters of so many if it has
/// `.blocksareclusters` (PTX ISA, Cluster Dimension Directives), else one. [`LaunchConfig::grid`] counts CTAs all the same.
pub fn counted(limits: &[(String, Vec<u32>)]) -> Dim3 {
    limit(limits, "blocksareclusters").and_then(|_| limit(limits, "reqnctapercluster")).unwrap_or_default()
}

impl Signature {
    /// Every kernel of a module.
    pub fn all(module: &view::Module) -> Vec<Signature> {
        let kernels = module.functions.iter().filter(|f| f.kind == view::FunctionKind::Kernel);
        kernels
            .map(|f| Signature {
                name: f.name.clone(),
                limits: f.limits.clone(),
                params: f
                    .params
                    .iter()
                    .zip(&f.param_offsets)
                    .filter_map(|(&id, &offset)| {
                        let symbol = module.symbols.get(id.index())?;
                        let (ty, size) = (scalar(symbol.ty), u32::try_from(symbol.size).ok()?);
                        Some(Param { name: symbol.name.clone(), ty, offset, size })
                    })
                    .collect(),
            })
            .collect()
    }
}

/// The trace's name for a type; types narrower or stranger than it knows are bytes.
fn scalar(ty: view::Type) -> Scalar {
    let name = format!("{ty:?}").to_lowercase();
    Scalar::ALL.iter().copied().find(|s| s.name() == name).unwrap_or(Scalar::B8)
}
