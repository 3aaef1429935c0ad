// A histogram in LDS. With WRONG, no barrier stands between the zeros and the first counts.

extern "C" __global__ void histogram(const unsigned *x, unsigned *h, int n)
{
    __shared__ unsigned s[32];
    int t = threadIdx.x;
    if (t < 32) {
        s[t] = 0;
    }
    if (!WRONG) {
        __syncthreads();
    }
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&s[x[i] & 31], 1u);
    }
    __syncthreads();
    if (t < 32) {
        atomicAdd(&h[t], s[t]);
    }
}
