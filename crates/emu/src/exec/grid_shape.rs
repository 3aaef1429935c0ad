//! Numbers and positions of CTAs and clusters in a grid.

use prlx_trace::Dim3;

use super::launch::Launch;

/// The number in the grid of the CTA with a rank in the cluster of the CTA at `cta`.
pub fn number(launch: &Launch<'_>, cta: Dim3, rank: u32) -> u64 {
    let (size, inside) = (launch.cluster, launch.cluster.position(rank.into()));
    let first = |at: u32, by: u32| at - at % by.max(1);
    let place = Dim3 {
        x: first(cta.x, size.x) + inside.x,
        y: first(cta.y, size.y) + inside.y,
        z: first(cta.z, size.z) + inside.z,
    };
    index_of(launch.config.grid, place)
}

/// The number of a position in a grid.
pub fn index_of(grid: Dim3, place: Dim3) -> u64 {
    let row = u64::from(place.z) * u64::from(grid.y) + u64::from(place.y);
    row * u64::from(grid.x) + u64::from(place.x)
}

/// The shape of a grid in clusters of a size.
pub fn clusters(grid: Dim3, size: Dim3) -> Dim3 {
    let whole = |n: u32, by: u32| n / by.max(1);
    Dim3 { x: whole(grid.x, size.x), y: whole(grid.y, size.y), z: whole(grid.z, size.z) }
}
