//! Reads buffer arguments: element type, content, output file and expected result.

use std::path::PathBuf;

use prlx_isa::view::Symbol;
use prlx_trace::kernel::Scalar;

use crate::buffer_content::Content;
use crate::element::{ELEMENTS, Number};
use crate::error::Error;
use crate::job::{Buffer, Expect, Placement};
use crate::launch_file::files::{Files, load};
use crate::launch_file::keys::CONTENTS;
use crate::launch_file::table::{Table, Value};
use crate::{element, npy};

/// Maximum size of a buffer in bytes (1 TiB). No device has more memory, and larger sizes could overflow.
const BUFFER: u64 = 1 << 40;

/// The most dimensions of a buffer.
const DIMENSIONS: usize = 8;

/// Reads the name of an element type.
pub(super) fn scalar_type(value: Value<'_>) -> Result<Scalar, Error> {
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

/// Reads a buffer. `kind` is the key that defines its content and `value` that key's value.
pub(super) fn buffer(
    table: &Table<'_>,
    kind: &'static str,
    value: Value<'_>,
    random: (u64, usize),
    files: &Files<'_>,
) -> Result<Buffer, Error> {
    let asked = table.get("type").map(scalar_type).transpose()?;
    let typed = || element_type(table);
    let encode = |ty, v: Value<'_>| element::encode(ty, v.number()?).map_err(|e| v.error(e));
    let (ty, shape, content) = match kind {
        "array" => {
            let (ty, mut bytes) = (typed()?, Vec::new());
            let list = value.list()?;
            let len = list.len() as u64;
            for v in list {
                element::put(ty, &mut bytes, encode(ty, v)?);
            }
            let shape = match table.get("shape") {
                None => vec![len],
                Some(given) => {
                    let shape = shape(table, ty)?;
                    if shape.iter().product::<u64>() != len {
                        return Err(given.error(format_args!("`array` has {len} elements")));
                    }
                    shape
                }
            };
            (ty, shape, Content::Bytes(bytes))
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
            (ty, shape(table, ty)?, generated(ty, kind, value)?)
        }
    };
    for key in ["len", "shape"] {
        if let Some(len) = table.get(key).filter(|_| kind == "npy" || kind == "array" && key == "len") {
            return Err(
                len.error(format_args!("`{kind}` has its own {}", if key == "len" { "length" } else { key }))
            );
        }
    }
    let place = placement(table, ty)?;
    finished(table, (ty, shape, content), random, place, files)
}

/// The sizes of the dimensions of a generated buffer: `shape`, or `len` for one dimension.
fn shape(table: &Table<'_>, ty: Scalar) -> Result<Vec<u64>, Error> {
    let most = BUFFER / element::size(ty) as u64;
    let Some(given) = table.get("shape") else {
        return Ok(vec![table.need("len")?.count(most)?]);
    };
    if let Some(len) = table.get("len") {
        return Err(len.error("`shape` gives the length"));
    }
    let sizes: Vec<u64> = given.list()?.map(|v| v.count(most)).collect::<Result<_, _>>()?;
    let elements = sizes.iter().try_fold(1u64, |n, size| n.checked_mul(*size)).filter(|n| *n <= most);
    match elements {
        Some(_) if (1..=DIMENSIONS).contains(&sizes.len()) => Ok(sizes),
        Some(_) => Err(given.error(format_args!("a buffer has 1 to {DIMENSIONS} dimensions"))),
        None => Err(given.error(format_args!("more than {most} elements"))),
    }
}

/// The type of the elements, which a table needs.
fn element_type(table: &Table<'_>) -> Result<Scalar, Error> {
    let missing = || table.error("`type` is missing").help("as type = \"f32\": the buffer's elements");
    table.get("type").map(scalar_type).transpose()?.ok_or_else(missing)
}

/// Reads a variable of the module. Without a key for its content it keeps the module's own.
pub(super) fn variable(
    table: &Table<'_>,
    symbol: &Symbol,
    random: (u64, usize),
    files: &Files<'_>,
) -> Result<Buffer, Error> {
    let kinds = table.present(CONTENTS);
    let mut buffer = match kinds[..] {
        [kind] => buffer(table, kind, table.need(kind)?, random, files)?,
        [] => {
            let ty = element_type(table)?;
            if let Some(len) = table.get("len") {
                return Err(len.error("the module gives the length of its variable"));
            }
            if !symbol.relocs.is_empty() {
                return Err(table.error("the variable holds addresses, so its content must be given"));
            }
            let mut bytes = symbol.init.clone();
            bytes.resize(symbol.size as usize, 0);
            let content = (ty, vec![symbol.size / element::size(ty) as u64], Content::Bytes(bytes));
            finished(table, content, random, None, files)?
        }
        [a, b, ..] => return Err(table.error(format_args!("`{a}` and `{b}` can't both be given"))),
    };
    if buffer.size() != symbol.size {
        return Err(table.error(format_args!(
            "it has {} bytes in the module, and {} here",
            symbol.size,
            buffer.size()
        )));
    }
    buffer.variable = true;
    Ok(buffer)
}

/// Reads what follows the content of a buffer: the output file and the expected result.
fn finished(
    table: &Table<'_>,
    (ty, shape, content): (Scalar, Vec<u64>, Content),
    random: (u64, usize),
    place: Option<Box<Placement>>,
    files: &Files<'_>,
) -> Result<Buffer, Error> {
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
    let variable = false;
    let mut this = Buffer { ty, shape, content, random, out, save, expect: None, map: None, place, variable };
    this.expect = expect(table, &this, files)?;
    Ok(this)
}

/// Reads where a buffer lies in an allocation that it shares.
fn placement(table: &Table<'_>, ty: Scalar) -> Result<Option<Box<Placement>>, Error> {
    let Some(name) = table.get("allocation") else {
        return match table.get("offset") {
            Some(v) => Err(v.error("only a buffer in a shared `allocation` has an offset")),
            None => Ok(None),
        };
    };
    let offset = table.get("offset").map_or(Ok(0), |v| {
        let offset = v.count(BUFFER)?;
        let aligned = offset % element::size(ty) as u64 == 0;
        if aligned { Ok(offset) } else { Err(v.error("an offset is a multiple of the element's size")) }
    })?;
    Ok(Some(Box::new(Placement { allocation: name.text()?.to_owned(), offset })))
}

/// Reads the content of a buffer that is generated from a few numbers.
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
            // The upper bound itself is never drawn, so it may be one past the type's largest value.
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

/// Returns the element type of a NumPy file, or the requested type if it has the same width.
fn retype(value: Value<'_>, name: &str, has: Scalar, asked: Option<Scalar>) -> Result<Scalar, Error> {
    let Some(want) = asked else { return Ok(has) };
    let same_width = element::size(want) == element::size(has);
    // Signed and unsigned integers share their bits. Halves may be saved as 16-bit integers, and bfloat16 as
    // bytes.
    if same_width
        && (element::is_float(want) == element::is_float(has) || has == Scalar::U16 || has == Scalar::Bf16)
    {
        return Ok(want);
    }
    Err(value
        .error(format_args!("{name} holds {}, and `type` says {}", has.name(), want.name()))
        .help("leave `type` out, or convert the file with a.astype(…)"))
}

/// Reads the expected content of the buffer after the launch.
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
