// corpus: only sm_90a
// Rows too long for a CTA: a cluster holds one in its shared memory, and every CTA adds up the sums of the others in the order
// of their ranks, so that the result does not depend on who comes first. The launch says how many CTAs a cluster has.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void cluster_norm(const float *x, float *y, int part, float eps)
{
    extern __shared__ float row[];
    __shared__ float warps[4], sum;
    cg::cluster_group cluster = cg::this_cluster();
    long start = (long)blockIdx.x * part;
    float squares = 0;
    for (int i = threadIdx.x; i < part; i += blockDim.x) {
        row[i] = x[start + i];
        squares += row[i] * row[i];
    }
    for (int d = 16; d > 0; d /= 2)
        squares += __shfl_xor_sync(~0u, squares, d);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = squares;
    __syncthreads();
    if (threadIdx.x == 0)
        sum = warps[0] + warps[1] + warps[2] + warps[3];
    cluster.sync();
    float all = 0;
    for (unsigned r = 0; r < cluster.num_blocks(); ++r)
        all += *cluster.map_shared_rank(&sum, r);
    float scale = rsqrtf(all / (part * cluster.num_blocks()) + eps);
    for (int i = threadIdx.x; i < part; i += blockDim.x)
        y[start + i] = row[i] * scale;
    cluster.sync();
}
