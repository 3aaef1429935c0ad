// A barrier for 48 threads: only whole warps can be counted.
extern "C" __global__ void odd_count(int *out, int n)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = t;
#ifdef FIXED
    n += 16;
#endif
    asm volatile("bar.sync 1, %0;" ::"r"(n) : "memory"); // FAULT
    out[t] = tile[t ^ 32];
}
