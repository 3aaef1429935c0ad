// Sum by warp shuffles, then one warp over the warps' sums: the usual two-level block reduction.
__device__ __forceinline__ float warp_sum(float v)
{
    for (int offset = 16; offset > 0; offset /= 2)
        v += __shfl_down_sync(0xffffffffu, v, offset);
    return v;
}

extern "C" __global__ void reduce_shfl(const float *x, float *partial, int n)
{
    __shared__ float sums[32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    float v = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        v += x[i];
    v = warp_sum(v);
    if (lane == 0)
        sums[warp] = v;
    __syncthreads();
    if (warp == 0) {
        v = lane < blockDim.x / 32 ? sums[lane] : 0.0f;
        v = warp_sum(v);
        if (lane == 0)
            partial[blockIdx.x] = v;
    }
}
