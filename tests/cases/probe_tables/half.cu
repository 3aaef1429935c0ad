#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void halfk(const __half2* a, __half2* o, __nv_bfloat16* b, double* d, float4* q, uchar4* u, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half2 v = __hmul2(a[i], __float2half2_rn(2.f));
    o[i] = v;
    b[i] = __float2bfloat16(__low2float(v) * 3);
    d[i] = (double)__high2float(v) / (i - 7);
    q[i] = make_float4(i, -i, i == 5 ? INFINITY : i * .5f, i == 6 ? NAN : 1000 + i);
    u[i] = make_uchar4(i, i, i, i);
}
