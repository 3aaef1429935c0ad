// A sum in shared memory that nobody sets to zero.
extern "C" __global__ void shared(const int *in, int *out)
{
    __shared__ int sum;
    int t = threadIdx.x;
#ifdef FIXED
    if (t == 0)
        sum = 0;
    __syncthreads();
#endif
    atomicAdd(&sum, in[t]); // FAULT
    __syncthreads();
    out[t] = sum;
}
