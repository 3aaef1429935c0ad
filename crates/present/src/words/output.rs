//! An output that was compared as numbers, in words.

use prlx_analyze::report::{ElementDifference, LaunchDifference, LaunchPart, LaunchReport, Output};

use crate::format::{clean, count, number};

/// `12 of 4,096 elements differ`, or why the elements were not compared.
pub(crate) fn differing(o: &Output) -> String {
    match &o.uncompared {
        Some(why) => clean(why),
        None => {
            let verb = if o.differing == 1 { "differs" } else { "differ" };
            format!("{} of {} {verb}", number(o.differing), count(o.elements, "element", "elements"))
        }
    }
}

/// The type and shape, as `f32[4,256]`.
pub(crate) fn shape(o: &Output) -> String {
    let sizes: Vec<String> = o.shape.iter().map(u64::to_string).collect();
    format!("{}[{}]", clean(&o.ty), sizes.join(","))
}

/// Rows on an output that differs: names, then texts. Elements are given by side.
pub(crate) fn rows(o: &Output) -> Vec<(&'static str, OutputRow)> {
    let mut rows = Vec::new();
    let element = |d: &ElementDifference| OutputRow::Element {
        place: clean(&d.place(&o.name)),
        values: d.values.each_ref().map(|v| clean(v)),
    };
    rows.extend(o.first.as_ref().map(|d| ("first", element(d))));
    let other = |d: &&ElementDifference| o.first.as_ref().is_none_or(|first| first.index != d.index);
    rows.extend(o.worst.as_ref().filter(other).map(|d| ("worst", element(d))));
    let greatest = [
        o.max_absolute.map(|x| format!("absolute {}", rounded(x))),
        o.max_relative.map(|x| format!("relative {}", rounded(x))),
        o.max_ulp.map(|n| format!("{} ulp", number(n))),
    ];
    let greatest: Vec<String> = greatest.into_iter().flatten().collect();
    if !greatest.is_empty() {
        rows.push(("greatest", OutputRow::Text(greatest.join(", "))));
    }
    for (name, counts) in [("NaN", o.nan), ("infinite", o.infinite)] {
        if counts != [0; 2] {
            let text = format!("{} in A, {} in B", number(counts[0]), number(counts[1]));
            rows.push((name, OutputRow::Text(text)));
        }
    }
    if !o.tolerance.is_empty() {
        let within = count(o.within_tolerance, "more element is", "more elements are");
        let text = format!("{}: {within} within it", clean(&o.tolerance));
        rows.push(("tolerance", OutputRow::Text(text)));
    }
    rows
}

/// The differences of a launch as a whole, without the outputs that were compared as numbers.
pub(crate) fn other_differences(l: &LaunchReport) -> impl Iterator<Item = &LaunchDifference> {
    let numbers =
        |d: &LaunchDifference| d.what == LaunchPart::Output && l.outputs.iter().any(|o| o.name == d.name);
    l.differences.iter().filter(move |d| !numbers(d))
}

/// A row on an output.
pub(crate) enum OutputRow {
    /// An element and its values.
    Element {
        /// Name and index, as `C[3,255]`.
        place: String,
        /// The values, by side.
        values: [String; 2],
    },
    /// Any other row: its text.
    Text(String),
}

/// `` `C` differs in 12 of 4,096 elements ``, of the first output that differs; with how many others do.
pub(crate) fn first_output(l: &LaunchReport) -> Option<String> {
    let mut differ = l.outputs.iter().filter(|o| o.differs());
    let first = differ.next()?;
    let name = clean(&first.name);
    let what = match &first.uncompared {
        Some(why) => format!("`{name}` differs: {}", clean(why)),
        None => format!(
            "`{name}` differs in {} of {}",
            number(first.differing),
            count(first.elements, "element", "elements")
        ),
    };
    let more = differ.count() as u64;
    let verb = if more == 1 { "differs" } else { "differ" };
    Some(match more {
        0 => what,
        _ => format!("{what}, and {} {verb}", count(more, "other output", "other outputs")),
    })
}

/// A number with at most six significant digits.
fn rounded(x: f64) -> String {
    let text = format!("{x:.5e}");
    match text.parse::<f64>() {
        Ok(r) if r == 0.0 || (1e-4..1e7).contains(&r.abs()) => format!("{r}"),
        Ok(r) => format!("{r:e}"),
        Err(_) => text,
    }
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn numbers_have_six_digits() {
        for (x, text) in [
            (0.0, "0"),
            (0.1 + 0.2, "0.3"),
            (3.100000123, "3.1"),
            (1234.567891, "1234.57"),
            (1.192_092_9e-7, "1.19209e-7"),
            (f64::MAX, "1.79769e308"),
        ] {
            assert_eq!(rounded(x), text);
        }
    }
}
