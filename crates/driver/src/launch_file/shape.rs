//! Reads grid, block and cluster of a launch file and checks them against the limits of the hardware and the
//! kernel.

use prlx_trace::Dim3;

use crate::driver::LaunchConfig;
use crate::error::Error;
use crate::launch_file::table::{Table, Value};
use crate::signature::{Signature, cluster_unit, limit};

/// Maximum sizes of a grid (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
const GRID: [u64; 3] = [(1 << 31) - 1, 65_535, 65_535];

pub(super) const BLOCK: [u64; 3] = [1024, 1024, 64];

const THREADS: u64 = 1024;

/// Maximum CTAs of a cluster: 16 on an H100, 8 on every device with clusters
/// (`cudaFuncAttributeNonPortableClusterSizeAllowed`).
const CLUSTER: u64 = 16;

/// Maximum dynamic shared memory of a CTA in bytes, on an H100.
pub(super) const SHARED: u64 = 227 << 10;

/// Reads a number, or a list of one to three.
pub(super) fn dims(value: Value<'_>, limits: [u64; 3]) -> Result<Dim3, Error> {
    let one = |v: Value<'_>, axis: usize| match v.count(limits[axis])? {
        0 => Err(v.error("0 would start nothing")),
        n => Ok(n as u32),
    };
    if !value.is_list() {
        return Ok(Dim3 { x: one(value, 0)?, ..Dim3::default() });
    }
    let mut sizes = [1; 3];
    let list = value.list()?;
    if !(1..=3).contains(&list.len()) {
        return Err(value.error("1 to 3 numbers are expected"));
    }
    for (axis, v) in list.enumerate() {
        sizes[axis] = one(v, axis)?;
    }
    Ok(Dim3 { x: sizes[0], y: sizes[1], z: sizes[2] })
}

/// Reads the shape of a launch.
pub(super) fn config(table: &Table<'_>, kernel: &Signature, seed: u64) -> Result<LaunchConfig, Error> {
    let grid = grid(table.need("grid")?, kernel)?;
    let block = dims(table.need("block")?, BLOCK)?;
    let cluster = cluster(table, grid, kernel)?;
    let shared = table.get("shared").map_or(Ok(0), |v| v.count(SHARED))? as u32;
    check_block(table.need("block")?, block, kernel)?;
    Ok(LaunchConfig { grid, block, cluster, shared, seed })
}

/// Checks whether the kernel can be launched with CTAs of this size.
pub(super) fn check_block(value: Value<'_>, block: Dim3, kernel: &Signature) -> Result<(), Error> {
    let threads = block.volume();
    if threads > THREADS {
        return Err(
            value.error(format_args!("{threads} threads are more than the {THREADS} that a CTA can have"))
        );
    }
    let name = &kernel.name;
    if let Some(want) = limit(&kernel.limits, "reqntid").filter(|&want| want != block) {
        let say = format!(
            "kernel `{name}` was compiled for CTAs of exactly {want} threads (.reqntid), not {block}"
        );
        return Err(value.error(say).help(format!("write block = [{}, {}, {}]", want.x, want.y, want.z)));
    }
    if let Some(want) = limit(&kernel.limits, "maxntid").filter(|want| threads > want.volume()) {
        let most = want.volume();
        return Err(value
            .error(format_args!(
                "kernel `{name}` was compiled for CTAs of at most {most} threads (.maxntid), not {threads}"
            ))
            .help("choose a smaller block, or compile it with larger __launch_bounds__"));
    }
    Ok(())
}

/// Reads the grid and returns it in CTAs. For a kernel whose grid CUDA counts in clusters, the file counts
/// clusters as well.
pub(super) fn grid(value: Value<'_>, kernel: &Signature) -> Result<Dim3, Error> {
    let (grid, each) = (dims(value, GRID)?, cluster_unit(&kernel.limits));
    let axes = [(grid.x, each.x), (grid.y, each.y), (grid.z, each.z)];
    let mut ctas = [0; 3];
    for (axis, (n, each)) in axes.into_iter().enumerate() {
        let all = u64::from(n) * u64::from(each);
        if all > GRID[axis] {
            let most = GRID[axis];
            let say = format!(
                "{n} clusters of {each} CTAs (.blocksareclusters) are more than the {most} CTAs of a grid"
            );
            return Err(value.error(say));
        }
        ctas[axis] = all as u32;
    }
    Ok(Dim3 { x: ctas[0], y: ctas[1], z: ctas[2] })
}

/// Reads the cluster that the file or the kernel asks for. Without one, a cluster is one CTA.
pub(super) fn cluster(file: &Table<'_>, grid: Dim3, kernel: &Signature) -> Result<Dim3, Error> {
    let name = &kernel.name;
    let wanted = limit(&kernel.limits, "reqnctapercluster");
    let key = file.get("cluster");
    let asked = key.map(|v| dims(v, [CLUSTER; 3])).transpose()?;
    // If the size comes from the kernel, the error points to the grid.
    let place = key.map_or_else(|| file.need("grid"), Ok)?;
    if let (Some(asked), Some(wanted)) = (asked, wanted)
        && asked != wanted
    {
        let say = format!(
            "kernel `{name}` was compiled for clusters of exactly {wanted} CTAs (.reqnctapercluster), not {asked}"
        );
        return Err(place.error(say).help("leave `cluster` out"));
    }
    let Some(size) = asked.or(wanted) else {
        if limit(&kernel.limits, "explicitcluster").is_some() {
            let say = format!(
                "kernel `{name}` must be launched in clusters (.explicitcluster), and the launch file has none"
            );
            return Err(place.error(say).help("write cluster = [2, 1, 1], or what it needs"));
        }
        return Ok(Dim3::default());
    };
    let most = limit(&kernel.limits, "maxclusterrank").map_or(CLUSTER, |n| u64::from(n.x).min(CLUSTER));
    if size.volume() > most {
        return Err(place.error(format_args!(
            "{} CTAs are more than the {most} that a cluster of it can have",
            size.volume()
        )));
    }
    for (axis, (cluster, grid)) in
        [(size.x, grid.x), (size.y, grid.y), (size.z, grid.z)].into_iter().enumerate()
    {
        if grid.checked_rem(cluster) != Some(0) {
            let axis = ["x", "y", "z"][axis];
            let say = format!("a grid of {grid} CTAs in {axis} can't be divided into clusters of {cluster}");
            return Err(place.error(say).help("the grid is given in CTAs, and is a multiple of the cluster"));
        }
    }
    Ok(size)
}
