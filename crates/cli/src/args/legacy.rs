//! The flags of `prlx-diff` of PRLX 0.5, under their old names.

use std::path::PathBuf;

use clap::Args;
use prlx_analyze::{Filter, FindingKind};

use super::parse;

/// The options of `prlx-diff`. Some apply to recordings of PRLX 0.x only.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Options of PRLX 0.x")]
pub struct LegacyArgs {
    /// Recordings of PRLX 0.x: compare values, not only paths
    #[arg(long)]
    pub values: bool,
    /// List at most N single divergences in JSON, CSV and Chrome traces; 0 means 65536
    #[arg(long, short, value_name = "N", default_value_t = 0)]
    pub limit: usize,
    /// Also match launches of kernels with different names, in their order
    #[arg(long)]
    pub force: bool,
    /// Site table [default: prlx-sites.json beside each recording]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["remap_a", "remap_b"])]
    pub map: Option<PathBuf>,
    /// A's site table; sites of the same source place then match, whatever their ids
    #[arg(long, value_name = "FILE", requires = "remap_b")]
    pub remap_a: Option<PathBuf>,
    /// B's site table
    #[arg(long, value_name = "FILE", requires = "remap_a")]
    pub remap_b: Option<PathBuf>,
    /// Print what warp N of A did, instead of comparing; --kernel and --launch select launches. Of a
    /// recording of PRLX 0.x: print its first N events, then compare
    #[arg(long, value_name = "N")]
    pub dump_a: Option<u32>,
    /// The same for B
    #[arg(long, value_name = "N")]
    pub dump_b: Option<u32>,
    /// Print the values that warps read before their first differences
    #[arg(long)]
    pub history: bool,
    /// Print operands as floating-point numbers
    #[arg(long)]
    pub float: bool,
    /// Fail unless both are directories with a session.json
    #[arg(long)]
    pub session: bool,
    /// Print the number of findings of each kind
    #[arg(long)]
    pub classify: bool,
    /// Pass (exit code 0) with at most N divergences, if nothing was lost
    #[arg(long, value_name = "N")]
    pub max_allowed_divergences: Option<u64>,
    /// Do not count different active masks against --max-allowed-divergences
    #[arg(long)]
    pub ignore_active_mask: bool,
    /// Compare only these warps, as 0-3,9
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::range)]
    pub warps: Vec<(u64, u64)>,
    /// Report only findings of these kinds: Branch, ActiveMask, Value, Path, ExtraEvents
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = kind)]
    pub filter_kind: Vec<FindingKind>,
    /// Report only findings at these sites, by id, as 0x1234abcd
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = site)]
    pub filter_sites: Vec<u32>,
    /// Also write the divergences as CSV
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Also write the divergences as a Chrome trace
    #[arg(long, value_name = "FILE")]
    pub export_flamegraph: Option<PathBuf>,
    /// Has no effect: alignment follows the structure of the code
    #[arg(long, value_name = "N", hide = true)]
    pub lookahead: Option<u32>,
    /// Has no effect: the comparison always continues after a difference
    #[arg(long, hide = true)]
    pub continue_after_path: bool,
    /// Has no effect: recordings of different devices are always comparable
    #[arg(long, hide = true)]
    pub cross_gpu: bool,
    /// Has no effect: the report always has the coverage
    #[arg(long, short, hide = true)]
    pub verbose: bool,
}

impl LegacyArgs {
    /// Given flags without effect on recordings of this version, and why.
    pub fn without_effect(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let given = [
            (self.values, ("--values", "values of the recordings' level are always compared")),
            (self.map.is_some(), ("--map", "the recordings hold their sites")),
            (self.remap_a.is_some(), ("--remap-a and --remap-b", "the recordings hold their sites")),
            (self.history, ("--history", "findings show how their values were computed")),
            (self.float, ("--float", "operands are printed in their types")),
        ];
        given.into_iter().filter(|(given, _)| *given).map(|(_, what)| what)
    }

    /// The filter for recordings of this version.
    pub fn filter(&self) -> Filter {
        let warps = self.warps.iter().map(|(first, end)| (*first, end - 1)).collect();
        Filter { warps, kinds: self.filter_kind.clone(), sites: self.filter_sites.clone() }
    }
}

fn kind(text: &str) -> Result<FindingKind, String> {
    let found = FindingKind::ALL.into_iter().find(|k| k.name().eq_ignore_ascii_case(text.trim()));
    found.ok_or_else(|| format!("one of {}", FindingKind::ALL.map(FindingKind::name).join(", ")))
}

fn site(text: &str) -> Result<u32, String> {
    let text = text.trim();
    let parsed = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|e| format!("`{text}` is no site id: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_strict() {
        assert_eq!(kind("branch"), Ok(FindingKind::Branch));
        assert!(kind("Brnch").unwrap_err().contains("ActiveMask"));
        assert_eq!(site("0xffffffff"), Ok(u32::MAX));
        assert!(site("0x1ffffffff").is_err());
    }
}
