//! Reads launch files. Every key is declared in [`KEYS`] and [`ARG_KEYS`]; what they mean is in `docs/launch-file.md`.

mod tensor_map;

use std::path::PathBuf;

use prlx_isa::{image, ptx};
use prlx_trace::Dim3;
use prlx_trace::kernel::{Param, Scalar};

use crate::content::Content;
use crate::element::{self, ELEMENTS, Number};
use crate::job::{Arg, ArgValue, Buffer, Expect, Job, Signature, counted, limit};
use crate::keys::{Source, Table, Value, distance};
use crate::{Error, LaunchConfig, npy};

/// Gives the content of a file that a launch file names.
pub type Files<'a> = dyn Fn(&str) -> Result<Vec<u8>, Error> + 'a;

const KEYS: &[&str] = &["module", "kernel", "grid", "block", "cluster", "shared", "seed", "source", "arg"];
const ARG_KEYS: &[&str] = &[
    "name",
    "type",
    "value",
    "bytes",
    "fields",
    "array",
    "npy",
    "fill",
    "iota",
    "random",
    "uninit",
    "len",
    "out",
    "expect",
    "rtol",
    "atol",
    "tensor_map",
    "box",
    "sizes",
    "strides",
    "steps",
    "swizzle",
    "oob",
];
/// What only a tensor map has.
const MAP_KEYS: &[&str] = &["box", "sizes", "strides", "steps", "swizzle", "oob"];
/// Ways to say what an argument is: exactly one of them.
const SCALARS: &[&str] = &["value", "bytes", "fields"];
const CONTENTS: &[&str] = &["array", "npy", "fill", "iota", "random", "uninit"];

/// Hardware limits of the CUDA programming guide's table of technical specifications.
const GRID: [u64; 3] = [(1 << 31) - 1, 65_535, 65_535];
const BLOCK: [u64; 3] = [1024, 1024, 64];
const THREADS: u64 = 1024;
/// CTAs of a cluster: 8 on every device with clusters, 16 on an H100 (`cudaFuncAttributeNonPortableClusterSizeAllowed`).
const CLUSTER: u64 = 16;
const SHARED: u64 = 227 << 10;
/// Bytes of parameters, from sm_70 and PTX 8.1 on.
const PARAMS: u64 = 32_764;
/// No device has a buffer of a tebibyte; beyond it, sizes could overflow.
const BUFFER: u64 = 1 << 40;

/// Reads a launch file.
pub fn read(name: &str, text: &str, files: &Files<'_>) -> Result<Job, Error> {
    let source = Source { name, text };
    let root = source.parse()?;
    let file = Table::new(source, "", root.get_ref(), 0, KEYS)?;
    let named = file.need("module")?;
    let module = named.text()?.to_owned();
    let ptx = load(files, named, &module)?;
    let ptx = if image::is_binary(&ptx) {
        image::source(&ptx, None).map_err(|e| named.error(format_args!("{module}: {e}")))?
    } else {
        String::from_utf8(ptx).map_err(|_| named.error(format_args!("{module} is not text")))?
    };
    let signature = kernel(&file, named, &module, &ptx)?;
    let size = signature.params.iter().map(|p| u64::from(p.offset) + u64::from(p.size)).max().unwrap_or(0);
    if size > PARAMS {
        let say =
            format!("kernel `{}` takes {size} bytes of parameters; {PARAMS} is the most", signature.name);
        return Err(named.error(say));
    }
    let grid = grid(file.need("grid")?, &signature)?;
    let config = LaunchConfig {
        grid,
        block: dims(file.need("block")?, BLOCK)?,
        cluster: cluster(&file, grid, &signature)?,
        shared: file.get("shared").map_or(Ok(0), |v| v.count(SHARED))? as u32,
        seed: file.get("seed").map_or(Ok(0), |v| v.count(u64::MAX))?,
    };
    check_block(file.need("block")?, config.block, &signature)?;
    let folder = PathBuf::from(&module).parent().map_or_else(PathBuf::new, PathBuf::from);
    let sources = file.get("source").map_or(Ok(folder), |v| v.text().map(PathBuf::from))?;
    let args = arguments(&file, &signature, config.seed, files)?;
    Ok(Job {
        name: name.to_owned(),
        module,
        text: ptx,
        folder: PathBuf::new(),
        source: sources,
        kernel: signature.name,
        config,
        params: signature.params,
        args,
    })
}

/// A file that `value` names.
fn load(files: &Files<'_>, value: Value<'_>, name: &str) -> Result<Vec<u8>, Error> {
    files(name).map_err(|e| Error { message: value.error(&e.message).message, ..e })
}

/// The kernel that is meant.
fn kernel(file: &Table<'_>, module: Value<'_>, module_name: &str, text: &str) -> Result<Signature, Error> {
    let (view, diagnostics) = ptx::read(text);
    let mut all = Signature::all(&view);
    let names = all.iter().map(|s| s.name.as_str()).collect::<Vec<_>>().join(", ");
    let Some(asked) = file.get("kernel") else {
        return match all.len() {
            1 => Ok(all.remove(0)),
            0 => {
                let said = diagnostics.first().map_or(String::new(), |d| format!(" ({})", d.message));
                Err(module
                    .error(format_args!("{module_name} has no kernel{said}"))
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
    // The name as the source has it, inside one mangled name, is what is mostly meant.
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

/// A number, or one to three of them.
fn dims(value: Value<'_>, limits: [u64; 3]) -> Result<Dim3, Error> {
    let one = |v: Value<'_>, axis: usize| match v.count(limits[axis])? {
        0 => Err(v.error("0 would start nothing")),
        n => Ok(n as u32),
    };
    if !value.is_list() {
        return Ok(Dim3 { x: one(value, 0)?, ..Dim3::default() });
    }
    let mut sizes = [1; 3];
    let list = value.list()?;
    if !(1..=3).contains(&list.len()) {
        return Err(value.error("1 to 3 numbers are expected"));
    }
    for (axis, v) in list.enumerate() {
        sizes[axis] = one(v, axis)?;
    }
    Ok(Dim3 { x: sizes[0], y: sizes[1], z: sizes[2] })
}

/// Whether the kernel can be started with CTAs of this size.
fn check_block(value: Value<'_>, block: Dim3, kernel: &Signature) -> Result<(), Error> {
    let threads = block.volume();
    if threads > THREADS {
        return Err(
            value.error(format_args!("{threads} threads are more than the {THREADS} that a CTA can have"))
        );
    }
    let name = &kernel.name;
    if let Some(want) = limit(&kernel.limits, "reqntid").filter(|&want| want != block) {
        let say = format!(
            "kernel `{name}` was compiled for CTAs of exactly {want} threads (.reqntid), not {block}"
        );
        return Err(value.error(say).help(format!("write block = [{}, {}, {}]", want.x, want.y, want.z)));
    }
    if let Some(want) = limit(&kernel.limits, "maxntid").filter(|want| threads > want.volume()) {
        let most = want.volume();
        return Err(value
            .error(format_args!(
                "kernel `{name}` was compiled for CTAs of at most {most} threads (.maxntid), not {threads}"
            ))
            .help("choose a smaller block, or compile it with larger __launch_bounds__"));
    }
    Ok(())
}

/// The CTAs to start. A kernel that counts its grid in clusters has it so in the file too, as where CUDA launches it.
fn grid(value: Value<'_>, kernel: &Signature) -> Result<Dim3, Error> {
    let (grid, each) = (dims(value, GRID)?, counted(&kernel.limits));
    let axes = [(grid.x, each.x), (grid.y, each.y), (grid.z, each.z)];
    let mut ctas = [0; 3];
    for (axis, (n, each)) in axes.into_iter().enumerate() {
        let all = u64::from(n) * u64::from(each);
        if all > GRID[axis] {
            let most = GRID[axis];
            let say = format!(
                "{n} clusters of {each} CTAs (.blocksareclusters) are more than the {most} CTAs of a grid"
            );
            return Err(value.error(say));
        }
        ctas[axis] = all as u32;
    }
    Ok(Dim3 { x: ctas[0], y: ctas[1], z: ctas[2] })
}

/// The clusters that the file and the kernel ask for; CTAs that are none are clusters of one.
fn cluster(file: &Table<'_>, grid: Dim3, kernel: &Signature) -> Result<Dim3, Error> {
    let name = &kernel.name;
    let wanted = limit(&kernel.limits, "reqnctapercluster");
    let key = file.get("cluster");
    let asked = key.map(|v| dims(v, [CLUSTER; 3])).transpose()?;
    // What is wrong with the kernel's own wish is wrong with the grid.
    let place = key.map_or_else(|| file.need("grid"), Ok)?;
    if let (Some(asked), Some(wanted)) = (asked, wanted)
        && asked != wanted
    {
        let say = format!(
            "kernel `{name}` was compiled for clusters of exactly {wanted} CTAs (.reqnctapercluster), not {asked}"
        );
        return Err(place.error(say).help("leave `cluster` out"));
    }
    let Some(size) = asked.or(wanted) else {
        if limit(&kernel.limits, "explicitcluster").is_some() {
            let say = format!(
                "kernel `{name}` must be launched in clusters (.explicitcluster), and the launch file has none"
            );
            return Err(place.error(say).help("write cluster = [2, 1, 1], or what it needs"));
        }
        return Ok(Dim3::default());
    };
    let most = limit(&kernel.limits, "maxclusterrank").map_or(CLUSTER, |n| u64::from(n.x).min(CLUSTER));
    if size.volume() > most {
        return Err(place.error(format_args!(
            "{} CTAs are more than the {most} that a cluster of it can have",
            size.volume()
        )));
    }
    for (axis, (cluster, grid)) in
        [(size.x, grid.x), (size.y, grid.y), (size.z, grid.z)].into_iter().enumerate()
    {
        if grid.checked_rem(cluster) != Some(0) {
            let axis = ["x", "y", "z"][axis];
            let say = format!("a grid of {grid} CTAs in {axis} can't be divided into clusters of {cluster}");
            return Err(place.error(say).help("the grid is given in CTAs, and is a multiple of the cluster"));
        }
    }
    Ok(size)
}

/// All arguments.
fn arguments(file: &Table<'_>, kernel: &Signature, seed: u64, files: &Files<'_>) -> Result<Vec<Arg>, Error> {
    let mut tables = Vec::new();
    if let Some(list) = file.get("arg") {
        for (i, value) in
            list.list().map_err(|_| list.error("arguments are tables, [[arg]] each"))?.enumerate()
        {
            tables.push(value.table(format!("argument {}", i + 1), ARG_KEYS)?);
        }
    }
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
    let mut names = Vec::new();
    for (position, (table, param)) in tables.iter_mut().zip(&kernel.params).enumerate() {
        let name = table.get("name").map_or(Ok(param.name.as_str()), |n| n.text())?.to_owned();
        table.what = format!("argument {} (`{name}`)", position + 1);
        names.push(name);
    }
    let mut values = Vec::new();
    for (position, (table, param)) in tables.iter().zip(&kernel.params).enumerate() {
        values.push(match table.get("tensor_map") {
            Some(v) if v.bool().is_none() => None,
            _ => Some(argument(table, param, (seed, position), files)?),
        });
    }
    // Tensor maps over other arguments, now that those are known.
    let mut args = Vec::new();
    for (i, (table, param)) in tables.iter().zip(&kernel.params).enumerate() {
        let value = match &values[i] {
            Some(value) => value.clone(),
            None => tensor_map::over(table, param, &names, &values)?,
        };
        args.push(Arg { name: names[i].clone(), value });
    }
    Ok(args)
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

/// One argument.
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
    if let Some(key) = table.present(&["len", "out", "expect", "rtol", "atol"]).first() {
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
    Ok(ArgValue::Bytes(bytes))
}

/// `0x0102…`: bytes in the order of memory.
fn hex(value: Value<'_>) -> Result<Vec<u8>, Error> {
    let wrong = || value.error("bytes are written as \"0x0102…\", two digits each, in the order of memory");
    let digits = value.text()?.strip_prefix("0x").ok_or_else(wrong)?.replace([' ', '_'], "");
    if digits.len() % 2 != 0 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(wrong());
    }
    let digit = |b: u8| (b as char).to_digit(16).unwrap_or(0) as u8;
    Ok(digits.as_bytes().chunks(2).map(|p| digit(p[0]) << 4 | digit(p[1])).collect())
}

/// Members of a struct, naturally aligned; the whole is padded to its largest member's alignment.
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

/// The name of a type.
fn scalar_type(value: Value<'_>) -> Result<Scalar, Error> {
    let name = value.text()?;
    let untyped = [Scalar::B8, Scalar::B16, Scalar::B32, Scalar::B64];
    if let Some(ty) = ELEMENTS.iter().chain(&untyped).find(|t| t.name() == name) {
        return Ok(*ty);
    }
    let names: Vec<&str> = ELEMENTS.iter().map(|t| t.name()).collect();
    Err(value
        .error(format_args!("`{name}` is no element type"))
        .help(format!("the types are {}", names.join(" "))))
}

/// A buffer.
fn buffer(
    table: &Table<'_>,
    kind: &'static str,
    value: Value<'_>,
    random: (u64, usize),
    files: &Files<'_>,
) -> Result<Buffer, Error> {
    let asked = table.get("type").map(scalar_type).transpose()?;
    let typed = || {
        asked.ok_or_else(|| table.error("`type` is missing").help("as type = \"f32\": the buffer's elements"))
    };
    let encode = |ty, v: Value<'_>| element::encode(ty, v.number()?).map_err(|e| v.error(e));
    let (ty, shape, content) = match kind {
        "array" => {
            let (ty, mut bytes) = (typed()?, Vec::new());
            let list = value.list()?;
            let len = list.len() as u64;
            for v in list {
                element::put(ty, &mut bytes, encode(ty, v)?);
            }
            (ty, vec![len], Content::Bytes(bytes))
        }
        "npy" => {
            let name = value.text()?;
            let array = npy::read(&load(files, value, name)?)
                .map_err(|e| value.error(format_args!("{name}: {e}")))?;
            let ty = retype(value, name, array.ty, asked)?;
            (ty, array.shape, Content::Bytes(array.bytes))
        }
        _ => {
            let ty = typed()?;
            let len = table.need("len")?;
            let len = len.count(BUFFER / element::size(ty) as u64)?;
            (ty, vec![len], generated(ty, kind, value)?)
        }
    };
    if let Some(len) = table.get("len").filter(|_| matches!(kind, "array" | "npy")) {
        return Err(len.error(format_args!("`{kind}` has its own length")));
    }
    let (out, save) = match table.get("out") {
        None => (false, None),
        Some(v) => match v.bool() {
            Some(out) => (out, None),
            None => (
                true,
                Some(PathBuf::from(v.text().map_err(|_| v.error("true, false or a file name is expected"))?)),
            ),
        },
    };
    let mut this = Buffer { ty, shape, content, random, out, save, expect: None, map: None };
    this.expect = expect(table, &this, files)?;
    Ok(this)
}

/// A buffer's content that is made from a few numbers.
fn generated(ty: Scalar, kind: &str, value: Value<'_>) -> Result<Content, Error> {
    let whole = |v: Value<'_>| -> Result<Number, Error> {
        let n = v.number()?;
        let bits = element::encode(ty, n).map_err(|e| v.error(e))?;
        Ok(match n {
            Number::Bits(_) if element::is_float(ty) => Number::Float(element::float_value(ty, bits)),
            Number::Bits(_) | Number::Float(_) if !element::is_float(ty) => {
                Number::Int(element::int_value(ty, bits))
            }
            n => n,
        })
    };
    Ok(match kind {
        "fill" => Content::Fill(element::encode(ty, value.number()?).map_err(|e| value.error(e))?),
        "iota" => Content::Iota(whole(value)?),
        "random" => {
            let ends: Vec<Value<'_>> = value.list()?.collect();
            let [low, high] = ends[..] else {
                return Err(value.error("two numbers are expected: [low, high), low included, high not"));
            };
            // The upper end is not drawn, so it may lie one past the type's greatest value.
            let last = match high.number()? {
                Number::Int(i) if !element::is_float(ty) => {
                    element::encode(ty, Number::Int(i.saturating_sub(1))).map_err(|e| high.error(e))?;
                    Number::Int(i)
                }
                _ => whole(high)?,
            };
            let first = whole(low)?;
            let ordered = match (first, last) {
                (Number::Int(a), Number::Int(b)) => a < b,
                (a, b) => {
                    [a, b].iter().all(|n| !matches!(n, Number::Float(f) if !f.is_finite()))
                        && float(a) < float(b)
                }
            };
            if !ordered {
                return Err(value.error("the first number must be less than the second"));
            }
            Content::Random { low: first, high: last }
        }
        _ => match value.bool() {
            Some(true) => Content::Uninit,
            _ => return Err(value.error("only `uninit = true` means something")),
        },
    })
}

fn float(n: Number) -> f64 {
    match n {
        Number::Int(i) => i as f64,
        Number::Float(f) => f,
        Number::Bits(b) => b as f64,
    }
}

/// The type of a NumPy file's elements, or another name for the same bits.
fn retype(value: Value<'_>, name: &str, has: Scalar, asked: Option<Scalar>) -> Result<Scalar, Error> {
    let Some(want) = asked else { return Ok(has) };
    let same_width = element::size(want) == element::size(has);
    // Integers of either sign are the same bits; halves may be saved as 16-bit integers, bfloat16 as bytes.
    if same_width
        && (element::is_float(want) == element::is_float(has) || has == Scalar::U16 || has == Scalar::Bf16)
    {
        return Ok(want);
    }
    Err(value
        .error(format_args!("{name} holds {}, and `type` says {}", has.name(), want.name()))
        .help("leave `type` out, or convert the file with a.astype(…)"))
}

/// What the buffer must hold after the launch.
fn expect(table: &Table<'_>, buffer: &Buffer, files: &Files<'_>) -> Result<Option<Expect>, Error> {
    let tolerance = |key| -> Result<f64, Error> {
        let Some(v) = table.get(key) else { return Ok(0.0) };
        let tolerance = float(v.number()?);
        if tolerance >= 0.0 { Ok(tolerance) } else { Err(v.error("a tolerance is at least 0")) }
    };
    let (rtol, atol) = (tolerance("rtol")?, tolerance("atol")?);
    let Some(value) = table.get("expect") else {
        return match table.present(&["rtol", "atol"]).first() {
            Some(key) => Err(table.need(key)?.error("only `expect` uses it, and there is none")),
            None => Ok(None),
        };
    };
    let name = value.text()?;
    let array =
        npy::read(&load(files, value, name)?).map_err(|e| value.error(format_args!("{name}: {e}")))?;
    retype(value, name, array.ty, Some(buffer.ty))?;
    let len: u64 = array.shape.iter().product();
    if len != buffer.len() {
        return Err(value.error(format_args!("{name} has {len} elements, and the buffer {}", buffer.len())));
    }
    Ok(Some(Expect { file: name.to_owned(), bytes: array.bytes, rtol, atol }))
}
