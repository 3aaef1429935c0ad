// corpus: only sm_90a
// A CTA reads a sum to which another still adds: the cluster's barrier does not wait for them.
#include <cstdint>

#define MEET() asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory")
#define WAIT(bar)                                                                                                        \
    asm volatile("{\n\t.reg .pred p;\nW%=:\n\tmbarrier.try_wait.parity.acquire.cluster.shared.b64 p, [%0], 0;\n\t@!p bra W%=;\n\t}" ::"r"(bar) : "memory")

extern "C" __global__ void __cluster_dims__(2, 1, 1) count_no_wait(int *out)
{
    __shared__ __align__(8) uint64_t bar;
    __shared__ int box[32];
    unsigned at = (unsigned)__cvta_generic_to_shared(&bar), to = (unsigned)__cvta_generic_to_shared(box + threadIdx.x / 2), rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    box[threadIdx.x] = 0;
    if (rank == 1 && threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at) : "memory");
        asm volatile("{\n\t.reg .b64 s;\n\tmbarrier.arrive.expect_tx.shared.b64 s, [%0], 128;\n\t}" ::"r"(at) : "memory");
    }
    MEET();
    if (rank == 0) {
        asm("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(to) : "r"(to));
        asm("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(at) : "r"(at));
        asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(to), "r"(threadIdx.x), "r"(at) : "memory"); // OTHER
    }
    MEET();
    if (rank == 1) {
#ifdef FIXED
        WAIT(at);
#endif
        out[threadIdx.x] = box[threadIdx.x]; // FAULT
        WAIT(at);
    }
    MEET();
}
