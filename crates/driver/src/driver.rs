//! The part of a GPU driver's API that running and recording need, as a trait.
//!
//! [`Driver`] is implemented by the CPU device (`prlx-emu`) and by CUDA ([`crate::cuda`]). Calls are
//! synchronous: [`Driver::launch`] returns when the kernel has ended.
//!
//! # Limitations
//! One launch at a time. Module variables, textures and streams are not part of it.

use prlx_plan::Plan;
use prlx_trace::mark::Track;
use prlx_trace::{Dim3, LaneMask, TableContents, WarpId, WarpStream};

use crate::error::{Error, ErrorKind};
use crate::tensor_map::{BYTES, TensorMap};

/// A loaded module, by the number its driver gave it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ModuleHandle(pub u64);

/// An address in device memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct DevicePtr(pub u64);

/// How a kernel is started.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LaunchConfig {
    /// CTAs, also of a kernel that counts its grid in clusters (`job::counted`).
    pub grid: Dim3,
    /// Threads in a CTA.
    pub block: Dim3,
    /// CTAs of a cluster, a divisor of the grid; one: none are asked for, and the kernel's
    /// `.reqnctapercluster` is taken.
    pub cluster: Dim3,
    /// Dynamic shared memory, bytes.
    pub shared: u32,
    /// Schedule seed, for devices that have one.
    pub seed: u64,
}

/// What a device says of itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeviceInfo {
    /// In words, as `CPU device` or `NVIDIA H200`.
    pub name: String,
    /// Lanes in a warp.
    pub warp_size: u8,
    /// Whether it can do a plan's actions itself ([`Driver::observe`]).
    pub hooks: bool,
}

/// What a kernel takes of a multiprocessor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ResourceUsage {
    /// Registers of a thread.
    pub registers: u32,
    /// Local memory of a thread, bytes: arrays, and registers that were spilt.
    pub local: u32,
    /// Static shared memory of a CTA, bytes.
    pub shared: u32,
    /// Threads that a multiprocessor runs at once, in CTAs of the launch's size.
    pub resident: u32,
    /// Threads that it has room for.
    pub room: u32,
}

/// What a launch cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LaunchStats {
    /// Warp instructions executed; 0 if the device does not count.
    pub warp_instructions: u64,
    /// Wall time, nanoseconds.
    pub nanos: u64,
}

/// What a machine saw of a launch.
#[derive(Clone, PartialEq, Debug)]
pub struct Observed {
    /// What its warps wrote down, ascending: all warps that the plan wants, or those that ran until it was
    /// stopped.
    pub streams: Vec<WarpStream>,
    /// What a probe program's tables and records hold.
    pub tallies: Vec<TableContents>,
    /// What its markers left, by warp and lane.
    pub tracks: Vec<Track>,
    /// What it cost, or what stopped it.
    pub ended: Result<LaunchStats, Error>,
    /// If it was stopped: which lanes of `streams` had not ended, by warp, ascending.
    pub unfinished: Vec<(WarpId, LaneMask)>,
}

/// A machine that runs kernels.
pub trait Driver {
    /// What it is.
    fn info(&self) -> DeviceInfo;
    /// Loads a module from its text (PTX) or image.
    ///
    /// # Errors
    /// When the image is not understood or can't be assembled; the error names the place.
    fn load(&mut self, image: &[u8]) -> Result<ModuleHandle, Error>;
    /// Loads code with `plan` written into it, of a module whose own text is `own`: a device may make other
    /// machine code of it than of the same text as it is.
    ///
    /// # Errors
    /// As [`Driver::load`].
    fn load_rewritten(&mut self, text: &str, _plan: &Plan, _own: &str) -> Result<ModuleHandle, Error> {
        self.load(text.as_bytes())
    }
    /// Unloads a module.
    ///
    /// # Errors
    /// When there is no such module.
    fn unload(&mut self, module: ModuleHandle) -> Result<(), Error>;
    /// Allocates `bytes` of device memory, aligned to at least `align` (a power of two). Its content is
    /// whatever was there.
    ///
    /// # Errors
    /// When there is not enough.
    fn alloc(&mut self, bytes: u64, align: u64) -> Result<DevicePtr, Error>;
    /// The same; what is there can still be read after a fault, and while a kernel hangs, where the machine
    /// has such memory.
    ///
    /// # Errors
    /// When there is not enough.
    fn alloc_host_mapped(&mut self, bytes: u64, align: u64) -> Result<DevicePtr, Error> {
        self.alloc(bytes, align)
    }
    /// Says what the allocation at `at` is called in messages. Most machines have no use for it.
    fn name_allocation(&mut self, at: DevicePtr, name: &str) {
        let _ = (at, name);
    }
    /// Says that what `bytes` bytes hold counts as never written. Most machines have no use for it.
    fn mark_uninitialized(&mut self, at: DevicePtr, bytes: u64) {
        let _ = (at, bytes);
    }
    /// Counts bytes that the caller keeps on this side for a launch against the machine's limit on memory,
    /// instead of those counted before. Most machines have no limit.
    ///
    /// # Errors
    /// When they are more than is left.
    fn reserve_host_memory(&mut self, bytes: u64) -> Result<(), Error> {
        let _ = bytes;
        Ok(())
    }
    /// Frees an allocation.
    ///
    /// # Errors
    /// When it is none.
    fn free(&mut self, at: DevicePtr) -> Result<(), Error>;
    /// Copies to the device.
    ///
    /// # Errors
    /// When the range is not allocated.
    fn write(&mut self, at: DevicePtr, bytes: &[u8]) -> Result<(), Error>;
    /// Copies from the device.
    ///
    /// # Errors
    /// When the range is not allocated.
    fn read(&mut self, at: DevicePtr, bytes: &mut [u8]) -> Result<(), Error>;
    /// Sets `bytes` bytes to `value`.
    ///
    /// # Errors
    /// When the range is not allocated.
    fn fill(&mut self, at: DevicePtr, bytes: u64, value: u8) -> Result<(), Error>;
    /// Runs a kernel to its end. `params` is the parameter buffer, laid out as the kernel declares it.
    ///
    /// # Errors
    /// When the kernel is not there, the shape is not allowed, or the code faults; the error names
    /// instruction and line.
    fn launch(
        &mut self,
        module: ModuleHandle,
        kernel: &str,
        config: &LaunchConfig,
        params: &[u8],
    ) -> Result<LaunchStats, Error>;
    /// What a kernel takes of a multiprocessor when it is launched like this; `None` from a machine without
    /// any.
    ///
    /// # Errors
    /// When the kernel is not there, or the shape is not allowed.
    fn resource_usage(
        &mut self,
        module: ModuleHandle,
        kernel: &str,
        config: &LaunchConfig,
    ) -> Result<Option<ResourceUsage>, Error> {
        let _ = (module, kernel, config);
        Ok(None)
    }
    /// The 128 bytes that kernels of this device take as the tensor map of a tensor at `at`.
    ///
    /// # Errors
    /// When the device has no tensor copies, or there is no such map.
    fn tensor_map(&mut self, at: DevicePtr, map: &TensorMap) -> Result<[u8; BYTES], Error> {
        let _ = (at, map);
        Err(Error::new(ErrorKind::Unsupported, format!("{} has no tensor maps", self.info().name)))
    }
    /// Runs the original code and does the plan's actions itself: nothing is written into the code, so
    /// nothing moves in its schedule. `None` from a machine that can't; only the CPU device can.
    ///
    /// # Errors
    /// As [`Driver::launch`], when nothing ran; what stops the code while it runs is in [`Observed::ended`].
    fn observe(
        &mut self,
        module: ModuleHandle,
        kernel: &str,
        config: &LaunchConfig,
        params: &[u8],
        plan: &Plan,
    ) -> Option<Result<Observed, Error>> {
        let _ = (module, kernel, config, params, plan);
        None
    }
}
