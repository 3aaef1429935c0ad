//! One image of a file: PTX or a cubin, possibly compressed.

use std::borrow::Cow;

use super::compression::Compression;
use super::error::Error;
use super::target::Target;
use super::{cubin, lz4};

/// Maximum size of an image, bytes.
pub const LARGEST: u64 = 512 << 20;

/// Maximum ratio of decompressed to compressed bytes.
pub(crate) const RATIO: u64 = 1 << 14;

/// Format of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// PTX source text.
    Ptx,
    /// Cubin: machine code in ELF.
    Cubin,
}

/// One image of a file.
#[derive(Clone, Debug)]
pub struct Image<'a> {
    /// Module of the file that it belongs to. The images of a module are the same program for several
    /// devices.
    pub module: usize,
    /// Offset in the file of its entry in a container, or of itself.
    pub at: u64,
    /// Format of the image.
    pub kind: Kind,
    /// Architecture it was built for.
    pub target: Target,
    /// Assembler options stored with it.
    pub options: String,
    /// Name of its source; empty if it is not stored.
    pub name: String,
    /// Compression of the stored bytes.
    pub compression: Compression,
    /// Size of the decompressed image, bytes.
    pub size: u64,
    /// The bytes as stored, compressed or not.
    pub(super) stored: &'a [u8],
}

impl<'a> Image<'a> {
    /// The decompressed image.
    ///
    /// # Errors
    /// If the image is too large, or does not decompress to the size stored with it.
    pub fn bytes(&self) -> Result<Cow<'a, [u8]>, Error> {
        let wrong = |what: String| Error { at: self.at, what };
        let most = LARGEST.min((self.stored.len() as u64).saturating_mul(RATIO));
        if self.size > most {
            return Err(wrong(format!("an image of {} bytes is larger than it can be", self.size)));
        }
        let size = usize::try_from(self.size).map_err(|e| wrong(e.to_string()))?;
        let broken = || wrong(format!("the image does not decompress to its {size} bytes"));
        match self.compression {
            Compression::None => Ok(Cow::Borrowed(self.stored)),
            Compression::Lz4 => lz4::decompress(self.stored, size).map(Cow::Owned).ok_or_else(broken),
            Compression::Zstd => zstd::bulk::decompress(self.stored, size)
                .ok()
                .filter(|bytes| bytes.len() == size)
                .map(Cow::Owned)
                .ok_or_else(broken),
        }
    }

    /// The PTX of the image: its own text, or the text stored in a cubin; `None` if there is none.
    ///
    /// # Errors
    /// If the image cannot be read.
    pub fn ptx(&self) -> Result<Option<String>, Error> {
        let bytes = self.bytes()?;
        match self.kind {
            Kind::Cubin => Ok(cubin::read(&bytes)?.ptx),
            Kind::Ptx => {
                let text = bytes.split(|b| *b == 0).next().unwrap_or_default();
                let text = std::str::from_utf8(text);
                let text = text.map_err(|_| Error { at: self.at, what: "the PTX is not text".into() })?;
                Ok(Some(text.to_owned()))
            }
        }
    }

    /// Names of the kernels in the image.
    ///
    /// # Errors
    /// If the image cannot be read.
    pub fn kernels(&self) -> Result<Vec<String>, Error> {
        if self.kind == Kind::Cubin {
            return Ok(cubin::read(&self.bytes()?)?.kernels);
        }
        let (module, _) = crate::ptx::read(&self.ptx()?.unwrap_or_default());
        let kernels = module.functions.into_iter().filter(|f| f.kind == crate::view::FunctionKind::Kernel);
        Ok(kernels.map(|f| f.name).collect())
    }
}
