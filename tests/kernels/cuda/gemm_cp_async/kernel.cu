// corpus: keep sm_90a
// The Ampere way: cp.async into three stages of swizzled shared memory, ldmatrix, mma.m16n8k16; 64 x 64 a CTA.
#include <cuda_fp16.h>

#define BM 64
#define BN 64
#define BK 32
#define STAGES 3

__device__ unsigned smem(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void copy16(void *to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(smem(to)), "l"(from) : "memory");
}

// Where eight halves of a row land: rows of 32 (A) or 64 (B) halves, their chunks permuted by the row.
__device__ int at_a(int row, int chunk) { return row * BK + ((chunk ^ (row >> 1 & 3)) << 3); }
__device__ int at_b(int row, int chunk) { return row * BN + ((chunk ^ (row & 7)) << 3); }

extern "C" __global__ void __launch_bounds__(128) gemm_cp_async(const half *a, const half *b, float *c, int n, int k)
{
    __shared__ __align__(128) half sa[STAGES][BM * BK], sb[STAGES][BK * BN];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN, wm = warp / 2 * 32, wn = warp % 2 * 32;
    float acc[2][4][4] = {};
    auto load = [&](int stage, int base) {
        for (int i = t; i < BM * BK / 8; i += 128)
            copy16(&sa[stage][at_a(i / 4, i % 4)], a + (m0 + i / 4) * k + base + i % 4 * 8);
        for (int i = t; i < BK * BN / 8; i += 128)
            copy16(&sb[stage][at_b(i / 8, i % 8)], b + (base + i / 8) * n + n0 + i % 8 * 8);
    };
    int tiles = k / BK;
    for (int s = 0; s < STAGES - 1; ++s) {
        if (s < tiles)
            load(s, s * BK);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    for (int tile = 0; tile < tiles; ++tile) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();
        if (tile + STAGES - 1 < tiles)
            load((tile + STAGES - 1) % STAGES, (tile + STAGES - 1) * BK);
        asm volatile("cp.async.commit_group;" ::: "memory");
        half *ta = sa[tile % STAGES], *tb = sb[tile % STAGES];
        for (int kk = 0; kk < BK; kk += 16) {
            unsigned fa[2][4], fb[4][2];
            for (int i = 0; i < 2; ++i) {
                unsigned p = smem(ta + at_a(wm + i * 16 + lane % 16, kk / 8 + lane / 16));
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(fa[i][0]), "=r"(fa[i][1]), "=r"(fa[i][2]), "=r"(fa[i][3]) : "r"(p));
            }
            for (int j = 0; j < 4; j += 2) {
                unsigned p = smem(tb + at_b(kk + lane % 16, wn / 8 + j + lane / 16));
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(fb[j][0]), "=r"(fb[j][1]), "=r"(fb[j + 1][0]), "=r"(fb[j + 1][1]) : "r"(p));
            }
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 4; ++j)
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                                 : "+f"(acc[i][j][0]), "+f"(acc[i][j][1]), "+f"(acc[i][j][2]), "+f"(acc[i][j][3])
                                 : "r"(fa[i][0]), "r"(fa[i][1]), "r"(fa[i][2]), "r"(fa[i][3]), "r"(fb[j][0]),
                                   "r"(fb[j][1]));
        }
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j)
            for (int h = 0; h < 2; ++h) {
                int row = m0 + wm + i * 16 + lane / 4 + h * 8, col = n0 + wn + j * 8 + lane % 4 * 2;
                *reinterpret_cast<float2 *>(c + row * n + col) = make_float2(acc[i][j][2 * h], acc[i][j][2 * h + 1]);
            }
}
