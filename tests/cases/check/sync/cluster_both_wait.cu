// corpus: only sm_90a
// Each of two CTAs of a cluster waits for the other before it tells the other to go on.
#include <cstdint>

#define MEET() asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory")
#define TELL(bar) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(bar) : "memory")

extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_both_wait(int *out)
{
    __shared__ __align__(8) uint64_t bar;
    unsigned at = (unsigned)__cvta_generic_to_shared(&bar), rank, other;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(at), "r"(rank ^ 1));
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(at) : "memory");
    MEET();
#ifdef FIXED
    TELL(other);
#endif
    asm volatile("{\n\t.reg .pred p;\nW%=:\n\tmbarrier.try_wait.parity.acquire.cluster.shared.b64 p, [%0], 0;\n\t@!p bra W%=;\n\t}" ::"r"(at) : "memory"); // FAULT
#ifndef FIXED
    TELL(other);
#endif
    MEET();
    out[blockIdx.x * blockDim.x + threadIdx.x] = rank;
}
