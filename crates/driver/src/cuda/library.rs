//! The driver library: found, opened, and each call as a safe function.
//!
//! All unsafe code of `cuda` is here and in the parts, `dma`, `mapped` and `streams`. Holds: every pointer that is passed lives through
//! its call and has the size that the call is told; handles come from the library and are private types, so nothing else can
//! be passed for one.
//! Misses: it is never closed: drivers leave threads behind.
#![allow(unsafe_code, reason = "calls of a foreign library through pointers that dlsym gave")]

use std::ffi::{CStr, CString, OsString, c_char, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;
use std::ptr::{null, null_mut};

use libloading::Library as Dynamic;

use super::calls::launch::CLUSTER_DIMENSION;
use super::calls::{LaunchAttribute, LaunchConfig, TENSOR_TYPES, extra, jit, limit};
use super::code::known;
use super::functions::Functions;
use crate::tensor_map::{BYTES, Swizzle, TensorMap};
use crate::{Error, ErrorKind};

/// Names the library to use instead of the system's: a path. Tests put a mock there.
pub const VARIABLE: &str = "PRLX_LIBCUDA";
/// Where the system's is looked for, in order: as the loader does, then where containers and WSL put it.
const PLACES: &[&str] = &[
    "libcuda.so.1",
    "/usr/local/nvidia/lib64/libcuda.so.1",
    "/usr/lib/wsl/lib/libcuda.so.1",
    "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
    "/usr/lib64/libcuda.so.1",
];
/// The oldest driver whose calls are those of the table, as it says its version; and what to do about an older one.
const OLDEST: i32 = 12000;
const NEWER: &str = "a driver of CUDA 12 or newer is needed";
/// Bytes for what the JIT says.
const LOG: usize = 16 << 10;

/// Makes a call of the table; what it answers becomes a `Result`.
macro_rules! call {
    ($self:ident.$name:ident($($arg:expr),*)) => {
        // SAFETY: the module's invariant: pointers live through the call and have the size it is told.
        match unsafe { ($self.functions.$name)($($arg),*) } {
            0 => Ok(()),
            code => Err($self.failure(stringify!($name), code)),
        }
    };
}

/// A call that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The call.
    pub call: &'static str,
    /// `CUresult`.
    pub code: i32,
    /// The driver's name for it, as `CUDA_ERROR_OUT_OF_MEMORY`.
    pub name: String,
    /// The driver's words for it.
    pub text: String,
    /// What its JIT compiler said, if that is what failed.
    pub log: String,
}

impl Failure {
    /// As an error; `what` was being done.
    pub fn during(self, what: &str) -> Error {
        let (kind, help) = known(self.code).map_or((ErrorKind::Device, ""), |c| (c.kind, c.help));
        let log = if self.log.is_empty() { String::new() } else { format!("\n{}", self.log) };
        let error = Error::new(kind, format!("{what}: {} ({}, {}){log}", self.text, self.name, self.call));
        if help.is_empty() { error } else { error.help(help) }
    }
}

/// Whether a failure of this code leaves the context unusable: the kernel went wrong, not the call.
pub fn sticky(code: i32) -> bool {
    known(code).is_some_and(|c| matches!(c.kind, ErrorKind::Fault | ErrorKind::Stuck))
}

mod dma;
mod mapped;
mod pointers;
mod streams;

pub use dma::Dma;
pub use mapped::Mapped;
pub use pointers::Held;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub struct $name(*mut c_void);

        // SAFETY: a name for something of the driver's, which any thread may say; nothing is reached through it here.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}

        impl $name {
            /// A handle that the program got from the driver itself.
            ///
            /// # Safety
            /// The driver gave it out, and knows it as long as this is used.
            pub const unsafe fn foreign(handle: *mut c_void) -> $name {
                $name(handle)
            }
        }
    )* };
}
handles! {
    /// A context.
    Context
    /// A module.
    Module
    /// A kernel.
    Function
    /// A stream; null is the default stream.
    Stream
    /// An event.
    Event
}

/// A device, by the driver's number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Device(i32);

/// How a kernel is started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// CTAs.
    pub grid: [u32; 3],
    /// Threads in a CTA.
    pub block: [u32; 3],
    /// CTAs in a cluster, where it says something.
    pub cluster: Option<[u32; 3]>,
    /// Dynamic shared memory, bytes.
    pub shared: u32,
}

/// A kernel's parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Params<'a> {
    /// Each by itself: the driver knows where it goes.
    Each(Vec<&'a [u8]>),
    /// The whole buffer, as the kernel's machine code has it.
    Buffer(&'a [u8]),
}

/// The driver library.
#[derive(Clone, Copy)]
pub struct Library {
    functions: Functions,
}

impl Library {
    /// The library whose calls these are: it is started already.
    pub const fn of(functions: Functions) -> Library {
        Library { functions }
    }
    /// Finds and opens it, and starts the driver.
    ///
    /// # Errors
    /// When there is none, it is too old, or there is no device it can use.
    pub fn open() -> Result<Library, Error> {
        let named = std::env::var_os(VARIABLE).filter(|v| !v.is_empty());
        let places = named.as_ref().map_or_else(
            || {
                PLACES
                    .iter()
                    .map(OsString::from)
                    .filter(|p| Path::new(p).is_relative() || Path::new(p).exists())
                    .collect()
            },
            |one| vec![one.clone()],
        );
        let mut said = String::new();
        for place in &places {
            // SAFETY: loading a library runs its initialisers; this one is the system's driver, or what the user named.
            match unsafe { Dynamic::new(place) } {
                Ok(library) => {
                    let library = ManuallyDrop::new(library);
                    let newer = |what: String| Err(Error::new(ErrorKind::Device, what).help(NEWER));
                    // SAFETY: the symbol is only looked for.
                    if unsafe { library.get::<*const c_void>(b"cuInit\0") }.is_err() {
                        return newer(format!("the CUDA driver {} has no `cuInit`", place.display()));
                    }
                    // SAFETY: the symbols of the table's names have its types, as cuda.h says.
                    let functions = unsafe {
                        Functions::of(&|name| {
                            library.get::<*const c_void>(name.to_bytes_with_nul()).map_or(null(), |s| *s)
                        })
                    };
                    let library = Library { functions };
                    call!(library.cuInit(0)).map_err(|e| e.during("the CUDA driver does not start"))?;
                    let version = library
                        .version()
                        .map_err(|e| e.during("the CUDA driver does not say its version"))?;
                    if version < OLDEST {
                        return newer(format!(
                            "the CUDA driver is for CUDA {}.{}",
                            version / 1000,
                            version % 1000 / 10
                        ));
                    }
                    return Ok(library);
                }
                Err(e) if said.is_empty() => {
                    said = std::error::Error::source(&e).map_or_else(|| e.to_string(), |why| why.to_string());
                }
                Err(_) => {}
            }
        }
        let error = Error::new(ErrorKind::Device, format!("no CUDA driver: {said}"));
        Err(error.help("install NVIDIA's driver, or run on the CPU device: --device cpu"))
    }

    /// A call's failure, with the driver's name and words for it.
    fn failure(&self, call: &'static str, code: i32) -> Failure {
        let text = |function: unsafe extern "C" fn(i32, *mut *const c_char) -> i32| {
            let mut at: *const c_char = std::ptr::null();
            // SAFETY: the driver sets the pointer to a constant string of its own, or to null for codes it does not know.
            match unsafe { function(code, &mut at) } {
                // SAFETY: as above: a string that ends, and lives as long as the library, which is never closed.
                0 if !at.is_null() => Some(unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned()),
                _ => None,
            }
        };
        let name = text(self.functions.cuGetErrorName).unwrap_or_else(|| format!("CUDA error {code}"));
        let text =
            text(self.functions.cuGetErrorString).unwrap_or_else(|| "the driver has no words for it".into());
        Failure { call, code, name, text, log: String::new() }
    }

    /// 1000 * major + 10 * minor of the newest CUDA that the driver knows.
    pub fn version(&self) -> Result<i32, Failure> {
        let mut version = 0;
        call!(self.cuDriverGetVersion(&mut version))?;
        Ok(version)
    }
    /// How many devices there are.
    pub fn devices(&self) -> Result<u32, Failure> {
        let mut count = 0;
        call!(self.cuDeviceGetCount(&mut count))?;
        Ok(u32::try_from(count).unwrap_or(0))
    }
    /// A device by its ordinal.
    pub fn device(&self, ordinal: u32) -> Result<Device, Failure> {
        let mut device = 0;
        call!(self.cuDeviceGet(&mut device, i32::try_from(ordinal).unwrap_or(i32::MAX)))?;
        Ok(Device(device))
    }
    /// Its name.
    pub fn name(&self, device: Device) -> Result<String, Failure> {
        let mut name = [0u8; 256];
        call!(self.cuDeviceGetName(name.as_mut_ptr().cast(), 255, device.0))?;
        let text = name.split(|&b| b == 0).next().unwrap_or_default();
        Ok(String::from_utf8_lossy(text).into_owned())
    }
    /// One of its attributes.
    pub fn attribute(&self, device: Device, attribute: i32) -> Result<u32, Failure> {
        let mut value = 0;
        call!(self.cuDeviceGetAttribute(&mut value, attribute, device.0))?;
        Ok(u32::try_from(value).unwrap_or(0))
    }
    /// Bytes of its memory.
    pub fn memory(&self, device: Device) -> Result<u64, Failure> {
        let mut bytes = 0;
        call!(self.cuDeviceTotalMem_v2(&mut bytes, device.0))?;
        Ok(bytes as u64)
    }
    /// Takes part in its primary context.
    pub fn retain(&self, device: Device) -> Result<Context, Failure> {
        let mut context = null_mut();
        call!(self.cuDevicePrimaryCtxRetain(&mut context, device.0))?;
        Ok(Context(context))
    }
    /// Gives it back.
    pub fn release(&self, device: Device) -> Result<(), Failure> {
        call!(self.cuDevicePrimaryCtxRelease_v2(device.0))
    }
    /// Makes a context this thread's.
    pub fn enter(&self, context: Context) -> Result<(), Failure> {
        call!(self.cuCtxSetCurrent(context.0))
    }
    /// Sets the stack of every thread, bytes.
    pub fn stack(&self, bytes: usize) -> Result<(), Failure> {
        call!(self.cuCtxSetLimit(limit::STACK_SIZE, bytes))
    }
    /// Waits for everything that was started.
    pub fn synchronize(&self) -> Result<(), Failure> {
        call!(self.cuCtxSynchronize())
    }

    /// Loads PTX, a cubin or a fatbin.
    pub fn load(&self, image: &[u8]) -> Result<Module, Failure> {
        let mut ended = image.to_vec();
        ended.push(0);
        let mut log = vec![0u8; LOG];
        let mut options = [jit::ERROR_LOG, jit::ERROR_LOG_SIZE, jit::LINE_INFO];
        // Numbers are passed in the pointer's place.
        let mut values = [log.as_mut_ptr().cast::<c_void>(), number(LOG), number(1)];
        let mut module = null_mut();
        let loaded = call!(self.cuModuleLoadDataEx(
            &mut module,
            ended.as_ptr().cast(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr()
        ));
        let said = log.split(|&b| b == 0).next().unwrap_or_default();
        let said = String::from_utf8_lossy(said).trim_end().to_owned();
        loaded.map(|()| Module(module)).map_err(|e| Failure { log: said, ..e })
    }
    /// Unloads a module; its handle is good for nothing afterwards.
    pub fn unload(&self, module: Module) -> Result<(), Failure> {
        call!(self.cuModuleUnload(module.0))
    }
    /// A kernel of a module. A name with a NUL in it is none.
    pub fn function(&self, module: Module, name: &str) -> Result<Function, Failure> {
        let name = CString::new(name).unwrap_or_default();
        let mut function = null_mut();
        call!(self.cuModuleGetFunction(&mut function, module.0, name.as_ptr()))?;
        Ok(Function(function))
    }
    /// What a kernel needs.
    pub fn needs(&self, function: Function, attribute: i32) -> Result<u32, Failure> {
        let mut value = 0;
        call!(self.cuFuncGetAttribute(&mut value, attribute, function.0))?;
        Ok(u32::try_from(value).unwrap_or(0))
    }
    /// How many CTAs of so many threads and bytes of dynamic shared memory a multiprocessor runs at once.
    pub fn resident(&self, function: Function, threads: u64, shared: u32) -> Result<u32, Failure> {
        let mut ctas = 0;
        let threads = i32::try_from(threads).unwrap_or(i32::MAX);
        call!(self.cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &mut ctas,
            function.0,
            threads,
            shared as usize
        ))?;
        Ok(u32::try_from(ctas).unwrap_or(0))
    }
    /// What a kernel may have.
    pub fn allow(&self, function: Function, attribute: i32, value: u32) -> Result<(), Failure> {
        call!(self.cuFuncSetAttribute(function.0, attribute, i32::try_from(value).unwrap_or(i32::MAX)))
    }

    /// Allocates; `bytes` is not 0.
    pub fn alloc(&self, bytes: usize) -> Result<u64, Failure> {
        let mut at = 0;
        call!(self.cuMemAlloc_v2(&mut at, bytes))?;
        Ok(at)
    }
    /// Frees.
    pub fn free(&self, at: u64) -> Result<(), Failure> {
        call!(self.cuMemFree_v2(at))
    }
    /// Copies to the device.
    pub fn write(&self, to: u64, bytes: &[u8]) -> Result<(), Failure> {
        call!(self.cuMemcpyHtoD_v2(to, bytes.as_ptr().cast(), bytes.len()))
    }
    /// Copies from the device.
    pub fn read(&self, from: u64, bytes: &mut [u8]) -> Result<(), Failure> {
        call!(self.cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), from, bytes.len()))
    }
    /// Sets bytes.
    pub fn fill(&self, to: u64, bytes: usize, value: u8) -> Result<(), Failure> {
        call!(self.cuMemsetD8_v2(to, value, bytes))
    }

    /// The bytes of a tensor map over a tensor at `at`, which was checked: its lists have as many numbers as they should.
    pub fn tensor_map(&self, at: u64, map: &TensorMap) -> Result<[u8; BYTES], Failure> {
        #[repr(C, align(64))]
        struct Aligned([u8; BYTES]);
        let mut out = Aligned([0; BYTES]);
        let element = TENSOR_TYPES.iter().find(|(name, _)| *name == map.ty.name()).map_or(-1, |t| t.1);
        let swizzle = Swizzle::ALL.iter().position(|(_, s)| *s == map.swizzle).unwrap_or(0);
        call!(self.cuTensorMapEncodeTiled(
            out.0.as_mut_ptr().cast(),
            element,
            map.sizes.len() as u32,
            std::ptr::without_provenance_mut(at as usize),
            map.sizes.as_ptr(),
            map.strides.as_ptr(),
            map.tile.as_ptr(),
            map.steps.as_ptr(),
            0,
            swizzle as i32,
            0,
            i32::from(map.nan)
        ))?;
        Ok(out.0)
    }

    /// Starts a kernel in the default stream, between two events.
    pub fn launch(
        &self,
        function: Function,
        shape: &Shape,
        params: &Params<'_>,
        clock: &Clock,
    ) -> Result<(), Failure> {
        let (mut each, buffer): (Vec<*mut c_void>, &[u8]) = match params {
            Params::Each(each) => (each.iter().map(|p| p.as_ptr().cast_mut().cast()).collect(), &[]),
            Params::Buffer(buffer) => (Vec::new(), buffer),
        };
        let mut size = buffer.len();
        let mut extra: [*mut c_void; 5] = [
            number(extra::BUFFER),
            buffer.as_ptr().cast_mut().cast(),
            number(extra::SIZE),
            (&raw mut size).cast(),
            number(extra::END),
        ];
        let mut cluster = LaunchAttribute { id: CLUSTER_DIMENSION, pad: [0; 4], value: [0; 16] };
        if let Some(sizes) = shape.cluster {
            cluster.value[..3].copy_from_slice(&sizes);
        }
        let config = LaunchConfig {
            grid: shape.grid,
            block: shape.block,
            shared: shape.shared,
            stream: null_mut(),
            attributes: &mut cluster,
            count: u32::from(shape.cluster.is_some()),
        };
        let each = if each.is_empty() { null_mut() } else { each.as_mut_ptr() };
        let extra = if buffer.is_empty() { null_mut() } else { extra.as_mut_ptr() };
        call!(self.cuEventRecord(clock.start, null_mut()))?;
        call!(self.cuLaunchKernelEx(&config, function.0, each, extra))?;
        call!(self.cuEventRecord(clock.end, null_mut()))
    }

    /// Two events.
    pub fn clock(&self) -> Result<Clock, Failure> {
        let (mut start, mut end) = (null_mut(), null_mut());
        call!(self.cuEventCreate(&mut start, 0))?;
        if let Err(e) = call!(self.cuEventCreate(&mut end, 0)) {
            self.stop(Clock { start, end: start });
            return Err(e);
        }
        Ok(Clock { start, end })
    }
    /// Nanoseconds between them; both have passed.
    pub fn elapsed(&self, clock: &Clock) -> Result<u64, Failure> {
        let mut milliseconds = 0f32;
        call!(self.cuEventElapsedTime(&mut milliseconds, clock.start, clock.end))?;
        Ok((f64::from(milliseconds) * 1e6) as u64)
    }
    /// Whether the second has passed.
    pub fn over(&self, clock: &Clock) -> Result<bool, Failure> {
        self.passed(Event(clock.end))
    }
    /// Destroys them. After a fault the driver refuses; the context then goes with all that is in it.
    pub fn stop(&self, clock: Clock) {
        let _ = call!(self.cuEventDestroy_v2(clock.start));
        if clock.end != clock.start {
            let _ = call!(self.cuEventDestroy_v2(clock.end));
        }
    }
}

/// A number in a pointer's place, as lists of options have them.
fn number(n: usize) -> *mut c_void {
    std::ptr::without_provenance_mut(n)
}

/// The events around a launch.
#[derive(Debug)]
pub struct Clock {
    start: *mut c_void,
    end: *mut c_void,
}
