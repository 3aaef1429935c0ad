// corpus: only sm_90a
// Attention without a mask, as FlashAttention does it: a warp has 16 rows of queries, a CTA 64; keys and values come in tiles of 64 by cp.async into two stages,
// products are mma.m16n8k16, and the softmax goes along. A region for each of the four parts of a tile.
#include <cuda_fp16.h>
#include "marks.cuh"

#define DIM 64
#define TILE 64
#define WARPS 4

enum { wait_tile, scores, softmax, values };

__device__ __forceinline__ unsigned smem(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

// Where a piece of 16 bytes lies in a tile: rows of 128 bytes, swizzled.
__device__ __forceinline__ unsigned place(int row, int piece) { return row * 128 + (piece ^ row % 8) * 16; }

__device__ __forceinline__ void load(unsigned to, const half *from)
{
    for (int i = threadIdx.x; i < TILE * 8; i += WARPS * 32)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + place(i / 8, i % 8)), "l"(from + i * 8) : "memory");
}

__device__ __forceinline__ void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ float power(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ unsigned pack(float low, float high)
{
    half2 v = __floats2half2_rn(low, high);
    return *(unsigned *)&v;
}

extern "C" __global__ void __launch_bounds__(128) attention(const half *q, const half *k, const half *v, float *out, int length, float scale,
                                                            uint64_t *profile)
{
    MARKS(profile, 384 * 4);
    __shared__ __align__(128) half keys[2][TILE * DIM], vals[2][TILE * DIM];
    int lane = threadIdx.x % 32, row = lane / 4, column = lane % 4 * 2, tiles = length / TILE;
    size_t head = (size_t)blockIdx.y * length * DIM;
    size_t first = head + (size_t)(blockIdx.x * 64 + threadIdx.x / 32 * 16) * DIM;
    load(smem(keys[0]), k + head);
    load(smem(vals[0]), v + head);
    asm volatile("cp.async.commit_group;" ::: "memory");
    unsigned a[4][4];
    for (int i = 0; i < 16; ++i)
        a[i / 4][i % 4] = *(const unsigned *)(q + first + (row + i % 2 * 8) * DIM + i / 4 * 16 + i / 2 % 2 * 8 + column);
    float sum[8][4] = {}, top[2] = {-INFINITY, -INFINITY}, total[2] = {0.0f, 0.0f};
#pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
        BEGIN(wait_tile);
        if (tile + 1 < tiles) {
            load(smem(keys[(tile + 1) % 2]), k + head + (size_t)(tile + 1) * TILE * DIM);
            load(smem(vals[(tile + 1) % 2]), v + head + (size_t)(tile + 1) * TILE * DIM);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        END(wait_tile);
        BEGIN(scores);
        float s[8][4] = {};
        for (int n = 0; n < 8; ++n)
            for (int h = 0; h < 2; ++h) {
                unsigned b[4];
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                             : "r"(smem(keys[tile % 2]) + place(n * 8 + lane % 8, h * 4 + lane / 8)) : "memory");
                multiply(s[n], a[h * 2], b[0], b[1]);
                multiply(s[n], a[h * 2 + 1], b[2], b[3]);
            }
        END(scores);
        BEGIN(softmax);
        for (int h = 0; h < 2; ++h) {
            float most = top[h];
            for (int n = 0; n < 8; ++n)
                most = fmaxf(most, fmaxf(s[n][h * 2], s[n][h * 2 + 1]) * scale);
            most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
            most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
            float less = power(top[h] - most);
            top[h] = most;
            total[h] *= less;
            for (int n = 0; n < 8; ++n)
                for (int i = h * 2; i < h * 2 + 2; ++i) {
                    s[n][i] = power(s[n][i] * scale - most);
                    total[h] += s[n][i];
                    sum[n][i] *= less;
                }
        }
        END(softmax);
        BEGIN(values);
        for (int step = 0; step < 4; ++step) {
            unsigned p[4] = {pack(s[step * 2][0], s[step * 2][1]), pack(s[step * 2][2], s[step * 2][3]),
                             pack(s[step * 2 + 1][0], s[step * 2 + 1][1]), pack(s[step * 2 + 1][2], s[step * 2 + 1][3])};
            for (int n = 0; n < 8; n += 2) {
                unsigned b[4];
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                             : "r"(smem(vals[tile % 2]) + place(step * 16 + lane % 16, n + lane / 16)) : "memory");
                multiply(sum[n], p, b[0], b[1]);
                multiply(sum[n + 1], p, b[2], b[3]);
            }
        }
        END(values);
        __syncthreads();
    }
    for (int h = 0; h < 2; ++h) {
        total[h] += __shfl_xor_sync(~0u, total[h], 1);
        total[h] += __shfl_xor_sync(~0u, total[h], 2);
        for (int n = 0; n < 8; ++n)
            for (int i = 0; i < 2; ++i)
                out[first + (row + h * 8) * DIM + n * 8 + column + i] = sum[n][h * 2 + i] / total[h];
    }
    DONE();
}
