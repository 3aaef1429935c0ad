// corpus: only sm_90a
// Multicast: each CTA of a cluster of two loads half of a table once, into the shared memory of both.
#include <cuda.h>
#include <cstdint>

extern "C" __global__ void __cluster_dims__(2) tma_multicast(const __grid_constant__ CUtensorMap map, const uint32_t *rows, float *out)
{
    __shared__ __align__(128) float table[32][32];
    __shared__ __align__(8) uint64_t barrier;
    unsigned bar = (unsigned)__cvta_generic_to_shared(&barrier), at = (unsigned)__cvta_generic_to_shared(table), rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4096;" ::"r"(bar) : "memory");
    }
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"
                     ::"r"(at + rank * 2048), "l"(&map), "r"(0), "r"(rank * 16), "r"(bar), "h"((short)3) : "memory");
    asm volatile("{\n\t.reg .pred p;\n\tW: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n\t@!p bra W;\n\t}" ::"r"(bar) : "memory");
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < 32; ++k)
        sum += table[rows[i]][k];
    out[i] = sum;
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}
