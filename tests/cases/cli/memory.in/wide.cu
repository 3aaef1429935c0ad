// Much of everything: a buffer of 1.5 MiB, 2 KiB of local memory a thread, and a loop whose events take more than both.
extern "C" __global__ void wide(int *x, int n)
{
    int mine[512];
    for (int i = 0; i < 512; ++i)
        mine[i] = 0;
    for (int i = threadIdx.x; i < n; i += 7)
        if (x[i] > 0)
            mine[x[i] & 511] += i;
    x[n + threadIdx.x] = mine[x[0] & 511];
}
