// corpus: only sm_90a
// A cluster of four CTAs adds up through distributed shared memory: mapa, remote loads, remote atomics, barriers.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_reduce(const int *x, int *total, int *neighbour)
{
    __shared__ int mine, sum;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank();
    if (threadIdx.x == 0)
        mine = sum = 0;
    cluster.sync();
    int v = x[blockIdx.x * blockDim.x + threadIdx.x];
    atomicAdd(&mine, v);
    atomicAdd(cluster.map_shared_rank(&sum, 0), v);
    cluster.sync();
    if (threadIdx.x == 0) {
        neighbour[blockIdx.x] = *cluster.map_shared_rank(&mine, (rank + 1) % 4);
        if (rank == 0)
            total[blockIdx.x / 4] = sum;
    }
    cluster.sync();
}
