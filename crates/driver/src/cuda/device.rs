//! One NVIDIA GPU as a [`Driver`].
//!
//! # Invariants
//! - Every failure is reported with CUDA's name and text for it.
//! - A launch that does not fit the device is refused before the driver sees it; the error names the limit.
//! - Remaining modules and memory are freed with the context.
//!
//! # Limitations
//! - One stream and one device at a time; no module variables.
//! - What a kernel recorded before it faulted is lost with its context, unless it lies in
//!   [host-mapped](Driver::alloc_host_mapped) memory.
//! - A kernel that never ends blocks the caller, unless a time limit is set ([`Cuda::set_time_limit`]).

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use prlx_isa::image::Target;
use prlx_isa::ptx::with_optional_lines;
use prlx_plan::Plan;
use prlx_trace::kernel::Param;
use prlx_trace::{Nanos, WarpSize};

use crate::assemble;
use crate::assemble::assemblers::Assemblers;
use crate::assemble::register_budget::RegisterBudget;
use crate::assemble::tool::AssembleError;
use crate::cuda::calls::{attribute, function};
use crate::cuda::error_codes::{COOPERATIVE_LAUNCH_TOO_LARGE, lookup, sticky};
use crate::cuda::gpus::{Gpu, gpu};
use crate::cuda::library::launch::{Params, Shape};
use crate::cuda::library::mapped::MappedBuffer;
use crate::cuda::library::modules::Device;
use crate::cuda::library::open::Library;
use crate::driver::{
    DeviceInfo, DevicePtr, Driver, LaunchConfig, LaunchStats, ModuleCode, ModuleHandle, ResourceUsage,
};
use crate::error::{Error, ErrorKind};
use crate::queue::handles::{Context, Function, Module};
use crate::queue::{Failure, HostMemory};
use crate::signature::{Signature, cluster_unit};
use crate::tensor_map::{BYTES, TensorMap};

/// Shared memory in bytes that a CTA can have without opting in to more.
const SHARED: u32 = 48 << 10;

/// Maximum CTAs of a cluster that every device with clusters supports.
const PORTABLE_CLUSTER: u64 = 8;

/// Stack in bytes for each thread of a recursive kernel: eight times CUDA's default.
const DEEP_STACK: usize = 8 << 10;

/// Interval between two checks whether a kernel with a time limit has ended.
const POLL_INTERVAL: Duration = Duration::from_micros(50);

/// Minimum alignment of `cuMemAlloc` in bytes.
const ALLOC_ALIGNMENT: u64 = 256;

/// A loaded module, with the kernels that were looked up in it.
struct LoadedModule {
    module: Module,
    functions: BTreeMap<String, Function>,
    /// Declarations of the kernels in its PTX; empty for an image.
    signatures: Vec<Signature>,
    /// Whether the module has recursive functions, whose stack depth no assembler can compute.
    recursive: bool,
    /// The kernels that may ask for the grid barrier of cooperative groups.
    grid_barrier: BTreeSet<String>,
}

/// A GPU, with a context that belongs to the thread that created this value.
pub struct Cuda {
    library: Library,
    device: Device,
    context: Context,
    gpu: Gpu,
    modules: BTreeMap<u64, LoadedModule>,
    next: u64,
    assemblers: Assemblers,
    /// Real start of allocations that were enlarged for alignment, by the address that the caller has.
    allocation_starts: BTreeMap<u64, u64>,
    /// Host memory that kernels can access, by the address that the caller has.
    mapped_buffers: BTreeMap<u64, MappedBuffer>,
    /// Time limit of a kernel.
    time_limit: Option<Duration>,
    /// Whether a kernel exceeded its time limit and still runs. Every call that waits for the device would
    /// then wait forever.
    stuck: bool,
}

impl std::fmt::Debug for Cuda {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cuda")
            .field("gpu", &self.gpu)
            .field("modules", &self.modules.len())
            .finish_non_exhaustive()
    }
}

impl Cuda {
    /// Opens the device with this ordinal. CUDA_VISIBLE_DEVICES defines the order.
    ///
    /// # Errors
    /// If there is no driver, no such device, or the device cannot be used.
    pub fn new(ordinal: u32) -> Result<Cuda, Error> {
        Cuda::with_assemblers(ordinal, Assemblers::find())
    }

    /// Opens a device and uses these assemblers. Without any, the driver's compiler is used.
    ///
    /// # Errors
    /// The same as [`Cuda::new`].
    pub fn with_assemblers(ordinal: u32, assemblers: Assemblers) -> Result<Cuda, Error> {
        let library = Library::open()?;
        let what = format!("CUDA device {ordinal}");
        let (device, gpu) = gpu(&library, ordinal).map_err(|e| e.during(&what))?;
        let context = library.retain_primary_context(device).map_err(|e| e.during(&what))?;
        let cuda = Cuda {
            library,
            device,
            context,
            gpu,
            modules: BTreeMap::new(),
            next: 0,
            assemblers,
            allocation_starts: BTreeMap::new(),
            mapped_buffers: BTreeMap::new(),
            time_limit: None,
            stuck: false,
        };
        cuda.enter()?;
        Ok(cuda)
    }

    /// The device's description.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Sets the time after which a running kernel counts as stuck.
    pub fn set_time_limit(&mut self, time_limit: Duration) {
        self.time_limit = Some(time_limit);
    }

    fn enter(&self) -> Result<(), Error> {
        if self.stuck {
            return Err(Error::new(
                ErrorKind::Stuck,
                format!("{} still runs a kernel that does not end", self.gpu.name),
            ));
        }
        self.library.set_current_context(self.context).map_err(|e| e.during(&self.gpu.name))
    }

    /// Assembles PTX with the first assembler that supports it and whose code the driver accepts; `None` if
    /// there is none. `made` is the plan that was inserted, and the module's own text.
    fn assembled(&self, ptx: &str, made: Option<(&Plan, &str)>) -> Result<Option<Module>, Error> {
        let ptx = ptx.trim_end_matches('\0');
        let Some(target) = assemble::target(ptx, Target::of(self.gpu.capability))? else { return Ok(None) };
        for tool in &self.assemblers.tools {
            let own = made.filter(|(plan, _)| plan.probe_state.tracks.is_some());
            let own = own.and_then(|(_, text)| self.assemblers.assemble(tool, text, target, &[]).ok());
            let within =
                made.map_or(RegisterBudget::Unlimited, |(plan, _)| RegisterBudget::of(plan, own.as_deref()));
            match self.assemblers.assemble_rewritten(tool, ptx, within, target, &[]) {
                // An assembler that is newer than the driver can produce code that the driver does not
                // accept.
                Ok(code) => match self.library.load(&code) {
                    Ok(module) => return Ok(Some(module)),
                    Err(e) if lookup(e.code).is_some_and(|c| c.kind == ErrorKind::Module) => {}
                    Err(e) => return Err(e.during("the assembled module does not load")),
                },
                Err(AssembleError::InvalidCode(e)) => return Err(e),
                Err(AssembleError::Unsuitable(_)) => {}
            }
        }
        Ok(None)
    }

    /// Loads code. If it is instrumented text, `made` is the plan and the module's own text.
    fn load_as(&mut self, code: ModuleCode<'_>, made: Option<(&Plan, &str)>) -> Result<ModuleHandle, Error> {
        self.enter()?;
        let (ptx, image) = match code {
            ModuleCode::Ptx(text) => (Some(text), text.as_bytes()),
            ModuleCode::Image(image) => (None, image),
            ModuleCode::Object(set, _) => {
                let e =
                    Error::new(ErrorKind::Module, format!("the module is machine code of {}", set.name()));
                return Err(e.help("run it on the CPU device: --device cpu"));
            }
        };
        let module = match ptx.map(|ptx| self.assembled(ptx, made)).transpose()?.flatten() {
            Some(module) => module,
            None => {
                // The driver's own assembler has no second attempt.
                let whole = ptx.filter(|_| made.is_some()).and_then(with_optional_lines);
                let image = whole.as_deref().map_or(image, str::as_bytes);
                self.library.load(image).map_err(|e| e.during("the module does not load"))?
            }
        };
        let view = ptx.map(|ptx| prlx_isa::ptx::view(&prlx_isa::ptx::parse(ptx).0).0).unwrap_or_default();
        let signatures = Signature::all(&view);
        let kernels = signatures.iter().map(|s| &s.name);
        let grid_barrier = kernels.filter(|name| view.reads_grid_workspace(name)).cloned().collect();
        self.next += 1;
        let loaded = LoadedModule {
            module,
            functions: BTreeMap::new(),
            signatures,
            recursive: view.recursive(),
            grid_barrier,
        };
        self.modules.insert(self.next, loaded);
        Ok(ModuleHandle(self.next))
    }

    /// Looks up a kernel of a module, and remembers it.
    fn function(&mut self, module: ModuleHandle, kernel: &str) -> Result<Function, Error> {
        let loaded = self.modules.get_mut(&module.0).ok_or_else(|| no_module(module))?;
        if let Some(function) = loaded.functions.get(kernel) {
            return Ok(*function);
        }
        let found = self.library.function(loaded.module, kernel);
        let found = found.map_err(|e| e.during(&format!("kernel `{kernel}`")))?;
        loaded.functions.insert(kernel.to_owned(), found);
        Ok(found)
    }

    /// Refuses a launch that the device cannot run. The driver would only say "invalid value".
    fn check(&self, function: Function, kernel: &str, config: &LaunchConfig) -> Result<(), Error> {
        let asked = |e: Failure| e.during(&format!("`{kernel}`"));
        let wrong = |text: String| Err(Error::new(ErrorKind::Launch, format!("`{kernel}`: {text}")));
        let threads = self.library.function_attribute(function, function::MAX_THREADS).map_err(asked)?;
        if config.block.volume() > u64::from(threads) {
            let registers = self.library.function_attribute(function, function::REGISTERS).map_err(asked)?;
            return wrong(format!(
                "CTAs of {} threads are too large: with its {registers} registers and its own limits, at most {threads}",
                config.block
            ));
        }
        let fixed = self.library.function_attribute(function, function::SHARED).map_err(asked)?;
        let shared = u64::from(fixed) + u64::from(config.shared);
        if shared > u64::from(self.gpu.shared.max(SHARED)) {
            let most = self.gpu.shared.max(SHARED);
            return wrong(format!(
                "{shared} bytes of shared memory are more than a CTA can have here ({most})"
            ));
        }
        if shared > u64::from(SHARED) {
            self.library
                .set_function_attribute(function, function::MAX_DYNAMIC_SHARED, config.shared)
                .map_err(asked)?;
        }
        if config.cluster.volume() > PORTABLE_CLUSTER {
            self.library
                .set_function_attribute(function, function::NON_PORTABLE_CLUSTER, 1)
                .map_err(asked)?;
        }
        Ok(())
    }

    /// Describes the failure of a kernel.
    fn fault(&self, failure: Failure, kernel: &str, config: &LaunchConfig) -> Error {
        let ran = sticky(failure.code);
        let what =
            format!("`{kernel}`, {} CTAs of {} threads on {}", config.grid, config.block, self.gpu.name);
        let error = failure.during(&what);
        if ran && error.help.is_none() {
            return error.help(
                "a GPU does not say which instruction it was: --device cpu does, with lane and address, where the \
                 kernel goes wrong there too",
            );
        }
        error
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // A kernel may still write to this memory, and calls would wait for it. The process ends without
        // freeing.
        if self.stuck {
            std::mem::take(&mut self.mapped_buffers).into_values().for_each(std::mem::forget);
            return;
        }
        self.mapped_buffers.clear();
        // After a fault the driver refuses to unload modules. They are freed with the context.
        for loaded in self.modules.values() {
            let _ = self.library.unload(loaded.module);
        }
        let _ = self.library.release_primary_context(self.device);
    }
}

impl Driver for Cuda {
    fn info(&self) -> DeviceInfo {
        let warp_size = WarpSize::of(self.gpu.warp_size.into()).unwrap_or_default();
        DeviceInfo { name: self.gpu.name.clone(), warp_size, hooks: false }
    }

    fn load(&mut self, code: ModuleCode<'_>) -> Result<ModuleHandle, Error> {
        self.load_as(code, None)
    }

    fn load_rewritten(&mut self, text: &str, plan: &Plan, own: &str) -> Result<ModuleHandle, Error> {
        self.load_as(ModuleCode::Ptx(text), Some((plan, own)))
    }

    fn unload(&mut self, module: ModuleHandle) -> Result<(), Error> {
        let loaded = self.modules.remove(&module.0).ok_or_else(|| no_module(module))?;
        self.enter()?;
        self.library.unload(loaded.module).map_err(|e| e.during("the module does not unload"))
    }

    fn alloc(&mut self, bytes: u64, align: u64) -> Result<DevicePtr, Error> {
        self.enter()?;
        let more = if align > ALLOC_ALIGNMENT { align } else { 0 };
        let size = bytes.max(1).checked_add(more).and_then(|n| usize::try_from(n).ok());
        let size =
            size.ok_or_else(|| Error::new(ErrorKind::Memory, format!("{bytes} bytes are too many")))?;
        let begin =
            self.library.alloc(size).map_err(|e| e.during(&format!("{bytes} bytes on {}", self.gpu.name)))?;
        let at = begin.next_multiple_of(align.max(1));
        if at != begin {
            self.allocation_starts.insert(at, begin);
        }
        Ok(DevicePtr(at))
    }

    fn alloc_host_mapped(&mut self, bytes: u64, align: u64) -> Result<DevicePtr, Error> {
        self.enter()?;
        let size = bytes.max(1).checked_add(align).and_then(|n| usize::try_from(n).ok());
        let size =
            size.ok_or_else(|| Error::new(ErrorKind::Memory, format!("{bytes} bytes are too many")))?;
        let mapped = MappedBuffer::new(self.library, size).map_err(|e| {
            e.during(&format!("{bytes} bytes of the host's memory that {} reaches", self.gpu.name))
        })?;
        let at = mapped.device().next_multiple_of(align.max(1));
        self.mapped_buffers.insert(at, mapped);
        Ok(DevicePtr(at))
    }

    fn free(&mut self, at: DevicePtr) -> Result<(), Error> {
        self.enter()?;
        if self.mapped_buffers.remove(&at.0).is_some() {
            return Ok(());
        }
        let begin = self.allocation_starts.remove(&at.0).unwrap_or(at.0);
        self.library.free(begin).map_err(|e| e.during(&format!("freeing {:#x}", at.0)))
    }

    fn write(&mut self, at: DevicePtr, bytes: &[u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.enter()?;
        self.library
            .write(at.0, bytes)
            .map_err(|e| e.during(&format!("writing {} bytes at {:#x}", bytes.len(), at.0)))
    }

    fn read(&mut self, at: DevicePtr, bytes: &mut [u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        let mapped_buffers = self.mapped_buffers.range(..=at.0).next_back();
        if mapped_buffers.is_some_and(|(_, mapped)| mapped.read(at.0, bytes)) {
            return Ok(());
        }
        self.enter()?;
        let what = format!("reading {} bytes at {:#x}", bytes.len(), at.0);
        self.library.read(at.0, bytes).map_err(|e| e.during(&what))
    }

    fn fill(&mut self, at: DevicePtr, bytes: u64, value: u8) -> Result<(), Error> {
        if bytes == 0 {
            return Ok(());
        }
        self.enter()?;
        let what = format!("filling {bytes} bytes at {:#x}", at.0);
        let bytes = usize::try_from(bytes).map_err(|_| Error::new(ErrorKind::Memory, what.clone()))?;
        self.library.fill(at.0, bytes, value).map_err(|e| e.during(&what))
    }

    fn tensor_map(&mut self, at: DevicePtr, map: &TensorMap) -> Result<[u8; BYTES], Error> {
        self.enter()?;
        map.check().map_err(|e| Error::new(ErrorKind::Launch, format!("a tensor map: {e}")))?;
        self.library.tensor_map(at.0, map).map_err(|e| e.during("a tensor map"))
    }

    fn resource_usage(
        &mut self,
        module: ModuleHandle,
        kernel: &str,
        config: &LaunchConfig,
    ) -> Result<Option<ResourceUsage>, Error> {
        self.enter()?;
        let function = self.function(module, kernel)?;
        self.check(function, kernel, config)?;
        let threads = config.block.volume();
        let of = |attribute| self.library.function_attribute(function, attribute);
        let all = || {
            let ctas = self.library.max_active_ctas(function, threads, config.shared)?;
            Ok(ResourceUsage {
                registers: of(function::REGISTERS)?,
                local: of(function::LOCAL)?,
                shared: of(function::SHARED)?,
                resident: ctas * u32::try_from(threads).unwrap_or(u32::MAX),
                room: self.library.attribute(self.device, attribute::THREADS)?,
            })
        };
        all().map(Some).map_err(|e: Failure| e.during(&format!("`{kernel}`")))
    }

    fn launch(
        &mut self,
        module: ModuleHandle,
        kernel: &str,
        config: &LaunchConfig,
        params: &[u8],
    ) -> Result<LaunchStats, Error> {
        self.enter()?;
        let library = self.library;
        let function = self.function(module, kernel)?;
        let loaded = self.modules.get(&module.0).ok_or_else(|| no_module(module))?;
        // The assembler chooses where parameters lie in the constant bank: it aligns tensor maps there, not
        // within the buffer. The driver knows these places, so it gets each parameter by itself.
        let signature = loaded.signatures.iter().find(|s| s.name == kernel);
        let params = match signature {
            Some(s) => {
                Params::Each(s.params.iter().map(|p| parameter_bytes(params, p)).collect::<Result<_, _>>()?)
            }
            None => Params::Buffer(params),
        };
        if loaded.recursive {
            // Instrumented code has larger stack frames, which the default size does not consider. If there
            // is no memory for more, the default must do.
            let _ = library.set_stack_size(DEEP_STACK);
        }
        self.check(function, kernel, config)?;
        let sizes = |d: prlx_trace::Dim3| [d.x, d.y, d.z];
        // CUDA counts the grid of some kernels in clusters.
        let each = signature.map_or([1; 3], |s| sizes(cluster_unit(&s.limits)));
        let [x, y, z] = sizes(config.grid);
        let mut shape = Shape {
            grid: [x / each[0].max(1), y / each[1].max(1), z / each[2].max(1)],
            block: sizes(config.block),
            cluster: (config.cluster.volume() > 1).then(|| sizes(config.cluster)),
            shared: config.shared,
            cooperative: loaded.grid_barrier.contains(kernel),
        };
        let timer = library.create_timer().map_err(|e| e.during(kernel))?;
        let mut run = library.launch(function, &shape, &params, &timer);
        let too_large = |e: &Failure| shape.cooperative && e.code == COOPERATIVE_LAUNCH_TOO_LARGE;
        let no_barrier = run.as_ref().is_err_and(too_large);
        if no_barrier {
            // The kernel may ask for the barrier and not use it. If it does, `sync()` ends it by a `trap`.
            shape.cooperative = false;
            run = library.launch(function, &shape, &params, &timer);
        }
        // Errors of the kernel itself are reported when the caller waits for it.
        let start = Instant::now();
        let mut ended = run;
        while let (Ok(()), Some(most)) = (&ended, self.time_limit) {
            match library.timer_stopped(&timer) {
                Ok(true) => break,
                Ok(false) if start.elapsed() > most => {
                    self.stuck = true;
                    let what =
                        format!("`{kernel}` on {} did not end in {:.1} s", self.gpu.name, most.as_secs_f64());
                    return Err(Error::new(ErrorKind::Stuck, what));
                }
                Ok(false) => std::thread::sleep(POLL_INTERVAL),
                Err(e) => ended = Err(e),
            }
        }
        let nanos = ended.and_then(|()| library.synchronize()).and_then(|()| library.timer_elapsed(&timer));
        library.destroy_timer(timer);
        let nanos = nanos.map_err(|e| match self.fault(e, kernel, config) {
            error if no_barrier && error.kind == ErrorKind::Fault => error.help(
                "the kernel had no grid barrier (`this_grid().sync()`): its CTAs cannot all be resident on this \
                 GPU, so launch fewer or smaller CTAs, or record less",
            ),
            error => error,
        })?;
        Ok(LaunchStats { warp_instructions: 0, nanos: Nanos(nanos) })
    }
}

/// Returns the bytes of a parameter in the buffer.
fn parameter_bytes<'a>(buffer: &'a [u8], param: &Param) -> Result<&'a [u8], Error> {
    let range = param.offset as usize..param.offset as usize + param.size as usize;
    buffer.get(range).ok_or_else(|| {
        let what = format!("`{}` lies outside of the {} bytes of parameters", param.name, buffer.len());
        Error::new(ErrorKind::Launch, what)
    })
}

fn no_module(module: ModuleHandle) -> Error {
    Error::new(ErrorKind::NotFound, format!("there is no module {}", module.0))
}
