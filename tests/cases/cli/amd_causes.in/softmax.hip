// A softmax of each row, by a CTA of 64 threads. With WRONG, another element than the maximum is subtracted.

extern "C" __global__ void softmax(const float *x, float *y, int cols)
{
    __shared__ float s[64];
    int t = threadIdx.x, row = blockIdx.x;
    float v = t < cols ? x[row * cols + t] : -1e30f;
    s[t] = v;
    __syncthreads();
    for (int d = 32; d; d >>= 1) {
        if (t < d) {
            s[t] = fmaxf(s[t], s[t + d]);
        }
        __syncthreads();
    }
    float m = s[WRONG];
    __syncthreads();
    float e = t < cols ? expf(v - m) : 0.0f;
    s[t] = e;
    __syncthreads();
    for (int d = 32; d; d >>= 1) {
        if (t < d) {
            s[t] += s[t + d];
        }
        __syncthreads();
    }
    if (t < cols) {
        y[row * cols + t] = e / s[0];
    }
}
