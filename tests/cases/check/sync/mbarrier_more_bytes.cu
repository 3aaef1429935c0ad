// corpus: only sm_90a
// An mbarrier expects 128 bytes, and the copy brings 256: its phase never ends.
#include <cstdint>

extern "C" __global__ void mbarrier_more_bytes(const int *in, int *out)
{
    __shared__ __align__(128) int tile[64];
    __shared__ __align__(8) uint64_t bar;
    unsigned at = (unsigned)__cvta_generic_to_shared(&bar), to = (unsigned)__cvta_generic_to_shared(tile);
    int t = threadIdx.x;
#ifdef FIXED
    int bytes = 256;
#else
    int bytes = 128;
#endif
    if (t == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at) : "memory"); // OTHER
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("{\n\t.reg .b64 s;\n\tmbarrier.arrive.expect_tx.shared.b64 s, [%0], %1;\n\t}" ::"r"(at), "r"(bytes) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(to), "l"(in), "r"(at) : "memory");
    }
    __syncthreads();
    asm volatile("{\n\t.reg .pred p;\nW%=:\n\tmbarrier.try_wait.parity.shared.b64 p, [%0], 0;\n\t@!p bra W%=;\n\t}" ::"r"(at) : "memory"); // FAULT
#ifdef FIXED
    out[t] = tile[t];
#endif
}
