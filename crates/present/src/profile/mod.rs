//! Timelines of kernels and what is found in them: as text, as JSON, and their spans for viewers and tables.
//!
//! Holds: the same timeline gives the same bytes; what a timeline notes is said in text and JSON.

mod diff;
mod host;
mod html;
mod json;
mod spans;
mod text;

pub use diff::{profile_diff, profile_diff_json};
pub use html::{Page, profile_html};
pub use json::profile_json;
pub use spans::{DETAILED, SPANS, chrome, csv, perfetto, rows};
pub use text::{profile, profile_head};

/// Picoseconds in words.
pub(crate) fn time(ps: u64) -> String {
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
    #[test]
    fn times_in_words() {
        let words = [0, 570, 96_000, 999_990, 8_704_000, 12_340_000_000, 4_294_967_296_000].map(super::time);
        assert_eq!(words, ["0", "0.57 ns", "96 ns", "1000 ns", "8.70 µs", "12.3 ms", "4.29 s"]);
    }
}
