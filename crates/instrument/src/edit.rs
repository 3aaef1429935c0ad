//! Edits of text: the only output of the lowering.

/// An insertion into the original text. Nothing is ever removed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    /// Offset in the original text, bytes.
    pub at: u32,
    /// Text to insert.
    pub text: String,
}

/// Applies edits. Edits at the same offset keep their order.
pub fn apply(source: &str, edits: &[Edit]) -> String {
    let mut sorted: Vec<&Edit> = edits.iter().collect();
    sorted.sort_by_key(|e| e.at);
    let mut out = String::with_capacity(source.len() + edits.iter().map(|e| e.text.len()).sum::<usize>());
    let mut from = 0;
    for edit in sorted {
        let at = (edit.at as usize).min(source.len());
        out.push_str(&source[from..at]);
        out.push_str(&edit.text);
        from = at;
    }
    out.push_str(&source[from..]);
    out
}
