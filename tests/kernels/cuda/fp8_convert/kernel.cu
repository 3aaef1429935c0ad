// corpus: only sm_90a
// Conversions to and from fp8 (e4m3, e5m2), saturating; every byte widened, some floats narrowed.
#include <cuda_fp8.h>

extern "C" __global__ void fp8_convert(float *e4m3, float *e5m2, const float *x, unsigned char *narrow4, unsigned char *narrow5)
{
    unsigned i = threadIdx.x;
    __nv_fp8_e4m3 a;
    __nv_fp8_e5m2 b;
    a.__x = b.__x = (unsigned char)i;
    e4m3[i] = float(a);
    e5m2[i] = float(b);
    narrow4[i] = __nv_fp8_e4m3(x[i]).__x;
    narrow5[i] = __nv_fp8_e5m2(x[i]).__x;
}
