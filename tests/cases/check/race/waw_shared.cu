// Every warp writes the result: whose stays is a matter of chance.
extern "C" __global__ void waw_shared(const int *in, int *out)
{
    __shared__ int last;
    int t = threadIdx.x;
#ifdef FIXED
    if (t == 63)
#else
    if (t % 32 == 31)
#endif
        last = in[t]; // FAULT OTHER
    __syncthreads();
    out[t] = last;
}
