// Walks down a table, from two places. Made by nvcc 13.0 for sm_80, with -ptx -lineinfo -O3 and
//   walk-called.ptx   -DHOW=__noinline__ -DLIMIT=40
//   walk-inlined.ptx  -DHOW=__forceinline__ -DLIMIT=40
//   walk-wrong.ptx    -DHOW=__forceinline__ -DLIMIT=50
__device__ HOW unsigned walk(const unsigned *next, unsigned at, unsigned *visits)
{
    unsigned n = 0;
    while (at > 2) {
        unsigned to = next[at];
        if (to > LIMIT)
            atomicAdd(&visits[at], 1);
        at = to & (at - 1);
        n++;
    }
    return n;
}

extern "C" __global__ void walks(const unsigned *next, unsigned *visits, unsigned *far)
{
    unsigned t = threadIdx.x;
    unsigned n = walk(next, t + 8, visits);
    if (n > 1)
        n += walk(next, 63 - t, visits);
    far[t] = n;
}
