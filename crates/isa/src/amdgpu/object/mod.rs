//! Files that hold AMD machine code: code objects, offload bundles, and programs with bundles in them.
//!
//! [`read`] lists the images of a file, and [`choose`] returns the image that the runtime takes for a device,
//! as [`crate::image`] does for CUDA. [`Image::code_object`] reads an image: its kernels with their
//! [`Descriptor`]s, its [`Metadata`], symbols and relocations. [`CodeObject::write`] writes it back.
//!
//! # Invariants
//! - Any bytes are accepted.
//! - Nothing is decompressed before it is asked for but the table of a bundle, and never to more than
//!   [`crate::image::LARGEST`] or than the compressed bytes can account for.
//! - Objects are written with the bytes that they were read from, but for descriptors that were changed.
//!
//! # Limitations
//! - Code objects before version 4, and those for generic targets, are refused.
//! - Bundles in archives (`.a`), in bundles that are themselves compressed, and in the format of
//!   `llvm-offload-binary` are not read.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::indexing_slicing
)]

mod append;
mod code_object;
mod containers;
mod descriptor;
mod fields;
mod images;
mod launch_state;
mod metadata;
mod msgpack;
mod target_id;

pub use self::append::{AddedCode, AddedFunction};
pub use self::code_object::{CodeObject, Kernel, Version};
pub use self::containers::Compression;
pub use self::descriptor::{Descriptor, SIZE as DESCRIPTOR};
pub use self::fields::Field;
pub use self::images::{Image, choose, is_binary, read};
pub use self::launch_state::{Initial, InitialSgprs, PRELOAD_PROLOGUE, Vgprs, WorkgroupIds};
pub use self::metadata::{Argument, KernelMetadata, Metadata, Unknown, ValueKind};
pub use self::target_id::{Feature, TargetId};
pub use crate::image::elf::{Relocation, Section, Segment, Symbol};
