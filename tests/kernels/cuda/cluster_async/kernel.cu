// corpus: only sm_90a
// Asynchronous stores into a neighbour CTA's shared memory, bulk reduction to global memory, vector reductions,
// minima of packed 16-bit integers: what sm_90 adds beside wgmma and tensor copies.
#include <cstdint>

extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_async(const int *in, int *out, int *sums, float *vectors, unsigned *packed)
{
    __shared__ __align__(16) int inbox[64];
    __shared__ __align__(8) uint64_t barrier;
    unsigned t = threadIdx.x, bar = (unsigned)__cvta_generic_to_shared(&barrier), box = (unsigned)__cvta_generic_to_shared(inbox);
    unsigned rank, there, bar_there;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (t == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(bar) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("{\n\t.reg .b64 s;\n\tmbarrier.arrive.expect_tx.shared.b64 s, [%0], 256;\n\t}" ::"r"(bar) : "memory");
    }
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(box + 4 * t), "r"(rank ^ 1));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(bar_there) : "r"(bar), "r"(rank ^ 1));
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
                 ::"r"(there), "r"(in[blockIdx.x * 64 + t]), "r"(bar_there) : "memory");
    asm volatile("{\n\t.reg .pred p;\n\tL: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], 0;\n\t@!p bra L;\n\t}" ::"r"(bar) : "memory");
    out[blockIdx.x * 64 + t] = inbox[t];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], 256;" ::"l"(sums), "r"(box) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
    if (t < 8)
        asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(vectors + 4 * (t & 1)), "f"(1.0f), "f"(0.5f), "f"((float)t), "f"(-1.0f) : "memory");
    unsigned v;
    asm("min.s16x2 %0, %1, %2;" : "=r"(v) : "r"(in[blockIdx.x * 64 + t]), "r"(0x00050003));
    packed[blockIdx.x * 64 + t] = v;
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}
