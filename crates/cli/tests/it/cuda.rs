//! `--device cuda` with a libcuda that runs kernels on the CPU device: the complete path from the command
//! line to a GPU.
//!
//! # Limitations
//! - Behaviour that only hardware has is not tested.

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
            let words = format!(
                "compare examples/{name}/good.toml examples/{name}/bad.toml --seed 0 --no-explain {device}"
            );
            let (code, out, err) = prlx(&words, &[]);
            assert!(code == 0 || code == 1 || code == 3, "{name} {device}: {err}");
            // Causes need the data flow, which the CPU device alone records. The machine's name and what
            // recording cost there are its own.
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
        let (code, out, err) =
            prlx(&format!("run examples/threshold/good.toml --device {device} --json"), &[]);
        assert_eq!(code, 0, "{err}");
        serde_json::from_str::<serde_json::Value>(&out).unwrap()
    };
    let (cpu, gpu, auto) = (of("cpu"), of("cuda"), of("auto"));
    assert_eq!(cpu["outputs"], gpu["outputs"]);
    assert_eq!(gpu["outputs"], auto["outputs"]);
    assert_eq!(
        [&cpu["device"], &gpu["device"], &auto["device"]],
        ["CPU device", "mock device", "mock device"]
    );
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
    assert!(
        prlx("doctor", &[]).1.contains("driver for CUDA 13.0; cuda:0 mock device, compute capability 9.0")
    );
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
        ("cuMemcpyDtoH_v2", 719, &["reading", "CUDA_ERROR_LAUNCH_FAILED"]),
    ] {
        for command in ["run", "record -o /dev/null"] {
            let fail = format!("{call}:{code}");
            let words = format!("{command} examples/threshold/good.toml --device cuda");
            let (code, out, err) = prlx(&words, &[("PRLX_MOCK_FAIL", &fail)]);
            // The run itself fails if memory runs out or the kernel faults.
            let expected = if ["cuMemAlloc_v2:2", "cuEventCreate:2", "cuMemcpyDtoH_v2:719"].contains(&&*fail)
            {
                4
            } else {
                2
            };
            assert!(code == expected && out.is_empty(), "{command}, {fail}: exit code {code}, {out}");
            for want in wants {
                assert!(err.contains(want), "{command}, {fail}: {want:?} is not in {err}");
            }
        }
    }
}

/// A GPU's context goes with its fault, and with it what was recorded until then.
#[test]
fn a_fault_of_the_kernel_is_cudas_error_and_no_same() {
    let bad = "tests/cases/cli/fault.in/bad.toml";
    let (code, _, err) = prlx(&format!("run {bad} --device cuda"), &[]);
    assert_eq!(code, 4, "{err}");
    for want in
        ["CTAs of", "mock device", "CUDA_ERROR_ILLEGAL_ADDRESS", "--device cpu does, with lane and address"]
    {
        assert!(err.contains(want), "{want:?} is not in {err}");
    }
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fault.prlx");
    let file = file.to_str().unwrap();
    let (code, _, err) = prlx(&format!("record -o {file} {bad} --device cuda"), &[]);
    assert!(code == 4 && err.contains("was stopped") && err.contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{err}");
    let (code, out, _) = prlx(&format!("diff {file} {file}"), &[]);
    assert!(code == 3 && out.contains("both sides fault"), "{out}");
}

/// What a flight recorder holds lies in the host's memory, and outlives a fault; a kernel that does not end
/// is not waited for.
#[test]
fn a_flight_recorder_outlives_the_kernel() {
    let stops = "tests/cases/cli/stops.in";
    let (code, out, err) = prlx(&format!("profile --flight-recorder {stops}/traps.toml --device cuda"), &[]);
    assert!(code == 4 && err.contains("was stopped"), "{err}");
    for want in ["Where it stopped", "main", "bad", "stops.cu:4"] {
        assert!(out.contains(want), "{want:?} is not in {out}");
    }
    // Without one it went with the context.
    let (code, out, _) = prlx(&format!("profile {stops}/traps.toml --device cuda"), &[]);
    assert!(code == 4 && !out.contains("Where it stopped"), "{out}");
    let slow = [("PRLX_MOCK_KERNEL_MICROS", "20000000")];
    for command in ["run", "profile --flight-recorder"] {
        let (code, _, err) =
            prlx(&format!("{command} tests/cases/marks/plain.toml --device cuda --timeout 0.3"), &slow);
        assert!(code == 4 && err.contains("`plain` on mock device did not end in 0.3 s"), "{command}: {err}");
    }
    let (code, _, err) = prlx("run tests/cases/marks/plain.toml --timeout 1", &[]);
    assert!(code == 2 && err.contains("--timeout needs a GPU: for the CPU device, use --max-steps"), "{err}");
}

/// The script of `cargo xtask gpu-bundle`, on kernels that agree, that may differ, that print, and that no
/// device runs.
#[test]
fn the_bundles_script_finds_everything_right_here() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gpu-bundle");
    let run = |only: &str, env: &[(&str, &str)]| {
        Command::new("python3")
            .args([
                "xtask/py/gpu_bundle.py",
                "--kernels",
                "tests/kernels",
                "--examples",
                "examples",
                "--jobs",
                "2",
            ])
            .args(["--only", only, "--out"])
            .arg(&folder)
            .args(["--prlx", env!("CARGO_BIN_EXE_prlx")])
            .current_dir(ROOT)
            .env("PRLX_LIBCUDA", mock())
            .env("PRLX_ASSEMBLER", "driver")
            .envs(env.iter().copied())
            .output()
    };
    let Ok(out) = run("collatz/,union_find,triton/softmax,printf,assert_trap,index-overflow,uninit", &[])
    else {
        crate::tools::skip("no python3");
        return;
    };
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{text}{}", String::from_utf8_lossy(&out.stderr));
    assert!(text.contains(" 0 wrong"), "{text}");
    let rows: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.join("results.json")).unwrap()).unwrap();
    let row =
        |name: &str| rows["rows"].as_array().unwrap().iter().find(|r| r["kernel"] == name).unwrap().clone();
    assert_eq!(
        (&row("cuda/collatz")["decisions"], &row("cuda/collatz")["path"]),
        (&"same".into(), &"ok".into())
    );
    assert_eq!(row("triton/softmax")["decisions"], "same");
    assert!(row("cuda/union_find")["decisions"].as_str().unwrap().starts_with("free"));
    let example = |name: &str| {
        let all = rows["examples"].as_array().unwrap();
        all.iter().find(|r| r["example"] == name).unwrap().clone()
    };
    let found = example("index-overflow: good.toml bad.toml");
    assert_eq!((&found["verdict"], &found["first"]), (&"differs".into(), &"good.cu:13".into()));
    assert!(
        example("uninit: good.toml bad.toml")["verdict"].as_str().unwrap().contains("CPU device's alone")
    );
    // An error names the kernel, and the exit code reports it.
    let out = run("collatz/", &[("PRLX_MOCK_FAIL", "cuLaunchKernelEx:701")]).unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(
        out.status.code() == Some(1) && text.contains("WRONG path:") && text.contains("OUT_OF_RESOURCES"),
        "{text}"
    );
    let out = run("collatz/", &[("PRLX_MOCK_FAIL", "cuInit:100")]).unwrap();
    assert_eq!(out.status.code(), Some(2), "no GPU is no result");
}

/// `prlx cost`, of one launch that records much and one that records nothing.
#[test]
fn cost_measures_every_form_and_says_what_it_takes() {
    let launches = "tests/kernels/cuda/spmv_csr/launch.toml tests/kernels/cuda/saxpy/launch.toml";
    let of = |options: &str| {
        let (code, out, err) = prlx(&format!("cost {launches} --json {options}"), &[]);
        assert_eq!(code, 0, "{err}");
        serde_json::from_str::<serde_json::Value>(&out).unwrap()
    };
    let levels = ["print", "path", "values", "events"];
    let measured = levels.iter().flat_map(|level| [(*level).to_owned(), format!("{level} off")]);
    let forms: Vec<String> = ["bare".to_owned(), "again".to_owned()].into_iter().chain(measured).collect();
    for (options, unit, rounds) in
        [("--device cuda --rounds 3 --memory 1", "nanos", 3), ("--memory 1", "warp_instructions", 1)]
    {
        let all = of(options);
        assert_eq!((all["unit"].as_str(), all["rounds"].as_u64()), (Some(unit), Some(rounds)));
        for (launch, streams) in [(0, true), (1, false)] {
            let launch = &all["launches"][launch];
            let each = launch["forms"].as_array().unwrap();
            assert_eq!(each.iter().map(|f| f["form"].as_str().unwrap()).collect::<Vec<_>>(), forms);
            for form in each {
                assert!(form["median"].as_u64().is_some_and(|n| n > 0), "{form}");
                assert_eq!((&form["changed"], &form["full"]), (&false.into(), &false.into()), "{form}");
                assert_eq!(form["needs"].is_null(), unit != "nanos", "{form}");
            }
            assert_eq!(each[4]["streams"].as_u64().unwrap() > 0, streams, "{launch}");
            assert_eq!(each[5]["streams"], 0, "nothing is recorded without a context");
            if unit == "warp_instructions" {
                let ratio = |i: usize| each[i]["ratio"].as_f64().unwrap();
                assert_eq!(ratio(1), 1.0);
                assert!(ratio(4) >= ratio(5) && ratio(5) >= 1.0, "{launch}");
            }
        }
    }
    assert_eq!(of("--level path")["launches"][0]["forms"].as_array().unwrap().len(), 4);
}

/// Probe programs are measured as recorders are; one that does nothing in a kernel leaves it as it is.
#[test]
fn cost_measures_probe_programs() {
    let probes = "--probe global-bytes --probe tensor-ops --probe block{@n[tid.x]++;} --level path";
    let launch = "tests/kernels/cuda/saxpy/launch.toml";
    let (code, out, err) = prlx(&format!("cost {launch} {probes} --json --device cuda --rounds 2"), &[]);
    assert_eq!(code, 0, "{err}");
    let all: serde_json::Value = serde_json::from_str(&out).unwrap();
    let forms = all["launches"][0]["forms"].as_array().unwrap();
    let names: Vec<_> = forms.iter().map(|f| f["form"].as_str().unwrap()).collect();
    let block = "block{@n[tid.x]++;}";
    let wanted = ["bare", "again", "path", "path off", "global-bytes", "global-bytes off", "tensor-ops"];
    assert_eq!(names, [&wanted[..], &[block, "block{@n[tid.x]++;} off"]].concat());
    for (form, keeps) in [(4, true), (5, false), (7, true), (8, false)] {
        let form = &forms[form];
        assert!(form["median"].as_u64().is_some_and(|n| n > 0) && form["changed"] == false, "{form}");
        assert_eq!(form["streams"].as_u64().unwrap() > 0, keeps, "{form}");
        assert_eq!(form["rewriting_nanos"].is_null(), !keeps, "{form}");
    }
    assert!(forms[6]["idle"] == true && forms[6]["median"].is_null(), "{}", forms[6]);
    let (code, out, err) = prlx(&format!("cost {launch} --probe tensor-ops --probe global-bytes"), &[]);
    assert!(
        code == 0 && out.contains("no effect in this kernel") && out.contains("without the assembler"),
        "{out}{err}"
    );
    assert!(!out.contains("path"), "{out}");
    let (code, _, err) = prlx(&format!("cost {launch} --probe nothing-like-it"), &[]);
    assert!(code == 2 && err.contains("there is no tool"), "{err}");
}

/// Markers are measured in every form, over markers that nobody reads, and other modules beside them.
#[test]
fn cost_measures_markers() {
    let of = |words: &str| {
        let (code, out, err) = prlx(&format!("cost {words} --json"), &[]);
        assert_eq!(code, 0, "{err}");
        serde_json::from_str::<serde_json::Value>(&out).unwrap()["launches"][0]["forms"].clone()
    };
    let plain = "tests/cases/marks/plain.toml --markers --also tests/cases/marks/plain.ptx";
    let names = [
        "bare",
        "again",
        "records",
        "records off",
        "spans",
        "spans off",
        "sums",
        "sums off",
        "ring",
        "ring off",
        "plain",
    ];
    for options in ["--device cuda --rounds 2", "--device cpu"] {
        let forms = of(&format!("{plain} {options}"));
        let forms = forms.as_array().unwrap();
        assert_eq!(forms.iter().map(|f| f["form"].as_str().unwrap()).collect::<Vec<_>>(), names);
        assert!(forms.iter().all(|f| f["changed"] == false && f["full"] == false), "{forms:?}");
        // Nine warps come to eleven markers; regions that are added up have a begin and an end.
        let passed = |i: usize| [forms[i]["passed"]["all"].as_u64(), forms[i]["passed"]["most"].as_u64()];
        let all = [Some(99), Some(11)];
        assert_eq!([2, 4, 6, 8].map(passed), [all, all, [Some(54), Some(6)], all]);
        assert!([0, 1, 3, 5, 7, 9, 10].iter().all(|&i| forms[i]["passed"].is_null()), "{forms:?}");
        // Tracks have a head; rings are there whole.
        assert_eq!(forms[2]["streams"], 9 * (112 + 11 * 8));
        // Three spans, five moments, and an end without a begin.
        assert_eq!(forms[4]["streams"], 9 * (64 + 9 * 16));
        assert_eq!(forms[8]["streams"], 9 * 2048);
        assert!(
            forms[6]["unmarked"][0].as_str().is_some_and(|why| why.contains("not added up")),
            "{}",
            forms[6]
        );
        if options == "--device cpu" {
            let median = |i: usize| forms[i]["median"].as_f64().unwrap();
            assert_eq!((median(0), median(0)), (median(1), median(10)));
            let each = (median(2) - median(0)) / 99.0;
            assert!(
                (forms[2]["passed"]["each"].as_f64().unwrap() - each).abs() < 1e-9 && each > 3.0,
                "{each}"
            );
        }
    }
    // What finds no room is counted all the same, and said. From outside there are more; without any nothing
    // is done.
    let small = of("tests/cases/marks/plain.toml --markers=records --memory 0");
    assert!(small[2]["full"] == true && small[2]["passed"]["all"] == 0, "{}", small[2]);
    let outside = of("tests/kernels/cuda/reduce_tree/launch.toml --markers=ring --auto");
    assert_eq!(outside[2]["passed"]["all"], 64 * 27);
    assert_eq!(of("tests/kernels/cuda/saxpy/launch.toml --markers=records")[2]["idle"], true);
    let (code, out, err) = prlx(&format!("cost {plain} --device cuda --rounds 2"), &[]);
    let said = out.contains("records: markers passed 99 times, 11 in one track: ")
        && out.contains("ns each in that one");
    assert!(code == 0 && said && !out.contains("path"), "{out}{err}");
    let (code, _, err) = prlx("cost tests/cases/marks/plain.toml --auto", &[]);
    assert!(code == 2 && err.contains("--markers"), "{err}");
    let (code, _, err) = prlx("cost tests/cases/marks/plain.toml --markers --also nowhere.ptx", &[]);
    assert!(code == 2 && err.contains("cannot read nowhere.ptx"), "{err}");
}

#[test]
fn cost_of_what_does_not_run_is_an_error_and_the_rest_is_measured() {
    let good = "tests/kernels/cuda/saxpy/launch.toml";
    let bad = "tests/cases/cli/fault.in/bad.toml";
    let (code, out, err) = prlx(&format!("cost {bad} {good} --level path"), &[]);
    assert!(code == 4 && out.contains("saxpy/launch:"), "{out}{err}");
    assert!(err.contains("cannot measure") && err.contains("1 of 2 launch files"), "{err}");
    let (code, _, err) = prlx(&format!("cost {good} --level operands"), &[]);
    assert!(code == 2 && err.contains("records a window around a finding"), "{err}");
    let (code, _, err) = prlx(&format!("cost {good} --memory 0 --level events"), &[]);
    assert_eq!(code, 0, "a pool that is too small is said, and no error: {err}");
}

/// The bundle's script prints a line for each launch, and means.
#[test]
fn the_bundles_script_measures_cost() {
    measures(
        "overhead",
        &[],
        &["| collatz | ", "| stream | ", "| **geometric mean** | | ", "| **first six** | | "],
    );
    let probes = ["--probes", "global-bytes,tensor-ops"];
    measures(
        "overhead-probes",
        &probes,
        &["| collatz | ", "| **registers +** | | ", "rewritten in", "wanted"],
    );
}

/// Runs it in a folder of this name, with these options, and looks for texts in what it prints.
fn measures(name: &str, options: &[&str], wanted: &[&str]) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("inputs.py"), "").unwrap();
    for (name, kernel) in [("collatz", "collatz"), ("stream", "saxpy")] {
        let from = Path::new(ROOT).join("tests/kernels/cuda").join(kernel);
        let text = std::fs::read_to_string(from.join("launch.toml")).unwrap();
        let there = |key: &str| format!("{key} = \"{}/", from.display());
        let text = text.lines().map(|line| match line.split_once('=').map(|(k, v)| (k.trim(), v.trim())) {
            Some((key @ ("module" | "npy" | "expect"), file)) => format!("{}{}\n", there(key), &file[1..]),
            _ => format!("{line}\n"),
        });
        std::fs::write(folder.join(format!("{name}.toml")), text.collect::<String>()).unwrap();
    }
    let out = Command::new("python3")
        .args([
            "xtask/py/gpu_bundle.py",
            "--rounds",
            "2",
            "--memory",
            "1",
            "--prlx",
            env!("CARGO_BIN_EXE_prlx"),
            "--overhead",
        ])
        .arg(&folder)
        .args(options)
        .arg("--out")
        .arg(&folder)
        .current_dir(ROOT)
        .env("PRLX_LIBCUDA", mock())
        .env("PRLX_ASSEMBLER", "driver")
        .output();
    let Ok(out) = out else {
        crate::tools::skip("no python3");
        return;
    };
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{text}{}", String::from_utf8_lossy(&out.stderr));
    for want in wanted.iter().chain(&["mock device, 2 rounds"]) {
        assert!(text.contains(want), "{want:?} is not in {text}");
    }
    assert!(folder.join("overhead.json").is_file());
}

/// The bundle's script for markers: all forms of its kernels give right results, the seed's scheme leaves the
/// regions that PRLX records, and each form has a row. The script reports a form that leaves other regions.
#[test]
fn the_bundles_script_measures_markers() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("markers");
    let run = |kernels: &Path, options: &str| {
        let out = Command::new("python3")
            .args(["xtask/py/gpu_markers.py", "--small", "--prlx", env!("CARGO_BIN_EXE_prlx"), "--markers"])
            .arg(kernels)
            .args(options.split(' '))
            .arg("--out")
            .arg(&folder)
            .current_dir(ROOT)
            .env("PRLX_LIBCUDA", mock())
            .env("PRLX_ASSEMBLER", "driver")
            .output();
        out.map(|out| {
            let [text, err] = [&out.stdout, &out.stderr].map(|b| String::from_utf8_lossy(b).into_owned());
            (out.status.code(), format!("{text}{err}"))
        })
    };
    let kernels = Path::new(ROOT).join("bench/markers");
    let Ok((code, text)) = run(&kernels, "--device cpu") else {
        crate::tools::skip("no python3");
        return;
    };
    assert_eq!(code, Some(0), "{text}");
    let of: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.join("markers.json")).unwrap()).unwrap();
    for (kernel, passed) in [("loop", [320, 80]), ("gemm", [272, 16]), ("attention", [288, 24])] {
        let forms = of[kernel]["launches"][0]["forms"].as_array().unwrap();
        let form = |name: &str| forms.iter().find(|f| f["form"] == name).unwrap();
        let median = |name: &str| form(name)["median"].as_u64().unwrap();
        // Markers are nothing at all until somebody reads them, and each form costs more than the one before.
        assert_eq!(median(&format!("{kernel}.bare")), median("bare"), "{kernel}");
        assert!(median("bare") < median("sums") && median("sums") < median("records"), "{kernel}");
        assert!(median("bare") < median("spans") && median("spans") < median("records"), "{kernel}");
        assert!(median("records") < median(&format!("{kernel}.seed")), "{kernel}");
        let counts = &form("records")["passed"];
        assert_eq!([&counts["all"], &counts["most"]].map(|n| n.as_i64()), passed.map(Some), "{kernel}");
    }
    let (code, text) = run(&kernels, "--only loop_full --rounds 2").unwrap();
    let rows = [
        "1 kernels in 3 forms: results and regions checked, 0 wrong",
        "| the seed's scheme | ",
        "mock device, 2 rounds",
    ];
    assert!(code == Some(0) && rows.iter().all(|r| text.contains(r)), "{text}");
    // One that records nothing in the seed's place.
    let broken = folder.join("broken");
    std::fs::create_dir_all(&broken).unwrap();
    for entry in std::fs::read_dir(&kernels).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, broken.join(path.file_name().unwrap())).unwrap();
    }
    std::fs::copy(kernels.join("loop.bare.ptx"), broken.join("loop.seed.ptx")).unwrap();
    let (code, text) = run(&broken, "--only loop --rounds 2").unwrap();
    assert!(code == Some(1) && text.contains("1 wrong") && text.contains("WRONG prlx timeline"), "{text}");
}

#[test]
fn probes_keep_what_they_keep_on_the_cpu_device() {
    // A tab is no end of a word here.
    let programs = [
        "branch{@n[line,taken]++;}inst:st.global{@bytes[line]=sum(size);@big[lane]=max(tid.x);}",
        "record\t@r(x:u32)per\twarp\tkeep\t2;inst:ld.global{save\t@r(tid.x);}kernel:end{@t=lhist(tid.x,0,128,32);}",
        "branch-efficiency",
        // Of Neutrino's.
        "-f tests/cases/neutrino/gmem-bytes.toml",
    ];
    for program in programs {
        let of = |device: &str| {
            prlx(&format!("probe {program} examples/threshold/good.toml --json {device}"), &[])
        };
        let (gpu, cpu, hooks) = (of("--device cuda"), of("--device cpu --rewritten"), of("--device cpu"));
        assert_eq!(gpu.0, 0, "{}", gpu.2);
        assert!(gpu.1.contains("prlx-tallies") && gpu.1.contains("\"rows\": [\n        {"), "{}", gpu.1);
        assert_eq!(gpu.1, cpu.1, "{program}");
        assert_eq!(gpu.1, hooks.1, "{program}");
    }
}
