// corpus: only sm_90a
// Tensor copies through maps that the host encodes: 2D load on an mbarrier, 2D store, reduction, prefetch. Tiles at the right
// and at the bottom lie half outside.
#include <cuda.h>
#include <cstdint>

extern "C" __global__ void tma_tensor_copy(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out,
                                           const CUtensorMap *total)
{
    __shared__ __align__(128) float tile[32][32];
    __shared__ __align__(8) uint64_t barrier;
    unsigned bar = (unsigned)__cvta_generic_to_shared(&barrier), buffer = (unsigned)__cvta_generic_to_shared(tile);
    int x = blockIdx.x * 32, y = blockIdx.y * 32;
    if (threadIdx.x == 0) {
        asm volatile("prefetch.tensormap [%0];" ::"l"(&in) : "memory");
        asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global [%0, {%1, %2}];" ::"l"(&in), "r"(x), "r"(y) : "memory");
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(bar) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("{\n\t.reg .b64 s;\n\tmbarrier.arrive.expect_tx.shared.b64 s, [%0], 4096;\n\t}" ::"r"(bar) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                     ::"r"(buffer), "l"(&in), "r"(x), "r"(y), "r"(bar) : "memory");
    }
    __syncthreads();
    asm volatile("{\n\t.reg .pred p;\n\tW: mbarrier.try_wait.parity.shared.b64 p, [%0], 0;\n\t@!p bra W;\n\t}" ::"r"(bar) : "memory");
    for (int j = 0; j < 32; ++j)
        tile[j][threadIdx.x] += 1.0f;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
                     ::"l"(&out), "r"(x), "r"(y), "r"(buffer) : "memory");
        asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%0, {%1, %2}], [%3];"
                     ::"l"(total), "r"(x), "r"(y), "r"(buffer) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
}
