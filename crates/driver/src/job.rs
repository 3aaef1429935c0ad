//! One launch with all its data, as a launch file describes it (`docs/launch-file.md`).
//!
//! # Invariants
//! - A [`Job`] has one [`Arg`] for each parameter of the kernel, in order, of the parameter's size.
//! - Every value fits its type. The grid, block and cluster keep to the limits of the hardware and of the
//!   kernel.
//! - Tensor maps lie inside their buffers.
//! - The bytes of a buffer exist only while [`Buffer::bytes`] runs.
//!
//! # Limitations
//! Pointers inside struct parameters, and two arguments that share one buffer, cannot be described.

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
    /// Bytes that a run of it keeps on this side at once: what the launch file gave, what is expected, what
    /// every buffer holds afterwards, and one buffer on its way.
    pub fn host_bytes(&self) -> u64 {
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

    /// The text of a source file, by its path in the debug information, where it is found: as the path says,
    /// in [`Job::source`], or there by its last name. What `Plan::resolve` asks for.
    pub fn source_text(&self, path: &str) -> Option<String> {
        let path = Path::new(path);
        let named = path.file_name().map(|n| self.source.join(n));
        let places = [Some(self.source.join(path)), named];
        places.into_iter().flatten().find_map(|p| std::fs::read_to_string(p).ok())
    }
}
