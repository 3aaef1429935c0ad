// corpus: only sm_90a
// A register of A is changed while a product still reads it.
#include <cstdint>

extern "C" __global__ void __launch_bounds__(128) fragment_changed(const uint32_t *a, const uint32_t *b, float *out)
{
    __shared__ __align__(128) uint32_t sb[64];
    int t = threadIdx.x, lane = t & 31, g = t / 32 * 16 + lane / 4, w = lane & 3;
    if (t < 64)
        sb[t] = b[t];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    unsigned start = (unsigned)__cvta_generic_to_shared(sb);
    uint64_t descriptor = (uint64_t)((start & 0x3FFFF) >> 4) | (uint64_t)(128 >> 4) << 16 | (uint64_t)(256 >> 4) << 32;
    uint32_t r0 = a[g * 8 + w], r1 = a[(g + 8) * 8 + w], r2 = a[g * 8 + w + 4], r3 = a[(g + 8) * 8 + w + 4];
    float x0 = 0, x1 = 0, x2 = 0, x3 = 0;
#ifdef FIXED
#define EARLY "wgmma.wait_group.sync.aligned 0;\n\t"
#else
#define EARLY
#endif
    asm volatile("{\n\t.reg .b32 r;\n\tmov.b32 r, %4;\n\twgmma.fence.sync.aligned;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, {r, %5, %6, %7}, %8, 1, 1, 1, 0;\n\t"
                 "wgmma.commit_group.sync.aligned;\n\t" EARLY "mov.b32 r, 0;\n\twgmma.wait_group.sync.aligned 0;\n\t}"
                 : "+f"(x0), "+f"(x1), "+f"(x2), "+f"(x3) : "r"(r0), "r"(r1), "r"(r2), "r"(r3), "l"(descriptor) : "memory"); // FAULT OTHER
    out[t] = x0;
}
