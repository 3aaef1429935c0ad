// corpus: only sm_90a
// A CTA of a cluster waits for the other's arrival at its mbarrier, which the other does behind a barrier of the cluster to
// which the first has not come.
#include <cstdint>

#define MEET_ARRIVE() asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory")
#define MEET_WAIT() asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory")

extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_crossed(int *out)
{
    __shared__ __align__(8) uint64_t bar;
    unsigned at = (unsigned)__cvta_generic_to_shared(&bar), rank, first;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(first) : "r"(at));
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at) : "memory");
    MEET_ARRIVE();
    MEET_WAIT();
#ifdef FIXED
    if (rank == 1 && threadIdx.x == 0)
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(first) : "memory");
#endif
    if (rank == 0)
        asm volatile("{\n\t.reg .pred p;\nW%=:\n\tmbarrier.test_wait.parity.acquire.cluster.shared.b64 p, [%0], 0;\n\t@!p bra W%=;\n\t}" ::"r"(at) : "memory"); // FAULT
    MEET_ARRIVE();
    MEET_WAIT(); // OTHER
#ifndef FIXED
    if (rank == 1 && threadIdx.x == 0)
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(first) : "memory");
    MEET_ARRIVE();
    MEET_WAIT();
#endif
    out[blockIdx.x * blockDim.x + threadIdx.x] = rank;
}
