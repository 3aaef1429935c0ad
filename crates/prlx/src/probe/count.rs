//! Numbers with their nouns.

/// `n` and its noun, as "1 place" and "3 places".
pub fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}
