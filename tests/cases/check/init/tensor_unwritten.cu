// corpus: only sm_90a
// A tile is copied from a tensor that nothing wrote, and used.
#include <cuda.h>
#include <cstdint>

extern "C" __global__ void tensor_unwritten(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap ready, int *out)
{
    __shared__ __align__(128) int tile[64];
    __shared__ __align__(8) uint64_t barrier;
    unsigned bar = (unsigned)__cvta_generic_to_shared(&barrier), to = (unsigned)__cvta_generic_to_shared(tile);
#ifdef FIXED
    const CUtensorMap *map = &ready;
#else
    const CUtensorMap *map = &in;
#endif
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(bar) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("{\n\t.reg .b64 s;\n\tmbarrier.arrive.expect_tx.shared.b64 s, [%0], 256;\n\t}" ::"r"(bar) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                     ::"r"(to), "l"(map), "r"(0), "r"(1), "r"(bar) : "memory");
    }
    __syncthreads();
    asm volatile("{\n\t.reg .pred p;\nW%=:\n\tmbarrier.try_wait.parity.shared.b64 p, [%0], 0;\n\t@!p bra W%=;\n\t}" ::"r"(bar) : "memory");
    int mine = tile[threadIdx.x]; // OTHER
    out[threadIdx.x] = mine + 1; // FAULT
}
