// 64-bin histogram of bytes: a private copy in shared memory, added to the global one at the end.
extern "C" __global__ void histogram_shared(const unsigned char *data, int n, unsigned *bins)
{
    __shared__ unsigned local[64];
    if (threadIdx.x < 64)
        local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[data[i] >> 2], 1u);
    __syncthreads();
    if (threadIdx.x < 64 && local[threadIdx.x])
        atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}
