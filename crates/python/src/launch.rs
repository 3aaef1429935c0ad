//! A launch: its kernel, shape and arguments; and a snapshot of it with the content of its arrays.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use prlx_driver::buffer_content::Content;
use prlx_driver::job::{Arg, ArgValue, Buffer, Placement};
use prlx_driver::tensor_map::Swizzle;
use prlx_driver::{DevicePtr, Driver, Job, LaunchConfig, element, param_uses, tensor_map};
use prlx_emu::Emulator;
use prlx_isa::ptx;
use prlx_trace::Dim3;
use prlx_trace::kernel::Param;
use prlx_trace::names::display_name;
use pyo3::prelude::*;

use crate::errors::{self, LaunchError};
use crate::module::Module;
use crate::ranges::{ALIGN, Ranges};

/// An array argument: a pointer into memory of a Python object.
#[pyclass(frozen, from_py_object)]
#[derive(Clone)]
pub struct Array {
    /// Name in reports.
    pub name: String,
    /// Address of the memory that owns the array, in this process.
    pub owner: u64,
    /// Size of that memory in bytes.
    pub bytes: u64,
    /// Bytes from there to the first element.
    pub offset: u64,
    ty: prlx_trace::kernel::Scalar,
    shape: Vec<u64>,
}

#[pymethods]
impl Array {
    /// The caller keeps the memory alive as long as launches with this array exist. `ty` is the name of a PTX
    /// type (`f32`); an array whose elements do not lie next to each other in C order has the shape of the
    /// memory that they span.
    #[new]
    fn new(name: String, owner: u64, bytes: u64, offset: u64, ty: &str, shape: Vec<u64>) -> PyResult<Array> {
        let ty = scalar(ty)?;
        if offset > bytes || owner.checked_add(bytes).is_none() {
            return Err(LaunchError::new_err(format!("`{name}` lies outside its memory")));
        }
        Ok(Array { name, owner, bytes, offset, ty, shape })
    }
    /// Name in reports.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }
    /// Address and size of the memory that owns the array.
    #[getter]
    pub fn memory(&self) -> (u64, u64) {
        (self.owner, self.bytes)
    }
}

/// A scalar or a structure, passed by value.
#[pyclass(frozen, from_py_object)]
#[derive(Clone)]
pub struct Scalar {
    name: String,
    bytes: Vec<u8>,
    /// Type of the value, if it is one number.
    ty: Option<prlx_trace::kernel::Scalar>,
}

#[pymethods]
impl Scalar {
    /// `ty` is the name of a PTX type, or `None` for a structure.
    #[new]
    #[pyo3(signature = (name, bytes, ty=None))]
    fn new(name: String, bytes: Vec<u8>, ty: Option<&str>) -> PyResult<Scalar> {
        Ok(Scalar { name, bytes, ty: ty.map(scalar).transpose()? })
    }
}

/// A tensor map (TMA descriptor) over an array, passed by value.
#[pyclass(frozen, from_py_object)]
#[derive(Clone)]
pub struct TensorMap {
    array: Array,
    map: tensor_map::TensorMap,
}

#[pymethods]
impl TensorMap {
    /// Lists begin with the contiguous dimension; strides are in bytes and without the first. `swizzle` is
    /// the number of bytes within which pieces are permuted: 16 (not at all), 32, 64 or 128.
    #[new]
    fn new(
        array: Array,
        sizes: Vec<u64>,
        strides: Vec<u64>,
        tile: Vec<u32>,
        swizzle: u32,
        nan: bool,
    ) -> PyResult<TensorMap> {
        let wrong = |what: String| LaunchError::new_err(format!("`{}`: {what}", array.name));
        let swizzle = Swizzle::ALL.iter().find(|(_, s)| s.width() == swizzle).map(|(_, s)| *s);
        let swizzle = swizzle.ok_or_else(|| wrong("a swizzle is 16, 32, 64 or 128 bytes".into()))?;
        let steps = vec![1; tile.len()];
        let map = tensor_map::TensorMap { ty: array.ty, sizes, strides, tile, steps, swizzle, nan };
        map.check().map_err(&wrong)?;
        if map.extent() > u128::from(array.bytes - array.offset) {
            return Err(wrong("the tensor is larger than the array".into()));
        }
        Ok(TensorMap { array, map })
    }
    /// The array that holds the tensor.
    #[getter]
    fn array(&self) -> Array {
        self.array.clone()
    }
}

fn scalar(name: &str) -> PyResult<prlx_trace::kernel::Scalar> {
    let found = prlx_trace::kernel::Scalar::ALL.iter().find(|t| t.name() == name);
    found.copied().ok_or_else(|| LaunchError::new_err(format!("`{name}` is no element type")))
}

/// The value of one parameter.
#[derive(FromPyObject)]
enum Argument {
    Array(Array),
    Scalar(Scalar),
    TensorMap(TensorMap),
}

impl Argument {
    fn name(&self) -> &str {
        match self {
            Argument::Array(a) => &a.name,
            Argument::Scalar(s) => &s.name,
            Argument::TensorMap(m) => &m.array.name,
        }
    }
    fn array(&self) -> Option<&Array> {
        match self {
            Argument::Array(a) => Some(a),
            Argument::TensorMap(m) => Some(&m.array),
            Argument::Scalar(_) => None,
        }
    }
    fn size(&self) -> usize {
        match self {
            Argument::Array(_) => 8,
            Argument::Scalar(s) => s.bytes.len(),
            Argument::TensorMap(_) => tensor_map::BYTES,
        }
    }
}

/// A launch of a kernel on memory of Python objects.
#[pyclass(frozen)]
pub struct Launch {
    /// Name of the kernel.
    pub kernel: String,
    module: String,
    text: Arc<str>,
    config: LaunchConfig,
    params: Vec<Param>,
    arguments: Vec<Argument>,
    /// Whether the assembler may fuse multiplications and additions.
    pub contract: bool,
    /// The objects that own the memory of the arrays.
    _owners: Vec<Py<PyAny>>,
}

#[pymethods]
impl Launch {
    /// `arguments` has one `Array`, `Scalar` or `TensorMap` for each parameter; `owners` are the objects that
    /// own the memory of the arrays. `grid` counts CTAs. `contract`: the assembler may fuse multiplications
    /// and additions.
    #[new]
    #[allow(clippy::too_many_arguments, reason = "the parts of a launch; Python names them")]
    fn new(
        module: &Module,
        kernel: String,
        grid: (u32, u32, u32),
        block: (u32, u32, u32),
        cluster: (u32, u32, u32),
        shared: u32,
        arguments: Vec<Argument>,
        owners: Vec<Py<PyAny>>,
        contract: bool,
    ) -> PyResult<Launch> {
        let params = module.kernel(&kernel)?.params.clone();
        if params.len() != arguments.len() {
            let what = format!(
                "`{kernel}` has {} parameters and was given {} arguments",
                params.len(),
                arguments.len()
            );
            return Err(LaunchError::new_err(what));
        }
        for (param, argument) in params.iter().zip(&arguments) {
            if param.size as usize != argument.size() {
                return Err(LaunchError::new_err(format!(
                    "`{kernel}`: argument `{}` has {} bytes, its parameter {}",
                    argument.name(),
                    argument.size(),
                    param.size
                )));
            }
        }
        let dim = |(x, y, z): (u32, u32, u32)| Dim3 { x, y, z };
        let config =
            LaunchConfig { grid: dim(grid), block: dim(block), cluster: dim(cluster), shared, seed: 0 };
        Ok(Launch {
            kernel,
            module: module.name.clone(),
            text: module.text.clone(),
            config,
            params,
            arguments,
            contract,
            _owners: owners,
        })
    }

    /// The launch with what its arrays hold now, independent of them. The memory of an array is given as
    /// bytes by `content(address, size)`.
    fn snapshot(&self, content: &Bound<'_, PyAny>, name: String, seed: u64) -> PyResult<Snapshot> {
        let ranges = Ranges::of(self.arrays().map(Array::memory));
        let read = |range: (u64, u64)| Ok((range.0, content.call1(range)?.extract()?));
        let memory = ranges.iter().map(read).collect::<PyResult<HashMap<u64, Vec<u8>>>>()?;
        let job = self.job(&ranges, &memory, name, seed)?;
        Ok(Snapshot { job, contract: self.contract })
    }
}

impl Launch {
    /// PTX of the module.
    pub fn text(&self) -> Arc<str> {
        self.text.clone()
    }
    /// The arrays among the arguments, in order.
    pub fn arrays(&self) -> impl Iterator<Item = &Array> {
        self.arguments.iter().filter_map(Argument::array)
    }
    /// The shape of the launch, with the seed of a schedule.
    pub fn config(&self, seed: u64) -> LaunchConfig {
        LaunchConfig { seed, ..self.config.clone() }
    }

    /// The parameter buffer, with the addresses of the arrays on the device.
    pub fn params(&self, addresses: &[DevicePtr], device: &mut Emulator) -> PyResult<Vec<u8>> {
        let size = self.params.iter().map(|p| p.offset + p.size).max().unwrap_or(0);
        let mut out = vec![0; size as usize];
        let mut addresses = addresses.iter();
        for (param, argument) in self.params.iter().zip(&self.arguments) {
            let at = argument.array().and_then(|_| addresses.next()).copied().unwrap_or_default();
            let bytes = match argument {
                Argument::Array(_) => at.0.to_le_bytes().to_vec(),
                Argument::Scalar(s) => s.bytes.clone(),
                Argument::TensorMap(m) => {
                    device.tensor_map(at, &m.map).map_err(|e| errors::of_driver(&e))?.to_vec()
                }
            };
            // The sizes were compared when the launch was made.
            if let Some(place) = out.get_mut(param.offset as usize..(param.offset + param.size) as usize) {
                place.copy_from_slice(&bytes);
            }
        }
        Ok(out)
    }

    /// First addresses of the ranges that the kernel may write. A tensor map counts as written.
    fn outputs(&self, ranges: &Ranges) -> HashSet<u64> {
        let (module, _) = ptx::read(&self.text);
        let function = module.functions.iter().find(|f| f.name == self.kernel);
        let used = function.map(|f| param_uses(&module, f, &self.text)).unwrap_or_default();
        let written = |(i, argument): (usize, &Argument)| match argument {
            Argument::Array(_) if used.get(i).is_some_and(|u| u.only_read) => None,
            other => other.array().map(|a| ranges.holding(a.memory()).0),
        };
        self.arguments.iter().enumerate().filter_map(written).collect()
    }

    fn job(&self, ranges: &Ranges, memory: &HashMap<u64, Vec<u8>>, name: String, seed: u64) -> PyResult<Job> {
        let mut uses: HashMap<u64, usize> = HashMap::new();
        self.arrays().for_each(|a| *uses.entry(ranges.holding(a.memory()).0).or_default() += 1);
        let outputs = self.outputs(ranges);
        let buffer = |array: &Array, map: Option<tensor_map::TensorMap>| -> PyResult<Buffer> {
            let (start, _) = ranges.holding(array.memory());
            let all = memory.get(&start).map_or(&[][..], Vec::as_slice);
            let size = (array.shape.iter().product::<u64>() * element::size(array.ty) as u64) as usize;
            let first = (array.owner - start + array.offset) as usize;
            let bytes = all.get(first..first + size).ok_or_else(|| {
                let what = format!("`{}` has {size} bytes from {first} on in {}", array.name, all.len());
                LaunchError::new_err(what)
            })?;
            let shared = uses.get(&start).is_some_and(|n| *n > 1);
            // Vector accesses need the alignment that the array has in this process.
            let offset = start % ALIGN + first as u64;
            let place = Placement { allocation: format!("{start:#x}"), offset };
            Ok(Buffer {
                ty: array.ty,
                shape: array.shape.clone(),
                content: Content::Bytes(bytes.to_vec()),
                random: (0, 0),
                out: outputs.contains(&start),
                save: None,
                expect: None,
                map,
                place: shared.then(|| Box::new(place)),
                variable: false,
            })
        };
        let value = |(argument, param): (&Argument, &Param)| -> PyResult<Arg> {
            let value = match argument {
                Argument::Array(a) => ArgValue::Buffer(buffer(a, None)?),
                Argument::TensorMap(m) => ArgValue::Buffer(buffer(&m.array, Some(m.map.clone()))?),
                Argument::Scalar(s) => match s.bytes.len() {
                    1 | 2 | 4 | 8 => {
                        let mut bits = [0; 8];
                        bits[..s.bytes.len()].copy_from_slice(&s.bytes);
                        ArgValue::Scalar(s.ty.unwrap_or(param.ty), u64::from_le_bytes(bits))
                    }
                    _ => ArgValue::Struct { bytes: s.bytes.clone(), pointers: Vec::new() },
                },
            };
            Ok(Arg { name: argument.name().to_owned(), value })
        };
        Ok(Job {
            name,
            module: self.module.clone(),
            text: self.text.to_string(),
            object: None,
            folder: PathBuf::new(),
            source: PathBuf::from("/"),
            kernel: self.kernel.clone(),
            config: self.config(seed),
            params: self.params.clone(),
            args: self.arguments.iter().zip(&self.params).map(value).collect::<PyResult<_>>()?,
            before: Vec::new(),
        })
    }
}

/// A launch with all its data.
#[pyclass(frozen)]
pub struct Snapshot {
    /// The launch, as a launch file describes one.
    pub job: Job,
    /// Whether the assembler may fuse multiplications and additions.
    pub contract: bool,
}

#[pymethods]
impl Snapshot {
    /// Name of the kernel as in the source.
    #[getter]
    fn kernel(&self) -> String {
        display_name(&self.job.kernel)
    }
}
