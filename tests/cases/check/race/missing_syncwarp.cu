// Lanes of one warp pass values through shared memory and trust in running in step.
extern "C" __global__ void missing_syncwarp(const int *in, int *out)
{
    __shared__ int tile[32];
    int t = threadIdx.x;
    tile[t] = in[t]; // OTHER
#ifdef FIXED
    __syncwarp();
#endif
    out[t] = tile[31 - t]; // FAULT
}
