//! Finds the names that a kernel's parameters have in its CUDA source. nvcc numbers them in PTX.
//!
//! # Invariants
//! - There are as many names as the kernel has parameters, and no two are equal.
//! - If a file declares several kernels of one name with as many parameters, they agree on the names.
//!
//! # Limitations
//! - The source is not preprocessed: a parameter list that a macro writes is not found, and of alternatives
//!   in `#if` all count.
//! - The file is read as it is now. If it was edited after it was compiled, names can be of the new text.

use std::collections::BTreeSet;

use prlx_isa::view::{Loc, LocId, Module};
use prlx_trace::names::display_name;

/// Calls around an inlined instruction that are followed.
const MAX_CALLS: usize = 64;

/// The names of the `count` parameters of a kernel of PTX, in order. `file` returns the text of a source
/// file by the path of the debug information. `None` without debug information, without the file, or if the
/// file does not tell.
pub fn source_names(
    module: &Module,
    kernel: &str,
    count: usize,
    file: &dyn Fn(&str) -> Option<String>,
) -> Option<Vec<String>> {
    let function = module.function(kernel)?;
    let of = |id: LocId| module.locs.get(id.index());
    let first = function.insts.iter().find_map(|i| of(i.loc?))?;
    let calls = std::iter::successors(Some(first), |l: &&Loc| l.inlined_at.and_then(of));
    let path = &module.files.get(calls.take(MAX_CALLS).last()?.file as usize)?.path;
    parameter_names(&file(path)?, kernel, count)
}

/// The names of the parameters of `kernel`, by its name in PTX, in CUDA source.
fn parameter_names(source: &str, kernel: &str, count: usize) -> Option<Vec<String>> {
    let shown = display_name(kernel);
    let name = shown.split('<').next()?.rsplit("::").next()?;
    let tokens = tokens(source);
    let declared = |at: &usize| {
        let before = tokens[..*at].iter().rev().take_while(|t| !matches!(**t, ";" | "{" | "}"));
        tokens[*at] == name
            && tokens.get(at + 1) == Some(&"(")
            && before.into_iter().any(|t| *t == "__global__")
    };
    let lists = (0..tokens.len()).filter(declared).filter_map(|at| list(&tokens[at + 2..]));
    let fits =
        |names: &Vec<String>| names.len() == count && names.iter().collect::<BTreeSet<_>>().len() == count;
    let mut all: Vec<Vec<String>> = lists.filter(fits).collect();
    all.dedup();
    if all.len() == 1 { all.pop() } else { None }
}

/// The names in a list of parameters, from behind its opening parenthesis. `None` if one has no name.
fn list(tokens: &[&str]) -> Option<Vec<String>> {
    let (mut depth, mut begin, mut names) = (0, 0, Vec::new());
    for (i, token) in tokens.iter().enumerate() {
        match *token {
            ")" if depth == 0 => {
                let last = &tokens[begin..i];
                if !(names.is_empty() && matches!(last, [] | ["void"])) {
                    names.push(name(last)?);
                }
                return Some(names);
            }
            "," if depth == 0 => {
                names.push(name(&tokens[begin..i])?);
                begin = i + 1;
            }
            "(" | "[" | "{" | "<" => depth += 1,
            ")" | "]" | "}" | ">" => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The name of a parameter: the last word of its declaration, before array bounds and a default.
fn name(declaration: &[&str]) -> Option<String> {
    let mut words = declaration.split(|t| *t == "=").next()?;
    while words.last() == Some(&"]") {
        words = &words[..words.iter().rposition(|t| *t == "[")?];
    }
    let (last, ty) = words.split_last()?;
    let is_type = ["bool", "char", "const", "double", "float", "int", "long", "short", "signed", "unsigned"];
    let named = last.starts_with(|c: char| c.is_alphabetic() || c == '_') && !is_type.contains(last);
    (named && !ty.is_empty()).then(|| (*last).to_owned())
}

/// The words and other characters of C++ source, without comments, texts and numbers.
fn tokens(source: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let word = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let end = match c {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest[2..].find("*/").map_or(rest.len(), |at| at + 4),
            '"' | '\'' => quoted_end(rest, c),
            _ => word.max(c.len_utf8()),
        };
        let (token, after) = rest.split_at(end);
        let text = c.is_whitespace() || matches!(c, '"' | '\'' | '0'..='9') || c == '/' && end > 1;
        if !text {
            out.push(token);
        }
        rest = after;
    }
    out
}

/// The length of the quoted text that `rest` begins with.
fn quoted_end(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (i, c) in rest.char_indices().skip(1) {
        match c {
            '\n' => return i,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return i + 1,
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_declaration() {
        let source = r#"
            // __global__ void k(int wrong, int comment);
            __device__ float k(float a, float b);
            static const char *s = "__global__ void k(int in, int text)";
            template <typename T, int N = (1 > 0)>
            __global__ void __launch_bounds__(256, 2)
            k(const T *__restrict__ in /* (a, b) */, float (&tile)[4], std::array<int, 4> shape,
              int n = max(1, 2));
            namespace ns { extern "C" __global__ void none(void) {} }
            __global__ void rows(float out[][4], unsigned n) { k(out, n, n, n); }
            __global__ void unnamed(float *, unsigned int);
        "#;
        let names = |kernel, count| parameter_names(source, kernel, count).map(|n| n.join(" "));
        // The name of a reference to an array stands in parentheses.
        assert_eq!(names("k", 4), None);
        let plain = source.replace("float (&tile)[4]", "float *tile");
        assert_eq!(parameter_names(&plain, "k", 4).map(|n| n.join(" ")).as_deref(), Some("in tile shape n"));
        assert_eq!(parameter_names(&plain, "k", 3), None, "as many as the kernel has");
        assert_eq!(names("none", 0).as_deref(), Some(""));
        assert_eq!(names("_Z4rowsPA4_fj", 2).as_deref(), Some("out n"));
        assert_eq!(names("unnamed", 2), None);
        assert_eq!(names("other", 2), None);
    }

    #[test]
    fn declarations_that_disagree_give_no_names() {
        let twice =
            |b: &str| format!("__global__ void k(int a, int b); __global__ void k(int a, int {b}) {{}}");
        assert_eq!(parameter_names(&twice("b"), "k", 2), Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(parameter_names(&twice("c"), "k", 2), None);
        assert_eq!(parameter_names(&twice("a"), "k", 2), Some(vec!["a".to_owned(), "b".to_owned()]));
        for cut in ["__global__ void k(int a", "__global__ void k(", "\"", "/*", "'\\"] {
            assert_eq!(parameter_names(cut, "k", 1), None);
        }
    }
}
