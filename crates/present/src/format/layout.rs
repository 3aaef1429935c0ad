//! Clips, wraps and pads text; writes numbers with their nouns.

use prlx_trace::Picos;

/// `text` in at most `width` characters. An ellipsis marks what was cut off.
pub(crate) fn clip(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.into();
    }
    let mut out: String = text.chars().take(width.saturating_sub(1)).collect();
    out.push('…');
    out
}

/// `text` in lines of at most `width` characters, broken between words. Text with colour codes stays on one
/// line.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    if text.contains('\x1b') || text.chars().count() <= width {
        return vec![text.into()];
    }
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width.max(20) {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// The names in a mangled C++ name, without template arguments and parameters: `_Z9take_beatffRfPi` gives
/// `take_beat`. A name that is not mangled, or has no plain name in it, is returned unchanged.
pub(crate) fn plain_name(name: &str) -> String {
    let Some(rest) = name.strip_prefix("_Z") else { return name.into() };
    let nested = rest.starts_with('N');
    let mut rest = rest.trim_start_matches(['N', 'K', 'L']);
    let mut parts = Vec::new();
    while let Some(end) = rest.find(|c: char| !c.is_ascii_digit()).filter(|&e| e > 0) {
        let Some(part) = rest[..end]
            .parse()
            .ok()
            .filter(|n| *n > 0)
            .and_then(|n: usize| rest.get(end..end.checked_add(n)?))
        else {
            break;
        };
        parts.push(if part.starts_with("_GLOBAL__N_") { "(anonymous)" } else { part });
        rest = &rest[end + part.len()..];
        if !nested {
            break;
        }
    }
    if parts.is_empty() { name.into() } else { parts.join("::") }
}

/// `text` padded with spaces to `width` characters.
pub(crate) fn pad(text: &str, width: usize) -> String {
    let n = text.chars().count();
    format!("{text}{}", " ".repeat(width.saturating_sub(n)))
}

/// A number with its digits in groups: `1,234,567`.
pub(crate) fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A number and its noun, singular or plural: `1 lane`, `2 lanes`.
pub(crate) fn count(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(n), if n == 1 { one } else { many })
}

/// A share of 1 as a percentage with one decimal.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A time with three digits and its unit: `8.70 µs`.
pub(crate) fn time(Picos(ps): Picos) -> String {
    let digits = |value: f64| match value {
        v if v < 10.0 => format!("{v:.2}"),
        v if v < 100.0 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    };
    match ps {
        0 => "0".into(),
        1..1_000_000 if ps.is_multiple_of(1000) => format!("{} ns", ps / 1000),
        1..1_000_000 => format!("{} ns", digits(ps as f64 / 1e3)),
        1_000_000..1_000_000_000 => format!("{} µs", digits(ps as f64 / 1e6)),
        1_000_000_000..1_000_000_000_000 => format!("{} ms", digits(ps as f64 / 1e9)),
        _ => format!("{} s", digits(ps as f64 / 1e12)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_words() {
        let words =
            [0, 570, 96_000, 999_990, 8_704_000, 12_340_000_000, 4_294_967_296_000].map(|ps| time(Picos(ps)));
        assert_eq!(words, ["0", "0.57 ns", "96 ns", "1000 ns", "8.70 µs", "12.3 ms", "4.29 s"]);
    }

    #[test]
    fn clipping_wrapping_names_and_numbers() {
        assert_eq!(clip("abcdef", 4), "abc…");
        assert_eq!(clip("abcd", 4), "abcd");
        for (name, want) in [
            ("_Z9take_beatffRfPi", "take_beat"),
            ("_ZN2ns3fooIfEEvT_", "ns::foo"),
            ("_ZN12_GLOBAL__N_13barEv", "(anonymous)::bar"),
            ("kernel_0d1d", "kernel_0d1d"),
            ("_Z99x", "_Z99x"),
            ("_Z", "_Z"),
            ("_Z0", "_Z0"),
            ("_Z3é", "_Z3é"),
        ] {
            assert_eq!(plain_name(name), want);
        }
        assert_eq!(wrap("one two three four five six", 20), ["one two three four", "five six"]);
        assert_eq!(
            (number(0), number(999), number(1000), number(1234567)),
            ("0".into(), "999".into(), "1,000".into(), "1,234,567".into())
        );
    }
}
