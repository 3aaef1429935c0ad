// Roles of waves, for profiles. The first kernel has no markers.
#include "prlx.cuh"

// Wave 0 arrives late at the first barrier of each round.
extern "C" __global__ void late(const float *x, float *y, int rounds)
{
    __shared__ float table[64];
    int t = threadIdx.x;
    float v = x[blockIdx.x * blockDim.x + t];
    for (int r = 0; r < rounds; r++) {
        if (t < 64) {
            float s = 0;
            for (int i = 0; i < 100; i++) {
                s = s * 0.5f + x[(i + t + r) & 255];
            }
            table[t] = s;
        }
        __syncthreads();
        v += table[(t + r) & 63];
        __syncthreads();
    }
    y[blockIdx.x * blockDim.x + t] = v;
}

// Branches of whole waves around markers, constants and registers as words, a group with a leader.
extern "C" __global__ void pipe(const float *x, float *y, int tiles)
{
    __shared__ float tile[2][64];
    int t = threadIdx.x, role = __builtin_amdgcn_readfirstlane(t / 64);
    PRLX_LEADER(role, role == 0 ? 0 : 1, t % 64 == 3);
    float v = 0;
    for (int i = 0; i <= tiles; i++) {
        if (role == 0) {
            if (i < tiles) {
                PRLX_BEGIN_1(produce, i);
                float s = 0;
                for (int j = 0; j < 40; j++) {
                    s = s * 0.5f + x[(i * 64 + t + j) & 1023];
                }
                tile[i & 1][t] = s;
                PRLX_SWITCH(publish);
                __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
                PRLX_END(publish);
            }
        } else if (i > 0) {
            PRLX_BEGIN_2(consume, i, -1);
            v += tile[(i - 1) & 1][t & 63];
            PRLX_END(consume);
        }
        PRLX_BEGIN(wait_tile);
        __syncthreads();
        PRLX_END(wait_tile);
    }
    PRLX_REGION(epilogue);
    y[blockIdx.x * blockDim.x + t] = v;
}

static __device__ __noinline__ int steps(unsigned n)
{
    PRLX_REGION(steps);
    int k = 0;
    while (n > 1) {
        n = n & 1 ? 3 * n + 1 : n / 2;
        k++;
    }
    return k;
}

// Lanes that skip markers, in waves that do not. A function with a region.
extern "C" __global__ void collatz(const unsigned *x, int *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    PRLX_BEGIN(all);
    if (i % 32 != 0 && i < n) {
        PRLX_BEGIN_1(work, i);
        y[i] = steps(x[i]);
        if (x[i] & 1) {
            PRLX_INSTANT_1(odd, x[i]);
        }
        PRLX_END(work);
    }
    PRLX_END(all);
}
