// corpus: only sm_90a
// The Hopper way: bulk copies that complete on mbarriers, two stages, wgmma m64n64k16 on unswizzled shared memory.
// A and B come as 8 x 8 core matrices: [k / 8][64 rows][8], so that a stage is one contiguous copy.
#include <cuda_fp16.h>
#include <cstdint>

#define BK 32
#define STAGES 2
#define BYTES (64 * BK * 2)

__device__ unsigned smem(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

// Start, distance between core matrices along k (64 rows of 16 bytes), and along the rows (8 of them), in 16 bytes.
__device__ uint64_t descriptor(const void *p)
{
    return (uint64_t)((smem(p) & 0x3FFFF) >> 4) | (uint64_t)(1024 >> 4) << 16 | (uint64_t)(128 >> 4) << 32;
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

extern "C" __global__ void __launch_bounds__(128) gemm_wgmma(const half *a, const half *b, float *c, int k)
{
    __shared__ __align__(128) half sa[STAGES][64 * BK], sb[STAGES][64 * BK];
    __shared__ __align__(8) uint64_t full[STAGES];
    int t = threadIdx.x, tiles = k / BK;
    if (t == 0) {
        for (int s = 0; s < STAGES; ++s)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(smem(&full[s])) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    auto load = [&](int tile) {
        int s = tile % STAGES;
        unsigned barrier = smem(&full[s]);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(2 * BYTES) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     ::"r"(smem(sa[s])), "l"(a + tile * 64 * BK), "r"(BYTES), "r"(barrier) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     ::"r"(smem(sb[s])), "l"(b + tile * 64 * BK), "r"(BYTES), "r"(barrier) : "memory");
    };
    if (t == 0)
        for (int s = 0; s < STAGES && s < tiles; ++s)
            load(s);
    float d[32];
    for (int i = 0; i < 32; ++i)
        d[i] = 0.0f;
    for (int tile = 0; tile < tiles; ++tile) {
        int s = tile % STAGES;
        wait(smem(&full[s]), tile / STAGES & 1);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int step = 0; step < BK / 16; ++step) {
            uint64_t da = descriptor(sa[s] + step * 1024), db = descriptor(sb[s] + step * 1024);
            asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
                         "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
                         "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, 1, 1, 1, 0, 0;"
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                           "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),
                           "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),
                           "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),
                           "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                         : "l"(da), "l"(db));
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        __syncthreads();
        if (t == 0 && tile + STAGES < tiles)
            load(tile + STAGES);
    }
    int lane = t & 31, warp = t >> 5;
    for (int j = 0; j < 8; ++j)
        for (int h = 0; h < 2; ++h) {
            int row = warp * 16 + lane / 4 + h * 8, col = j * 8 + lane % 4 * 2;
            *reinterpret_cast<float2 *>(c + row * 64 + col) = make_float2(d[j * 4 + h * 2], d[j * 4 + h * 2 + 1]);
        }
}
