// Layer normalisation, a CTA a row: mean and variance from one pass of sums, affine output, statistics kept.
extern "C" __global__ void layernorm(const float *x, const float *gamma, const float *beta, float *y, float *mean,
                                     float *rstd, int n, float eps)
{
    __shared__ float2 s[8];
    const float *row = x + blockIdx.x * n;
    float sum = 0.0f, squares = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        sum += row[i];
        squares += row[i] * row[i];
    }
    for (int d = 16; d; d >>= 1) {
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
        squares += __shfl_xor_sync(0xffffffffu, squares, d);
    }
    if ((threadIdx.x & 31) == 0)
        s[threadIdx.x >> 5] = make_float2(sum, squares);
    __syncthreads();
    sum = squares = 0.0f;
    for (int w = 0; w < blockDim.x >> 5; ++w) {
        sum += s[w].x;
        squares += s[w].y;
    }
    float mu = sum / n, r = rsqrtf(squares / n - mu * mu + eps);
    if (threadIdx.x == 0) {
        mean[blockIdx.x] = mu;
        rstd[blockIdx.x] = r;
    }
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        y[blockIdx.x * n + i] = (row[i] - mu) * r * gamma[i] + beta[i];
}
