//! Every kernel of the corpus: on the CPU device it gives what its launch file expects, under the fair schedule and under
//! hostile ones.
//!
//! Kernels that need what the device does not do yet must be refused, with an error that names the instruction; they are
//! listed in `REFUSED` and a kernel that runs must leave the list.

use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use prlx_driver::{ErrorKind, Job};
use prlx_emu::{Emulator, Options};

/// What the device does not do yet; with a target: only in that target's module.
const REFUSED: &[&str] = &[
    "cuda/cluster_async",
    "cuda/cluster_reduce",
    "cuda/gemm_wgmma",
    "cuda/tma_tensor_copy",
    "cuda/wgmma_shapes",
    "triton/attention/sm_90a",
    "triton/matmul_bf16/sm_90a",
    "triton/matmul_f16/sm_90a",
    "triton/matmul_fp8",
    "triton/matmul_i8/sm_90a",
    "triton/matmul_persistent",
    "triton/matmul_tf32/sm_90a",
];

/// Kernels whose result is the active mask itself, which a schedule may choose.
const MASKS: &[&str] = &["cuda/warp_votes"];

/// Seeds: the fair schedule, and hostile ones.
const SEEDS: [u64; 3] = [0, 1, 0xBAD_5EED];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn case(path: &Path, module: &Path, name: &str, target: &str, seed: u64) -> Result<(), Failed> {
    let mut job = Job::load(path).map_err(|e| e.to_string())?;
    // One launch file serves the modules of all targets.
    job.text = std::fs::read_to_string(module)?;
    job.config.seed = seed;
    let mut emulator = Emulator::new(Options { max_steps: 200_000_000, ..Options::default() });
    let run = prlx_driver::run(&mut emulator, &job);
    let refused =
        REFUSED.iter().any(|r| *r == name || r.strip_prefix(name).is_some_and(|t| t.strip_prefix('/') == Some(target)));
    match run {
        Err(e) if refused && e.kind == ErrorKind::Unsupported => Ok(()),
        Err(e) => Err(format!("{:?}: {e}", e.kind).into()),
        Ok(_) if refused => Err("it runs: take it off the list of those that are refused".into()),
        Ok(run) => {
            for o in run.outputs {
                if seed != 0 && MASKS.contains(&name) {
                    continue;
                }
                if let Some(c) = o.expect
                    && c.wrong > 0
                {
                    return Err(format!(
                        "`{}`: {} of {} elements are wrong, first {:?}",
                        o.name, c.wrong, c.elements, c.first
                    )
                    .into());
                }
            }
            Ok(())
        }
    }
}

fn main() {
    let args = Arguments::from_args();
    let index = std::fs::read_to_string(root().join("tests/kernels/index.toml")).expect("the index of the corpus");
    let index: toml::Table = index.parse().expect("the index of the corpus is TOML");
    let mut trials = Vec::new();
    for k in index.get("kernel").and_then(|k| k.as_array()).into_iter().flatten() {
        let text = |key: &str| k.get(key).and_then(|v| v.as_str()).unwrap_or_default().to_string();
        let (launch, target) = (text("launch"), text("target"));
        let name = format!("{}/{}", text("kind"), text("name"));
        if launch.is_empty() {
            continue;
        }
        let path = root().join("tests/kernels").join(launch);
        let module = root().join("tests/kernels").join(text("module"));
        for seed in SEEDS {
            let (name, path, module, target) = (name.clone(), path.clone(), module.clone(), target.clone());
            trials.push(Trial::test(format!("{name}/{target}/seed={seed}"), move || {
                case(&path, &module, &name, &target, seed)
            }));
        }
    }
    libtest_mimic::run(&args, trials).exit();
}
