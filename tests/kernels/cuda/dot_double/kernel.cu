// Dot product in double precision: grid stride, warp shuffles of 64-bit values, one atomicAdd(double) a CTA.
extern "C" __global__ void dot_double(const double *x, const double *y, double *out, int n)
{
    __shared__ double s[4];
    double v = 0.0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        v = fma(x[i], y[i], v);
    for (int d = 16; d; d >>= 1)
        v += __shfl_down_sync(0xffffffffu, v, d);
    if (threadIdx.x % 32 == 0)
        s[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(out, s[0] + s[1] + s[2] + s[3]);
}
