//! Numbers and positions of CTAs and clusters in a grid.

use std::collections::BTreeSet;

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

/// The numbers of the clusters of a size that have these CTAs, ascending.
pub fn clusters_of(grid: Dim3, size: Dim3, ctas: &BTreeSet<u64>) -> Vec<u64> {
    let whole = clusters(grid, size);
    let cluster = |cta: &u64| {
        let at = grid.position(*cta);
        let of = |at: u32, by: u32| at / by.max(1);
        index_of(whole, Dim3 { x: of(at.x, size.x), y: of(at.y, size.y), z: of(at.z, size.z) })
    };
    let all: BTreeSet<u64> = ctas.iter().filter(|cta| **cta < grid.volume()).map(cluster).collect();
    all.into_iter().collect()
}

/// The shape of a grid in clusters of a size.
pub fn clusters(grid: Dim3, size: Dim3) -> Dim3 {
    let whole = |n: u32, by: u32| n / by.max(1);
    Dim3 { x: whole(grid.x, size.x), y: whole(grid.y, size.y), z: whole(grid.z, size.z) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_of_some_ctas() {
        let (grid, size) = (Dim3 { x: 4, y: 2, z: 2 }, Dim3 { x: 2, y: 1, z: 2 });
        let ctas = |list: &[u64]| clusters_of(grid, size, &list.iter().copied().collect());
        assert_eq!(ctas(&[0, 1, 8, 9]), [0]);
        assert_eq!(ctas(&[15, 2, 4, 16]), [1, 2, 3]);
    }
}
