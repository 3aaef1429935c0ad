//! Name patterns with `*` and `?`.

use prlx_trace::names::{spellings, unspaced};

/// Whether the symbol `name` of a function matches one of `patterns`; no patterns take all.
pub fn any(patterns: &[String], name: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|p| symbol(p, name))
}

/// Whether the symbol `name` of a function matches, in one of the ways in which users write it: mangled, or
/// as the source has it, with or without parameters and template arguments.
pub fn symbol(pattern: &str, name: &str) -> bool {
    let of = |pattern: &str, name: &str| matches(pattern.as_bytes(), name.as_bytes());
    of(pattern, name) || {
        let pattern = unspaced(pattern);
        spellings(name).iter().any(|name| of(&pattern, name))
    }
}

/// Whether all of `name` matches: `*` is any text, `?` any one byte.
pub fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    // Where to try again: just after the last star, which then takes one byte more.
    let mut again: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                again = Some((p + 1, n + 1));
                p += 1;
            }
            Some(c) if *c == b'?' || *c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match again {
                Some((after, from)) => {
                    (p, n) = (after, from);
                    again = Some((after, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

#[cfg(test)]
mod tests {
    use super::{matches, symbol};

    #[test]
    fn symbols_match_as_the_source_writes_them() {
        // void ns::pair<float, 3>(float*, int)
        let name = "_ZN2ns4pairIfLi3EEEvPT_i";
        for pattern in [name, "ns::pair", "ns::pair<float, 3>", "ns::pair<float,3>", "*pair*", "ns::p?ir"] {
            assert!(symbol(pattern, name), "{pattern}");
        }
        for pattern in ["pair", "ns::pair<int, 3>", "ns::pai", ""] {
            assert!(!symbol(pattern, name), "{pattern}");
        }
        assert!(symbol("a_*", "a_b") && !symbol("b", "a_b"));
    }

    #[test]
    fn stars_and_question_marks() {
        let yes = [
            ("*", ""),
            ("", ""),
            ("a*c", "abbc"),
            ("a?c", "abc"),
            ("*_kernel*", "my_kernel_2"),
            ("**x", "x"),
        ];
        let no = [("?", ""), ("a*c", "abd"), ("a", "ab"), ("", "a"), ("*a*b", "bba")];
        assert!(yes.iter().all(|(p, n)| matches(p.as_bytes(), n.as_bytes())));
        assert!(no.iter().all(|(p, n)| !matches(p.as_bytes(), n.as_bytes())));
    }
}
