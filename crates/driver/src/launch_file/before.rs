//! Reads the `[[before]]` tables: launches of other kernels of the module that run first, on the same memory.

use crate::element;
use crate::error::Error;
use crate::job::{Arg, ArgValue, LaunchBefore, ParamValue};
use crate::launch_file::keys::BEFORE_KEYS;
use crate::launch_file::shape::config;
use crate::launch_file::table::{Table, Value};
use crate::signature::Signature;
use prlx_trace::kernel::Param;

/// Reads the launches, in order. `kernel` finds the kernel that a table names.
pub(super) fn launches(
    file: &Table<'_>,
    args: &[Arg],
    seed: u64,
    kernel: &dyn Fn(&Table<'_>) -> Result<Signature, Error>,
) -> Result<Vec<LaunchBefore>, Error> {
    let Some(all) = file.get("before") else { return Ok(Vec::new()) };
    let list = all.list().map_err(|_| all.error("launches are tables, [[before]] each"))?;
    list.enumerate().map(|(i, v)| launch(v, i, args, seed, kernel)).collect()
}

fn launch(
    value: Value<'_>,
    i: usize,
    args: &[Arg],
    seed: u64,
    kernel: &dyn Fn(&Table<'_>) -> Result<Signature, Error>,
) -> Result<LaunchBefore, Error> {
    let table = value.table(format!("launch {} before", i + 1), BEFORE_KEYS)?;
    let signature = kernel(&table)?;
    let config = config(&table, &signature, seed)?;
    let given = table.need("args")?;
    let list: Vec<Value<'_>> = given.list()?.collect();
    if list.len() != signature.params.len() {
        return Err(given.error(format_args!(
            "kernel `{}` takes {} parameters, and `args` has {}",
            signature.name,
            signature.params.len(),
            list.len()
        )));
    }
    let values = list.iter().zip(&signature.params).map(|(v, param)| self::value(*v, param, args));
    let values = values.collect::<Result<_, _>>()?;
    Ok(LaunchBefore { kernel: signature.name, config, params: signature.params, values })
}

/// Reads the value of a parameter: the name of an argument, a buffer or a variable, or a number.
fn value(v: Value<'_>, param: &Param, args: &[Arg]) -> Result<ParamValue, Error> {
    if let Ok(name) = v.text()
        && let Some(position) = args.iter().position(|arg| arg.name == name)
    {
        let fits = match &args[position].value {
            ArgValue::Scalar(ty, _) => element::size(*ty) == param.size as usize,
            ArgValue::Struct { bytes, .. } => bytes.len() == param.size as usize,
            ArgValue::Buffer(_) | ArgValue::TensorMap { .. } => param.size == 8,
        };
        if fits {
            return Ok(ParamValue::Argument(position));
        }
        return Err(v.error(format_args!("`{name}` does not fit parameter `{}`", param.name)));
    }
    let number = v.number().map_err(|_| v.error("no argument, buffer or variable has this name"))?;
    if element::size(param.ty) != param.size as usize {
        return Err(v.error(format_args!("parameter `{}` is a struct of {} bytes", param.name, param.size)));
    }
    Ok(ParamValue::Scalar(param.ty, element::encode(param.ty, number).map_err(|e| v.error(e))?))
}
