// A barrier counts on 128 threads; a warp of them has returned.
extern "C" __global__ void early_return(int *out, int n)
{
    __shared__ int tile[128];
    int t = threadIdx.x;
    if (t >= n)
        return;
    tile[t] = t;
#ifdef FIXED
    asm volatile("bar.sync 1, 96;" ::: "memory");
#else
    asm volatile("bar.sync 1, 128;" ::: "memory"); // FAULT
#endif
    out[t] = tile[n - 1 - t];
}
