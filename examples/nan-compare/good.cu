// Scales gradients, and drops those that are not below a limit: they count as overflowed.

extern "C" __global__ void scale_gradients(const float *gradient, int n, float scale, float limit, float *out, int *overflowed)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float g = gradient[i] * scale;
    if (!(fabsf(g) < limit)) {
        g = 0.0f;
        overflowed[blockIdx.x] = 1;
    }
    out[i] = g;
}
