//! Special registers and how much of each can be read (PTX ISA, Special Registers).

/// The names of special registers, and the bits that `mov` can read of each. Those with several numbers are
/// as wide as the first one; ptxas accepts the others.
#[rustfmt::skip]
const REGISTERS: [(&str, &[u32]); 41] = [
    ("tid", &[32, 16]),
    ("ntid", &[32, 16]),
    ("laneid", &[32]),
    ("warpid", &[32]),
    ("nwarpid", &[32]),
    ("ctaid", &[32, 16]),
    ("nctaid", &[32, 16]),
    ("smid", &[32]),
    ("nsmid", &[32]),
    ("gridid", &[64, 32, 16]),
    ("is_explicit_cluster", &[1]),
    ("clusterid", &[32]),
    ("nclusterid", &[32]),
    ("cluster_ctaid", &[32]),
    ("cluster_nctaid", &[32]),
    ("cluster_ctarank", &[32]),
    ("cluster_nctarank", &[32]),
    ("lanemask_eq", &[32]),
    ("lanemask_le", &[32]),
    ("lanemask_lt", &[32]),
    ("lanemask_ge", &[32]),
    ("lanemask_gt", &[32]),
    ("clock", &[32]),
    ("clock_hi", &[32]),
    ("clock64", &[64]),
    ("globaltimer", &[64]),
    ("globaltimer_lo", &[32]),
    ("globaltimer_hi", &[32]),
    ("total_smem_size", &[32]),
    ("aggr_smem_size", &[32]),
    ("dynamic_smem_size", &[32]),
    ("current_graph_exec", &[64]),
    ("reserved_smem_offset_begin", &[32]),
    ("reserved_smem_offset_end", &[32]),
    ("reserved_smem_offset_cap", &[32]),
    ("reserved_smem_offset_0", &[32]),
    ("reserved_smem_offset_1", &[32]),
    ("envreg", &[32]),
    ("pm", &[32]),
    ("pm_64", &[64]),
    ("sp", &[32]),
];

/// The bits that can be read of a special register; its own width first. `name` may have a component.
/// `None`: PTX has no such register.
pub fn special_widths(name: &str) -> Option<&'static [u32]> {
    let name = name.strip_prefix('%')?.split('.').next()?;
    let row = |name: &str| REGISTERS.iter().find(|(row, _)| *row == name).map(|(_, widths)| *widths);
    // Several registers have a number: `%envreg3`, `%pm0`, `%pm7_64`.
    let numbered = || {
        let (stem, suffix) = name.strip_suffix("_64").map_or((name, ""), |stem| (stem, "_64"));
        let stem = stem.trim_end_matches(|c: char| c.is_ascii_digit());
        matches!(stem, "envreg" | "pm").then(|| row(&format!("{stem}{suffix}"))).flatten()
    };
    row(name).or_else(numbered)
}

/// Whether PTX has a special register with this name, which may have a component.
pub fn is_special(name: &str) -> bool {
    special_widths(name).is_some()
}
