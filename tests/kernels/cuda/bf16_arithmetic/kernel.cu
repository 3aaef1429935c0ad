// corpus: keep sm_90a
// bfloat16: widening by shifts, packed fused multiply-adds, rounding back; bytes of the file are the bits.
#include <cuda_bf16.h>

extern "C" __global__ void bf16_arithmetic(const __nv_bfloat162 *a, const __nv_bfloat162 *b, __nv_bfloat162 *fused,
                                           __nv_bfloat162 *scaled, float *wide, int pairs)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pairs)
        return;
    __nv_bfloat162 x = a[i], y = b[i];
    fused[i] = __hfma2(x, y, x);
    float2 f = __bfloat1622float2(x);
    wide[2 * i] = f.x * 1.5f;
    wide[2 * i + 1] = f.y * 1.5f;
    scaled[i] = __floats2bfloat162_rn(f.x * 1.01f, f.y * 0.99f);
}
