// corpus: only sm_90a
// The four swizzles of tensor copies: what a tile looks like in shared memory, byte by byte, and that a store undoes it.
#include <cuda.h>
#include <cstdint>

#define ROWS 16

template <int WIDTH>
__device__ void one(const CUtensorMap *in, const CUtensorMap *out, uint32_t *seen, unsigned buffer, const uint32_t *words, unsigned bar, int phase)
{
    int x = 32 * blockIdx.x / (WIDTH / 4) * (WIDTH / 4);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(ROWS * WIDTH) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                     ::"r"(buffer), "l"(in), "r"(x), "r"(3), "r"(bar) : "memory");
    }
    asm volatile("{\n\t.reg .pred p;\n\tW: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n\t@!p bra W;\n\t}" ::"r"(bar), "r"(phase) : "memory");
    for (int i = threadIdx.x; i < ROWS * WIDTH / 4; i += blockDim.x)
        seen[i] = words[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
                     ::"l"(out), "r"(x), "r"(0), "r"(buffer) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
    __syncthreads();
}

// `seen` is [2 CTAs][4 swizzles][ROWS * 128 bytes].
extern "C" __global__ void tma_swizzles(const __grid_constant__ CUtensorMap plain, const __grid_constant__ CUtensorMap by32,
                                        const __grid_constant__ CUtensorMap by64, const __grid_constant__ CUtensorMap by128,
                                        const __grid_constant__ CUtensorMap out32, const __grid_constant__ CUtensorMap out64,
                                        const __grid_constant__ CUtensorMap out128, const __grid_constant__ CUtensorMap out,
                                        uint32_t *seen)
{
    __shared__ __align__(1024) uint32_t words[ROWS * 32];
    __shared__ __align__(8) uint64_t barrier;
    unsigned buffer = (unsigned)__cvta_generic_to_shared(words), bar = (unsigned)__cvta_generic_to_shared(&barrier);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    uint32_t *to = seen + blockIdx.x * 4 * ROWS * 32;
    one<128>(&plain, &out, to, buffer, words, bar, 0);
    one<32>(&by32, &out32, to + ROWS * 32, buffer, words, bar, 1);
    one<64>(&by64, &out64, to + 2 * ROWS * 32, buffer, words, bar, 0);
    one<128>(&by128, &out128, to + 3 * ROWS * 32, buffer, words, bar, 1);
}
