//! Recording through the CUDA driver's calls gives the trace that recording on the CPU device gives: the mock
//! runs rewritten PTX on the same emulator, so every stream, output and loss must be equal.
//!
//! Every kernel goes through the driver's own compiler, which is the mock, at level `path`; a third of them
//! at the other levels too, and once more through `ptxas`, where `cargo xtask setup` has put it: the mock
//! then runs the PTX that is kept in the machine code.
//!
//! Kernels that the CPU device refuses (`tests/kernels/refused.txt`) are left out.

#[path = "../../../../tests/nvidia.rs"]
mod nvidia;
#[path = "../../../../tests/tools.rs"]
mod tools;

use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use prlx_driver::assemble::{Assembler, Assemblers};
use prlx_driver::cuda::{Cuda, VARIABLE};
use prlx_driver::{Driver, Job, ModuleCode, RecordOptions, Recorded, record};
use prlx_emu::{Emulator, Options};
use prlx_plan::RecordingRequest;
use prlx_trace::launch::{Event, Lanes};
use prlx_trace::{Level, WarpStream};

const LEVELS: [Level; 3] = [Level::Path, Level::Fingerprint, Level::Events];

fn main() {
    let args = Arguments::from_args();
    let exe = std::env::current_exe().expect("the test knows its own path");
    let mock = exe.with_file_name("libprlx_mockcuda.so");
    #[expect(unsafe_code, reason = "tests have no other way to name the library")]
    // SAFETY: no other thread runs yet.
    unsafe {
        std::env::set_var(VARIABLE, mock);
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernels");
    let refused = std::fs::read_to_string(root.join("refused.txt")).expect("the list is there");
    let refused: Vec<&str> =
        refused.lines().filter(|l| !l.starts_with('#')).filter_map(|l| l.split_whitespace().next()).collect();
    let ptxas = nvidia::nvidia("bin/ptxas");
    let mut kernels = 0usize;
    let mut trials = vec![Trial::test("what the device says of itself", itself)];
    for kind in ["cuda", "triton"] {
        let mut folders: Vec<PathBuf> = std::fs::read_dir(root.join(kind))
            .expect("the corpus is there")
            .flatten()
            .map(|e| e.path())
            .filter(|p| p.join("launch.toml").is_file())
            .collect();
        folders.sort();
        for folder in folders {
            let name = format!("{kind}/{}", folder.file_name().unwrap_or_default().to_string_lossy());
            if !refused.contains(&name.as_str()) {
                let chosen = kernels.is_multiple_of(3);
                kernels += 1;
                if let Some(ptxas) = ptxas.clone().filter(|_| chosen) {
                    let folder = folder.clone();
                    trials.push(Trial::test(format!("{name} by ptxas"), move || {
                        let tools = Assembler::ptxas(&ptxas).into_iter().collect();
                        one(&folder, &LEVELS[..1], Assemblers { tools, cache: None })
                    }));
                }
                trials.push(Trial::test(name, move || {
                    one(&folder, &LEVELS[..if chosen { 3 } else { 1 }], Assemblers::default())
                }));
            }
        }
    }
    assert!(kernels > 90, "the corpus is gone");
    libtest_mimic::run(&args, trials).exit();
}

fn itself() -> Result<(), Failed> {
    let here = prlx_driver::cuda::installation()?;
    let one = Cuda::new(0)?;
    if here.version != "13.0" || here.devices != [one.gpu().clone()] || one.info().name != "mock device" {
        return Err(format!("{here:?}").into());
    }
    match Cuda::new(1) {
        Err(e) if e.message.contains("CUDA_ERROR_INVALID_DEVICE") => Ok(()),
        other => Err(format!("a device that is not there: {other:?}").into()),
    }
}

fn streams(recorded: &Recorded) -> Result<Vec<WarpStream>, Failed> {
    let streams = &recorded.recording.streams;
    let mut all = Vec::new();
    for i in 0..streams.frames() {
        all.extend(streams.frame(i).map_err(|e| e.to_string())?);
    }
    Ok(all)
}

/// Events of the CPU device, of the mock, and of the CPU device with memory elsewhere: the first two agree
/// but for values that the third has otherwise too.
fn alike(lanes: [&Lanes; 3]) -> Result<(), String> {
    let [Lanes::Events(want), Lanes::Events(got), Lanes::Events(moved)] = lanes else {
        return Err("no events".into());
    };
    if want.len() != got.len() || want.len() != moved.len() {
        return Err(format!("{} and {} events, {} elsewhere", want.len(), got.len(), moved.len()));
    }
    for (i, ((w, g), m)) in want.iter().zip(got).zip(moved).enumerate() {
        let rest = |e: &Event| Event { value: 0, ..*e };
        if rest(w) != rest(g) || w.value != g.value && w.value == m.value {
            return Err(format!("event {i}: {g:?} instead of {w:?}"));
        }
    }
    Ok(())
}

fn one(folder: &Path, levels: &[Level], assemblers: Assemblers) -> Result<(), Failed> {
    let mut job = Job::load(&folder.join("launch.toml"))?;
    // A GPU has no seed: the mock runs the fair schedule.
    job.config.seed = 0;
    let mut gpu = Cuda::with_assemblers(0, assemblers)?;
    for &level in levels {
        let program = RecordingRequest::new(level);
        let rewrite = prlx_instrument::rewrite(&job.text, &job.module, &program, &|_| None)?;
        let options = RecordOptions { run_original: level == Level::Path, ..RecordOptions::default() };
        let mut cpu = Emulator::new(Options { threads: 1, ..Options::default() });
        let run = |driver: &mut dyn Driver| {
            record(driver, Some(ModuleCode::Ptx(&rewrite.text)), &rewrite.plan, &job, &options)
        };
        let (want, got) = (run(&mut cpu)?, run(&mut gpu)?);
        if want.fault.is_some() || got.fault.is_some() {
            return Err(format!("faults: {:?}, {:?}", want.fault, got.fault).into());
        }
        if (want.recording.launch.totals.recorded, &want.damage)
            != (got.recording.launch.totals.recorded, &got.damage)
        {
            return Err(format!("{}: {:?} instead of {:?}", level.name(), got.damage, want.damage).into());
        }
        if want.outputs != got.outputs {
            return Err(format!("{}: other outputs", level.name()).into());
        }
        let (want, got) = (streams(&want)?, streams(&got)?);
        let mut moved = None;
        for (i, (w, g)) in want.iter().zip(&got).enumerate() {
            if (w.warp, w.dropped) != (g.warp, g.dropped) || w.lanes != g.lanes && level != Level::Events {
                return Err(format!("{}: {} has other streams", level.name(), w.warp).into());
            }
            if w.lanes == g.lanes {
                continue;
            }
            // What depends on where memory lies (a stored tensor map has addresses) shows where it lies
            // elsewhere.
            if moved.is_none() {
                let options = Options::default();
                let mut elsewhere =
                    Emulator::new(Options { threads: 1, first: options.first + (1 << 24), ..options });
                moved = Some(streams(&run(&mut elsewhere)?)?);
            }
            let moved = moved.as_ref().and_then(|m| m.get(i)).ok_or("a warp is missing")?;
            alike([&w.lanes, &g.lanes, &moved.lanes])
                .map_err(|e| format!("{}: {}: {e}", level.name(), w.warp))?;
        }
    }
    Ok(())
}
