//! Broken modules end in an error, never in a panic: kernels of the corpus with lines lost, doubled, swapped,
//! and words replaced by others of the same module; half of them under every check.

use std::path::Path;

use prlx_driver::{Driver, Job, ModuleCode, prepare};
use prlx_emu::testing::Rng;
use prlx_emu::{Checks, Emulator, Options};

const KERNELS: &[&str] = &[
    "cuda/reduce_shfl",
    "cuda/recursion",
    "cuda/function_pointer",
    "cuda/printf",
    "cuda/gemm_cp_async",
    "cuda/mbarrier_pipeline",
    "cuda/atomics_zoo",
    "cuda/branch_table",
    "cuda/mma_shapes",
    "cuda/bulk_copy",
    "cuda/wgmma_shapes",
    "cuda/rare_integer",
    "triton/softmax",
];

fn mutate(text: &str, rng: &mut Rng) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let words: Vec<String> = text
        .split(|c: char| c.is_whitespace() || ",;[]{}()".contains(c))
        .filter(|w| !w.is_empty())
        .map(str::to_owned)
        .collect();
    for _ in 0..1 + rng.below(4) {
        let (i, j) = (rng.below(lines.len() as u32) as usize, rng.below(lines.len() as u32) as usize);
        match rng.below(6) {
            0 => lines[i].clear(),
            1 => lines.swap(i, j),
            2 => lines[i] = lines[j].clone(),
            _ => {
                let line = lines[i].clone();
                let parts: Vec<&str> = line
                    .split(|c: char| c.is_whitespace() || ",;[]{}()".contains(c))
                    .filter(|w| !w.is_empty())
                    .collect();
                if let Some(old) = parts.get(rng.below(parts.len() as u32) as usize) {
                    let new = &words[rng.below(words.len() as u32) as usize];
                    lines[i] = line.replacen(old, new, 1);
                }
            }
        }
    }
    lines.join("\n")
}

#[test]
fn broken_modules_end_in_errors() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernels");
    let (mut ran, mut failed) = (0, 0);
    for name in KERNELS {
        let job = Job::load(&root.join(name).join("launch.toml")).unwrap_or_else(|e| panic!("{name}: {e}"));
        for n in 0..60 {
            let mut rng = Rng::new(n, 77);
            let text = mutate(&job.text, &mut rng);
            let checks = if n % 2 == 1 { Checks::all() } else { Checks::NONE };
            let options = Options {
                max_steps: 20_000,
                max_memory: 256 << 20,
                threads: 1,
                checks,
                ..Options::default()
            };
            let mut e = Emulator::new(options);
            let mut config = job.config.clone();
            config.seed = n % 3;
            config.grid.x = config.grid.x.min(4);
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let m = e.load(ModuleCode::Ptx(&text))?;
                let p = prepare(&mut e, &job)?;
                e.launch(m, &job.kernel, &config, &p.params)
            }));
            match outcome {
                Ok(Ok(_)) => ran += 1,
                Ok(Err(_)) => failed += 1,
                Err(_) => panic!("{name}, mutation {n}: it panics\n{text}"),
            }
        }
    }
    assert!(ran > 0 && failed > 0, "{ran} ran, {failed} failed");
}
