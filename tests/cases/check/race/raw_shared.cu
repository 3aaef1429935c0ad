// No barrier between writing a tile and reading the other warp's half of it.
extern "C" __global__ void raw_shared(const int *in, int *out)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = in[t]; // OTHER
#ifdef FIXED
    __syncthreads();
#endif
    out[t] = tile[t ^ 32]; // FAULT
}
