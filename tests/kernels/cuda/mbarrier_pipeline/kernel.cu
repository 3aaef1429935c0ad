// corpus: keep sm_90a
// Producer and consumer warps around a ring of two buffers, handing over through mbarriers (arrive, test_wait).
#include <cstdint>

__device__ void arrive(unsigned barrier)
{
    asm volatile("{\n\t.reg .b64 state;\n\tmbarrier.arrive.shared.b64 state, [%0];\n\t}" ::"r"(barrier) : "memory");
}

__device__ void wait(unsigned barrier, unsigned phase)
{
    unsigned done;
    do
        asm volatile("{\n\t.reg .pred p;\n\tmbarrier.test_wait.parity.shared.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(done) : "r"(barrier), "r"(phase) : "memory");
    while (!done);
}

extern "C" __global__ void mbarrier_pipeline(const int *in, int *out, int rounds)
{
    __shared__ int ring[2][32];
    __shared__ __align__(8) uint64_t barriers[4];
    unsigned full = (unsigned)__cvta_generic_to_shared(barriers), empty = full + 16;
    if (threadIdx.x < 4)
        asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(full + 8 * threadIdx.x) : "memory");
    __syncthreads();
    int lane = threadIdx.x & 31;
    if (threadIdx.x < 32) {
        for (int r = 0; r < rounds; ++r) {
            int slot = r & 1;
            if (r >= 2)
                wait(empty + 8 * slot, (r / 2 - 1) & 1);
            ring[slot][lane] = in[r * 32 + lane] * 3;
            arrive(full + 8 * slot);
        }
    } else {
        int sum = 0;
        for (int r = 0; r < rounds; ++r) {
            int slot = r & 1;
            wait(full + 8 * slot, r / 2 & 1);
            sum += ring[slot][31 - lane];
            arrive(empty + 8 * slot);
        }
        out[lane] = sum;
    }
}
