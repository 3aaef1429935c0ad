// Half precision, one and two at a time: add, multiply, fused multiply-add, comparisons, min and max, conversions.
#include <cuda_fp16.h>

extern "C" __global__ void half_arithmetic(const __half2 *a, const __half2 *b, __half2 *sum, __half2 *fused,
                                           __half2 *clamped, int *below, int pairs)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pairs)
        return;
    __half2 x = a[i], y = b[i];
    sum[i] = __hadd2_rn(x, y);
    fused[i] = __hfma2(x, y, __float2half2_rn(0.25f));
    clamped[i] = __hmin2(__hmax2(x, __float2half2_rn(-1.0f)), __float2half2_rn(1.0f));
    int count = __hlt(__low2half(x), __low2half(y));
    count += __hgt(__high2half(x), __high2half(y)) ? 2 : 0;
    below[i] = count + (__half2int_rz(__low2half(x)) << 4) + (__half2int_rn(__high2half(y)) << 12);
}
