// corpus: only sm_90a
// A bulk copy of two rows begins at the last row. Who waits for it goes on all the same.
#include <cstdint>

extern "C" __global__ void bulk_outside(const int *in, int *out, int row)
{
    __shared__ __align__(128) int tile[64];
    __shared__ __align__(8) uint64_t bar;
    unsigned at = (unsigned)__cvta_generic_to_shared(&bar), to = (unsigned)__cvta_generic_to_shared(tile);
#ifdef FIXED
    row -= 1;
#endif
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("{\n\t.reg .b64 s;\n\tmbarrier.arrive.expect_tx.shared.b64 s, [%0], 256;\n\t}" ::"r"(at) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(to), "l"(in + 32 * row), "r"(at) : "memory"); // FAULT
    }
    __syncthreads();
    asm volatile("{\n\t.reg .pred p;\nW%=:\n\tmbarrier.try_wait.parity.shared.b64 p, [%0], 0;\n\t@!p bra W%=;\n\t}" ::"r"(at) : "memory");
    if (row < 3)
        out[threadIdx.x] = tile[threadIdx.x];
}
