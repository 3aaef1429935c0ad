//! Reads the `[[arg]]` tables of a launch file, one for each parameter of the kernel, and the `[[buffer]]`
//! tables (memory that only structures point to), and the `[[variable]]` tables (memory of the module).

use prlx_isa::view::{Module, Space, Symbol};
use prlx_trace::kernel::Param;

use crate::element;
use crate::error::Error;
use crate::job::{Arg, ArgValue, Buffer};
use crate::launch_file::buffers::{self, buffer, scalar_type};
use crate::launch_file::files::Files;
use crate::launch_file::keys::{ARG_KEYS, BUFFER_KEYS, CONTENTS, MAP_KEYS, SCALARS};
use crate::launch_file::table::{Table, Value};
use crate::launch_file::tensor_map;
use crate::signature::Signature;

/// Reads all arguments. `module` has the variables, `seed` is the launch file's seed for random content.
pub(super) fn arguments(
    file: &Table<'_>,
    kernel: &Signature,
    module: &Module,
    seed: u64,
    files: &Files<'_>,
) -> Result<Vec<Arg>, Error> {
    let mut tables = tables(file, "arg", "argument")?;
    if tables.len() != kernel.params.len() {
        let named = tables.iter().enumerate().map(|(i, t)| match t.get("name").and_then(|n| n.text().ok()) {
            Some(name) => name.to_owned(),
            None => format!("#{}", i + 1),
        });
        let takes = kernel.params.iter().map(|p| format!("{} .{}", p.name, describe(p)));
        return Err(file
            .error(format_args!(
                "kernel `{}` takes {} parameters, and the launch file gives {} arguments",
                kernel.name,
                kernel.params.len(),
                tables.len()
            ))
            .help(format!("parameters: {}; arguments: {}", list(takes), list(named))));
    }
    let mut more = self::tables(file, "buffer", "buffer")?;
    let mut variables = self::tables(file, "variable", "variable")?;
    let mut names = Vec::new();
    for (position, (table, param)) in tables.iter_mut().zip(&kernel.params).enumerate() {
        let name = table.get("name").map_or(Ok(param.name.as_str()), |n| n.text())?.to_owned();
        table.what = format!("argument {} (`{name}`)", position + 1);
        names.push(name);
    }
    for (what, table) in
        more.iter_mut().map(|t| ("buffer", t)).chain(variables.iter_mut().map(|t| ("variable", t)))
    {
        let name = table.need("name")?.text()?.to_owned();
        table.what = format!("{what} `{name}`");
        names.push(name);
    }
    let mut values = Vec::new();
    for (position, (table, param)) in tables.iter().zip(&kernel.params).enumerate() {
        values.push(match table.get("tensor_map") {
            Some(v) if v.bool().is_none() => None,
            _ => Some(argument(table, param, (seed, position), files)?),
        });
    }
    for (i, table) in more.iter().enumerate() {
        let (kind, value) = content(table)?;
        let random = (seed, tables.len() + i);
        values.push(Some(ArgValue::Buffer(buffer(table, kind, value, random, files)?)));
    }
    for (i, table) in variables.iter().enumerate() {
        let random = (seed, tables.len() + more.len() + i);
        values.push(Some(ArgValue::Buffer(variable(table, module, random, files)?)));
    }
    // Tensor maps and pointers come last, because they need the buffers of other arguments.
    let mut args = Vec::new();
    for (i, name) in names.iter().enumerate() {
        let value = match (&values[i], tables.get(i).zip(kernel.params.get(i))) {
            (Some(ArgValue::Struct { bytes, .. }), Some((table, _))) => {
                let pointers = pointers(table, bytes.len(), &names, &values)?;
                ArgValue::Struct { bytes: bytes.clone(), pointers }
            }
            (None, Some((table, param))) => tensor_map::over(table, param, &names, &values)?,
            (Some(value), _) => value.clone(),
            (None, None) => continue,
        };
        args.push(Arg { name: name.clone(), value });
    }
    Ok(args)
}

/// The tables of an array of tables, which may be missing.
fn tables<'a>(file: &Table<'a>, key: &'static str, what: &str) -> Result<Vec<Table<'a>>, Error> {
    let Some(list) = file.get(key) else { return Ok(Vec::new()) };
    let all = list.list().map_err(|_| list.error(format_args!("{what}s are tables, [[{key}]] each")))?;
    all.enumerate().map(|(i, value)| value.table(format!("{what} {}", i + 1), ARG_KEYS)).collect()
}

/// Reads a `[[variable]]`: memory that the module declares.
fn variable(
    table: &Table<'_>,
    module: &Module,
    random: (u64, usize),
    files: &Files<'_>,
) -> Result<Buffer, Error> {
    let wrong = [SCALARS, MAP_KEYS, &["tensor_map", "pointers", "allocation", "offset"]].concat();
    if let Some(key) = table.present(&wrong).first() {
        return Err(table.need(key)?.error("a variable of the module has no such key"));
    }
    let name = table.need("name")?;
    let text = name.text()?;
    let global = |s: &&Symbol| !s.is_function && matches!(s.space, Space::Global | Space::Const);
    let symbols = || module.symbols.iter().filter(global);
    let Some(symbol) = symbols().find(|s| s.name == text) else {
        return Err(name
            .error(format_args!("the module has no global or constant variable `{text}`"))
            .help(format!("it has: {}", list(symbols().map(|s| s.name.clone())))));
    };
    buffers::variable(table, symbol, random, files)
}

/// The key that says what is in a `[[buffer]]`, and its value.
fn content<'a>(table: &Table<'a>) -> Result<(&'static str, Value<'a>), Error> {
    let kinds = table.present(CONTENTS);
    let [kind] = kinds[..] else {
        return Err(table.error(format_args!("it needs one of {}", CONTENTS.join(", "))));
    };
    if let Some(key) = table.present(&[SCALARS, MAP_KEYS, &["tensor_map", "pointers"]].concat()).first() {
        return Err(table.need(key)?.error("a buffer of no parameter has no such key"));
    }
    Ok((kind, table.need(kind)?))
}

/// Reads the members of a struct that point to buffers.
fn pointers(
    table: &Table<'_>,
    size: usize,
    names: &[String],
    values: &[Option<ArgValue>],
) -> Result<Vec<(u32, usize)>, Error> {
    let Some(list) = table.get("pointers") else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    for (i, pointer) in list.list()?.enumerate() {
        let pointer = pointer.table(format!("pointer {}", i + 1), &["offset", "to"])?;
        let (offset, to) = (pointer.need("offset")?, pointer.need("to")?);
        let at = offset.count(size as u64)?;
        if at % 8 != 0 || at + 8 > size as u64 {
            let what = format!("a pointer has 8 bytes at a multiple of 8 in the {size} bytes of the struct");
            return Err(offset.error(what));
        }
        let name = to.text()?;
        let position = names.iter().position(|n| n == name);
        let position = position.filter(|i| matches!(values.get(*i), Some(Some(ArgValue::Buffer(_)))));
        all.push((
            at as u32,
            position.ok_or_else(|| to.error(format_args!("no buffer is called `{name}`")))?,
        ));
    }
    Ok(all)
}

fn list(items: impl Iterator<Item = String>) -> String {
    let text = items.collect::<Vec<_>>().join(", ");
    if text.is_empty() { "none".into() } else { text }
}

fn describe(param: &Param) -> String {
    if is_struct(param) { format!("b8[{}]", param.size) } else { param.ty.name().to_owned() }
}

fn is_struct(param: &Param) -> bool {
    param.size as usize != element::size(param.ty)
}

/// Reads one argument.
fn argument(
    table: &Table<'_>,
    param: &Param,
    random: (u64, usize),
    files: &Files<'_>,
) -> Result<ArgValue, Error> {
    let kinds = table.present(&[SCALARS, CONTENTS].concat());
    let kind = match kinds[..] {
        [kind] => kind,
        [] => return Err(table.error("nothing says what it is").help("a scalar needs `value`; a buffer one of array, npy, fill, iota, random, uninit; a struct `bytes` or `fields`")),
        [a, b, ..] => return Err(table.error(format_args!("`{a}` and `{b}` can't both be given"))),
    };
    let value = table.need(kind)?;
    let mapped = table.get("tensor_map").is_some_and(|v| v.bool() == Some(true));
    if !mapped && let Some(key) = table.present(MAP_KEYS).first() {
        return Err(table
            .need(key)?
            .error("only a tensor map has this")
            .help("write tensor_map = true, or of which argument"));
    }
    if !matches!(kind, "bytes" | "fields")
        && let Some(v) = table.get("pointers")
    {
        return Err(v.error("only a struct, with `bytes` or `fields`, has pointers"));
    }
    if CONTENTS.contains(&kind) {
        if mapped {
            tensor_map::fits(table.need("tensor_map")?, param)?;
        } else if param.size != 8 {
            return Err(value.error(format_args!(
                "{} is a buffer, but parameter `{}` (.{}) is no address",
                table.what,
                param.name,
                describe(param)
            )));
        }
        let mut buffer = buffer(table, kind, value, random, files)?;
        if mapped {
            buffer.map = Some(tensor_map::read(table, &buffer)?);
        }
        return Ok(ArgValue::Buffer(buffer));
    }
    if mapped {
        return Err(value.error("a tensor map is over a buffer, and this is none"));
    }
    if let Some(key) = table.present(BUFFER_KEYS).first() {
        return Err(table
            .need(key)?
            .error(format_args!("only a buffer has this, and {} is none", table.what)));
    }
    let bytes = match kind {
        "bytes" => hex(value)?,
        "fields" => fields(value)?,
        _ if is_struct(param) && table.get("type").is_none() => {
            return Err(value
                .error(format_args!("parameter `{}` is a struct of {} bytes", param.name, param.size))
                .help("give its `bytes` or its `fields`"));
        }
        _ => {
            let ty = table.get("type").map_or(Ok(param.ty), scalar_type)?;
            let bits = element::encode(ty, value.number()?).map_err(|e| value.error(e))?;
            if element::size(ty) != param.size as usize {
                return Err(value.error(format_args!(
                    "a {} has {} bytes, and parameter `{}` has {}",
                    ty.name(),
                    element::size(ty),
                    param.name,
                    param.size
                )));
            }
            return Ok(ArgValue::Scalar(ty, bits));
        }
    };
    if let Some(ty) = table.get("type") {
        return Err(ty.error(format_args!("`{kind}` needs no type")));
    }
    if bytes.len() != param.size as usize {
        return Err(value.error(format_args!(
            "these are {} bytes, and parameter `{}` has {}",
            bytes.len(),
            param.name,
            param.size
        )));
    }
    Ok(ArgValue::Struct { bytes, pointers: Vec::new() })
}

/// Parses `0x0102…`: bytes in memory order.
fn hex(value: Value<'_>) -> Result<Vec<u8>, Error> {
    let wrong = || value.error("bytes are written as \"0x0102…\", two digits each, in the order of memory");
    let digits = value.text()?.strip_prefix("0x").ok_or_else(wrong)?.replace([' ', '_'], "");
    if digits.len() % 2 != 0 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(wrong());
    }
    let digit = |b: u8| (b as char).to_digit(16).unwrap_or(0) as u8;
    Ok(digits.as_bytes().chunks(2).map(|p| digit(p[0]) << 4 | digit(p[1])).collect())
}

/// Lays out the members of a struct with natural alignment, and pads the whole to its largest member's
/// alignment.
fn fields(value: Value<'_>) -> Result<Vec<u8>, Error> {
    let (mut out, mut align) = (Vec::new(), 1);
    for (i, field) in value.list()?.enumerate() {
        let table = field.table(format!("field {}", i + 1), &["type", "value"])?;
        let ty = scalar_type(table.need("type")?)?;
        let number = table.need("value")?;
        let bits = element::encode(ty, number.number()?).map_err(|e| number.error(e))?;
        let size = element::size(ty);
        align = align.max(size);
        out.resize(out.len().next_multiple_of(size), 0);
        element::put(ty, &mut out, bits);
    }
    out.resize(out.len().next_multiple_of(align), 0);
    Ok(out)
}
