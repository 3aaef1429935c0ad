//! Files with code: the PTX in them, and the list of their images.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use prlx_isa::image::{self, Compression, Image, Kind, Target};

/// The PTX of a file: the file itself, or an image in it.
pub fn ptx(path: &Path, image: Option<usize>) -> Result<String> {
    let bytes = read(path)?;
    if image.is_some() || image::is_binary(&bytes) {
        return image::source(&bytes, image).with_context(|| path.display().to_string());
    }
    String::from_utf8(bytes).with_context(|| format!("{} is no text", path.display()))
}

/// Lists the images of a file that holds some; `false` if it is another file. A `*` marks what a device of `arch` takes.
pub fn list(path: &Path, arch: Option<Target>, out: &mut impl Write) -> Result<bool> {
    let bytes = read(path)?;
    if !image::is_binary(&bytes) {
        return Ok(false);
    }
    let images = image::read(&bytes).with_context(|| path.display().to_string())?;
    let modules = images.last().map_or(0, |i| i.module + 1);
    writeln!(out, "{}: {}, {}", path.display(), count(images.len(), "image"), count(modules, "module"))?;
    for (n, image) in images.iter().enumerate() {
        let chosen = arch.and_then(|arch| image::choose(&images, image.module, arch));
        let mark = if chosen.is_some_and(|c| std::ptr::eq(c, image)) { '*' } else { ' ' };
        let kind = match image.kind {
            Kind::Ptx => "PTX",
            Kind::Cubin => "machine code",
        };
        let stored = match image.compression {
            Compression::None => "",
            Compression::Lz4 => ", LZ4",
            Compression::Zstd => ", Zstandard",
        };
        write!(
            out,
            "{mark} {n:>3}  module {}  {:<8} {kind}, {} bytes{stored}",
            image.module,
            image.target.to_string(),
            image.size
        )?;
        writeln!(out, "{}", inside(image))?;
        for kernel in image.kernels().unwrap_or_default() {
            writeln!(out, "        {kernel}")?;
        }
    }
    Ok(true)
}

/// What else is to say of an image.
fn inside(image: &Image<'_>) -> String {
    let mut said = match (image.kind, image.ptx()) {
        (_, Err(e)) => return format!(": {e}"),
        (Kind::Cubin, Ok(Some(_))) => ", with its PTX".to_owned(),
        _ => String::new(),
    };
    for text in [&image.name, &image.options] {
        if !text.is_empty() {
            said += &format!(", {text}");
        }
    }
    said
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}
