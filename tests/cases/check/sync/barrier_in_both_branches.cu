// Both sides of a branch wait for "the" barrier, each at an instruction of its own.
#ifdef FIXED
#define BARRIER "barrier.sync 0;"
#else
#define BARRIER "barrier.sync.aligned 0;"
#endif

extern "C" __global__ void barrier_in_both_branches(int *out)
{
    __shared__ int tile[32];
    int t = threadIdx.x;
    if (t < 8) {
        tile[t] = t;
        asm volatile(BARRIER ::: "memory"); // FAULT
        out[t] = tile[31 - t];
    } else {
        tile[t] = 2 * t;
        asm volatile(BARRIER ::: "memory"); // OTHER
        out[t] = tile[31 - t] + 1;
    }
}
