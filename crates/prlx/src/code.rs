//! Reads PTX and the list of images from files that hold code.

use std::path::Path;

use anyhow::{Context, Result};
use prlx_isa::image::{self, Image};

/// The PTX of a file: the file itself, or image number `image` of a cubin, fatbin or program.
///
/// # Errors
/// If the file cannot be read, or holds no such PTX.
pub fn ptx(path: &Path, image: Option<usize>) -> Result<String> {
    let bytes = read(path)?;
    if image.is_some() || image::is_binary(&bytes) {
        return image::source(&bytes, image).with_context(|| path.display().to_string());
    }
    String::from_utf8(bytes).with_context(|| format!("{} is not a text file", path.display()))
}

/// The bytes of a file that holds images; `None` for any other file, such as PTX.
///
/// # Errors
/// If the file cannot be read.
pub fn image_file(path: &Path) -> Result<Option<Vec<u8>>> {
    let bytes = read(path)?;
    Ok(image::is_binary(&bytes).then_some(bytes))
}

/// The images in the bytes of [`image_file`].
///
/// # Errors
/// If they are damaged.
pub fn images<'a>(bytes: &'a [u8], path: &Path) -> Result<Vec<Image<'a>>> {
    image::read(bytes).with_context(|| path.display().to_string())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}
