//! Safe functions for devices, contexts, modules, memory and tensor maps: one for each driver call.
#![allow(unsafe_code, reason = "calls of a foreign library through pointers that dlsym gave")]

use std::ffi::{CString, c_void};
use std::ptr::null_mut;

use crate::cuda::calls::{TENSOR_TYPES, jit, limit};
use crate::cuda::library::open::Library;
use crate::queue::Failure;
use crate::queue::handles::{Context, Function, Module};
use crate::tensor_map::{BYTES, Swizzle, TensorMap};

/// Size in bytes of the buffer for messages of the JIT compiler.
const LOG: usize = 16 << 10;

/// A device, by its number in the driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Device(pub(super) i32);

impl Library {
    /// Number of devices.
    pub fn device_count(&self) -> Result<u32, Failure> {
        let mut count = 0;
        call!(self.cuDeviceGetCount(&mut count))?;
        Ok(u32::try_from(count).unwrap_or(0))
    }

    /// Returns the device with an ordinal.
    pub fn device(&self, ordinal: u32) -> Result<Device, Failure> {
        let mut device = 0;
        call!(self.cuDeviceGet(&mut device, i32::try_from(ordinal).unwrap_or(i32::MAX)))?;
        Ok(Device(device))
    }

    /// Returns the name of a device.
    pub fn device_name(&self, device: Device) -> Result<String, Failure> {
        let mut name = [0u8; 256];
        call!(self.cuDeviceGetName(name.as_mut_ptr().cast(), 255, device.0))?;
        let text = name.split(|&b| b == 0).next().unwrap_or_default();
        Ok(String::from_utf8_lossy(text).into_owned())
    }

    /// Returns an attribute of a device.
    pub fn attribute(&self, device: Device, attribute: i32) -> Result<u32, Failure> {
        let mut value = 0;
        call!(self.cuDeviceGetAttribute(&mut value, attribute, device.0))?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    /// Returns the memory size of a device in bytes.
    pub fn device_memory(&self, device: Device) -> Result<u64, Failure> {
        let mut bytes = 0;
        call!(self.cuDeviceTotalMem_v2(&mut bytes, device.0))?;
        Ok(bytes as u64)
    }

    /// Retains the primary context of a device.
    pub fn retain_primary_context(&self, device: Device) -> Result<Context, Failure> {
        let mut context = null_mut();
        call!(self.cuDevicePrimaryCtxRetain(&mut context, device.0))?;
        Ok(Context(context))
    }

    /// Releases the primary context of a device.
    pub fn release_primary_context(&self, device: Device) -> Result<(), Failure> {
        call!(self.cuDevicePrimaryCtxRelease_v2(device.0))
    }

    /// Makes a context the calling thread's current one.
    pub fn set_current_context(&self, context: Context) -> Result<(), Failure> {
        call!(self.cuCtxSetCurrent(context.0))
    }

    /// Sets the stack size of every thread, in bytes.
    pub fn set_stack_size(&self, bytes: usize) -> Result<(), Failure> {
        call!(self.cuCtxSetLimit(limit::STACK_SIZE, bytes))
    }

    /// Waits for all work of the current context.
    pub fn synchronize(&self) -> Result<(), Failure> {
        call!(self.cuCtxSynchronize())
    }

    /// Loads PTX, a cubin or a fatbin.
    pub fn load(&self, image: &[u8]) -> Result<Module, Failure> {
        let mut ended = image.to_vec();
        ended.push(0);
        let mut log = vec![0u8; LOG];
        let mut options = [jit::ERROR_LOG, jit::ERROR_LOG_SIZE, jit::LINE_INFO];
        // The driver expects numbers in place of pointers.
        let mut values = [log.as_mut_ptr().cast::<c_void>(), number(LOG), number(1)];
        let mut module = null_mut();
        let loaded = call!(self.cuModuleLoadDataEx(
            &mut module,
            ended.as_ptr().cast(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr()
        ));
        let text = log.split(|&b| b == 0).next().unwrap_or_default();
        let log = String::from_utf8_lossy(text).trim_end().to_owned();
        loaded.map(|()| Module(module)).map_err(|e| Failure { log, ..e })
    }

    /// Unloads a module. Its handle must not be used afterwards.
    pub fn unload(&self, module: Module) -> Result<(), Failure> {
        call!(self.cuModuleUnload(module.0))
    }

    /// Returns a kernel of a module. No kernel has a name that contains a NUL.
    pub fn function(&self, module: Module, name: &str) -> Result<Function, Failure> {
        let name = CString::new(name).unwrap_or_default();
        let mut function = null_mut();
        call!(self.cuModuleGetFunction(&mut function, module.0, name.as_ptr()))?;
        Ok(Function(function))
    }

    /// Returns an attribute of a kernel.
    pub fn function_attribute(&self, function: Function, attribute: i32) -> Result<u32, Failure> {
        let mut value = 0;
        call!(self.cuFuncGetAttribute(&mut value, attribute, function.0))?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    /// Returns how many CTAs of `threads` threads and `shared` bytes of dynamic shared memory fit on an SM at
    /// the same time.
    pub fn max_active_ctas(&self, function: Function, threads: u64, shared: u32) -> Result<u32, Failure> {
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

    /// Sets an attribute of a kernel.
    pub fn set_function_attribute(
        &self,
        function: Function,
        attribute: i32,
        value: u32,
    ) -> Result<(), Failure> {
        call!(self.cuFuncSetAttribute(function.0, attribute, i32::try_from(value).unwrap_or(i32::MAX)))
    }

    /// Allocates device memory; `bytes` must not be 0.
    pub fn alloc(&self, bytes: usize) -> Result<u64, Failure> {
        let mut at = 0;
        call!(self.cuMemAlloc_v2(&mut at, bytes))?;
        Ok(at)
    }

    /// Frees device memory.
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

    /// Sets `bytes` bytes of device memory to `value`.
    pub fn fill(&self, to: u64, bytes: usize, value: u8) -> Result<(), Failure> {
        call!(self.cuMemsetD8_v2(to, value, bytes))
    }

    /// Encodes a tensor map over a tensor at `at`. The map has passed [`TensorMap::check`], so its lists have
    /// the right lengths.
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
}

/// A number in place of a pointer, as option lists have it.
pub(super) fn number(n: usize) -> *mut c_void {
    std::ptr::without_provenance_mut(n)
}
