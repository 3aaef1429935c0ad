// Copies make an mbarrier's phase complete, and nobody waits for it.
#include <cstdint>

extern "C" __global__ void arrive_without_wait(const int *in, int *out)
{
    __shared__ int tile[32];
    __shared__ __align__(8) uint64_t bar;
    int t = threadIdx.x;
    unsigned at = (unsigned)__cvta_generic_to_shared(&bar), to = (unsigned)__cvta_generic_to_shared(tile + t);
    if (t == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(at) : "memory");
    __syncthreads();
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(in + t) : "memory"); // OTHER
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(at) : "memory");
#ifdef FIXED
    asm volatile("{\n\t.reg .pred p;\nW%=:\n\tmbarrier.test_wait.parity.shared.b64 p, [%0], 0;\n\t@!p bra W%=;\n\t}" ::"r"(at) : "memory");
#endif
    out[t] = tile[t]; // FAULT
}
