//! One launch with all its data, as a launch file describes it (`docs/launch-file.md`).
//!
//! # Invariants
//! - A [`Job`] has one [`Arg`] for each parameter of the kernel, in order, of the parameter's size. Buffers
//!   that only structures point to follow them.
//! - Every value fits its type. The grid, block and cluster keep to the limits of the hardware and of the
//!   kernel.
//! - Tensor maps lie inside their buffers.
//! - The bytes of a buffer exist only while [`Buffer::bytes`] runs.
//!
//! # Limitations
//! Pointers in memory, as in a list of buffers, cannot be described.

use std::path::{Path, PathBuf};

use prlx_trace::kernel::{Param, Scalar};

use crate::buffer_content::Content;
use crate::driver::LaunchConfig;
use crate::element;
use crate::random::SplitMix;
use crate::tensor_map::TensorMap;

/// One kernel launch: what to load, what to start, with which data.
#[derive(Clone, PartialEq, Debug)]
pub struct Job {
    /// Name of the launch file, for messages.
    pub name: String,
    /// File name of the module, as the launch file spells it.
    pub module: String,
    /// PTX text of the module.
    pub text: String,
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
    /// Values of the parameters, in the same order; then the buffers that only structures point to.
    pub args: Vec<Arg>,
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
    /// Content before the launch, element by element, little-endian.
    pub fn bytes(&self) -> Vec<u8> {
        let (seed, position) = self.random;
        self.content.bytes(self.ty, self.len(), SplitMix::of_argument(seed, position))
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

    /// Size of the parameter buffer in bytes.
    pub fn params_size(&self) -> u32 {
        self.params.iter().map(|p| p.offset + p.size).max().unwrap_or(0)
    }

    /// Reads the source file with this path from the debug information. Searches the path below
    /// [`Job::source`], then the file name alone. `Plan::resolve` calls it.
    pub fn source_text(&self, path: &str) -> Option<String> {
        let path = Path::new(path);
        let named = path.file_name().map(|n| self.source.join(n));
        let places = [Some(self.source.join(path)), named];
        places.into_iter().flatten().find_map(|p| std::fs::read_to_string(p).ok())
    }
}
