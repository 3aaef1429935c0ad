//! The table of driver calls and codes against NVIDIA's own header, where `cargo xtask setup` has put one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prlx_driver::cuda::calls::{CALLS, CLUSTER_DIMENSION, attribute, function, jit};
use prlx_driver::cuda::code::CODES;

/// `cuda.h`, without comments; `None` where there is none.
fn header() -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let venv = std::env::var_os("PRLX_VENV").map_or_else(|| root.join(".venv"), PathBuf::from);
    let folders = std::fs::read_dir(venv.join("lib")).ok()?.flatten();
    let file = folders.map(|e| e.path().join("site-packages/nvidia/cu13/include/cuda.h")).find(|p| p.is_file());
    let Some(file) = file else {
        eprintln!("skipped: no cuda.h; `cargo xtask setup` installs it");
        return None;
    };
    let mut text = std::fs::read_to_string(file).unwrap();
    while let Some(from) = text.find("/*") {
        let to = text[from..].find("*/").map_or(text.len(), |n| from + n + 2);
        text.replace_range(from..to, " ");
    }
    Some(text)
}

/// What a C type is in the table.
fn rust(c: &str) -> String {
    let c = c.replace('*', " * ");
    let words: Vec<&str> = c.split_whitespace().collect();
    // The last word is the argument's name.
    let constant = words.first() == Some(&"const");
    let stars = words.iter().filter(|w| **w == "*").count();
    let base: Vec<&str> = words.iter().copied().filter(|w| *w != "*" && *w != "const").collect();
    let base = base[..base.len() - 1].join(" ");
    let (base, stars) = match base.as_str() {
        "int" | "CUdevice" | "CUresult" => ("i32", stars),
        "unsigned int" => ("u32", stars),
        "unsigned char" => ("u8", stars),
        "size_t" => ("usize", stars),
        "float" => ("f32", stars),
        "char" => ("c_char", stars),
        "cuuint32_t" => ("u32", stars),
        "cuuint64_t" => ("u64", stars),
        "void" | "CUtensorMap" => ("c_void", stars),
        "CUdeviceptr" => ("u64", stars),
        "CUlaunchConfig" => ("LaunchConfig", stars),
        "CUcontext" | "CUmodule" | "CUfunction" | "CUstream" | "CUevent" => ("c_void", stars + 1),
        "CUdevice_attribute" | "CUfunction_attribute" | "CUjit_option" | "CUstreamCaptureMode" => ("i32", stars),
        other if other.starts_with("CUtensorMap") => ("i32", stars),
        other => panic!("`{other}` is not known to this test"),
    };
    let mut text = base.to_owned();
    for i in 0..stars {
        text = format!("*{} {text}", if constant && i == 0 { "const" } else { "mut" });
    }
    text
}

#[test]
fn every_call_is_as_the_header_says() {
    let Some(header) = header() else { return };
    // `#define cuMemAlloc cuMemAlloc_v2`: the header's name for a symbol.
    let defines: BTreeMap<&str, &str> = header
        .lines()
        .filter_map(|l| l.trim().strip_prefix("#define"))
        .filter_map(|l| Some((l.split_whitespace().nth(1)?, l.split_whitespace().next()?)))
        .collect();
    for call in CALLS {
        let name = defines.get(call.name).copied().unwrap_or(call.name);
        // `cuEventElapsedTime` is asked for by its first name, which has the same arguments.
        let at = header.find(&format!("CUresult CUDAAPI {name}(")).unwrap_or_else(|| panic!("no {name}"));
        let from = at + header[at..].find('(').unwrap() + 1;
        let text = &header[from..from + header[from..].find(')').unwrap()];
        let wanted: Vec<String> =
            text.split(',').map(str::trim).filter(|a| !a.is_empty() && *a != "void").map(rust).collect();
        // How tokens are spaced is the compiler's choice.
        let plain = |t: &str| {
            let tight: String = t.split_whitespace().collect();
            ["$crate::cuda::calls::", "crate::cuda::calls::", "::core::ffi::"]
                .iter()
                .fold(tight, |t, p| t.replace(p, ""))
        };
        let got: Vec<String> = call.arguments.iter().map(|a| plain(a)).collect();
        let wanted: Vec<String> = wanted.iter().map(|a| plain(a)).collect();
        assert_eq!(got, wanted, "{}", call.name);
    }
}

#[test]
fn every_number_is_the_headers() {
    let Some(header) = header() else { return };
    let value = |name: &str| -> i32 {
        let at = header.match_indices(name).map(|(at, _)| &header[at + name.len()..]);
        let after = at.map(str::trim_start).find_map(|t| t.strip_prefix('='));
        let text = after.unwrap_or_else(|| panic!("no {name}")).trim_start();
        text[..text.find(|c: char| !c.is_ascii_digit()).unwrap()].parse().unwrap()
    };
    for code in CODES {
        assert_eq!(value(&format!("CUDA_ERROR_{}", code.name)), code.code, "{}", code.name);
    }
    for (name, ours) in [
        ("CU_DEVICE_ATTRIBUTE_WARP_SIZE", attribute::WARP_SIZE),
        ("CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR", attribute::MAJOR),
        ("CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR", attribute::MINOR),
        ("CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", attribute::MAX_SHARED_OPTIN),
        ("CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK", function::MAX_THREADS),
        ("CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES", function::SHARED),
        ("CU_FUNC_ATTRIBUTE_NUM_REGS", function::REGISTERS),
        ("CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES", function::MAX_DYNAMIC_SHARED),
        ("CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED", function::NON_PORTABLE_CLUSTER),
        ("CU_JIT_ERROR_LOG_BUFFER", jit::ERROR_LOG),
        ("CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES", jit::ERROR_LOG_SIZE),
        ("CU_JIT_GENERATE_LINE_INFO", jit::LINE_INFO),
        ("CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION", CLUSTER_DIMENSION),
    ] {
        assert_eq!(value(name), ours, "{name}");
    }
}
