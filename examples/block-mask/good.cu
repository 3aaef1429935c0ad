// The mean of each group of 32 elements, of which the last group has fewer.

extern "C" __global__ void means(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? in[i] : 0.0f;
    for (int d = 16; d > 0; d /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    }
    int group = i / 32;
    if (i % 32 == 0 && group * 32 < n) {
        out[group] = sum / min(32, n - group * 32);
    }
}
