// corpus: only sm_90a
// Atomics of 16 bytes (a list of pairs that grows by compare-and-swap) and on vectors of floats and halves.
#include <cuda_fp16.h>

struct __align__(16) Pair
{
    unsigned long long count, sum;
};

extern "C" __global__ void atomics_wide(const unsigned *x, Pair *total, Pair *last, float2 *f2, float4 *f4, __half2 *h)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, v = x[i];
    // The first guess is wrong, but for one thread; what is there comes back.
    Pair old{0, 100}, want;
    do {
        want = old;
        Pair next{want.count + 1, want.sum + v};
        old = atomicCAS(total, want, next);
    } while (old.count != want.count || old.sum != want.sum);
    if (i == 3)
        atomicExch(last, Pair{v, ~0ull});
    atomicAdd(f2 + v % 4, make_float2(v & 63, 1));
    atomicAdd(f4 + v % 2, make_float4(1, v & 31, 0.5f, -1));
    asm volatile("red.global.add.noftz.v2.f16x2 [%0], {%1, %1};" ::"l"(h + v % 2 * 2), "r"(0x3c003c00) : "memory");
    asm volatile("red.global.max.noftz.v4.f16 [%0], {%1, %2, %1, %2};" ::"l"(h + 4), "h"(static_cast<short>(v & 0x7bff)),
                 "h"(static_cast<short>(0x8000 | (v & 0x3ff)))
                 : "memory");
}
