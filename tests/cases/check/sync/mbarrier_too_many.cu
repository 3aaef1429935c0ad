// corpus: only sm_90a
// An mbarrier of 32 arrivals that also waits for bytes; in that phase 64 threads arrive.
#include <cstdint>

extern "C" __global__ void mbarrier_too_many(int *out)
{
    __shared__ __align__(8) uint64_t bar;
    unsigned at = (unsigned)__cvta_generic_to_shared(&bar);
    int t = threadIdx.x;
    if (t == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(at) : "memory"); // OTHER
        asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 16;" ::"r"(at) : "memory");
    }
    __syncthreads();
#ifdef FIXED
    if (t < 32)
#endif
        asm volatile("{\n\t.reg .b64 s;\n\tmbarrier.arrive.shared.b64 s, [%0];\n\t}" ::"r"(at) : "memory"); // FAULT
    out[t] = t;
}
