extern "C" __global__ void k(const unsigned char* px, unsigned* bins, int n)
{
    __shared__ unsigned local[32];
    int t = threadIdx.x;
    if (t < 32) local[t] = 0;
    __syncthreads();
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += stride) {
        unsigned b = px[i] >> 3;
        atomicAdd(&local[b], 1u);
    }
    __syncthreads();
    if (t < 32 && local[t] != 0)
        atomicAdd(&bins[t], local[t]);
}
