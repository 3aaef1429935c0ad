// Single-pass prefix sum over the whole grid: tickets by atomics, then decoupled look-back through global memory.
extern "C" __global__ void prefix_sum_lookback(const unsigned *in, unsigned *out, unsigned long long *state, unsigned *ticket)
{
    __shared__ unsigned warps[4], cta, base;
    if (threadIdx.x == 0)
        cta = atomicAdd(ticket, 1u);
    __syncthreads();
    unsigned me = cta, i = me * 128 + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    unsigned v = in[i];
    for (int d = 1; d < 32; d *= 2) {
        unsigned left = __shfl_up_sync(0xffffffffu, v, d);
        v += lane >= d ? left : 0;
    }
    if (lane == 31)
        warps[warp] = v;
    __syncthreads();
    for (unsigned w = 0; w < warp; ++w)
        v += warps[w];
    if (threadIdx.x == 127) {
        // High word 1: this CTA's own sum; 2: the sum up to and with it.
        volatile unsigned long long *s = state;
        s[me] = (1ull << 32) | v;
        unsigned before = 0;
        for (int j = (int)me - 1; j >= 0; --j) {
            unsigned long long seen;
            do
                seen = s[j];
            while (seen >> 32 == 0);
            before += (unsigned)seen;
            if (seen >> 32 == 2)
                break;
        }
        __threadfence();
        s[me] = (2ull << 32) | (before + v);
        base = before;
    }
    __syncthreads();
    out[i] = base + v;
}
