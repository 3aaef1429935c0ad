//! Names of special registers (PTX ISA, Special Registers).

/// Whether PTX has a special register with this name (without its component).
pub fn is_special(name: &str) -> bool {
    const NAMES: [&str; 41] = [
        "tid",
        "ntid",
        "laneid",
        "warpid",
        "nwarpid",
        "ctaid",
        "nctaid",
        "smid",
        "nsmid",
        "gridid",
        "is_explicit_cluster",
        "clusterid",
        "nclusterid",
        "cluster_ctaid",
        "cluster_nctaid",
        "cluster_ctarank",
        "cluster_nctarank",
        "lanemask_eq",
        "lanemask_le",
        "lanemask_lt",
        "lanemask_ge",
        "lanemask_gt",
        "clock",
        "clock_hi",
        "clock64",
        "globaltimer",
        "globaltimer_lo",
        "globaltimer_hi",
        "total_smem_size",
        "aggr_smem_size",
        "dynamic_smem_size",
        "current_graph_exec",
        "reserved_smem_offset_begin",
        "reserved_smem_offset_end",
        "reserved_smem_offset_cap",
        "reserved_smem_offset_0",
        "reserved_smem_offset_1",
        "envreg",
        "pm",
        "pm_64",
        "sp",
    ];
    let Some(name) = name.strip_prefix('%') else { return false };
    if NAMES.contains(&name) {
        return true;
    }
    let stem = name.strip_suffix("_64").unwrap_or(name).trim_end_matches(|c: char| c.is_ascii_digit());
    stem.len() < name.len() && matches!(stem, "envreg" | "pm")
}

/// Bits of a special register (PTX ISA, Special Registers).
pub fn special_bits(name: &str) -> u32 {
    match name {
        "%is_explicit_cluster" => 1,
        "%gridid" | "%clock64" | "%globaltimer" | "%current_graph_exec" => 64,
        _ if name.ends_with("_64") => 64,
        _ => 32,
    }
}
