// Everybody waits at an mbarrier at which nobody arrives.
#include <cstdint>

extern "C" __global__ void mbarrier_never_armed(int *out)
{
    __shared__ __align__(8) uint64_t bar;
    unsigned at = (unsigned)__cvta_generic_to_shared(&bar);
    int t = threadIdx.x;
    if (t == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at) : "memory");
    __syncthreads();
#ifdef FIXED
    if (t == 0)
        asm volatile("{\n\t.reg .b64 s;\n\tmbarrier.arrive.shared.b64 s, [%0];\n\t}" ::"r"(at) : "memory");
#endif
    asm volatile("{\n\t.reg .pred p;\nW%=:\n\tmbarrier.test_wait.parity.shared.b64 p, [%0], 0;\n\t@!p bra W%=;\n\t}" ::"r"(at) : "memory"); // FAULT
    out[t] = t;
}
