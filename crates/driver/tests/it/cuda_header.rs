//! The table of driver calls and codes against NVIDIA's own header, where `cargo xtask setup` has put one.

use crate::nvidia::nvidia;
use prlx_driver::cuda::calls::{
    CALLS, attribute, capture, function, input, jit, launch, node, pointer, stream,
};
use prlx_driver::cuda::error_codes::CODES;

/// `cuda.h`, without comments; `None` where there is none.
fn header() -> Option<String> {
    let mut text = std::fs::read_to_string(nvidia("include/cuda.h")?).unwrap();
    while let Some(from) = text.find("/*") {
        let to = text[from..].find("*/").map_or(text.len(), |n| from + n + 2);
        text.replace_range(from..to, " ");
    }
    Some(text)
}

/// Types that are pointers themselves.
const HANDLES: [&str; 12] = [
    "CUcontext",
    "CUmodule",
    "CUfunction",
    "CUstream",
    "CUevent",
    "CUlibrary",
    "CUkernel",
    "CUlinkState",
    "CUgraph",
    "CUgraphNode",
    "CUgraphExec",
    "CUmemoryPool",
];

/// What a C type is in the table.
fn rust(c: &str) -> String {
    let c = c.replace('*', " * ");
    let words: Vec<&str> = c.split_whitespace().collect();
    // The last word is the argument's name.
    let constant = words.first() == Some(&"const");
    let stars = words.iter().filter(|w| **w == "*").count();
    let base: Vec<&str> = words.iter().copied().filter(|w| *w != "*" && *w != "const").collect();
    let base = base[..base.len() - 1].join(" ");
    let named = base.clone();
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
        "CUDA_KERNEL_NODE_PARAMS" | "CUDA_KERNEL_NODE_PARAMS_v1" => ("KernelNodeParams", stars),
        "CUDA_LAUNCH_PARAMS" => ("DeviceLaunch", stars),
        "CUgraphNodeParams" => ("NodeParams", stars),
        "CUDA_GRAPH_INSTANTIATE_PARAMS" => ("InstantiateParams", stars),
        "CUgraphExecUpdateResultInfo" => ("UpdateResult", stars),
        "CUgraphEdgeData" => ("c_void", stars),
        "unsigned long long" => ("u64", stars),
        "CUdevice_attribute"
        | "CUfunction_attribute"
        | "CUjit_option"
        | "CUlibraryOption"
        | "CUjitInputType" => ("i32", stars),
        "CUstreamCaptureMode" | "CUstreamCaptureStatus" | "CUgraphNodeType" | "CUgraphExecUpdateResult" => {
            ("i32", stars)
        }
        "CUkernelNodeAttrValue" => ("c_void", stars),
        "CUkernelNodeAttrID" | "CUpointer_attribute" => ("i32", stars),
        "CUdriverProcAddressQueryResult" | "CUlimit" => ("i32", stars),
        other if other.starts_with("CUtensorMap") => ("i32", stars),
        handle if HANDLES.contains(&handle) => ("c_void", stars + 1),
        other => panic!("`{other}` is not known to this test"),
    };
    let mut text = base.to_owned();
    // `const` before a handle's name makes constant what the outer pointer points to.
    let inner = if HANDLES.contains(&named.as_str()) { 1 } else { 0 };
    for i in 0..stars {
        text = format!("*{} {text}", if constant && i == inner { "const" } else { "mut" });
    }
    text
}

#[test]
fn every_call_is_as_the_header_says() {
    let Some(header) = header() else { return };
    // `#define cuMemAlloc cuMemAlloc_v2`, `#define cuLaunchKernel __CUDA_API_PTSZ(cuLaunchKernel)`: the
    // header's name for a symbol.
    let symbol = |word: &'static str| {
        let inner = word.strip_prefix("__CUDA_API_PTSZ(").or_else(|| word.strip_prefix("__CUDA_API_PTDS("));
        inner.map_or(word, |w| w.trim_end_matches(')'))
    };
    let header: &'static str = header.replace("CUDAAPI\n", "CUDAAPI ").leak();
    let defines: Vec<(&str, &str)> = header
        .lines()
        .filter_map(|l| l.trim().strip_prefix("#define"))
        .filter_map(|l| Some((symbol(l.split_whitespace().nth(1)?), l.split_whitespace().next()?)))
        .collect();
    for call in CALLS {
        let own = call.name.trim_end_matches("_ptsz");
        let name = defines.iter().find(|d| d.0 == own).map_or(own, |d| d.1);
        // A name that the header gives to a later call has its own declaration at the end, for those who want
        // the old one.
        let old = name == own && defines.iter().any(|d| d.1 == own && d.0 != own);
        let declared = format!("CUresult CUDAAPI {name}(");
        let at = if old { header.rfind(&declared) } else { header.find(&declared) };
        let at = at.unwrap_or_else(|| panic!("no {name}"));
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
        let text = text.trim_start_matches("0x");
        text[..text.find(|c: char| !c.is_ascii_digit()).unwrap()].parse().unwrap()
    };
    for code in CODES {
        assert_eq!(value(&format!("CUDA_ERROR_{}", code.name)), code.code, "{}", code.name);
    }
    for (name, ours) in [
        ("CU_DEVICE_ATTRIBUTE_WARP_SIZE", attribute::WARP_SIZE),
        ("CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT", attribute::PROCESSORS),
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
        ("CU_JIT_MAX_REGISTERS", jit::MAX_REGISTERS),
        ("CU_JIT_OPTIMIZATION_LEVEL", jit::OPTIMIZATION),
        ("CU_JIT_GENERATE_DEBUG_INFO", jit::DEBUG),
        ("CU_JIT_INPUT_PTX", input::PTX),
        ("CU_JIT_INPUT_FATBINARY", input::FATBIN),
        ("CU_LAUNCH_ATTRIBUTE_IGNORE", launch::IGNORE),
        ("CU_LAUNCH_ATTRIBUTE_COOPERATIVE", launch::COOPERATIVE),
        ("CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION", launch::CLUSTER_DIMENSION),
        ("CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION", launch::PROGRAMMATIC),
        ("CU_LAUNCH_ATTRIBUTE_PRIORITY", launch::PRIORITY),
        ("CU_POINTER_ATTRIBUTE_MEMORY_TYPE", pointer::MEMORY_TYPE),
        ("CU_MEMORYTYPE_DEVICE", pointer::DEVICE as i32),
        ("CU_POINTER_ATTRIBUTE_IS_MANAGED", pointer::IS_MANAGED),
        ("CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL", pointer::DEVICE_ORDINAL),
        ("CU_POINTER_ATTRIBUTE_RANGE_START_ADDR", pointer::RANGE_START),
        ("CU_POINTER_ATTRIBUTE_RANGE_SIZE", pointer::RANGE_SIZE),
        ("CU_POINTER_ATTRIBUTE_MAPPED", pointer::MAPPED),
        ("CU_POINTER_ATTRIBUTE_ACCESS_FLAGS", pointer::ACCESS_FLAGS),
        ("CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ", pointer::READ as i32),
        ("CU_POINTER_ATTRIBUTE_MAPPING_SIZE", pointer::MAPPING_SIZE),
        ("CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR", pointer::MAPPING_START),
        ("CU_STREAM_NON_BLOCKING", stream::NON_BLOCKING as i32),
        ("CU_STREAM_CAPTURE_MODE_GLOBAL", capture::GLOBAL),
        ("CU_STREAM_CAPTURE_MODE_THREAD_LOCAL", capture::THREAD_LOCAL),
        ("CU_STREAM_CAPTURE_MODE_RELAXED", capture::RELAXED),
        ("CU_STREAM_CAPTURE_STATUS_INVALIDATED", capture::STATUS[2]),
        ("CU_GRAPH_NODE_TYPE_KERNEL", node::KERNEL),
        ("CU_GRAPH_NODE_TYPE_MEMCPY", node::COPY),
        ("CU_GRAPH_NODE_TYPE_MEMSET", node::FILL),
        ("CU_GRAPH_NODE_TYPE_GRAPH", node::GRAPH),
        ("CU_GRAPH_NODE_TYPE_EMPTY", node::EMPTY),
    ] {
        assert_eq!(value(name), ours, "{name}");
    }
}
