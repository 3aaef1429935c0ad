// Scales every element by the greatest of its group of 32.

extern "C" __global__ void scale(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < n ? in[i] : 0.0f;
    float top = fabsf(v);
    for (int d = 16; d > 0; d /= 2) {
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, d));
    }
    if (i < n) {
        out[i] = v / top;
    }
}
