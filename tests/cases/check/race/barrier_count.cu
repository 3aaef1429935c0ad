// A barrier for 64 threads that is told of 32: every warp passes it alone.
#ifdef FIXED
#define COUNT "64"
#else
#define COUNT "32"
#endif

extern "C" __global__ void barrier_count(const int *in, int *out)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = in[t]; // OTHER
    asm volatile("barrier.sync 1, " COUNT ";" ::: "memory");
    out[t] = tile[t ^ 32]; // FAULT
}
