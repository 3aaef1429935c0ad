//! Lists the images of a cubin, a fatbin or a program.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use prlx::code::{image_file, images};
use prlx_isa::image::{self, Compression, Image, Kind, Target};
use prlx_trace::names::display_names;

/// Lists the images of a file; `false` if it is a file without images. A `*` marks the images that the driver
/// takes for the architecture `arch`.
pub fn list(path: &Path, arch: Option<Target>, out: &mut impl Write) -> Result<bool> {
    let Some(bytes) = image_file(path)? else { return Ok(false) };
    let images = images(&bytes, path)?;
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
        let (module, target) = (image.module, image.target.to_string());
        write!(out, "{mark} {n:>3}  module {module}  {target:<8} {kind}, {} bytes{stored}", image.size)?;
        writeln!(out, "{}", details(image))?;
        let kernels = image.kernels().unwrap_or_default();
        for kernel in display_names(kernels.iter().map(|k| &k[..])) {
            writeln!(out, "        {kernel}")?;
        }
    }
    Ok(true)
}

/// Whether an image can be read, whether machine code has PTX with it, its name and the options it was
/// compiled with.
fn details(image: &Image<'_>) -> String {
    let mut text = match (image.kind, image.ptx()) {
        (_, Err(e)) => return format!(": {e}"),
        (Kind::Cubin, Ok(Some(_))) => ", with its PTX".to_owned(),
        _ => String::new(),
    };
    for part in [&image.name, &image.options] {
        if !part.is_empty() {
            text += &format!(", {part}");
        }
    }
    text
}

/// A number of things, as `1 image` and `2 images`.
pub fn count(n: impl TryInto<u64>, what: &str) -> String {
    let n = n.try_into().unwrap_or(u64::MAX);
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
