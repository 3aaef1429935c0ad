//! The flags of PRLX 0.5's `prlx-diff`, under their names.

use std::path::PathBuf;

use clap::Args;
use prlx_analyze::{Filter, FindingKind};

/// What `prlx-diff` took. Some of it is for recordings of PRLX 0.x alone.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "As in PRLX 0.x")]
pub struct LegacyArgs {
    /// Compare values too, not only paths
    #[arg(long)]
    pub values: bool,
    /// List at most this many single divergences in JSON, CSV and Chrome trace; 0: as many as are kept (65536)
    #[arg(long, short, value_name = "N", default_value_t = 0)]
    pub limit: usize,
    /// Compare kernels of different names: those that no name pairs, in the order of their launches
    #[arg(long)]
    pub force: bool,
    /// Site table [default: prlx-sites.json beside each recording]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["remap_a", "remap_b"])]
    pub map: Option<PathBuf>,
    /// A's own site table; sites of the same place are then the same, whatever their ids
    #[arg(long, value_name = "FILE", requires = "remap_b")]
    pub remap_a: Option<PathBuf>,
    /// B's own site table
    #[arg(long, value_name = "FILE", requires = "remap_a")]
    pub remap_b: Option<PathBuf>,
    /// Show what this warp of A did (of each launch, or of those chosen by --kernel and --launch), and compare nothing
    #[arg(long, value_name = "WARP", conflicts_with = "dump_b")]
    pub dump_a: Option<u32>,
    /// Show what this warp of B did, and compare nothing
    #[arg(long, value_name = "WARP")]
    pub dump_b: Option<u32>,
    /// Show the values that warps met before their first differences
    #[arg(long)]
    pub history: bool,
    /// Show operands as floating point
    #[arg(long)]
    pub float: bool,
    /// Both are folders with a session.json (which is noticed without this)
    #[arg(long)]
    pub session: bool,
    /// Count the findings by kind
    #[arg(long)]
    pub classify: bool,
    /// Pass (exit code 0) with at most this many divergences, if everything was seen
    #[arg(long, value_name = "N")]
    pub max_allowed_divergences: Option<u64>,
    /// Active masks that differ do not count against --max-allowed-divergences
    #[arg(long)]
    pub ignore_active_mask: bool,
    /// Only these warps: 0-10,15
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = warps)]
    pub warps: Vec<(u32, u32)>,
    /// Only findings of these kinds: Branch, ActiveMask, Value, Path, ExtraEvents
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = kind)]
    pub filter_kind: Vec<FindingKind>,
    /// Only findings at these sites, by id: 0x1234abcd
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = site)]
    pub filter_sites: Vec<u32>,
    /// Write the divergences as CSV into this file, too
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write the divergences as a Chrome trace into this file, too
    #[arg(long, value_name = "FILE")]
    pub export_flamegraph: Option<PathBuf>,
    /// Has no effect: alignment is by structure, not by looking ahead
    #[arg(long, value_name = "N", hide = true)]
    pub lookahead: Option<u32>,
    /// Has no effect: what comes after a difference is always compared
    #[arg(long, hide = true)]
    pub continue_after_path: bool,
    /// Has no effect: recordings of different devices are compared as they are
    #[arg(long, hide = true)]
    pub cross_gpu: bool,
    /// Has no effect: coverage is always told
    #[arg(long, short, hide = true)]
    pub verbose: bool,
}

impl LegacyArgs {
    /// Flags that were given and change nothing for own recordings, and why.
    pub fn without_effect(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let given = [
            (self.values, ("--values", "values always count, of what the recordings' level records")),
            (self.map.is_some(), ("--map", "own recordings hold their sites")),
            (self.remap_a.is_some(), ("--remap-a and --remap-b", "own recordings hold their sites")),
            (self.history, ("--history", "a finding says how its value came about")),
            (self.float, ("--float", "operands are shown in their types")),
        ];
        given.into_iter().filter(|(given, _)| *given).map(|(_, what)| what)
    }

    /// What of own recordings counts.
    pub fn filter(&self) -> Filter {
        let warps = self.warps.iter().map(|(first, last)| ((*first).into(), (*last).into())).collect();
        Filter { warps, kinds: self.filter_kind.clone(), sites: self.filter_sites.clone() }
    }
}

fn warps(text: &str) -> Result<(u32, u32), String> {
    let text = text.trim();
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |s: &str| s.trim().parse::<u32>().map_err(|e| format!("`{s}`: {e}"));
    let (first, last) = (number(first)?, number(last)?);
    if last < first { Err(format!("`{text}`: the last comes before the first")) } else { Ok((first, last)) }
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
        assert_eq!(warps("3-5"), Ok((3, 5)));
        assert_eq!(warps("15"), Ok((15, 15)));
        assert!(warps("5-3").is_err() && warps("x").is_err() && warps("").is_err());
        assert_eq!(kind("branch"), Ok(FindingKind::Branch));
        assert!(kind("Brnch").unwrap_err().contains("ActiveMask"));
        assert_eq!(site("0xffffffff"), Ok(u32::MAX));
        assert!(site("0x1ffffffff").is_err());
    }
}
