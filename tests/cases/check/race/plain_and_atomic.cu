// A counter is read plainly while others add to it.
extern "C" __global__ void plain_and_atomic(int *out)
{
    __shared__ int count;
    int t = threadIdx.x;
    if (t == 0)
        count = 0;
    __syncthreads();
    atomicAdd(&count, t); // OTHER
#ifdef FIXED
    __syncthreads();
#endif
    out[t] = count; // FAULT
}
