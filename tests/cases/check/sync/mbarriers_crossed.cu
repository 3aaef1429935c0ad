// Two warps, two mbarriers: each waits for the one at which the other arrives after its own wait.
#include <cstdint>

#define ARRIVE(bar) asm volatile("{\n\t.reg .b64 s;\n\tmbarrier.arrive.shared.b64 s, [%0];\n\t}" ::"r"(bar) : "memory")
#define WAIT(bar)                                                                                                        \
    asm volatile("{\n\t.reg .pred p;\nW%=:\n\tmbarrier.test_wait.parity.shared.b64 p, [%0], 0;\n\t@!p bra W%=;\n\t}" ::"r"(bar) : "memory")

extern "C" __global__ void mbarriers_crossed(int *out)
{
    __shared__ __align__(8) uint64_t bars[2];
    unsigned a = (unsigned)__cvta_generic_to_shared(bars), b = a + 8;
    int t = threadIdx.x;
    if (t == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(a) : "memory");
        asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(b) : "memory");
    }
    __syncthreads();
    if (t < 32) {
#ifdef FIXED
        ARRIVE(b);
#endif
        WAIT(a); // FAULT
#ifndef FIXED
        ARRIVE(b);
#endif
    } else {
#ifdef FIXED
        ARRIVE(a);
#endif
        WAIT(b); // OTHER
#ifndef FIXED
        ARRIVE(a);
#endif
    }
    out[t] = t;
}
