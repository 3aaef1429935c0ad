//! One launch with all its data, as a launch file describes it (`docs/launch-file.md`).
//!
//! # Invariants
//! - A [`Job`] has one [`Arg`] for each parameter of the kernel, in order, of the parameter's size. Buffers
//!   that only structures point to and variables of the module follow them.
//! - Every value fits its type. The grid, block and cluster keep to the limits of the hardware and of the
//!   kernel.
//! - Tensor maps lie inside their buffers.
//! - The bytes of a buffer that the launch file describes, and does not give, exist only as long as a result
//!   of [`Buffer::bytes`].
//!
//! # Limitations
//! Pointers in memory, as in a list of buffers, cannot be described.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use prlx_isa::view::Module;
use prlx_isa::{MachineCode, ptx};
use prlx_trace::WarpSize;
use prlx_trace::device::{HiddenParameter, INSTRUMENTED, LaunchSize};
use prlx_trace::kernel::{Param, Scalar};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::buffer_content::{Content, pieces};
use crate::driver::{LaunchConfig, ModuleCode};
use crate::element;
use crate::error::{Error, ErrorKind};
use crate::files;
use crate::random::SplitMix;
use crate::tensor_map::TensorMap;

/// One kernel launch: what to load, what to start, with which data.
#[derive(Clone, PartialEq, Debug)]
pub struct Job {
    /// Name of the launch file, for messages.
    pub name: String,
    /// File name of the module, as the launch file spells it.
    pub module: String,
    /// Text of the module: PTX, or the disassembly of machine code.
    pub text: String,
    /// The machine code that is the module; `None` if it is PTX.
    pub object: Option<MachineCode>,
    /// Folder of the launch file. Output files are written there.
    pub folder: PathBuf,
    /// Folder in which source files named by `.loc` are searched.
    pub source: PathBuf,
    /// Name of the kernel.
    pub kernel: String,
    /// Shape of the launch, and the schedule seed.
    pub config: LaunchConfig,
    /// Parameters that the kernel declares.
    pub params: Vec<Param>,
    /// Values of the parameters, in the same order; then the buffers that only structures point to, and the
    /// variables of the module.
    pub args: Vec<Arg>,
    /// Launches that run before, in order, on the same memory. They are not recorded.
    pub before: Vec<LaunchBefore>,
}

impl Job {
    /// Sets the schedule seed of the launch and of those before it.
    pub fn set_seed(&mut self, seed: u64) {
        self.config.seed = seed;
        self.before.iter_mut().for_each(|before| before.config.seed = seed);
    }
}

/// A launch of another kernel of the module, before the launch of the job.
#[derive(Clone, PartialEq, Debug)]
pub struct LaunchBefore {
    /// Name of the kernel.
    pub kernel: String,
    /// Shape of the launch, and the schedule seed.
    pub config: LaunchConfig,
    /// Parameters that the kernel declares.
    pub params: Vec<Param>,
    /// Values of the parameters, in the same order.
    pub values: Vec<ParamValue>,
}

/// The value of a parameter of a [`LaunchBefore`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParamValue {
    /// What the argument at this position of [`Job::args`] is: its bits, or the address of its buffer.
    Argument(usize),
    /// A scalar: its type and its bits.
    Scalar(Scalar, u64),
}

/// A named value for one parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct Arg {
    /// Name of the argument in reports.
    pub name: String,
    /// The value itself.
    pub value: ArgValue,
}

/// The value that a parameter receives.
#[derive(Clone, PartialEq, Debug)]
#[allow(clippy::large_enum_variant, reason = "a launch has few arguments")]
pub enum ArgValue {
    /// A scalar: its type and its bits.
    Scalar(Scalar, u64),
    /// A struct that is passed by value.
    Struct {
        /// Its bytes in memory order.
        bytes: Vec<u8>,
        /// Members that are addresses: byte offset in the struct, and position of the argument whose buffer
        /// the member points to.
        pointers: Vec<(u32, usize)>,
    },
    /// The address of a buffer, or a tensor map over it ([`Buffer::map`]).
    Buffer(Buffer),
    /// A tensor map over another argument's buffer.
    TensorMap {
        /// Position of the argument whose buffer the map describes.
        over: usize,
        /// The tensor map, not yet encoded.
        map: TensorMap,
    },
}

/// A buffer in device memory: content before the launch and expectations after it.
#[derive(Clone, PartialEq, Debug)]
pub struct Buffer {
    /// Type of the elements.
    pub ty: Scalar,
    /// Sizes of the dimensions in C order, slowest first.
    pub shape: Vec<u64>,
    /// Content before the launch.
    pub content: Content,
    /// Seed of the random numbers, and position of the parameter.
    pub random: (u64, usize),
    /// Whether the buffer is read back and reported after the launch.
    pub out: bool,
    /// The `.npy` file that receives the content after the launch.
    pub save: Option<PathBuf>,
    /// Expected content after the launch.
    pub expect: Option<Expect>,
    /// If set, the parameter is a tensor map over the buffer instead of its address.
    pub map: Option<TensorMap>,
    /// Where the buffer lies in an allocation that it shares; `None` if it has an allocation of its own.
    pub place: Option<Box<Placement>>,
    /// Whether the buffer is a variable of the module, which has the argument's name.
    pub variable: bool,
}

/// The place of a buffer in an allocation that several buffers share.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placement {
    /// Name of the allocation.
    pub allocation: String,
    /// Bytes from the begin of the allocation to the buffer.
    pub offset: u64,
}

/// Expected content of a buffer after the launch.
#[derive(Clone, PartialEq, Debug)]
pub struct Expect {
    /// Name of the file with the expected elements.
    pub file: String,
    /// Expected elements, in the buffer's type.
    pub bytes: Vec<u8>,
    /// Tolerance relative to the expected value.
    pub rtol: f64,
    /// Tolerance in absolute terms.
    pub atol: f64,
}

impl Buffer {
    /// Number of elements in the buffer.
    pub fn len(&self) -> u64 {
        self.shape.iter().product()
    }
    /// Whether the buffer has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Size of the buffer in bytes.
    pub fn size(&self) -> u64 {
        self.len() * element::size(self.ty) as u64
    }
    /// XXH3-64 of the content before the launch.
    pub fn digest(&self) -> u64 {
        if self.content != Content::Fill(0) {
            return xxh3_64(&self.bytes());
        }
        let zeros = vec![0; pieces(self.size()).map(|p| p.1).max().unwrap_or(0)];
        let mut hash = Xxh3::new();
        pieces(self.size()).for_each(|(_, bytes)| hash.update(&zeros[..bytes]));
        hash.digest()
    }
    /// Whether both buffers have the same bytes before the launch.
    pub fn holds_same(&self, other: &Buffer) -> bool {
        let alike = self.content == other.content
            && (self.ty, self.len(), self.random) == (other.ty, other.len(), other.random);
        alike || self.bytes() == other.bytes()
    }
    /// Content before the launch, element by element, little-endian.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        let (seed, position) = self.random;
        match &self.content {
            Content::Bytes(bytes) => Cow::Borrowed(bytes),
            generated => {
                let random = SplitMix::of_argument(seed, position);
                Cow::Owned(generated.bytes(self.ty, self.len(), random))
            }
        }
    }
}

impl Job {
    /// Largest number of bytes that a run of the job keeps on the host at the same time: content given by the
    /// launch file, expected content, the content of every buffer after the launch, and one buffer in
    /// transit.
    pub fn host_bytes(&self) -> u64 {
        let buffers = self.args.iter().filter_map(|arg| match &arg.value {
            ArgValue::Buffer(buffer) => Some(buffer),
            _ => None,
        });
        let (mut total, mut largest) = (0u64, 0);
        for b in buffers {
            let given = if let Content::Bytes(bytes) = &b.content { bytes.len() } else { 0 };
            let expected = b.expect.as_ref().map_or(0, |e| e.bytes.len());
            total = total.saturating_add((given + expected) as u64).saturating_add(b.size());
            largest = b.size().max(largest);
        }
        total.saturating_add(largest)
    }

    /// Checks the files that the job writes after a run. They must lie in the folder of the launch file or
    /// below it, unless `outside` allows other folders. They must be neither the launch file nor its module.
    ///
    /// # Errors
    /// If a file may not be written. The error names it.
    pub fn check_saves(&self, launch_file: &Path, outside: bool) -> Result<(), Error> {
        let real = |path: &Path| path.canonicalize().ok();
        let folder = if self.folder.as_os_str().is_empty() { Path::new(".") } else { &self.folder };
        for arg in &self.args {
            let ArgValue::Buffer(Buffer { save: Some(save), .. }) = &arg.value else { continue };
            let refuse = |why: &str| {
                let say = format!("{}: the output `{}` {why}", self.name, arg.name);
                Error::new(ErrorKind::File, say)
            };
            let path = folder.join(save);
            // A file that is not there yet lies where its folder is.
            let at = real(&path).or_else(|| Some(real(path.parent()?)?.join(path.file_name()?)));
            let Some(at) = at else {
                return Err(refuse(&format!(
                    "would be written to {}, whose folder does not exist",
                    save.display()
                )));
            };
            let own = [launch_file.to_owned(), folder.join(&self.module)];
            if own.iter().any(|own| real(own).is_some_and(|own| own == at)) {
                return Err(refuse(&format!("would replace {}, which the launch needs", save.display())));
            }
            if !outside && !real(folder).is_some_and(|folder| at.starts_with(folder)) {
                let say =
                    format!("would be written to {}, outside of the launch file's folder", at.display());
                return Err(refuse(&say).help("allow that with --allow-writes-outside"));
            }
        }
        Ok(())
    }

    /// The code of the module, as a device loads it.
    pub fn code(&self) -> ModuleCode<'_> {
        match &self.object {
            Some(object) => ModuleCode::Object(object.set, &object.bytes),
            None => ModuleCode::Ptx(&self.text),
        }
    }

    /// The neutral view of the module, for warps of the size that a device has.
    ///
    /// # Errors
    /// If machine code cannot be read. The launch file was read from it, so it can.
    pub fn view(&self, device: WarpSize) -> Result<Module, Error> {
        if let Some(object) = &self.object {
            return object
                .set
                .read(&object.bytes)
                .map_err(|e| Error::new(ErrorKind::Module, format!("{}: {e}", self.module)));
        }
        let (mut module, _) = ptx::read(&self.text);
        module.warp_lanes = device.lanes() as u32;
        Ok(module)
    }

    /// Lanes of the warps of the launch, on a device whose warps have this size for PTX.
    pub fn warp_size(&self, device: WarpSize) -> WarpSize {
        self.object
            .as_ref()
            .map_or(device, |object| WarpSize::of(object.warp_lanes.into()).unwrap_or_default())
    }

    /// Refuses machine code where only PTX will do. `what` cannot have it, as "probes".
    ///
    /// # Errors
    /// If the module is not PTX.
    pub fn require_ptx(&self, what: &str) -> Result<(), Error> {
        let Some(object) = &self.object else { return Ok(()) };
        let code = object.set.code_name();
        let text = format!("{}: {} is {code}, which {what} do not take yet", self.name, self.module);
        Err(Error::new(ErrorKind::Unsupported, text)
            .help("run, record, compare or probe it, or take a module of PTX"))
    }

    /// Size of the parameter buffer in bytes.
    pub fn params_size(&self) -> u32 {
        let end = self.params.iter().map(|p| p.offset + p.size).max().unwrap_or(0);
        // AMD's code reads whole words.
        if self.object.is_some() { end.next_multiple_of(8) } else { end }
    }

    /// The name of the kernel in the rewritten module, and its parameters: the kernel's own, then the hidden
    /// one, and for machine code the launch's size. A hidden parameter of zeros records nothing.
    ///
    /// # Errors
    /// If machine code cannot be read.
    pub fn instrumented_launch(
        &self,
        own: &[u8],
        hidden: &HiddenParameter,
    ) -> Result<(String, Vec<u8>), Error> {
        let mut params = own.to_vec();
        if let Some(object) = &self.object {
            let wrong = |e: prlx_isa::image::Error| Error::new(ErrorKind::Module, e.what);
            let bytes = object.set.argument_bytes(&object.bytes, &self.kernel).map_err(wrong)?;
            params.resize(bytes as usize, 0);
        }
        params.resize(params.len().next_multiple_of(8), 0);
        params.extend_from_slice(&hidden.to_bytes());
        if self.object.is_none() {
            return Ok((self.kernel.clone(), params));
        }
        let (grid, block) = (self.config.grid, self.config.block);
        let [block_x, block_y, block_z] = [block.x, block.y, block.z];
        let [grid_x, grid_y, grid_z] = [grid.x, grid.y, grid.z];
        params
            .extend_from_slice(&LaunchSize { block_x, block_y, block_z, grid_x, grid_y, grid_z }.to_bytes());
        Ok((format!("{}{INSTRUMENTED}", self.kernel), params))
    }

    /// Reads the source file with this path from the debug information. Searches the path below
    /// [`Job::source`], then the file name alone. `Plan::resolve` calls it.
    pub fn source_text(&self, path: &str) -> Option<String> {
        let path = Path::new(path);
        let named = path.file_name().map(|n| self.source.join(n));
        let places = [Some(self.source.join(path)), named];
        places.into_iter().flatten().find_map(|p| files::read_text(&p).ok())
    }
}
