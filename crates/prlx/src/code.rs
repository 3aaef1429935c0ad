//! Reads PTX and the list of images from files that hold code.
//!
//! # Limitations
//! - PTX that is cut off between two functions looks complete.

use std::path::Path;

use anyhow::{Context, Result};
use prlx_driver::{Error, ErrorKind};
use prlx_isa::amdgpu::object;
use prlx_isa::image::{self, Image};

use crate::input::{self, FileKind};

/// The PTX of a file: the file itself, or image number `image` of a cubin, fatbin or program.
///
/// # Errors
/// If the file cannot be read, holds no such PTX, or is PTX that ends in the middle of a function.
pub fn ptx(path: &Path, image: Option<usize>) -> Result<String> {
    let bytes = read(path)?;
    if object::is_binary(&bytes) {
        return Err(input::refuse_amd(path, "PTX, a cubin, a fatbin or a program"));
    }
    if image.is_some() || image::is_binary(&bytes) {
        return image::source(&bytes, image).with_context(|| path.display().to_string());
    }
    let kind = input::identify(path)?;
    let text = match String::from_utf8(bytes) {
        Ok(text) if input::has_version(text.as_bytes()) => text,
        _ => {
            let name = input::shell(path);
            let help = match kind {
                FileKind::LaunchFile => format!("name its module; `prlx inspect {name}` shows it"),
                FileKind::CudaSource => format!("compile it first: nvcc -O3 -lineinfo --ptx {name}"),
                FileKind::HipSource => input::compile_hip(path),
                FileKind::Recording | FileKind::OldRecording => format!("show it with: prlx inspect {name}"),
                _ => "PTX text has the directive `.version`".to_owned(),
            };
            return Err(input::refuse(path, kind, "PTX, a cubin, a fatbin or a program", help));
        }
    };
    check_complete(path, &text)?;
    Ok(text)
}

/// The code object of a file of AMD's: the only one, or image number `image`. `None` for any other file.
///
/// # Errors
/// If the file cannot be read or is damaged, or it is not clear which image is meant.
pub fn amd_object(path: &Path, image: Option<usize>) -> Result<Option<Vec<u8>>> {
    crate::amd::object(&read(path)?, path, image)
}

/// Refuses PTX that ends in the middle of a function or a declaration.
fn check_complete(path: &Path, text: &str) -> Result<()> {
    let (_, diagnostics) = prlx_isa::ptx::parse(text);
    let Some((line, open)) = prlx_isa::ptx::truncation(text, &diagnostics) else { return Ok(()) };
    let what = format!("{}:{line}: {}: the file is truncated", path.display(), open.message);
    Err(Error::new(ErrorKind::Module, what).help("write or compile the PTX again").into())
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

/// The bytes of a file.
///
/// # Errors
/// If it cannot be read. The error names it.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    prlx_driver::files::read(path).with_context(|| format!("cannot read {}", path.display()))
}
