//! The device: loads modules, allocates memory and runs launches, as a [`Driver`].

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock};

use prlx_driver::signature::limit;
use prlx_driver::{
    DeviceInfo, DevicePtr, Driver, Error, ErrorKind, LaunchConfig, LaunchStats, ModuleCode, ModuleHandle,
    Observed, TensorMap, tensor_map,
};
use prlx_isa::InstructionSet;
use prlx_isa::view::{Function, Module, Space, Symbol};
use prlx_plan::Plan;
use prlx_trace::check::{Check, Findings};
use prlx_trace::dataflow::DataFlow;
use prlx_trace::launch::CPU_DEVICE;
use prlx_trace::{Dim3, Nanos, Printed, WarpSize};
use rustc_hash::FxHashMap;

use crate::calibration::Calibration;
use crate::check::{Checker, Checks};
use crate::code::{Code, window};
use crate::copies::tensor;
use crate::dataflow::{FlowRequest, Others};
use crate::decode::{KernelCode, Request, decode};
use crate::device::code_object::AmdGpu;
use crate::device::grid_barrier::{self, GridBarrier};
use crate::device::machine::{LoadedObject, Machine};
use crate::exec::cta_order;
use crate::exec::grid::{self, Outcome, Stopped};
use crate::exec::grid_shape;
use crate::exec::launch::Launch;
use crate::exec::simd::SimdFunctions;
use crate::exec::time::EPOCH;
use crate::hooks::recorder::Observe;
use crate::mem::heap::{self, Heap};
use crate::mem::peers::MAX_CTAS;
use crate::mem::{FIRST, Memory, Owner, Region};
use prlx_lanes::LANES;
use prlx_lanes::Simd;

/// Limits of the device.
#[derive(Clone, Debug)]
pub struct Options {
    /// Warp instructions that one CTA may execute before the launch is stopped. A CTA whose threads all wait
    /// for each other is stopped at once.
    pub max_steps: u64,
    /// Warp instructions that all CTAs of a launch together may execute.
    pub max_launch_steps: u64,
    /// Maximum number of bytes for global memory, running CTAs, the checks' shadow memory and recordings
    /// together.
    pub max_memory: u64,
    /// Host threads under seed 0. The value 0 means one for each processor, or a single one for a kernel
    /// whose result may depend on the order of CTAs (`cta_order::matters`). Other seeds use a single thread.
    pub threads: usize,
    /// Lanes of a warp. 64 is a test mode: see `docs/cpu.md`.
    pub warp_size: WarpSize,
    /// Stack size in bytes of a thread, for kernels with recursive calls.
    pub stack: u32,
    /// The most steps that a warp executes under seed 0 before it is the next warp's turn. Short turns take
    /// more time, and let warps advance together, as on a GPU.
    pub turn: u32,
    /// Vector instructions of the host that the interpreter may use.
    pub simd: Simd,
    /// Enabled checks. A launch with checks runs on one host thread.
    pub checks: Checks,
    /// What to record of a launch's data flow; `None` to record none. A launch that records its data flow
    /// runs on one host thread.
    pub dataflow: Option<FlowRequest>,
    /// Maximum number of bytes that a launch may print. The text of later calls is dropped.
    pub max_printed: u64,
    /// Whether multiplications and additions without a rounding mode are fused, as the assembler does by
    /// default.
    pub contract: bool,
    /// Corrections that make approximate operations agree with a GPU, at most one for each operation.
    pub calibrations: Vec<Arc<Calibration>>,
    /// Lowest address of global memory. Devices of one process must not overlap.
    pub first: u64,
    /// Value of `%globaltimer` at the first step of a launch, in nanoseconds.
    pub epoch: u64,
    /// Instruction sets of machine code that the device runs.
    pub machines: Vec<&'static dyn Machine>,
    /// Ends the launch that runs when it is set, with an error of kind `Cancelled`.
    pub cancel: Arc<AtomicBool>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            max_steps: 500_000_000,
            max_launch_steps: u64::MAX,
            max_memory: 16 << 30,
            threads: 0,
            warp_size: WarpSize::W32,
            stack: 16 << 10,
            turn: 1 << 14,
            simd: Simd::detect(),
            checks: Checks::NONE,
            dataflow: None,
            max_printed: 1 << 20,
            contract: true,
            calibrations: Vec::new(),
            first: FIRST,
            epoch: EPOCH,
            machines: vec![&AmdGpu],
            cancel: Arc::default(),
        }
    }
}

/// Maximum shared memory of a CTA in bytes, as on an H200.
const MAX_SHARED: u64 = 227 << 10;
/// Bytes that are read from a buffer at a time.
const PIECE: usize = 1 << 20;
static ZEROS: [u8; PIECE] = [0; PIECE];
/// Maximum number of threads in a CTA.
const MAX_THREADS: u64 = 1024;

struct Loaded {
    module: Module,
    source: String,
    addresses: Vec<Option<u64>>,
    code: FxHashMap<String, Arc<Code>>,
    /// Of machine code: the address of its memory, and its kernels.
    object: Option<Object>,
}

/// Machine code that is loaded.
struct Object {
    /// Address of its memory, if it has some.
    base: Option<u64>,
    kernels: HashMap<String, Box<dyn KernelCode>>,
}

impl Loaded {
    /// The machine code of a kernel; `None` for PTX.
    fn machine_code(&self, kernel: &str) -> Option<&dyn KernelCode> {
        self.object.as_ref().and_then(|object| object.kernels.get(kernel)).map(|code| &**code)
    }
    /// Lanes of the warps that run the module.
    fn warp_size(&self) -> WarpSize {
        WarpSize::of(self.module.warp_lanes.into()).unwrap_or_default()
    }
}

/// A GPU on the CPU.
#[derive(Default)]
pub struct Emulator {
    options: Options,
    memory: Memory,
    /// Bytes of the memory limit that the caller uses itself, as for the recording of a launch.
    host_bytes: u64,
    modules: FxHashMap<u64, Loaded>,
    next: u64,
    heap: Heap,
    grid_barrier: GridBarrier,
    printed: Printed,
    /// Text that comes before that of the next launch.
    printed_before: Printed,
    findings: Findings,
    dataflow: Option<DataFlow>,
}

impl std::fmt::Debug for Emulator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Emulator")
            .field("options", &self.options)
            .field("modules", &self.modules.len())
            .finish_non_exhaustive()
    }
}

impl Emulator {
    /// Creates a device without modules and allocations.
    pub fn new(options: Options) -> Emulator {
        Emulator { memory: Memory::from(options.first), options, ..Emulator::default() }
    }
    /// The memory limit in bytes, less what the caller uses itself.
    fn limit(&self) -> u64 {
        self.options.max_memory.saturating_sub(self.host_bytes)
    }
    /// Fails unless the limit allows so many bytes more.
    pub(super) fn require(&self, bytes: u64) -> Result<(), Error> {
        match self.memory.used().checked_add(bytes) {
            Some(used) if used <= self.limit() => Ok(()),
            _ => Err(self.no_memory(bytes)),
        }
    }
    pub(super) fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }
    /// The error that an allocation failed.
    fn no_memory(&self, bytes: u64) -> Error {
        if self.memory.used().saturating_add(bytes) > self.limit() {
            return self.too_much(&format!("{bytes} bytes"), self.limit());
        }
        Error::new(ErrorKind::Memory, format!("this machine has no memory for {bytes} bytes"))
            .help("make the buffers smaller")
    }
    fn too_much(&self, what: &str, of: u64) -> Error {
        let left = of.saturating_sub(self.memory.used());
        let text = format!("{what} are more than the {left} left of {}", self.options.max_memory);
        Error::new(ErrorKind::Memory, text).help("raise the memory limit (--max-memory)")
    }
    /// Sets the value of `%globaltimer` at the first step of later launches, in nanoseconds.
    pub fn timer_shows(&mut self, nanos: u64) {
        self.options.epoch = nanos;
    }
    /// Whether kernels that run for the first time from now on fuse multiplications and additions, as
    /// [`Options::contract`] says.
    pub fn set_contract(&mut self, on: bool) {
        self.options.contract = on;
    }
    /// Whether later launches have a grid barrier, if their kernels ask for it. They do by default.
    pub fn allow_grid_barrier(&mut self, allowed: bool) {
        self.grid_barrier.forbidden = !allowed;
    }
    /// Takes the text that the last launch printed, and launches before it whose text was kept
    /// ([`Driver::keep_printed`]), also if the launch was stopped.
    pub fn take_printed(&mut self) -> Printed {
        std::mem::take(&mut self.printed)
    }
    /// Takes the findings of all launches since the last call.
    pub fn take_findings(&mut self) -> Findings {
        std::mem::take(&mut self.findings)
    }
    /// Takes the data flow of the last launch, if it was recorded.
    pub fn take_dataflow(&mut self) -> Option<DataFlow> {
        self.dataflow.take()
    }
    /// Returns the address of a module's variable, or `None` if the module has no such variable in memory.
    pub fn symbol(&self, module: ModuleHandle, name: &str) -> Option<DevicePtr> {
        let m = self.modules.get(&module.0)?;
        let i = m.module.symbols.iter().position(|s| s.name == name)?;
        m.addresses[i].map(DevicePtr)
    }
    /// Returns the first address and the size in bytes of the allocation or variable that contains `at`.
    pub fn allocation(&self, at: DevicePtr) -> Option<(DevicePtr, u64)> {
        self.memory.find(at.0, &mut 0).map(|a| (DevicePtr(a.base), a.region.len()))
    }
    /// Returns a loaded module as the parser understood it.
    pub fn module(&self, module: ModuleHandle) -> Option<&Module> {
        self.modules.get(&module.0).map(|m| &m.module)
    }
    /// Checks a launch as [`Driver::launch`] does before the first instruction, without running it.
    ///
    /// # Errors
    /// If the module has no such kernel, the kernel uses something unsupported, or the launch dimensions or
    /// parameters do not fit it.
    pub fn fits(
        &mut self,
        module: ModuleHandle,
        kernel: &str,
        config: &LaunchConfig,
        params: &[u8],
    ) -> Result<(), Error> {
        let code = self.code(module, kernel, None)?;
        let m = self.modules.get(&module.0).ok_or_else(|| no_module(module))?;
        let function = &m.module.functions[code.kernel.index()];
        check(&m.module, function, &code, config, params)?;
        cluster(function, config).map(drop)
    }
    /// Decodes a kernel. Code without a plan is cached.
    fn code(&mut self, module: ModuleHandle, kernel: &str, plan: Option<&Plan>) -> Result<Arc<Code>, Error> {
        let o = &self.options;
        let m = self.modules.get(&module.0).ok_or_else(|| no_module(module))?;
        let request = Request {
            module: &m.module,
            source: &m.source,
            addresses: &m.addresses,
            constants: crate::decode::constants(&m.module, &m.addresses),
            kernel,
            plan,
            stack: o.stack,
            simd: o.simd.min(Simd::detect()),
            contract: o.contract,
            calibrations: &o.calibrations,
            machine: m.machine_code(kernel),
        };
        if let Some(code) = m.code.get(kernel).filter(|_| plan.is_none()) {
            return Ok(code.clone());
        }
        let code = Arc::new(decode(&request)?);
        if let Some(m) = self.modules.get_mut(&module.0).filter(|_| plan.is_none()) {
            m.code.insert(kernel.to_string(), code.clone());
        }
        Ok(code)
    }
    fn run(
        &mut self,
        module: ModuleHandle,
        kernel: &str,
        config: &LaunchConfig,
        params: &[u8],
        plan: Option<&Plan>,
    ) -> Result<(Outcome, LaunchStats), Error> {
        let begun = std::time::Instant::now();
        self.printed = std::mem::take(&mut self.printed_before);
        self.fits_warps(module, plan)?;
        let code = self.code(module, kernel, plan)?;
        let o = &self.options;
        let m = self.modules.get(&module.0).ok_or_else(|| no_module(module))?;
        let function = &m.module.functions[code.kernel.index()];
        check(&m.module, function, &code, config, params)?;
        let (cluster, explicit) = cluster(function, config)?;
        let arguments = m.machine_code(kernel).and_then(|code| code.arguments(config, params));
        let params = arguments.as_deref().unwrap_or(params);
        let buffer = Region::new(params.len() as u64);
        buffer.write(0, params);
        let size = m.warp_size();
        let halves = size.lanes() / LANES as u64;
        let mut launch = Launch {
            code: &code,
            module: &m.module,
            source: &m.source,
            line_ends: OnceLock::new(),
            loops: OnceLock::new(),
            memory: &self.memory,
            heap: &self.heap,
            config,
            cluster,
            explicit,
            grid_workspace: None,
            params: &buffer,
            stride: u64::from(code.local_bytes.next_multiple_of(16)),
            warp_size: size,
            warps: (size.warps(config.block.volume()) * halves) as u32,
            max_steps: o.max_steps,
            max_launch_steps: o.max_launch_steps,
            executed: AtomicU64::new(0),
            turn: o.turn,
            epoch: o.epoch,
            cancel: &o.cancel,
            chosen: o.dataflow.as_ref().filter(|_| !code.reads_grid_workspace()).and_then(|request| {
                let ctas = request.ctas.as_ref().filter(|_| request.others == Others::Skipped)?;
                Some(grid_shape::clusters_of(config.grid, cluster, ctas))
            }),
            observe: plan.map(|plan| Observe {
                plan,
                kernel: prlx_trace::FuncId(code.kernel.0),
                warps: warps_of(size, config),
            }),
            printed: Mutex::new(std::mem::take(&mut self.printed)),
            max_printed: o.max_printed,
            simd: SimdFunctions::of(o.simd),
        };
        let threads = match o.threads {
            // So that a seed says all that happens; checks are one for all CTAs.
            _ if o.checks.any() || o.dataflow.is_some() || config.seed != 0 => 1,
            _ if cta_order::prints(&code) => 1,
            0 if cta_order::matters(&code) => 1,
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        };
        let room = self.limit().saturating_sub(self.memory.used());
        let checking = Checker::bytes(o.checks, self.memory.used(), room);
        let checker = Mutex::new(Checker::of(o.checks, o.dataflow.clone(), &launch, room));
        let room = room.saturating_sub(checking);
        let workspace = self.grid_barrier.of(&launch, o.checks.has(Check::Race), room);
        if let Some(Ok(at)) = workspace {
            launch.begin_grid_barrier(at);
        }
        let mut outcome = grid::run(&launch, &checker, threads, room)?;
        if let Some(Err(why)) = &workspace {
            outcome.stopped =
                outcome.stopped.map(|s| Stopped { error: grid_barrier::explained(s.error, why), ..s });
        }
        if let Some(c) = checker.into_inner().ok().flatten() {
            let (findings, dataflow) = c.finish(&launch, outcome.stopped.is_none());
            self.findings.add(findings);
            self.dataflow = dataflow;
        }
        self.printed = launch.printed.into_inner().unwrap_or_default();
        self.memory.mark_all_written();
        let nanos = Nanos::from(begun.elapsed());
        let stats = LaunchStats { warp_instructions: outcome.instructions, nanos };
        Ok((outcome, stats))
    }
    /// Checks that the plan and the options fit the size of the warps.
    fn fits_warps(&self, module: ModuleHandle, plan: Option<&Plan>) -> Result<(), Error> {
        let size = self.modules.get(&module.0).ok_or_else(|| no_module(module))?.warp_size();
        if let Some(plan) = plan.filter(|plan| plan.warp_size != size) {
            let text =
                format!("the plan is for warps of {} lanes; the device has warps of {size}", plan.warp_size);
            return Err(Error::new(ErrorKind::Launch, text));
        }
        let is_ptx = self.modules.get(&module.0).is_some_and(|m| m.object.is_none());
        if is_ptx && size != WarpSize::W32 && self.options.checks.any() {
            let text = format!("the checks need warps of {LANES} lanes; the device has warps of {size}");
            return Err(Error::new(ErrorKind::Unsupported, text).help("remove --check or --warp-size"));
        }
        Ok(())
    }
    fn load_object(&mut self, set: InstructionSet, bytes: &[u8]) -> Result<ModuleHandle, Error> {
        let limit = self.limit();
        let machine = self.options.machines.iter().find(|machine| machine.instruction_set() == set);
        let machine = machine.ok_or_else(|| {
            Error::new(ErrorKind::Module, format!("the CPU device does not run code of {}", set.name()))
        })?;
        let LoadedObject { module, base, addresses, kernels } =
            machine.load(bytes, &mut self.memory, limit)?;
        self.next += 1;
        let source = module.text.to_string();
        let object = Some(Object { base, kernels });
        self.modules
            .insert(self.next, Loaded { module, source, addresses, code: FxHashMap::default(), object });
        Ok(ModuleHandle(self.next))
    }
    fn region(&self, at: DevicePtr, bytes: u64) -> Result<(&Region, u64), Error> {
        self.memory.range(at.0, bytes).ok_or_else(|| {
            let text = format!(
                "{bytes} bytes at {:#x} are not in one allocation: {}",
                at.0,
                self.memory.describe_near(at.0)
            );
            Error::new(ErrorKind::Memory, text)
        })
    }
}

/// Whether a symbol is a variable that has an address in the device's memory.
pub fn in_memory(s: &Symbol) -> bool {
    !s.is_function && matches!(s.space, Space::Global | Space::Const) && s.size > 0
}

fn no_module(m: ModuleHandle) -> Error {
    Error::new(ErrorKind::NotFound, format!("there is no module {}", m.0))
}

/// Whether the launch fits the kernel and the device.
fn check(
    module: &Module,
    f: &Function,
    code: &Code,
    config: &LaunchConfig,
    params: &[u8],
) -> Result<(), Error> {
    let wrong = |text: String| Err(Error::new(ErrorKind::Launch, format!("`{}`: {text}", f.name)));
    let (grid, block) = (config.grid, config.block);
    if [grid.x, grid.y, grid.z, block.x, block.y, block.z].contains(&0) {
        return wrong(format!("a launch of {grid} CTAs of {block} threads has none"));
    }
    if grid.x > 0x7fff_ffff || grid.y > 65535 || grid.z > 65535 {
        return wrong(format!("a grid of {grid} CTAs is too large: at most (2147483647,65535,65535)"));
    }
    if block.x > 1024 || block.y > 1024 || block.z > 64 || block.volume() > MAX_THREADS {
        return wrong(format!("a CTA of {block} threads is too large: at most {MAX_THREADS}, and 64 in z"));
    }
    for (name, values) in &f.limits {
        let v = |i: usize| values.get(i).copied().unwrap_or(1);
        if name == "reqntid" && (v(0), v(1), v(2)) != (block.x, block.y, block.z) {
            return wrong(format!(
                "it must be launched with CTAs of ({},{},{}) threads, not {block}",
                v(0),
                v(1),
                v(2)
            ));
        }
        if name == "maxntid" && u64::from(v(0)) * u64::from(v(1)) * u64::from(v(2)) < block.volume() {
            let most = values.iter().map(u32::to_string).collect::<Vec<_>>().join(" x ");
            return wrong(format!("it may be launched with CTAs of at most {most} threads, not {block}"));
        }
    }
    let shared = u64::from(code.static_shared) + u64::from(config.shared);
    if shared > MAX_SHARED {
        return wrong(format!("{shared} bytes of shared memory are more than a CTA can have ({MAX_SHARED})"));
    }
    let size = f
        .params
        .iter()
        .zip(&f.param_offsets)
        .map(|(s, &at)| u64::from(at) + module.symbols.get(s.index()).map_or(0, |s| s.size))
        .max()
        .unwrap_or(0);
    if (params.len() as u64) < size {
        return wrong(format!("it takes {size} bytes of parameters and was given {}", params.len()));
    }
    Ok(())
}

/// The clusters of a launch, and whether somebody asked for them.
fn cluster(f: &Function, config: &LaunchConfig) -> Result<(Dim3, bool), Error> {
    let wrong = |text: String| Err(Error::new(ErrorKind::Launch, format!("`{}`: {text}", f.name)));
    let limit = |name: &str| limit(&f.limits, name);
    let (asked, grid) = (config.cluster, config.grid);
    let wanted = limit("reqnctapercluster");
    let size = match wanted {
        Some(wanted) if asked.volume() != 1 && asked != wanted => {
            return wrong(format!("it must be launched in clusters of {wanted} CTAs, not {asked}"));
        }
        Some(wanted) => wanted,
        None => asked,
    };
    if limit("blocksareclusters").is_some() && wanted.is_none() {
        return wrong("`.blocksareclusters` without `.reqnctapercluster`".into());
    }
    let most = limit("maxclusterrank").map_or(MAX_CTAS, |n| u64::from(n.x).min(MAX_CTAS));
    if !(1..=most).contains(&size.volume()) {
        return wrong(format!("a cluster of {size} CTAs has {}; it may have 1 to {most}", size.volume()));
    }
    if !grid.x.is_multiple_of(size.x) || !grid.y.is_multiple_of(size.y) || !grid.z.is_multiple_of(size.z) {
        return wrong(format!("a grid of {grid} CTAs can't be divided into clusters of {size}"));
    }
    Ok((size, wanted.is_some() || size.volume() != 1 || limit("explicitcluster").is_some()))
}

/// Warps of a launch.
fn warps_of(size: prlx_trace::WarpSize, config: &LaunchConfig) -> u64 {
    size.warps(config.block.volume()).saturating_mul(config.grid.volume())
}

impl Driver for Emulator {
    fn info(&self) -> DeviceInfo {
        DeviceInfo { name: CPU_DEVICE.into(), warp_size: self.options.warp_size, hooks: true }
    }

    fn load(&mut self, code: ModuleCode<'_>) -> Result<ModuleHandle, Error> {
        let text = match code {
            ModuleCode::Ptx(text) => text,
            ModuleCode::Object(set, bytes) => return self.load_object(set, bytes),
            ModuleCode::Image(_) => {
                let e = Error::new(ErrorKind::Module, "the module is not PTX text");
                return Err(e.help("the CPU device runs PTX; NVIDIA's machine code (cubin) can't be run"));
            }
        };
        let source = text.split('\0').next().unwrap_or_default();
        let (mut module, diagnostics) = prlx_isa::ptx::read(source);
        module.warp_lanes = self.options.warp_size.lanes() as u32;
        let first = if module.functions.is_empty() { diagnostics.first() } else { None };
        if let Some(d) = prlx_isa::ptx::invalid(source, &diagnostics).map(|(_, d)| d).or(first) {
            let line = source.get(..d.span.start as usize).map_or(0, |s| s.matches('\n').count() + 1);
            return Err(Error::new(ErrorKind::Module, format!("line {line} of the PTX: {}", d.message)));
        }
        let mut addresses = vec![None; module.symbols.len()];
        let mut symbols: Vec<_> =
            module.symbols.iter().zip(&mut addresses).filter(|(s, _)| in_memory(s)).collect();
        // Constants lie together, so that it is a range that code asks for.
        symbols.sort_by_key(|(s, _)| s.space != Space::Const);
        for (s, at) in symbols {
            let owner = Owner::Symbol(s.name.clone(), s.space == Space::Const);
            *at = self.memory.alloc(s.size, u64::from(s.align), self.limit(), owner);
            if at.is_none() {
                return Err(Error::new(
                    ErrorKind::Memory,
                    format!("no memory for `{}` of {} bytes", s.name, s.size),
                ));
            }
        }
        for (s, &at) in module.symbols.iter().zip(&addresses) {
            let Some((region, off)) = at.and_then(|at| self.memory.range(at, s.size)) else { continue };
            region.write(off, &s.init[..s.init.len().min(s.size as usize)]);
            for &(offset, target, addend, _) in &s.relocs {
                let Some(t) = module.symbols.get(target.index()) else { continue };
                let to = if t.is_function {
                    Some(window::CODE + (u64::from(target.0) + 1) * window::CODE_STRIDE)
                } else {
                    addresses[target.index()]
                };
                let Some(to) = to else {
                    let text = format!("`{}` holds the address of `{}`, which has none here", s.name, t.name);
                    return Err(Error::new(ErrorKind::Module, text));
                };
                if offset.checked_add(8).is_some_and(|end| end <= s.size) {
                    region.write(off + offset, &to.wrapping_add_signed(addend).to_le_bytes());
                }
            }
        }
        let limit = self.limit();
        self.grid_barrier.prepare(&module, &mut self.memory, limit)?;
        // Now, so that its address does not depend on what is allocated between loading and launching.
        if module.symbols.iter().any(|s| s.is_function && s.function.is_none() && s.name == "malloc")
            && !self.heap.ready()
        {
            let owner = Owner::Symbol("the heap of `malloc`".into(), false);
            let at = self.memory.alloc(heap::SIZE, 4096, self.limit(), owner);
            self.heap.begin(
                at.ok_or_else(|| Error::new(ErrorKind::Memory, "no memory for the heap of `malloc`"))?,
            );
        }
        self.next += 1;
        self.modules.insert(
            self.next,
            Loaded {
                module,
                source: source.to_string(),
                addresses,
                code: FxHashMap::default(),
                object: None,
            },
        );
        Ok(ModuleHandle(self.next))
    }

    fn unload(&mut self, module: ModuleHandle) -> Result<(), Error> {
        let m = self.modules.remove(&module.0).ok_or_else(|| no_module(module))?;
        match m.object {
            Some(object) => {
                object.base.map(|base| self.memory.free(base));
            }
            None => m.addresses.into_iter().flatten().for_each(|at| {
                self.memory.free(at);
            }),
        }
        Ok(())
    }

    fn variable(&mut self, module: ModuleHandle, name: &str) -> Result<(DevicePtr, u64), Error> {
        let found = self.symbol(module, name).and_then(|at| self.allocation(at));
        found.ok_or_else(|| {
            Error::new(ErrorKind::NotFound, format!("the module has no variable `{name}` in memory"))
        })
    }

    fn alloc(&mut self, bytes: u64, align: u64) -> Result<DevicePtr, Error> {
        let owner = Owner::User("a buffer".into());
        let Some(at) = self.memory.alloc(bytes, align, self.limit(), owner) else {
            return Err(self.no_memory(bytes));
        };
        self.memory.mark_unwritten(at, bytes);
        Ok(DevicePtr(at))
    }

    fn mark_uninitialized(&mut self, at: DevicePtr, bytes: u64) {
        self.memory.mark_unwritten(at.0, bytes);
    }

    fn name_allocation(&mut self, at: DevicePtr, name: &str) {
        self.memory.name(at.0, name);
    }

    fn reserve_host_memory(&mut self, bytes: u64) -> Result<(), Error> {
        if self.memory.used().saturating_add(bytes) > self.options.max_memory {
            let what = format!("{bytes} bytes for the launch's own data");
            return Err(self.too_much(&what, self.options.max_memory));
        }
        self.host_bytes = bytes;
        Ok(())
    }

    fn free(&mut self, at: DevicePtr) -> Result<(), Error> {
        if self.memory.free(at.0) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::NotFound, format!("no allocation begins at {:#x}", at.0)))
    }

    fn write(&mut self, at: DevicePtr, bytes: &[u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        let (region, off) = self.region(at, bytes.len() as u64)?;
        region.write(off, bytes);
        self.memory.mark_written(at.0, bytes.len() as u64);
        Ok(())
    }

    fn read(&mut self, at: DevicePtr, bytes: &mut [u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        let (region, mut off) = self.region(at, bytes.len() as u64)?;
        let pages = region.pages();
        // Pieces share no page: reading one must not touch the next one.
        let (head, rest) = bytes.split_at_mut(bytes.len().min(region.to_page(off) as usize));
        for piece in std::iter::once(head).chain(rest.chunks_mut(PIECE)) {
            if !pages.as_ref().is_some_and(|p| p.untouched(region, off, piece.len() as u64)) {
                region.read(off, piece);
            } else if *piece != ZEROS[..piece.len()] {
                piece.fill(0);
            }
            off += piece.len() as u64;
        }
        Ok(())
    }

    fn fill(&mut self, at: DevicePtr, bytes: u64, value: u8) -> Result<(), Error> {
        if bytes == 0 {
            return Ok(());
        }
        if value == 0 && self.memory.renew(at.0, bytes) {
            self.memory.mark_written(at.0, bytes);
            return Ok(());
        }
        let (region, off) = self.region(at, bytes)?;
        let chunk = [value; 4096];
        let mut done = 0;
        while done < bytes {
            let n = (bytes - done).min(chunk.len() as u64);
            region.write(off + done, &chunk[..n as usize]);
            done += n;
        }
        self.memory.mark_written(at.0, bytes);
        Ok(())
    }

    fn tensor_map(&mut self, at: DevicePtr, map: &TensorMap) -> Result<[u8; tensor_map::BYTES], Error> {
        tensor::encode(at.0, map).map_err(|e| Error::new(ErrorKind::Launch, format!("a tensor map of {e}")))
    }

    fn observe(
        &mut self,
        module: ModuleHandle,
        kernel: &str,
        config: &LaunchConfig,
        params: &[u8],
        plan: &Plan,
    ) -> Option<Result<Observed, Error>> {
        Some(self.run(module, kernel, config, params, Some(plan)).map(|(outcome, stats)| {
            let streams = outcome.streams;
            let mut probe_results = outcome.probe_results.unwrap_or_default();
            let mut tracks = std::mem::take(&mut probe_results.tracks);
            tracks.sort_by_key(|t| (t.warp, t.lane));
            let warps = warps_of(plan.warp_size, config);
            let tallies = probe_results.table_contents(&plan.probe_state, warps);
            let (ended, unfinished) = match outcome.stopped {
                None => (Ok(stats), Vec::new()),
                Some(s) => (Err(s.error), s.unfinished),
            };
            Observed { streams, tallies, tracks, ended, unfinished }
        }))
    }

    fn keep_printed(&mut self) {
        self.printed_before = std::mem::take(&mut self.printed);
    }

    fn launch(
        &mut self,
        module: ModuleHandle,
        kernel: &str,
        config: &LaunchConfig,
        params: &[u8],
    ) -> Result<LaunchStats, Error> {
        let (outcome, stats) = self.run(module, kernel, config, params, None)?;
        outcome.stopped.map_or(Ok(stats), |s| Err(s.error))
    }
}
