// corpus: only sm_90a
// Hopper's small things: register budgets by warp group, stmatrix, programmatic launch points, a producer warp group.
#include <cuda_fp16.h>
#include <cstdint>

extern "C" __global__ void __launch_bounds__(256) warp_specialised(const uint2 *in, uint4 *out, int rounds)
{
    __shared__ __align__(16) half tile[4][4 * 64];
    __shared__ __align__(8) uint64_t full, empty;
    unsigned f = (unsigned)__cvta_generic_to_shared(&full), e = (unsigned)__cvta_generic_to_shared(&empty);
    int t = threadIdx.x, lane = t & 31, warp = t >> 5 & 3;
    asm volatile("griddepcontrol.wait;" ::: "memory");
    if (t == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 128;" ::"r"(f) : "memory");
        asm volatile("mbarrier.init.shared.b64 [%0], 128;" ::"r"(e) : "memory");
    }
    __syncthreads();
    unsigned to = (unsigned)__cvta_generic_to_shared(tile[warp]) + lane * 16;
    if (t < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        for (int r = 0; r < rounds; ++r) {
            if (r)
                asm volatile("{\n\t.reg .pred p;\n\tL: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n\t@!p bra L;\n\t}" ::"r"(e), "r"((r - 1) & 1) : "memory");
            uint2 a = in[(r * 128 + t) * 2], b = in[(r * 128 + t) * 2 + 1];
            asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(a.x), "r"(a.y), "r"(b.x), "r"(b.y) : "memory");
            asm volatile("{\n\t.reg .b64 s;\n\tmbarrier.arrive.shared.b64 s, [%0];\n\t}" ::"r"(f) : "memory");
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        for (int r = 0; r < rounds; ++r) {
            asm volatile("{\n\t.reg .pred p;\n\tL: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n\t@!p bra L;\n\t}" ::"r"(f), "r"(r & 1) : "memory");
            uint4 v = reinterpret_cast<uint4 *>(tile[warp])[lane];
            out[r * 128 + t - 128] = v;
            asm volatile("{\n\t.reg .b64 s;\n\tmbarrier.arrive.shared.b64 s, [%0];\n\t}" ::"r"(e) : "memory");
        }
    }
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
