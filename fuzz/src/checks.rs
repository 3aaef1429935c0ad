//! Runs kernels under every check. The input is either a small correct kernel, which must give no finding and
//! its usual results, or a list of changes to a kernel of the corpus, which must end in an error or a result.

use std::path::Path;
use std::sync::LazyLock;

use prlx_driver::Job;
use prlx_emu::{Checks, Emulator, Options};

use super::generate;

/// Kernels to change: what checks follow, in few steps.
const KERNELS: &[&str] = &[
    "cuda/reduce_shfl",
    "cuda/recursion",
    "cuda/printf",
    "cuda/gemm_cp_async",
    "cuda/mbarrier_pipeline",
    "cuda/atomics_zoo",
    "cuda/mma_shapes",
    "cuda/bulk_copy",
    "cuda/cluster_async",
    "cuda/tma_dimensions",
    "cuda/wgmma_shapes",
    "triton/softmax",
];

static JOBS: LazyLock<Vec<Job>> = LazyLock::new(|| {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root =
        here.ancestors().map(|p| p.join("tests/kernels")).find(|p| p.is_dir()).expect("the corpus is there");
    KERNELS
        .iter()
        .map(|name| Job::load(&root.join(name).join("launch.toml")).expect("the corpus loads"))
        .collect()
});

fn device(checks: Checks) -> Emulator {
    Emulator::new(Options {
        max_steps: 20_000,
        max_memory: 256 << 20,
        threads: 1,
        checks,
        ..Options::default()
    })
}

/// Runs the target on one input.
pub fn run(data: &[u8]) {
    let Some((&kind, data)) = data.split_first() else { return };
    if kind % 2 == 0 { right(data) } else { changed(data) }
}

fn right(data: &[u8]) {
    let Ok(mut job) = generate::job(data) else { return };
    for seed in [0, job.config.seed] {
        job.config.seed = seed;
        let (mut bare, mut checked) = (device(Checks::NONE), device(Checks::all()));
        let (a, b) = (prlx_driver::run(&mut bare, &job), prlx_driver::run(&mut checked, &job));
        let found = checked.take_findings();
        assert_eq!(found.errors(), 0, "seed {seed}: {found:#?}\n{}", job.text);
        match (a, b) {
            (Ok(a), Ok(b)) => assert_eq!(a.outputs, b.outputs, "seed {seed}\n{}", job.text),
            (a, b) => assert_eq!(a.is_ok(), b.is_ok(), "seed {seed}: {a:?} and {b:?}\n{}", job.text),
        }
    }
}

fn changed(data: &[u8]) {
    let mut bytes = data.iter().copied();
    let mut next = || usize::from(bytes.next().unwrap_or(0)) << 8 | usize::from(bytes.next().unwrap_or(0));
    let mut job = JOBS[next() % JOBS.len()].clone();
    job.config.grid.x = job.config.grid.x.min(4);
    job.config.seed = next() as u64 % 4;
    let break_up = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| c.is_whitespace() || ",;[]{}()".contains(c));
        words.filter(|w| !w.is_empty()).map(str::to_owned).collect()
    };
    let mut lines: Vec<String> = job.text.lines().map(str::to_owned).collect();
    let words = break_up(&job.text);
    for _ in 0..1 + next() % 4 {
        let (what, i, j) = (next() % 6, next() % lines.len(), next() % lines.len());
        match what {
            0 => lines[i].clear(),
            1 => lines.swap(i, j),
            2 => lines[i] = lines[j].clone(),
            _ => {
                let old = break_up(&lines[i]);
                let (at, new) = (next(), &words[next() % words.len()]);
                if let Some(old) = at.checked_rem(old.len()).map(|at| &old[at]) {
                    lines[i] = lines[i].replacen(old, new, 1);
                }
            }
        }
    }
    job.text = lines.join("\n");
    let mut device = device(Checks::all());
    let _ = prlx_driver::run(&mut device, &job);
    let _ = device.take_findings();
}
