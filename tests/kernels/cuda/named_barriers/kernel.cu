// Named barriers: two warps produce, two consume; bar.arrive and bar.sync with counts, and barriers that reduce.
extern "C" __global__ void named_barriers(const int *in, int *out, int rounds)
{
    __shared__ int slot[64];
    int t = threadIdx.x;
    for (int r = 0; r < rounds; ++r) {
        if (t < 64) {
            if (r > 0)
                asm volatile("bar.sync 2, 128;" ::: "memory");
            slot[t] = in[r * 64 + t] * 2;
            asm volatile("bar.arrive 1, 128;" ::: "memory");
        } else {
            asm volatile("bar.sync 1, 128;" ::: "memory");
            out[r * 64 + t - 64] = slot[127 - t];
            if (r + 1 < rounds)
                asm volatile("bar.arrive 2, 128;" ::: "memory");
        }
    }
    int negative = __syncthreads_count(in[t] < 0);
    int any = __syncthreads_or(in[t] == 99), all = __syncthreads_and(in[t] > -1000);
    if (t == 0)
        out[rounds * 64] = negative * 4 + (any ? 2 : 0) + (all ? 1 : 0);
}
