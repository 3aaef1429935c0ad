// corpus: only sm_90a
// wgmma with A in registers: bf16 m64n8k16, s8 m64n8k32 and tf32 m64n8k8, B from unswizzled shared memory.
#include <cstdint>

__device__ uint64_t descriptor(const void *p)
{
    unsigned start = (unsigned)__cvta_generic_to_shared(p);
    return (uint64_t)((start & 0x3FFFF) >> 4) | (uint64_t)(128 >> 4) << 16 | (uint64_t)(256 >> 4) << 32;
}

// A is [64 rows][32 bytes], B is [2][8 columns][16 bytes] (two core matrices), D is [64][8], for each type.
extern "C" __global__ void __launch_bounds__(128) wgmma_shapes(const uint32_t *a, const uint32_t *b, float *d16, int *d8, float *d32)
{
    __shared__ __align__(128) uint32_t sb[3][64];
    int t = threadIdx.x, lane = t & 31, g = t / 32 * 16 + lane / 4, w = lane & 3;
    for (int i = t; i < 192; i += 128)
        sb[i / 64][i % 64] = b[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    uint32_t r[3][4];
    for (int k = 0; k < 3; ++k) {
        const uint32_t *m = a + k * 64 * 8;
        r[k][0] = m[g * 8 + w];
        r[k][1] = m[(g + 8) * 8 + w];
        r[k][2] = m[g * 8 + w + 4];
        r[k][3] = m[(g + 8) * 8 + w + 4];
    }
    float x[4] = {}, z[4] = {};
    int y[4] = {};
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1, 0;"
                 : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]) : "r"(r[0][0]), "r"(r[0][1]), "r"(r[0][2]), "r"(r[0][3]), "l"(descriptor(sb[0])));
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1;"
                 : "+r"(y[0]), "+r"(y[1]), "+r"(y[2]), "+r"(y[3]) : "r"(r[1][0]), "r"(r[1][1]), "r"(r[1][2]), "r"(r[1][3]), "l"(descriptor(sb[1])));
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1;"
                 : "+f"(z[0]), "+f"(z[1]), "+f"(z[2]), "+f"(z[3]) : "r"(r[2][0]), "r"(r[2][1]), "r"(r[2][2]), "r"(r[2][3]), "l"(descriptor(sb[2])));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < 4; ++i) {
        int at = (g + i / 2 * 8) * 8 + w * 2 + i % 2;
        d16[at] = x[i];
        d8[at] = y[i];
        d32[at] = z[i];
    }
}
