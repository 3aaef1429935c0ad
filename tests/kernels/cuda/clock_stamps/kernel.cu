// Special registers and clocks: what they say differs from run to run, so only their order and range are checked.
extern "C" __global__ void clock_stamps(unsigned long long *stamps, int *good, int rounds)
{
    unsigned long long timer, timer2;
    long long before = clock64();
    unsigned short_before = clock();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(timer));
    unsigned v = threadIdx.x;
    for (int r = 0; r < rounds; ++r)
        v = v * 1664525u + 1013904223u;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(timer2));
    unsigned sm, warp, lane, warps, sms;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    asm volatile("mov.u32 %0, %%nsmid;" : "=r"(sms));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
    asm volatile("mov.u32 %0, %%nwarpid;" : "=r"(warps));
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    long long after = clock64();
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    stamps[i] = (after - before) + v % 2 + (clock() - short_before) % 2;
    good[i] = (after >= before) + 2 * (timer2 >= timer) + 4 * (sm < sms) + 8 * (warp < warps) + 16 * (lane == threadIdx.x % 32);
}
