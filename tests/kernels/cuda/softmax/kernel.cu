// corpus: keep sm_90a
// Row softmax, a CTA a row: maximum, exponentials and sum by warp shuffles and shared memory.
__device__ float block_reduce(float v, bool maximum, float *s)
{
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int d = 16; d; d >>= 1) {
        float other = __shfl_xor_sync(0xffffffffu, v, d);
        v = maximum ? fmaxf(v, other) : v + other;
    }
    __syncthreads();
    if (lane == 0)
        s[warp] = v;
    __syncthreads();
    v = s[0];
    for (int w = 1; w < blockDim.x / 32; ++w)
        v = maximum ? fmaxf(v, s[w]) : v + s[w];
    return v;
}

extern "C" __global__ void softmax(const float *x, float *y, int n)
{
    __shared__ float s[32];
    const float *row = x + blockIdx.x * n;
    float most = -INFINITY, sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        most = fmaxf(most, row[i]);
    most = block_reduce(most, true, s);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        sum += expf(row[i] - most);
    sum = block_reduce(sum, false, s);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        y[blockIdx.x * n + i] = expf(row[i] - most) / sum;
}
