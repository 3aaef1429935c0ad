// Warps 0 and 1, and 2 and 3, exchange values; the barriers that they meet at are for 0 and 2, and 1 and 3.
extern "C" __global__ void barrier_of_others(const int *in, int *out)
{
    __shared__ int tile[128];
    int t = threadIdx.x, warp = t / 32;
#ifdef FIXED
    int id = 1 + warp / 2;
#else
    int id = 1 + warp % 2;
#endif
    tile[t] = in[t]; // OTHER
    asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory");
    out[t] = tile[t ^ 32]; // FAULT
}
