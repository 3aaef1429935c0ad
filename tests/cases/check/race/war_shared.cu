// A tile is filled again while others may still read the one before.
extern "C" __global__ void war_shared(const int *in, int *out)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = in[t];
    __syncthreads();
    out[t] = tile[63 - t]; // OTHER
#ifdef FIXED
    __syncthreads();
#endif
    tile[t] = in[64 + t]; // FAULT
    __syncthreads();
    out[64 + t] = tile[63 - t];
}
