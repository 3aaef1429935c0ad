//! Benchmark: the overhead of recording on the CPU device, for every kernel of the corpus that runs. Prints
//! Markdown.
//!
//! It compares rewritten code with the original, in warp instructions and in processor time. Run `cargo xtask
//! bench overhead`, or this example with a text that selects kernels by name. It uses one host thread and the
//! fair schedule; both runs of a ratio follow each other. Times include decoding of the code, so only those
//! of long launches mean something. Kernels that spin may do more or fewer iterations.

#[path = "../../../bench/clock.rs"]
mod clock;
#[path = "../../../bench/corpus.rs"]
mod corpus;

use std::path::Path;

use anyhow::{Context, Result, bail};
use corpus::geometric_mean;
use prlx_driver::tensor_map::{BYTES, TensorMap};
use prlx_driver::{
    DeviceInfo, DevicePtr, Driver, Error, Job, LaunchConfig, LaunchStats, ModuleCode, ModuleHandle,
    RecordOptions,
};
use prlx_emu::{Emulator, Options};
use prlx_isa::view::Module;
use prlx_plan::RecordingRequest;
use prlx_trace::Level;

/// What is compared with the original.
const RECORDERS: &[(&str, Level, bool)] = &[
    ("print", Level::Fingerprint, true),
    ("path", Level::Path, true),
    ("path, every decision", Level::Path, false),
    ("values", Level::Values, true),
    ("events", Level::Events, true),
];

/// One kernel under one recorder.
struct Cost {
    /// Instructions of the module, before and after.
    module: (usize, usize),
    /// Warp instructions that ran.
    ran: (u64, u64),
    /// Time of one run, in seconds.
    time: (f64, f64),
}

fn main() -> Result<()> {
    let filter = std::env::args().nth(1).unwrap_or_default();
    let mut rows = Vec::new();
    for (name, launch) in corpus::kernels()? {
        if name.contains(&filter) {
            rows.push((name.clone(), costs(&launch).with_context(|| name)?));
        }
    }
    summary(&rows);
    println!("\n| kernel | warp instructions | ms |{}", titles(" times |"));
    println!("|---|---|---|{}", "---|".repeat(RECORDERS.len()));
    rows.sort_by(|a, b| ran(&b.1[1]).total_cmp(&ran(&a.1[1])));
    for (name, costs) in &rows {
        print!("| {name} | {} | {:.2} |", costs[0].ran.0, costs[0].time.0 * 1e3);
        costs.iter().for_each(|c| print!(" {:.3} |", ran(c)));
        println!();
    }
    Ok(())
}

fn titles(after: &str) -> String {
    RECORDERS.iter().map(|(name, ..)| format!(" {name},{after}")).collect()
}

fn ran(c: &Cost) -> f64 {
    c.ran.1 as f64 / c.ran.0 as f64
}

fn summary(rows: &[(String, Vec<Cost>)]) {
    println!(
        "| launches | recorder | instructions in the text | warp instructions, mean | worst | time, mean | worst |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (what, least, large) in
        [("all of the corpus", 0, false), ("of 10,000 or more", corpus::LEAST, false), ("large", 0, true)]
    {
        for (i, (recorder, ..)) in RECORDERS.iter().enumerate() {
            let mut all: Vec<(&str, &Cost)> =
                rows.iter().map(|(name, costs)| (name.as_str(), &costs[i])).collect();
            all.retain(|(name, c)| c.ran.0 >= least && name.starts_with("large/") == large);
            let text = all.iter().fold((0, 0), |(a, b), (_, c)| (a + c.module.0, b + c.module.1));
            let factor = text.1 as f64 / text.0.max(1) as f64;
            let ran = means(&all, |c| (c.ran.0 as f64, c.ran.1 as f64));
            let time = if least == 0 && !large { "– | –".into() } else { means(&all, |c| c.time) };
            println!(
                "| {what}: {} | {recorder} | {} + {} ({factor:.2}) | {ran} | {time} |",
                all.len(),
                text.0,
                text.1 - text.0
            );
        }
    }
}

/// The geometric mean, and the worst with its name.
fn means(rows: &[(&str, &Cost)], of: impl Fn(&Cost) -> (f64, f64)) -> String {
    let ratios: Vec<(f64, &str)> = rows.iter().map(|(name, c)| (of(c).1 / of(c).0, *name)).collect();
    let worst = ratios.iter().max_by(|a, b| a.0.total_cmp(&b.0)).copied().unwrap_or_default();
    format!("{:.3} | {:.2} ({})", geometric_mean(ratios.iter().map(|r| r.0)), worst.0, worst.1)
}

fn costs(launch: &Path) -> Result<Vec<Cost>> {
    let job = Job::load(launch)?;
    RECORDERS.iter().map(|(name, level, elide)| cost(&job, *level, *elide).context(*name)).collect()
}

fn cost(job: &Job, level: Level, elide: bool) -> Result<Cost> {
    let program = RecordingRequest { elide, ..RecordingRequest::new(level) };
    let rewrite = prlx_instrument::rewrite(&job.text, &job.module, &program, &|_| None)?;
    let small = job.config.grid.volume() < 1024;
    let options = RecordOptions { pool: if small { 32 << 20 } else { 512 << 20 }, run_original: true };
    let mut cost = Cost {
        module: (instructions(&rewrite.module), instructions(&prlx_isa::ptx::read(&rewrite.text).0)),
        ran: (0, 0),
        time: (f64::INFINITY, f64::INFINITY),
    };
    for _ in 0..3 {
        let mut device = Timed::default();
        let done = prlx_driver::record(
            &mut device,
            Some(ModuleCode::Ptx(&rewrite.text)),
            &rewrite.plan,
            job,
            &options,
        )?;
        let ([after, before], Some(bare), None) = (device.launches.as_slice(), &done.original, &done.fault)
        else {
            bail!("did not run twice: {:?}", done.fault);
        };
        if done.recording.launch.totals.dropped > 0 {
            bail!("the pool was too small");
        }
        cost.ran = (bare.stats.warp_instructions, done.stats.warp_instructions);
        cost.time = (cost.time.0.min(*before), cost.time.1.min(*after));
    }
    Ok(cost)
}

fn instructions(module: &Module) -> usize {
    module.functions.iter().map(|f| f.insts.len()).sum()
}

/// The CPU device, with a clock at its launches.
struct Timed {
    device: Emulator,
    /// Seconds of each launch, in their order.
    launches: Vec<f64>,
}

impl Default for Timed {
    fn default() -> Self {
        Timed { device: Emulator::new(Options { threads: 1, ..Options::default() }), launches: Vec::new() }
    }
}

impl Driver for Timed {
    fn launch(
        &mut self,
        module: ModuleHandle,
        kernel: &str,
        config: &LaunchConfig,
        params: &[u8],
    ) -> Result<LaunchStats, Error> {
        let start = clock::processor();
        let stats = self.device.launch(module, kernel, config, params);
        self.launches.push(clock::processor() - start);
        stats
    }
    fn info(&self) -> DeviceInfo {
        self.device.info()
    }
    fn load(&mut self, code: ModuleCode<'_>) -> Result<ModuleHandle, Error> {
        self.device.load(code)
    }
    fn unload(&mut self, module: ModuleHandle) -> Result<(), Error> {
        self.device.unload(module)
    }
    fn alloc(&mut self, bytes: u64, align: u64) -> Result<DevicePtr, Error> {
        self.device.alloc(bytes, align)
    }
    fn free(&mut self, at: DevicePtr) -> Result<(), Error> {
        self.device.free(at)
    }
    fn write(&mut self, at: DevicePtr, bytes: &[u8]) -> Result<(), Error> {
        self.device.write(at, bytes)
    }
    fn read(&mut self, at: DevicePtr, bytes: &mut [u8]) -> Result<(), Error> {
        self.device.read(at, bytes)
    }
    fn fill(&mut self, at: DevicePtr, bytes: u64, value: u8) -> Result<(), Error> {
        self.device.fill(at, bytes, value)
    }
    fn tensor_map(&mut self, at: DevicePtr, map: &TensorMap) -> Result<[u8; BYTES], Error> {
        self.device.tensor_map(at, map)
    }
}
