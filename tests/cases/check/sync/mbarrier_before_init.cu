// Threads arrive at an mbarrier that nobody has set up.
#include <cstdint>

extern "C" __global__ void mbarrier_before_init(int *out)
{
    __shared__ __align__(8) uint64_t bar;
    unsigned at = (unsigned)__cvta_generic_to_shared(&bar);
    int t = threadIdx.x;
#ifdef FIXED
    if (t == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(at) : "memory");
    __syncthreads();
#endif
    asm volatile("{\n\t.reg .b64 s;\n\tmbarrier.arrive.shared.b64 s, [%0];\n\t}" ::"r"(at) : "memory"); // FAULT
    out[t] = t;
}
