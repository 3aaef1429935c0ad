//! Patterns for kernel names: `gemm*`, `ns::softmax`, `/regular expression/`.
//!
//! # Invariants
//! A pattern is tried on the name in the module and on three demangled forms: the whole C++ signature, the
//! name without return type and parameters, and the name without template arguments as well. Blanks behind
//! commas mean nothing.
//!
//! # Limitations
//! Only C++ names are demangled.

use prlx_trace::names::{demangle, demangle_signature, spellings, unspaced};
use regex::{Regex, RegexBuilder};

/// Maximum size of a compiled expression in bytes.
const SIZE: usize = 1 << 20;

/// A pattern for kernel names.
#[derive(Clone, Debug)]
pub struct KernelPattern {
    text: String,
    regex: Regex,
}

impl KernelPattern {
    /// Parses a pattern. `*` stands for any text and `?` for one character. Text between two `/` is a regular
    /// expression that must match somewhere in the name.
    ///
    /// # Errors
    /// If the regular expression is not valid. The text says why.
    pub fn new(text: &str) -> Result<KernelPattern, String> {
        let inner = text.strip_prefix('/').and_then(|t| t.strip_suffix('/'));
        let expression = match inner {
            Some(inner) => inner.to_owned(),
            None => {
                let text = regex::escape(&unspaced(text));
                format!("^{}$", text.replace("\\*", ".*").replace("\\?", "."))
            }
        };
        let regex = RegexBuilder::new(&expression).size_limit(SIZE).dot_matches_new_line(true).build();
        let regex = regex.map_err(|e| format!("`{text}`: {e}"))?;
        Ok(KernelPattern { text: text.to_owned(), regex })
    }
    /// A pattern that only the text itself matches.
    ///
    /// # Errors
    /// If the text is too long.
    pub fn exact(text: &str) -> Result<KernelPattern, String> {
        KernelPattern::new(&format!("/^{}$/", regex::escape(&unspaced(text))))
    }
    /// The pattern as the user wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }
    /// Whether the pattern matches a kernel with this name in its module.
    pub fn matches(&self, name: &str) -> bool {
        // A regular expression may ask for the blanks behind commas.
        let spaced = || [demangle(name), demangle_signature(name)].into_iter().flatten();
        self.regex.is_match(name)
            || spellings(name).iter().any(|n| self.regex.is_match(n))
            || spaced().any(|n| self.regex.is_match(&n))
    }
}

impl PartialEq for KernelPattern {
    fn eq(&self, other: &KernelPattern) -> bool {
        self.text == other.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_tried_in_every_form() {
        // void ns::scale<float>(float*, int)
        let name = "_ZN2ns5scaleIfEEvPT_i";
        for pattern in [
            name,
            "ns::scale",
            "ns::scale<float>",
            "ns::*",
            "*scale*",
            "/sc.le/",
            "/float\\*, int/",
            "_ZN2ns*",
        ] {
            assert!(KernelPattern::new(pattern).unwrap().matches(name), "{pattern}");
        }
        for pattern in ["scale", "ns::scal", "ns::scale<double>", "/^scale/", "", "ns::scale?"] {
            assert!(!KernelPattern::new(pattern).unwrap().matches(name), "{pattern}");
        }
        assert!(KernelPattern::new("triton_*_0d1d").unwrap().matches("triton_add_0d1d"));
        assert!(!KernelPattern::new("a.c").unwrap().matches("abc"));
    }

    #[test]
    fn blanks_behind_commas_mean_nothing() {
        // void ns::pair<float, 3>(float*)
        let name = "_ZN2ns4pairIfLi3EEEvPT_";
        for pattern in ["ns::pair<float, 3>", "ns::pair<float,3>", "ns::pair<float, *>"] {
            assert!(KernelPattern::new(pattern).unwrap().matches(name), "{pattern}");
            let exact = KernelPattern::exact(pattern).unwrap().matches(name);
            assert_eq!(exact, !pattern.contains('*'), "{pattern}");
        }
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        assert!(KernelPattern::new("/(/").unwrap_err().starts_with("`/(/`: "));
        assert!(KernelPattern::new("/(a{1000}){1000}/").is_err());
        assert!(KernelPattern::new("(").unwrap().matches("("));
    }
}
