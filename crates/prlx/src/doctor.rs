//! Finds out which GPU, driver and compilers this machine has, and what works with them.
//!
//! # Invariants
//! - It changes nothing and needs nothing: it runs the tools that it finds with `--version`, and asks the
//!   CUDA driver for its devices.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Serialize;

/// Something that commands of PRLX need or can use.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// Its name, as "ptxas".
    pub name: &'static str,
    /// It is there and can be used.
    pub found: bool,
    /// Version and place, or where it was looked for.
    pub detail: String,
    /// What it is used for.
    pub allows: &'static str,
}

/// Looks for everything.
pub fn check() -> Vec<Finding> {
    let mut all = vec![Finding {
        name: "CPU device",
        found: true,
        detail: format!("{} cores, {}", std::thread::available_parallelism().map_or(1, Into::into), simd()),
        allows: "every command: launch files run without a GPU",
    }];
    all.push(driver());
    for (name, program, variable, allows) in [
        ("ptxas", "ptxas", "PRLX_PTXAS", "assembling rewritten PTX, registers and spills before and after"),
        (
            "nvdisasm",
            "nvdisasm",
            "PRLX_NVDISASM",
            "finding instructions that the assembler moved out of the regions that `prlx profile` times",
        ),
        ("nvcc", "nvcc", "PRLX_NVCC", "launch files whose module is a .cu file"),
        ("clang", "clang++", "PRLX_CLANG", "launch files whose module is a .cu file, where nvcc is missing"),
    ] {
        all.push(tool(name, program, variable, allows));
    }
    all.push(hip());
    all.push(python());
    all
}

fn simd() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            return "AVX-512";
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            return "AVX2";
        }
    }
    "no AVX2"
}

fn driver() -> Finding {
    let devices = |here: &prlx_driver::cuda::CudaInstallation| {
        let each = here.devices.iter().enumerate().map(|(i, gpu)| {
            let (major, minor) = gpu.capability;
            format!("cuda:{i} {}, compute capability {major}.{minor}, {} GiB", gpu.name, gpu.memory >> 30)
        });
        each.collect::<Vec<_>>().join("; ")
    };
    let (found, detail) = match prlx_driver::cuda::installation() {
        Ok(here) if here.devices.is_empty() => {
            (false, format!("driver for CUDA {}, but no device", here.version))
        }
        Ok(here) => (true, format!("driver for CUDA {}; {}", here.version, devices(&here))),
        Err(e) => (false, e.message),
    };
    Finding { name: "NVIDIA GPU", found, detail, allows: "run, record and compare with --device cuda" }
}

fn tool(name: &'static str, program: &str, variable: &str, allows: &'static str) -> Finding {
    let found = find(program, variable);
    let detail = match &found {
        Some(path) => {
            let version = version_line(path).unwrap_or_else(|| "prints no version".into());
            format!("{version} ({})", path.display())
        }
        None => format!("not on PATH, not in CUDA_HOME/bin, and {variable} names none"),
    };
    Finding { name, found: found.is_some(), detail, allows }
}

/// The compiler of `.hip` files.
fn hip() -> Finding {
    let (found, detail) = match prlx_driver::hip_compiler() {
        Some(path) => {
            let version = version_line(&path).unwrap_or_else(|| "prints no version".into());
            (true, format!("{version} ({})", path.display()))
        }
        None => (false, "neither hipcc nor clang is on PATH, and PRLX_HIPCC names none".into()),
    };
    Finding { name: "hip", found, detail, allows: "launch files whose module is a .hip file" }
}

fn find(program: &str, variable: &str) -> Option<PathBuf> {
    if let Some(path) = std::env::var_os(variable).map(PathBuf::from) {
        return path.is_file().then_some(path);
    }
    let mut folders: Vec<PathBuf> =
        std::env::var_os("PATH").map(|p| std::env::split_paths(&p).collect()).unwrap_or_default();
    folders.extend(
        ["CUDA_HOME", "CUDA_PATH"].iter().filter_map(std::env::var_os).map(|h| PathBuf::from(h).join("bin")),
    );
    folders.into_iter().map(|f| f.join(program)).find(|p| p.is_file())
}

fn python() -> Finding {
    let script = "import importlib.util as u, sys\n\
                  have = [m for m in ('numpy', 'triton', 'torch') if u.find_spec(m)]\n\
                  print('Python', sys.version.split()[0], 'with', ', '.join(have) or 'none of numpy, triton, torch')";
    let detail = first_line("python3", &["-c", script]);
    Finding {
        name: "Python",
        found: detail.is_some(),
        detail: detail.unwrap_or_else(|| "no python3".into()),
        allows: "making .npy inputs; compiling Triton kernels to PTX",
    }
}

fn output(program: &Path, args: &[&str]) -> Option<String> {
    let out = Command::new(program).args(args).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).into_owned())
}

fn first_line(program: &str, args: &[&str]) -> Option<String> {
    output(Path::new(program), args)?.lines().map(str::trim).find(|l| !l.is_empty()).map(str::to_owned)
}

/// The line with the version: NVIDIA's tools print it last but one, clang first.
fn version_line(program: &Path) -> Option<String> {
    let text = output(program, &["--version"])?;
    text.lines().find(|l| l.contains("release") || l.contains("clang version")).map(|l| l.trim().to_owned())
}
