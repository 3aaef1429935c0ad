//! Name patterns: `*` stands for any text, `?` for one character.

/// Whether `name` matches `pattern`, in which `*` stands for any text and `?` for one character.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let (p, n): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    // The last star, and the length of the text that it matches so far.
    let (mut i, mut j, mut star) = (0, 0, None);
    while j < n.len() {
        if p.get(i) == Some(&'*') {
            star = Some((i, j));
            i += 1;
        } else if p.get(i).is_some_and(|c| *c == '?' || *c == n[j]) {
            (i, j) = (i + 1, j + 1);
        } else if let Some((s, taken)) = star {
            star = Some((s, taken + 1));
            (i, j) = (s + 1, taken + 1);
        } else {
            return false;
        }
    }
    p[i..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns() {
        for (p, n, want) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abcb", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*_kernel*", "my_kernel_1", true),
            ("", "x", false),
            ("**a", "bca", true),
        ] {
            assert_eq!(matches(p, n), want, "{p} {n}");
        }
    }
}
