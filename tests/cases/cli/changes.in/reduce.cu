__device__ float warp_sum(float v)
{
    for (int o = 16; o > 0; o >>= 1)
        v += __shfl_down_sync(0xffffffffu, v, o);
    return v;
}
extern "C" __global__ void k(const float* a, const float* b, float* out, int n)
{
    __shared__ float part[4];
    int t = threadIdx.x, lane = t & 31, wid = t >> 5;
    float s = 0.0f;
    for (int i = blockIdx.x * 128 + t; i < n; i += 256)
        s += a[i] * b[i];
    s = warp_sum(s);
    if (lane == 0) part[wid] = s;
    __syncthreads();
    if (wid == 0) {
        float r = lane < 4 ? part[lane] : 0.0f;
        r = warp_sum(r);
        if (lane == 0) out[blockIdx.x] = r;
    }
}
