// corpus: only sm_90a
// Tensor copies of one to five dimensions: loads from coordinates outside on either side, NaN where nothing is, elements left
// out, and reductions of integers that end behind the tensor (to begin before it is an illegal instruction).
#include <cuda.h>
#include <cuda_fp16.h>
#include <cstdint>

__device__ void wait(unsigned bar, int phase)
{
    asm volatile("{\n\t.reg .pred p;\n\tW: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n\t@!p bra W;\n\t}" ::"r"(bar), "r"(phase) : "memory");
}

__device__ void expect(unsigned bar, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}

extern "C" __global__ void __launch_bounds__(32) tma_dimensions(
    const __grid_constant__ CUtensorMap line, const __grid_constant__ CUtensorMap cube, const __grid_constant__ CUtensorMap five,
    const __grid_constant__ CUtensorMap least, const __grid_constant__ CUtensorMap bits, uint32_t *seen1, half *seen3, uint8_t *seen5)
{
    __shared__ __align__(128) uint32_t a[64];
    __shared__ __align__(128) half b[3 * 4 * 16];
    __shared__ __align__(128) uint8_t c[2 * 2 * 3 * 2 * 16];
    __shared__ __align__(8) uint64_t barrier;
    unsigned bar = (unsigned)__cvta_generic_to_shared(&barrier), t = threadIdx.x;
    unsigned sa = (unsigned)__cvta_generic_to_shared(a), sb = (unsigned)__cvta_generic_to_shared(b), sc = (unsigned)__cvta_generic_to_shared(c);
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        expect(bar, sizeof(a) + sizeof(b) + sizeof(c));
        asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];"
                     ::"r"(sa), "l"(&line), "r"(72), "r"(bar) : "memory");
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"
                     ::"r"(sb), "l"(&cube), "r"(-8), "r"(2), "r"(-1), "r"(bar) : "memory");
        asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5, %6}], [%7];"
                     ::"r"(sc), "l"(&five), "r"(0), "r"(0), "r"(1), "r"(0), "r"(2), "r"(bar) : "memory");
    }
    __syncwarp();
    wait(bar, 0);
    for (int i = t; i < 64; i += 32)
        seen1[i] = a[i];
    for (int i = t; i < 3 * 4 * 16; i += 32)
        seen3[i] = b[i];
    for (int i = t; i < sizeof(c); i += 32)
        seen5[i] = c[i];
    __syncwarp();
    if (t == 0) {
        asm volatile("cp.reduce.async.bulk.tensor.1d.global.shared::cta.min.bulk_group [%0, {%1}], [%2];" ::"l"(&least), "r"(8), "r"(sa) : "memory");
        asm volatile("cp.reduce.async.bulk.tensor.1d.global.shared::cta.xor.bulk_group [%0, {%1}], [%2];" ::"l"(&bits), "r"(16), "r"(sa) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
}
