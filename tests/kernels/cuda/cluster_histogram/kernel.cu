// corpus: only sm_90a
// A histogram whose bins are spread over the shared memory of a cluster: atomics on other CTAs' memory. The launch says how
// many CTAs a cluster has.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void cluster_histogram(const unsigned *x, int n, unsigned *bins, int bins_per_cta)
{
    extern __shared__ unsigned mine[];
    cg::cluster_group cluster = cg::this_cluster();
    for (int i = threadIdx.x; i < bins_per_cta; i += blockDim.x)
        mine[i] = 0;
    cluster.sync();
    int step = gridDim.x * blockDim.x, all = bins_per_cta * cluster.num_blocks();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        int bin = x[i] % all;
        atomicAdd(cluster.map_shared_rank(mine, bin / bins_per_cta) + bin % bins_per_cta, 1u);
    }
    cluster.sync();
    unsigned *out = bins + cluster.block_rank() * bins_per_cta;
    for (int i = threadIdx.x; i < bins_per_cta; i += blockDim.x)
        atomicAdd(&out[i], mine[i]);
}
