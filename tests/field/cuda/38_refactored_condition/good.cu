#include <float.h>
struct Best { float v; int i; };

__device__ Best better(Best a, Best b)
{
    if (b.v > a.v)
        return b;
    if (b.v == a.v && b.i < a.i)
        return b;
    return a;
}

extern "C" __global__ void argmax_rows(const float *x, int *idx, float *val, int n)
{
    __shared__ Best sm[8];
    x += blockIdx.x * n;
    Best best = {-FLT_MAX, 0x7fffffff};
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        best = better(best, Best{x[i], i});
    for (int d = 16; d >= 1; d /= 2) {
        Best o;
        o.v = __shfl_down_sync(0xffffffffu, best.v, d);
        o.i = __shfl_down_sync(0xffffffffu, best.i, d);
        best = better(best, o);
    }
    if (threadIdx.x % 32 == 0)
        sm[threadIdx.x / 32] = best;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < blockDim.x / 32; w++)
            best = better(best, sm[w]);
        idx[blockIdx.x] = best.i;
        val[blockIdx.x] = best.v;
    }
}
