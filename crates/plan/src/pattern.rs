//! Name patterns with `*` and `?`.

/// Whether `name` matches one of `patterns`; no patterns take all.
pub fn any(patterns: &[String], name: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|p| matches(p.as_bytes(), name.as_bytes()))
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
    use super::matches;

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
