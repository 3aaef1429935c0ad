// Two warps meet at a barrier and tell it different numbers of threads.
extern "C" __global__ void other_counts(int *out)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = t;
    if (t < 32)
        asm volatile("barrier.sync 1, 64;" ::: "memory"); // FAULT
    else
#ifdef FIXED
        asm volatile("barrier.sync 1, 64;" ::: "memory");
#else
        asm volatile("barrier.sync 1, 96;" ::: "memory"); // FAULT
#endif
    out[t] = tile[t ^ 32];
}
