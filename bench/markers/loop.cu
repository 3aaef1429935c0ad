// corpus: only sm_90a
// One load and four fused multiply-adds a trip, each waiting for the one before, in a region: nothing else for a marker to hide behind.
#include "marks.cuh"

enum { step };

template <uint32_t STRIDE> __device__ __forceinline__ void run(const float *in, float *out, int trips, uint64_t *profile)
{
    MARKS(profile, STRIDE);
    const float *at = in + threadIdx.x % 32;
    // Or some forms would compute it in each trip.
    asm volatile("" : "+l"(at));
    float x = 0.0f;
#pragma unroll 1
    for (int trip = 0; trip < trips; ++trip) {
        BEGIN(step);
        float y;
        asm volatile("ld.global.f32 %0, [%1];" : "=f"(y) : "l"(at));
        x = x * 0.5f + y;
        x = x * 0.25f + y;
        x = x * 0.5f - y;
        x = x * 0.25f + y;
        END(step);
    }
    DONE();
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

extern "C" __global__ void __launch_bounds__(1024) loop(const float *in, float *out, int trips, uint64_t *profile)
{
    run<132 * 4>(in, out, trips, profile);
}

extern "C" __global__ void __launch_bounds__(1024) loop_full(const float *in, float *out, int trips, uint64_t *profile)
{
    run<264 * 32>(in, out, trips, profile);
}
