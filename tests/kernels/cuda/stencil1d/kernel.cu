// Seven-point sum with a halo in shared memory; beyond the ends the array counts as zero.
#define RADIUS 3

extern "C" __global__ void stencil1d(const float *in, float *out, int n)
{
    __shared__ float s[128 + 2 * RADIUS];
    int i = blockIdx.x * 128 + threadIdx.x, t = threadIdx.x + RADIUS;
    s[t] = i < n ? in[i] : 0.0f;
    if (threadIdx.x < RADIUS) {
        s[t - RADIUS] = i >= RADIUS ? in[i - RADIUS] : 0.0f;
        s[t + 128] = i + 128 < n ? in[i + 128] : 0.0f;
    }
    __syncthreads();
    if (i >= n)
        return;
    float sum = 0.0f;
    for (int d = -RADIUS; d <= RADIUS; ++d)
        sum += s[t + d];
    out[i] = sum;
}
