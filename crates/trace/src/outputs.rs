//! What a launch left in its outputs, as a recording holds it.
//!
//! # Invariants
//! - Contents stay compressed until [`OutputContents::unpack`] is called.
//! - A frame unpacks to at most `frame::most` bytes, so a small file never needs much memory.
//!
//! # Limitations
//! Only recordings of launch files have outputs, and only up to the size that the user allows.

use std::io;

use crate::Error;
use crate::frame::packing;
use crate::kernel::Scalar;

structures! {
    /// The content of one output of a launch after the launch. A launch without such sections names no
    /// outputs, or did not end.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct OutputContents {
        /// Number of the launch ([`crate::Launch::number`]).
        pub launch: u64,
        /// Name of the argument.
        pub name: String,
        /// Type of the elements.
        pub ty: Scalar,
        /// Sizes of the dimensions, slowest first.
        pub shape: Vec<u64>,
        /// Bits of two binary64 numbers: the relative and the absolute tolerance that the launch file states
        /// for this output. `None` if it states none.
        pub tolerance: Option<(u64, u64)>,
        /// Size of the content in bytes.
        pub bytes: u64,
        /// The elements in C order, little-endian, as a zstd frame. Empty if the recording does not hold
        /// them.
        pub packed: Vec<u8>,
    }
}

impl OutputContents {
    /// Stores these elements.
    ///
    /// # Errors
    /// If the elements cannot be compressed.
    pub fn pack(&mut self, elements: &[u8]) -> io::Result<()> {
        self.bytes = elements.len() as u64;
        self.packed = packing::pack(elements)?;
        Ok(())
    }

    /// The elements in C order, little-endian. `None` if the recording does not hold them.
    ///
    /// # Errors
    /// If the compressed bytes are damaged.
    pub fn unpack(&self) -> Result<Option<Vec<u8>>, Error> {
        if self.packed.is_empty() {
            return Ok(None);
        }
        let damaged = |what| Error { offset: 0, field: format!("output {}", self.name), what };
        let most = packing::most(self.packed.len());
        if self.bytes > most {
            return Err(damaged(format!("it unpacks to {} bytes; {most} are allowed", self.bytes)));
        }
        packing::unpack(&self.packed, self.bytes).map(Some).map_err(damaged)
    }
}
