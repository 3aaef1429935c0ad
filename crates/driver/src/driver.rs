//! The part of a GPU driver's API that running and recording need, as a trait.
//!
//! The CPU device (`prlx-emu`) and CUDA ([`crate::cuda`]) implement [`Driver`]. Calls are synchronous:
//! [`Driver::launch`] returns when the kernel has ended.
//!
//! # Limitations
//! A driver runs one launch at a time. The trait has no textures or streams.

use prlx_isa::InstructionSet;
use prlx_plan::Plan;
use prlx_trace::mark::Track;
use prlx_trace::{Dim3, LaneMask, Nanos, TableContents, WarpId, WarpSize, WarpStream};

use crate::error::{Error, ErrorKind};
use crate::tensor_map::{BYTES, TensorMap};

/// A loaded module. The number is chosen by the driver that loaded it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ModuleHandle(pub u64);

/// An address in device memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct DevicePtr(pub u64);

/// The shape of a launch: grid, block, cluster, dynamic shared memory and schedule seed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LaunchConfig {
    /// Size of the grid in CTAs, even for a kernel that CUDA launches in units of clusters (see
    /// [`cluster_unit`](crate::signature::cluster_unit)).
    pub grid: Dim3,
    /// Size of a CTA in threads.
    pub block: Dim3,
    /// Size of a cluster in CTAs; divides the grid. One CTA means that the launch asks for no clusters, and
    /// the kernel's own `.reqnctapercluster` applies.
    pub cluster: Dim3,
    /// Dynamic shared memory of a CTA in bytes.
    pub shared: u32,
    /// Seed of the schedule, for devices that simulate one.
    pub seed: u64,
}

/// A device's description of itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeviceInfo {
    /// Name for people, for example `CPU device` or `NVIDIA H200`.
    pub name: String,
    /// Number of lanes of a warp.
    pub warp_size: WarpSize,
    /// Whether the device can run a plan's actions itself ([`Driver::observe`]).
    pub hooks: bool,
}

/// Resources of a multiprocessor (SM) that a kernel uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ResourceUsage {
    /// Registers per thread.
    pub registers: u32,
    /// Local memory per thread in bytes: arrays and spilled registers.
    pub local: u32,
    /// Static shared memory per CTA in bytes.
    pub shared: u32,
    /// Threads that are resident on one SM at the same time, with CTAs of the launch's size.
    pub resident: u32,
    /// Maximum resident threads per SM.
    pub room: u32,
}

/// Cost of one launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LaunchStats {
    /// Number of executed warp instructions; 0 if the device does not count them.
    pub warp_instructions: u64,
    /// Wall time of the kernel.
    pub nanos: Nanos,
}

/// What a device saw of a launch while it ran a plan's actions itself.
#[derive(Clone, PartialEq, Debug)]
pub struct Observed {
    /// Streams of the warps, in ascending order: of all warps that the plan records, or of those that ran
    /// before the launch was stopped.
    pub streams: Vec<WarpStream>,
    /// Contents of a probe program's tables and records.
    pub tallies: Vec<TableContents>,
    /// Tracks that the markers wrote, by warp and lane.
    pub tracks: Vec<Track>,
    /// Cost of the launch, or the error that stopped it.
    pub ended: Result<LaunchStats, Error>,
    /// Lanes of `streams` that had not ended when the launch was stopped, by warp, in ascending order.
    pub unfinished: Vec<(WarpId, LaneMask)>,
}

/// Code of a module, with its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModuleCode<'a> {
    /// PTX, as text. A NUL ends it.
    Ptx(&'a str),
    /// Machine code of NVIDIA's: a cubin or a fatbin.
    Image(&'a [u8]),
    /// Machine code of another instruction set: an object with kernels.
    Object(InstructionSet, &'a [u8]),
}

/// A device that runs kernels.
pub trait Driver {
    /// Describes the device.
    fn info(&self) -> DeviceInfo;
    /// Loads a module.
    ///
    /// # Errors
    /// If the device does not run this kind of code, or the code is not understood or cannot be assembled.
    /// The error names the place.
    fn load(&mut self, code: ModuleCode<'_>) -> Result<ModuleHandle, Error>;
    /// Loads instrumented code. `text` is the module's own text `_own` with `_plan` inserted. A device may
    /// compile instrumented code with other options than original code, for example with a register limit.
    ///
    /// # Errors
    /// The same as [`Driver::load`].
    fn load_rewritten(&mut self, text: &str, _plan: &Plan, _own: &str) -> Result<ModuleHandle, Error> {
        self.load(ModuleCode::Ptx(text))
    }
    /// Unloads a module.
    ///
    /// # Errors
    /// If the module does not exist.
    fn unload(&mut self, module: ModuleHandle) -> Result<(), Error>;
    /// The address and the size in bytes of a module's global or constant variable.
    ///
    /// # Errors
    /// If the module has no such variable.
    fn variable(&mut self, module: ModuleHandle, name: &str) -> Result<(DevicePtr, u64), Error> {
        let say =
            format!("{} does not give the address of `{name}` in module {}", self.info().name, module.0);
        Err(Error::new(ErrorKind::Unsupported, say))
    }
    /// Allocates `bytes` bytes of device memory, aligned to at least `align` (a power of two). The content is
    /// undefined.
    ///
    /// # Errors
    /// If there is not enough memory.
    fn alloc(&mut self, bytes: u64, align: u64) -> Result<DevicePtr, Error>;
    /// Allocates memory that the host can read after a fault and while a kernel hangs. Devices without such
    /// memory allocate as [`Driver::alloc`] does.
    ///
    /// # Errors
    /// If there is not enough memory.
    fn alloc_host_mapped(&mut self, bytes: u64, align: u64) -> Result<DevicePtr, Error> {
        self.alloc(bytes, align)
    }
    /// Names the allocation at `at` in messages. Devices that report no allocations ignore it.
    fn name_allocation(&mut self, at: DevicePtr, name: &str) {
        let _ = (at, name);
    }
    /// Marks `bytes` bytes from `at` on as never written, so that a check reports reads of them. Devices
    /// without that check ignore it.
    fn mark_uninitialized(&mut self, at: DevicePtr, bytes: u64) {
        let _ = (at, bytes);
    }
    /// Counts `bytes` bytes that the caller keeps on the host for a launch towards the device's memory limit.
    /// The number replaces the one of the call before. Devices without a limit ignore it.
    ///
    /// # Errors
    /// If the limit does not allow that many bytes.
    fn reserve_host_memory(&mut self, bytes: u64) -> Result<(), Error> {
        let _ = bytes;
        Ok(())
    }
    /// Frees an allocation.
    ///
    /// # Errors
    /// If no allocation begins at `at`.
    fn free(&mut self, at: DevicePtr) -> Result<(), Error>;
    /// Copies `bytes` to the device.
    ///
    /// # Errors
    /// If the range is not allocated.
    fn write(&mut self, at: DevicePtr, bytes: &[u8]) -> Result<(), Error>;
    /// Copies device memory into `bytes`.
    ///
    /// # Errors
    /// If the range is not allocated.
    fn read(&mut self, at: DevicePtr, bytes: &mut [u8]) -> Result<(), Error>;
    /// Sets `bytes` bytes of device memory to `value`.
    ///
    /// # Errors
    /// If the range is not allocated.
    fn fill(&mut self, at: DevicePtr, bytes: u64, value: u8) -> Result<(), Error>;
    /// Runs a kernel to its end. `params` is the parameter buffer, laid out as the kernel declares it.
    ///
    /// # Errors
    /// If the kernel does not exist, the shape is not allowed, or the kernel faults. The error names
    /// instruction and line if the device knows them.
    fn launch(
        &mut self,
        module: ModuleHandle,
        kernel: &str,
        config: &LaunchConfig,
        params: &[u8],
    ) -> Result<LaunchStats, Error>;
    /// Puts the text that the last launch printed before that of the next one. Devices that show the text
    /// themselves ignore it.
    fn keep_printed(&mut self) {}
    /// Returns the resources that a kernel uses when it is launched with `config`; `None` from a device
    /// without SMs.
    ///
    /// # Errors
    /// If the kernel does not exist, or the shape is not allowed.
    fn resource_usage(
        &mut self,
        module: ModuleHandle,
        kernel: &str,
        config: &LaunchConfig,
    ) -> Result<Option<ResourceUsage>, Error> {
        let _ = (module, kernel, config);
        Ok(None)
    }
    /// Encodes a tensor map (TMA descriptor) of a tensor at `at`: the 128 bytes that kernels of this device
    /// expect.
    ///
    /// # Errors
    /// If the device has no tensor copies, or the map is not valid.
    fn tensor_map(&mut self, at: DevicePtr, map: &TensorMap) -> Result<[u8; BYTES], Error> {
        let _ = (at, map);
        Err(Error::new(ErrorKind::Unsupported, format!("{} has no tensor maps", self.info().name)))
    }
    /// Runs the original code and performs the plan's actions itself. No code is inserted, so the schedule
    /// does not change. Only the CPU device can do this; other devices return `None`.
    ///
    /// # Errors
    /// The same as [`Driver::launch`], if nothing ran. An error that stops the kernel while it runs is in
    /// [`Observed::ended`].
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
