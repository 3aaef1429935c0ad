// A tile with a halo on both sides; the right one is never loaded.
extern "C" __global__ void shared_halo(const int *in, int *out)
{
    __shared__ int tile[34];
    int t = threadIdx.x;
    tile[t + 1] = in[t];
    if (t == 0)
        tile[0] = 0;
#ifdef FIXED
    if (t == 31)
        tile[33] = 0;
#endif
    __syncthreads();
    out[t] = tile[t] + tile[t + 1] // FAULT
           + tile[t + 2]; // OTHER
}
