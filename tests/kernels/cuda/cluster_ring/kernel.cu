// corpus: only sm_90a
// Tiles go round a ring of CTAs, from shared memory to shared memory: in each round a CTA takes over the tile of the next and
// adds its part of a matrix-vector product. Arrival at the cluster's barrier and waiting for it are apart, and a tile is still
// read in between: hence three of them. Clusters in two dimensions.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int TILE = 16;

extern "C" __global__ void __cluster_dims__(2, 2, 1) cluster_ring(const float *a, const float *x, float *y, unsigned *places)
{
    __shared__ float tile[3][TILE];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), ctas = cluster.num_blocks(), t = threadIdx.x;
    unsigned group = blockIdx.y / 2 * (gridDim.x / 2) + blockIdx.x / 2;
    tile[0][t] = x[(group * ctas + rank) * TILE + t];
    float sum = 0;
    const float *row = a + ((group * ctas + rank) * TILE + t) * ctas * TILE;
    cluster.sync();
    const float *next = cluster.map_shared_rank(&tile[0][0], (rank + 1) % ctas);
    for (unsigned round = 0; round < ctas; ++round) {
        unsigned now = round % 3, of = (rank + round) % ctas;
        tile[(round + 1) % 3][t] = next[now * TILE + t];
        auto token = cluster.barrier_arrive();
        for (int k = 0; k < TILE; ++k)
            sum += row[of * TILE + k] * tile[now][k];
        cluster.barrier_wait(std::move(token));
    }
    y[(group * ctas + rank) * TILE + t] = sum;
    if (t == 0) {
        dim3 inside = cluster.block_index(), size = cluster.dim_blocks();
        places[blockIdx.y * gridDim.x + blockIdx.x] = rank << 16 | size.x << 12 | size.y << 8 | inside.x << 4 | inside.y;
    }
}
