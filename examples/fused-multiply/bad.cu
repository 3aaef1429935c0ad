// The determinants of 2x2 matrices with a fused multiply-add, as compilers write it.

extern "C" __global__ void determinants(const float4 *m, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 a = m[i];
        float right = __fmul_rn(a.y, a.z);
        out[i] = __fmaf_rn(a.x, a.w, -right);
    }
}
