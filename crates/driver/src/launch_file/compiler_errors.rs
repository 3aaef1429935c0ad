//! Shortens what a compiler prints about a source file that it refuses.
//!
//! A macro can give hundreds of errors, and code lines of thousands of characters. The first errors stay,
//! each with its code line about the column that the compiler marks.
//!
//! # Invariants
//! An error that stays keeps the file and line that the compiler names. The text says how many errors are
//! left out.
//!
//! # Limitations
//! An error is a line with `error:` behind a place. Without such a line, the first lines are shown.

/// Maximum number of errors shown.
const ERRORS: usize = 4;

/// Maximum number of lines shown of one error.
const LINES: usize = 8;

/// Maximum number of lines shown of an output in which no error is recognised.
const OTHER_LINES: usize = 20;

/// Maximum number of characters shown of one line.
const WIDTH: usize = 110;

/// The output of a compiler, shortened.
pub(super) struct Shortened {
    /// The text to show.
    pub(super) text: String,
    /// Whether errors, lines or parts of lines are left out.
    pub(super) cut: bool,
}

/// What a line begins.
#[derive(Clone, Copy, PartialEq)]
enum Head {
    Error,
    Warning,
    /// Where the file with the next message is included.
    Includes,
    /// The end of the output: how many errors there are.
    End,
    /// Nothing: the line belongs to the message before.
    None,
}

/// The first errors of `output`.
pub(super) fn shorten(output: &str) -> Shortened {
    let mut errors: Vec<Vec<&str>> = Vec::new();
    let mut includes: Vec<&str> = Vec::new();
    let (mut inside, mut stopped) = (false, false);
    for line in output.lines().map(str::trim_end) {
        match head(line) {
            Head::Error => {
                errors.push(std::mem::take(&mut includes));
                inside = true;
            }
            Head::Warning | Head::End => {
                includes.clear();
                inside = false;
            }
            Head::Includes => {
                includes.push(line);
                inside = false;
                continue;
            }
            Head::None if !includes.is_empty() => {
                includes.push(line);
                continue;
            }
            Head::None => {}
        }
        stopped |= line.contains("Error limit reached") || line.contains("too many errors emitted");
        if let Some(error) = errors.last_mut().filter(|_| inside && !line.is_empty()) {
            error.push(line);
        }
    }
    if errors.is_empty() {
        return first_lines(output);
    }
    let mut cut = errors.len() > ERRORS;
    let mut shown: Vec<String> = Vec::new();
    for error in errors.iter().take(ERRORS) {
        let (lines, clipped) = clip_lines(&error[..error.len().min(LINES)]);
        shown.extend(lines);
        cut |= clipped;
        if error.len() > LINES {
            shown.push(format!("  ({} more lines of this error)", error.len() - LINES));
            cut = true;
        }
    }
    let least = if stopped { "at least " } else { "" };
    match errors.len().saturating_sub(ERRORS) {
        0 => {}
        1 => shown.push(format!("and {least}1 more error")),
        more => shown.push(format!("and {least}{more} more errors")),
    }
    Shortened { text: shown.join("\n"), cut }
}

fn first_lines(output: &str) -> Shortened {
    let lines: Vec<&str> = output.trim_end().lines().collect();
    let (mut shown, clipped) = clip_lines(&lines[..lines.len().min(OTHER_LINES)]);
    let more = lines.len().saturating_sub(OTHER_LINES);
    if more > 0 {
        shown.push(format!("and {more} more lines"));
    }
    Shortened { text: shown.join("\n"), cut: clipped || more > 0 }
}

fn head(line: &str) -> Head {
    if line.starts_with("In file included from") {
        return Head::Includes;
    }
    let ends = ["Error limit reached", "Compilation terminated", "fatal error: too many errors", "Remark:"];
    let counts = |line: &str| {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() < line.len() && (rest.starts_with(" error") || rest.starts_with(" warning"))
    };
    if ends.iter().any(|end| line.starts_with(end)) || counts(line) {
        return Head::End;
    }
    // Code lines are indented, or follow a line number and a bar.
    if line.starts_with(' ') {
        return Head::None;
    }
    let found =
        [("error", Head::Error), ("warning", Head::Warning)].into_iter().filter_map(|(word, head)| {
            let forms = [": ", ": fatal ", ": catastrophic "].map(|before| format!("{before}{word}"));
            let ends = |at: usize| line.get(at..).is_some_and(|rest| rest.starts_with([':', ' ']));
            let at =
                forms.iter().filter_map(|form| line.find(form.as_str()).filter(|at| ends(at + form.len())));
            Some((at.min()?, head))
        });
    found.min_by_key(|(at, _)| *at).map_or(Head::None, |(_, head)| head)
}

/// The lines, each at most [`WIDTH`] characters, and whether one was longer. A code line and the marks below
/// it are cut at the same columns, so that the mark stays in sight.
fn clip_lines(lines: &[&str]) -> (Vec<String>, bool) {
    let marks = |line: &str| line.contains('^') && line.chars().all(|c| " ^~|\t".contains(c));
    let mut cut = false;
    let mut shown = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let next = lines.get(i + 1).copied().filter(|next| marks(next));
        let mark = if marks(line) { Some(*line) } else { next };
        let column = mark.and_then(|mark| mark.chars().position(|c| c == '^')).unwrap_or(0);
        let from = if column + 10 < WIDTH { 0 } else { column - WIDTH / 2 };
        let length = line.chars().count();
        if length <= WIDTH {
            // With the code line above, a mark moves too.
            let above = marks(line).then(|| lines.get(i.wrapping_sub(1))).flatten();
            if above.is_none_or(|above| above.chars().count() <= WIDTH) {
                shown.push((*line).to_owned());
                continue;
            }
        }
        let window: String = line.chars().skip(from).take(WIDTH).collect();
        let (start, end) = match marks(line) {
            true => (if from > 0 { " " } else { "" }, ""),
            false => (if from > 0 { "…" } else { "" }, if length > from + WIDTH { "…" } else { "" }),
        };
        cut |= !marks(line);
        shown.push(format!("{start}{window}{end}"));
    }
    (shown, cut)
}

#[cfg(test)]
mod tests {
    use super::shorten;

    #[test]
    fn few_errors_stay_whole() {
        let output = "k.cu(5): error: identifier \"a\" is undefined\n    x = a;\n        ^\n\n\
                      1 error detected in the compilation of \"k.cu\".\n";
        let short = shorten(output);
        assert_eq!(short.text, "k.cu(5): error: identifier \"a\" is undefined\n    x = a;\n        ^");
        assert!(!short.cut);
    }

    #[test]
    fn of_many_errors_the_first_are_shown() {
        let mut output = "k.cu(1): warning #177-D: variable \"error: u\" is not used\n  int u;\n".to_owned();
        (1..=100).for_each(|n| output += &format!("k.cu({n}): error: no \"f\"\n  f();\n  ^\n\n"));
        output += "Error limit reached.\n100 errors detected in the compilation of \"k.cu\".\n";
        let short = shorten(&output);
        assert!(
            short.text.starts_with("k.cu(1): error: no \"f\"\n  f();\n  ^\nk.cu(2): error"),
            "{}",
            short.text
        );
        assert!(short.text.ends_with("k.cu(4): error: no \"f\"\n  f();\n  ^\nand at least 96 more errors"));
        assert!(short.cut && !short.text.contains("warning"));
    }

    #[test]
    fn clang_errors_keep_where_their_files_are_included() {
        let one = "In file included from k.hip:1:\n./h.h:3:1: fatal error: 'x.h' file not found\n\
                   \x20   3 | #include \"x.h\"\n      |          ^~~~~";
        let short = shorten(&format!("{one}\n1 error generated when compiling for gfx942.\n"));
        assert_eq!((short.text.as_str(), short.cut), (one, false));
    }

    #[test]
    fn a_long_code_line_is_cut_about_its_mark() {
        let (before, after) = ("a + ".repeat(100), " + b".repeat(500));
        let output = format!("k.cu(2): error: no c\n  {before}c{after}\n  {}^\n", " ".repeat(before.len()));
        let short = shorten(&output);
        let lines: Vec<Vec<char>> = short.text.lines().map(|line| line.chars().collect()).collect();
        assert!(short.cut && lines.iter().all(|line| line.len() < 115), "{}", short.text);
        let mark = lines[2].iter().position(|c| *c == '^').unwrap();
        assert_eq!(lines[1][mark], 'c');
        assert!(lines[1].starts_with(&['…']) && lines[1].ends_with(&['…']));
    }

    #[test]
    fn without_an_error_line_the_first_lines_are_shown() {
        let short = shorten(&"nonsense\n".repeat(50));
        assert_eq!(short.text.lines().count(), 21);
        assert!(short.text.ends_with("and 30 more lines") && short.cut);
        assert_eq!(shorten("ld: no\n").text, "ld: no");
    }
}
