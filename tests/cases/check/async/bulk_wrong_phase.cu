// corpus: only sm_90a
// The wait asks for the phase before the one that the copy completes: that is over, and the wait ends at once.
#include <cstdint>

#define ARRIVE asm volatile("{\n\t.reg .b64 s;\n\tmbarrier.arrive.shared.b64 s, [%0];\n\t}" ::"r"(at) : "memory")
#define WAIT(phase)                                                                                                      \
    asm volatile("{\n\t.reg .pred p;\nW%=:\n\tmbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n\t@!p bra W%=;\n\t}" ::"r"(at), "r"(phase) : "memory")

extern "C" __global__ void bulk_wrong_phase(const int *in, int *out)
{
    __shared__ __align__(128) int tile[32];
    __shared__ __align__(8) uint64_t bar;
    unsigned at = (unsigned)__cvta_generic_to_shared(&bar), to = (unsigned)__cvta_generic_to_shared(tile);
    int t = threadIdx.x;
#ifdef FIXED
    unsigned phase = 0;
#else
    unsigned phase = 1;
#endif
    if (t == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 2;" ::"r"(at) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("{\n\t.reg .b64 s;\n\tmbarrier.arrive.expect_tx.shared.b64 s, [%0], 128;\n\t}" ::"r"(at) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];" ::"r"(to), "l"(in), "r"(at) : "memory"); // OTHER
    }
    __syncthreads();
#ifdef FIXED
    if (t == 1)
        ARRIVE;
#endif
    WAIT(phase);
    out[t] = tile[t]; // FAULT
#ifndef FIXED
    __syncthreads();
    if (t == 1)
        ARRIVE;
#endif
    WAIT(0);
}
