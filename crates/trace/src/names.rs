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
