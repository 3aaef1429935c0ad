//! Runs a job: copies data to the device, launches the kernel, copies data back, and compares it with the
//! expected results.
//!
//! # Invariants
//! - The device memory of a job is freed on every way out, including errors.
//! - After an error, the first error is reported; later errors while freeing are ignored.

use std::collections::BTreeMap;
use std::path::PathBuf;

use prlx_trace::kernel::{Param, Scalar};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::buffer_content::{Content, pieces};
use crate::driver::{DevicePtr, Driver, LaunchStats, ModuleHandle};
use crate::error::{Error, ErrorKind};
use crate::job::{Arg, ArgValue, Buffer, Expect, Job, ParamValue};
use crate::tensor_map::TensorMap;
use crate::{element, files, npy};

/// A job's data on a device: buffers, encoded tensor maps, and the parameter buffer.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PreparedJob {
    /// Addresses of the buffers, one entry per argument; `None` for arguments that are not buffers.
    pub buffers: Vec<Option<DevicePtr>>,
    /// Addresses of the allocations that hold the buffers.
    pub allocations: Vec<DevicePtr>,
    /// Content of the parameter buffer.
    pub params: Vec<u8>,
    /// Tensor maps that are passed by address, with their content.
    pub maps: Vec<(DevicePtr, Vec<u8>)>,
}

/// Result of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// Buffers with `out` or `expect`, in the order of their arguments.
    pub outputs: Vec<Output>,
    /// Cost of the launch.
    pub stats: LaunchStats,
}

/// Content of a buffer after the launch.
#[derive(Clone, PartialEq, Debug)]
pub struct Output {
    /// Name of the argument.
    pub name: String,
    /// Type of the elements.
    pub ty: Scalar,
    /// Sizes of the dimensions, slowest first.
    pub shape: Vec<u64>,
    /// Elements in C order, little-endian.
    pub bytes: Vec<u8>,
    /// Comparison with the expected content, if the job has one.
    pub expect: Option<Comparison>,
    /// File to which the job wants it written.
    pub save: Option<PathBuf>,
}

/// Result of comparing a buffer with its expected content.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// Name of the file with the expected elements.
    pub file: String,
    /// Number of compared elements.
    pub elements: u64,
    /// Number of elements that differ by more than the tolerance.
    pub wrong: u64,
    /// First element outside the tolerance: index, actual bits, expected bits.
    pub first: Option<(u64, u64, u64)>,
    /// Largest difference between two finite elements, within the tolerance or not.
    pub worst: f64,
}

/// Allocates and fills the job's buffers, and lays out the parameters.
///
/// # Errors
/// If the device has not enough memory.
pub fn prepare(driver: &mut dyn Driver, job: &Job) -> Result<PreparedJob, Error> {
    driver.reserve_host_memory(job.host_bytes())?;
    let mut prepared = PreparedJob { params: vec![0; job.params_size() as usize], ..PreparedJob::default() };
    match fill_in(driver, job, &mut prepared) {
        Ok(()) => Ok(prepared),
        Err(e) => {
            // The first error says why the job cannot run. Freeing continues whatever it reports.
            let _ = prepared.release(driver);
            Err(e)
        }
    }
}

fn fill_in(driver: &mut dyn Driver, job: &Job, prepared: &mut PreparedJob) -> Result<(), Error> {
    let shared = shared_allocations(driver, job, prepared)?;
    for arg in &job.args {
        let ArgValue::Buffer(buffer @ Buffer { variable: false, .. }) = &arg.value else {
            prepared.buffers.push(None);
            continue;
        };
        let at = match &buffer.place {
            Some(place) => {
                let base = shared.get(place.allocation.as_str()).copied().unwrap_or_default();
                DevicePtr(base.0.saturating_add(place.offset))
            }
            None => allocate(driver, &arg.name, buffer.size(), prepared)?,
        };
        prepared.buffers.push(Some(at));
        write(driver, at, buffer)?;
    }
    let mut params = std::mem::take(&mut prepared.params);
    for (i, param) in (0..job.args.len()).zip(&job.params) {
        put(driver, job, prepared, i, param, &mut params)?;
    }
    prepared.params = params;
    Ok(())
}

/// Gives a buffer its content.
fn write(driver: &mut dyn Driver, at: DevicePtr, buffer: &Buffer) -> Result<(), Error> {
    if buffer.content == Content::Fill(0) {
        return driver.fill(at, buffer.size(), 0);
    }
    driver.write(at, &buffer.bytes())?;
    if buffer.content == Content::Uninit {
        driver.mark_uninitialized(at, buffer.size());
    }
    Ok(())
}

/// Writes argument `i` to the place of a parameter.
fn put(
    driver: &mut dyn Driver,
    job: &Job,
    prepared: &mut PreparedJob,
    i: usize,
    param: &Param,
    params: &mut [u8],
) -> Result<(), Error> {
    let Some(arg) = job.args.get(i) else { return Ok(()) };
    let bytes = match &arg.value {
        ArgValue::Scalar(ty, bits) => bits.to_le_bytes()[..element::size(*ty).min(8)].to_vec(),
        ArgValue::Struct { bytes, pointers } => with_pointers(bytes.clone(), pointers, prepared),
        ArgValue::Buffer(Buffer { map: Some(map), .. }) => map_bytes(driver, prepared, i, map, param.size)?,
        ArgValue::TensorMap { over, map } => map_bytes(driver, prepared, *over, map, param.size)?,
        ArgValue::Buffer(_) => prepared.buffers[i].unwrap_or_default().0.to_le_bytes().to_vec(),
    };
    put_bytes(params, param, &bytes).ok_or_else(|| {
        let say = format!("argument `{}` has {} bytes, its parameter {}", arg.name, bytes.len(), param.size);
        Error::new(ErrorKind::Launch, say)
    })
}

/// Writes bytes to the place of a parameter; `None` if they do not fit.
fn put_bytes(params: &mut [u8], param: &Param, bytes: &[u8]) -> Option<()> {
    let place = param.offset as usize..(param.offset + param.size) as usize;
    let place = params.get_mut(place).filter(|p| p.len() == bytes.len())?;
    place.copy_from_slice(bytes);
    Some(())
}

/// Allocates and names memory of a job.
fn allocate(
    driver: &mut dyn Driver,
    name: &str,
    bytes: u64,
    prepared: &mut PreparedJob,
) -> Result<DevicePtr, Error> {
    // An empty buffer has an address of its own, too. cudaMalloc aligns to 256 bytes.
    let at = driver
        .alloc(bytes.max(1), 256)
        .map_err(|e| Error { message: format!("argument `{name}`, {bytes} bytes: {}", e.message), ..e })?;
    driver.name_allocation(at, name);
    prepared.allocations.push(at);
    Ok(at)
}

/// Allocates the memory that several buffers share, by its name.
fn shared_allocations<'a>(
    driver: &mut dyn Driver,
    job: &'a Job,
    prepared: &mut PreparedJob,
) -> Result<BTreeMap<&'a str, DevicePtr>, Error> {
    let mut sizes: BTreeMap<&str, u64> = BTreeMap::new();
    for arg in &job.args {
        if let ArgValue::Buffer(buffer) = &arg.value
            && let Some(place) = &buffer.place
        {
            let size = sizes.entry(&place.allocation).or_default();
            *size = (*size).max(place.offset.saturating_add(buffer.size()));
        }
    }
    sizes.into_iter().map(|(name, bytes)| Ok((name, allocate(driver, name, bytes, prepared)?))).collect()
}

/// Puts the addresses of buffers into a struct.
fn with_pointers(mut bytes: Vec<u8>, pointers: &[(u32, usize)], prepared: &PreparedJob) -> Vec<u8> {
    for (offset, to) in pointers {
        let address = prepared.buffers.get(*to).copied().flatten().unwrap_or_default();
        if let Some(place) = bytes.get_mut(*offset as usize..).and_then(|b| b.first_chunk_mut()) {
            *place = address.0.to_le_bytes();
        }
    }
    bytes
}

/// Returns what a parameter of `size` bytes receives for a tensor map over buffer `over`: the encoded map, or
/// the address of one in device memory.
fn map_bytes(
    driver: &mut dyn Driver,
    prepared: &mut PreparedJob,
    over: usize,
    map: &TensorMap,
    size: u32,
) -> Result<Vec<u8>, Error> {
    let at = prepared.buffers.get(over).copied().flatten().unwrap_or_default();
    let bytes = driver.tensor_map(at, map)?;
    if size as usize == bytes.len() {
        return Ok(bytes.to_vec());
    }
    let at = driver.alloc(bytes.len() as u64, 128)?;
    prepared.maps.push((at, bytes.to_vec()));
    driver.write(at, &bytes)?;
    Ok(at.0.to_le_bytes().to_vec())
}

impl PreparedJob {
    /// Finds the variables of a loaded module, gives them their content, and runs the launches before the
    /// job's. The buffers must have their first content. `hidden`: bytes that instrumented kernels take
    /// beyond their parameters.
    ///
    /// # Errors
    /// If the module has no such variable, or a launch fails.
    pub fn begin(
        &mut self,
        driver: &mut dyn Driver,
        job: &Job,
        module: ModuleHandle,
        hidden: usize,
    ) -> Result<(), Error> {
        for (i, arg) in job.args.iter().enumerate() {
            let ArgValue::Buffer(buffer @ Buffer { variable: true, .. }) = &arg.value else { continue };
            let (at, bytes) = driver.variable(module, &arg.name)?;
            if bytes != buffer.size() {
                let say = format!("variable `{}` has {bytes} bytes on the device", arg.name);
                return Err(Error::new(ErrorKind::Launch, say));
            }
            self.buffers[i] = Some(at);
            write(driver, at, buffer)?;
        }
        for launch in &job.before {
            let end = launch.params.iter().map(|p| p.offset + p.size).max().unwrap_or(0) as usize;
            let mut params = vec![0; end];
            for (value, param) in launch.values.iter().zip(&launch.params) {
                match value {
                    ParamValue::Argument(i) => put(driver, job, self, *i, param, &mut params)?,
                    ParamValue::Scalar(ty, bits) => {
                        let bytes = &bits.to_le_bytes()[..element::size(*ty).min(8)];
                        put_bytes(&mut params, param, bytes).unwrap_or_default();
                    }
                }
            }
            if hidden > 0 {
                params.resize(end.next_multiple_of(8) + hidden, 0);
            }
            let ran = driver.launch(module, &launch.kernel, &launch.config, &params);
            ran.map_err(|e| Error {
                message: format!("the launch of `{}` before: {}", launch.kernel, e.message),
                ..e
            })?;
            driver.keep_printed();
        }
        Ok(())
    }

    /// Restores the content that the buffers had before the launch.
    ///
    /// # Errors
    /// If the device fails.
    pub fn reset(&self, driver: &mut dyn Driver, job: &Job) -> Result<(), Error> {
        for (at, buffer) in self.each(job) {
            write(driver, at, buffer)?;
        }
        self.maps.iter().try_for_each(|(at, bytes)| driver.write(*at, bytes))
    }

    /// Buffers of the job with their addresses.
    fn each<'a>(&'a self, job: &'a Job) -> impl Iterator<Item = (DevicePtr, &'a Buffer)> {
        self.buffers.iter().zip(&job.args).filter_map(|(at, arg)| match (&arg.value, at) {
            (ArgValue::Buffer(b), Some(at)) => Some((*at, b)),
            _ => None,
        })
    }

    /// Reads the current content of every buffer; `None` for arguments that are not buffers.
    ///
    /// # Errors
    /// If the device fails.
    pub fn contents(&self, driver: &mut dyn Driver, job: &Job) -> Result<Vec<Option<Vec<u8>>>, Error> {
        (0..self.buffers.len()).map(|i| self.content(driver, job, i)).collect()
    }

    /// XXH3-64 of the current content of every buffer, read a piece at a time; `None` for arguments that are
    /// not buffers.
    ///
    /// # Errors
    /// If the device fails.
    pub fn digests(&self, driver: &mut dyn Driver, job: &Job) -> Result<Vec<Option<u64>>, Error> {
        let mut piece = Vec::new();
        let mut each = Vec::new();
        for (at, arg) in self.buffers.iter().zip(&job.args) {
            let (Some(at), ArgValue::Buffer(buffer)) = (at, &arg.value) else {
                each.push(None);
                continue;
            };
            let mut hash = Xxh3::new();
            for (from, bytes) in pieces(buffer.size()) {
                piece.resize(bytes, 0);
                driver.read(DevicePtr(at.0 + from), &mut piece)?;
                hash.update(&piece);
            }
            each.push(Some(hash.digest()));
        }
        Ok(each)
    }

    /// Reads the current content of the buffers with `out` or `expect`; `None` for the others.
    ///
    /// # Errors
    /// If the device fails.
    pub fn reported(&self, driver: &mut dyn Driver, job: &Job) -> Result<Vec<Option<Vec<u8>>>, Error> {
        let wanted = |arg: &Arg| matches!(&arg.value, ArgValue::Buffer(b) if b.out || b.expect.is_some());
        let each = job.args.iter().enumerate();
        each.map(|(i, arg)| if wanted(arg) { self.content(driver, job, i) } else { Ok(None) }).collect()
    }

    /// Reads the current content of the buffer of argument `i`; `None` if the argument is not a buffer.
    ///
    /// # Errors
    /// If the device fails.
    pub fn content(&self, driver: &mut dyn Driver, job: &Job, i: usize) -> Result<Option<Vec<u8>>, Error> {
        let (at, arg) = (self.buffers.get(i).copied().flatten(), job.args.get(i).map(|arg| &arg.value));
        let (Some(at), Some(ArgValue::Buffer(buffer))) = (at, arg) else { return Ok(None) };
        let mut bytes = vec![0; buffer.size() as usize];
        driver.read(at, &mut bytes)?;
        Ok(Some(bytes))
    }

    /// Frees all buffers and tensor maps.
    ///
    /// # Errors
    /// If the device fails. It tries every allocation even then.
    pub fn release(&self, driver: &mut dyn Driver) -> Result<(), Error> {
        let maps = self.maps.iter().map(|(at, _)| at);
        let freed = self.allocations.iter().chain(maps).map(|at| driver.free(*at)).fold(Ok(()), Result::and);
        freed.and(driver.reserve_host_memory(0))
    }
}

/// Selects the outputs among `contents` and compares them with their expected content.
pub fn outputs(job: &Job, contents: Vec<Option<Vec<u8>>>) -> Vec<Output> {
    let mut outputs = Vec::new();
    for (arg, bytes) in job.args.iter().zip(contents) {
        let (ArgValue::Buffer(buffer), Some(bytes)) = (&arg.value, bytes) else { continue };
        if buffer.out || buffer.expect.is_some() {
            outputs.push(Output {
                name: arg.name.clone(),
                ty: buffer.ty,
                shape: buffer.shape.clone(),
                expect: buffer.expect.as_ref().map(|e| compare(buffer.ty, &bytes, e)),
                bytes,
                save: buffer.save.as_ref().map(|p| job.folder.join(p)),
            });
        }
    }
    outputs
}

/// Compares elements: `|got - want| <= atol + rtol * |want|`. NaN equals NaN. If both tolerances are 0,
/// numbers must be equal.
pub fn compare(ty: Scalar, got: &[u8], expect: &Expect) -> Comparison {
    let elements = expect.bytes.len() / element::size(ty);
    let mut result = Comparison {
        file: expect.file.clone(),
        elements: elements as u64,
        wrong: 0,
        first: None,
        worst: 0.0,
    };
    for i in 0..elements {
        let (Some(g), Some(w)) = (element::get(ty, got, i), element::get(ty, &expect.bytes, i)) else {
            break;
        };
        if g == w {
            continue;
        }
        let (x, y) = (element::as_f64(ty, g), element::as_f64(ty, w));
        let apart = (x - y).abs();
        // Two different 64-bit integers can become the same binary64. Two different infinities differ by more
        // than any tolerance.
        let equal = x.is_nan() && y.is_nan()
            || apart <= expect.atol + expect.rtol * y.abs()
                && (element::is_float(ty) || apart > 0.0)
                && y.is_finite();
        if !apart.is_nan() {
            result.worst = result.worst.max(apart);
        }
        if !equal {
            result.wrong += 1;
            result.first.get_or_insert((i as u64, g, w));
        }
    }
    result
}

impl Output {
    /// XXH3-64 of the elements.
    pub fn digest(&self) -> u64 {
        xxh3_64(&self.bytes)
    }

    /// Writes the `.npy` file that the job asks for, if any.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self) -> Result<(), Error> {
        let Some(path) = &self.save else { return Ok(()) };
        let array = npy::Array { ty: self.ty, shape: self.shape.clone(), bytes: self.bytes.clone() };
        files::write(path, &npy::write(&array))
            .map_err(|e| Error::new(ErrorKind::File, format!("cannot write {}: {e}", path.display())))
    }
}

/// Runs the original kernel of a job.
///
/// # Errors
/// If the module does not load, memory is short, or the kernel fails.
pub fn run(driver: &mut dyn Driver, job: &Job) -> Result<Run, Error> {
    let module = driver.load(job.code())?;
    let result = run_loaded(driver, job, module);
    // After a fault a device may refuse to unload. The fault is the better message.
    let unloaded = driver.unload(module);
    result.and_then(|run| unloaded.map(|()| run))
}

fn run_loaded(driver: &mut dyn Driver, job: &Job, module: ModuleHandle) -> Result<Run, Error> {
    let mut prepared = prepare(driver, job)?;
    let result = prepared
        .begin(driver, job, module, 0)
        .and_then(|()| driver.launch(module, &job.kernel, &job.config, &prepared.params))
        .and_then(|stats| Ok(Run { outputs: outputs(job, prepared.reported(driver, job)?), stats }));
    let released = prepared.release(driver);
    let run = result?;
    released.map(|()| run)
}
