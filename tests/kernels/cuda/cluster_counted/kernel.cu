// corpus: only sm_90a
// A kernel whose launch counts clusters, not CTAs: `__block_size__` fixes both sizes. Each CTA says where it is, and adds up the
// ranks of its cluster through distributed shared memory.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void __block_size__((64, 1, 1), (2, 2, 1)) cluster_counted(int *place, int *sums)
{
    __shared__ int rank;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned cta = blockIdx.y * gridDim.x + blockIdx.x;
    if (threadIdx.x == 0) {
        rank = cluster.block_rank() + 1;
        dim3 at = cluster.block_index();
        place[cta] = gridDim.x | gridDim.y << 4 | at.x << 8 | at.y << 12 | rank << 16;
    }
    cluster.sync();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int i = 0; i < 4; i++)
            sum += *cluster.map_shared_rank(&rank, i);
        sums[cta] = sum;
    }
    cluster.sync();
}
