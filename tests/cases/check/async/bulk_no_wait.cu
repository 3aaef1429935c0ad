// corpus: only sm_90a
// What a bulk copy brings is read after a barrier of the CTA, without waiting for the copy's mbarrier.
#include <cstdint>

extern "C" __global__ void bulk_no_wait(const int *in, int *out)
{
    __shared__ __align__(128) int tile[32];
    __shared__ __align__(8) uint64_t bar;
    unsigned at = (unsigned)__cvta_generic_to_shared(&bar), to = (unsigned)__cvta_generic_to_shared(tile);
    int t = threadIdx.x;
    if (t == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("{\n\t.reg .b64 s;\n\tmbarrier.arrive.expect_tx.shared.b64 s, [%0], 128;\n\t}" ::"r"(at) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];" ::"r"(to), "l"(in), "r"(at) : "memory"); // OTHER
    }
    __syncthreads();
#ifdef FIXED
    asm volatile("{\n\t.reg .pred p;\nW%=:\n\tmbarrier.try_wait.parity.shared.b64 p, [%0], 0;\n\t@!p bra W%=;\n\t}" ::"r"(at) : "memory");
#endif
    out[t] = tile[t]; // FAULT
    asm volatile("{\n\t.reg .pred p;\nW%=:\n\tmbarrier.try_wait.parity.shared.b64 p, [%0], 0;\n\t@!p bra W%=;\n\t}" ::"r"(at) : "memory");
}
