// Every lane sets up the same mbarrier, so that it is set up again while in use.
#include <cstdint>

extern "C" __global__ void mbarrier_init_twice(int *out)
{
    __shared__ __align__(8) uint64_t bar;
    unsigned at = (unsigned)__cvta_generic_to_shared(&bar);
    int t = threadIdx.x;
    if (t == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at) : "memory"); // OTHER
#ifdef FIXED
        asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(at) : "memory");
#endif
        asm volatile("mbarrier.init.shared.b64 [%0], 2;" ::"r"(at) : "memory"); // FAULT
        asm volatile("{\n\t.reg .b64 s;\n\tmbarrier.arrive.shared.b64 s, [%0];\n\t}" ::"r"(at) : "memory");
    }
    out[t] = t;
}
