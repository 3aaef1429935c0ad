// Root-mean-square normalisation of half-precision rows, a warp a row, two elements a load.
#include <cuda_fp16.h>

extern "C" __global__ void rmsnorm(const __half2 *x, const __half2 *gamma, __half2 *y, int rows, int pairs, float eps)
{
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    float squares = 0.0f;
    for (int i = lane; i < pairs; i += 32) {
        float2 v = __half22float2(x[row * pairs + i]);
        squares += v.x * v.x + v.y * v.y;
    }
    for (int d = 16; d; d >>= 1)
        squares += __shfl_xor_sync(0xffffffffu, squares, d);
    float scale = rsqrtf(squares / (2 * pairs) + eps);
    for (int i = lane; i < pairs; i += 32) {
        float2 v = __half22float2(x[row * pairs + i]), g = __half22float2(gamma[i]);
        y[row * pairs + i] = __floats2half2_rn(v.x * scale * g.x, v.y * scale * g.y);
    }
}
