// A barrier in a branch that splits a warp: half of its lanes meet the others' next barrier there.
extern "C" __global__ void divergent_barrier(int *out)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = t;
#ifdef FIXED
    __syncthreads();
#else
    if (t < 16 || t >= 32)
        __syncthreads(); // FAULT
#endif
    __syncthreads(); // OTHER
    out[t] = tile[63 - t];
}
