//! C++ names of kernels, demangled.
//!
//! The module stores a kernel under its mangled symbol. Users read, and type, the name that the source has.
//!
//! # Limitations
//! Only the Itanium C++ mangling (`_Z…`) is understood. Names that other languages mangle stay as they are.

use cpp_demangle::{DemangleOptions, Symbol};

/// The C++ name without return type and parameters: `ns::scale<float>` for `_ZN2ns5scaleIfEEvPT_i`.
///
/// Returns `None` if `name` is not a mangled C++ name.
pub fn demangle(name: &str) -> Option<String> {
    demangle_with(name, &DemangleOptions::new().no_params().no_return_type())
}

/// The C++ name with return type and parameters: `void ns::scale<float>(float*, int)`.
///
/// Returns `None` if `name` is not a mangled C++ name.
pub fn demangle_signature(name: &str) -> Option<String> {
    demangle_with(name, &DemangleOptions::new())
}

/// The name that reports show: [`demangle`], or the symbol itself where that fails.
pub fn display_name(name: &str) -> String {
    demangle(name).unwrap_or_else(|| name.to_owned())
}

/// Whether a source file belongs to a compiler or a library, as far as its path shows. Reports name a line of
/// the user's program first.
pub fn is_library_file(path: &str) -> bool {
    let path = path.replace('\\', "/");
    let name = path.rsplit('/').next().unwrap_or(&path);
    let folders = [
        "/usr/include/",
        "/usr/local/cuda",
        "/targets/",
        "site-packages/",
        "dist-packages/",
        "triton/language/",
    ];
    // Builds and tools may keep the bare name of a header.
    let headers =
        ["device_atomic_functions.hpp", "device_functions.hpp", "math_functions.hpp", "standard.py"];
    let families = ["sm_", "cuda_fp", "cuda_bf16", "cooperative_groups"];
    folders.iter().any(|folder| path.contains(folder))
        || headers.contains(&name)
        || (name.ends_with(".hpp") || name.ends_with(".h")) && families.iter().any(|f| name.starts_with(f))
}

fn demangle_with(name: &str, options: &DemangleOptions) -> Option<String> {
    if !name.starts_with("_Z") {
        return None;
    }
    Symbol::new(name).ok()?.demangle_with_options(options).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_libraries_are_known_by_their_paths() {
        for path in [
            "sm_30_intrinsics.hpp",
            "/usr/local/cuda-13.0/bin/../targets/x86_64-linux/include/cuda_fp16.hpp",
            "venv/lib/python3.11/site-packages/triton/language/core.py",
            "C:\\Python\\Lib\\site-packages\\x.py",
            "standard.py",
        ] {
            assert!(is_library_file(path), "{path}");
        }
        for path in ["softmax.py", "src/sm_90/gemm.cu", "sm_copy.cu", "include/tile.hpp", "core.py"] {
            assert!(!is_library_file(path), "{path}");
        }
    }

    #[test]
    fn demangles_with_and_without_the_signature() {
        let name = "_ZN2ns5scaleIfEEvPT_i";
        assert_eq!(display_name(name), "ns::scale<float>");
        assert_eq!(demangle_signature(name).as_deref(), Some("void ns::scale<float>(float*, int)"));
    }

    #[test]
    fn other_names_stay_as_they_are() {
        for name in ["_Znonsense", "scale", "triton_add_0d1d"] {
            assert_eq!(display_name(name), name);
            assert_eq!(demangle(name), None);
        }
    }
}
