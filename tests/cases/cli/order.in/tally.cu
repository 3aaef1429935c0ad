// Every CTA adds to one total without atomics: a race that seeds decide, and replay.
extern "C" __global__ void tally(int *total, int *late, int n)
{
    if (threadIdx.x == 0) {
        for (int i = 0; i < n; ++i)
            *(volatile int *)total += 1;
        if (*(volatile int *)total != n * (int)(blockIdx.x + 1))
            atomicAdd(late, 1);
    }
}
