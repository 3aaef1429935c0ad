//! The text that kernels print, for terminals and as JSON.

use std::io::{self, Write};

use prlx_trace::Printed;

use crate::format::{clean, clean_lines, count, number};

/// Lines of printed text that the list of outcomes shows for each.
const LISTED: usize = 8;

/// Writes the text with a line end after it. Control characters become escapes, as everywhere.
///
/// # Errors
/// Those of `out`.
pub fn printed(out: &mut impl Write, printed: &Printed) -> io::Result<()> {
    let text = String::from_utf8_lossy(&printed.text);
    out.write_all(clean_lines(&text).as_bytes())?;
    if text.is_empty() || text.ends_with('\n') { Ok(()) } else { writeln!(out) }
}

/// The sentence that text was dropped; `None` if all of it is there.
pub fn printed_limit(printed: &Printed) -> Option<String> {
    let calls = count(printed.dropped, "more call of `printf`", "more calls of `printf`");
    let kept = number(printed.text.len() as u64);
    (printed.dropped > 0).then(|| {
        format!("the text of {calls} is not shown, after {kept} bytes: raise the limit with --max-printed")
    })
}

/// The first lines that the first run of an outcome printed, under a heading; empty if it printed nothing.
pub(crate) fn printed_lines(printed: &Printed) -> Vec<String> {
    let text = String::from_utf8_lossy(&printed.text);
    let more = text.lines().count().saturating_sub(LISTED);
    let mut lines: Vec<String> = text.lines().take(LISTED).map(|l| format!("  {}", clean(l))).collect();
    if !lines.is_empty() {
        lines.insert(0, "the first such run prints:".to_owned());
    }
    if more > 0 {
        lines.push(format!("  and {} (--json shows all)", count(more as u64, "more line", "more lines")));
    }
    lines.extend(printed_limit(printed));
    lines
}

/// The sentence that two kernels printed different text, with the first line that differs.
pub fn printed_difference([a, b]: [&Printed; 2]) -> Option<String> {
    if a == b {
        return None;
    }
    let [a, b] = [a, b].map(|p| String::from_utf8_lossy(&p.text));
    let (mut a, mut b) = (a.lines(), b.lines());
    let show = |line: Option<&str>| line.map_or("nothing".to_owned(), |l| format!("`{l}`"));
    let differ = (1..).map(|n| (n, a.next(), b.next()));
    let first = differ.take_while(|(_, a, b)| a.is_some() || b.is_some()).find(|(_, a, b)| a != b);
    Some(match first {
        Some((n, a, b)) => format!(
            "the kernels print different text, first in line {n}: {} in A, {} in B (--printed shows all)",
            show(a),
            show(b)
        ),
        None => "the kernels print different numbers of lines after the limit (--max-printed)".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, dropped: u64) -> Printed {
        Printed { text: text.into(), dropped }
    }

    #[test]
    fn the_first_line_that_differs_is_named() {
        let says = |a: &Printed, b: &Printed| printed_difference([a, b]);
        assert_eq!(says(&of("a\nb\n", 0), &of("a\nb\n", 0)), None);
        let differs = says(&of("a\nb\nc\n", 0), &of("a\nx\n", 0)).unwrap();
        assert!(differs.contains("first in line 2: `b` in A, `x` in B"), "{differs}");
        let longer = says(&of("a\n", 0), &of("a\nb", 0)).unwrap();
        assert!(longer.contains("first in line 2: nothing in A, `b` in B"), "{longer}");
        assert!(says(&of("a\n", 1), &of("a\n", 2)).unwrap().contains("--max-printed"));
    }

    #[test]
    fn a_long_text_is_cut_in_lists_and_that_is_said() {
        let text: String = (0..LISTED + 2).map(|n| format!("line {n}\n")).collect();
        let lines = printed_lines(&of(&text, 3));
        assert_eq!(lines.len(), 1 + LISTED + 2);
        assert_eq!(lines[LISTED], format!("  line {}", LISTED - 1));
        assert_eq!(lines[LISTED + 1], "  and 2 more lines (--json shows all)");
        assert!(lines[LISTED + 2].contains("3 more calls of `printf`"), "{lines:?}");
        assert!(printed_lines(&Printed::default()).is_empty());
    }

    #[test]
    fn text_cannot_control_the_terminal() {
        let mut out = Vec::new();
        printed(&mut out, &of("a\x1b[31m\nb", 0)).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a\\u{1b}[31m\nb\n");
    }
}
