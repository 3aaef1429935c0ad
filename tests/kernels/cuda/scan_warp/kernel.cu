// Inclusive prefix sum of 256 elements a CTA: shuffles within each warp, then over the warps' totals.
extern "C" __global__ void scan_warp(const float *in, float *out, int n)
{
    __shared__ float totals[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    float v = i < n ? in[i] : 0.0f;
    for (int d = 1; d < 32; d *= 2) {
        float left = __shfl_up_sync(0xffffffffu, v, d);
        if (lane >= d)
            v += left;
    }
    if (lane == 31)
        totals[warp] = v;
    __syncthreads();
    for (int w = 0; w < warp; ++w)
        v += totals[w];
    if (i < n)
        out[i] = v;
}
