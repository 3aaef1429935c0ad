//! AMD's code with calls (`tests/kernels/amd/calls.c`), with jumps by address (`jumps.gfx942.s`) and without
//! free registers (`full.s`): results, and the same visits of each lane however a kernel is recorded: by
//! hooks or by instrumented code.
//!
//! # Invariants
//! - The expected results are computed here, in another way than the kernels do it.

use crate::corpus::root;
use crate::lane_runs::{Run, emulator, observe_in, record_sized, same, stream, visits};
use libtest_mimic::{Failed, Trial};
use prlx_driver::{Job, ModuleCode, Output, RecordOptions};
use prlx_emu::{Checks, Emulator, Options};
use prlx_instrument::AmdGpu;
use prlx_plan::{Action, Plan, RecordingRequest, RegisterChoice};
use prlx_trace::check::Check;
use prlx_trace::kernel::Source;
use prlx_trace::{Level, SiteId, WarpId, WarpSize};

/// Number of elements of the launch file's `in`, whose first value is `FIRST`.
const ELEMENTS: usize = 100;

/// First value of `in`.
const FIRST: i32 = -3;

/// A kernel and what it stores for an input.
type Kernel = (&'static str, fn(i32) -> i32);

/// The kernels of `calls.c`.
const KERNELS: [Kernel; 3] = [
    ("in_loop", steps),
    // The remainder of a negative number is negative, and has no loop.
    ("recursive", |x| 1 << (x % 7).max(0)),
    ("tail", |x| steps(x | 1)),
];

/// The kernels of `jumps.gfx942.s`.
const JUMPS: [Kernel; 3] = [("distances", |x| halvings(x).0), ("crowded", crowded), ("far", crowded)];

/// The kernels of `full.s`, which add the numbers of registers.
const FULL: [Kernel; 5] = [
    ("held", |x| halvings(x).0 + (6..=255).sum::<i32>()),
    ("dead", |x| halvings(x).0 + (6..=255).sum::<i32>()),
    // Each wave begins its loop once and goes on 5 or 6 times, of which 3 are odd.
    ("flags", |x| halvings(x).0 + (6..=255).sum::<i32>() + 4),
    ("masked", |x| {
        let twice: i32 = if x & 1 == 1 { (20..=255).sum() } else { 0 };
        halvings(x).0 + (6..=255).sum::<i32>() + twice + large_and_odd(x)
    }),
    ("loading", |x| {
        // Odd lanes load the first elements, and four scalar registers become 0.
        let loaded = if x & 1 == 1 { (FIRST..FIRST + 4).sum() } else { (252..=255).sum::<i32>() };
        let scalars = (20..=99).filter(|n| !(88..=91).contains(n)).sum::<i32>();
        halvings(x).0 + (6..=251).sum::<i32>() + loaded + scalars + large_and_odd(x)
    }),
];

/// What `full.s` adds in lanes of its inner region.
fn large_and_odd(x: i32) -> i32 {
    if x & 1 == 1 && x > 8 { 256 } else { 0 }
}

/// How often a number can be halved until it is at most 1, and how often it is odd before.
fn halvings(mut x: i32) -> (i32, i32) {
    let (mut n, mut odd) = (0, 0);
    while x > 1 {
        (n, odd) = (n + 1, odd + x % 2);
        x /= 2;
    }
    (n, odd)
}

/// The kernels add the sum of the numbers of their scalar registers.
fn crowded(x: i32) -> i32 {
    let (n, odd) = halvings(x);
    n + 256 * odd + (60..=101).sum::<i32>()
}

/// Steps of Collatz's sequence from a number to 1.
fn steps(x: i32) -> i32 {
    let next = |x: &i32| (*x > 1).then(|| if x % 2 == 0 { x / 2 } else { 3 * x + 1 });
    std::iter::successors(Some(x), next).count() as i32 - 1
}

/// One trial for each kernel and target.
pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for target in ["gfx942", "gfx1100"] {
        for (name, expected) in KERNELS {
            let run = move || one(target, name, expected);
            trials.push(Trial::test(format!("amd/calls {name} {target}"), run));
        }
    }
    for (name, expected) in JUMPS {
        trials.push(Trial::test(format!("amd/jumps {name}"), move || by_address(name, expected)));
    }
    for target in ["gfx90a", "gfx942", "gfx1030", "gfx1100"] {
        for (name, expected) in FULL {
            let run = move || rewritten(&format!("full.{target}"), name, expected);
            trials.push(Trial::test(format!("amd/full {name} {target}"), run));
        }
    }
    trials.push(Trial::test("amd/no arguments", no_arguments));
    trials.push(Trial::test("amd/calls without room", without_room));
    trials.push(Trial::test("amd/preloaded arguments", preloaded));
    trials
}

fn one(target: &str, kernel: &str, expected: fn(i32) -> i32) -> Result<(), Failed> {
    let file = root().join(format!("tests/kernels/amd/calls.{target}.toml"));
    let mut job = Job::load(&file)?;
    job.kernel = kernel.to_owned();
    results(&job, expected)?;
    let reference = recorded(&job, &RecordingRequest { elide: false, ..RecordingRequest::new(Level::Path) })?;
    for level in [Level::Path, Level::Events] {
        let run = recorded(&job, &RecordingRequest::new(level))?;
        decisions(&reference, &run).map_err(|e| format!("level {}: {e}", level.name()))?;
    }
    by_code(&job, &reference)
}

/// Runs instrumented code, which records the same. Recursion is refused.
fn by_code(job: &Job, reference: &Run) -> Result<(), Failed> {
    let object = &job.object.as_ref().ok_or("the module is no code object")?.bytes;
    let levels = [Level::Path, Level::Values, Level::Fingerprint, Level::Events, Level::Operands].into_iter();
    for (level, registers) in levels.flat_map(|l| RegisterChoice::ALL.map(|(_, registers)| (l, registers))) {
        // Its records are those of `events` with more values.
        if level == Level::Operands && registers != RegisterChoice::Free {
            continue;
        }
        let request = RecordingRequest { registers, ..RecordingRequest::new(level) };
        let rewrite = prlx_instrument::rewrite_object(&AmdGpu, object, &job.module, &request, &|_| None)?;
        let why = skipped(&rewrite, &job.kernel).unwrap_or_default();
        if registers != RegisterChoice::Free && why.contains("too few") {
            // Kernels that leave no scalar register need vector registers that hold nothing.
            continue;
        }
        let code = rewrite.object.as_ref().ok_or("nothing was rewritten")?;
        let code = ModuleCode::Object(code.set, &code.bytes);
        let run = record_sized(WarpSize::W32, job, code, &rewrite.plan, 32 << 20);
        if job.kernel == "recursive" {
            let refused = run.err().map(|e| e.to_string()).unwrap_or_default();
            let right = refused.contains("its functions call each other in a circle");
            return if right { Ok(()) } else { Err(format!("recursion: {refused}").into()) };
        }
        let run = run?;
        if run.damaged || run.launch.totals.dropped > 0 {
            return Err(format!("level {}: the streams are damaged", level.name()).into());
        }
        match level {
            Level::Path => decisions(reference, &run)?,
            _ => same(level, &recorded(job, &RecordingRequest::new(level))?, &run)?,
        }
    }
    Ok(())
}

/// Why a kernel is not instrumented.
fn skipped<'r>(rewrite: &'r prlx_instrument::Rewrite, kernel: &str) -> Option<&'r str> {
    let mut all = rewrite.plan.functions.iter().zip(&rewrite.module.functions);
    all.find(|(_, f)| f.name == kernel)?.0.skipped.as_deref()
}

/// Kernels that jump by address, one of them without free scalar registers.
fn by_address(kernel: &str, expected: fn(i32) -> i32) -> Result<(), Failed> {
    rewritten("jumps.gfx942", kernel, expected)
}

/// A kernel of a launch file: what it stores, itself and with inserted code, and what that records.
fn rewritten(launch: &str, kernel: &str, expected: fn(i32) -> i32) -> Result<(), Failed> {
    let mut job = Job::load(&root().join(format!("tests/kernels/amd/{launch}.toml")))?;
    job.kernel = kernel.to_owned();
    stores(&job, 128, expected)?;
    let reference = recorded(&job, &RecordingRequest { elide: false, ..RecordingRequest::new(Level::Path) })?;
    by_code(&job, &reference)?;
    let object = &job.object.as_ref().ok_or("the module is no code object")?.bytes;
    for (_, registers) in RegisterChoice::ALL {
        let request = RecordingRequest { registers, ..RecordingRequest::new(Level::Path) };
        let rewrite = prlx_instrument::rewrite_object(&AmdGpu, object, &job.module, &request, &|_| None)?;
        if registers != RegisterChoice::Free && skipped(&rewrite, kernel).is_some() {
            continue;
        }
        // Inserted code waits for what it loads.
        let checks = Checks::default().with(Check::Async);
        let mut device = Emulator::new(Options { threads: 1, checks, ..Options::default() });
        let code = rewrite.object.as_ref().ok_or("nothing was rewritten")?;
        let code = ModuleCode::Object(code.set, &code.bytes);
        let done =
            prlx_driver::record(&mut device, Some(code), &rewrite.plan, &job, &RecordOptions::default())?;
        compare(&done.outputs, 128, expected)?;
        if let Some(finding) = device.take_findings().list.first() {
            return Err(format!("{registers:?}: {finding:?}").into());
        }
    }
    Ok(())
}

/// A kernel without arguments gets the address of the hidden ones all the same.
fn no_arguments() -> Result<(), Failed> {
    let job = Job::load(&root().join("tests/kernels/amd/alone.gfx942.toml"))?;
    let request = RecordingRequest { elide: false, ..RecordingRequest::new(Level::Path) };
    by_code(&job, &recorded(&job, &request)?)
}

/// A kernel whose arguments are in SGPRs when it begins.
fn preloaded() -> Result<(), Failed> {
    let job = Job::load(&root().join("tests/kernels/amd/walk.gfx942.toml"))?;
    let request = RecordingRequest { elide: false, ..RecordingRequest::new(Level::Path) };
    by_code(&job, &recorded(&job, &request)?)
}

/// Checks what the kernel stores.
fn results(job: &Job, expected: fn(i32) -> i32) -> Result<(), Failed> {
    stores(job, ELEMENTS, expected)
}

/// The same for so many elements.
fn stores(job: &Job, elements: usize, expected: fn(i32) -> i32) -> Result<(), Failed> {
    compare(&prlx_driver::run(&mut emulator(WarpSize::W32), job)?.outputs, elements, expected)
}

fn compare(outputs: &[Output], elements: usize, expected: fn(i32) -> i32) -> Result<(), Failed> {
    let out = outputs.iter().find(|o| o.name == "out").ok_or("there is no buffer `out`")?;
    let got: Vec<i32> = out.bytes.as_chunks().0.iter().map(|b| i32::from_le_bytes(*b)).collect();
    for (i, got) in got.iter().enumerate() {
        let wanted = if i < elements { expected(FIRST + i as i32) } else { 7 };
        if *got != wanted {
            return Err(format!("out[{i}] is {got}, not {wanted}").into());
        }
    }
    Ok(())
}

/// A plan without room for its decisions is faulty. The recorder counts what it drops.
fn without_room() -> Result<(), Failed> {
    let mut job = Job::load(&root().join("tests/kernels/amd/calls.gfx942.toml"))?;
    job.kernel = "recursive".to_owned();
    let view = job.view(WarpSize::W32)?;
    let mut plan = Plan::resolve(&RecordingRequest::new(Level::Path), &view, &job.module, &|_| None);
    for function in &mut plan.functions {
        function.insertions.retain(|i| !matches!(i.action, Action::Reserve { .. }));
    }
    let run = observe_in(WarpSize::W32, &job, &plan)?;
    // Lane 9 has 6, which is 64 calls of a decision each or more. A word has 30.
    if stream(&run, WarpId(0)).dropped > 0 { Ok(()) } else { Err("no decision was dropped".into()) }
}

/// Compares the decisions of each lane. Level `events` has visits of other sites besides.
fn decisions(reference: &Run, run: &Run) -> Result<(), String> {
    let decides = |site: SiteId| {
        reference.module.sites.get(site.index()).is_some_and(|site| site.source != Source::None)
    };
    for warp in (0..reference.launch.warps()).map(WarpId) {
        for lane in reference.launch.lanes(warp).lanes() {
            let [wanted, mut got] =
                [visits(reference, &stream(reference, warp), lane)?, visits(run, &stream(run, warp), lane)?];
            got.retain(|(site, _)| decides(*site));
            if wanted.is_empty() || wanted != got {
                return Err(format!("{warp} {lane}: {wanted:?} without elision, {got:?} here"));
            }
        }
    }
    Ok(())
}

/// Records the kernel with hooks.
fn recorded(job: &Job, request: &RecordingRequest) -> Result<Run, Failed> {
    let view = job.view(WarpSize::W32)?;
    let plan = Plan::resolve(request, &view, &job.module, &|_| None);
    let run = observe_in(WarpSize::W32, job, &plan)?;
    let dropped = run.warps.iter().map(|w| w.dropped).sum::<u64>();
    if dropped > 0 { Err(format!("{dropped} decisions have no room").into()) } else { Ok(run) }
}
