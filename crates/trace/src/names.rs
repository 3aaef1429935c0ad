//! C++ names of kernels, demangled.
//!
//! The module stores a kernel under its mangled symbol. Users read, and type, the name that the source has.
//!
//! # Limitations
//! Only the Itanium C++ mangling (`_Z…`) is understood. Names that other languages mangle stay as they are.

use std::collections::{BTreeMap, BTreeSet};

use cpp_demangle::{DemangleOptions, Symbol};

use crate::LocId;
use crate::kernel::{Loc, Module};

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

/// The name that reports show, without the tags of Numba: [`demangle`], or the symbol itself where that
/// fails.
pub fn display_name(name: &str) -> String {
    let shown = demangle(name).unwrap_or_else(|| name.to_owned());
    match shown.find(NUMBA_VERSION) {
        Some(at) if is_numba(name) => shown[..at].to_owned(),
        _ => shown,
    }
}

/// The first tag of Numba, of which the number follows.
const NUMBA_VERSION: &str = "[abi:v";

/// Whether the symbol of a kernel is one of Numba: it has the tags `v1` with a number of the compilation and,
/// in newer versions, `c…` with options of the compiler, or else the name of the CUDA target.
pub fn is_numba(name: &str) -> bool {
    let tagged = || {
        let shown = demangle(name)?;
        let (number, rest) = shown.split_once(NUMBA_VERSION)?.1.split_once(']')?;
        Some(number.bytes().all(|b| b.is_ascii_digit()) && (rest.is_empty() || rest.starts_with("[abi:c")))
    };
    name.contains("cudapy") || tagged().unwrap_or(false)
}

/// The names that users write for a symbol: the symbol, its whole C++ signature, that without the return
/// type, [`demangle`], and that without template arguments. Blanks behind commas are left out, as some users
/// write them and others do not.
pub fn spellings(name: &str) -> Vec<String> {
    let mut all = vec![name.to_owned()];
    if let (Some(whole), Some(short)) = (demangle_signature(name), demangle(name)) {
        let bare = short.split('<').next().unwrap_or_default().to_owned();
        let called = demangle_with(name, &DemangleOptions::new().no_return_type()).unwrap_or_default();
        all.extend([whole, called, short, bare]);
    }
    all.iter_mut().for_each(|name| *name = unspaced(name));
    all.dedup();
    all
}

/// A name or a pattern for names, without the blanks behind commas.
pub fn unspaced(name: &str) -> String {
    name.replace(", ", ",")
}

/// [`display_name`] of each symbol; the whole signature of those that would be shown alike.
pub fn display_names<'n>(symbols: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let symbols: Vec<&str> = symbols.into_iter().collect();
    let mut of: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for symbol in &symbols {
        of.entry(display_name(symbol)).or_default().insert(symbol);
    }
    let name = |symbol: &&str| {
        let short = display_name(symbol);
        let alone = of.get(&short).is_none_or(|alike| alike.len() < 2);
        if alone { short } else { demangle_signature(symbol).unwrap_or(short) }
    };
    symbols.iter().map(name).collect()
}

/// The file name of a source file's path, whichever system wrote the path.
pub fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Whether a source file belongs to a compiler or a library, as far as its path shows. Reports name a line of
/// the user's program first.
pub fn is_library_file(path: &str) -> bool {
    let parts = parts(path);
    // Builds and tools may keep the bare name of a header.
    let headers =
        ["device_atomic_functions.hpp", "device_functions.hpp", "math_functions.hpp", "standard.py"];
    let families = ["sm_", "cuda_fp", "cuda_bf16", "cooperative_groups"];
    let name = parts.last().copied().unwrap_or_default();
    is_compiler_file(path)
        || parts
            .windows(2)
            .any(|pair| matches!(pair, ["usr", "include"] | ["site-packages" | "dist-packages", _]))
        || headers.contains(&name)
        || (name.ends_with(".hpp") || name.ends_with(".h")) && families.iter().any(|f| name.starts_with(f))
}

/// Whether a source file belongs to a compiler, as far as its path shows: another version of the compiler
/// changes it, but no edit of a program does. nvcc names the folder of its headers from that of its programs,
/// as `bin/../include`. Other compilers use `lib/clang/19/include` and `cuda-13.0/include`. Triton's
/// functions are in `triton/language`.
pub fn is_compiler_file(path: &str) -> bool {
    let parts = parts(path);
    let toolkit = |pair: &[&str]| match pair {
        ["bin", ".."] | ["lib", "clang"] => true,
        [folder, "include" | "targets"] => folder.starts_with("cuda"),
        _ => false,
    };
    let headers = parts.contains(&"include") && parts.windows(2).any(toolkit);
    headers || parts.windows(2).any(|pair| pair == ["triton", "language"])
}

/// Folders and file of a path, of either notation.
fn parts(path: &str) -> Vec<&str> {
    path.split(['/', '\\']).filter(|part| !part.is_empty()).collect()
}

/// The user's own line for a location of a module: the location, or the innermost call around it that lies
/// outside of libraries. If all of them lie in libraries, the location itself. `None` if there is no such
/// location.
pub fn own_line(module: &Module, at: LocId) -> Option<&Loc> {
    let of = |id: LocId| module.locs.get(id.index());
    // A damaged module may have locations that are inlined in each other.
    let mut chain =
        std::iter::successors(of(at), |l| l.inlined_at.and_then(of)).take(module.locs.len().min(64));
    let library = |l: &Loc| module.files.get(l.file.index()).is_some_and(|f| is_library_file(&f.path));
    chain.find(|l| !library(l)).or_else(|| of(at))
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
    use crate::FileId;
    use crate::kernel::SourceFile;

    #[test]
    fn numba_s_tags_are_not_shown() {
        let name = "_ZN8__main__4scanB2v1B106cw51cXTLSUwv1sDUaKthqaNgoKmjgMVuW1AiA8rAEg2UjxRKtuAIAMYDWpKAqkSkPiQB\
                    1BQFk0DyoW21Oizc1a0UoPGnDpQE8oxrNQE_3dE5ArrayIfLi1E1C7mutable7alignedE";
        assert!(is_numba(name) && !is_numba("_ZN2ns5scaleIfEEvPT_i") && !is_numba("scan"));
        assert_eq!(display_name(name), "__main__::scan");
        assert!(display_name("_Z4scanB5cxx11v").contains("cxx11"));
    }

    #[test]
    fn files_of_libraries_are_known_by_their_paths() {
        for path in [
            "sm_30_intrinsics.hpp",
            "/usr/local/cuda-13.0/bin/../targets/x86_64-linux/include/cuda_fp16.hpp",
            "venv/lib/python3.11/site-packages/triton/language/core.py",
            "C:\\Python\\Lib\\site-packages\\x.py",
            "standard.py",
            "/opt/cu13/bin/..//include/sm_30_intrinsics.hpp",
            "/opt/cu13/bin/../targets/x86_64-linux/include/cccl/cub/warp.cuh",
            "/usr/local/cuda-13.0/include/vector_types.hpp",
            "/usr/lib/clang/19/include/__clang_cuda_intrinsics.h",
            "/usr/include/c++/12/cmath",
        ] {
            assert!(is_library_file(path), "{path}");
        }
        for path in [
            "softmax.py",
            "src/sm_90/gemm.cu",
            "sm_copy.cu",
            "include/tile.hpp",
            "core.py",
            "/home/me/cuda-tests/src/include/tile.cuh",
        ] {
            assert!(!is_library_file(path), "{path}");
        }
        assert!(is_compiler_file("/usr/local/cuda-13.0/include/vector_types.hpp"));
        assert!(!is_compiler_file("venv/lib/site-packages/flash/kernel.py"));
    }

    #[test]
    fn the_own_line_is_the_innermost_outside_of_libraries() {
        let file = |path: &str| SourceFile { path: path.to_owned(), text: None };
        let loc = |file, inlined_at| Loc { file: FileId(file), inlined_at, ..Loc::default() };
        let module = Module {
            files: vec![file("a.cu"), file("/usr/include/lib.h")],
            // The last two are inlined in each other, as only a damaged module says.
            locs: vec![
                loc(0, None),
                loc(0, Some(LocId(0))),
                loc(1, Some(LocId(1))),
                loc(1, Some(LocId(2))),
                loc(1, None),
                loc(1, Some(LocId(6))),
                loc(1, Some(LocId(5))),
            ],
            ..Module::default()
        };
        let own =
            |n: u32| own_line(&module, LocId(n)).map(|l| module.locs.iter().position(|m| std::ptr::eq(l, m)));
        let own = |n: u32| own(n).flatten();
        assert_eq!([0, 1, 2, 3, 4, 5].map(own), [0, 1, 1, 1, 4, 5].map(Some));
        assert_eq!(own(9), None);
    }

    #[test]
    fn demangles_with_and_without_the_signature() {
        let name = "_ZN2ns5scaleIfEEvPT_i";
        assert_eq!(display_name(name), "ns::scale<float>");
        assert_eq!(demangle_signature(name).as_deref(), Some("void ns::scale<float>(float*, int)"));
    }

    #[test]
    fn names_that_would_be_shown_alike_have_their_signatures() {
        // ns::scale<float>(float*, int), f(float*), f(int*) and a C name
        let symbols = ["_ZN2ns5scaleIfEEvPT_i", "_Z1fPf", "_Z1fPi", "f2", "_Z1fPf"];
        let names = display_names(symbols);
        assert_eq!(names, ["ns::scale<float>", "f(float*)", "f(int*)", "f2", "f(float*)"]);
    }

    #[test]
    fn a_symbol_can_be_written_in_several_ways() {
        let all = spellings("_ZN2ns4pairIfLi3EEEvPT_i");
        let want = ["_ZN2ns4pairIfLi3EEEvPT_i", "void ns::pair<float,3>(float*,int)"];
        let short = ["ns::pair<float,3>(float*,int)", "ns::pair<float,3>", "ns::pair"];
        assert_eq!(all, [&want[..], &short[..]].concat());
        assert_eq!(spellings("scale"), ["scale"]);
    }

    #[test]
    fn other_names_stay_as_they_are() {
        for name in ["_Znonsense", "scale", "triton_add_0d1d"] {
            assert_eq!(display_name(name), name);
            assert_eq!(demangle(name), None);
        }
    }
}
