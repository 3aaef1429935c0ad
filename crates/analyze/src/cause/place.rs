//! Places in the code as reports show them.

use prlx_trace::check::{Place, SourceLine};

use crate::report::{CausePlace, Location};

/// A place in the code, without a thread.
pub(super) fn place_of(place: &Place) -> CausePlace {
    // Lines of libraries say little: the user's own line is the innermost whose text could be read.
    let own = |l: &&SourceLine| !is_library(&l.file);
    let known = place.source.iter().position(|l| own(&l) && l.text.is_some());
    let own = known.or_else(|| place.source.iter().position(|l| own(&l))).unwrap_or(0);
    let mut lines = place.source.iter().skip(own).map(|l| Location {
        file: l.file.clone(),
        line: l.line,
        column: l.column,
        function: l.function.clone(),
        code: l.text.clone(),
        inlined: Vec::new(),
    });
    let location = lines.next().map(|first| Location { inlined: lines.collect(), ..first });
    CausePlace {
        text: place.instruction.clone(),
        location,
        function: place.function.clone(),
        module_line: place.module_line,
        ..CausePlace::default()
    }
}

/// Whether a file belongs to the compiler: nvcc names the folder of its headers from that of its programs, as
/// `bin/../include`. Other compilers use `lib/clang/19/include` and `cuda-13.0/include`. Triton's functions
/// are in `triton/language`.
pub(super) fn is_library(path: &str) -> bool {
    let path = path.replace('\\', "/");
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let toolkit = |pair: &[&str]| match pair {
        ["bin", ".."] | ["lib", "clang"] => true,
        [folder, "include" | "targets"] => folder.starts_with("cuda"),
        _ => false,
    };
    let headers = parts.contains(&"include") && parts.windows(2).any(toolkit);
    headers || parts.windows(2).any(|pair| pair == ["triton", "language"])
}

#[cfg(test)]
mod tests {
    use super::is_library;

    #[test]
    fn headers_of_compilers_are_libraries() {
        assert!(is_library("/opt/cu13/bin/..//include/sm_30_intrinsics.hpp"));
        assert!(is_library("/opt/cu13/bin/../targets/x86_64-linux/include/cccl/cub/warp.cuh"));
        assert!(is_library("/usr/local/cuda-13.0/include/sm_20_atomic_functions.hpp"));
        assert!(is_library("/usr/lib/clang/19/include/__clang_cuda_intrinsics.h"));
        assert!(is_library("/opt/venv/site-packages/triton/language/standard.py"));
        assert!(!is_library("/home/me/cuda-tests/src/include/tile.cuh"));
        assert!(!is_library("/home/me/include/tile.cuh"));
        assert!(!is_library("k.cu"));
    }
}
