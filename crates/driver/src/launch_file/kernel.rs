//! Finds the kernel that a launch file names in its module.

use prlx_isa::ptx;
use prlx_isa::view::{Diagnostic, Module};
use prlx_trace::names::{demangle_signature, display_name, display_names, spellings};

use crate::error::Error;
use crate::launch_file::table::{Table, Value, distance};
use crate::session::KernelPattern;
use crate::signature::Signature;

/// Reads a module.
pub(super) fn module(module: Value<'_>, module_name: &str, text: &str) -> Result<ParsedModule, Error> {
    let (view, diagnostics) = ptx::read(text);
    if let Some((line, open)) = ptx::truncation(text, &diagnostics) {
        let what = format!("{module_name} is truncated, at line {line}: {}", open.message);
        return Err(module.error(what).help("write or compile the PTX again"));
    }
    if let Some((line, invalid)) = ptx::invalid(text, &diagnostics) {
        let what = format!("{module_name} is not valid PTX, at line {line}: {}", invalid.message);
        return Err(module.error(what).help("ptxas refuses it as well"));
    }
    // ptxas dropped them as well (PTX ISA, `.address_size`; CUDA 13 refuses 32).
    let size = text.lines().find_map(|line| line.trim().strip_prefix(".address_size"));
    if size.is_some_and(|size| size.trim() == "32") {
        return Err(module
            .error(format_args!("{module_name} has addresses of 32 bits, which PRLX does not run"))
            .help("compile it for addresses of 64 bits (-m64)"));
    }
    Ok((view, diagnostics))
}

/// A module, and what its reader did not understand.
pub(super) type ParsedModule = (Module, Vec<Diagnostic>);

/// Finds the kernel that a table names. A module with one kernel needs no name.
pub(super) fn kernel(
    file: &Table<'_>,
    module: Value<'_>,
    module_name: &str,
    (view, diagnostics): &ParsedModule,
) -> Result<Signature, Error> {
    let mut all = Signature::all(view);
    let names = display_names(all.iter().map(|s| s.name.as_str())).join(", ");
    let Some(asked) = file.get("kernel") else {
        return match all.len() {
            1 => Ok(all.remove(0)),
            0 => {
                let reason = diagnostics.first().map_or(String::new(), |d| format!(" ({})", d.message));
                Err(module
                    .error(format_args!("{module_name} has no kernel{reason}"))
                    .help("is it PTX, with an .entry?"))
            }
            n => Err(module
                .error(format_args!("{module_name} has {n} kernels; `kernel` must say which is meant"))
                .help(format!("they are {names}"))),
        };
    };
    let name = asked.text()?;
    if let Some(i) = all.iter().position(|s| s.name == name) {
        return Ok(all.swap_remove(i));
    }
    // Names as the source writes them: `scale<float>`.
    let written: Vec<usize> = match KernelPattern::exact(name) {
        Ok(pattern) => (0..all.len()).filter(|&i| pattern.matches(&all[i].name)).collect(),
        Err(_) => Vec::new(),
    };
    match written[..] {
        [] => {}
        [i] => return Ok(all.swap_remove(i)),
        _ => {
            let names: Vec<String> = written.iter().map(|&i| format!("`{}`", shown(&all[i].name))).collect();
            let say = format!("{} kernels of {module_name} are called `{name}`", names.len());
            return Err(asked.error(say).help(format!("they are {}", names.join(", "))));
        }
    }
    let error = asked.error(format_args!("{module_name} has no kernel `{name}`"));
    // The user often writes the name from the source, which is part of the mangled name.
    let inside = all.iter().find(|s| !name.is_empty() && s.name.contains(name));
    let far =
        |s: &&Signature| spellings(&s.name).iter().map(|of| distance(of, name)).min().unwrap_or(usize::MAX);
    let near = inside.or_else(|| all.iter().min_by_key(far).filter(|s| far(s) < 4));
    Err(match near {
        Some(s) => error.help(format!("did you mean `{}`?", display_name(&s.name))),
        None if names.is_empty() => error.help("it has none at all"),
        None => error.help(format!("it has {names}")),
    })
}

/// A kernel's whole C++ signature, or its name if it is no C++ name.
fn shown(name: &str) -> String {
    demangle_signature(name).unwrap_or_else(|| name.to_owned())
}
