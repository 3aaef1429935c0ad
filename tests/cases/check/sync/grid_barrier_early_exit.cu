// A barrier of the whole grid at which a CTA that has nothing to do never arrives.
extern "C" __global__ void grid_barrier_early_exit(unsigned *arrived, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
    if (i < n)
        out[i] = i;
#else
    if (blockIdx.x * blockDim.x >= n)
        return;
    out[i] = i;
#endif
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < gridDim.x) // FAULT
            __nanosleep(20);
        __threadfence();
    }
    __syncthreads(); // OTHER
    if (i < n)
        out[i] += 1;
}
