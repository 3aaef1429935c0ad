// corpus: only sm_90a
// The corpus' gemm_tma with regions: what the producer does for a tile, what consumers wait for, and their products, to whose end they
// wait: the assembler serialises products that are left in flight around the loop here.
#include <cuda.h>
#include <cuda_fp16.h>
#include "marks.cuh"

#define BM 128
#define BN 64
#define BK 64
#define STAGES 3
#define STAGE ((BM + BN) * BK * 2)

enum { load_tile, wait_tile, products };

__device__ unsigned smem(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

// Rows of 128 bytes, 8 of them the pattern of the swizzle.
__device__ uint64_t descriptor(unsigned at)
{
    return (uint64_t)((at & 0x3FFFF) >> 4) | (uint64_t)1 << 16 | (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62;
}

__device__ void wait(unsigned barrier, unsigned phase)
{
    asm volatile("{\n\t"
                 ".reg .pred done;\n\t"
                 "WAIT:\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
                 "@!done bra WAIT;\n\t"
                 "}" ::"r"(barrier), "r"(phase) : "memory");
}

__device__ void load(unsigned to, const CUtensorMap *map, int x, int y, unsigned barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(barrier) : "memory");
}

__device__ void multiply(float (&d)[32], uint64_t a, uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "
                 "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                   "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),
                   "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),
                   "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),
                   "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                 : "l"(a), "l"(b));
}

extern "C" __global__ void __launch_bounds__(384, 2) gemm(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                                                       const __grid_constant__ CUtensorMap c, int tiles, uint64_t *profile)
{
    MARKS(profile, 256 * 12);
    extern __shared__ uint8_t dynamic[];
    __shared__ __align__(8) uint64_t full[STAGES], empty[STAGES];
    unsigned ring = (smem(dynamic) + 1023) & ~1023u, result = ring + STAGES * STAGE;
    int group = threadIdx.x / 128, t = threadIdx.x % 128, lane = t % 32, row = blockIdx.y * BM, column = blockIdx.x * BN;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(smem(&full[s])) : "memory");
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 2;" ::"r"(smem(&empty[s])) : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (t == 0)
            for (int tile = 0; tile < tiles; ++tile) {
                int s = tile % STAGES;
                BEGIN(load_tile);
                unsigned to = ring + s * STAGE, barrier = smem(&full[s]);
                wait(smem(&empty[s]), tile / STAGES & 1 ^ 1);
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(STAGE) : "memory");
                load(to, &a, tile * BK, row, barrier);
                load(to + BM * BK * 2, &b, tile * BK, column, barrier);
                END(load_tile);
            }
        DONE();
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 96;");
    float d[32];
    for (int i = 0; i < 32; ++i)
        d[i] = 0.0f;
    for (int tile = 0; tile < tiles; ++tile) {
        int s = tile % STAGES;
        unsigned left = ring + s * STAGE + (group - 1) * 64 * BK * 2, right = ring + s * STAGE + BM * BK * 2;
        BEGIN(wait_tile);
        wait(smem(&full[s]), tile / STAGES & 1);
        END(wait_tile);
        BEGIN(products);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int part = 0; part < BK / 16; ++part)
            multiply(d, descriptor(left + part * 32), descriptor(right + part * 32));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        END(products);
        if (t == 0)
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(smem(&empty[s])) : "memory");
    }
    unsigned out = result + (group - 1) * 64 * BN * 2;
    for (int j = 0; j < 8; ++j)
        for (int h = 0; h < 2; ++h) {
            int r = t / 32 * 16 + lane / 4 + h * 8;
            half2 v = __floats2half2_rn(d[j * 4 + h * 2], d[j * 4 + h * 2 + 1]);
            // Piece j of its row, swizzled by hand.
            asm volatile("st.shared.b32 [%0], %1;" ::"r"(out + r * 128 + (j ^ r % 8) * 16 + lane % 4 * 4), "r"(*(unsigned *)&v) : "memory");
        }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("bar.sync %0, 128;" ::"r"(group) : "memory");
    if (t == 0) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
                     ::"l"(&c), "r"(column), "r"(row + (group - 1) * 64), "r"(out) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
    DONE();
}
