// K-means, one step: the nearest of eight centres, then new sums by atomics in shared memory (fixed point, so exact).
extern "C" __global__ void kmeans_assign(const float2 *points, int n, const float2 *centres, int *label, int *sums,
                                         int *counts)
{
    __shared__ int sx[8], sy[8], many[8];
    if (threadIdx.x < 8)
        sx[threadIdx.x] = sy[threadIdx.x] = many[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float2 p = points[i];
        float best = 3.4e38f;
        int which = -1;
        for (int c = 0; c < 8; ++c) {
            float dx = p.x - centres[c].x, dy = p.y - centres[c].y, d = dx * dx + dy * dy;
            if (d < best) {
                best = d;
                which = c;
            }
        }
        label[i] = which;
        atomicAdd(&sx[which], __float2int_rn(p.x * 256.0f));
        atomicAdd(&sy[which], __float2int_rn(p.y * 256.0f));
        atomicAdd(&many[which], 1);
    }
    __syncthreads();
    if (threadIdx.x < 8) {
        atomicAdd(&sums[2 * threadIdx.x], sx[threadIdx.x]);
        atomicAdd(&sums[2 * threadIdx.x + 1], sy[threadIdx.x]);
        atomicAdd(&counts[threadIdx.x], many[threadIdx.x]);
    }
}
