//! Reads the rules of a gate from files; the gate itself is `prlx_analyze::gate`.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use prlx_analyze::gate::Rule;

/// Findings of a launch that a gate judges; a launch with more fails.
pub const JUDGED_FINDINGS: usize = 4096;

/// Reads a file of rules, one a line. A `#` at the start of a line or after a space begins a comment.
///
/// # Errors
/// If the file cannot be read, or a line is no rule.
pub fn read_rules(path: &Path) -> Result<Vec<Rule>> {
    let text =
        prlx_driver::files::read_text(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut rules = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let rule =
            if line.starts_with('#') { "" } else { line.split(" #").next().unwrap_or_default().trim() };
        if !rule.is_empty() {
            rules.push(rule.parse().map_err(|e: String| anyhow!("{}:{}: {e}", path.display(), i + 1))?);
        }
    }
    Ok(rules)
}
