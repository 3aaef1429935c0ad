//! Reads arguments that are tensor maps. Lists in launch files are ordered by dimension as in NumPy: slowest
//! first.

use prlx_trace::kernel::Param;

use crate::error::Error;
use crate::job::{ArgValue, Buffer};
use crate::launch_file::keys::{CONTENTS, MAP_KEYS, SCALARS};
use crate::launch_file::table::{Table, Value};
use crate::tensor_map::{BYTES, Swizzle, TensorMap};

/// Checks whether a parameter can hold a tensor map or its address.
pub fn fits(value: Value<'_>, param: &Param) -> Result<(), Error> {
    if param.size == 8 || param.size as usize == BYTES {
        return Ok(());
    }
    Err(value.error(format_args!(
        "a tensor map has {BYTES} bytes or is an address, and parameter `{}` has {}",
        param.name, param.size
    )))
}

/// Reads a map over the buffer of another argument.
pub fn over(
    table: &Table<'_>,
    param: &Param,
    names: &[String],
    values: &[Option<ArgValue>],
) -> Result<ArgValue, Error> {
    let value = table.need("tensor_map")?;
    let name = value.text()?;
    fits(value, param)?;
    let others = ["type", "len", "out", "expect", "rtol", "atol"];
    if let Some(key) = table.present(&[SCALARS, CONTENTS, &others].concat()).first() {
        return Err(table.need(key)?.error(format_args!("the buffer is that of argument `{name}`")));
    }
    let found =
        names.iter().zip(values).position(|(n, v)| n == name && matches!(v, Some(ArgValue::Buffer(_))));
    match found.and_then(|i| Some((i, values[i].as_ref()?))) {
        Some((over, ArgValue::Buffer(buffer))) => Ok(ArgValue::TensorMap { over, map: read(table, buffer)? }),
        _ => Err(value
            .error(format_args!("there is no argument `{name}` with a buffer"))
            .help("name one, or write `tensor_map = true` beside a content of its own")),
    }
}

/// Reads the keys that describe a map over `buffer`.
pub fn read(table: &Table<'_>, buffer: &Buffer) -> Result<TensorMap, Error> {
    let list = |key: &'static str| -> Result<Option<Vec<u64>>, Error> {
        let Some(value) = table.get(key) else { return Ok(None) };
        let mut all = value.list()?.map(|v| v.count(u64::MAX)).collect::<Result<Vec<_>, _>>()?;
        all.reverse();
        Ok(Some(all))
    };
    // `TensorMap::check` refuses these numbers together with all others that are too large.
    let small = |all: Vec<u64>| -> Vec<u32> {
        all.into_iter().map(|n| u32::try_from(n).unwrap_or(u32::MAX)).collect()
    };
    let sizes = list("sizes")?.unwrap_or_else(|| buffer.shape.iter().rev().copied().collect());
    let mut map = TensorMap {
        ty: buffer.ty,
        strides: Vec::new(),
        tile: small(
            list("box")?
                .ok_or_else(|| table.error("`box` is missing").help("the elements of a tile, as [64, 32]"))?,
        ),
        steps: small(list("steps")?.unwrap_or_else(|| vec![1; sizes.len()])),
        sizes,
        swizzle: Swizzle::None,
        nan: false,
    };
    let dense = map.sizes.iter().scan(map.element(), |bytes, n| {
        *bytes = bytes.saturating_mul(*n);
        Some(*bytes)
    });
    let dense = dense.take(map.sizes.len().saturating_sub(1)).collect();
    map.strides = list("strides")?.unwrap_or(dense);
    if let Some(value) = table.get("swizzle") {
        let name = value.text()?;
        let found = Swizzle::ALL.iter().find(|(n, _)| *n == name);
        map.swizzle =
            found.ok_or_else(|| value.error("\"none\", \"32B\", \"64B\" or \"128B\" is expected"))?.1;
    }
    if let Some(value) = table.get("oob") {
        map.nan = match value.text()? {
            "zero" => false,
            "nan" => true,
            _ => return Err(value.error("\"zero\" or \"nan\" is expected")),
        };
    }
    map.check().map_err(|e| {
        match MAP_KEYS.iter().find_map(|k| table.get(k).filter(|_| e.starts_with(&format!("`{k}`")))) {
            Some(value) => value.error(e.split_once(": ").map_or(e.as_str(), |(_, e)| e)),
            None => table.error(e),
        }
    })?;
    if map.extent() > buffer.size().into() {
        return Err(table.error(format_args!(
            "the tensor takes {} bytes, and its buffer has {}",
            map.extent(),
            buffer.size()
        )));
    }
    Ok(map)
}
