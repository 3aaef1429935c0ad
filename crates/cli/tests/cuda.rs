//! `--device cuda`, with a libcuda that runs kernels on the CPU device: the command line's own path to a GPU, whole.
//!
//! Misses: what only hardware has.

use std::path::{Path, PathBuf};
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The mock, which cargo builds beside this test.
fn mock() -> PathBuf {
    std::env::current_exe().unwrap().with_file_name("libprlx_mockcuda.so")
}

/// What `prlx` answers: exit code, standard output, standard error.
fn prlx(words: &str, env: &[(&str, &str)]) -> (i32, String, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_prlx"))
        .args(words.split(' '))
        .current_dir(ROOT)
        .env("NO_COLOR", "1")
        .env("PRLX_LIBCUDA", mock())
        .env("PRLX_ASSEMBLER", "driver")
        .envs(env.iter().copied())
        .output()
        .unwrap();
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    (out.status.code().unwrap_or(-1), text(&out.stdout), text(&out.stderr))
}

#[test]
fn a_comparison_reports_what_the_cpu_device_reports() {
    let examples = Path::new(ROOT).join("examples");
    let mut compared = 0;
    for entry in std::fs::read_dir(examples).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if !entry.path().join("good.toml").is_file() {
            continue;
        }
        let of = |device: &str| {
            let words = format!("compare examples/{name}/good.toml examples/{name}/bad.toml --seed 0 {device}");
            let (code, out, err) = prlx(&words, &[]);
            assert!(code == 0 || code == 1 || code == 3, "{name} {device}: {err}");
            // The machine's name and what recording cost there are its own.
            let lines = out.lines().filter(|l| !l.contains("recorded  level"));
            (code, lines.collect::<Vec<_>>().join("\n"))
        };
        assert_eq!(of("--device cpu --rewritten --threads 1"), of("--device cuda"), "{name}");
        compared += 1;
    }
    assert!(compared >= 10, "only {compared} examples");
}

#[test]
fn run_gives_the_same_buffers_and_says_where() {
    let of = |device: &str| {
        let (code, out, err) = prlx(&format!("run examples/threshold/good.toml --device {device} --json"), &[]);
        assert_eq!(code, 0, "{err}");
        serde_json::from_str::<serde_json::Value>(&out).unwrap()
    };
    let (cpu, gpu, auto) = (of("cpu"), of("cuda"), of("auto"));
    assert_eq!(cpu["outputs"], gpu["outputs"]);
    assert_eq!(gpu["outputs"], auto["outputs"]);
    assert_eq!([&cpu["device"], &gpu["device"], &auto["device"]], ["CPU device", "mock device", "mock device"]);
    assert!(gpu["nanos"].as_u64().is_some_and(|n| n > 0) && gpu["warp_instructions"].is_null());
}

#[test]
fn without_a_driver_auto_is_the_cpu_device_and_cuda_is_refused() {
    let none = [("PRLX_LIBCUDA", "/nowhere/libcuda.so.1")];
    let (code, out, _) = prlx("run examples/threshold/good.toml --device auto", &none);
    assert!(code == 0 && out.contains("on the CPU device"), "{out}");
    let (code, _, err) = prlx("run examples/threshold/good.toml --device cuda", &none);
    assert!(code == 2 && err.contains("no CUDA driver") && err.contains("--device cpu"), "{err}");
    let (code, out, _) = prlx("doctor", &none);
    assert!(code == 0 && out.contains("no   NVIDIA GPU"), "{out}");
    assert!(prlx("doctor", &[]).1.contains("driver for CUDA 13.0; cuda:0 mock device, compute capability 9.0"));
}

#[test]
fn a_library_that_is_no_driver_is_refused_with_what_it_lacks() {
    let libc = [("PRLX_LIBCUDA", "libc.so.6")];
    let (code, _, err) = prlx("run examples/threshold/good.toml --device cuda", &libc);
    assert!(code == 2 && err.contains("libc.so.6 has no `cuInit`"), "{err}");
}

/// Every call can fail; what is said names CUDA's error and what was being done, and nothing else happens.
#[test]
fn errors_have_cudas_name_and_what_to_do() {
    for (call, code, wants) in [
        ("cuInit", 34, &["CUDA_ERROR_STUB_LIBRARY", "LD_LIBRARY_PATH"][..]),
        ("cuInit", 100, &["CUDA_ERROR_NO_DEVICE", "CUDA_VISIBLE_DEVICES"]),
        ("cuInit", 803, &["CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "restart"]),
        ("cuInit", 12345, &["CUDA error 12345"]),
        ("cuDeviceGet", 101, &["CUDA device 0", "CUDA_ERROR_INVALID_DEVICE"]),
        ("cuDevicePrimaryCtxRetain", 46, &["CUDA_ERROR_DEVICE_UNAVAILABLE", "compute mode"]),
        ("cuCtxSetCurrent", 201, &["mock device", "CUDA_ERROR_INVALID_CONTEXT"]),
        ("cuModuleLoadDataEx", 222, &["CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "PRLX_PTXAS"]),
        ("cuModuleGetFunction", 500, &["kernel `", "CUDA_ERROR_NOT_FOUND"]),
        ("cuMemAlloc_v2", 2, &["argument `signal`, 16000 bytes", "CUDA_ERROR_OUT_OF_MEMORY", "nvidia-smi"]),
        ("cuMemcpyHtoD_v2", 1, &["writing 16000 bytes", "CUDA_ERROR_INVALID_VALUE"]),
        ("cuEventCreate", 2, &["CUDA_ERROR_OUT_OF_MEMORY, cuEventCreate"]),
        ("cuLaunchKernelEx", 701, &["CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "launch smaller CTAs"]),
        (
            "cuCtxSynchronize",
            700,
            &["(4,1,1) CTAs", "CUDA_ERROR_ILLEGAL_ADDRESS", "--device cpu does, with lane and address"],
        ),
        ("cuMemcpyDtoH_v2", 719, &["reading", "CUDA_ERROR_LAUNCH_FAILED"]),
    ] {
        for command in ["run", "record -o /dev/null"] {
            let fail = format!("{call}:{code}");
            let words = format!("{command} examples/threshold/good.toml --device cuda");
            let (code, out, err) = prlx(&words, &[("PRLX_MOCK_FAIL", &fail)]);
            assert!(code == 2 && out.is_empty(), "{command}, {fail}: exit code {code}, {out}");
            for want in wants {
                assert!(err.contains(want), "{command}, {fail}: {want:?} is not in {err}");
            }
        }
    }
}
