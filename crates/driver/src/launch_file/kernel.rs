//! Finds the kernel that a launch file names in its module.

use prlx_isa::ptx;
use prlx_isa::view::{Diagnostic, Module};

use crate::error::Error;
use crate::launch_file::table::{Table, Value, distance};
use crate::signature::Signature;

/// Reads a module.
pub(super) fn module(module: Value<'_>, module_name: &str, text: &str) -> Result<ParsedModule, Error> {
    let (view, diagnostics) = ptx::read(text);
    if let Some((line, open)) = ptx::truncation(text, &diagnostics) {
        let what = format!("{module_name} is truncated, at line {line}: {}", open.message);
        return Err(module.error(what).help("write or compile the PTX again"));
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
    let names = all.iter().map(|s| s.name.as_str()).collect::<Vec<_>>().join(", ");
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
    let error = asked.error(format_args!("{module_name} has no kernel `{name}`"));
    // The user often writes the name from the source, which is part of the mangled name.
    let inside = all.iter().find(|s| s.name.contains(name));
    let near = inside.or_else(|| {
        all.iter().min_by_key(|s| distance(&s.name, name)).filter(|s| distance(&s.name, name) < 4)
    });
    Err(match near {
        Some(s) => error.help(format!("did you mean `{}`?", s.name)),
        None if names.is_empty() => error.help("it has none at all"),
        None => error.help(format!("it has {names}")),
    })
}
