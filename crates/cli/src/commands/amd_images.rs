//! Prints the AMD code objects of a file.

use std::io::{self, Write};
use std::path::Path;

use prlx::amd::{AmdImage, AmdKernel, AmdObject};
use prlx_trace::names::display_name;

use super::images::count;

/// Maximum length of a value that PRLX does not know, in characters.
const LONGEST: usize = 200;

/// Prints what [`prlx::amd::images`] lists.
pub fn print(out: &mut dyn Write, path: &Path, images: &[AmdImage]) -> io::Result<()> {
    let bundles = images.last().map_or(0, |i| i.bundle + 1);
    let kept = if images.iter().all(|i| i.id.is_empty()) {
        String::new()
    } else {
        format!(" in {}", count(bundles, "bundle"))
    };
    writeln!(out, "{}: {}{kept}", path.display(), count(images.len(), "AMD code object"))?;
    for image in images {
        let mark = if image.chosen { '*' } else { ' ' };
        let target = image.target.as_deref().unwrap_or(&image.id);
        let version =
            image.object.as_ref().map_or(String::new(), |o| format!(" code object V{},", o.version));
        let stored = image.compression.map_or(String::new(), |method| format!(", {method}"));
        let bundle = if image.id.is_empty() { String::new() } else { format!("bundle {}  ", image.bundle) };
        write!(out, "{mark} {:>3}  {bundle}{target} {version} {} bytes{stored}", image.image, image.size)?;
        match (&image.error, &image.object) {
            (Some(error), _) => writeln!(out, ": {error}")?,
            (None, object) => {
                writeln!(out)?;
                object.iter().try_for_each(|object| contents(out, object))?;
            }
        }
    }
    Ok(())
}

fn contents(out: &mut dyn Write, object: &AmdObject) -> io::Result<()> {
    for k in &object.kernels {
        kernel(out, k)?;
    }
    for symbol in &object.functions {
        writeln!(out, "      {}  function, {} bytes", display_name(&symbol.name), symbol.size)?;
    }
    for symbol in &object.variables {
        writeln!(out, "      {}  variable, {} bytes", symbol.name, symbol.size)?;
    }
    if object.relocations > 0 {
        writeln!(out, "      {}", count(object.relocations, "relocation"))?;
    }
    for format in &object.printf {
        writeln!(out, "      printf {format}")?;
    }
    for (key, value) in &object.unknown {
        writeln!(out, "      unknown key {key}: {}", short(value))?;
    }
    Ok(())
}

fn kernel(out: &mut dyn Write, k: &AmdKernel) -> io::Result<()> {
    writeln!(
        out,
        "      {}  kernel, {} bytes, waves of {} lanes",
        display_name(&k.name),
        k.size,
        k.wave_size
    )?;
    writeln!(out, "        registers  {}", registers(k))?;
    let stack = if k.dynamic_stack { " and a stack of any size" } else { "" };
    let (lds, scratch) = (k.lds, k.scratch);
    writeln!(out, "        memory     {lds} bytes of LDS, {scratch} bytes of scratch{stack} for each lane")?;
    let mut entry: Vec<String> = Vec::new();
    entry.extend(k.sgprs_at_entry.iter().map(|(name, content)| format!("{name} {content}")));
    entry.extend(k.vgprs_at_entry.iter().map(|(name, content)| format!("{name} {content}")));
    writeln!(out, "        at entry   {}", entry.join("; "))?;
    if let Some(p) = &k.preload {
        let words = count(p.dwords, "dword");
        let (from, skipped) = (p.offset, p.prologue);
        writeln!(
            out,
            "        preload    {words} of the arguments from byte {from}; skips {skipped} bytes of code"
        )?;
    }
    writeln!(out, "        floats     {}", k.float_modes.join("; "))?;
    if let Some(m) = &k.metadata {
        let mut text = format!("at most {}", count(m.max_flat_workgroup_size, "workitem"));
        if let Some(sizes) = &m.reqd_workgroup_size {
            let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
            text = format!("{} workitems, always", sizes.join(" x "));
        }
        writeln!(out, "        workgroup  {text}")?;
        let spills = [("SGPR", m.sgpr_spill_count), ("VGPR", m.vgpr_spill_count)];
        let spills: Vec<String> = spills
            .iter()
            .filter_map(|(kind, n)| n.filter(|n| *n > 0).map(|n| count(n, &format!("{kind} spill"))))
            .collect();
        if !spills.is_empty() {
            writeln!(out, "        spills     {}", spills.join(", "))?;
        }
    }
    arguments(out, k)?;
    for warning in &k.warnings {
        writeln!(out, "        warning    {warning}")?;
    }
    if !k.reserved_bits.is_empty() {
        let bits: Vec<String> = k.reserved_bits.iter().map(u16::to_string).collect();
        writeln!(out, "        warning    reserved bits of the descriptor are set: {}", bits.join(", "))?;
    }
    for (key, value) in k.metadata.iter().flat_map(|m| &m.unknown) {
        writeln!(out, "        unknown key {key}: {}", short(value))?;
    }
    Ok(())
}

/// The registers that a kernel owns and needs.
fn registers(k: &AmdKernel) -> String {
    let unified = k.descriptor.contains_key("accum_offset");
    let mut owned = vec![format!("{} VGPRs", k.vgprs)];
    owned.extend(unified.then(|| format!("{} AGPRs", k.agprs)));
    owned.push(format!("{} SGPRs", k.sgprs));
    let needed = k.metadata.as_ref().map(|m| {
        // With a unified file, the metadata counts AGPRs as VGPRs too.
        let agprs = if unified { m.agpr_count.unwrap_or_default() } else { 0 };
        let mut needed = vec![m.vgpr_count.saturating_sub(agprs).to_string()];
        needed.extend(unified.then(|| agprs.to_string()));
        format!(" (needs {} and {})", needed.join(", "), m.sgpr_count)
    });
    let allocated = count(k.vgprs_allocated, "vector register");
    format!("{}{}; hardware allocates {allocated}", owned.join(", "), needed.unwrap_or_default())
}

fn arguments(out: &mut dyn Write, k: &AmdKernel) -> io::Result<()> {
    writeln!(out, "        arguments  {} bytes", k.kernarg_size)?;
    let (hidden, given): (Vec<_>, Vec<_>) = k.args.iter().partition(|a| a.is_hidden());
    let width = given.iter().map(|a| a.kind.len()).max().unwrap_or(0);
    for a in given {
        let mut text = format!("{:>9} {:>4}  {:<width$}", a.offset, a.size, a.kind);
        for part in [&a.type_name, &a.name].into_iter().flatten() {
            text += &format!("  {part}");
        }
        if !a.flags.is_empty() {
            text += &format!("  ({})", a.flags.join(", "));
        }
        writeln!(out, "        {}", text.trim_end())?;
        for (key, value) in &a.unknown {
            writeln!(out, "          unknown key {key}: {}", short(value))?;
        }
    }
    if !hidden.is_empty() {
        let hidden: Vec<String> =
            hidden.iter().map(|a| format!("{} {}", a.kind.trim_start_matches("hidden_"), a.offset)).collect();
        writeln!(out, "          hidden, with their offsets: {}", hidden.join(", "))?;
    }
    Ok(())
}

/// A value of the metadata, cut off if it is long.
fn short(value: &str) -> String {
    match value.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} …", value.get(..end).unwrap_or_default()),
        None => value.to_owned(),
    }
}
