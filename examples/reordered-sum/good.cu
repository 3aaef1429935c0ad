// The sum of each row: a thread of a warp adds every 32nd element, and a tree of shuffles adds the threads' sums.

extern "C" __global__ void row_sums(const float *in, float *out, int width)
{
    const float *row = in + blockIdx.x * width;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < width; i += 32) {
        sum += row[i];
    }
    for (int d = 16; d > 0; d /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    }
    if (threadIdx.x == 0) {
        out[blockIdx.x] = sum;
    }
}
