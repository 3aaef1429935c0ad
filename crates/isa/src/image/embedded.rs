//! One image of a file: PTX or a cubin, possibly compressed.

use std::borrow::Cow;

use super::compression::Compression;
use super::error::Error;
use super::target::Target;
use super::{cubin, lz4};

/// Most bytes that an image may have.
pub const LARGEST: u64 = 512 << 20;

/// Most bytes that one compressed byte may give.
const RATIO: u64 = 1 << 14;

/// What an image is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Text.
    Ptx,
    /// Machine code in ELF.
    Cubin,
}

/// An image in a file.
#[derive(Clone, Debug)]
pub struct Image<'a> {
    /// Which module of the file it belongs to: a module's images are one program for several devices.
    pub module: usize,
    /// Where its container's entry, or itself, begins.
    pub at: u64,
    /// What it is.
    pub kind: Kind,
    /// What it is for.
    pub target: Target,
    /// The assembler's options that are stored with it.
    pub options: String,
    /// The source's name, where it is stored.
    pub name: String,
    /// How it is stored.
    pub compression: Compression,
    /// Bytes of the image itself.
    pub size: u64,
    /// The bytes as stored, compressed or not.
    pub(super) stored: &'a [u8],
}

impl<'a> Image<'a> {
    /// Its bytes.
    ///
    /// # Errors
    /// When it is too large, or does not decompress to the size that is stored with it.
    pub fn bytes(&self) -> Result<Cow<'a, [u8]>, Error> {
        let wrong = |what: String| Error { at: self.at, what };
        let most = LARGEST.min((self.stored.len() as u64).saturating_mul(RATIO));
        if self.size > most {
            return Err(wrong(format!("an image of {} bytes is larger than it can be", self.size)));
        }
        let size = self.size as usize;
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

    /// Its PTX: its own text, or what is stored in a cubin; `None` if there is none.
    ///
    /// # Errors
    /// When it can't be read.
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

    /// Names of its kernels.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn kernels(&self) -> Result<Vec<String>, Error> {
        if self.kind == Kind::Cubin {
            return Ok(cubin::read(&self.bytes()?)?.kernels);
        }
        let (module, _) = crate::ptx::read(&self.ptx()?.unwrap_or_default());
        let kernels = module.functions.into_iter().filter(|f| f.kind == crate::view::FunctionKind::Kernel);
        Ok(kernels.map(|f| f.name).collect())
    }
}
