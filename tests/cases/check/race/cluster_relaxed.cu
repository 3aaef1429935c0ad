// corpus: only sm_90a
// A CTA reads what the other CTA of its cluster wrote before a barrier at which it arrived `.relaxed`: that orders nothing.
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_relaxed(int *out)
{
    __shared__ int value;
    unsigned at = (unsigned)__cvta_generic_to_shared(&value), rank, other;
    int seen;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(at), "r"(rank ^ 1));
    if (threadIdx.x == 0)
        value = rank + 1; // OTHER
#ifdef FIXED
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#else
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (threadIdx.x == 0) {
        asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(seen) : "r"(other) : "memory"); // FAULT
        out[blockIdx.x] = seen;
    }
    // Whose memory is read may not end before.
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
